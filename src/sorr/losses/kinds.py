"""The four kinds of losses, by what their target is."""

from __future__ import annotations

import math
from abc import abstractmethod
from numbers import Real

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.losses.base import Loss, Target

__all__ = [
    "BinaryLoss",
    "MulticlassLoss",
    "MultilabelLoss",
    "RegressionLoss",
    "as_precise",
    "check_width",
    "one_hot",
]


class _OneOutput(Loss):
    """A function of one number, made of the target and the raw prediction."""

    _shapes = "one of each for each sample, shape (n_samples,): f.ravel() flattens a column"

    def _fit(self, y: Target, f: FloatArray) -> bool:
        return f.ndim == 1 and y.shape == f.shape

    @abstractmethod
    def _argument(self, y: FloatArray, f: FloatArray) -> FloatArray:
        """Return that number for each sample."""

    @abstractmethod
    def _height(self, argument: FloatArray) -> FloatArray:
        """Return the function."""

    @abstractmethod
    def _slope(self, argument: FloatArray) -> FloatArray:
        """Return its derivative."""

    def _bend(self, argument: FloatArray) -> FloatArray:
        """Return its second derivative."""
        raise NotImplementedError

    def _value(self, y: Target, f: FloatArray) -> FloatArray:
        return self._height(self._argument(as_precise(f, y), f))

    def _gradient(self, y: Target, f: FloatArray) -> FloatArray:
        return self._slope(self._argument(as_precise(f, y), f))

    def _curvature(self, y: Target, f: FloatArray) -> FloatArray:
        return self._bend(self._argument(as_precise(f, y), f))

    def _as_column(self, y: npt.ArrayLike, n_outputs: int | None) -> Target:
        if n_outputs not in (None, 1):
            raise ValueError(
                f"{self.name} is given {n_outputs} outputs; needed one for each sample: "
                "fit each column by itself"
            )
        return _as_vector(self, y)


class BinaryLoss(_OneOutput):
    """A function of the margin, target times raw prediction, for two classes."""

    domain = "-1 or +1 for each sample"
    monotone = True
    _curved_relative = "logistic"

    def check_target(self, y: npt.ArrayLike, n_outputs: int | None = None) -> Target:
        """Return the target as floats, which have to be -1 or +1."""
        target = self._as_column(y, n_outputs)
        if target.dtype.kind in "fiu" and np.all(np.abs(target) == 1):
            return target.astype(np.float64)
        if target.dtype.kind in "fiub" and np.all((target == 0) | (target == 1)):
            raise ValueError(
                f"the target of {self.name} holds 0 and 1; needed -1 and +1: pass 2.0 * y - 1"
            )
        found = ", ".join(map(str, np.unique(target)[:5].tolist()))
        raise ValueError(
            f"the target of {self.name} holds {found}; needed -1 and +1: "
            "pass np.where(y == positive, 1.0, -1.0), `positive` being the class to predict"
        )

    def strata(self, y: Target) -> Target:
        """Return the class of each sample: its target."""
        return y

    def _is_right(self, y: Target, f: FloatArray) -> npt.NDArray[np.bool_]:
        return y * f > 0

    def _probability(self, f: FloatArray) -> FloatArray:
        # Where a class has probability p, p * loss(f) + (1 - p) * loss(-f) is stationary in f.
        against, inside = self._slope(f), self._slope(-f)
        likely = inside / (against + inside)
        return np.stack([1 - likely, likely], axis=1)

    def _argument(self, y: FloatArray, f: FloatArray) -> FloatArray:
        return y * f

    def _order(self, y: Target, f: FloatArray) -> FloatArray:
        return -as_precise(f, y) * f

    def _gradient(self, y: Target, f: FloatArray) -> FloatArray:
        y = as_precise(f, y)
        return y * self._slope(y * f)

    def _value_and_gradient(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        y = as_precise(f, y)
        margin = y * f
        return self._height(margin), y * self._slope(margin)


class RegressionLoss(_OneOutput):
    """A function of the residual, raw prediction minus target."""

    domain = "a finite number for each sample"
    _curved_relative = "huber"

    def check_target(self, y: npt.ArrayLike, n_outputs: int | None = None) -> Target:
        """Return the target as floats, which have to be finite."""
        target = self._as_column(y, n_outputs)
        if target.dtype.kind not in "fiub":
            raise ValueError(
                f"the target of {self.name} has dtype {target.dtype}; needed real numbers: "
                "y.astype(float) converts what can be converted"
            )
        wrong = ~np.isfinite(target)
        if wrong.any():
            raise ValueError(
                f"{np.count_nonzero(wrong)} of {target.size} targets of {self.name} are NaN or "
                f"infinite, the first at index {wrong.argmax()}; needed finite numbers: "
                "drop those rows"
            )
        return target.astype(np.float64)

    def _argument(self, y: FloatArray, f: FloatArray) -> FloatArray:
        return f - y

    def _order(self, y: Target, f: FloatArray) -> FloatArray:
        return np.abs(f - as_precise(f, y))


class MulticlassLoss(Loss):
    """A function of one score for each class, for samples which belong to one class each."""

    domain = "the index of a class, an integer from 0 to n_outputs - 1, for each sample"
    _curved_relative = "softmax"
    _shapes = "(n_samples,) and (n_samples, n_outputs): one score for each class"

    def _fit(self, y: Target, f: FloatArray) -> bool:
        return f.ndim == 2 and y.shape == f.shape[:1]

    def check_target(self, y: npt.ArrayLike, n_outputs: int | None = None) -> Target:
        """Return the class of each sample as an index into the outputs."""
        if n_outputs is not None:
            _check_outputs(self, n_outputs)
        return _as_classes(self, y, n_outputs)

    def strata(self, y: Target) -> Target:
        """Return the class of each sample: its target."""
        return y

    def _is_right(self, y: Target, f: FloatArray) -> npt.NDArray[np.bool_]:
        own = f[np.arange(len(f)), y]
        return np.asarray(np.count_nonzero(f >= own[:, None], axis=1) == 1)


class MultilabelLoss(Loss):
    """A function of one score for each label, for samples with any number of true labels.

    A sample without a true label costs nothing, and its gradient is zero.
    """

    domain = "0 or 1 for each sample and label, or the index of one true label for each sample"
    _curved_relative = "lsep"
    _shapes = "(n_samples, n_outputs) for both: check_target makes such an indicator"

    def _fit(self, y: Target, f: FloatArray) -> bool:
        return f.ndim == 2 and y.shape == f.shape

    def check_target(self, y: npt.ArrayLike, n_outputs: int | None = None) -> Target:
        """Return the indicator of the true labels, boolean, of shape (n_samples, n_outputs)."""
        target = np.asarray(y)
        if target.ndim == 1 and n_outputs is not None:
            _check_outputs(self, n_outputs)
            return one_hot(_as_classes(self, target, n_outputs), n_outputs)
        if target.ndim != 2 or target.size == 0:
            raise ValueError(
                f"the target of {self.name} has shape {target.shape}; needed an indicator of "
                "shape (n_samples, n_outputs), or n_outputs together with one class for each sample"
            )
        _check_outputs(self, target.shape[1])
        if n_outputs not in (None, target.shape[1]):
            raise ValueError(
                f"the target of {self.name} has {target.shape[1]} labels, the raw prediction "
                f"{n_outputs} outputs; needed one output for each label"
            )
        if target.dtype.kind not in "fiub" or not np.all((target == 0) | (target == 1)):
            found = ", ".join(map(str, np.unique(target)[:5].tolist()))
            raise ValueError(
                f"the target of {self.name} holds {found}; needed 0 and 1, or booleans: "
                "y > 0 marks the positive entries"
            )
        return target.astype(bool)


def one_hot(classes: npt.NDArray[np.intp], n_outputs: int) -> npt.NDArray[np.bool_]:
    """Return the indicator of one true label for each sample."""
    return np.equal.outer(classes, np.arange(n_outputs))


def check_width(loss: Loss, name: str, width: object, limit: str) -> None:
    """Refuse a width that is not a positive number, and store it as a plain float."""
    if isinstance(width, bool) or not isinstance(width, Real):
        raise TypeError(f"{name}={width!r} is of type {type(width).__name__}; needed a number")
    if not 0 < float(width) < math.inf:
        raise ValueError(f"{name}={width} is not a distance; needed 0 < {name} < inf: {limit}")
    object.__setattr__(loss, name, float(width))  # a NumPy scalar would widen float32


def as_precise(f: FloatArray, y: Target) -> FloatArray:
    """Return the target in the dtype of the raw prediction, which it would widen otherwise."""
    return y.astype(f.dtype, copy=False)


def _as_vector(loss: Loss, y: npt.ArrayLike) -> Target:
    target = np.asarray(y)
    if target.ndim != 1 or target.size == 0:
        raise ValueError(
            f"the target of {loss.name} has shape {target.shape}; needed one entry for each "
            "sample, shape (n_samples,): y.ravel() flattens a single column"
        )
    return target


def _as_classes(loss: Loss, y: npt.ArrayLike, n_outputs: int | None) -> npt.NDArray[np.intp]:
    target = _as_vector(loss, y)
    if target.dtype.kind not in "iu":
        raise ValueError(
            f"the target of {loss.name} has dtype {target.dtype}; needed {loss.domain}: "
            "np.unique(y, return_inverse=True)[1] numbers the classes"
        )
    low, high = int(target.min()), int(target.max())
    if low < 0 or (n_outputs is not None and high >= n_outputs):
        last = "n_outputs - 1" if n_outputs is None else n_outputs - 1
        raise ValueError(
            f"the target of {loss.name} has classes from {low} to {high}; needed integers "
            f"from 0 to {last}: np.unique(y, return_inverse=True)[1] numbers the classes, "
            "and each class needs an output"
        )
    return target.astype(np.intp, copy=False)


def _check_outputs(loss: Loss, n_outputs: int) -> None:
    if n_outputs < 2:
        raise ValueError(
            f"{loss.name} is given {n_outputs} outputs; needed two or more, since it compares "
            "them: for a single one use logistic, with targets -1 and +1"
        )
