"""Long rows, cut down to short ones in a few passes and without sorting.

After Floyd and Rivest, "Expected time bounds for selection" (1975): a sample brackets the value
at each end of the range; comparing the row with the brackets shows which values are surely
inside and whether the brackets hold; the few values within a bracket are left, and form a short
row with a range of its own. In NumPy a comparison costs a tenth of a partition, and far less
than the sort that weights would ask for.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import BoolArray, FloatArray, Weight
from sorr.ranked.brackets import Brackets, enclose, sample_of
from sorr.ranked.types import Ends

__all__ = ["Merged", "Narrowed", "is_long", "merge_block", "merge_blocks", "narrow"]

_LONG = 1 << 15  # below, the passes over a row cost more than the partitions they save
_LONG_WEIGHTED = 1 << 13  # the same against a sort
_CHUNK = 1 << 18  # values looked at in one go: what is computed on the way stays in the cache
_COMMON = 0.2  # a value that takes this share of a row is worth merging
_BLOCK = 1 << 10  # values added up in one go: sums of sums keep the rounding error small
_UNDECIDED = 0.3  # if more of the row would stay near an end, as in a block of ties: cut it whole
_UNDECIDED_WEIGHTED = 0.5  # the same against a sort


class Narrowed(NamedTuple):
    """The values near an end of the range, which are left to be ranked, and their own ends.

    The range holds what is surely inside, and of the near values those between `ends`. Which
    rows the near values come from is told where shares are asked for.
    """

    values: FloatArray
    weight: Weight | None
    ends: Ends
    inside_sum: float
    rows: npt.NDArray[np.intp] | None


class Merged(NamedTuple):
    """A row in which all but `rows` have become one value with all their mass, the last one."""

    values: FloatArray
    weight: Weight
    rows: npt.NDArray[np.intp]


def is_long(values: FloatArray, weight: Weight | None) -> bool:
    """Tell whether narrowing pays for rows of this length."""
    length: int = values.shape[-1]
    return length >= (_LONG if weight is None else _LONG_WEIGHTED)


def merge_block(values: FloatArray, weight: Weight) -> Merged | None:
    """Turn the commonest value of a row, if it is common, into a single one of all its mass.

    Hinge losses have such a block, their zeros, which no bracket can split.
    """
    found, counts = np.unique(values[sample_of(values)], return_counts=True)
    if counts.max() < _COMMON * counts.sum():
        return None
    common = found[counts.argmax()]
    tied = values == common
    if np.count_nonzero(tied) < _COMMON / 2 * len(values) or np.count_nonzero(tied) < 2:
        return None  # common in the sample only
    mass = _sum_where(weight, tied, np.empty(_CHUNK // 2))
    rows = np.flatnonzero(np.logical_not(tied, out=tied))
    merged = np.full(len(rows) + 1, common)
    masses = np.full(len(rows) + 1, mass)
    merged[:-1] = values[rows]
    masses[:-1] = weight[rows]
    return Merged(merged, masses, rows)


def merge_blocks(values: FloatArray, weight: Weight) -> tuple[FloatArray, Weight]:
    """Merge the common values of a row, one after the other."""
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
    """Split one row into what is surely inside the range, near an end of it, and outside.

    On the way, the `summand` is added up over the inside (any NaN in it makes the sum NaN), and
    `shares` is filled with one inside and zero elsewhere. Returns None where a bracket missed
    its rank, or where most of the row would stay undecided.
    """
    brackets, sample = enclose(values, ends, weight)
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
    values: FloatArray, brackets: Brackets, masks: npt.NDArray[np.bool_]
) -> tuple[BoolArray, BoolArray, BoolArray]:
    """Tell which values lie over the range, inside of it, and near an end.

    Each value is compared with the four edges, as far as there are any; the results share
    the memory of `masks`.
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


def _hold(brackets: Brackets, narrowed: Narrowed, m: float) -> bool:
    """Check by the masses around them that the brackets do enclose the ends of the range."""
    near, weight, ends = narrowed[:3]
    m_slack, k_slack = ends.slacks()
    mass = len(near) if weight is None else float(weight.sum())
    if m < -m_slack or ends.k > mass + k_slack:
        return False
    if brackets.overlap:
        return True
    upper_mass: float = 0  # of the near values, those near the upper end
    if brackets.upper is not None:
        at_upper = near >= brackets.upper.low
        upper_mass = int(np.count_nonzero(at_upper)) if weight is None else weight[at_upper].sum()
    return bool(m <= upper_mass + m_slack and ends.k >= upper_mass - k_slack)


def _mass_where(mask: BoolArray, weight: Weight | None, factor: FloatArray) -> float:
    return int(np.count_nonzero(mask)) if weight is None else _sum_where(weight, mask, factor)


def _sum_where(values: FloatArray, mask: BoolArray, factor: FloatArray) -> float:
    """Add up the values in `mask`; NaN where any value is NaN, in the mask or not."""
    total = 0.0
    # outside of the mask, an infinite value gives 0 * inf; inside, a sum may be beyond any float
    with np.errstate(invalid="ignore", over="ignore"):
        for start in range(0, len(values), len(factor)):
            part = values[start : start + len(factor)]
            share = factor[: len(part)]
            share[...] = mask[start : start + len(factor)].view(np.uint8)  # a faster cast
            whole = len(part) - len(part) % _BLOCK
            blocks = np.vecdot(part[:whole].reshape(-1, _BLOCK), share[:whole].reshape(-1, _BLOCK))
            total += float(blocks.sum(dtype=np.float64))
            if whole < len(part):
                total += float(part[whole:] @ share[whole:])
        if math.isfinite(total) or np.isnan(values).any():
            return total
        return float(values[mask].sum(dtype=np.float64))
