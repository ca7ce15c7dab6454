"""Losses over classes: each sample has one true label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import softmax

from sorr._typing import BoolArray, FloatArray, IntArray
from sorr.losses.base import Loss, MulticlassLoss, Target, check_width, one_hot
from sorr.losses.multilabel import MultilabelHinge


@dataclass(frozen=True)
class Softmax(MulticlassLoss):
    r"""The cross entropy of the softmax, with the natural logarithm.

    .. math:: \log \sum_j e^{f_j} - f_y = \log \Big( 1 + \sum_{j \ne y} e^{f_j - f_y} \Big)

    The second form is computed, so that small losses keep all their digits.

    Examples
    --------
    >>> import numpy as np
    >>> Softmax().value(np.array([0, 0]), np.array([[0.0, 0.0], [50.0, 0.0]]))
    array([6.93147181e-01, 1.92874985e-22])
    """

    name: ClassVar[str] = "softmax"
    smooth: ClassVar[bool] = True
    has_curvature: ClassVar[bool] = True
    has_probability: ClassVar[bool] = True
    never_reaches_zero: ClassVar[bool] = True

    def _value(self, y: Target, f: FloatArray) -> FloatArray:
        return self._terms(y, f)[0]

    def _value_and_gradient(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, own, others, rest = self._terms(y, f)
        total = own + rest
        others /= total[:, None]
        others[np.arange(len(f)), y] = -rest / total
        return value, others

    def _curvature(self, y: Target, f: FloatArray) -> FloatArray:
        _, own, share, rest = self._terms(y, f)
        share[np.arange(len(f)), y] = own
        share /= (own + rest)[:, None]
        hessian = -share[:, :, None] * share[:, None, :]
        labels = np.arange(f.shape[1])
        hessian[:, labels, labels] = 0
        hessian[:, labels, labels] = -hessian.sum(axis=2)  # p (1 - p): small p keep their digits
        return hessian

    @staticmethod
    def _terms(y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the loss, the exponential of the true score, those of the others, their sum.

        Scores are taken relative to the largest one: nothing overflows, and no digits are lost.
        """
        rows, high = np.arange(len(f)), f.max(axis=1)
        behind = high - f[rows, y]
        terms = np.exp(f - high[:, None])
        own = terms[rows, y]
        terms[rows, y] = 0
        rest = terms @ np.ones(f.shape[1], dtype=f.dtype)  # faster than a sum of short rows
        return behind + np.log1p(rest + (own - 1)), own, terms, rest

    def _probability(self, f: FloatArray) -> FloatArray:
        return np.asarray(softmax(f, axis=1))


@dataclass(frozen=True)
class MulticlassHinge(MulticlassLoss):
    r"""A margin for the true class to score above every other.

    .. math:: \big[ 1 + \max_{j \ne y} f_j - f_y \big]_+

    References
    ----------
    K. Crammer, Y. Singer, "On the algorithmic implementation of multiclass kernel-based vector
    machines", JMLR 2001.
    """

    name: ClassVar[str] = "multiclass_hinge"
    floor: ClassVar[float] = 0.0
    has_corner_pieces: ClassVar[bool] = True
    has_smooth_neighbour: ClassVar[bool] = True
    _over_sets: ClassVar[MultilabelHinge] = MultilabelHinge()

    def _value(self, y: Target, f: FloatArray) -> FloatArray:
        return self._over_sets.value(one_hot(y, f.shape[1]), f)

    def _value_and_gradient(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._over_sets.value_and_gradient(one_hot(y, f.shape[1]), f)

    def smoothed(self, width: float) -> Loss:
        """Return the hinge with all corners rounded, also those between two other classes."""
        return RoundedMulticlassHinge(width)

    def _pieces(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        others, rows = _others(y, f.shape[1]), np.arange(len(f))
        gradients = np.zeros((*others.shape, f.shape[1]), dtype=f.dtype)
        gradients[rows[:, None], np.arange(others.shape[1]), others] = 1
        gradients[rows, :, y] = -1
        return _violations(y, f, others), gradients


@dataclass(frozen=True)
class RoundedMulticlassHinge(MulticlassLoss):
    r"""The multi-class hinge with rounded corners, at most half its width below the hinge.

    .. math:: \max_{p \ge 0, \ \sum_j p_j \le 1} \sum_{j \ne y} p_j (1 + f_j - f_y)
        - \frac{w}{2} p_j^2

    The maximum is at :math:`p_j = [1 + f_j - f_y - \lambda]_+ / w`, with the smallest
    :math:`\lambda \ge 0` that makes their sum at most one. With two classes it is `SmoothHinge`.

    Parameters
    ----------
    width : float, default=0.5
        The length of the rounded part, in scores.
    """

    width: float = 0.5

    name: ClassVar[str] = "rounded_multiclass_hinge"
    smooth: ClassVar[bool] = True
    has_curvature: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_width(self, "width", self.width, "`MulticlassHinge` is the limit of small width")

    def _value(self, y: Target, f: FloatArray) -> FloatArray:
        others = _others(y, f.shape[1])
        part, _ = self._parts(violations := _violations(y, f, others))
        return self._height(violations, part)

    def _value_and_gradient(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        others = _others(y, f.shape[1])
        part, _ = self._parts(violations := _violations(y, f, others))
        gradient = np.zeros_like(f)
        rows = np.arange(len(f))
        gradient[rows[:, None], others] = part
        gradient[rows, y] = -part.sum(axis=1)
        return self._height(violations, part), gradient

    def _curvature(self, y: Target, f: FloatArray) -> FloatArray:
        others, rows = _others(y, f.shape[1]), np.arange(len(f))
        part, is_full = self._parts(_violations(y, f, others))
        active = np.zeros_like(f)
        active[rows[:, None], others] = part > 0
        number = active.sum(axis=1)
        # Where the parts sum to one they move against their mean, and the true class stays.
        shared = np.where(is_full, 1 / np.maximum(number, 1), 0).astype(f.dtype)
        hessian = -shared[:, None, None] * active[:, :, None] * active[:, None, :]
        labels = np.arange(f.shape[1])
        hessian[:, labels, labels] += active
        cross = np.where(is_full[:, None], 0, -active)
        hessian[rows, y, :] = cross
        hessian[rows, :, y] = cross
        hessian[rows, y, y] = np.where(is_full, 0, number)
        return np.asarray(hessian / self.width)

    def _height(self, violations: FloatArray, part: FloatArray) -> FloatArray:
        counted = np.where(part > 0, violations, 0)  # no part of minus infinity
        return np.asarray((part * (counted - self.width / 2 * part)).sum(axis=1))

    def _parts(self, violations: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Return the parts of the other classes, and whether they sum to one for each sample.

        Violations are taken relative to the largest one: nothing overflows or loses digits.
        """
        top = violations.max(axis=1, keepdims=True)
        down = np.zeros_like(violations)
        np.subtract(violations, top, out=down, where=violations < top)
        down /= self.width
        ranked = -np.sort(-down, axis=1)
        counts = np.arange(1, ranked.shape[1] + 1, dtype=ranked.dtype)
        levels = (np.cumsum(ranked, axis=1) - 1) / counts
        last = np.maximum(np.count_nonzero(ranked > levels, axis=1), 1) - 1
        level = levels[np.arange(len(levels)), last]
        is_full = level > -top[:, 0] / self.width
        level = np.where(is_full, level, -top[:, 0] / self.width)
        return np.maximum(down - level[:, None], 0), is_full


def _others(y: Target, n_outputs: int) -> IntArray:
    """Return the wrong classes of each sample in ascending order."""
    shifted = np.arange(n_outputs - 1)
    return np.asarray(shifted + (shifted >= y[:, None]))


def _violations(y: Target, f: FloatArray, others: IntArray) -> FloatArray:
    rows = np.arange(len(f))
    return np.asarray(1 + (f[rows[:, None], others] - f[rows, y][:, None]))
