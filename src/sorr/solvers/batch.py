"""Many candidates at once: objectives and damped Newton steps as a few products of matrices.

For losses of one output and few parameters. A candidate is a row of a matrix and has ranks and a
ridge of its own, so that a search from many starts and a grid of problems are the same thing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray, IntArray
from sorr.objectives import RankedRangeObjective
from sorr.ranked import share_ties

__all__ = [
    "Batch",
    "Cells",
    "Cut",
    "Frame",
    "Ranking",
    "Stage",
    "column_scales",
    "soft_lower",
    "soft_top",
]

_CHUNK = 60_000  # raw predictions that are held at a time: they stay in the cache
_STEPS = (1.0, 0.4, 0.1)
_DAMPING = 1e-6
_SOLVED = 1e-9
_FLOOR = 1e-3
_WIDE = 32  # parameters from which on Hessians are added up in single precision: they steer only


class Stage(NamedTuple):
    """How much one step smooths.

    Attributes
    ----------
    band : float
        How far the lower cut is blurred, as a share of the ranks on its narrower side.
    corner : float
        How far corners of the loss are rounded, in units of the loss.
    heat : float
        How far the upper cut is blurred, in units of the loss. At zero, rows are dropped whole.
    """

    band: float
    corner: float
    heat: float = 0.0


class Cells(NamedTuple):
    """What each candidate minimises: its ends in every group, and its ridge.

    Attributes
    ----------
    m, k, scale : ndarray of shape (n_candidates, n_groups)
        The ends in mass, and how much a unit of loss between them counts.
    ridge : ndarray of shape (n_candidates,)
    """

    m: FloatArray
    k: FloatArray
    scale: FloatArray
    ridge: FloatArray

    def take(self, which: Any) -> Cells:
        """Return the problems of some of the candidates."""
        return Cells(*(array[which] for array in self))


class Batch:
    """The rows of an objective for many candidates at a time.

    Candidates are the rows of a matrix `T`, in standardised coordinates: `frame` translates.

    Parameters
    ----------
    objective : RankedRangeObjective
        Of a loss with one output that has a curvature, or a smooth neighbour which has one.

    Attributes
    ----------
    frame : Frame
        The coordinates, and the rows in them, group after group; rows without mass are left out.
    columns : list of slice
        Where each group is among those rows.
    y, mass : ndarray of shape (n_rows,)
        Their targets and masses; no masses if all are one.
    """

    def __init__(self, objective: RankedRangeObjective) -> None:
        groups = objective.groups
        every = np.arange(objective.n_samples)
        rows = [every[group.rows] for group in groups]
        if groups.weight is not None:
            rows = [index[groups.weight[index] > 0] for index in rows]
        ends = np.cumsum([0, *map(len, rows)]).tolist()
        self.index = np.concatenate(rows)
        weight: FloatArray | None = groups.weight
        self.mass = None if weight is None else weight[self.index]
        self.y = objective.y[self.index]
        self.objective = objective
        self.frame = Frame.of(objective, self.index)
        self.columns = [slice(*pair) for pair in pairwise(ends)]
        self._totals = [group.mass for group in groups]
        self._ends = np.array([(group.m, group.k, group.scale) for group in groups]).T
        A = self.frame.rows
        self._upper = np.triu_indices(A.shape[1])
        self._outer = A[:, self._upper[0]] * A[:, self._upper[1]]
        if A.shape[1] >= _WIDE:
            self._outer = self._outer.astype(np.float32)
        self._below = np.flatnonzero(self._upper[0] != self._upper[1])
        self._lower = (self._upper[1][self._below], self._upper[0][self._below])
        self._chunk = max(1, _CHUNK // len(self.y))
        self._targets = np.tile(self.y, self._chunk)

    def cells(self, n_candidates: int) -> Cells:
        """Return the problem of the objective, once for each candidate."""
        m, k, scale = np.repeat(self._ends[:, None, :], n_candidates, axis=1)
        return Cells(m, k, scale, np.full(n_candidates, 1 / self.objective.C))

    def values(self, T: FloatArray, cells: Cells | None = None) -> FloatArray:
        """Return the objective of each candidate, exactly; by default of the same problem."""
        cells = self.cells(len(T)) if cells is None else cells
        values = np.empty(len(T))
        for some in self.chunks(len(T)):
            raw = T[some] @ self.frame.rows.T
            values[some] = self._value(raw, T[some], cells.take(some), self.objective, self.mass)
        return values

    def descend(
        self, T: FloatArray, stages: Sequence[Stage], cells: Cells | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Take a step for each stage, and return the best candidates met and their objectives.

        None is worse than the one it came from. By default all have the same problem.
        """
        cells = self.cells(len(T)) if cells is None else cells
        best, values = np.array(T, dtype=np.float64), np.empty(len(T))
        for some in self.chunks(len(T)):
            best[some], values[some] = self._run(best[some], cells.take(some), stages)
        return best, values

    def losses(self, raw: FloatArray, model: RankedRangeObjective) -> FloatArray:
        """Return the losses at the raw predictions of a chunk of candidates."""
        return model.loss.value(self._targets[: raw.size], raw.ravel()).reshape(raw.shape)

    def chunks(self, n_candidates: int) -> list[slice]:
        """Return the candidates in portions that are worked on together."""
        return [slice(i, i + self._chunk) for i in range(0, n_candidates, self._chunk)]

    def _run(
        self, T: FloatArray, cells: Cells, stages: Sequence[Stage]
    ) -> tuple[FloatArray, FloatArray]:
        raw, damping = T @ self.frame.rows.T, np.full(len(T), _DAMPING)
        current = self._value(raw, T, cells, self.objective, self.mass)
        best, lowest, stale = T.copy(), current.copy(), False
        for stage in stages:
            model, problem, mass = self.objective, cells, self.mass
            if not model.loss.has_curvature:
                model = model.smoothed(stage.corner * self.frame.unit)
            if stage.heat:
                problem, mass = self._heated(raw, cells, model, stage.heat * self.frame.unit)
            differs = stage.heat > 0 or model is not self.objective
            if differs or stale:
                current = self._value(raw, T, problem, model, mass)
            stale = differs
            gradient, step = self._direction(raw, T, problem, model, mass, stage.band, damping)
            left = np.flatnonzero(-np.einsum("sd,sd->s", gradient, step) > _SOLVED * current)
            left = self._search(raw, T, current, step, left, problem, model, mass)
            damping = np.maximum(damping / 10, _DAMPING)
            damping[left] *= 1000
            if stage.heat and stage is not stages[-1]:
                continue  # far from the objective yet
            value = self._value(raw, T, cells, self.objective, self.mass) if differs else current
            better = value < lowest
            best[better], lowest[better] = T[better], value[better]
        return best, lowest

    def _search(
        self,
        raw: FloatArray,
        T: FloatArray,
        current: FloatArray,
        direction: FloatArray,
        left: IntArray,
        cells: Cells,
        model: RankedRangeObjective,
        mass: FloatArray | None,
    ) -> IntArray:
        """Move some candidates by the first step that helps each; return which none has helped."""
        push = direction @ self.frame.rows.T
        for step in _STEPS:
            if not left.size:
                break
            trial, there = T[left] + step * direction[left], raw[left] + step * push[left]
            own = mass[left] if mass is not None and mass.ndim == 2 else mass
            value = self._value(there, trial, cells.take(left), model, own)
            better = value < current[left]
            moved = left[better]
            T[moved], raw[moved], current[moved] = trial[better], there[better], value[better]
            left = left[~better]
        return left

    def _heated(
        self, raw: FloatArray, cells: Cells, model: RankedRangeObjective, heat: float
    ) -> tuple[Cells, FloatArray]:
        """Return the problem without the top m, blurred: masses of each candidate, and ranks."""
        losses = self.losses(raw, model)
        mass = np.empty_like(raw)
        for g, columns in enumerate(self.columns):
            held = None if self.mass is None else self.mass[columns]
            mass[:, columns] = soft_top(losses[:, columns], held, cells.m[:, g], heat)
        return cells._replace(m=np.zeros_like(cells.m), k=cells.k - cells.m), mass

    def _rankings(
        self, raw: FloatArray, model: RankedRangeObjective, mass: FloatArray | None
    ) -> Iterator[tuple[int, Ranking]]:
        order = model.loss.order(self._targets[: raw.size], raw.ravel()).reshape(raw.shape)
        for g, columns in enumerate(self.columns):
            if mass is None:
                yield g, Ranking(order[:, columns], None, self._totals[g])
            else:
                held = mass[..., columns]
                yield g, Ranking(order[:, columns], held, held.sum(axis=-1))

    def _positions(self, cut: Cut, g: int) -> IntArray:
        """Return where the entries of a cut through a group are among all raw predictions."""
        columns, n = self.columns[g], len(self.y)
        width = columns.stop - columns.start
        if width == n:
            return cut.at
        skipped = np.arange(len(cut.counts)) * (n - width) + columns.start
        return np.asarray(cut.at + cut.each(skipped))

    def _value(
        self,
        raw: FloatArray,
        T: FloatArray,
        cells: Cells,
        model: RankedRangeObjective,
        mass: FloatArray | None,
    ) -> FloatArray:
        """Return the objective of each candidate, given its raw predictions."""
        total = cells.ridge / 2 * (np.square(T) @ self.frame.penalty)
        for g, ranking in self._rankings(raw, model, mass):
            cut = ranking.between(cells.m[:, g], cells.k[:, g])
            at = self._positions(cut, g)
            losses = model.loss.value(self._targets[at], raw.ravel()[at])
            total += cells.scale[:, g] * cut.sums(cut.share * losses)
        return total

    def _direction(
        self,
        raw: FloatArray,
        T: FloatArray,
        cells: Cells,
        model: RankedRangeObjective,
        mass: FloatArray | None,
        band: float,
        damping: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        r"""Return a gradient and a Newton direction of each candidate, for the rows it keeps now.

        With the end at rank k blurred, the weights of the rows near it move with their losses:
        that adds :math:`\frac{1}{2h}` times the scatter of their gradients to the Hessian.
        """
        size, D = T.shape
        A, loss = self.frame.rows, model.loss
        pull, bend = np.zeros(raw.size), np.zeros(raw.size)
        hessian = np.zeros((size, D, D))
        for g, ranking in self._rankings(raw, model, mass):
            m, k, scale = cells.m[:, g], cells.k[:, g], cells.scale[:, g]
            reach = np.maximum(1, np.floor(band * np.minimum(k - m, ranking.total - k)))
            whole = bool(ranking.is_whole(k).all())
            cut = ranking.between(m, k if whole else k + reach)
            at = self._positions(cut, g)
            y, f = self._targets[at], raw.ravel()[at]
            slope, curvature = loss.gradient(y, f), loss.curvature(y, f)
            if whole:
                weight = cut.each(scale) * cut.share
                pull[at], bend[at] = weight * slope, weight * curvature
                continue
            floor = _FLOOR * self.frame.unit
            blur = soft_lower(ranking, cut, loss.value(y, f), m, k, reach, floor)
            weight, stiff = cut.each(scale) * blur.weight, scale / (2 * blur.width)
            drift = blur.edge * slope
            edge = np.zeros(raw.size)
            edge[at], pull[at] = drift, weight * slope
            bend[at] = weight * curvature + cut.each(stiff) * drift * slope
            mean = edge.reshape(raw.shape) @ A
            moving = cut.sums(blur.edge)
            stiff = np.divide(stiff, moving, out=np.zeros(size), where=moving > 0)
            hessian -= stiff[:, None, None] * mean[:, :, None] * mean[:, None, :]
        flat = bend.reshape(raw.shape).astype(self._outer.dtype) @ self._outer
        hessian[:, self._upper[0], self._upper[1]] += flat
        hessian[:, self._lower[0], self._lower[1]] += flat[:, self._below]
        ridge = cells.ridge[:, None] * self.frame.penalty
        diagonal = np.einsum("sii->si", hessian)
        diagonal += ridge
        diagonal += damping[:, None] * (diagonal + diagonal.mean(axis=1, keepdims=True)) + 1e-12
        gradient = pull.reshape(raw.shape) @ A + ridge * T
        direction = np.linalg.solve(hessian, -gradient[:, :, None])[:, :, 0]
        return gradient, np.where(np.isfinite(direction), direction, 0.0)


# -- Where many candidates cut their sorted losses, each at ranks of its own: sharply, or blurred --


T = TypeVar("T", bound=np.generic)

_ROUNDING = 1e-9
_ITERATIONS = 40


class Cut(NamedTuple):
    """The entries of a matrix that lie in a range of ranks, candidate by candidate.

    Attributes
    ----------
    at : ndarray of int
        Their positions in the flattened matrix, in ascending order.
    share : ndarray
        The mass each of them has within the range; ties share equally.
    counts : ndarray of int
        How many entries each candidate has: no candidate has none.
    """

    at: IntArray
    share: FloatArray
    counts: IntArray

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum of the values of each candidate."""
        return np.add.reduceat(values, _starts(self.counts))

    def lowest(self, values: FloatArray) -> FloatArray:
        """Return the lowest of the values of each candidate."""
        return np.minimum.reduceat(values, _starts(self.counts))

    def each(self, values: npt.NDArray[T]) -> npt.NDArray[T]:
        """Return values of the candidates as values of their entries."""
        return np.repeat(values, self.counts)


class Ranking:
    """The rows of a matrix, each sorted by itself.

    Parameters
    ----------
    order : ndarray of shape (n_candidates, n_rows)
        Numbers that rank the losses of each candidate.
    mass : ndarray of shape (n_rows,) or (n_candidates, n_rows), or None
        The mass of each entry: one if None.
    total : float or ndarray of shape (n_candidates,)
        The mass of all entries.
    """

    def __init__(
        self, order: FloatArray, mass: FloatArray | None, total: FloatArray | float
    ) -> None:
        self.order, self.mass, self.total = order, mass, total
        self._every = np.arange(len(order))
        if mass is None:
            self._sorted = np.sort(order, axis=1)
        else:
            descending = np.argsort(-order, axis=1)
            self._sorted = np.take_along_axis(order, descending, axis=1)[:, ::-1]
            self.mass = np.broadcast_to(mass, order.shape)
            self._passed = np.cumsum(np.take_along_axis(self.mass, descending, axis=1), axis=1)

    def at(self, rank: FloatArray) -> FloatArray:
        """Return the number at a rank of each candidate: infinite above the first and the last."""
        n = self.order.shape[1]
        if self.mass is None:
            position = np.ceil(rank).astype(np.intp)
        else:
            position = 1 + (self._passed < (rank * (1 - 1e-12))[:, None]).sum(axis=1)
        found = self._sorted[self._every, n - np.clip(position, 1, n)]
        found = np.where(rank > 0, found, np.inf)
        return np.where(self.is_whole(rank), -np.inf, found)

    def _after(self, m: FloatArray) -> FloatArray:
        """Return the first number that is not wholly above a rank, where entries have mass one."""
        n = self.order.shape[1]
        return np.asarray(self._sorted[self._every, n - 1 - np.floor(m).astype(np.intp)])

    def is_whole(self, rank: FloatArray) -> npt.NDArray[np.bool_]:
        """Tell which candidates have nothing below a rank."""
        return np.asarray(rank >= self.total * (1 - _ROUNDING))

    def between(self, m: FloatArray, k: FloatArray) -> Cut:
        """Return the entries ranked m + 1 to k."""
        k = np.minimum(k, self.total)
        upper, lower = self.at(m) if self.mass is not None else self._after(m), self.at(k)
        at = np.flatnonzero((self.order <= upper[:, None]) & (self.order >= lower[:, None]))
        cut = Cut(at, np.ones(len(at)), self._counts(at))
        if self.mass is None and np.array_equal(cut.counts, k - m):
            return cut
        share = cut.share if self.mass is None else self.mass.ravel()[at]
        order = self.order.ravel()[at]
        for end in (upper, np.where(lower == upper, np.nan, lower)):  # one block has one share
            tied = np.flatnonzero(order == cut.each(end))
            share[tied] *= cut.each(self._inside(end, m, k))[tied]
        held = share > 0
        return Cut(at[held], share[held], self._counts(at[held]))

    def _counts(self, at: IntArray) -> IntArray:
        starts = np.searchsorted(at, self._every * self.order.shape[1])
        return np.asarray(np.diff(starts, append=len(at)))

    def _inside(self, end: FloatArray, m: FloatArray, k: FloatArray) -> FloatArray:
        """Return which part of the entries tied at that number lies within the range."""
        above, level = self.order > end[:, None], self.order == end[:, None]
        if self.mass is None:
            first, size = above.sum(axis=1), level.sum(axis=1)
        else:
            first, size = (self.mass * above).sum(axis=1), (self.mass * level).sum(axis=1)
        return share_ties(first, size, m, k)


class Blur(NamedTuple):
    """A range with a blurred lower end.

    Attributes
    ----------
    weight : ndarray
        The mass of each entry of a cut that counts.
    edge : ndarray
        The mass of each entry by which its weight can change: zero but for those near the end.
    width : ndarray
        Of each candidate: within plus and minus that many losses the weight falls to zero.
    """

    weight: FloatArray
    edge: FloatArray
    width: FloatArray


def soft_lower(
    ranking: Ranking,
    cut: Cut,
    losses: FloatArray,
    m: FloatArray,
    k: FloatArray,
    reach: FloatArray,
    floor: float,
) -> Blur:
    r"""Blur the end of a range at rank k over about `reach` ranks on both sides.

    The weights maximise :math:`\sum_i v_i s_i - h u_i (v_i / u_i - 1/2)^2` over
    :math:`0 \le v \le u` and :math:`\sum_i v_i = k - m`, which gives

    .. math:: v_i = u_i \operatorname{clip}(1/2 + (s_i - \lambda) / 2h, 0, 1).

    The cut holds the ranks m + 1 to k + reach, and `u` is its share. The width h is such that no
    entry below the cut would get a weight, unless that is less than the floor, as it is where
    all losses tie. A loss of zero counts nothing, so it gets no weight, and the sum may be less.
    """
    order = ranking.order.ravel()[cut.at]
    at_k, above = (
        cut.lowest(np.where(order >= cut.each(ranking.at(rank)), losses, np.inf))
        for rank in (k, k - reach)
    )
    below = np.where(ranking.is_whole(k + reach), -np.inf, cut.lowest(losses))
    width = np.minimum(above - at_k, at_k - below) / 2
    width = np.where(np.isfinite(width), np.maximum(width, floor), floor)
    weight, edge = np.where(losses > 0, cut.share, 0.0), np.zeros_like(losses)
    blurred = ~ranking.is_whole(k) & (cut.sums(weight) > k - m)
    distance = losses - cut.each(np.where(blurred, at_k, -np.inf))
    near = np.flatnonzero(np.abs(distance) < cut.each(2 * width))
    if near.size:
        some = np.flatnonzero(blurred)
        share = weight[near]
        weight[distance < 0] = 0.0
        weight[near] = 0.0
        target, width_here = (k - m - cut.sums(weight))[some], 2 * width[some]
        row = cut.each(np.arange(len(k)))[near]
        counts = np.diff(np.searchsorted(row, some), append=len(row))
        bracket = (-width_here - at_k[some], -width_here / 2, np.zeros(len(some)))
        part = _parts(distance[near], share, counts, target, bracket, width_here)
        weight[near], edge[near] = share * part, share * ((part > 0) & (part < 1))
    return Blur(weight, edge, width)


def soft_top(losses: FloatArray, mass: FloatArray | None, m: FloatArray, heat: float) -> FloatArray:
    r"""Return what is left of each entry when a mass of m is dropped from the top, blurred.

    The dropped parts are :math:`\operatorname{clip}((s_i - \lambda) / \tau, 0, 1)`.
    """
    size, n = losses.shape
    held = np.broadcast_to(1.0 if mass is None else mass, losses.shape)
    end = Ranking(losses, mass, np.inf).at(m)
    high = np.where(m > 0, end, losses.max(axis=1))
    bracket, width = (high - heat, high - heat / 2, high), np.full(size, heat)
    counts = np.full(size, n)
    dropped = _parts(losses.ravel(), held.ravel(), counts, m, bracket, width)
    return np.asarray(held * (1 - dropped.reshape(losses.shape)))


def _parts(
    values: FloatArray,
    mass: FloatArray,
    counts: IntArray,
    target: FloatArray,
    bracket: tuple[FloatArray, FloatArray, FloatArray],
    width: FloatArray,
) -> FloatArray:
    """Return parts ``clip((values - level) / width, 0, 1)`` whose mass is the target in each row.

    Newton's method for the level of each row, from the middle one of three that bracket it, on a
    piecewise linear, falling function; where it leaves the bracket, that is halved.
    """
    starts = _starts(counts)
    values = values / np.repeat(width, counts)
    low, level, high = (end / width for end in bracket)
    for _ in range(_ITERATIONS):
        part = np.clip(values - np.repeat(level, counts), 0.0, 1.0)
        excess = np.add.reduceat(mass * part, starts) - target
        done = np.abs(excess) <= _ROUNDING * np.maximum(target, 1)
        if done.all():
            break
        low, high = np.where(excess > 0, level, low), np.where(excess > 0, high, level)
        moving = np.add.reduceat(mass * ((part > 0) & (part < 1)), starts)
        newton = level + np.divide(
            excess, moving, out=np.full_like(level, np.inf), where=moving > 0
        )
        inside = (newton > low) & (newton < high)
        level = np.where(done, level, np.where(inside, newton, (low + high) / 2))
    return part


def _starts(counts: IntArray) -> IntArray:
    return np.cumsum(counts) - counts


# -- Standardised coordinates: columns of like size, and what a usual loss and target measure ------


_FLAT = 1e-3


@dataclass(frozen=True)
class Frame:
    """The rows of an objective in standardised coordinates.

    Columns are divided by a robust scale, and centred if there is an intercept to make up for it.
    The objective stays what it was: its ridge is that of the original coefficients.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_parameters)
        The standardised columns, then the column of ones if there is an intercept.
    penalty : ndarray of shape (n_parameters,)
        How much the square of each standardised coefficient counts in the ridge.
    level, reach : float
        The middle and the spread of targets that are numbers: zero and one if they are classes.
    unit : float
        The size of a usual loss, by which smoothing is measured.
    """

    rows: FloatArray
    centre: FloatArray
    spread: FloatArray
    penalty: FloatArray
    level: float
    reach: float
    unit: float

    @classmethod
    def of(cls, objective: RankedRangeObjective, index: npt.NDArray[np.intp]) -> Frame:
        """Return the frame of some of the rows of an objective with one output."""
        design, y = objective.design, objective.y[index]
        X = design.take(index).X
        X = np.asarray(X.toarray() if design.is_sparse else X, dtype=np.float64)
        centre, spread = column_scales(X, centred=design.intercept)
        rows = (X - centre) / spread
        penalty = spread**-2.0
        if design.intercept:
            rows = np.hstack([rows, np.ones((len(X), 1))])
            penalty = np.append(penalty, 0.0)
        level, reach = 0.0, 1.0
        if objective.class_of_row is None:
            level, reach = _middle(y)
        usual = objective.loss.value(y, np.full(len(y), level))
        unit = float(np.median(usual))
        if unit == 0 and usual.any():  # most targets are the same
            unit = float(np.median(usual[usual > 0]))
        unit = unit or 1.0
        return cls(rows, centre, spread, penalty, level, reach, unit)

    def constant(self, size: int) -> FloatArray:
        """Return candidates which predict the middle of the targets everywhere, or zero."""
        T = np.zeros((size, self.rows.shape[1]))
        T[:, len(self.spread) :] = self.level
        return T

    def standardised(self, theta: FloatArray) -> FloatArray:
        """Return parameters of the objective in these coordinates; the last axis holds them."""
        T = np.array(theta, dtype=np.float64)
        d = len(self.spread)
        T[..., d:] += (T[..., :d] @ self.centre)[..., None]
        T[..., :d] *= self.spread
        return T

    def original(self, T: FloatArray) -> FloatArray:
        """Return standardised parameters as those of the objective."""
        theta = np.array(T, dtype=np.float64)
        d = len(self.spread)
        theta[..., :d] /= self.spread
        theta[..., d:] -= (theta[..., :d] @ self.centre)[..., None]
        return theta


def column_scales(X: FloatArray, *, centred: bool) -> tuple[FloatArray, FloatArray]:
    """Return a centre and a positive scale of each column, which a few wild rows do not move.

    The scale is that of the middle half, unless most of a column is constant: then it is the
    standard deviation. A constant column has scale one.
    """
    low, middle, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
    centre = middle if centred else np.zeros_like(middle)
    peak = np.abs(X).max(axis=0)
    peak = np.where(peak > 0, peak, 1.0)
    parts = X / peak  # whose squares do not overflow
    deviation = peak * (parts.std(axis=0) if centred else np.sqrt(np.square(parts).mean(axis=0)))
    spread = (high - low) / 1.349
    spread = np.where(spread > _FLAT * deviation, np.minimum(spread, deviation), deviation)
    return centre, np.where(spread > 0, spread, 1.0)


def _middle(y: FloatArray) -> tuple[float, float]:
    """Return the middle and a positive spread of targets, which wild rows do not move.

    The spread is that of the middle half, or of the middle nine tenths where that is nearly
    constant, or the median distance of the targets that differ from the middle.
    """
    ends = np.quantile(y, [0.05, 0.25, 0.5, 0.75, 0.95])
    level, half, most = float(ends[2]), float(ends[3] - ends[1]), float(ends[4] - ends[0])
    if half > _FLAT * most:
        return level, half / 1.349
    if most > 0:
        return level, most / 3.29
    others = np.abs(y - level)
    return level, float(np.median(others[others > 0])) if others.any() else 1.0
