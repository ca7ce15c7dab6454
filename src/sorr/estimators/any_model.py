"""Wrappers that train any classifier or regressor without the targets that look wrong."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.utils import assert_all_finite, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    _check_y,
    _num_samples,
    check_is_fitted,
    column_or_1d,
    indexable,
)

from sorr._checks import (
    as_masses,
    as_whole_seed,
    check_choice,
    check_verbose,
    class_index,
    classes_of,
)
from sorr._progress import print_reports
from sorr._typing import BoolArray, FloatArray, IntArray
from sorr.estimators.base import check_length, rollback_on_error
from sorr.estimators.ranked_range import ranks_in_all, ranks_in_classes
from sorr.share import (
    Judgement,
    LabelledRows,
    NumberedRows,
    TargetJudgement,
    droppable,
    is_named,
    judge_numbers,
    judge_rows,
    make_model,
    probabilities_of,
)


def _if_model_has(method: str) -> Any:
    """Return a check that the wrapped model has a method, before the fit or after it."""

    def check(self: _Trimmed) -> bool:
        getattr(getattr(self, "estimator_", None) or self._unfitted(), method)
        return True  # without the method, getattr says why it is not there

    return available_if(check)


class _Trimmed(MetaEstimatorMixin, BaseEstimator):
    """Any model, trained without the targets that look wrong: what both kinds share."""

    estimator_: Any
    outlier_mask_: BoolArray

    def __init__(
        self,
        estimator: Any = "auto",
        *,
        m: Any = "auto",
        cv: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.m = m
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, **fit_params: Any
    ) -> Self:
        """Judge the targets, and train the model on the rows that are kept.

        After any error, also after an interruption, the estimator is as it was before.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
            What the model takes.
        y : array-like of shape (n_samples,)
            Labels of any kind, or numbers for a regressor.
        sample_weight : array-like of shape (n_samples,), optional
            The mass of each row. The model has to take weights.
        groups : array-like of shape (n_samples,), optional
            Rows of a group are always held out together.
        **fit_params : dict
            Further arguments of the model's `fit`, if metadata routing is enabled.

        Returns
        -------
        self
        """
        check_verbose(self.verbose)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        with rollback_on_error(self):
            if get_config()["enable_metadata_routing"] and groups is not None:
                fit_params = {**fit_params, "groups": groups}
            if fit_params:
                fit_params = process_routing(self, "fit", **fit_params).estimator.fit
            self._fit(X, self._as_target(y), sample_weight, groups, fit_params)
            for name in ("n_features_in_", "feature_names_in_"):
                if hasattr(self.estimator_, name):
                    setattr(self, name, getattr(self.estimator_, name))
                elif hasattr(self, name):
                    delattr(self, name)  # of an earlier fit
        return self

    @abstractmethod
    def _as_target(self, y: Any) -> npt.NDArray[Any]:
        """Return the target as a vector without missing entries."""

    @abstractmethod
    def _fit(
        self, X: Any, y: npt.NDArray[Any], sample_weight: Any, groups: Any, fit_params: Any
    ) -> None:
        """Judge and train."""

    @abstractmethod
    def _unfitted(self, seed: int = 0) -> Any:
        """Return the model that will be trained."""

    def _options(self, fit_params: Any) -> dict[str, Any]:
        """Return the options of the rows that models are trained on."""
        return {
            "seed": as_whole_seed(self.random_state),
            "n_jobs": self.n_jobs,
            "report": print_reports(type(self).__name__, self.verbose),
            "extra": fit_params,
        }

    def _model_of(self, rows: Any) -> Any:
        """Return the model that will be trained, if it takes such rows."""
        is_stack = is_named(self.estimator) and self.estimator == "auto"
        model = self._unfitted(rows.seed) if is_stack else rows.make(self.estimator, self.n_jobs)
        boosting = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
        if issparse(rows.X) and isinstance(model, boosting):
            raise TypeError(
                "X is sparse, and boosting takes no sparse rows; needed X.toarray(), or another "
                "estimator such as 'auto'"
            )
        return model

    @_if_model_has("predict")
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the prediction for each row.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return what is passed on to the model's `fit`.

        Returns
        -------
        MetadataRouter
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return router.add(estimator=self._unfitted(), method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self._unfitted())
        tags.input_tags = inner.input_tags
        if is_named(self.estimator):
            tags.input_tags.allow_nan = True
            tags.input_tags.sparse = self.estimator != "boosting"
        return tags


class TrimmedClassifier(ClassifierMixin, _Trimmed):
    """Any classifier, trained without the labels that look wrong.

    Held-out probabilities of the classifier judge the labels, and a second kind of model has to
    share the evidence. Then the rows that are probably wrong are dropped, and the classifier is
    trained on the rest. Without evidence nothing is dropped.

    Parameters
    ----------
    estimator : classifier, or "auto", "forest", "linear" or "boosting", default="auto"
        Any classifier of scikit-learn, a pipeline or a search. "auto" combines extra trees with
        logistic regression, "forest" is the trees alone, "linear" is logistic regression on
        standardised columns, and "boosting" is `HistGradientBoostingClassifier`.
    m : "auto", float, int or mapping, default="auto"
        How many rows to drop. "auto" drops those that are probably wrong, if there is evidence of
        wrong labels. A float is a fraction of each class, a mapping gives classes their own
        fraction or count, and 0 drops nothing; the most suspect rows go first.
    cv : int, splitter or iterable, default=None
        Folds that hold out rows. None takes the out-of-bag rows of a forest, and else five folds.
    random_state : int, RandomState, Generator or None, default=None
        Seed for everything random. The same seed gives the same result.
    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.
    verbose : int, default=0
        1 prints progress to standard error every two seconds, 2 prints every step.

    Attributes
    ----------
    estimator_ : classifier
        The classifier, fitted to the rows that were kept.
    judgement_ : Judgement
        What the held-out probabilities say about each label; ``judgement_.sentence`` says it in
        words.
    outlier_mask_ : ndarray of bool of shape (n_samples,)
        The rows that were dropped: exactly those that `estimator_` has not seen.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_, feature_names_in_
        As in scikit-learn, if the classifier has them.

    See Also
    --------
    judge_labels : The same judgement from probabilities that you have.
    RankedRangeClassifier : A linear classifier that drops wrong labels.

    Notes
    -----
    With fewer than 50 rows nothing is dropped. With more than 50,000, the labels are judged by
    models of two samples; the last fit takes all rows that are kept.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> X, y = make_moons(1000, noise=0.15, random_state=0)
    >>> y[:100] = 1 - y[:100]
    >>> model = TrimmedClassifier(HistGradientBoostingClassifier(), random_state=0).fit(X, y)
    >>> model.judgement_.verdict_, bool(model.outlier_mask_[:100].mean() > 0.9)
    ('strong', True)
    """

    judgement_: Judgement
    classes_: npt.NDArray[Any]

    def __init__(
        self,
        estimator: Any = "auto",
        *,
        m: float | int | Mapping[Any, int | float] | Literal["auto"] = "auto",
        cv: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator, m=m, cv=cv, random_state=random_state, n_jobs=n_jobs, verbose=verbose
        )

    def _as_target(self, y: Any) -> npt.NDArray[Any]:
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
        return np.asarray(labels)

    def _fit(
        self, X: Any, y: npt.NDArray[Any], sample_weight: Any, groups: Any, fit_params: Any
    ) -> None:
        X, labels, groups = indexable(X, y, groups)
        if not len(labels):
            raise ValueError("y has 0 rows; needed two classes or more")
        weight = as_masses(sample_weight, _num_samples(X))
        classes, index = _positions(labels, weight)
        rows = LabelledRows(X, labels, index, classes, weight, **self._options(fit_params))
        model = self._model_of(rows)
        masses = np.bincount(index, weight, len(classes))
        if weight is None or (weight % 1 == 0).all():
            masses = np.rint(masses).astype(np.int64)
        if is_auto := isinstance(self.m, str):
            check_choice("m", self.m, ("auto",))
        elif isinstance(self.m, int | np.integer) and not isinstance(self.m, bool) and self.m:
            each = dict.fromkeys(classes.tolist()[:2], int(self.m))
            raise ValueError(
                f"m={self.m} is a count, but rows are dropped within each class; needed a mapping "
                f"such as m={each!r}, or a fraction such as m=0.05"
            )
        else:
            counts = ranks_in_classes(self.m, None, masses, classes.tolist()).m
        estimator = self.estimator if is_named(self.estimator) else model
        judged = judge_rows(rows, estimator, cv=self.cv, groups=groups)
        self.judgement_ = judged.judgement
        if is_auto:
            dropped = droppable(self.judgement_.flagged_, index)
        else:
            dropped = most_suspect(self.judgement_.score_, index, weight, counts)
        kept = np.flatnonzero(~dropped)
        if judged.model is not None and not dropped.any():
            self.estimator_ = judged.model  # it was fitted to all rows on the way
        else:
            rows.tell(0, 1, f"the last fit, to {len(kept):,} rows")
            self.estimator_ = rows.fit_model(model, kept)
        self.outlier_mask_, self.classes_ = dropped, classes

    def _unfitted(self, seed: int = 0) -> Any:
        """Return the classifier that will be trained."""
        return make_model(self.estimator, seed, self.n_jobs)

    @_if_model_has("predict_proba")
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    @_if_model_has("predict_log_proba")
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_log_proba(X))

    @_if_model_has("decision_function")
    def decision_function(self, X: Any) -> FloatArray:
        """Return the decision values of the classifier.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(X))

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

    def outlier_score(self, X: Any, y: Any) -> FloatArray:
        """Return how much more likely another label is than the given one, for new rows.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels that were seen in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The log odds of the best other label against the given one. Above zero, the classifier
            predicts another label. Larger is more suspect.
        """
        check_is_fitted(self)
        P = np.maximum(probabilities_of(self.estimator_, X, self.classes_), 1e-300)
        labels = column_or_1d(y)
        check_length(labels, len(P))
        index = class_index(labels, self.classes_)
        rows, L = np.arange(len(P)), np.log(P)
        given = L[rows, index]
        L[rows, index] = -np.inf
        return np.asarray(L.max(axis=1) - given)

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self._unfitted())
        tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        tags.classifier_tags.poor_score = inner.classifier_tags.poor_score
        return tags


class TrimmedRegressor(RegressorMixin, _Trimmed):
    """Any regressor, trained without the targets that look wrong.

    Held-out predictions of the regressor judge the targets: by their errors, compared with those
    that are usual for such rows. Then the rows that are probably wrong are dropped, and so are
    rows of large errors if the regressor predicts the others better without them. It is trained on
    the rest.

    Parameters
    ----------
    estimator : regressor, or "auto", "forest", "linear" or "boosting", default="auto"
        Any regressor of scikit-learn, a pipeline or a search. "auto" combines extra trees with
        ridge regression, "forest" is the trees alone, "linear" is ridge regression on standardised
        columns, and "boosting" is `HistGradientBoostingRegressor`.
    m : "auto", float or int, default="auto"
        How many rows to drop. "auto" drops those that are probably wrong, and those that hinder
        the regressor. A float is a fraction of the rows, an int a count, and 0 drops nothing; the
        most suspect rows go first.
    cv : int, splitter or iterable, default=None
        Folds that hold out rows. None takes the out-of-bag rows of a forest, and else five folds.
    random_state : int, RandomState, Generator or None, default=None
        Seed for everything random. The same seed gives the same result.
    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.
    verbose : int, default=0
        1 prints progress to standard error every two seconds, 2 prints every step.

    Attributes
    ----------
    estimator_ : regressor
        The regressor, fitted to the rows that were kept.
    judgement_ : TargetJudgement
        What the held-out predictions say about each target; ``judgement_.sentence`` says it in
        words.
    outlier_mask_ : ndarray of bool of shape (n_samples,)
        The rows that were dropped: exactly those that `estimator_` has not seen. Those that are
        called wrong are ``judgement_.flagged_``.
    n_features_in_, feature_names_in_
        As in scikit-learn, if the regressor has them.

    See Also
    --------
    judge_targets : The same judgement from predictions that you have.
    RankedRangeRegressor : A linear regressor that resists outliers, wherever they lie.

    Notes
    -----
    With fewer than 10 rows, or a target of 10 different values or fewer, nothing is dropped. With
    more than 50,000 rows, targets are judged by models of two samples; the last fit takes all rows
    that are kept. Outliers far out in X pull linear models and are then not seen in their errors:
    for these, take `RankedRangeRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(600, 2))
    >>> y = np.sin(X[:, 0]) + X[:, 1] ** 2 + rng.normal(size=600) / 5
    >>> y[:30] += 6
    >>> model = TrimmedRegressor(HistGradientBoostingRegressor(), random_state=0).fit(X, y)
    >>> model.judgement_.verdict_, bool(model.outlier_mask_[:30].mean() > 0.9)
    ('strong', True)
    """

    judgement_: TargetJudgement

    def __init__(
        self,
        estimator: Any = "auto",
        *,
        m: float | int | Literal["auto"] = "auto",
        cv: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator, m=m, cv=cv, random_state=random_state, n_jobs=n_jobs, verbose=verbose
        )

    def _as_target(self, y: Any) -> npt.NDArray[Any]:
        return np.asarray(
            _check_y(column_or_1d(y, warn=True), y_numeric=True, estimator=self), dtype=np.float64
        )

    def _fit(
        self, X: Any, y: npt.NDArray[Any], sample_weight: Any, groups: Any, fit_params: Any
    ) -> None:
        X, target, groups = indexable(X, y, groups)
        if not len(target):
            raise ValueError("y has 0 rows; needed numbers to learn from")
        weight = as_masses(sample_weight, _num_samples(X))
        rows = NumberedRows(X, target, weight, **self._options(fit_params))
        model = self._model_of(rows)
        masses = np.array([rows.mass.sum()])
        if weight is None or (weight % 1 == 0).all():
            masses = np.rint(masses).astype(np.int64)
        if is_auto := isinstance(self.m, str):
            check_choice("m", self.m, ("auto",))
        else:
            counts = ranks_in_all(self.m, None, masses).m
        estimator = self.estimator if is_named(self.estimator) else model
        judged = judge_numbers(rows, estimator, cv=self.cv, groups=groups)
        self.judgement_ = judged.judgement
        if is_auto:
            dropped = (self.judgement_.flagged_ | judged.hinders) & (rows.mass > 0)
        else:
            zeros = np.zeros(len(target), dtype=np.intp)
            dropped = most_suspect(self.judgement_.score_, zeros, weight, counts)
        kept = np.flatnonzero(~dropped)
        rows.tell(0, 1, f"the last fit, to {len(kept):,} rows")
        self.estimator_ = rows.fit_model(model, kept)
        self.outlier_mask_ = dropped

    def _unfitted(self, seed: int = 0) -> Any:
        return make_model(self.estimator, seed, self.n_jobs, is_classifier=False)

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

    def outlier_score(self, X: Any, y: Any) -> FloatArray:
        """Return how far new targets are from their predictions, in typical errors.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        ndarray of shape (n_samples,)
            The absolute error over the typical one of the kept rows. Larger is more suspect.
        """
        predicted = self.predict(X)
        target = np.asarray(column_or_1d(y), dtype=np.float64)
        check_length(target, len(predicted))
        typical = max(float(np.median(self.judgement_.typical_)), 1e-300)
        return np.asarray(np.abs(target - predicted) / typical)


def _positions(
    labels: npt.NDArray[Any], weight: FloatArray | None
) -> tuple[npt.NDArray[Any], IntArray]:
    """Return the classes of all rows, two of them with weight, and the position of each label."""
    classes, index = classes_of(labels)
    if weight is not None:
        classes_of(labels[weight > 0])
    return classes, index


def most_suspect(
    score: FloatArray, index: IntArray, weight: FloatArray | None, counts: FloatArray
) -> BoolArray:
    """Return the rows with the highest scores of each class, up to a mass; the first of equals."""
    mass = np.ones(len(index)) if weight is None else weight
    dropped = np.zeros(len(index), dtype=bool)
    for label, count in enumerate(counts):
        rows = np.flatnonzero((index == label) & (mass > 0))
        rows = rows[np.argsort(-score[rows], kind="stable")]
        dropped[rows[np.cumsum(mass[rows]) <= count * (1 + 1e-12)]] = True
    return dropped
