"""Grids of (m, k, C): which points they have, which of them are possible, and which is best."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics import get_scorer

from sorr._checks import as_inverse_ridge, check_choice, suggest
from sorr._typing import FloatArray, IntArray, Weight
from sorr.estimators.base import prefix_errors
from sorr.estimators.ranked_range import Ranks, ranks_in_all, ranks_in_classes
from sorr.ranked import Mass, RankedRange, average_ranked_range

_DROPPED = (0, 0.01, 0.02, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3, 0.35)
_LAST_RANKS = (1, *(round(0.1 * i, 1) for i in range(1, 10)), None)
_GRIDS: dict[str, dict[str, tuple[Any, ...]]] = {
    "default": {"m": _DROPPED, "k": (None,), "C": (1.0, 1e2, 1e4)},
    "paper": {"m": _DROPPED, "k": _LAST_RANKS, "C": (1.0, 10.0, 1e2, 1e3, 1e4, 1e5)},
}
_MAX_DROPPED = 0.8  # of the smallest class: pooled ranks that may drop more end in useless minima
_TIED = 1e-3  # of the lowest error: what is left to gain by polishing solutions
_ROUNDING = 1e-9  # difference between errors that are equal

# -- Points of a grid ------------------------------------------------------------------------------


class GridPoint(NamedTuple):
    """One combination of parameters."""

    m: int | float
    k: int | float | None
    C: float


class Grid(NamedTuple):
    """The values of each parameter in ascending order; a k of None comes last."""

    m: tuple[int | float, ...]
    k: tuple[int | float | None, ...]
    C: tuple[float, ...]

    @property
    def shape(self) -> tuple[int, int, int]:
        """The numbers of values of C, k and m."""
        return len(self.C), len(self.k), len(self.m)

    def points(self) -> list[GridPoint]:
        """Return all combinations. m changes fastest and C slowest."""
        return [GridPoint(m, k, C) for C, k, m in product(self.C, self.k, self.m)]


@dataclass(frozen=True)
class ClassMasses:
    """The masses that ranks refer to: of the classes, or of all rows.

    Attributes
    ----------
    masses : ndarray
        Integers if they are numbers of rows, so that fractions become whole rows.
    classes : list
        The names of the classes; empty where targets are numbers.
    is_pooled : bool
        Whether all rows are ranked together.
    """

    masses: npt.NDArray[Any]
    classes: list[Any]
    is_pooled: bool

    @classmethod
    def of(
        cls,
        index: IntArray,
        weight: Weight | None,
        *,
        classes: Sequence[Any] = (),
        factor: Weight | None = None,
        is_pooled: bool = True,
    ) -> ClassMasses:
        """Return the masses of rows, from the index of each row's class, or zeros."""
        if is_pooled and factor is not None:
            weight = factor[index] * (1.0 if weight is None else weight)
        masses = np.bincount(index, weight, max(len(classes), 1))
        if weight is None or bool(np.all(weight % 1 == 0)):
            masses = np.rint(masses).astype(np.int64)
        return cls(masses, list(classes), is_pooled)

    def ranks(self, m: int | float, k: int | float | None) -> Ranks:
        """Return the ranks in mass, or raise an error."""
        find_ranks = ranks_in_all if self.is_pooled else ranks_in_classes
        return find_ranks(m, k, self.masses, self.classes)

    def obstacle(self, m: int | float, k: int | float | None) -> str:
        """Return why ranks are impossible or not worth a try; an empty text if they are not."""
        try:
            low = self.ranks(m, k).m[0]
        except ValueError as error:
            return str(error)
        if self.is_pooled and self.classes and low > _MAX_DROPPED * self.masses.min():
            smallest = self.classes[int(self.masses.argmin())]
            return (
                f"m={m!r} may drop {low:g} rows, more than {_MAX_DROPPED:g} of the "
                f"{self.masses.min():g} rows of class {smallest!r}"
            )
        return ""


def make_grid(grid: Any, classes: ClassMasses) -> Grid:
    """Return a grid by name, or from values for some of m, k and C; the others are the default."""
    if not isinstance(grid, str | Mapping):
        raise TypeError(
            f"grid={grid!r} is of type {type(grid).__name__}; needed a name, "
            f"{' or '.join(map(repr, _GRIDS))}, or a mapping such as {{'m': [0, 0.1]}}"
        )
    if isinstance(grid, str):
        check_choice("grid", grid, tuple(_GRIDS))
        given = dict(_GRIDS[grid])
        if not classes.is_pooled:  # within classes, a count of one has two readings
            given["k"] = tuple(k for k in given["k"] if k != 1)
    else:
        names = list(_GRIDS["default"])
        if strangers := [name for name in grid if name not in names]:
            hint = suggest(strangers[0], names, most=1, cutoff=0.1)
            raise ValueError(f"grid has values of {strangers[0]!r}, which is not searched; {hint}")
        given = {name: _as_values(name, values) for name, values in grid.items()}
    values = {**_GRIDS["default"], **given}
    for m in values["m"]:
        _check_rank("m", m, classes)
    for k in values["k"]:
        if k is not None:
            _check_rank("k", k, classes)
    with prefix_errors("grid['C']"):
        inverse_ridges = {as_inverse_ridge(C) for C in values["C"]}
    total = float(classes.masses.sum())
    return Grid(
        m=tuple(sorted(dict.fromkeys(values["m"]), key=lambda m: size_of(m, total))),
        k=tuple(sorted(dict.fromkeys(values["k"]), key=lambda k: (k is None, size_of(k, total)))),
        C=tuple(sorted(inverse_ridges)),
    )


def size_of(rank: int | float | None, total: float) -> float:
    """Return a rank in rows or mass. None is the last rank."""
    if rank is None:
        return total
    return rank * total if 0 < rank < 1 else float(rank)


def _as_values(name: str, values: Any) -> tuple[Any, ...]:
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise TypeError(f"grid[{name!r}]={values!r} is not a list; needed a list, [{values!r}]")
    listed = tuple(values)
    if not listed:
        raise ValueError(f"grid[{name!r}] is empty; needed at least one value")
    return listed


def _check_rank(name: str, rank: Any, classes: ClassMasses) -> None:
    """Refuse what is not a rank for any data, and counts within classes."""
    if isinstance(rank, str):
        raise ValueError(
            f"grid[{name!r}] holds {rank!r}; needed counts or fractions: m='auto' is a choice of "
            "RankedRangeClassifier and RankedRangeRegressor, which find m instead of trying values"
        )
    if isinstance(rank, Mapping):
        raise TypeError(
            f"grid[{name!r}] holds {rank!r}; needed counts or fractions, which hold in each class: "
            "RankedRangeClassifier takes a mapping"
        )
    ranks = RankedRange(rank) if name == "m" else RankedRange(0, rank)
    is_count = isinstance(rank, int | np.integer) and rank != 0
    if is_count and not classes.is_pooled:
        classes.ranks(*ranks)  # raises an error that gives both readings


# -- From the error of each point to the best one --------------------------------------------------


def ranking_of(error: FloatArray, points: Sequence[GridPoint], total: float) -> list[int]:
    """Return the positions of the points from best to worst, without those that have no error.

    Points within a thousandth of the lowest error are tied. Among them the average loss comes
    first, then the point that keeps most ranks, then the smallest C, then the smallest m.

    Parameters
    ----------
    error : ndarray of shape (n_points,)
        Lower is better. NaN for points that were left out.
    points : sequence of GridPoint
    total : float
        The number of rows, or their mass.

    Examples
    --------
    >>> points = [GridPoint(0, None, 1.0), GridPoint(0.1, None, 1.0), GridPoint(0.2, None, 1.0)]
    >>> ranking_of(np.array([0.2, 0.1, 0.1]), points, total=100)
    [1, 2, 0]
    """

    def preference(i: int) -> tuple[bool, float, float, float]:
        m, k, C = points[i]
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


def mean_of_neighbours(error: FloatArray, shape: tuple[int, int, int]) -> FloatArray:
    """Return the mean error of each point and its neighbours in the grid, ignoring NaN."""
    cube = np.pad(error.reshape(shape), 1, constant_values=np.nan)
    total, number = np.zeros(shape), np.zeros(shape)
    for shift in product(range(3), repeat=3):
        part = cube[tuple(slice(s, s + size) for s, size in zip(shift, shape, strict=True))]
        has_error = ~np.isnan(part)
        total += np.where(has_error, part, 0.0)
        number += has_error
    mean = np.where(np.isnan(cube[1:-1, 1:-1, 1:-1]), np.nan, total / np.maximum(number, 1))
    return np.asarray(mean.ravel())


# -- Scores of a fitted model on rows it has not seen ----------------------------------------------


class Scoring(NamedTuple):
    """A score, the larger the better, and how to read it."""

    function: Callable[..., Any]
    """Takes a fitted estimator, rows and targets."""
    takes_weight: bool
    """Whether it takes the masses of rows too."""
    is_loss: bool
    """Whether it is minus an error, rather than one minus an error."""

    def score(self, model: Any, X: Any, y: npt.NDArray[Any], weight: Weight | None) -> float:
        """Return the score of a model."""
        if weight is not None and self.takes_weight:
            return float(self.function(model, X, y, sample_weight=weight))
        return float(self.function(model, X, y))

    def error(self, score: FloatArray) -> FloatArray:
        """Return scores as errors, the smaller the better."""
        return -score if self.is_loss else 1 - score


def make_scoring(scoring: Any, is_classes: bool) -> Scoring:
    """Return a score by name, as a function, or the default for classes or for numbers."""
    if scoring is None:
        if is_classes:
            return Scoring(_accuracy, takes_weight=True, is_loss=False)
        return Scoring(_minus_median_error, takes_weight=True, is_loss=True)
    if not (isinstance(scoring, str) or callable(scoring)):
        raise TypeError(
            f"scoring={scoring!r} is of type {type(scoring).__name__}; needed the name of one "
            "score, a function of (estimator, X, y), or None"
        )
    function = get_scorer(scoring)
    metric = getattr(function, "_score_func", function)  # of scikit-learn's own scorers
    takes_weight = "sample_weight" in inspect.signature(metric).parameters
    return Scoring(function, takes_weight, is_loss=getattr(function, "_sign", 1) < 0)


def _accuracy(
    model: Any, X: Any, y: npt.NDArray[Any], sample_weight: Weight | None = None
) -> float:
    return float(np.average(model.predict(X) == y, weights=sample_weight))


def _minus_median_error(
    model: Any, X: Any, y: npt.NDArray[Any], sample_weight: Weight | None = None
) -> float:
    """Return minus the median absolute error, where rows count by their mass."""
    error = np.abs(model.predict(X) - y)
    mass = float(len(y) if sample_weight is None else sample_weight.sum())
    half = min(0.5, mass / 2)  # a row in the middle, or half of each of two
    middle = Mass(mass / 2 - half), Mass(mass / 2 + half)
    return -float(average_ranked_range(error, *middle, sample_weight=sample_weight))
