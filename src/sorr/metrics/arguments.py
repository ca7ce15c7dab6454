"""What metrics take: indicators, scores and classes, checked, and in parts of modest size."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sorr._typing import FloatArray
from sorr.objectives.groups import as_masses

__all__ = [
    "as_classes",
    "as_count",
    "as_indicator",
    "as_scores",
    "as_vector",
    "check_shapes",
    "chunks",
    "dense_part",
    "mean_of",
]

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


def as_count(k: Any, n_labels: int, what: str) -> int:
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
