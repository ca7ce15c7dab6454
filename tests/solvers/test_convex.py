import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from sorr.objectives import RankedRangeObjective, lower_bound
from sorr.ranked import Mass
from sorr.solvers import Status, topsum, trim
from sorr.solvers.convex import polish
from tests.slow import slow
from tests.solvers.problems import (
    classes,
    conic_minimum,
    conic_minimum_of_classes,
    line,
    targets_for,
    three_classes,
)


@pytest.mark.parametrize("C", [1.0, 1e3])
def test_all_rows_and_the_logistic_loss_are_logistic_regression(C):
    X, y = classes(300, 5)
    solution = topsum(RankedRangeObjective(X, y, C=C), tol=1e-10)
    peer = LogisticRegression(C=C / len(y), tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(solution.coef, peer.coef_[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(solution.intercept, peer.intercept_[0], rtol=1e-5, atol=1e-6)
    assert solution.status is Status.OPTIMAL


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge", "absolute", "squared"])
@pytest.mark.parametrize("k", [3, 12, 40, 60])
@pytest.mark.parametrize("C", [1.0, 1e4])
def test_the_minimum_is_that_of_a_conic_solver_and_the_gap_is_never_too_small(loss, k, C):
    X, _ = classes()
    y = targets_for(loss, X)
    solution = topsum(RankedRangeObjective(X, y, loss, k=k, C=C))
    minimum = conic_minimum(X, y, loss, k, C)
    assert solution.gap <= 1e-6
    assert abs(solution.objective - minimum) <= 1e-6 * minimum
    # The gap bounds the distance to the true minimum, up to the accuracy of the referee.
    assert solution.objective - minimum <= solution.gap * solution.objective + 1e-7 * minimum


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_weights_are_copies_for_the_minimum_too(loss):
    X, y = classes(40)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    k = int(weight.sum()) // 2
    solution = topsum(RankedRangeObjective(X, y, loss, k=Mass(k), C=50.0, sample_weight=weight))
    minimum = conic_minimum(X, y, loss, k, 50.0, weight)
    assert abs(solution.objective - minimum) <= 1e-6 * minimum


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_sparse_rows_have_the_minimum_of_dense_ones(loss):
    X, y = classes(80, 4)
    X[np.abs(X) < 0.7] = 0
    dense = topsum(RankedRangeObjective(X, y, loss, k=0.5, C=100.0))
    thin = topsum(RankedRangeObjective(sparse.csr_array(X), y, loss, k=0.5, C=100.0))
    assert abs(dense.objective - thin.objective) <= 1e-6 * dense.objective
    assert abs(dense.objective - conic_minimum(X, y, loss, 40, 100.0)) <= 1e-6 * dense.objective


def test_float32_rows_are_solved_in_float64():
    X, y = classes(200, 4)
    single = X.astype(np.float32)
    solution = topsum(RankedRangeObjective(single, y, k=0.3, C=10.0))
    exact = topsum(RankedRangeObjective(single.astype(np.float64), y, k=0.3, C=10.0))
    assert solution.gap <= 1e-6
    assert abs(solution.objective - exact.objective) <= 2e-6 * exact.objective


def test_groups_are_solved_together():
    cp = pytest.importorskip("cvxpy")
    X, y = classes(60)
    k = {-1.0: 10, 1.0: 25}
    solution = topsum(RankedRangeObjective(X, y, k=k, C=30.0, groups=y))
    w, b = cp.Variable(3), cp.Variable()
    losses = cp.logistic(-cp.multiply(y, X @ w + b))
    parts = [
        np.mean(y == label) / count * cp.sum_largest(losses[np.flatnonzero(y == label)], count)
        for label, count in k.items()
    ]
    problem = cp.Problem(cp.Minimize(sum(parts) + cp.sum_squares(w) / 60))
    problem.solve(solver="CLARABEL")
    assert abs(solution.objective - problem.value) <= 1e-6 * problem.value


@pytest.mark.parametrize("k", [None, 40])
def test_several_outputs_are_certified(k):
    X, y = classes(90, 2)
    labels = np.digitize(X[:, 0] + 0.3 * y, [-0.5, 0.5])
    solution = topsum(RankedRangeObjective(X, labels, "softmax", k=k, C=5.0))
    assert solution.theta.shape == (3, 3)
    assert solution.gap <= 1e-6
    if k is None:
        peer = LogisticRegression(C=5.0 / 90, tol=1e-10, max_iter=10_000).fit(X, labels)
        np.testing.assert_allclose(
            solution.coef - solution.coef.mean(axis=1, keepdims=True),
            (peer.coef_ - peer.coef_.mean(axis=0)).T,
            atol=1e-4,
        )


@pytest.mark.parametrize("loss", ["logistic", "hinge", "absolute"])
def test_bands_of_many_rows_find_the_minimum_of_all_rows_at_once(loss, monkeypatch):
    X, _ = classes(1500, 4)
    y = targets_for(loss, X)
    objective = RankedRangeObjective(X, y, loss, k=600, C=1e3)
    monkeypatch.setattr("sorr.solvers.constants.MAX_ROWS_FROM_ZERO", 0)
    banded = topsum(objective)
    monkeypatch.setattr("sorr.solvers.constants.MAX_ROWS_AT_ONCE", 10_000)
    at_once = topsum(objective)
    assert banded.gap <= 1e-6
    assert len(banded.trace) <= 4  # the model of the other rows is right
    assert abs(banded.objective - at_once.objective) <= 2e-6 * at_once.objective


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("k", [None, 100])
def test_many_parameters_are_solved_without_matrices(loss, k, monkeypatch):
    X, y = classes(300, 6)
    objective = RankedRangeObjective(X, y, loss, k=k, C=5.0)
    exact = topsum(objective)
    monkeypatch.setattr("sorr.solvers.constants.MAX_DENSE_PARAMETERS", 3)
    rough = topsum(objective)
    assert rough.objective <= exact.objective * (1 + 1e-3)
    # Whatever was reached, the gap says how far it may be.
    assert rough.objective * (1 - rough.gap) <= exact.objective
    if loss == "logistic" and k is None:
        assert rough.status is Status.OPTIMAL


@given(
    seed=st.integers(0, 1000),
    loss=st.sampled_from(["logistic", "hinge", "absolute"]),
    k=st.sampled_from([1, 7, 20]),
    quality=st.floats(0, 2),
)
def test_any_weights_give_a_bound_below_the_minimum(seed, loss, k, quality):
    X, _ = classes(20, 2, seed)
    y = targets_for(loss, X)
    objective = RankedRangeObjective(X, y, loss, k=k, C=10.0)
    best = topsum(objective, tol=1e-9)
    rng = np.random.default_rng(seed)
    raw = best.theta[-1] + X @ best.coef + quality * rng.standard_normal(20)
    pieces = objective.loss.pieces(objective.y, raw)[0].shape[1]
    weights = quality * rng.random((20, pieces)) / k
    assert lower_bound(objective, raw, weights) <= best.objective * (1 + 1e-9)


def test_the_conditions_of_a_minimum_hold():
    X, y = classes(100, 3)
    objective = RankedRangeObjective(X, y, C=20.0)
    solution = topsum(objective, tol=1e-12)
    _, gradient = objective.value_and_subgradient(solution.theta)
    assert np.abs(gradient).max() < 1e-6


@pytest.mark.parametrize("kind", ["separable", "repeated", "scaled", "uneven", "tied"])
@pytest.mark.parametrize("loss", ["hinge", *slow("logistic")])
def test_hard_problems_are_certified(kind, loss):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((1000, 6))
    score = X @ np.arange(1.0, 7.0) / 5
    y = np.where(score + 0.7 * rng.standard_normal(1000) > 0, 1.0, -1.0)
    if kind == "separable":
        y = np.where(score > 0, 1.0, -1.0)
    elif kind == "repeated":
        X, y = np.repeat(X[:100], 10, axis=0), np.repeat(y[:100], 10)
    elif kind == "scaled":
        X = X * np.logspace(-3, 3, 6)
    elif kind == "uneven":
        y = np.where(score > np.quantile(score, 0.96), 1.0, -1.0)
    elif kind == "tied":
        X = np.round(X)
    for k in (1, 10, 500, 999, 1000):
        for C in (1.0, 1e4, 1e8):
            solution = topsum(RankedRangeObjective(X, y, loss, k=k, C=C))
            assert solution.gap <= 1e-6, (k, C)


@pytest.mark.parametrize(
    "kind", ["scaled", "noise", "by class", *slow("plain", "repeated", "shifted", "masses")]
)
@pytest.mark.parametrize("loss", ["logistic", "hinge", *slow("squared_hinge")])
def test_a_few_thousand_rows_are_certified_at_once(kind, loss):
    rng = np.random.default_rng(2)
    n, options = 1500, {}
    X = rng.standard_normal((n, 6))
    y = np.where(X @ np.arange(1.0, 7.0) / 5 + rng.standard_normal(n) > 0, 1.0, -1.0)
    if kind == "repeated":
        X, y = np.repeat(X[:150], 10, axis=0), np.repeat(y[:150], 10)
    elif kind == "scaled":
        X = X * np.logspace(-3, 3, 6)
    elif kind == "shifted":
        X = X + 1000
    elif kind == "noise":
        y = rng.permutation(y)
    elif kind == "masses":
        options["sample_weight"] = rng.integers(0, 4, n)
    elif kind == "by class":
        options["groups"] = y
    for k in (0.001, 0.1, 0.8, 0.999):
        for C in (1e-2, 1.0, 1e8):
            solution = topsum(RankedRangeObjective(X, y, loss, k=k, C=C, **options))
            assert solution.gap <= 1e-6, (k, C)
            assert len(solution.trace) <= 3  # no fast phase, hardly ever a second step


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge"])
def test_a_few_thousand_rows_have_the_minimum_of_a_conic_solver(loss):
    X, y = classes(1200, 4)
    solution = topsum(RankedRangeObjective(X, y, loss, k=900, C=1e3))
    minimum = conic_minimum(X, y, loss, 900, 1e3)
    assert abs(solution.objective - minimum) <= 1e-6 * minimum


@pytest.mark.parametrize("n", [300, 1500])
@pytest.mark.parametrize("loss", ["logistic", "hinge", "absolute", "squared"])
@pytest.mark.parametrize("k", [0.4, None])
def test_trim_solves_a_convex_objective_as_topsum_does(n, loss, k):
    X, _ = classes(n, 4)
    objective = RankedRangeObjective(X, targets_for(loss, X), loss, k=k, C=1e3)
    trimmed, top = trim(objective, random_state=0), topsum(objective)
    assert trimmed.status is top.status is Status.OPTIMAL
    assert trimmed.gap <= 1e-6
    assert trimmed.objective == pytest.approx(top.objective, rel=2e-6)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_a_smaller_gap_is_reached_where_it_is_asked_for(loss):
    X, y = classes(400, 4)
    objective = RankedRangeObjective(X, y, loss, k=0.7, C=1e3)
    for tol in (1e-3, 1e-6, 1e-10):
        assert topsum(objective, tol=tol).gap <= tol


def test_a_loss_without_pieces_is_refused_with_a_way_out():
    X, y = classes()
    objective = RankedRangeObjective(X, np.stack([y > 0, y < 0], axis=1), "topk_svm")
    with pytest.raises(TypeError, match="topk_svm is neither; use trim with certify=False"):
        topsum(objective)


def test_an_objective_that_drops_rows_is_refused():
    X, y = classes()
    with pytest.raises(ValueError, match=r"needed m = 0.*use trim"):
        topsum(RankedRangeObjective(X, y, m=3))


def test_a_start_of_the_wrong_shape_is_refused():
    X, y = classes()
    with pytest.raises(ValueError, match=r"shape \(3,\); needed \(4,\)"):
        topsum(RankedRangeObjective(X, y), start=np.zeros(3))


def test_progress_sees_every_step_of_the_trace():
    X, y = classes()
    seen = []
    solution = topsum(RankedRangeObjective(X, y, k=0.5), progress=seen.append)
    assert tuple(seen) == solution.trace
    assert solution.passes > 0


def test_regression_by_the_top_half_is_least_quantile_like():
    X, y = line(80, 2)
    solution = topsum(RankedRangeObjective(X, y, "absolute", k=0.5, C=1e4))
    assert abs(solution.objective - conic_minimum(X, y, "absolute", 40, 1e4)) <= 1e-6


@pytest.mark.parametrize("k", [None, 100])
@pytest.mark.parametrize("loss", ["huber", "smooth_hinge", "modified_huber", "squared_hinge"])
def test_losses_without_curvature_far_off_are_solved_from_zero(loss, k):
    """Where nothing curves, Newton steps lead nowhere: gradients have to."""
    X, y = line(200, 3) if loss == "huber" else classes(200, 3)
    y = y + 50 if loss == "huber" else y
    solution = topsum(RankedRangeObjective(X, y, loss, k=k, C=1e4))
    assert solution.gap <= 1e-6


@pytest.mark.parametrize("loss", ["logistic", *slow("hinge", "absolute")])
@pytest.mark.parametrize("k", [None, *slow(150)])
def test_many_sparse_columns_are_no_obstacle(loss, k):
    X = sparse.random(300, 2500, density=0.02, random_state=0, format="csr")
    y = np.where(np.random.default_rng(0).random(300) > 0.5, 1.0, -1.0)
    objective = RankedRangeObjective(X, y, loss, k=k, C=1.0)
    solution = topsum(objective)
    if loss == "logistic" and k is None:
        peer = LogisticRegression(C=1 / 300, tol=1e-10).fit(X, y)
        theta = np.append(peer.coef_[0], peer.intercept_)
        assert solution.objective <= objective.value(theta) * (1 + 1e-6)
        assert solution.status is Status.OPTIMAL
    assert solution.gap < 0.01


@pytest.mark.parametrize(
    ("options", "message"),
    [({"tol": 0.0}, "tol=0.0"), ({"tol": np.nan}, "tol=nan"), ({"max_iter": 0}, "max_iter=0")],
)
def test_limits_without_a_meaning_are_refused(options, message):
    X, y = classes()
    with pytest.raises(ValueError, match=message):
        topsum(RankedRangeObjective(X, y), **options)


def test_a_start_that_is_not_finite_is_refused():
    X, y = classes()
    with pytest.raises(ValueError, match="starting point holds NaN"):
        topsum(RankedRangeObjective(X, y), start=np.full(4, np.nan))


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_polishing_brings_out_all_digits(loss):
    X, _ = classes(n=80)
    objective = RankedRangeObjective(X, targets_for(loss, X), loss, C=50.0)
    rough = topsum(objective, tol=1e-3)
    point = objective.at(rough.theta)
    for _ in range(4):
        point = polish(objective, point)
    _, gradient = objective.value_and_subgradient(point.theta)
    assert np.abs(gradient).max() < 1e-13
    assert point.value <= rough.objective * (1 + 1e-14)


def test_polishing_leaves_alone_what_is_ranked_or_has_corners():
    X, y = classes(n=80)
    for options in ({"loss": "hinge"}, {"loss": "logistic", "k": 20}):
        objective = RankedRangeObjective(X, y, C=50.0, **options)
        point = objective.at(topsum(objective).theta)
        assert polish(objective, point) is point


@pytest.mark.parametrize("k", [10, 40, 80])
@pytest.mark.parametrize("C", [1.0, 1e4])
def test_the_minimum_of_the_multiclass_hinge_is_that_of_a_conic_solver(k, C):
    X, y = three_classes(80, 3, seed=1, signal=3.0)
    solution = topsum(RankedRangeObjective(X, y, "multiclass_hinge", k=k, C=C))
    expected = conic_minimum_of_classes(X, y, k, C)
    assert solution.objective == pytest.approx(expected, rel=1e-6)
    assert solution.gap <= 1e-6
    assert solution.objective * (1 - solution.gap) <= expected * (1 + 1e-6)


def test_two_classes_of_the_multiclass_hinge_are_the_hinge():
    """Scores of opposite sign share the ridge: half the norm, and so twice the C."""
    X, y = classes(100, 3)
    two = topsum(RankedRangeObjective(X, (y > 0).astype(int), "multiclass_hinge", k=60, C=10.0))
    one = topsum(RankedRangeObjective(X, y, "hinge", k=60, C=20.0))
    assert two.objective == pytest.approx(one.objective, rel=1e-6)


def test_the_multiclass_hinge_of_many_rows_is_certified():
    X, y = three_classes(1500, 4, signal=3.0)
    solution = topsum(RankedRangeObjective(X, y, "multiclass_hinge", C=1e4))
    assert solution.status is Status.OPTIMAL


def test_with_many_parameters_the_multiclass_hinge_gets_a_bound_that_holds():
    X, y = three_classes(60, 700, signal=0.3)
    objective = RankedRangeObjective(X, y, "multiclass_hinge", C=1e-2)
    solution = topsum(objective)
    assert solution.gap < 1e-2
    better = topsum(RankedRangeObjective(X, y, "multiclass_hinge", C=1e-2), tol=1e-9)
    assert better.objective >= solution.objective * (1 - solution.gap)


@pytest.mark.parametrize("loss", ["hinge", "multiclass_hinge"])
def test_a_start_without_a_loss_leaves_many_parameters_something_to_do(loss):
    X, y = classes(20, 2001, noise=0.0)
    y = y if loss == "hinge" else (y > 0).astype(int)
    objective = RankedRangeObjective(X, y, loss, C=1.0)
    start = np.zeros(objective.shape)
    start[0] = 50.0 if loss == "hinge" else [-50.0, 50.0]
    assert objective.losses(objective.raw_prediction(start)).max() == 0
    assert topsum(objective, start=start, max_iter=2).objective < 1.0
