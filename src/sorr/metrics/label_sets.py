"""Metrics of sets of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sorr.losses.label_sets import is_top
from sorr.metrics.arguments import (
    as_count,
    as_indicator,
    as_scores,
    check_shapes,
    chunks,
    dense_part,
    mean_of,
)

__all__ = ["average_precision", "topk_multilabel_accuracy"]


def topk_multilabel_accuracy(
    y_true: Any, scores: npt.ArrayLike, *, k: int, sample_weight: npt.ArrayLike | None = None
) -> float:
    r"""Return the share of rows whose k best labels are all true, or contain all that are true.

    .. math:: \frac{1}{n} \sum_i \big[ Z_i \subseteq Y_i \text{ or } Y_i \subseteq Z_i \big]

    :math:`Y_i` are the true labels of row i, and :math:`Z_i` the k labels that score best. Rows
    with no label or with all labels are therefore right.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n_samples, n_labels)
        The indicator of the true labels, 0 and 1 only.
    scores : array-like of shape (n_samples, n_labels)
    k : int
        How many labels are predicted, fewer than there are.
    sample_weight : array-like of shape (n_samples,), optional
        The mass of each row.

    Returns
    -------
    float

    References
    ----------
    S. Hu, Y. Ying, X. Wang, S. Lyu, "Learning by minimizing the sum of ranked range", NeurIPS
    2020, section 4.

    Examples
    --------
    >>> topk_multilabel_accuracy([[1, 0, 1], [0, 0, 1]], [[3, 1, 2], [3, 2, 1]], k=2)
    0.5
    """
    truth, scores = as_indicator("y_true", y_true), as_scores(scores)
    check_shapes("scores", scores.shape, truth.shape)
    count = as_count(k, scores.shape[1], "labels")
    is_right = np.empty(len(scores), dtype=bool)
    for rows in chunks(scores.shape):
        labels = dense_part(truth, rows)
        found = np.count_nonzero(labels & is_top(scores[rows], count), axis=1)
        is_right[rows] = found == np.minimum(np.count_nonzero(labels, axis=1), count)
    return mean_of(is_right, sample_weight)


def average_precision(
    y_true: Any, scores: npt.ArrayLike, *, sample_weight: npt.ArrayLike | None = None
) -> float:
    r"""Return how many of the labels ranked down to a true one are true, on average.

    .. math:: \frac{1}{n} \sum_i \frac{1}{|Y_i|} \sum_{y \in Y_i} \frac{
        |\{ y' \in Y_i : \mathrm{rank}_i(y') \le \mathrm{rank}_i(y) \}|}{\mathrm{rank}_i(y)}

    Rows with no label count as 1, like rows with all labels. Without ties this is scikit-learn's
    `label_ranking_average_precision_score`, which gives tied labels the last of their ranks.
    The paper prints the formula with < in place of <=, by which a true label does not count
    itself and no ranking reaches 1; the figures in the paper cannot have come from that.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n_samples, n_labels)
        The indicator of the true labels, 0 and 1 only.
    scores : array-like of shape (n_samples, n_labels)
    sample_weight : array-like of shape (n_samples,), optional
        The mass of each row.

    Returns
    -------
    float

    References
    ----------
    S. Hu, Y. Ying, X. Wang, S. Lyu, "Learning by minimizing the sum of ranked range", NeurIPS
    2020, appendix on multi-label learning.

    Examples
    --------
    >>> average_precision([[1, 0, 0], [0, 0, 1]], [[3, 2, 1], [3, 1, 2]])
    0.75
    """
    truth, scores = as_indicator("y_true", y_true), as_scores(scores)
    check_shapes("scores", scores.shape, truth.shape)
    ranks = np.arange(1, scores.shape[1] + 1)
    precision = np.empty(len(scores))
    for rows in chunks(scores.shape):
        order = np.argsort(-scores[rows], axis=1, kind="stable")
        labels = np.take_along_axis(dense_part(truth, rows), order, axis=1)
        shares = np.where(labels, labels.cumsum(axis=1) / ranks, 0.0)
        number = labels.sum(axis=1)
        precision[rows] = np.where(number, shares.sum(axis=1) / np.maximum(number, 1), 1.0)
    return mean_of(precision, sample_weight)
