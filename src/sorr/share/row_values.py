"""What rows are: equal to others, numbers or not, dense or sparse."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from sorr._typing import BoolArray, FloatArray, IntArray
from sorr.share.constants import CATEGORY

_LARGEST_NUMBER = 1e30  # trees count in single precision


class EqualRows(NamedTuple):
    """Which rows have equal values: few of them are copies, many are a category."""

    group: IntArray
    """A number for each row that all rows of equal values share."""
    is_category: BoolArray
    copies: IntArray
    """A number for each row that its copies share; each row of a category is on its own."""


def find_equal_rows(X: Any, weight: FloatArray | None = None) -> EqualRows:
    """Return which rows have equal values; those without weight make no category."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    group = np.unique(_row_keys(X, n), return_inverse=True)[1]
    sizes = np.bincount(group, None if weight is None else weight > 0)
    is_category = sizes[group] >= CATEGORY
    copies = np.where(is_category, len(sizes) + np.arange(n), group)
    return EqualRows(group, is_category, _number_by_first(copies))


def _number_by_first(group: IntArray) -> IntArray:
    """Return groups numbered by their first rows, however they were numbered before."""
    _, first, group = np.unique(group, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.intp)
    number[np.argsort(first)] = np.arange(len(first))
    return np.asarray(number[group])


def _row_keys(X: Any, n: int) -> npt.NDArray[Any]:
    """Return one number for each row, equal for rows of equal values."""
    if is_sparse(X):
        rows = X.tocsr().copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
        edges = rows.indptr
        texts = [rows.indices[a:b].tobytes() + rows.data[a:b].tobytes() for a, b in pairwise(edges)]
        return np.array([hash(text) for text in texts])
    if hasattr(X, "columns"):
        from pandas.util import hash_pandas_object

        return np.asarray(hash_pandas_object(as_pandas(X), index=False))
    array = np.asarray(X)
    if array.dtype.kind not in "fiub":
        return np.array([hash(repr(row)) for row in array.reshape(n, -1).tolist()])
    numbers = np.ascontiguousarray(array.reshape(n, -1) + 0.0, dtype=np.float64)  # -0.0 is 0.0
    mixed = np.zeros(n, dtype=np.uint64)
    for column in numbers.T:  # a hash of 64 bits, column by column, without a copy of all
        mixed = (mixed ^ column.copy().view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed


def as_pandas(frame: Any) -> Any:
    """Return a frame of pandas."""
    return frame.to_pandas() if hasattr(frame, "to_pandas") else frame


def is_numeric(dtype: Any) -> bool:
    """Tell whether a column of a frame holds numbers."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return bool(is_numeric_dtype(dtype) or is_bool_dtype(dtype))


def bound_numbers(X: Any) -> Any:
    """Return numbers as they are, but none so large that trees do not take them."""
    if is_sparse(X):
        return X
    array = number_columns(X) if hasattr(X, "columns") else np.asarray(X)
    is_large = np.abs(array) > _LARGEST_NUMBER
    return np.clip(array, -_LARGEST_NUMBER, _LARGEST_NUMBER) if is_large.any() else X


def number_columns(frame: Any) -> FloatArray:
    """Return the columns of a frame as numbers: texts, dates and categories by their place.

    Missing values are missing numbers.
    """
    given, columns = as_pandas(frame), []
    for place, dtype in enumerate(given.dtypes):
        column = given.iloc[:, place]
        if not is_numeric(dtype):
            codes = column.astype("category").cat.codes
            column = codes.where(codes >= 0)
        columns.append(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.column_stack(columns)


def merge_groups(one: IntArray, other: npt.NDArray[Any]) -> IntArray:
    """Return groups such that rows which share a group of either kind are together."""
    if len(other) != len(one):
        raise ValueError(f"groups has {len(other)} entries; needed one for each of {len(one)} rows")
    other = np.unique(other, return_inverse=True)[1]
    n_one, n_other = int(one.max()) + 1, int(other.max()) + 1
    links = sparse.coo_array(
        (np.ones(len(one)), (one, n_one + other)), shape=2 * (n_one + n_other,)
    )
    return np.asarray(connected_components(links, directed=False)[1][one], dtype=np.intp)


def is_sparse(X: Any) -> bool:
    """Tell whether rows are sparse."""
    return bool(sparse.issparse(X))


def assign_folds(
    index: IntArray, together: IntArray, n_folds: int, rng: np.random.Generator
) -> IntArray:
    """Return the fold of each row: groups stay together, and classes are spread evenly.

    A group goes by the class of its first row. Folds differ by a group of each class at most.
    """
    _, first, group = np.unique(together, return_index=True, return_inverse=True)
    order = rng.permutation(len(first))
    order = order[np.argsort(index[first][order], kind="stable")]
    fold = np.empty(len(first), dtype=np.intp)
    fold[order] = np.arange(len(first)) % n_folds
    return np.asarray(fold[group])
