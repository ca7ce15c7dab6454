"""A margin between two sides of labels: those that should score high, and those that should not.

The chapter starts with the extreme scores of a set of labels. Then come the margin between given
sides with its smooth version, losses whose sides depend on target and scores, hinges with rounded
corners, and the convex losses whose differences are the top-k losses.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from sorr._typing import BoolArray, FloatArray, IntArray
from sorr.losses.base import Loss, MultilabelLoss, Target, check_width
from sorr.ranked import ranked_range_weights, top_sum

HIGH, LOW = 1, 2  # bits of a label that should score high, and of one that should score low
_SHARPNESS = 4  # width over temperature: the corner is then as round as that of SmoothHinge

Sides: TypeAlias = npt.NDArray[np.uint8]

# -- Extreme scores of a set of labels, one set for each sample ------------------------------------


def split(f: FloatArray, y: Target) -> tuple[FloatArray, FloatArray]:
    """Return the scores inside and outside a set, with minus infinity in the other places."""
    return np.where(y, f, -np.inf), np.where(y, -np.inf, f)


def is_top(f: FloatArray, k: int | IntArray) -> BoolArray:
    """Return which scores are the k largest of each sample; the first ones win ties."""
    top: BoolArray
    if isinstance(k, int) and k == 1:
        top = np.equal(f, f.max(axis=1, keepdims=True))
        if np.count_nonzero(top) > len(f):
            tied = np.flatnonzero(np.count_nonzero(top, axis=1) > 1)
            top[tied] = np.arange(f.shape[1]) == f[tied].argmax(axis=1)[:, None]
        return top
    top = np.zeros(f.shape, dtype=bool)
    order = np.argsort(-f, axis=1, kind="stable")
    first = np.arange(f.shape[1]) < np.reshape(k, (-1, 1))
    np.put_along_axis(top, order, np.broadcast_to(first, f.shape), axis=1)
    return top


def largest(f: FloatArray, among: Target) -> FloatArray:
    """Return the largest score of a set, or minus infinity if it is empty."""
    return np.asarray(np.where(among, f, -np.inf).max(axis=1))


def smallest(f: FloatArray, among: Target) -> FloatArray:
    """Return the smallest score of a set, or infinity if it is empty."""
    return np.asarray(np.where(among, f, np.inf).min(axis=1))


def largest_weights(f: FloatArray, among: Target) -> FloatArray:
    """Return the gradient of `largest`; tied labels get equal shares."""
    return ranked_range_weights(np.where(among, f, -np.inf), 0, 1)


def smallest_weights(f: FloatArray, among: Target) -> FloatArray:
    """Return the gradient of `smallest`."""
    return largest_weights(-f, among)


def violations(y: Target, f: FloatArray) -> FloatArray:
    """Return by how much each label scores too high, compared with the smallest true score."""
    return np.asarray((f - smallest(f, y)[:, None]) + ~y)


# -- The margin between two sides ------------------------------------------------------------------


def sides_of(high: Target, low: Target) -> Sides:
    """Return the sides of each label as bits: both, one or none."""
    return np.asarray(HIGH * high.astype(np.uint8) + LOW * low.astype(np.uint8))


class Hinged(MultilabelLoss):
    """A hinge: the violation of a margin, or zero if it is negative."""

    floor: ClassVar[float] = 0.0

    def _value(self, y: Target, f: FloatArray) -> FloatArray:
        return np.maximum(self._violation(y, f), 0)

    def _value_and_gradient(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        value = self._value(y, f)
        gradient = np.zeros_like(f)
        active = value > 0
        if active.any():
            gradient[active] = self._direction(y[active], f[active])
        return value, gradient

    @abstractmethod
    def _violation(self, y: Target, f: FloatArray) -> FloatArray:
        """Return by how much each sample misses the margin; minus infinity if a side is empty."""

    @abstractmethod
    def _direction(self, y: Target, f: FloatArray) -> FloatArray:
        """Return the gradient of the violation."""


@dataclass(frozen=True)
class Margin(Hinged):
    """The margin between two given sides. The loss of a sample with an empty side is zero."""

    largest: tuple[int, int] | None = None  # labels of the low and the high side, at most

    name: ClassVar[str] = "margin"
    domain: ClassVar[str] = "for each label 1 if it should score high, 2 if low, 3 if both, or 0"
    has_corner_pieces: ClassVar[bool] = True
    has_smooth_neighbour: ClassVar[bool] = True

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
        """Return the margin with its corners rounded, or the loss itself if it is smooth."""
        return self if self.smooth else SmoothMargin(width=width)

    def _violation(self, y: Target, f: FloatArray) -> FloatArray:
        return 1 + (largest(f, (y & LOW) > 0) - smallest(f, (y & HIGH) > 0))

    def _direction(self, y: Target, f: FloatArray) -> FloatArray:
        return largest_weights(f, (y & LOW) > 0) - smallest_weights(f, (y & HIGH) > 0)

    def _pieces(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return a piece for each pair of labels; samples with fewer pairs repeat some."""
        most = self.largest or (f.shape[1], f.shape[1])
        low, high = _members((y & LOW) > 0, most[0]), _members((y & HIGH) > 0, most[1])
        below = np.repeat(low, high.shape[1], axis=1)
        above = np.tile(high, (1, low.shape[1]))
        rows, columns = np.arange(len(f))[:, None], np.arange(below.shape[1])
        values = 1 + (f[rows, below] - f[rows, above])
        slopes = np.zeros((*values.shape, f.shape[1]), dtype=f.dtype)
        np.add.at(slopes, (rows, columns, below), 1)
        np.add.at(slopes, (rows, columns, above), -1)
        empty = ~(((y & LOW) > 0).any(axis=1) & ((y & HIGH) > 0).any(axis=1))
        values[empty], slopes[empty] = -1, 0  # below the floor for any scores
        return values, slopes


@dataclass(frozen=True)
class SmoothMargin(Margin):
    r"""The margin with maximum, minimum and hinge smoothed at a temperature T.

    .. math:: T \log \Big( 1 + \sum_{u \in R} \sum_{v \in A} e^{(1 + f_u - f_v) / T} \Big)

    It is above the margin, by :math:`T \log(1 + |R| |A|)` at most.
    """

    width: float = 0.5  # four times the temperature

    name: ClassVar[str] = "smooth_margin"
    smooth: ClassVar[bool] = True
    has_curvature: ClassVar[bool] = True
    floor: ClassVar[float] = -np.inf

    def __post_init__(self) -> None:
        check_width(self, "width", self.width, "the margin itself is the limit of small width")

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
        temperature = excess.dtype.type(self.temperature)
        return np.asarray(temperature * np.logaddexp(0, excess / temperature))

    def _excess(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the smooth violation, and the shares of the low and the high labels in it.

        Scores are taken relative to the extremes: nothing overflows, and no digits are lost.
        """
        temperature, ones = f.dtype.type(self.temperature), np.ones(f.shape[1], dtype=f.dtype)
        is_low, is_high = (y & LOW) > 0, (y & HIGH) > 0
        top, bottom = largest(f, is_low), smallest(f, is_high)
        # A label that is not on a side is exp(-inf); an empty side counts as one label.
        top_known, bottom_known = np.isfinite(top), np.isfinite(bottom)
        down = np.where(is_low, f - np.where(top_known, top, 0)[:, None], -np.inf)
        up = np.where(is_high, np.where(bottom_known, bottom, 0)[:, None] - f, -np.inf)
        below, above = np.exp(down / temperature), np.exp(up / temperature)
        low_sum, high_sum = np.maximum(below @ ones, 1), np.maximum(above @ ones, 1)
        excess = 1 + (top - bottom) + temperature * (np.log(low_sum) + np.log(high_sum))
        return excess, below / low_sum[:, None], above / high_sum[:, None]


# -- Losses whose sides depend on the target and the scores ----------------------------------------


class Sided(Hinged):
    """A margin between sides that depend on the target and the scores."""

    has_smooth_neighbour: ClassVar[bool] = True
    has_majoriser: ClassVar[bool] = True

    @abstractmethod
    def sides(self, y: Target, f: FloatArray) -> Sides:
        """Return the sides whose margin is the loss at these scores, and no smaller elsewhere."""

    def smoothed(self, width: float) -> Loss:
        """Return the loss with its corners rounded; its sides still change with the scores."""
        return (SmoothConvexSided if self.convex else SmoothSided)(self, width)

    def _majorised(self, y: Target, f: FloatArray) -> tuple[Loss, Target]:
        sides = self.sides(y, f)
        low, high = (
            int(np.count_nonzero(sides & side, axis=1).max(initial=1)) for side in (LOW, HIGH)
        )
        return Margin((low, high)), sides


@dataclass(frozen=True)
class SmoothSided(MultilabelLoss):
    """The smooth margin between the sides of a loss: smooth as long as the sides stay the same.

    If two scores tie for a side, the value does not depend on which of them is chosen. So the
    loss is continuous, and has a gradient elsewhere.
    """

    loss: Sided
    width: float = 0.5

    name: ClassVar[str] = "smooth_sided"
    convex: ClassVar[bool] = False
    has_curvature: ClassVar[bool] = True
    has_majoriser: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", SmoothMargin(width=self.width).width)

    def relaxed(self) -> Loss:
        """Return the convex relative of the loss."""
        return self.loss.relaxed()

    @property
    def _margin(self) -> SmoothMargin:
        return SmoothMargin(width=self.width)

    def _value(self, y: Target, f: FloatArray) -> FloatArray:
        return self._margin.value(self.loss.sides(y, f), f)

    def _value_and_gradient(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._margin.value_and_gradient(self.loss.sides(y, f), f)

    def _curvature(self, y: Target, f: FloatArray) -> FloatArray:
        return self._margin.curvature(self.loss.sides(y, f), f)

    def _majorised(self, y: Target, f: FloatArray) -> tuple[Loss, Target]:
        return self._margin, self.loss.sides(y, f)


@dataclass(frozen=True)
class SmoothConvexSided(SmoothSided):
    """The same for sides that do not depend on the scores."""

    name: ClassVar[str] = "smooth_convex_sided"
    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = True


def _members(side: Target, number: int) -> IntArray:
    """Return `number` labels of a side for each sample; smaller sides repeat their first one."""
    counts = np.count_nonzero(side, axis=1)
    places = np.argsort(~side, axis=1, kind="stable")[:, :number]
    missing = np.arange(number) >= np.maximum(counts, 1)[:, None]
    return np.where(missing, places[:, :1], places)


# -- Hinges with rounded corners, below the hinge --------------------------------------------------


class _Corners(NamedTuple):
    """The samples whose loss is not zero.

    `active` is the slope of the hinge. `top` are the parts of the labels that violate the margin
    most, `bottom` those of the true labels with the lowest scores.
    """

    rows: IntArray
    active: FloatArray
    top: FloatArray
    bottom: FloatArray
    value: FloatArray


class _Rounded(MultilabelLoss):
    """A hinge of the mean of the k largest violations, minus the smallest true score."""

    k: int
    width: float

    smooth: ClassVar[bool] = True
    has_curvature: ClassVar[bool] = True

    @staticmethod
    @abstractmethod
    def _violations(y: Target, f: FloatArray) -> FloatArray:
        """Return by how much each label scores too high; minus infinity if it does not count."""

    def _value(self, y: Target, f: FloatArray) -> FloatArray:
        return self._values(self._corners(y, f), f)

    def _value_and_gradient(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        corners = self._corners(y, f)
        gradient = np.zeros_like(f)
        gradient[corners.rows] = corners.active[:, None] * (corners.top - corners.bottom)
        return self._values(corners, f), gradient

    def _curvature(self, y: Target, f: FloatArray) -> FloatArray:
        corners, w = self._corners(y, f), f.dtype.type(self.width / 3)
        slope = corners.top - corners.bottom
        bend = _bend(corners.top, 1 / self.k) / (self.k * w) + _bend(corners.bottom, 1.0) / w
        bend *= corners.active[:, None, None]
        is_round = (corners.active < 1) / w
        bend += is_round[:, None, None] * slope[:, :, None] * slope[:, None, :]
        hessian = np.zeros((*f.shape, f.shape[1]), dtype=f.dtype)
        hessian[corners.rows] = bend
        return hessian

    @staticmethod
    def _values(corners: _Corners, f: FloatArray) -> FloatArray:
        value = np.zeros(len(f), dtype=f.dtype)
        value[corners.rows] = corners.value
        return value

    def _corners(self, y: Target, f: FloatArray) -> _Corners:
        """Return the samples whose loss is not zero, and what their corners are made of."""
        w = f.dtype.type(self.width / 3)
        excess = self._violations(y, f)
        # No mean is above the maximum, and no rounded value above the original.
        rows = np.flatnonzero(excess.max(axis=1) > 0)
        excess, truth = excess[rows], y[rows]
        ones = np.ones(f.shape[1], dtype=f.dtype)  # for short rows a product is faster than a sum
        top, height = _rounded_top(excess, self.k, self.k * w, ones)
        bottom = truth.astype(f.dtype)
        several = np.flatnonzero(bottom @ ones > 1.5)
        if len(several):
            scores, is_true = f[rows[several]], truth[several]
            lead = smallest(scores, is_true)[:, None] - scores  # zero for the lowest, else below
            bottom[several], extra = _rounded_top(np.where(is_true, lead, -np.inf), 1, w, ones)
            height[several] += extra
        active = np.clip(height / w, 0, 1)
        left = np.flatnonzero(active)
        active, height = active[left], height[left]
        value = active * (height - w / 2 * active)
        return _Corners(rows[left], active, top[left], bottom[left], value)


@dataclass(frozen=True)
class RoundedTopKSVM(_Rounded):
    r"""`TopKSVM` with rounded corners, at most half its width below.

    .. math:: \max_{0 \le t \le 1} \ t \, (g + h) - \frac{w}{2} t^2, \qquad
        g = \max_{0 \le p \le 1/k, \ \sum_j p_j = 1} \sum_j p_j (f_j + \mathbf{1}[j \notin Y])
        - \frac{k w}{2} p_j^2, \qquad
        h = \max_{q \ge 0, \ \sum_{j \in Y} q_j = 1} - \sum_{j \in Y} q_j f_j + \frac{w}{2} q_j^2,

    where w is a third of the width. With one true label, h is minus its score. Convex.

    Parameters
    ----------
    k : int, default=1
        Of `TopKSVM`.
    width : float, default=0.5
        The length of the three rounded corners together, in scores.
    """

    k: int = 1
    width: float = 0.5

    name: ClassVar[str] = "rounded_topk_svm"
    _violations = staticmethod(violations)

    def __post_init__(self) -> None:
        check_width(self, "width", self.width, "`TopKSVM` is the limit of small width")


@dataclass(frozen=True)
class RoundedMultilabelHinge(_Rounded):
    """`MultilabelHinge` with rounded corners, at most half its width below.

    It is `RoundedTopKSVM` with k = 1, where the labels j are only those that are not true. Convex.

    Parameters
    ----------
    width : float, default=0.5
        The length of the three rounded corners together, in scores.
    """

    width: float = 0.5

    name: ClassVar[str] = "rounded_multilabel_hinge"
    k: ClassVar[int] = 1  # type: ignore[misc]

    def __post_init__(self) -> None:
        check_width(self, "width", self.width, "`MultilabelHinge` is the limit of small width")

    @staticmethod
    def _violations(y: Target, f: FloatArray) -> FloatArray:
        return np.where(y, -np.inf, 1 + (f - smallest(f, y)[:, None])).astype(f.dtype, copy=False)


def _capped_parts(values: FloatArray, k: int, width: float | np.floating[Any]) -> FloatArray:
    r"""Return the parts of the entries of each row in the rounded mean of the k largest.

    .. math:: p_j = \min(\max((v_j - \lambda) / w, 0), 1/k), \qquad \sum_j p_j = 1

    Newton's method finds the level of all rows at once, on a decreasing, piecewise linear
    function. A step that leaves its bracket halves it instead. At least `k` values of a row have
    to be finite; an entry of minus infinity has no part.
    """
    n_labels, dtype = values.shape[1], values.dtype
    cap, ones = dtype.type(1 / k), np.ones(n_labels, dtype=dtype)
    # Relative to the k-th largest nothing overflows, and no digits are lost.
    kth = np.partition(values, n_labels - k, axis=1)[:, n_labels - k]
    scaled = (values - kth[:, None]) / dtype.type(width)
    # At this level the k largest have full parts. For most rows that is the solution.
    level = np.full(len(values), -cap)
    parts = np.clip(scaled + cap, 0, cap)
    open_rows, low, high = np.arange(len(values)), level, np.zeros_like(level)
    for _ in range(60):
        excess = parts[open_rows] @ ones - 1
        is_open = np.abs(excess) > n_labels * np.finfo(dtype).eps
        open_rows, excess, low, high = (array[is_open] for array in (open_rows, excess, low, high))
        if not len(open_rows):
            break
        old, values = level[open_rows], scaled[open_rows]
        low, high = np.where(excess > 0, old, low), np.where(excess > 0, high, old)
        over = values - old[:, None]
        moving = ((over > 0) & (over <= cap)).astype(dtype) @ ones
        new = old + excess / np.maximum(moving, 1)
        is_inside = (moving > 0) & (low <= new) & (new <= high)
        level[open_rows] = new = np.where(is_inside, new, (low + high) / 2)
        parts[open_rows] = np.clip(values - new[:, None], 0, cap)
    return parts


def _rounded_top(
    values: FloatArray, k: int, width: np.floating[Any], ones: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the parts of the entries of each row, and the rounded mean of the k largest."""
    parts = _capped_parts(values, k, width)
    counted = np.where(parts > 0, values, 0)  # no part of minus infinity
    return parts, np.asarray((parts * (counted - width / 2 * parts)) @ ones)


def _bend(parts: FloatArray, cap: float) -> FloatArray:
    """Return the derivative of the parts in their values, times the width."""
    moving = ((parts > 0) & (parts < parts.dtype.type(cap))).astype(parts.dtype)
    number = np.maximum(moving.sum(axis=1), 1)
    bend = -moving[:, :, None] * moving[:, None, :] / number[:, None, None]
    labels = np.arange(parts.shape[1])
    bend[:, labels, labels] += moving
    return np.asarray(bend)


# -- Convex losses whose differences are the top-k losses, for the paper's DCA ---------------------


@dataclass(frozen=True)
class TopViolations(MultilabelLoss):
    r"""The sum of the largest violations of a margin, including true labels.

    .. math:: \sum_{i=1}^{j} s_{[i]}, \qquad s_u = \big[ 1 + f_u - \min_{v \in Y} f_v \big]_+
    """

    number: int  # j

    name: ClassVar[str] = "top_violations"

    def _value(self, y: Target, f: FloatArray) -> FloatArray:
        return np.asarray(top_sum(self._violations(y, f), self.number), dtype=f.dtype)

    def _gradient(self, y: Target, f: FloatArray) -> FloatArray:
        excess = self._violations(y, f)
        shares = ranked_range_weights(excess, 0, self.number) * (excess > 0)
        counted = shares.sum(axis=1, keepdims=True)
        # A sample without a true label has no loss and no smallest true score.
        return np.asarray(shares - counted * np.where(counted > 0, smallest_weights(f, y), 0))

    @staticmethod
    def _violations(y: Target, f: FloatArray) -> FloatArray:
        return np.maximum(1 + (f - smallest(f, y)[:, None]), 0)


@dataclass(frozen=True)
class SubsetPart(MultilabelLoss):
    """Sums of the largest scores outside and inside a set: `TopKSubset` is a difference of two."""

    k: int  # number of labels that will be predicted
    is_first: bool  # whether it is the maximum of both sums, or the second alone

    name: ClassVar[str] = "subset_part"

    def _value(self, y: Target, f: FloatArray) -> FloatArray:
        return self._value_and_gradient(y, f)[0]

    def _value_and_gradient(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, gradient = np.zeros(len(f), dtype=f.dtype), np.zeros_like(f)
        true = np.count_nonzero(y, axis=1)
        r = np.minimum(true, self.k)
        asked = (r > 0) & (f.shape[1] - true > self.k - r)  # elsewhere any top k is right
        for rank in np.unique(r[asked]).tolist():
            rows = np.flatnonzero(asked & (r == rank))
            inside, outside = split(f[rows], y[rows])
            least = _top(outside, self.k - rank) + _top(inside, rank)
            slope = _weights(outside, self.k - rank) + _weights(inside, rank)
            if self.is_first:
                other = 1 + _top(outside, self.k - rank + 1) + _top(inside, rank - 1)
                larger = other > least
                steep = _weights(outside, self.k - rank + 1) + _weights(inside, rank - 1)
                least = np.where(larger, other, least)
                slope = np.where(larger[:, None], steep, slope)
            value[rows], gradient[rows] = least, slope
        return value, gradient


def _top(scores: FloatArray, number: int) -> FloatArray:
    return np.asarray(top_sum(scores, number)) if number else np.zeros(len(scores), scores.dtype)


def _weights(scores: FloatArray, number: int) -> FloatArray:
    return ranked_range_weights(scores, 0, number) if number else np.zeros_like(scores)
