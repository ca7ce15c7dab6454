"""What a loss is: a number per sample, and its derivatives in the raw prediction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray

__all__ = ["Loss", "Target", "weighted_sum"]

Target: TypeAlias = npt.NDArray[Any]


class Loss(ABC):
    """The individual loss of each sample, as a function of its raw prediction.

    Nothing is averaged, and no loss carries a factor one half. Results have the dtype of the
    raw prediction, float32 or float64. What would take a pass over the data is not checked on
    every evaluation: the target has to be what `check_target` returned, and the raw prediction
    finite.

    Attributes
    ----------
    name : str
        What `get_loss` finds the loss by.
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
    has_curvature : bool
        Whether `curvature` is defined.
    floor : float
        What the maximum of `pieces` is cut at from below: zero for hinges, else minus infinity.
    is_endless : bool
        Whether the loss of a row that is right falls forever and never reaches zero, so that rows
        which can be told apart without error drive coefficients to infinity.
    """

    name: ClassVar[str]
    domain: ClassVar[str]
    smooth: ClassVar[bool] = False
    convex: ClassVar[bool] = True
    monotone: ClassVar[bool] = False
    has_curvature: ClassVar[bool] = False
    floor: ClassVar[float] = -np.inf
    is_endless: ClassVar[bool] = False
    _curved_relative: ClassVar[str]

    @np.errstate(over="ignore")  # losses beyond the largest float are infinite
    def value(self, y: Target, raw_prediction: FloatArray) -> FloatArray:
        """Return the loss of each sample.

        Parameters
        ----------
        y : ndarray
            The target as `check_target` returns it.
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
        """Return `value` and `gradient`, for less than the price of both where they share work."""
        return self._value_and_gradient(*self._matched(y, raw_prediction))

    @np.errstate(over="ignore")
    def curvature(self, y: Target, raw_prediction: FloatArray) -> FloatArray:
        """Return the second derivative of each loss in its own raw prediction.

        The shape is (n_samples,) for one output and (n_samples, n_outputs, n_outputs) for
        several. Losses made of quadratic pieces return that of the piece, and zero at a corner:
        a generalised curvature.

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
    def order(self, y: Target, raw_prediction: FloatArray) -> FloatArray:
        """Return any numbers that rank the samples as their losses do: cheaper than `value`.

        Samples whose losses are equal may be ranked among themselves.
        """
        return self._order(*self._matched(y, raw_prediction))

    @property
    def orders_by_value(self) -> bool:
        """Whether `order` is the loss itself, since nothing cheaper ranks the samples."""
        return type(self)._order is Loss._order  # noqa: SLF001

    @np.errstate(over="ignore", invalid="ignore")  # no weight times an infinite loss
    def total(self, y: Target, raw_prediction: FloatArray, weights: FloatArray) -> float:
        """Return the weighted sum of the losses; samples without weight may have any loss."""
        return self._total(*self._matched(y, raw_prediction), np.asarray(weights))

    @np.errstate(over="ignore")
    def pieces(self, y: Target, raw_prediction: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the smooth functions whose maximum, or `floor` if larger, is the loss.

        A smooth loss is a single piece.

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
        return self.smooth or type(self)._pieces is not Loss._pieces  # noqa: SLF001

    def smoothed(self, width: float) -> Loss:
        """Return a loss with curvature near this one: the same beyond corners of that width.

        It is at most ``width / 2`` below. A margin between labels is smoothed from above instead,
        by at most ``width / 4`` times the logarithm of one and the number of pairs it compares.
        A loss with curvature is returned as it is.

        Raises
        ------
        TypeError
            If there is none.
        """
        del width
        if self.has_curvature:
            return self
        raise TypeError(
            f"{self.name} has no smooth neighbour; needed a loss with one, such as "
            f"{self._curved_relative}"
        )

    def majorised(self, y: Target, raw_prediction: FloatArray) -> tuple[Loss, Target]:
        """Return a convex loss and a target for it: nowhere below this one, and equal to it here.

        A convex loss is its own, or an equal one that is simpler.

        Raises
        ------
        TypeError
            If none is known.
        """
        return self._majorised(*self._matched(y, raw_prediction))

    @property
    def has_bound(self) -> bool:
        """Whether a convex problem of this loss, or of what majorises it, can be certified."""
        return self.has_pieces or type(self)._majorised is not Loss._majorised  # noqa: SLF001

    def convex_parts(self) -> tuple[Loss, Loss]:
        """Return two convex losses, of the same target, whose difference this is.

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
        """Return a convex loss of the same target whose minimum is a place to start from."""
        if self.convex:
            return self
        raise TypeError(
            f"{self.name} has no convex relative; pass a starting point, or use a convex loss"
        )

    def strata(self, y: Target) -> Target | None:
        """Return the class of each sample, or None if samples do not belong to one class each."""
        del y
        return None

    def is_right(self, y: Target, raw_prediction: FloatArray) -> npt.NDArray[np.bool_]:
        """Tell of each sample whether the class that scores highest is its own; ties are wrong.

        Raises
        ------
        TypeError
            If samples do not belong to one class each.
        """
        return self._is_right(*self._matched(y, raw_prediction))

    @np.errstate(over="ignore")
    def probability(self, raw_prediction: FloatArray) -> FloatArray:
        """Return the probability of each class under which the raw prediction has the least loss.

        Parameters
        ----------
        raw_prediction : ndarray of shape (n_samples,) or (n_samples, n_outputs)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)

        Raises
        ------
        TypeError
            If raw predictions do not stand for probabilities, as those of the hinge.
        """
        if not self.has_probability:
            raise TypeError(
                f"raw predictions of {self.name} do not stand for probabilities; needed a smooth "
                "loss over classes, such as logistic or softmax"
            )
        return self._probability(np.asarray(raw_prediction))

    @property
    def has_probability(self) -> bool:
        """Whether `probability` is defined."""
        return self.smooth and type(self)._probability is not Loss._probability  # noqa: SLF001

    def _matched(self, y: Target, raw_prediction: FloatArray) -> tuple[Target, FloatArray]:
        """Return both as arrays that fit together."""
        y, f = np.asarray(y), np.asarray(raw_prediction)
        if f.dtype.kind != "f":
            f = f.astype(np.float64)
        if not self._fit(y, f):
            raise ValueError(
                f"{self.name} is given targets of shape {y.shape} and raw predictions of shape "
                f"{f.shape}; needed {self._shapes}"
            )
        return y, f

    _shapes: ClassVar[str]

    @abstractmethod
    def _fit(self, y: Target, f: FloatArray) -> bool:
        """Tell whether the shapes of target and raw prediction go together."""

    @abstractmethod
    def _value(self, y: Target, f: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _gradient(self, y: Target, f: FloatArray) -> FloatArray: ...

    def _value_and_gradient(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._value(y, f), self._gradient(y, f)

    def _curvature(self, y: Target, f: FloatArray) -> FloatArray:
        raise NotImplementedError

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

    def _is_right(self, y: Target, f: FloatArray) -> npt.NDArray[np.bool_]:
        del y, f
        raise TypeError(
            f"{self.name} predicts no class, so that no prediction of it is right or wrong; "
            "needed a loss over classes, such as logistic or softmax"
        )

    def _probability(self, f: FloatArray) -> FloatArray:
        raise NotImplementedError

    @abstractmethod
    def check_target(self, y: npt.ArrayLike, n_outputs: int | None = None) -> Target:
        """Return the target in the encoding `value` takes, or raise an error if it has none.

        Parameters
        ----------
        y : array-like
            The target of each sample; see `domain`.
        n_outputs : int, optional
            The number of columns of the raw prediction.
        """


def weighted_sum(values: FloatArray, weights: FloatArray) -> float:
    """Return the sum of weighted values; those without weight may be infinite."""
    with np.errstate(invalid="ignore"):
        total = float(weights @ values)
    if np.isnan(total):
        counted = weights > 0
        total = float(weights[counted] @ values[counted])
    return total
