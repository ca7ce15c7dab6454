"""The best cell of a comparison, fitted to all rows: the last step of a search."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import column_or_1d

from sorr.estimators.linear import Rows
from sorr.estimators.search.comparison import compare_cells
from sorr.estimators.search.grids import size_of
from sorr.solvers import Status

__all__ = ["choose_and_fit", "fit_first"]

_ALIKE = 1e-6  # raw predictions that differ by no more, relatively, are one
_TRIES = 30  # cells that are fitted to all rows in search of a model that is not constant


def choose_and_fit(
    search: Any, template: Any, X: Any, y: Any, sample_weight: Any, rows: Rows, is_classes: bool
) -> dict[str, Any]:
    """Return the fitted attributes of a search.

    A cell next to the region of useless models can do well on the splits and be a constant model
    on all rows: see `fit_first`.

    Parameters
    ----------
    search : estimator
        See `compare_cells`.
    template : estimator
        With the parameters that all cells share.
    X, y, sample_weight
        What was given.
    rows : Rows
        The same, checked.
    is_classes : bool
        Whether targets are classes.
    """
    y = column_or_1d(y)
    found = compare_cells(search, template, X, y, rows, is_classes)
    params = [found.params[i] for i in found.ranking]
    model, at = fit_first(template, params, X, y, sample_weight)
    best = found.ranking[at]
    parameters = model.get_params()
    return {
        **{name: value for name, value in vars(model).items() if name not in parameters},
        "best_estimator_": model,
        "best_index_": best,
        "best_params_": dict(found.params[best]),
        "best_score_": float(found.table["mean_test_score"][best]),
        "cv_results_": found.table,
        "n_splits_": found.n_splits,
        "passed_over_": tuple(found.params[i] for i in found.ranking[:at]),
    }


def fit_first(
    template: Any, params: Sequence[Mapping[str, Any]], X: Any, y: Any, sample_weight: Any = None
) -> tuple[Any, int]:
    """Return the first model that is not constant, fitted, and its place among the parameters.

    Thirty are tried; if all are constant, the first one is taken. Only what is taken may warn. If
    no coefficients lower the objective below the loss at zero, which all rows share, none do
    where fewer losses are left out, fewer small ones count, or the ridge is stronger: such
    parameters are not tried.

    Parameters
    ----------
    template : estimator
        With the parameters that all share.
    params : sequence of mapping
        The rest of the parameters, from best to worst.
    X, y, sample_weight
        What to fit to.
    """
    models, notices, places = [], [], []
    flat: list[Mapping[str, Any]] = []
    at = 0
    for place, chosen in enumerate(params):
        if any(_is_harder(chosen, other, len(y)) for other in flat):
            continue
        model = clone(template).set_params(**chosen)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y, sample_weight=sample_weight)
        models.append(model)
        notices.append(caught)
        places.append(place)
        if not _is_constant(model, X):
            at = len(models) - 1
            break
        if len(models) == _TRIES:
            break
        if np.ptp(model.losses_) <= _ALIKE * np.max(model.losses_):
            flat.append(chosen)
    for notice in notices[at]:
        warnings.warn(notice.message, stacklevel=4)
    return models[at], places[at]


def _is_harder(one: Mapping[str, Any], other: Mapping[str, Any], n: int) -> bool:
    """Tell whether the objective of one is nowhere below that of another, for equal weights."""
    sizes = [(size_of(cell["m"], n), size_of(cell["k"], n), cell["C"]) for cell in (one, other)]
    return all(first <= second for first, second in zip(*sizes, strict=True))


def _is_constant(model: Any, X: Any) -> bool:
    """Tell whether a model predicts the same for every row."""
    if model.status_ is Status.CONSTANT_MODEL:
        return True
    raw = np.asarray(getattr(model, "decision_function", model.predict)(X))
    return float(np.ptp(raw, axis=0).max()) <= _ALIKE * (1 + float(np.abs(raw).max()))
