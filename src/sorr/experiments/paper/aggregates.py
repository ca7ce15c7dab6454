"""Aggregate losses on five data sets, by our protocol and by the paper's.

Ours: models are fitted exactly to three quarters of the rows, the half that the paper trains on and
the quarter that it validates on. C, k and m are those of the lowest error in five-fold
cross-validation. Columns are standardised by these rows. The last quarter is for testing only.

The paper's: the released loop with the printed settings.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    train_test_split,
)
from sklearn.preprocessing import StandardScaler, scale

from sorr._typing import FloatArray, IntArray
from sorr.baselines import RobustMaxClassifier
from sorr.datasets import load_dataset
from sorr.estimators import (
    GridPoint,
    RankedRangeClassifier,
    RankedRangeClassifierCV,
    fit_first,
    ranking_of,
)
from sorr.experiments.experiment import Cell, Measured
from sorr.experiments.paper.released import draw_split, run_aggregate_loop
from sorr.experiments.published import AGGREGATE_SETTINGS, LoopSetting
from sorr.solvers import Status

_C = (1.0, 10.0, 1e2, 1e3, 1e4, 1e5)
_K = (1, *(round(0.1 * i, 1) for i in range(1, 10)), None)
_M: tuple[int | float, ...] = (
    *(0, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.075, 0.09),
    *(0.1, 0.125, 0.15, 0.175, 0.2, 0.225, 0.25, 0.275, 0.3, 0.35),
)
_BUDGETS = (1.0, 0.3, 0.1, 0.03)  # of the robust maximum, over the root of the number of rows
_FOLDS = 5
_START_SEEDS = {"logistic": 1234, "hinge": 1}  # of the first point in the released scripts
_QUICK_STEPS = 200  # at most so many inner steps of the released loop in a quick run

TUNED = "average, threshold tuned"
CONFIRMED = "AoRR, confirmed"

Grid = Mapping[str, Sequence[Any]]
GRIDS: Mapping[str, Grid] = {
    "maximum": {"m": (0,), "k": (1,), "C": _C},
    "average": {"m": (0,), "k": (None,), "C": _C},
    "AT_k": {"m": (0,), "k": _K, "C": _C},
    "AoRR": {"m": _M, "k": _K, "C": _C},
}
"""The grid of each aggregate loss: the paper's C and k, and twenty shares m."""
QUICK_GRIDS: Mapping[str, Grid] = {
    "maximum": {"m": (0,), "k": (1,), "C": (1e4,)},
    "average": {"m": (0,), "k": (None,), "C": (1e2, 1e4)},
    "AT_k": {"m": (0,), "k": (1, 0.4, None), "C": (1e2, 1e4)},
    "AoRR": {"m": (0, 0.1), "k": (1, 0.4, None), "C": (1e2, 1e4)},
}


class Parts(NamedTuple):
    """The rows to learn from and the rows to test on. Targets are -1 and 1."""

    X: FloatArray
    y: IntArray
    X_test: FloatArray
    y_test: IntArray

    def error(self, predicted: npt.NDArray[Any]) -> float:
        """Return the share of test rows that are predicted wrongly, in per cent."""
        return 100 * float(np.mean(predicted != self.y_test))

    def majority(self) -> IntArray:
        """Return what a constant model predicts: the larger class of the training rows."""
        return np.full(len(self.y_test), 1 if np.sum(self.y) >= 0 else -1)


@cache
def parts_of(dataset: str, split: int) -> Parts:
    """Return a split of a data set with two classes, stratified and standardised."""
    bunch = load_dataset(dataset)
    y = np.where(bunch.target == bunch.target.max(), 1, -1)
    X, X_rest, y, y_rest = train_test_split(
        bunch.data, y, train_size=0.5, random_state=split, stratify=y
    )
    X_more, X_test, y_more, y_test = train_test_split(
        X_rest, y_rest, train_size=0.5, random_state=split, stratify=y_rest
    )
    X, y = np.vstack([X, X_more]), np.concatenate([y, y_more])
    scaler = StandardScaler().fit(X)
    return Parts(scaler.transform(X), y, scaler.transform(X_test), y_test)


def measure_ours(
    cells: tuple[Cell, ...], *, quick: bool = False
) -> Iterator[tuple[Cell, Measured]]:
    """Yield the test errors of models of one split, whose setting is a loss."""
    search: RankedRangeClassifierCV | None = None
    for cell in cells:
        parts = parts_of(cell.dataset, cell.split)
        if cell.model == "robust maximum":
            yield cell, _robust_maximum(cell, parts, quick)
        elif cell.model == TUNED:
            yield cell, _tuned_threshold(cell, parts, quick)
        else:
            search = search or _search(cell, parts, quick)
            if cell.model == CONFIRMED:
                plain, ranked = (
                    _ranked_range(cell._replace(model=model), parts, search, quick)
                    for model in ("average", "AoRR")
                )
                yield cell, _confirmed(cell, parts, plain, ranked)
            else:
                yield cell, _ranked_range(cell, parts, search, quick)


def _search(cell: Cell, parts: Parts, quick: bool) -> RankedRangeClassifierCV:
    """Return the search over all ranks, which has the errors of the narrower grids too."""
    return RankedRangeClassifierCV(
        (QUICK_GRIDS if quick else GRIDS)["AoRR"],
        cv=_FOLDS,
        loss=cell.setting,
        ranking="pooled",
        random_state=cell.seed,
    ).fit(parts.X, parts.y)


def _ranked_range(
    cell: Cell, parts: Parts, search: RankedRangeClassifierCV, quick: bool
) -> Measured:
    """Choose among the cells of the search that the model allows, by the same rule."""
    grid = (QUICK_GRIDS if quick else GRIDS)[cell.model]
    results = search.cv_results_
    points = [GridPoint(**params) for params in results["params"]]
    allowed = [all(params[name] in grid[name] for name in grid) for params in results["params"]]
    error = np.where(allowed, results["mean_test_error"], np.nan)
    ranking = ranking_of(error, points, len(parts.y))
    params = [points[i]._asdict() for i in ranking]
    template = clone(search.best_estimator_)
    model, place = fit_first(template, params, parts.X, parts.y)
    return Measured(
        {"error": parts.error(_predict(model, parts))},
        {**params[place], "passed_over": place, "cv_error": 100 * error[ranking[place]]},
        model.objective_,
        model.gap_,
        model.status_.name,
    )


def _confirmed(cell: Cell, parts: Parts, plain: Measured, ranked: Measured) -> Measured:
    """Return the ranked range if it beats the average loss again, else the average loss.

    Of a thousand cells some beat the average loss by luck. So the chosen cell has to be better once
    more, on other folds and by more than a standard error.
    """
    accuracy = []
    for fit in (plain, ranked):
        model = RankedRangeClassifier(
            **{name: fit.chosen[name] for name in ("m", "k", "C")},
            loss=cell.setting,
            ranking="pooled",
            certify=False,
            random_state=cell.seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fold may have a constant model
            accuracy.append(cross_val_score(model, parts.X, parts.y, cv=_folds(cell)))
    gain = 100 * (accuracy[1] - accuracy[0])
    mean, error = float(gain.mean()), float(gain.std(ddof=1) / np.sqrt(len(gain)))
    taken = ranked if mean > error else plain
    return taken._replace(chosen={**taken.chosen, "gain": mean, "gain_error": error})


def _predict(model: RankedRangeClassifier, parts: Parts) -> IntArray:
    """Return predictions. A constant model predicts the larger class, whatever its last digits."""
    if model.status_ is Status.CONSTANT_MODEL:
        return parts.majority()
    return np.asarray(model.predict(parts.X_test))


def _folds(cell: Cell) -> StratifiedKFold:
    return StratifiedKFold(_FOLDS, shuffle=True, random_state=cell.seed)


def _robust_maximum(cell: Cell, parts: Parts, quick: bool) -> Measured:
    """Choose C and the budget of the slack. Ties go to the larger budget."""
    root = float(np.sqrt(len(parts.y)))
    inverses = (1e4,) if quick else _C[::2]
    search = GridSearchCV(
        RobustMaxClassifier(loss=cell.setting),
        [{"K": [share * root], "C": [C]} for share in _BUDGETS for C in inverses],
        cv=_folds(cell),
    ).fit(parts.X, parts.y)
    model = search.best_estimator_
    return Measured(
        {"error": parts.error(model.predict(parts.X_test))},
        search.best_params_,
        model.objective_,
        model.gap_,
        model.status_.name,
    )


def _tuned_threshold(cell: Cell, parts: Parts, quick: bool) -> Measured:
    """Choose C and the threshold of the decision on held-out rows."""
    grid = (QUICK_GRIDS if quick else GRIDS)["average"]
    candidates = []
    for C in grid["C"]:
        model = RankedRangeClassifier(0, C=C, loss=cell.setting, ranking="pooled", certify=False)
        raw = cross_val_predict(
            model, parts.X, parts.y, cv=_folds(cell), method="decision_function"
        )
        candidates.append((*_best_threshold(raw, parts.y), C))
    _, threshold, C = min(candidates, key=lambda candidate: (candidate[0], abs(candidate[1])))
    model = RankedRangeClassifier(0, C=C, loss=cell.setting, ranking="pooled").fit(parts.X, parts.y)
    predicted = np.where(model.decision_function(parts.X_test) > threshold, 1, -1)
    return Measured(
        {"error": parts.error(predicted)},
        {"C": C, "threshold": threshold},
        model.objective_,
        model.gap_,
        model.status_.name,
    )


def _best_threshold(raw: FloatArray, y: IntArray) -> tuple[int, float]:
    """Return the fewest errors of any threshold, and that threshold, the one nearest to zero.

    Examples
    --------
    >>> _best_threshold(np.array([-2.0, 0.5, 1.0, 3.0]), np.array([-1, -1, 1, 1]))
    (0, 0.75)
    """
    order = np.argsort(raw, kind="stable")
    raw, y = raw[order], y[order]
    wrong = np.concatenate([[0], np.cumsum(y == 1)]) + np.concatenate(
        [np.cumsum((y == -1)[::-1])[::-1], [0]]
    )
    between = np.concatenate([[raw[0] - 1], (raw[1:] + raw[:-1]) / 2, [raw[-1] + 1]])
    apart = np.concatenate([[True], raw[1:] > raw[:-1], [True]])
    between, wrong = between[apart], wrong[apart]
    if raw[0] < 0 < raw[-1] and not np.any(raw == 0):
        place = int(np.searchsorted(raw, 0))
        between = np.append(between, 0.0)
        wrong = np.append(wrong, int(np.sum(y[:place] == 1) + np.sum(y[place:] == -1)))
    best = np.flatnonzero(wrong == wrong.min())
    nearest = best[np.argmin(np.abs(between[best]))]
    return int(wrong[nearest]), float(between[nearest])


# -- The paper's protocol --------------------------------------------------------------------------


def measure_paper(
    cells: tuple[Cell, ...], *, quick: bool = False
) -> Iterator[tuple[Cell, Measured]]:
    """Yield the test errors of models whose setting is a loss."""
    for cell in cells:
        yield cell, released_error(cell, quick=quick)


def released_error(cell: Cell, *, m: int | None = None, quick: bool = False) -> Measured:
    """Return the test error of one model. `m` replaces the printed one."""
    bunch = _as_released(cell.dataset, quick)
    y = np.where(bunch.target == bunch.target.max(), 1, -1)
    X = scale(bunch.data)
    train, validation, test = draw_split(y, cell.split)
    printed = AGGREGATE_SETTINGS[cell.dataset][cell.setting]
    low, high = {
        "AoRR": (printed.m if m is None else m, printed.k),
        "AT_k": (0, printed.k),
        "maximum": (0, 1),
        "average": (0, len(train)),
    }[cell.model]
    inner = min(printed.inner, _QUICK_STEPS) if quick else printed.inner
    theta = run_aggregate_loop(
        X[train],
        y[train],
        cell.setting,
        m=low,
        k=high,
        setting=LoopSetting(None, printed.outer, inner, printed.step),
        start_seed=_START_SEEDS[cell.setting],
        score=partial(_accuracy, X[validation], y[validation]),
    )
    error = 100 * (1 - _accuracy(X[test], y[test], theta))
    return Measured({"error": error}, {"m": low, "k": high}, seed=cell.split)


def _as_released(dataset: str, quick: bool) -> Any:
    """Return a data set with its rows in the order of the authors' file, as their splits need."""
    if dataset == "titanic" and not quick:
        return load_dataset(dataset, variant="keel")
    return load_dataset(dataset)


def _accuracy(X: FloatArray, y: IntArray, theta: FloatArray) -> float:
    return float(np.mean((X @ theta[:-1] + theta[-1] >= 0) == (y > 0)))
