"""Rows that are copies of each other, put together: one row with their mass."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["merge_copies"]

_WORTH = 0.75  # of the rows that may be left if masses are to be introduced, which cost time


def merge_copies(
    X: npt.NDArray[Any], target: npt.NDArray[Any], weight: npt.NDArray[np.float64] | None
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64] | None]:
    """Return which rows stand for all, in an order that is theirs alone, and their masses.

    A search on what is returned draws the same candidates whether rows were repeated or given a
    weight, and in whatever order they came. Few copies of rows without weights are left alone.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    target : ndarray of shape (n_samples,)
        Numbers.
    weight : ndarray of shape (n_samples,) or None
        Their masses so far.

    Returns
    -------
    rows : ndarray of int
    weight : ndarray or None
        None if all masses are one.

    Examples
    --------
    >>> X, y = np.array([[2.0], [1.0], [2.0]]), np.array([0.0, 0.0, 0.0])
    >>> rows, weight = merge_copies(X, y, None)
    >>> sorted(zip(X[rows, 0].tolist(), weight.tolist()))
    [(1.0, 1.0), (2.0, 2.0)]
    """
    table = np.column_stack([X, target]).astype(np.float64) + 0.0  # there is no minus zero
    size = table.shape[1] * table.itemsize
    keys = np.ascontiguousarray(table).view(np.dtype((np.void, size))).ravel()
    _, rows, index = np.unique(keys, return_index=True, return_inverse=True)
    if weight is None and len(rows) > _WORTH * len(X):
        return np.arange(len(X)), None
    mass = np.bincount(index, weight, len(rows)).astype(np.float64)
    return rows, None if np.all(mass == 1) else mass
