"""What a loss is: one number per sample, with derivatives in the raw prediction; four kinds."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from numbers import Real
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from sorr._typing import BoolArray, FloatArray, IntArray

Target: TypeAlias = npt.NDArray[Any]

STRAIGHT_CURVATURE = 0.2  # of straight pieces in `step_model`, relative to touching parabolas


class Loss(ABC):
    """The individual loss of each sample, as a function of its raw prediction.

    Nothing is averaged, and no loss has a factor one half. Results have the dtype of the raw
    prediction, float32 or float64. Evaluations do not check the data again: the target has to be
    what `check_target` returned, and the raw prediction finite.

    A new loss defines `_value` and either `_gradient` or `_value_and_gradient`. Flags say what
    else it offers.

    Attributes
    ----------
    name : str
        The name for `get_loss`.
    domain : str
        The targets it is defined for, in words.
    smooth : bool
        Whether the gradient is continuous. If not, `gradient` returns a subgradient: zero at the
        corner of a hinge, the mean over all tie breaks where scores are tied.
    convex : bool
        Whether the loss is convex in the raw prediction.
    monotone : bool
        Whether it is a non-increasing function of the margin, target times raw prediction, so
        that ranking the margins ranks the losses.
    orders_by_value : bool
        Whether `order` is the loss itself, because nothing cheaper ranks the samples.
    has_curvature : bool
        Whether `curvature` is defined.
    has_corner_pieces : bool
        Whether `pieces` is defined although the loss is not smooth.
    has_smooth_neighbour : bool
        Whether `smoothed` is defined although the loss has no curvature.
    has_majoriser : bool
        Whether `majorised` returns another loss.
    has_probability : bool
        Whether `probability` is defined.
    floor : float
        Lower limit of the maximum of `pieces`: zero for hinges, otherwise minus infinity.
    never_reaches_zero : bool
        Whether the loss of a correct prediction decreases forever without reaching zero. If the
        classes can be separated without error, coefficients then grow to infinity.
    """

    name: ClassVar[str]
    domain: ClassVar[str]
    smooth: ClassVar[bool] = False
    convex: ClassVar[bool] = True
    monotone: ClassVar[bool] = False
    orders_by_value: ClassVar[bool] = True
    has_curvature: ClassVar[bool] = False
    has_corner_pieces: ClassVar[bool] = False
    has_smooth_neighbour: ClassVar[bool] = False
    has_majoriser: ClassVar[bool] = False
    has_probability: ClassVar[bool] = False
    floor: ClassVar[float] = -np.inf
    never_reaches_zero: ClassVar[bool] = False
    _shapes: ClassVar[str]
    _curved_relative: ClassVar[str]

    @abstractmethod
    def check_target(self, y: npt.ArrayLike, n_outputs: int | None = None) -> Target:
        """Return the target in the form that `value` takes, or raise an error.

        Parameters
        ----------
        y : array-like
            The target of each sample; see `domain`.
        n_outputs : int, optional
            The number of columns of the raw prediction.
        """

    @np.errstate(over="ignore")  # losses beyond the largest float are infinite
    def value(self, y: Target, raw_prediction: FloatArray) -> FloatArray:
        """Return the loss of each sample.

        Parameters
        ----------
        y : ndarray
            The target that `check_target` returned.
        raw_prediction : ndarray of shape (n_samples,) or (n_samples, n_outputs)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._value(*self._matched(y, raw_prediction))

    @np.errstate(over="ignore")
    def gradient(self, y: Target, raw_prediction: FloatArray) -> FloatArray:
        """Return the derivative of each loss in its own raw prediction, of the same shape."""
        return self._gradient(*self._matched(y, raw_prediction))

    @np.errstate(over="ignore")
    def value_and_gradient(
        self, y: Target, raw_prediction: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return `value` and `gradient`; faster than two calls if they share work."""
        return self._value_and_gradient(*self._matched(y, raw_prediction))

    @np.errstate(over="ignore")
    def curvature(self, y: Target, raw_prediction: FloatArray) -> FloatArray:
        """Return the second derivative of each loss in its own raw prediction.

        The shape is (n_samples,) for one output and (n_samples, n_outputs, n_outputs) for
        several. Losses made of quadratic pieces return a generalised curvature: that of the
        piece, and zero at a corner.

        Raises
        ------
        TypeError
            If ``has_curvature`` is False.
        """
        if not self.has_curvature:
            raise TypeError(
                f"{self.name} has no curvature; needed a loss with has_curvature, such as "
                f"{self._curved_relative}, or a method that uses gradients only"
            )
        return self._curvature(*self._matched(y, raw_prediction))

    @np.errstate(over="ignore")
    def step_model(
        self, y: Target, raw_prediction: FloatArray, width: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return a slope and a curvature for a step of one output, without a line search.

        They are `gradient` and `curvature`, with corners rounded over a width of each sample's
        own. Straight pieces have no curvature. They are given a small part of that of a parabola
        which touches them and is nowhere below the loss.

        Raises
        ------
        TypeError
            If ``can_be_smoothed`` is False.
        """
        if not self.can_be_smoothed:
            self.smoothed(1.0)  # raises an error
        return self._step_model(*self._matched(y, raw_prediction), width)

    @np.errstate(over="ignore")
    def order(self, y: Target, raw_prediction: FloatArray) -> FloatArray:
        """Return numbers that rank the samples as their losses do; often cheaper than `value`.

        Samples with equal losses may have different numbers.
        """
        return self._order(*self._matched(y, raw_prediction))

    @np.errstate(over="ignore", invalid="ignore")  # a weight of zero times an infinite loss
    def total(self, y: Target, raw_prediction: FloatArray, weights: FloatArray) -> float:
        """Return the weighted sum of the losses; those of samples without weight do not matter."""
        return self._total(*self._matched(y, raw_prediction), np.asarray(weights))

    @np.errstate(over="ignore")
    def pieces(self, y: Target, raw_prediction: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return smooth functions; their maximum, or `floor` if that is larger, is the loss.

        A smooth loss has a single piece.

        Returns
        -------
        values : ndarray of shape (n_samples, n_pieces)
        gradients : ndarray of shape (n_samples, n_pieces), or (n_samples, n_pieces, n_outputs)

        Raises
        ------
        TypeError
            If the loss is not smooth and its pieces are not known.
        """
        return self._pieces(*self._matched(y, raw_prediction))

    @property
    def has_pieces(self) -> bool:
        """Whether `pieces` is defined."""
        return self.smooth or self.has_corner_pieces

    def smoothed(self, width: float) -> Loss:
        """Return a similar loss with curvature: corners are rounded over that width.

        It is at most ``width / 2`` below. A margin between labels is smoothed from above instead,
        by at most ``width / 4`` times the logarithm of one plus the number of pairs it compares.
        A loss with curvature is returned as it is.

        Raises
        ------
        TypeError
            If ``can_be_smoothed`` is False.
        """
        del width
        if self.has_curvature:
            return self
        raise TypeError(
            f"{self.name} has no smooth neighbour; needed a loss with one, such as "
            f"{self._curved_relative}"
        )

    @property
    def can_be_smoothed(self) -> bool:
        """Whether `smoothed` is defined."""
        return self.has_curvature or self.has_smooth_neighbour

    def majorised(self, y: Target, raw_prediction: FloatArray) -> tuple[Loss, Target]:
        """Return a convex loss and its target: nowhere below this loss, and equal at this point.

        A convex loss returns itself, or an equal loss that is simpler.

        Raises
        ------
        TypeError
            If none is known.
        """
        return self._majorised(*self._matched(y, raw_prediction))

    @property
    def has_bound(self) -> bool:
        """Whether a convex problem of this loss, or of its majoriser, can be certified."""
        return self.has_pieces or self.has_majoriser

    def convex_parts(self) -> tuple[Loss, Loss]:
        """Return two convex losses of the same target whose difference is this loss.

        Raises
        ------
        TypeError
            If none are known; a convex loss needs none.
        """
        raise TypeError(
            f"{self.name} is not known as a difference of convex losses; needed one that is, such "
            "as tkml"
        )

    def relaxed(self) -> Loss:
        """Return a convex loss of the same target, to compute a starting point."""
        if self.convex:
            return self
        raise TypeError(
            f"{self.name} has no convex relative; pass a starting point, or use a convex loss"
        )

    def class_of_row(self, y: Target) -> Target | None:
        """Return the class of each sample, or None if samples do not have one class each."""
        del y
        return None

    def is_right(self, y: Target, raw_prediction: FloatArray) -> BoolArray:
        """Return whether the true class of each sample has the highest score; ties are wrong.

        Raises
        ------
        TypeError
            If samples do not have one class each.
        """
        return self._is_right(*self._matched(y, raw_prediction))

    @np.errstate(over="ignore")
    def probability(self, raw_prediction: FloatArray) -> FloatArray:
        """Return the class probabilities for which the raw prediction has the least loss.

        Parameters
        ----------
        raw_prediction : ndarray of shape (n_samples,) or (n_samples, n_outputs)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)

        Raises
        ------
        TypeError
            If ``has_probability`` is False, as for the hinge.
        """
        if not self.has_probability:
            raise TypeError(
                f"raw predictions of {self.name} do not stand for probabilities; needed a smooth "
                "loss over classes, such as logistic or softmax"
            )
        return self._probability(np.asarray(raw_prediction))

    def _matched(self, y: Target, raw_prediction: FloatArray) -> tuple[Target, FloatArray]:
        """Return both as arrays, or raise an error if their shapes do not match."""
        y, f = np.asarray(y), np.asarray(raw_prediction)
        if f.dtype.kind != "f":
            f = f.astype(np.float64)
        if not self._fit(y, f):
            raise ValueError(
                f"{self.name} is given targets of shape {y.shape} and raw predictions of shape "
                f"{f.shape}; needed {self._shapes}"
            )
        return y, f

    @abstractmethod
    def _fit(self, y: Target, f: FloatArray) -> bool:
        """Return whether the shapes of target and raw prediction match."""

    @abstractmethod
    def _value(self, y: Target, f: FloatArray) -> FloatArray: ...

    def _gradient(self, y: Target, f: FloatArray) -> FloatArray:
        return self._value_and_gradient(y, f)[1]

    def _value_and_gradient(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._value(y, f), self._gradient(y, f)

    def _curvature(self, y: Target, f: FloatArray) -> FloatArray:
        raise NotImplementedError

    def _step_model(
        self, y: Target, f: FloatArray, width: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        del width
        return self._gradient(y, f), self._curvature(y, f)

    def _order(self, y: Target, f: FloatArray) -> FloatArray:
        return self._value(y, f)

    def _total(self, y: Target, f: FloatArray, weights: FloatArray) -> float:
        return weighted_sum(self._value(y, f), weights)

    def _pieces(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        if not self.smooth:
            raise TypeError(
                f"{self.name} is not smooth, and its pieces are not known; needed a smooth loss, "
                f"such as {self._curved_relative}, or a method that uses subgradients only"
            )
        value, gradient = self._value_and_gradient(y, f)
        return value[:, None], gradient[:, None]

    def _majorised(self, y: Target, f: FloatArray) -> tuple[Loss, Target]:
        del f
        if self.convex:
            return self, y
        raise TypeError(
            f"{self.name} is not convex, and nothing convex is known to lie above it; needed a "
            "convex loss, such as multilabel_hinge, or certify=False"
        )

    def _is_right(self, y: Target, f: FloatArray) -> BoolArray:
        del y, f
        raise TypeError(
            f"{self.name} predicts no class, so its predictions are neither right nor wrong; "
            "needed a loss over classes, such as logistic or softmax"
        )

    def _probability(self, f: FloatArray) -> FloatArray:
        raise NotImplementedError


def weighted_sum(values: FloatArray, weights: FloatArray) -> float:
    """Return the weighted sum of values; those without weight may be infinite."""
    with np.errstate(invalid="ignore"):
        total = float(weights @ values)
    if np.isnan(total):
        counted = weights > 0
        total = float(weights[counted] @ values[counted])
    return total


# -- Four kinds of losses, by their target ---------------------------------------------------------


class _OneOutput(Loss):
    """A function of one number: the margin or the residual."""

    orders_by_value = False

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
                "fit each column separately"
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
            return target.astype(np.float64, copy=False)
        if target.dtype.kind in "fiub" and np.all((target == 0) | (target == 1)):
            raise ValueError(
                f"the target of {self.name} holds 0 and 1; needed -1 and +1: pass 2.0 * y - 1"
            )
        raise ValueError(
            f"the target of {self.name} holds {_first_values(target)}; needed -1 and +1: "
            "pass np.where(y == positive, 1.0, -1.0), where `positive` is the class to predict"
        )

    def class_of_row(self, y: Target) -> Target:
        """Return the target, which is the class of each sample."""
        return y

    def _is_right(self, y: Target, f: FloatArray) -> BoolArray:
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
    """A function of one score for each class, for samples with one class each."""

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

    def class_of_row(self, y: Target) -> Target:
        """Return the target, which is the class of each sample."""
        return y

    def _is_right(self, y: Target, f: FloatArray) -> BoolArray:
        own = f[np.arange(len(f)), y]
        return np.asarray(np.count_nonzero(f >= own[:, None], axis=1) == 1)


class MultilabelLoss(Loss):
    """A function of one score for each label, for samples with any number of true labels.

    The loss and the gradient of a sample without a true label are zero.
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
            raise ValueError(
                f"the target of {self.name} holds {_first_values(target)}; needed 0 and 1, or "
                "booleans: y > 0 marks the positive entries"
            )
        return target.astype(bool)


def one_hot(classes: IntArray, n_outputs: int) -> BoolArray:
    """Return the indicator of one true label for each sample."""
    return np.equal.outer(classes, np.arange(n_outputs))


def check_width(loss: Loss, name: str, width: object, limit: str) -> None:
    """Store a width as a plain float; raise an error if it is not a positive number."""
    if isinstance(width, bool) or not isinstance(width, Real):
        raise TypeError(f"{name}={width!r} is of type {type(width).__name__}; needed a number")
    if not 0 < float(width) < math.inf:
        raise ValueError(f"{name}={width} is not a distance; needed 0 < {name} < inf: {limit}")
    object.__setattr__(loss, name, float(width))  # a NumPy scalar would widen float32


def as_precise(f: FloatArray, y: Target) -> FloatArray:
    """Return the target in the dtype of the raw prediction, so that float32 stays float32."""
    return y.astype(f.dtype, copy=False)


def _first_values(target: Target) -> str:
    return ", ".join(map(str, np.unique(target)[:5].tolist()))


def _as_vector(loss: Loss, y: npt.ArrayLike) -> Target:
    target = np.asarray(y)
    if target.ndim != 1 or target.size == 0:
        raise ValueError(
            f"the target of {loss.name} has shape {target.shape}; needed one entry for each "
            "sample, shape (n_samples,): y.ravel() flattens a single column"
        )
    return target


def _as_classes(loss: Loss, y: npt.ArrayLike, n_outputs: int | None) -> IntArray:
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
            f"{loss.name} is given {n_outputs} outputs; needed two or more to compare: "
            "for a single output use logistic, with targets -1 and +1"
        )
