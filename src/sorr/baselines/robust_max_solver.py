r"""The maximum of values from which slack may be subtracted, out of a budget.

.. math:: R_K(s) = \min_{\xi \ge 0, \, \|\xi\|_p \le K} \; \max_i \; (s_i - \xi_i)
    = \max_{v \ge 0, \, \sum_i v_i = 1} \; \sum_i v_i s_i - K \|v\|_q,
    \qquad \tfrac1p + \tfrac1q = 1

The slack that is worth most lowers the largest values to a common threshold t, as if water were
poured into their mirror image: :math:`\xi_i = (s_i - t)_+`, and :math:`R_K(s) = t` is the
only number with :math:`\|(s - t)_+\|_p = K`. The weights v are its gradient:
:math:`v_i \propto \xi_i^{p-1}`. Without a budget this is the maximum; as K grows, it tends to the
average, less a constant.

Mass :math:`\omega_i` of a row is so many copies of it, each with slack of its own:
:math:`\|\xi\|_p^p = \sum_i \omega_i \xi_i^p`.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import linalg

from sorr._typing import FloatArray
from sorr.losses import Loss
from sorr.objectives import RankedRangeObjective
from sorr.solvers import Status, lower_bound, solve_symmetric, topsum

__all__ = [
    "NORMS",
    "Found",
    "Interior",
    "Slack",
    "SlackProblem",
    "as_budget",
    "as_norm",
    "in_own_span",
    "pour",
    "robust_maximum",
]

NORMS = {"l1": 1, "l2": 2}


class Slack(NamedTuple):
    """The threshold, which is the value; the slack of each value; the gradient."""

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
    r"""Lower the largest values by slack within a budget, and return the largest that is left.

    .. math:: R_K(s) = \min_{\xi \ge 0, \, \|\xi\| \le K} \; \max_i \; (s_i - \xi_i)

    Parameters
    ----------
    values : array-like of shape (n_samples,)
        Finite numbers.
    K : float
        The budget: how large the norm of all slack may be. Zero gives the maximum.
    norm : {"l1", "l2"}, default="l2"
        How slack is measured.
    sample_weight : array-like of shape (n_samples,), optional
        The mass of each value: a value of weight two is two copies of it.

    Returns
    -------
    Slack
        ``threshold`` is the value of the function, ``slack`` what is subtracted from each value,
        and ``weights`` its gradient in the values: not negative, of sum one. Where there are
        several subgradients, values that tie share alike.

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
    power = as_norm(norm)
    budget = as_budget(K)
    s = np.asarray(values, dtype=np.float64)
    if s.ndim != 1 or s.size == 0 or not np.isfinite(s).all():
        raise ValueError(
            f"the values have shape {s.shape}, or hold NaN or infinity; needed one finite number "
            "for each sample"
        )
    mass = np.ones_like(s)
    if sample_weight is not None:
        mass = np.asarray(sample_weight, dtype=np.float64)
        if mass.shape != s.shape or not (np.isfinite(mass) & (mass >= 0)).all() or not mass.any():
            raise ValueError(
                "sample_weight has another shape than the values, or holds negative weights, NaN "
                "or infinity, or adds up to zero; needed a finite weight for each value"
            )
    return pour(s, budget, power, mass)


def pour(s: FloatArray, budget: float, power: int, mass: FloatArray) -> Slack:
    """Return threshold, slack and weights of values whose arguments are checked.

    Newton's method on the norm of the slack as a function of the threshold, which is convex: from
    below it comes up to the root and never passes it.
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


def as_norm(norm: object) -> int:
    """Return the power of a norm by name, or refuse it."""
    if isinstance(norm, str) and norm in NORMS:
        return NORMS[norm]
    close = difflib.get_close_matches(str(norm).lower(), NORMS)
    hint = f"did you mean {close[0]!r}?" if close else f"needed one of {', '.join(NORMS)}"
    raise ValueError(f"norm={norm!r} is not the name of a norm; {hint}")


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


# -- The robust maximum loss of a linear predictor: its value, its bound, its minimum --------------


_LEAST = 1e-3  # of what may be left to gain: what products of constraints and multipliers keep
_ROUNDING = 1e-14  # of the budget, which value and bound both hold
_PATIENCE = 20  # steps that bring nothing


class Found(NamedTuple):
    """The parameters, the objective there, by how much it could be lowered, and the steps taken."""

    theta: FloatArray
    value: float
    gap: float
    n_iter: int
    is_constant: bool
    """Whether a model without coefficients is as good, up to the gap that was asked for."""


class SlackProblem:
    r"""The robust maximum of the losses of a linear predictor, plus a ridge.

    .. math:: \min_{w, b} R_K(s(w, b)) + \frac{\|w\|^2}{2C}

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        In the encoding of the loss.
    loss : Loss
        Convex, not negative, and smooth or with known pieces.
    mass : ndarray of shape (n_samples,)
        How many copies each row stands for: above zero.
    budget : float
        K.
    power : {1, 2}
        Of the norm.
    C : float
    fit_intercept : bool
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
        # Weights that add up to one are those of a maximum: its dual bound is half of ours.
        self.maximum = RankedRangeObjective(X, y, loss, k=1, C=C, fit_intercept=fit_intercept)
        self.mass = mass
        self.budget = budget
        self.power = power
        self.floor = -budget / float(mass.sum()) ** (1 / power)  # of losses that are all zero

    def value(self, theta: FloatArray, raw: FloatArray) -> float:
        """Return the objective."""
        threshold = pour(self.maximum.losses(raw), self.budget, self.power, self.mass).threshold
        return threshold + self.maximum.ridge(theta)

    def bound(self, raw: FloatArray, weights: FloatArray) -> float:
        r"""Return a number the objective cannot go below, from weights of the pieces of losses.

        For weights v of the rows that add up to one, the objective is at least
        :math:`\sum_i v_i s_i - K \|v\|_q` plus the ridge, and the minimum of that has a bound by
        tangents at any raw predictions. Where losses have a floor, it is the last piece.
        """
        rows = weights.sum(axis=1)
        rows, weights = rows / rows.sum(), weights / rows.sum()
        each = rows / self.mass
        size = float(each.max()) if self.power == 1 else float(np.sqrt(rows @ each))
        if self.maximum.loss.floor == 0:
            weights = weights[:, :-1]
        return lower_bound(self.maximum, raw, weights) - self.budget * size

    def gap(self, value: float, bound: float) -> float:
        """Return by how much a value could be lowered at most, relative to that of zero losses."""
        height, rounding = value - self.floor, _ROUNDING * abs(self.floor)
        return max(value - bound - rounding, 0.0) / height if height > rounding else 0.0

    def minimise(self, *, tol: float, max_iter: int) -> Found:
        """Return the minimum, certified by a bound, or what was reached."""
        if self.budget == 0:
            best = topsum(self.maximum, tol=tol, max_iter=max_iter)
            is_constant = best.status is Status.CONSTANT_MODEL
            return Found(best.theta, best.objective, best.gap, len(best.trace), is_constant)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return self._interior(tol, max_iter)

    def _interior(self, tol: float, max_iter: int) -> Found:
        state = Interior(self.maximum, self.mass, self.budget, self.power)
        theta, value, bound = state.theta, self.value(state.theta, state.raw), self.floor
        steps, stalled, products = 0, 0, np.inf
        while steps < max_iter and stalled < _PATIENCE and self.gap(value, bound) > tol:
            if not state.step(_LEAST * (value - bound)):
                break
            steps += 1
            here = self.value(state.theta, state.raw)
            below = self.bound(state.raw, state.V)
            moved = here < value or below > bound or state.products < products
            stalled, products = 0 if moved else stalled + 1, min(products, state.products)
            if here < value:
                theta, value = state.theta, here
            bound = max(bound, below)
        gap = self.gap(value, bound)
        is_constant = gap <= tol and self.gap(self._constant(theta), bound) <= tol
        return Found(theta, value, gap, steps, is_constant)

    def _constant(self, theta: FloatArray) -> float:
        """Return the objective of the same predictions on average, without coefficients."""
        alike = np.zeros_like(theta)
        if self.maximum.design.intercept:
            alike[-1] = self.maximum.raw_prediction(theta).mean(axis=0)
        return self.value(alike, self.maximum.raw_prediction(alike))


# -- A primal-dual interior point method for the robust maximum loss of a linear predictor ---------


_SHY = 0.99  # how far to the boundary a step goes
_KEPT = 0.1  # of the room of a row that curves may not take
_RISE = 0.5  # of the fall of the threshold, and of all products, that curves may undo


class Interior:
    """The variables of the method, and one step of a predictor and a corrector.

    Parameters
    ----------
    objective : RankedRangeObjective
        The loss, the rows and the ridge.
    mass : ndarray of shape (n_samples,)
    budget : float
        K, above zero.
    power : {1, 2}
        p.
    """

    def __init__(
        self, objective: RankedRangeObjective, mass: FloatArray, budget: float, power: int
    ) -> None:
        self.objective, self.mass, self.budget, self.power = objective, mass, budget, power
        self.theta = np.zeros(self.objective.shape)
        self.raw = self.objective.raw_prediction(self.theta)
        s = self._pieces(self.raw)[0]
        total, pieces = float(mass.sum()), s.shape[1]
        self.products = np.inf  # before the last step
        self.is_bounded = power == 1  # whether slack could become negative otherwise
        self.count = total * (pieces + self.is_bounded)
        # On the central path, but for the gradient: equal slack, and as far off as losses are high.
        even = budget / total ** (1 / power)
        distance = max(float(s.max()), even)
        self.xi = np.full(len(mass), even)
        self.t = float(s.max()) - even + distance
        self.V = np.repeat((mass / (total * pieces))[:, None], pieces, axis=1)
        self.u = mass * (distance / (total * pieces * even) if self.is_bounded else 0.0)
        self.mu = (1 / total + float(self.u[0] / mass[0])) / even ** (power - 1)

    def _pieces(self, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the pieces of the losses, the floor being one, and their slopes in each output."""
        loss, y = self.objective.loss, self.objective.y
        s, slopes = loss.pieces(y, raw)
        slopes = slopes[:, :, None] if slopes.ndim == 2 else slopes
        if loss.floor == 0:
            s = np.append(s, np.zeros((len(s), 1)), axis=1)
            slopes = np.append(slopes, np.zeros_like(slopes[:, :1]), axis=1)
        return s, slopes

    def _left(self) -> float:
        """Return what is left of the budget, negative if too much was spent, up to its slope."""
        if self.power == 1:
            return self.budget - float(self.mass @ self.xi)
        size = float(np.sqrt(self.mass @ self.xi**2))
        return size * (self.budget - size)

    def _pull(self, residual: FloatArray) -> FloatArray:
        """Return the sum of the rows times residuals of each output, flat."""
        several = len(self.objective.shape) == 2
        return self.objective.design.pull(residual if several else residual[:, 0]).ravel()

    def step(self, least: float) -> bool:
        """Take a step; tell whether there was one.

        Products are not made smaller in all than `least`: while the minimum is far, they would
        close the ways to it.
        """
        objective, mass = self.objective, self.mass
        s, A = self._pieces(self.raw)
        a = (self.xi + self.t)[:, None] - s
        self.products = self._products(a)
        if not self.products > 0:
            return False
        left = self._left()
        slope, bend = mass * self.xi ** (self.power - 1), mass * (self.power - 1.0)  # of the budget
        h = self.u / self.xi if self.is_bounded else self.u
        e = self.V / a
        E = e.sum(axis=1)
        mean = np.einsum("il,ilj->ij", e, A) / E[:, None]
        spread = A - mean[:, None, :]
        D = self.mu * bend + h + E
        q = E * (self.mu * bend + h) / D
        block = np.einsum("il,ilj,ilk->ijk", e, spread, spread)
        block += q[:, None, None] * mean[:, :, None] * mean[:, None, :]
        if objective.loss.has_curvature:
            curvature = objective.loss.curvature(objective.y, self.raw)
            curvature = curvature[:, None, None] if curvature.ndim == 1 else curvature
            block += self.V[:, :1, None] * curvature
        several = len(objective.shape) == 2
        size = self.theta.size
        M = objective.design.gram(block if several else block[:, 0, 0])
        M[np.arange(size), np.arange(size)] += objective.ridge_diagonal
        # The threshold and the multiplier of the budget go first, and together: each by itself
        # may be next to undetermined.
        share = slope * E / D
        edges = np.column_stack([-self._pull(q[:, None] * mean), self._pull(share[:, None] * mean)])
        off = -float(share.sum())
        first, last = float(q.sum()), -float(slope @ (slope / D))
        inverse = np.array([[last, -off], [-off, first]]) / np.float64(first * last - off * off)
        solve = solve_symmetric(M - edges @ inverse @ edges.T)
        ridge = objective.ridge_gradient(self.theta).ravel()

        def direction(target: float, second: _Direction | None) -> _Direction:
            """Return the Newton step towards products of that size, for each unit of mass."""
            products = target * mass[:, None]
            to_V = (products if second is None else products - second.a * second.V) / a
            to_u = np.zeros_like(mass)
            if self.is_bounded:
                product = target * mass
                to_u = (product if second is None else product - second.xi * second.u) / self.xi
            rho = to_V.sum(axis=1) + to_u - self.mu * slope
            lifted = (E * rho / D)[:, None] * mean - np.einsum("il,ilj->ij", to_V, A)
            rest = np.array(
                [
                    float(to_V.sum()) - 1 - float((E * rho / D).sum()),
                    left - float(slope @ (rho / D)),
                ]
            )
            found = solve(self._pull(lifted) - ridge - edges @ (inverse @ rest))
            t, mu = (float(x) for x in inverse @ (rest - edges.T @ found))
            theta = found.reshape(self.theta.shape)
            raw = objective.raw_prediction(theta)
            flat = raw[:, None] if raw.ndim == 1 else raw
            xi = (rho - mu * slope - E * (t - (mean * flat).sum(axis=1))) / D
            da = (xi + t)[:, None] - np.einsum("ilj,ij->il", A, flat)
            return _Direction(
                theta, raw, t, xi, da, to_V - self.V - e * da, to_u - self.u - h * xi, mu
            )

        now = self.products / self.count
        ahead = direction(0.0, None)
        reach = min(1.0, self._reach(ahead, a))
        then = self._products(a, ahead, reach) / self.count
        sigma = min(max(then / now, 0.0) ** 3, 1.0)
        chosen = direction(max(sigma * now, least / self.count), ahead)
        if _SHY * self._reach(chosen, a) < 1e-2:  # the correction misled: go towards the centre
            chosen = direction(0.5 * now, None)
        return self._move(chosen, a)

    def _products(self, a: FloatArray, d: _Direction | None = None, length: float = 0.0) -> float:
        """Return the sum of constraints times multipliers, here or further on."""
        a, V, xi, u = a, self.V, self.xi, self.u
        if d is not None:
            a, V = a + length * d.a, V + length * d.V
            xi, u = xi + length * d.xi, u + length * d.u
        return float((a * V).sum()) + (float(xi @ u) if self.is_bounded else 0.0)

    def _reach(self, d: _Direction, a: FloatArray) -> float:
        """Return how far a direction leads until a constraint or a multiplier is zero."""
        pairs = [(a, d.a), (self.V, d.V)]
        if self.is_bounded:
            pairs += [(self.xi, d.xi), (self.u, d.u)]
        steepest = max(float(np.max(-change / value)) for value, change in pairs)
        return 1 / steepest if steepest > 0 else np.inf

    def _move(self, d: _Direction, a: FloatArray) -> bool:
        """Go along a direction while everything stays inside.

        What losses curve by is taken from the room of their row; where that is too little, the
        threshold rises, which moves away from the minimum: by no more than is left to gain.
        """
        length = min(1.0, _SHY * self._reach(d, a))
        if not np.isfinite(d.theta).all() or not length > 0:
            return False
        for _ in range(60):
            raw = self.raw + length * d.raw
            level = self.xi + length * d.xi + self.t + length * d.t
            short = _KEPT * (a + length * d.a) - (level[:, None] - self._pieces(raw)[0])
            rise = max(float(short.max()), 0.0)
            if rise <= _RISE * (self.products + length * max(-d.t, 0.0)):
                break
            length *= 0.7
        else:
            return False
        self.theta = self.theta + length * d.theta
        self.raw = raw
        self.t += length * d.t + rise
        self.xi = self.xi + length * d.xi
        self.V = self.V + length * d.V
        self.u = self.u + length * d.u
        self.mu += length * d.mu
        return True


class _Direction(NamedTuple):
    theta: FloatArray
    raw: FloatArray
    t: float
    xi: FloatArray
    a: FloatArray
    V: FloatArray
    u: FloatArray
    mu: float


# -- Rows with more features than there are rows, in as many coordinates as rows -------------------


def in_own_span(X: Any) -> tuple[Any, Callable[[FloatArray], FloatArray]]:
    """Return rows in coordinates of what they span, and the way back for coefficients.

    Coefficients across that span cost and bring nothing, so that a ridge finds the same model
    there. Norms and products stay as they are. Rows are returned as they are where they are no
    fewer than their features.
    """
    if X.shape[0] >= X.shape[1]:
        return X, np.asarray
    if isinstance(X, np.ndarray):
        basis, coordinates = linalg.qr(X.T.astype(np.float64), mode="economic")
        return coordinates.T, lambda coef: np.asarray(basis @ coef)
    squares, vectors = linalg.eigh((X @ X.T).toarray().astype(np.float64))
    is_there = squares > squares[-1] * len(squares) * np.finfo(np.float64).eps
    is_there[-1] = True
    sizes = np.sqrt(np.maximum(squares[is_there], np.finfo(np.float64).tiny))
    vectors = vectors[:, is_there]
    return vectors * sizes, lambda coef: np.asarray(X.T @ ((vectors / sizes) @ coef))
