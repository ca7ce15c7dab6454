"""Convex hinges over labels: their corners are rounded, less and less."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import NamedTuple

import numpy as np

from sorr._typing import FloatArray
from sorr.losses import Loss
from sorr.objectives import RankedRangeObjective
from sorr.solvers import Step
from sorr.solvers.base import Progress
from sorr.solvers.fast import MEMORY, Point, descend, evaluate
from sorr.solvers.memory import Memory
from sorr.solvers.symmetric import solve_symmetric

__all__ = ["Rounded", "minimise_rounded"]

_SMALL = 200  # parameters up to which Newton steps are hardly noticed
_SHORT = 5000  # rows up to which they are
_FIRST = 1.0  # width of corners: the margin
_WARM = 0.1  # the same from a point that is nearly there
_NARROWER = 0.5  # how much less round the next corners are, unless less than that will do
_WITHIN = 0.9  # share of the tolerance that is aimed at
_SHARPEST = 1e-9  # width of corners that are none to floating-point numbers
_ROUGH = 1e-4  # tolerance down to which predictions in float32 will do
_DONE = 1e-15  # decrease promised by a Newton step that is not worth it, relative to the objective
_ARMIJO = 1e-4
_FREE = 1e-8  # curvature of an intercept that has none, relative to that of a corner


class Rounded(NamedTuple):
    """A point, what rounded corners hide there, relative to the objective, and the steps to it."""

    theta: FloatArray
    value: float
    hidden: float
    n_iter: int


def minimise_rounded(
    objective: RankedRangeObjective,
    rounded: Callable[[float], Loss],
    start: FloatArray | None = None,
    *,
    tol: float,
    max_iter: int,
    progress: Progress | None = None,
) -> Rounded:
    r"""Minimise the mean of a hinge by steps on neighbours with rounded corners.

    A neighbour lies below, and so does its minimum. The difference at that minimum is what its
    round corners hide; they get sharper until it is small. Of few parameters the steps are
    Newton's, and lead to the minimum of the last neighbour itself; of many, quasi-Newton.

    Parameters
    ----------
    objective : RankedRangeObjective
        With m = 0, and a loss over label sets with a margin of one.
    rounded : callable
        From a width to the loss with corners rounded that much, nowhere above the loss.
    start : ndarray, optional
        A point near the minimum, such as that for another C; by default zero, which need not be.
    tol : float
        What corners may hide, relative to the objective. Steps for a width end when they promise
        less than that, times the width.
    max_iter : int
        How many steps to take at most.
    progress : callable, optional
        Called with each `Step`.
    """
    point = evaluate(objective, np.zeros(objective.shape) if start is None else start)
    best, before = point, objective.design.passes
    is_small = objective.n_parameters <= _SMALL and objective.n_samples <= _SHORT
    _weigh_columns(objective)
    width, memory, n_iter = _FIRST if start is None else _WARM, Memory(MEMORY), 0

    def record(there: Point) -> None:
        nonlocal n_iter
        n_iter += 1
        if progress is not None:
            progress(Step(0, "fast", there.value, objective.design.passes - before))

    while True:
        smooth = copy(objective)
        smooth.loss = rounded(width)
        here, left = evaluate(smooth, point.theta, point.raw), max_iter - n_iter
        if is_small:
            there = _newton(smooth, here, width, left, record)
        else:
            there = descend(
                smooth,
                here,
                tol=tol * width,
                max_iter=left,
                record=record,
                memory=memory,
                precise=tol < _ROUGH,
            )
        point = evaluate(objective, there.theta, there.raw)
        best = min(best, point, key=lambda p: p.value)
        hidden = (point.value - there.value) / point.value if point.value > 0 else 0.0
        if hidden <= tol or n_iter >= max_iter or width <= _SHARPEST:
            return Rounded(best.theta, best.value, hidden, max(n_iter, 1))
        width *= max(_NARROWER, _WITHIN * tol / hidden)


def _newton(
    objective: RankedRangeObjective,
    point: Point,
    width: float,
    max_iter: int,
    record: Callable[[Point], None],
) -> Point:
    """Return the minimum of a neighbour."""
    free = np.zeros(objective.shape)
    free[objective.design.n_features :] = _FREE / width
    for _ in range(max_iter):
        gradient = objective.subgradient_at(point.raw, point.theta, point.shares)
        hessian = objective.curvature_at(point.raw, point.shares)
        hessian[np.diag_indices_from(hessian)] += free.ravel()
        step = -solve_symmetric(hessian)(gradient.ravel()).reshape(objective.shape)
        slope = float(np.vdot(gradient, step))
        if not slope < -_DONE * point.value:
            break
        moved = _backtrack(objective, point, step, slope)
        if moved is None:
            break
        point = moved
        record(point)
    return point


def _backtrack(
    objective: RankedRangeObjective, point: Point, step: FloatArray, slope: float
) -> Point | None:
    """Return a lower point along a step, if there is one that rounding leaves."""
    draw, t = objective.raw_prediction(step), 1.0
    while t > 1e-10:
        moved = evaluate(objective, point.theta + t * step, point.raw + t * draw)
        if moved.value <= point.value + _ARMIJO * t * slope:
            return moved
        curve = moved.value - point.value - t * slope
        t *= min(max(-slope * t / (2 * curve), 0.1), 0.7)
    return None


def _weigh_columns(objective: RankedRangeObjective) -> None:
    """Let a row of weight two be two rows to the size of a column, which scales the first steps."""
    if objective.groups.weight is None:
        return
    design, mass = objective.design, objective.groups.masses
    X = design.X
    squares = X.multiply(X).T @ mass if design.is_sparse else np.einsum("i,ij,ij->j", mass, X, X)
    sizes = np.sqrt(squares / mass.sum())
    ones = np.ones(int(design.intercept))
    design.sizes = np.append(np.where(sizes > 0, sizes, 1.0), ones)
