r"""The robust maximum: the largest value after slack, and its minimum over linear models.

.. math:: R_K(s) = \min_{\xi \ge 0, \, \|\xi\|_p \le K} \; \max_i \; (s_i - \xi_i)
    = \max_{v \ge 0, \, \sum_i v_i = 1} \; \sum_i v_i s_i - K \|v\|_q,
    \qquad \tfrac1p + \tfrac1q = 1

The best slack lowers the largest values to a common threshold t: :math:`\xi_i = (s_i - t)_+`, and
:math:`R_K(s) = t` is the only number with :math:`\|(s - t)_+\|_p = K`. The weights v are its
gradient: :math:`v_i \propto \xi_i^{p-1}`. Without a budget this is the maximum. As K grows, it
tends to the average, less a constant.

The mass :math:`\omega_i` of a row is its number of copies, each with slack of its own:
:math:`\|\xi\|_p^p = \sum_i \omega_i \xi_i^p`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import linalg

from sorr._checks import as_masses, check_choice
from sorr._typing import FloatArray
from sorr.losses import Loss
from sorr.objectives import RankedRangeObjective, lower_bound, solve_symmetric
from sorr.solvers import EliminatedRows, Move, Status, choose_move, topsum

_POWERS = {"l1": 1, "l2": 2}  # of the norms
_ROUNDING = 1e-14  # of the budget, which value and bound both hold
_MAX_STALLED_STEPS = 20  # steps in a row without progress
_MIN_PRODUCTS = 1e-3  # of constraints and multipliers, as a share of what may be left to gain
_MIN_ROOM = 0.1  # share of the room of a row that curved losses may not take
_MAX_RISE = 0.5  # share of the fall of the threshold, and of all products, that they may undo
_MAX_TRIALS = 60  # lengths of a step, each 0.7 of the one before


class Slack(NamedTuple):
    """The threshold, which is the robust maximum; the slack of each value; the gradient."""

    threshold: float
    slack: FloatArray
    weights: FloatArray


def robust_maximum(
    values: npt.ArrayLike,
    K: float,
    norm: str = "l2",
    *,
    sample_weight: npt.ArrayLike | None = None,
) -> Slack:
    r"""Lower the largest values by slack within a budget, and return the largest one left.

    .. math:: R_K(s) = \min_{\xi \ge 0, \, \|\xi\| \le K} \; \max_i \; (s_i - \xi_i)

    Parameters
    ----------
    values : array-like of shape (n_samples,)
        Finite numbers.
    K : float
        The budget: the largest norm of all slack. Zero gives the maximum.
    norm : {"l1", "l2"}, default="l2"
        How slack is measured.
    sample_weight : array-like of shape (n_samples,), optional
        The mass of each value: a value of weight two counts as two copies.

    Returns
    -------
    Slack
        ``threshold`` is the value of the function, ``slack`` is subtracted from each value, and
        ``weights`` is the gradient in the values: not negative, with a sum of one. If there are
        several subgradients, tied values have equal weights.

    Examples
    --------
    >>> threshold, slack, weights = robust_maximum([5.0, 4.0, 1.0], K=3.0, norm="l1")
    >>> threshold
    3.0
    >>> slack
    array([2., 1., 0.])
    >>> weights
    array([0.5, 0.5, 0. ])
    """
    power, budget = as_power(norm), as_budget(K)
    s = np.asarray(values, dtype=np.float64)
    if s.ndim != 1 or s.size == 0 or not np.isfinite(s).all():
        raise ValueError(
            f"the values have shape {s.shape}, or hold NaN or infinity; needed one finite number "
            "for each sample"
        )
    mass = as_masses(sample_weight, len(s))
    return solve_slack(s, budget, power, np.ones_like(s) if mass is None else mass)


def solve_slack(s: FloatArray, budget: float, power: int, mass: FloatArray) -> Slack:
    """Return threshold, slack and weights of values; the arguments are checked.

    Newton's method finds the threshold at which the norm of the slack is the budget. That norm is
    a convex function of the threshold, so the steps approach the root from below.
    """
    counted = mass > 0
    top = float(s[counted].max())
    if budget > 0:
        total = float(mass.sum())
        t = float(mass @ np.where(counted, s, 0.0)) / total - budget / total ** (1 / power)
        t = min(t, top)
    else:
        t = top
    while True:
        above = np.where(counted, np.maximum(s - t, 0.0), 0.0)
        amount = float(mass @ above)
        if amount == 0:
            break
        if power == 1:
            step = (amount - budget) / float(mass[above > 0].sum())
        else:
            size = math.sqrt(float(mass @ above**2))
            step = (size - budget) * size / amount
        if not t + step > t:
            break
        t += step
    weights = mass * (above if power == 2 else above > 0)
    if not weights.any():
        weights = mass * (s >= t)
    slack = np.maximum(s - t, 0.0)
    return Slack(t, slack, weights / weights.sum())


def as_power(norm: str) -> int:
    """Return the power of a norm by name, or refuse it."""
    check_choice("norm", norm, tuple(_POWERS))
    return _POWERS[norm]


def as_budget(K: object) -> float:
    """Return a budget of slack as a float, or refuse it."""
    if isinstance(K, bool | np.bool_) or not isinstance(K, Real):
        raise TypeError(
            f"K={K!r} is of type {type(K).__name__}; needed a number, the budget of slack"
        )
    if not 0 <= float(K) < math.inf:
        raise ValueError(
            f"K={K} is not a budget of slack; needed 0 <= K < inf: K=0 is the maximum loss"
        )
    return float(K)


# -- The minimum over linear models ----------------------------------------------------------------


class CertifiedMinimum(NamedTuple):
    """The parameters, their objective, how much lower it could be, and the number of steps."""

    theta: FloatArray
    value: float
    gap: float
    n_iter: int
    is_constant: bool
    """Whether a model without coefficients is as good, up to the tolerance."""


class SlackProblem:
    r"""The robust maximum of the losses of a linear predictor, plus a ridge.

    .. math:: \min_{w, b} R_K(s(w, b)) + \frac{\|w\|^2}{2C}

    The target is in the encoding of the loss, which is convex, not negative, and smooth or with
    known pieces. `mass` is above zero, `budget` is K, and `power` is that of the norm.
    """

    def __init__(
        self,
        X: Any,
        y: npt.NDArray[Any],
        loss: Loss,
        *,
        mass: FloatArray,
        budget: float,
        power: int,
        C: float,
        fit_intercept: bool,
    ) -> None:
        # Weights that add up to one are those of a maximum, whose dual bound is one part of ours.
        self.maximum = RankedRangeObjective(X, y, loss, k=1, C=C, fit_intercept=fit_intercept)
        self.mass = mass
        self.budget = budget
        self.power = power
        self.floor = -budget / float(mass.sum()) ** (1 / power)  # the value of losses that are zero

    def value(self, theta: FloatArray, raw: FloatArray) -> float:
        """Return the objective."""
        slack = solve_slack(self.maximum.losses(raw), self.budget, self.power, self.mass)
        return slack.threshold + self.maximum.ridge(theta)

    def bound(self, raw: FloatArray, weights: FloatArray) -> float:
        r"""Return a lower bound of the objective, from weights of the pieces of losses.

        For weights v of the rows that add up to one, the objective is at least
        :math:`\sum_i v_i s_i - K \|v\|_q` plus the ridge. Tangents at any raw predictions bound the
        minimum of that from below. If losses have a floor, it is the last piece.
        """
        rows = weights.sum(axis=1)
        rows, weights = rows / rows.sum(), weights / rows.sum()
        each = rows / self.mass
        size = float(each.max()) if self.power == 1 else float(np.sqrt(rows @ each))
        if self.maximum.loss.floor == 0:
            weights = weights[:, :-1]
        return lower_bound(self.maximum, raw, weights) - self.budget * size

    def gap(self, value: float, bound: float) -> float:
        """Return how much lower a value can be at most, relative to its height above the floor."""
        height, rounding = value - self.floor, _ROUNDING * abs(self.floor)
        return max(value - bound - rounding, 0.0) / height if height > rounding else 0.0

    def minimise(self, *, tol: float, max_iter: int) -> CertifiedMinimum:
        """Return the minimum, certified by a bound, or the best point that was reached."""
        if self.budget == 0:
            best = topsum(self.maximum, tol=tol, max_iter=max_iter)
            is_constant = best.status is Status.CONSTANT_MODEL
            return CertifiedMinimum(
                best.theta, best.objective, best.gap, len(best.trace), is_constant
            )
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return self._minimise_by_interior(tol, max_iter)

    def _minimise_by_interior(self, tol: float, max_iter: int) -> CertifiedMinimum:
        state = _Interior(self.maximum, self.mass, self.budget, self.power)
        theta, value, bound = state.theta, self.value(state.theta, state.raw), self.floor
        steps, stalled, products = 0, 0, np.inf
        while steps < max_iter and stalled < _MAX_STALLED_STEPS and self.gap(value, bound) > tol:
            if not state.step(_MIN_PRODUCTS * (value - bound)):
                break
            steps += 1
            new_value = self.value(state.theta, state.raw)
            new_bound = self.bound(state.raw, state.V)
            moved = new_value < value or new_bound > bound or state.products < products
            stalled, products = 0 if moved else stalled + 1, min(products, state.products)
            if new_value < value:
                theta, value = state.theta, new_value
            bound = max(bound, new_bound)
        gap = self.gap(value, bound)
        is_constant = gap <= tol and self.gap(self._constant_value(theta), bound) <= tol
        return CertifiedMinimum(theta, value, gap, steps, is_constant)

    def _constant_value(self, theta: FloatArray) -> float:
        """Return the objective of the model that predicts the average of these predictions."""
        constant = np.zeros_like(theta)
        if self.maximum.design.intercept:
            constant[-1] = self.maximum.raw_prediction(theta).mean(axis=0)
        return self.value(constant, self.maximum.raw_prediction(constant))


# -- The interior point method ---------------------------------------------------------------------


class _Interior:
    """The variables of a primal-dual method, and one step of a predictor and a corrector."""

    def __init__(
        self, objective: RankedRangeObjective, mass: FloatArray, budget: float, power: int
    ) -> None:
        self.objective, self.mass, self.budget, self.power = objective, mass, budget, power
        self.theta = np.zeros(self.objective.shape)
        self.raw = self.objective.raw_prediction(self.theta)
        s = self._pieces(self.raw)[0]
        total, pieces = float(mass.sum()), s.shape[1]
        self.products = np.inf  # before the last step
        self.is_bounded = power == 1  # whether slack needs a bound to stay positive
        # On the central path, but for the gradient: equal slack, and room as large as the losses.
        even = budget / total ** (1 / power)
        distance = max(float(s.max()), even)
        self.xi = np.full(len(mass), even)
        self.t = float(s.max()) - even + distance
        self.V = np.repeat((mass / (total * pieces))[:, None], pieces, axis=1)
        self.u = mass * (distance / (total * pieces * even) if self.is_bounded else 0.0)
        self.mu = (1 / total + float(self.u[0] / mass[0])) / even ** (power - 1)

    def _pieces(self, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the pieces of the losses, the floor included, and their slopes in each output."""
        loss, y = self.objective.loss, self.objective.y
        s, slopes = loss.pieces(y, raw)
        slopes = slopes[:, :, None] if slopes.ndim == 2 else slopes
        if loss.floor == 0:
            s = np.append(s, np.zeros((len(s), 1)), axis=1)
            slopes = np.append(slopes, np.zeros_like(slopes[:, :1]), axis=1)
        return s, slopes

    def _left(self) -> float:
        """Return what is left of the budget, times its slope; negative if too much was spent."""
        if self.power == 1:
            return self.budget - float(self.mass @ self.xi)
        size = float(np.sqrt(self.mass @ self.xi**2))
        return size * (self.budget - size)

    def _pull(self, residual: FloatArray) -> FloatArray:
        """Return the sum of the rows times residuals of each output, flat."""
        several = len(self.objective.shape) == 2
        return self.objective.design.pull(residual if several else residual[:, 0]).ravel()

    def step(self, least: float) -> bool:
        """Take a step, and tell whether there was one.

        The sum of products stays above `least`: smaller ones would block the way to a minimum that
        is still far.
        """
        s, slopes = self._pieces(self.raw)
        a = (self.xi + self.t)[:, None] - s
        slack, multiplier, mass = [a.ravel()], [self.V.ravel()], [np.repeat(self.mass, s.shape[1])]
        if self.is_bounded:
            slack, multiplier, mass = [*slack, self.xi], [*multiplier, self.u], [*mass, self.mass]
        pairs = np.array([np.concatenate(slack), np.concatenate(multiplier)])
        self.products = float(pairs[0] @ pairs[1])
        if not self.products > 0:
            return False
        newton = self._eliminate(pairs, a, slopes)
        chosen, length = choose_move(pairs, np.concatenate(mass), newton, least=least)
        return self._move(chosen, length, a)

    def _eliminate(
        self, pairs: FloatArray, a: FloatArray, slopes: FloatArray
    ) -> Callable[[FloatArray], Move]:
        """Return Newton steps from changes of the products of all pairs."""
        objective, mass, n = self.objective, self.mass, len(self.mass)
        slope, bend = mass * self.xi ** (self.power - 1), mass * (self.power - 1.0)  # of the budget
        h = self.u / self.xi if self.is_bounded else self.u
        rows = EliminatedRows(self.V / a, slopes, self.mu * bend + h)
        block = rows.blocks()
        if objective.loss.has_curvature:
            curvature = objective.loss.curvature(objective.y, self.raw)
            curvature = curvature[:, None, None] if curvature.ndim == 1 else curvature
            block += self.V[:, :1, None] * curvature
        several, size = len(objective.shape) == 2, self.theta.size
        M = objective.design.gram(block if several else block[:, 0, 0])
        M[np.arange(size), np.arange(size)] += objective.ridge_diagonal
        # The threshold and the multiplier of the budget are eliminated together: each by itself may
        # be almost undetermined.
        share = slope * rows.total / rows.den
        edges = np.column_stack(
            [-self._pull(rows.q[:, None] * rows.mean), self._pull(share[:, None] * rows.mean)]
        )
        off = -float(share.sum())
        first, last = float(rows.q.sum()), -float(slope @ (slope / rows.den))
        inverse = np.array([[last, -off], [-off, first]]) / np.float64(first * last - off * off)
        solve = solve_symmetric(M - edges @ inverse @ edges.T)
        ridge, left = objective.ridge_gradient(self.theta).ravel(), self._left()

        def newton(change: FloatArray) -> Move:
            moved = change / pairs[0]
            to_V = moved[: a.size].reshape(a.shape)
            to_u = moved[a.size :] if self.is_bounded else np.zeros(n)
            new_V, new_u = to_V + self.V, to_u + self.u - self.mu * slope
            flat, lifted = rows.push(new_V, new_u)
            push = new_V.sum(axis=1) + new_u
            rest = np.array([float(flat.sum()) - 1, left - float(slope @ (push / rows.den))])
            theta = solve(-self._pull(lifted) - ridge - edges @ (inverse @ rest))
            t, mu = inverse @ (rest - edges.T @ theta)
            raw = objective.raw_prediction(theta.reshape(objective.shape))
            flat_raw = raw[:, None] if raw.ndim == 1 else raw
            xi, da = rows.slack_moves(push - mu * slope, flat_raw, np.full(n, t))
            changes = [da.ravel(), xi], [(to_V - rows.e * da).ravel(), to_u - h * xi]
            if not self.is_bounded:
                changes = changes[0][:1], changes[1][:1]
            free = np.concatenate([theta, [t, mu], xi])
            return Move(free, raw, np.array([np.concatenate(side) for side in changes]))

        return newton

    def _move(self, move: Move, length: float, a: FloatArray) -> bool:
        """Go along a direction while everything stays inside.

        Curved losses take room from their row. If it is not enough, the threshold rises, away from
        the minimum, but by no more than may be left to gain.
        """
        size = self.theta.size
        theta, (t, mu), xi = np.split(move.free, [size, size + 2])
        if not np.isfinite(theta).all() or not length > 0:
            return False
        da = move.pairs[0, : a.size].reshape(a.shape)
        for _ in range(_MAX_TRIALS):
            raw = self.raw + length * move.raw
            level = self.xi + length * xi + self.t + length * t
            short = _MIN_ROOM * (a + length * da) - (level[:, None] - self._pieces(raw)[0])
            rise = max(float(short.max()), 0.0)
            if rise <= _MAX_RISE * (self.products + length * max(-t, 0.0)):
                break
            length *= 0.7
        else:
            return False
        self.theta = self.theta + length * theta.reshape(self.theta.shape)
        self.raw = raw
        self.t += length * float(t) + rise
        self.xi = self.xi + length * xi
        self.V = self.V + length * move.pairs[1, : a.size].reshape(a.shape)
        if self.is_bounded:
            self.u = self.u + length * move.pairs[1, a.size :]
        self.mu += length * float(mu)
        return True


def reduce_to_row_space(X: Any) -> tuple[Any, Callable[[FloatArray], FloatArray]]:
    """Return the rows in a basis of the space they span, and the way back for coefficients.

    Coefficients outside that space cost and change nothing, so a ridge finds the same model. Norms
    and products stay the same. Rows come back unchanged unless there are more features than rows.
    """
    if X.shape[0] >= X.shape[1]:
        return X, np.asarray
    if isinstance(X, np.ndarray):
        basis, coordinates = linalg.qr(X.T.astype(np.float64), mode="economic")
        return coordinates.T, lambda coef: np.asarray(basis @ coef)
    squares, vectors = linalg.eigh((X @ X.T).toarray().astype(np.float64))
    is_used = squares > squares[-1] * len(squares) * np.finfo(np.float64).eps
    is_used[-1] = True
    sizes = np.sqrt(np.maximum(squares[is_used], np.finfo(np.float64).tiny))
    vectors = vectors[:, is_used]
    return vectors * sizes, lambda coef: np.asarray(X.T @ ((vectors / sizes) @ coef))
