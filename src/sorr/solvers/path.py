"""A whole grid of problems on the same rows at once: their solutions start each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sorr._checks import as_count, as_generator
from sorr._typing import FloatArray, IntArray
from sorr.objectives import RankedRangeObjective, subsample
from sorr.ranked import RankedRange
from sorr.solvers.batch import Batch, Cells, Stage
from sorr.solvers.solution import Progress, Step, clip_targets
from sorr.solvers.starts import average_fit, candidates, is_small

__all__ = ["Path", "Problem", "grid", "solve_path"]

Problem: TypeAlias = tuple[int | float, int | float | None, float]

_SCOUTED = 800  # rows on which the cells exchange solutions; all rows have the last word
_ROUNDS = {True: 10, False: 5}  # with all rows in each round, and with a sample
_FRESH = {True: 600, False: 300}  # random candidates in a round, each with a cell of its own
_RIVALS = {True: 5, False: 3}  # candidates that are tried in a cell
_WORTH = 1e-3  # relative decrease for which a cell is done again

_FIRST = tuple(map(Stage, np.geomspace(0.5, 0.05, 11), np.geomspace(0.5, 0.002, 11)))
_EARLY = tuple(map(Stage, np.geomspace(0.4, 0.1, 6), np.geomspace(0.3, 0.01, 6)))
_LATE = tuple(map(Stage, np.geomspace(0.1, 0.05, 6), np.geomspace(0.01, 0.0005, 6)))


@dataclass(frozen=True)
class Path:
    """The best parameters found in each cell of a grid of (C, k, m).

    Attributes
    ----------
    m, k, C : ndarray of shape (n_cells,)
        The problem of each cell, in the units it was asked for: counts or fractions. A k of None
        is infinite here.
    objective : ndarray of shape (n_cells,)
        The objective of each cell at its parameters; NaN where the cell keeps no ranks, or more
        than there are.
    theta : ndarray of shape (n_cells, n_parameters)
        The parameters, NaN in such cells.
    """

    m: FloatArray
    k: FloatArray
    C: FloatArray
    objective: FloatArray
    theta: FloatArray = field(repr=False)

    def __len__(self) -> int:
        return len(self.m)

    @property
    def is_valid(self) -> npt.NDArray[np.bool_]:
        """Which cells keep any ranks."""
        return ~np.isnan(self.objective)

    def cell(self, m: float, k: float | None, C: float) -> int:
        """Return the index of the cell of that problem.

        Raises
        ------
        KeyError
            If the grid has no such cell.
        """
        found = np.flatnonzero((self.m == m) & (self.k == _end(k)) & (C == self.C))
        if not found.size:
            raise KeyError(f"the grid has no cell with m={m}, k={k}, C={C}")
        return int(found[0])


def grid(
    m: Iterable[int | float], k: Iterable[int | float | None], C: Iterable[float]
) -> list[Problem]:
    """Return all combinations of ranks and ridges, m changing fastest and C slowest.

    Examples
    --------
    >>> grid(m=[0, 5], k=[10, None], C=[1.0])
    [(0, 10, 1.0), (5, 10, 1.0), (0, None, 1.0), (5, None, 1.0)]
    """
    return [(low, high, inverse) for inverse, high, low in product(C, k, m)]


def solve_path(
    objective: RankedRangeObjective,
    problems: Iterable[Problem],
    *,
    rounds: int | None = None,
    random_state: int | np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Path:
    """Return a good solution of every problem (m, k, C) on the same rows, all found together.

    The cells share a pool of solutions. In each round every solution is compared in all cells,
    which takes one sort of its losses; the best few of each cell take some steps there and go
    back to the pool, along with fresh random candidates. Only cells which that may improve are
    done again. The solutions are not polished: do that to the cell that is chosen.

    Parameters
    ----------
    objective : RankedRangeObjective
        Of a loss with one output and few parameters. Its own ranks and ridge do not matter.
    problems : iterable of (m, k, C)
        The cells: ranks as counts or fractions, k possibly None, and the inverse strength of the
        ridge; `grid` makes all combinations. Within groups, fractions only.
    rounds : int, optional
        How often the cells exchange solutions: by default 10 times, or 5 if there are more than
        800 rows, of which a sample takes part in all rounds but the last.
    random_state : int, Generator or None
        What fresh candidates are drawn from: the same seed gives the same path.
    progress : callable, optional
        Called with a `Step` after each round: its objective is the mean over all cells.

    Returns
    -------
    Path
        With the cells in the order of the problems.

    Notes
    -----
    Where a whole class fits above rank m, the objective has no minimum but tends to zero: such a
    cell says nothing about a model.

    Examples
    --------
    >>> import numpy as np
    >>> from sorr.objectives import RankedRangeObjective
    >>> x = np.arange(10.0)
    >>> y = 2 * x + 1
    >>> y[3] = 100.0
    >>> objective = RankedRangeObjective(x[:, None], y, "squared")
    >>> path = solve_path(objective, grid([0, 1], [5, None], [1e6]), random_state=0)
    >>> path.theta[path.cell(1, None, 1e6)].round(3)
    array([2., 1.])
    """
    if not is_small(objective):
        raise ValueError(
            f"the parameters have shape {objective.shape}; needed one output and at most 64 "
            "parameters: solve the cells one by one"
        )
    asked = list(problems)
    if not asked:
        raise ValueError(
            "there are no problems; needed one (m, k, C) or more, as `grid` makes them"
        )
    if odd := [problem for problem in asked if len(problem) != 3]:
        raise ValueError(f"{odd[0]!r} is not a problem; needed m, k and C, as from `grid`")
    ends = [_ends(objective, low, high) for low, high, _ in asked]
    valid = np.array([i for i, pair in enumerate(ends) if pair is not None], dtype=np.intp)
    theta = np.full((len(asked), objective.n_parameters), np.nan)
    value = np.full(len(asked), np.nan)
    if valid.size:
        low, high = np.moveaxis(np.array([ends[i] for i in valid]), 1, 0)
        share = np.array([group.scale * group.width for group in objective.groups])
        ridge = np.array([1 / objective.with_ridge(asked[i][2]).C for i in valid])
        cells = Cells(low, high, share / (high - low), ridge)
        rng = as_generator(random_state)
        theta[valid], value[valid] = _explore(objective, cells, rounds, rng, progress)
    return Path(
        m=np.array([float(low) for low, _, _ in asked]),
        k=np.array([_end(high) for _, high, _ in asked]),
        C=np.array([float(inverse) for _, _, inverse in asked]),
        objective=value,
        theta=theta,
    )


def _explore(
    objective: RankedRangeObjective,
    cells: Cells,
    rounds: int | None,
    rng: np.random.Generator,
    progress: Progress | None,
) -> tuple[FloatArray, FloatArray]:
    """Return the best parameters of each cell, and its objective there."""
    objective = clip_targets(objective)
    scouted = subsample(objective, _SCOUTED, rng)
    is_whole = scouted is objective
    rounds = _ROUNDS[is_whole] if rounds is None else as_count("rounds", rounds)
    batch, size = Batch(scouted), _FRESH[is_whole]
    start = np.repeat(average_fit(batch), len(cells.ridge), axis=0)
    search = _Search(batch, _shrunk(cells, objective, scouted), start, _RIVALS[is_whole])
    for number in range(rounds):
        search.exchange(_EARLY, search.fresh(size, rng))
        if progress is not None:
            progress(Step(number, "path", float(search.value.mean()), objective.design.passes))
    if not is_whole:
        theta = batch.frame.original(search.best)
        batch = Batch(objective)
        search = _Search(batch, cells, batch.frame.standardised(theta), _RIVALS[is_whole])
        search.exchange(_EARLY, search.fresh(size // 2, rng))
    search.descend(np.arange(len(search.best)), search.best, _LATE)
    search.exchange(_LATE, search.best[:0])
    if progress is not None:
        progress(Step(rounds, "path", float(search.value.mean()), objective.design.passes))
    return batch.frame.original(search.best), search.value


def _shrunk(cells: Cells, whole: RankedRangeObjective, part: RankedRangeObjective) -> Cells:
    """Return the cells with their ranks at the same shares of the mass of a sample."""
    if part is whole:
        return cells
    mass = np.array([group.mass for group in part.groups])
    ratio = mass / [group.mass for group in whole.groups]
    m, k = cells.m * ratio, np.minimum(np.maximum(cells.k, cells.m + 1 / ratio) * ratio, mass)
    if part.groups.weight is None:
        m, k = np.floor(m), np.ceil(k)
    return cells._replace(m=m, k=k, scale=cells.scale * (cells.k - cells.m) / (k - m))


class _Search:
    """The best solution of each cell so far, and how cells pass them on."""

    def __init__(self, batch: Batch, cells: Cells, start: FloatArray, rivals: int) -> None:
        self.batch, self.cells, self.best, self.rivals = batch, cells, start, rivals
        self.value = batch.values(start, cells)

    def exchange(self, stages: Sequence[Stage], fresh: FloatArray) -> None:
        """Try the solutions of all cells, and fresh ones, wherever they may help."""
        pool = np.vstack([np.unique(self.best, axis=0), fresh])
        table = self._table(pool)
        rivals = np.argsort(table, axis=0)[: self.rivals]
        hopeful = np.flatnonzero(table.min(axis=0) < (1 - _WORTH) * self.value)
        self.descend(np.repeat(hopeful, len(rivals)), pool[rivals[:, hopeful].T.ravel()], stages)

    def fresh(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Return random candidates after some steps, each in a random cell."""
        T, some = candidates(self.batch, size, rng), rng.integers(len(self.best), size=size)
        return self.batch.descend(T, _FIRST, self.cells.take(some))[0]

    def descend(self, which: IntArray, T: FloatArray, stages: Sequence[Stage]) -> None:
        """Take steps from candidates for some of the cells, and remember what is better."""
        T, values = self.batch.descend(T, stages, self.cells.take(which))
        order = np.argsort(-values, kind="stable")  # the lowest of each cell comes last
        lowest, origin = np.full(len(self.best), np.inf), np.zeros(len(self.best), dtype=np.intp)
        lowest[which[order]], origin[which[order]] = values[order], order
        better = np.flatnonzero(lowest < self.value)
        self.best[better], self.value[better] = T[origin[better]], lowest[better]

    def _table(self, pool: FloatArray) -> FloatArray:
        """Return the objective of each solution in each cell, up to rounding."""
        batch, cells = self.batch, self.cells
        table = np.multiply.outer(np.square(pool) @ batch.frame.penalty, cells.ridge / 2)
        for g, columns in enumerate(batch.columns):
            both = np.concatenate([cells.m[:, g], cells.k[:, g]])
            ends, place = np.unique(both, return_inverse=True)
            low, high = place[: len(place) // 2], place[len(place) // 2 :]
            mass = None if batch.mass is None else batch.mass[columns]
            for some in batch.chunks(len(pool)):
                raw = pool[some] @ batch.frame.rows.T
                rests = _rests(batch.losses(raw, batch.objective)[:, columns], mass, ends)
                table[some] += cells.scale[:, g] * (rests[:, low] - rests[:, high])
        return np.where(np.isnan(table), np.inf, table)


def _rests(losses: FloatArray, mass: FloatArray | None, ends: FloatArray) -> FloatArray:
    """Return the sums of the losses below some ranks, of each candidate.

    From below, so that one huge loss erases the digits of those cells only in which it counts.
    """
    if mass is None and not np.any(ends % 1):
        sums = np.cumsum(np.sort(losses, axis=1), axis=1)
        sums = np.pad(sums, ((0, 0), (1, 0)))
        return sums[:, losses.shape[1] - ends.astype(np.intp)]
    order = np.argsort(losses, axis=1)
    losses = np.take_along_axis(losses, order, axis=1)
    held = np.ones(losses.shape) if mass is None else mass[order]
    total = held.sum(axis=1, keepdims=True)
    before = np.cumsum(held, axis=1) - held
    parts = [(np.clip(total - end - before, 0, held) * losses).sum(axis=1) for end in ends]
    return np.stack(parts, axis=1)


def _ends(
    objective: RankedRangeObjective, m: int | float, k: int | float | None
) -> tuple[list[float], list[float]] | None:
    """Return the ends in each group in mass, or None if they leave no rank between them."""
    for rank in (RankedRange(m), RankedRange(0, k)):  # refuses what is no rank at all
        if len(objective.groups) > 1 and any(isinstance(end, int) and end for end in rank):
            raise ValueError(
                f"{max(rank.m, rank.k or 0)} is a count, but the rows are ranked within groups; "
                "pass fractions, such as 0.1, which hold in each group"
            )
    low, high = [], []
    for group in objective.groups:
        size = group.mass if objective.groups.weight is not None else int(group.mass)
        try:
            found = RankedRange(m, k).resolve(size)
        except ValueError:
            return None
        low.append(float(found.m))
        high.append(float(found.k or size))
    return low, high


def _end(k: int | float | None) -> float:
    return np.inf if k is None else float(k)
