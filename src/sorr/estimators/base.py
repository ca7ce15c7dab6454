"""What the classifier and the regressor share: from checked rows to a fitted linear model."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from sorr._typing import FloatArray
from sorr.estimators.linear import LinearModel, Rows
from sorr.estimators.notices import notices_of
from sorr.estimators.progress import reporter
from sorr.estimators.ranks import Ends
from sorr.losses import Loss
from sorr.objectives import RankedRangeObjective
from sorr.ranked import Mass
from sorr.ranked import thresholds as cut_values
from sorr.solvers import Minimum, Solution, dca, trim
from sorr.solvers.base import as_count, check_limits

__all__ = [
    "SOLVERS",
    "RankedRangeLinear",
    "Task",
    "as_seed",
    "check_choice",
    "check_flag",
    "check_verbose",
    "named_minima",
    "restored",
    "said_of",
]

_ROUNDING = 1e-9  # relative difference of a loss from itself, by another order of additions
SOLVERS = ("trim", "dca")


@dataclass(frozen=True)
class Task:
    """What is minimised over which rows: the same for every kind of target."""

    rows: Rows
    loss: Loss
    target: npt.NDArray[Any]
    ends: Ends
    groups: npt.NDArray[np.intp] | None = None
    multiplier: FloatArray | None = None
    start: FloatArray | None = None


class RankedRangeLinear(LinearModel):
    """A linear model that minimises a ranked range of losses."""

    def _objective(self, task: Task) -> RankedRangeObjective:
        """Return what is minimised. A multiplier of each group stretches its masses and ranks."""
        rows, stretch, weight = task.rows, task.multiplier, task.rows.weight
        ends = task.ends if stretch is None else Ends(*(end * stretch for end in task.ends))
        is_counted = weight is None and stretch is None
        m, k = ([_rank(e, is_counted) for e in end] for end in ends)
        if task.groups is not None and stretch is not None:
            weight = stretch[task.groups] * (1.0 if weight is None else weight)
        return RankedRangeObjective(
            rows.X,
            task.target,
            task.loss,
            m=m[0] if task.groups is None else dict(enumerate(m)),
            k=k[0] if task.groups is None else dict(enumerate(k)),
            C=self.C,
            groups=task.groups,
            sample_weight=weight,
            fit_intercept=self.fit_intercept,
        )

    def _check_options(self) -> None:
        """Refuse what no solver could make sense of."""
        check_choice("solver", self.solver, SOLVERS)
        check_limits(self.tol, self.max_iter)
        if self.n_starts != "auto":
            as_count("n_starts", self.n_starts, 1)
        check_verbose(self.verbose)

    def _certifies(self, objective: RankedRangeObjective) -> bool:
        """Tell whether `trim` should go on to a certified fixed point."""
        del objective
        check_flag("certify", self.certify)
        return bool(self.certify)

    def _minimise(self, objective: RankedRangeObjective, start: FloatArray | None) -> Solution:
        """Return what the chosen solver finds."""
        self._check_options()
        certify = self._certifies(objective)
        progress = reporter(type(self).__name__, self.verbose)
        seed = as_seed(self.random_state)
        if self.solver == "dca":
            return dca(
                objective,
                start=start,
                inner="deterministic",
                outer_steps=self.max_iter,
                tol=self.tol,
                random_state=seed,
                progress=progress,
            )
        return trim(
            objective,
            start=start,
            n_starts=self.n_starts,
            certify=certify and objective.loss.has_bound,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=seed,
            progress=progress,
        )

    def _warm(self, shape: tuple[int, ...]) -> FloatArray | None:
        """Return the parameters of the last fit, if they are to be the start of the next."""
        check_flag("warm_start", self.warm_start)
        if not (self.warm_start and hasattr(self, "coef_")):
            return None
        parts = [self._stored_coef()]
        if self.fit_intercept:
            parts.append(np.reshape(self.intercept_, (1, *parts[0].shape[1:])))
        theta = np.concatenate(parts)
        return theta if theta.shape == shape else None

    def _learn(self, task: Task) -> tuple[Solution, list[Warning]]:
        """Minimise, keep what is known of the solution, and return what is wrong with it."""
        objective = self._objective(task)
        warm = self._warm(objective.shape)
        solution = self._minimise(objective, task.start if warm is None else warm)
        raw = objective.raw_prediction(solution.theta)
        largest = self._keep(task, objective, solution, raw)
        is_endless = objective.loss.is_endless and objective.strata is not None
        return solution, notices_of(solution, largest if is_endless else np.nan, objective.C)

    def _keep(
        self, task: Task, objective: RankedRangeObjective, solution: Solution, raw: Any
    ) -> float:
        """Keep it, and return the largest loss that counts."""
        losses = objective.losses(raw).astype(np.float64, copy=False)
        masses = objective.groups.masses
        cuts, levels, largest = [], [], 0.0
        for group in objective.groups:
            rows = group.rows
            weight = None if objective.groups.weight is None else masses[rows]
            pair = cut_values(losses[rows], Mass(group.m), Mass(group.k), sample_weight=weight)
            cuts.append(pair)
            is_kept = solution.row_weights[rows] > 0
            levels.append(_level(losses[rows], is_kept))
            largest = max(largest, float(losses[rows][is_kept].max()))
        stretch = 1.0 if task.multiplier is None else task.multiplier
        self.m_ = np.array([group.m for group in objective.groups]) / stretch
        self.k_ = np.array([group.k for group in objective.groups]) / stretch
        self.thresholds_ = np.array(cuts, dtype=np.float64)
        self._levels = np.array(levels)
        self.losses_ = task.rows.spread(losses, np.nan)
        self.row_weights_ = task.rows.spread(solution.row_weights.astype(np.float64), 0.0)
        is_out = objective.dropped(raw) > masses / 2
        self.outlier_mask_ = task.rows.spread(is_out, False)
        self.objective_, self.gap_, self.status_ = solution.objective, solution.gap, solution.status
        self.trace_, self.minima_ = solution.trace, solution.minima
        self.n_iter_ = max(1, sum(step.phase != "start" for step in solution.trace))
        return largest


def _rank(end: float, is_counted: bool) -> int | Mass:
    """Return an end as a number of rows where it is one, which is faster to rank by."""
    return int(end) if is_counted and end % 1 == 0 else Mass(end)


def _level(losses: FloatArray, is_kept: npt.NDArray[np.bool_]) -> float:
    """Return the largest loss that is kept, and a little: what rounding may add to it elsewhere."""
    largest = float(losses[is_kept].max())
    above = losses[losses > largest]
    room = (float(above.min()) - largest) / 2 if len(above) else np.inf
    return largest + min(_ROUNDING * max(largest, float(np.median(losses))), room)


def named_minima(
    minima: tuple[Minimum, ...], names: list[Any], factor: FloatArray | None = None
) -> tuple[Minimum, ...]:
    """Return the minima with masses by the names of classes, before class weights."""
    found = []
    for minimum in minima:
        masses = list(minimum.dropped.values())  # in the order of the classes
        if factor is not None:
            masses = [round(float(m / f), 9) for m, f in zip(masses, factor, strict=True)]
        found.append(minimum._replace(dropped=dict(zip(names, masses, strict=True))))
    return tuple(found)


@contextmanager
def restored(estimator: Any) -> Iterator[None]:
    """Put an estimator back as it was if anything goes wrong, an interruption included."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


@contextmanager
def said_of(names: str) -> Iterator[None]:
    """Put names before the message of an error: those that parameters have where it happens."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"{names}: {error}") from None


def as_seed(random_state: Any) -> int | np.random.Generator | None:
    """Return what solvers draw from; scikit-learn's generators give one number to begin with."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, Integral):
        check_random_state(random_state)
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def check_choice(name: str, given: Any, choices: tuple[str, ...]) -> None:
    """Refuse what is none of the choices, and name those that come close."""
    if isinstance(given, str) and given in choices:
        return
    close = difflib.get_close_matches(given, choices) if isinstance(given, str) else []
    hint = (
        f"did you mean {' or '.join(map(repr, close))}?"
        if close
        else "needed one of " + (", ".join(map(repr, choices)))
    )
    raise ValueError(f"{name}={given!r} is not known; {hint}")


def check_flag(name: str, given: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(given, bool | np.bool_):
        raise TypeError(f"{name}={given!r} is not a bool; needed True or False")


def check_verbose(given: Any) -> None:
    """Refuse what is no level of reports."""
    if isinstance(given, bool | np.bool_) or not isinstance(given, Integral):
        raise TypeError(f"verbose={given!r} is not an int; needed 0, 1 or 2")
