"""Digits by the paper's protocol: the parts, the models, and that test labels are never used."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sorr.experiments import Cell
from sorr.experiments.digits import paper as mnist_paper
from sorr.experiments.digits.digits import SMALL, noisy_digits
from sorr.experiments.digits.paper import MODELS, RANKED, Effort, K, _parts, measure_paper
from sorr.experiments.digits.released import released_svm, released_tkml
from sorr.experiments.published import MNIST_SETTINGS, LoopSetting

SHORT = LoopSetting(None, 2, 15, 0.1)


@pytest.fixture(autouse=True)
def _few_steps(monkeypatch):
    monkeypatch.setattr(mnist_paper, "_QUICK", SHORT)


def cells(*models):
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
    monkeypatch.setattr(mnist_paper, "measures_of", lambda _, found: scores.append(found) or {})
    for given in (images, lied):
        monkeypatch.setattr(mnist_paper, "noisy_digits", lambda *_, i=given: (digits, i))
        rows.append([measured.chosen for _, measured in measure_paper(cells(*MODELS))])
    assert rows[0] == rows[1]
    assert_array_equal(scores[: len(MODELS)], scores[len(MODELS) :])


def test_what_is_measured_is_what_the_loop_kept():
    digits, images = noisy_digits(SMALL, 30, 0)
    effort = mnist_paper.EFFORTS[SMALL]
    parts, options = _parts(digits, effort), {"n_directions": effort.directions}
    expected = {
        RANKED: released_svm(*parts, SHORT, ranks_own=True, **options),
        "top-1 SVM": released_svm(*parts, SHORT, ranks_own=False, **options),
        "tkml": released_tkml(*parts, K, SHORT, **options),
    }
    for cell, found in measure_paper(cells(*MODELS)):
        kept = expected[cell.model]
        guesses = kept.scores(images.X_test).argmax(axis=1)
        assert found.values["top1"] == pytest.approx(100 * np.mean(guesses == images.y_test))
        assert found.chosen == {"held_out_accuracy": 100 * kept.accuracy, "step": kept.step}


def test_mnist_takes_the_printed_steps(monkeypatch):
    asked = []
    digits, images = noisy_digits(SMALL, 30, 0)
    monkeypatch.setattr(mnist_paper, "noisy_digits", lambda *_: (digits, images))
    monkeypatch.setattr(mnist_paper, "EFFORTS", {"mnist": Effort(10, 10, None)})

    def fit(_model, train, held, setting, _directions):
        asked.append(setting)
        return released_svm(train, held, SHORT, ranks_own=True)

    monkeypatch.setattr(mnist_paper, "_fit", fit)
    list(measure_paper((cells("tkml")[0]._replace(dataset="mnist"),)))
    assert asked == [MNIST_SETTINGS[30]]
