"""Estimators that choose m, k and C by cross-validation, or on a validation split."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import column_or_1d

from sorr._checks import check_choice, classes_of
from sorr.estimators.base import Rows, rollback_on_error
from sorr.estimators.classifier import RankedRangeClassifier
from sorr.estimators.regressor import RankedRangeRegressor
from sorr.estimators.search.grid import size_of
from sorr.estimators.search.splits import compare_cells
from sorr.losses import Loss
from sorr.solvers import Status

__all__ = ["RankedRangeClassifierCV", "RankedRangeRegressorCV", "choose_and_fit", "fit_first"]


class RankedRangeClassifierCV(RankedRangeClassifier):
    """A `RankedRangeClassifier` whose m, k and C are chosen by cross-validation.

    All cells of a grid are solved together on each split, by `sorr.solvers.solve_path`; with more
    than two classes, more than 64 parameters or many rows, one after the other. The cell
    that is chosen is fitted to all rows, polished and certified.

    Parameters
    ----------
    grid : {"default", "paper"} or mapping, default="default"
        What to choose from. Both grids with a name have m = 0, 0.01, 0.02, 0.05, 0.075, 0.1,
        0.125, 0.15, 0.2, 0.25, 0.3 and 0.35. "default" keeps all ranks below (k=None), with
        C = 1, 100 and 1e4. "paper" has k = 1 (if pooled) and 0.1, 0.2, ..., 1 of the rows and
        C = 1, 10, ..., 1e5, as in the paper; on its five data sets that is better by 0.1 points
        on average, for 22 times as many cells. A mapping gives lists of values for some of
        "m", "k" and "C", in the units of `RankedRangeClassifier`: prefer fractions, since a split
        has fewer rows. What it does not name is as by default; the average loss, m=0 and
        k=None, should be among the cells.
    cv : int, splitter, iterable of splits or None, default=None
        What to fit and to score on. None makes five folds, fewer if a class has fewer rows; these
        and those of an int are stratified by class and shuffled by `random_state`. A
        `PredefinedSplit`, or ``[(train, validation)]``, is a validation split. For groups, pass
        ``list(GroupKFold().split(X, y, groups))``.
    scoring : str, callable or None, default=None
        What to score by, as in scikit-learn: the accuracy by default.
    rule : {"auto", "error", "smoothed"}, default="auto"
        How to choose. "error" takes the lowest mean error over the splits; of cells within a
        thousandth of it, the average loss (m=0, k=None), or the one that keeps most ranks, then
        the smallest C. "smoothed" does so after averaging errors over neighbours in the grid,
        27 at most, since the lowest error on a single split is often an accident at the edge of
        a region of useless models. "auto" takes "error", or "smoothed" if there is one split.
    loss, ranking, fit_intercept, class_weight
        As in `RankedRangeClassifier`.
    n_starts, certify, tol, max_iter
        As in `RankedRangeClassifier`: of the last fit, to all rows.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds and draws the starting points: the same number gives the same bytes.
    n_jobs : int or None, default=None
        How many threads work on the splits. The result does not depend on it.
    verbose : int, default=0
        Whether to report progress to standard error, every two seconds; above 1, every step.

    Attributes
    ----------
    cv_results_ : dict of arrays
        A table, as `pandas.DataFrame` takes it, with a row for each cell: param_m, param_k,
        param_C, params, the scores of each split (split0_test_score, ...), mean_test_score,
        std_test_score, rank_test_score, mean_test_error and std_test_error (one minus the score,
        or minus it for scores named ``neg_...``), and smoothed_test_error if that decides. Cells
        that are impossible in some split have NaN, and say why in the column left_out: no rank is
        left between m and k, or pooled ranks could drop more than 0.8 of the smallest class.
    best_index_, best_params_, best_score_
        The row that was chosen, its parameters and its mean score.
    best_estimator_ : RankedRangeClassifier
        The model with these parameters, fitted to all rows. Its fitted attributes are those of
        the search too: `coef_`, `intercept_`, `classes_`, `losses_`, `outlier_mask_`,
        `row_weights_`, `thresholds_`, `m_`, `k_`, `minima_`, `status_`, `gap_`, `objective_`,
        `trace_`, `n_iter_`, `n_features_in_` and `feature_names_in_`.
    passed_over_ : tuple of dict
        Parameters that were better on the splits, but gave a constant model on all rows.
    n_splits_ : int

    See Also
    --------
    RankedRangeClassifier : With ``m="auto"`` it estimates how many labels are wrong.

    Notes
    -----
    The rows that are scored have wrong labels and outliers like the others. That is fine for
    choosing C and k, and for being robust to outliers; but it is a poor way to find out which
    share of the labels is wrong, since a model that has learned the wrong labels is rewarded for
    them: use ``RankedRangeClassifier(m="auto")`` for that.

    `score` is the accuracy, whatever `scoring` is. A weight is the mass of a row in the fits and
    in the scores, except for scores that take no weights. Rows that are copies are put together
    before the search, so that repeated rows and weights choose alike.

    References
    ----------
    S. Hu, Y. Ying, X. Wang, S. Lyu, "Learning by minimizing the sum of ranked range", NeurIPS
    2020, section 5.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(120, 2))
    >>> y = np.where(X[:, 0] > X[:, 1], "yes", "no")
    >>> X[:10] = [8.0, -8.0]  # far away, and labelled wrongly
    >>> y[:10] = "no"
    >>> grid = {"m": [0, 0.2], "C": [1e4]}
    >>> search = RankedRangeClassifierCV(grid, cv=3, random_state=0).fit(X, y)
    >>> search.best_params_
    {'m': 0.2, 'k': None, 'C': 10000.0}
    >>> search.cv_results_["mean_test_error"].round(1)
    array([0.4, 0.1])
    """

    def __init__(
        self,
        grid: Literal["default", "paper"] | Mapping[str, Sequence[Any]] = "default",
        *,
        cv: Any = None,
        scoring: Any = None,
        rule: Literal["auto", "error", "smoothed"] = "auto",
        loss: str | Loss = "logistic",
        ranking: Literal["within_class", "pooled"] = "within_class",
        fit_intercept: bool = True,
        n_starts: int | Literal["auto"] = "auto",
        certify: bool = True,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        tol: float = 1e-6,
        max_iter: int = 50,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.grid = grid
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.loss = loss
        self.ranking = ranking
        self.fit_intercept = fit_intercept
        self.n_starts = n_starts
        self.certify = certify
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _template(self) -> RankedRangeClassifier:
        return RankedRangeClassifier(
            loss=self.loss,
            ranking=self.ranking,
            fit_intercept=self.fit_intercept,
            n_starts=self.n_starts,
            certify=self.certify,
            class_weight=self.class_weight,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
            verbose=self.verbose,
        )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose m, k and C, and fit a model with them to all rows.

        If anything goes wrong, an interruption included, the estimator stays as it was.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of any kind.
        sample_weight : array-like of shape (n_samples,), optional
            The mass of each row: a row of weight two is two copies of it.

        Returns
        -------
        self
        """
        with rollback_on_error(self):
            rows = self._rows(X, y, sample_weight)
            check_choice("ranking", self.ranking, ("within_class", "pooled"))
            classes_of(rows.y)  # refuses what is no label, and a single class
            found = choose_and_fit(self, self._template(), X, y, sample_weight, rows, True)
            self.__dict__.update(found)
        return self


class RankedRangeRegressorCV(RankedRangeRegressor):
    """A `RankedRangeRegressor` whose m, k and C are chosen by cross-validation.

    All cells of a grid are solved together on each split, by `sorr.solvers.solve_path`; with more
    than 64 parameters or many rows, one after the other. The cell that is chosen is fitted to
    all rows, polished and certified.

    Parameters
    ----------
    grid : {"default", "paper"} or mapping, default="default"
        What to choose from; see `RankedRangeClassifierCV`.
    cv : int, splitter, iterable of splits or None, default=None
        What to fit and to score on. None makes five folds; these and those of an int are shuffled
        by `random_state`. See `RankedRangeClassifierCV`.
    scoring : str, callable or None, default=None
        What to score by, as in scikit-learn. By default minus the median absolute error. The rows
        that are scored have outliers too: with squared errors these decide, and with a mean
        of absolute errors still those that are extreme, or many and alike.
    rule : {"auto", "error", "smoothed"}, default="auto"
        How to choose; see `RankedRangeClassifierCV`.
    loss, fit_intercept
        As in `RankedRangeRegressor`.
    n_starts, certify, tol, max_iter
        As in `RankedRangeRegressor`: of the last fit, to all rows.
    random_state, n_jobs, verbose
        As in `RankedRangeClassifierCV`.

    Attributes
    ----------
    cv_results_, best_index_, best_params_, best_score_, n_splits_
        As in `RankedRangeClassifierCV`.
    best_estimator_ : RankedRangeRegressor
        The model with these parameters, fitted to all rows. Its fitted attributes are those of
        the search too: `coef_`, `intercept_`, `losses_`, `outlier_mask_`, `row_weights_`,
        `thresholds_`, `m_`, `k_`, `minima_`, `status_`, `gap_`, `objective_`, `trace_`,
        `n_iter_`, `n_features_in_` and `feature_names_in_`.
    passed_over_ : tuple of dict
        Parameters that were better on the splits, but gave a constant model on all rows.

    Notes
    -----
    `score` is the coefficient of determination, whatever `scoring` is.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40.0)
    >>> y = 2 * x + 1
    >>> y[[3, 15, 33]] = 100.0
    >>> grid = {"m": [0, 0.1, 0.2], "C": [1e6]}
    >>> search = RankedRangeRegressorCV(grid, random_state=0).fit(x[:, None], y)
    >>> search.best_params_["m"], search.coef_.round(3)
    (0.1, array([2.]))
    """

    def __init__(
        self,
        grid: Literal["default", "paper"] | Mapping[str, Sequence[Any]] = "default",
        *,
        cv: Any = None,
        scoring: Any = None,
        rule: Literal["auto", "error", "smoothed"] = "auto",
        loss: str | Loss = "squared",
        fit_intercept: bool = True,
        n_starts: int | Literal["auto"] = "auto",
        certify: bool = True,
        tol: float = 1e-6,
        max_iter: int = 50,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.grid = grid
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.n_starts = n_starts
        self.certify = certify
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _template(self) -> RankedRangeRegressor:
        return RankedRangeRegressor(
            loss=self.loss,
            fit_intercept=self.fit_intercept,
            n_starts=self.n_starts,
            certify=self.certify,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
            verbose=self.verbose,
        )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose m, k and C, and fit a model with them to all rows.

        If anything goes wrong, an interruption included, the estimator stays as it was.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            The mass of each row: a row of weight two is two copies of it.

        Returns
        -------
        self
        """
        with rollback_on_error(self):
            rows = self._rows(X, y, sample_weight, y_numeric=True)
            found = choose_and_fit(self, self._template(), X, y, sample_weight, rows, False)
            self.__dict__.update(found)
        return self


# -- The best cell of a comparison, fitted to all rows: the last step of a search ------------------


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
