import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from sorr.baselines import robust_maximum
from sorr.baselines.robust_max_solver import SlackProblem, reduce_to_row_space
from sorr.losses import get_loss
from sorr.objectives import RankedRangeObjective
from sorr.solvers import topsum
from tests.baselines.problems import conic_minimum, conic_robust_maximum, three_classes, two_classes
from tests.slow import examples, slow

POWERS = {"l1": 1, "l2": 2}
norms = st.sampled_from(list(POWERS))
budgets = st.floats(1e-3, 1e3)
masses = st.lists(st.integers(0, 3), min_size=12, max_size=12).filter(any)


def draw(seed, n=12):
    """Draw values with ties."""
    return np.random.default_rng(seed).integers(-6, 30, n) / 4.0


@pytest.mark.parametrize("norm", POWERS)
@pytest.mark.parametrize("K", [0.1, 1.0, 5.0, 40.0])
def test_the_value_is_that_of_a_conic_solver(norm, K):
    values = np.random.default_rng(0).exponential(2.0, 15)
    solution = robust_maximum(values, K, norm)
    assert solution.threshold == pytest.approx(
        conic_robust_maximum(values, K, POWERS[norm]), abs=1e-6 * K
    )


@given(seed=st.integers(0, 10**6), norm=norms, K=budgets)
def test_the_slack_uses_up_the_budget_and_leaves_the_threshold(seed, norm, K):
    values = draw(seed)
    threshold, slack, weights = robust_maximum(values, K, norm)
    power = POWERS[norm]
    assert (slack >= 0).all()
    assert (slack**power).sum() ** (1 / power) == pytest.approx(K, rel=1e-9)
    assert (values - slack).max() == pytest.approx(threshold, abs=1e-9 * K)
    # Any weights that add up to one prove a lower bound; these prove the value.
    size = weights.max() if power == 1 else np.sqrt((weights**2).sum())
    assert weights.sum() == pytest.approx(1.0)
    assert weights @ values - K * size == pytest.approx(threshold, rel=1e-9, abs=1e-8)


@given(seed=st.integers(0, 10**6), norm=norms, K=budgets, other=st.integers(0, 10**6))
def test_it_is_convex_and_the_weights_are_a_subgradient(seed, norm, K, other):
    values, elsewhere = draw(seed), draw(other)
    solution = robust_maximum(values, K, norm)
    tangent = solution.threshold + solution.weights @ (elsewhere - values)
    assert robust_maximum(elsewhere, K, norm).threshold >= tangent - 1e-8 * max(K, 1)


@pytest.mark.parametrize("norm", POWERS)
@pytest.mark.parametrize("K", [0.3, 2.0, 30.0])
def test_the_weights_are_the_gradient_by_central_differences(norm, K):
    values = np.random.default_rng(1).exponential(1.0, 8)
    step = 1e-6
    numeric = [
        (
            robust_maximum(values + step * unit, K, norm).threshold
            - robust_maximum(values - step * unit, K, norm).threshold
        )
        / (2 * step)
        for unit in np.eye(8)
    ]
    np.testing.assert_allclose(robust_maximum(values, K, norm).weights, numeric, atol=1e-7)


@given(seed=st.integers(0, 10**6), norm=norms, K=budgets, mass=masses)
def test_a_value_of_weight_two_is_two_copies(seed, norm, K, mass):
    values, mass = draw(seed), np.array(mass)
    weighted = robust_maximum(values, K, norm, sample_weight=mass)
    copies = robust_maximum(np.repeat(values, mass), K, norm)
    assert weighted.threshold == pytest.approx(copies.threshold, abs=1e-9 * K)
    summed = np.bincount(np.repeat(np.arange(12), mass), copies.weights, 12)
    np.testing.assert_allclose(weighted.weights, summed, atol=1e-7)


@given(seed=st.integers(0, 10**6), norm=norms, K=budgets, shift=st.floats(-50, 50))
def test_adding_a_constant_adds_it_and_order_does_not_matter(seed, norm, K, shift):
    values = draw(seed)
    there = robust_maximum(np.random.default_rng(seed).permutation(values) + shift, K, norm)
    here = robust_maximum(values, K, norm)
    assert there.threshold == pytest.approx(here.threshold + shift, abs=1e-9 * (K + 50))


@pytest.mark.parametrize("norm", POWERS)
def test_no_budget_is_the_maximum_and_ties_share_it(norm):
    solution = robust_maximum([3.0, 1.0, 3.0], 0, norm)
    assert solution.threshold == 3.0
    np.testing.assert_array_equal(solution.slack, 0.0)
    np.testing.assert_array_equal(solution.weights, [0.5, 0.0, 0.5])


@pytest.mark.parametrize("norm", POWERS)
def test_equal_values_share_a_budget_that_rounding_swallows(norm):
    # The average of equal values may be above them in the last digit: no slack, and no weights.
    for n in range(2, 30):
        for value in (0.1, 0.3, 0.7, 1e5 / 3):
            solution = robust_maximum(np.full(n, value), 1e-30, norm)
            assert solution.threshold == pytest.approx(value, rel=1e-15)
            assert solution.threshold <= value
            np.testing.assert_allclose(solution.weights, 1 / n, rtol=1e-12)


def test_a_large_budget_gives_the_average():
    values = np.random.default_rng(0).exponential(1.0, 20)
    even = np.full(20, 0.05)
    solution = robust_maximum(values, 1e3, "l1")
    assert solution.threshold == pytest.approx(values.mean() - 1e3 / 20)
    np.testing.assert_allclose(solution.weights, even)
    np.testing.assert_allclose(robust_maximum(values, 1e7, "l2").weights, even, atol=1e-6)


def test_values_far_apart_keep_all_their_digits():
    values = np.append(2.0 ** np.arange(0, 60, 2), 1e-3)
    for K in (1e-12, 1e-3, 1e3, 1e15):
        threshold = robust_maximum(values, K, "l1").threshold
        ranks = np.arange(1, 32)
        best = ((np.cumsum(np.sort(values)[::-1]) - K) / ranks).max()
        assert threshold == pytest.approx(best, rel=1e-15)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"K": -1.0}, ValueError, "K=-1.0 is not a budget.*K=0 is the maximum"),
        ({"K": np.nan}, ValueError, "K=nan is not a budget"),
        ({"K": np.inf}, ValueError, "K=inf is not a budget"),
        ({"K": True}, TypeError, "K=True is of type bool; needed a number"),
        ({"K": "1"}, TypeError, "K='1' is of type str"),
        ({"norm": "L2"}, ValueError, "norm='L2' is not known; did you mean 'l2'"),
        ({"norm": 2}, ValueError, "norm=2 is not known"),
        ({"norm": "max"}, ValueError, "needed one of 'l1', 'l2'"),
        ({"values": []}, ValueError, "needed one finite number for each sample"),
        ({"values": [1.0, np.nan]}, ValueError, "needed one finite number for each sample"),
        ({"values": [[1.0]]}, ValueError, r"shape \(1, 1\)"),
        ({"sample_weight": [1.0]}, ValueError, "needed one weight for each of the 2 rows"),
        ({"sample_weight": [0.0, 0.0]}, ValueError, "adds up to zero"),
        ({"sample_weight": [-1.0, 2.0]}, ValueError, "a negative weight"),
    ],
)
def test_wrong_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        robust_maximum(**({"values": [1.0, 2.0], "K": 1.0} | arguments))


def problem(X, y, loss="logistic", K=1.0, power=2, C=10.0, mass=None, **options):
    return SlackProblem(
        X,
        y,
        get_loss(loss),
        mass=np.ones(len(y)) if mass is None else np.asarray(mass, dtype=float),
        budget=K,
        power=power,
        C=C,
        fit_intercept=options.get("fit_intercept", True),
    )


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("K", [0.1, 3.0, 100.0])  # of the last, the threshold is below zero
@pytest.mark.parametrize("C", [1.0, 1e4])
def test_the_minimum_is_that_of_a_conic_solver_and_the_gap_is_never_too_small(loss, power, K, C):
    X, y = two_classes()
    task = problem(X, y, loss, K, power, C)
    reached = task.minimise(tol=1e-6, max_iter=200)
    minimum = conic_minimum(X, y, loss, K, power, C)
    height = reached.value - task.floor
    assert reached.gap <= 1e-6
    assert abs(reached.value - minimum) <= 2e-6 * height
    # The gap bounds the distance to the true minimum, up to the accuracy of the referee.
    assert reached.value - minimum <= reached.gap * height + 2e-7 * max(1.0, K)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("K", [0.5, 20.0])
def test_several_outputs_have_the_minimum_of_a_conic_solver(power, K):
    X, y = three_classes(40)
    reached = problem(X, y, "softmax", K, power).minimise(tol=1e-7, max_iter=200)
    assert reached.gap <= 1e-7
    assert reached.value == pytest.approx(conic_minimum(X, y, "softmax", K, power, 10.0), abs=1e-6)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("power", [1, 2])
def test_no_budget_is_the_maximum_loss_and_a_small_one_is_next_to_it(loss, power):
    X, y = two_classes(noise=0.0)
    best = topsum(RankedRangeObjective(X, y, loss, k=1, C=10.0), tol=1e-9)
    none = problem(X, y, loss, 0.0, power).minimise(tol=1e-9, max_iter=200)
    little = problem(X, y, loss, 1e-6, power).minimise(tol=1e-6, max_iter=200)
    assert none.value == pytest.approx(best.objective, rel=1e-8)
    assert little.value == pytest.approx(best.objective, rel=1e-5)
    assert not none.is_constant


def test_a_large_budget_is_the_average_loss():
    X, y = two_classes(200, 4)
    minimum = problem(X, y, K=1e3, power=1, C=50.0).minimise(tol=1e-12, max_iter=200)
    peer = LogisticRegression(C=50.0 / 200, tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(minimum.theta[:-1], peer.coef_[0], rtol=1e-4, atol=1e-5)
    average = RankedRangeObjective(X, y, C=50.0).value(minimum.theta)
    assert minimum.value == pytest.approx(average - 1e3 / 200, abs=1e-10)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("power", [1, 2])
def test_a_row_of_weight_two_is_two_copies(loss, power):
    X, y = two_classes(40)
    mass = np.random.default_rng(0).integers(1, 4, 40)
    weighted = problem(X, y, loss, 5.0, power, mass=mass).minimise(tol=1e-8, max_iter=200)
    copies = problem(np.repeat(X, mass, axis=0), np.repeat(y, mass), loss, 5.0, power)
    np.testing.assert_allclose(
        weighted.theta, copies.minimise(tol=1e-8, max_iter=200).theta, rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("power", [1, 2])
def test_no_direction_leads_down_from_the_minimum(fit_intercept, power):
    X, y = two_classes(50, 2)
    task = problem(X, y, K=4.0, power=power, fit_intercept=fit_intercept)
    reached = task.minimise(tol=1e-9, max_iter=200)
    rng = np.random.default_rng(0)
    for _ in range(50):
        theta = reached.theta + 10.0 ** rng.uniform(-6, 0) * rng.standard_normal(
            reached.theta.shape
        )
        assert task.value(theta, task.maximum.raw_prediction(theta)) >= reached.value - 1e-9


@settings(max_examples=examples(50))
@given(
    seed=st.integers(0, 1000),
    loss=st.sampled_from(["logistic", "hinge"]),
    power=st.sampled_from([1, 2]),
    K=st.floats(1e-3, 1e2),
    quality=st.floats(0, 2),
)
def test_any_weights_give_a_bound_below_the_minimum(seed, loss, power, K, quality):
    X, y = two_classes(20, 2, seed)
    task = problem(X, y, loss, K, power)
    best = task.minimise(tol=1e-8, max_iter=200)
    rng = np.random.default_rng(seed)
    raw = task.maximum.raw_prediction(best.theta) + quality * rng.standard_normal(20)
    weights = rng.random((20, 2 if loss == "hinge" else 1)) ** (1 + 2 * quality)
    assert task.bound(raw, weights) <= best.value + 1e-9 * max(K, 1)


@pytest.mark.parametrize(
    "kind", ["separable", "tied", "sparse", *slow("repeated", "scaled", "uneven")]
)
@pytest.mark.parametrize("loss", ["hinge", *slow("logistic")])
def test_hard_problems_are_certified(kind, loss):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 6))
    score = X @ np.arange(1.0, 7.0) / 5
    y = np.where(score + 0.7 * rng.standard_normal(400) > 0, 1.0, -1.0)
    if kind == "separable":
        y = np.where(score > 0, 1.0, -1.0)
    elif kind == "repeated":
        X, y = np.repeat(X[:40], 10, axis=0), np.repeat(y[:40], 10)
    elif kind == "scaled":
        X = X * np.logspace(-3, 3, 6)
    elif kind == "uneven":
        y = np.where(score > np.quantile(score, 0.97), 1.0, -1.0)
    elif kind == "tied":
        X = np.round(X)
    elif kind == "sparse":
        X = sparse.csr_array(np.where(np.abs(X) < 1.2, 0.0, X))
    for power in (1, 2):
        for each in (1e-6, 0.1, 10.0):
            for C in (1.0, 1e4, 1e8):
                task = problem(X, y, loss, each * 400 ** (1 / power), power, C)
                minimum = task.minimise(tol=1e-6, max_iter=200)
                assert minimum.gap <= 1e-6, (power, each, C)


def test_one_step_is_not_enough_and_the_gap_says_so():
    X, y = two_classes()
    exact = problem(X, y).minimise(tol=1e-9, max_iter=200)
    task = problem(X, y)
    rough = task.minimise(tol=1e-9, max_iter=1)
    assert rough.n_iter == 1
    assert rough.gap > 1e-9
    assert rough.value > exact.value
    assert rough.value - rough.gap * (rough.value - task.floor) <= exact.value


def test_without_a_ridge_nothing_is_certified_and_the_method_ends():
    X, y = two_classes(noise=0.0)
    minimum = problem(X, y, C=np.inf).minimise(tol=1e-6, max_iter=200)
    assert np.isfinite(minimum.theta).all()
    assert minimum.n_iter <= 200


def test_a_method_that_gets_nowhere_gives_up():
    X, y = two_classes()
    # Far from the origin, rounding hides what the columns say.
    minimum = problem(X + 1e8, y, K=1e-3, C=1e4).minimise(tol=1e-6, max_iter=200)
    assert minimum.gap > 1e-6
    assert minimum.n_iter < 150


def test_a_step_that_a_boundary_stops_is_taken_towards_the_centre():
    n_certified = 0
    for seed, noise in ((44, 0.7), (158, 0.0), (232, 0.7)):
        X, y = two_classes(60, 3, seed, noise)
        mass = 10.0 ** np.random.default_rng(seed).uniform(-4, 4, 60)
        task = problem(X, y, "squared_hinge", 1e-3, 2, 1.0, mass=mass)
        n_certified += task.minimise(tol=1e-6, max_iter=200).gap <= 1e-6
    # Without such steps none is; where masses are that uneven, rounding may cost one.
    assert n_certified >= 2


def test_features_that_say_nothing_make_for_a_constant_model():
    X, y = np.tile([[1.0], [-1.0]], (20, 1)), np.repeat([1.0, -1.0], 20)
    assert problem(X, y).minimise(tol=1e-6, max_iter=200).is_constant
    assert not problem(*two_classes()).minimise(tol=1e-6, max_iter=200).is_constant


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("power", [1, 2])
def test_the_constant_model_of_uneven_classes_leans_to_the_larger_one(loss, power):
    X, y = np.tile([[1.0], [-1.0]], (20, 1)), np.repeat([1.0, -1.0], [30, 10])
    minimum = problem(X, y, loss, 10.0, power).minimise(tol=1e-6, max_iter=200)
    assert minimum.is_constant
    assert minimum.theta[0] == pytest.approx(0.0, abs=1e-6)
    assert minimum.theta[1] > 0.1
    origin = problem(X, y, loss, 10.0, power, fit_intercept=False)
    assert origin.minimise(tol=1e-6, max_iter=200).is_constant


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_coefficients_in_the_span_predict_the_same_and_have_the_same_norm(form):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((8, 30)) < 0.5, rng.standard_normal((8, 30)), 0.0)
    X[3] = X[5]  # one dimension less
    rows, back = reduce_to_row_space(form(X))
    coef = rng.standard_normal((rows.shape[1], 2))
    assert rows.shape[1] <= 8
    np.testing.assert_allclose(X @ back(coef), rows @ coef, atol=1e-10)
    np.testing.assert_allclose(rows @ rows.T, X @ X.T, atol=1e-10)
    inside = back(rows.T)  # what the rows are combined of
    np.testing.assert_allclose(np.linalg.norm(inside), np.linalg.norm(rows), rtol=1e-10)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rows_of_zeros_span_nothing(form):
    rows, back = reduce_to_row_space(form(np.zeros((3, 5))))
    assert rows.shape[1] >= 1  # an empty matrix is not what solvers are tested with
    np.testing.assert_allclose(rows @ rows.T, 0.0, atol=1e-300)
    np.testing.assert_array_equal(back(np.zeros(rows.shape[1])), np.zeros(5))


def test_as_many_rows_as_features_stay_as_they_are():
    X = np.eye(4)
    rows, back = reduce_to_row_space(X)
    assert rows is X
    assert back(X) is X
