"""What every solver returns: a solution, the way to it, and a status that says what it is worth.

If the best model is a constant, the status says so, and weights prove it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.objectives import (
    ConstantWeights,
    Groups,
    Objective,
    PartitionedObjective,
    Point,
    is_constant,
    solve_symmetric,
)


class Status(Enum):
    """How a solver ended, with a sentence for people."""

    CERTIFIED = (
        "the convex problem of the kept rows is solved to the certified gap, and the last change "
        "of the dropped rows lowered the objective by less than the tolerance, or not at all"
    )
    OPTIMAL = "the objective is convex, and its minimum is certified to the gap"
    CONVERGED = "the objective stopped decreasing; no certificate was asked for or is available"
    NOT_FIXED = (
        "the limit of iterations was reached: the convex problem of the last trimming step is "
        "certified, but the dropped rows still changed; raise max_iter"
    )
    UNCERTIFIED = (
        "the gap stayed above the tolerance: the objective may or may not be far from the minimum "
        "of its convex problem; scale the columns of X, lower C (without a ridge there is no "
        "bound), or raise tol or max_iter"
    )
    ITERATION_LIMIT = "the limit of iterations was reached while the objective still decreased"
    CONSTANT_MODEL = (
        "the best model predicts the same for every row; raise k or lower m if few ranks are "
        "kept, scale the columns of X or raise C if the ridge is strong, or look for features that "
        "say more about the target"
    )

    @property
    def sentence(self) -> str:
        """What the status means, and what to do about it."""
        return self.value


class Step(NamedTuple):
    """One outer step of a solver: its start, its phase, the objective reached, passes so far."""

    start: int
    phase: str
    objective: float
    passes: float


Progress: TypeAlias = Callable[[Step], None]


class Trace:
    """The steps of a solver so far, and how often it has read the rows."""

    def __init__(self, objective: Objective, progress: Progress | None = None) -> None:
        self.steps: list[Step] = []
        self._objective, self._before = objective, objective.passes
        self._progress = progress

    @property
    def passes(self) -> float:
        """How often the rows were read since the start."""
        return self._objective.passes - self._before

    def add(self, start: int, phase: str, objective: float) -> None:
        """Add a step, and report it."""
        self.steps.append(Step(start, phase, objective, self.passes))
        if self._progress is not None:
            self._progress(self.steps[-1])


class Minimum(NamedTuple):
    """A local minimum.

    The lowest objective is not always the best model: a minimum that drops all of a small cluster
    can lie below one that drops the wrong labels.
    """

    theta: FloatArray
    objective: float
    dropped: Mapping[Hashable, float]
    """The mass above rank m, by class where the target has classes, else by group."""


@dataclass(frozen=True, eq=False)
class Solution:
    """The parameters that a solver found, and what is known about them.

    Attributes
    ----------
    theta : ndarray
        The parameters: coefficients, then the intercept if there is one.
    objective : float
        F at theta, over all rows, in float64.
    gap : float
        An upper limit on how far the convex problem of the last step is above its minimum,
        relative to its value. A dual bound on all rows certifies it. Infinite if nothing was
        certified. For a convex objective (m = 0) it bounds the distance to the global minimum.
    status : Status
        How the solver ended; ``status.sentence`` says it in words.
    fixed_point : bool
        Whether the last convex problem dropped the same rows that are dropped at theta.
    passes : float
        How often the data was read.
    trace : tuple of Step
        The objective after each outer step of each start.
    minima : tuple of Minimum
        The distinct local minima found, the lowest first.
    row_weights : ndarray of shape (n_samples,)
        How much each row counts in the objective at theta.
    groups : Groups
        How the rows are ranked. If k followed a schedule, these have the last k.
    """

    theta: FloatArray
    objective: float
    gap: float
    status: Status
    fixed_point: bool
    passes: float
    trace: tuple[Step, ...]
    minima: tuple[Minimum, ...]
    row_weights: FloatArray = field(repr=False)
    groups: Groups = field(repr=False)
    n_features: int = field(repr=False)

    @classmethod
    def at(
        cls,
        objective: Objective,
        point: Point,
        *,
        status: Status,
        trace: Trace,
        gap: float = np.inf,
        fixed_point: bool = False,
        minima: tuple[Minimum, ...] | None = None,
    ) -> Self:
        """Return the solution at a point; the status of a constant model says so."""
        is_done = status not in (Status.UNCERTIFIED, Status.ITERATION_LIMIT)
        if is_done and is_constant(objective, point):
            status = Status.CONSTANT_MODEL
        return cls(
            theta=point.theta,
            objective=point.value,
            gap=gap,
            status=status,
            fixed_point=fixed_point,
            passes=trace.passes,
            trace=tuple(trace.steps),
            minima=(describe(objective, point),) if minima is None else minima,
            row_weights=objective.row_weights(point),
            groups=objective.groups,
            n_features=objective.n_features,
        )

    @property
    def coef(self) -> FloatArray:
        """The coefficients, of shape (n_features,) or (n_features, n_outputs)."""
        return self.theta[: self.n_features]

    @property
    def intercept(self) -> FloatArray:
        """The intercept of each output: zero if there is none."""
        if len(self.theta) > self.n_features:
            return np.asarray(self.theta[self.n_features])
        return np.zeros(self.theta.shape[1:])


def describe(objective: Objective, point: Point) -> Minimum:
    """Return a minimum with the mass that is dropped there in each class or group."""
    lost = objective.dropped_by_class(point)
    rounded = {label: round(mass, 9) for label, mass in lost.items()}
    return Minimum(point.theta, point.value, rounded)


def as_start(objective: Objective, theta: npt.ArrayLike | None) -> FloatArray:
    """Return a starting point in float64: zero if none is given."""
    if theta is None:
        return np.zeros(objective.shape)
    start = np.array(theta, dtype=np.float64)
    if start.shape != objective.shape:
        raise ValueError(
            f"the starting point has shape {start.shape}; needed {objective.shape}: "
            "the coefficients, then the intercept"
        )
    if not np.isfinite(start).all():
        raise ValueError("the starting point holds NaN or infinity; needed finite numbers")
    return start


def restore_targets(given: Objective, clipped: Objective, solution: Solution) -> Solution:
    """Return the solution for clipped targets as one of the given objective.

    If a huge target counts in it, nothing is certified.
    """
    if clipped is given or isinstance(given, PartitionedObjective):
        return solution
    if not solution.row_weights[given.y != clipped.in_memory().y].any():
        return solution
    value = given.with_groups(solution.groups).value(solution.theta)
    return replace(solution, objective=value, gap=np.inf, status=Status.UNCERTIFIED)


def constant_weights(
    objective: Objective, theta: FloatArray, max_iter: int = 15
) -> ConstantWeights | None:
    r"""Return weights that prove a constant model optimal for a convex objective, or None.

    At a model without coefficients all losses of a class tie, so that any weights
    :math:`0 \le v \le \omega` with the right sum in each group are subgradients. The model is
    optimal if some of them give a gradient of zero, :math:`\sum_i v_i a_i x_i = 0` and
    :math:`\sum_i v_i a_i = 0`. A semismooth Newton method projects even weights onto these
    conditions.
    """
    groups, size = objective.groups, len(theta)
    wanted = np.array([group.scale * group.width for group in groups])
    level = np.array([group.width / group.mass for group in groups])
    eta = np.zeros(size + len(groups))
    for _ in range(max_iter):
        weights = ConstantWeights(eta, level)
        sums = objective.constant_sums(theta, weights)
        error = np.append(sums.pull, sums.weight - wanted)
        scale = max(float(np.abs(sums.size).max()), float(wanted.max()), 1e-300)
        if np.abs(error).max() <= 1e-12 * scale:
            return weights
        step = solve_symmetric(sums.matrix)(error)
        if not np.isfinite(step).all():
            return None
        eta = eta - step
    return None
