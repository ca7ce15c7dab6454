"""What DCA remembers on its way: the trace, the objective in force, the best point."""

from __future__ import annotations

import numpy as np

from sorr._typing import FloatArray
from sorr.objectives import RankedRangeObjective
from sorr.solvers.base import Progress, Step
from sorr.solvers.schedule import KSchedule

__all__ = ["Record"]


class Record:
    """Where the search is, the objective in force there, and the best point so far.

    Attributes
    ----------
    best : ndarray
        The lowest point.
    change : float
        By how much the last outer step changed the objective, relatively.
    """

    def __init__(
        self,
        objective: RankedRangeObjective,
        start: FloatArray,
        k_schedule: KSchedule | None,
        progress: Progress | None,
    ) -> None:
        self.objective = objective
        self.trace: list[Step] = []
        self._schedule, self._progress = k_schedule, progress
        self._given, self._before = objective.groups, objective.design.passes
        self._accuracy = 0.0
        self.change = self.value = self._lowest = np.inf
        self.add(start)

    @property
    def passes(self) -> float:
        """How often the data was read."""
        return self.objective.design.passes - self._before

    def add(self, theta: FloatArray) -> None:
        """Move to the result of an outer step, and lower k if the schedule says so."""
        raw = self.objective.raw_prediction(theta)
        value = self.objective.value_at(raw, theta)
        if not np.isfinite(value):
            raise FloatingPointError(
                f"the objective is {value} after {len(self.trace)} outer steps: the inner steps "
                "diverge; needed shorter ones: lower step_size, or scale the columns of X"
            )
        self.change = abs(value - self.value) / max(abs(value), np.finfo(float).tiny)
        self.theta, self.raw, self.value = theta, raw, value
        if value <= self._lowest:
            self._lowest, self.best = value, theta
        step = Step(0, "dca", value, self.passes)
        self.trace.append(step)
        if self._progress is not None:
            self._progress(step)
        if self._schedule is not None:
            self._adapt(self._schedule)

    def _adapt(self, schedule: KSchedule) -> None:
        objective = self.objective
        right = objective.loss.is_right(objective.y, self.raw)
        accuracy = float(np.average(right, weights=self._given.weight))
        self._accuracy = max(accuracy, self._accuracy)  # once reached, a level counts as reached
        groups = schedule.groups(self._given, self._accuracy)
        if [group.k for group in groups] != [group.k for group in objective.groups]:
            self.objective = objective.with_groups(groups)
            self.value = self._lowest = self.objective.value_at(self.raw, self.theta)
            self.best, self.change = self.theta, np.inf
