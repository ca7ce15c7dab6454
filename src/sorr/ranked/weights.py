"""How much each value counts in a ranked range: the tie rule, written once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sorr._typing import BoolArray, FloatArray, Weight
from sorr.ranked.narrow import is_long, merge_block, narrow
from sorr.ranked.rows import map_rows
from sorr.ranked.select import extremes
from sorr.ranked.types import Ends

__all__ = ["ranked_range_weights"]


def ranked_range_weights(
    values: npt.ArrayLike,
    m: int | float = 0,
    k: int | float | None = None,
    *,
    sample_weight: npt.ArrayLike | None = None,
) -> FloatArray:
    r"""Return the share of each value in the ranked range; the shares add up to ``k - m``.

    A value inside the range counts with its whole weight (one, unless `sample_weight` is given),
    a value outside with zero. Values tied at an end of the range share what the range takes of
    them, each in proportion to its weight: the mean over all ways to break the tie. The result
    is a subgradient of the sum with respect to the values,

    .. math:: \psi_{m,k}(s) = \sum_i v_i s_i, \qquad v \in \partial \psi_{m,k}(s),

    in the sense of Clarke where m > 0 and the sum is not convex.

    Parameters
    ----------
    values : array-like of shape (..., n)
        Individual losses in any order, without NaN.
    m, k : int, float or Mass
        The ranks to keep, ``m + 1`` to ``k``; see `RankedRange`.
    sample_weight : array-like of shape (n,) or (..., n), optional
        The mass of each value: a value of weight 2 counts as two copies of it.

    Returns
    -------
    ndarray of shape (..., n)
        Of the dtype of the values.

    Examples
    --------
    >>> ranked_range_weights([4.0, 1.0, 2.0, 2.0], m=1, k=2)
    array([0. , 0. , 0.5, 0.5])
    """
    return map_rows(_weights, values, m, k, sample_weight)


def _weights(values: FloatArray, ends: Ends, weight: Weight | None) -> FloatArray:
    if values.ndim == 1 and is_long(values, weight):
        if weight is not None and (merged := merge_block(values, weight)):
            inner = _weights(merged.values, ends, merged.weight)
            mass, rows = merged.weight[-1], merged.rows
            del merged  # two arrays that are not needed any more
            shares = np.multiply(weight, inner[-1] / mass if mass > 0 else 0, dtype=values.dtype)
            shares[rows] = inner[:-1]
            return shares
        shares = np.empty_like(values)
        narrowed = narrow(values, ends, weight, shares=shares)
        if narrowed is not None:
            if weight is not None:
                shares *= weight
            shares[narrowed.rows] = _weights(narrowed.values, narrowed.ends, narrowed.weight)
            return shares
    largest, smallest = extremes(values, ends, weight)
    inside = np.ones(values.shape, dtype=bool)
    if largest is not None:
        inside &= values < largest[..., None]
    if smallest is not None:
        inside &= values > smallest[..., None]
    shares = inside.astype(values.dtype)
    if largest is not None:
        _share_ties(shares, values, largest, ends, weight)
        if smallest is not None:  # a block of ties that holds both ends of the range counts once
            smallest = np.where(smallest < largest, smallest, np.nan)
    if smallest is not None:
        _share_ties(shares, values, smallest, ends, weight)
    if weight is not None:
        shares *= weight
    return shares


def _share_ties(
    shares: FloatArray, values: FloatArray, end: FloatArray, ends: Ends, weight: Weight | None
) -> None:
    """Share what the range takes of the values equal to `end` evenly among them."""
    tied = values == end[..., None]
    larger, mass = _mass(values > end[..., None], weight), _mass(tied, weight)
    kept = np.minimum(ends.k, larger + mass) - np.maximum(ends.m, larger)
    share = np.clip(kept / np.where(mass > 0, mass, 1), 0, 1)
    if values.ndim == 1:
        shares[np.flatnonzero(tied)] = share  # where few are tied, this is all but free
    else:
        shares += (tied * share[..., None]).astype(values.dtype, copy=False)


def _mass(mask: BoolArray, weight: Weight | None) -> FloatArray:
    if weight is None and mask.ndim == 1:
        return np.asarray(np.count_nonzero(mask))
    # A product adds up many short rows ten times faster than a sum along the axis.
    return np.asarray(mask @ (np.ones(mask.shape[-1]) if weight is None else weight))
