"""Many candidates at once: concentration steps as a few products of matrices.

For losses with one output and few parameters. A candidate is a row of a matrix, with its own ranks
and its own ridge: a search from many starts and a grid of problems are the same thing. The chapter
has three parts: the steps, the ranks of many candidates, and standardised coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sorr._typing import FloatArray, IntArray
from sorr.objectives import RankedRangeObjective
from sorr.ranked import share_ties

_CHUNK = 120_000  # raw predictions that are held at a time: they stay in the cache
_DAMPING = 1e-6  # of Newton steps, relative to the diagonal of the Hessian
_TINY = np.float32(1e-20)  # least width of a corner, where the objective is zero
_SOLVED = 1e-5  # relative change of all objectives at which steps stop; float32 has 7 digits
_RETREAT = 0.25  # factor of a step that has raised the objective
_SMALLEST_BLUR = 1e-3  # least width of a blurred end, in typical losses
_HESSIAN_ROWS = 1000  # rows that Hessians are summed over, at least: they only set directions
_HESSIAN_ROWS_PER_PARAMETER = 20
_ROUNDING = 1e-9  # relative differences of masses below this are rounding errors
_SINGLE_REACH = 1e4  # largest number, in typical ones, for which steps are in float32
_LEVEL_STEPS = 10  # bisections for the level of a soft cut
_FLAT = 1e-3  # spread of the middle half, relative to the whole, below which it is not a scale


class Stage(NamedTuple):
    """How much one step smooths."""

    band: float  # blurred lower end, as a share of the ranks on its narrower side
    corner: float  # least distance from a corner, in typical losses
    temperature: float = 0.0  # blurred upper end, in typical losses; sharp at zero


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


class Batch:
    """The rows of an objective for many candidates at a time.

    The loss needs one output. Candidates are the rows of a matrix `T`, in the coordinates of
    `frame`. The frame holds the rows ordered by group, without those of no mass; `columns` are
    the positions of each group, `y` and `mass` the targets and masses.
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
        self.objective = objective
        self.frame = Frame.of(objective, self.index)
        self.y = objective.y[self.index] - self.frame.level
        self.columns = [slice(*pair) for pair in pairwise(ends)]
        self._ends = np.array([(group.m, group.k, group.scale) for group in groups]).T
        self._totals = np.array([group.mass for group in groups])
        self._chunk = max(1, _CHUNK // len(self.y))
        self._tiled: dict[Any, FloatArray] = {}

    def is_plain(self, problems: Problems) -> bool:
        """Return whether there are no corners and no cuts at rank k that stages would smooth."""
        keeps_last = (problems.k >= self._totals * (1 - _ROUNDING)).all()
        return self.objective.loss.has_curvature and bool(keeps_last)

    def repeat_problem(self, n_candidates: int) -> Problems:
        """Return the problem of the objective once for each candidate."""
        m, k, scale = np.repeat(self._ends[:, None, :], n_candidates, axis=1)
        return Problems(m, k, scale, np.full(n_candidates, 1 / self.objective.C))

    def values(self, T: FloatArray, problems: Problems | None = None) -> FloatArray:
        """Return the objective of each candidate, by default all for the same problem."""
        problems = self.repeat_problem(len(T)) if problems is None else problems
        values = np.empty(len(T))
        for chunk in self.chunks(len(T)):
            losses, part = self.losses(T[chunk] @ self.frame.rows.T), problems.take(chunk)
            values[chunk] = self._value(T[chunk], part, self._rank(losses, part))
        return values

    def dropped(self, T: FloatArray) -> FloatArray:
        """Return the mass of each row that ranks above m, for each of a few candidates."""
        problems = self.repeat_problem(len(T))
        losses = self.losses(T @ self.frame.rows.T)
        return np.hstack([ranking.dropped for ranking in self._rank(losses, problems)])

    def descend(
        self,
        T: FloatArray,
        stages: Sequence[Stage],
        problems: Problems | None = None,
        *,
        n_annealed: int = 0,
    ) -> tuple[FloatArray, FloatArray]:
        """Take a step for each stage; return the best point of each candidate and its objective.

        No candidate gets worse, up to the precision of the steps. By default all have the same
        problem. Temperatures apply to the first `n_annealed` candidates.
        """
        problems = self.repeat_problem(len(T)) if problems is None else problems
        best, values = np.array(T, dtype=np.float64), np.empty(len(T))
        for chunk in self.chunks(len(T)):
            n_hot = min(max(n_annealed - chunk.start, 0), self._chunk)
            start, part = best[chunk], problems.take(chunk)
            best[chunk], values[chunk] = self._run(start, part, stages, n_hot)
        return best, values

    def losses(self, raw: FloatArray) -> FloatArray:
        """Return the losses at the raw predictions of a chunk of candidates."""
        return self.objective.loss.value(self._targets(raw), raw.ravel()).reshape(raw.shape)

    def _targets(self, raw: FloatArray) -> FloatArray:
        """Return the target of each raw prediction of a chunk."""
        tiled = self._tiled.get(raw.dtype)
        if tiled is None or tiled.size < raw.size:
            tiled = self._tiled[raw.dtype] = np.tile(self.y.astype(raw.dtype), len(raw))
        return tiled[: raw.size]

    def chunks(self, n_candidates: int) -> list[slice]:
        """Return slices of candidates that are computed together."""
        return [slice(i, i + self._chunk) for i in range(0, n_candidates, self._chunk)]

    def _run(
        self, T: FloatArray, problems: Problems, stages: Sequence[Stage], n_hot: int
    ) -> tuple[FloatArray, FloatArray]:
        """Take the steps of `descend` for one chunk.

        After a step that has raised the objective, a shorter one is tried instead of a new one.
        """
        rows, loss = self._rows, self.objective.loss
        best, lowest = T, np.full(len(T), np.inf)
        base, reached = T, lowest
        step, length = np.zeros_like(T), np.ones(len(T))
        n_warm = sum(stage.temperature > 0 for stage in stages) if n_hot else 0
        is_plain = self.is_plain(problems)
        for number, stage in enumerate((*stages, None)):
            raw = T.astype(rows.dtype) @ rows.T
            rankings = self._rank(self.losses(raw), problems)
            value = self._value(T, problems, rankings)
            better = value < lowest
            best, lowest = np.where(better[:, None], T, best), np.where(better, value, lowest)
            is_cold = is_plain and number > n_warm  # from here on, stages are the same
            if stage is None or (is_cold and np.all(np.abs(value - reached) <= _SOLVED * reached)):
                break
            moves = value < reached
            hot = slice(0, n_hot if stage.temperature else 0)
            moves[hot] = True
            base, reached = np.where(moves[:, None], T, base), np.where(moves, value, reached)
            reached[hot] = np.inf  # an annealed candidate may rise
            unit = np.minimum(value, self.frame.unit)
            width = np.maximum((stage.corner * unit).astype(raw.dtype), _TINY)
            if not loss.has_curvature:
                width = np.repeat(width, raw.shape[1])
            model = loss.step_model(self._targets(raw), raw.ravel(), width)
            slope, bend = (part.reshape(raw.shape) for part in model)
            new = self._newton_step(T, problems, stage, rankings, slope, bend, unit, hot)
            step = np.where(moves[:, None], new, step)
            length = np.where(moves, 1.0, _RETREAT * length)
            T = base + length[:, None] * step
        return best, lowest

    def _rank(self, losses: FloatArray, problems: Problems) -> list[Ranking]:
        """Return the rankings of the rows of each group."""
        return [
            Ranking(
                losses[:, columns],
                None if self.mass is None else self.mass[columns],
                self._totals[g],
                problems.m[:, g],
                problems.k[:, g],
            )
            for g, columns in enumerate(self.columns)
        ]

    def _value(self, T: FloatArray, problems: Problems, rankings: Sequence[Ranking]) -> FloatArray:
        """Return the objective of each candidate; infinity where it is beyond all numbers."""
        value = problems.ridge / 2 * (np.square(T) @ self.frame.penalty)
        for scale, ranking in zip(problems.scale.T, rankings, strict=True):
            value += scale * np.einsum("sn,sn->s", ranking.kept, ranking.losses)
        value[np.isnan(value)] = np.inf
        return value

    def _newton_step(
        self,
        T: FloatArray,
        problems: Problems,
        stage: Stage,
        rankings: Sequence[Ranking],
        slope: FloatArray,
        bend: FloatArray,
        unit: FloatArray,
        hot: slice,
    ) -> FloatArray:
        r"""Return a Newton step of each candidate, for the rows it keeps now.

        If the end at rank k is blurred, the weights of the rows near it change with their losses.
        This adds the scatter of their gradients, divided by the width, to the Hessian.
        """
        rows = self._rows
        pull, curve = np.empty_like(slope), np.empty_like(slope)
        scatter: list[FloatArray] = []
        for scale, ranking, at in zip(problems.scale.T, rankings, self.columns, strict=True):
            scale = scale.astype(rows.dtype)[:, None]
            own = slope[:, at]
            if ranking.keeps_last and not hot.stop:
                weight = scale * ranking.kept
                pull[:, at], curve[:, at] = weight * own, weight * bend[:, at]
                continue
            blur = ranking.blur(
                stage.band, _SMALLEST_BLUR * unit, hot, stage.temperature * self.frame.unit
            )
            weight = scale * blur.weight
            pull[:, at], curve[:, at] = weight * own, weight * bend[:, at]
            if ranking.keeps_last:
                continue
            drift = blur.edge * own
            stiff = scale / blur.width
            curve[:, at] += stiff * drift * own
            moving = np.maximum(blur.edge.sum(axis=1, keepdims=True), 1)
            scatter.append(np.sqrt(stiff / moving) * (drift @ rows[at]))
        ridge = problems.ridge[:, None] * self.frame.penalty
        hessian = self._hessian(curve)
        for part in scatter:
            hessian -= part[:, :, None] * part[:, None, :]
        diagonal = np.einsum("sii->si", hessian)
        diagonal += ridge
        diagonal += _DAMPING * (diagonal + diagonal.mean(axis=1, keepdims=True)) + 1e-12
        gradient = pull @ rows + ridge * T
        step = np.linalg.solve(hessian, -gradient[:, :, None])[:, :, 0]
        return np.where(np.isfinite(step), step, 0.0)

    def _hessian(self, curve: FloatArray) -> FloatArray:
        """Return the sums of the squares of the rows, times their curvature, of each candidate."""
        which, table, square = self._squares
        return (curve[:, which] @ table)[:, square].astype(np.float64)

    @cached_property
    def _squares(self) -> tuple[Any, FloatArray, IntArray]:
        """The rows of Hessians, the products of their columns, and how these make a matrix."""
        n, D = self._rows.shape
        size = max(_HESSIAN_ROWS, _HESSIAN_ROWS_PER_PARAMETER * D)
        which: Any = slice(None)
        if n > 1.5 * size:
            which = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
        A = self._rows[which]
        left, right = np.triu_indices(D)
        square = np.zeros((D, D), dtype=np.intp)
        square[left, right] = square[right, left] = np.arange(len(left))
        factor = A.dtype.type(n / len(A))
        return which, (factor * A[:, left]) * A[:, right], square

    @cached_property
    def _rows(self) -> FloatArray:
        """The rows in the precision of the steps."""
        largest = max(np.abs(self.y).max() / self.frame.reach, np.abs(self.frame.rows).max())
        return self.frame.rows.astype(np.float32 if largest < _SINGLE_REACH else np.float64)


# -- The ranks of many candidates ------------------------------------------------------------------


class _Blur(NamedTuple):
    """A range with blurred ends."""

    weight: FloatArray
    edge: FloatArray  # mass of each entry near the lower end, where weights change; else zero
    width: FloatArray  # of each candidate: losses within which weights fall to zero


class Ranking:
    """The losses of many candidates, each ranked, and the ranks m + 1 to k of each.

    `mass` is that of each column, and one if None. `total` is the mass of all columns. `kept` is
    the mass of each entry within the ranks; tied entries share theirs.
    """

    def __init__(
        self,
        losses: FloatArray,
        mass: FloatArray | None,
        total: float,
        m: FloatArray,
        k: FloatArray,
    ) -> None:
        self.losses, self.mass, self.total, self.m, self.k = losses, mass, total, m, k
        self.keeps_last = bool((k >= total * (1 - _ROUNDING)).all())
        self.dropped = self.top(m)
        if self.keeps_last:
            self.kept = self._all() - self.dropped
        else:
            self.kept = self.top(k) - self.dropped

    def _all(self) -> FloatArray:
        """Return the mass of each column, or of all, in the precision of the losses."""
        return np.asarray(1.0 if self.mass is None else self.mass, dtype=self.losses.dtype)

    @cached_property
    def _sorted(self) -> tuple[FloatArray, FloatArray | None]:
        """The losses of each candidate in rising order; the masses passed from the other end."""
        if self.mass is None:
            return np.sort(self.losses, axis=1), None
        ascending = np.argsort(self.losses, axis=1)
        passed = np.cumsum(self.mass[ascending[:, ::-1]], axis=1)
        return np.take_along_axis(self.losses, ascending, axis=1), passed

    def at(self, rank: FloatArray) -> FloatArray:
        """Return the loss at a rank of each candidate, of the first or last beyond the ends."""
        ordered, passed = self._sorted
        if passed is None:
            position = np.ceil(rank).astype(np.intp)
        else:
            position = 1 + (passed < (rank * (1 - 1e-12))[:, None]).sum(axis=1)
        n = self.losses.shape[1]
        position = np.minimum(np.maximum(position, 1), n)
        return np.asarray(ordered[np.arange(len(ordered)), n - position])

    def top(self, rank: FloatArray) -> FloatArray:
        """Return the mass of each entry that ranks up to `rank`; tied entries share it."""
        level = self.at(rank)[:, None]
        if self.mass is None:
            crosses = (self.at(rank + 1)[:, None] == level)[:, 0] & (rank < self.total)
            if not (crosses | (rank % 1 != 0) | (rank < 1)).any():
                return (self.losses >= level).astype(self.losses.dtype)
        mass = np.ones(self.losses.shape[1]) if self.mass is None else self.mass
        larger, tied = self.losses > level, self.losses == level
        share = share_ties(larger @ mass, tied @ mass, 0, rank)
        part = larger + tied * share[:, None]
        return np.asarray(part if self.mass is None else part * mass).astype(self.losses.dtype)

    def blur(self, band: float, smallest: FloatArray, hot: slice, temperature: float) -> _Blur:
        """Return the range with ends that are blurred.

        The weights of entries fall to zero over a `band` of the ranks on both sides of k, but at
        least over a difference of losses of `smallest`. The weights of the `hot` candidates also
        fall to zero over a difference of losses of `temperature` around m.
        """
        dropped, mass = self.dropped, self._all()
        lower = mass
        if hot.stop:
            dropped = dropped.copy()
            dropped[hot] = self._soft_top(hot, temperature)
        width: FloatArray = np.ones((len(self.losses), 1))
        edge: FloatArray = np.zeros(1)
        if not self.keeps_last:
            reach = np.maximum(1, np.floor(band * np.minimum(self.k - self.m, self.total - self.k)))
            high, low = self.at(self.k - reach)[:, None], self.at(self.k + reach)[:, None]
            middle = (high + low) / 2
            rounding = 4 * np.finfo(self.losses.dtype).eps * middle + _TINY
            least = np.maximum(smallest.astype(self.losses.dtype)[:, None], rounding)
            high, low = np.maximum(high, middle + least), np.minimum(low, middle - least)
            width = high - low
            lower = np.minimum(np.maximum((self.losses - low) / width, 0), 1)
            is_last = self.k >= self.total * (1 - _ROUNDING)
            lower[is_last] = 1
            lower *= mass
            edge = mass * ((self.losses > low) & (self.losses < high) & (dropped < mass))
            edge[is_last] = 0
        weight = np.maximum(lower - dropped, 0)
        sums = np.maximum(weight.sum(axis=1), 1e-9)
        weight *= ((self.k - self.m) / sums).astype(weight.dtype)[:, None]
        return _Blur(weight, edge, width)

    def _soft_top(self, which: slice, temperature: float) -> FloatArray:
        r"""Return parts :math:`\operatorname{clip}((s_i - \lambda) / \tau, 0, 1)` of mass m."""
        high, m = self.at(self.m)[which, None], self.m[which]
        low, losses, mass = high - temperature, self.losses[which], self._all()
        for _ in range(_LEVEL_STEPS):
            level = (low + high) / 2
            part = np.minimum(np.maximum((losses - level) / temperature, 0), 1) * mass
            above = (part.sum(axis=1) > m)[:, None]
            low, high = np.where(above, level, low), np.where(above, high, level)
        return np.asarray(part)


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
        if not design.intercept:
            level = 0.0
        unit = float(np.median(losses))
        if unit == 0 and losses.any():  # most targets are the same
            unit = float(np.median(losses[losses > 0]))
        unit = unit or 1.0
        return cls(rows, centre, spread, penalty=penalty, level=level, reach=reach, unit=unit)

    def standardised(self, theta: FloatArray) -> FloatArray:
        """Return parameters of the objective, along the last axis, in these coordinates."""
        T = np.array(theta, dtype=np.float64)
        d = len(self.spread)
        T[..., d:] += (T[..., :d] @ self.centre)[..., None] - self.level
        T[..., :d] *= self.spread
        return T

    def original(self, T: FloatArray) -> FloatArray:
        """Return standardised parameters in the coordinates of the objective."""
        theta = np.array(T, dtype=np.float64)
        d = len(self.spread)
        theta[..., :d] /= self.spread
        theta[..., d:] -= (theta[..., :d] @ self.centre)[..., None] - self.level
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
