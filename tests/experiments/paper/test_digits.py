"""Digits with wrong labels: which are flipped, and that nothing else changes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils import Bunch

from sorr.datasets import MNIST_FLIPS, flip_pairs
from sorr.experiments import Cell, seed_of
from sorr.experiments.paper import digits as chapter
from sorr.experiments.paper.digits import (
    MEASURES,
    ORACLE,
    OUR_MODELS,
    PAPER_MODELS,
    PEER,
    RANKED,
    SMALL,
    TRIMMED,
    Effort,
    Images,
    K,
    _parts,
    images_of,
    measure_ours,
    measure_paper,
    measures_of,
    noise_of,
    noisy_digits,
    setting_of,
)
from sorr.experiments.paper.released import run_digits_loop, run_svm_loop
from sorr.experiments.published import MNIST_SETTINGS, LoopSetting


@pytest.mark.parametrize("noise", [20, 40])
def test_the_share_of_each_digit_that_is_flipped_is_exact(noise):
    digits, _ = noisy_digits(SMALL, noise, 0)
    for digit in range(10):
        own = digits.y_clean == digit
        wrong = digits.y[own] != digit
        expected = int(noise / 100 * own.sum()) if digit in MNIST_FLIPS else 0
        assert wrong.sum() == expected == digits.wrong[own].sum()
        assert set(digits.y[own][wrong]) <= {MNIST_FLIPS.get(digit)}


def test_wrong_rows_are_counted_by_the_label_that_they_were_given():
    digits, _ = noisy_digits(SMALL, 30, 0)
    expected = [np.sum((digits.y == j) & (digits.y_clean != j)) for j in range(10)]
    assert digits.per_class(digits.wrong) == expected
    assert expected[0] == 0 < expected[7]


def test_the_flips_are_drawn_by_the_names_and_the_number_of_the_run():
    digits, images = noisy_digits(SMALL, 20, 3)
    assert digits.seed == seed_of(SMALL, 20, 3) % 2**31
    assert_array_equal(digits.y, flip_pairs(images.y, MNIST_FLIPS, 0.2, digits.seed).y)
    assert_array_equal(digits.y, noisy_digits(SMALL, 20, 3)[0].y)


def test_without_noise_all_labels_are_right():
    digits, images = noisy_digits(SMALL, 0, 0)
    assert not digits.wrong.any()
    assert_array_equal(digits.y, images.y)


def test_small_digits_are_tested_on_rows_that_are_not_trained_on():
    images = images_of(SMALL, 1)
    assert len(images.y) + len(images.y_test) == 1797
    trained = {row.tobytes() for row in images.X}
    assert sum(row.tobytes() in trained for row in images.X_test) == 0
    assert images.X.max() == 1
    assert images.X.dtype == np.float32


def test_the_pixels_of_mnist_go_from_zero_to_one_in_its_own_two_parts(monkeypatch):
    def load(name, subset):
        assert name == "mnist"
        pixels = np.array([[0, 51], [255, 102]], dtype=np.uint8)
        return Bunch(data=pixels if subset == "train" else pixels[1:], target=np.array([7, 2])[:2])

    monkeypatch.setattr(chapter, "load_dataset", load)
    images = chapter._mnist.__wrapped__()
    assert_array_equal(images.X, np.array([[0, 0.2], [1, 0.4]], dtype=np.float32))
    assert_array_equal(images.X_test, images.X[1:])


@pytest.mark.parametrize("noise", [0, 20, 30, 40])
def test_a_setting_names_its_noise(noise):
    assert noise_of(setting_of(noise)) == noise


# -- Models of digits by our protocol: what they are fitted to, and what is measured ---------------


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

    class Recorded(chapter.RankedRangeClassifier):
        def fit(self, *_):
            asked.append(self.m)
            return self

    monkeypatch.setattr(chapter, "RankedRangeClassifier", Recorded)
    digits, _ = noisy_digits(SMALL, 20, 0)
    for name in OUR_MODELS:
        if name in (TRIMMED, ORACLE):
            OUR_MODELS[name](digits)
    estimated, told = asked
    assert told == dict(enumerate(digits.per_class(digits.wrong)))
    assert estimated.keys() == told.keys()
    assert 0 < sum(estimated.values()) < sum(told.values())  # an estimate from below


def test_a_fit_depends_neither_on_right_labels_nor_on_test_labels(monkeypatch):
    digits, images = noisy_digits(SMALL, 40, 0)
    lied = (
        digits._replace(y_clean=np.roll(digits.y_clean, 1)),
        images._replace(y_test=np.roll(images.y_test, 1)),
    )
    scores = []
    monkeypatch.setattr(chapter, "measures_of", lambda _, found: scores.append(found) or {})
    for given in ((digits, images), lied):
        monkeypatch.setattr(chapter, "noisy_digits", lambda *_, given=given: given)
        list(measure_ours(cells(PEER)))
    assert_array_equal(*scores)


# -- Digits by the paper's protocol: the parts, the models, and that test labels are never used ----


SHORT = LoopSetting(None, 2, 15, 0.1)


@pytest.fixture(autouse=True)
def _few_steps(monkeypatch):
    monkeypatch.setattr(chapter, "_QUICK", SHORT)


def paper_cells(*models):
    return tuple(Cell("paper", SMALL, model, "noise=0.3", 0) for model in models)


def test_parts_share_no_rows_and_have_the_labels_as_given():
    digits, _ = noisy_digits(SMALL, 40, 0)
    digits = digits._replace(X=np.arange(len(digits.y), dtype=np.float32)[:, None])
    train, held = _parts(digits, Effort(200, 300, None))
    assert (len(train.y), len(held.y)) == (300, 200)
    for part in (train, held):
        rows = part.X[:, 0].astype(int)
        assert_array_equal(part.y, digits.y[rows])
        assert digits.wrong[rows].any()
    assert not set(train.X[:, 0]) & set(held.X[:, 0])


def test_no_test_label_is_used_before_all_is_measured(monkeypatch):
    digits, images = noisy_digits(SMALL, 30, 0)
    lied = images._replace(y_test=np.random.default_rng(0).permutation(images.y_test))
    scores, rows = [], []
    monkeypatch.setattr(chapter, "measures_of", lambda _, found: scores.append(found) or {})
    for given in (images, lied):
        monkeypatch.setattr(chapter, "noisy_digits", lambda *_, i=given: (digits, i))
        rows.append([measured.chosen for _, measured in measure_paper(paper_cells(*PAPER_MODELS))])
    assert rows[0] == rows[1]
    assert_array_equal(scores[: len(PAPER_MODELS)], scores[len(PAPER_MODELS) :])


def test_what_is_measured_is_what_the_loop_kept():
    digits, images = noisy_digits(SMALL, 30, 0)
    effort = chapter.EFFORTS[SMALL]
    parts, options = _parts(digits, effort), {"n_directions": effort.directions}
    expected = {
        RANKED: run_svm_loop(*parts, SHORT, ranks_own=True, **options),
        "top-1 SVM": run_svm_loop(*parts, SHORT, ranks_own=False, **options),
        "tkml": run_digits_loop(*parts, K, SHORT, **options),
    }
    for cell, found in measure_paper(paper_cells(*PAPER_MODELS)):
        kept = expected[cell.model]
        guesses = kept.scores(images.X_test).argmax(axis=1)
        assert found.values["top1"] == pytest.approx(100 * np.mean(guesses == images.y_test))
        assert found.chosen == {"held_out_accuracy": 100 * kept.accuracy, "step": kept.step}


def test_mnist_takes_the_printed_steps(monkeypatch):
    asked = []
    digits, images = noisy_digits(SMALL, 30, 0)
    monkeypatch.setattr(chapter, "noisy_digits", lambda *_: (digits, images))
    monkeypatch.setattr(chapter, "EFFORTS", {"mnist": Effort(10, 10, None)})

    def fit(_model, train, held, setting, _directions):
        asked.append(setting)
        return run_svm_loop(train, held, SHORT, ranks_own=True)

    monkeypatch.setattr(chapter, "_fit", fit)
    list(measure_paper((paper_cells("tkml")[0]._replace(dataset="mnist"),)))
    assert asked == [MNIST_SETTINGS[30]]
