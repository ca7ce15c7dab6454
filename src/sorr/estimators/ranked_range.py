"""What the classifier and the regressor share: from checked rows to a fitted linear model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils import compute_class_weight

from sorr._checks import as_count, as_seed, check_choice, check_flag, check_limits, check_verbose
from sorr._typing import FloatArray, Weight
from sorr.estimators.base import LinearModel, Rows, notices_of, reporter
from sorr.losses import Loss
from sorr.objectives import RankedRangeObjective
from sorr.ranked import Mass, RankedRange
from sorr.ranked import thresholds as cut_values
from sorr.solvers import Minimum, Solution, dca, trim

__all__ = [
    "SOLVERS",
    "Ends",
    "RankedRangeLinear",
    "Task",
    "class_factors",
    "ends_of_rows",
    "named_minima",
    "pooled_ends",
    "restored",
    "said_of",
    "within_class_ends",
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
    multiplier: Weight | None = None
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
            as_count("n_starts", self.n_starts)
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
        is_endless = objective.loss.never_reaches_zero and objective.class_of_row is not None
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


# -- Ranks and class weights as users give them, in rows or mass of each group that is ranked ------


Masses = npt.NDArray[Any]


class Ends(NamedTuple):
    """Ranks m and k of each group, in mass."""

    m: FloatArray
    k: FloatArray


def class_factors(
    class_weight: Any, y: npt.NDArray[Any], classes: npt.NDArray[Any], masses: Masses
) -> Weight | None:
    """Return what `class_weight` multiplies the mass of each class by; None if nothing."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":  # by mass, not by rows
        return np.asarray(masses.sum() / (len(classes) * masses))
    if isinstance(class_weight, Mapping):
        _refuse_strangers("class_weight", class_weight, classes.tolist())
        class_weight = dict(class_weight)
    elif not isinstance(class_weight, str):
        raise TypeError(
            f"class_weight={class_weight!r} is of type {type(class_weight).__name__}; needed a "
            "mapping from class to weight, or 'balanced'"
        )
    factors = np.asarray(compute_class_weight(class_weight, classes=classes, y=y), np.float64)
    if not (np.isfinite(factors).all() and (factors > 0).all()):
        raise ValueError(
            f"class_weight={class_weight!r} gives a class no positive weight; needed a number "
            "above 0 for each class: leave out the rows of a class that should not count"
        )
    return factors


def pooled_ends(m: Any, k: Any, masses: Masses, classes: Sequence[Any] = ()) -> Ends:
    """Return the ranks in all rows together.

    Parameters
    ----------
    m, k : int, float or None
        Counts or fractions.
    masses : ndarray
        The mass of each class, or of all rows: integers if it is a number of rows, so that
        fractions become whole rows.
    classes : sequence
        The names of the classes, if there are any: none of them may fit inside m.
    """
    for name, rank in (("m", m), ("k", k)):
        if isinstance(rank, Mapping):
            raise TypeError(
                f"{name}={rank!r} is a mapping, but all rows are ranked together; needed a single "
                f"number, or a classifier with ranking='within_class'"
            )
    low, high = _resolve(m, k, masses.sum())
    for label, mass in zip(classes, masses, strict=False):
        if 0 < mass <= low:
            raise ValueError(
                f"class {label!r} has {mass:g} of {masses.sum():g} rows and m={m!r} allows to drop "
                f"{low:g}: the best model would ignore that class; lower m below {mass:g} rows, "
                "use ranking='within_class', or give the class more weight"
            )
    return Ends(np.array([low]), np.array([high]))


def within_class_ends(m: Any, k: Any, masses: Masses, classes: Sequence[Any]) -> Ends:
    """Return the ranks in each class.

    Parameters
    ----------
    m, k : float, mapping or None
        A fraction holds in each class. A mapping gives a class its own count or fraction; a
        class it does not name drops nothing, or keeps all.
    masses : ndarray
        The mass of each class; see `pooled_ends`.
    classes : sequence
        Their names.
    """
    for name, rank in (("m", m), ("k", k)):
        if isinstance(rank, Mapping):
            _refuse_strangers(name, rank, classes)
        elif isinstance(rank, int | np.integer) and not isinstance(rank, bool) and rank != 0:
            _refuse_count(name, int(rank), masses, classes)
    RankedRange(0 if isinstance(m, Mapping) else m)  # what is no rank is none in any class
    RankedRange(0, None if isinstance(k, Mapping) else k)
    ends = []
    for label, mass in zip(classes, masses, strict=True):
        low = m.get(label, 0) if isinstance(m, Mapping) else m
        high = k.get(label) if isinstance(k, Mapping) else k
        try:
            ends.append(_resolve(low, high, mass))
        except (ValueError, TypeError) as error:
            raise type(error)(f"in class {label!r}: {error}") from None
    return Ends(np.array([low for low, _ in ends]), np.array([high for _, high in ends]))


def ends_of_rows(
    m: Any, k: Any, rows: Rows, groups: npt.NDArray[np.intp] | None, classes: Sequence[Any]
) -> Ends:
    """Return the ranks in each class that rows are ranked in, or in all rows together."""
    places = np.zeros(rows.X.shape[0], np.intp) if groups is None else groups
    masses: Masses = np.bincount(places, rows.weight, 1 if groups is None else len(classes))
    if rows.is_whole:
        masses = np.rint(masses).astype(np.int64)
    return pooled_ends(m, k, masses) if groups is None else within_class_ends(m, k, masses, classes)


def _resolve(m: Any, k: Any, mass: Any) -> tuple[float, float]:
    """Return both ends in mass; an integer mass is a number of rows, of which fractions are too."""
    total = int(mass) if isinstance(mass, np.integer) else float(mass)
    ends = RankedRange(m, k).resolve(total)
    return float(ends.m), float(total if ends.k is None else ends.k)


def _refuse_strangers(name: str, rank: Mapping[Any, Any], classes: Sequence[Any]) -> None:
    if strangers := [key for key in rank if key not in classes]:
        raise ValueError(
            f"{name}={rank!r} has an entry for {strangers[0]!r}, which is no class of y; "
            f"needed some of {', '.join(map(repr, classes))}"
        )


def _refuse_count(name: str, rank: int, masses: Masses, classes: Sequence[Any]) -> None:
    each = dict.fromkeys(list(classes)[:2], rank)
    raise ValueError(
        f"{name}={rank} is a count, but rows are ranked within each class: it can be read as "
        f"{rank} rows of every class and as {rank} rows in all; pass a mapping such as "
        f"{name}={each!r} for the first, ranking='pooled' for the second, or a fraction such as "
        f"{name}={min(rank / masses.sum(), 0.5):.2g}, which holds in each class"
    )
