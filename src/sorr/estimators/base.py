"""What all linear estimators here share.

Checked rows, raw predictions and classes; losses that fit the targets; warnings after a fit;
progress on standard error; and a fit that fails without a trace.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from sorr._checks import as_masses, class_index
from sorr._progress import line_printer
from sorr._typing import FloatArray, IntArray, Weight
from sorr.losses import BinaryLoss, Loss, MulticlassLoss, RegressionLoss, get_loss
from sorr.solvers import Progress, Solution, Status, Step

_LARGEST_COUNT = 2.0**53  # a larger mass is not a number of rows
_TINY_LOSS = 1e-7  # of every kept row: margins of 16, and probabilities of one
_SMALL_LOSS = 1e-2  # the same without a ridge, where the solver gives up at some point
_UNFINISHED = (Status.UNCERTIFIED, Status.NOT_FIXED, Status.ITERATION_LIMIT)
_TWINS = (("logistic", "softmax"), ("hinge", "multiclass_hinge"))  # for two classes, for more

# -- Rows and linear models ------------------------------------------------------------------------


class Rows(NamedTuple):
    """Rows of positive mass."""

    X: Any
    y: npt.NDArray[Any]
    weight: Weight | None
    places: IntArray | None
    """Their positions among the rows that were given; None if all of them have mass."""
    n_given: int

    @classmethod
    def with_mass(cls, X: Any, y: npt.NDArray[Any], sample_weight: Any) -> Rows:
        """Return the rows without those of weight zero."""
        weight = as_masses(sample_weight, X.shape[0])
        if weight is None or weight.all():
            return cls(X, y, weight, None, X.shape[0])
        places = np.flatnonzero(weight)
        return cls(X[places], y[places], weight[places], places, X.shape[0])

    def take(self, index: IntArray) -> Rows:
        """Return some of the rows, as if no others had been given."""
        weight = None if self.weight is None else self.weight[index]
        return Rows(self.X[index], self.y[index], weight, None, len(index))

    def keep(self, index: IntArray) -> Rows:
        """Return some of the rows, which still know their places among those that were given."""
        places = index if self.places is None else self.places[index]
        return self.take(index)._replace(places=places, n_given=self.n_given)

    def spread(self, values: npt.NDArray[Any], missing: Any) -> npt.NDArray[Any]:
        """Return one value for each row that was given; rows of weight zero get `missing`."""
        if self.places is None:
            return values
        everywhere = np.full(self.n_given, missing, dtype=values.dtype)
        everywhere[self.places] = values
        return everywhere

    def round_masses(self, masses: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return masses of these rows, as integers if they are numbers of rows."""
        return np.rint(masses).astype(np.int64) if self.has_whole_weights else masses

    @property
    def mass(self) -> float:
        """The number of rows, or the sum of their weights."""
        return float(len(self.y) if self.weight is None else self.weight.sum())

    @property
    def masses(self) -> Weight:
        """The mass of each row."""
        return np.ones(len(self.y)) if self.weight is None else self.weight

    @property
    def has_whole_weights(self) -> bool:
        """Whether weights are numbers of copies, so that fractions of them become whole rows."""
        if self.weight is None:
            return True
        return bool(np.all(self.weight % 1 == 0)) and float(self.weight.sum()) < _LARGEST_COUNT


def validate_rows(
    estimator: Any, X: Any, y: Any, sample_weight: Any, *, y_numeric: bool = False
) -> Rows:
    """Return the data for a fit as arrays, without the rows of weight zero."""
    dtype = [np.float64, np.float32]
    X, y = validate_data(estimator, X, y, accept_sparse="csr", dtype=dtype, y_numeric=y_numeric)
    return Rows.with_mass(X, y, sample_weight)


class LinearModel(BaseEstimator):
    """A model whose raw prediction is ``X @ coef + intercept``."""

    def _stored_coef(self) -> FloatArray:
        """Return the coefficients in the shape that solvers use."""
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
    """A linear model of classes: one raw output for two classes, else one for each class."""

    _loss: Loss
    """The loss of the last fit. The parameter `loss` may have changed since."""

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

    def _class_loss(self) -> Loss:
        """Return the loss of the fit, or of the next one."""
        n_classes = len(getattr(self, "classes_", "01"))
        return getattr(self, "_loss", None) or loss_of_classes(self.loss, n_classes)

    def _has_probability(self) -> bool:
        """Return True, or raise an error that says why there is no predict_proba."""
        loss = self._class_loss()
        if not loss.has_probability:
            raise AttributeError(
                f"predict_proba is not available for loss={loss.name!r}; needed a smooth loss, "
                "such as 'logistic', or CalibratedClassifierCV"
            )
        return True

    @available_if(lambda self: self._has_probability())
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class. Only smooth losses have one.

        It is the probability under which the raw prediction has the smallest expected loss. For
        the hinge, use `sklearn.calibration.CalibratedClassifierCV`.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        raw = self._raw_prediction(X)
        return np.asarray(self._class_loss().probability(raw), dtype=np.float64)

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

    def _losses(self, X: Any, y: Any) -> tuple[FloatArray, IntArray]:
        """Return the loss of new rows, and the index of each row's class."""
        raw = self._raw_prediction(X)
        labels = column_or_1d(y)
        check_length(labels, len(raw))
        index = class_index(labels, self.classes_)
        return np.asarray(self._loss.value(encode(self._loss, index), raw)), index


def check_length(y: npt.NDArray[Any], n_samples: int) -> None:
    """Refuse targets whose number is not that of the rows."""
    if len(y) != n_samples:
        raise ValueError(f"X has {n_samples} rows, y {len(y)}; needed one target for each row")


# -- Warnings after a fit --------------------------------------------------------------------------


class NotConvergedWarning(ConvergenceWarning):
    """The fit ended before it reached its tolerance."""


class ConstantModelWarning(UserWarning):
    """The best model that was found predicts the same for every row."""


class SeparableWarning(UserWarning):
    """The kept rows are predicted without error, and only C limits the coefficients."""


def notices_of(solution: Solution, largest_kept: float, C: float) -> list[Warning]:
    """Return the warnings that a solution deserves.

    The largest loss of a kept row is NaN where the data limits the coefficients: for losses that
    reach zero, and for targets that are not classes.
    """
    status, notices = solution.status, list[Warning]()
    if status is Status.CONSTANT_MODEL:
        return [ConstantModelWarning(f"Constant model: {status.sentence}.")]
    if largest_kept < (_SMALL_LOSS if np.isinf(C) else _TINY_LOSS):
        notices.append(
            SeparableWarning(
                "The kept rows are separable: each is predicted correctly with a loss of at most "
                f"{largest_kept:.1g}, so C={C:g} sets the size of the coefficients, not the data. "
                "Lower C, or do not interpret the size of coefficients or probabilities near 0 "
                "and 1."
            )
        )
        if np.isinf(C):
            return notices  # there is no minimum to converge to
    if status in _UNFINISHED:
        gap = f" (gap {solution.gap:.1g})" if np.isfinite(solution.gap) else ""
        notices.append(NotConvergedWarning(f"Not converged{gap}: {status.sentence}."))
    return notices


def warn(notices: Iterable[Warning]) -> None:
    """Warn the caller of the public function that calls this."""
    for notice in notices:
        warnings.warn(notice, stacklevel=3)


# -- Errors ----------------------------------------------------------------------------------------


@contextmanager
def rollback_on_error(estimator: Any) -> Iterator[None]:
    """Give an estimator its old attributes back after any error, also after an interruption."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        for name in vars(estimator).keys() - before.keys():
            delattr(estimator, name)
        for name, value in before.items():
            setattr(estimator, name, value)
        raise


@contextmanager
def prefix_errors(names: str) -> Iterator[None]:
    """Put text before the message of an error: the names that the caller's parameters have."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"{names}: {error}") from None


# -- Progress on standard error --------------------------------------------------------------------


def print_steps(name: str, verbose: int) -> Progress | None:
    """Return a callback that prints the steps of a solver; None if `verbose` is 0.

    It prints at most one line every two seconds, or every line if `verbose` is above 1.
    """
    if not verbose:
        return None
    print_line = line_printer(name, verbose)

    def print_step(step: Step) -> None:
        print_line(
            f"start {step.start}, {step.phase}: objective {step.objective:.6g} "
            f"after {step.passes:.0f} passes over the data"
        )

    return print_step


# -- Losses for the targets at hand ----------------------------------------------------------------


def encode(loss: Loss, index: IntArray) -> npt.NDArray[Any]:
    """Return the index of each row's class in the form that the loss takes."""
    return index if isinstance(loss, MulticlassLoss) else np.where(index == 1, 1.0, -1.0)


def loss_of_classes(loss: str | Loss, n_classes: int) -> Loss:
    """Return the loss in its form for this number of classes."""
    twins = dict(_TWINS) if n_classes > 2 else {many: two for two, many in _TWINS}
    name = loss if isinstance(loss, str) else getattr(loss, "name", None)
    known = get_loss(twins.get(name, loss) if isinstance(name, str) else loss)
    if not isinstance(known, BinaryLoss | MulticlassLoss):
        raise ValueError(
            f"loss={known.name!r} is for {known.domain}; needed a loss over classes, such as "
            "'logistic' or 'hinge'"
        )
    if n_classes > 2 and not isinstance(known, MulticlassLoss):
        raise ValueError(
            f"loss={known.name!r} is for two classes, and y holds {n_classes}; needed 'logistic' "
            "or 'hinge', which have a form for more classes, or OneVsRestClassifier"
        )
    return known


def loss_of_numbers(loss: str | Loss) -> Loss:
    """Return the loss, which has to be one for regression."""
    known = get_loss(loss)
    if isinstance(known, RegressionLoss):
        return known
    raise ValueError(
        f"loss={known.name!r} is for {known.domain}; needed a loss of residuals, such as "
        "'squared', 'absolute' or 'huber'"
    )
