"""Metrics of sets of labels."""

from __future__ import annotations

from typing import Any, Literal

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

__all__ = ["average_precision", "set_accuracy", "topk_multilabel_accuracy"]


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


def set_accuracy(y_true: Any, y_pred: Any, *, sample_weight: npt.ArrayLike | None = None) -> float:
    """Return the share of rows whose predicted set contains the true one, or is inside of it.

    With predictions of k labels each this is `topk_multilabel_accuracy`, for models that predict
    sets without scores. Compare predictions of the same number of labels only: an empty set, and
    one of all labels, is right for every row.

    Parameters
    ----------
    y_true, y_pred : array-like or sparse matrix of shape (n_samples, n_labels)
        Indicators of the true and of the predicted labels, 0 and 1 only.
    sample_weight : array-like of shape (n_samples,), optional
        The mass of each row.

    Returns
    -------
    float

    Examples
    --------
    >>> set_accuracy([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [1, 0, 1]])
    0.5
    """
    truth, guess = as_indicator("y_true", y_true), as_indicator("y_pred", y_pred)
    check_shapes("y_pred", guess.shape, truth.shape)
    is_right = np.empty(truth.shape[0], dtype=bool)
    for rows in chunks(truth.shape):
        labels, found = dense_part(truth, rows), dense_part(guess, rows)
        both, either = labels & found, (labels.sum(axis=1), found.sum(axis=1))
        is_right[rows] = both.sum(axis=1) == np.minimum(*either)
    return mean_of(is_right, sample_weight)


def average_precision(
    y_true: Any,
    scores: npt.ArrayLike,
    *,
    formula: Literal["usual", "literal"] = "usual",
    sample_weight: npt.ArrayLike | None = None,
) -> float:
    r"""Return how many of the labels ranked down to a true one are true, on average.

    .. math:: \frac{1}{n} \sum_i \frac{1}{|Y_i|} \sum_{y \in Y_i} \frac{
        |\{ y' \in Y_i : \mathrm{rank}_i(y') \le \mathrm{rank}_i(y) \}|}{\mathrm{rank}_i(y)}

    Rows with no label count as 1, like rows with all labels. Without ties this is scikit-learn's
    `label_ranking_average_precision_score`, which gives tied labels the last of their ranks.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n_samples, n_labels)
        The indicator of the true labels, 0 and 1 only.
    scores : array-like of shape (n_samples, n_labels)
    formula : {"usual", "literal"}, default="usual"
        "literal" is the formula as the paper prints it, with < in place of <=. It is nonsense: a
        true label does not count itself, so that rows with a single label get 0 however they are
        ranked, and no ranking reaches 1. The figures in the paper cannot have come from it.
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
    >>> average_precision([[1, 0, 0], [0, 0, 1]], [[3, 2, 1], [3, 1, 2]], formula="literal")
    0.0
    """
    if formula not in ("usual", "literal"):
        raise ValueError(f"formula={formula!r} is not known; needed 'usual' or 'literal'")
    truth, scores = as_indicator("y_true", y_true), as_scores(scores)
    check_shapes("scores", scores.shape, truth.shape)
    ranks = np.arange(1, scores.shape[1] + 1)
    itself = 0 if formula == "usual" else 1
    precision = np.empty(len(scores))
    for rows in chunks(scores.shape):
        order = np.argsort(-scores[rows], axis=1, kind="stable")
        labels = np.take_along_axis(dense_part(truth, rows), order, axis=1)
        shares = np.where(labels, (labels.cumsum(axis=1) - itself) / ranks, 0.0)
        number = labels.sum(axis=1)
        precision[rows] = np.where(number, shares.sum(axis=1) / np.maximum(number, 1), 1.0)
    return mean_of(precision, sample_weight)
