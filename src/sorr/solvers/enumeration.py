"""The global minimum of a tiny problem, by trying every set of rows that could be dropped."""

from __future__ import annotations

from itertools import combinations, product
from math import comb, prod

import numpy as np

from sorr._typing import BoolArray
from sorr.objectives import Point, RankedRangeObjective, refuse_lost_class
from sorr.solvers.convex import Certified, minimise_top_sum
from sorr.solvers.solution import Solution, Status, Trace, restore_targets

_MAX_SETS = 20_000  # of rows to drop: enumeration takes minutes beyond
_SUPPORT = 1e-7  # relative to the largest dual weight; smaller ones are rounding errors


def exhaustive(objective: RankedRangeObjective, *, tol: float = 1e-6) -> Solution:
    r"""Minimise by enumeration: slow and simple, a referee for the other solvers.

    Since :math:`\psi_{m,k}(s) = \min_{|U| = m} \phi_{k-m}(s_{-U})`, the minimum of the objective is
    the lowest minimum of the convex problems without a set U of m rows in each group. Each is
    solved to a certified gap, unless an earlier bound holds for it as well: one whose dual weights
    are zero on all rows of U.

    Parameters
    ----------
    objective : RankedRangeObjective
        With rows without weights, and few ways to drop m of them.
    tol : float, default=1e-6
        The gap to which each convex problem is solved.

    Returns
    -------
    Solution
        Its `gap` bounds the distance to the global minimum, relative to the objective, also if
        the minimum is a constant model.
    """
    refuse_lost_class(objective)
    if not objective.loss.convex:
        raise ValueError(
            f"exhaustive is given {objective.loss.name}, which is not convex; needed a convex "
            "loss, because only sets of rows are tried: use trim instead"
        )
    given, objective = objective, objective.clip_targets()
    groups = objective.groups
    if groups.weight is not None or any(not group.m.is_integer() for group in groups):
        raise ValueError(
            "exhaustive drops whole rows, and is given weights or a fractional m; "
            "repeat rows instead of weighing them, and give m as a count"
        )
    members = [np.arange(objective.n_samples)[group.rows] for group in groups]
    ways = prod(comb(len(rows), int(g.m)) for g, rows in zip(groups, members, strict=True))
    if ways > _MAX_SETS:
        raise ValueError(
            f"there are {ways} sets of rows to drop; needed at most {_MAX_SETS}: "
            "use trim, or fewer rows"
        )
    best: Point | None = None
    floor = np.inf
    trace = Trace(objective)
    proofs: list[tuple[BoolArray, float]] = []
    choices = [combinations(rows, int(g.m)) for g, rows in zip(groups, members, strict=True)]
    for number, dropped in enumerate(product(*choices)):
        rows = [row for part in dropped for row in part]
        if best is not None and any(
            bound >= best.value * (1 - tol / 2) and not support[rows].any()
            for support, bound in proofs
        ):
            continue
        convex = _without(objective, rows)
        start = convex.at(np.zeros(objective.shape))
        certified = minimise_top_sum(convex, start, tol=tol / 2)
        floor = min(floor, certified.bound)
        proofs.append(_proof(convex, certified))
        if best is None or certified.point.value < best.value:
            best = certified.point
        trace.add(number, "exhaustive", best.value)
    assert best is not None
    end = objective.at(best.theta, best.raw)
    floor = min(floor, end.value * (1 - tol / 2) if len(proofs) < ways else np.inf)
    gap = max(end.value - floor, 0.0) / end.value if end.value > 0 else 0.0
    solution = Solution.at(
        objective,
        end,
        status=Status.OPTIMAL if gap <= tol else Status.UNCERTIFIED,
        trace=trace,
        gap=gap,
        fixed_point=True,
    )
    return restore_targets(given, objective, solution)


def _proof(convex: RankedRangeObjective, certified: Certified) -> tuple[BoolArray, float]:
    """Return which rows have dual weights, and the bound of these weights."""
    weights = certified.weights
    if callable(weights):
        weights = weights(certified.point.raw)
    weights = np.where(weights > _SUPPORT * weights.max(), weights, 0.0)
    return np.asarray(weights.any(axis=1)), convex.lower_bound(certified.point, weights)


def _without(objective: RankedRangeObjective, rows: list[int]) -> RankedRangeObjective:
    """Return the convex problem without some rows, m in each group."""
    masses = np.ones(objective.n_samples)
    masses[rows] = 0.0
    return objective.with_groups(objective.groups.after_dropping(masses))
