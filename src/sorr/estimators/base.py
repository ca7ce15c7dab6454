"""Linear models in scikit-learn's form: rows in, raw predictions and classes out."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from sorr._checks import as_masses
from sorr._typing import FloatArray, Weight
from sorr.losses import BinaryLoss, Loss, MulticlassLoss, RegressionLoss, get_loss
from sorr.solvers import Solution, Status, Step

__all__ = [
    "ConstantModelWarning",
    "LinearClassifier",
    "LinearModel",
    "NotConvergedWarning",
    "Reporter",
    "Rows",
    "SeparableWarning",
    "check_length",
    "encode",
    "loss_of_classes",
    "loss_of_numbers",
    "notices_of",
    "reporter",
    "warn",
]

_LARGEST_COUNT = 2.0**53  # masses above are no numbers of rows


class Rows(NamedTuple):
    """The rows that count: those of positive mass."""

    X: Any
    y: npt.NDArray[Any]
    weight: Weight | None
    places: npt.NDArray[np.intp] | None
    """Where they stand among the rows that were given; None if all of them count."""
    n_given: int

    @classmethod
    def that_count(cls, X: Any, y: npt.NDArray[Any], sample_weight: Any) -> Rows:
        """Return the rows without those of no weight."""
        weight = as_masses(sample_weight, X.shape[0])
        if weight is None or weight.all():
            return cls(X, y, weight, None, X.shape[0])
        places = np.flatnonzero(weight)
        return cls(X[places], y[places], weight[places], places, X.shape[0])

    def spread(self, values: npt.NDArray[Any], missing: Any) -> npt.NDArray[Any]:
        """Return their values in the places of all rows that were given."""
        if self.places is None:
            return values
        everywhere = np.full(self.n_given, missing, dtype=values.dtype)
        everywhere[self.places] = values
        return everywhere

    @property
    def is_whole(self) -> bool:
        """Whether masses are numbers of copies, so that fractions of them become whole rows."""
        if self.weight is None:
            return True
        return bool(np.all(self.weight % 1 == 0)) and float(self.weight.sum()) < _LARGEST_COUNT


class LinearModel(BaseEstimator):
    """A model whose raw prediction is ``X @ coef + intercept``."""

    def _rows(self, X: Any, y: Any, sample_weight: Any, **how: Any) -> Rows:
        """Return the data as arrays, without the rows of no weight."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], **how)
        return Rows.that_count(X, y, sample_weight)

    def _stored_coef(self) -> FloatArray:
        """Return the coefficients in the shape of a solver's."""
        return np.asarray(self.coef_, dtype=np.float64)

    def _features(self, X: Any) -> Any:
        """Return the features of new rows."""
        check_is_fitted(self)
        return validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False
        )

    def _raw_prediction(self, X: Any) -> FloatArray:
        """Return ``X @ coef + intercept`` of new rows."""
        X = self._features(X)
        return np.asarray(X @ self._stored_coef() + np.squeeze(self.intercept_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LinearClassifier(ClassifierMixin, LinearModel):
    """A linear model of classes: one raw output for two of them, else one for each."""

    _loss: Loss
    """The loss of the last fit: `loss` may have been changed since."""

    def _keep_classes(
        self, loss: Loss, classes: npt.NDArray[Any], coef: Any, intercept: Any
    ) -> None:
        self._loss, self.classes_ = loss, classes
        self.coef_ = np.atleast_2d(np.transpose(coef))
        self.intercept_ = np.atleast_1d(intercept)
        if len(self.intercept_) > 1:  # a constant added to all of them changes nothing
            self.intercept_ = self.intercept_ - self.intercept_.mean()

    def _stored_coef(self) -> FloatArray:
        coef = np.asarray(self.coef_, dtype=np.float64).T
        return coef[:, 0] if coef.shape[1] == 1 else coef

    def decision_function(self, X: Any) -> FloatArray:
        """Return the raw predictions.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, positive where the second is more likely.
        """
        return self._raw_prediction(X)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of each row.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        raw = self._raw_prediction(X)
        best = (raw > 0).astype(np.intp) if raw.ndim == 1 else raw.argmax(axis=1)
        return np.asarray(self.classes_[best])

    @available_if(lambda self: _has_probability(self))
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class: for smooth losses only.

        It is the one under which the raw prediction has the least expected loss. For the hinge,
        `sklearn.calibration.CalibratedClassifierCV` finds one.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        raw = self._raw_prediction(X)
        return np.asarray(self._loss.probability(raw), dtype=np.float64)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of rows that are predicted as labelled.

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

    def _losses(self, X: Any, y: Any) -> tuple[FloatArray, npt.NDArray[np.intp]]:
        """Return the loss of new rows, and the index of each one's class."""
        raw = self._raw_prediction(X)
        labels = column_or_1d(y)
        check_length(labels, len(raw))
        is_known = np.isin(labels, self.classes_)
        if not is_known.all():
            raise ValueError(
                f"y holds {labels[~is_known].tolist()[0]!r}, which is none of the classes of the "
                f"fit; needed {', '.join(map(repr, self.classes_.tolist()))}"
            )
        index = np.searchsorted(self.classes_, labels)
        return np.asarray(self._loss.value(encode(self._loss, index), raw)), index


def check_length(y: npt.NDArray[Any], n_samples: int) -> None:
    """Refuse targets of another number than there are rows."""
    if len(y) != n_samples:
        raise ValueError(f"X has {n_samples} rows, y {len(y)}; needed one target for each row")


def _has_probability(estimator: Any) -> bool:
    """Tell whether predict_proba is there, or say why it is not."""
    loss = getattr(estimator, "_loss", None) or loss_of_classes(estimator.loss, 2)
    if not loss.has_probability:
        raise AttributeError(
            f"predict_proba is not available for loss={loss.name!r}; needed a smooth loss, such as "
            "'logistic': or use CalibratedClassifierCV"
        )
    return True


# -- What estimators warn about, each under a class of its own -------------------------------------


_TINY_LOSS = 1e-7  # of every row that is kept: margins of 16, and probabilities of one
_SMALL_LOSS = 1e-2  # the same without a ridge, where the solver gives up at some point
_UNFINISHED = (Status.UNCERTIFIED, Status.NOT_FIXED, Status.ITERATION_LIMIT)


class NotConvergedWarning(ConvergenceWarning):
    """The fit ended before its tolerance was reached."""


class ConstantModelWarning(UserWarning):
    """The best model that was found predicts the same for every row."""


class SeparableWarning(UserWarning):
    """The rows that are kept are told apart without error, and only C limits the coefficients."""


def notices_of(solution: Solution, largest_kept: float, C: float) -> list[Warning]:
    """Return what makes a solution less than it seems.

    Parameters
    ----------
    solution : Solution
    largest_kept : float
        The largest loss among the rows that are kept, or NaN where the loss is zero from some
        point on, or targets are no classes: there the data limits the coefficients.
    C : float
    """
    status, found = solution.status, list[Warning]()
    if status is Status.CONSTANT_MODEL:
        return [ConstantModelWarning(f"Constant model: {status.sentence}.")]
    if largest_kept < (_SMALL_LOSS if np.isinf(C) else _TINY_LOSS):
        found.append(
            SeparableWarning(
                "The rows that are kept are separable: each is predicted right with a loss of "
                f"{largest_kept:.1g} at most, so that the size of the coefficients is set by "
                f"C={C:g} and not by the data; lower C, or read nothing into their size and into "
                "probabilities of zero and one."
            )
        )
        if np.isinf(C):
            return found  # there is no minimum to converge to
    if status in _UNFINISHED:
        gap = f" (gap {solution.gap:.1g})" if np.isfinite(solution.gap) else ""
        found.append(NotConvergedWarning(f"Not converged{gap}: {status.sentence}."))
    return found


def warn(notices: Iterable[Warning]) -> None:
    """Warn the caller of the public function that calls this."""
    for notice in notices:
        warnings.warn(notice, stacklevel=3)


# -- Progress of what takes long, for people who asked for it --------------------------------------


_PATIENCE = 2.0  # seconds between two lines


class Reporter:
    """Writes a line to standard error every two seconds, and none if all is done by then."""

    def __init__(self, name: str, patience: float = _PATIENCE) -> None:
        self.name, self.patience = name, patience
        self.begin = self.last = monotonic()

    def __call__(self, step: Step) -> None:
        """Report a step of a solver."""
        self.say(
            f"start {step.start}, {step.phase}: objective {step.objective:.6g} "
            f"after {step.passes:.0f} passes over the data"
        )

    def say(self, message: str) -> None:
        """Write a message, unless another one was written within the last two seconds."""
        now = monotonic()
        if now - self.last >= self.patience:
            self.last = now
            print(f"[{self.name}] {now - self.begin:.0f} s: {message}", file=sys.stderr, flush=True)


def reporter(name: str, verbose: int) -> Reporter | None:
    """Return something to report to if that is wanted: with `verbose` above 1, at every step."""
    if not verbose:
        return None
    return Reporter(name, patience=_PATIENCE if verbose == 1 else 0.0)


# -- Targets and losses that go together: what users give, in the form that losses take ------------


_TWINS = (("logistic", "softmax"), ("hinge", "multiclass_hinge"))  # of two classes, of more


def encode(loss: Loss, index: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    """Return the index of each row's class as a loss over classes takes it."""
    return index if isinstance(loss, MulticlassLoss) else np.where(index == 1, 1.0, -1.0)


def loss_of_classes(loss: str | Loss, n_classes: int) -> Loss:
    """Return the loss in the form for so many classes."""
    twins = dict(_TWINS) if n_classes > 2 else {many: two for two, many in _TWINS}
    name = loss if isinstance(loss, str) else getattr(loss, "name", None)
    found = get_loss(twins.get(name, loss) if isinstance(name, str) else loss)
    if isinstance(found, BinaryLoss | MulticlassLoss):
        if n_classes == 2 or isinstance(found, MulticlassLoss):
            return found
        raise ValueError(
            f"loss={found.name!r} is for two classes, and y holds {n_classes}; needed 'logistic' "
            "or 'hinge', which have a form for many: or use OneVsRestClassifier"
        )
    raise ValueError(
        f"loss={found.name!r} is for {found.domain}; needed a loss over classes, such as "
        "'logistic' or 'hinge'"
    )


def loss_of_numbers(loss: str | Loss) -> Loss:
    """Return the loss, which has to be one of residuals."""
    found = get_loss(loss)
    if isinstance(found, RegressionLoss):
        return found
    raise ValueError(
        f"loss={found.name!r} is for {found.domain}; needed a loss of residuals, such as "
        "'squared', 'absolute' or 'huber'"
    )
