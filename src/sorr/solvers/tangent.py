"""How much each row counts in the tangent of the second convex part, and what ties mean for it."""

from __future__ import annotations

import numpy as np

from sorr._typing import FloatArray
from sorr.objectives import RankedRangeObjective

__all__ = ["parted_shares", "tangent_shares"]


def tangent_shares(
    objective: RankedRangeObjective,
    theta: FloatArray,
    raw: FloatArray,
    random: np.random.Generator,
) -> FloatArray:
    """Return how much each row counts above rank m: ties share, unless all rows are tied."""
    order = objective.loss.order(objective.y, raw)
    cut = [np.ptp(order[group.rows]) for group in objective.groups if group.m > 0]
    if cut and max(cut) == 0:
        return parted_shares(objective, theta, raw, random)
    return objective.convex_parts()[1].shares(raw)


def parted_shares(
    objective: RankedRangeObjective,
    theta: FloatArray,
    raw: FloatArray,
    random: np.random.Generator,
) -> FloatArray:
    """Return how much each row counts above rank m where ties are broken as they part downhill.

    Where everything is tied, as at zero, the slope with ties shared can make a point look
    stationary which is not: one that belongs to a direction of descent leads away from it. Where
    the slope vanishes the direction is a random one.
    """
    order = objective.loss.order(objective.y, raw)
    slope = objective.subgradient_at(raw, theta)
    if not np.linalg.norm(slope) > 1e-9:
        slope = random.standard_normal(slope.shape)
    rise = -objective.loss.gradient(objective.y, raw) * objective.design.predict(slope)
    rank = np.empty(len(order))
    rank[np.lexsort((rise if rise.ndim == 1 else rise.sum(axis=1), order))] = np.arange(len(order))
    return objective.convex_parts()[1].groups.shares(rank)
