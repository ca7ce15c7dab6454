r"""The default solver: drop the top m, solve the convex rest, repeat.

With the m largest losses of the current point dropped, the average of the top k - m of the others
is a convex majoriser of the objective that touches it there,

.. math:: \psi_{m,k}(S(\theta)) \le \phi_{k-m}(S_{-U_t}(\theta)),

so that a lower point of it is a lower point of the objective. It lies below the majoriser of the
paper's DCA, from the same point: no step is worse.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sorr.objectives import RankedRangeObjective
from sorr.objectives.design import FloatArray
from sorr.solvers.base import (
    Minimum,
    Progress,
    Solution,
    Status,
    Step,
    as_generator,
    as_start,
    describe,
)
from sorr.solvers.blur import sharpen, sharpens
from sorr.solvers.degenerate import refuse_droppable_class
from sorr.solvers.fast import Point, descend, evaluate
from sorr.solvers.topsum import minimise_top_sum, refuse_unknown_pieces

__all__ = ["trim"]

_TOUCHES = 1e-9  # relative distance below which a majoriser touches the objective
_SHORT = 5000  # rows up to which a fixed point is waited for, however small the decrease
_TINY = 1e-300
_DISTINCT = 1e-6  # relative difference from which on two objectives are two minima


def trim(
    objective: RankedRangeObjective,
    *,
    start: npt.ArrayLike | None = None,
    certify: bool = True,
    tol: float = 1e-6,
    max_iter: int = 50,
    random_state: int | np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Solution:
    rng = as_generator(random_state)
    refuse_droppable_class(objective)
    search = _Search(objective, tol, max_iter, rng, progress)
    search.run(0, as_start(objective, start), certify)
    return search.solution(certify)


class _Search:
    """The minima found so far, and the way to them."""

    def __init__(self, objective, tol, max_iter, rng, progress) -> None:
        self.objective = objective
        self.tol, self.max_iter, self.rng, self.progress = tol, max_iter, rng, progress
        self.trace: list[Step] = []
        self.before = objective.design.passes
        self.found: list[tuple[Point, float, bool, bool]] = []

    def record(self, start: int, phase: str, value: float) -> None:
        passes = self.objective.design.passes - self.before
        self.trace.append(Step(start, phase, value, passes))
        if self.progress is not None:
            self.progress(self.trace[-1])

    def run(self, number: int, theta: FloatArray, certify: bool) -> None:
        point = evaluate(self.objective, theta)
        self.record(number, "start", point.value)
        point = descend(
            self.objective,
            point,
            rng=self.rng,
            record=lambda p: self.record(number, "fast", p.value),
        )
        if sharpens(self.objective):
            point = sharpen(
                self.objective, point, record=lambda p: self.record(number, "fast", p.value)
            )
        if certify:
            self.found.append(self.concentrate(number, point))
        else:
            self.found.append((point, np.inf, False, True))

    def concentrate(self, number: int, point: Point) -> tuple[Point, float, bool, bool]:
        """Take trimming steps until the point is a fixed point, solved to the tolerance."""
        inner, gap, fixed = 1e-3, np.inf, False
        patient = self.objective.n_samples <= _SHORT
        for _ in range(self.max_iter):
            majoriser = self.objective.trimmed(point.raw)
            lower = minimise_top_sum(majoriser, evaluate(majoriser, point.theta, point.raw), tol=inner)
            moved = evaluate(self.objective, lower.point.theta, lower.point.raw)
            if moved.value > point.value:  # by rounding alone
                moved = point
            decrease = (point.value - moved.value) / max(moved.value, _TINY)
            gap = lower.gap
            fixed = lower.point.value - moved.value <= _TOUCHES * max(moved.value, _TINY)
            settled = fixed or (decrease < self.tol and not patient)
            if settled and (gap <= self.tol or inner <= self.tol):
                self.record(number, "trim", moved.value)
                return moved, gap, fixed, gap <= self.tol
            point = self.extrapolate(point, moved)
            self.record(number, "trim", point.value)
            inner = min(inner, self.tol if fixed else max(0.1 * decrease, self.tol))
        return point, gap, fixed, False

    def extrapolate(self, point: Point, moved: Point) -> Point:
        """Return a lower point further on: the majoriser is steeper than the objective."""
        step, draw = moved.theta - point.theta, moved.raw - point.raw
        best, t = moved, 1.5
        for _ in range(6):
            there = evaluate(self.objective, point.theta + t * step, point.raw + t * draw)
            if not there.value < best.value:
                break
            best, t = there, 1.5 * t
        return best

    def solution(self, certify: bool) -> Solution:
        objective = self.objective
        point, gap, fixed, done = min(self.found, key=lambda found: found[0].value)
        if not certify:
            status = Status.CONVERGED
        elif gap > self.tol:
            status = Status.UNCERTIFIED
        elif not fixed:
            status = Status.NOT_FIXED
        else:
            status = Status.OPTIMAL if objective.is_convex else Status.CERTIFIED
        return Solution(
            theta=point.theta,
            objective=point.value,
            gap=gap,
            status=status,
            fixed_point=fixed,
            passes=objective.design.passes - self.before,
            trace=tuple(self.trace),
            minima=self.minima(),
            row_weights=objective.shares(point.raw),
            n_features=objective.design.n_features,
        )

    def minima(self) -> tuple[Minimum, ...]:
        distinct: list[Point] = []
        for point, *_ in sorted(self.found, key=lambda found: found[0].value):
            if not distinct or point.value > distinct[-1].value * (1 + _DISTINCT):
                distinct.append(point)
        return tuple(describe(self.objective, p.theta, p.raw) for p in distinct)
