import numpy as np
import pytest

from sorr.objectives import RankedRangeObjective
from sorr.solvers import Move, choose_move
from sorr.solvers.interior import (
    InteriorMethod,
    _central_share,
    _central_threshold,
)
from tests.solvers.problems import classes, line, three_classes

ONE_PIECE = ["logistic", "hinge", "squared_hinge"]
MORE = ["absolute", "squared", "softmax", "multiclass_hinge"]


def objective_of(loss, n=40, d=3, k=0.4, **options):
    """Return a convex objective for a loss by name."""
    if loss in ("absolute", "squared"):
        X, y = line(n, d, seed=1, outliers=2)
    elif loss in ("softmax", "multiclass_hinge"):
        X, y = three_classes(n, d, seed=1)
    else:
        X, y = classes(n, d, seed=1)
    return RankedRangeObjective(X, y, loss, k=k, C=20.0, **options)


def method_of(objective, seed=0):
    """Return the method on all rows, from a random start."""
    theta = 0.3 * np.random.default_rng(seed).standard_normal(objective.shape)
    band, _ = objective.band(objective.at(theta), objective.n_rows)
    return InteriorMethod(band, theta)


def slope_of(method):
    """Return the gradient of the quadratic part."""
    band = method.band
    return band.gradient + band.hessian @ (method.theta - band.center)


def options_of(kind, n=40):
    """Return a way to rank and weigh rows, by name."""
    rng = np.random.default_rng(2)
    if kind == "weights":
        return {"sample_weight": rng.integers(0, 3, n) + 0.5 * (np.arange(n) < 5)}
    if kind == "groups":
        return {"groups": rng.integers(0, 2, n)}
    if kind == "one full group":
        return {"groups": np.arange(n) % 2, "k": {0: 6, 1: None}}
    return {"k": None} if kind == "all rows" else {}


KINDS = ["plain", "weights", "groups", "one full group", "all rows"]


def solve_conditions(method, change):
    """Return the Newton step by one dense system in all variables, nothing eliminated.

    The variables are theta, the thresholds, xi, a, V, u, and nu if thresholds have a floor.
    """
    band, n, pieces = method.band, method.n_rows, method.s.shape[1]
    group = np.zeros(n, dtype=int) if method.group is None else method.group
    p, g, size = method.theta.size, method.n_thresholds, n * pieces
    floored = g if method.is_floored else 0
    sizes = [p, g, n, size, size, n, floored]
    theta, lam, xi, a, V, u, nu = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    K, rhs = np.zeros((sum(sizes), sum(sizes))), np.zeros(sum(sizes))
    eye = np.eye(p)
    raw = np.array([method.design.predict(e.reshape(band.shape)).reshape(n, -1) for e in eye])
    ds = np.einsum("ilj,pij->pil", method.slopes, raw).reshape(p, size)  # of theta, by piece
    bend = np.zeros((p, p))
    if method.loss.has_curvature:
        each = np.reshape(method.loss.curvature(band.y, method.raw), (n, *raw.shape[2:] * 2))
        bend = np.einsum("i,pij,ijk,qik->pq", method.weights[:, 0], raw, each, raw)
    rows = np.repeat(np.arange(n), pieces)
    ranked = group[rows] < g
    weights = method.weights.ravel()
    at = 0
    # Stationarity in theta, in the thresholds and in the slack.
    K[np.ix_(theta, theta)], K[np.ix_(theta, V)] = band.hessian + bend, ds
    rhs[theta] = -(slope_of(method) + ds @ weights)
    at = p
    for j in range(g):
        inside = group[rows] == j
        K[at + j, V[inside]] = -1
        rhs[at + j] = weights[inside].sum() - method.remaining[j]
        if floored:
            K[at + j, nu[j]] = -1
            rhs[at + j] += method.nu[j]
    at += g
    for i in range(n):
        K[at + i, V[rows == i]] = K[at + i, u[i]] = 1
    at += n
    # The constraints hold already, and go on to hold.
    K[at + np.arange(size), a] = 1
    K[at + np.arange(size), xi[rows]] = -1
    K[at + np.flatnonzero(ranked), lam[group[rows[ranked]]]] = -1
    K[np.ix_(at + np.arange(size), theta)] = ds.T
    at += size
    # Products of pairs.
    slack, multiplier = method.pairs
    first = np.concatenate([a, xi, lam[:floored]])
    second = np.concatenate([V, u, nu])
    K[at + np.arange(len(first)), first] = multiplier
    K[at + np.arange(len(first)), second] = slack
    rhs[at:] = change
    step = np.linalg.lstsq(K, rhs, rcond=1e-13)[0]  # several outputs may shift together
    return step[np.concatenate([theta, lam])], np.array([step[first], step[second]])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ONE_PIECE + MORE)
def test_a_newton_step_solves_the_linearised_conditions(loss, kind):
    if kind == "all rows" and loss in ("logistic", "squared_hinge", "squared", "softmax"):
        pytest.skip("nothing is ranked, and the loss is smooth: there is no band")
    method = method_of(objective_of(loss, **options_of(kind)))
    change = -method.pairs.prod(axis=0) * np.random.default_rng(3).random(method.pairs.shape[1])
    slope = slope_of(method)
    newton = method._eliminate_simple(slope) if method.is_simple else method._eliminate(slope)
    move = newton(change)
    free, pairs = solve_conditions(method, change)
    if loss not in ("softmax", "multiclass_hinge"):
        np.testing.assert_allclose(move.free, free, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(move.pairs, pairs, rtol=1e-7, atol=1e-9)
    raw = method.design.predict(move.free[: method.theta.size].reshape(method.band.shape))
    np.testing.assert_allclose(move.raw, raw, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ONE_PIECE)
def test_the_cheap_steps_for_one_piece_are_the_general_ones(loss, kind):
    if kind == "all rows" and loss != "hinge":
        pytest.skip("nothing is ranked, and the loss is smooth: there is no band")
    objective = objective_of(loss, **options_of(kind))
    cheap, general = method_of(objective), method_of(objective)
    assert cheap.is_simple
    general.is_simple = False
    for _ in range(3):
        cheap._step()
        general._step()
        np.testing.assert_allclose(cheap.pairs, general.pairs, rtol=1e-8)
        np.testing.assert_allclose(cheap.theta, general.theta, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("loss", ONE_PIECE + MORE)
def test_a_run_can_be_continued_to_a_smaller_tolerance(loss):
    objective = objective_of(loss)
    method = method_of(objective)
    rough = objective.at(method.run(tol=1e-2).theta)
    fine = objective.at(method.run(tol=1e-10).theta)
    at_once = objective.at(method_of(objective).run(tol=1e-10).theta)
    assert fine.value <= rough.value
    assert fine.value == pytest.approx(at_once.value, rel=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "absolute"])
@pytest.mark.parametrize("k", [1, 5, 20, 39])
def test_different_starts_lead_to_the_same_minimum(loss, k):
    objective = objective_of(loss, k=k)
    values = []
    for scale in (0.0, 0.3, 1.0):
        theta = scale * np.random.default_rng(4).standard_normal(4)
        band, _ = objective.band(objective.at(theta), objective.n_rows)
        values.append(objective.at(InteriorMethod(band, theta).run(tol=1e-9).theta).value)
    assert values == pytest.approx([values[0]] * 3, rel=1e-6)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_a_start_at_zero_moves_to_a_least_squares_fit(loss):
    objective = objective_of(loss)
    theta = np.zeros(objective.shape)
    band, _ = objective.band(objective.at(theta), objective.n_rows)
    X, y = objective.design.X, objective.y
    rows, ridge = np.column_stack([X, np.ones(len(y))]), np.diag([1 / 20.0] * 3 + [0])
    omega = band.omega[0]
    expected = np.linalg.solve(omega * rows.T @ rows + ridge, omega * rows.T @ y)
    np.testing.assert_allclose(InteriorMethod(band, theta).theta, 2 * expected, rtol=1e-9)


def test_a_move_is_as_long_as_the_boundary_allows():
    """A linear program on a line: the largest t with t <= 1 and t >= 0, by a known Newton step."""
    pairs = np.array([[0.5, 0.5], [1.0, 2.0]])

    def newton(change):
        # Slacks 1 - t and t, multipliers v and w with v - w = 1: two products, two unknowns.
        (one, two), (v, w) = pairs
        unmet = 1 - (v - w)
        t, dw = np.linalg.solve([[-v, one], [w, two]], [change[0] - one * unmet, change[1]])
        step = np.array([[-t, t], [dw + unmet, dw]])
        return Move(np.array([t]), np.zeros(0), step)

    move, length = choose_move(pairs, np.ones(2), newton)
    assert 0 < length <= 1
    assert ((pairs + length * move.pairs) > 0).all()
    assert ((pairs + 1.02 * length * move.pairs).min() < 0) == (length < 1)


@pytest.mark.parametrize("is_floored", [False, True])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.9])
def test_central_shares_add_up_to_the_total_unless_the_floor_forbids_it(is_floored, share):
    rng = np.random.default_rng(5)
    values, omega = 10 * rng.standard_normal(200), rng.random(200)
    total = share * omega.sum()
    lam = _central_threshold(values, omega, total, 0.0, 2.0, is_floored)
    reached = omega @ _central_share(values - lam, 2.0)
    if is_floored and reached < 0.99 * total:
        assert lam == pytest.approx(0.02)
    else:
        assert reached == pytest.approx(total, rel=1e-2)
