"""No evidence where classes overlap and no label is wrong: in at least 97 of 100 draws."""

import numpy as np
import pytest
from scipy.special import expit, softmax

from sorr import held_out_probabilities, judge_labels
from sorr.share import LabelledRows, judge_rows
from tests.slow import slow

SLOPES = np.random.default_rng(99).normal(size=(4, 3))


def draw(n, K, seed):
    """Return rows, labels drawn from the probabilities of their classes, and these."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    if K == 2:
        p = expit(X @ np.array([1.5, -1.0, 0.5, 0.0]))
        P = np.column_stack([1 - p, p])
    else:
        P = softmax(1.5 * X @ SLOPES, axis=1)
    y = (rng.random(n)[:, None] > np.cumsum(P[:, :-1], axis=1)).sum(axis=1)
    return X, y, P


def alarms(n, K, model, draws):
    """Return in how many of the draws there is evidence of wrong labels."""
    found = 0
    for seed in range(draws):
        X, y, P = draw(n, K, seed)
        if model != "truth":
            P = held_out_probabilities(model, X, y, random_state=seed)
        found += judge_labels(P, y).has_evidence
    return found


@pytest.mark.parametrize("K", [2, *slow(3)])
@pytest.mark.parametrize("model", ["linear", *slow("truth")])
@pytest.mark.parametrize("n", [200, *slow(2000)])
def test_overlap_is_no_evidence(n, model, K):
    draws = 33 if model == "truth" else 20
    assert alarms(n, K, model, draws) <= 1  # of 33: 97 %


def draw_categories(seed):
    """Return rows of a few categories that overlap, as those of a list of passengers."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.random(1300) < 0.64, rng.integers(1, 4, 1300), rng.random(1300) < 0.2])
    share = np.where(X[:, 0] > 0, [[0.34], [0.15], [0.15]], [[0.97], [0.89], [0.49]])
    p = share[X[:, 1].astype(int) - 1, np.arange(1300)]
    return X.astype(float), (rng.random(1300) < p).astype(int)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["auto", "forest", "boosting"])
def test_nor_is_the_overlap_of_categories(model):
    found = 0
    for seed in range(2, 5):
        X, y = draw_categories(seed)
        rows = LabelledRows(X, y, y, np.array([0, 1]), None, seed=seed)
        found += judge_rows(rows, model).judgement.has_evidence
    assert found == 0


@pytest.mark.slow
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("model", ["truth", "linear"])
@pytest.mark.parametrize("n", [200, 2000, 20_000])
def test_overlap_is_no_evidence_in_97_of_100_draws(n, model, K):
    assert alarms(n, K, model, 100) <= 3


@pytest.mark.slow
@pytest.mark.parametrize(("n", "draws"), [(200, 100), (2000, 34)])
@pytest.mark.parametrize("model", ["forest", "auto", "boosting"])
def test_nor_is_it_to_trees(n, draws, model):
    assert alarms(n, 2, model, draws) <= 0.03 * draws


@pytest.mark.slow
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("model", ["truth", "linear"])
def test_nor_among_200_000_rows(model, K):
    assert alarms(200_000, K, model, 8) == 0


@pytest.mark.slow
@pytest.mark.parametrize("model", ["auto", "boosting"])
def test_nor_to_trees_among_200_000_rows(model):
    assert alarms(200_000, 2, model, 2) == 0


@pytest.mark.slow
def test_the_misfit_of_a_forest_among_200_000_rows_is_not_confirmed():
    X, y, _ = draw(200_000, 2, 0)
    rows = LabelledRows(X, y, y, np.array([0, 1]), None, seed=0, n_jobs=2)
    judgement = judge_rows(rows, "forest").judgement
    assert judgement.models_[0][1] > 0 > judgement.evidence_
    assert not judgement.flagged_.any()
