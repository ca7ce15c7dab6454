"""The scores within a set of labels, one set for each sample: their extremes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.losses.base import Target
from sorr.ranked import ranked_range_weights

__all__ = ["is_top", "largest", "largest_weights", "smallest", "smallest_weights", "split"]


def split(f: FloatArray, y: Target) -> tuple[FloatArray, FloatArray]:
    """Return the scores inside and outside a set, with minus infinity in the other places."""
    return np.where(y, f, -np.inf), np.where(y, -np.inf, f)


def is_top(f: FloatArray, k: int | npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Tell which scores are the k largest of each sample; of ties, those that come first are."""
    top: npt.NDArray[np.bool_]
    if isinstance(k, int) and k == 1:
        top = np.equal(f, f.max(axis=1, keepdims=True))
        if np.count_nonzero(top) > len(f):
            tied = np.flatnonzero(np.count_nonzero(top, axis=1) > 1)
            top[tied] = np.arange(f.shape[1]) == f[tied].argmax(axis=1)[:, None]
        return top
    top = np.zeros(f.shape, dtype=bool)
    order = np.argsort(-f, axis=1, kind="stable")
    first = np.arange(f.shape[1]) < np.reshape(k, (-1, 1))
    np.put_along_axis(top, order, np.broadcast_to(first, f.shape), axis=1)
    return top


def largest(f: FloatArray, among: Target) -> FloatArray:
    """Return the largest score of a set: minus infinity if it is empty."""
    return np.asarray(np.where(among, f, -np.inf).max(axis=1))


def smallest(f: FloatArray, among: Target) -> FloatArray:
    """Return the smallest score of a set: infinity if it is empty."""
    return np.asarray(np.where(among, f, np.inf).min(axis=1))


def largest_weights(f: FloatArray, among: Target) -> FloatArray:
    """Return the gradient of `largest`: labels tied for it share equally."""
    return ranked_range_weights(np.where(among, f, -np.inf), 0, 1)


def smallest_weights(f: FloatArray, among: Target) -> FloatArray:
    """Return the gradient of `smallest`."""
    return largest_weights(-f, among)
