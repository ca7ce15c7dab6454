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
from typing import TypeAlias

import numpy as np

from sorr._typing import FloatArray
from sorr.objectives import (
    Objective,
    PartitionedObjective,
    PartRay,
    Point,
    RankedRangeObjective,
    Ray,
    annealed,
    blurred,
    solve_symmetric,
)
from sorr.solvers import constants as tuned

_MAX_TRIALS = 30  # of a line search
_ARMIJO = 1e-4  # share of the decrease promised by the slope that a step has to reach
_TINY = float(np.finfo(np.float64).tiny)

_NONSMOOTH_MEMORY = 30
_NONSMOOTH_TRIALS = 40  # of a line search
_WOLFE_SLOPE = 0.9  # share of the slope that may be left after a step
_PATIENCE = 10  # steps over which a decrease is judged: at a kink, single ones are often short


def descend(
    objective: Objective,
    point: Point,
    *,
    tol: float = 5e-5,
    max_iter: int = 100,
    rng: np.random.Generator | None = None,
    record: Callable[[Point], None] | None = None,
    memory: Memory | None = None,
    precise: bool = False,
    widths: Sequence[float] = tuned.FAST_WIDTHS,
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
    scale = objective.typical_loss(point)
    for width in widths:
        smooth = objective.smoothed(width * scale if scale > 0 else width)
        start = smooth.at(point.theta, point.raw)
        early = tol if width == widths[-1] else max(tol, tuned.EARLY_TOL)
        last = early if smooth.is_rounded else 10 * tol  # Newton steps bring more than they cost
        end = run(smooth, start, tol=last, record=None, memory=memory)
        point = objective.at(end.theta, end.raw)
        if point.value < best.value:
            best = point
            if record is not None:
                record(best)
    if len(objective.shape) > 1 and (precise or objective.n_samples <= tuned.FEW_ROWS):
        # No Newton steps follow for several outputs: subgradients bring the last percent.
        best = run(objective, best, tol=tol, record=record, memory=Memory())
    return best


def _take_steps(
    objective: Objective,
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
    if not precise:
        point = objective.coarse(point)
    point, metric = _sampled_start(objective, point, rng)
    gradient = objective.gradient(point)
    size: FloatArray = np.ones(1)
    if metric is None:
        size = objective.diagonal_size(point)
    n_slow, is_partitioned = 0, isinstance(objective, PartitionedObjective)
    for _ in range(max_iter):
        scaled = memory.solve(gradient.ravel() / size, metric)
        direction = -(scaled / size).reshape(objective.shape)
        slope = float(gradient.ravel() @ direction.ravel())
        if not slope < 0:
            if not len(memory):
                break
            memory.clear()  # corners have spoilt the metric: start again without it
            continue
        if is_partitioned and metric is not None and -slope < tol * point.value:
            break  # in memory, one more step is nearly free
        ray = objective.ray(point, direction)
        moved = None
        if not ray.is_finite:  # where nothing curves, a metric may point to infinity
            pass
        elif len(memory) or metric is not None:
            moved = search_line(ray, slope)
        else:  # no metric yet: a step that moves predictions by one at most, and then more
            moved = search_line(ray, slope, length=1 / max(ray.largest_move, 1e-12), growth=2.0)
        if moved is None:
            if not len(memory):
                break
            memory.clear()
            continue
        decrease = point.value - moved.value
        new = objective.gradient(moved)
        step, change = (moved.theta - point.theta).ravel(), (new - gradient).ravel()
        memory.add(step * size, change / size, rtol=1e-10)
        point, gradient = moved, new
        if objective.is_rounded:  # few rows curve, and others at each point
            metric = _newton_metric(objective, point)
            memory.clear()
        if record is not None:
            record(point)
        n_slow = n_slow + 1 if decrease < 0.3 * tol * point.value else 0
        if -slope < tol * point.value or n_slow >= 2:
            break
    point = objective.fine(point)
    return point if point.value < start.value else start


def search_line(
    ray: Ray | PartRay,
    slope: float = 0.0,
    *,
    length: float = 1.0,
    growth: float = 1.0,
    best: Point | None = None,
) -> Point | None:
    """Return a point of sufficient decrease along a ray, or None: the one line search of all.

    Steps shrink by quadratic interpolation, or to half if there is no slope. If the first step is
    good already, it grows by a factor above one as long as the objective falls. A point that is
    known to be good may be given as `best`.
    """
    t, start = length, ray.start.value
    for _ in range(_MAX_TRIALS):
        trial = ray.at(t)
        is_lower = trial.value <= start + _ARMIJO * t * slope
        if is_lower and (best is None or trial.value < best.value):
            best = trial
            if growth == 1:
                return best
            t *= growth
            continue
        if best is not None:
            return best
        growth, curve = 1.0, trial.value - start - t * slope
        shrunk = 0.5 * t
        if slope < 0:
            shrunk = -slope * t * t / (2 * curve) if 0 < curve < np.inf else 0.1 * t
        t = min(max(shrunk, 0.1 * t), 0.5 * t)
    return best


def _sampled_start(
    objective: Objective, point: Point, rng: np.random.Generator
) -> tuple[Point, Callable[[FloatArray], FloatArray] | None]:
    """Return a start and a metric from Newton steps on a sample of the rows."""
    if objective.n_parameters > tuned.MAX_METRIC_PARAMETERS or not objective.loss.has_curvature:
        return point, None
    if isinstance(objective, PartitionedObjective):  # the point is the minimum of a sample
        return point, _newton_metric(objective, point)
    sample = objective.metric_sample(rng)
    end = sample.at(point.theta)
    if sample is not objective and point.theta.any():
        gradient = objective.gradient(point).ravel()
        metric = _newton_metric(sample, end)
        if (
            gradient @ metric(gradient) < tuned.NEAR_MINIMUM * point.value
        ):  # a sample knows no better
            return point, metric
    if sample is not objective:
        end = take_newton_steps(
            sample,
            end,
            partial(_newton_metric, sample),
            tol=tuned.METRIC_TOL,
            max_iter=tuned.METRIC_STEPS,
        )
    metric = _newton_metric(sample, end)
    if sample is objective:
        return end, metric
    moved = objective.near(point, end.theta)
    return (moved if moved.value < point.value else point), metric


def settle_on_sample(sample: RankedRangeObjective, end: Point) -> FloatArray:
    """Return the end of a search that dropped more rows, after a Newton step without that."""
    can_step = sample.loss.has_curvature and sample.n_parameters <= tuned.MAX_METRIC_PARAMETERS
    point, metric = sample.at(end.theta), partial(_newton_metric, sample)
    if not can_step or point.value > tuned.MAX_RISE * end.value:  # outliers would count
        return end.theta
    return take_newton_steps(sample, point, metric, tol=tuned.METRIC_TOL, max_iter=1).theta


def take_newton_steps(
    objective: Objective,
    point: Point,
    metric: Callable[[Point], Callable[[FloatArray], FloatArray]],
    *,
    tol: float,
    max_iter: int,
    record: Callable[[Point], None] | None = None,
) -> Point:
    """Return a lower point by Newton steps, as long as they promise a decrease above `tol`.

    `metric` gives the inverse of the Hessian at a point.
    """
    for _ in range(max_iter):
        gradient = objective.gradient(point)
        direction = -metric(point)(gradient.ravel()).reshape(objective.shape)
        slope = float(np.vdot(gradient, direction))
        if not slope < -tol * point.value:
            break
        moved = search_line(objective.ray(point, direction), slope)
        if moved is None:  # rounding leaves no lower point
            break
        point = moved
        if record is not None:
            record(point)
    return point


def _newton_metric(objective: Objective, point: Point) -> Callable[[FloatArray], FloatArray]:
    """Return the inverse of a Hessian that includes the cuts at both ends of the range."""
    hessian = objective.hessian_with_cuts(point)
    if objective.has_intercept and len(objective.shape) > 1:
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

    def __init__(self, size: int = tuned.MEMORY) -> None:
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


def anneal(
    objective: RankedRangeObjective,
    point: Point,
    rng: np.random.Generator,
    widths: Sequence[float] = tuned.FAST_WIDTHS,
    temperatures: Sequence[float] = tuned.TEMPERATURES,
) -> Point:
    """Return a point reached through soft versions of the objective, in which outliers fade."""
    scale = objective.typical_loss(point)
    if scale <= 0:  # every row is fitted already
        return point
    memory = Memory()
    for temperature in temperatures:
        soft = annealed(objective, temperature * scale)
        end = descend(
            soft,
            soft.at(point.theta, point.raw),
            tol=2e-4,
            max_iter=tuned.STEPS_PER_TEMPERATURE,
            rng=rng,
            memory=memory,
            widths=widths,
        )
        point = objective.at(end.theta, end.raw)
    return point


def can_pass_corners(objective: Objective) -> bool:
    """Tell whether `newton_past_corners` applies: one output, corners, and few parameters."""
    return (
        isinstance(objective, RankedRangeObjective)
        and len(objective.shape) == 1
        and not objective.loss.smooth
        and objective.n_parameters <= tuned.MAX_NEWTON_PARAMETERS
    )


def newton_past_corners(
    objective: RankedRangeObjective,
    point: Point,
    record: Callable[[Point], None] | None = None,
    widths: Sequence[float] = tuned.NEWTON_WIDTHS,
    max_steps: int = tuned.STEPS_PER_WIDTH,
) -> Point:
    """Return a lower point of an objective with corners, by Newton steps of shrinking width.

    Each of the `widths` is relative to the mean loss of the rows that count, and good for at most
    `max_steps` steps.
    """
    best = point
    scale = objective.kept_loss(point)
    if scale <= 0:  # no row that counts has a loss
        return point
    for relative in widths:
        width = relative * scale
        smooth = objective.smoothed(width)
        for _ in range(max_steps):
            soft = blurred(smooth.trimmed(point.raw), width)
            gradient, hessian = soft.newton_model(point)
            step = -solve_symmetric(hessian)(gradient)
            decrement = -float(gradient @ step)
            if not decrement > 0:
                break
            moved = search_line(soft.ray(soft.at(point.theta, point.raw), step), -decrement)
            if moved is None:
                break
            point = objective.at(moved.theta, moved.raw)
            if point.value < best.value:
                best = point
            if decrement < 0.03 * relative * scale:
                break
        if record is not None:
            record(best)
    return best
