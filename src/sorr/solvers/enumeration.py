"""The global minimum of a tiny problem, by trying every set of rows that could be dropped."""

from __future__ import annotations

from itertools import combinations, product
from math import comb, prod

import numpy as np
import numpy.typing as npt

from sorr.objectives import Groups, RankedRangeObjective
from sorr.solvers.certificate import lower_bound
from sorr.solvers.convex import Certified, minimise_top_sum
from sorr.solvers.descent import Point, evaluate
from sorr.solvers.solution import (
    Solution,
    Status,
    Step,
    describe,
    is_constant,
    recounted,
    refuse_lost_class,
    tamed,
)

__all__ = ["exhaustive"]

_MOST = 20_000


def exhaustive(objective: RankedRangeObjective, *, tol: float = 1e-6) -> Solution:
    r"""Minimise by enumeration: slow, obvious, and a referee for everything else.

    Since :math:`\psi_{m,k}(s) = \min_{|U| = m} \phi_{k-m}(s_{-U})`, the minimum of the objective is
    the lowest among those of the convex problems without a set U of m rows in each group. Each is
    solved to a certified gap, unless the dual weights of one that was solved before rest on none
    of the rows of U: then its bound holds here as well.

    Parameters
    ----------
    objective : RankedRangeObjective
        Of rows without weights, with few ways to drop m of them.
    tol : float, default=1e-6
        The gap to which each convex problem is solved.

    Returns
    -------
    Solution
        Its `gap` bounds the distance to the global minimum, relative to the objective, also where
        that is a constant model.
    """
    refuse_lost_class(objective)
    if not objective.loss.convex:
        raise ValueError(
            f"exhaustive is given {objective.loss.name}, which is not convex; needed a convex "
            "loss, since only sets of rows are tried: use trim instead"
        )
    given, objective = objective, tamed(objective)
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
            f"there are {ways} sets of rows to drop; needed at most {_MOST}: "
            "use trim, or fewer rows"
        )
    before = objective.design.passes
    best: Point | None = None
    floor = np.inf
    trace: list[Step] = []
    proofs: list[tuple[npt.NDArray[np.bool_], float]] = []
    choices = [combinations(rows, int(g.m)) for g, rows in zip(groups, members, strict=True)]
    for number, dropped in enumerate(product(*choices)):
        rows = [row for part in dropped for row in part]
        if best is not None and any(
            bound >= best.value * (1 - tol / 2) and not support[rows].any()
            for support, bound in proofs
        ):
            continue
        convex = _without(objective, rows)
        found = minimise_top_sum(convex, evaluate(convex, np.zeros(objective.shape)), tol=tol / 2)
        floor = min(floor, found.bound)
        proofs.append(_proof(convex, found))
        if best is None or found.point.value < best.value:
            best = found.point
        trace.append(Step(number, "exhaustive", best.value, objective.design.passes - before))
    assert best is not None
    value = objective.value_at(best.raw, best.theta)
    floor = min(floor, value * (1 - tol / 2) if len(proofs) < ways else np.inf)
    gap = max(value - floor, 0.0) / value if value > 0 else 0.0
    status = Status.OPTIMAL if gap <= tol else Status.UNCERTIFIED
    if status is Status.OPTIMAL and is_constant(objective, best.raw, value):
        status = Status.CONSTANT_MODEL
    solution = Solution(
        theta=best.theta,
        objective=value,
        gap=gap,
        status=status,
        fixed_point=True,
        passes=objective.design.passes - before,
        trace=tuple(trace),
        minima=(describe(objective, best.theta, best.raw),),
        row_weights=objective.shares(best.raw),
        groups=objective.groups,
        n_features=objective.design.n_features,
    )
    return recounted(given, solution)


def _proof(convex: RankedRangeObjective, found: Certified) -> tuple[npt.NDArray[np.bool_], float]:
    """Return the rows that dual weights rest on, and the bound of these weights."""
    assert found.weights is not None
    weights = np.where(found.weights > 1e-7 * found.weights.max(), found.weights, 0.0)
    return np.asarray(weights.any(axis=1)), lower_bound(convex, found.point.raw, weights)


def _without(objective: RankedRangeObjective, rows: list[int]) -> RankedRangeObjective:
    masses = np.ones(objective.n_samples)
    masses[rows] = 0.0
    groups = tuple(
        group._replace(m=0.0, k=group.width, mass=group.mass - group.m)
        for group in objective.groups
    )
    return objective.with_groups(Groups(groups, objective.n_samples, masses))
