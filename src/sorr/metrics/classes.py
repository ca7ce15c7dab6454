"""Metrics of one class for each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.metrics.arguments import (
    as_classes,
    as_count,
    as_scores,
    as_vector,
    check_shapes,
    chunks,
    mean_of,
)
from sorr.objectives.groups import as_masses

__all__ = ["class_wise_error", "topk_accuracy"]


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
        counts = [as_count(k, len(names), "classes") for k in np.atleast_1d(np.asarray(ks, object))]
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
