"""A smaller problem that stands for the whole: some rows of each group and class."""

from __future__ import annotations

import numpy as np

from sorr.objectives import Groups, RankedRangeObjective

__all__ = ["draw_sample"]


def draw_sample(
    objective: RankedRangeObjective, size: int, rng: np.random.Generator
) -> RankedRangeObjective:
    """Return the objective of a sample, with the ends of each range at the same shares of mass."""
    weight = objective.groups.weight
    rows, groups, taken = [], [], 0
    for group in objective.groups:
        if isinstance(group.rows, slice):
            everything = np.arange(objective.n_samples)
        else:
            everything = group.rows
        wanted = min(len(everything), max(2, round(size * len(everything) / objective.n_samples)))
        chosen = np.sort(rng.choice(everything, wanted, replace=False))
        mass = float(wanted) if weight is None else float(weight[chosen].sum())
        share = mass / group.mass
        if share == 0:
            continue
        rows.append(chosen)
        groups.append(
            group._replace(
                rows=np.arange(taken, taken + wanted),
                m=group.m * share,
                k=group.k * share,
                mass=mass,
                scale=group.scale / share,
            )
        )
        taken += wanted
    every = np.concatenate(rows)
    if len(groups) == 1:
        groups[0] = groups[0]._replace(rows=slice(None))
    weights = None if weight is None else weight[every]
    return objective.take(every, Groups(tuple(groups), taken, weights))
