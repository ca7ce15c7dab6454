"""The cells of a grid compared: their scores on all splits as a table, and who comes first."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy.stats import rankdata

from sorr._typing import FloatArray
from sorr.estimators.base import as_seed, check_choice
from sorr.estimators.linear import Rows
from sorr.estimators.progress import reporter
from sorr.estimators.search.grids import Cell, Grid, make_grid
from sorr.estimators.search.scoring import Scoring, make_scoring
from sorr.estimators.search.selection import ranking_of, smoothed
from sorr.estimators.search.splits import Learned, Part, Plan, Split, make_splits, score_split

__all__ = ["Outcome", "compare_cells"]

_RULES = ("auto", "error", "smoothed")
_ROUNDS = 3  # of a path, for its cells to agree
_MANY, _HASTE = 4, 2  # values of k, of which so many are neighbours that fewer rounds do


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
        reporter=reporter(type(search).__name__, search.verbose),
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
    if n_k >= _MANY:
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
    error = scoring.error(mean)
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
