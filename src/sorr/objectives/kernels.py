"""What one partition of the rows answers: sums, masses, and the few rows near a cut.

An objective of rows in partitions asks each of them the same question, and adds up the answers. A
question is small: parameters, and where the cuts are. From these a partition computes raw
predictions, losses and shares again, in blocks of rows that stay in the cache. So no array of all
rows exists anywhere, and each function here depends on its arguments only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sorr._typing import BoolArray, FloatArray, IntArray, Weight
from sorr.losses import Loss, weighted_sum
from sorr.objectives.design import Design
from sorr.objectives.groups import Stratum, class_names, count_strata, split_strata

_BLOCK = 1 << 18  # entries of X that are worked on at a time: they stay in the cache
_BLOCK_ROWS = 16_000  # at most: larger arrays would be taken from the system anew each time
_MAX_NEAR = 1 << 21  # entries of X of rows near a cut that are sent; above, their order only


@dataclass(frozen=True, eq=False)
class Part:
    """Some of the rows, in their order: features, targets, groups and masses.

    `group` is the number of the group of each row, None if there is one for all. `mass` is None
    if all rows have mass one. A row in no group has no mass. `classes` is the class of each row,
    if rows have one.
    """

    X: Any
    y: npt.NDArray[Any]
    group: IntArray | None = None
    mass: Weight | None = None
    intercept: bool = True
    number: int = 0  # of the partition
    classes: npt.NDArray[Any] | None = None
    _kept: WeakKeyDictionary[Dropped, Weight] = field(default_factory=WeakKeyDictionary)
    _last: dict[bytes, FloatArray] = field(default_factory=dict)

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return len(self.y)

    def predict(self, X: Any, theta: FloatArray) -> FloatArray:
        """Return the raw predictions of some rows."""
        raw = np.asarray(X @ theta[: X.shape[1]])
        if self.intercept:
            raw += theta[X.shape[1]]
        return raw

    def recall(self, theta: FloatArray) -> FloatArray | None:
        """Return the raw predictions at parameters, if they were the last to be computed."""
        return self._last.get(theta.tobytes())

    def remember(self, theta: FloatArray, raw: FloatArray) -> None:
        """Keep raw predictions until others are computed: they are often needed again."""
        self._last.clear()
        self._last[theta.tobytes()] = raw

    def forget(self) -> None:
        """Lose the raw predictions that are kept."""
        self._last.clear()

    def strata(self) -> dict[tuple[int, Any], IntArray]:
        """Return the rows that have a mass, by group and class."""
        counts = np.ones(self.n_samples, dtype=bool) if self.mass is None else self.mass > 0
        if self.group is None:
            return split_strata([counts], self.classes)
        last = int(self.group.max(initial=-1))
        return split_strata((counts & (self.group == g) for g in range(last + 1)), self.classes)

    def masses(self, dropped: Dropped | None) -> Weight | None:
        """Return the masses that are left of the rows; None if all are one."""
        if dropped is None:
            return self.mass
        if (kept := self._kept.get(dropped)) is None:  # it may be lost at any time
            self._kept.clear()
            kept = self._kept[dropped] = _kept_masses(self, dropped)
        return kept


class Block(NamedTuple):
    """Some rows of a partition that are computed together."""

    rows: slice
    X: Any
    y: npt.NDArray[Any]
    group: IntArray | None
    mass: FloatArray | None
    raw: FloatArray

    def order(self, loss: Loss) -> FloatArray:
        """Return numbers that rank the rows as their losses do."""
        return loss.order(self.y, self.raw)

    def weights(self, shares: FloatArray | BoolArray, ask: Question) -> FloatArray:
        """Return what rows count in the objective, given which part of each counts."""
        weights = shares * _of_rows(ask.scale, self.group)
        if self.mass is not None:
            weights *= self.mass
        return weights

    def sum_by_group(self, chosen: BoolArray, n_groups: int) -> FloatArray:
        """Return the mass of some of the rows in each group."""
        if self.group is not None:
            mass = chosen if self.mass is None else chosen * self.mass
            return np.bincount(self.group, mass, n_groups).astype(np.float64)
        return np.array([np.count_nonzero(chosen) if self.mass is None else chosen @ self.mass])


@dataclass(frozen=True, eq=False)
class Dropped:
    """What a trimming step drops: rows above a cut, and some of the mass tied at it."""

    theta: FloatArray
    loss: Loss
    cut: FloatArray
    """The order above which rows are dropped, for each group."""
    tied: FloatArray
    """The mass at the cut to drop, first rows first, for each partition and group."""


class Question(NamedTuple):
    """The parameters and the loss to compute with, and the factor of each group."""

    theta: FloatArray
    loss: Loss
    scale: FloatArray
    dropped: Dropped | None = None


class Cuts(NamedTuple):
    """The order at both ends of the range of each group, and which part of such rows counts.

    Rows between the ends count in full.
    """

    upper: FloatArray
    upper_share: FloatArray
    lower: FloatArray
    lower_share: FloatArray
    lost: FloatArray
    """Which part of the rows at the upper end ranks above m."""

    @classmethod
    def none(cls, n_groups: int) -> Cuts:
        """Return cuts that keep all rows."""
        ends = np.full(n_groups, np.inf)
        return cls(ends, np.ones(n_groups), -ends, np.ones(n_groups), np.zeros(n_groups))

    def shares(self, order: FloatArray, group: IntArray | None) -> FloatArray:
        """Return which part of each row counts."""
        upper, lower = (_of_rows(end, group) for end in (self.upper, self.lower))
        shares = ((order < upper) & (order > lower)).astype(np.float64)
        for end, share in ((upper, self.upper_share), (lower, self.lower_share)):
            if (tied := np.flatnonzero(order == end)).size:
                shares[tied] = share[0] if group is None else share[group[tied]]
        return shares


class Edges(NamedTuple):
    """Brackets of the two cuts of each group, in numbers of the order.

    Rows above `top` are dropped, those from `high` to `top` are near the upper cut, those from
    `bottom` to `low` near the lower one. Rows between `low` and `high` count in full.
    """

    top: FloatArray
    high: FloatArray
    low: FloatArray
    bottom: FloatArray


class Near(NamedTuple):
    """The rows near a cut: group, order, mass, loss, and gradient in the parameters.

    Losses and gradients are times the mass. Rows of equal order are merged. `pull` is None if it
    would be large.
    """

    group: IntArray
    order: FloatArray
    mass: FloatArray
    loss: FloatArray
    pull: FloatArray | None


class Gathered(NamedTuple):
    """Some rows themselves: their positions in the partition, and all that belongs to them."""

    rows: IntArray
    X: Any
    y: npt.NDArray[Any]
    group: IntArray
    mass: FloatArray


class Sums(NamedTuple):
    """What the rows of a partition add up to.

    `over` and `inside` are the masses above and between the brackets, or between the cuts, in each
    group. `loss`, `pull` and `hessian` are of the rows that certainly count.
    """

    over: FloatArray
    inside: FloatArray
    loss: float
    pull: FloatArray
    hessian: FloatArray | None
    near: Near
    gathered: Gathered | None


def weigh(
    part: Part,
    ask: Question,
    cuts: Cuts,
    edges: Edges | None = None,
    *,
    gather: tuple[FloatArray, FloatArray] | None = None,
    needs_hessian: bool = False,
) -> Sums:
    """Return what the rows between two cuts add up to, or between the brackets of two cuts.

    With `gather`, the rows whose order is between two numbers of their group are returned too.
    The second derivative is for losses that curve in few rows, such as a rounded hinge.
    """
    n_groups, loss = len(ask.scale), ask.loss
    pull, total = np.zeros(ask.theta.shape), 0.0
    over, inside = np.zeros((2, n_groups))
    hessian = np.zeros((len(ask.theta), len(ask.theta))) if needs_hessian else None
    near, taken = _NearRows(part, ask), []
    for block in blocks(part, ask.theta, ask.dropped):
        order = block.order(loss)
        if edges is None:
            counted: FloatArray | BoolArray = cuts.shares(order, block.group)
        else:
            above, counted, close = _split(order, edges, block.group)
            over += block.sum_by_group(above, n_groups)
            inside += block.sum_by_group(counted, n_groups)
            near.add(block, order, close)
        if gather is not None:
            low, high = (_of_rows(end, block.group) for end in gather)
            is_taken = (order >= low) & (order <= high)
            if block.mass is not None:
                is_taken &= block.mass > 0
            taken.append(_take(block, np.flatnonzero(is_taken)))
            inside += block.sum_by_group(counted > 0, n_groups)
        weights = block.weights(counted, ask)
        values, slopes = loss.value_and_gradient(block.y, block.raw)
        total += weighted_sum(values, weights)
        pull += _pull(block.X, _times(slopes, weights), part.intercept)
        if hessian is not None:
            bend = weights * loss.curvature(block.y, block.raw)
            curved = np.flatnonzero(bend)
            hessian += Design(block.X[curved], intercept=part.intercept).gram(bend[curved])
    rows = near.merged()
    gathered = None if gather is None else join(taken) if taken else pick(part)
    return Sums(over, inside, total, pull, hessian, rows, gathered)


def blocks(part: Part, theta: FloatArray, dropped: Dropped | None = None) -> Iterator[Block]:
    """Yield the rows of a partition in blocks, with their raw predictions."""
    masses, is_sparse = part.masses(dropped), sparse.issparse(part.X)
    step = min(max(1, _BLOCK // max(1, part.X.shape[1])), _BLOCK_ROWS)
    step = max(1, part.n_samples) if is_sparse else step
    known = part.recall(theta)
    if known is None:
        part.forget()  # before the next ones are computed: they take as much memory
    raw = np.empty((part.n_samples, *theta.shape[1:])) if known is None else known
    for start in range(0, part.n_samples, step):
        rows = slice(start, start + step)
        X = part.X if is_sparse else part.X[rows]
        X = X.astype(np.float64, copy=False)
        if known is None:
            raw[rows] = part.predict(X, theta)
        yield Block(
            rows,
            X,
            part.y[rows],
            None if part.group is None else part.group[rows],
            None if masses is None else masses[rows],
            raw[rows],
        )
    part.remember(theta, raw)


def row_shares(part: Part, ask: Question, cuts: Cuts) -> FloatArray:
    """Return the share of each row in the objective."""
    shares = [
        block.weights(cuts.shares(block.order(ask.loss), block.group), ask)
        for block in blocks(part, ask.theta, ask.dropped)
    ]
    return np.concatenate([np.zeros(0), *shares])


def dropped_by_class(part: Part, ask: Question, cuts: Cuts) -> dict[Any, float]:
    """Return the mass above the upper cuts of each class."""
    assert part.classes is not None
    lost = dict.fromkeys(class_names(part.classes), 0.0)
    for block in blocks(part, ask.theta, ask.dropped):
        order, cut = block.order(ask.loss), _of_rows(cuts.upper, block.group)
        rows = np.flatnonzero(order >= cut)
        group = None if block.group is None else block.group[rows]
        tied = order[rows] == _of_rows(cuts.upper, group)
        gone = np.where(tied, _of_rows(cuts.lost, group), 1.0)
        gone = gone if block.mass is None else gone * block.mass[rows]
        classes = part.classes[block.rows][rows]
        for name in lost:
            lost[name] += float(gone[classes == name].sum())
    return lost


def column_squares(part: Part) -> FloatArray:
    """Return the sum of the squares of each column, and of the ones of the intercept."""
    squares = np.full(part.X.shape[1] + part.intercept, float(part.n_samples))
    sizes = Design(part.X, intercept=part.intercept).column_squares()
    squares[: part.X.shape[1]] = sizes
    return squares


def count(
    part: Part, dropped: Dropped | None = None
) -> tuple[dict[tuple[int, Any], Stratum], float]:
    """Return the rows of each group and class, and the largest target."""
    found = count_strata(part.strata(), part.masses(dropped))
    has_numbers = part.y.dtype.kind == "f" and part.n_samples > 0
    return found, float(np.abs(part.y).max()) if has_numbers else 0.0


def pick(
    part: Part, chosen: Sequence[Mapping[tuple[int, Any], IntArray]] | None = None
) -> Gathered:
    """Return rows by their numbers among those of their group and class; by default all rows."""
    rows = np.arange(part.n_samples)
    if chosen is not None:
        strata = part.strata()
        found = [strata[key][which] for key, which in chosen[part.number].items()]
        rows = np.concatenate([rows[:0], *found])
    every = Block(slice(0, part.n_samples), part.X, part.y, part.group, part.mass, part.y)
    return _take(every, rows)


def merge_copies(part: Part) -> Gathered:
    """Return the different rows of a partition that have a mass, each with that of its copies.

    They are in the order of their bytes. Copies have equal features, targets and groups.
    """
    return distinct_rows(pick(part))


def distinct_rows(taken: Gathered) -> Gathered:
    """Return the different ones among rows, each with the mass of its copies."""
    rows = np.flatnonzero(taken.mass)
    X, y, group, mass = taken.X[rows], taken.y[rows], taken.group[rows], taken.mass[rows]
    columns = [as_dense(X), y if y.ndim == 2 else y[:, None], group[:, None]]
    table = np.hstack(columns, dtype=np.float64) + 0.0  # zeros have a sign, until one is added
    whole = np.ascontiguousarray(table).view(f"V{8 * table.shape[1]}")[:, 0]
    first, copy_of = np.unique(whole, return_index=True, return_inverse=True)[1:]
    total = np.bincount(copy_of.ravel(), mass).astype(np.float64)
    return Gathered(taken.rows[rows][first], X[first], y[first], group[first], total)


# -- lower bounds ----------------------------------------------------------------------------------


class Tangents(NamedTuple):
    """Sums of tangents to the losses, in cells of rows.

    With one output there are two cells for each group: of falling and of rising tangents. With
    several there is one. `value` is the weighted sum of the values of the tangents of a cell, where
    they touch, and `pull` that of their gradients. `weight` is the total weight of each group.
    """

    weight: FloatArray
    value: FloatArray
    pull: FloatArray


class RowWeights(Protocol):
    """Weights of the pieces of all losses: a rule that a partition applies to its rows."""

    def of_block(self, part: Part, ask: Question, block: Block, values: FloatArray) -> FloatArray:
        """Return the weights of the pieces of the rows of a block, given their values."""


def tangents(part: Part, ask: Question, weights: RowWeights, shift: FloatArray | None) -> Tangents:
    """Return the sums of the weighted tangents at parameters, with a shift of all predictions."""
    n_groups, loss, theta = len(ask.scale), ask.loss, ask.theta
    is_single = theta.ndim == 1
    n_cells = 2 * n_groups if is_single else n_groups
    outputs = 1 if is_single else theta.shape[1]
    weight, value = np.zeros(n_groups), np.zeros(n_cells)
    pull = np.zeros((len(theta), n_cells * outputs))
    for block in blocks(part, theta, ask.dropped):
        raw = block.raw if shift is None else block.raw + shift
        values, slopes = loss.pieces(block.y, raw)
        v = weights.of_block(part, ask, block, values)
        if values.shape[1] == 1:
            residual, worth, v = _times(slopes[:, 0], v[:, 0]), v[:, 0] * values[:, 0], v[:, 0]
        else:
            residual = np.einsum("il,il...->i...", v, slopes)
            worth, v = np.einsum("il,il->i", v, values), v.sum(axis=1)
        cells = []
        for g in range(n_groups):
            mine = None if block.group is None else block.group == g
            own, sums = (
                (residual, worth) if mine is None else (_where(mine, residual), worth * mine)
            )
            weight[g] += v.sum() if mine is None else v @ mine
            if is_single:
                up = own > 0
                cells += [np.minimum(own, 0.0), np.maximum(own, 0.0)]
                rising = float(sums @ up)
                value[2 * g + 1] += rising
                value[2 * g] += float(sums.sum()) - rising
            else:
                cells.append(own)
                value[g] += sums.sum()
        each = np.array(cells).T if is_single else np.column_stack(cells)  # sums are faster
        pull += _pull(block.X, each, part.intercept)
    pulls = pull.reshape(len(theta), n_cells, outputs).transpose(1, 0, 2)
    return Tangents(weight, value, pulls[:, :, 0] if is_single else pulls)


def _where(mine: BoolArray, residual: FloatArray) -> FloatArray:
    return np.asarray(np.where(mine if residual.ndim == 1 else mine[:, None], residual, 0.0))


@dataclass(frozen=True, eq=False)
class ConstantWeights:
    """Weights at a constant model, where all losses of a class tie: clipped linear functions."""

    eta: FloatArray
    """Coefficients in the slopes times rows, then a constant for each group."""
    level: FloatArray
    """The part of each row that would count if all counted equally, for each group."""

    def parts(self, part: Part, block: Block, slopes: FloatArray) -> FloatArray:
        """Return which part of each row counts."""
        size = len(self.eta) - len(self.level)
        moved = slopes * part.predict(block.X, self.eta[:size])
        moved += _of_rows(self.level + self.eta[size:], block.group)
        return np.clip(moved, 0.0, 1.0)

    def of_block(
        self, part: Part, ask: Question, block: Block, values: FloatArray | None = None
    ) -> FloatArray:
        """Return the weights of the rows of a block."""
        del values
        slopes = ask.loss.gradient(block.y, block.raw)
        return block.weights(self.parts(part, block, slopes), ask)[:, None]


class ConstantSums(NamedTuple):
    """Sums over the rows at a constant model: see `constant_sums`."""

    pull: FloatArray
    size: FloatArray
    weight: FloatArray
    matrix: FloatArray


def constant_sums(part: Part, ask: Question, weights: ConstantWeights) -> ConstantSums:
    """Return the gradient of weights at a constant model, and its derivative in their rule.

    `pull` is the weighted sum of slopes times rows, `size` the same with absolute values and
    `weight` the total of each group. `matrix` is the derivative of the first and the last.
    """
    n_groups, size = len(ask.scale), len(ask.theta)
    pull, scale, weight = np.zeros(size), np.zeros(size), np.zeros(n_groups)
    matrix = np.zeros((size + n_groups, size + n_groups))
    for block in blocks(part, ask.theta, ask.dropped):
        slopes = ask.loss.gradient(block.y, block.raw)
        parts = weights.parts(part, block, slopes)
        counted = block.weights(parts, ask)
        each = counted * slopes
        moving = block.weights((parts > 0) & (parts < 1), ask)
        pull += _pull(block.X, each, part.intercept)
        scale += _pull(block.X, np.abs(each), part.intercept)
        weight += (
            counted.sum() if block.group is None else np.bincount(block.group, counted, n_groups)
        )
        matrix[:size, :size] += Design(block.X, intercept=part.intercept).gram(moving * slopes**2)
        for g in range(n_groups):
            mine = moving if block.group is None else np.where(block.group == g, moving, 0.0)
            matrix[:size, size + g] += _pull(block.X, mine * slopes, part.intercept)
            matrix[size + g, size + g] += mine.sum()
    matrix[size:, :size] = matrix[:size, size:].T
    return ConstantSums(pull, scale, weight, matrix)


@dataclass(frozen=True, eq=False)
class BandWeights:
    """The weights of a solved band, and full weights of the rows above it.

    Which rows are above depends on the order at the parameters where the band was made.
    """

    theta: FloatArray
    top: FloatArray
    rows: tuple[IntArray, ...]
    """The rows of the band in each partition."""
    weights: tuple[FloatArray, ...]

    def of_block(self, part: Part, ask: Question, block: Block, values: FloatArray) -> FloatArray:
        """Return the weights of the pieces of the rows of a block."""
        order = block._replace(raw=part.predict(block.X, self.theta)).order(ask.loss)
        full = block.weights(order > _of_rows(self.top, block.group), ask)
        weights = np.zeros(values.shape)
        weights[np.arange(len(full)), values.argmax(axis=1)] = full
        rows = self.rows[part.number]
        start, stop = np.searchsorted(rows, [block.rows.start, block.rows.start + len(full)])
        weights[rows[start:stop] - block.rows.start] = self.weights[part.number][start:stop]
        return weights


# -- what the functions above share ----------------------------------------------------------------


def _of_rows(values: FloatArray, group: IntArray | None) -> FloatArray:
    """Return the number of the group of each row."""
    return np.asarray(values[0] if group is None else values.take(group))


def _split(
    order: FloatArray, edges: Edges, group: IntArray | None
) -> tuple[BoolArray, BoolArray, IntArray]:
    """Return which rows are above the brackets and between them, and the rows inside."""
    between, above = np.ones(len(order), dtype=bool), np.zeros(len(order), dtype=bool)
    outside = above
    if (edges.high < np.inf).any():
        between = order < _of_rows(edges.high, group)
        outside = above = order > _of_rows(edges.top, group)
    if (edges.low > -np.inf).any():
        between &= order > _of_rows(edges.low, group)
        outside = outside | (order < _of_rows(edges.bottom, group))
    return above, between, np.flatnonzero(between == outside)


def _times(slopes: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the gradients of losses times the weights of their rows."""
    return np.asarray(slopes * (weights if slopes.ndim == 1 else weights[:, None]))


def _pull(X: Any, residual: FloatArray, intercept: bool) -> FloatArray:
    """Return the sum of the rows times their residuals, in float64."""
    residual = residual.astype(X.dtype, copy=False)
    pulled = np.asarray(X.T @ residual, dtype=np.float64)
    if not intercept:
        return pulled
    return np.concatenate([pulled, [residual.sum(axis=0, dtype=np.float64)]])


class _NearRows:
    """The rows near a cut, collected from blocks."""

    def __init__(self, part: Part, ask: Question) -> None:
        self._part, self._ask = part, ask
        self._rows: list[IntArray] = [np.zeros(0, dtype=np.intp)]
        self._order: list[FloatArray] = [np.zeros(0)]
        self._raw: list[FloatArray] = []

    def add(self, block: Block, order: FloatArray, rows: IntArray) -> None:
        """Add rows of a block."""
        self._rows.append(rows + block.rows.start)
        self._order.append(order[rows])
        self._raw.append(block.raw[rows])

    def merged(self) -> Near:
        """Return all of them; rows of one group and one order become one."""
        part, loss, size = self._part, self._ask.loss, self._ask.theta.size
        rows, order = np.concatenate(self._rows), np.concatenate(self._order)
        every = Block(
            slice(0, None), part.X, part.y, part.group, part.masses(self._ask.dropped), part.y
        )
        taken = _take(every, rows)
        if not rows.size:
            none = np.zeros(0)
            return Near(np.zeros(0, dtype=np.intp), none, none, none, np.zeros((0, size)))
        values, slopes = loss.value_and_gradient(taken.y, np.concatenate(self._raw))
        group, mass, values = taken.group, taken.mass, taken.mass * values
        pull = None
        if len(rows) * size <= _MAX_NEAR:
            slopes = (slopes if slopes.ndim == 2 else slopes[:, None]) * mass[:, None]
            pull = np.empty((len(rows), size // slopes.shape[1], slopes.shape[1]))
            pull[:] = slopes[:, None, :]
            pull[:, : part.X.shape[1]] *= as_dense(taken.X)[:, :, None]
            pull = pull.reshape(len(rows), size)
        ranked = np.lexsort((order, group))
        differs = np.diff(order[ranked], prepend=np.nan) != 0
        differs |= np.diff(group[ranked], prepend=-1) != 0
        first = np.flatnonzero(differs)
        if len(first) == len(order):
            return Near(group, order, mass, values, pull)
        mass, values = (np.add.reduceat(each[ranked], first) for each in (mass, values))
        pull = None if pull is None else np.add.reduceat(pull[ranked], first)
        return Near(group[ranked][first], order[ranked][first], mass, values, pull)


def as_dense(X: Any) -> FloatArray:
    """Return features as an array."""
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray())


def _take(block: Block, rows: IntArray) -> Gathered:
    """Return some rows of a block."""
    group = np.zeros(len(rows), dtype=np.intp) if block.group is None else block.group[rows]
    mass = np.ones(len(rows)) if block.mass is None else block.mass[rows].astype(np.float64)
    return Gathered(rows + block.rows.start, block.X[rows], block.y[rows], group, mass)


def join(taken: list[Gathered]) -> Gathered:
    """Return rows that were gathered from several places."""
    if len(taken) == 1:
        return taken[0]
    stack = sparse.vstack if sparse.issparse(taken[0].X) else np.concatenate
    rows, X, y, group, mass = zip(*taken, strict=True)
    columns = [np.concatenate(each) for each in (y, group, mass)]
    return Gathered(np.concatenate(rows), stack(X), *columns)


def _kept_masses(part: Part, dropped: Dropped) -> Weight:
    """Return the masses of the rows after a trimming step."""
    kept = np.ones(part.n_samples) if part.mass is None else part.mass.copy()
    left = dropped.tied[part.number].copy()
    for block in blocks(part, dropped.theta):
        order, cut = block.order(dropped.loss), _of_rows(dropped.cut, block.group)
        mine = kept[block.rows]  # a view
        mine[order > cut] = 0.0
        tied = np.flatnonzero(order == cut)
        for g in np.flatnonzero(left > 0) if tied.size else ():
            rows = tied if block.group is None else tied[block.group[tied] == g]
            before = np.cumsum(mine[rows]) - mine[rows]
            taken = np.clip(left[g] - before, 0.0, mine[rows])
            mine[rows] -= taken
            left[g] -= taken.sum()
    return kept
