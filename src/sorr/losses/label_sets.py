"""The scores within a set of labels, one set for each sample: their extremes."""

from __future__ import annotations

import numpy as np

from sorr.losses.base import FloatArray, Target
from sorr.ranked import ranked_range_weights

__all__ = ["largest", "largest_weights", "smallest", "smallest_weights", "split"]


def split(f: FloatArray, y: Target) -> tuple[FloatArray, FloatArray]:
    """Return the scores inside and outside a set, with minus infinity in the other places."""
    return np.where(y, f, -np.inf), np.where(y, -np.inf, f)


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
