import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sorr.losses import LogSumExpPairwise
from sorr.objectives import RankedRangeObjective
from sorr.solvers import Memory, Status, descend, topsum, trim
from sorr.solvers.descent import (
    _newton_metric,
    anneal,
    can_pass_corners,
    minimise_nonsmooth,
    newton_past_corners,
)
from tests.solvers.problems import classes, targets_for

# -- the fast phase -------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [300, 7000])
@pytest.mark.parametrize("loss", ["logistic", "hinge", "absolute", "squared"])
def test_a_convex_minimum_is_approached(n, loss):
    """Many rows go through a sample and through float32 on the way."""
    X, _ = classes(n, 4)
    objective = RankedRangeObjective(X, targets_for(loss, X), loss, C=100.0)
    seen = []
    point = descend(objective, objective.at(np.zeros(5)), record=seen.append)
    minimum = topsum(objective).objective
    assert point.value <= minimum * (1 + (1e-4 if loss in ("logistic", "squared") else 2e-2))
    assert point.value == pytest.approx(objective.value(point.theta), rel=1e-12)
    assert seen


@pytest.mark.parametrize("start", [0.0, 1.0, 30.0])
def test_no_step_goes_up(start):
    X, y = classes(400, 3, noise=1.0)
    objective = RankedRangeObjective(X, y, "logistic", m=40, k=300, C=10.0)
    first = objective.at(start * np.array([-1.0, 1.0, -1.0, 1.0]))
    values = [first.value]
    descend(objective, first, record=lambda point: values.append(point.value))
    assert (np.diff(values) <= 0).all()
    assert values[-1] < first.value


def test_many_parameters_go_without_a_hessian():
    X, y = classes(500, 100)
    objective = RankedRangeObjective(X, y, C=1.0)
    point = descend(objective, objective.at(np.zeros(101)), tol=1e-9, precise=True)
    assert point.value <= topsum(objective).objective * (1 + 1e-6)


@pytest.mark.parametrize("k", [None, 150])
def test_the_metric_of_a_smooth_objective_is_its_inverse_hessian(k):
    X, y = classes(400, 3)
    objective = RankedRangeObjective(X, y, k=k, C=10.0)
    point = objective.at(np.array([0.5, -0.2, 0.1, 0.3]))
    solve = _newton_metric(objective, point)
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
    start = objective.at(topsum(objective, tol=1e-12).theta)
    assert descend(objective, start, tol=1e-12).value <= start.value


@pytest.mark.parametrize("loss", ["softmax", "lsep"])
def test_the_common_shift_of_several_outputs_stays_where_it_was(loss):
    """It changes nothing, and in float32 what rounding leaves of its slope is no reason to go."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=6000)
    X = 2 * rng.standard_normal((4, 8))[y] + rng.standard_normal((6000, 8))
    objective = RankedRangeObjective(X, y, loss, C=1e4, n_outputs=4)
    point = descend(objective, objective.at(np.zeros(objective.shape)))
    assert abs(point.theta[-1].mean()) < 1e-2
    assert point.value <= topsum(objective).objective * (1 + 1e-3)


def test_many_labels_take_modest_memory():
    """Second derivatives of all rows at once would take 60 MB, four times over."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2000, 3)), rng.random((2000, 60)) < 0.1
    objective = RankedRangeObjective(X, Y, LogSumExpPairwise(), C=1.0)
    start = objective.at(np.zeros(objective.shape))
    tracemalloc.start()
    descend(objective, start, max_iter=3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6


def test_curvature_in_parts_is_that_of_all_rows(monkeypatch):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(90, 3)), rng.random((90, 5)) < 0.4
    objective = RankedRangeObjective(X, Y, LogSumExpPairwise(), C=1.0)
    point = objective.at(rng.normal(size=objective.shape))
    at_once = objective.diagonal_size(point)
    monkeypatch.setattr("sorr.objectives.objective._MAX_CURVATURES", 200)
    np.testing.assert_allclose(objective.diagonal_size(point), at_once, rtol=1e-12)


# -- limited-memory BFGS --------------------------------------------------------------------------


def filled(size):
    rng = np.random.default_rng(0)
    root = rng.standard_normal((5, 5))
    H = root @ root.T + np.eye(5)
    memory = Memory(size)
    steps = rng.standard_normal((5, 5))
    for step in steps:
        memory.add(step, H @ step, rtol=1e-12)
    return memory, steps, H


def test_the_last_change_leads_back_to_the_last_step():
    """The secant equation, whatever the metric."""
    memory, steps, H = filled(3)
    for metric in (None, lambda q: 3 * q):
        np.testing.assert_allclose(memory.solve(H @ steps[-1], metric), steps[-1], atol=1e-10)


def test_conjugate_steps_give_the_whole_inverse():
    root = np.random.default_rng(1).standard_normal((4, 4))
    H = root @ root.T + np.eye(4)
    memory = Memory(4)
    for step in np.linalg.eigh(H)[1].T:
        memory.add(step, H @ step, rtol=1e-12)
    vector = np.arange(4.0)
    np.testing.assert_allclose(memory.solve(vector), np.linalg.solve(H, vector), atol=1e-10)


def test_an_empty_memory_returns_the_gradient_and_old_steps_are_forgotten():
    memory = Memory(2)
    np.testing.assert_array_equal(memory.solve(np.array([1.0, -2.0])), [1.0, -2.0])
    for i in range(5):
        memory.add(np.eye(2)[i % 2], np.eye(2)[i % 2], rtol=1e-12)
    assert len(memory) == 2
    memory.clear()
    assert len(memory) == 0


def test_a_step_along_which_nothing_curves_upwards_is_left_out():
    memory = Memory(3)
    memory.add(np.array([1.0, 0.0]), np.array([-1.0, 0.0]), rtol=1e-12)
    memory.add(np.array([1.0, 0.0]), np.array([0.0, 1.0]), rtol=1e-12)
    assert len(memory) == 0


def test_changes_whose_squares_vanish_are_forgotten():
    memory = Memory(2)
    memory.add(np.array([1.0]), np.array([1e-170]), rtol=1e-10)
    assert np.isfinite(memory.solve(np.ones(1))).all()


# -- convex functions with kinks ------------------------------------------------------------------


START = np.array([3.0, -2.0, 5.0])
CURVATURE = np.array([1.0, 10.0, 1000.0])


def bowl(point):
    return float(CURVATURE @ point**2) / 2, CURVATURE * point


def kinks(point):
    return float(CURVATURE @ np.abs(point)), CURVATURE * np.sign(point)


def ridge_of_maxima(point):
    """Return the largest of some planes, whose lowest point is known to be zero at zero."""
    planes = np.vstack([np.eye(3), -np.ones((1, 3))]) * [1.0, 5.0, 20.0]
    heights = planes @ point
    return float(heights.max()), planes[heights.argmax()]


def points_of(function, max_steps, tol=0.0):
    """Return the start, and the point after each step."""
    points = [START]
    for steps in range(1, max_steps + 1):
        point = minimise_nonsmooth(function, START, max_steps=steps, tol=tol)
        if not np.array_equal(point, points[-1]):
            points.append(point)
    return points


@pytest.mark.parametrize("function", [bowl, kinks, ridge_of_maxima])
def test_the_lowest_point_is_found_with_and_without_kinks(function):
    point = minimise_nonsmooth(function, START, max_steps=500, tol=0.0)
    assert function(point)[0] < 1e-7 * function(START)[0]


@pytest.mark.parametrize("function", [bowl, kinks, ridge_of_maxima])
def test_no_step_goes_up_at_kinks(function):
    values = [function(point)[0] for point in points_of(function, 50)]
    assert len(values) > 5
    assert np.all(np.diff(values) < 0)


def test_the_shape_of_the_point_does_not_matter():
    flat = minimise_nonsmooth(bowl, START, max_steps=20, tol=0.0)
    column = minimise_nonsmooth(
        lambda point: (bowl(point[:, 0])[0], bowl(point[:, 0])[1][:, None]),
        START[:, None],
        max_steps=20,
        tol=0.0,
    )
    assert_array_equal(column[:, 0], flat)


def test_the_start_is_returned_where_nothing_is_lower():
    assert_array_equal(minimise_nonsmooth(bowl, np.zeros(3), max_steps=10, tol=0.0), np.zeros(3))


def test_the_number_of_steps_is_limited():
    assert len(points_of(kinks, 3)) == 1 + 3


def test_steps_stop_when_ten_of_them_change_little():
    def raised(point):
        value, slope = kinks(point)
        return value + 1.0, slope

    values = [raised(point)[0] for point in points_of(raised, 250, tol=0.1)]
    assert 10 < len(values) < 200
    assert values[-11] - values[-1] <= 0.1 * values[-1]
    assert values[-12] - values[-2] > 0.1 * values[-2]


def test_a_region_without_values_is_not_entered():
    def half_plane(point):
        if point[0] < 1:
            return np.nan, np.full(3, np.nan)
        return bowl(point)

    point = minimise_nonsmooth(half_plane, START, max_steps=200, tol=0.0)
    assert point[0] >= 1
    assert half_plane(point)[0] < bowl(START)[0]


# -- soft cuts and rounded corners ----------------------------------------------------------------


def test_annealing_finds_deeper_minima_than_sharp_steps():
    """With many features and flipped labels, each sharp descent ends in a minimum of its own."""
    gains = []
    for seed in range(4):
        X, y = classes(3000, 100, seed, noise=0.3)
        rng = np.random.default_rng(seed)
        y[rng.random(3000) < 0.1] *= -1
        objective = RankedRangeObjective(X, y, m=300, C=1e4)
        start = objective.at(np.zeros(101))
        sharp = descend(objective, start, tol=1e-6)
        soft = descend(objective, anneal(objective, start, rng), tol=1e-6)
        gains.append(sharp.value / soft.value - 1)
    assert np.mean(gains) > 0.003


@pytest.mark.parametrize("groups", [False, True])
def test_an_annealed_fit_of_several_classes_may_sample_its_rows(groups):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=6000)
    X = rng.standard_normal((3, 8))[y] + rng.standard_normal((6000, 8))
    objective = RankedRangeObjective(X, y, "softmax", m=0.1, groups=y if groups else None)
    assert trim(objective, certify=False, random_state=0).status is Status.CONVERGED


@pytest.mark.parametrize("loss", ["hinge", "absolute"])
@pytest.mark.parametrize("k", [None, 0.5])
def test_corners_are_approached_by_newton_steps(loss, k):
    X, _ = classes(2000, 4)
    objective = RankedRangeObjective(X, targets_for(loss, X), loss, k=k, C=100.0)
    start = objective.at(np.array([0.5, 0.1, 0.0, 0.0, 0.0]))
    point = newton_past_corners(objective, start)
    assert point.value <= topsum(objective).objective * (1 + 1e-3)
    assert point.value == pytest.approx(objective.value(point.theta), rel=1e-12)


def test_newton_steps_past_corners_need_corners_and_few_parameters():
    X, y = classes(30, 3)
    assert can_pass_corners(RankedRangeObjective(X, y, "hinge"))
    assert not can_pass_corners(RankedRangeObjective(X, y, "logistic"))
    wide = np.zeros((30, 600))
    assert not can_pass_corners(RankedRangeObjective(wide, y, "hinge"))
