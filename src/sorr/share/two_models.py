"""Two kinds of models: one that combines them, and evidence that they share."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

from sorr._checks import as_masses, as_whole_seed, classes_of
from sorr._typing import FloatArray
from sorr.share.constants import (
    FEWEST_ROWS,
    LARGEST_SAMPLE,
    MOST_ROWS_ALONE,
    STRONG,
    TREES,
)
from sorr.share.held_out import LabelledRows, NumberedRows
from sorr.share.judging import as_log, as_right_labels, judge
from sorr.share.models import (
    FOREST_STEP,
    GivenProbabilities,
    as_scores,
    blend,
    is_named,
    make_forest,
    make_single,
    name_of,
    stack,
)
from sorr.share.row_values import bound_numbers, number_columns
from sorr.share.verdict import Judgement


def make_model(
    estimator: Any, seed: int, n_jobs: int | None = None, *, is_classifier: bool = True
) -> Any:
    """Return a model that is not fitted: of a name, or a copy of an estimator."""
    if is_named(estimator) and estimator == "auto":
        kind = ForestAndLine if is_classifier else ForestAndPlane
        return kind(random_state=seed, n_jobs=n_jobs)
    return make_single(estimator, seed, n_jobs, is_classifier=is_classifier)


class _ForestWithLine(BaseEstimator):
    """Extra trees combined with a linear model: what labels and numbers share."""

    def __init__(self, *, random_state: Any = None, n_jobs: int | None = None) -> None:
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit both models, and how they are combined.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        self.fit_held_out(X, y, sample_weight)
        return self

    def fit_held_out(self, X: Any, y: Any, sample_weight: Any = None) -> FloatArray:
        """Fit, and return what held-out rows with weight get on the way.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`

        Returns
        -------
        ndarray of shape (n_samples, n_outputs)
        """
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
            y_numeric=isinstance(self, RegressorMixin),
        )
        weight = as_masses(sample_weight, len(y))
        if weight is not None and not weight.all():
            X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        if len(y) < 2:
            raise ValueError(f"y has {len(y)} sample(s) with weight; needed 2 rows or more")
        seed = as_whole_seed(self.random_state)
        rows = self._rows(X, y, weight, seed)
        self.forest_ = make_forest(TREES, seed, self.n_jobs, is_classifier=rows.is_classifier)
        parts = [rows.hold_out(self.forest_, fitted=True), rows.hold_out("linear")]
        self.forest_.set_params(n_jobs=None)  # sums of threads depend on who is first
        self.line_ = rows.fit("linear", np.arange(len(y)))
        return self._combine(rows, parts)

    def _rows(self, X: Any, y: Any, weight: FloatArray | None, seed: int) -> Any:
        raise NotImplementedError

    def _combine(self, rows: Any, parts: list[FloatArray]) -> FloatArray:
        """Store how both models are combined, and return what held-out rows get."""
        raise NotImplementedError

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
            reset=False,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


class ForestAndLine(ClassifierMixin, _ForestWithLine):
    r"""Extra trees combined with logistic regression: the model "auto" of classes.

    .. math:: p = \mathrm{softmax}(a_1 z_1 + a_2 z_2 + b)

    with the log probabilities z of both, and slopes and shifts that are fitted to probabilities
    of rows that are held out.

    Parameters
    ----------
    random_state : int, RandomState, Generator or None, default=None
        Seed for everything random. The same seed gives the same result.
    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    forest_, line_ : estimators
    slopes_ : ndarray of shape (2,)
    shift_ : ndarray of shape (n_classes,)
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    def _rows(self, X: Any, y: Any, weight: FloatArray | None, seed: int) -> LabelledRows:
        self.classes_, index = classes_of(y)
        return LabelledRows(X, y, index, self.classes_, weight, seed=seed, n_jobs=self.n_jobs)

    def _combine(self, rows: LabelledRows, parts: list[FloatArray]) -> FloatArray:
        self.slopes_, self.shift_, probabilities = stack(parts, rows.index, rows.weight)
        return probabilities

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        X = self._checked(X)
        parts = [self.forest_.predict_proba(X), self.line_.predict_proba(X)]
        raw = np.tensordot(self.slopes_, np.stack([as_scores(part) for part in parts]), 1)
        return np.asarray(softmax(raw + self.shift_, axis=1))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most likely class of each row.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])


class ForestAndPlane(RegressorMixin, _ForestWithLine):
    r"""Extra trees combined with a ridge regression: the model "auto" of numbers.

    The prediction is a mean of both. The part of the forest makes the absolute errors of held-out
    rows smallest.

    Parameters
    ----------
    random_state : int, RandomState, Generator or None, default=None
        Seed for everything random. The same seed gives the same result.
    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.

    Attributes
    ----------
    forest_, line_ : estimators
    share_ : float
        The part of the forest, from 0 to 1.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    def _rows(self, X: Any, y: Any, weight: FloatArray | None, seed: int) -> NumberedRows:
        return NumberedRows(X, y, weight, seed=seed, n_jobs=self.n_jobs)

    def _combine(self, rows: NumberedRows, parts: list[FloatArray]) -> FloatArray:
        self.share_ = blend(parts[0][:, 0], parts[1][:, 0], rows.y, rows.weight)
        return self.share_ * parts[0] + (1 - self.share_) * parts[1]

    def predict(self, X: Any) -> FloatArray:
        """Return the prediction for each row.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        X = self._checked(X)
        mixed = self.share_ * self.forest_.predict(X) + (1 - self.share_) * self.line_.predict(X)
        return np.asarray(mixed)


class Judged(NamedTuple):
    """A judgement, and the held-out probabilities that it comes from."""

    judgement: Judgement
    probabilities: FloatArray
    model: ForestAndLine | None = None
    """The model of all rows, if it was fitted on the way."""


def judge_rows(
    rows: LabelledRows,
    estimator: Any,
    *,
    cv: Any = None,
    groups: npt.ArrayLike | None = None,
    known: Any = None,
    limit: int = LARGEST_SAMPLE,
) -> Judged:
    """Judge labels by a model, and if it sees evidence, by a model of another kind too.

    The forest needs evidence of ten to one, and a model of another kind has to share it from even
    odds on: the model that is given, or boosting. Strong evidence of a forest stands by itself up
    to 4,000 rows; among more, its misfit is strong evidence too. Boosting takes no wide sparse
    rows: there, a forest needs clear evidence instead, and so does a model beside which there can
    be no forest. Clean labels pay little: the second model is fitted only if the first one sees
    evidence.

    The estimator may also be probabilities that are known already. Of rows that somebody checked
    (`known`), models learn the right label, and the judge the rates of wrong ones.
    """
    right = as_right_labels(known, rows.classes, len(rows))
    given, rows = rows.index, rows.correct(right)

    def judged_by(model: Any, rows: LabelledRows = rows) -> Judged:
        fitted, has_folds = None, cv is not None or groups is not None or len(rows) > limit
        if isinstance(model, GivenProbabilities):
            probabilities = model.values
        elif is_named(model) and model == "auto" and not (has_folds or rows.has_zero_weights):
            fitted = ForestAndLine(random_state=rows.seed, n_jobs=rows.n_jobs)
            probabilities = fitted.fit_held_out(rows.X, rows.y, rows.weight)
        else:
            probabilities = rows.hold_out(model, cv=cv, groups=groups, limit=limit)
        L, name = as_log(probabilities), name_of(model)
        found = judge(L, given, rows.classes, rows.weight, known=known, model=name)
        return Judged(found, probabilities, fitted)

    def judged_by_forest(model: Any, rows: LabelledRows = rows) -> Judged:
        judged = judged_by(model, rows)
        if judged.judgement.can_judge and rows.is_too_wide_for_boosting:
            return judged._replace(judgement=judged.judgement.ask_for_clear())
        return judged

    rows.refuse_texts(estimator)
    mass = len(rows) if rows.weight is None else rows.weight.sum()
    if mass < FEWEST_ROWS:
        even = np.full((len(rows), len(rows.classes)), 1 / len(rows.classes))
        judgement = judge(np.log(even), given, rows.classes, rows.weight, known=known)
        return Judged(judgement, even)
    if not (is_named(estimator) and estimator in ("auto", "forest")):
        first = judged_by(estimator)
        found = first.judgement.ask_for_even_odds()
        if not found.has_evidence:
            return first
        if (forest := forest_beside(rows, estimator)) is None:
            return first._replace(judgement=first.judgement.ask_for_clear())
        return first._replace(judgement=found.confirm(judged_by_forest(*forest).judgement))
    first = judged_by_forest(estimator)
    found = first.judgement
    stands_alone = found.evidence_ > STRONG and len(rows) <= MOST_ROWS_ALONE
    if not found.has_evidence or found.is_demanding or stands_alone:
        return first
    second = judged_by("boosting").judgement.ask_for_even_odds()
    return first._replace(judgement=found.confirm(second))


def forest_beside(rows: LabelledRows, estimator: Any) -> tuple[Any, LabelledRows] | None:
    """Return the forest that has to share the evidence of a model, and the rows that it takes.

    Numbers are made small enough for trees. Other rows are prepared by the steps of the estimator's
    own pipeline, or columns of a frame are numbered. Of the rest, a forest can make nothing.
    """
    plain = copy(rows)
    plain.extra = {}  # for the estimator of the user
    if rows.has_numbers:
        plain.X = bound_numbers(rows.X)
        return "auto", plain
    while not isinstance(estimator, Pipeline) and hasattr(estimator, "estimator"):
        estimator = estimator.estimator  # of a search, or of another wrapper
    if isinstance(estimator, Pipeline):
        pipeline = clone(estimator)
        pipeline.steps[-1] = (FOREST_STEP, ForestAndLine(random_state=rows.seed))
        return pipeline, plain
    if not hasattr(rows.X, "columns"):
        return None
    plain.X = number_columns(rows.X)
    return "auto", plain
