"""Grids of (m, k, C): those with a name, those that users give, and which cells are possible."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics import get_scorer

from sorr._checks import check_choice
from sorr._typing import FloatArray
from sorr.estimators.ranked_range import Ranks, ranks_in_all, ranks_in_classes
from sorr.ranked import Mass, RankedRange, average_ranked_range

__all__ = ["Cell", "Grid", "Pool", "Scoring", "make_grid", "make_scoring", "ranking_of", "smoothed"]

_RANKS = tuple(round(0.1 * i, 1) for i in range(1, 10))
_DROPPED = (0, 0.01, 0.02, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3, 0.35)
_INVERSE_RIDGES = (1.0, 10.0, 1e2, 1e3, 1e4, 1e5)
_NAMED: dict[str, dict[str, tuple[Any, ...]]] = {
    "default": {"m": _DROPPED, "k": (None,), "C": (1.0, 1e2, 1e4)},
    "paper": {"m": _DROPPED, "k": (1, *_RANKS, None), "C": _INVERSE_RIDGES},
}
_SAFE = 0.8  # of the smallest class: pooled ranks that could drop more end in useless minima


class Cell(NamedTuple):
    """One problem of a grid."""

    m: int | float
    k: int | float | None
    C: float


class Grid(NamedTuple):
    """The values of each parameter, ascending; a k of None comes last."""

    m: tuple[int | float, ...]
    k: tuple[int | float | None, ...]
    C: tuple[float, ...]

    @property
    def shape(self) -> tuple[int, int, int]:
        """The numbers of values of C, k and m."""
        return len(self.C), len(self.k), len(self.m)

    def cells(self) -> list[Cell]:
        """Return all combinations, m changing fastest and C slowest."""
        return [Cell(m, k, C) for C, k, m in product(self.C, self.k, self.m)]


@dataclass(frozen=True)
class Pool:
    """What ranks are taken of: the masses of the classes, or of all rows.

    Attributes
    ----------
    masses : ndarray
        Integers if they are numbers of rows, so that fractions become whole rows.
    classes : list
        Their names; empty where targets are numbers.
    is_pooled : bool
        Whether all rows are ranked together.
    """

    masses: npt.NDArray[Any]
    classes: list[Any]
    is_pooled: bool

    @classmethod
    def of(
        cls,
        index: npt.NDArray[np.intp],
        weight: npt.NDArray[np.float64] | None,
        classes: Sequence[Any],
        factor: npt.NDArray[np.float64] | None,
        is_pooled: bool,
    ) -> Pool:
        """Return the pool of rows, of which the index of the class is given, or zero."""
        if is_pooled and factor is not None:
            weight = factor[index] * (1.0 if weight is None else weight)
        masses = np.bincount(index, weight, max(len(classes), 1))
        if weight is None or bool(np.all(weight % 1 == 0)):
            masses = np.rint(masses).astype(np.int64)
        return cls(masses, list(classes), is_pooled)

    def ends(self, m: int | float, k: int | float | None) -> Ranks:
        """Return the ranks in mass, or raise an error."""
        if self.is_pooled:
            return ranks_in_all(m, k, self.masses, self.classes)
        return ranks_in_classes(m, k, self.masses, self.classes)

    def obstacle(self, m: int | float, k: int | float | None) -> str:
        """Return why ranks are impossible or not worth a try; nothing if they are."""
        try:
            low = self.ends(m, k).m[0]
        except ValueError as error:
            return str(error)
        if self.is_pooled and self.classes and low > _SAFE * self.masses.min():
            smallest = self.classes[int(self.masses.argmin())]
            return (
                f"m={m!r} allows to drop {low:g} rows, more than {_SAFE:g} of the "
                f"{self.masses.min():g} rows of class {smallest!r}"
            )
        return ""


def make_grid(grid: Any, pool: Pool) -> Grid:
    """Return a grid by name, or as it was given, with all its values checked.

    Parameters
    ----------
    grid : str or mapping
        A name, or values of some of m, k and C; the others are those of the default grid.
    pool : Pool
        What ranks will be taken of.
    """
    if not isinstance(grid, str | Mapping):
        raise TypeError(
            f"grid={grid!r} is of type {type(grid).__name__}; needed a name, "
            f"{' or '.join(map(repr, _NAMED))}, or a mapping such as {{'m': [0, 0.1]}}"
        )
    if isinstance(grid, str):
        check_choice("grid", grid, tuple(_NAMED))
        given = dict(_NAMED[grid])
        if not pool.is_pooled:  # a count of one, within classes, has two readings
            given["k"] = tuple(k for k in given["k"] if k != 1)
    else:
        _refuse_strangers(grid)
        given = {name: _listed(name, values) for name, values in grid.items()}
    chosen = {**_NAMED["default"], **given}
    total = float(pool.masses.sum())
    for m in chosen["m"]:
        _check_rank("m", m, pool)
    for k in chosen["k"]:
        if k is not None:
            _check_rank("k", k, pool)
    return Grid(
        m=tuple(sorted(dict.fromkeys(chosen["m"]), key=lambda m: size_of(m, total))),
        k=tuple(sorted(dict.fromkeys(chosen["k"]), key=lambda k: (k is None, size_of(k, total)))),
        C=tuple(sorted({_inverse_ridge(C) for C in chosen["C"]})),
    )


def size_of(rank: int | float | None, total: float) -> float:
    """Return a rank in rows or mass; None is the last."""
    if rank is None:
        return total
    return rank * total if 0 < rank < 1 else float(rank)


def _listed(name: str, values: Any) -> tuple[Any, ...]:
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise TypeError(f"grid[{name!r}]={values!r} is no list of values; needed one, [{values!r}]")
    listed = tuple(values)
    if not listed:
        raise ValueError(f"grid[{name!r}] is empty; needed a value or more")
    return listed


def _refuse_strangers(grid: Mapping[Any, Any]) -> None:
    names = list(_NAMED["default"])
    if strangers := [name for name in grid if name not in names]:
        close = difflib.get_close_matches(str(strangers[0]), names, cutoff=0.1)
        hint = f"did you mean {close[0]!r}?" if close else f"needed {', '.join(map(repr, names))}"
        raise ValueError(f"grid has values of {strangers[0]!r}, which is not searched; {hint}")


def _check_rank(name: str, rank: Any, pool: Pool) -> None:
    """Refuse what is no rank whatever the data, and counts within classes."""
    if isinstance(rank, str):
        raise ValueError(
            f"grid[{name!r}] holds {rank!r}; needed counts or fractions: m='auto' is a choice of "
            "RankedRangeClassifier and RankedRangeRegressor, which find m instead of trying values"
        )
    if isinstance(rank, Mapping):
        raise TypeError(
            f"grid[{name!r}] holds {rank!r}; needed counts or fractions, which hold in each class: "
            "RankedRangeClassifier takes classes of their own"
        )
    ends = RankedRange(rank) if name == "m" else RankedRange(0, rank)
    is_count = isinstance(rank, int | np.integer) and rank != 0
    if is_count and not pool.is_pooled:
        pool.ends(*ends)  # says both readings


def _inverse_ridge(C: Any) -> float:
    if isinstance(C, bool) or not isinstance(C, Real) or not float(C) > 0:
        raise ValueError(f"grid['C'] holds {C!r}; needed numbers above 0: the ridge is |w|^2/(2 C)")
    return float(C)


# -- Which cell of a grid to take, given the error of each: the rules, and their order of ties -----


_TIED = 1e-3  # of the lowest error: what is left to gain by polishing solutions
_ROUNDING = 1e-9


def ranking_of(error: FloatArray, cells: Sequence[Cell], total: float) -> list[int]:
    """Return the cells from best to worst, without those that have no error.

    Cells within a thousandth of the lowest error are tied. Among them the average loss comes
    first, then the one which keeps most ranks, then the smallest C, then the smallest m.

    Parameters
    ----------
    error : ndarray of shape (n_cells,)
        The lower, the better; NaN for cells that were left out.
    cells : sequence of Cell
    total : float
        The number of rows, or their mass.

    Examples
    --------
    >>> cells = [Cell(0, None, 1.0), Cell(0.1, None, 1.0), Cell(0.2, None, 1.0)]
    >>> ranking_of(np.array([0.2, 0.1, 0.1]), cells, total=100)
    [1, 2, 0]
    """

    def preference(i: int) -> tuple[bool, float, float, float]:
        m, k, C = cells[i]
        low, high = size_of(m, total), size_of(k, total)
        return not (low == 0 and high >= total), low - high, C, low

    left = [int(i) for i in np.argsort(error, kind="stable") if not np.isnan(error[i])]
    ranking: list[int] = []
    while left:
        lowest = error[left[0]]
        limit = lowest + _TIED * abs(lowest) + _ROUNDING
        tied = [i for i in left if error[i] <= limit]
        ranking += sorted(tied, key=preference)
        left = left[len(tied) :]
    return ranking


def smoothed(error: FloatArray, shape: tuple[int, int, int]) -> FloatArray:
    """Return the mean error of each cell and its neighbours in the grid, of those that have one.

    Parameters
    ----------
    error : ndarray of shape (n_cells,)
    shape : tuple of int
        The shape of the grid, of which the cells are the entries in order.
    """
    cube = np.pad(error.reshape(shape), 1, constant_values=np.nan)
    total, number = np.zeros(shape), np.zeros(shape)
    for shift in product(range(3), repeat=3):
        part = cube[tuple(slice(s, s + size) for s, size in zip(shift, shape, strict=True))]
        is_there = ~np.isnan(part)
        total += np.where(is_there, part, 0.0)
        number += is_there
    mean = np.where(np.isnan(cube[1:-1, 1:-1, 1:-1]), np.nan, total / np.maximum(number, 1))
    return np.asarray(mean.ravel())


# -- How good a fitted model is on rows it has not seen --------------------------------------------


class Scoring(NamedTuple):
    """A score, the larger the better, and how to read it.

    Attributes
    ----------
    function : callable
        Of a fitted estimator, rows and targets.
    takes_weight : bool
        Whether it takes the masses of rows too.
    is_loss : bool
        Whether it is an error with its sign turned, rather than a share of one.
    """

    function: Callable[..., Any]
    takes_weight: bool
    is_loss: bool

    def score(
        self, model: Any, X: Any, y: npt.NDArray[Any], weight: npt.NDArray[np.float64] | None
    ) -> float:
        """Return the score of a model."""
        if weight is not None and self.takes_weight:
            return float(self.function(model, X, y, sample_weight=weight))
        return float(self.function(model, X, y))

    def error(self, score: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return scores as errors, the smaller the better."""
        return -score if self.is_loss else 1 - score


def make_scoring(scoring: Any, is_classes: bool) -> Scoring:
    """Return a score by name, as a function, or the default for classes or for numbers."""
    if scoring is None:
        if is_classes:
            return Scoring(share_right, takes_weight=True, is_loss=False)
        return Scoring(minus_median_error, takes_weight=True, is_loss=True)
    if not (isinstance(scoring, str) or callable(scoring)):
        raise TypeError(
            f"scoring={scoring!r} is of type {type(scoring).__name__}; needed the name of one "
            "score, a function of (estimator, X, y), or None"
        )
    function = get_scorer(scoring)
    metric = getattr(function, "_score_func", function)  # of scikit-learn's own scorers
    takes_weight = "sample_weight" in inspect.signature(metric).parameters
    return Scoring(function, takes_weight, is_loss=getattr(function, "_sign", 1) < 0)


def share_right(
    model: Any, X: Any, y: npt.NDArray[Any], sample_weight: npt.NDArray[np.float64] | None = None
) -> float:
    """Return the accuracy: of predictions, so that a constant model is right about some rows."""
    return float(np.average(model.predict(X) == y, weights=sample_weight))


def minus_median_error(
    model: Any, X: Any, y: npt.NDArray[Any], sample_weight: npt.NDArray[np.float64] | None = None
) -> float:
    """Return the median absolute error, of the mass of the rows, with its sign turned."""
    error = np.abs(model.predict(X) - y)
    mass = float(len(y) if sample_weight is None else sample_weight.sum())
    half = min(0.5, mass / 2)  # a row in the middle, or half of each of two
    middle = Mass(mass / 2 - half), Mass(mass / 2 + half)
    return -float(average_ranked_range(error, *middle, sample_weight=sample_weight))
