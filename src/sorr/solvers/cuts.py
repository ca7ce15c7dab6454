"""Where many candidates cut their sorted losses, each at ranks of its own: sharply, or blurred."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray, IntArray

__all__ = ["Cut", "Ranking", "soft_lower", "soft_top"]

T = TypeVar("T", bound=np.generic)

_ROUNDING = 1e-9
_ITERATIONS = 40


class Cut(NamedTuple):
    """The entries of a matrix that lie in a range of ranks, candidate by candidate.

    Attributes
    ----------
    at : ndarray of int
        Their positions in the flattened matrix, in ascending order.
    share : ndarray
        The mass each of them has within the range; ties share equally.
    counts : ndarray of int
        How many entries each candidate has: no candidate has none.
    """

    at: IntArray
    share: FloatArray
    counts: IntArray

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum of the values of each candidate."""
        return np.add.reduceat(values, _starts(self.counts))

    def lowest(self, values: FloatArray) -> FloatArray:
        """Return the lowest of the values of each candidate."""
        return np.minimum.reduceat(values, _starts(self.counts))

    def each(self, values: npt.NDArray[T]) -> npt.NDArray[T]:
        """Return values of the candidates as values of their entries."""
        return np.repeat(values, self.counts)


class Ranking:
    """The rows of a matrix, each sorted by itself.

    Parameters
    ----------
    order : ndarray of shape (n_candidates, n_rows)
        Numbers that rank the losses of each candidate.
    mass : ndarray of shape (n_rows,) or (n_candidates, n_rows), or None
        The mass of each entry: one if None.
    total : float or ndarray of shape (n_candidates,)
        The mass of all entries.
    """

    def __init__(
        self, order: FloatArray, mass: FloatArray | None, total: FloatArray | float
    ) -> None:
        self.order, self.mass, self.total = order, mass, total
        self._every = np.arange(len(order))
        if mass is None:
            self._sorted = np.sort(order, axis=1)
        else:
            descending = np.argsort(-order, axis=1)
            self._sorted = np.take_along_axis(order, descending, axis=1)[:, ::-1]
            self.mass = np.broadcast_to(mass, order.shape)
            self._passed = np.cumsum(np.take_along_axis(self.mass, descending, axis=1), axis=1)

    def at(self, rank: FloatArray) -> FloatArray:
        """Return the number at a rank of each candidate: infinite above the first and the last."""
        n = self.order.shape[1]
        if self.mass is None:
            position = np.ceil(rank).astype(np.intp)
        else:
            position = 1 + (self._passed < (rank * (1 - 1e-12))[:, None]).sum(axis=1)
        found = self._sorted[self._every, n - np.clip(position, 1, n)]
        found = np.where(rank > 0, found, np.inf)
        return np.where(self.is_whole(rank), -np.inf, found)

    def _after(self, m: FloatArray) -> FloatArray:
        """Return the first number that is not wholly above a rank, where entries have mass one."""
        n = self.order.shape[1]
        return np.asarray(self._sorted[self._every, n - 1 - np.floor(m).astype(np.intp)])

    def is_whole(self, rank: FloatArray) -> npt.NDArray[np.bool_]:
        """Tell which candidates have nothing below a rank."""
        return np.asarray(rank >= self.total * (1 - _ROUNDING))

    def between(self, m: FloatArray, k: FloatArray) -> Cut:
        """Return the entries ranked m + 1 to k."""
        k = np.minimum(k, self.total)
        upper, lower = self.at(m) if self.mass is not None else self._after(m), self.at(k)
        at = np.flatnonzero((self.order <= upper[:, None]) & (self.order >= lower[:, None]))
        cut = Cut(at, np.ones(len(at)), self._counts(at))
        if self.mass is None and np.array_equal(cut.counts, k - m):
            return cut
        share = cut.share if self.mass is None else self.mass.ravel()[at]
        order = self.order.ravel()[at]
        for end in (upper, np.where(lower == upper, np.nan, lower)):  # one block has one share
            tied = np.flatnonzero(order == cut.each(end))
            share[tied] *= cut.each(self._inside(end, m, k))[tied]
        held = share > 0
        return Cut(at[held], share[held], self._counts(at[held]))

    def _counts(self, at: IntArray) -> IntArray:
        starts = np.searchsorted(at, self._every * self.order.shape[1])
        return np.asarray(np.diff(starts, append=len(at)))

    def _inside(self, end: FloatArray, m: FloatArray, k: FloatArray) -> FloatArray:
        """Return which part of the entries tied at that number lies within the range."""
        above, level = self.order > end[:, None], self.order == end[:, None]
        if self.mass is None:
            first, size = above.sum(axis=1), level.sum(axis=1)
        else:
            first, size = (self.mass * above).sum(axis=1), (self.mass * level).sum(axis=1)
        inside = np.minimum(first + size, k) - np.maximum(first, m)
        return np.asarray(np.clip(inside / np.where(size > 0, size, 1), 0.0, 1.0))


class Blur(NamedTuple):
    """A range with a blurred lower end.

    Attributes
    ----------
    weight : ndarray
        The mass of each entry of a cut that counts.
    edge : ndarray
        The mass of each entry by which its weight can change: zero but for those near the end.
    width : ndarray
        Of each candidate: within plus and minus that many losses the weight falls to zero.
    """

    weight: FloatArray
    edge: FloatArray
    width: FloatArray


def soft_lower(
    ranking: Ranking,
    cut: Cut,
    losses: FloatArray,
    m: FloatArray,
    k: FloatArray,
    reach: FloatArray,
    floor: float,
) -> Blur:
    r"""Blur the end of a range at rank k over about `reach` ranks on both sides.

    The weights maximise :math:`\sum_i v_i s_i - h u_i (v_i / u_i - 1/2)^2` over
    :math:`0 \le v \le u` and :math:`\sum_i v_i = k - m`, which gives

    .. math:: v_i = u_i \operatorname{clip}(1/2 + (s_i - \lambda) / 2h, 0, 1).

    The cut holds the ranks m + 1 to k + reach, and `u` is its share. The width h is such that no
    entry below the cut would get a weight, unless that is less than the floor, as it is where
    all losses tie. A loss of zero counts nothing, so it gets no weight, and the sum may be less.
    """
    order = ranking.order.ravel()[cut.at]
    at_k, above = (
        cut.lowest(np.where(order >= cut.each(ranking.at(rank)), losses, np.inf))
        for rank in (k, k - reach)
    )
    below = np.where(ranking.is_whole(k + reach), -np.inf, cut.lowest(losses))
    width = np.minimum(above - at_k, at_k - below) / 2
    width = np.where(np.isfinite(width), np.maximum(width, floor), floor)
    weight, edge = np.where(losses > 0, cut.share, 0.0), np.zeros_like(losses)
    blurred = ~ranking.is_whole(k) & (cut.sums(weight) > k - m)
    distance = losses - cut.each(np.where(blurred, at_k, -np.inf))
    near = np.flatnonzero(np.abs(distance) < cut.each(2 * width))
    if near.size:
        some = np.flatnonzero(blurred)
        share = weight[near]
        weight[distance < 0] = 0.0
        weight[near] = 0.0
        target, width_here = (k - m - cut.sums(weight))[some], 2 * width[some]
        row = cut.each(np.arange(len(k)))[near]
        counts = np.diff(np.searchsorted(row, some), append=len(row))
        bracket = (-width_here - at_k[some], -width_here / 2, np.zeros(len(some)))
        part = _parts(distance[near], share, counts, target, bracket, width_here)
        weight[near], edge[near] = share * part, share * ((part > 0) & (part < 1))
    return Blur(weight, edge, width)


def soft_top(losses: FloatArray, mass: FloatArray | None, m: FloatArray, heat: float) -> FloatArray:
    r"""Return what is left of each entry when a mass of m is dropped from the top, blurred.

    The dropped parts are :math:`\operatorname{clip}((s_i - \lambda) / \tau, 0, 1)`.
    """
    size, n = losses.shape
    held = np.broadcast_to(1.0 if mass is None else mass, losses.shape)
    end = Ranking(losses, mass, np.inf).at(m)
    high = np.where(m > 0, end, losses.max(axis=1))
    bracket, width = (high - heat, high - heat / 2, high), np.full(size, heat)
    counts = np.full(size, n)
    dropped = _parts(losses.ravel(), held.ravel(), counts, m, bracket, width)
    return np.asarray(held * (1 - dropped.reshape(losses.shape)))


def _parts(
    values: FloatArray,
    mass: FloatArray,
    counts: IntArray,
    target: FloatArray,
    bracket: tuple[FloatArray, FloatArray, FloatArray],
    width: FloatArray,
) -> FloatArray:
    """Return parts ``clip((values - level) / width, 0, 1)`` whose mass is the target in each row.

    Newton's method for the level of each row, from the middle one of three that bracket it, on a
    piecewise linear, falling function; where it leaves the bracket, that is halved.
    """
    starts = _starts(counts)
    values = values / np.repeat(width, counts)
    low, level, high = (end / width for end in bracket)
    for _ in range(_ITERATIONS):
        part = np.clip(values - np.repeat(level, counts), 0.0, 1.0)
        excess = np.add.reduceat(mass * part, starts) - target
        done = np.abs(excess) <= _ROUNDING * np.maximum(target, 1)
        if done.all():
            break
        low, high = np.where(excess > 0, level, low), np.where(excess > 0, high, level)
        moving = np.add.reduceat(mass * ((part > 0) & (part < 1)), starts)
        newton = level + np.divide(
            excess, moving, out=np.full_like(level, np.inf), where=moving > 0
        )
        inside = (newton > low) & (newton < high)
        level = np.where(done, level, np.where(inside, newton, (low + high) / 2))
    return part


def _starts(counts: IntArray) -> IntArray:
    return np.cumsum(counts) - counts
