r"""A margin between two sides of labels: those that should score high and those that should not.

.. math:: \big[ 1 + \max_{u \in R} f_u - \min_{v \in A} f_v \big]_+

What a loss over label sets asks of the scores is of this form, with sides that the scores
themselves may choose. For fixed sides it is convex: the majoriser of all of them.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from sorr._typing import FloatArray
from sorr.losses.base import Loss, Target
from sorr.losses.kinds import MultilabelLoss, check_width
from sorr.losses.label_sets import largest, largest_weights, smallest, smallest_weights

__all__ = ["HIGH", "LOW", "Hinged", "Margin", "Sided", "Sides", "SmoothMargin", "sides_of"]

HIGH, LOW = 1, 2  # bits of a label that should score high, and of one that should score low
_SHARPNESS = 4  # widths of a hinge in a temperature: its corner is as round as that of SmoothHinge

Sides = npt.NDArray[np.uint8]


def sides_of(high: Target, low: Target) -> Sides:
    """Return the sides of each label: both, one or none."""
    return np.asarray(HIGH * high.astype(np.uint8) + LOW * low.astype(np.uint8))


class Hinged(MultilabelLoss):
    """A hinge: zero where the violation of a margin is negative, else the violation."""

    floor: ClassVar[float] = 0.0

    def _value(self, y: Target, f: FloatArray) -> FloatArray:
        return np.maximum(self._violation(y, f), 0)

    def _gradient(self, y: Target, f: FloatArray) -> FloatArray:
        return self._value_and_gradient(y, f)[1]

    def _value_and_gradient(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        value = self._value(y, f)
        gradient = np.zeros_like(f)
        active = value > 0
        if active.any():
            gradient[active] = self._direction(y[active], f[active])
        return value, gradient

    @abstractmethod
    def _violation(self, y: Target, f: FloatArray) -> FloatArray:
        """Return by how much each sample misses the margin: minus infinity if none is asked."""

    @abstractmethod
    def _direction(self, y: Target, f: FloatArray) -> FloatArray:
        """Return the gradient of the violation."""


@dataclass(frozen=True)
class Margin(Hinged):
    """The margin between two sides that are given. A sample with an empty side costs nothing.

    Parameters
    ----------
    largest : tuple of int, optional
        How many labels the low and the high side have at most: the fewer, the fewer pieces.
    """

    largest: tuple[int, int] | None = None

    name: ClassVar[str] = "margin"
    domain: ClassVar[str] = "for each label 1 if it should score high, 2 if low, 3 if both, or 0"

    def check_target(self, y: npt.ArrayLike, n_outputs: int | None = None) -> Target:
        """Return the sides of the labels."""
        target = np.asarray(y)
        if target.ndim != 2 or n_outputs not in (None, target.shape[1]):
            raise ValueError(
                f"the sides of labels have shape {target.shape}; needed one row for each sample "
                f"and one column for each output"
            )
        if target.dtype.kind not in "iu" or not np.isin(target, range(4)).all():
            raise ValueError(f"the target of {self.name} is not known; needed {self.domain}")
        return target.astype(np.uint8)

    def smoothed(self, width: float) -> Loss:
        """Return the margin with its corners rounded."""
        return SmoothMargin(width=width)

    def _violation(self, y: Target, f: FloatArray) -> FloatArray:
        return 1 + (largest(f, (y & LOW) > 0) - smallest(f, (y & HIGH) > 0))

    def _direction(self, y: Target, f: FloatArray) -> FloatArray:
        return largest_weights(f, (y & LOW) > 0) - smallest_weights(f, (y & HIGH) > 0)

    def _pieces(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return a piece for each pair of sides; where there are fewer, some come twice."""
        most = self.largest or (f.shape[1], f.shape[1])
        low, high = _members((y & LOW) > 0, most[0]), _members((y & HIGH) > 0, most[1])
        below = np.repeat(low, high.shape[1], axis=1)
        above = np.tile(high, (1, low.shape[1]))
        rows, columns = np.arange(len(f))[:, None], np.arange(below.shape[1])
        values = 1 + (f[rows, below] - f[rows, above])
        slopes = np.zeros((*values.shape, f.shape[1]), dtype=f.dtype)
        np.add.at(slopes, (rows, columns, below), 1)
        np.add.at(slopes, (rows, columns, above), -1)
        idle = ~_asks(y)
        values[idle], slopes[idle] = -1, 0  # below the floor, whatever the scores
        return values, slopes


@dataclass(frozen=True)
class SmoothMargin(Margin):
    r"""The margin with maximum, minimum and hinge smoothed at a temperature T.

    .. math:: T \log \Big( 1 + \sum_{u \in R} \sum_{v \in A} e^{(1 + f_u - f_v) / T} \Big)

    It lies above the margin, by :math:`T \log(1 + |R| |A|)` at most.

    Parameters
    ----------
    width : float, default=0.5
        Four times the temperature.
    """

    width: float = 0.5

    name: ClassVar[str] = "smooth_margin"
    smooth: ClassVar[bool] = True
    has_curvature: ClassVar[bool] = True
    floor: ClassVar[float] = -np.inf

    def __post_init__(self) -> None:
        check_width(self, "width", self.width, "the margin itself is the limit of small width")

    def smoothed(self, width: float) -> Loss:
        """Return the loss as it is."""
        del width
        return self

    @property
    def temperature(self) -> float:
        """T."""
        return self.width / _SHARPNESS

    def _value(self, y: Target, f: FloatArray) -> FloatArray:
        return self._rise(self._excess(y, f)[0])

    def _value_and_gradient(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        excess, below, above = self._excess(y, f)
        return self._rise(excess), (below - above) * expit(excess / self.temperature)[:, None]

    def _curvature(self, y: Target, f: FloatArray) -> FloatArray:
        excess, below, above = self._excess(y, f)
        active = expit(excess / self.temperature)[:, None, None] / self.temperature
        slope = below - above
        labels = np.arange(f.shape[1])
        bend = -below[:, :, None] * below[:, None, :] - above[:, :, None] * above[:, None, :]
        bend[:, labels, labels] += below + above
        rest = expit(-excess / self.temperature)[:, None, None]
        return np.asarray(active * (bend + rest * slope[:, :, None] * slope[:, None, :]))

    def _pieces(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, gradient = self._value_and_gradient(y, f)
        return value[:, None], gradient[:, None]

    def _rise(self, excess: FloatArray) -> FloatArray:
        heat = excess.dtype.type(self.temperature)
        return np.asarray(heat * np.logaddexp(0, excess / heat))

    def _excess(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the smooth violation, and its parts in the scores below and above.

        Relative to the extremes nothing overflows, and scores far from zero lose no digits.
        """
        heat, ones = f.dtype.type(self.temperature), np.ones(f.shape[1], dtype=f.dtype)
        is_low, is_high = (y & LOW) > 0, (y & HIGH) > 0
        top, bottom = largest(f, is_low), smallest(f, is_high)
        # What is not on a side is exp(-inf), and a side that is empty counts as if it had one.
        top_known, bottom_known = np.isfinite(top), np.isfinite(bottom)
        down = np.where(is_low, f - np.where(top_known, top, 0)[:, None], -np.inf)
        up = np.where(is_high, np.where(bottom_known, bottom, 0)[:, None] - f, -np.inf)
        below, above = np.exp(down / heat), np.exp(up / heat)
        low_sum, high_sum = np.maximum(below @ ones, 1), np.maximum(above @ ones, 1)
        excess = 1 + (top - bottom) + heat * (np.log(low_sum) + np.log(high_sum))
        return excess, below / low_sum[:, None], above / high_sum[:, None]


class Sided(Hinged):
    """A margin between sides that the target and the scores choose."""

    @abstractmethod
    def sides(self, y: Target, f: FloatArray) -> Sides:
        """Return the sides at which the margin is that of the loss; elsewhere it is no smaller."""

    def smoothed(self, width: float) -> Loss:
        """Return the loss with its corners rounded; its sides still change as scores do."""
        return (SmoothConvexSided if self.convex else SmoothSided)(self, width)

    def _majorised(self, y: Target, f: FloatArray) -> tuple[Loss, Target]:
        sides = self.sides(y, f)
        low, high = (
            int(np.count_nonzero(sides & side, axis=1).max(initial=1)) for side in (LOW, HIGH)
        )
        return Margin((low, high)), sides


@dataclass(frozen=True)
class SmoothSided(MultilabelLoss):
    """A loss of sides chosen by the scores, smooth for fixed ones.

    Where two scores tie for a side it does not matter which of them is there: so it is
    continuous, with a gradient everywhere else.

    Parameters
    ----------
    loss : Sided
        Which labels are on which side.
    width : float
        See `SmoothMargin`.
    """

    loss: Sided
    width: float = 0.5

    name: ClassVar[str] = "smooth_sided"
    convex: ClassVar[bool] = False
    has_curvature: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", SmoothMargin(width=self.width).width)

    def smoothed(self, width: float) -> Loss:
        """Return the loss as it is."""
        del width
        return self

    def relaxed(self) -> Loss:
        """Return the convex relative of the loss."""
        return self.loss.relaxed()

    @property
    def _margin(self) -> SmoothMargin:
        return SmoothMargin(width=self.width)

    def _value(self, y: Target, f: FloatArray) -> FloatArray:
        return self._margin.value(self.loss.sides(y, f), f)

    def _gradient(self, y: Target, f: FloatArray) -> FloatArray:
        return self._margin.gradient(self.loss.sides(y, f), f)

    def _value_and_gradient(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._margin.value_and_gradient(self.loss.sides(y, f), f)

    def _curvature(self, y: Target, f: FloatArray) -> FloatArray:
        return self._margin.curvature(self.loss.sides(y, f), f)

    def _majorised(self, y: Target, f: FloatArray) -> tuple[Loss, Target]:
        return self._margin, self.loss.sides(y, f)


@dataclass(frozen=True)
class SmoothConvexSided(SmoothSided):
    """The same where sides do not depend on the scores."""

    name: ClassVar[str] = "smooth_convex_sided"
    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = True


def _asks(y: Target) -> npt.NDArray[np.bool_]:
    """Tell of which samples both sides have labels, so that there is something to ask."""
    return np.asarray(((y & LOW) > 0).any(axis=1) & ((y & HIGH) > 0).any(axis=1))


def _members(side: Target, number: int) -> npt.NDArray[np.intp]:
    """Return so many labels of a side for each sample: the first comes again and again."""
    counts = np.count_nonzero(side, axis=1)
    places = np.argsort(~side, axis=1, kind="stable")[:, :number]
    missing = np.arange(number) >= np.maximum(counts, 1)[:, None]
    return np.where(missing, places[:, :1], places)
