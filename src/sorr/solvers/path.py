"""A grid of problems on the same rows, solved together: solutions start each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

import numpy as np

from sorr._checks import as_count, as_generator
from sorr._typing import BoolArray, FloatArray, IntArray
from sorr.objectives import Batch, Problems, RankedRangeObjective, Stage, subsample
from sorr.ranked import RankedRange
from sorr.solvers import constants as tuned
from sorr.solvers.candidates import average_fit, descend_together, is_small
from sorr.solvers.solution import Progress, Step

Problem: TypeAlias = tuple[int | float, int | float | None, float]


@dataclass(frozen=True)
class Path:
    """The best parameters found in each cell of a grid of (C, k, m).

    Attributes
    ----------
    m, k, C : ndarray of shape (n_cells,)
        The problem of each cell, in the units that were given: counts or fractions. A k of None
        becomes infinity.
    objective : ndarray of shape (n_cells,)
        The objective of each cell at its parameters; NaN if the cell keeps no ranks, or more than
        there are.
    theta : ndarray of shape (n_cells, n_parameters)
        The parameters; NaN in such cells.
    """

    m: FloatArray
    k: FloatArray
    C: FloatArray
    objective: FloatArray
    theta: FloatArray = field(repr=False)

    def __len__(self) -> int:
        return len(self.m)

    @property
    def is_valid(self) -> BoolArray:
        """Which cells keep ranks."""
        return ~np.isnan(self.objective)

    def cell(self, m: float, k: float | None, C: float) -> int:
        """Return the index of the cell with that problem.

        Raises
        ------
        KeyError
            If the grid has no such cell.
        """
        cells = np.flatnonzero((self.m == m) & (self.k == _end(k)) & (C == self.C))
        if not cells.size:
            raise KeyError(f"the grid has no cell with m={m}, k={k}, C={C}")
        return int(cells[0])


def grid(
    m: Iterable[int | float], k: Iterable[int | float | None], C: Iterable[float]
) -> list[Problem]:
    """Return all combinations of ranks and ridges; m changes fastest and C slowest.

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
    """Return a good solution of every problem (m, k, C) on the same rows; all are found together.

    The cells share a pool of solutions. In each round every solution is evaluated in all cells,
    with one sort of its losses. The best few in each cell take some steps there and go back to
    the pool, together with new random candidates. Only cells that this may improve are computed
    again. The solutions are not polished: use `trim` for the cell that you choose.

    Parameters
    ----------
    objective : RankedRangeObjective
        With one output and few parameters. Its own ranks and ridge do not matter.
    problems : iterable of (m, k, C)
        The cells: ranks as counts or fractions, where k may be None, and the inverse strength of
        the ridge. `grid` returns all combinations. Groups need fractions.
    rounds : int, optional
        How often the cells exchange solutions. The default is 10, or 5 if there are more than 800
        rows; then all rounds except the last use a sample of the rows.
    random_state : int, Generator or None
        Seed for everything random. The same seed gives the same path.
    progress : callable, optional
        Called with a `Step` after each round. Its objective is the mean over all cells.

    Returns
    -------
    Path
        The cells are in the order of the problems.

    Notes
    -----
    If a complete class fits above rank m, the objective has no minimum and tends to zero. The
    solution of such a cell is not a useful model.

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
            "parameters: solve the problems one by one"
        )
    cells = list(problems)
    if not cells:
        raise ValueError("there are no problems; needed one (m, k, C) or more, as from `grid`")
    if wrong := [cell for cell in cells if len(cell) != 3]:
        raise ValueError(f"{wrong[0]!r} is not a problem; needed m, k and C, as from `grid`")
    ends = [_ends(objective, low, high) for low, high, _ in cells]
    valid = np.array([i for i, pair in enumerate(ends) if pair is not None], dtype=np.intp)
    theta = np.full((len(cells), objective.n_parameters), np.nan)
    value = np.full(len(cells), np.nan)
    if valid.size:
        low, high = np.moveaxis(np.array([ends[i] for i in valid]), 1, 0)
        share = np.array([group.scale * group.width for group in objective.groups])
        ridge = np.array([1 / objective.with_ridge(cells[i][2]).C for i in valid])
        solvable = Problems(low, high, share / (high - low), ridge)
        rng = as_generator(random_state)
        theta[valid], value[valid] = _explore(objective, solvable, rounds, rng, progress)
    return Path(
        m=np.array([float(low) for low, _, _ in cells]),
        k=np.array([_end(high) for _, high, _ in cells]),
        C=np.array([float(inverse) for _, _, inverse in cells]),
        objective=value,
        theta=theta,
    )


def _explore(
    objective: RankedRangeObjective,
    problems: Problems,
    rounds: int | None,
    rng: np.random.Generator,
    progress: Progress | None,
) -> tuple[FloatArray, FloatArray]:
    """Return the best parameters of each cell, and its objective there."""
    objective = objective.clip_targets()
    sample = subsample(objective, tuned.PATH_SAMPLE, rng)
    uses_all = sample is objective
    rounds = tuned.PATH_ROUNDS[uses_all] if rounds is None else as_count("rounds", rounds)
    batch, size = Batch(sample), tuned.NEW_CANDIDATES[uses_all]
    start = np.repeat(average_fit(batch), len(problems.ridge), axis=0)
    search = _Search(batch, _rescale(problems, objective, sample), start, tuned.RIVALS[uses_all])
    for number in range(rounds):
        search.exchange(tuned.PATH_EARLY, search.new_candidates(size, rng))
        if progress is not None:
            progress(Step(number, "path", float(search.value.mean()), objective.design.passes))
    if not uses_all:
        theta = batch.frame.original(search.best)
        batch = Batch(objective)
        search = _Search(batch, problems, batch.frame.standardised(theta), tuned.RIVALS[uses_all])
        search.exchange(tuned.PATH_EARLY, search.new_candidates(size // 2, rng))
    search.descend(np.arange(len(search.best)), search.best, tuned.PATH_LATE)
    search.exchange(tuned.PATH_LATE, search.best[:0])
    search.adopt()
    if progress is not None:
        progress(Step(rounds, "path", float(search.value.mean()), objective.design.passes))
    return batch.frame.original(search.best), search.value


def _rescale(
    problems: Problems, objective: RankedRangeObjective, sample: RankedRangeObjective
) -> Problems:
    """Return the problems with ranks at the same shares of the mass of a sample."""
    if sample is objective:
        return problems
    mass = np.array([group.mass for group in sample.groups])
    ratio = mass / [group.mass for group in objective.groups]
    m = problems.m * ratio
    k = np.minimum(np.maximum(problems.k, problems.m + 1 / ratio) * ratio, mass)
    if sample.groups.weight is None:
        m, k = np.floor(m), np.ceil(k)
    scale = problems.scale * (problems.k - problems.m) / (k - m)
    return problems._replace(m=m, k=k, scale=scale)


class _Search:
    """The best solution of each cell so far, and how cells exchange them."""

    def __init__(self, batch: Batch, problems: Problems, start: FloatArray, rivals: int) -> None:
        self.batch, self.problems, self.best, self.rivals = batch, problems, start, rivals
        self.value = batch.values(start, problems)

    def exchange(self, stages: Sequence[Stage], candidates: FloatArray) -> None:
        """Try the solutions of all cells, and new candidates, in all cells they may improve."""
        pool = np.vstack([np.unique(self.best, axis=0), candidates])
        table = self.batch.table(pool, self.problems)
        rivals = np.argsort(table, axis=0)[: self.rivals]
        promising = np.flatnonzero(table.min(axis=0) < (1 - tuned.WORTH) * self.value)
        chosen = pool[rivals[:, promising].T.ravel()]
        self.descend(np.repeat(promising, len(rivals)), chosen, stages)

    def adopt(self) -> None:
        """Replace the solution of each cell by that of another cell if it is lower there."""
        pool = np.unique(self.best, axis=0)
        T = pool[self.batch.table(pool, self.problems).argmin(axis=0)]
        values = self.batch.values(T, self.problems)
        better = values < self.value
        self.best[better], self.value[better] = T[better], values[better]

    def new_candidates(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Return random candidates after some steps, each in a random cell."""
        T, cells = self.batch.draw(size, rng), rng.integers(len(self.best), size=size)
        return descend_together(self.batch, T, tuned.PATH_FIRST, self.problems.take(cells))[0]

    def descend(self, cells: IntArray, T: FloatArray, stages: Sequence[Stage]) -> None:
        """Take steps from one candidate for each of the cells, and store what is better."""
        problems = self.problems.take(cells)
        T = descend_together(self.batch, T, stages, problems)[0]
        values = self.batch.values(T, problems)
        order = np.argsort(-values, kind="stable")  # the lowest of each cell comes last
        lowest, origin = np.full(len(self.best), np.inf), np.zeros(len(self.best), dtype=np.intp)
        lowest[cells[order]], origin[cells[order]] = values[order], order
        better = np.flatnonzero(lowest < self.value)
        self.best[better], self.value[better] = T[origin[better]], lowest[better]


def _ends(
    objective: RankedRangeObjective, m: int | float, k: int | float | None
) -> tuple[list[float], list[float]] | None:
    """Return the ends in each group in mass, or None if there is no rank between them."""
    for rank in (RankedRange(m), RankedRange(0, k)):  # raises an error for invalid ranks
        if len(objective.groups) > 1 and any(isinstance(end, int) and end for end in rank):
            raise ValueError(
                f"{max(rank.m, rank.k or 0)} is a count, but the rows are ranked within groups; "
                "pass fractions such as 0.1, which apply to each group"
            )
    low, high = [], []
    for group in objective.groups:
        size = group.mass if objective.groups.weight is not None else int(group.mass)
        try:
            ranks = RankedRange(m, k).resolve(size)
        except ValueError:  # an empty cell
            return None
        low.append(float(ranks.m))
        high.append(float(ranks.k or size))
    return low, high


def _end(k: int | float | None) -> float:
    return np.inf if k is None else float(k)
