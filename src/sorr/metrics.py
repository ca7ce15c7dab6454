"""How often labels are ranked or predicted right: top-k accuracies, average precision, errors.

Scores are ranked from the largest. Of tied scores the one that comes first ranks first, as in the
predictions of our estimators; infinite scores have their rank, NaN has none. Weights are mass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sorr._checks import as_masses
from sorr._typing import FloatArray
from sorr.losses import is_top

__all__ = ["average_precision", "class_wise_error", "topk_accuracy", "topk_multilabel_accuracy"]

_CHUNK = 2**20  # scores that are ranked at a time


def as_indicator(name: str, y: Any) -> Any:
    """Return an indicator as an array of bool, a CSR array if it is sparse."""
    is_sparse = sparse.issparse(y)
    matrix: Any = sparse.csr_array(y) if is_sparse else np.asarray(y)
    if matrix.ndim != 2 or 0 in matrix.shape:
        hint = ""
        if matrix.ndim == 1:
            hint = ": topk_accuracy takes one class for each row"
        if matrix.ndim == 1 and matrix.dtype.kind == "O":
            hint = ": MultiLabelBinarizer of scikit-learn makes one of sets of labels"
        raise ValueError(
            f"{name} has shape {matrix.shape}; needed an indicator of shape (n_samples, n_labels)"
            + hint
        )
    if is_sparse and not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    if matrix.dtype.kind == "O" and all(isinstance(entry, Integral) for entry in matrix.flat):
        matrix = matrix.astype(np.int64)
    entries = matrix.data if is_sparse else matrix
    if matrix.dtype.kind not in "fiub" or not np.all((entries == 0) | (entries == 1)):
        raise ValueError(
            f"{name} holds entries other than 0 and 1; needed an indicator: y > 0 marks positive "
            "entries"
        )
    return matrix.astype(bool)


def as_scores(scores: npt.ArrayLike, may_be_flat: bool = False) -> FloatArray:
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


def as_vector(name: str, y: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return one class for each row."""
    array = np.asarray(y)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} has shape {array.shape}; needed one class for each row")
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise ValueError(f"{name} holds NaN; needed one class for each row")
    return array


def as_classes(
    labels: npt.NDArray[Any], classes: npt.ArrayLike | None
) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    """Return the classes, and the place of each row's among them."""
    present, index = np.unique(labels, return_inverse=True)
    if classes is None:
        return present, index
    names = as_vector("classes", classes)
    place = {name: j for j, name in enumerate(names.tolist())}
    if len(place) < len(names):
        raise ValueError("classes holds a class more than once; needed each of them once")
    for name in present.tolist():
        if name not in place:
            raise ValueError(
                f"y_true holds {name!r}, which is none of the classes; needed some of "
                f"{', '.join(map(repr, place))}"
            )
    return names, np.array([place[name] for name in present.tolist()], dtype=np.intp)[index]


def as_number_of_labels(k: Any, n_labels: int, what: str) -> int:
    """Return how many labels are predicted: fewer than there are."""
    if isinstance(k, bool | np.bool_) or not isinstance(k, Integral):
        raise TypeError(
            f"k={k!r} is of type {type(k).__name__}; needed a number of {what}, an int such as k=1"
        )
    count = int(k)
    if not 1 <= count < n_labels:
        raise ValueError(
            f"k={count} {what} cannot be chosen among {n_labels}; needed 1 <= k < {n_labels}: "
            "with all of them every prediction is right"
        )
    return count


def check_shapes(name: str, shape: tuple[int, ...], truth: tuple[int, ...]) -> None:
    """Refuse what has another shape than the truth."""
    if shape != truth:
        raise ValueError(f"{name} has shape {shape}, y_true {truth}; needed the same shape")


def chunks(shape: tuple[int, ...]) -> Iterator[slice]:
    """Yield rows that are few enough to be ranked at a time."""
    size = max(1, _CHUNK // shape[1])
    for begin in range(0, shape[0], size):
        yield slice(begin, begin + size)


def dense_part(indicator: Any, rows: slice) -> npt.NDArray[np.bool_]:
    """Return some rows of an indicator."""
    part: Any = indicator[rows]
    return np.asarray(part.toarray() if sparse.issparse(indicator) else part)


def mean_of(values: npt.NDArray[Any], sample_weight: npt.ArrayLike | None) -> float:
    """Return the mean of one value for each row, by mass."""
    mass = as_masses(sample_weight, len(values))
    return float(values.mean() if mass is None else (values * mass).sum() / mass.sum())


# -- Metrics of one class for each row -------------------------------------------------------------


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
        One column for each class; with two classes it may be the score of the second only, which
        is best where it is positive.
    ks : int or sequence of int, default=(1, 2, 3, 4, 5)
        How many classes are predicted, fewer than there are.
    classes : array-like of shape (n_classes,), optional
        The class of each column, such as ``classes_`` of a classifier. Without it, the classes in
        `y_true`, sorted: each column has to have one.
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
    labels, scores = as_vector("y_true", y_true), as_scores(scores, may_be_flat=True)
    if scores.ndim == 1:
        scores = np.stack([np.zeros(len(scores)), scores], axis=1)
    names, index = as_classes(labels, classes)
    if len(names) != scores.shape[1]:
        given = "y_true holds" if classes is None else "classes holds"
        raise ValueError(
            f"{given} {len(names)} classes, and scores has {scores.shape[1]} columns; needed one "
            "column for each: pass classes, such as model.classes_"
        )
    check_shapes("scores", scores.shape[:1], labels.shape)
    try:
        counts = [
            as_number_of_labels(k, len(names), "classes")
            for k in np.atleast_1d(np.asarray(ks, object))
        ]
    except ValueError as error:
        raise ValueError(f"{error}; pass ks, such as ks=[1]") from None
    places = np.empty(len(labels), dtype=np.intp)  # how many classes rank before the true one
    for rows in chunks(scores.shape):
        part, column = scores[rows], index[rows, None]
        own = np.take_along_axis(part, column, axis=1)
        is_before = (part == own) & (np.arange(len(names)) < column)
        places[rows] = np.count_nonzero((part > own) | is_before, axis=1)
    return np.array([mean_of(places < k, sample_weight) for k in counts])


def class_wise_error(
    y_true: npt.ArrayLike,
    y_pred: npt.ArrayLike,
    *,
    classes: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
) -> FloatArray:
    """Return the share of the rows of each class that are predicted as another.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        The class of each row, and the one that was predicted.
    classes : array-like of shape (n_classes,), optional
        The classes in the order of the result; without it, those in `y_true`, sorted.
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
    labels, guess = as_vector("y_true", y_true), as_vector("y_pred", y_pred)
    check_shapes("y_pred", guess.shape, labels.shape)
    if _holds_strings(labels) != _holds_strings(guess):
        raise TypeError(
            f"y_true is of type {labels.dtype}, y_pred of {guess.dtype}, and only one of them "
            "holds strings, so that no prediction can be right; needed one type for both"
        )
    names, index = as_classes(labels, classes)
    mass = as_masses(sample_weight, len(labels))
    mass = np.ones(len(labels)) if mass is None else mass
    wrong = np.bincount(index, mass * (labels != guess), len(names))
    total = np.bincount(index, mass, len(names))
    error = np.full(len(names), np.nan)
    error[total > 0] = wrong[total > 0] / total[total > 0]
    return error


def _holds_strings(names: npt.NDArray[Any]) -> bool:
    """Tell whether classes are strings, as an array of them or one of objects."""
    return names.dtype.kind in "UT" or isinstance(names.flat[0], str)


# -- Metrics of sets of labels ---------------------------------------------------------------------


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
    count = as_number_of_labels(k, scores.shape[1], "labels")
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
