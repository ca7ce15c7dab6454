"""What a ranked range adds up to, the values at its ends, and how much each value counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sorr._typing import BoolArray, FloatArray, Weight
from sorr.ranked.bounds import Ends, RankedRange
from sorr.ranked.select import (
    find_extremes,
    find_kth,
    is_long,
    merge_block,
    merge_blocks,
    narrow,
    select_segments,
    select_slice,
)

Kernel: TypeAlias = Callable[[FloatArray, Ends, Weight | None], FloatArray]

_MASS_ROUNDING = 1e-9  # relative differences of masses below this are rounding errors
_LEAST_WIDTH = np.float32(1e-20)  # of a blurred end, where all values are zero
_LEVEL_STEPS = 10  # bisections for the level of a soft end


class Thresholds(NamedTuple):
    """The values at the two ends of a ranked range, as in Theorem 1 of the paper."""

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
    r"""Sum the values ranked ``m + 1`` to ``k``. The largest value has rank 1.

    .. math:: \psi_{m,k}(s) = \sum_{i=m+1}^{k} s_{[i]}, \quad s_{[1]} \ge \dots \ge s_{[n]}

    Parameters
    ----------
    values : array-like of shape (..., n)
        Individual losses in any order, without NaN. Infinite values are allowed. The sum stays
        finite if they are dropped: above rank `m` or below rank `k`.
    m, k : int, float or Mass
        The ranks to keep. An int is a count, a float strictly between 0 and 1 is a fraction, and
        ``k=None`` means all; see `RankedRange`.
    sample_weight : array-like of shape (n,) or (..., n), optional
        The mass of each value: a value of weight 2 counts as two copies of it. Ranks are then
        masses too, and the values at both ends may count in part.

    Returns
    -------
    float, or ndarray of shape (...)

    Notes
    -----
    The kept values are summed directly. A difference of two top sums would lose their digits if
    one dropped value is huge.

    Examples
    --------
    >>> sum_ranked_range([4.0, 1.0, 3.0, 2.0], m=1, k=3)
    5.0
    >>> sum_ranked_range([0.1, 0.2, 0.3, float("inf")], m=1, k=3)
    0.5
    """
    return as_scalar(map_rows(_sum, values, m, k, sample_weight, finds_nan=True))


def average_ranked_range(
    values: npt.ArrayLike,
    m: int | float = 0,
    k: int | float | None = None,
    *,
    sample_weight: npt.ArrayLike | None = None,
) -> float | FloatArray:
    """Average the values ranked ``m + 1`` to ``k``: the sum divided by ``k - m``.

    This is the AoRR loss of the paper.

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
    return as_scalar(map_rows(_average, values, m, k, sample_weight, finds_nan=True))


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
        How many values to sum; see `RankedRange`.
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

    With weights, think of the values as segments as long as their weights, laid end to end from
    the largest down. The result is the value of the segment that ends at mass `k` or contains it.

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
    return as_scalar(map_rows(_kth, values, 0, k, sample_weight))


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
    return Thresholds(as_scalar(pair[..., 0]), as_scalar(pair[..., 1]))


def ranked_range_weights(
    values: npt.ArrayLike,
    m: int | float = 0,
    k: int | float | None = None,
    *,
    sample_weight: npt.ArrayLike | None = None,
) -> FloatArray:
    r"""Return the share of each value in the ranked range; the shares add up to ``k - m``.

    A value inside the range counts with its full weight (one, unless `sample_weight` is given), a
    value outside with zero. If values are tied at an end of the range, each counts with the same
    part of its weight: the mean over all ways to break the tie. The result is a subgradient of
    the sum with respect to the values,

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
    return map_rows(_weights, values, m, k, sample_weight, takes_parts=True)


# -- Kernels: one row, or several short ones under the same weight --------------------------------


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
        kept = select_slice(values, ends)
    else:
        ordered, mass = select_segments(values, ends, weight)
        kept = _product(ordered, mass)
    with np.errstate(over="ignore"):  # a sum beyond the largest float is infinite
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
    return find_kth(values, ends, weight)


def _both_ends(values: FloatArray, ends: Ends, weight: Weight | None) -> FloatArray:
    lower = _kth(values, ends, weight)
    if ends.m == 0:
        upper = np.full_like(lower, np.inf)
    else:
        upper = _kth(values, Ends(0, ends.m, 0.0, ends.m_unit), weight)
    return np.stack([upper, lower], axis=-1)


def _weights(values: FloatArray, ends: Ends, weight: Weight | None) -> FloatArray:
    if values.ndim == 1 and is_long(values, weight):
        if weight is not None and (merged := merge_block(values, weight)):
            inner = _weights(merged.values, ends, merged.weight)
            mass, rows = merged.weight[-1], merged.rows
            del merged  # frees two arrays
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
    largest, smallest = find_extremes(values, ends, weight)
    if values.ndim == 1 and weight is None and largest is None and smallest is not None:
        kept = values >= smallest
        if np.count_nonzero(kept) == ends.k:  # no tie at the end of the range, no parts of values
            return kept.astype(values.dtype)
    inside = np.ones(values.shape, dtype=bool)
    if largest is not None:
        inside &= values < largest[..., None]
    if smallest is not None:
        inside &= values > smallest[..., None]
    shares = inside.astype(values.dtype)
    if largest is not None:
        _add_ties(shares, values, largest, ends, weight)
        if smallest is not None:  # a block of ties at both ends of the range counts once
            smallest = np.where(smallest < largest, smallest, np.nan)
    if smallest is not None:
        _add_ties(shares, values, smallest, ends, weight)
    if weight is not None:
        shares *= weight
    return shares


def _add_ties(
    shares: FloatArray, values: FloatArray, end: FloatArray, ends: Ends, weight: Weight | None
) -> None:
    """Fill in the shares of the values that are equal to `end`."""
    tied = values == end[..., None]
    share = share_ties(_mass(values > end[..., None], weight), _mass(tied, weight), ends.m, ends.k)
    if values.ndim == 1:
        shares[np.flatnonzero(tied)] = share  # fast where few are tied
    else:
        shares += (tied * share[..., None]).astype(values.dtype, copy=False)


def share_ties(
    larger: FloatArray, tied: FloatArray, m: float | FloatArray, k: float | FloatArray
) -> FloatArray:
    """Return which part of tied values ranks m + 1 to k hold: the tie rule.

    The values tie with a total mass of `tied`, and have a mass of `larger` above them.
    """
    kept = np.minimum(k, larger + tied) - np.maximum(m, larger)
    return np.asarray(np.clip(kept / np.where(tied > 0, tied, 1), 0, 1))


def _mass(mask: BoolArray, weight: Weight | None) -> FloatArray:
    if weight is None and mask.ndim == 1:
        return np.asarray(np.count_nonzero(mask))
    # For many short rows a product is ten times faster than a sum along the axis.
    return np.asarray(mask @ (np.ones(mask.shape[-1]) if weight is None else weight))


# -- Many rows of values, each with ranks of its own ----------------------------------------------


class Blur(NamedTuple):
    """A range with blurred ends."""

    weight: FloatArray
    edge: FloatArray  # mass of each entry near the lower end, where weights change; else zero
    width: FloatArray  # of each candidate: losses within which weights fall to zero


class Ranking:
    """The losses of many candidates, each ranked, and the ranks m + 1 to k of each.

    `mass` is that of each column, and one if None. `total` is the mass of all columns, `unit`
    their mean mass. `kept` is the mass of each entry within the ranks; tied entries share theirs.
    """

    def __init__(
        self,
        losses: FloatArray,
        mass: FloatArray | None,
        total: float,
        m: FloatArray,
        k: FloatArray,
    ) -> None:
        self.losses, self.mass, self.total, self.m, self.k = losses, mass, total, m, k
        self.unit = 1.0 if mass is None else total / len(mass)
        self.keeps_last = bool((k >= total * (1 - _MASS_ROUNDING)).all())
        self.dropped = self.top(m)
        if self.keeps_last:
            self.kept = self._all() - self.dropped
        else:
            self.kept = self.top(k) - self.dropped

    def _all(self) -> FloatArray:
        """Return the mass of each column, or of all, in the precision of the losses."""
        return np.asarray(1.0 if self.mass is None else self.mass, dtype=self.losses.dtype)

    @cached_property
    def _sorted(self) -> tuple[FloatArray, FloatArray | None]:
        """The losses of each candidate in rising order; the masses passed from the other end."""
        if self.mass is None:
            return np.sort(self.losses, axis=1), None
        ascending = np.argsort(self.losses, axis=1)
        passed = np.cumsum(self.mass[ascending[:, ::-1]], axis=1)
        return np.take_along_axis(self.losses, ascending, axis=1), passed

    def at(self, rank: FloatArray) -> FloatArray:
        """Return the loss at a rank of each candidate, of the first or last beyond the ends."""
        ordered, passed = self._sorted
        if passed is None:
            position = np.ceil(rank).astype(np.intp)
        else:
            position = 1 + (passed < (rank * (1 - 1e-12))[:, None]).sum(axis=1)
        n = self.losses.shape[1]
        position = np.minimum(np.maximum(position, 1), n)
        return np.asarray(ordered[np.arange(len(ordered)), n - position])

    def top(self, rank: FloatArray) -> FloatArray:
        """Return the mass of each entry that ranks up to `rank`; tied entries share it."""
        level = self.at(rank)[:, None]
        if self.mass is None:
            crosses = (self.at(rank + 1)[:, None] == level)[:, 0] & (rank < self.total)
            if not (crosses | (rank % 1 != 0) | (rank < 1)).any():
                return (self.losses >= level).astype(self.losses.dtype)
        mass = np.ones(self.losses.shape[1]) if self.mass is None else self.mass
        larger, tied = self.losses > level, self.losses == level
        share = share_ties(larger @ mass, tied @ mass, 0, rank)
        part = larger + tied * share[:, None]
        return np.asarray(part if self.mass is None else part * mass).astype(self.losses.dtype)

    def blur(self, band: float, smallest: FloatArray, hot: slice, temperature: float) -> Blur:
        """Return the range with ends that are blurred.

        The weights of entries fall to zero over a `band` of the ranks on both sides of k, but at
        least over a difference of losses of `smallest`. The weights of the `hot` candidates also
        fall to zero over a difference of losses of `temperature` around m.
        """
        dropped, mass = self.dropped, self._all()
        lower = mass
        if hot.stop:
            dropped = dropped.copy()
            dropped[hot] = self._soft_top(hot, temperature)
        width: FloatArray = np.ones((len(self.losses), 1))
        edge: FloatArray = np.zeros(1)
        if not self.keeps_last:
            room = np.minimum(self.k - self.m, self.total - self.k) / self.unit
            reach = np.maximum(1, np.floor(band * room)) * self.unit
            high, low = self.at(self.k - reach)[:, None], self.at(self.k + reach)[:, None]
            middle = (high + low) / 2
            rounding = 4 * np.finfo(self.losses.dtype).eps * middle + _LEAST_WIDTH
            least = np.maximum(smallest.astype(self.losses.dtype)[:, None], rounding)
            high, low = np.maximum(high, middle + least), np.minimum(low, middle - least)
            width = high - low
            lower = np.minimum(np.maximum((self.losses - low) / width, 0), 1)
            is_last = self.k >= self.total * (1 - _MASS_ROUNDING)
            lower[is_last] = 1
            lower *= mass
            edge = mass * ((self.losses > low) & (self.losses < high) & (dropped < mass))
            edge[is_last] = 0
        weight = np.maximum(lower - dropped, 0)
        sums = np.maximum(weight.sum(axis=1), 1e-9 * self.unit)
        weight *= ((self.k - self.m) / sums).astype(weight.dtype)[:, None]
        return Blur(weight, edge, width)

    def _soft_top(self, which: slice, temperature: float) -> FloatArray:
        r"""Return parts :math:`\operatorname{clip}((s_i - \lambda) / \tau, 0, 1)` of mass m."""
        high, m = self.at(self.m)[which, None], self.m[which]
        low, losses, mass = high - temperature, self.losses[which], self._all()
        for _ in range(_LEVEL_STEPS):
            level = (low + high) / 2
            part = np.minimum(np.maximum((losses - level) / temperature, 0), 1) * mass
            above = (part.sum(axis=1) > m)[:, None]
            low, high = np.where(above, level, low), np.where(above, high, level)
        return np.asarray(part)


def sums_below(values: FloatArray, mass: FloatArray | None, ends: FloatArray) -> FloatArray:
    """Return the sums of the values of each row below some ranks.

    Sums start at the smallest value, so that a huge one costs digits only where it is kept.
    """
    if mass is None and not np.any(ends % 1):
        sums = np.cumsum(np.sort(values, axis=1), axis=1)
        sums = np.pad(sums, ((0, 0), (1, 0)))
        return sums[:, values.shape[1] - ends.astype(np.intp)]
    order = np.argsort(values, axis=1)
    values = np.take_along_axis(values, order, axis=1)
    masses = np.ones(values.shape) if mass is None else mass[order]
    total = masses.sum(axis=1, keepdims=True)
    before = np.cumsum(masses, axis=1) - masses
    parts = [(np.clip(total - end - before, 0, masses) * values).sum(axis=1) for end in ends]
    return np.stack(parts, axis=1)


# -- Arguments: rows of values, ranks, weights -----------------------------------------------------


def map_rows(
    kernel: Kernel,
    values: npt.ArrayLike,
    m: int | float,
    k: int | float | None,
    sample_weight: npt.ArrayLike | None,
    *,
    finds_nan: bool = False,
    takes_parts: bool = False,
) -> FloatArray:
    """Check the arguments, express the ranks in rows or in mass, and apply `kernel` to every row.

    The kernel gets all short rows at once if they share one weight. Long rows, and rows with
    different weights, go one by one. With `finds_nan`, the kernel itself looks for NaN in a
    single long row. With `takes_parts`, it takes ends between two ranks also without weights.
    """
    array = as_values(values)
    ranks = RankedRange(m, k)
    weight = None if sample_weight is None else _as_weight(sample_weight, array.shape)
    if array.ndim > 1 or not (finds_nan and is_long(array, weight)):
        refuse_nan(array)
    shared = weight is None or weight.ndim == 1
    if array.ndim == 1 or (shared and not is_long(array, weight)):
        return _apply(kernel, array, ranks, weight, takes_parts)
    rows = array.reshape(-1, array.shape[-1])
    weights = [weight] * len(rows) if weight is None or shared else weight.reshape(rows.shape)
    results = [
        _apply(kernel, row, ranks, mass, takes_parts)
        for row, mass in zip(rows, weights, strict=True)
    ]
    return np.reshape(results, (*array.shape[:-1], *results[0].shape))


def _apply(
    kernel: Kernel,
    values: FloatArray,
    ranks: RankedRange,
    weight: Weight | None,
    takes_parts: bool,
) -> FloatArray:
    n = values.shape[-1]
    ranks = ranks.resolve(n if weight is None else _total(weight))
    m, k = ranks.m, ranks.k
    assert k is not None
    if weight is None and not (m % 1 or k % 1):
        return kernel(values, Ends(int(m), int(k)), None)
    ends = Ends.of_mass(m, k, n)  # values may count in part: ranks are masses
    if weight is None and takes_parts:
        return kernel(values, ends.rounded(), None)
    return kernel(values, ends, np.ones(n) if weight is None else weight)


def as_scalar(result: FloatArray) -> float | FloatArray:
    """Return the result of a single row as a float."""
    return float(result) if result.ndim == 0 else result


def as_values(values: npt.ArrayLike) -> FloatArray:
    """Return the values as float64, or float32 if they are; empty rows raise an error."""
    array = np.asarray(values)
    if array.dtype != np.float32:
        if array.dtype.kind not in "fiub":
            raise TypeError(f"values have dtype {array.dtype}; needed real numbers")
        array = array.astype(np.float64, copy=False)
    if array.ndim == 0 or array.size == 0:
        raise ValueError(
            f"values have shape {array.shape}; needed at least one value along the last axis"
        )
    return array


def refuse_nan(values: FloatArray) -> None:
    """Raise an error if there is a NaN; it names the first position."""
    if np.isnan(values.min()):
        _refuse("values are NaN", np.isnan(values), "drop or correct them first")


def _as_weight(sample_weight: npt.ArrayLike, shape: tuple[int, ...]) -> Weight:
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape not in (shape, shape[-1:]):
        raise ValueError(
            f"sample_weight has shape {weight.shape}; needed {shape[-1:]}, one weight for each "
            f"value along the last axis, or the shape of the values, {shape}"
        )
    if not weight.min() >= 0 or weight.max() == np.inf:  # the negation also catches NaN
        wrong = ~(weight >= 0) | np.isinf(weight)
        _refuse("weights are NaN, infinite or negative", wrong, "a weight is a mass, such as 2.5")
    return weight


def _total(weight: Weight) -> float:
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    if total == 0:
        raise ValueError(f"all {weight.size} weights are zero; needed at least one above zero")
    if total == np.inf:
        raise ValueError("the weights add up to infinity; needed a finite total: scale them down")
    return total


def _refuse(what: str, wrong: BoolArray, way_out: str) -> None:
    first = np.unravel_index(int(wrong.argmax()), wrong.shape)
    position = ", ".join(str(int(index)) for index in first)
    raise ValueError(
        f"{np.count_nonzero(wrong)} of {wrong.size} {what}, the first at index {position}; "
        f"{way_out}"
    )
