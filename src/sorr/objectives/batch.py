"""The objective at many parameters at once: values and Newton steps as products of matrices.

For losses with one output and few parameters. A candidate is a row of a matrix, with its own ranks
and its own ridge: a search from many starts and a grid of problems are the same thing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sorr._typing import FloatArray, IntArray
from sorr.objectives.design import Frame, multiply
from sorr.objectives.objective import RankedRangeObjective
from sorr.ranked import Ranking, sums_below

_CHUNK = 120_000  # raw predictions that are held at a time: they stay in the cache
_DAMPING = 1e-6  # of Newton steps, relative to the diagonal of the Hessian
_TINY = np.float32(1e-20)  # least width of a corner, where the objective is zero
_SMALLEST_BLUR = 1e-3  # least width of a blurred end, in typical losses
_HESSIAN_ROWS = 1000  # rows that Hessians are summed over, at least: they only set directions
_HESSIAN_ROWS_PER_PARAMETER = 20
_ROUNDING = 1e-9  # relative differences of masses below this are rounding errors
_SINGLE_REACH = 1e4  # largest number, in typical ones, for which steps are in float32
_SINGLE_RANGE = (1e-10, 1e10)  # spread of numeric targets for the same: squares are within range


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


class Evaluated(NamedTuple):
    """A chunk of candidates: raw predictions, the rankings of each group, and objectives."""

    raw: FloatArray
    rankings: list[Ranking]
    value: FloatArray


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
        y = objective.y[self.index]
        self.frame = Frame.of(objective.design.take(self.index), y, objective.loss)
        self.y = y - self.frame.level
        self.columns = [slice(*pair) for pair in pairwise(ends)]
        self._ends = np.array([(group.m, group.k, group.scale) for group in groups]).T
        self._totals = np.array([group.mass for group in groups])
        self.chunk_size = max(1, _CHUNK // len(self.y))
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

    def table(self, T: FloatArray, problems: Problems) -> FloatArray:
        """Return the objective of each candidate in each of some problems, up to rounding."""
        table = np.multiply.outer(np.square(T) @ self.frame.penalty, problems.ridge / 2)
        for g, columns in enumerate(self.columns):
            both = np.concatenate([problems.m[:, g], problems.k[:, g]])
            ends, place = np.unique(both, return_inverse=True)
            low, high = place[: len(place) // 2], place[len(place) // 2 :]
            mass = None if self.mass is None else self.mass[columns]
            for chunk in self.chunks(len(T)):
                losses = self.losses(T[chunk] @ self.frame.rows.T)[:, columns]
                sums = sums_below(losses, mass, ends)
                table[chunk] += problems.scale[:, g] * (sums[:, low] - sums[:, high])
        return np.where(np.isnan(table), np.inf, table)

    def draw(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Return random candidates: half are directions, half are fits to a few rows."""
        D = self.frame.rows.shape[1]
        T = rng.standard_normal((size, D))
        T *= self.frame.reach / np.linalg.norm(T, axis=1, keepdims=True)
        classes = self.objective.class_of_row
        if classes is None:
            pools, numbers = [np.arange(len(self.y))], [D + 1]
        else:
            own = classes[self.index]
            pools, numbers = [np.flatnonzero(own == label) for label in np.unique(own)], [2, 3]
        for i, number in enumerate(numbers):
            which = np.arange(i, size // 2, len(numbers))
            picked = np.hstack([rng.choice(pool, (len(which), number)) for pool in pools])
            T[which] = self._fit_exactly(picked)
        return T

    def _fit_exactly(self, picked: IntArray) -> FloatArray:
        """Return the smallest candidates that predict the targets of some rows, one set each.

        A target of -1 or +1 is predicted as a number.
        """
        A = self.frame.rows[picked]
        gram = A @ A.transpose(0, 2, 1) + 1e-3 * np.eye(A.shape[1])
        part = np.linalg.solve(gram, self.y[picked][:, :, None])
        return (A.transpose(0, 2, 1) @ part)[:, :, 0]

    def evaluate(self, T: FloatArray, problems: Problems) -> Evaluated:
        """Return what a step of a chunk of candidates needs, in its precision."""
        raw = multiply(T.astype(self._rows.dtype), self._rows.T)
        rankings = self._rank(self.losses(raw), problems)
        return Evaluated(raw, rankings, self._value(T, problems, rankings))

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
        return [slice(i, i + self.chunk_size) for i in range(0, n_candidates, self.chunk_size)]

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

    def newton_step(
        self, T: FloatArray, problems: Problems, at: Evaluated, stage: Stage, n_hot: int
    ) -> FloatArray:
        r"""Return a Newton step of each candidate of a chunk, for the rows it keeps now.

        The temperature of the stage applies to the first `n_hot` candidates. If the end at rank k
        is blurred, the weights of the rows near it change with their losses. This adds the scatter
        of their gradients, divided by the width, to the Hessian.
        """
        raw, loss, hot = at.raw, self.objective.loss, slice(0, n_hot)
        unit = np.minimum(at.value, self.frame.unit)
        corner = np.maximum((stage.corner * unit).astype(raw.dtype), _TINY)
        if not loss.has_curvature:
            corner = np.repeat(corner, raw.shape[1])
        model = loss.step_model(self._targets(raw), raw.ravel(), corner)
        slope, bend = (part.reshape(raw.shape) for part in model)
        rows = self._rows
        pull, curve = np.empty_like(slope), np.empty_like(slope)
        scatter: list[FloatArray] = []
        for scale, ranking, own in zip(problems.scale.T, at.rankings, self.columns, strict=True):
            scale = scale.astype(rows.dtype)[:, None]
            if ranking.keeps_last and not n_hot:
                weight = scale * ranking.kept
                pull[:, own], curve[:, own] = weight * slope[:, own], weight * bend[:, own]
                continue
            blur = ranking.blur(
                stage.band, _SMALLEST_BLUR * unit, hot, stage.temperature * self.frame.unit
            )
            weight = scale * blur.weight
            pull[:, own], curve[:, own] = weight * slope[:, own], weight * bend[:, own]
            if ranking.keeps_last:
                continue
            drift = blur.edge * slope[:, own]
            stiff = scale / blur.width
            curve[:, own] += stiff * drift * slope[:, own]
            moving = np.maximum(blur.edge.sum(axis=1, keepdims=True), ranking.unit)
            scatter.append(np.sqrt(stiff / moving) * (drift @ rows[own]))
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
        reach, rows = self.frame.reach, self.frame.rows
        largest = max(np.abs(self.y).max() / reach, np.abs(rows).max())
        low, high = _SINGLE_RANGE
        is_single = largest < _SINGLE_REACH and low < reach < high
        return rows.astype(np.float32 if is_single else np.float64)
