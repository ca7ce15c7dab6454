r"""Newton steps around corners: those of the loss are rounded, and the cut at rank k is blurred.

The weights :math:`v_i = \omega_i p_i` of the rows near the cut maximise
:math:`\sum_i v_i s_i + h \sum_i \omega_i p_i (1 - p_i)`, which gives

.. math:: p_i = \operatorname{clip}(1/2 + (s_i - \lambda) / 2h, 0, 1), \qquad \sum_i v_i = c_g .

This is smooth, convex once the top m are dropped, and tends to the objective with its width h.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sorr._typing import FloatArray
from sorr.objectives import RankedRangeObjective
from sorr.ranked import Mass, kth_largest
from sorr.solvers.fast import Point, evaluate
from sorr.solvers.symmetric import solve_symmetric

__all__ = ["Blurred", "clipped_parts", "sharpen", "sharpens"]

_WIDTHS = (0.1, 0.03, 0.01, 0.003)  # relative to the mean loss of the rows that count
_DENSE = 512  # parameters up to which a Hessian is worth its price
_STEPS = 4  # at most, for each width


class _Blur(NamedTuple):
    value: float
    weight: FloatArray
    edge: FloatArray
    """The weight that can move: zero but for the rows near the cut."""


class Blurred(RankedRangeObjective):
    """A convex objective whose cut is blurred over a width of losses."""

    width: float

    @classmethod
    def of(cls, objective: RankedRangeObjective, width: float) -> Blurred:
        """Return the blurred version of an objective with m = 0."""
        blurred = cls.__new__(cls)
        blurred.__dict__.update(objective.__dict__)
        blurred.width = width
        return blurred

    def value_and_shares_at(self, raw: FloatArray, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the blurred objective, and the weights of the rows."""
        total, shares = self.weigh(self.losses(raw))
        return total + self.ridge(theta), shares

    def weigh(self, losses: FloatArray) -> tuple[float, FloatArray]:
        """Return the blurred sum, and the weights of the rows."""
        blur = _blur(self, losses, self.width)
        return blur.value, blur.weight


def sharpens(objective: RankedRangeObjective) -> bool:
    """Tell whether the objective has corners, and few enough parameters for Newton steps."""
    one_output = len(objective.shape) == 1
    return one_output and not objective.loss.smooth and objective.n_parameters <= _DENSE


def sharpen(
    objective: RankedRangeObjective,
    point: Point,
    record: Callable[[Point], None] | None = None,
) -> Point:
    """Return a lower point of an objective with corners, by Newton steps of shrinking width."""
    best, here = point, point
    scale = objective.loss.total(objective.y, point.raw, point.shares)
    if scale <= 0:  # the rows that count are all predicted to their satisfaction
        return point
    for relative in _WIDTHS:
        width = relative * scale
        smooth = objective.smoothed(width)
        for _ in range(_STEPS):
            majoriser = smooth.trimmed(here.raw)
            theta, raw, decrement = _newton_step(majoriser, here.theta, here.raw, width)
            here = evaluate(objective, theta, raw)
            if here.value < best.value:
                best = here
            if decrement < 0.03 * relative * scale:
                break
        if record is not None:
            record(best)
    return best


def _newton_step(
    objective: RankedRangeObjective, theta: FloatArray, raw: FloatArray, width: float
) -> tuple[FloatArray, FloatArray, float]:
    """Return where a damped Newton step of the blurred majoriser ends, and what it promised."""
    losses, slopes = objective.loss.value_and_gradient(objective.y, raw)
    now = _blur(objective, losses, width)
    gradient = objective.design.pull(now.weight * slopes) + objective.ridge_gradient(theta)
    bend = now.weight * objective.loss.curvature(objective.y, raw)
    bend += now.edge * slopes**2 / (2 * width)
    rows = np.flatnonzero(bend)
    hessian = objective.design.take(rows).gram(bend[rows])
    hessian[np.diag_indices_from(hessian)] += objective.ridge_diagonal
    for group in objective.groups:
        moving = float(now.edge[group.rows].sum())
        if moving > 0:
            mine = np.zeros_like(slopes)
            mine[group.rows] = now.edge[group.rows] * slopes[group.rows]
            near = np.flatnonzero(mine)
            mean = objective.design.take(near).pull(mine[near])
            hessian -= np.outer(mean, mean) / (2 * width * moving)
    step = -solve_symmetric(hessian)(gradient)
    slope = float(gradient @ step)
    if not slope < 0:
        return theta, raw, 0.0
    draw = objective.raw_prediction(step)
    start = now.value + objective.ridge(theta)
    t = 1.0
    for _ in range(12):
        at, there = theta + t * step, raw + t * draw
        blurred = _blur(objective, objective.loss.value(objective.y, there), width)
        if blurred.value + objective.ridge(at) <= start + 1e-4 * t * slope:
            return at, there, -slope
        t /= 2.5
    return theta, raw, 0.0


def _blur(objective: RankedRangeObjective, losses: FloatArray, width: float) -> _Blur:
    weight, edge = np.zeros_like(losses), np.zeros_like(losses)
    value, masses = 0.0, objective.groups.masses
    for group in objective.groups:
        omega, s = group.scale * masses[group.rows], losses[group.rows]
        if group.is_full:
            weight[group.rows] = omega
            value += float(omega @ s)
            continue
        total = group.scale * group.width
        end = kth_largest(s, Mass(group.width), sample_weight=masses[group.rows])
        near = np.flatnonzero(np.abs(s - end) < 2 * width)
        inside = s >= end + 2 * width
        own = np.where(inside, omega, 0.0)
        rest = total - float(own.sum())
        bracket = (float(end) - 3 * width, float(end) + width)
        part = clipped_parts(s[near], omega[near], rest, bracket, 2 * width)
        own[near] = omega[near] * part
        value += float(own @ s) + width * float(omega[near] @ (part * (1 - part)))
        moving = np.zeros_like(s)
        moving[near] = np.where((part > 0) & (part < 1), omega[near], 0.0)
        weight[group.rows], edge[group.rows] = own, moving
    return _Blur(value, weight, edge)


def clipped_parts(
    values: FloatArray,
    mass: FloatArray,
    total: float,
    bracket: tuple[float, float],
    width: float,
) -> FloatArray:
    """Return parts ``clip((values - level) / width, 0, 1)`` whose mass is the total.

    Newton's method for the level, on a falling, piecewise linear function; a step that leaves
    the bracket halves it instead.
    """
    low, high = bracket
    level = (low + high) / 2
    close = float(np.finfo(values.dtype).eps) ** 0.75 * total
    for _ in range(60):
        part = np.clip((values - level) * (1 / width), 0.0, 1.0)
        excess = float(mass @ part) - total
        if abs(excess) <= close:
            break
        low, high = (level, high) if excess > 0 else (low, level)
        moving = float(mass @ ((part > 0) & (part < 1)))
        level = level + width * excess / moving if moving > 0 else (low + high) / 2
        if not low < level < high:
            level = (low + high) / 2
    return np.asarray(part)
