"""All points of a grid on splits of the rows: fitted to one part, scored on the other.

`compare_grid` makes the table of a search. Below it stand the splits, the rows that are fitted, and
the fits: all points together on a path, or one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy import sparse
from scipy.stats import rankdata
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from sorr._checks import as_seed, check_choice
from sorr._progress import print_reports
from sorr._typing import FloatArray, IntArray, Report, Weight
from sorr.estimators.base import Rows, encode, loss_of_classes, loss_of_numbers
from sorr.estimators.ranked_range import class_factors
from sorr.estimators.search.grid import (
    ClassMasses,
    GridPoint,
    Scoring,
    make_grid,
    make_scoring,
    mean_of_neighbours,
    ranking_of,
)
from sorr.objectives import Groups, RankedRangeObjective
from sorr.ranked import Mass
from sorr.solvers import Step, is_small, solve_path, trim

_RULES = ("auto", "error", "smoothed")
_FOLDS = 5
# How often the points of a path exchange solutions: with one value of k, with several, and with
# so many that neighbours differ little.
_ROUNDS_ONE_K, _ROUNDS, _ROUNDS_MANY_K = 1, 3, 2
_MANY_K = 4
# Products of columns over all rows up to which a path is the faster way, by whether the loss is
# smooth. Corners slow down fits one by one much more.
_MAX_PRODUCTS = {True: 250_000, False: 5_000_000}
_MAX_DENSE_COLUMNS = 64  # a sparse matrix with no more columns may as well be dense
_MAX_ENTRIES_FOR_COPIES = 4_000_000  # entries of X above which copies are not looked for
_MAX_DISTINCT = 0.75  # share of distinct rows up to which masses, which cost time, are worth it


# -- The table of a search -------------------------------------------------------------------------


class Comparison(NamedTuple):
    """How the points of a grid compare."""

    table: dict[str, Any]
    """``cv_results_``: an entry for each point in each column."""
    params: list[dict[str, Any]]
    """The parameters of each point."""
    ranking: list[int]
    """The points from best to worst, without those that were left out."""
    n_splits: int


class Split(NamedTuple):
    """Which rows are fitted, and which are scored."""

    number: int
    train: IntArray
    test: IntArray


@dataclass(frozen=True)
class Plan:
    """What is compared, and how."""

    template: Any
    """An estimator with the parameters that all points share."""
    points: Sequence[GridPoint]
    scoring: Scoring
    rounds: int | None
    """How often the points of a path exchange solutions; None for the default of the path."""
    seed: int
    n_splits: int = 1
    report: Report | None = None

    def say(self, split: Split, text: str) -> None:
        """Report progress if the user asked for it."""
        if self.report is not None:
            self.report(split.number, self.n_splits, f"split {split.number}: {text}")


def compare_grid(search: Any, template: Any, X: Any, y: npt.NDArray[Any], rows: Rows) -> Comparison:
    """Compare the points of a grid on splits of the rows.

    The search has the parameters grid, cv, scoring, rule, random_state, n_jobs and verbose, the
    template has those that all points share. X and y are the data as given, for the splitter.
    """
    check_choice("rule", search.rule, _RULES)
    is_classes = is_classifier(template)
    scoring = make_scoring(search.scoring, is_classes)
    seed = int(np.random.default_rng(as_seed(search.random_state)).integers(2**31))
    training = TrainingRows.of(rows, template)
    grid = make_grid(search.grid, training.masses)
    points = grid.points()
    splits = _without_empty_rows(make_splits(search.cv, X, y, is_classes, seed), rows)
    left_out = _obstacles(points, training, splits, template)
    possible = [i for i, reason in enumerate(left_out) if not reason]
    if not possible:
        raise ValueError(
            f"none of the {len(points)} points of the grid is possible; the first one, "
            f"m={points[0].m!r} and k={points[0].k!r}: {left_out[0]}"
        )
    is_smoothed = search.rule == "smoothed" or (search.rule == "auto" and len(splits) == 1)
    plan = Plan(
        template=template,
        points=[points[i] for i in possible],
        scoring=scoring,
        rounds=_rounds(len(grid.k), is_smoothed),
        seed=seed,
        n_splits=len(splits),
        report=print_reports(type(search).__name__, search.verbose),
    )
    scores = np.full((len(splits), len(points)), np.nan)
    scores[:, possible] = Parallel(n_jobs=search.n_jobs, prefer="threads")(
        delayed(score_split)(plan, rows, split) for split in splits
    )
    for i in possible:
        if np.isnan(scores[:, i]).any():
            left_out[i] = "it has no score on some split"
    table = _tabulate(points, scores, scoring)
    error = table["mean_test_error"]
    if is_smoothed:
        error = table["smoothed_test_error"] = mean_of_neighbours(error, grid.shape)
    table["left_out"] = _as_objects(left_out)
    ranking = ranking_of(error, points, rows.mass)
    if not ranking:
        raise ValueError(
            "no point of the grid has a score on every split; needed at least one: check what "
            "scoring returns"
        )
    return Comparison(table, table["params"], ranking, len(splits))


def _rounds(n_k: int, is_smoothed: bool) -> int | None:
    """Return how often points exchange solutions; those that differ in m and C agree at once."""
    if n_k >= _MANY_K:
        return None if is_smoothed else _ROUNDS_MANY_K
    return _ROUNDS if is_smoothed or n_k > 1 else _ROUNDS_ONE_K


def _tabulate(points: list[GridPoint], scores: FloatArray, scoring: Scoring) -> dict[str, Any]:
    """Return the parameters and scores of all points as a table."""
    mean, spread = scores.mean(axis=0), scores.std(axis=0)
    worst_last = np.where(np.isnan(mean), -np.inf, mean)
    return {
        "param_m": _as_objects([point.m for point in points]),
        "param_k": _as_objects([point.k for point in points]),
        "param_C": np.array([point.C for point in points]),
        "params": [point._asdict() for point in points],
        **{f"split{i}_test_score": row for i, row in enumerate(scores)},
        "mean_test_score": mean,
        "std_test_score": spread,
        "rank_test_score": rankdata(-worst_last, method="min").astype(np.int32),
        "mean_test_error": scoring.error(mean),
        "std_test_error": spread,
    }


def _as_objects(values: list[Any]) -> npt.NDArray[Any]:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


# -- Splits ----------------------------------------------------------------------------------------


def make_splits(cv: Any, X: Any, y: npt.NDArray[Any], is_classes: bool, seed: int) -> Any:
    """Return pairs of rows to fit and rows to score."""
    if cv is None or (isinstance(cv, int | np.integer) and not isinstance(cv, bool)):
        smallest = np.unique(y, return_counts=True)[1].min() if is_classes else len(y)
        number = max(2, min(_FOLDS, int(smallest))) if cv is None else int(cv)
        kind = StratifiedKFold if is_classes else KFold
        return list(kind(number, shuffle=True, random_state=seed).split(X, y))
    return list(check_cv(cv, y, classifier=is_classes).split(X, y))


def _without_empty_rows(pairs: list[tuple[Any, Any]], rows: Rows) -> list[Split]:
    """Return the splits without rows of weight zero."""
    place = np.arange(rows.n_given)
    if rows.places is not None:
        place = np.full(rows.n_given, -1)
        place[rows.places] = np.arange(len(rows.places))
    splits = []
    for number, pair in enumerate(pairs):
        sides = [place[np.asarray(side)] if len(side) else place[:0] for side in pair]
        train, test = (side[side >= 0] for side in sides)
        for name, side in (("fit", train), ("score", test)):
            if not len(side):
                raise ValueError(
                    f"split {number} has no row to {name}; needed at least one of positive weight"
                )
        splits.append(Split(number, train, test))
    if not splits:
        raise ValueError("cv yields no split; needed at least one")
    return splits


def _obstacles(
    points: list[GridPoint], training: TrainingRows, splits: list[Split], template: Any
) -> list[str]:
    """Return why each point is left out, or an empty text."""
    parts = [("", training.masses)]
    for split in splits:
        part = TrainingRows.of(training.rows.take(split.train), template)
        if len(part.classes) == 1:
            raise ValueError(
                f"split {split.number} fits one class only, {part.classes.tolist()[0]!r}; "
                "needed two or more: pass fewer folds, or folds with rows of each class"
            )
        parts.append((f"in split {split.number}: ", part.masses))
    known: dict[Any, str] = {}
    for m, k, _ in points:
        if (m, k) not in known:
            reasons = ((where, masses.obstacle(m, k)) for where, masses in parts)
            known[m, k] = next((where + reason for where, reason in reasons if reason), "")
    return [known[m, k] for m, k, _ in points]


# -- The rows of one fit ---------------------------------------------------------------------------


@dataclass(frozen=True)
class TrainingRows:
    """The rows that are fitted, with classes as numbers."""

    rows: Rows
    classes: npt.NDArray[Any]
    """Empty where targets are numbers."""
    index: IntArray
    factor: Weight | None
    """The factor on the mass of each class."""
    masses: ClassMasses

    @classmethod
    def of(cls, rows: Rows, template: Any) -> TrainingRows:
        """Return rows with the classes that occur in them."""
        if not is_classifier(template):
            index = np.zeros(len(rows.y), dtype=np.intp)
            return cls(rows, np.array([]), index, None, ClassMasses.of(index, rows.weight))
        classes, index = np.unique(rows.y, return_inverse=True)
        masses = np.bincount(index, rows.weight, len(classes))
        factor = class_factors(template.class_weight, rows.y, classes, masses)
        class_masses = ClassMasses.of(
            index,
            rows.weight,
            classes=classes.tolist(),
            factor=factor,
            is_pooled=template.ranking == "pooled",
        )
        return cls(rows, classes, index, factor, class_masses)

    def merged(self) -> TrainingRows:
        """Return the same rows with copies merged, unless there are very many."""
        X, y, weight = self.rows[:3]
        if X.shape[0] * X.shape[1] > _MAX_ENTRIES_FOR_COPIES:
            return self
        if sparse.issparse(self.rows.X):
            if X.shape[1] > _MAX_DENSE_COLUMNS:
                return self
            X = X.toarray()
        distinct, weight = merge_copies(X, self.index if len(self.classes) else y, weight)
        rows = Rows(X[distinct], y[distinct], weight, None, len(distinct))
        return replace(self, rows=rows, index=self.index[distinct])

    @property
    def weight(self) -> Weight | None:
        """The masses of the rows, times the factors on their classes."""
        if self.factor is None:
            return self.rows.weight
        return self.factor[self.index] * (1.0 if self.rows.weight is None else self.rows.weight)

    def objective(self, template: Any) -> RankedRangeObjective:
        """Return the average loss of the rows, ranked as the template says."""
        if len(self.classes):
            loss = loss_of_classes(template.loss, len(self.classes))
            target = encode(loss, self.index)
        else:
            loss, target = loss_of_numbers(template.loss), self.rows.y.astype(np.float64)
        return RankedRangeObjective(
            self.rows.X,
            target,
            loss,
            groups=None if self.masses.is_pooled else self.index,
            sample_weight=self.weight,
            fit_intercept=template.fit_intercept,
        )

    def groups(self, m: int | float, k: int | float | None) -> Groups:
        """Return how the rows are ranked, by the same ranks as in a fit."""
        n, ranks = len(self.index), self.masses.ranks(m, k)
        if self.masses.is_pooled:
            return Groups.of(n, Mass(ranks.m[0]), Mass(ranks.k[0]), None, self.weight)
        factor = 1.0 if self.factor is None else self.factor
        low, high = (dict(enumerate(map(Mass, rank * factor))) for rank in ranks)
        return Groups.of(n, low, high, self.index, self.weight)


def merge_copies(
    X: npt.NDArray[Any], target: npt.NDArray[Any], weight: Weight | None
) -> tuple[IntArray, Weight | None]:
    """Return distinct rows in an order that does not depend on the given one, and their masses.

    A search on these rows draws the same candidates for rows in any order, and for copies as for
    weights. Few copies of rows without weights are not merged. Masses that are all one are None.

    Examples
    --------
    >>> X, y = np.array([[2.0], [1.0], [2.0]]), np.array([0.0, 0.0, 0.0])
    >>> rows, weight = merge_copies(X, y, None)
    >>> sorted(zip(X[rows, 0].tolist(), weight.tolist()))
    [(1.0, 1.0), (2.0, 2.0)]
    """
    table = np.column_stack([X, target]).astype(np.float64) + 0.0  # minus zero becomes zero
    size = table.shape[1] * table.itemsize
    keys = np.ascontiguousarray(table).view(np.dtype((np.void, size))).ravel()
    _, rows, index = np.unique(keys, return_index=True, return_inverse=True)
    if weight is None and len(rows) > _MAX_DISTINCT * len(X):
        return np.arange(len(X)), None
    mass = np.bincount(index, weight, len(rows)).astype(np.float64)
    return rows, None if np.all(mass == 1) else mass


# -- The fits of one split -------------------------------------------------------------------------


def score_split(plan: Plan, rows: Rows, split: Split) -> FloatArray:
    """Return the score of each point on a split; NaN for points that are not possible there."""
    training = TrainingRows.of(rows.take(split.train), plan.template).merged()
    test = rows.take(split.test)
    scores = np.full(len(plan.points), np.nan)
    same_problem: dict[tuple[Any, ...], list[int]] = {}
    for i, (m, k, C) in enumerate(plan.points):
        low, high = training.masses.ranks(m, k)
        same_problem.setdefault((*low, *high, C), []).append(i)
    problems = list(same_problem.values())
    distinct = replace(plan, points=[plan.points[same[0]] for same in problems])
    for same, model in zip(problems, _models(distinct, training, split), strict=True):
        if model is not None:
            scores[same] = plan.scoring.score(model, test.X, test.y, test.weight)
    plan.say(split, "scored")
    return scores


def _models(plan: Plan, training: TrainingRows, split: Split) -> Iterator[Any]:
    """Yield a model for each point: always the same object, with other parameters."""
    objective = training.objective(plan.template)
    width = objective.design.n_parameters
    products = objective.n_samples * width * (width + 1) // 2
    is_cheap = products <= _MAX_PRODUCTS[objective.loss.smooth]
    solve = _solve_together if is_small(objective) and is_cheap else _solve_one_by_one
    model = clone(plan.template)
    d = model.n_features_in_ = objective.design.n_features
    for theta in solve(plan, training, objective, split):
        if np.isnan(theta).any():
            yield None
            continue
        intercept = theta[d] if len(theta) > d else np.zeros(theta.shape[1:])
        if len(training.classes):
            model.classes_ = training.classes
            model.coef_, model.intercept_ = np.atleast_2d(theta[:d].T), np.atleast_1d(intercept)
        else:
            model.coef_, model.intercept_ = theta[:d], float(intercept)
        yield model


def _solve_together(
    plan: Plan, training: TrainingRows, objective: RankedRangeObjective, split: Split
) -> Iterator[FloatArray]:
    """Yield the parameters of all points, which are solved together on a path."""
    problems: list[tuple[Any, Any, float]] = list(plan.points)
    if training.masses.is_pooled:  # the same ranks as in a fit
        unit = int if objective.groups.weight is None else Mass
        ranks = [training.masses.ranks(m, k) for m, k, _ in plan.points]
        problems = [
            (unit(low[0]), unit(high[0]), point.C)
            for (low, high), point in zip(ranks, plan.points, strict=True)
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


def _solve_one_by_one(
    plan: Plan, training: TrainingRows, objective: RankedRangeObjective, split: Split
) -> Iterator[FloatArray]:
    """Yield the parameters of each point, which starts where the one before ended.

    The first point of a line, with the same k and C, starts at the first one of the line before.
    """
    first: FloatArray | None = None
    theta: FloatArray | None = None
    before: tuple[Any, float] | None = None
    for number, (m, k, C) in enumerate(plan.points, start=1):
        problem = objective.with_groups(training.groups(m, k)).with_ridge(C)
        is_new_line = theta is None or before != (k, C)
        seed = np.random.default_rng([plan.seed, split.number, number])
        start = first if is_new_line else theta
        solution = trim(problem, start=start, certify=False, random_state=seed)
        theta = solution.theta.astype(np.float64, copy=False)
        if is_new_line:
            first, before = theta, (k, C)
        plan.say(split, f"grid point {number} of {len(plan.points)}")
        yield theta
