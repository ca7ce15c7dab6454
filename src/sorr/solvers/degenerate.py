"""Minima that are worth nothing: found before fitting, or told apart afterwards."""

from __future__ import annotations

import numpy as np

from sorr.objectives import RankedRangeObjective

__all__ = ["refuse_droppable_class"]


def refuse_droppable_class(objective: RankedRangeObjective) -> None:
    """Refuse to drop so much that a whole class could go: the intercept would run away.

    If every row of a class fits above rank m, predicting the other classes everywhere costs
    nothing, and the infimum of the objective is that of a problem without the class.
    """
    classes = objective.strata
    if classes is None or objective.is_convex:
        return
    masses = objective.groups.masses
    names, index = np.unique(classes, return_inverse=True)
    kept = np.zeros(len(names), dtype=bool)
    for group in objective.groups:
        mass = np.bincount(index[group.rows], masses[group.rows], len(names))
        kept |= mass > group.m * (1 + 1e-12)
    if kept.all():
        return
    lost = int(np.flatnonzero(~kept)[0])
    size = float(masses[index == lost].sum())
    raise ValueError(
        f"class {names[lost]:g} has a mass of {size:g}, and m allows to drop all of it: the best "
        "model would then ignore that class; lower m below it, rank within classes "
        "(groups=y), or give the class more weight"
    )
