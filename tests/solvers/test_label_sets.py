"""Solvers on losses over label sets: trimming by labels, its certificate, and the paper's DCA."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sorr.losses import MultilabelHinge, TopKMultilabel, TopKSubset
from sorr.losses.margins import HIGH, LOW
from sorr.objectives import RankedRangeObjective, lower_bound
from sorr.solvers import Status, dca, exhaustive, topsum, trim
from sorr.solvers.convex import minimise_top_sum
from tests.slow import slow

CHOOSING = [TopKSubset(2), TopKMultilabel(2)]
CHOOSING += slow(TopKSubset(1), TopKMultilabel(1), TopKMultilabel(3))
choosing = pytest.mark.parametrize("loss", CHOOSING, ids=repr)


def data(n=80, d=6, n_labels=5, seed=0):
    """Draw rows and label sets which a linear model explains in part, of one label or more."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    scores = X @ rng.standard_normal((d, n_labels)) + rng.standard_normal((n, n_labels))
    Y = scores > 0.8
    Y[np.arange(n), scores.argmax(axis=1)] = True
    return X, Y


def objective(loss, C=10.0, **options):
    return RankedRangeObjective(*data(), loss, C=C, **options)


def convex_minimum(majoriser):
    """Return the minimum of the majoriser by an independent solver."""
    cp = pytest.importorskip("cvxpy")
    X, sides = majoriser.design.X, majoriser.y
    W, b = cp.Variable((X.shape[1], sides.shape[1])), cp.Variable(sides.shape[1])
    losses = []
    for x, side in zip(X, sides, strict=True):
        low, high = np.flatnonzero(side & LOW), np.flatnonzero(side & HIGH)
        if not (low.size and high.size):
            losses.append(cp.Constant(0.0))
            continue
        f = x @ W + b
        losses.append(cp.pos(1 + cp.max(f[low]) - cp.min(f[high])))
    masses = majoriser.groups.masses
    kept = cp.hstack([loss for loss, mass in zip(losses, masses, strict=True) if mass > 0])
    (group,) = majoriser.groups
    value = group.scale * cp.sum_largest(kept, round(group.k))
    value += cp.sum_squares(W) / (2 * majoriser.C)
    return cp.Problem(cp.Minimize(value)).solve(solver="CLARABEL")


# -- trimming -----------------------------------------------------------------------------------


@choosing
@pytest.mark.parametrize("ranks", [{"m": 5, "k": 60}, *slow({}, {"m": 8})], ids=str)
def test_the_certificate_agrees_with_an_independent_solver(loss, ranks):
    problem = objective(loss, **ranks)
    solution = trim(problem, random_state=0)
    assert solution.status is Status.CERTIFIED
    assert solution.fixed_point
    assert solution.gap <= 1e-6
    # At the solution scores tie: the majoriser made there can break ties otherwise, and go lower.
    majoriser = problem.trimmed(problem.raw_prediction(solution.theta))
    minimum = minimise_top_sum(majoriser, majoriser.at(solution.theta), tol=1e-7)
    lowest = convex_minimum(majoriser)
    assert_allclose(minimum.point.value, lowest, rtol=2e-6)
    assert minimum.bound <= lowest * (1 + 1e-7)
    assert_allclose(solution.objective, lowest, rtol=2e-3)


@choosing
@given(seed=st.integers(0, 10**6), heat=st.floats(0.01, 1.0))
@settings(max_examples=15)
def test_no_weights_prove_more_than_the_minimum(loss, seed, heat):
    """Random multipliers, moved onto the conditions of the dual, never give too high a bound."""
    rng = np.random.default_rng(seed)
    problem = objective(loss)
    majoriser = problem.trimmed(rng.standard_normal((80, 5)))
    raw = rng.standard_normal((80, 5))
    values = majoriser.loss.pieces(majoriser.y, raw)[0]
    weights = np.exp(values / heat - (values / heat).max(axis=1, keepdims=True))
    weights *= rng.random(values.shape) / (80 * weights.sum(axis=1, keepdims=True))
    best = minimise_top_sum(majoriser, majoriser.at(np.zeros((7, 5))), tol=1e-7)
    assert lower_bound(majoriser, raw, weights) <= best.point.value * (1 + 1e-9)


@choosing
def test_every_majoriser_touches_the_objective_and_lies_above_it(loss):
    problem, rng = objective(loss, m=6, k=70), np.random.default_rng(3)
    for _ in range(10):
        theta, other = rng.standard_normal((2, *problem.shape))
        majoriser = problem.trimmed(problem.raw_prediction(theta))
        assert majoriser.is_convex
        assert_allclose(majoriser.value(theta), problem.value(theta), rtol=1e-12)
        assert majoriser.value(other) >= problem.value(other) * (1 - 1e-12)


@choosing
@pytest.mark.parametrize("ranks", [{}, {"m": 8}], ids=str)
def test_the_objective_falls_from_step_to_step(loss, ranks):
    solution = trim(objective(loss, **ranks), random_state=0)
    values = [step.objective for step in solution.trace if step.phase in ("fast", "trim")]
    assert np.all(np.diff(values) <= 1e-12)
    assert values[-1] < 0.9 * objective(loss, **ranks).value(np.zeros((7, 5)))


@choosing
def test_the_fast_phase_alone_comes_close(loss):
    problem = objective(loss)
    rough, exact = (
        trim(problem, certify=certify, random_state=0).objective for certify in (False, True)
    )
    assert_allclose(rough, exact, rtol=0.02)


def test_the_hinge_over_label_sets_is_certified_as_a_convex_problem():
    problem = objective(MultilabelHinge())
    solution = topsum(problem)
    assert solution.status is Status.OPTIMAL
    raw = problem.raw_prediction(solution.theta)
    majoriser = problem.trimmed(raw).replace(y=MultilabelHinge().sides(problem.y, raw))
    assert_allclose(solution.objective, convex_minimum(majoriser), rtol=2e-6)


def test_rows_with_wrong_label_sets_are_dropped_as_a_whole():
    X, Y = data(300, seed=1)
    wrong = np.arange(0, 300, 15)
    Y[wrong] = ~Y[wrong]
    solution = trim(RankedRangeObjective(X, Y, TopKSubset(2), m=len(wrong), C=10.0), random_state=0)
    dropped = np.flatnonzero(solution.row_weights == 0)
    assert np.isin(dropped, wrong).mean() > 0.8


def test_a_start_is_kept_to():
    problem = objective(TopKMultilabel(1))
    first = trim(problem, random_state=0)
    again = trim(problem, start=first.theta)
    assert again.trace[0].objective == first.objective
    # A fast step may leave the labels that a fixed point of trimming drops, and go on from there.
    assert 0.999 * first.objective <= again.objective <= first.objective


@choosing
def test_order_of_rows_and_labels_does_not_matter(loss):
    X, Y = data()
    rng = np.random.default_rng(5)
    rows, labels = rng.permutation(80), rng.permutation(5)
    given = trim(RankedRangeObjective(X, Y, loss, C=10.0), random_state=0)
    permuted = trim(RankedRangeObjective(X[rows], Y[rows][:, labels], loss, C=10.0), random_state=0)
    assert_allclose(permuted.objective, given.objective, rtol=1e-5)
    assert_allclose(permuted.coef, given.coef[:, labels], atol=1e-2 * np.abs(given.coef).max())


# -- the paper's algorithm ----------------------------------------------------------------------


@pytest.mark.parametrize("loss", [TopKMultilabel(2), *slow(TopKSubset(2)), *CHOOSING[2:]], ids=repr)
def test_deterministic_dca_falls_in_every_outer_step(loss):
    problem = objective(loss)
    solution = dca(problem, inner="deterministic", tol=1e-3, outer_steps=20, random_state=0)
    values = [step.objective for step in solution.trace]
    assert np.all(np.diff(values) <= 1e-12)
    assert values[-1] < 0.98 * values[0]
    assert_allclose(values[-1], trim(problem, random_state=0).objective, rtol=0.05)


@choosing
def test_no_trimming_step_is_worse_than_the_step_of_dca(loss):
    """The majoriser of trimming lies below the tangent one, from the same point."""
    problem, rng = objective(loss), np.random.default_rng(0)
    for _ in range(10):
        theta, other = 0.5 * rng.standard_normal((2, *problem.shape))
        convex, tangent = problem.convex_parts()
        level, slope = tangent.value_and_subgradient(theta)
        linear = convex.value(other) - level - float(np.vdot(slope, other - theta))
        trimmed = problem.trimmed(problem.raw_prediction(theta)).value(other)
        assert trimmed <= linear + 1e-9


def test_dca_on_batches_comes_down():
    problem = objective(TopKMultilabel(2))
    solution = dca(problem, random_state=0)
    assert solution.objective < 0.8 * problem.value(np.zeros(problem.shape))


def test_the_settings_of_the_paper_run_on_tkml():
    X, Y = data(160)
    problem = RankedRangeObjective(X[:80], Y[:80], TopKMultilabel(2), C=1e4)
    held_out = RankedRangeObjective(X[80:], Y[80:], TopKMultilabel(2), C=np.inf)
    solution = dca(problem, batch_size=80, inner_steps=50, outer_steps=3, step_size=0.1)
    assert held_out.value(solution.theta) < 0.9 * held_out.value(np.zeros(problem.shape))


# -- what does not go ---------------------------------------------------------------------------


def test_solvers_refuse_what_they_cannot_do_with_a_way_out():
    ranked = objective(TopKMultilabel(1), m=3)
    with pytest.raises(ValueError, match=r"tkml is not convex, and samples are ranked.* use trim"):
        dca(ranked, inner="deterministic")
    with pytest.raises(ValueError, match="topsum is given tkml, which is not convex"):
        topsum(objective(TopKMultilabel(1)))
    with pytest.raises(ValueError, match="exhaustive is given tkml, which is not convex"):
        exhaustive(ranked)


@pytest.mark.parametrize("seed", [0, 6, 18])
def test_a_label_that_all_rows_have_can_be_certified(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((90, 4)), rng.random((90, 6)) < 0.7
    Y[:, 0] = True
    objective = RankedRangeObjective(X, Y, TopKMultilabel(2), C=100.0)
    assert trim(objective, random_state=0).status is Status.CERTIFIED


def test_one_sided_labels_do_not_spoil_the_bound_of_the_others():
    X = np.random.default_rng(0).standard_normal((8, 2)) * [1e-4, 1e4]
    Y = np.array([[1, 1]] * 6 + [[0, 1]] * 2)
    solution = trim(RankedRangeObjective(X, Y, TopKMultilabel(1)), random_state=0)
    assert solution.status is Status.CERTIFIED
    assert solution.objective == pytest.approx(0.75)


@pytest.mark.parametrize(
    "loss", [TopKMultilabel(2), *slow(TopKSubset(2), MultilabelHinge())], ids=repr
)
def test_many_parameters_are_certified_without_a_matrix(loss):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((20, 500)), rng.random((20, 5)) < 0.4
    solution = trim(RankedRangeObjective(X, Y, loss, C=1e-3), random_state=0, max_iter=3)
    assert np.isfinite(solution.objective)
