"""Many candidates at once: objectives and damped Newton steps as a few products of matrices.

For losses with one output and few parameters. A candidate is a row of a matrix, with its own ranks
and its own ridge: a search from many starts and a grid of problems are the same thing. The chapter
has three parts: the Newton steps, the ranks of many candidates, and standardised coordinates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from sorr._typing import BoolArray, FloatArray, IntArray
from sorr.objectives import RankedRangeObjective
from sorr.ranked import share_ties

_CHUNK = 60_000  # raw predictions that are held at a time: they stay in the cache
_STEPS = (1.0, 0.4, 0.1)  # lengths that a search tries, in Newton steps
_DAMPING = 1e-6  # smallest damping, relative to the diagonal of the Hessian
_SOLVED = 1e-9  # relative decrease below which a candidate stays where it is
_SMALLEST_BLUR = 1e-3  # least width of a blurred end, in typical losses
_WIDE = 32  # parameters from which Hessians are summed in float32: they only set directions
_ROUNDING = 1e-9  # relative differences of masses below this are rounding errors
_MAX_LEVEL_STEPS = 40  # Newton steps for the level of a blurred end
_FLAT = 1e-3  # spread of the middle half, relative to the whole, below which it is not a scale

_Scalar = TypeVar("_Scalar", bound=np.generic)


class Stage(NamedTuple):
    """How much one step smooths: a share of the ranks, and two widths in typical losses."""

    band: float  # blurred lower end, as a share of the ranks on its narrower side
    corner: float  # rounded corners of the loss
    temperature: float = 0.0  # blurred upper end; sharp at zero


class Problems(NamedTuple):
    """The problem of each candidate: its ranks in every group, and its ridge.

    All but the ridge have shape (n_candidates, n_groups).
    """

    m: FloatArray  # ranks in mass
    k: FloatArray
    scale: FloatArray  # factor of the losses between the ranks
    ridge: FloatArray

    def take(self, which: Any) -> Problems:
        """Return the problems of some of the candidates."""
        return Problems(*(array[which] for array in self))


class _Model(NamedTuple):
    """What one step minimises: the problems, perhaps with a smoother loss and other masses."""

    problems: Problems
    objective: RankedRangeObjective
    mass: FloatArray | None  # of each row, for all candidates or for each; None if all are one

    def take(self, which: IntArray) -> _Model:
        """Return the model of some of the candidates."""
        mass = self.mass
        if mass is not None and mass.ndim == 2:
            mass = mass[which]
        return self._replace(problems=self.problems.take(which), mass=mass)


class Batch:
    """The rows of an objective for many candidates at a time.

    The loss needs one output and has to be smooth or smoothed. Candidates are the rows of a matrix
    `T`, in the coordinates of `frame`. The frame holds the rows ordered by group, without those of
    no mass; `columns` are the positions of each group, `y` and `mass` the targets and masses.
    """

    def __init__(self, objective: RankedRangeObjective) -> None:
        groups = objective.groups
        all_rows = np.arange(objective.n_samples)
        rows = [all_rows[group.rows] for group in groups]
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

    def repeat_problem(self, n_candidates: int) -> Problems:
        """Return the problem of the objective once for each candidate."""
        m, k, scale = np.repeat(self._ends[:, None, :], n_candidates, axis=1)
        return Problems(m, k, scale, np.full(n_candidates, 1 / self.objective.C))

    def values(self, T: FloatArray, problems: Problems | None = None) -> FloatArray:
        """Return the objective of each candidate, by default all for the same problem."""
        problems = self.repeat_problem(len(T)) if problems is None else problems
        values = np.empty(len(T))
        for chunk in self.chunks(len(T)):
            raw = T[chunk] @ self.frame.rows.T
            model = _Model(problems.take(chunk), self.objective, self.mass)
            values[chunk] = self._value(raw, T[chunk], model)
        return values

    def descend(
        self, T: FloatArray, stages: Sequence[Stage], problems: Problems | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Take a step for each stage; return the best point of each candidate and its objective.

        No candidate gets worse. By default all have the same problem.
        """
        problems = self.repeat_problem(len(T)) if problems is None else problems
        best, values = np.array(T, dtype=np.float64), np.empty(len(T))
        for chunk in self.chunks(len(T)):
            best[chunk], values[chunk] = self._run(best[chunk], problems.take(chunk), stages)
        return best, values

    def losses(self, raw: FloatArray, objective: RankedRangeObjective) -> FloatArray:
        """Return the losses at the raw predictions of a chunk of candidates."""
        return objective.loss.value(self._targets[: raw.size], raw.ravel()).reshape(raw.shape)

    def chunks(self, n_candidates: int) -> list[slice]:
        """Return slices of candidates that are computed together."""
        return [slice(i, i + self._chunk) for i in range(0, n_candidates, self._chunk)]

    def _run(
        self, T: FloatArray, problems: Problems, stages: Sequence[Stage]
    ) -> tuple[FloatArray, FloatArray]:
        """Take the steps of `descend` for one chunk."""
        raw, damping = T @ self.frame.rows.T, np.full(len(T), _DAMPING)
        exact = _Model(problems, self.objective, self.mass)
        current = self._value(raw, T, exact)
        best, lowest, is_stale = T.copy(), current.copy(), False
        for stage in stages:
            model = self._smooth(raw, exact, stage)
            differs = model is not exact
            if differs or is_stale:
                current = self._value(raw, T, model)
            is_stale = differs
            gradient, step = self._direction(raw, T, model, stage.band, damping)
            open_rows = np.flatnonzero(-np.einsum("sd,sd->s", gradient, step) > _SOLVED * current)
            stuck = self._search(raw, T, current, step, open_rows, model)
            damping = np.maximum(damping / 10, _DAMPING)
            damping[stuck] *= 1000
            if stage.temperature and stage is not stages[-1]:
                continue  # still far from the objective
            value = self._value(raw, T, exact) if differs else current
            better = value < lowest
            best[better], lowest[better] = T[better], value[better]
        return best, lowest

    def _smooth(self, raw: FloatArray, exact: _Model, stage: Stage) -> _Model:
        """Return the model of a stage: corners rounded, the upper end blurred."""
        model, problems, unit = exact, exact.problems, self.frame.unit
        if not self.objective.loss.has_curvature:
            model = model._replace(objective=self.objective.smoothed(stage.corner * unit))
        if not stage.temperature:
            return model
        losses = self.losses(raw, model.objective)
        mass, width = np.empty_like(raw), stage.temperature * unit
        for g, columns in enumerate(self.columns):
            group_mass = None if self.mass is None else self.mass[columns]
            mass[:, columns] = _blur_top(losses[:, columns], group_mass, problems.m[:, g], width)
        problems = problems._replace(m=np.zeros_like(problems.m), k=problems.k - problems.m)
        return model._replace(problems=problems, mass=mass)

    def _search(
        self,
        raw: FloatArray,
        T: FloatArray,
        current: FloatArray,
        direction: FloatArray,
        rows: IntArray,
        model: _Model,
    ) -> IntArray:
        """Move some candidates by the first step that helps each; return those none has helped.

        `raw`, `T` and `current` are changed in place.
        """
        raw_direction = direction @ self.frame.rows.T
        for step in _STEPS:
            if not rows.size:
                break
            trial = T[rows] + step * direction[rows]
            raw_trial = raw[rows] + step * raw_direction[rows]
            value = self._value(raw_trial, trial, model.take(rows))
            better = value < current[rows]
            moved = rows[better]
            T[moved], raw[moved], current[moved] = trial[better], raw_trial[better], value[better]
            rows = rows[~better]
        return rows

    def _rankings(self, raw: FloatArray, model: _Model) -> Iterator[tuple[int, Ranking]]:
        """Yield the number of each group and the ranking of its rows."""
        loss, mass = model.objective.loss, model.mass
        order = loss.order(self._targets[: raw.size], raw.ravel()).reshape(raw.shape)
        for g, columns in enumerate(self.columns):
            if mass is None:
                yield g, Ranking(order[:, columns], None, self._totals[g])
            else:
                group_mass = mass[..., columns]
                yield g, Ranking(order[:, columns], group_mass, group_mass.sum(axis=-1))

    def _positions(self, cut: Cut, g: int) -> IntArray:
        """Return the positions of the entries of a cut of one group among all raw predictions."""
        columns, n = self.columns[g], len(self.y)
        width = columns.stop - columns.start
        if width == n:
            return cut.at
        skipped = np.arange(len(cut.counts)) * (n - width) + columns.start
        return np.asarray(cut.at + cut.each(skipped))

    def _value(self, raw: FloatArray, T: FloatArray, model: _Model) -> FloatArray:
        """Return the objective of each candidate, given its raw predictions."""
        problems, loss = model.problems, model.objective.loss
        total = problems.ridge / 2 * (np.square(T) @ self.frame.penalty)
        for g, ranking in self._rankings(raw, model):
            cut = ranking.between(problems.m[:, g], problems.k[:, g])
            at = self._positions(cut, g)
            losses = loss.value(self._targets[at], raw.ravel()[at])
            total += problems.scale[:, g] * cut.sums(cut.share * losses)
        return total

    def _direction(
        self,
        raw: FloatArray,
        T: FloatArray,
        model: _Model,
        band: float,
        damping: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        r"""Return a gradient and a Newton direction of each candidate, for the rows it keeps now.

        If the end at rank k is blurred, the weights of the rows near it change with their losses.
        This adds :math:`\frac{1}{2h}` times the scatter of their gradients to the Hessian.
        """
        size, D = T.shape
        A, loss, problems = self.frame.rows, model.objective.loss, model.problems
        pull, bend = np.zeros(raw.size), np.zeros(raw.size)
        hessian = np.zeros((size, D, D))
        for g, ranking in self._rankings(raw, model):
            m, k, scale = problems.m[:, g], problems.k[:, g], problems.scale[:, g]
            reach = np.maximum(1, np.floor(band * np.minimum(k - m, ranking.total - k)))
            keeps_all = bool(ranking.is_last(k).all())
            cut = ranking.between(m, k if keeps_all else k + reach)
            at = self._positions(cut, g)
            y, f = self._targets[at], raw.ravel()[at]
            slope, curvature = loss.gradient(y, f), loss.curvature(y, f)
            if keeps_all:
                weight = cut.each(scale) * cut.share
                pull[at], bend[at] = weight * slope, weight * curvature
                continue
            smallest = _SMALLEST_BLUR * self.frame.unit
            blur = _blur_lower(ranking, cut, loss.value(y, f), m, k, reach=reach, smallest=smallest)
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
        ridge = problems.ridge[:, None] * self.frame.penalty
        diagonal = np.einsum("sii->si", hessian)
        diagonal += ridge
        diagonal += damping[:, None] * (diagonal + diagonal.mean(axis=1, keepdims=True)) + 1e-12
        gradient = pull.reshape(raw.shape) @ A + ridge * T
        direction = np.linalg.solve(hessian, -gradient[:, :, None])[:, :, 0]
        return gradient, np.where(np.isfinite(direction), direction, 0.0)


# -- The ranks of many candidates: ends that are sharp or blurred ----------------------------------


class Cut(NamedTuple):
    """The entries of a matrix that are in a range of ranks, for each candidate."""

    at: IntArray  # positions in the flattened matrix, ascending
    share: FloatArray  # mass of each entry within the range
    counts: IntArray  # number of entries of each candidate, at least one

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum of the values of each candidate."""
        return np.add.reduceat(values, _starts(self.counts))

    def lowest(self, values: FloatArray) -> FloatArray:
        """Return the lowest value of each candidate."""
        return np.minimum.reduceat(values, _starts(self.counts))

    def each(self, values: npt.NDArray[_Scalar]) -> npt.NDArray[_Scalar]:
        """Repeat the value of each candidate for all of its entries."""
        return np.repeat(values, self.counts)


class Ranking:
    """The rows of a matrix, each sorted.

    `order` has numbers that rank the losses of each candidate. `mass` is the mass of each entry,
    for all candidates or for each, and one if None. `total` is the mass of all entries.
    """

    def __init__(
        self, order: FloatArray, mass: FloatArray | None, total: FloatArray | float
    ) -> None:
        self.order, self.mass, self.total = order, mass, total
        self._candidates = np.arange(len(order))
        if mass is None:
            self._sorted = np.sort(order, axis=1)
        else:
            descending = np.argsort(-order, axis=1)
            self._sorted = np.take_along_axis(order, descending, axis=1)[:, ::-1]
            self.mass = np.broadcast_to(mass, order.shape)
            self._passed = np.cumsum(np.take_along_axis(self.mass, descending, axis=1), axis=1)

    def at(self, rank: FloatArray) -> FloatArray:
        """Return the number at a rank of each candidate: infinity at rank 0, -inf at the last."""
        n = self.order.shape[1]
        if self.mass is None:
            position = np.ceil(rank).astype(np.intp)
        else:
            position = 1 + (self._passed < (rank * (1 - 1e-12))[:, None]).sum(axis=1)
        number = self._sorted[self._candidates, n - np.clip(position, 1, n)]
        number = np.where(rank > 0, number, np.inf)
        return np.where(self.is_last(rank), -np.inf, number)

    def _after(self, m: FloatArray) -> FloatArray:
        """Return the first number not entirely above a rank, if entries have mass one."""
        n = self.order.shape[1]
        return np.asarray(self._sorted[self._candidates, n - 1 - np.floor(m).astype(np.intp)])

    def is_last(self, rank: FloatArray) -> BoolArray:
        """Return which candidates have nothing below a rank."""
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
        for end in (upper, np.where(lower == upper, np.nan, lower)):  # a block counts once
            tied = np.flatnonzero(order == cut.each(end))
            share[tied] *= cut.each(self._inside(end, m, k))[tied]
        counts = share > 0
        return Cut(at[counts], share[counts], self._counts(at[counts]))

    def _counts(self, at: IntArray) -> IntArray:
        starts = np.searchsorted(at, self._candidates * self.order.shape[1])
        return np.asarray(np.diff(starts, append=len(at)))

    def _inside(self, end: FloatArray, m: FloatArray, k: FloatArray) -> FloatArray:
        """Return which part of the entries tied at that number is within the range."""
        larger, tied = self.order > end[:, None], self.order == end[:, None]
        if self.mass is None:
            return share_ties(larger.sum(axis=1), tied.sum(axis=1), m, k)
        return share_ties((self.mass * larger).sum(axis=1), (self.mass * tied).sum(axis=1), m, k)


class _Blur(NamedTuple):
    """A range with a blurred lower end."""

    weight: FloatArray  # of each entry of a cut
    edge: FloatArray  # mass of each entry near the end, where weights change; zero elsewhere
    width: FloatArray  # of each candidate: weights fall to zero within plus and minus this loss


def _blur_lower(
    ranking: Ranking,
    cut: Cut,
    losses: FloatArray,
    m: FloatArray,
    k: FloatArray,
    *,
    reach: FloatArray,
    smallest: float,
) -> _Blur:
    r"""Blur the end of a range at rank k over about `reach` ranks on both sides.

    The weights maximise :math:`\sum_i v_i s_i - h u_i (v_i / u_i - 1/2)^2` over
    :math:`0 \le v \le u` and :math:`\sum_i v_i = k - m`, which gives

    .. math:: v_i = u_i \operatorname{clip}(1/2 + (s_i - \lambda) / 2h, 0, 1).

    The cut holds the ranks m + 1 to k + reach, and `u` is its share. The width h is so small that
    no entry below the cut gets a weight, but at least `smallest`, which matters if all losses tie.
    Losses of zero get no weight, because they do not matter; so the sum may be less.
    """
    order = ranking.order.ravel()[cut.at]
    at_k, above = (
        cut.lowest(np.where(order >= cut.each(ranking.at(rank)), losses, np.inf))
        for rank in (k, k - reach)
    )
    below = np.where(ranking.is_last(k + reach), -np.inf, cut.lowest(losses))
    width = np.minimum(above - at_k, at_k - below) / 2
    width = np.where(np.isfinite(width), np.maximum(width, smallest), smallest)
    weight, edge = np.where(losses > 0, cut.share, 0.0), np.zeros_like(losses)
    blurred = ~ranking.is_last(k) & (cut.sums(weight) > k - m)
    distance = losses - cut.each(np.where(blurred, at_k, -np.inf))
    near = np.flatnonzero(np.abs(distance) < cut.each(2 * width))
    if near.size:
        rows = np.flatnonzero(blurred)
        share = weight[near]
        weight[distance < 0] = 0.0
        weight[near] = 0.0
        target, full_width = (k - m - cut.sums(weight))[rows], 2 * width[rows]
        row_of_near = cut.each(np.arange(len(k)))[near]
        counts = np.diff(np.searchsorted(row_of_near, rows), append=len(row_of_near))
        bracket = (-full_width - at_k[rows], -full_width / 2, np.zeros(len(rows)))
        part = _parts(distance[near], share, counts, target, bracket=bracket, width=full_width)
        weight[near], edge[near] = share * part, share * ((part > 0) & (part < 1))
    return _Blur(weight, edge, width)


def _blur_top(
    losses: FloatArray, mass: FloatArray | None, m: FloatArray, temperature: float
) -> FloatArray:
    r"""Return the remaining mass of each entry if a mass of m is dropped at a blurred upper end.

    The dropped parts are :math:`\operatorname{clip}((s_i - \lambda) / \tau, 0, 1)`.
    """
    size, n = losses.shape
    masses = np.broadcast_to(1.0 if mass is None else mass, losses.shape)
    end = Ranking(losses, mass, np.inf).at(m)
    high = np.where(m > 0, end, losses.max(axis=1))
    bracket, width = (high - temperature, high - temperature / 2, high), np.full(size, temperature)
    counts = np.full(size, n)
    dropped = _parts(losses.ravel(), masses.ravel(), counts, m, bracket=bracket, width=width)
    return np.asarray(masses * (1 - dropped.reshape(losses.shape)))


def _parts(
    values: FloatArray,
    mass: FloatArray,
    counts: IntArray,
    target: FloatArray,
    *,
    bracket: tuple[FloatArray, FloatArray, FloatArray],
    width: FloatArray,
) -> FloatArray:
    """Return parts ``clip((values - level) / width, 0, 1)`` whose mass is the target in each row.

    Newton's method for the level of each row, on a piecewise linear, decreasing function. The
    bracket gives a lower end, the start and an upper end; a step outside halves it instead.
    """
    starts = _starts(counts)
    values = values / np.repeat(width, counts)
    low, level, high = (end / width for end in bracket)
    for _ in range(_MAX_LEVEL_STEPS):
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


# -- Standardised coordinates ----------------------------------------------------------------------


@dataclass(frozen=True)
class Frame:
    """The rows of an objective in standardised coordinates.

    Columns are divided by a robust scale, and centred if there is an intercept. The objective
    does not change: its ridge is that of the original coefficients.
    """

    rows: FloatArray  # standardised columns, then ones if there is an intercept
    centre: FloatArray
    spread: FloatArray
    penalty: FloatArray  # factor of the square of each standardised coefficient in the ridge
    level: float  # middle of numeric targets; zero for classes
    reach: float  # spread of numeric targets; one for classes
    unit: float  # a typical loss, the unit of smoothing widths

    @classmethod
    def of(cls, objective: RankedRangeObjective, index: IntArray) -> Frame:
        """Return the frame of some of the rows of an objective with one output."""
        design, y = objective.design, objective.y[index]
        X = design.take(index).X
        X = np.asarray(X.toarray() if design.is_sparse else X, dtype=np.float64)
        centre, spread = _column_scales(X, centred=design.intercept)
        rows = (X - centre) / spread
        penalty = spread**-2.0
        if design.intercept:
            rows = np.hstack([rows, np.ones((len(X), 1))])
            penalty = np.append(penalty, 0.0)
        level, reach = 0.0, 1.0
        if objective.class_of_row is None:
            level, reach = _middle(y)
        losses = objective.loss.value(y, np.full(len(y), level))
        unit = float(np.median(losses))
        if unit == 0 and losses.any():  # most targets are the same
            unit = float(np.median(losses[losses > 0]))
        unit = unit or 1.0
        return cls(rows, centre, spread, penalty=penalty, level=level, reach=reach, unit=unit)

    def constant(self, size: int) -> FloatArray:
        """Return candidates that predict the middle of the targets for all rows, or zero."""
        T = np.zeros((size, self.rows.shape[1]))
        T[:, len(self.spread) :] = self.level
        return T

    def standardised(self, theta: FloatArray) -> FloatArray:
        """Return parameters of the objective, along the last axis, in these coordinates."""
        T = np.array(theta, dtype=np.float64)
        d = len(self.spread)
        T[..., d:] += (T[..., :d] @ self.centre)[..., None]
        T[..., :d] *= self.spread
        return T

    def original(self, T: FloatArray) -> FloatArray:
        """Return standardised parameters in the coordinates of the objective."""
        theta = np.array(T, dtype=np.float64)
        d = len(self.spread)
        theta[..., :d] /= self.spread
        theta[..., d:] -= (theta[..., :d] @ self.centre)[..., None]
        return theta


def _column_scales(X: FloatArray, *, centred: bool) -> tuple[FloatArray, FloatArray]:
    """Return a centre and a positive scale of each column, robust to outliers.

    The scale is that of the middle half, or the standard deviation if most of a column is
    constant. A constant column has scale one.
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
    """Return the middle and a positive spread of the targets, robust to outliers.

    The spread is that of the middle half. If this is nearly constant, it is that of the middle
    nine tenths, or the median distance of the targets that differ from the middle.
    """
    ends = np.quantile(y, [0.05, 0.25, 0.5, 0.75, 0.95])
    level, half, most = float(ends[2]), float(ends[3] - ends[1]), float(ends[4] - ends[0])
    if half > _FLAT * most:
        return level, half / 1.349
    if most > 0:
        return level, most / 3.29
    others = np.abs(y - level)
    return level, float(np.median(others[others > 0])) if others.any() else 1.0
