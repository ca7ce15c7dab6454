"""Linear models that score labels and predict the k best of them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import validate_data

from sorr._typing import FloatArray
from sorr.estimators.base import restored
from sorr.estimators.label_sets import Kind, Labels, indicator_like, labels_of
from sorr.estimators.linear import LinearModel, Rows, check_length
from sorr.estimators.notices import warn
from sorr.losses.label_sets import is_top
from sorr.metrics import topk_multilabel_accuracy
from sorr.metrics.arguments import as_count

__all__ = ["TopKLinear", "as_label_count"]


class TopKLinear(ClassifierMixin, LinearModel):
    """A linear score for each label; the k labels that score best are predicted.

    Targets are an indicator, or one class for each row: see `labels_of`. A subclass has a
    parameter `k`, and a `_learn_labels` that ends with `_keep_labels`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
    intercept_ : ndarray of shape (n_labels,)
    classes_ : ndarray of shape (n_labels,)
    n_labels_ : int
    """

    _kind: Kind
    """What the last fit was given as its target."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        If anything goes wrong, an interruption included, the estimator stays as it was.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        y : array-like, frame or sparse matrix
            The labels of each row: an indicator of shape (n_samples, n_labels), or one class for
            each row. `MultiLabelBinarizer` of scikit-learn makes an indicator of sets of labels.
        sample_weight : array-like of shape (n_samples,), optional
            The mass of each row: a row of weight two is two copies of it.

        Returns
        -------
        self
        """
        with restored(self):
            self._check_parameters()
            rows, labels = self._label_rows(X, y, sample_weight)
            warn(self._learn_labels(rows, labels))
        return self

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense, before the data is looked at."""

    @abstractmethod
    def _learn_labels(self, rows: Rows, labels: Labels) -> list[Warning]:
        """Learn, keep the scores, and return what is wrong with them."""

    def _label_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, Labels]:
        """Return the rows that count, whose `y` is the indicator, and their labels."""
        if y is None:
            validate_data(self, X, y)  # says in scikit-learn's words that there has to be one
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        labels = labels_of(y)
        check_length(labels.indicator, X.shape[0])
        rows = Rows.that_count(X, labels.indicator, sample_weight)
        labels = labels.take(rows.places)
        as_label_count(self.k, len(labels.classes))
        return rows._replace(y=labels.indicator), labels

    def _keep_labels(self, labels: Labels, coef: Any, intercept: Any) -> None:
        """Keep a solution: coefficients of shape (n_features, n_labels), as solvers find them."""
        self._kind, self.classes_ = labels.kind, labels.classes
        self.n_labels_ = len(labels.classes)
        self.coef_ = np.ascontiguousarray(np.transpose(coef), dtype=np.float64)
        self.intercept_ = np.array(np.broadcast_to(intercept, self.n_labels_), dtype=np.float64)

    def _stored_coef(self) -> FloatArray:
        return np.asarray(self.coef_, dtype=np.float64).T

    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores of the labels.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_labels) or (n_samples,)
            Of each row, less the middle between the k-th and the next score: positive for the
            labels that are predicted, unless these two are tied. If the fit was given one class
            for each row, the scores as they are; with two classes the second one's less the first
            one's.
        """
        raw = self._raw_prediction(X)
        if self._kind != "multiclass":
            k = as_label_count(self.k, self.n_labels_)
            cut = self.n_labels_ - k
            ordered = np.partition(raw, [cut - 1, cut], axis=1)
            return np.asarray(raw - (ordered[:, cut - 1] / 2 + ordered[:, cut] / 2)[:, None])
        return np.asarray(raw[:, 1] - raw[:, 0]) if self.n_labels_ == 2 else raw

    def predict(self, X: Any) -> Any:
        """Return the k labels of each row that score best, or the best class.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray or sparse array of shape (n_samples, n_labels), or ndarray of shape (n_samples,)
            The indicator of k labels, sparse if that of the fit was. The class that scores best,
            if the fit was given one class for each row. Of tied labels the first is predicted.
        """
        raw = self._raw_prediction(X)
        if self._kind == "multiclass":
            return np.asarray(self.classes_[raw.argmax(axis=1)])
        indicator = is_top(raw, as_label_count(self.k, self.n_labels_)).astype(int)
        return sparse.csr_array(indicator) if self._kind == "sparse" else indicator

    def predict_topk(self, X: Any) -> npt.NDArray[Any]:
        """Return the names of the k labels of each row that score best.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, k)
            The best first; of tied labels the one that comes first in ``classes_``.
        """
        best = np.argsort(-self._raw_prediction(X), axis=1, kind="stable")
        return np.asarray(self.classes_[best[:, : as_label_count(self.k, self.n_labels_)]])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the top-k multi-label accuracy.

        It is the share of rows whose k best labels are all true, or contain all that are true:
        with one class for each row, the top-k accuracy. See
        `sorr.metrics.topk_multilabel_accuracy`.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
        y : array-like, frame or sparse matrix
            Targets in the form of those of the fit, and no other labels.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        raw = self._raw_prediction(X)
        truth = indicator_like(y, self.classes_, self._kind)
        check_length(truth, len(raw))
        return float(topk_multilabel_accuracy(truth, raw, k=self.k, sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def as_label_count(k: Any, n_labels: int) -> int:
    """Return how many labels to predict: fewer than there are."""
    return as_count(k, n_labels, "labels")
