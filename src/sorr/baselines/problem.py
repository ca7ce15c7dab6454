"""The robust maximum loss of a linear predictor: its value, its bound, its minimum."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.baselines.interior import Interior
from sorr.baselines.slack import pour
from sorr.losses import Loss
from sorr.objectives import RankedRangeObjective
from sorr.solvers import Status, topsum
from sorr.solvers.dual import lower_bound

__all__ = ["Found", "SlackProblem"]

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
