"""Which values of a row rank from m + 1 to k: by partition, or by sorting if they have weights.

At most two single-cut partitions, one after the other: one call with two cuts is slower than a
full sort. The negative values are partitioned, because NumPy's partition degrades (to three
times the time of a sort) where the rank falls into a block of equal values, unless that block is
the largest: and the block that losses have, if any, is their smallest value, zero.
"""

from __future__ import annotations

import numpy as np

from sorr.ranked.types import Ends, FloatArray, Weight

__all__ = ["extremes", "kept_segments", "kept_slice", "kth"]


def kept_slice(values: FloatArray, ends: Ends) -> FloatArray:
    """Return the values at ranks m + 1 to k of each row, in no particular order."""
    m, k = int(ends.m), int(ends.k)
    if m >= k:
        return values[..., :0]
    n = values.shape[-1]
    if m == 0 and k == n:
        return values
    negative = -values
    if k < n:
        negative.partition(k - 1, axis=-1)
    if m > 0:
        negative[..., :k].partition(m, axis=-1)
    return np.asarray(-negative[..., m:k])  # not in place: NumPy 2.4 negates strided views wrongly


def kept_segments(values: FloatArray, ends: Ends, weight: Weight) -> tuple[FloatArray, Weight]:
    """Return each row in descending order, and how much of the mass of each value is kept.

    Laid end to end, the values are segments as long as their weights; kept is the stretch from
    mass m to mass k.
    """
    order = np.argsort(-values, axis=-1)
    edges = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
    np.cumsum(weight[order], axis=-1, out=edges[..., 1:])
    for end, slack in ((ends.m, ends.m_slack), (ends.k, ends.k_slack)):
        edges[np.abs(edges - end) <= slack] = end
    kept = np.minimum(edges[..., 1:], ends.k) - np.maximum(edges[..., :-1], ends.m)
    return np.take_along_axis(values, order, axis=-1), np.maximum(kept, 0.0)


def kth(values: FloatArray, ends: Ends, weight: Weight | None) -> FloatArray:
    """Return the value at rank k of each row."""
    if weight is not None:
        return extremes(values, ends._replace(m=0), weight)[1]
    k = int(ends.k)
    negative = -values
    negative.partition(k - 1, axis=-1)
    return np.asarray(-negative[..., k - 1])


def extremes(
    values: FloatArray, ends: Ends, weight: Weight | None
) -> tuple[FloatArray, FloatArray]:
    """Return the largest and the smallest value kept in each row: NaN where nothing is kept."""
    if weight is None:
        kept = kept_slice(values, ends)
        if kept.shape[-1] == 0:
            return _nothing(values)
        return np.asarray(kept.max(axis=-1)), np.asarray(kept.min(axis=-1))
    ordered, mass = kept_segments(values, ends, weight)
    if mass.shape[-1] == 0:
        return _nothing(values)
    largest = np.argmax(mass > 0, axis=-1)
    smallest = mass.shape[-1] - 1 - np.argmax(mass[..., ::-1] > 0, axis=-1)
    pair = np.take_along_axis(ordered, np.stack([largest, smallest], axis=-1), axis=-1)
    pair = np.where((mass > 0).any(axis=-1, keepdims=True), pair, np.nan)
    return pair[..., 0], pair[..., 1]


def _nothing(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    return np.full(values.shape[:-1], np.nan), np.full(values.shape[:-1], np.nan)
