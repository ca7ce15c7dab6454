import tracemalloc

import numpy as np
import pytest

from sorr.losses import LogSumExpPairwise
from sorr.objectives import RankedRangeObjective
from sorr.solvers import topsum
from sorr.solvers.fast import _diagonal_size, descend, evaluate, newton_metric
from tests.solvers.problems import classes, targets_for


@pytest.mark.parametrize("n", [300, 7000])
@pytest.mark.parametrize("loss", ["logistic", "hinge", "absolute", "squared"])
def test_a_convex_minimum_is_approached(n, loss):
    """Many rows go through a sample and through float32 on the way."""
    X, _ = classes(n, 4)
    objective = RankedRangeObjective(X, targets_for(loss, X), loss, C=100.0)
    seen = []
    point = descend(objective, evaluate(objective, np.zeros(5)), record=seen.append)
    minimum = topsum(objective).objective
    assert point.value <= minimum * (1 + (1e-4 if loss in ("logistic", "squared") else 2e-2))
    assert point.value == pytest.approx(objective.value(point.theta), rel=1e-12)
    assert seen


@pytest.mark.parametrize("start", [0.0, 1.0, 30.0])
def test_no_step_goes_up(start):
    X, y = classes(400, 3, noise=1.0)
    objective = RankedRangeObjective(X, y, "logistic", m=40, k=300, C=10.0)
    first = evaluate(objective, start * np.array([-1.0, 1.0, -1.0, 1.0]))
    values = [first.value]
    descend(objective, first, record=lambda point: values.append(point.value))
    assert (np.diff(values) <= 0).all()
    assert values[-1] < first.value


def test_many_parameters_go_without_a_hessian():
    X, y = classes(500, 100)
    objective = RankedRangeObjective(X, y, C=1.0)
    point = descend(objective, evaluate(objective, np.zeros(101)), tol=1e-9, precise=True)
    assert point.value <= topsum(objective).objective * (1 + 1e-6)


@pytest.mark.parametrize("k", [None, 150])
def test_the_metric_of_a_smooth_objective_is_its_inverse_hessian(k):
    X, y = classes(400, 3)
    objective = RankedRangeObjective(X, y, k=k, C=10.0)
    point = evaluate(objective, np.array([0.5, -0.2, 0.1, 0.3]))
    solve = newton_metric(objective, point)
    inverse = np.array([solve(unit) for unit in np.eye(4)])
    assert (np.linalg.eigvalsh((inverse + inverse.T) / 2) > 0).all()
    hessian = objective.curvature_at(point.raw)
    if k is None:
        np.testing.assert_allclose(inverse @ hessian, np.eye(4), atol=1e-6)
    else:  # the cut makes it steeper
        assert (np.linalg.eigvalsh(np.linalg.inv(inverse) - hessian) > -1e-8).all()


@pytest.mark.parametrize("seed", range(5))
def test_rounding_does_not_lead_up_from_a_minimum(seed):
    X, y = classes(6000, 4, seed)
    objective = RankedRangeObjective(X, y, C=100.0)
    start = evaluate(objective, topsum(objective, tol=1e-12).theta)
    assert descend(objective, start, tol=1e-12).value <= start.value


@pytest.mark.parametrize("loss", ["softmax", "lsep"])
def test_the_common_shift_of_several_outputs_stays_where_it_was(loss):
    """It changes nothing, and in float32 what rounding leaves of its slope is no reason to go."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=6000)
    X = 2 * rng.standard_normal((4, 8))[y] + rng.standard_normal((6000, 8))
    objective = RankedRangeObjective(X, y, loss, C=1e4, n_outputs=4)
    point = descend(objective, evaluate(objective, np.zeros(objective.shape)))
    assert abs(point.theta[-1].mean()) < 1e-2
    assert point.value <= topsum(objective).objective * (1 + 1e-3)


def test_many_labels_take_modest_memory():
    """Second derivatives of all rows at once would take 60 MB, four times over."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2000, 3)), rng.random((2000, 60)) < 0.1
    objective = RankedRangeObjective(X, Y, LogSumExpPairwise(), C=1.0)
    start = evaluate(objective, np.zeros(objective.shape))
    tracemalloc.start()
    descend(objective, start, max_iter=3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6


def test_curvature_in_parts_is_that_of_all_rows(monkeypatch):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(90, 3)), rng.random((90, 5)) < 0.4
    objective = RankedRangeObjective(X, Y, LogSumExpPairwise(), C=1.0)
    point = evaluate(objective, rng.normal(size=objective.shape))
    whole = _diagonal_size(objective, point)
    monkeypatch.setattr("sorr.solvers.fast._CHUNK", 200)
    np.testing.assert_allclose(_diagonal_size(objective, point), whole, rtol=1e-12)
