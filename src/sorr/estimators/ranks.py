"""Ranks and class weights as users give them, in rows or mass of each group that is ranked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils import compute_class_weight

from sorr._typing import FloatArray
from sorr.estimators.linear import Rows
from sorr.ranked import RankedRange

__all__ = ["Ends", "class_factors", "ends_of_rows", "pooled_ends", "within_class_ends"]

Masses = npt.NDArray[Any]


class Ends(NamedTuple):
    """Ranks m and k of each group, in mass."""

    m: FloatArray
    k: FloatArray


def class_factors(
    class_weight: Any, y: npt.NDArray[Any], classes: npt.NDArray[Any], masses: Masses
) -> FloatArray | None:
    """Return what `class_weight` multiplies the mass of each class by; None if nothing."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":  # by mass, not by rows
        return np.asarray(masses.sum() / (len(classes) * masses))
    if isinstance(class_weight, Mapping):
        _refuse_strangers("class_weight", class_weight, classes.tolist())
        class_weight = dict(class_weight)
    elif not isinstance(class_weight, str):
        raise TypeError(
            f"class_weight={class_weight!r} is of type {type(class_weight).__name__}; needed a "
            "mapping from class to weight, or 'balanced'"
        )
    factors = np.asarray(compute_class_weight(class_weight, classes=classes, y=y), np.float64)
    if not (np.isfinite(factors).all() and (factors > 0).all()):
        raise ValueError(
            f"class_weight={class_weight!r} gives a class no positive weight; needed a number "
            "above 0 for each class: leave out the rows of a class that should not count"
        )
    return factors


def pooled_ends(m: Any, k: Any, masses: Masses, classes: Sequence[Any] = ()) -> Ends:
    """Return the ranks in all rows together.

    Parameters
    ----------
    m, k : int, float or None
        Counts or fractions.
    masses : ndarray
        The mass of each class, or of all rows: integers if it is a number of rows, so that
        fractions become whole rows.
    classes : sequence
        The names of the classes, if there are any: none of them may fit inside m.
    """
    for name, rank in (("m", m), ("k", k)):
        if isinstance(rank, Mapping):
            raise TypeError(
                f"{name}={rank!r} is a mapping, but all rows are ranked together; needed a single "
                f"number, or a classifier with ranking='within_class'"
            )
    low, high = _resolve(m, k, masses.sum())
    for label, mass in zip(classes, masses, strict=False):
        if 0 < mass <= low:
            raise ValueError(
                f"class {label!r} has {mass:g} of {masses.sum():g} rows and m={m!r} allows to drop "
                f"{low:g}: the best model would ignore that class; lower m below {mass:g} rows, "
                "use ranking='within_class', or give the class more weight"
            )
    return Ends(np.array([low]), np.array([high]))


def within_class_ends(m: Any, k: Any, masses: Masses, classes: Sequence[Any]) -> Ends:
    """Return the ranks in each class.

    Parameters
    ----------
    m, k : float, mapping or None
        A fraction holds in each class. A mapping gives a class its own count or fraction; a
        class it does not name drops nothing, or keeps all.
    masses : ndarray
        The mass of each class; see `pooled_ends`.
    classes : sequence
        Their names.
    """
    for name, rank in (("m", m), ("k", k)):
        if isinstance(rank, Mapping):
            _refuse_strangers(name, rank, classes)
        elif isinstance(rank, int | np.integer) and not isinstance(rank, bool) and rank != 0:
            _refuse_count(name, int(rank), masses, classes)
    RankedRange(0 if isinstance(m, Mapping) else m)  # what is no rank is none in any class
    RankedRange(0, None if isinstance(k, Mapping) else k)
    ends = []
    for label, mass in zip(classes, masses, strict=True):
        low = m.get(label, 0) if isinstance(m, Mapping) else m
        high = k.get(label) if isinstance(k, Mapping) else k
        try:
            ends.append(_resolve(low, high, mass))
        except (ValueError, TypeError) as error:
            raise type(error)(f"in class {label!r}: {error}") from None
    return Ends(np.array([low for low, _ in ends]), np.array([high for _, high in ends]))


def ends_of_rows(
    m: Any, k: Any, rows: Rows, groups: npt.NDArray[np.intp] | None, classes: Sequence[Any]
) -> Ends:
    """Return the ranks in each class that rows are ranked in, or in all rows together."""
    places = np.zeros(rows.X.shape[0], np.intp) if groups is None else groups
    masses: Masses = np.bincount(places, rows.weight, 1 if groups is None else len(classes))
    if rows.is_whole:
        masses = np.rint(masses).astype(np.int64)
    return pooled_ends(m, k, masses) if groups is None else within_class_ends(m, k, masses, classes)


def _resolve(m: Any, k: Any, mass: Any) -> tuple[float, float]:
    """Return both ends in mass; an integer mass is a number of rows, of which fractions are too."""
    total = int(mass) if isinstance(mass, np.integer) else float(mass)
    ends = RankedRange(m, k).resolve(total)
    return float(ends.m), float(total if ends.k is None else ends.k)


def _refuse_strangers(name: str, rank: Mapping[Any, Any], classes: Sequence[Any]) -> None:
    if strangers := [key for key in rank if key not in classes]:
        raise ValueError(
            f"{name}={rank!r} has an entry for {strangers[0]!r}, which is no class of y; "
            f"needed some of {', '.join(map(repr, classes))}"
        )


def _refuse_count(name: str, rank: int, masses: Masses, classes: Sequence[Any]) -> None:
    each = dict.fromkeys(list(classes)[:2], rank)
    raise ValueError(
        f"{name}={rank} is a count, but rows are ranked within each class: it can be read as "
        f"{rank} rows of every class and as {rank} rows in all; pass a mapping such as "
        f"{name}={each!r} for the first, ranking='pooled' for the second, or a fraction such as "
        f"{name}={min(rank / masses.sum(), 0.5):.2g}, which holds in each class"
    )
