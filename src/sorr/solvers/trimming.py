r"""The default solver: drop the top m, solve the convex rest, repeat.

Drop the rows with the m largest losses at the current point. The average of the top k - m of the
others is a convex majoriser that touches the objective there:

.. math:: \psi_{m,k}(S(\theta)) \le \phi_{k-m}(S_{-U_t}(\theta)).

A lower point of it is a lower point of the objective. It lies below the majoriser of the paper's
DCA at the same point, so no step is worse.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._checks import as_count, as_generator, check_limits
from sorr.objectives import (
    Objective,
    PartitionedObjective,
    Point,
    RankedRangeObjective,
    refuse_lost_class,
    without_copies,
)
from sorr.solvers import constants as tuned
from sorr.solvers.candidates import average_start, distinct, is_small, start_points
from sorr.solvers.convex import (
    approach,
    can_be_polished,
    minimise_top_sum,
    polish,
    refuse_unknown_pieces,
)
from sorr.solvers.descent import (
    anneal,
    can_pass_corners,
    descend,
    newton_past_corners,
    search_line,
    settle_on_sample,
)
from sorr.solvers.solution import (
    Progress,
    Solution,
    Status,
    Trace,
    as_start,
    describe,
    restore_targets,
)

_TOUCHES = 1e-9  # relative distance below which a majoriser touches the objective
_TINY = float(np.finfo(np.float64).tiny)


def trim(
    objective: Objective,
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

    Equal rows are merged first, if that leaves at most half of them. With many rows, a sample is
    solved, and its minimum is the only start. From each starting point, quasi-Newton steps on the
    objective itself lead near a local minimum; few rows that have been searched for starts do not
    need them. Trimming steps follow: drop the rows that rank above m, and solve the convex problem
    of the others, the last one to a certified duality gap. If the loss ranks labels, labels are
    dropped within rows as well. The objective never rises. From 5000 rows in memory on, the fast
    phase predicts in float32: its values in the trace are good to about 1e-7.

    Parameters
    ----------
    objective : RankedRangeObjective or PartitionedObjective
        The objective to minimise. A class that fits inside m is refused, because the best model
        would ignore it.
    start : array-like, optional
        The one point to start from, instead of a search for starting points.
    n_starts : int or "auto", default="auto"
        How many candidates to try, on a sample if there are many rows; see `find_starts`. With 1
        the only start is zero. With several outputs or many parameters, any other number means
        one annealed start and, with few rows, also zero and the average fit. A loss that is not
        convex has one start, a short fit by a convex relative.
    certify : bool, default=True
        Whether to go on to a certified fixed point. If not, the fast phase is all.
    tol : float, default=1e-6
        The certified gap to reach, and the decrease below which trimming stops on many rows,
        both relative to the objective.
    max_iter : int, default=50
        How many trimming steps to take from a starting point, at most.
    random_state : int, Generator or None
        Seed for samples and starting points. The same seed gives the same solution.
    progress : callable, optional
        Called with each `Step`.

    Returns
    -------
    Solution
        The lowest point found, and all distinct local minima.

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
    clipped = objective.clip_targets()
    arranged = _arrange(clipped, rng)
    search = _Search(
        objective=arranged,
        trace=Trace(arranged, progress),
        rng=rng,
        certify=certify,
        tol=tol,
        max_iter=max_iter,
    )
    search.run(start, n_starts)
    return restore_targets(objective, clipped, search.solution(clipped))


def _arrange(objective: Objective, rng: np.random.Generator) -> Objective:
    """Return the objective in the form that suits it.

    Equal rows are merged if that leaves at most half of them. Few rows are in memory as arrays,
    many in partitions. Losses whose pieces are not ranked by their order stay as they are, and so
    do problems with many parameters: they need many steps, which are cheaper along predictions.
    """
    n, size, loss = objective.n_samples, objective.n_parameters, objective.loss
    is_wide = n <= tuned.WIDE_ROWS_PER_PARAMETER * size
    if n * max(objective.n_features, 1) <= tuned.FEW_ENTRIES[is_wide]:
        few = objective.in_memory()
        return without_copies(few, few) or few
    if not isinstance(objective, PartitionedObjective):
        has_rounds = loss.convex and (len(objective.shape) == 1 or loss.has_curvature)
        if not has_rounds or size > tuned.MAX_METRIC_PARAMETERS:
            return objective
        objective = PartitionedObjective.split(objective, [n], rng=rng)
    merged = without_copies(objective, objective.sample)
    return objective if merged is None else _arrange(merged, rng)


class _Start(NamedTuple):
    """A starting point, whether it needs annealing, and whether it is near a minimum already."""

    point: Point
    needs_annealing: bool = False
    is_near: bool = False


class _LocalMinimum(NamedTuple):
    """The end of one start, and what is known about the convex problem it solves."""

    point: Point
    gap: float = np.inf
    is_fixed: bool = False
    is_settled: bool = True


@dataclass(kw_only=True)
class _Search:
    """The search for the lowest local minimum, with its options."""

    objective: Objective
    trace: Trace
    rng: np.random.Generator
    certify: bool
    tol: float
    max_iter: int
    is_sampled: bool = False
    minima: list[_LocalMinimum] = field(default_factory=list)

    @property
    def is_wide(self) -> bool:
        """Whether there are many rows and parameters, of one output: steps cost most."""
        return (
            isinstance(self.objective, RankedRangeObjective)
            and len(self.objective.shape) == 1
            and self.objective.n_samples > tuned.FEW_ROWS
            and self.objective.n_parameters > tuned.MAX_METRIC_PARAMETERS
        )

    def run(self, start: npt.ArrayLike | None, n_starts: int | Literal["auto"]) -> None:
        """Find a minimum from each starting point; certify the best, or all."""
        objective = self.objective
        if isinstance(objective, PartitionedObjective):
            starts = self.sampled_starts(objective, start, n_starts)
        else:
            starts = self.starts(objective, start, n_starts)
        ends = [(number, self.descend(number, begin)) for number, begin in enumerate(starts)]
        ends.sort(key=lambda end: end[1].value)
        lowest, n = np.inf, objective.n_samples
        ratio = np.inf if n <= tuned.TINY_ROWS else tuned.MAX_POLISHED_RATIO
        for i, (number, point) in enumerate(ends):
            is_polished = i == 0 or (n <= tuned.FEW_ROWS and point.value <= ratio * lowest)
            end = _LocalMinimum(point)
            if self.certify and is_polished:
                end = self.concentrate(number, point)
            lowest = min(lowest, end.point.value)
            self.minima.append(end)

    def sampled_starts(
        self,
        objective: PartitionedObjective,
        start: npt.ArrayLike | None,
        n_starts: int | Literal["auto"],
    ) -> list[_Start]:
        """Return the ends of a search on a sample of the rows: all further steps are short."""
        sample = _arrange(objective.first_sample, self.rng)
        inner = replace(
            self, objective=sample, trace=Trace(sample), certify=False, is_sampled=True, minima=[]
        )
        inner.run(start, n_starts)
        ends = sorted((minimum.point for minimum in inner.minima), key=lambda point: point.value)
        ends = [end for end in ends if not sample.is_higher(end, ends[0])]
        points = [objective.at(settle_on_sample(objective.sample, end)) for end in ends]
        if start is not None:
            points.append(objective.at(as_start(objective, start)))
        return [_Start(min(points, key=lambda point: point.value))]

    def starts(
        self,
        objective: RankedRangeObjective,
        start: npt.ArrayLike | None,
        n_starts: int | Literal["auto"],
    ) -> list[_Start]:
        """Return starting points."""
        is_patient = objective.n_samples <= tuned.FEW_ROWS
        first = objective.at(as_start(objective, start))
        if start is not None or objective.is_convex or n_starts == 1:
            return [_Start(first)]
        if not objective.loss.convex:
            relative = objective.at(average_start(objective, self.rng, tuned.SHORT_FIT_STEPS))
            return [_Start(relative, needs_annealing=not objective.groups.is_full)]
        if not is_small(objective):
            annealed = _Start(first, needs_annealing=True)
            if not is_patient:
                return [annealed]
            average = objective.at(average_start(objective, self.rng))
            return [annealed, _Start(first), _Start(average)]
        number = None if n_starts == "auto" else n_starts
        keep = tuned.MAX_POLISHED[objective.n_samples <= tuned.TINY_ROWS]
        size = (
            max(tuned.SAMPLE, tuned.SAMPLE_PER_PARAMETER * objective.n_parameters)
            if self.is_sampled
            else None
        )
        points = start_points(objective, number, keep, size, self.rng)
        if not is_patient:  # on a sample, one minimum can look like several
            values = [point.value for point in points]
            sketches = [objective.sketch(point) for point in points]
            kept = distinct(values, sketches, rtol=np.inf, distance=tuned.SAME_START)
            points = [points[i] for i in kept if values[i] <= tuned.MAX_START_RATIO * min(values)]
        return [_Start(point, is_near=is_patient) for point in points]

    def descend(self, number: int, start: _Start) -> Point:
        """Return the end of the fast phase."""
        objective, point, rng = self.objective, start.point, self.rng
        self.trace.add(number, "start", point.value)
        if start.is_near and self.certify:
            return point

        def record(reached: Point) -> None:
            self.trace.add(number, "fast", reached.value)

        tol = tuned.TOL_BEFORE_TRIMMING if self.certify else tuned.FAST_TOL
        if self.is_sampled:  # its noise and its precaution change more than would be gained
            tol = max(tol, tuned.SAMPLE_FIT_TOL * objective.n_parameters / objective.n_samples)
        if isinstance(objective, PartitionedObjective):  # the point is the minimum of a sample
            return descend(
                objective,
                point,
                tol=tuned.NEAR_TOL * tol,
                rng=rng,
                record=record,
                widths=tuned.NEAR_WIDTHS,
            )
        if self.certify and objective.is_convex and isinstance(objective, RankedRangeObjective):
            return approach(objective, point, rng=rng, record=record)
        rough = objective.rough() if start.needs_annealing or self.is_wide else objective
        # One width is enough before a path. It ends at corners that only a certificate gets past.
        has_path = self.is_wide and self.certify and can_pass_corners(objective)
        widths = tuned.FAST_WIDTHS[:1] if has_path else tuned.FAST_WIDTHS
        if start.needs_annealing:
            # Without corners, a second temperature gains less than 1e-4 and costs a tenth.
            is_short = self.is_wide and objective.loss.smooth
            heat = tuned.TEMPERATURES[:1] if is_short else tuned.TEMPERATURES
            soft = anneal(rough, rough.at(point.theta), rng, widths, heat)
            point = soft if soft.value < point.value else point
            self.trace.add(number, "anneal", point.value)
        tol = tuned.TOL_BEFORE_PATH if has_path else tol
        point = descend(rough, point, tol=tol, rng=rng, record=record, widths=widths)
        if has_path:
            point = newton_past_corners(
                rough, rough.coarse(point), record, tuned.CORNER_PATH, max_steps=1
            )
        if rough is not objective:
            point = objective.at(point.theta)
        if has_path:
            return point
        if can_pass_corners(objective):
            point = newton_past_corners(objective, point, record)
        elif not (objective.loss.smooth or self.certify) and objective.n_samples <= tuned.FEW_ROWS:
            point = descend(
                objective, point, tol=0.1 * tol, rng=rng, record=record, widths=tuned.SHARP_WIDTHS
            )
        return point

    def concentrate(self, number: int, point: Point) -> _LocalMinimum:
        """Take trimming steps until the point is a fixed point, solved to the tolerance."""
        gap, is_fixed = np.inf, False
        is_patient = self.objective.n_samples <= tuned.FEW_ROWS
        is_near = isinstance(self.objective, PartitionedObjective)
        inner = self.tol if is_near or self.is_wide or self.objective.is_convex else 1e-3
        for _ in range(self.max_iter):
            majoriser, touching = self.objective.majorise(point)
            certified = minimise_top_sum(majoriser, touching, tol=inner)
            moved = point if certified.point is touching else certified.point
            if not (moved is point or majoriser is self.objective):
                moved = self.objective.at(moved.theta, moved.raw)
            if moved.value > point.value:  # only by rounding
                moved = point
            scale = max(moved.value, _TINY)
            decrease, gap = (point.value - moved.value) / scale, certified.gap
            is_fixed = certified.point.value - moved.value <= _TOUCHES * scale
            is_settled = is_fixed or (decrease < self.tol and not is_patient)
            if is_settled and (gap <= self.tol or inner <= self.tol):
                if is_patient and is_fixed and can_be_polished(majoriser):
                    end = polish(majoriser, majoriser.at(moved.theta, moved.raw))
                    moved = self.objective.at(end.theta, end.raw)
                self.trace.add(number, "trim", moved.value)
                return _LocalMinimum(moved, gap, is_fixed)
            ray = self.objective.between(point, moved)  # steps of a majoriser are too short
            point = search_line(ray, length=1.5, growth=1.5, best=moved) or moved
            self.trace.add(number, "trim", point.value)
            inner = min(inner, self.tol if is_fixed else max(0.1 * decrease, self.tol))
        return _LocalMinimum(point, gap, is_fixed, is_settled=False)

    def solution(self, given: Objective) -> Solution:
        """Return the lowest minimum of the given objective, and all that are distinct."""
        objective = self.objective
        if objective.n_samples < given.n_samples:  # copies of rows were merged
            objective = given
            self.minima = [
                minimum._replace(point=given.at(minimum.point.theta)) for minimum in self.minima
            ]
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
        kept = distinct([p.value for p in points], [objective.sketch(p) for p in points])
        return Solution.at(
            objective,
            objective.renewed(lowest.point),
            status=status,
            trace=self.trace,
            gap=lowest.gap,
            fixed_point=lowest.is_fixed,
            minima=tuple(describe(objective, points[i]) for i in kept),
        )
