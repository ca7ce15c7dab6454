"""Losses over classes: those over label sets, for samples with one true label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import softmax

from sorr.losses.base import FloatArray, Target
from sorr.losses.kinds import MulticlassLoss, one_hot
from sorr.losses.multilabel import MultilabelHinge

__all__ = ["MulticlassHinge", "Softmax"]


@dataclass(frozen=True)
class Softmax(MulticlassLoss):
    r"""The cross entropy of the softmax, with the natural logarithm.

    .. math:: \log \sum_j e^{f_j} - f_y = \log \Big( 1 + \sum_{j \ne y} e^{f_j - f_y} \Big)

    The second form is what is computed: small losses keep all their digits.

    Examples
    --------
    >>> import numpy as np
    >>> Softmax().value(np.array([0, 0]), np.array([[0.0, 0.0], [50.0, 0.0]]))
    array([6.93147181e-01, 1.92874985e-22])
    """

    name: ClassVar[str] = "softmax"
    is_endless: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    has_curvature: ClassVar[bool] = True

    def _value(self, y: Target, f: FloatArray) -> FloatArray:
        return self._terms(y, f)[0]

    def _gradient(self, y: Target, f: FloatArray) -> FloatArray:
        return self._value_and_gradient(y, f)[1]

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
        hessian[:, labels, labels] = -hessian.sum(
            axis=2
        )  # p (1 - p), of which small p keeps digits
        return hessian

    @staticmethod
    def _terms(y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the loss, the exponential of the true score, those of the others, their sum.

        Relative to the largest score nothing overflows, and scores far from zero lose no digits.
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
    _over_sets: ClassVar[MultilabelHinge] = MultilabelHinge()

    def _value(self, y: Target, f: FloatArray) -> FloatArray:
        return self._over_sets.value(one_hot(y, f.shape[1]), f)

    def _gradient(self, y: Target, f: FloatArray) -> FloatArray:
        return self._over_sets.gradient(one_hot(y, f.shape[1]), f)

    def _value_and_gradient(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._over_sets.value_and_gradient(one_hot(y, f.shape[1]), f)
