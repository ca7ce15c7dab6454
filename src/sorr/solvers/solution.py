"""What every solver returns: a solution, the way to it, and a status that says what it is worth.

Targets so large that their squares are hardly numbers are clipped before a solver starts. If the
best model is a constant, or would ignore a class, the status or an error says so.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import optimize

from sorr._typing import FloatArray
from sorr.objectives import Groups, Point, RankedRangeObjective
from sorr.solvers.interior import solve_symmetric

_LARGEST_TARGET = 1e150  # beyond it, a target marks something missing: its square is hardly finite
_CONSTANT_SPREAD = 1e-2  # of raw predictions, up to which a model may be a constant


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

    def __init__(self, objective: RankedRangeObjective, progress: Progress | None = None) -> None:
        self.steps: list[Step] = []
        self._design, self._before = objective.design, objective.design.passes
        self._progress = progress

    @property
    def passes(self) -> float:
        """How often the rows were read since the start."""
        return self._design.passes - self._before

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
        objective: RankedRangeObjective,
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
            n_features=objective.design.n_features,
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


def describe(objective: RankedRangeObjective, point: Point) -> Minimum:
    """Return a minimum with the mass that is dropped there in each class or group."""
    lost = objective.dropped_by_class(point)
    rounded = {label: round(mass, 9) for label, mass in lost.items()}
    return Minimum(point.theta, point.value, rounded)


def as_start(objective: RankedRangeObjective, theta: npt.ArrayLike | None) -> FloatArray:
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


# -- targets that are no data --------------------------------------------------------------------


def clip_targets(objective: RankedRangeObjective) -> RankedRangeObjective:
    """Return the objective with huge targets moved to where their losses are finite.

    Wherever such rows are dropped, the objective is the same; see `restore_targets`.
    """
    if not _has_huge_targets(objective):
        return objective
    return objective.replace(y=np.clip(objective.y, -_LARGEST_TARGET, _LARGEST_TARGET))


def restore_targets(objective: RankedRangeObjective, solution: Solution) -> Solution:
    """Return the solution for clipped targets as one of the objective itself.

    If a huge target counts in it, nothing is certified.
    """
    if not _has_huge_targets(objective):
        return solution
    if not solution.row_weights[np.abs(objective.y) > _LARGEST_TARGET].any():
        return solution
    value = objective.with_groups(solution.groups).value(solution.theta)
    return replace(solution, objective=value, gap=np.inf, status=Status.UNCERTIFIED)


def _has_huge_targets(objective: RankedRangeObjective) -> bool:
    y = objective.y
    return y.ndim == 1 and y.dtype.kind == "f" and float(np.abs(y).max()) > _LARGEST_TARGET


# -- the best model is a constant, or ignores a class --------------------------------------------


def refuse_lost_class(objective: RankedRangeObjective) -> None:
    """Refuse a single class, and an m that is large enough to drop a whole class.

    If every row of a class fits above rank m, a model that always predicts the other classes
    costs nothing: the intercept goes to infinity, and the infimum of the objective is that of a
    problem without the class.
    """
    if objective.classes is None:
        return
    masses = objective.groups.masses
    names, index = objective.classes
    present = np.bincount(index, masses, len(names)) > 0
    if present.sum() < 2 and objective.design.intercept:
        raise ValueError(
            f"all rows that count are of class {names[present][0]:g}; needed two classes or more: "
            "with one, the intercept goes to infinity"
        )
    if objective.is_convex:
        return
    kept = np.zeros(len(names), dtype=bool)
    for group in objective.groups:
        weight = None if objective.groups.weight is None else masses[group.rows]
        mass = np.bincount(index[group.rows], weight, len(names))
        kept |= mass > group.m * (1 + 1e-12)
    if kept[present].all():
        return
    lost = int(np.flatnonzero(present & ~kept)[0])
    size = float(masses[index == lost].sum())
    raise ValueError(
        f"class {names[lost]:g} has a mass of {size:g}, and m is large enough to drop all of it: "
        "the best model would then ignore that class; lower m below it, rank within classes "
        "(groups=y), or give the class more weight"
    )


def is_constant(objective: RankedRangeObjective, point: Point) -> bool:
    """Tell whether a model of classes is no better than one that predicts the same for every row.

    A strong ridge makes coefficients small too, but these still lower the objective.
    """
    if objective.class_of_row is None or objective.spread(point) > _CONSTANT_SPREAD:
        return False
    if len(objective.shape) == 1:
        constant = objective.value(constant_model(objective))
    else:  # near enough to the best constant model
        alike = np.broadcast_to(point.raw.mean(axis=0), point.raw.shape)
        constant = objective.value_at(alike, np.zeros(objective.shape))
    return point.value >= constant * (1 - 1e-8)


def constant_model(objective: RankedRangeObjective) -> FloatArray:
    """Return the best parameters without coefficients, of an objective with one output."""
    theta = np.zeros(objective.shape)
    if objective.design.intercept:
        raw = np.zeros(objective.n_samples)

        def value(intercept: float) -> float:
            return objective.value_at(raw + intercept, theta)

        theta[-1] = optimize.minimize_scalar(value, bracket=(-1.0, 1.0), tol=1e-12).x
        if value(0.0) <= value(float(theta[-1])) * (1 + 1e-12):
            theta[-1] = 0.0
    return theta


def constant_weights(
    objective: RankedRangeObjective, theta: FloatArray, max_iter: int = 15
) -> FloatArray | None:
    r"""Return weights that prove a constant model optimal for a convex objective, or None.

    At a model without coefficients all losses of a class tie, so that any weights
    :math:`0 \le v \le \omega` with the right sum in each group are subgradients. The model is
    optimal if some of them give a gradient of zero, :math:`\sum_i v_i a_i x_i = 0` and
    :math:`\sum_i v_i a_i = 0`. A semismooth Newton method projects even weights onto these
    conditions.
    """
    design, groups = objective.design, objective.groups
    slopes = objective.loss.gradient(objective.y, objective.raw_prediction(theta))
    omega, level = np.zeros(objective.n_samples), np.zeros(objective.n_samples)
    member = np.zeros((len(groups), objective.n_samples))
    for g, group in enumerate(groups):
        omega[group.rows] = group.scale * groups.masses[group.rows]
        level[group.rows] = group.width / group.mass
        member[g, group.rows] = 1.0
    wanted = np.array([group.scale * group.width for group in groups])
    size = design.n_parameters
    eta = np.zeros(size + len(groups))
    for _ in range(max_iter):
        part = np.clip(level + slopes * design.predict(eta[:size]) + eta[size:] @ member, 0.0, 1.0)
        weight = omega * part
        error = np.append(design.pull(weight * slopes), member @ weight - wanted)
        scale = np.append(design.pull(np.abs(weight * slopes)), wanted)
        if np.abs(error).max() <= 1e-12 * max(float(np.abs(scale).max()), 1e-300):
            return weight
        active = np.where((part > 0) & (part < 1), omega, 0.0)
        M = np.zeros((len(eta), len(eta)))
        M[:size, :size] = design.gram(active * slopes**2)
        for g in range(len(groups)):
            M[:size, size + g] = M[size + g, :size] = design.pull(active * slopes * member[g])
            M[size + g, size + g] = float(active @ member[g])
        step = solve_symmetric(M)(error)
        if not np.isfinite(step).all():
            return None
        eta = eta - step
    return None
