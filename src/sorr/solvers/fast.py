"""The fast phase: limited-memory quasi-Newton steps on the objective itself.

Two passes over the rows an iteration, one for the direction and one for the gradient; the line
search moves along raw predictions and costs none. Where there are few parameters, a Hessian from
a sample of the rows is the metric from the start, so that a handful of iterations do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from sorr._typing import FloatArray
from sorr.objectives import RankedRangeObjective
from sorr.solvers.memory import Memory
from sorr.solvers.subsample import subsample
from sorr.solvers.symmetric import solve_symmetric

__all__ = ["MEMORY", "Point", "descend", "evaluate", "newton_metric", "usual_loss"]

MEMORY = 8  # steps that are remembered
_ALMOST = 1e-2  # decrease promised at a start that is nearly there, relative to the objective
_ARMIJO = 1e-4
_WIDTHS = (0.5, 0.1)  # of rounded corners, relative to the mean loss
_WILD = 100.0  # times the loss of the rows that count: a mean above is that of wild rows
_LONG = 5000  # rows from which on predictions are kept in float32: exponentials take a fifth
_SINGLE = 1e15  # targets whose squares float32 can hold, with some room
_CHUNK = 2**20  # second derivatives that are held at a time
_DENSE = 65  # parameters up to which a Hessian from a sample is worth its price


class Point(NamedTuple):
    """Parameters, their raw predictions, the objective there, and the shares of the rows."""

    theta: FloatArray
    raw: FloatArray
    value: float
    shares: FloatArray
    slopes: FloatArray | None = None
    """The gradients of the losses, if they were found on the way."""


def evaluate(
    objective: RankedRangeObjective, theta: FloatArray, raw: FloatArray | None = None
) -> Point:
    """Return the point of parameters, whose raw predictions may be known."""
    raw = objective.raw_prediction(theta) if raw is None else raw
    return Point(theta, raw, *objective.value_and_shares_at(raw, theta))


def usual_loss(objective: RankedRangeObjective, point: Point) -> float:
    """Return the mean loss of all rows, unless a few that do not count make up nearly all of it."""
    mean = float(objective.losses(point.raw).mean())
    kept = objective.loss.total(objective.y, point.raw, np.maximum(point.shares, 0.0))
    return min(mean, _WILD * kept) if kept > 0 else mean


def descend(
    objective: RankedRangeObjective,
    point: Point,
    *,
    tol: float = 5e-5,
    max_iter: int = 100,
    rng: np.random.Generator | None = None,
    record: Callable[[Point], None] | None = None,
    memory: Memory | None = None,
    precise: bool = False,
    widths: Sequence[float] = _WIDTHS,
) -> Point:
    """Return a lower point of the objective; never a higher one.

    A memory of the curvature met on the way may be shared between objectives that are alike.
    Unless it has to be precise, the predictions of many rows are held in float32. Corners are
    rounded over some widths, one after the other, each times the mean loss at the start.
    """
    rng = np.random.default_rng(0) if rng is None else rng
    memory = Memory(MEMORY) if memory is None else memory
    if objective.loss.has_curvature:
        return _quasi_newton(objective, point, tol, max_iter, rng, record, memory, precise)
    best = point
    scale = usual_loss(objective, point)
    for width in widths:
        try:
            smooth = objective.smoothed(width * scale if scale > 0 else width)
        except TypeError:  # corners that nothing rounds: subgradients will have to do
            return _quasi_newton(objective, point, tol, max_iter, rng, record, memory, precise)
        there = _quasi_newton(
            smooth,
            evaluate(smooth, point.theta, point.raw),
            10 * tol,
            max_iter,
            rng,
            None,
            memory,
            precise,
        )
        point = evaluate(objective, there.theta, there.raw)
        if point.value < best.value:
            best = point
            if record is not None:
                record(best)
    if len(objective.shape) > 1 and (precise or objective.n_samples < _LONG):
        # Nothing sharpens these: subgradients go on past round corners, for a last percent.
        best = _quasi_newton(objective, best, tol, max_iter, rng, record, Memory(MEMORY), precise)
    return best


def _quasi_newton(
    objective: RankedRangeObjective,
    point: Point,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    record: Callable[[Point], None] | None,
    memory: Memory,
    precise: bool,
) -> Point:
    start = point
    if objective.n_samples >= _LONG and not precise and np.abs(objective.y).max() < _SINGLE:
        point = evaluate(objective, point.theta, point.raw.astype(np.float32))
    point, metric = _sampled_start(objective, point, rng)
    gradient = objective.subgradient_at(point.raw, point.theta, point.shares)
    size: FloatArray = np.ones(1)
    if metric is None:
        size = _diagonal_size(objective, point)
    slow = 0
    for _ in range(max_iter):
        scaled = memory.solve(gradient.ravel() / size, metric)
        direction = -(scaled / size).reshape(objective.shape)
        slope = float(gradient.ravel() @ direction.ravel())
        if not slope < 0:
            if not len(memory):
                break
            memory.clear()  # corners have spoilt the metric: begin again
            continue
        # With predictions in float32 the step can be in the precision of the rows.
        coarse = np.result_type(point.raw.dtype, objective.design.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            draw = objective.raw_prediction(direction.astype(coarse, copy=False))
            draw = draw.astype(point.raw.dtype, copy=False)
        first = not len(memory) and metric is None
        moved = None
        if np.isfinite(draw).all():  # where nothing curves, a metric may point beyond all numbers
            moved = _line_search(objective, point, direction, draw, slope, first)
        if moved is None:
            if not len(memory):
                break
            memory.clear()
            continue
        decrease = point.value - moved.value
        new = objective.subgradient_at(moved.raw, moved.theta, moved.shares, moved.slopes)
        step, change = (moved.theta - point.theta).ravel(), (new - gradient).ravel()
        memory.add(step * size, change / size, rtol=1e-10)
        point, gradient = moved, new
        if record is not None:
            record(point)
        slow = slow + 1 if decrease < 0.3 * tol * point.value else 0
        if -slope < tol * point.value or slow >= 2:
            break
    if point.raw.dtype != start.raw.dtype:
        point = evaluate(objective, point.theta)
    return point if point.value < start.value else start


def _diagonal_size(objective: RankedRangeObjective, point: Point) -> FloatArray:
    """Return the root of the diagonal of a rough Hessian: columns of like size, and the ridge."""
    bend = _mean_curvature(objective, point) if objective.loss.has_curvature else 0.25
    repeats = objective.n_parameters // objective.design.n_parameters
    squares = np.repeat(objective.design.sizes**2, repeats)
    return np.sqrt(max(bend, 1e-3) * squares + objective.ridge_diagonal)


def _mean_curvature(objective: RankedRangeObjective, point: Point) -> float:
    """Return the mean diagonal of the second derivatives by scores, some rows at a time.

    Of many labels there are many of them: for each row as many as pairs of labels.
    """
    n_outputs = 1 if point.raw.ndim == 1 else point.raw.shape[1]
    size, total = max(1, _CHUNK // n_outputs**2), 0.0
    for begin in range(0, len(point.raw), size):
        rows = slice(begin, begin + size)
        curvature = objective.loss.curvature(objective.y[rows], point.raw[rows])
        if curvature.ndim > 1:
            curvature = np.einsum("ijj->i", curvature) / n_outputs
        total += float(point.shares[rows] @ curvature)
    return total


def _line_search(
    objective: RankedRangeObjective,
    point: Point,
    direction: FloatArray,
    draw: FloatArray,
    slope: float,
    first: bool,
) -> Point | None:
    """Return a point of sufficient decrease, by quadratic interpolation: no pass over the rows."""
    t = 1.0
    if first:  # no metric yet: a step that moves predictions by one at most
        t = 1.0 / max(float(np.abs(draw).max()), 1e-12)
    best = None
    for _ in range(30):
        theta, raw = point.theta + t * direction, point.raw + draw.dtype.type(t) * draw
        value, shares, slopes = objective.evaluate(raw, theta)
        if value <= point.value + _ARMIJO * t * slope:
            if best is not None and best.value <= value:
                return best
            best = Point(theta, raw, value, shares, slopes)
            if not first:
                return best
            t *= 2  # as long as it pays
            continue
        if best is not None:
            return best
        first = False
        curve = value - point.value - t * slope
        shrunk = -slope * t * t / (2 * curve) if np.isfinite(curve) and curve > 0 else 0.1 * t
        t = min(max(shrunk, 0.1 * t), 0.5 * t)
    return best


def _sampled_start(
    objective: RankedRangeObjective, point: Point, rng: np.random.Generator
) -> tuple[Point, Callable[[FloatArray], FloatArray] | None]:
    """Return a start and a metric from Newton steps on a sample of the rows."""
    size = objective.n_parameters
    if size > _DENSE or not objective.loss.has_curvature:
        return point, None
    wanted = max(2000, 50 * size)
    sample = objective
    if 2 * wanted < objective.n_samples:
        sample = subsample(objective, wanted, rng, precaution=0.0)
    here = evaluate(sample, point.theta)
    if sample is not objective and point.theta.any():
        gradient = objective.subgradient_at(point.raw, point.theta, point.shares).ravel()
        metric = newton_metric(sample, here)
        if gradient @ metric(gradient) < _ALMOST * point.value:  # a sample knows no better
            return point, metric
    for _ in range(8 if sample is not objective else 0):
        gradient = sample.subgradient_at(here.raw, here.theta, here.shares)
        solve = newton_metric(sample, here)
        direction = -solve(gradient.ravel()).reshape(sample.shape)
        slope = float(gradient.ravel() @ direction.ravel())
        if not slope < -1e-3 * here.value:
            break
        draw = sample.raw_prediction(direction)
        moved = _line_search(sample, here, direction, draw, slope, False)
        if moved is None:
            break
        here = moved
    metric = newton_metric(sample, here)
    if sample is objective:
        return here, metric
    raw = objective.raw_prediction(here.theta).astype(point.raw.dtype, copy=False)
    moved = evaluate(objective, here.theta, raw)
    return (moved if moved.value < point.value else point), metric


def newton_metric(
    objective: RankedRangeObjective, point: Point
) -> Callable[[FloatArray], FloatArray]:
    """Return the inverse of a Hessian that knows about the lower cut.

    Where the objective stops counting rows at rank k, its gradient jumps as rows pass: on average
    that is a curvature, the density of losses at the cut times the covariance of their gradients.
    """
    hessian = objective.curvature_at(point.raw)
    losses = objective.losses(point.raw)
    masses = objective.groups.masses
    for group in objective.groups:
        if group.k >= group.mass * (1 - 1e-9):
            continue
        rows = np.arange(objective.n_samples)[group.rows]
        order = rows[np.argsort(-losses[rows])]
        ranks = np.cumsum(masses[order])
        cut = int(np.searchsorted(ranks, group.k))
        reach = max(5 * objective.n_parameters, len(rows) // 40, 2)
        near = order[max(cut - reach, 0) : cut + reach]
        width = float(losses[near[0]] - losses[near[-1]])
        width = max(width, 1e-3 * float(np.abs(losses[near]).mean()), 1e-12)
        weight = np.zeros(objective.n_samples)
        weight[near] = group.scale * masses[near] / width
        slopes = objective.loss.gradient(objective.y, point.raw)
        if slopes.ndim == 1:
            block = weight * slopes**2
            mean = objective.design.pull(weight * slopes).ravel()
        else:
            block = weight[:, None, None] * slopes[:, :, None] * slopes[:, None, :]
            mean = objective.design.pull(weight[:, None] * slopes).ravel()
        hessian += objective.design.gram(block) - np.outer(mean, mean) / weight.sum()
    if objective.design.intercept and len(objective.shape) > 1:
        # A common shift of all outputs changes nothing: without a curvature of its own, what
        # rounding leaves of its slope would send it anywhere.
        outputs = objective.shape[1]
        corner = hessian[-outputs:, -outputs:]
        corner += np.trace(corner) / outputs**2
    return solve_symmetric(hessian)
