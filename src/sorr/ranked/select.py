"""Which values of a row rank from m + 1 to k: by partition, or by sorting if they have weights.

At most two single-cut partitions, one after the other: one call with two cuts is slower than a
full sort. The negative values are partitioned, because NumPy's partition degrades (to several
times the time of a sort) where the rank falls into a block of equal values, unless that block is
the largest: and the block that losses have, if any, is their smallest value, zero.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sorr._typing import BoolArray, FloatArray, Weight
from sorr.ranked.types import Ends

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
    edges = weight[order]
    np.cumsum(edges, axis=-1, out=edges)
    m_slack, k_slack = ends.slacks(values.shape[-1])
    # A sliver between an end and the edge of a segment is rounding: it must not pull a discarded
    # value, perhaps an infinite one, back into the range.
    edges[(edges >= ends.m - m_slack) & (edges <= ends.m + m_slack)] = ends.m
    edges[(edges >= ends.k - k_slack) & (edges <= ends.k + k_slack)] = ends.k
    np.clip(edges, ends.m, ends.k, out=edges)
    kept = np.diff(edges, axis=-1, prepend=ends.m)
    return np.take_along_axis(values, order, axis=-1), kept


def kth(values: FloatArray, ends: Ends, weight: Weight | None) -> FloatArray:
    """Return the value at rank k of each row."""
    if weight is not None:
        ordered, mass = kept_segments(values, ends, weight)
        return _pick(ordered, _last(mass > 0))
    k = int(ends.k)
    negative = -values
    negative.partition(k - 1, axis=-1)
    return np.asarray(-negative[..., k - 1])


def extremes(
    values: FloatArray, ends: Ends, weight: Weight | None
) -> tuple[FloatArray | None, FloatArray | None]:
    """Return the largest and the smallest value kept in each row.

    None stands for an end that cuts nothing off, NaN for rows of which nothing is kept.
    """
    if values.shape[-1] == 0 or ends.k <= ends.m:
        nothing = np.full(values.shape[:-1], np.nan)
        return nothing, nothing
    if weight is None:
        m, k = int(ends.m), int(ends.k)
        largest, smallest = None, None
        negative = -values
        if k < values.shape[-1]:
            negative.partition(k - 1, axis=-1)
            smallest = -negative[..., k - 1]
        if m > 0:
            negative[..., :k].partition(m, axis=-1)
            largest = -negative[..., m]
        return largest, smallest
    ordered, mass = kept_segments(values, ends, weight)
    kept = mass > 0
    some = kept.any(axis=-1)
    largest = np.where(some, _pick(ordered, np.argmax(kept, axis=-1)), np.nan)
    smallest = np.where(some, _pick(ordered, _last(kept)), np.nan)
    return largest if ends.m > 0 else None, smallest


def _last(kept: BoolArray) -> npt.NDArray[np.intp]:
    return np.asarray(kept.shape[-1] - 1 - np.argmax(kept[..., ::-1], axis=-1))


def _pick(rows: FloatArray, index: npt.NDArray[np.intp]) -> FloatArray:
    return np.asarray(np.take_along_axis(rows, np.expand_dims(index, -1), axis=-1)[..., 0])
