"""Many candidates at once: objectives and damped Newton steps as a few products of matrices.

For losses of one output and few parameters. A candidate is a row of a matrix and has ranks and a
ridge of its own, so that a search from many starts and a grid of problems are the same thing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sorr._typing import FloatArray, IntArray
from sorr.objectives import RankedRangeObjective
from sorr.solvers.cuts import Cut, Ranking, soft_lower, soft_top
from sorr.solvers.frame import Frame

__all__ = ["Batch", "Cells", "Stage"]


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
