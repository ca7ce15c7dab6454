"""Losses over sets of labels: the scores of the true labels against those of the others.

`f` are the scores of a sample, `Y` its true labels, `F` the others. Scores with an index in
brackets are ranked from the largest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from sorr._checks import as_count
from sorr._typing import FloatArray, IntArray
from sorr.losses.base import Loss, MultilabelLoss, Target
from sorr.losses.margins import (
    Hinged,
    Margin,
    RoundedTopKSVM,
    Sided,
    Sides,
    SubsetPart,
    TopViolations,
    is_top,
    largest,
    largest_weights,
    sides_of,
    smallest,
    smallest_weights,
    split,
    violations,
)
from sorr.ranked import kth_largest, ranked_range_weights, top_sum


@dataclass(frozen=True)
class _TopK(Hinged):
    k: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", as_count("k", self.k, what="a number of labels"))

    def check_target(self, y: npt.ArrayLike, n_outputs: int | None = None) -> Target:
        """Return the indicator of the true labels. There must be more than `k` labels."""
        target = super().check_target(y, n_outputs)
        if self.k >= target.shape[1]:
            raise ValueError(
                f"k={self.k} leaves nothing to rank among the {target.shape[1]} labels of the "
                f"target of {self.name}; needed k < {target.shape[1]}: lower k"
            )
        return target


class _Chosen(Sided):
    """A loss whose sides depend on the scores, and which is therefore not convex."""

    convex: ClassVar[bool] = False

    def relaxed(self) -> Loss:
        """Return the pairwise loss over all labels; with one true label it is the softmax."""
        return LogSumExpPairwise()


@dataclass(frozen=True)
class TopKMultilabel(_TopK, _Chosen):
    r"""The top-k multi-label loss of the paper: all true labels should be among the top k.

    .. math:: \big[ 1 + f_{[k+1]} - \min_{y \in Y} f_y \big]_+

    This is the (k+1)-th largest of :math:`s_j = [1 + f_j - \min_{y \in Y} f_y]_+` over all
    labels, including the true ones. With more than `k` true labels it is therefore at least one
    for any scores; use `TopKSubset` there. Not convex.

    Parameters
    ----------
    k : int, default=1
        Number of labels that will be predicted. There must be more labels than that.

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
    The loss is zero if fewer than :math:`k - r + 1` labels are not true, because any top k is
    right then. Not convex, except for :math:`k = |Y|`, where it is `MultilabelHinge`.

    Parameters
    ----------
    k : int, default=1
        Number of labels that will be predicted. There must be more labels than that.

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

    def _rows_by_rank(self, y: Target) -> Iterator[tuple[int, IntArray]]:
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

    With one true label it is the loss of the reference; if also k = 1, it is `MulticlassHinge`.
    If all labels are true, the loss is still zero only at equal scores. Convex.

    Parameters
    ----------
    k : int, default=1
        Number of labels that will be predicted. There must be more labels than that.

    References
    ----------
    M. Lapin, M. Hein, B. Schiele, "Top-k multiclass SVM", NIPS 2015, the loss called alpha.
    """

    name: ClassVar[str] = "topk_svm"
    has_smooth_neighbour: ClassVar[bool] = True

    def smoothed(self, width: float) -> Loss:
        """Return the loss with all corners rounded, also those between labels."""
        return RoundedTopKSVM(self.k, width)

    def _violation(self, y: Target, f: FloatArray) -> FloatArray:
        # Divided first: a sum may overflow where the mean does not.
        return np.asarray(top_sum(violations(y, f) / self.k, self.k), dtype=f.dtype)

    def _direction(self, y: Target, f: FloatArray) -> FloatArray:
        shares = ranked_range_weights(violations(y, f), 0, self.k)
        return shares / self.k - smallest_weights(f, y)


@dataclass(frozen=True)
class MultilabelHinge(Sided):
    r"""A margin for every true label to score above every other label.

    .. math:: \big[ 1 + \max_{u \in F} f_u - \min_{v \in Y} f_v \big]_+

    The loss is zero if all labels are true. It is an upper bound of `TopKMultilabel` with
    :math:`k = |Y|` (Proposition 1 of the paper). Convex.

    References
    ----------
    K. Crammer, Y. Singer, "A family of additive online algorithms for category ranking",
    JMLR 2003.
    """

    name: ClassVar[str] = "multilabel_hinge"
    has_corner_pieces: ClassVar[bool] = True

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


# -- Losses over pairs of a true label and another -------------------------------------------------


@dataclass(frozen=True)
class LogSumExpPairwise(MultilabelLoss):
    r"""A smooth count of the pairs in the wrong order (LSEP).

    .. math:: \log \Big( 1 + \sum_{u \in F} \sum_{v \in Y} e^{f_u - f_v} \Big)

    The loss is zero if all labels are true. With one true label it is `Softmax`. Convex.

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
        within[:, labels, labels] = -within.sum(axis=2)  # p (1 - p): small p keep their digits
        across = np.where(same_side, products, -products)
        return np.asarray(expit(q)[:, None, None] * (within + expit(-q)[:, None, None] * across))

    @staticmethod
    def _log_sum_and_shares(y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return q, and an array with p for the false labels and r for the true ones."""
        high, low = largest(f, ~y), smallest(f, y)
        # Relative to the extremes nothing overflows, and no digits are lost.
        terms = np.exp(np.where(y, low[:, None] - f, f - high[:, None]))
        # Each sum is at least one, unless a side is empty: then q is minus infinity anyway.
        ones = np.ones(f.shape[1], dtype=f.dtype)  # for short rows a product is faster than a sum
        true_sum = np.maximum(np.where(y, terms, 0) @ ones, 1)
        false_sum = np.maximum(np.where(y, 0, terms) @ ones, 1)
        q = (high - low) + np.log(true_sum) + np.log(false_sum)
        return q, terms / np.where(y, true_sum[:, None], false_sum[:, None])


@dataclass(frozen=True)
class SigmoidPairwise(MultilabelLoss):
    r"""LSEP of the sigmoids of the scores, which are between zero and one.

    .. math:: \log \Big( 1 + \sum_{u \in F} \sum_{v \in Y} e^{\sigma(f_u) - \sigma(f_v)} \Big),
        \qquad \sigma(f) = \frac{1}{1 + e^{-f}}

    It is bounded: a pair costs between :math:`e^{-1}` and :math:`e`, so a large error costs little
    more than an error of one or two. Unlike for `LogSumExpPairwise`, the values change if all
    scores are shifted. The loss is zero if all labels are true. Not convex, and without
    `curvature`, which would not be positive.

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

    def _value_and_gradient(self, y: Target, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        outputs = expit(f)
        value, gradient = self._of_outputs.value_and_gradient(y, outputs)
        return value, gradient * outputs * expit(-f)
