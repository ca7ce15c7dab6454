"""All cells of a grid on the splits of the rows: fitted to one part, scored on the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy import sparse
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from sorr._checks import as_seed, check_choice
from sorr._typing import FloatArray, IntArray, Report, Weight
from sorr.estimators.base import Rows, encode, loss_of_classes, loss_of_numbers, print_reports
from sorr.estimators.ranked_range import Ranks, class_factors
from sorr.estimators.search.grid import (
    Cell,
    Grid,
    Pool,
    Scoring,
    make_grid,
    make_scoring,
    ranking_of,
    smoothed,
)
from sorr.objectives import Groups, RankedRangeObjective
from sorr.ranked import Mass
from sorr.solvers import Step, is_small, solve_path, trim

__all__ = [
    "Outcome",
    "Part",
    "Plan",
    "Split",
    "compare_cells",
    "make_splits",
    "merge_copies",
    "score_split",
]

_FOLDS = 5
_NARROW = 64  # columns up to which a sparse matrix is as well a dense one
# Products of columns over all rows, above which a path is the slower way, by whether the loss is
# smooth: corners slow down fits one by one much more.
_LARGEST = {True: 250_000, False: 5_000_000}
_MAX_ENTRIES_FOR_COPIES = 4_000_000  # entries of X above which copies are not looked for


class Part(NamedTuple):
    """Some of the rows."""

    X: Any
    y: npt.NDArray[Any]
    weight: Weight | None

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
    n_splits : int
    report : callable or None
    """

    template: Any
    is_classes: bool
    cells: Sequence[Cell]
    scoring: Scoring
    rounds: int | None
    seed: int
    n_splits: int
    report: Report | None

    def say(self, split: Split, message: str) -> None:
        """Report progress, if that is wanted."""
        if self.report is not None:
            self.report(split.number, self.n_splits, f"split {split.number}: {message}")


@dataclass(frozen=True)
class Learned:
    """The rows that are fitted, with classes as numbers."""

    part: Part
    classes: npt.NDArray[Any]
    index: IntArray
    factor: Weight | None
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
        if X.shape[0] * X.shape[1] > _MAX_ENTRIES_FOR_COPIES:
            return self
        if sparse.issparse(self.part.X):
            if X.shape[1] > _NARROW:
                return self
            X = X.toarray()
        target = self.index if len(self.classes) else y
        rows, weight = merge_copies(X, target, weight)
        return replace(self, part=Part(X[rows], y[rows], weight), index=self.index[rows])

    @property
    def weight(self) -> Weight | None:
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
            ends = ends if self.factor is None else Ranks(*(end * self.factor for end in ends))
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


# -- The cells of a grid compared: their scores on all splits as a table, and who comes first ------


_RULES = ("auto", "error", "smoothed")
_ROUNDS = 3  # of a path, for its cells to agree
_NEIGHBOURS, _HASTE = 4, 2  # values of k, of which so many are neighbours that fewer rounds do


class Outcome(NamedTuple):
    """What a comparison found.

    Attributes
    ----------
    table : dict
        ``cv_results_``: an entry for each cell in each column.
    params : list of dict
        The parameters of each cell.
    ranking : list of int
        The cells from best to worst, without those that were left out.
    n_splits : int
    """

    table: dict[str, Any]
    params: list[dict[str, Any]]
    ranking: list[int]
    n_splits: int


def compare_cells(
    search: Any, template: Any, X: Any, y: npt.NDArray[Any], rows: Rows, is_classes: bool
) -> Outcome:
    """Return how the cells of a search compare.

    Parameters
    ----------
    search : estimator
        Of which the parameters grid, cv, scoring, rule, random_state, n_jobs and verbose are read.
    template : estimator
        With the parameters that all cells share.
    X, y
        What was given, for the splitter.
    rows : Rows
        The same, checked.
    is_classes : bool
        Whether targets are classes.
    """
    check_choice("rule", search.rule, _RULES)
    scoring = make_scoring(search.scoring, is_classes)
    seed = int(np.random.default_rng(as_seed(search.random_state)).integers(2**31))
    part = Part(rows.X, rows.y, rows.weight)
    whole = Learned.of(part, template, is_classes)
    grid = make_grid(search.grid, whole.pool)
    cells = grid.cells()
    splits = _among_rows(make_splits(search.cv, X, y, is_classes, seed), rows)
    left_out = _obstacles(cells, part, whole, splits, template, is_classes)
    possible = [i for i, reason in enumerate(left_out) if not reason]
    if not possible:
        raise ValueError(
            f"none of the {len(cells)} cells of the grid is possible; the first one, "
            f"m={cells[0].m!r} and k={cells[0].k!r}: {left_out[0]}"
        )
    is_smooth = search.rule == "smoothed" or (search.rule == "auto" and len(splits) == 1)
    plan = Plan(
        template=template,
        is_classes=is_classes,
        cells=[cells[i] for i in possible],
        scoring=scoring,
        rounds=_rounds(len(grid.k), is_smooth),
        seed=seed,
        n_splits=len(splits),
        report=print_reports(type(search).__name__, search.verbose),
    )
    scores = np.full((len(splits), len(cells)), np.nan)
    scores[:, possible] = Parallel(n_jobs=search.n_jobs, prefer="threads")(
        delayed(score_split)(plan, part, split) for split in splits
    )
    for i in possible:
        if np.isnan(scores[:, i]).any():
            left_out[i] = "it has no score on some split"
    return _tabulate(cells, grid, scores, left_out, scoring, is_smooth, part.mass)


def _rounds(n_k: int, is_smooth: bool) -> int | None:
    """Return how often cells exchange solutions; those that differ in m and C agree at once."""
    if n_k >= _NEIGHBOURS:
        return None if is_smooth else _HASTE
    return _ROUNDS if is_smooth or n_k > 1 else 1


def _among_rows(pairs: list[tuple[Any, Any]], rows: Rows) -> list[Split]:
    """Return the splits without rows of no weight."""
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
                    f"split {number} has no row to {name}; needed one or more, of positive weight"
                )
        splits.append(Split(number, train, test))
    if not splits:
        raise ValueError("cv yields no split; needed one or more")
    return splits


def _obstacles(
    cells: list[Cell],
    part: Part,
    whole: Learned,
    splits: list[Split],
    template: Any,
    is_classes: bool,
) -> list[str]:
    """Return for each cell why it is left out, or nothing."""
    pools = [("", whole.pool)]
    for split in splits:
        learned = Learned.of(part.take(split.train), template, is_classes)
        if is_classes and len(learned.classes) < 2:
            raise ValueError(
                f"split {split.number} fits one class only, {learned.classes.tolist()[0]!r}; "
                "needed two or more: pass fewer folds, or folds with rows of each class"
            )
        pools.append((f"in split {split.number}: ", learned.pool))
    known: dict[Any, str] = {}
    for m, k, _ in cells:
        if (m, k) not in known:
            reasons = ((where, pool.obstacle(m, k)) for where, pool in pools)
            known[m, k] = next((where + reason for where, reason in reasons if reason), "")
    return [known[m, k] for m, k, _ in cells]


def _tabulate(
    cells: list[Cell],
    grid: Grid,
    scores: FloatArray,
    left_out: list[str],
    scoring: Scoring,
    is_smooth: bool,
    total: float,
) -> Outcome:
    """Return the table of all cells and their ranking."""
    mean, spread = scores.mean(axis=0), scores.std(axis=0)
    error: FloatArray = scoring.error(mean)
    params = [cell._asdict() for cell in cells]
    worst_last = np.where(np.isnan(mean), -np.inf, mean)
    table: dict[str, Any] = {
        "param_m": _objects([cell.m for cell in cells]),
        "param_k": _objects([cell.k for cell in cells]),
        "param_C": np.array([cell.C for cell in cells]),
        "params": params,
        **{f"split{i}_test_score": row for i, row in enumerate(scores)},
        "mean_test_score": mean,
        "std_test_score": spread,
        "rank_test_score": rankdata(-worst_last, method="min").astype(np.int32),
        "mean_test_error": error,
        "std_test_error": spread,
    }
    if is_smooth:
        error = table["smoothed_test_error"] = smoothed(error, grid.shape)
    table["left_out"] = _objects(left_out)
    ranking = ranking_of(error, cells, total)
    if not ranking:
        raise ValueError(
            "no cell of the grid has a score on every split; needed one: look at what "
            "scoring returns"
        )
    return Outcome(table, params, ranking, len(scores))


def _objects(values: list[Any]) -> npt.NDArray[Any]:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


# -- Rows that are copies of each other, put together: one row with their mass ---------------------


_WORTH = 0.75  # of the rows that may be left if masses are to be introduced, which cost time


def merge_copies(
    X: npt.NDArray[Any], target: npt.NDArray[Any], weight: npt.NDArray[np.float64] | None
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64] | None]:
    """Return which rows stand for all, in an order that is theirs alone, and their masses.

    A search on what is returned draws the same candidates whether rows were repeated or given a
    weight, and in whatever order they came. Few copies of rows without weights are left alone.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    target : ndarray of shape (n_samples,)
        Numbers.
    weight : ndarray of shape (n_samples,) or None
        Their masses so far.

    Returns
    -------
    rows : ndarray of int
    weight : ndarray or None
        None if all masses are one.

    Examples
    --------
    >>> X, y = np.array([[2.0], [1.0], [2.0]]), np.array([0.0, 0.0, 0.0])
    >>> rows, weight = merge_copies(X, y, None)
    >>> sorted(zip(X[rows, 0].tolist(), weight.tolist()))
    [(1.0, 1.0), (2.0, 2.0)]
    """
    table = np.column_stack([X, target]).astype(np.float64) + 0.0  # there is no minus zero
    size = table.shape[1] * table.itemsize
    keys = np.ascontiguousarray(table).view(np.dtype((np.void, size))).ravel()
    _, rows, index = np.unique(keys, return_index=True, return_inverse=True)
    if weight is None and len(rows) > _WORTH * len(X):
        return np.arange(len(X)), None
    mass = np.bincount(index, weight, len(rows)).astype(np.float64)
    return rows, None if np.all(mass == 1) else mass
