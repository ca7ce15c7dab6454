from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge

from sorr.losses import Huber, SmoothHinge
from sorr.objectives import Groups, RankedRangeObjective
from sorr.objectives.kernels import Gathered, pick
from sorr.ranked import Mass
from tests.objectives.problems import CONVEX, SEVERAL_OUTPUTS, generic, plain_value, tied
from tests.ranked.referees import weights_by_tie_breaks
from tests.slow import examples

each_loss = pytest.mark.parametrize("loss", CONVEX)
SHAPES = {
    "ranked range": {"m": 6, "k": 40},
    "groups": {"m": 0.1, "k": 0.8, "groups": np.arange(60) % 3},
    "weights": {"m": 0.2, "k": 0.7, "sample_weight": np.random.default_rng(5).random(60)},
}
each_shape = pytest.mark.parametrize("options", SHAPES.values(), ids=SHAPES)


def slope_by_differences(function, theta, step=1e-6):
    slope = np.empty(theta.size)
    for i in range(theta.size):
        shift = np.zeros(theta.size)
        shift[i] = step
        shift = shift.reshape(theta.shape)
        slope[i] = (function(theta + shift) - function(theta - shift)) / (2 * step)
    return slope.reshape(theta.shape)


# -- values -------------------------------------------------------------------------------------


@each_loss
def test_without_weights_and_groups_the_value_is_a_slice_of_the_sorted_losses(loss):
    problem = generic(loss, m=6, k=40, C=2.0)
    objective, theta = problem.objective(), problem.start
    losses = objective.loss.value(objective.y, problem.X @ theta[:-1] + theta[-1])
    expected = np.sort(losses)[::-1][6:40].mean() + np.sum(theta[:-1] ** 2) / 4
    assert_allclose(objective.value(theta), expected, rtol=1e-13)


@given(tied())
def test_the_value_is_that_of_segments_laid_end_to_end_in_each_group(problem):
    for theta in (problem.start, problem.end):
        expected = plain_value(problem, theta)
        assert_allclose(problem.objective().value(theta), expected, rtol=1e-11, atol=1e-12)


@given(tied())
def test_the_value_is_the_shares_times_the_losses_plus_the_ridge(problem):
    objective, theta = problem.objective(), problem.start
    raw = objective.raw_prediction(theta)
    shares = objective.shares(raw)
    product = shares @ objective.losses(raw) + objective.ridge(theta)
    assert_allclose(product, objective.value(theta), rtol=1e-12, atol=1e-13)
    assert_allclose(shares.sum(), 1, rtol=1e-12)
    assert_allclose(objective.value_at(raw, theta), objective.value(theta), rtol=1e-14)


@pytest.mark.parametrize("loss", [loss for loss in CONVEX if loss != "hinge"])
def test_at_a_complete_tie_all_rows_share_equally(loss):
    problem = generic(loss, n=12, m=3, k=7)
    y = np.ones_like(problem.y)
    objective = RankedRangeObjective(problem.X, y, loss, **problem.options)
    theta = np.zeros_like(problem.start)
    assert_allclose(objective.shares(objective.raw_prediction(theta)), 1 / 12)


def test_a_huge_discarded_loss_leaves_the_value_untouched():
    X, y = np.array([[0.1], [0.2], [0.3], [1e17]]), np.zeros(4)
    objective = RankedRangeObjective(X, y, "absolute", m=1, k=3, C=np.inf)
    assert_allclose(objective.value(np.array([1.0, 0.0])), 0.25, rtol=1e-15)


def test_an_infinite_discarded_loss_leaves_value_and_slope_finite():
    X, y = np.array([[1.0], [2.0], [1e200]]), np.zeros(3)
    objective = RankedRangeObjective(X, y, "squared", m=1, C=np.inf, fit_intercept=False)
    value, slope = objective.value_and_subgradient(np.array([1.0]))
    assert_allclose(value, 2.5)
    assert_allclose(slope, 5.0)


# -- weights are mass ---------------------------------------------------------------------------


@given(tied(), st.data())
def test_a_row_of_weight_two_is_two_rows(problem, data):
    n = len(problem.X)
    weight = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    weight[0] += 1
    total = int(weight.sum())
    options = {**problem.options, "sample_weight": weight}
    if "groups" not in options:
        k = data.draw(st.integers(1, total))
        options |= {"k": k, "m": data.draw(st.integers(0, k - 1))}
    else:  # fractions of a number of rows are rounded, those of a mass are not
        options |= {"m": 0, "k": None}
    one = problem._replace(options=options).objective()
    copied = {**options, "sample_weight": None}
    if "groups" in options:
        copied["groups"] = np.repeat(options["groups"], weight)
    X, y = np.repeat(problem.X, weight, axis=0), np.repeat(problem.y, weight, axis=0)
    copies = RankedRangeObjective(X, y, problem.loss, **copied)
    for theta in (problem.start, problem.end):
        value, slope = one.value_and_subgradient(theta)
        expected_value, expected_slope = copies.value_and_subgradient(theta)
        assert_allclose(value, expected_value, rtol=1e-11, atol=1e-12)
        assert_allclose(slope, expected_slope, rtol=1e-11, atol=1e-11)
    trimmed = one.trimmed(one.raw_prediction(problem.start))
    expected = copies.trimmed(copies.raw_prediction(problem.start))
    for theta in (problem.start, problem.end):
        assert_allclose(trimmed.value(theta), expected.value(theta), rtol=1e-11, atol=1e-12)


def test_the_scale_of_the_weights_is_that_of_the_ranks():
    problem = generic(m=0.2, k=0.7, sample_weight=np.random.default_rng(0).random(60))
    double = problem.objective(sample_weight=7 * problem.options["sample_weight"])
    assert_allclose(double.value(problem.start), problem.objective().value(problem.start))


# -- groups -------------------------------------------------------------------------------------


@each_loss
def test_groups_add_up_by_their_share_of_the_rows(loss):
    labels = np.array(["few"] * 12 + ["many"] * 48)
    m, k = {"few": 2, "many": 5}, {"few": 9, "many": None}
    problem = generic(loss, m=m, k=k, groups=labels, C=np.inf)
    value, slope = problem.objective().value_and_subgradient(problem.start)
    parts = []
    for label in ("few", "many"):
        rows = labels == label
        part = RankedRangeObjective(
            problem.X[rows],
            problem.y[rows],
            loss,
            m=m[label],
            k=k[label],
            C=np.inf,
            n_outputs=problem.options.get("n_outputs"),
        )
        parts.append((rows.mean(), *part.value_and_subgradient(problem.start)))
    assert_allclose(value, sum(share * part for share, part, _ in parts), rtol=1e-12)
    assert_allclose(slope, sum(share * part for share, _, part in parts), rtol=1e-10)


# -- forms of the data --------------------------------------------------------------------------


@each_loss
@each_shape
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_rows_give_what_dense_ones_give(loss, options, form):
    problem = generic(loss, **options)
    X = np.where(np.abs(problem.X) > 0.5, problem.X, 0)
    dense, thin = problem.objective(X=X), problem.objective(X=form(X))
    for theta in (problem.start, problem.end):
        value, slope = thin.value_and_subgradient(theta)
        assert_allclose(value, dense.value(theta), rtol=1e-12)
        assert_allclose(slope, dense.value_and_subgradient(theta)[1], rtol=1e-9, atol=1e-12)
    if dense.loss.has_curvature:
        raw = dense.raw_prediction(problem.start)
        assert_allclose(thin.curvature_at(raw), dense.curvature_at(raw), rtol=1e-9, atol=1e-12)


@each_loss
@each_shape
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_single_precision_is_close(loss, options, form):
    problem = generic(loss, **options)
    X = problem.X.astype(np.float32)
    narrow, wide = problem.objective(X=form(X)), problem.objective(X=X.astype(np.float64))
    theta = problem.start
    assert narrow.design.dtype == np.float32
    value, slope = narrow.value_and_subgradient(theta)
    assert_allclose(value, wide.value(theta), rtol=1e-12)
    assert_allclose(slope, wide.value_and_subgradient(theta)[1], rtol=1e-9, atol=1e-12)
    single, single_slope = narrow.value_and_subgradient(theta.astype(np.float32))
    assert single_slope.dtype == np.float32
    assert_allclose(single, value, rtol=1e-5)  # of float32
    assert_allclose(single_slope, slope, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("X", [[[1, 2], [3, 4]], np.array([[True, False], [False, True]])])
def test_numbers_of_any_type_are_features(X):
    objective = RankedRangeObjective(X, [1, -1])
    assert objective.design.dtype == np.float64
    assert_allclose(objective.raw_prediction(np.array([1.0, 2.0, 0.0])), np.asarray(X) @ [1, 2])


def test_the_parameters_have_a_column_for_each_output():
    X = np.zeros((4, 2))
    assert RankedRangeObjective(X, [1, -1, 1, 1]).shape == (3,)
    assert RankedRangeObjective(X, [1, -1, 1, 1], fit_intercept=False).shape == (2,)
    assert RankedRangeObjective(X, [0, 1, 2, 0], "softmax").shape == (3, 3)
    assert RankedRangeObjective(X, [0, 1, 2, 0], "softmax", n_outputs=5).shape == (3, 5)
    objective = RankedRangeObjective(X, np.eye(4), "lsep")
    assert objective.shape == (3, 4)
    assert objective.n_parameters == 12
    assert objective.n_samples == 4


def test_classes_have_a_class_of_each_row_and_numbers_none():
    assert_array_equal(RankedRangeObjective(np.zeros((2, 1)), [1, -1]).class_of_row, [1, -1])
    assert RankedRangeObjective(np.zeros((2, 1)), [0.5, 2], "squared").class_of_row is None


# -- derivatives --------------------------------------------------------------------------------


@each_loss
@each_shape
@pytest.mark.parametrize("intercept", [True, False])
def test_the_subgradient_matches_central_differences_where_nothing_is_tied(
    loss, options, intercept
):
    problem = generic(loss, **options, C=3.0)
    objective = problem.objective(fit_intercept=intercept)
    theta = problem.start[: objective.shape[0]]
    value, slope = objective.value_and_subgradient(theta)
    assert_allclose(value, objective.value(theta), rtol=1e-14)
    expected = slope_by_differences(objective.value, theta)
    assert_allclose(slope, expected, rtol=1e-5, atol=1e-7)  # of a difference over 1e-6


@given(tied(losses=["logistic", "squared", "softmax"], max_rows=6))
@settings(max_examples=40)
def test_at_ties_the_slope_is_the_mean_over_all_tie_breaks(problem):
    options = {"C": problem.options["C"], "n_outputs": problem.options.get("n_outputs")}
    n = len(problem.X)
    m, k = n // 3, max(n // 3 + 1, n - 1)
    objective = RankedRangeObjective(problem.X, problem.y, problem.loss, m=m, k=k, **options)
    raw = objective.raw_prediction(problem.start)
    order = objective.loss.order(objective.y, raw)
    weights = weights_by_tie_breaks(order.tolist(), m, k) / (k - m)
    gradient = objective.loss.gradient(objective.y, raw)
    rows = np.column_stack([problem.X, np.ones(n)])
    expected = rows.T @ (gradient * (weights if gradient.ndim == 1 else weights[:, None]))
    expected[:-1] += problem.start[:-1] / options["C"]
    assert_allclose(objective.subgradient_at(raw, problem.start), expected, atol=1e-12)


@given(tied())
def test_both_parts_lie_above_their_tangents(problem):
    for part in problem.objective().convex_parts():
        value, slope = part.value_and_subgradient(problem.start)
        tangent = value + np.vdot(slope, problem.end - problem.start)
        assert part.value(problem.end) >= tangent - 1e-10 * max(1, abs(tangent))


@pytest.mark.parametrize("loss", ["logistic", "squared", "softmax", "lsep", Huber(), "hinge"])
@each_shape
def test_the_curvature_matches_differences_of_the_slope(loss, options):
    name = loss if isinstance(loss, str) else "squared"
    problem = generic(name, **options, C=3.0)
    objective = RankedRangeObjective(problem.X, problem.y, loss, **problem.options)
    if not objective.loss.has_curvature:
        objective = objective.smoothed(0.3)
        assert objective.loss == SmoothHinge(0.3)
    theta = problem.start
    curvature = objective.curvature_at(objective.raw_prediction(theta))
    for i in range(theta.size):
        shift = np.zeros(theta.size)
        shift[i] = 1e-6
        shift = shift.reshape(theta.shape)
        up = objective.value_and_subgradient(theta + shift)[1]
        down = objective.value_and_subgradient(theta - shift)[1]
        column = (up - down).ravel() / 2e-6
        assert_allclose(curvature[i], column, rtol=1e-5, atol=1e-7)  # of a difference over 1e-6


def test_the_ridge_leaves_the_intercept_alone():
    objective = RankedRangeObjective(np.zeros((2, 2)), [1, -1], C=4.0)
    theta = np.array([2.0, -4.0, 100.0])
    assert objective.ridge(theta) == 20 / 8
    assert_array_equal(objective.ridge_gradient(theta), [0.5, -1.0, 0.0])
    assert_array_equal(objective.ridge_diagonal, [0.25, 0.25, 0.0])
    bare = RankedRangeObjective(np.zeros((2, 2)), [1, -1], C=4.0, fit_intercept=False)
    assert_array_equal(bare.ridge_gradient(theta[:2]), [0.5, -1.0])
    assert_array_equal(bare.ridge_diagonal, [0.25, 0.25])


def test_an_infinite_c_leaves_the_ridge_out_and_another_one_can_be_had():
    objective = RankedRangeObjective(np.zeros((2, 2)), [1, -1], C=np.inf)
    theta = np.array([2.0, -4.0, 100.0])
    assert objective.ridge(theta) == 0
    assert_array_equal(objective.ridge_gradient(theta), 0)
    assert_array_equal(objective.ridge_diagonal, 0)
    other = objective.with_ridge(0.5)
    assert other.ridge(theta) == 20
    assert_array_equal(other.ridge_diagonal, [2, 2, 0])
    assert objective.ridge(theta) == 0


# -- parts and majorisers -----------------------------------------------------------------------


@given(tied())
def test_what_is_dropped_is_the_second_part_without_its_scale(problem):
    objective = problem.objective()
    raw = objective.raw_prediction(problem.start)
    dropped, shares = objective.dropped(raw), objective.convex_parts()[1].shares(raw)
    for group in objective.groups:
        assert_allclose(dropped[group.rows] * group.scale, shares[group.rows], atol=1e-12)
        assert_allclose(dropped[group.rows].sum(), group.m, atol=1e-9)


@given(tied())
def test_the_two_convex_parts_differ_by_the_objective(problem):
    objective, theta = problem.objective(), problem.start
    first, second = objective.convex_parts()
    difference = first.value(theta) - second.value(theta)
    assert_allclose(difference, objective.value(theta), rtol=1e-9, atol=1e-10)
    slopes = [part.value_and_subgradient(theta)[1] for part in (first, second)]
    expected = objective.value_and_subgradient(theta)[1]
    assert_allclose(slopes[0] - slopes[1], expected, rtol=1e-9, atol=1e-10)
    assert first.is_convex
    assert second.is_convex


@each_loss
def test_without_rows_dropped_the_second_part_is_zero(loss):
    objective = generic(loss, k=40).objective()
    second = objective.convex_parts()[1]
    value, slope = second.value_and_subgradient(generic(loss).start)
    assert objective.is_convex
    assert value == 0
    assert_array_equal(slope, 0)
    assert not generic(loss, m=1).objective().is_convex


@given(tied())
@settings(max_examples=examples(200))
def test_trimming_is_a_tighter_majoriser_than_the_linearisation_of_the_paper(problem):
    objective, start, end = problem.objective(), problem.start, problem.end
    raw = objective.raw_prediction(start)
    trimmed = objective.trimmed(raw)
    first = objective.convex_parts()[0]
    dropped = objective.groups.masses - trimmed.groups.masses
    for group in objective.groups:
        dropped[group.rows] *= group.scale
    losses = objective.losses(raw)
    theta_hat = objective.design.pull(objective.weighted_gradient(raw, dropped))

    def halfway(theta):
        return first.value(theta) - dropped @ objective.losses(objective.raw_prediction(theta))

    def linearised(theta):
        return first.value(theta) - dropped @ losses - np.vdot(theta_hat, theta - start)

    chain = [objective.value(end), trimmed.value(end), halfway(end), linearised(end)]
    assert np.all(np.diff(chain) >= -1e-9 * max(1, abs(chain[-1])))
    touching = [trimmed.value(start), halfway(start), linearised(start)]
    assert_allclose(touching, objective.value(start), rtol=1e-9, atol=1e-10)
    assert trimmed.is_convex


@given(tied())
def test_with_ties_shared_the_linearisation_of_the_paper_is_a_majoriser_too(problem):
    objective, start, end = problem.objective(), problem.start, problem.end
    first, second = objective.convex_parts()
    value, theta_hat = second.value_and_subgradient(start)
    majoriser = first.value(end) - value - np.vdot(theta_hat, end - start)
    assert majoriser >= objective.value(end) - 1e-9 * max(1, abs(majoriser))


@each_loss
def test_the_chain_is_strict_somewhere_or_it_would_say_nothing(loss):
    problem = generic(loss, m=10, k=30)
    objective, start, end = problem.objective(), problem.start, problem.end
    first, second = objective.convex_parts()
    value, theta_hat = second.value_and_subgradient(start)
    linearised = first.value(end) - value - np.vdot(theta_hat, end - start)
    trimmed = objective.trimmed(objective.raw_prediction(start)).value(end)
    assert objective.value(end) < trimmed - 1e-3
    assert trimmed < linearised - 1e-3


def test_rows_can_be_taken_and_ranked_otherwise():
    problem = generic("softmax", m=5)
    objective = problem.objective()
    rows = np.arange(10, 30)
    taken = pick(objective.part)
    few = Gathered(*(each[rows] for each in taken))
    part = objective.with_rows(few, Groups.of(20, 2, 15))
    expected = RankedRangeObjective(problem.X[rows], problem.y[rows], "softmax", m=2, k=15)
    assert_allclose(part.value(problem.start), expected.value(problem.start))
    other = objective.with_groups(Groups.of(60, 0, 7))
    assert_allclose(other.value(problem.start), problem.objective(m=0, k=7).value(problem.start))
    assert_allclose(objective.value(problem.start), problem.objective().value(problem.start))


def test_an_objective_is_frozen():
    objective = generic().objective()
    for made in (objective, objective.with_ridge(2.0), objective.trimmed(np.zeros(60))):
        with pytest.raises(FrozenInstanceError):
            made.C = 3.0


def test_what_is_made_from_an_objective_has_its_own_classes_and_ridge():
    objective = RankedRangeObjective(np.zeros((3, 1)), [1, -1, 1], C=2.0)
    assert_array_equal(objective.classes[1], [1, 0, 1])
    assert_array_equal(objective.ridge_diagonal, [0.5, 0])
    other = objective.replace(y=np.array([-1.0, 1.0, 1.0]), C=4.0)
    assert_array_equal(other.classes[1], [0, 1, 1])
    assert_array_equal(other.ridge_diagonal, [0.25, 0])
    assert_array_equal(other.replace(C=0.5).ridge_diagonal, [2, 0])
    assert_array_equal(objective.classes[1], [1, 0, 1])
    assert objective.C == 2.0
    assert other.design is objective.design


# -- conventions --------------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "k"), [(0, None), (0, 60)])
def test_the_minimum_is_that_of_logistic_regression_with_c_over_n(m, k):
    problem = generic("logistic", C=3.0)
    model = LogisticRegression(C=3.0 / 60, tol=1e-10, max_iter=1000).fit(problem.X, problem.y)
    theta = np.r_[model.coef_.ravel(), model.intercept_]
    slope = problem.objective(m=m, k=k).value_and_subgradient(theta)[1]
    assert np.abs(slope).max() < 1e-6
    assert np.abs(problem.objective(C=1.0).value_and_subgradient(theta)[1]).max() > 1e-2


def test_the_minimum_of_softmax_and_of_squared_losses_follow_the_same_convention():
    problem = generic("softmax", C=3.0)
    model = LogisticRegression(C=3.0 / 60, tol=1e-10, max_iter=1000).fit(problem.X, problem.y)
    slope = problem.objective().value_and_subgradient(np.vstack([model.coef_.T, model.intercept_]))
    assert np.abs(slope[1]).max() < 1e-6
    problem = generic("squared", C=3.0)
    model = Ridge(alpha=60 / (2 * 3.0)).fit(problem.X, problem.y)
    slope = problem.objective().value_and_subgradient(np.r_[model.coef_, model.intercept_])
    assert np.abs(slope[1]).max() < 1e-6


def test_evaluating_leaves_the_arguments_untouched():
    problem = generic("logistic", m=5, k=50, sample_weight=np.ones(60))
    copies = problem.X.copy(), problem.y.copy(), problem.start.copy()
    objective = problem.objective()
    objective.value_and_subgradient(problem.start)
    objective.trimmed(objective.raw_prediction(problem.start)).value(problem.start)
    for array, copy in zip((problem.X, problem.y, problem.start), copies, strict=True):
        assert_array_equal(array, copy)
    assert_array_equal(problem.options["sample_weight"], 1)


# -- refusals -----------------------------------------------------------------------------------

X2, Y2 = np.zeros((2, 1)), np.array([1, -1])


@pytest.mark.parametrize(
    ("X", "y", "options", "error", "message"),
    [
        (X2, [1, -1, 1], {}, ValueError, "X has 2 rows, y 3; needed one target for each row"),
        (np.zeros(2), Y2, {}, ValueError, r"X has shape \(2,\); needed a matrix.*X.reshape"),
        (np.zeros((0, 2)), Y2, {}, ValueError, r"X has shape \(0, 2\); needed a matrix"),
        ([["a"], ["b"]], Y2, {}, ValueError, "X has dtype <U1; needed numbers: encode"),
        (np.array([[1j], [2]]), Y2, {}, ValueError, "X has dtype complex128; needed numbers"),
        ([[np.nan], [1.0]], Y2, {}, ValueError, "X holds NaN or infinity; .*impute or drop"),
        (sparse.csr_array([[np.inf], [1.0]]), Y2, {}, ValueError, "X holds NaN or infinity"),
        (X2, Y2, {"C": 0}, ValueError, "C=0 is not positive; needed C > 0"),
        (X2, Y2, {"C": np.nan}, ValueError, "C=nan is not positive"),
        (X2, Y2, {"C": "1"}, TypeError, "C='1' is of type str; needed a number"),
        (X2, Y2, {"C": True}, TypeError, "C=True is of type bool; needed a number"),
        (X2, Y2, {"k": 3}, ValueError, "k=3 exceeds the 2 values"),
        (X2, Y2, {"m": Mass(2.0)}, ValueError, "m=.* drops everything"),
        (X2, Y2, {"sample_weight": [1.0]}, ValueError, r"sample_weight has shape \(1,\); needed"),
        (X2, Y2, {"sample_weight": [1, -1]}, ValueError, "holds a negative weight, NaN"),
        (X2, Y2, {"sample_weight": [1, np.nan]}, ValueError, "holds a negative weight, NaN"),
        (X2, Y2, {"sample_weight": [1, np.inf]}, ValueError, "needed finite weights"),
        (X2, Y2, {"sample_weight": [0, 0]}, ValueError, "or adds up to zero"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_way_out(X, y, options, error, message):
    with pytest.raises(error, match=message):
        RankedRangeObjective(X, y, **options)


@pytest.mark.parametrize("loss", SEVERAL_OUTPUTS)
def test_a_raw_prediction_of_the_wrong_shape_is_refused(loss):
    objective = generic(loss).objective()
    with pytest.raises(ValueError, match=rf"^{loss} is given .*; needed"):
        objective.losses(np.zeros(60))


@pytest.mark.parametrize(
    ("options", "message"),
    [({"fit_intercept": "no"}, "fit_intercept='no'"), ({"n_outputs": 2.0}, "n_outputs=2.0")],
)
def test_options_of_another_type_are_refused(options, message):
    with pytest.raises(TypeError, match=message):
        RankedRangeObjective(np.zeros((2, 1)), [1, -1], **options)


def test_an_infinite_ridge_is_no_warning():
    objective = RankedRangeObjective(np.ones((2, 1)), [[1, 0], [0, 1]], "multilabel_hinge")
    assert objective.ridge(np.full((2, 2), 1e200)) == np.inf
