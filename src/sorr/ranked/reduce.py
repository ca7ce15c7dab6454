"""A ranked range reduced to numbers: sums and averages, and the values at its two ends."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray, Weight
from sorr.ranked.narrow import is_long, merge_blocks, narrow
from sorr.ranked.rows import map_rows, plain, refuse_nan
from sorr.ranked.select import kept_segments, kept_slice, kth
from sorr.ranked.types import Ends

__all__ = [
    "Thresholds",
    "average_ranked_range",
    "kth_largest",
    "sum_ranked_range",
    "thresholds",
    "top_sum",
]


class Thresholds(NamedTuple):
    r"""The values at the two ends of a ranked range, as in Theorem 1 of the paper."""

    upper: float | FloatArray
    r"""The value at rank m, :math:`\hat\lambda`; infinite when m is 0."""

    lower: float | FloatArray
    r"""The value at rank k, :math:`\lambda`."""


def sum_ranked_range(
    values: npt.ArrayLike,
    m: int | float = 0,
    k: int | float | None = None,
    *,
    sample_weight: npt.ArrayLike | None = None,
) -> float | FloatArray:
    r"""Sum the values ranked ``m + 1`` to ``k``, the largest having rank 1.

    .. math:: \psi_{m,k}(s) = \sum_{i=m+1}^{k} s_{[i]}, \quad s_{[1]} \ge \dots \ge s_{[n]}

    Parameters
    ----------
    values : array-like of shape (..., n)
        Individual losses in any order, without NaN. Infinite values are allowed, and leave the
        sum finite as long as they rank above `m` (or below `k`).
    m, k : int, float or Mass
        The ranks to keep. An int is a count, a float strictly between 0 and 1 a fraction, and
        ``k=None`` means all; see `RankedRange`.
    sample_weight : array-like of shape (n,) or (..., n), optional
        The mass of each value: a value of weight 2 counts as two copies of it. Ranks are then
        masses too, and the values at both ends may count in part.

    Returns
    -------
    float, or ndarray of shape (...)

    Notes
    -----
    The slice is summed directly. Subtracting two top sums would let one huge discarded loss
    erase the digits of the losses that are kept.

    Examples
    --------
    >>> sum_ranked_range([4.0, 1.0, 3.0, 2.0], m=1, k=3)
    5.0
    >>> sum_ranked_range([0.1, 0.2, 0.3, float("inf")], m=1, k=3)
    0.5
    """
    return plain(map_rows(_sum, values, m, k, sample_weight, finds_nan=True))


def average_ranked_range(
    values: npt.ArrayLike,
    m: int | float = 0,
    k: int | float | None = None,
    *,
    sample_weight: npt.ArrayLike | None = None,
) -> float | FloatArray:
    r"""Average the values ranked ``m + 1`` to ``k``: the sum divided by ``k - m``.

    The AoRR loss of the paper.

    Parameters
    ----------
    values : array-like of shape (..., n)
        Individual losses in any order, without NaN.
    m, k : int, float or Mass
        The ranks to keep; see `RankedRange`.
    sample_weight : array-like of shape (n,) or (..., n), optional
        The mass of each value, as in `sum_ranked_range`.

    Returns
    -------
    float, or ndarray of shape (...)

    Examples
    --------
    >>> average_ranked_range([4.0, 1.0, 3.0, 2.0], m=1, k=3)
    2.5
    >>> average_ranked_range([4.0, 1.0, 3.0, 2.0], m=0.25, sample_weight=[1, 1, 1, 1])
    2.0
    """
    return plain(map_rows(_average, values, m, k, sample_weight, finds_nan=True))


def top_sum(
    values: npt.ArrayLike,
    k: int | float | None = None,
    *,
    sample_weight: npt.ArrayLike | None = None,
) -> float | FloatArray:
    r"""Sum the `k` largest values, :math:`\phi_k(s) = \psi_{0,k}(s)`: convex in the values.

    Parameters
    ----------
    values : array-like of shape (..., n)
        Individual losses in any order, without NaN.
    k : int, float, Mass or None
        How many to add up; see `RankedRange`.
    sample_weight : array-like of shape (n,) or (..., n), optional
        The mass of each value, as in `sum_ranked_range`.

    Returns
    -------
    float, or ndarray of shape (...)

    Examples
    --------
    >>> top_sum([4.0, 1.0, 3.0, 2.0], k=2)
    7.0
    """
    return sum_ranked_range(values, 0, k, sample_weight=sample_weight)


def kth_largest(
    values: npt.ArrayLike,
    k: int | float | None = None,
    *,
    sample_weight: npt.ArrayLike | None = None,
) -> float | FloatArray:
    r"""Return the value at rank `k`, :math:`s_{[k]}`.

    With weights it is the value whose segment holds the mass just before `k`, when the values
    are laid end to end from the largest down.

    Parameters
    ----------
    values : array-like of shape (..., n)
        Individual losses in any order, without NaN.
    k : int, float, Mass or None
        The rank; see `RankedRange`.
    sample_weight : array-like of shape (n,) or (..., n), optional
        The mass of each value, as in `sum_ranked_range`.

    Returns
    -------
    float, or ndarray of shape (...)

    Examples
    --------
    >>> kth_largest([4.0, 1.0, 3.0, 2.0], k=2)
    3.0
    >>> kth_largest([4.0, 1.0, 3.0, 2.0], k=2, sample_weight=[2, 1, 1, 1])
    4.0
    """
    return plain(map_rows(_kth, values, 0, k, sample_weight))


def thresholds(
    values: npt.ArrayLike,
    m: int | float = 0,
    k: int | float | None = None,
    *,
    sample_weight: npt.ArrayLike | None = None,
) -> Thresholds:
    r"""Return the values at ranks `m` and `k`: the two optimal multipliers of Theorem 1.

    Parameters
    ----------
    values : array-like of shape (..., n)
        Individual losses in any order, without NaN.
    m, k : int, float or Mass
        The ranks to keep; see `RankedRange`.
    sample_weight : array-like of shape (n,) or (..., n), optional
        The mass of each value, as in `sum_ranked_range`.

    Returns
    -------
    Thresholds

    Examples
    --------
    >>> thresholds([4.0, 1.0, 3.0, 2.0], m=1, k=3)
    Thresholds(upper=4.0, lower=2.0)
    """
    pair = map_rows(_both_ends, values, m, k, sample_weight)
    return Thresholds(plain(pair[..., 0]), plain(pair[..., 1]))


def _sum(values: FloatArray, ends: Ends, weight: Weight | None) -> FloatArray:
    if values.ndim == 1 and is_long(values, weight):
        if weight is None:
            narrowed = narrow(values, ends, None, summand=values)
            if narrowed is None or math.isnan(narrowed.inside_sum):
                refuse_nan(values)
        else:
            refuse_nan(values)
            values, weight = merge_blocks(values, weight)
            narrowed = narrow(values, ends, weight, summand=_product(values, weight))
        if narrowed is not None:
            rest = _sum(narrowed.values, narrowed.ends, narrowed.weight)
            return np.asarray(narrowed.inside_sum + rest)
    if weight is None:
        kept = kept_slice(values, ends)
    else:
        ordered, mass = kept_segments(values, ends, weight)
        kept = _product(ordered, mass)
    with np.errstate(over="ignore"):  # beyond the largest float, a sum is infinite
        return np.asarray(kept.sum(axis=-1, dtype=np.float64))


def _product(values: FloatArray, mass: Weight) -> FloatArray:
    with np.errstate(invalid="ignore", over="ignore"):
        product = values * mass
        if np.isnan(product.sum()):
            product[mass == 0] = 0.0  # an infinite value without mass adds nothing
    return product


def _average(values: FloatArray, ends: Ends, weight: Weight | None) -> FloatArray:
    return np.asarray(_sum(values, ends, weight) / (ends.k - ends.m))


def _kth(values: FloatArray, ends: Ends, weight: Weight | None) -> FloatArray:
    ends = ends._replace(m=0, m_unit=0.0)
    if values.ndim == 1 and is_long(values, weight):
        if weight is not None:
            values, weight = merge_blocks(values, weight)
        narrowed = narrow(values, ends, weight)
        if narrowed is not None and narrowed.ends.k > ends.slacks()[1]:
            return _kth(narrowed.values, narrowed.ends, narrowed.weight)
    return kth(values, ends, weight)


def _both_ends(values: FloatArray, ends: Ends, weight: Weight | None) -> FloatArray:
    lower = _kth(values, ends, weight)
    if ends.m == 0:
        upper = np.full_like(lower, np.inf)
    else:
        upper = _kth(values, Ends(0, ends.m, 0.0, ends.m_unit), weight)
    return np.stack([upper, lower], axis=-1)
