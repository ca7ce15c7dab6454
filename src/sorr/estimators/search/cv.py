"""Estimators that choose m, k and C by cross-validation, or on a validation split."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from sorr._checks import check_choice, classes_of
from sorr._typing import FloatArray
from sorr.estimators.base import rollback_on_error, validate_rows
from sorr.estimators.classifier import RANKINGS, RankedRangeClassifier
from sorr.estimators.regressor import RankedRangeRegressor
from sorr.estimators.search.grid import size_of
from sorr.estimators.search.splits import compare_grid
from sorr.losses import Loss
from sorr.solvers import Status

_SEARCH_PARAMETERS = frozenset({"grid", "cv", "scoring", "rule", "n_jobs"})
_MAX_FITS = 30  # points that are fitted to all rows in search of a model that is not constant
_ALIKE = 1e-6  # relative difference between raw predictions that are the same


def _of_best(name: str) -> property:
    """Return a property that is the attribute of this name of the best estimator."""
    return property(lambda self: getattr(self._best, name))


class _Search(BaseEstimator):
    """What both searches share: a fit on a grid, and a best estimator to which they delegate."""

    _estimator_class: ClassVar[type[Any]]

    coef_ = _of_best("coef_")
    intercept_ = _of_best("intercept_")
    losses_ = _of_best("losses_")
    outlier_mask_ = _of_best("outlier_mask_")
    row_weights_ = _of_best("row_weights_")
    thresholds_ = _of_best("thresholds_")
    m_ = _of_best("m_")
    k_ = _of_best("k_")
    minima_ = _of_best("minima_")
    status_ = _of_best("status_")
    gap_ = _of_best("gap_")
    objective_ = _of_best("objective_")
    trace_ = _of_best("trace_")
    n_iter_ = _of_best("n_iter_")
    n_features_in_ = _of_best("n_features_in_")
    feature_names_in_ = _of_best("feature_names_in_")

    @property
    def _best(self) -> Any:
        check_is_fitted(self)
        return self.best_estimator_

    def _template(self) -> Any:
        """Return an estimator with the parameters that all points of the grid share."""
        parameters = self.get_params(deep=False)
        shared = {name: parameters[name] for name in parameters.keys() - _SEARCH_PARAMETERS}
        return self._estimator_class(**shared)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose m, k and C, and fit a model with them to all rows.

        After any error, also after an interruption, the estimator is as it was before.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of any kind, or numbers for a regression.
        sample_weight : array-like of shape (n_samples,), optional
            The mass of each row. A row of weight two counts as two copies.

        Returns
        -------
        self
        """
        with rollback_on_error(self):
            template = self._template()
            is_classes = is_classifier(template)
            rows = validate_rows(template, X, y, sample_weight, y_numeric=not is_classes)
            if is_classes:
                check_choice("ranking", template.ranking, RANKINGS)
                classes_of(rows.y)  # refuses what is not a label, and a single class
            y = column_or_1d(y)
            comparison = compare_grid(self, template, X, y, rows)
            params = [comparison.params[i] for i in comparison.ranking]
            self.best_estimator_, place = fit_first(template, params, X, y, sample_weight)
            self.best_index_ = comparison.ranking[place]
            self.best_params_ = dict(params[place])
            self.best_score_ = float(comparison.table["mean_test_score"][self.best_index_])
            self.cv_results_ = comparison.table
            self.n_splits_ = comparison.n_splits
            self.passed_over_ = tuple(params[:place])
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the prediction of the best estimator for each row.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return np.asarray(self._best.predict(X))

    def row_losses(self, X: Any, y: Any) -> FloatArray:
        """Return the loss of each row under the best estimator.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return np.asarray(self._best.row_losses(X, y))

    def outlier_score(self, X: Any, y: Any) -> FloatArray:
        """Return by how much the loss of each row exceeds all that the best estimator kept.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        ndarray of shape (n_samples,)
            Above zero for a row that would have been dropped. Larger is more suspect.
        """
        return np.asarray(self._best.outlier_score(X, y))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class RankedRangeClassifierCV(ClassifierMixin, _Search):
    """A `RankedRangeClassifier` whose m, k and C are chosen by cross-validation.

    On each split all points of a grid are solved together by `sorr.solvers.solve_path`. With more
    than two classes, more than 64 parameters or many rows they are solved one by one. The best
    point is then fitted to all rows, to full accuracy and with a certificate.

    Parameters
    ----------
    grid : {"default", "paper"} or mapping, default="default"
        The values to choose from. Both named grids have m = 0, 0.01, 0.02, 0.05, 0.075, 0.1,
        0.125, 0.15, 0.2, 0.25, 0.3 and 0.35. "default" keeps all ranks below m (k=None), with
        C = 1, 100 and 1e4. "paper" has k = 1 (if pooled) and 0.1, 0.2, ..., 1 of the rows and
        C = 1, 10, ..., 1e5, as in the paper. On its five data sets the error is 0.1 points lower
        on average, for 22 times as many points. A mapping gives lists of values for some of "m",
        "k" and "C", in the units of `RankedRangeClassifier`. Prefer fractions, since a split has
        fewer rows. What the mapping does not name has its default values. The average loss, m=0
        and k=None, should be one of the points.
    cv : int, splitter, iterable of splits or None, default=None
        The splits. None makes five folds, or fewer if a class has fewer rows. An int is a number
        of folds. Both kinds are stratified by class and shuffled by `random_state`. For a single
        validation split pass a `PredefinedSplit` or ``[(train, validation)]``. For groups pass
        ``list(GroupKFold().split(X, y, groups))``.
    scoring : str, callable or None, default=None
        The score, as in scikit-learn. None is the accuracy.
    rule : {"auto", "error", "smoothed"}, default="auto"
        How to choose. "error" takes the lowest mean error over the splits. Among points within a
        thousandth of it, it prefers the average loss (m=0, k=None), then the point that keeps
        most ranks, then the smallest C. "smoothed" first averages the errors of up to 27
        neighbours in the grid, because on a single split the lowest error is often an accident
        next to useless models. "auto" is "smoothed" if there is one split, else "error".
    loss, ranking, fit_intercept, class_weight
        As in `RankedRangeClassifier`.
    n_starts, certify, tol, max_iter
        As in `RankedRangeClassifier`, for the last fit to all rows.
    random_state : int, RandomState, Generator or None, default=None
        Seed for everything random: the folds and the starting points. The same seed gives the
        same result, bit by bit.
    n_jobs : int or None, default=None
        Number of threads, which work on the splits. The result does not depend on it.
    verbose : int, default=0
        1 prints progress to standard error every two seconds, 2 prints every step.

    Attributes
    ----------
    cv_results_ : dict of arrays
        A table for `pandas.DataFrame` with a row for each point: param_m, param_k, param_C,
        params, the scores of each split (split0_test_score, ...), mean_test_score,
        std_test_score, rank_test_score, mean_test_error and std_test_error (one minus the score,
        or minus the score if its name starts with ``neg_``), and smoothed_test_error if that
        decides. Points that are impossible on some split have NaN. The column left_out says why:
        no rank is left between m and k, or pooled ranks may drop more than 0.8 of the smallest
        class.
    best_index_, best_params_, best_score_
        The row of the best point, its parameters and its mean score.
    best_estimator_ : RankedRangeClassifier
        The model with these parameters, fitted to all rows. The search has its fitted attributes
        too: `coef_`, `intercept_`, `classes_`, `losses_`, `outlier_mask_`, `row_weights_`,
        `thresholds_`, `m_`, `k_`, `minima_`, `status_`, `gap_`, `objective_`, `trace_`,
        `n_iter_`, `n_features_in_` and `feature_names_in_`.
    passed_over_ : tuple of dict
        Parameters that were better on the splits, but gave a constant model on all rows.
    n_splits_ : int

    See Also
    --------
    RankedRangeClassifier : With ``m="auto"`` it estimates how many labels are wrong.

    Notes
    -----
    The rows that are scored have wrong labels and outliers too. That is fine for choosing C and
    k, and for robustness to outliers. It is a poor way to find the share of wrong labels, because
    a model that has learned the wrong labels gets a better score. Use
    ``RankedRangeClassifier(m="auto")`` for that.

    `score` is the accuracy, whatever `scoring` is. Weights are masses in the fits and in the
    scores, unless a score takes no weights. Copies of a row are merged before the search, so that
    repeated rows and weights give the same choice.

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

    _estimator_class = RankedRangeClassifier

    classes_ = _of_best("classes_")

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

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of rows whose label is predicted.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        return float(super().score(X, y, sample_weight))

    def decision_function(self, X: Any) -> FloatArray:
        """Return the raw predictions of the best estimator.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, positive where the second is more likely.
        """
        return np.asarray(self._best.decision_function(X))

    def _has_probability(self) -> bool:
        """Return True, or raise the error of an estimator that has no predict_proba."""
        model = self.best_estimator_ if hasattr(self, "best_estimator_") else self._template()
        return callable(model.predict_proba)

    @available_if(lambda self: self._has_probability())
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class. Only smooth losses have one.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return np.asarray(self._best.predict_proba(X))


class RankedRangeRegressorCV(RegressorMixin, _Search):
    """A `RankedRangeRegressor` whose m, k and C are chosen by cross-validation.

    On each split all points of a grid are solved together by `sorr.solvers.solve_path`. With more
    than 64 parameters or many rows they are solved one by one. The best point is then fitted to
    all rows, to full accuracy and with a certificate.

    Parameters
    ----------
    grid : {"default", "paper"} or mapping, default="default"
        The values to choose from; see `RankedRangeClassifierCV`.
    cv : int, splitter, iterable of splits or None, default=None
        The splits. None makes five folds, an int is a number of folds. Both are shuffled by
        `random_state`. See `RankedRangeClassifierCV`.
    scoring : str, callable or None, default=None
        The score, as in scikit-learn. None is minus the median absolute error. The rows that are
        scored have outliers too: they decide a mean of squared errors, and if they are extreme
        or many and alike, also a mean of absolute errors.
    rule : {"auto", "error", "smoothed"}, default="auto"
        How to choose; see `RankedRangeClassifierCV`.
    loss, fit_intercept
        As in `RankedRangeRegressor`.
    n_starts, certify, tol, max_iter
        As in `RankedRangeRegressor`, for the last fit to all rows.
    random_state, n_jobs, verbose
        As in `RankedRangeClassifierCV`.

    Attributes
    ----------
    cv_results_, best_index_, best_params_, best_score_, n_splits_
        As in `RankedRangeClassifierCV`.
    best_estimator_ : RankedRangeRegressor
        The model with these parameters, fitted to all rows. The search has its fitted attributes
        too: `coef_`, `intercept_`, `losses_`, `outlier_mask_`, `row_weights_`, `thresholds_`,
        `m_`, `k_`, `minima_`, `status_`, `gap_`, `objective_`, `trace_`, `n_iter_`,
        `n_features_in_` and `feature_names_in_`.
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

    _estimator_class = RankedRangeRegressor

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

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination on all rows. Outliers weigh heavily in it.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        return float(super().score(X, y, sample_weight))


# -- The best point that is not a constant model ---------------------------------------------------


def fit_first(
    template: Any, params: Sequence[Mapping[str, Any]], X: Any, y: Any, sample_weight: Any = None
) -> tuple[Any, int]:
    """Return the first model that is not constant, fitted, and its place among the parameters.

    A point next to the region of useless models can do well on the splits and be a constant model
    on all rows. Thirty points are tried. If all models are constant, the first one is taken. Only
    the model that is taken may warn.

    If no coefficients lower the objective below the loss at zero, which all rows share, none do
    where fewer losses are dropped, fewer small ones count, or the ridge is stronger. Such
    parameters are not tried.

    Parameters
    ----------
    template : estimator
        Has the parameters that all models share.
    params : sequence of mapping
        The other parameters, from best to worst.
    X, y, sample_weight
        The data to fit.
    """
    fits: list[tuple[Any, int, list[warnings.WarningMessage]]] = []
    flat: list[Mapping[str, Any]] = []
    taken = 0
    for place, given in enumerate(params):
        if any(_is_harder(given, other, len(y)) for other in flat):
            continue
        model = clone(template).set_params(**given)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y, sample_weight=sample_weight)
        fits.append((model, place, caught))
        if not _is_constant(model, X):
            taken = len(fits) - 1
            break
        if len(fits) == _MAX_FITS:
            break
        if np.ptp(model.losses_) <= _ALIKE * np.max(model.losses_):
            flat.append(given)
    model, place, caught = fits[taken]
    for notice in caught:
        warnings.warn(notice.message, stacklevel=3)
    return model, place


def _is_harder(one: Mapping[str, Any], other: Mapping[str, Any], n: int) -> bool:
    """Tell whether the objective of one is nowhere below that of the other, for equal weights."""
    sizes = [(size_of(p["m"], n), size_of(p["k"], n), p["C"]) for p in (one, other)]
    return all(first <= second for first, second in zip(*sizes, strict=True))


def _is_constant(model: Any, X: Any) -> bool:
    """Tell whether a model predicts the same for every row."""
    if model.status_ is Status.CONSTANT_MODEL:
        return True
    raw = np.asarray(getattr(model, "decision_function", model.predict)(X))
    return float(np.ptp(raw, axis=0).max()) <= _ALIKE * (1 + float(np.abs(raw).max()))
