"""Few rows that stand for all: a sample, the same for any partitions; copies merged into one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import numpy as np

from sorr._typing import IntArray
from sorr.objectives.design import Design
from sorr.objectives.groups import Group, Groups
from sorr.objectives.kernels import Gathered, Stratum, distinct_rows, join

if TYPE_CHECKING:
    from sorr.objectives.objective import RankedRangeObjective
    from sorr.objectives.partitions import PartitionedObjective

_PRECAUTION = 3.0  # standard deviations of the number of outliers in a sample
_COMPARED_ROWS = 5000  # rows that are looked at to find out whether there are copies
_MIN_CLASS_ROWS = 10  # rows of each class in a sample, if the class has as many


def subsample(
    objective: RankedRangeObjective | PartitionedObjective,
    size: int,
    rng: np.random.Generator,
    *,
    precaution: float = _PRECAUTION,
) -> RankedRangeObjective:
    """Return the objective of about `size` rows, drawn from each group and class in proportion.

    Rows are drawn by their number among all rows of their group and class, so partitions do not
    matter. The ranks shrink with the mass. As a precaution more is dropped from the top:
    `precaution` standard deviations of the number of outliers in such a sample, yet never a whole
    class. The objective itself is returned if it has no more than `size` rows.
    """
    return Sample.draw(objective, size, rng).rank(precaution)


class Sample(NamedTuple):
    """Rows that were drawn from those of an objective, and how many of each group and class."""

    objective: RankedRangeObjective | PartitionedObjective
    drawn: dict[tuple[int, Any], IntArray] | None
    taken: Gathered | None

    @classmethod
    def draw(
        cls,
        objective: RankedRangeObjective | PartitionedObjective,
        size: int,
        rng: np.random.Generator,
    ) -> Self:
        """Draw about `size` rows, or take all if there are no more."""
        if objective.n_samples <= size:
            return cls(objective, None, None)
        share = size / objective.n_samples
        strata = objective.count_strata()
        drawn = {key: _draw(stratum.size, share, rng) for key, stratum in strata.items()}
        return cls(objective, drawn, objective.pick(drawn))

    def rank(self, precaution: float = _PRECAUTION) -> RankedRangeObjective:
        """Return the objective of the rows, with ranks in proportion and a precaution."""
        objective, drawn, taken = self
        if drawn is None or taken is None:
            return objective.in_memory()
        groups = []
        for g, group in enumerate(objective.groups):
            rows = np.flatnonzero(taken.group == g)
            ends = np.cumsum([len(which) for (label, _), which in drawn.items() if label == g])
            masses = [float(mass.sum()) for mass in np.split(taken.mass[rows], ends[:-1])]
            groups.append(
                _shrink(
                    group._replace(rows=rows),
                    sum(masses),
                    smallest_class=min(masses) if len(masses) > 1 else math.inf,
                    n_parameters=objective.n_features + 1,
                    is_count=not objective.is_weighted,
                    precaution=precaution,
                )
            )
        weight = taken.mass.astype(np.float64, copy=False) if objective.is_weighted else None
        return objective.with_rows(taken, Groups(tuple(groups), len(taken.y), weight))


def _draw(count: int, share: float, rng: np.random.Generator) -> IntArray:
    size = min(count, max(_MIN_CLASS_ROWS, round(share * count)))
    return np.sort(rng.choice(count, size, replace=False, shuffle=False))


def _shrink(
    group: Group,
    mass: float,
    *,
    smallest_class: float,
    n_parameters: int,
    is_count: bool,
    precaution: float,
) -> Group:
    """Return a group with its ranks in proportion to the mass of its sample, and a precaution."""
    ratio = mass / group.mass
    unit = mass / len(cast("IntArray", group.rows))
    expected = group.m * ratio
    m = expected + precaution * unit * math.sqrt(expected / unit)
    for limit in (mass, smallest_class):
        if limit > expected:
            m = min(m, (expected + limit) / 2)
    k = min(mass, max(group.k * ratio + m - expected, m + n_parameters * unit))
    if is_count:
        m, k = float(math.floor(m)), float(math.ceil(k))
    scale = group.scale * group.width / (k - m)
    return group._replace(m=m, k=k, mass=mass, scale=scale)


def seems_to_have_copies(objective: RankedRangeObjective) -> bool:
    """Guess whether at most half of the rows of an objective in memory are different.

    Equal rows have equal sums of their columns. Of many rows, some are looked at.
    """
    design, y = objective.design, objective.y
    if design.is_sparse or not design.n_features:
        return False
    some = slice(None, None, -(-objective.n_samples // _COMPARED_ROWS))
    with np.errstate(over="ignore", invalid="ignore"):
        sketch = design.X[some] @ np.cos(np.arange(1.0, design.n_features + 1))
        sketch = sketch + np.pi * (y[some] if y.ndim == 1 else y[some] @ np.arange(y.shape[1]))
    return 2 * len(np.unique(sketch)) <= len(sketch)


def merge_copies(
    objective: RankedRangeObjective | PartitionedObjective, taken: list[Gathered]
) -> RankedRangeObjective:
    """Return the objective of different rows, gathered from partitions, with merged masses."""
    rows = distinct_rows(join(taken))
    groups = tuple(
        group._replace(rows=np.flatnonzero(rows.group == g))
        for g, group in enumerate(objective.groups)
    )
    return objective.with_rows(rows, Groups(groups, len(rows.y), rows.mass.astype(np.float64)))


def constant_rows(
    objective: RankedRangeObjective,
    groups: Groups,
    strata: Mapping[tuple[int, Any], Stratum],
) -> RankedRangeObjective:
    """Return an objective without features: one row for each group and class, of their mass."""
    keys = list(strata)
    label = np.array([g for g, _ in keys])
    y = np.array([name for _, name in keys], dtype=objective.y.dtype)
    own = tuple(group._replace(rows=np.flatnonzero(label == g)) for g, group in enumerate(groups))
    return objective.replace(
        design=Design(np.zeros((len(keys), 0)), intercept=objective.design.intercept),
        y=y,
        groups=Groups(own, len(keys), np.array([strata[key].mass for key in keys])),
        shape=(int(objective.design.intercept), *objective.shape[1:]),
    )
