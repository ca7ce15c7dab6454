"""Which values of a row rank from m + 1 to k: by partition, or by sorting if they have weights.

A row needs at most two partitions with one cut each: one call with two cuts is slower than a full
sort. The negative values are partitioned. NumPy's partition takes several times as long as a sort
if the rank falls into a block of equal values, except at the upper end. Losses often have such a
block: their smallest value, zero.

Long rows are first narrowed to the values near the ends of the range, in a few passes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sorr._typing import BoolArray, FloatArray, IntArray, Weight
from sorr.ranked.bounds import Ends

_LONG = 1 << 15  # length from which narrowing is faster than partitions
_LONG_WEIGHTED = 1 << 13  # length from which narrowing is faster than a sort
_CHUNK = 1 << 18  # values per pass: temporary arrays stay in the cache
_COMMON = 0.2  # share of a row from which equal values are merged
_BLOCK = 1 << 10  # values per partial sum: sums of sums keep the rounding error small
_UNDECIDED = 0.3  # share of a row near the ends from which narrowing does not pay
_UNDECIDED_WEIGHTED = 0.5  # the same, compared with a sort
_SIGMAS = 2.5  # half width of a bracket: about one in a hundred misses its rank


def select_slice(values: FloatArray, ends: Ends) -> FloatArray:
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


def select_segments(values: FloatArray, ends: Ends, weight: Weight) -> tuple[FloatArray, Weight]:
    """Return each row in descending order, and the kept mass of each value.

    Laid end to end, the values are segments as long as their weights. The part from mass m to
    mass k is kept.
    """
    order = np.argsort(-values, axis=-1)
    edges = weight[order]
    np.cumsum(edges, axis=-1, out=edges)
    m_slack, k_slack = ends.slacks(values.shape[-1])
    # A tiny distance between an end and the edge of a segment is a rounding error. It must not
    # bring a dropped value, perhaps an infinite one, back into the range.
    edges[(edges >= ends.m - m_slack) & (edges <= ends.m + m_slack)] = ends.m
    edges[(edges >= ends.k - k_slack) & (edges <= ends.k + k_slack)] = ends.k
    np.clip(edges, ends.m, ends.k, out=edges)
    kept = np.diff(edges, axis=-1, prepend=ends.m)
    return np.take_along_axis(values, order, axis=-1), kept


def find_kth(values: FloatArray, ends: Ends, weight: Weight | None) -> FloatArray:
    """Return the value at rank k of each row."""
    if weight is not None:
        ordered, mass = select_segments(values, ends, weight)
        return _pick(ordered, _last(mass > 0))
    k = int(ends.k)
    negative = -values
    negative.partition(k - 1, axis=-1)
    return np.asarray(-negative[..., k - 1])


def find_extremes(
    values: FloatArray, ends: Ends, weight: Weight | None
) -> tuple[FloatArray | None, FloatArray | None]:
    """Return the largest and the smallest kept value of each row.

    An end that drops nothing is None. A row of which nothing is kept has NaN.
    """
    if values.shape[-1] == 0 or ends.k <= ends.m:
        nothing = np.full(values.shape[:-1], np.nan)
        return nothing, nothing
    if weight is None:
        m, k = int(ends.m), math.ceil(ends.k)  # of the first and the last value that counts in part
        largest, smallest = None, None
        negative = -values
        if ends.k < values.shape[-1]:
            negative.partition(k - 1, axis=-1)
            smallest = -negative[..., k - 1]
        if ends.m > 0:
            negative[..., :k].partition(m, axis=-1)
            largest = -negative[..., m]
        return largest, smallest
    ordered, mass = select_segments(values, ends, weight)
    kept = mass > 0
    any_kept = kept.any(axis=-1)
    largest = np.where(any_kept, _pick(ordered, np.argmax(kept, axis=-1)), np.nan)
    smallest = np.where(any_kept, _pick(ordered, _last(kept)), np.nan)
    return largest if ends.m > 0 else None, smallest


def _last(kept: BoolArray) -> IntArray:
    return np.asarray(kept.shape[-1] - 1 - np.argmax(kept[..., ::-1], axis=-1))


def _pick(rows: FloatArray, index: IntArray) -> FloatArray:
    return np.asarray(np.take_along_axis(rows, np.expand_dims(index, -1), axis=-1)[..., 0])


# -- Long rows: most values are decided without ranking them ---------------------------------------


class Narrowed(NamedTuple):
    """The values near an end of the range, which are still to be ranked, and their own ends.

    The range holds the values that are certainly inside, and the near values between `ends`.
    `rows` are the positions of the near values, if shares are computed.
    """

    values: FloatArray
    weight: Weight | None
    ends: Ends
    inside_sum: float
    rows: IntArray | None


class Merged(NamedTuple):
    """A row in which all values except `rows` are merged into one, the last, with their mass."""

    values: FloatArray
    weight: Weight
    rows: IntArray


def is_long(values: FloatArray, weight: Weight | None) -> bool:
    """Return whether rows of this length are narrowed."""
    length: int = values.shape[-1]
    return length >= (_LONG if weight is None else _LONG_WEIGHTED)


def merge_block(values: FloatArray, weight: Weight) -> Merged | None:
    """Merge the most frequent value of a row, if it is frequent, into one with all its mass.

    The zeros of hinge losses are such a block, which no bracket can split.
    """
    distinct, counts = np.unique(values[_sample_slice(values)], return_counts=True)
    if counts.max() < _COMMON * counts.sum():
        return None
    common = distinct[counts.argmax()]
    tied = values == common
    if np.count_nonzero(tied) < _COMMON / 2 * len(values) or np.count_nonzero(tied) < 2:
        return None  # frequent in the sample only
    mass = _sum_where(weight, tied, np.empty(_CHUNK // 2))
    rows = np.flatnonzero(np.logical_not(tied, out=tied))
    merged = np.full(len(rows) + 1, common)
    masses = np.full(len(rows) + 1, mass)
    merged[:-1] = values[rows]
    masses[:-1] = weight[rows]
    return Merged(merged, masses, rows)


def merge_blocks(values: FloatArray, weight: Weight) -> tuple[FloatArray, Weight]:
    """Merge all frequent values of a row."""
    while is_long(values, weight) and (merged := merge_block(values, weight)):
        values, weight = merged.values, merged.weight
    return values, weight


def narrow(
    values: FloatArray,
    ends: Ends,
    weight: Weight | None,
    *,
    summand: FloatArray | None = None,
    shares: FloatArray | None = None,
) -> Narrowed | None:
    """Split one row into values certainly inside the range, near an end of it, and outside.

    The `summand` is summed over the inside (any NaN in it makes the sum NaN). `shares` is filled
    with one inside and zero elsewhere. Returns None if a bracket missed its rank, or if most of
    the row would stay undecided.
    """
    brackets, sample = _enclose(values, ends, weight)
    masks = np.empty((4, max(len(sample), min(len(values), _CHUNK))), dtype=bool)
    factor = np.empty(_CHUNK // 2)
    undecided = np.count_nonzero(_split(sample, brackets, masks)[2])
    if undecided > len(sample) * (_UNDECIDED if weight is None else _UNDECIDED_WEIGHTED):
        return None

    rows, near_values, near_masses = [], [], []
    over_mass: float = 0
    inside_mass: float = 0
    inside_sum = 0.0
    for start in range(0, len(values), _CHUNK):
        part = slice(start, start + _CHUNK)
        chunk, masses = values[part], None if weight is None else weight[part]
        over, inside, near = _split(chunk, brackets, masks)
        over_mass += _mass_where(over, masses, factor)
        inside_mass += _mass_where(inside, masses, factor)
        index = near.nonzero()[0]
        near_values.append(chunk[index])
        if masses is not None:
            near_masses.append(masses[index])
        if summand is not None:
            inside_sum += _sum_where(summand[part], inside, factor)
        if shares is not None:
            shares[part] = inside
            rows.append(index + start)

    m, k = ends.m - over_mass, ends.k - over_mass - inside_mass
    narrowed = Narrowed(
        np.concatenate(near_values),
        None if weight is None else np.concatenate(near_masses),
        Ends(max(m, 0), k, ends.m_unit, ends.k_unit),
        inside_sum,
        None if shares is None else np.concatenate(rows),
    )
    if len(narrowed.values) > len(values) // 2:
        return None
    return narrowed if _hold(brackets, narrowed, m) else None


def _split(
    values: FloatArray, brackets: _Brackets, masks: BoolArray
) -> tuple[BoolArray, BoolArray, BoolArray]:
    """Return which values are above the range, inside it, and near an end.

    Each value is compared with the edges of both brackets. The results use the memory of `masks`.
    """
    over, reach, within, down = masks[:, : len(values)]
    upper, lower = brackets
    if upper is None:
        over[...] = False
        reach[...] = False
    else:
        np.greater(values, upper.high, out=over)
        np.greater_equal(values, upper.low, out=reach)
    if lower is None:
        within[...] = True
        down[...] = True
    else:
        np.greater(values, lower.high, out=within)
        np.greater_equal(values, lower.low, out=down)
    if brackets.overlap:
        within[...] = False
        return over, within, np.logical_xor(over, down, out=down)
    np.logical_xor(within, down, out=down)
    np.logical_xor(within, reach, out=within)
    np.logical_xor(over, reach, out=reach)
    return over, within, np.logical_or(reach, down, out=down)


def _hold(brackets: _Brackets, narrowed: Narrowed, m: float) -> bool:
    """Return whether the brackets enclose the ends of the range, by the masses around them."""
    near, weight, ends = narrowed[:3]
    m_slack, k_slack = ends.slacks()
    mass = len(near) if weight is None else float(weight.sum())
    if m < -m_slack or ends.k > mass + k_slack:
        return False
    if brackets.overlap:
        return True
    upper_mass: float = 0  # of the values near the upper end
    if brackets.upper is not None:
        at_upper = near >= brackets.upper.low
        upper_mass = int(np.count_nonzero(at_upper)) if weight is None else weight[at_upper].sum()
    return bool(m <= upper_mass + m_slack and ends.k >= upper_mass - k_slack)


def _mass_where(mask: BoolArray, weight: Weight | None, factor: FloatArray) -> float:
    return int(np.count_nonzero(mask)) if weight is None else _sum_where(weight, mask, factor)


def _sum_where(values: FloatArray, mask: BoolArray, factor: FloatArray) -> float:
    """Sum the values in `mask`. The sum is NaN if any value is NaN, in the mask or not."""
    total = 0.0
    # An infinite value outside the mask gives 0 * inf; inside the mask a sum may overflow.
    with np.errstate(invalid="ignore", over="ignore"):
        for start in range(0, len(values), len(factor)):
            part = values[start : start + len(factor)]
            share = factor[: len(part)]
            share[...] = mask[start : start + len(factor)].view(np.uint8)  # a faster cast
            end = len(part) - len(part) % _BLOCK
            blocks = np.vecdot(part[:end].reshape(-1, _BLOCK), share[:end].reshape(-1, _BLOCK))
            total += float(blocks.sum(dtype=np.float64))
            if end < len(part):
                total += float(part[end:] @ share[end:])
        if math.isfinite(total) or np.isnan(values).any():
            return total
        return float(values[mask].sum(dtype=np.float64))


class _Bracket(NamedTuple):
    """Two values that probably enclose the value at a rank."""

    low: float
    high: float


class _Brackets(NamedTuple):
    """The brackets of the two ends of a range; None for an end that drops nothing."""

    upper: _Bracket | None
    lower: _Bracket | None

    @property
    def overlap(self) -> bool:
        """Whether no value is certainly between the two ends."""
        upper, lower = self
        return upper is not None and lower is not None and upper.low <= lower.high


def _sample_slice(values: FloatArray) -> slice:
    """Return evenly spaced positions: few enough to sort, enough to leave little undecided."""
    return slice(None, None, len(values) // int(2 * len(values) ** (2 / 3)) | 1)


def _enclose(values: FloatArray, ends: Ends, weight: Weight | None) -> tuple[_Brackets, FloatArray]:
    """Guess brackets of both ends of the range from a sample; also return the sample."""
    positions = _sample_slice(values)
    sample = values[positions].copy()
    if weight is None:
        total = size = float(len(sample))
        scale = total / len(values)
        negative = -sample

        def value_at(mass: float) -> float:
            negative.partition(int(mass))
            return -float(negative[int(mass)])

    else:
        # A value that outweighs the step between two sampled ones is always part of the sample.
        heavy = weight > weight.mean() * positions.step
        light = np.where(heavy[positions], 0.0, weight[positions]) * positions.step
        sampled = np.concatenate([sample, values[heavy]])
        masses = np.concatenate([light, weight[heavy]])
        order = np.argsort(-sampled)
        reached = np.cumsum(masses[order])
        total = float(reached[-1])
        scale = total / float(weight.sum())
        light = light / max(float(light.max()), np.finfo(np.float64).tiny)
        squares = float(light @ light)
        size = max(1.0, float(light.sum()) ** 2 / squares) if squares > 0 else 1.0

        def value_at(mass: float) -> float:
            rank = int(np.searchsorted(reached, mass))
            return float(sampled[order[min(rank, len(order) - 1)]])

    def bracket(end: float) -> _Bracket | None:
        mass = end * scale
        if not 0 < mass < total:
            return None
        spread = _SIGMAS * (math.sqrt(mass * (total - mass) / size) + total / size)
        return _Bracket(
            low=value_at(mass + spread) if mass + spread < total else -math.inf,
            high=value_at(mass - spread) if mass - spread > 0 else math.inf,
        )

    return _Brackets(bracket(ends.m), bracket(ends.k)), sample
