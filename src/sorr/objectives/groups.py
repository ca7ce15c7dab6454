"""Which rows are ranked together: groups of rows, each with its own ranks, averaged by mass."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sorr._typing import BoolArray, FloatArray, IntArray, Weight
from sorr.ranked import Mass, RankedRange, ranked_range_weights

Rank: TypeAlias = "int | float | Mapping[Any, int | float | None] | None"
Rows: TypeAlias = "IntArray | slice"

_ROUNDING = 1e-9  # relative differences of masses below this are rounding errors
_MAX_COMPARED_LABELS = 16  # labels up to which a comparison with each is faster than sorting


class Group(NamedTuple):
    """Some of the rows, the ranks that are kept, and how much their sum counts.

    The group adds `scale` times the sum of its ranked range to the objective. `scale` is the
    share of the group in the total mass, divided by k - m.
    """

    label: Hashable
    rows: Rows
    m: float
    k: float
    mass: float
    scale: float

    @property
    def width(self) -> float:
        """The mass that is kept."""
        return self.k - self.m

    @property
    def is_full(self) -> bool:
        """Whether all of the mass is kept, so that nothing is ranked."""
        return self.m == 0 and self.k >= self.mass * (1 - _ROUNDING)


@dataclass(frozen=True)
class Groups:
    """The groups of all rows, and the mass of each row.

    A row outside all groups does not count. All masses are one if `weight` is None.
    """

    groups: tuple[Group, ...]
    n_samples: int
    weight: Weight | None = None

    @classmethod
    def of(
        cls,
        n_samples: int,
        m: Rank,
        k: Rank,
        labels: npt.ArrayLike | None = None,
        weight: Weight | None = None,
    ) -> Groups:
        """Return the groups by label; without labels, all rows as one group."""
        is_grouped = labels is not None
        total = float(n_samples) if weight is None else float(weight.sum())
        members = list(_split_by_label(n_samples, labels))
        if is_grouped:
            _refuse_unknown_groups(m, k, [label for label, _ in members])
        groups = []
        for label, rows in members:
            if weight is None:
                size: int | float = n_samples if isinstance(rows, slice) else len(rows)
            else:
                size = float(weight[rows].sum())
            if size == 0:
                continue
            lower, upper = (
                _rank_of_group(name, rank, label, is_grouped=is_grouped)
                for name, rank in (("m", m), ("k", k))
            )
            try:
                ends = RankedRange(0 if lower is None else lower, upper).resolve(size)
            except ValueError as error:
                raise ValueError(f"in group {label!r}: {error}" if is_grouped else error) from None
            low, high = float(ends.m), float(ends.k or size)
            scale = float(size) / total / (high - low)
            groups.append(Group(label, rows, m=low, k=high, mass=float(size), scale=scale))
        return cls(tuple(groups), n_samples, weight)

    def __iter__(self) -> Iterator[Group]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def masses(self) -> Weight:
        """The mass of each row."""
        return np.ones(self.n_samples) if self.weight is None else self.weight

    @property
    def is_full(self) -> bool:
        """Whether nothing is ranked in any group."""
        return all(group.is_full for group in self)

    def of_rows(self) -> tuple[IntArray | None, Weight | None]:
        """Return the number of the group and the mass of each row, None if all are alike."""
        if len(self) == 1 and isinstance(self.groups[0].rows, slice):
            return None, self.weight
        number: IntArray = np.full(self.n_samples, len(self), dtype=np.int32)
        mass = self.weight
        for g, group in enumerate(self):
            number[group.rows] = g
        if (outside := number == len(self)).any():
            number[outside] = 0
            mass = np.where(outside, 0.0, self.masses)
        return number, mass

    def strata(self, classes: npt.NDArray[Any] | None) -> dict[tuple[int, Any], Stratum]:
        """Return the number and the mass of the rows of each group and class."""
        return count_strata(split_strata(self._counted(), classes), self.weight)

    def _counted(self) -> Iterator[BoolArray]:
        """Yield which rows of each group have a mass."""
        for group in self:
            counts = np.zeros(self.n_samples, dtype=bool)
            counts[group.rows] = True if self.weight is None else self.weight[group.rows] > 0
            yield counts

    def shares(self, order: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return how much each row counts in the objective; ties share equally.

        `order` is any array that ranks the rows in the order of their losses.
        """
        if len(self.groups) == 1 and isinstance(self.groups[0].rows, slice):
            return self._shares(self.groups[0], order)
        shares = np.zeros_like(order)
        for group in self:
            shares[group.rows] = self._shares(group, order[group.rows])
        return shares

    def _shares(self, group: Group, order: npt.NDArray[Any]) -> npt.NDArray[Any]:
        weight = None if self.weight is None else self.weight[group.rows]
        if group.is_full:
            if weight is None:
                return np.full_like(order, group.scale)
            return (group.scale * weight).astype(order.dtype, copy=False)
        if group.width == 0:
            return np.zeros_like(order)
        if weight is None and group.m.is_integer() and group.k.is_integer():
            shares = ranked_range_weights(order, int(group.m), int(group.k))
        else:
            shares = ranked_range_weights(order, Mass(group.m), Mass(group.k), sample_weight=weight)
        shares *= order.dtype.type(group.scale)
        return shares

    def dropped(self, order: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return how much of the mass of each row ranks above m; ties share equally."""
        top = tuple(group._replace(m=0.0, k=group.m, scale=1.0) for group in self)
        return replace(self, groups=top).shares(order)

    def with_ends(self, which: str) -> Groups:
        """Return the groups of one convex part, phi of k or phi of m.

        The scales stay, so that the first part minus the second is the objective.
        """
        return replace(
            self, groups=tuple(g._replace(m=0.0, k=g.k if which == "k" else g.m) for g in self)
        )

    def whole(self) -> Groups:
        """Return the groups with nothing ranked; each counts as much as before."""
        full = tuple(
            group._replace(m=0.0, k=group.mass, scale=group.scale * group.width / group.mass)
            for group in self
        )
        return replace(self, groups=full)

    def trimmed(self, order: npt.NDArray[Any]) -> Groups:
        """Return the groups without the mass ranked m or above: top sums of width k - m.

        Ties at rank m are broken by index, so that whole rows are dropped. Any way to break them
        gives a majoriser that touches the objective.
        """
        kept = self.masses.copy()
        for group in self:
            if group.m > 0:
                weight = None if self.weight is None else self.weight[group.rows]
                # In float32 a row that is dropped in full could seem to be dropped in part.
                ranks = order[group.rows].astype(np.float64, copy=False)
                dropped = ranked_range_weights(ranks, 0, Mass(group.m), sample_weight=weight)
                kept[group.rows] -= _drop_whole_rows(dropped, kept[group.rows])
        return self.after_dropping(np.maximum(kept, 0.0))

    def after_dropping(self, kept: Weight) -> Groups:
        """Return top sums of width k - m, given the masses left after m of each is dropped."""
        groups = tuple(g._replace(m=0.0, k=g.width, mass=g.mass - g.m) for g in self)
        return Groups(groups, self.n_samples, kept)


def _drop_whole_rows(dropped: FloatArray, mass: Weight) -> FloatArray:
    """Return the same total mass, taken from the tied rows one after the other."""
    tied = np.flatnonzero((dropped > 0) & (dropped < mass))
    if tied.size:
        before = np.cumsum(mass[tied]) - mass[tied]
        dropped[tied] = np.clip(dropped[tied].sum() - before, 0.0, mass[tied])
    return dropped


def _split_by_label(n_samples: int, labels: npt.ArrayLike | None) -> Iterator[tuple[Any, Rows]]:
    """Yield each label and its rows."""
    if labels is None:
        yield None, slice(None)
        return
    array = np.asarray(labels)
    if array.shape != (n_samples,):
        raise ValueError(
            f"groups has shape {array.shape}; needed one label for each of the {n_samples} rows"
        )
    if array.dtype.kind in "iu" and array.min() >= 0 and array.max() < _MAX_COMPARED_LABELS:
        for name in np.flatnonzero(np.bincount(array)).tolist():  # without sorting
            yield name, np.flatnonzero(array == name)
        return
    names, inverse = np.unique(array, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    ends = np.cumsum(np.bincount(inverse, minlength=len(names)))
    for name, start, stop in zip(names.tolist(), [0, *ends[:-1]], ends, strict=True):
        yield name, order[start:stop]


def _refuse_unknown_groups(m: Rank, k: Rank, labels: list[Any]) -> None:
    for name, rank in (("m", m), ("k", k)):
        if isinstance(rank, Mapping) and (unknown := [key for key in rank if key not in labels]):
            raise ValueError(
                f"{name}={rank!r} has an entry for {unknown[0]!r}, which is not a group; "
                f"needed {', '.join(map(repr, labels))}"
            )


def _rank_of_group(name: str, rank: Rank, label: Any, *, is_grouped: bool) -> Any:
    """Return the rank of one group, or raise an error."""
    if isinstance(rank, Mapping):
        if not is_grouped:
            raise TypeError(
                f"{name}={rank!r} is a mapping, but the rows have no groups; "
                "pass groups=, or a single number"
            )
        if label not in rank:
            raise ValueError(
                f"{name}={rank!r} has no entry for group {label!r}; needed one for each group"
            )
        return rank[label]
    if is_grouped and isinstance(rank, int | np.integer) and rank != 0:
        raise ValueError(
            f"{name}={rank} is a count, but the rows are ranked within groups: it could mean each "
            f"group or all of them together; pass a fraction such as {name}=0.1, which holds in "
            "each group, or a mapping from group to count"
        )
    return rank


# -- Strata: the rows of one group and class -------------------------------------------------------


class Stratum(NamedTuple):
    """The rows of one group and class that have a mass: their number and their mass."""

    size: int
    mass: float


def split_strata(
    groups: Iterable[BoolArray], classes: npt.NDArray[Any] | None
) -> dict[tuple[int, Any], IntArray]:
    """Return the rows by group and class, given which rows of a group count."""
    found = {}
    names = [None] if classes is None else class_names(classes)
    for g, mine in enumerate(groups):
        for name in names:
            rows = np.flatnonzero(mine if classes is None else mine & (classes == name))
            if len(rows):
                found[g, name] = rows
    return found


def count_strata(
    strata: Mapping[tuple[int, Any], IntArray], masses: Weight | None
) -> dict[tuple[int, Any], Stratum]:
    """Return the number and the mass of the rows of each stratum."""
    return {
        key: Stratum(len(rows), float(len(rows) if masses is None else masses[rows].sum()))
        for key, rows in strata.items()
    }


def class_names(labels: npt.NDArray[Any]) -> list[Any]:
    """Return the distinct labels, in order."""
    if not len(labels):
        return []
    low, high = labels.min(), labels.max()
    if np.all((labels == low) | (labels == high)):  # two classes need no sorting
        return [low.item(), high.item()] if low < high else [low.item()]
    return list(np.unique(labels).tolist())


# -- The schedule of the paper for k ---------------------------------------------------------------


@dataclass(frozen=True)
class KSchedule:
    """The share of the rows that k keeps, depending on the training accuracy.

    Below the first accuracy k keeps all rows. ``KSchedule.PAPER``, the default, is the schedule
    of the paper, section 4.1, after Kawaguchi and Lu: half of the rows from 70 % on, a quarter
    from 80 %, an eighth from 90 %, a sixteenth from 95 %, and one in 32 from 99.5 %.

    Parameters
    ----------
    accuracies : tuple of float
        Increasing, each above 0 and at most 1.
    fractions : tuple of float
        The share of the mass of each group to keep from each accuracy on: decreasing, strictly
        between 0 and 1.

    References
    ----------
    K. Kawaguchi, H. Lu, "Ordered SGD: a new stochastic optimization framework for empirical risk
    minimization", AISTATS 2020.

    Examples
    --------
    >>> groups = Groups.of(1000, m=20, k=None)
    >>> [KSchedule.PAPER.groups(groups, a).groups[0].k for a in (0.5, 0.7, 0.93, 1.0)]
    [1000.0, 500.0, 125.0, 31.0]
    """

    accuracies: tuple[float, ...] = (0.7, 0.8, 0.9, 0.95, 0.995)
    fractions: tuple[float, ...] = (1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32)

    PAPER: ClassVar[KSchedule]

    def __post_init__(self) -> None:
        if len(self.accuracies) != len(self.fractions):
            raise ValueError(
                f"{len(self.accuracies)} accuracies and {len(self.fractions)} fractions are "
                "given; needed a fraction for each accuracy"
            )
        levels = (0.0, *self.accuracies)
        if not all(low < high <= 1 for low, high in pairwise(levels)):
            raise ValueError(
                f"accuracies={self.accuracies} do not increase within 0 and 1; needed increasing "
                "numbers such as (0.7, 0.9)"
            )
        shares = (1.0, *self.fractions)
        if not all(high > low > 0 for high, low in pairwise(shares)):
            raise ValueError(
                f"fractions={self.fractions} do not decrease between 1 and 0; needed decreasing "
                "numbers such as (0.5, 0.25)"
            )

    def fraction(self, accuracy: float) -> float:
        """Return the share of the rows that k keeps at that training accuracy."""
        return (1.0, *self.fractions)[bisect_right(self.accuracies, accuracy)]

    def groups(self, groups: Groups, accuracy: float) -> Groups:
        """Return the groups with the k of that training accuracy; m and their shares stay.

        Without weights k is a whole number, rounded down as in the paper. If k would be m or
        less, one row more than m is kept, of average mass.
        """
        fraction = self.fraction(accuracy)
        return replace(groups, groups=tuple(_cut(group, groups, fraction) for group in groups))


def _cut(group: Group, groups: Groups, fraction: float) -> Group:
    mass = fraction * group.mass
    n_rows = len(groups.masses[group.rows])
    k = max(
        mass if groups.weight is not None else float(math.floor(mass)),
        group.m + group.mass / n_rows,
    )
    k = min(k, group.mass)
    return group._replace(k=k, scale=group.scale * group.width / (k - group.m))


KSchedule.PAPER = KSchedule()
