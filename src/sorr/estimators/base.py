"""What the classifier and the regressor share: from checked rows to a fitted linear model."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from sorr.estimators.notices import warn_of
from sorr.estimators.progress import reporter
from sorr.estimators.ranks import Ends
from sorr.losses import Loss
from sorr.objectives import RankedRangeObjective
from sorr.objectives.groups import as_masses
from sorr.ranked import Mass
from sorr.ranked import thresholds as cut_values
from sorr.solvers import Solution, dca, exhaustive, topsum, trim

__all__ = ["SOLVERS", "RankedRangeLinear", "Rows", "check_choice", "check_flag", "restored"]

FloatArray = npt.NDArray[np.float64]
SOLVERS = ("trim", "dca", "topsum", "exhaustive")


class Rows(NamedTuple):
    """The rows that count: those of positive mass."""

    X: Any
    y: npt.NDArray[Any]
    weight: FloatArray | None
    places: npt.NDArray[np.intp] | None
    """Where they stand among the rows that were given; None if all of them count."""
    n_given: int

    def spread(self, values: npt.NDArray[Any], missing: Any) -> npt.NDArray[Any]:
        """Return their values in the places of all rows that were given."""
        if self.places is None:
            return values
        everywhere = np.full(self.n_given, missing, dtype=values.dtype)
        everywhere[self.places] = values
        return everywhere

    @property
    def is_whole(self) -> bool:
        """Whether masses are numbers of copies, so that fractions of them become whole rows."""
        return self.weight is None or bool(np.all(self.weight % 1 == 0))


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


class RankedRangeLinear(BaseEstimator):
    """A linear model that minimises a ranked range of losses."""

    def _rows(self, X: Any, y: Any, sample_weight: Any, **how: Any) -> Rows:
        """Return the data as arrays, without the rows of no weight."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], **how)
        weight = as_masses(sample_weight, X.shape[0])
        if weight is None or weight.all():
            return Rows(X, y, weight, None, X.shape[0])
        index = np.flatnonzero(weight)
        return Rows(X[index], y[index], weight[index], index, X.shape[0])

    def _objective(self, task: Task) -> RankedRangeObjective:
        """Return what is minimised. A multiplier of each group stretches its masses and ranks."""
        rows, stretch, weight = task.rows, task.multiplier, task.rows.weight
        is_counted = weight is None and stretch is None
        m, k = (
            [int(e) if is_counted and e % 1 == 0 else Mass(e) for e in end]
            for end in (task.ends if stretch is None else (end * stretch for end in task.ends))
        )
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

    def _minimise(self, objective: RankedRangeObjective, start: FloatArray | None) -> Solution:
        """Return what the chosen solver finds."""
        check_choice("solver", self.solver, SOLVERS)
        check_flag("certify", self.certify)
        progress = reporter(type(self).__name__, self.verbose)
        seed = as_seed(self.random_state)
        if self.solver == "exhaustive":
            return exhaustive(objective, tol=self.tol)
        if self.solver == "topsum":
            return topsum(
                objective, start=start, tol=self.tol, max_iter=self.max_iter, progress=progress
            )
        if self.solver == "dca":
            return dca(
                objective,
                start=start,
                inner="deterministic",
                outer_steps=self.max_iter,
                k_schedule=self.k_schedule,
                tol=self.tol,
                random_state=seed,
                progress=progress,
            )
        return trim(
            objective,
            start=start,
            n_starts=self.n_starts,
            certify=self.certify and objective.loss.has_pieces,
            tol=self.tol,
            max_iter=self.max_iter,
            k_schedule=self.k_schedule,
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

    def _stored_coef(self) -> FloatArray:
        """Return the coefficients in the shape of a solver's."""
        return np.asarray(self.coef_)

    def _learn(self, task: Task) -> Solution:
        """Minimise, keep what is known of the solution, and warn of what is wrong with it."""
        objective = self._objective(task)
        start = self._warm(objective.shape) if task.start is None else task.start
        solution = self._minimise(objective, start)
        objective = objective.with_groups(solution.groups)  # k may have followed a schedule
        raw = objective.raw_prediction(solution.theta)
        self._keep(task, objective, solution, raw)
        is_classes = objective.strata is not None
        warn_of(solution, self._largest_kept.max() if is_classes else np.nan, objective.C)
        return solution

    def _keep(
        self, task: Task, objective: RankedRangeObjective, solution: Solution, raw: Any
    ) -> None:
        losses = objective.losses(raw).astype(np.float64, copy=False)
        masses = objective.groups.masses
        cuts, largest = [], []
        for group in objective.groups:
            rows = group.rows
            weight = None if objective.groups.weight is None else masses[rows]
            pair = cut_values(losses[rows], Mass(group.m), Mass(group.k), sample_weight=weight)
            cuts.append(pair)
            largest.append(losses[rows][solution.row_weights[rows] > 0].max())
        stretch = 1.0 if task.multiplier is None else task.multiplier
        self.m_ = np.array([group.m for group in objective.groups]) / stretch
        self.k_ = np.array([group.k for group in objective.groups]) / stretch
        self.thresholds_ = np.array(cuts, dtype=np.float64)
        self._largest_kept = np.array(largest)
        self.losses_ = task.rows.spread(losses, np.nan)
        self.row_weights_ = task.rows.spread(solution.row_weights.astype(np.float64), 0.0)
        is_out = objective.dropped(raw) > masses / 2
        self.outlier_mask_ = task.rows.spread(is_out, False)
        self.objective_, self.gap_, self.status_ = solution.objective, solution.gap, solution.status
        self.trace_, self.minima_ = solution.trace, solution.minima
        self.n_iter_ = max(1, sum(step.phase != "start" for step in solution.trace))

    def _raw_prediction(self, X: Any) -> FloatArray:
        """Return ``X @ coef + intercept`` of new rows."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return np.asarray(X @ self._stored_coef() + np.squeeze(self.intercept_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


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


def as_seed(random_state: Any) -> int | np.random.Generator | None:
    """Return what solvers draw from; scikit-learn's generators give one number to begin with."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(np.iinfo(np.int32).max))
    check_random_state(random_state)
    return int(random_state)


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
