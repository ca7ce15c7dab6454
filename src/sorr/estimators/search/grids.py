"""Grids of (m, k, C): those with a name, those that users give, and which cells are possible."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr.estimators.base import check_choice
from sorr.estimators.ranks import Ends, pooled_ends, within_class_ends
from sorr.ranked import RankedRange

__all__ = ["Cell", "Grid", "Pool", "make_grid"]

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

    def ends(self, m: int | float, k: int | float | None) -> Ends:
        """Return the ranks in mass, or raise an error."""
        if self.is_pooled:
            return pooled_ends(m, k, self.masses, self.classes)
        return within_class_ends(m, k, self.masses, self.classes)

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
