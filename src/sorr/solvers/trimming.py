r"""The default solver: drop the top m, solve the convex rest, repeat.

With the m largest losses of the current point dropped, the average of the top k - m of the others
is a convex majoriser of the objective that touches it there,

.. math:: \psi_{m,k}(S(\theta)) \le \phi_{k-m}(S_{-U_t}(\theta)),

so that a lower point of it is a lower point of the objective. It lies below the majoriser of the
paper's DCA, from the same point: no step is worse.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._checks import as_count, as_generator, check_limits
from sorr.objectives import RankedRangeObjective
from sorr.solvers.convex import minimise_top_sum, polish, refuse_unknown_pieces
from sorr.solvers.descent import (
    Point,
    anneal,
    can_pass_corners,
    descend,
    evaluate,
    newton_past_corners,
)
from sorr.solvers.solution import (
    Progress,
    Solution,
    Status,
    Trace,
    as_start,
    clip_targets,
    describe,
    refuse_lost_class,
    restore_targets,
)
from sorr.solvers.starts import average_start, distinct, is_small, start_points

__all__ = ["trim"]

_SHORT = 5000  # rows up to which every start is polished, and fixed points are waited for
_POLISHED = 3  # starts that are polished
_WORSE = 1.5  # times the best objective: a start above is not worth a look at many rows
_SAME = 0.7  # relative distance of raw predictions below which starts of many rows are alike
_COPY = (500_000, 10_000_000)  # entries of X between which a copy in float32 pays
_NEAR = 5e-5  # decrease promised by the last step of the fast phase, relative to the objective
_CLOSE = 2e-6  # the same if trimming steps follow, which cost several of its own
_BRIEF = 25  # steps to a start by a relative of the loss
_SHARPER = (0.01, 0.001)  # widths of corners of several outputs
_TOUCHES = 1e-9  # relative distance below which a majoriser touches the objective
_TINY = float(np.finfo(np.float64).tiny)


def trim(
    objective: RankedRangeObjective,
    *,
    start: npt.ArrayLike | None = None,
    n_starts: int | Literal["auto"] = "auto",
    certify: bool = True,
    tol: float = 1e-6,
    max_iter: int = 50,
    random_state: int | np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Solution:
    r"""Minimise a ranked range: quickly at first, then to a certified fixed point of trimming.

    From each starting point, quasi-Newton steps on the objective itself, at two passes over the
    rows each, lead near a local minimum. Trimming steps follow: the rows that rank above m are
    dropped, and the convex problem of the others is solved, the last one to a certified duality
    gap. Of losses over label sets that are not convex, labels are dropped within rows as well. The
    objective never rises. From 5000 rows on, the values of the fast phase in the trace are those
    of predictions in float32, good to about 1e-7.

    Parameters
    ----------
    objective : RankedRangeObjective
        What to minimise. A class that fits inside m is refused, since the best model would be
        one that ignores it.
    start : array-like, optional
        The one point to start from, instead of a search for starting points.
    n_starts : int or "auto", default="auto"
        How many candidates to try, on a sample if there are many rows; see `find_starts`. One
        starts at zero and nowhere else. Where there are several outputs or many parameters, any
        other number stands for an annealed start, and with few rows zero and the average fit. A
        loss that is not convex has one start, a short fit by a convex relative of it.
    certify : bool, default=True
        Whether to go on to a certified fixed point; if not, the fast phase is all.
    tol : float, default=1e-6
        The certified gap to reach, and the decrease below which trimming stops on many rows,
        both relative to the objective.
    max_iter : int, default=50
        How many trimming steps to take from a starting point, at most.
    random_state : int, Generator or None
        Draws samples and starting points: the same seed gives the same solution.
    progress : callable, optional
        Called with each `Step`.

    Returns
    -------
    Solution
        The lowest point found, and the distinct local minima on the way to it.

    Examples
    --------
    >>> import numpy as np
    >>> from sorr.objectives import RankedRangeObjective
    >>> x = np.arange(10.0)
    >>> y = 2 * x + 1
    >>> y[3] = 100.0
    >>> solution = trim(RankedRangeObjective(x[:, None], y, "absolute", m=1, C=1e6), random_state=0)
    >>> solution.coef.round(3), solution.status.name, np.flatnonzero(solution.row_weights == 0)
    (array([2.]), 'CERTIFIED', array([3]))
    """
    rng = as_generator(random_state)
    check_limits(tol, max_iter)
    if n_starts != "auto":
        n_starts = as_count("n_starts", n_starts)
    refuse_lost_class(objective)
    if certify:
        refuse_unknown_pieces(objective)
    clipped = clip_targets(objective)
    search = _Search(clipped, Trace(clipped, progress), rng, certify, tol, max_iter)
    search.run(start, n_starts)
    return restore_targets(objective, search.solution())


class _LocalMinimum(NamedTuple):
    """The end of one start, and what is known about the convex problem it solves."""

    point: Point
    gap: float = np.inf
    is_fixed: bool = False
    is_settled: bool = True


@dataclass
class _Search:
    """The search for the lowest local minimum, with its options."""

    objective: RankedRangeObjective
    trace: Trace
    rng: np.random.Generator
    certify: bool
    tol: float
    max_iter: int
    minima: list[_LocalMinimum] = field(default_factory=list)

    def run(self, start: npt.ArrayLike | None, n_starts: int | Literal["auto"]) -> None:
        """Find minima from all starting points that are worth it; certify the best, or all."""
        ends = [
            (number, self.descend(number, *begin))
            for number, begin in enumerate(self.starts(start, n_starts))
        ]
        ends.sort(key=lambda end: end[1].value)
        polished = ends if self.objective.n_samples <= _SHORT else ends[:1]
        if not self.certify:
            polished = []
        self.minima = [self.concentrate(*end) for end in polished]
        self.minima += [_LocalMinimum(point) for _, point in ends[len(polished) :]]

    def starts(
        self, start: npt.ArrayLike | None, n_starts: int | Literal["auto"]
    ) -> list[tuple[Point, bool]]:
        """Return starting points, the lowest first, and whether they have to be annealed."""
        objective = self.objective
        zero = evaluate(objective, as_start(objective, start))
        single = start is not None or objective.is_convex or n_starts == 1
        if single:
            return [(zero, False)]
        if not objective.loss.convex:
            relative = evaluate(objective, average_start(objective, self.rng, _BRIEF))
            return [(relative, not objective.groups.is_full)]
        if not is_small(objective):
            if objective.n_samples > _SHORT:
                return [(zero, True)]
            average = evaluate(objective, average_start(objective, self.rng))
            return [(zero, True), (zero, False), (average, False)]
        number = None if n_starts == "auto" else n_starts
        points = start_points(objective, number, _POLISHED, None, self.rng)
        if objective.n_samples > _SHORT:  # on a sample, one minimum can look like several
            values, raws = [p.value for p in points], [p.raw for p in points]
            kept = distinct(values, raws, rtol=np.inf, distance=_SAME)
            points = [points[i] for i in kept if values[i] <= _WORSE * min(values)]
        return [(point, False) for point in points]

    def descend(self, number: int, point: Point, annealed: bool) -> Point:
        """Return the end of the fast phase."""
        objective = self.objective
        self.trace.add(number, "start", point.value)

        def record(reached: Point) -> None:
            self.trace.add(number, "fast", reached.value)

        rough = objective
        size = objective.n_samples * objective.design.n_features
        if annealed and not objective.design.is_sparse and _COPY[0] <= size <= _COPY[1]:
            rough = objective.in_precision(np.float32)
        if annealed:
            soft = anneal(rough, point, self.rng)
            point = soft if soft.value < point.value else point
            self.trace.add(number, "anneal", point.value)
        tol = _CLOSE if self.certify else _NEAR
        point = descend(rough, point, tol=tol, rng=self.rng, record=record)
        if rough is not objective:
            point = evaluate(objective, point.theta)
        if can_pass_corners(objective):
            point = newton_past_corners(objective, point, record)
        elif not (objective.loss.smooth or self.certify) and objective.n_samples <= _SHORT:
            point = descend(
                objective, point, tol=0.1 * tol, rng=self.rng, record=record, widths=_SHARPER
            )
        return point

    def concentrate(self, number: int, point: Point) -> _LocalMinimum:
        """Take trimming steps until the point is a fixed point, solved to the tolerance."""
        inner, gap, is_fixed = 1e-3, np.inf, False
        is_patient = self.objective.n_samples <= _SHORT
        for _ in range(self.max_iter):
            majoriser = self.objective.trimmed(point.raw)
            here = point._replace(shares=majoriser.shares(point.raw))  # where it has that value
            lower = minimise_top_sum(majoriser, here, tol=inner)
            moved = evaluate(self.objective, lower.point.theta, lower.point.raw)
            if moved.value > point.value:  # by rounding alone
                moved = point
            scale = max(moved.value, _TINY)
            decrease, gap = (point.value - moved.value) / scale, lower.gap
            is_fixed = lower.point.value - moved.value <= _TOUCHES * scale
            is_settled = is_fixed or (decrease < self.tol and not is_patient)
            if is_settled and (gap <= self.tol or inner <= self.tol):
                if is_patient and is_fixed:
                    here = moved._replace(shares=majoriser.shares(moved.raw))
                    end = polish(majoriser, here)
                    moved = evaluate(self.objective, end.theta, end.raw)
                self.trace.add(number, "trim", moved.value)
                return _LocalMinimum(moved, gap, is_fixed)
            point = self.extrapolate(point, moved)
            self.trace.add(number, "trim", point.value)
            inner = min(inner, self.tol if is_fixed else max(0.1 * decrease, self.tol))
        return _LocalMinimum(point, gap, is_fixed, is_settled=False)

    def extrapolate(self, point: Point, moved: Point) -> Point:
        """Return a lower point further on: the majoriser is steeper than the objective."""
        step, raw_step = moved.theta - point.theta, moved.raw - point.raw
        best, t = moved, 1.5
        for _ in range(6):
            further = evaluate(self.objective, point.theta + t * step, point.raw + t * raw_step)
            if not further.value < best.value:
                break
            best, t = further, 1.5 * t
        return best

    def solution(self) -> Solution:
        """Return the lowest minimum, and all that are distinct."""
        objective = self.objective
        lowest = min(self.minima, key=lambda minimum: minimum.point.value)
        if self.certify and lowest.gap > self.tol:
            status = Status.UNCERTIFIED
        elif not self.certify:
            status = Status.CONVERGED
        elif not lowest.is_settled:
            status = Status.NOT_FIXED
        else:
            status = Status.OPTIMAL if objective.is_convex else Status.CERTIFIED
        points = [minimum.point for minimum in self.minima]
        kept = distinct([point.value for point in points], [point.raw for point in points])
        return Solution.at(
            objective,
            evaluate(objective, lowest.point.theta),  # raw predictions that were moved lose digits
            status=status,
            trace=self.trace.steps,
            passes=self.trace.passes,
            gap=lowest.gap,
            fixed_point=lowest.is_fixed,
            minima=tuple(describe(objective, points[i]) for i in kept),
        )
