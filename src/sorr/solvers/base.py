"""What every solver returns: a solution, the way to it, and a status that says what it is worth."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from enum import Enum
from numbers import Integral, Real
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.objectives import Groups, RankedRangeObjective

__all__ = [
    "Minimum",
    "Progress",
    "Solution",
    "Status",
    "Step",
    "as_count",
    "as_generator",
    "as_start",
    "check_limits",
    "describe",
    "recounted",
    "tamed",
]

_ABSURD = 1e150  # a target whose square is hardly a number: a marker of something missing, no datum


class Status(Enum):
    """How a solver ended, with a sentence for people."""

    CERTIFIED = (
        "the convex problem of the rows that are kept is solved to the certified gap, and the last "
        "choice of rows to drop lowered the objective by less than the tolerance, or not at all"
    )
    OPTIMAL = "the objective is convex, and its minimum is certified to the gap"
    CONVERGED = "the objective stopped decreasing; no certificate was asked for or is available"
    NOT_FIXED = (
        "the limit of iterations was reached: the convex problem of the last trimming step is "
        "certified, but which rows are dropped still changed: raise max_iter"
    )
    UNCERTIFIED = (
        "the gap stayed above the tolerance: the objective may or may not be far from the minimum "
        "of its convex problem; scale the columns of X, lower C (without a ridge there is no "
        "bound), or raise tol or max_iter"
    )
    ITERATION_LIMIT = "the limit of iterations was reached while the objective still decreased"
    CONSTANT_MODEL = (
        "the best that was found is the constant model: no coefficients pay, so that every row is "
        "predicted alike; raise k or lower m if few ranks are kept, scale the columns of X or "
        "raise C if the ridge is strong, unless the features say nothing of the target"
    )

    @property
    def sentence(self) -> str:
        """What the status means, and what to do about it."""
        return self.value


class Step(NamedTuple):
    """One outer step of a solver: from which start, in which phase, and what it reached."""

    start: int
    phase: str
    objective: float
    passes: float


Progress: TypeAlias = Callable[[Step], None]


class Minimum(NamedTuple):
    """A local minimum that was found.

    The lowest objective is not always the best model: a minimum that drops all of a small cluster
    can lie below one that drops the wrong labels.
    """

    theta: FloatArray
    objective: float
    dropped: Mapping[Hashable, float]
    """The mass above rank m, by class where the target has classes, else by group."""


@dataclass(frozen=True, eq=False)
class Solution:
    """The parameters a solver found, and what is known about them.

    Attributes
    ----------
    theta : ndarray
        The parameters: coefficients, then the intercept if there is one.
    objective : float
        F at theta, over all rows, in float64.
    gap : float
        By how much the convex problem of the last step could be lowered at most, relative to its
        value: certified by a dual bound on all rows. Infinite where nothing was certified. For a
        convex objective (m = 0) it bounds the distance to the global minimum.
    status : Status
        How the solver ended; ``status.sentence`` says it in words.
    fixed_point : bool
        Whether the rows that are dropped at theta are those the last convex problem dropped.
    passes : float
        How often the data was read.
    trace : tuple of Step
        The objective after each outer step of each start.
    minima : tuple of Minimum
        The distinct local minima found, the lowest first.
    row_weights : ndarray of shape (n_samples,)
        How much each row counts in the objective at theta.
    groups : Groups
        How the rows are ranked: those of the objective, but for a k that followed a schedule.
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


def describe(
    objective: RankedRangeObjective, theta: FloatArray, raw: FloatArray, value: float | None = None
) -> Minimum:
    """Return a minimum with the mass that is dropped there in each class or group."""
    dropped = objective.dropped(raw)
    lost: dict[Hashable, float] = {}
    for group in objective.groups:
        share = dropped[group.rows]
        if objective.classes is None:
            lost[group.label] = float(share.sum())
            continue
        names, index = objective.classes
        masses = np.bincount(index[group.rows], share, len(names))
        for name, mass in zip(names.tolist(), masses.tolist(), strict=True):
            lost[name] = lost.get(name, 0.0) + mass
    value = objective.value_at(raw, theta) if value is None else value
    return Minimum(theta, value, {label: round(mass, 9) for label, mass in lost.items()})


def as_generator(random_state: int | np.random.Generator | None) -> np.random.Generator:
    """Return a generator: a new one, unless one is given."""
    return np.random.default_rng(random_state)


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


def as_count(name: str, count: object, default: int) -> int:
    """Return how many of something, which has to be one or more."""
    if count is None:
        return default
    if isinstance(count, bool) or not isinstance(count, Integral) or count < 1:
        raise ValueError(f"{name}={count!r} is not a number of them; needed an int, 1 or more")
    return int(count)


def check_limits(tol: object, max_iter: object) -> None:
    """Refuse a tolerance or a number of iterations that means nothing."""
    as_count("max_iter", max_iter, 1)
    if isinstance(tol, bool) or not isinstance(tol, Real) or not float(tol) > 0:
        raise ValueError(f"tol={tol!r} is not a tolerance; needed a number above 0, such as 1e-6")


def tamed(objective: RankedRangeObjective) -> RankedRangeObjective:
    """Return the objective with absurd targets moved to where their losses are finite.

    Wherever such a row is dropped the objective is what it was; `recounted` sees to the others.
    """
    if objective.y.ndim > 1 or objective.y.dtype.kind != "f":
        return objective
    if float(np.abs(objective.y).max()) <= _ABSURD:
        return objective
    tame = copy(objective)
    tame.y = np.clip(objective.y, -_ABSURD, _ABSURD)
    return tame


def recounted(objective: RankedRangeObjective, solution: Solution) -> Solution:
    """Return the solution of a tamed objective as one of the objective itself.

    Where an absurd target counts, what is known about the tamed objective is worth nothing.
    """
    if objective.y.ndim > 1 or objective.y.dtype.kind != "f":
        return solution
    if not solution.row_weights[np.abs(objective.y) > _ABSURD].any():
        return solution
    value = objective.with_groups(solution.groups).value(solution.theta)
    return replace(solution, objective=value, gap=np.inf, status=Status.UNCERTIFIED)
