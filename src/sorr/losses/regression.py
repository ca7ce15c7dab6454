"""Losses for real targets, in the residual r: raw prediction minus target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sorr._typing import FloatArray
from sorr.losses.base import (
    STRAIGHT_CURVATURE,
    Loss,
    RegressionLoss,
    Target,
    as_precise,
    check_width,
)


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
    has_corner_pieces: ClassVar[bool] = True
    has_smooth_neighbour: ClassVar[bool] = True

    def _height(self, residual: FloatArray) -> FloatArray:
        return np.abs(residual)

    def _slope(self, residual: FloatArray) -> FloatArray:
        return np.sign(residual)

    def _step_model(
        self, y: Target, f: FloatArray, width: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        part = (f - as_precise(f, y)) / width
        capped = np.minimum(np.maximum(part, -1), 1)
        touching = STRAIGHT_CURVATURE / np.maximum(np.abs(part), 1)
        return capped, np.where(capped == part, 1, touching) / width

    def smoothed(self, width: float) -> Loss:
        """Return the absolute residual with its corner rounded up to a distance of `width`."""
        return SmoothAbsolute(width)

    def _pieces(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        residual = f - as_precise(f, y)
        signs = np.broadcast_to(np.array([1, -1], dtype=f.dtype), (len(f), 2))
        return residual[:, None] * signs, signs


@dataclass(frozen=True)
class SmoothAbsolute(RegressionLoss):
    r"""The absolute residual with a rounded corner, at most half its width below it.

    .. math:: \frac{r^2}{2 w} \text{ for } |r| \le w, \qquad |r| - \frac{w}{2} \text{ for } |r| > w

    Parameters
    ----------
    width : float, default=0.5
        The residual up to which the corner is rounded, in units of the target.
    """

    width: float = 0.5

    name: ClassVar[str] = "smooth_absolute"
    smooth: ClassVar[bool] = True
    has_curvature: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_width(self, "width", self.width, "`Absolute` is the limit of small width")

    def _height(self, residual: FloatArray) -> FloatArray:
        distance = np.abs(residual)
        capped = np.minimum(distance, self.width)
        return np.asarray(capped * (distance - capped / 2) / self.width)

    def _slope(self, residual: FloatArray) -> FloatArray:
        return np.asarray(np.clip(residual / self.width, -1, 1))

    def _bend(self, residual: FloatArray) -> FloatArray:
        return (np.abs(residual) < self.width).astype(residual.dtype) / self.width


@dataclass(frozen=True)
class Huber(RegressionLoss):
    r"""The squared residual, continued by its tangents: twice the loss of Huber (1964).

    .. math:: r^2 \text{ for } |r| \le \delta,
        \qquad 2 \delta |r| - \delta^2 \text{ for } |r| > \delta

    Without the usual factor one half it tends to `Squared` as :math:`\delta` grows.

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
        check_width(self, "delta", self.delta, "`Squared` is the limit of large delta")

    def _step_model(
        self, y: Target, f: FloatArray, width: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        del width
        residual = f - as_precise(f, y)
        part = np.maximum(np.abs(residual) / self.delta, 1)
        return self._slope(residual), np.where(part > 1, 2 * STRAIGHT_CURVATURE / part, 2)

    def _height(self, residual: FloatArray) -> FloatArray:
        distance = np.abs(residual)
        capped = np.minimum(distance, self.delta)
        return np.asarray(capped * (2 * distance - capped))  # no square that could overflow

    def _slope(self, residual: FloatArray) -> FloatArray:
        return 2 * np.clip(residual, -self.delta, self.delta)

    def _bend(self, residual: FloatArray) -> FloatArray:
        return 2 * (np.abs(residual) < self.delta).astype(residual.dtype)
