"""Losses for two classes, in the margin z: target times raw prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from sorr.losses.base import FloatArray
from sorr.losses.kinds import BinaryLoss

__all__ = ["Hinge", "Logistic", "ModifiedHuber", "SquaredHinge"]


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

    def _height(self, margin: FloatArray) -> FloatArray:
        return np.maximum(-margin, 0) + np.log1p(np.exp(-np.abs(margin)))

    def _slope(self, margin: FloatArray) -> FloatArray:
        return -expit(-margin)

    def _bend(self, margin: FloatArray) -> FloatArray:
        return np.asarray(expit(margin) * expit(-margin))


@dataclass(frozen=True)
class Hinge(BinaryLoss):
    r"""The hinge loss of the support vector machine: :math:`[1 - z]_+`."""

    name: ClassVar[str] = "hinge"

    def _height(self, margin: FloatArray) -> FloatArray:
        return np.maximum(1 - margin, 0)

    def _slope(self, margin: FloatArray) -> FloatArray:
        return np.subtract(margin >= 1, 1, dtype=margin.dtype)


@dataclass(frozen=True)
class SquaredHinge(BinaryLoss):
    r"""The square of the hinge loss: :math:`[1 - z]_+^2`."""

    name: ClassVar[str] = "squared_hinge"
    smooth: ClassVar[bool] = True
    has_curvature: ClassVar[bool] = True

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

    def _height(self, margin: FloatArray) -> FloatArray:
        short = np.maximum(1 - margin, 0)
        capped = np.minimum(short, 2)
        return np.asarray(capped * (2 * short - capped))  # no square that could overflow

    def _slope(self, margin: FloatArray) -> FloatArray:
        return -2 * np.clip(1 - margin, 0, 2)

    def _bend(self, margin: FloatArray) -> FloatArray:
        return 2 * (np.abs(margin) < 1).astype(margin.dtype)
