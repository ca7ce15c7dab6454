"""Which ranks to keep: the pair (m, k), given as counts or fractions, checked once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

__all__ = ["Ends", "Mass", "RankedRange"]

_ROUNDING = 1e-12  # products and totals that differ by less, relatively, differ by rounding only


class Mass(float):
    """An amount of sample weight: the unit in which ranks are counted when rows have weights.

    A plain float is a fraction wherever `sorr` takes a rank. ``Mass(2.5)`` says two and a half
    rows, and ``Mass(0.5)`` half a row.

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
    """The ranks ``m + 1`` to ``k`` of a set of values, the largest value having rank 1.

    Parameters
    ----------
    m : int, float or Mass, default=0
        How much to drop from the top. An int is a count. A float strictly between 0 and 1 is a
        fraction of the values, or of their total weight where they have weights.
    k : int, float, Mass or None, default=None
        The last rank to keep, in the same units; None keeps down to the smallest value.

    Notes
    -----
    ``1.0`` and ``0.0`` are refused, because each can be read as a count and as a fraction.

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
                f"m={self.m} and k={self.k} leave no rank between them; needed m < k, "
                "since ranks m + 1 to k are kept: lower m or raise k"
            )

    def __iter__(self) -> Iterator[int | float | None]:
        """Yield m and k, to be passed on: ``sum_ranked_range(values, *ranks)``."""
        yield self.m
        yield self.k

    @classmethod
    def average(cls) -> Self:
        """Keep every rank: the plain average."""
        return cls(0, None)

    @classmethod
    def maximum(cls) -> Self:
        """Keep rank 1 alone: the maximum, or with weights the average of a top mass of one."""
        return cls(0, 1)

    @classmethod
    def average_top(cls, k: int | float) -> Self:
        """Keep ranks 1 to `k`: the average top-k loss of Fan et al. (2017), or CVaR."""
        return cls(0, k)

    @classmethod
    def top_value(cls, k: int) -> Self:
        """Keep rank `k` alone: as a loss, a maximum that forgives k - 1 outliers."""
        rank = _check_rank("k", k)
        if not isinstance(rank, int):
            raise ValueError(f"k={k} is not a count; the top-k value needs one: pass an int")
        return cls(rank - 1, rank)

    @classmethod
    def trimmed(cls, m: int | float) -> Self:
        """Keep every rank but the first `m`: the average of the bottom n - m values."""
        return cls(m, None)

    @classmethod
    def median(cls, n: int) -> Self:
        """Keep the middle rank of `n` values, or the two middle ranks when `n` is even.

        As in the paper, section 3: ``m = floor((n + 1) / 2) - 1`` and ``k = ceil((n + 1) / 2)``.
        """
        if not _is_integer(n) or n < 1:
            raise ValueError(f"n={n!r} is not a number of values; the median needs an int >= 1")
        return cls((n + 1) // 2 - 1, n // 2 + 1)

    def resolve(self, total: int | float) -> RankedRange:
        """Express both ends in rows, or in mass, out of a known total.

        Parameters
        ----------
        total : int or float
            An int is a number of rows: fractions become whole rows, `m` rounded down and `k`
            rounded up, so that the range is never narrower than asked. A float is a total
            weight: fractions become that share of it, unrounded.

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
                f"m={self.m} drops everything out of the {what}; needed less than that: "
                "lower m, or pass a fraction such as m=0.1"
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
    rank: int | float, total: int | float, rounded: Callable[[float], int]
) -> int | float:
    if not _is_fraction(rank):
        return rank
    share = rank * total
    if not _is_integer(total):
        return share
    nearest = round(share)
    if abs(share - nearest) <= _ROUNDING * share:
        return nearest  # 0.29 of 100 is 29, whatever the product of the two floats says
    return rounded(share)


def _check_rank(name: str, rank: object) -> int | float:
    units = f"a count (an int, {name}=10) or a fraction strictly between 0 and 1 ({name}=0.1)"
    if isinstance(rank, bool | np.bool_) or not isinstance(
        rank, int | float | np.integer | np.floating
    ):
        raise TypeError(f"{name}={rank!r} is of type {type(rank).__name__}; needed {units}")
    smallest = 1 if name == "k" else 0
    if isinstance(rank, int | np.integer):
        if rank < smallest:
            raise ValueError(f"{name}={rank} is too small; needed {name} >= {smallest}, as {units}")
        return int(rank)
    if isinstance(rank, Mass):
        if not 0 <= rank < math.inf or (name == "k" and not rank > 0):
            bound = "positive" if name == "k" else "not negative"
            raise ValueError(f"{name}={rank} is not a mass; needed one that is finite and {bound}")
        return rank
    rank = float(str(rank))  # the float32 nearest to 0.1 means 0.1
    if 0 < rank < 1:
        return rank
    if math.isnan(rank):
        problem = "is not a number"
    elif rank == 0:
        way_out = "m=0 drops nothing" if name == "m" else "k=1 keeps the largest value"
        problem = f"is no share at all ({way_out})"
    elif rank == 1:
        way_out = (
            "m=1 drops one value, m=0.99 nearly all"
            if name == "m"
            else "k=1 keeps one value, k=None keeps all"
        )
        problem = f"can be read as one value and as all values ({way_out})"
    elif rank < 0:
        problem = "is negative"
    else:
        problem = f"is neither (Mass({rank:g}) would be an amount of weight)"
    raise ValueError(f"{name}={rank} {problem}; needed {units}")


# -- What this room passes around: arrays by name, and the two ends of a range ---------------------


_EPSILON = float(np.finfo(np.float64).eps)
_PAIRWISE = 64  # additions that lie on the way of one term when NumPy adds up many


class Ends(NamedTuple):
    """The ends of a range within one row: in values, or in mass where the row has weights.

    Masses are sums of floats: ten weights of 0.1 are not quite one. The units say how far off
    one addition may be at either end, so that what differs by rounding only is taken as equal.
    """

    m: int | float
    k: int | float
    m_unit: float = 0.0
    k_unit: float = 0.0

    def slacks(self, additions: int = 0) -> tuple[float, float]:
        """Return by how much a sum may miss either end, if so many terms are added one by one."""
        return self.m_unit * (_PAIRWISE + additions), self.k_unit * (_PAIRWISE + additions)

    @classmethod
    def of_mass(cls, m: float, k: float, n: int) -> Self:
        """Return the ends of a range of mass in a row of `n` values."""
        widest = (k - m) / (4 * (_PAIRWISE + n))  # so that no sum is taken to be at both ends
        return cls(m, k, min(_EPSILON * m, widest), min(_EPSILON * k, widest))
