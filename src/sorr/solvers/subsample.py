"""A sample of the rows of an objective whose ranks leave room for more outliers than expected."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sorr.objectives import Group, Groups, RankedRangeObjective

__all__ = ["subsample"]

_FEWEST = 10  # rows of a class that are taken, if it has them


def subsample(
    objective: RankedRangeObjective,
    size: int,
    rng: np.random.Generator,
    *,
    precaution: float = 3.0,
) -> RankedRangeObjective:
    """Return the objective of about `size` rows, drawn from each group and class in proportion.

    The ranks shrink with the mass, except that more is dropped from the top as a precaution: so
    many standard deviations of the number of outliers a sample may hold, yet never a whole class.
    All rows are kept, with their ranks as they are, if there are no more than `size`.
    """
    if objective.n_samples <= size:
        return objective
    every = np.arange(objective.n_samples)
    weight = objective.groups.weight
    chosen, groups, start = [], [], 0
    for group in objective.groups:
        rows = every[group.rows]
        if weight is not None:
            rows = rows[weight[rows] > 0]
        classes = [rows]
        if objective.classes is not None:
            names, index = objective.classes
            own = index if isinstance(group.rows, slice) and weight is None else index[rows]
            classes = [rows[own == label] for label in range(len(names))]
            classes = [part for part in classes if part.size]
        share = size / objective.n_samples
        drawn = [_draw(part, share, rng) for part in classes]
        masses = [float(len(part) if weight is None else weight[part].sum()) for part in drawn]
        taken = np.concatenate(drawn)
        at = np.arange(start, start + len(taken))
        least = min(masses) if len(masses) > 1 else math.inf
        whole = weight is None
        width = objective.design.n_parameters
        groups.append(_shrunk(group, at, sum(masses), least, width, whole, precaution))
        chosen.append(taken)
        start += len(taken)
    index = np.concatenate(chosen)
    masses_taken = None if weight is None else weight[index]
    return objective.take(index, Groups(tuple(groups), len(index), masses_taken))


def _draw(
    rows: npt.NDArray[np.intp], share: float, rng: np.random.Generator
) -> npt.NDArray[np.intp]:
    wanted = min(len(rows), max(_FEWEST, round(share * len(rows))))
    return np.sort(rng.choice(rows, wanted, replace=False, shuffle=False))


def _shrunk(
    group: Group,
    rows: npt.NDArray[np.intp],
    mass: float,
    least: float,
    width: int,
    whole: bool,
    precaution: float,
) -> Group:
    """Return a group with its ranks in proportion to the mass of its sample, and a precaution."""
    ratio = mass / group.mass
    unit = mass / len(rows)
    expected = group.m * ratio
    m = expected + precaution * unit * math.sqrt(expected / unit)
    for limit in (mass, least):
        if limit > expected:
            m = min(m, (expected + limit) / 2)
    k = min(mass, max(group.k * ratio + m - expected, m + width * unit))
    if whole:
        m, k = float(math.floor(m)), float(math.ceil(k))
    scale = group.scale * group.width / (k - m)
    return group._replace(rows=rows, m=m, k=k, mass=mass, scale=scale)
