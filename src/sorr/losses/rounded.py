"""Hinges of label sets with their corners rounded, below what they round."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.losses.base import Loss, Target
from sorr.losses.kinds import MultilabelLoss, check_width
from sorr.losses.label_sets import smallest

__all__ = ["RoundedMultilabelHinge", "RoundedTopKSVM", "capped_parts"]


class _Corners(NamedTuple):
    """What is left of the samples that miss the margin."""

    rows: npt.NDArray[np.intp]
    active: FloatArray
    """Which part of the hinge is active: its slope."""
    top: FloatArray
    """The parts of the labels that violate the margin most."""
    bottom: FloatArray
    """The parts of the true labels that score lowest."""
    value: FloatArray


class _Rounded(MultilabelLoss):
    """A hinge of a mean of the largest violations, less the smallest true score."""

    k: int
    width: float

    smooth: ClassVar[bool] = True
    has_curvature: ClassVar[bool] = True

    def smoothed(self, width: float) -> Loss:
        """Return the loss as it is."""
        del width
        return self

    @staticmethod
    @abstractmethod
    def _violations(y: Target, f: FloatArray) -> FloatArray:
        """Return by how much each label scores too high: minus infinity if it does not count."""

    def _value(self, y: Target, f: FloatArray) -> FloatArray:
        return self._spread(self._corners(y, f), f)

    def _gradient(self, y: Target, f: FloatArray) -> FloatArray:
        return self._value_and_gradient(y, f)[1]

    def _value_and_gradient(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        found = self._corners(y, f)
        gradient = np.zeros_like(f)
        gradient[found.rows] = found.active[:, None] * (found.top - found.bottom)
        return self._spread(found, f), gradient

    def _curvature(self, y: Target, f: FloatArray) -> FloatArray:
        found, w = self._corners(y, f), f.dtype.type(self._corner)
        slope = found.top - found.bottom
        bend = _bend(found.top, 1 / self.k) / (self.k * w) + _bend(found.bottom, 1.0) / w
        bend *= found.active[:, None, None]
        is_round = (found.active < 1) / w
        bend += is_round[:, None, None] * slope[:, :, None] * slope[:, None, :]
        hessian = np.zeros((*f.shape, f.shape[1]), dtype=f.dtype)
        hessian[found.rows] = bend
        return hessian

    @property
    def _corner(self) -> float:
        return self.width / 3

    @staticmethod
    def _spread(found: _Corners, f: FloatArray) -> FloatArray:
        value = np.zeros(len(f), dtype=f.dtype)
        value[found.rows] = found.value
        return value

    def _corners(self, y: Target, f: FloatArray) -> _Corners:
        """Return the parts of what is rounded, of samples whose loss is not zero."""
        w = f.dtype.type(self._corner)
        violations = self._violations(y, f)
        # No mean is above the maximum, and nothing rounded above what it rounds.
        rows = np.flatnonzero(violations.max(axis=1) > 0)
        violations, truth = violations[rows], y[rows]
        ones = np.ones(f.shape[1], dtype=f.dtype)  # a product adds up short rows faster than a sum
        top, height = _rounded_top(violations, self.k, self.k * w, ones)
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

    def __post_init__(self) -> None:
        check_width(self, "width", self.width, "`TopKSVM` is the limit of small width")

    @staticmethod
    def _violations(y: Target, f: FloatArray) -> FloatArray:
        return np.asarray((f - smallest(f, y)[:, None]) + ~y)


@dataclass(frozen=True)
class RoundedMultilabelHinge(_Rounded):
    """`MultilabelHinge` with rounded corners, at most half its width below.

    `RoundedTopKSVM` of k = 1 whose labels j are those that are not true. Convex.

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


def capped_parts(values: FloatArray, k: int, width: float | np.floating[Any]) -> FloatArray:
    r"""Return the parts of the entries of each row in the rounded mean of the k largest.

    .. math:: p_j = \min(\max((v_j - \lambda) / w, 0), 1/k), \qquad \sum_j p_j = 1

    Newton's method for the level of all rows at once, on a falling, piecewise linear function; a
    step that leaves its bracket halves it instead.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_labels)
        Minus infinity where an entry cannot have a part; `k` of them are finite at least.
    k : int
    width : float
        w.

    Returns
    -------
    ndarray of shape (n_samples, n_labels)
    """
    n_labels, dtype = values.shape[1], values.dtype
    cap, ones = dtype.type(1 / k), np.ones(n_labels, dtype=dtype)
    # Relative to the k-th largest nothing overflows, and nothing loses its digits.
    kth = np.partition(values, n_labels - k, axis=1)[:, n_labels - k]
    scaled = (values - kth[:, None]) / dtype.type(width)
    # Here the k largest have full parts: most often that is all.
    level = np.full(len(values), -cap)
    parts = np.clip(scaled + cap, 0, cap)
    left, low, high = np.arange(len(values)), level, np.zeros_like(level)
    for _ in range(60):
        excess = parts[left] @ ones - 1
        is_left = np.abs(excess) > n_labels * np.finfo(dtype).eps
        left, excess, low, high = left[is_left], excess[is_left], low[is_left], high[is_left]
        if not len(left):
            break
        here, values = level[left], scaled[left]
        low, high = np.where(excess > 0, here, low), np.where(excess > 0, high, here)
        over = values - here[:, None]
        moving = ((over > 0) & (over <= cap)).astype(dtype) @ ones
        new = here + excess / np.maximum(moving, 1)
        is_inside = (moving > 0) & (low <= new) & (new <= high)
        level[left] = new = np.where(is_inside, new, (low + high) / 2)
        parts[left] = np.clip(values - new[:, None], 0, cap)
    return parts


def _rounded_top(
    values: FloatArray, k: int, width: np.floating[Any], ones: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the parts of the entries of each row, and the rounded mean of the k largest."""
    parts = capped_parts(values, k, width)
    counted = np.where(parts > 0, values, 0)  # no part of minus infinity
    return parts, np.asarray((parts * (counted - width / 2 * parts)) @ ones)


def _bend(parts: FloatArray, cap: float) -> FloatArray:
    """Return how parts move with their values, times the width: against their mean."""
    moving = ((parts > 0) & (parts < parts.dtype.type(cap))).astype(parts.dtype)
    number = np.maximum(moving.sum(axis=1), 1)
    bend = -moving[:, :, None] * moving[:, None, :] / number[:, None, None]
    labels = np.arange(parts.shape[1])
    bend[:, labels, labels] += moving
    return np.asarray(bend)
