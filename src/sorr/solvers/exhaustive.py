"""The global minimum of a tiny problem, by trying every set of rows that could be dropped."""

from __future__ import annotations

from itertools import combinations, product
from math import comb, prod

import numpy as np

from sorr.objectives import Groups, RankedRangeObjective
from sorr.solvers.base import Solution, Status, Step, describe
from sorr.solvers.fast import Point, evaluate
from sorr.solvers.topsum import minimise_top_sum

__all__ = ["exhaustive"]

_MOST = 20_000


def exhaustive(objective: RankedRangeObjective, *, tol: float = 1e-6) -> Solution:
    r"""Minimise by enumeration: slow, obvious, and a referee for everything else.

    Since :math:`\psi_{m,k}(s) = \min_{|U| = m} \phi_{k-m}(s_{-U})`, the minimum of the objective is the
    lowest among those of the convex problems without a set U of m rows in each group. Each is
    solved to a certified gap.

    Parameters
    ----------
    objective : RankedRangeObjective
        Of rows without weights, with few ways to drop m of them.
    tol : float, default=1e-6
        The gap to which each convex problem is solved.

    Returns
    -------
    Solution
        Its `gap` is that of the worst among the convex problems that matter: no point is lower by more
        than that, relative to the objective.
    """
    groups = objective.groups
    if groups.weight is not None or any(not group.m.is_integer() for group in groups):
        raise ValueError(
            "exhaustive drops whole rows, and is given weights or a fractional m; "
            "repeat rows instead of weighing them, and give m as a count"
        )
    members = [np.arange(objective.n_samples)[group.rows] for group in groups]
    ways = prod(comb(len(rows), int(g.m)) for g, rows in zip(groups, members, strict=True))
    if ways > _MOST:
        raise ValueError(
            f"there are {ways} sets of rows to drop; needed at most {_MOST}: use trim, or fewer rows"
        )
    before = objective.design.passes
    best: Point | None = None
    floor = np.inf
    trace = []
    choices = [combinations(rows, int(g.m)) for g, rows in zip(groups, members, strict=True)]
    for number, dropped in enumerate(product(*choices)):
        convex = _without(objective, [row for part in dropped for row in part])
        found = minimise_top_sum(convex, evaluate(convex, np.zeros(objective.shape)), tol=tol)
        floor = min(floor, found.bound)
        if best is None or found.point.value < best.value:
            best = found.point
        trace.append(Step(number, "exhaustive", best.value, objective.design.passes - before))
    assert best is not None
    value = objective.value_at(best.raw, best.theta)
    gap = max(value - floor, 0.0) / value if value > 0 else 0.0
    return Solution(
        theta=best.theta,
        objective=value,
        gap=gap,
        status=Status.OPTIMAL if gap <= tol else Status.UNCERTIFIED,
        fixed_point=True,
        passes=objective.design.passes - before,
        trace=tuple(trace),
        minima=(describe(objective, best.theta, best.raw),),
        row_weights=objective.shares(best.raw),
        n_features=objective.design.n_features,
    )


def _without(objective: RankedRangeObjective, rows: list[int]) -> RankedRangeObjective:
    masses = np.ones(objective.n_samples)
    masses[rows] = 0.0
    groups = tuple(
        group._replace(m=0.0, k=group.width, mass=group.mass - group.m)
        for group in objective.groups
    )
    return objective.with_groups(Groups(groups, objective.n_samples, masses))
