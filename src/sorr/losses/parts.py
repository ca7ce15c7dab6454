"""Convex losses whose differences are the top-k losses: what the paper's DCA is made of.

They may be negative, and are no losses by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sorr._typing import FloatArray
from sorr.losses.base import Target
from sorr.losses.kinds import MultilabelLoss
from sorr.losses.label_sets import smallest, smallest_weights, split
from sorr.ranked import ranked_range_weights, top_sum

__all__ = ["SubsetPart", "TopViolations"]


@dataclass(frozen=True)
class TopViolations(MultilabelLoss):
    r"""The sum of the largest violations of a margin, true labels included.

    .. math:: \sum_{i=1}^{j} s_{[i]}, \qquad s_u = \big[ 1 + f_u - \min_{v \in Y} f_v \big]_+

    Parameters
    ----------
    number : int
        j.
    """

    number: int

    name: ClassVar[str] = "top_violations"

    def _value(self, y: Target, f: FloatArray) -> FloatArray:
        return np.asarray(top_sum(self._violations(y, f), self.number), dtype=f.dtype)

    def _gradient(self, y: Target, f: FloatArray) -> FloatArray:
        violations = self._violations(y, f)
        shares = ranked_range_weights(violations, 0, self.number) * (violations > 0)
        counted = shares.sum(axis=1, keepdims=True)
        # A sample without a true label costs nothing, and its smallest true score is nowhere.
        return np.asarray(shares - counted * np.where(counted > 0, smallest_weights(f, y), 0))

    @staticmethod
    def _violations(y: Target, f: FloatArray) -> FloatArray:
        return np.maximum(1 + (f - smallest(f, y)[:, None]), 0)


@dataclass(frozen=True)
class SubsetPart(MultilabelLoss):
    r"""Sums of the largest scores outside and inside a set, of which `TopKSubset` is a difference.

    Parameters
    ----------
    k : int
        How many labels will be predicted.
    whole : bool
        Whether it is the maximum of both sums, or the second alone.
    """

    k: int
    whole: bool

    name: ClassVar[str] = "subset_part"

    def _value(self, y: Target, f: FloatArray) -> FloatArray:
        return self._value_and_gradient(y, f)[0]

    def _gradient(self, y: Target, f: FloatArray) -> FloatArray:
        return self._value_and_gradient(y, f)[1]

    def _value_and_gradient(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, gradient = np.zeros(len(f), dtype=f.dtype), np.zeros_like(f)
        true = np.count_nonzero(y, axis=1)
        r = np.minimum(true, self.k)
        asked = (r > 0) & (f.shape[1] - true > self.k - r)  # of any other sample any k will do
        for rank in np.unique(r[asked]).tolist():
            rows = np.flatnonzero(asked & (r == rank))
            inside, outside = split(f[rows], y[rows])
            least = _top(outside, self.k - rank) + _top(inside, rank)
            slope = _weights(outside, self.k - rank) + _weights(inside, rank)
            if self.whole:
                other = 1 + _top(outside, self.k - rank + 1) + _top(inside, rank - 1)
                larger = other > least
                steep = _weights(outside, self.k - rank + 1) + _weights(inside, rank - 1)
                least, slope = (
                    np.where(larger, other, least),
                    np.where(larger[:, None], steep, slope),
                )
            value[rows], gradient[rows] = least, slope
        return value, gradient


def _top(scores: FloatArray, number: int) -> FloatArray:
    return np.asarray(top_sum(scores, number)) if number else np.zeros(len(scores), scores.dtype)


def _weights(scores: FloatArray, number: int) -> FloatArray:
    return ranked_range_weights(scores, 0, number) if number else np.zeros_like(scores)
