"""Losses for two classes, in the margin z: target times raw prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sorr._typing import FloatArray
from sorr.losses.base import STRAIGHT_CURVATURE, BinaryLoss, Loss, Target, as_precise, check_width


@dataclass(frozen=True)
class Logistic(BinaryLoss):
    r"""The logistic loss, with the natural logarithm: log 2 at a margin of zero.

    .. math:: \log(1 + e^{-z})

    Examples
    --------
    >>> import numpy as np
    >>> Logistic().value(np.array([1.0, -1.0]), np.array([0.0, 2.0])).round(4)
    array([0.6931, 2.1269])
    """

    name: ClassVar[str] = "logistic"
    smooth: ClassVar[bool] = True
    has_curvature: ClassVar[bool] = True
    has_probability: ClassVar[bool] = True
    never_reaches_zero: ClassVar[bool] = True

    def _height(self, margin: FloatArray) -> FloatArray:
        height = np.abs(margin)  # in place: of many rows, each further array is felt
        np.log1p(np.exp(np.negative(height, out=height), out=height), out=height)
        height -= np.minimum(margin, 0)
        return height

    def _slope(self, margin: FloatArray) -> FloatArray:
        return -1 / (1 + np.exp(margin))  # four times as fast as expit, and as accurate

    def _bend(self, margin: FloatArray) -> FloatArray:
        small = np.exp(-np.abs(margin))
        return np.asarray(small / np.square(1 + small))

    def _step_model(
        self, y: Target, f: FloatArray, width: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        del width
        y = as_precise(f, y)
        missing = 1 / (1 + np.exp(y * f))  # one exponential for both
        return -y * missing, missing * (1 - missing)

    def _total(self, y: Target, f: FloatArray, weights: FloatArray) -> float:
        """Sum logarithms by multiplying: one logarithm for a few hundred samples.

        Only samples of the largest weight are multiplied; the others, `rest`, are added.
        """
        largest = weights.max(initial=0)
        is_largest = weights == largest
        rest = np.flatnonzero(is_largest ^ (weights > 0)) if largest > 0 else np.arange(0)
        if largest == 0 or 2 * rest.size > weights.size:
            return super()._total(y, f, weights)
        margin = as_precise(f, y) * f
        factors = np.abs(margin)
        np.exp(np.negative(factors, out=factors), out=factors)
        tail = float(weights[rest] @ np.log1p(factors[rest])) if rest.size else 0.0
        factors *= is_largest
        np.minimum(margin, 0, out=margin)
        linear = float(np.dot(margin, weights.astype(margin.dtype, copy=False)))
        # Small factors lose digits when one is added: a quarter of them at most, or log1p is used.
        if factors.size * np.finfo(f.dtype).eps ** 0.25 < factors.sum():
            factors += 1
            depth = 512 if f.dtype == np.float64 else 64  # each at most two: no overflow
            cut = factors.size // depth * depth
            products = factors[:cut].reshape(depth, -1).prod(axis=0)
            logs = np.log(products).sum(dtype=np.float64)
            logs += np.log(factors[cut:]).sum(dtype=np.float64)
        else:
            logs = np.log1p(factors).sum(dtype=np.float64)
        return float(largest) * float(logs) + tail - linear


@dataclass(frozen=True)
class Hinge(BinaryLoss):
    r"""The hinge loss of the support vector machine: :math:`[1 - z]_+`."""

    name: ClassVar[str] = "hinge"
    floor: ClassVar[float] = 0.0
    has_corner_pieces: ClassVar[bool] = True
    has_smooth_neighbour: ClassVar[bool] = True

    def smoothed(self, width: float) -> Loss:
        """Return the hinge with its corner rounded over a margin of `width`."""
        return SmoothHinge(width)

    def _pieces(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        y = as_precise(f, y)
        return (1 - y * f)[:, None], -y[:, None]

    def _step_model(
        self, y: Target, f: FloatArray, width: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        y = as_precise(f, y)
        part = (1 - y * f) / width
        touching = STRAIGHT_CURVATURE / np.maximum(np.abs(2 * part - 1), 1)
        capped = np.minimum(np.maximum(part, 0), 1)
        return -y * capped, np.where(capped == part, 1, touching) / width

    def _height(self, margin: FloatArray) -> FloatArray:
        return np.maximum(1 - margin, 0)

    def _slope(self, margin: FloatArray) -> FloatArray:
        return np.subtract(margin >= 1, 1, dtype=margin.dtype)


@dataclass(frozen=True)
class SmoothHinge(BinaryLoss):
    r"""The hinge with a rounded corner, at most half its width below the hinge.

    .. math:: \frac{[1 - z]_+^2}{2 w} \text{ for } z \ge 1 - w,
        \qquad 1 - z - \frac{w}{2} \text{ for } z < 1 - w

    Parameters
    ----------
    width : float, default=0.5
        The length of the rounded part, in margins.
    """

    width: float = 0.5

    name: ClassVar[str] = "smooth_hinge"
    smooth: ClassVar[bool] = True
    has_curvature: ClassVar[bool] = True
    has_probability: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_width(self, "width", self.width, "`Hinge` is the limit of small width")

    def _height(self, margin: FloatArray) -> FloatArray:
        short = np.maximum(1 - margin, 0)
        capped = np.minimum(short, self.width)
        return np.asarray(capped * (short - capped / 2) / self.width)

    def _slope(self, margin: FloatArray) -> FloatArray:
        return np.asarray(-np.clip((1 - margin) / self.width, 0, 1))

    def _bend(self, margin: FloatArray) -> FloatArray:
        inside = (margin < 1) & (margin > 1 - self.width)
        return inside.astype(margin.dtype) / self.width


@dataclass(frozen=True)
class SquaredHinge(BinaryLoss):
    r"""The square of the hinge loss: :math:`[1 - z]_+^2`."""

    name: ClassVar[str] = "squared_hinge"
    smooth: ClassVar[bool] = True
    has_curvature: ClassVar[bool] = True
    has_probability: ClassVar[bool] = True

    def _height(self, margin: FloatArray) -> FloatArray:
        return np.square(np.maximum(1 - margin, 0))

    def _slope(self, margin: FloatArray) -> FloatArray:
        return -2 * np.maximum(1 - margin, 0)

    def _bend(self, margin: FloatArray) -> FloatArray:
        return 2 * (margin < 1).astype(margin.dtype)


@dataclass(frozen=True)
class ModifiedHuber(BinaryLoss):
    r"""The squared hinge, continued by its tangent below a margin of minus one.

    .. math:: [1 - z]_+^2 \text{ for } z \ge -1, \qquad -4 z \text{ for } z < -1

    References
    ----------
    T. Zhang, "Solving large scale linear prediction problems using stochastic gradient descent
    algorithms", ICML 2004.
    """

    name: ClassVar[str] = "modified_huber"
    smooth: ClassVar[bool] = True
    has_curvature: ClassVar[bool] = True
    has_probability: ClassVar[bool] = True

    def _step_model(
        self, y: Target, f: FloatArray, width: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        del width
        margin = as_precise(f, y) * f
        straight = 2 * STRAIGHT_CURVATURE / np.maximum(np.abs(margin), 1)
        return self._gradient(y, f), np.where(np.abs(margin) < 1, 2, straight)

    def _height(self, margin: FloatArray) -> FloatArray:
        short = np.maximum(1 - margin, 0)
        capped = np.minimum(short, 2)
        return np.asarray(capped * (2 * short - capped))  # no square that could overflow

    def _slope(self, margin: FloatArray) -> FloatArray:
        return -2 * np.clip(1 - margin, 0, 2)

    def _bend(self, margin: FloatArray) -> FloatArray:
        return 2 * (np.abs(margin) < 1).astype(margin.dtype)
