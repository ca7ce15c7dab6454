"""The fast phase: limited-memory quasi-Newton steps on the objective itself.

Two passes over the rows an iteration, one for the direction and one for the gradient; the line
search moves along raw predictions and costs none. Where there are few parameters, a Hessian from
a sample of the rows is the metric from the start, so that a handful of iterations do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from sorr._typing import FloatArray
from sorr.objectives import RankedRangeObjective, subsample
from sorr.ranked import Mass, kth_largest
from sorr.solvers.interior import solve_symmetric

__all__ = [
    "MEMORY",
    "Blurred",
    "Memory",
    "Point",
    "anneal",
    "clipped_parts",
    "descend",
    "evaluate",
    "lower",
    "newton_metric",
    "sharpen",
    "sharpens",
    "usual_loss",
]

MEMORY = 8  # steps that are remembered
_ALMOST = 1e-2  # decrease promised at a start that is nearly there, relative to the objective
_ARMIJO = 1e-4
_WIDTHS = (0.5, 0.1)  # of rounded corners, relative to the mean loss
_WILD = 100.0  # times the loss of the rows that count: a mean above is that of wild rows
_LONG = 5000  # rows from which on predictions are kept in float32: exponentials take a fifth
_SINGLE = 1e15  # targets whose squares float32 can hold, with some room
_CHUNK = 2**20  # second derivatives that are held at a time
_MAX_METRIC_PARAMETERS = 65  # parameters up to which a Hessian from a sample is worth its price


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
    if size > _MAX_METRIC_PARAMETERS or not objective.loss.has_curvature:
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


# -- The curvature met on the way, as quasi-Newton methods remember it -----------------------------


_TINY = float(np.finfo(np.float64).tiny)


class Memory:
    """The last steps, and the changes of the gradient along them: limited-memory BFGS.

    Parameters
    ----------
    size : int
        How many are kept.
    """

    def __init__(self, size: int) -> None:
        self._pairs: deque[tuple[FloatArray, FloatArray, float]] = deque(maxlen=size)

    def __len__(self) -> int:
        return len(self._pairs)

    def clear(self) -> None:
        """Forget everything: corners have made it useless."""
        self._pairs.clear()

    def add(self, step: FloatArray, change: FloatArray, *, rtol: float) -> None:
        """Remember a step, unless the function did not curve upwards along it."""
        curvature = float(np.vdot(step, change))
        if float(np.vdot(change, change)) < _TINY:  # near zero of a ridge squares vanish
            return
        if curvature > rtol * float(np.linalg.norm(step) * np.linalg.norm(change)):
            self._pairs.append((step, change, curvature))

    def solve(
        self, gradient: FloatArray, metric: Callable[[FloatArray], FloatArray] | None = None
    ) -> FloatArray:
        """Return the inverse of the remembered Hessian, times the gradient.

        What is not remembered is taken from the inverse metric, or from the size of the last
        change.
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


# -- Descent on a convex function with kinks: limited-memory BFGS that never goes up ---------------


Function: TypeAlias = Callable[[FloatArray], tuple[float, FloatArray]]

_MEMORY = 30
_DECREASE, _SLOPE = 1e-4, 0.9
_TRIALS = 40
_PATIENCE = 10  # steps over which a decrease is judged: at a kink, single ones are often short


def lower(function: Function, start: FloatArray, *, max_steps: int, tol: float) -> FloatArray:
    """Return a point where the function is at most what it is at the start.

    The weak Wolfe conditions are met by bisection, which needs no second derivative: so the steps
    also get past kinks, and keep learning the shape of the function around them.

    Parameters
    ----------
    function : callable
        Returns the value and a subgradient at a point.
    start : ndarray
        Of any shape.
    max_steps : int
        How many steps to take at most.
    tol : float
        Stop when ten steps lower the function by less than this, relatively.

    References
    ----------
    A. S. Lewis, M. L. Overton, "Nonsmooth optimization via quasi-Newton methods", Mathematical
    Programming 141, 2013.
    """
    point = start
    value, slope = function(point)
    memory = Memory(_MEMORY)
    recent = deque([value], maxlen=_PATIENCE + 1)
    for _ in range(max_steps):
        direction = -memory.solve(slope)
        if not len(memory):
            direction /= max(1.0, float(np.linalg.norm(slope)))
        found = _search(function, point, value, slope, direction)
        if found is None:
            if not len(memory):
                break
            memory.clear()  # what was learnt misleads: go on from the subgradient alone
            continue
        new, value, new_slope = found
        memory.add(new - point, new_slope - slope, rtol=1e-12)
        point, slope = new, new_slope
        recent.append(value)
        if len(recent) > _PATIENCE and recent[0] - value <= tol * abs(value):
            break
    return point


def _search(
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
    for _ in range(_TRIALS):
        new = point + length * direction
        new_value, new_slope = function(new)
        if not new_value < value + _DECREASE * length * descent:  # NaN is no decrease
            high = length
        else:
            low, lowest = length, (new, new_value, new_slope)
            if np.vdot(new_slope, direction) >= _SLOPE * descent:
                break
        length = 2 * length if high == np.inf else (low + high) / 2
    return lowest


# -- A soft way to drop rows: outliers fade instead of being cut, and the fading gets sharper ------


_HEATS = (0.5, 0.1)  # relative to the mean loss at the start
_STEPS_PER_TEMPERATURE = 30  # at most, at each heat


class _Heated(RankedRangeObjective):
    """An objective whose dropped rows are weighed softly."""

    heat: float

    @classmethod
    def of(cls, objective: RankedRangeObjective, heat: float) -> _Heated:
        heated = cls.__new__(cls)
        heated.__dict__.update(objective.__dict__, heat=heat)
        return heated

    def smoothed(self, width: float) -> _Heated:
        return self.of(super().smoothed(width), self.heat)

    def value_and_shares_at(self, raw: FloatArray, theta: FloatArray) -> tuple[float, FloatArray]:
        total, shares = self.weigh(self.losses(raw))
        return total + self.ridge(theta), shares

    def weigh(self, losses: FloatArray) -> tuple[float, FloatArray]:
        shares = self.groups.with_ends("k").shares(losses)
        saved, masses = 0.0, self.groups.masses
        for group in self.groups:
            if group.m > 0:
                mass = masses[group.rows]
                part = _faded(losses[group.rows], mass, group.m, self.heat)
                shares[group.rows] -= (group.scale * mass * part).astype(shares.dtype)
                saved += group.scale * float(mass @ (part * part))
        return float(shares @ losses) + self.heat / 2 * saved, shares


def anneal(objective: RankedRangeObjective, point: Point, rng: np.random.Generator) -> Point:
    """Return a point of the objective reached through soft versions of it."""
    scale, memory = usual_loss(objective, point), Memory(MEMORY)
    if scale <= 0:  # every row is fitted already
        return point
    for heat in _HEATS:
        heated = _Heated.of(objective, heat * scale)
        there = descend(
            heated,
            evaluate(heated, point.theta, point.raw),
            tol=2e-4,
            max_iter=_STEPS_PER_TEMPERATURE,
            rng=rng,
            memory=memory,
        )
        point = evaluate(objective, there.theta, there.raw)
    return point


def _faded(losses: FloatArray, mass: FloatArray, m: float, heat: float) -> FloatArray:
    """Return which part of each row is dropped, a mass of m in all."""
    low, high = float(losses.min()), float(losses.max())
    return clipped_parts(losses, mass, m, (low - heat, high), heat)


# -- Newton steps around corners: those of the loss are rounded, and the cut at rank k is blurred --


_CORNER_WIDTHS = (0.1, 0.03, 0.01, 0.003)  # relative to the mean loss of the rows that count
_MAX_NEWTON_PARAMETERS = 512  # parameters up to which a Hessian is worth its price
_STEPS_PER_WIDTH = 4  # at most, for each width


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
    return (
        one_output
        and not objective.loss.smooth
        and objective.n_parameters <= _MAX_NEWTON_PARAMETERS
    )


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
    for relative in _CORNER_WIDTHS:
        width = relative * scale
        smooth = objective.smoothed(width)
        for _ in range(_STEPS_PER_WIDTH):
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
