r"""Theorem 1 of the paper: a ranked range written as a minimum over thresholds.

.. math:: \phi_k(s) = \min_{\lambda} \Big\{ k \lambda + \sum_i w_i [s_i - \lambda]_+ \Big\},
    \qquad \psi_{m,k}(s) = \phi_k(s) - \phi_m(s),

where the minimum is at :math:`\lambda = s_{[k]}`. The weights are one by default.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray, Weight
from sorr.ranked.bounds import Ends
from sorr.ranked.reduce import as_scalar, as_values, map_rows, refuse_nan


def variational_top_sum(
    values: npt.ArrayLike,
    k: int | float | None,
    threshold: npt.ArrayLike,
    *,
    sample_weight: npt.ArrayLike | None = None,
) -> float | FloatArray:
    r"""Evaluate :math:`k \lambda + \sum_i w_i [s_i - \lambda]_+`, which is at least `top_sum`.

    It is convex and piecewise linear in the threshold. It equals `top_sum` where the threshold is
    the value at rank `k`; see `kth_largest`.

    Parameters
    ----------
    values : array-like of shape (..., n)
        Individual losses in any order, without NaN.
    k : int, float, Mass or None
        The last rank to keep; see `RankedRange`.
    threshold : array-like of shape (...)
        The multiplier :math:`\lambda`: one finite number, or one for each row.
    sample_weight : array-like of shape (n,) or (..., n), optional
        The mass of each value.

    Returns
    -------
    float, or ndarray of shape (...)

    Examples
    --------
    >>> [variational_top_sum([4.0, 1.0, 3.0, 2.0], 2, threshold) for threshold in (2.0, 3.0, 4.0)]
    [7.0, 7.0, 8.0]
    """
    level = np.asarray(threshold, dtype=np.float64)
    if not np.isfinite(level).all():
        raise ValueError(f"threshold={threshold!r} is not finite; needed a finite number")
    excess = np.maximum(as_values(values) - level[..., None], 0.0)
    parts = map_rows(_total_and_rank, excess, 0, k, sample_weight)
    return as_scalar(parts[..., 0] + parts[..., 1] * level)


def _total_and_rank(excess: FloatArray, ends: Ends, weight: Weight | None) -> FloatArray:
    if weight is not None:
        excess = np.where(weight > 0, excess, 0.0) * weight
    total = excess.sum(axis=-1, dtype=np.float64)
    return np.stack([total, np.full_like(total, ends.k)], axis=-1)


def truncate(values: npt.ArrayLike, upper: npt.ArrayLike, lower: npt.ArrayLike) -> FloatArray:
    r"""Cap each value at one threshold and subtract another.

    .. math:: [s_i - \lambda]_+ - [s_i - \hat\lambda]_+ =
        \min(\max(s_i, \lambda), \hat\lambda) - \lambda

    At fixed thresholds this is what a ranked range makes of an individual loss: a loss below
    :math:`\lambda` costs nothing, and a loss above :math:`\hat\lambda` costs no more than that
    (section 3 of the paper, and its figure about the losses of single samples).

    Parameters
    ----------
    values : array-like of shape (..., n)
        Individual losses, without NaN.
    upper, lower : array-like of shape (...)
        The thresholds :math:`\hat\lambda \ge \lambda` that `thresholds` returns: one number each,
        or one for each row. If the upper one is infinite, nothing is capped.

    Returns
    -------
    ndarray of the shape of the values

    Examples
    --------
    >>> truncate([0.5, 1.5, 9.0], upper=2.0, lower=1.0)
    array([0. , 0.5, 1. ])
    """
    low, high = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
    if not (np.isfinite(low).all() and (low <= high).all()):
        raise ValueError(
            f"upper={upper!r} and lower={lower!r} are not thresholds of a range; needed a finite "
            "lower one, at most the upper one: see `thresholds`"
        )
    array = as_values(values)
    refuse_nan(array)
    low, high = low[..., None], high[..., None]
    return np.asarray(np.clip(array, low, high) - low, dtype=array.dtype)
