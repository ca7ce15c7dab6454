"""Losses for real targets, in the residual r: raw prediction minus target."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np

from sorr.losses.base import FloatArray
from sorr.losses.kinds import RegressionLoss

__all__ = ["Absolute", "Huber", "Squared"]


@dataclass(frozen=True)
class Squared(RegressionLoss):
    r"""The squared residual, without a half: :math:`r^2`."""

    name: ClassVar[str] = "squared"
    smooth: ClassVar[bool] = True
    has_curvature: ClassVar[bool] = True

    def _height(self, residual: FloatArray) -> FloatArray:
        return np.square(residual)

    def _slope(self, residual: FloatArray) -> FloatArray:
        return 2 * residual

    def _bend(self, residual: FloatArray) -> FloatArray:
        return np.full_like(residual, 2)


@dataclass(frozen=True)
class Absolute(RegressionLoss):
    r"""The absolute residual: :math:`|r|`."""

    name: ClassVar[str] = "absolute"

    def _height(self, residual: FloatArray) -> FloatArray:
        return np.abs(residual)

    def _slope(self, residual: FloatArray) -> FloatArray:
        return np.sign(residual)


@dataclass(frozen=True)
class Huber(RegressionLoss):
    r"""The squared residual, continued by its tangents: twice the loss of Huber (1964).

    .. math:: r^2 \text{ for } |r| \le \delta,
        \qquad 2 \delta |r| - \delta^2 \text{ for } |r| > \delta

    Without the customary half it tends to `Squared` as :math:`\delta` grows.

    Parameters
    ----------
    delta : float, default=1.35
        The residual, in units of the target, beyond which the loss is linear. The default keeps
        95 % of the efficiency of least squares if the noise is Gaussian with unit variance.

    Examples
    --------
    >>> import numpy as np
    >>> Huber(delta=1.0).value(np.zeros(3), np.array([0.5, 1.0, -10.0]))
    array([ 0.25,  1.  , 19.  ])
    """

    delta: float = 1.35

    name: ClassVar[str] = "huber"
    smooth: ClassVar[bool] = True
    has_curvature: ClassVar[bool] = True

    def __post_init__(self) -> None:
        delta: object = self.delta
        if isinstance(delta, bool) or not isinstance(delta, Real):
            raise TypeError(f"delta={delta!r} is of type {type(delta).__name__}; needed a number")
        if not 0 < float(delta) < math.inf:
            raise ValueError(
                f"delta={delta} is not a distance; needed 0 < delta < inf: "
                "`Squared` is the limit of large delta"
            )
        object.__setattr__(self, "delta", float(delta))  # a NumPy scalar would widen float32

    def _height(self, residual: FloatArray) -> FloatArray:
        distance = np.abs(residual)
        capped = np.minimum(distance, self.delta)
        return np.asarray(capped * (2 * distance - capped))  # no square that could overflow

    def _slope(self, residual: FloatArray) -> FloatArray:
        return 2 * np.clip(residual, -self.delta, self.delta)

    def _bend(self, residual: FloatArray) -> FloatArray:
        return 2 * (np.abs(residual) < self.delta).astype(residual.dtype)
