"""Losses over classes: those over label sets, for samples with one true label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import softmax

from sorr.losses.base import FloatArray, Target
from sorr.losses.kinds import MulticlassLoss, MultilabelLoss, one_hot
from sorr.losses.multilabel import LogSumExpPairwise, MultilabelHinge

__all__ = ["MulticlassHinge", "Softmax"]


class _OneLabel(MulticlassLoss):
    _over_sets: ClassVar[MultilabelLoss]

    def _value(self, y: Target, f: FloatArray) -> FloatArray:
        return self._over_sets.value(one_hot(y, f.shape[1]), f)

    def _gradient(self, y: Target, f: FloatArray) -> FloatArray:
        return self._over_sets.gradient(one_hot(y, f.shape[1]), f)

    def _value_and_gradient(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._over_sets.value_and_gradient(one_hot(y, f.shape[1]), f)

    def _curvature(self, y: Target, f: FloatArray) -> FloatArray:
        return self._over_sets.curvature(one_hot(y, f.shape[1]), f)


@dataclass(frozen=True)
class Softmax(_OneLabel):
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
    smooth: ClassVar[bool] = True
    has_curvature: ClassVar[bool] = True
    _over_sets: ClassVar[MultilabelLoss] = LogSumExpPairwise()

    def _probability(self, f: FloatArray) -> FloatArray:
        return np.asarray(softmax(f, axis=1))


@dataclass(frozen=True)
class MulticlassHinge(_OneLabel):
    r"""A margin for the true class to score above every other.

    .. math:: \big[ 1 + \max_{j \ne y} f_j - f_y \big]_+

    References
    ----------
    K. Crammer, Y. Singer, "On the algorithmic implementation of multiclass kernel-based vector
    machines", JMLR 2001.
    """

    name: ClassVar[str] = "multiclass_hinge"
    _over_sets: ClassVar[MultilabelLoss] = MultilabelHinge()
