"""All cells of a grid on the splits of the rows: fitted to one part, scored on the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from sorr._typing import FloatArray, IntArray
from sorr.estimators.progress import Reporter
from sorr.estimators.ranks import Ends, class_factors
from sorr.estimators.search.copies import merge_copies
from sorr.estimators.search.grids import Cell, Pool
from sorr.estimators.search.scoring import Scoring
from sorr.estimators.targets import encode, loss_of_classes, loss_of_numbers
from sorr.objectives import Groups, RankedRangeObjective
from sorr.ranked import Mass
from sorr.solvers import Step, solve_path, trim
from sorr.solvers.starts import is_small

__all__ = ["Part", "Plan", "Split", "make_splits", "score_split"]

_FOLDS = 5
_NARROW = 64  # columns up to which a sparse matrix is as well a dense one
# Products of columns over all rows, above which a path is the slower way, by whether the loss is
# smooth: corners slow down fits one by one much more.
_LARGEST = {True: 250_000, False: 5_000_000}
_MANY = 4_000_000  # entries of X above which copies are not looked for


class Part(NamedTuple):
    """Some of the rows."""

    X: Any
    y: npt.NDArray[Any]
    weight: FloatArray | None

    def take(self, rows: IntArray) -> Part:
        """Return some of them."""
        weight = None if self.weight is None else self.weight[rows]
        return Part(self.X[rows], self.y[rows], weight)

    @property
    def mass(self) -> float:
        """How much they weigh together."""
        return float(len(self.y) if self.weight is None else self.weight.sum())


class Split(NamedTuple):
    """Which rows are fitted, and which are scored."""

    number: int
    train: IntArray
    test: IntArray


@dataclass(frozen=True)
class Plan:
    """What is compared, and how.

    Attributes
    ----------
    template : estimator
        With the parameters that all cells share.
    is_classes : bool
        Whether targets are classes.
    cells : sequence of Cell
    scoring : Scoring
    rounds : int or None
        How often the cells of a path exchange solutions.
    seed : int
    reporter : Reporter or None
    """

    template: Any
    is_classes: bool
    cells: Sequence[Cell]
    scoring: Scoring
    rounds: int | None
    seed: int
    reporter: Reporter | None

    def say(self, split: Split, message: str) -> None:
        """Report progress, if that is wanted."""
        if self.reporter is not None:
            self.reporter.say(f"split {split.number}: {message}")


@dataclass(frozen=True)
class Learned:
    """The rows that are fitted, with classes as numbers."""

    part: Part
    classes: npt.NDArray[Any]
    index: IntArray
    factor: FloatArray | None
    pool: Pool

    @classmethod
    def of(cls, part: Part, template: Any, is_classes: bool) -> Learned:
        """Return the rows of a part, with the classes it holds and the factors on them."""
        if not is_classes:
            index = np.zeros(len(part.y), dtype=np.intp)
            pool = Pool.of(index, part.weight, [], None, is_pooled=True)
            return cls(part, np.array([]), index, None, pool)
        classes, index = np.unique(part.y, return_inverse=True)
        masses = np.bincount(index, part.weight, len(classes))
        factor = class_factors(template.class_weight, part.y, classes, masses)
        is_pooled = template.ranking == "pooled"
        pool = Pool.of(index, part.weight, classes.tolist(), factor, is_pooled)
        return cls(part, classes, index, factor, pool)

    def merged(self) -> Learned:
        """Return the same rows with copies put together, unless there are very many."""
        X, y, weight = self.part
        if X.shape[0] * X.shape[1] > _MANY:
            return self
        if sparse.issparse(self.part.X):
            if X.shape[1] > _NARROW:
                return self
            X = X.toarray()
        target = self.index if len(self.classes) else y
        rows, weight = merge_copies(X, target, weight)
        return replace(self, part=Part(X[rows], y[rows], weight), index=self.index[rows])

    @property
    def weight(self) -> FloatArray | None:
        """The masses of the rows, times the factors on their classes."""
        if self.factor is None:
            return self.part.weight
        return self.factor[self.index] * (1.0 if self.part.weight is None else self.part.weight)

    def objective(self, template: Any) -> RankedRangeObjective:
        """Return the average loss of the rows, ranked as the template says."""
        if len(self.classes):
            loss = loss_of_classes(template.loss, len(self.classes))
            target = encode(loss, self.index)
        else:
            loss, target = loss_of_numbers(template.loss), self.part.y.astype(np.float64)
        return RankedRangeObjective(
            self.part.X,
            target,
            loss,
            groups=None if self.pool.is_pooled else self.index,
            sample_weight=self.weight,
            fit_intercept=template.fit_intercept,
        )

    def groups(self, m: int | float, k: int | float | None) -> Groups:
        """Return how the rows are ranked: by the very ranks that a fit would have."""
        ends = self.pool.ends(m, k)
        labels = None
        if not self.pool.is_pooled:
            labels = self.index
            ends = ends if self.factor is None else Ends(*(end * self.factor for end in ends))
        low, high = (dict(enumerate(map(Mass, end))) for end in ends)
        n = len(self.index)
        if labels is None:
            return Groups.of(n, low[0], high[0], None, self.weight)
        return Groups.of(n, low, high, labels, self.weight)


def make_splits(cv: Any, X: Any, y: npt.NDArray[Any], is_classes: bool, seed: int) -> Any:
    """Return pairs of rows to fit and rows to score."""
    if cv is None or (isinstance(cv, int | np.integer) and not isinstance(cv, bool)):
        smallest = np.unique(y, return_counts=True)[1].min() if is_classes else len(y)
        number = max(2, min(_FOLDS, int(smallest))) if cv is None else int(cv)
        kind = StratifiedKFold if is_classes else KFold
        return list(kind(number, shuffle=True, random_state=seed).split(X, y))
    return list(check_cv(cv, y, classifier=is_classes).split(X, y))


def score_split(plan: Plan, part: Part, split: Split) -> FloatArray:
    """Return the score of each cell on a split; NaN for cells that are not possible there."""
    template = plan.template
    learned = Learned.of(part.take(split.train), template, plan.is_classes).merged()
    X, y, weight = part.take(split.test)
    scores = np.full(len(plan.cells), np.nan)
    alike: dict[tuple[Any, ...], list[int]] = {}
    for i, (m, k, C) in enumerate(plan.cells):
        low, high = learned.pool.ends(m, k)
        alike.setdefault((*low, *high, C), []).append(i)
    groups = list(alike.values())
    some = replace(plan, cells=[plan.cells[same[0]] for same in groups])
    for same, model in zip(groups, _models(some, learned, split), strict=True):
        if model is not None:
            scores[same] = plan.scoring.score(model, X, y, weight)
    plan.say(split, "scored")
    return scores


def _models(plan: Plan, learned: Learned, split: Split) -> Iterator[Any]:
    """Yield a model for each cell: one and the same object, with other parameters."""
    objective = learned.objective(plan.template)
    width = objective.design.n_parameters
    products = objective.n_samples * width * (width + 1) // 2
    is_cheap = products <= _LARGEST[objective.loss.smooth]
    solve = _by_path if is_small(objective) and is_cheap else _one_by_one
    model = clone(plan.template)
    d = model.n_features_in_ = objective.design.n_features
    for theta in solve(plan, learned, objective, split):
        if np.isnan(theta).any():
            yield None
            continue
        intercept = theta[d] if len(theta) > d else np.zeros(theta.shape[1:])
        model.coef_, model.intercept_ = theta[:d], float(intercept) if theta.ndim == 1 else 0.0
        if plan.is_classes:
            model.classes_ = learned.classes
            model.coef_, model.intercept_ = np.atleast_2d(theta[:d].T), np.atleast_1d(intercept)
        yield model


def _by_path(
    plan: Plan, learned: Learned, objective: RankedRangeObjective, split: Split
) -> Iterator[FloatArray]:
    """Yield the parameters of all cells, which are solved together."""
    problems: list[tuple[Any, Any, float]] = list(plan.cells)
    if learned.pool.is_pooled:  # the very ranks that a fit would have
        ends = [learned.pool.ends(m, k) for m, k, _ in plan.cells]
        unit = int if objective.groups.weight is None else Mass
        problems = [
            (unit(low[0]), unit(high[0]), cell.C)
            for (low, high), cell in zip(ends, plan.cells, strict=True)
        ]

    def progress(step: Step) -> None:
        plan.say(split, f"round {step.start} of the path, mean objective {step.objective:.6g}")

    path = solve_path(
        objective,
        problems,
        rounds=plan.rounds,
        random_state=np.random.default_rng([plan.seed, split.number]),
        progress=progress,
    )
    yield from path.theta


def _one_by_one(
    plan: Plan, learned: Learned, objective: RankedRangeObjective, split: Split
) -> Iterator[FloatArray]:
    """Yield the parameters of each cell, which starts where the one before ended.

    The first one of a row, of the same k and C, starts at the first one of the row before.
    """
    first: FloatArray | None = None
    theta: FloatArray | None = None
    before: tuple[Any, float] | None = None
    for number, (m, k, C) in enumerate(plan.cells, start=1):
        problem = objective.with_groups(learned.groups(m, k)).with_ridge(C)
        is_new_row = theta is None or before != (k, C)
        seed = np.random.default_rng([plan.seed, split.number, number])
        start = first if is_new_row else theta
        solution = trim(problem, start=start, certify=False, random_state=seed)
        theta = solution.theta.astype(np.float64, copy=False)
        if is_new_row:
            first, before = theta, (k, C)
        plan.say(split, f"cell {number} of {len(plan.cells)}")
        yield theta
