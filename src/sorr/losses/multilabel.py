"""Losses over sets of labels: the scores of the true labels against those of the others.

`f` are the scores of a sample, `Y` its true labels, `F` the others. Scores with an index in
brackets are ranked from the largest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.losses.base import Loss, Target
from sorr.losses.label_sets import (
    is_top,
    largest,
    largest_weights,
    smallest,
    smallest_weights,
    split,
)
from sorr.losses.pairwise import LogSumExpPairwise
from sorr.losses.parts import SubsetPart, TopViolations
from sorr.losses.rounded import RoundedTopKSVM
from sorr.losses.sides import Hinged, Margin, Sided, Sides, sides_of
from sorr.ranked import kth_largest, ranked_range_weights, top_sum

__all__ = ["MultilabelHinge", "TopKMultilabel", "TopKSVM", "TopKSubset"]


@dataclass(frozen=True)
class _TopK(Hinged):
    k: int = 1

    def __post_init__(self) -> None:
        k: object = self.k
        if isinstance(k, bool) or not isinstance(k, Integral):
            raise TypeError(
                f"k={k!r} is of type {type(k).__name__}; needed a number of labels, "
                "an int such as k=3"
            )
        if k < 1:
            raise ValueError(f"k={k} is too small; needed a number of labels, k >= 1")
        object.__setattr__(self, "k", int(k))

    def check_target(self, y: npt.ArrayLike, n_outputs: int | None = None) -> Target:
        """Return the indicator of the true labels; there have to be more than `k` labels."""
        target = super().check_target(y, n_outputs)
        if self.k >= target.shape[1]:
            raise ValueError(
                f"k={self.k} leaves nothing to rank among the {target.shape[1]} labels of the "
                f"target of {self.name}; needed k < {target.shape[1]}: lower k"
            )
        return target


class _Chosen(Sided):
    """A loss whose sides depend on the scores, so that it is not convex."""

    convex: ClassVar[bool] = False

    def relaxed(self) -> Loss:
        """Return the pairwise loss of all labels: with one true label each, the softmax."""
        return LogSumExpPairwise()


@dataclass(frozen=True)
class TopKMultilabel(_TopK, _Chosen):
    r"""The top-k multi-label loss of the paper: all true labels should be among the top k.

    .. math:: \big[ 1 + f_{[k+1]} - \min_{y \in Y} f_y \big]_+

    This is the (k+1)-th largest of :math:`s_j = [1 + f_j - \min_{y \in Y} f_y]_+` over all
    labels, true ones included. So with more than `k` true labels it is at least one, whatever
    the scores; `TopKSubset` follows the metric there. Not convex.

    Parameters
    ----------
    k : int, default=1
        How many labels will be predicted, fewer than there are labels.

    References
    ----------
    S. Hu, Y. Ying, X. Wang, S. Lyu, "Learning by minimizing the sum of ranked range",
    NeurIPS 2020, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([[True, True, False, False]])
    >>> TopKMultilabel(k=2).value(y, np.array([[3.0, 0.5, 1.0, 0.0]]))
    array([1.])
    """

    name: ClassVar[str] = "tkml"

    def sides(self, y: Target, f: FloatArray) -> Sides:
        """Return the true labels above, and all but the current top k below."""
        return sides_of(y, ~is_top(f, self.k))

    def convex_parts(self) -> tuple[Loss, Loss]:
        r"""Return the top sums of k + 1 and of k violations :math:`s_j`, as in the paper's DCA."""
        return TopViolations(self.k + 1), TopViolations(self.k)

    def _violation(self, y: Target, f: FloatArray) -> FloatArray:
        return 1 + (np.asarray(kth_largest(f, self.k + 1)) - smallest(f, y))

    def _direction(self, y: Target, f: FloatArray) -> FloatArray:
        return ranked_range_weights(f, self.k, self.k + 1) - smallest_weights(f, y)


@dataclass(frozen=True)
class TopKSubset(_TopK, _Chosen):
    r"""A margin for the top k to be true labels only, or to contain them all.

    .. math:: \big[ 1 + f^F_{[k-r+1]} - f^Y_{[r]} \big]_+, \qquad r = \min(k, |Y|),

    where :math:`f^F` and :math:`f^Y` are the scores outside and inside the set of true labels.
    Where all labels are true, or fewer than :math:`k - r + 1` are not, any top k will do and the
    loss is zero. Not convex, except where :math:`k = |Y|`: there it is `MultilabelHinge`.

    Parameters
    ----------
    k : int, default=1
        How many labels will be predicted, fewer than there are labels.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([[True, True, False, False]])
    >>> TopKSubset(k=1).value(y, np.array([[3.0, 0.5, 1.0, 0.0]]))
    array([0.])
    """

    name: ClassVar[str] = "topk_subset"

    def sides(self, y: Target, f: FloatArray) -> Sides:
        """Return the current top r true labels above, and all but the top k - r others below."""
        inside = np.count_nonzero(y, axis=1)
        r = np.minimum(inside, self.k)
        high, low = y, ~y
        if (inside > self.k).any():
            high = is_top(np.where(y, f, -np.inf), r) & y
        if (r < self.k).any():
            low = ~is_top(np.where(y, -np.inf, f), self.k - r) & ~y
        return sides_of(high, low)

    def convex_parts(self) -> tuple[Loss, Loss]:
        r"""Return two convex losses whose difference this is.

        With :math:`T_j` the sum of the j largest and :math:`a = k - r + 1`, they are the
        maximum of :math:`1 + T_a(f^F) + T_{r-1}(f^Y)` and
        :math:`T_{a-1}(f^F) + T_r(f^Y)`, and the second of these two alone.
        """
        return SubsetPart(self.k, True), SubsetPart(self.k, False)

    def _violation(self, y: Target, f: FloatArray) -> FloatArray:
        violation = np.full(len(f), -np.inf, dtype=f.dtype)
        for r, rows in self._rows_by_rank(y):
            inside, outside = split(f[rows], y[rows])
            worst = np.asarray(kth_largest(outside, self.k - r + 1))
            violation[rows] = 1 + (worst - np.asarray(kth_largest(inside, r)))
        return violation

    def _direction(self, y: Target, f: FloatArray) -> FloatArray:
        direction = np.zeros_like(f)
        for r, rows in self._rows_by_rank(y):
            inside, outside = split(f[rows], y[rows])
            direction[rows] = ranked_range_weights(outside, self.k - r, self.k - r + 1)
            direction[rows] -= ranked_range_weights(inside, r - 1, r)
        return direction

    def _rows_by_rank(self, y: Target) -> Iterator[tuple[int, npt.NDArray[np.intp]]]:
        ranks = np.minimum(np.count_nonzero(y, axis=1), self.k)
        for r in range(1, self.k + 1):
            rows = np.flatnonzero(ranks == r)
            if rows.size:
                yield r, rows


@dataclass(frozen=True)
class TopKSVM(_TopK):
    r"""The top-k support vector machine: the mean of the k largest margin violations.

    .. math:: \Big[ \frac{1}{k} \sum_{i=1}^{k} s_{[i]} \Big]_+, \qquad
        s_j = \mathbf{1}[j \notin Y] + f_j - \min_{y \in Y} f_y

    With one true label it is theirs, and with k = 1 as well it is `MulticlassHinge`. Where all
    labels are true, the formula still asks for equal scores. Convex.

    Parameters
    ----------
    k : int, default=1
        How many labels will be predicted, fewer than there are labels.

    References
    ----------
    M. Lapin, M. Hein, B. Schiele, "Top-k multiclass SVM", NIPS 2015, the loss called alpha.
    """

    name: ClassVar[str] = "topk_svm"

    def smoothed(self, width: float) -> Loss:
        """Return the loss with its corners rounded, also those between labels."""
        return RoundedTopKSVM(self.k, width)

    def _violation(self, y: Target, f: FloatArray) -> FloatArray:
        # Divided first: a sum may overflow where the mean does not.
        return np.asarray(top_sum(self._violations(y, f) / self.k, self.k), dtype=f.dtype)

    def _direction(self, y: Target, f: FloatArray) -> FloatArray:
        shares = ranked_range_weights(self._violations(y, f), 0, self.k)
        return shares / self.k - smallest_weights(f, y)

    @staticmethod
    def _violations(y: Target, f: FloatArray) -> FloatArray:
        return np.asarray((f - smallest(f, y)[:, None]) + ~y)


@dataclass(frozen=True)
class MultilabelHinge(Sided):
    r"""A margin for every true label to score above every other label.

    .. math:: \big[ 1 + \max_{u \in F} f_u - \min_{v \in Y} f_v \big]_+

    Where all labels are true the loss is zero. An upper bound of `TopKMultilabel` with
    :math:`k = |Y|` (Proposition 1 of the paper). Convex.

    References
    ----------
    K. Crammer, Y. Singer, "A family of additive online algorithms for category ranking",
    JMLR 2003.
    """

    name: ClassVar[str] = "multilabel_hinge"

    def sides(self, y: Target, f: FloatArray) -> Sides:
        """Return the true labels above, and the others below."""
        del f
        return sides_of(y, ~y)

    def _pieces(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        return Margin((f.shape[1] - 1, f.shape[1] - 1)).pieces(self.sides(y, f), f)

    def _violation(self, y: Target, f: FloatArray) -> FloatArray:
        return 1 + (largest(f, ~y) - smallest(f, y))

    def _direction(self, y: Target, f: FloatArray) -> FloatArray:
        return largest_weights(f, ~y) - smallest_weights(f, y)
