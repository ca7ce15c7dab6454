"""Where the cuts of an objective in partitions are: guessed from a sample, then exact.

Each partition sends the rows within brackets of the cuts, and the masses above and between them.
That is enough to rank the rows in the brackets exactly, and to see whether a bracket missed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sorr._typing import BoolArray, FloatArray, IntArray
from sorr.objectives import kernels
from sorr.objectives.groups import Group, Groups
from sorr.objectives.kernels import Cuts, Edges
from sorr.ranked import Mass, ranked_range_weights

if TYPE_CHECKING:
    from sorr.objectives.partitions import PartitionedObjective

_SIGMAS = 4.0  # half width of a bracket: a miss costs a round
_ROUNDING = 1e-9  # relative differences of masses below this are rounding errors
_SUM_ROUNDING = 1e-11  # the same, of sums of many masses


class Recipe(NamedTuple):
    """A handle to raw predictions: their parameters, and the cuts there."""

    theta: FloatArray
    cuts: Cuts


class Guess:
    """Where the cuts of an objective may be at parameters, as the rows of a sample say."""

    def __init__(
        self, objective: PartitionedObjective, theta: FloatArray, seen: Recipe | None
    ) -> None:
        self.objective, self.seen = objective, seen
        probe, dropped = objective.probe, objective.dropped
        self.mass = np.ones(probe.n_samples) if probe.mass is None else probe.mass
        if dropped is not None:
            cut = dropped.cut[0] if probe.group is None else dropped.cut[probe.group]
            self.mass = np.where(self._order(dropped.theta) > cut, 0.0, self.mass)
        self.order_seen = None if seen is None else self._order(seen.theta)
        self.order = self._order(theta)
        self.theta = theta

    def _order(self, theta: FloatArray) -> FloatArray:
        probe = self.objective.probe
        if (raw := probe.recall(theta)) is None:
            raw = probe.predict(probe.X, theta)
            probe.remember(theta, raw)
        return self.objective.loss.order(probe.y, raw)

    def _rows(self, g: int) -> IntArray:
        group = self.objective.probe.group
        mine = self.mass > 0 if group is None else (group == g) & (self.mass > 0)
        return np.flatnonzero(mine)

    def edges(self, widen: float) -> Edges:
        """Return brackets of all cuts, so many times as wide as they should have to be."""
        edges = []
        for g, group in enumerate(self.objective.groups):
            top = high = np.inf
            low = bottom = -np.inf
            if group.m > 0:
                top, high = self._bracket(g, group, group.m, widen, "upper")
            if group.k < group.mass * (1 - _ROUNDING):
                low, bottom = self._bracket(g, group, group.k, widen, "lower")
            edges.append(
                (top, -np.inf, np.inf, bottom) if high <= low else (top, high, low, bottom)
            )
        return Edges(*np.array(edges).T)

    def _bracket(
        self, g: int, group: Group, end: float, widen: float, which: str
    ) -> tuple[float, float]:
        """Return numbers above and below a cut."""
        rows = self._rows(g)
        if widen == np.inf or not rows.size:
            return np.inf, -np.inf
        ranks = _Ranks(self.order[rows], self.mass[rows])
        cut = -np.inf if self.seen is None else float(getattr(self.seen.cuts, which)[g])
        if self.order_seen is not None and np.isfinite(cut):
            # What ranks above the cut here as there, but for the rows that change sides.
            before = self.order_seen[rows] > cut
            middle = float(self.mass[rows] @ before)
            changed = before ^ (self.order[rows] > ranks.at(middle))
            variance = float(self.mass[rows] @ changed) / ranks.unit
        else:
            share = end / group.mass
            middle = share * ranks.total
            variance = len(rows) * share * (1 - share)
        reach = widen * (_SIGMAS * math.sqrt(variance) + 2) * ranks.unit
        return ranks.at(middle - reach), ranks.at(middle + reach)

    def band(self, size: int, cuts: Cuts) -> tuple[FloatArray, FloatArray]:
        """Return the order at the lower and upper end of a band of about `size` rows."""
        objective, low, high = self.objective, [], []
        loss, probe = objective.loss, objective.probe
        top = None
        if np.isfinite(loss.floor):
            raw = probe.predict(probe.X, self.theta)
            top = loss.pieces(probe.y, raw)[0].max(axis=1)
        for g, group in enumerate(objective.groups):
            if group.is_full and loss.has_curvature:
                low.append(np.inf)
                high.append(-np.inf)
                continue
            rows = self._rows(g)
            if not rows.size:  # a group that the sample does not know: all of its rows
                low.append(-np.inf)
                high.append(np.inf)
                continue
            ranks = _Ranks(self.order[rows], self.mass[rows])
            middle = ranks.total
            cut = float(cuts.lower[g])
            if np.isfinite(cut):
                middle = float(self.mass[rows] @ (self.order[rows] > cut))
            if top is not None:  # losses below the floor add nothing, so the cut lies above it
                positive = float(self.mass[rows] @ (top[rows] > loss.floor))
                cut = -np.inf if positive < middle else cut
                middle = min(middle, positive)
            reach = ranks.total * min(1.0, size / objective.n_rows) / 2
            reach = max(reach, 2 * ranks.unit)
            ends = ranks.at(middle + reach), ranks.at(middle - reach)
            low.append(min(ends[0], cut) if np.isfinite(cut) else ends[0])
            high.append(max(ends[1], cut) if np.isfinite(cut) else ends[1])
        return np.array(low), np.array(high)


class _Ranks:
    """Numbers in descending order, and the mass down to each."""

    def __init__(self, order: FloatArray, mass: FloatArray) -> None:
        descending = np.argsort(-order)
        self._order, self._reached = order[descending], np.cumsum(mass[descending])
        self.total = float(self._reached[-1])
        self.unit = self.total / len(order)

    def at(self, mass: float) -> float:
        """Return the number down to which there is that mass."""
        if mass <= 0:
            return np.inf
        place = int(np.searchsorted(self._reached, mass * (1 - _ROUNDING)))
        return float(self._order[place]) if place < len(self._order) else -np.inf


class Settled(NamedTuple):
    """Exact cuts, and the sums that belong to them."""

    cuts: Cuts
    loss: float
    pull: FloatArray | None
    dropped: FloatArray


def settle(groups: Groups, sums: list[kernels.Sums], edges: Edges) -> Settled | None:
    """Return the cuts and sums from rows near the cuts; None if a bracket missed its cut."""
    over, inside = (np.sum(each, axis=0) for each in zip(*(s[:2] for s in sums), strict=True))
    loss, dropped = sum(s.loss for s in sums), np.zeros((len(sums), len(groups)))
    has_pull = all(s.near.pull is not None for s in sums)
    pull: FloatArray | None = np.sum([s.pull for s in sums], axis=0) if has_pull else None
    near = np.concatenate([s.near.pull for s in sums]) if has_pull else None
    origin = np.repeat(np.arange(len(sums)), [len(s.near.order) for s in sums])
    label, order, mass, losses = (
        np.concatenate(each) for each in zip(*(s.near[:4] for s in sums), strict=True)
    )
    cuts = []
    for g, group in enumerate(groups):
        rows = np.flatnonzero((label == g) & (mass > 0))
        rows = rows[np.argsort(-order[rows], kind="stable")]
        ends = (edges.top[g], edges.high[g], edges.low[g], edges.bottom[g])
        ranked = _rank(group, order[rows], mass[rows], float(over[g]), float(inside[g]), ends)
        if ranked is None:
            return None
        parts, cut = ranked
        counted = np.flatnonzero(parts)  # losses of the others may be infinite
        kept = rows[counted]
        loss += group.scale * float(parts[counted] @ losses[kept])
        if pull is not None and near is not None:
            pull = pull + group.scale * (parts[counted] @ near[kept]).reshape(pull.shape)
        left = group.m - float(over[g]) - float(mass[rows] @ (order[rows] > cut[0]))
        tied = np.bincount(origin[rows], mass[rows] * (order[rows] == cut[0]), len(sums))
        total = float(tied.sum())
        cuts.append((*cut, min(max(left, 0.0) / total, 1.0) if total > 0 else 0.0))
        before = np.cumsum(tied) - tied
        dropped[:, g] = np.clip(left - before, 0.0, tied) if left > _ROUNDING else 0.0
    return Settled(Cuts(*np.array(cuts).T), float(loss), pull, dropped)


def _rank(
    group: Group,
    order: FloatArray,
    mass: FloatArray,
    over: float,
    inside: float,
    ends: tuple[float, float, float, float],
) -> tuple[FloatArray, tuple[float, float, float, float]] | None:
    """Return which part of each near row of a group counts, and the cuts of the group."""
    top, high, low, bottom = ends
    total, slack = float(mass.sum()) + inside, _SUM_ROUNDING * group.mass
    m, k = group.m - over, group.k - over
    cuts_k = group.k < group.mass * (1 - _ROUNDING)
    k = k if cuts_k else total
    upper = float(mass @ (order >= high)) if high > low else 0.0
    if m < -slack or k > total + slack or m > total + slack:
        return None
    if high > low and (m > upper + slack or (cuts_k and k < upper + inside - slack)):
        return None
    values, masses = order, mass
    if inside > 0:  # all of them count: one row stands for them
        middle = np.nextafter(high, -np.inf) if np.isfinite(high) else np.nextafter(low, np.inf)
        values, masses = (
            np.append(order, middle if np.isfinite(middle) else 0.0),
            np.append(mass, inside),
        )
    if not len(values):
        return None
    ranks = Mass(max(m, 0.0)), Mass(min(k, float(masses.sum())))
    parts = ranked_range_weights(values, *ranks, sample_weight=masses)[: len(mass)] / mass
    parts = np.clip(parts, 0.0, 1.0)
    apart = high > low
    first, last = np.inf, -np.inf
    first_share = last_share = 1.0
    if group.m > 0:
        first, first_share = _outermost(
            order, parts, order >= high if apart else order > -np.inf, top
        )
    if cuts_k:
        below = order <= low if apart else order < np.inf
        last, last_share = _outermost(order[::-1], parts[::-1], below[::-1], bottom)
    return parts, (first, first_share, last, last_share)


def _outermost(
    order: FloatArray, parts: FloatArray, is_here: BoolArray, edge: float
) -> tuple[float, float]:
    """Return the first number of a bracket that counts, and how much of it does.

    If none of them counts, it is the last, of which nothing does. If the bracket is empty, its
    outer edge separates what counts from what does not.
    """
    rows = np.flatnonzero(is_here)
    if not rows.size:
        return edge, 1.0
    counting = rows[parts[rows] > 0]
    return (order[counting[0]], parts[counting[0]]) if counting.size else (order[rows[-1]], 0.0)
