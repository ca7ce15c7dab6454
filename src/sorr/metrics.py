"""Accuracies, errors and average precision of classes and of label sets.

Scores are ranked from the largest. Among equal scores the first one has the better rank, as in the
predictions of our estimators. Infinite scores have a rank, NaN has none. Weights are mass: a row
of weight two counts as two rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sorr._checks import as_classes, as_indicator, as_label_count, as_masses, as_vector
from sorr._typing import BoolArray, FloatArray
from sorr.losses import is_top

__all__ = ["average_precision", "class_wise_error", "topk_accuracy", "topk_multilabel_accuracy"]

_CHUNK_SIZE = 2**20  # scores that are ranked at a time

# -- One class for each row ------------------------------------------------------------------------


def topk_accuracy(
    y_true: npt.ArrayLike,
    scores: npt.ArrayLike,
    ks: int | Sequence[int] = (1, 2, 3, 4, 5),
    *,
    classes: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
) -> FloatArray:
    """Return the share of rows whose class is among the k that score best, for each k.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The class of each row.
    scores : array-like of shape (n_samples, n_classes) or (n_samples,)
        One column for each class. With two classes, the score of the second class is enough; that
        class is best where its score is positive.
    ks : int or sequence of int, default=(1, 2, 3, 4, 5)
        How many classes are predicted: fewer than there are.
    classes : array-like of shape (n_classes,), optional
        The class of each column, such as ``classes_`` of a classifier. By default the sorted
        classes in `y_true`; then each column needs one.
    sample_weight : array-like of shape (n_samples,), optional
        The mass of each row.

    Returns
    -------
    ndarray of shape (len(ks),)

    Examples
    --------
    >>> topk_accuracy(["a", "b", "c"], [[3, 2, 1], [3, 2, 1], [3, 2, 1]], ks=[1, 2])
    array([0.33333333, 0.66666667])
    """
    labels, scores = as_vector("y_true", y_true), _as_scores(scores, may_be_flat=True)
    if scores.ndim == 1:
        scores = np.stack([np.zeros(len(scores)), scores], axis=1)
    names, index = as_classes("y_true", labels, classes)
    if len(names) != scores.shape[1]:
        given = "y_true holds" if classes is None else "classes holds"
        raise ValueError(
            f"{given} {len(names)} classes, and scores has {scores.shape[1]} columns; needed one "
            "column for each: pass classes, such as model.classes_"
        )
    _check_shapes("scores", scores.shape[:1], labels.shape)
    counts = [
        as_label_count(k, len(names), "classes", "; pass ks, such as ks=[1]")
        for k in np.atleast_1d(np.asarray(ks, object))
    ]
    places = np.empty(len(labels), dtype=np.intp)  # how many classes rank before the true one
    for rows in _chunks(scores.shape):
        part, column = scores[rows], index[rows, None]
        own = np.take_along_axis(part, column, axis=1)
        is_before = (part == own) & (np.arange(len(names)) < column)
        places[rows] = np.count_nonzero((part > own) | is_before, axis=1)
    return np.array([_mean(places < k, sample_weight) for k in counts])


def class_wise_error(
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    *,
    classes: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
) -> FloatArray:
    """Return, for each class, the share of its rows that are predicted as another class.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        The class of each row, and the one that was predicted.
    classes : array-like of shape (n_classes,), optional
        The classes in the order of the result. By default the sorted classes in `y_true`.
    sample_weight : array-like of shape (n_samples,), optional
        The mass of each row.

    Returns
    -------
    ndarray of shape (n_classes,)
        NaN for a class without rows.

    Examples
    --------
    >>> class_wise_error([2, 2, 7, 7], [2, 7, 7, 7])
    array([0.5, 0. ])
    """
    labels, predicted = as_vector("y_true", y_true), as_vector("y_pred", y_pred)
    _check_shapes("y_pred", predicted.shape, labels.shape)
    if _holds_strings(labels) != _holds_strings(predicted):
        raise TypeError(
            f"y_true is of type {labels.dtype}, y_pred of {predicted.dtype}, and only one of them "
            "holds strings, so no prediction can be right; needed one type for both"
        )
    names, index = as_classes("y_true", labels, classes)
    mass = as_masses(sample_weight, len(labels))
    mass = np.ones(len(labels)) if mass is None else mass
    wrong = np.bincount(index, mass * (labels != predicted), len(names))
    total = np.bincount(index, mass, len(names))
    error = np.full(len(names), np.nan)
    error[total > 0] = wrong[total > 0] / total[total > 0]
    return error


def _holds_strings(names: npt.NDArray[Any]) -> bool:
    """Tell whether classes are strings, in an array of strings or of objects."""
    return names.dtype.kind in "UT" or isinstance(names.flat[0], str)


# -- A set of labels for each row ------------------------------------------------------------------


def topk_multilabel_accuracy(
    y_true: Any, scores: npt.ArrayLike, *, k: int, sample_weight: npt.ArrayLike | None = None
) -> float:
    r"""Return the share of rows whose k best labels are all true, or contain all true labels.

    .. math:: \frac{1}{n} \sum_i \big[ Z_i \subseteq Y_i \text{ or } Y_i \subseteq Z_i \big]

    :math:`Y_i` are the true labels of row i, and :math:`Z_i` the k labels with the best scores.
    Rows with no label or with all labels therefore count as right.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n_samples, n_labels)
        The indicator of the true labels: 0 and 1 only.
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
    truth, scores = _as_truth_and_scores(y_true, scores)
    count = as_label_count(k, scores.shape[1])
    is_right = np.empty(len(scores), dtype=bool)
    for rows in _chunks(scores.shape):
        labels = _as_dense(truth[rows])
        n_right = np.count_nonzero(labels & is_top(scores[rows], count), axis=1)
        is_right[rows] = n_right == np.minimum(np.count_nonzero(labels, axis=1), count)
    return _mean(is_right, sample_weight)


def average_precision(
    y_true: Any, scores: npt.ArrayLike, *, sample_weight: npt.ArrayLike | None = None
) -> float:
    r"""Return how many of the labels ranked down to a true one are true, on average.

    .. math:: \frac{1}{n} \sum_i \frac{1}{|Y_i|} \sum_{y \in Y_i} \frac{
        |\{ y' \in Y_i : \mathrm{rank}_i(y') \le \mathrm{rank}_i(y) \}|}{\mathrm{rank}_i(y)}

    Rows with no label count as 1, like rows with all labels. Without ties this is scikit-learn's
    `label_ranking_average_precision_score`, which gives tied labels the last of their ranks.
    The paper prints the formula with < instead of <=. Then a true label does not count itself and
    no ranking reaches 1; the numbers in the paper cannot come from that formula.

    Parameters
    ----------
    y_true : array-like or sparse matrix of shape (n_samples, n_labels)
        The indicator of the true labels: 0 and 1 only.
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
    truth, scores = _as_truth_and_scores(y_true, scores)
    ranks = np.arange(1, scores.shape[1] + 1)
    precision = np.empty(len(scores))
    for rows in _chunks(scores.shape):
        order = np.argsort(-scores[rows], axis=1, kind="stable")
        labels = np.take_along_axis(_as_dense(truth[rows]), order, axis=1)
        shares = np.where(labels, labels.cumsum(axis=1) / ranks, 0.0)
        n_true = labels.sum(axis=1)
        precision[rows] = np.where(n_true, shares.sum(axis=1) / np.maximum(n_true, 1), 1.0)
    return _mean(precision, sample_weight)


# -- Arguments and parts of the work ---------------------------------------------------------------


def _as_truth_and_scores(y_true: Any, scores: npt.ArrayLike) -> tuple[Any, FloatArray]:
    """Return an indicator and the scores of its labels, of the same shape."""
    hint = ""
    if np.ndim(y_true) == 1:
        hint = ": topk_accuracy takes one class for each row"
        if np.asarray(y_true).dtype.kind == "O":
            hint = ": MultiLabelBinarizer of scikit-learn makes one from sets of labels"
    truth, scores = as_indicator("y_true", y_true, hint), _as_scores(scores)
    _check_shapes("scores", scores.shape, truth.shape)
    return truth, scores


def _as_scores(scores: npt.ArrayLike, may_be_flat: bool = False) -> FloatArray:
    """Return scores, a row of them for each sample, without NaN."""
    array = np.asarray(scores)
    if array.ndim != 2 and not (may_be_flat and array.ndim == 1):
        raise ValueError(
            f"scores has shape {array.shape}; needed one row for each sample and one column for "
            "each label"
        )
    array = array.astype(np.float64, copy=False)
    if np.isnan(array).any():
        raise ValueError("scores holds NaN, which has no rank; needed numbers")
    return array


def _check_shapes(name: str, shape: tuple[int, ...], truth: tuple[int, ...]) -> None:
    if shape != truth:
        raise ValueError(f"{name} has shape {shape}, y_true {truth}; needed the same shape")


def _chunks(shape: tuple[int, ...]) -> Iterator[slice]:
    """Yield rows that are few enough to be ranked at a time."""
    size = max(1, _CHUNK_SIZE // shape[1])
    for begin in range(0, shape[0], size):
        yield slice(begin, begin + size)


def _as_dense(part: Any) -> BoolArray:
    """Return rows of an indicator as an array."""
    return np.asarray(part.toarray() if hasattr(part, "toarray") else part)


def _mean(values: npt.NDArray[Any], sample_weight: npt.ArrayLike | None) -> float:
    """Return the mean of one value for each row, by mass."""
    mass = as_masses(sample_weight, len(values))
    return float(values.mean() if mass is None else (values * mass).sum() / mass.sum())
