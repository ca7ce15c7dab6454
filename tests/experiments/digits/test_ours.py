"""Models of digits by our protocol: what they are fitted to, and what is measured."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sorr.experiments import Cell
from sorr.experiments.digits import ours as mnist_ours
from sorr.experiments.digits.digits import SMALL, Images, noisy_digits
from sorr.experiments.digits.ours import (
    MEASURES,
    MODELS,
    ORACLE,
    PEER,
    TRIMMED,
    measure_ours,
    measures_of,
)


def cells(*models, setting="noise=0.4"):
    return tuple(Cell("ours", SMALL, model, setting, 0) for model in models)


def test_accuracies_and_errors_are_shares_of_test_rows_in_per_cent():
    y = np.tile(np.arange(10), 2)
    scores = np.eye(10)[y] * 2.0
    scores[0] = -np.arange(10.0)[::-1]  # a zero that ranks last
    scores[11, 5] = 3.0  # a one that ranks second
    found = measures_of(Images(None, None, None, y), scores)
    assert tuple(found) == MEASURES
    assert [found[f"top{k}"] for k in range(1, 6)] == pytest.approx([90, 95, 95, 95, 95])
    errors = [found[f"class{digit}"] for digit in range(10)]
    assert_allclose(errors, [50, 50, *[0] * 8])


def test_trimming_beats_the_plain_softmax_where_labels_are_wrong():
    found = {cell.model: row for cell, row in measure_ours(cells(PEER, TRIMMED))}
    assert found[TRIMMED].values["top1"] > found[PEER].values["top1"] + 2
    assert found[TRIMMED].chosen["dropped"] > 0
    assert found[TRIMMED].status


def test_only_the_oracle_is_told_how_many_labels_are_wrong(monkeypatch):
    asked = []

    class Recorded(mnist_ours.RankedRangeClassifier):
        def fit(self, *_):
            asked.append(self.m)
            return self

    monkeypatch.setattr(mnist_ours, "RankedRangeClassifier", Recorded)
    digits, _ = noisy_digits(SMALL, 20, 0)
    for name in MODELS:
        if name in (TRIMMED, ORACLE):
            MODELS[name](digits)
    assert asked == ["auto", dict(enumerate(digits.per_class(digits.wrong)))]


def test_a_fit_depends_neither_on_right_labels_nor_on_test_labels(monkeypatch):
    digits, images = noisy_digits(SMALL, 40, 0)
    lied = (
        digits._replace(y_clean=np.roll(digits.y_clean, 1)),
        images._replace(y_test=np.roll(images.y_test, 1)),
    )
    scores = []
    monkeypatch.setattr(mnist_ours, "measures_of", lambda _, found: scores.append(found) or {})
    for given in ((digits, images), lied):
        monkeypatch.setattr(mnist_ours, "noisy_digits", lambda *_, given=given: given)
        list(measure_ours(cells(PEER)))
    assert_array_equal(*scores)
