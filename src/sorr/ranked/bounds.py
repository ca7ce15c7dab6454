"""Which ranks to keep: the pair (m, k) in counts, fractions or mass, checked and rounded here."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from sorr._checks import as_count

_ROUNDING = 1e-12  # relative differences below this are rounding errors
_EPSILON = float(np.finfo(np.float64).eps)
_PAIRWISE = 64  # additions that one term goes through when NumPy sums a long array


class Mass(float):
    """An amount of sample weight, to give a rank in units of weight.

    A plain float is a fraction wherever `sorr` takes a rank. ``Mass(2.5)`` means two and a half
    rows of weight one.

    Examples
    --------
    >>> from sorr.ranked import sum_ranked_range
    >>> sum_ranked_range([4.0, 3.0, 2.0], m=Mass(0.5), k=2)
    5.0
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Mass({float(self)!r})"

    __str__ = __repr__


@dataclass(frozen=True, slots=True)
class RankedRange:
    """The ranks ``m + 1`` to ``k`` of a set of values. The largest value has rank 1.

    Parameters
    ----------
    m : int, float or Mass, default=0
        How much to drop from the top. An int is a count. A float strictly between 0 and 1 is a
        fraction of the values, or of their total weight if they have weights.
    k : int, float, Mass or None, default=None
        The last rank to keep, in the same units. None keeps everything down to the smallest value.

    Notes
    -----
    ``1.0`` and ``0.0`` raise an error, because each could be a count or a fraction.

    Examples
    --------
    >>> RankedRange(m=0.1, k=0.9).resolve(50)
    RankedRange(m=5, k=45)
    >>> RankedRange.trimmed(2).resolve(50)
    RankedRange(m=2, k=50)
    >>> from sorr.ranked import average_ranked_range
    >>> average_ranked_range([5.0, 1.0, 2.0, 3.0], *RankedRange.median(4))
    2.5
    """

    m: int | float = 0
    k: int | float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", _check_rank("m", self.m))
        if self.k is None:
            return
        object.__setattr__(self, "k", _check_rank("k", self.k))
        if _is_fraction(self.m) == _is_fraction(self.k) and self.m >= self.k:
            raise ValueError(
                f"m={self.m} and k={self.k} leave no rank between them; needed m < k, because "
                "ranks m + 1 to k are kept: lower m or raise k"
            )

    def __iter__(self) -> Iterator[int | float | None]:
        """Yield m and k, as in ``sum_ranked_range(values, *ranks)``."""
        yield self.m
        yield self.k

    @classmethod
    def average(cls) -> Self:
        """Keep every rank: the plain average."""
        return cls(0, None)

    @classmethod
    def maximum(cls) -> Self:
        """Keep rank 1: the maximum, or with weights the average of the top mass of one."""
        return cls(0, 1)

    @classmethod
    def average_top(cls, k: int | float) -> Self:
        """Keep ranks 1 to `k`: the average top-k loss of Fan et al. (2017), or CVaR."""
        return cls(0, k)

    @classmethod
    def top_value(cls, k: int) -> Self:
        """Keep rank `k`: the largest value after the first k - 1."""
        rank = as_count("k", k, what="a rank")
        return cls(rank - 1, rank)

    @classmethod
    def trimmed(cls, m: int | float) -> Self:
        """Drop the first `m` ranks and keep the others: the average of the bottom n - m values."""
        return cls(m, None)

    @classmethod
    def median(cls, n: int) -> Self:
        """Keep the middle rank of `n` values, or the two middle ranks when `n` is even.

        As in the paper, section 3: ``m = floor((n + 1) / 2) - 1`` and ``k = ceil((n + 1) / 2)``.
        """
        n = as_count("n", n, what="a number of values")
        return cls((n + 1) // 2 - 1, n // 2 + 1)

    def resolve(self, total: int | float) -> RankedRange:
        """Return the range with both ends in rows or in mass, given the total.

        Parameters
        ----------
        total : int or float
            An int is a number of rows. Fractions then become whole rows: `m` is rounded down and
            `k` up, so that the range is never narrower than requested. A float is a total
            weight. Fractions then become that share of it, without rounding.

        Returns
        -------
        RankedRange
            Both ends are counts, or `Mass`, with ``0 <= m < k <= total``.

        Examples
        --------
        >>> RankedRange(m=0.1, k=0.9).resolve(25)
        RankedRange(m=2, k=23)
        >>> RankedRange(m=0.1, k=0.9).resolve(25.0)
        RankedRange(m=Mass(2.5), k=Mass(22.5))
        """
        rows = _is_integer(total)
        what = f"{total} values" if rows else f"total weight of {float(total):g}"
        m = _in_total(self.m, total, math.floor)
        k = total if self.k is None else _in_total(self.k, total, math.ceil)
        if k > total:
            if k > total * (1 + _ROUNDING):
                raise ValueError(
                    f"k={self.k} exceeds the {what}; pass a fraction such as k=0.8, "
                    "or k=None to keep down to the smallest value"
                )
            k = total
        if m >= total:
            raise ValueError(
                f"m={self.m} drops everything out of the {what}; needed a smaller m, "
                "or a fraction such as m=0.1"
            )
        if not rows:
            m, k = Mass(m), Mass(k)
        try:
            return RankedRange(m, k)
        except ValueError as error:
            raise ValueError(f"out of the {what}, {error}") from None


def _is_integer(number: object) -> bool:
    return isinstance(number, int | np.integer) and not isinstance(number, bool)


def _is_fraction(rank: object) -> bool:
    return isinstance(rank, float) and not isinstance(rank, Mass)


def _in_total(
    rank: int | float, total: int | float, rounding: Callable[[float], int]
) -> int | float:
    """Return a rank in rows or mass, if it is a fraction of the total."""
    if not _is_fraction(rank):
        return rank
    share = rank * total
    if not _is_integer(total):
        return share
    nearest = round(share)
    if abs(share - nearest) <= _ROUNDING * share:
        return nearest  # 0.29 of 100 is 29, although the product of the two floats is not
    return rounding(share)


def _check_rank(name: str, rank: object) -> int | float:
    """Return a rank as a plain number, or raise an error with both ways to write one."""
    is_m = name == "m"
    units = f"a count (an int, {name}=10) or a fraction strictly between 0 and 1 ({name}=0.1)"
    if isinstance(rank, bool | np.bool_) or not isinstance(
        rank, int | float | np.integer | np.floating
    ):
        raise TypeError(f"{name}={rank!r} is of type {type(rank).__name__}; needed {units}")
    if isinstance(rank, int | np.integer):
        smallest = 0 if is_m else 1
        if rank < smallest:
            raise ValueError(f"{name}={rank} is too small; needed {name} >= {smallest}, as {units}")
        return int(rank)
    if isinstance(rank, Mass):
        if not 0 <= rank < math.inf or (not is_m and not rank > 0):
            bound = "not negative" if is_m else "positive"
            raise ValueError(f"{name}={rank} is not a mass; needed a finite one that is {bound}")
        return rank
    rank = float(str(rank))  # the float32 nearest to 0.1 means 0.1
    if 0 < rank < 1:
        return rank
    if math.isnan(rank):
        problem = "is not a number"
    elif rank == 0:
        way_out = "m=0 to drop nothing" if is_m else "k=1 to keep the largest value"
        problem = f"is not a fraction; pass {way_out}"
    elif rank == 1:
        way_out = "m=1 drops one value" if is_m else "k=1 keeps one value, k=None keeps all"
        problem = f"can be read as one value and as all values ({way_out})"
    elif rank < 0:
        problem = "is negative"
    else:
        problem = f"is not a fraction (Mass({rank:g}) is an amount of weight)"
    raise ValueError(f"{name}={rank} {problem}; needed {units}")


class Ends(NamedTuple):
    """The ends of a range within one row of values: counts, or mass if the row has weights.

    Masses are sums of floats: ten weights of 0.1 are not quite one. A unit is the error of one
    addition at that end, so that differences due to rounding are taken as equal.
    """

    m: int | float
    k: int | float
    m_unit: float = 0.0
    k_unit: float = 0.0

    def rounded(self) -> Self:
        """Return ends that are whole numbers where they differ from one by a rounding error."""
        ends = (self.m, self.k)
        whole = [
            round(end) if abs(end - round(end)) <= slack else end
            for end, slack in zip(ends, self.slacks(), strict=True)
        ]
        return self._replace(m=whole[0], k=whole[1])

    def slacks(self, additions: int = 0) -> tuple[float, float]:
        """Return the rounding error of a sum at either end, for a number of single additions."""
        return self.m_unit * (_PAIRWISE + additions), self.k_unit * (_PAIRWISE + additions)

    @classmethod
    def of_mass(cls, m: float, k: float, n: int) -> Self:
        """Return the ends of a range of mass in a row of `n` values."""
        widest = (k - m) / (4 * (_PAIRWISE + n))  # no sum may be taken as equal to both ends
        return cls(m, k, min(_EPSILON * m, widest), min(_EPSILON * k, widest))
