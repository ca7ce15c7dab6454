import sys
from dataclasses import FrozenInstanceError
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression

from sorr.objectives import Groups, RankedRangeObjective, SampledRows
from sorr.solvers import KSchedule, Status, dca
from sorr.solvers.dc_algorithm import _Record, _step_sizes
from tests.slow import slow
from tests.solvers.problems import conic_minimum_of_classes, with_sentinels

INNER = ["stochastic", "deterministic"]
LOSSES = ["logistic", "hinge", "squared", "absolute", "softmax", "multiclass_hinge"]
each_inner = pytest.mark.parametrize("inner", INNER)


def problem(loss="logistic", n=120, d=3, seed=0, wrong=0.1, **options):
    """Return rows that a linear predictor explains, but for some wrong targets."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, d))
    score = X @ random.standard_normal(d) + 0.3 * random.standard_normal(n)
    flipped = random.random(n) < wrong
    if loss in ("softmax", "multiclass_hinge"):
        y = np.digitize(np.where(flipped, -score, score), [-0.5, 0.5])
    elif loss in ("squared", "absolute"):
        y = np.where(flipped, score + 10, score)
    else:
        y = np.where(flipped, -1, 1) * np.where(score > 0, 1.0, -1.0)
    options.setdefault("C", 10.0)
    return RankedRangeObjective(X, y, loss, **options)


SHAPES = {
    "average": {},
    "top": {"k": 60},
    "trimmed": {"m": 15},
    "ranked range": {"m": 15, "k": 80},
    "groups": {"m": 0.1, "k": 0.8, "groups": np.arange(120) % 3},
    "weights": {"m": 0.1, "k": 0.7, "sample_weight": np.random.default_rng(1).random(120)},
    "weighted groups": {
        "m": {0: 0, 1: 0.2},
        "k": {0: 0.5, 1: None},
        "groups": np.arange(120) % 2,
        "sample_weight": np.random.default_rng(2).integers(0, 3, 120),
    },
}
each_shape = pytest.mark.parametrize("options", SHAPES.values(), ids=SHAPES)


# -- the deterministic steps --------------------------------------------------------------------

# By default each shape and each loss meets one of the starts; slow tests take every combination.
STARTS = ["zero", "random"]
SOME = {(shape, LOSSES[i % 6], STARTS[i % 2]) for i, shape in enumerate(SHAPES)}
COMBINATIONS = [
    pytest.param(*case, marks=() if case in SOME else pytest.mark.slow)
    for case in product(SHAPES, LOSSES, STARTS)
]


@pytest.mark.parametrize(("shape", "loss", "start"), COMBINATIONS)
def test_deterministic_steps_never_raise_the_objective(shape, loss, start):
    objective = problem(loss, **SHAPES[shape])
    point = np.random.default_rng(3).standard_normal(objective.shape) if start == "random" else None
    solution = dca(objective, start=point, inner="deterministic", outer_steps=6)
    values = [step.objective for step in solution.trace]
    assert np.all(np.diff(values) <= 0)
    assert values[-1] < values[0]
    assert solution.objective == values[-1]


def test_of_all_rows_the_minimum_is_that_of_logistic_regression():
    objective = problem(C=3.0)
    model = LogisticRegression(C=3.0 / 120, tol=1e-10, max_iter=1000)
    model.fit(objective.design.X, objective.y)
    solution = dca(objective, inner="deterministic")
    assert solution.status is Status.CONVERGED
    assert_allclose(solution.coef, model.coef_.ravel(), rtol=1e-4)
    assert_allclose(solution.intercept, model.intercept_[0], rtol=1e-4)


@pytest.mark.parametrize("k", [1, 7, 25, 40])
def test_of_the_top_k_hinge_losses_the_minimum_is_that_of_a_linear_program(k):
    objective = problem("hinge", n=40, d=2, wrong=0.3, k=k, C=np.inf)
    X, y = objective.design.X, objective.y
    # min lam + mean over k of xi, with xi_i >= s_i - lam, s_i >= 1 - y_i (x_i w + b), s_i >= 0
    rows = -y[:, None] * np.column_stack([X, np.ones(40)])
    one, eye = np.ones((40, 1)), np.eye(40)
    bounds = np.block([[rows, -one, -eye], [np.zeros((40, 3)), -one, -eye]])
    program = linprog(
        np.r_[np.zeros(3), 1.0, np.full(40, 1 / k)],
        A_ub=bounds,
        b_ub=np.r_[-np.ones(40), np.zeros(40)],
        bounds=[(None, None)] * 4 + [(0, None)] * 40,
    )
    solution = dca(objective, inner="deterministic", inner_steps=2000)
    assert program.status == 0
    assert solution.objective >= program.fun - 1e-9
    assert_allclose(solution.objective, program.fun, rtol=1e-5)  # of a method without certificate


def test_outliers_are_dropped_and_a_line_without_them_is_found():
    X = np.arange(12.0)[:, None]
    y = 2 * X[:, 0] + 1
    y[[2, 9]] += [50, -70]
    objective = RankedRangeObjective(X, y, "squared", m=2, C=np.inf)
    solution = dca(objective, inner="deterministic")
    assert_allclose(solution.theta, [2, 1], rtol=1e-4)
    assert_allclose(solution.row_weights, np.where(np.isin(np.arange(12), [2, 9]), 0, 0.1))
    assert solution.minima[0].dropped == {None: 2.0}


@each_shape
def test_from_a_solution_there_is_no_further_step(options):
    objective = problem(**options)
    solution = dca(objective, inner="deterministic", tol=1e-12, outer_steps=500)
    again = dca(objective, inner="deterministic", tol=1e-12, start=solution.theta)
    assert solution.status is again.status is Status.CONVERGED
    assert_allclose(again.objective, solution.objective, rtol=1e-7)


def test_a_row_of_weight_two_is_two_rows():
    weight = np.random.default_rng(4).integers(0, 4, 120)
    one = problem(m=20, k=150, sample_weight=weight)
    X, y = np.repeat(one.design.X, weight, axis=0), np.repeat(one.y, weight)
    copies = RankedRangeObjective(X, y, m=20, k=150, C=10.0)
    solutions = [dca(objective, inner="deterministic") for objective in (one, copies)]
    assert_allclose(solutions[0].objective, solutions[1].objective, rtol=1e-6)


# -- steps on some of the rows ------------------------------------------------------------------


def outer_problem(objective, theta, level, theta_hat):
    """Return the function of theta and lambda that an outer step minimises, by loops."""
    losses = objective.losses(objective.raw_prediction(theta))
    value = np.sum(theta[:-1] ** 2) / (2 * objective.C) - np.sum(theta * theta_hat)
    for number, group in enumerate(objective.groups):
        rows = np.arange(objective.n_samples)[group.rows]
        excess = sum(objective.groups.masses[i] * max(losses[i] - level[number], 0) for i in rows)
        value += group.scale * (group.k * level[number] + excess)
    return value


def differences(function, point, step=1e-6):
    slope = np.empty(point.size)
    for i in range(point.size):
        shift = np.zeros(point.size)
        shift[i] = step
        shift = shift.reshape(point.shape)
        slope[i] = (function(point + shift) - function(point - shift)) / (2 * step)
    return slope.reshape(point.shape)


@pytest.mark.parametrize("loss", LOSSES)
@each_shape
def test_the_mean_of_the_step_over_the_rows_is_the_slope_of_the_outer_problem(loss, options):
    objective = problem(loss, **options)
    random = np.random.default_rng(5)
    theta, theta_hat = random.standard_normal((2, *objective.shape))
    sampled = SampledRows(objective)
    # In between two losses, so that the function has a slope; far enough to rank some above.
    level = sampled.thresholds(objective.raw_prediction(theta)) + 1e-3
    mean, mean_level = np.zeros(objective.shape), np.zeros(len(level))
    for i in range(objective.n_samples):
        row = slice(i, i + 1)
        batch = sampled._batch(
            objective.design.X[row], objective.y[row], sampled.group[row], np.array([sampled.total])
        )
        step, step_level = sampled.gradient(batch, theta, level, theta_hat)
        mean += sampled.mass[i] / sampled.total * step
        mean_level += sampled.mass[i] / sampled.total * step_level
    slope = differences(lambda at: outer_problem(objective, at, level, theta_hat), theta)
    slope_level = differences(lambda at: outer_problem(objective, theta, at, theta_hat), level)
    assert_allclose(mean, slope, rtol=1e-5, atol=1e-7)  # of a difference over 1e-6
    assert_allclose(mean_level, slope_level, rtol=1e-5, atol=1e-7)
    (all_rows,) = sampled.batches(1, 10_000, random)
    everything = sampled.gradient(all_rows, theta, level, theta_hat)
    assert_allclose(everything[0], mean, rtol=1e-9, atol=1e-12)
    assert_allclose(everything[1], mean_level, rtol=1e-9, atol=1e-12)


def test_rows_are_drawn_in_proportion_to_their_mass():
    weight = np.array([0.0, 1.0, 3.0, 0.0, 6.0, 0.0])
    X = np.arange(6.0)[:, None]
    objective = RankedRangeObjective(X, np.ones(6), "hinge", sample_weight=weight)
    draws = SampledRows(objective).batches(5000, 2, np.random.default_rng(6))
    rows = np.concatenate([batch.X[:, 0] for batch in draws]).astype(int)
    share = np.bincount(rows, minlength=6) / 10_000
    assert_array_equal(share[[0, 3, 5]], 0)
    assert_allclose(share, weight / 10, atol=0.02)  # four standard deviations of 10000 draws


@each_shape
def test_thresholds_minimise_the_outer_problem(options):
    objective = problem(**options)
    theta = np.random.default_rng(7).standard_normal(objective.shape)
    level = SampledRows(objective).thresholds(objective.raw_prediction(theta))
    best = outer_problem(objective, theta, level, 0 * theta)
    assert_allclose(best, objective.convex_parts()[0].value(theta), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["logistic", "hinge", "softmax"])
@pytest.mark.parametrize("shape", ["average", "trimmed", "groups", "weights"])
def test_noisy_steps_come_close_to_the_exact_ones(loss, shape):
    objective = problem(loss, **SHAPES[shape], seed=1)
    exact = dca(objective, inner="deterministic").objective
    noisy = dca(objective, outer_steps=15, random_state=0)
    start = objective.value(np.zeros(objective.shape))
    # Steps with noise, of a limited number: a twentieth of the way is left to them.
    assert noisy.objective - exact < 0.05 * (start - exact)


def test_a_batch_of_all_rows_makes_steps_without_noise():
    objective = problem(m=15, k=80)
    runs = [
        dca(objective, batch_size=120, inner_steps=50, outer_steps=3, random_state=seed)
        for seed in (0, 1)
    ]
    assert_array_equal(runs[0].theta, runs[1].theta)
    assert runs[0].objective < objective.value(np.zeros(4))


def test_the_number_of_the_step_starts_again_in_each_outer_step():
    numbers = []

    def length(number):
        numbers.append(number)
        return 1e-3

    dca(problem(m=5), step_size=length, inner_steps=4, outer_steps=3, tol=0)
    assert numbers == [0, 1, 2, 3] * 3


def test_the_default_steps_shorten_as_the_square_root_and_suit_the_scale_of_the_rows():
    objective = problem(m=15, k=80)
    sizes = _step_sizes(objective, None, 1)
    assert_allclose([sizes(3), sizes(99)], [sizes(0) / 2, sizes(0) / 10])
    assert _step_sizes(objective, None, 64)(0) > 1.5 * sizes(0)
    X, free = objective.design.X, {"C": np.inf, "fit_intercept": False}
    large, plain = (RankedRangeObjective(c * X, objective.y, **free) for c in (10, 1))
    assert_allclose(_step_sizes(large, None, 8)(0), _step_sizes(plain, None, 8)(0) / 100)


def test_a_strong_ridge_shortens_the_default_steps():
    solution = dca(problem(C=1e-3), random_state=0)
    assert np.abs(solution.coef).max() < 1e-2


def test_steps_that_diverge_are_reported_with_a_way_out():
    with pytest.raises(FloatingPointError, match=r"after 1 outer steps.*lower step_size"):
        dca(problem("squared"), step_size=1e3, random_state=0)


# -- ties ---------------------------------------------------------------------------------------


@each_inner
def test_a_complete_tie_between_two_classes_is_left(inner):
    objective = RankedRangeObjective(
        np.ones((6, 1)), [1, 1, 1, -1, -1, -1], m=3, C=100.0, fit_intercept=False
    )
    # Ties shared, all slopes cancel at zero; with either class dropped the other is fitted.
    solution = dca(objective, inner=inner, random_state=0, tol=1e-4)
    assert solution.objective < 0.5 * np.log(2)


@each_inner
@pytest.mark.parametrize("loss", ["hinge", *slow("logistic", "squared")])
def test_zero_is_left_where_few_ranks_are_kept(inner, loss):
    objective = problem(loss, n=200, m=25, k=100, wrong=0.05, C=100.0)
    solution = dca(objective, inner=inner, random_state=0)
    assert solution.objective < 0.7 * objective.value(np.zeros(4))


# -- schedules ---------------------------------------------------------------------------------


@each_inner
def test_a_schedule_lowers_k_as_the_accuracy_rises(inner):
    objective = problem(n=200, wrong=0.0, m=2, C=1e3)
    steps = []
    solution = dca(
        objective,
        inner=inner,
        k_schedule=KSchedule((0.7,), (0.25,)),
        random_state=0,
        progress=steps.append,
        outer_steps=3,
    )
    raw = objective.raw_prediction(solution.theta)
    assert objective.loss.is_right(objective.y, raw).mean() > 0.9
    hardest = problem(n=200, wrong=0.0, m=2, k=50, C=1e3)
    assert_allclose(solution.objective, hardest.value_at(raw, solution.theta))
    assert_allclose(solution.row_weights, hardest.shares(raw))
    assert_allclose(steps[-1].objective, solution.objective, rtol=0.1)
    assert solution.objective > 1.5 * objective.value(solution.theta)


def test_a_level_once_reached_counts_as_reached():
    objective = problem(n=200, wrong=0.0, m=2)
    right = dca(objective, inner="deterministic").theta
    record = _Record(objective, right, KSchedule.PAPER, None)
    assert record.objective.groups.groups[0].k == 25  # between 90 and 95 % are right
    record.add(-right)
    assert record.objective.groups.groups[0].k == 25
    fresh = _Record(objective, -right, KSchedule.PAPER, None)
    assert fresh.objective.groups.groups[0].k == 200


def test_a_schedule_needs_classes():
    with pytest.raises(TypeError, match="squared predicts no class"):
        dca(problem("squared"), k_schedule=KSchedule.PAPER)


# -- what comes out -----------------------------------------------------------------------------


@each_inner
@each_shape
def test_the_solution_describes_the_objective_that_was_given(inner, options):
    objective, steps = problem(**options), []
    solution = dca(objective, inner=inner, random_state=0, outer_steps=4, progress=steps.append)
    assert_allclose(solution.objective, objective.value(solution.theta), rtol=1e-14)
    raw = objective.raw_prediction(solution.theta)
    assert_array_equal(solution.row_weights, objective.shares(raw))
    assert solution.gap == np.inf
    assert solution.passes > 0
    assert not solution.fixed_point
    assert solution.trace == tuple(steps)
    assert {(step.start, step.phase) for step in steps} == {(0, "dca")}
    assert np.all(np.diff([step.passes for step in steps]) > 0)
    assert_array_equal(solution.minima[0].theta, solution.theta)
    assert_allclose(
        sum(solution.minima[0].dropped.values()), sum(group.m for group in objective.groups)
    )
    assert solution.coef.shape == (3,)
    assert solution.intercept.shape == ()


@pytest.mark.parametrize("inner", INNER)
def test_the_lowest_point_of_the_trace_is_returned(inner):
    solution = dca(problem("hinge", m=15), inner=inner, random_state=3, outer_steps=12)
    assert_allclose(solution.objective, min(step.objective for step in solution.trace))


@each_inner
def test_the_same_seed_gives_the_same_result(inner):
    objective = problem(m=15, k=80)
    once, twice = (dca(objective, inner=inner, random_state=7, outer_steps=3) for _ in range(2))
    assert_array_equal(once.theta, twice.theta)
    assert [step.objective for step in once.trace] == [step.objective for step in twice.trace]
    if inner != "deterministic":
        other = dca(objective, inner=inner, random_state=8, outer_steps=3)
        assert np.abs(other.theta - once.theta).max() > 1e-6


@each_inner
@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_sparse_rows_give_what_dense_ones_give(inner, loss):
    objective = problem(loss, m=0.1, k=0.8)
    X = np.where(np.abs(objective.design.X) > 0.4, objective.design.X, 0)
    options = {"m": 0.1, "k": 0.8, "C": 10.0}
    solutions = [
        dca(
            RankedRangeObjective(form(X), objective.y, loss, **options),
            inner=inner,
            random_state=0,
            outer_steps=2,
            inner_steps=20,
        )
        for form in (np.asarray, sparse.csr_array)
    ]
    assert_allclose(solutions[1].theta, solutions[0].theta, rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_wide_sparse_rows_are_not_made_dense():
    random = np.random.default_rng(10)
    X = sparse.random(50, 300_000, density=1e-5, format="csr", random_state=10)
    objective = RankedRangeObjective(X, random.choice([-1.0, 1.0], 50), m=5, C=10.0)
    (first, *_) = SampledRows(objective).batches(2, 4, random)
    assert sparse.issparse(first.X)
    solution = dca(objective, batch_size=4, inner_steps=5, outer_steps=1, random_state=0)
    assert solution.theta.shape == (300_001,)


@each_inner
def test_single_precision_rows_give_nearly_the_same(inner):
    wide = problem(m=15, k=80)
    X = wide.design.X.astype(np.float32)
    runs = [
        dca(
            RankedRangeObjective(rows, wide.y, m=15, k=80, C=10.0),
            inner=inner,
            random_state=0,
            outer_steps=2,
            inner_steps=20,
        )
        for rows in (X, X.astype(np.float64))
    ]
    assert runs[0].theta.dtype == np.float64
    assert_allclose(runs[0].theta, runs[1].theta, rtol=1e-6)


def test_an_intercept_can_be_left_out():
    for inner in INNER:
        solution = dca(
            problem(m=15, fit_intercept=False), inner=inner, random_state=0, outer_steps=3
        )
        assert solution.theta.shape == (3,)
        assert solution.intercept == 0


def test_the_status_tells_an_early_stop_from_the_limit():
    objective = problem(m=15, k=80)
    assert dca(objective, inner="deterministic").status is Status.CONVERGED
    assert dca(objective, inner="deterministic", outer_steps=1).status is Status.ITERATION_LIMIT
    all_steps = dca(objective, outer_steps=3, inner_steps=5, tol=0, random_state=0)
    assert all_steps.status is Status.ITERATION_LIMIT
    assert len(all_steps.trace) == 4


def test_the_start_is_left_untouched():
    start = np.ones(4)
    for inner in INNER:
        dca(problem(m=15), start=start, inner=inner, random_state=0, outer_steps=2)
    assert_array_equal(start, 1)


# -- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inner": "newton"}, "inner='newton' is not known; needed one of 'stochastic', 'determ"),
        ({"tol": -1.0}, "tol=-1.0 is not a tolerance; needed tol >= 0"),
        ({"tol": np.nan}, "tol=nan is not a tolerance"),
        ({"inner": "deterministic", "step_size": 0.1}, "step_size or batch_size is given, but"),
        ({"inner": "deterministic", "batch_size": 1}, "needed inner='stochastic', or neither"),
        ({"outer_steps": 0}, "outer_steps=0 is not a count; needed an int, 1 or more"),
        ({"inner_steps": True}, "inner_steps=True is not a count"),
        ({"batch_size": 2.0}, "batch_size=2.0 is not a count"),
        ({"step_size": 0}, "step_size=0 is not a positive number; needed one, or a function"),
        ({"step_size": "long"}, "step_size='long' is not a positive number"),
        ({"step_size": True}, "step_size=True is not a positive number"),
        ({"start": np.zeros(3)}, r"the starting point has shape \(3,\); needed \(4,\)"),
    ],
)
def test_options_that_make_no_sense_are_refused_with_a_way_out(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        dca(problem(), **options)


@each_inner
def test_a_constant_model_is_called_one(inner):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(12, 2)), np.where(random.integers(2, size=12) == 1, 1.0, -1.0)
    solution = dca(RankedRangeObjective(X, y, k=1, C=100.0), inner=inner, tol=1e-2, random_state=0)
    if inner == "deterministic":
        assert solution.status is Status.CONSTANT_MODEL
        assert np.isinf(solution.gap)
    assert solution.status is not Status.CONVERGED


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber"])
@pytest.mark.parametrize("size", [1e30, 1e200, sys.float_info.max])
def test_losses_so_large_that_rounding_hides_the_others_are_no_convergence(loss, size):
    X, y = with_sentinels(size=size)
    solution = dca(RankedRangeObjective(X, y, loss, m=10, C=1e4), inner="deterministic")
    if np.abs(solution.coef - [1, 2, 3]).max() > 1e-2:
        assert solution.status is Status.UNCERTIFIED


def test_a_start_at_which_all_corners_meet_is_left():
    random = np.random.default_rng(4)
    X, y = random.normal(size=(30, 2)), np.append([0, 1, 2], random.integers(3, size=27))
    objective = RankedRangeObjective(X, y, "multiclass_hinge", C=1e4)
    solution = dca(objective, inner="deterministic", random_state=0)
    assert solution.status is Status.CONVERGED
    assert_allclose(solution.objective, conic_minimum_of_classes(X, y, 30, 1e4), rtol=1e-4)


PAPER = KSchedule.PAPER


def ks(groups, accuracy, schedule=PAPER):
    return [group.k for group in schedule.groups(groups, accuracy)]


@pytest.mark.parametrize(
    ("accuracy", "k"),
    [
        (0.0, 1001),
        (0.6999, 1001),
        (0.7, 500),
        (0.7999, 500),
        (0.8, 250),
        (0.9, 125),
        (0.9499, 125),
        (0.95, 62),
        (0.995, 31),
        (1.0, 31),
    ],
)
def test_the_schedule_of_the_paper_rounds_down_from_each_accuracy_on(accuracy, k):
    assert ks(Groups.of(1001, 20, None), accuracy) == [k]


def test_k_stays_a_row_above_m():
    assert ks(Groups.of(1001, 100, None), 1.0) == [101]
    assert ks(Groups.of(10, 9, None), 1.0) == [10]


def test_the_k_of_the_groups_themselves_is_replaced():
    assert ks(Groups.of(100, 5, 30), 0.0) == [100]


def test_m_the_rows_and_the_share_of_each_group_stay():
    labels = np.repeat([0, 1], [25, 75])
    groups = Groups.of(100, {0: 3, 1: 10}, {0: 20, 1: None}, labels)
    cut = PAPER.groups(groups, 0.8)
    assert [group.k for group in cut] == [6.0, 18.0]
    for before, after in zip(groups, cut, strict=True):
        assert (after.label, after.m, after.mass) == (before.label, before.m, before.mass)
        assert after.rows is before.rows
        assert_allclose(after.scale * after.width, before.scale * before.width)
    assert_allclose([group.scale for group in cut], [0.25 / 3, 0.75 / 8])
    assert_allclose(sum(group.scale * group.width for group in cut), 1)


def test_with_weights_k_is_a_mass_that_is_not_rounded():
    weight = np.full(10, 0.5)
    assert_allclose(ks(Groups.of(10, 0, None, weight=weight), 0.7), [2.5])
    assert_allclose(ks(Groups.of(10, 0, None, weight=weight), 0.9), [0.625])


def test_with_weights_a_row_above_m_is_one_of_average_mass():
    assert_allclose(ks(Groups.of(10, 0.5, None, weight=np.full(10, 0.5)), 0.995), [3.0])


def test_a_schedule_of_ones_own():
    schedule = KSchedule(accuracies=(0.5,), fractions=(0.1,))
    assert ks(Groups.of(100, 0, None), 0.49, schedule) == [100]
    assert ks(Groups.of(100, 0, None), 0.5, schedule) == [10]
    assert schedule.fraction(0.5) == 0.1


def test_the_default_is_that_of_the_paper_and_frozen():
    assert KSchedule() == PAPER
    with pytest.raises(FrozenInstanceError):
        PAPER.fractions = (0.5,)


@pytest.mark.parametrize(
    ("accuracies", "fractions", "message"),
    [
        ((0.5, 0.7), (0.5,), "2 accuracies and 1 fractions are given; needed a fraction for each"),
        ((0.7, 0.5), (0.5, 0.2), r"accuracies=\(0.7, 0.5\) do not increase within 0 and 1"),
        ((0.0, 0.5), (0.5, 0.2), "accuracies=.* do not increase"),
        ((0.5, 1.5), (0.5, 0.2), "accuracies=.* do not increase"),
        ((0.5, 0.7), (0.2, 0.5), r"fractions=\(0.2, 0.5\) do not decrease between 1 and 0"),
        ((0.5,), (1.0,), "fractions=.* do not decrease"),
        ((0.5,), (0.0,), "fractions=.* do not decrease"),
        ((0.5,), (float("nan"),), "fractions=.* do not decrease"),
    ],
)
def test_levels_out_of_order_are_refused(accuracies, fractions, message):
    with pytest.raises(ValueError, match=message):
        KSchedule(accuracies, fractions)
