"""Losses over pairs of labels, a true one and another: how many are in the wrong order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from sorr._typing import FloatArray
from sorr.losses.base import Target
from sorr.losses.kinds import MultilabelLoss
from sorr.losses.label_sets import largest, smallest

__all__ = ["LogSumExpPairwise", "SigmoidPairwise"]


@dataclass(frozen=True)
class LogSumExpPairwise(MultilabelLoss):
    r"""A smooth count of the pairs in the wrong order (LSEP).

    .. math:: \log \Big( 1 + \sum_{u \in F} \sum_{v \in Y} e^{f_u - f_v} \Big)

    Where all labels are true the loss is zero; with one true label it is `Softmax`. Convex.

    References
    ----------
    Y. Li, Y. Song, J. Luo, "Improving pairwise ranking for multi-label image classification",
    CVPR 2017.

    Notes
    -----
    With q the logarithm of the double sum, p the softmax of the scores over F and r that of the
    negative scores over Y, the Hessian is

    .. math:: \sigma(q) \big( \mathrm{diag}(p) - p p^T + \mathrm{diag}(r) - r r^T \big)
        + \sigma(q) \sigma(-q) (p - r) (p - r)^T.
    """

    name: ClassVar[str] = "lsep"
    smooth: ClassVar[bool] = True
    has_curvature: ClassVar[bool] = True

    def _value(self, y: Target, f: FloatArray) -> FloatArray:
        return np.logaddexp(0, self._log_sum_and_shares(y, f)[0])

    def _gradient(self, y: Target, f: FloatArray) -> FloatArray:
        return self._value_and_gradient(y, f)[1]

    def _value_and_gradient(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        q, shares = self._log_sum_and_shares(y, f)
        return np.logaddexp(0, q), expit(q)[:, None] * np.where(y, -shares, shares)

    def _curvature(self, y: Target, f: FloatArray) -> FloatArray:
        q, shares = self._log_sum_and_shares(y, f)
        products = shares[:, :, None] * shares[:, None, :]
        same_side = y[:, :, None] == y[:, None, :]
        within = np.where(same_side, -products, 0)
        labels = np.arange(y.shape[1])
        within[:, labels, labels] = 0
        within[:, labels, labels] = -within.sum(axis=2)  # p (1 - p), of which small p keeps digits
        across = np.where(same_side, products, -products)
        return np.asarray(expit(q)[:, None, None] * (within + expit(-q)[:, None, None] * across))

    @staticmethod
    def _log_sum_and_shares(y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return q, and p on the false labels beside r on the true ones."""
        high, low = largest(f, ~y), smallest(f, y)
        # Relative to the extremes nothing overflows, and scores far from zero lose no digits.
        terms = np.exp(np.where(y, low[:, None] - f, f - high[:, None]))
        # At least one each, unless a side is empty: then q is minus infinity in any case.
        ones = np.ones(f.shape[1], dtype=f.dtype)  # a product adds up short rows faster than a sum
        true_sum = np.maximum(np.where(y, terms, 0) @ ones, 1)
        false_sum = np.maximum(np.where(y, 0, terms) @ ones, 1)
        q = (high - low) + np.log(true_sum) + np.log(false_sum)
        return q, terms / np.where(y, true_sum[:, None], false_sum[:, None])


@dataclass(frozen=True)
class SigmoidPairwise(MultilabelLoss):
    r"""LSEP of outputs between zero and one: that of the sigmoids of the scores.

    .. math:: \log \Big( 1 + \sum_{u \in F} \sum_{v \in Y} e^{\sigma(f_u) - \sigma(f_v)} \Big),
        \qquad \sigma(f) = \frac{1}{1 + e^{-f}}

    It is bounded: a pair costs between :math:`e^{-1}` and :math:`e`, so that scores in the wrong
    order by far cost little more than those that are so by one or two. Unlike those of
    `LogSumExpPairwise`, the values depend on where zero is. Where all labels are true the loss is
    zero. Not convex, and without `curvature`, which would not be positive.

    References
    ----------
    S. Hu, Y. Ying, X. Wang, S. Lyu, "Learning by minimizing the sum of ranked range", NeurIPS
    2020, section 4.2: LSEP with sigmoids at the end of the linear model.
    """

    name: ClassVar[str] = "lsep_sigmoid"
    smooth: ClassVar[bool] = True
    convex: ClassVar[bool] = False
    _of_outputs: ClassVar[LogSumExpPairwise] = LogSumExpPairwise()

    def _value(self, y: Target, f: FloatArray) -> FloatArray:
        return self._of_outputs.value(y, expit(f))

    def _gradient(self, y: Target, f: FloatArray) -> FloatArray:
        return self._value_and_gradient(y, f)[1]

    def _value_and_gradient(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        outputs = expit(f)
        value, gradient = self._of_outputs.value_and_gradient(y, outputs)
        return value, gradient * outputs * expit(-f)
