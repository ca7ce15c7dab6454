"""From checked rows to a fitted linear model that minimises a ranked range of losses.

First the model that the classifier, the regressor and the top-k classifier build on. Then the
ranks and class weights that users give, as numbers of rows or mass.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.utils import compute_class_weight

from sorr._checks import as_count, as_seed, check_choice, check_flag, check_limits, check_verbose
from sorr._typing import BoolArray, FloatArray, IntArray, Weight
from sorr.estimators.base import LinearModel, Rows, notices_of, prefix_errors, print_steps
from sorr.losses import Loss
from sorr.objectives import RankedRangeObjective
from sorr.ranked import Mass, RankedRange
from sorr.ranked import thresholds as cut_values
from sorr.solvers import Minimum, Solution, dca, trim

_SOLVERS = ("trim", "dca")
_ROUNDING = 1e-9  # relative difference between two sums of the same loss in different orders

Masses: TypeAlias = npt.NDArray[Any]
"""The mass of each class: integers if they are numbers of rows."""


class Ranks(NamedTuple):
    """The ranks m and k of each group of rows, in mass."""

    m: FloatArray
    k: FloatArray


@dataclass(frozen=True)
class Task:
    """What to minimise over which rows, for any kind of target."""

    rows: Rows
    loss: Loss
    target: npt.NDArray[Any]
    ranks: Ranks
    groups: IntArray | None = None
    """The group of each row; None if all rows are ranked together."""
    multiplier: Weight | None = None
    """The factor on the mass and the ranks of each group."""
    start: FloatArray | None = None


class RankedRangeLinear(LinearModel):
    """A linear model that minimises a ranked range of losses.

    A subclass has the parameters of the solvers, such as `solver`, `C` and `tol`.
    """

    def outlier_score(self, X: Any, y: Any) -> FloatArray:
        """Return by how much the loss of each row exceeds the largest one that was kept.

        With classes ranked apart, that is the largest one of its class.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        y : array-like
            Targets as in `fit`, without new labels.

        Returns
        -------
        ndarray of shape (n_samples,)
            Above zero for a row that would have been dropped. Larger is more suspect.
        """
        losses, index = self._losses(X, y)
        levels = self._levels
        return np.asarray(losses - (levels[index] if len(levels) > 1 else levels[0]))

    @abstractmethod
    def _losses(self, X: Any, y: Any) -> tuple[FloatArray, IntArray]:
        """Return the loss of new rows, and the index of each row's class, or zeros."""

    def _objective(self, task: Task) -> RankedRangeObjective:
        """Return what is minimised."""
        rows, factor, weight = task.rows, task.multiplier, task.rows.weight
        ranks = task.ranks if factor is None else [rank * factor for rank in task.ranks]
        is_counted = weight is None and factor is None
        m, k = ([_as_rank(rank, is_counted) for rank in side] for side in ranks)
        if task.groups is not None and factor is not None:
            weight = factor[task.groups] * (1.0 if weight is None else weight)
        total = float(rows.X.shape[0] if weight is None else np.sum(weight))
        return RankedRangeObjective(
            rows.X,
            task.target,
            task.loss,
            m=m[0] if task.groups is None else dict(enumerate(m)),
            k=k[0] if task.groups is None else dict(enumerate(k)),
            C=self._inverse_ridge(task, total - float(np.sum(m))),
            groups=task.groups,
            sample_weight=weight,
            fit_intercept=self.fit_intercept,
        )

    def _inverse_ridge(self, task: Task, mass: float) -> float:
        """Return C, given the mass of the rows that are not dropped."""
        del task, mass
        given: float = self.C
        return given

    def _check_options(self) -> None:
        """Refuse options that no solver understands."""
        check_choice("solver", self.solver, _SOLVERS)
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
        """Run the chosen solver."""
        self._check_options()
        certify = self._certifies(objective)
        progress = print_steps(type(self).__name__, self.verbose)
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
        """Return the parameters of the last fit if the next fit should start there."""
        check_flag("warm_start", self.warm_start)
        if not (self.warm_start and hasattr(self, "coef_")):
            return None
        parts = [self._stored_coef()]
        if self.fit_intercept:
            parts.append(np.reshape(self.intercept_, (1, *parts[0].shape[1:])))
        theta = np.concatenate(parts)
        return theta if theta.shape == shape else None

    def _learn(self, task: Task) -> tuple[Solution, list[Warning]]:
        """Minimise, store the fitted attributes, and return the solution and its warnings."""
        objective = self._objective(task)
        warm = self._warm(objective.shape)
        solution = self._minimise(objective, task.start if warm is None else warm)
        largest = self._keep(task, objective, solution)
        if not objective.loss.never_reaches_zero or objective.class_of_row is None:
            largest = np.nan
        return solution, notices_of(solution, largest, objective.C)

    def _keep(self, task: Task, objective: RankedRangeObjective, solution: Solution) -> float:
        """Store the fitted attributes, and return the largest loss of a kept row."""
        raw, masses = objective.raw_prediction(solution.theta), objective.groups.weight
        is_dropped = objective.dropped(raw) > (0.5 if masses is None else masses / 2)
        losses = objective.losses(raw).astype(np.float64, copy=False)
        del raw  # many rows need much memory
        cuts, levels, largest = [], [], 0.0
        for group in objective.groups:
            weight = None if masses is None else masses[group.rows]
            m, k, mine = Mass(group.m), Mass(group.k), losses[group.rows]
            cuts.append(cut_values(mine, m, k, sample_weight=weight))
            is_kept = solution.row_weights[group.rows] > 0
            levels.append(_level(mine, is_kept))
            largest = max(largest, float(mine.max(where=is_kept, initial=0.0)))
        factor = 1.0 if task.multiplier is None else task.multiplier
        self.m_ = np.array([group.m for group in objective.groups]) / factor
        self.k_ = np.array([group.k for group in objective.groups]) / factor
        self.thresholds_ = np.array(cuts, dtype=np.float64)
        self._levels = np.array(levels)
        self.losses_ = task.rows.spread(losses, np.nan)
        self.row_weights_ = task.rows.spread(
            solution.row_weights.astype(np.float64, copy=False), 0.0
        )
        self.outlier_mask_ = task.rows.spread(is_dropped, False)
        self.objective_, self.gap_, self.status_ = solution.objective, solution.gap, solution.status
        self.trace_, self.minima_ = solution.trace, solution.minima
        self.n_iter_ = max(1, sum(step.phase != "start" for step in solution.trace))
        return largest


def _as_rank(mass: float, is_counted: bool) -> int | Mass:
    """Return a rank as a number of rows where possible, which is faster to rank by."""
    return int(mass) if is_counted and mass % 1 == 0 else Mass(mass)


def _level(losses: FloatArray, is_kept: BoolArray) -> float:
    """Return the largest kept loss, raised by what rounding may add to it elsewhere."""
    largest = float(losses.max(where=is_kept, initial=-np.inf))
    room = (float(losses.min(where=losses > largest, initial=np.inf)) - largest) / 2
    return largest + min(_ROUNDING * max(largest, float(np.median(losses))), room)


def named_minima(
    minima: tuple[Minimum, ...], names: list[Any], factor: FloatArray | None = None
) -> tuple[Minimum, ...]:
    """Return the minima with the dropped mass of each class by name, without class weights."""
    named = []
    for minimum in minima:
        masses = list(minimum.dropped.values())  # in the order of the classes
        if factor is not None:
            masses = [round(float(m / f), 9) for m, f in zip(masses, factor, strict=True)]
        named.append(minimum._replace(dropped=dict(zip(names, masses, strict=True))))
    return tuple(named)


# -- Ranks and class weights as users give them ---------------------------------------------------


def class_factors(
    class_weight: Any, y: npt.NDArray[Any], classes: npt.NDArray[Any], masses: Masses
) -> Weight | None:
    """Return the factor of `class_weight` on the mass of each class; None if there is none."""
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
            f"class_weight={class_weight!r} has a weight that is not positive and finite; needed a "
            "number above 0 for each class: remove the rows of a class that should not count"
        )
    return factors


def ranks_in_all(m: Any, k: Any, masses: Masses, classes: Sequence[Any] = ()) -> Ranks:
    """Return the ranks among all rows; no class, if there are any, may fit inside m."""
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
                f"class {label!r} has {mass:g} of {masses.sum():g} rows and m={m!r} may drop "
                f"{low:g}: the best model would ignore that class; lower m below {mass:g} rows, "
                "use ranking='within_class', or give the class more weight"
            )
    return Ranks(np.array([low]), np.array([high]))


def ranks_in_classes(m: Any, k: Any, masses: Masses, classes: Sequence[Any]) -> Ranks:
    """Return the ranks in each class.

    A fraction holds in each class. A mapping gives classes their own count or fraction; a class
    that it does not name drops nothing, or keeps all.
    """
    for name, rank in (("m", m), ("k", k)):
        if isinstance(rank, Mapping):
            _refuse_strangers(name, rank, classes)
        elif isinstance(rank, int | np.integer) and not isinstance(rank, bool) and rank != 0:
            _refuse_count(name, int(rank), masses, classes)
    RankedRange(0 if isinstance(m, Mapping) else m)  # refuses what is not a rank in any class
    RankedRange(0, None if isinstance(k, Mapping) else k)
    lows, highs = [], []
    for label, mass in zip(classes, masses, strict=True):
        with prefix_errors(f"in class {label!r}"):
            low, high = _resolve(
                m.get(label, 0) if isinstance(m, Mapping) else m,
                k.get(label) if isinstance(k, Mapping) else k,
                mass,
            )
        lows.append(low)
        highs.append(high)
    return Ranks(np.array(lows), np.array(highs))


def _resolve(m: Any, k: Any, mass: Any) -> tuple[float, float]:
    """Return both ranks in mass. An integer mass is a number of rows, and so are its fractions."""
    total = int(mass) if isinstance(mass, np.integer) else float(mass)
    ranks = RankedRange(m, k).resolve(total)
    return float(ranks.m), float(total if ranks.k is None else ranks.k)


def _refuse_strangers(name: str, rank: Mapping[Any, Any], classes: Sequence[Any]) -> None:
    if strangers := [key for key in rank if key not in classes]:
        raise ValueError(
            f"{name}={rank!r} has an entry for {strangers[0]!r}, which is not a class of y; "
            f"needed classes among {', '.join(map(repr, classes))}"
        )


def _refuse_count(name: str, rank: int, masses: Masses, classes: Sequence[Any]) -> None:
    each = dict.fromkeys(list(classes)[:2], rank)
    raise ValueError(
        f"{name}={rank} is a count, but rows are ranked within each class: it can mean {rank} rows "
        f"of every class or {rank} rows in all; pass a mapping such as {name}={each!r} for the "
        f"first, ranking='pooled' for the second, or a fraction such as "
        f"{name}={min(rank / masses.sum(), 0.5):.2g}, which holds in each class"
    )
