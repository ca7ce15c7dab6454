import numpy as np
import pytest

from sorr.objectives import RankedRangeObjective, lower_bound
from sorr.solvers import topsum
from tests.solvers.problems import classes, three_classes


def test_weights_beyond_what_a_row_may_count_are_cut_back():
    """All weight on the worst rows proves the minimum of the worst rows, not that of all."""
    X, y = classes(40, 2, noise=1.0)
    everything = RankedRangeObjective(X, y, C=10.0)
    best = topsum(everything)
    worst = np.argsort(-everything.losses(everything.raw_prediction(best.theta)))
    for size in (20, 30, 36):
        rows = worst[:size]
        part = topsum(RankedRangeObjective(X[rows], y[rows], C=10.0), tol=1e-10)
        assert part.objective > 1.05 * best.objective
        weights = np.zeros((40, 1))
        weights[rows] = 1 / size
        bound = lower_bound(everything, everything.raw_prediction(part.theta), weights)
        assert bound <= best.objective * (1 + 1e-9)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_weights_that_pull_on_the_intercept_prove_nothing_by_that(loss):
    """With nine of ten rows in one class and no features, the intercept explains nearly all."""
    X, y = np.zeros((100, 1)), np.repeat([1.0, -1.0], [90, 10])
    objective = RankedRangeObjective(X, y, loss, C=1.0)
    minimum = topsum(objective).objective
    for raw in (0.0, 1.0, -1.0):
        weights = np.full((100, 1), 0.01)
        assert lower_bound(objective, np.full(100, raw), weights) <= minimum * (1 + 1e-9)


def test_the_right_weights_prove_the_minimum():
    X, y = classes(60, 3)
    objective = RankedRangeObjective(X, y, C=10.0)
    best = topsum(objective, tol=1e-10)
    bound = lower_bound(objective, objective.raw_prediction(best.theta), best.row_weights[:, None])
    assert bound == pytest.approx(best.objective, rel=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_weights_that_are_no_numbers_prove_nothing(loss):
    X, y = classes(60, 3) if loss == "logistic" else three_classes(60, 3)
    objective = RankedRangeObjective(X, y, loss, C=10.0)
    weights = np.full((60, 1), np.nan)
    assert lower_bound(objective, np.zeros((60, *objective.shape[1:])), weights) == 0


def test_without_a_ridge_nothing_is_proved():
    X, y = classes(60, 3)
    objective = RankedRangeObjective(X, y, C=np.inf)
    assert lower_bound(objective, np.zeros(60), np.full((60, 1), 1 / 60)) == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_any_weights_of_the_multiclass_hinge_prove_no_more_than_the_minimum(seed):
    X, y = three_classes(60, 2, seed=seed)
    objective = RankedRangeObjective(X, y, "multiclass_hinge", k=40, C=10.0)
    best = topsum(objective, tol=1e-9)
    rng = np.random.default_rng(seed)
    bounds = [
        lower_bound(objective, scale * rng.standard_normal((60, 3)), rng.random((60, 2)) / size)
        for scale in (0.0, 1.0)
        for size in (1, 60, 1000)
    ]
    assert max(bounds) <= best.objective * (1 + 1e-8)
    assert max(bounds) > 0  # weights that pull on the intercepts are moved, not given up
