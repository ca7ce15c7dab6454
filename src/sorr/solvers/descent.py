"""Steps that lower an objective: quasi-Newton, Newton with a blurred cut, and past kinks.

`descend` is the fast phase of every fit. It takes limited-memory quasi-Newton steps on the
objective itself, at two passes over the rows each: one for the direction, one for the gradient.
The line search moves along raw predictions and needs no pass. With few parameters, a Hessian from
a sample of the rows is the metric from the start, so that a handful of steps is enough.

Three other ways down complete it: `anneal` goes through soft versions of the objective,
`newton_past_corners` takes Newton steps on rounded corners and a blurred cut, and
`minimise_nonsmooth` works for any convex function with kinks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from sorr._typing import FloatArray
from sorr.objectives import RankedRangeObjective, annealed, blurred, subsample
from sorr.solvers.interior import solve_symmetric

_MEMORY = 8  # steps that are remembered by default
_ARMIJO = 1e-4  # share of the decrease promised by the slope that a step has to reach
_WIDTHS = (0.5, 0.1)  # of rounded corners, relative to the typical loss
_FLOAT32_ROWS = 5000  # rows from which predictions are in float32: exponentials take a fifth
_FLOAT32_TARGET = 1e15  # largest target for float32: its square fits, with some room
_MAX_CURVATURES = 2**20  # second derivatives that are held at a time
_MAX_METRIC_PARAMETERS = 65  # parameters up to which a Hessian from a sample is worth its price
_NEAR_MINIMUM = 1e-2  # promised decrease, relative to the objective, at which a sample is no help
_TINY = float(np.finfo(np.float64).tiny)

_NONSMOOTH_MEMORY = 30
_NONSMOOTH_TRIALS = 40  # of a line search
_WOLFE_SLOPE = 0.9  # share of the slope that may be left after a step
_PATIENCE = 10  # steps over which a decrease is judged: at a kink, single ones are often short

_TEMPERATURES = (0.5, 0.1)  # relative to the typical loss at the start
_STEPS_PER_TEMPERATURE = 30  # at most

_CORNER_WIDTHS = (0.1, 0.03, 0.01, 0.003)  # relative to the mean loss of the rows that count
_MAX_NEWTON_PARAMETERS = 512  # parameters up to which a Hessian is worth its price
_STEPS_PER_WIDTH = 4  # at most


class Point(NamedTuple):
    """Parameters, their raw predictions, the objective there, and the shares of the rows."""

    theta: FloatArray
    raw: FloatArray
    value: float
    shares: FloatArray
    slopes: FloatArray | None = None
    """The gradients of the losses, if they are known."""


def evaluate(
    objective: RankedRangeObjective, theta: FloatArray, raw: FloatArray | None = None
) -> Point:
    """Return the point of parameters; their raw predictions may be given."""
    raw = objective.raw_prediction(theta) if raw is None else raw
    return Point(theta, raw, *objective.value_and_shares_at(raw, theta))


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

    Steps stop when they promise to lower the objective by less than `tol`, relative to it. A
    `memory` shares the curvature met on the way between similar objectives. The predictions of
    many rows are in float32, unless `precise`. Corners are rounded over `widths`, one after the
    other, each times the typical loss.
    """
    rng = np.random.default_rng(0) if rng is None else rng
    memory = Memory() if memory is None else memory
    run = partial(_take_steps, max_iter=max_iter, rng=rng, precise=precise)
    if objective.loss.has_curvature or not objective.loss.has_smooth_neighbour:
        return run(objective, point, tol=tol, record=record, memory=memory)
    best = point
    scale = objective.typical_loss(point.raw, point.shares)
    for width in widths:
        smooth = objective.smoothed(width * scale if scale > 0 else width)
        start = evaluate(smooth, point.theta, point.raw)
        end = run(smooth, start, tol=10 * tol, record=None, memory=memory)
        point = evaluate(objective, end.theta, end.raw)
        if point.value < best.value:
            best = point
            if record is not None:
                record(best)
    if len(objective.shape) > 1 and (precise or objective.n_samples < _FLOAT32_ROWS):
        # No Newton steps follow for several outputs: subgradients bring the last percent.
        best = run(objective, best, tol=tol, record=record, memory=Memory())
    return best


def _take_steps(
    objective: RankedRangeObjective,
    point: Point,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    record: Callable[[Point], None] | None,
    memory: Memory,
    precise: bool,
) -> Point:
    """Return a lower point by quasi-Newton steps with (sub)gradients of the objective."""
    start = point
    if (
        objective.n_samples >= _FLOAT32_ROWS
        and not precise
        and np.abs(objective.y).max() < _FLOAT32_TARGET
    ):
        point = evaluate(objective, point.theta, point.raw.astype(np.float32))
    point, metric = _sampled_start(objective, point, rng)
    gradient = objective.subgradient_at(point.raw, point.theta, point.shares)
    size: FloatArray = np.ones(1)
    if metric is None:
        size = _diagonal_size(objective, point)
    n_slow = 0
    for _ in range(max_iter):
        scaled = memory.solve(gradient.ravel() / size, metric)
        direction = -(scaled / size).reshape(objective.shape)
        slope = float(gradient.ravel() @ direction.ravel())
        if not slope < 0:
            if not len(memory):
                break
            memory.clear()  # corners have spoilt the metric: start again without it
            continue
        # With predictions in float32 the step can be in the precision of the rows.
        coarse = np.result_type(point.raw.dtype, objective.design.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            raw_step = objective.raw_prediction(direction.astype(coarse, copy=False))
            raw_step = raw_step.astype(point.raw.dtype, copy=False)
        is_first = not len(memory) and metric is None
        moved = None
        if np.isfinite(raw_step).all():  # where nothing curves, a metric may point to infinity
            moved = _line_search(objective, point, direction, raw_step, slope, is_first=is_first)
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
        n_slow = n_slow + 1 if decrease < 0.3 * tol * point.value else 0
        if -slope < tol * point.value or n_slow >= 2:
            break
    if point.raw.dtype != start.raw.dtype:
        point = evaluate(objective, point.theta)
    return point if point.value < start.value else start


def _diagonal_size(objective: RankedRangeObjective, point: Point) -> FloatArray:
    """Return the root of the diagonal of a rough Hessian: sizes of columns, and the ridge."""
    bend = _mean_curvature(objective, point) if objective.loss.has_curvature else 0.25
    repeats = objective.n_parameters // objective.design.n_parameters
    squares = np.repeat(objective.design.sizes**2, repeats)
    return np.sqrt(max(bend, 1e-3) * squares + objective.ridge_diagonal)


def _mean_curvature(objective: RankedRangeObjective, point: Point) -> float:
    """Return the mean diagonal of the second derivatives in the scores, some rows at a time.

    Each row has as many of them as there are pairs of labels.
    """
    n_outputs = 1 if point.raw.ndim == 1 else point.raw.shape[1]
    size, total = max(1, _MAX_CURVATURES // n_outputs**2), 0.0
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
    raw_step: FloatArray,
    slope: float,
    *,
    is_first: bool = False,
) -> Point | None:
    """Return a point of sufficient decrease, by quadratic interpolation: no pass over the rows."""
    t = 1.0
    if is_first:  # no metric yet: a step that moves predictions by one at most
        t = 1.0 / max(float(np.abs(raw_step).max()), 1e-12)
    best = None
    for _ in range(30):
        theta, raw = point.theta + t * direction, point.raw + raw_step.dtype.type(t) * raw_step
        value, shares, slopes = objective.evaluate(raw, theta)
        if value <= point.value + _ARMIJO * t * slope:
            if best is not None and best.value <= value:
                return best
            best = Point(theta, raw, value, shares, slopes)
            if not is_first:
                return best
            t *= 2  # as long as the objective falls
            continue
        if best is not None:
            return best
        is_first = False
        curve = value - point.value - t * slope
        shrunk = -slope * t * t / (2 * curve) if np.isfinite(curve) and curve > 0 else 0.1 * t
        t = min(max(shrunk, 0.1 * t), 0.5 * t)
    return best


def _sampled_start(
    objective: RankedRangeObjective, point: Point, rng: np.random.Generator
) -> tuple[Point, Callable[[FloatArray], FloatArray] | None]:
    """Return a start and a metric from Newton steps on a sample of the rows."""
    n_parameters = objective.n_parameters
    if n_parameters > _MAX_METRIC_PARAMETERS or not objective.loss.has_curvature:
        return point, None
    size = max(2000, 50 * n_parameters)
    sample = objective
    if 2 * size < objective.n_samples:
        sample = subsample(objective, size, rng, precaution=0.0)
    end = evaluate(sample, point.theta)
    if sample is not objective and point.theta.any():
        gradient = objective.subgradient_at(point.raw, point.theta, point.shares).ravel()
        metric = _newton_metric(sample, end)
        if gradient @ metric(gradient) < _NEAR_MINIMUM * point.value:  # a sample knows no better
            return point, metric
    for _ in range(8 if sample is not objective else 0):
        gradient = sample.subgradient_at(end.raw, end.theta, end.shares)
        solve = _newton_metric(sample, end)
        direction = -solve(gradient.ravel()).reshape(sample.shape)
        slope = float(gradient.ravel() @ direction.ravel())
        if not slope < -1e-3 * end.value:
            break
        raw_step = sample.raw_prediction(direction)
        moved = _line_search(sample, end, direction, raw_step, slope)
        if moved is None:
            break
        end = moved
    metric = _newton_metric(sample, end)
    if sample is objective:
        return end, metric
    raw = objective.raw_prediction(end.theta).astype(point.raw.dtype, copy=False)
    moved = evaluate(objective, end.theta, raw)
    return (moved if moved.value < point.value else point), metric


def _newton_metric(
    objective: RankedRangeObjective, point: Point
) -> Callable[[FloatArray], FloatArray]:
    """Return the inverse of a Hessian that includes the cut at rank k.

    The gradient jumps as rows pass that rank. On average this is a curvature: the density of
    losses at the cut times the covariance of their gradients.
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
        # A common shift of all outputs changes nothing. Give it a curvature of its own, or
        # rounding errors in its slope would move it anywhere.
        outputs = objective.shape[1]
        corner = hessian[-outputs:, -outputs:]
        corner += np.trace(corner) / outputs**2
    return solve_symmetric(hessian)


# -- limited-memory BFGS -------------------------------------------------------------------------


class Memory:
    """The last steps, and the changes of the gradient along them: limited-memory BFGS.

    Parameters
    ----------
    size : int, default=8
        How many steps are kept.
    """

    def __init__(self, size: int = _MEMORY) -> None:
        self._pairs: deque[tuple[FloatArray, FloatArray, float]] = deque(maxlen=size)

    def __len__(self) -> int:
        return len(self._pairs)

    def clear(self) -> None:
        """Forget all steps."""
        self._pairs.clear()

    def add(self, step: FloatArray, change: FloatArray, *, rtol: float) -> None:
        """Remember a step, unless the function did not curve upwards along it."""
        curvature = float(np.vdot(step, change))
        if float(np.vdot(change, change)) < _TINY:  # squares vanish near the zero of a ridge
            return
        if curvature > rtol * float(np.linalg.norm(step) * np.linalg.norm(change)):
            self._pairs.append((step, change, curvature))

    def solve(
        self, gradient: FloatArray, metric: Callable[[FloatArray], FloatArray] | None = None
    ) -> FloatArray:
        """Return the inverse of the remembered Hessian, times the gradient.

        The inverse metric, or else the size of the last change, stands for the other directions.
        """
        result = gradient.copy()
        parts = []
        for step, change, curvature in reversed(self._pairs):
            part = float(np.vdot(step, result)) / curvature
            result -= part * change
            parts.append(part)
        if metric is not None:
            result = metric(result)
        elif self._pairs:
            _, change, curvature = self._pairs[-1]
            result *= curvature / float(np.vdot(change, change))
        for (step, change, curvature), part in zip(self._pairs, reversed(parts), strict=True):
            result += (part - float(np.vdot(change, result)) / curvature) * step
        return result


# -- convex functions with kinks ------------------------------------------------------------------

Function: TypeAlias = Callable[[FloatArray], tuple[float, FloatArray]]
"""From a point to the value and a subgradient there."""


def minimise_nonsmooth(
    function: Function, start: FloatArray, *, max_steps: int, tol: float
) -> FloatArray:
    """Return a point where the convex function is at most what it is at the start.

    Bisection finds steps that meet the weak Wolfe conditions. It needs no second derivative: so
    the steps also get past kinks, and learn the shape of the function around them. They stop when
    ten of them lower the function by less than `tol`, relative to it.

    References
    ----------
    A. S. Lewis, M. L. Overton, "Nonsmooth optimization via quasi-Newton methods", Mathematical
    Programming 141, 2013.
    """
    point = start
    value, slope = function(point)
    memory = Memory(_NONSMOOTH_MEMORY)
    recent = deque([value], maxlen=_PATIENCE + 1)
    for _ in range(max_steps):
        direction = -memory.solve(slope)
        if not len(memory):
            direction /= max(1.0, float(np.linalg.norm(slope)))
        moved = _search_weak_wolfe(function, point, value, slope, direction)
        if moved is None:
            if not len(memory):
                break
            memory.clear()  # the remembered curvature misleads: go on with the subgradient alone
            continue
        new, value, new_slope = moved
        memory.add(new - point, new_slope - slope, rtol=1e-12)
        point, slope = new, new_slope
        recent.append(value)
        if len(recent) > _PATIENCE and recent[0] - value <= tol * abs(value):
            break
    return point


def _search_weak_wolfe(
    function: Function,
    point: FloatArray,
    value: float,
    slope: FloatArray,
    direction: FloatArray,
) -> tuple[FloatArray, float, FloatArray] | None:
    """Return the next point with its value and slope, or None where no step goes down."""
    descent = float(np.vdot(slope, direction))
    if not descent < 0:
        return None
    low, high, length = 0.0, np.inf, 1.0
    lowest = None
    for _ in range(_NONSMOOTH_TRIALS):
        new = point + length * direction
        new_value, new_slope = function(new)
        if not new_value < value + _ARMIJO * length * descent:  # NaN is no decrease
            high = length
        else:
            low, lowest = length, (new, new_value, new_slope)
            if np.vdot(new_slope, direction) >= _WOLFE_SLOPE * descent:
                break
        length = 2 * length if high == np.inf else (low + high) / 2
    return lowest


# -- soft cuts and rounded corners ----------------------------------------------------------------


def anneal(objective: RankedRangeObjective, point: Point, rng: np.random.Generator) -> Point:
    """Return a point reached through soft versions of the objective, in which outliers fade."""
    scale = objective.typical_loss(point.raw, point.shares)
    if scale <= 0:  # every row is fitted already
        return point
    memory = Memory()
    for temperature in _TEMPERATURES:
        soft = annealed(objective, temperature * scale)
        end = descend(
            soft,
            evaluate(soft, point.theta, point.raw),
            tol=2e-4,
            max_iter=_STEPS_PER_TEMPERATURE,
            rng=rng,
            memory=memory,
        )
        point = evaluate(objective, end.theta, end.raw)
    return point


def can_pass_corners(objective: RankedRangeObjective) -> bool:
    """Tell whether `newton_past_corners` applies: one output, corners, and few parameters."""
    return (
        len(objective.shape) == 1
        and not objective.loss.smooth
        and objective.n_parameters <= _MAX_NEWTON_PARAMETERS
    )


def newton_past_corners(
    objective: RankedRangeObjective,
    point: Point,
    record: Callable[[Point], None] | None = None,
) -> Point:
    """Return a lower point of an objective with corners, by Newton steps of shrinking width."""
    best = point
    scale = objective.loss.total(objective.y, point.raw, point.shares)
    if scale <= 0:  # no row that counts has a loss
        return point
    for relative in _CORNER_WIDTHS:
        width = relative * scale
        smooth = objective.smoothed(width)
        for _ in range(_STEPS_PER_WIDTH):
            majoriser = smooth.trimmed(point.raw)
            theta, raw, decrement = _newton_step(majoriser, point.theta, point.raw, width)
            point = evaluate(objective, theta, raw)
            if point.value < best.value:
                best = point
            if decrement < 0.03 * relative * scale:
                break
        if record is not None:
            record(best)
    return best


def _newton_step(
    objective: RankedRangeObjective, theta: FloatArray, raw: FloatArray, width: float
) -> tuple[FloatArray, FloatArray, float]:
    """Return where a damped Newton step of the blurred majoriser ends, and what it promised."""
    soft = blurred(objective, width)
    losses, slopes = objective.loss.value_and_gradient(objective.y, raw)
    cut = soft.cut(losses)
    gradient = objective.design.pull(cut.shares * slopes) + objective.ridge_gradient(theta)
    bend = cut.shares * objective.loss.curvature(objective.y, raw)
    bend += cut.moving * slopes**2 / (2 * width)
    rows = np.flatnonzero(bend)
    hessian = objective.design.take(rows).gram(bend[rows])
    hessian[np.diag_indices_from(hessian)] += objective.ridge_diagonal
    for group in objective.groups:
        moving = float(cut.moving[group.rows].sum())
        if moving > 0:
            weighted = np.zeros_like(slopes)
            weighted[group.rows] = cut.moving[group.rows] * slopes[group.rows]
            near = np.flatnonzero(weighted)
            mean = objective.design.take(near).pull(weighted[near])
            hessian -= np.outer(mean, mean) / (2 * width * moving)
    step = -solve_symmetric(hessian)(gradient)
    slope = float(gradient @ step)
    if not slope < 0:
        return theta, raw, 0.0
    raw_step = objective.raw_prediction(step)
    start = cut.value + objective.ridge(theta)
    t = 1.0
    for _ in range(12):
        new_theta, new_raw = theta + t * step, raw + t * raw_step
        value = soft.cut(objective.loss.value(objective.y, new_raw)).value
        if value + objective.ridge(new_theta) <= start + _ARMIJO * t * slope:
            return new_theta, new_raw, -slope
        t /= 2.5
    return theta, raw, 0.0
