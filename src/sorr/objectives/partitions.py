"""The objective of rows in partitions: it asks all of them, and adds up what they answer.

A handle to raw predictions is a recipe: parameters, from which partitions compute them again. A
handle to shares says where the cuts are. Solvers do with them what they do with arrays, and make
the same choices, whatever the partitions are.

One round over the rows gives value, shares and gradient. The cuts are guessed from a sample: each
partition sends the rows within a narrow bracket of a cut, and sums of all others. The rows in the
brackets are ranked here, so cuts, ties, value and gradient are exact. If masses show that a
bracket missed its cut, a wider one is tried.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray, IntArray
from sorr.losses import Loss
from sorr.objectives import kernels
from sorr.objectives.band import Band
from sorr.objectives.bound import Planes, finish_bound
from sorr.objectives.cuts import Guess, Recipe, settle
from sorr.objectives.design import Design
from sorr.objectives.groups import Groups, Stratum
from sorr.objectives.kernels import (
    BandWeights,
    ConstantSums,
    ConstantWeights,
    Cuts,
    Dropped,
    Part,
    Question,
)
from sorr.objectives.objective import LARGEST_TARGET, Point, RankedRangeObjective
from sorr.objectives.sampling import Sample, constant_rows, merge_copies

_SAMPLED = 0.05  # share of the rows in a sample
_SAMPLE_ROWS = (4000, 50_000)  # fewest and most rows of a sample
_ROWS_PER_PARAMETER = 50  # of a sample, at least
_PROBE = 1 << 14  # rows of the sample that guess where cuts are
_WIDER = 6.0  # a bracket after a miss
_MISSES = 3  # after which all rows are near the cut
_OVERSHOOT = {True: 1.3, False: 1.0}  # of steps of the intercept of a bound: one output, several
_MAX_BALANCE_ROUNDS = 20  # of Newton's method for the intercept of a bound


class Engine(Protocol):
    """What moves questions to partitions: a list, or a scheduler."""

    def map(self, kernel: Callable[..., Any], *small: Any) -> list[Any]:
        """Return the answer of each partition to a question, in the order of the partitions."""

    @property
    def n_rounds(self) -> int:
        """How often the partitions were asked."""


@dataclass(frozen=True)
class Listed:
    """Partitions in the memory of this process, asked one after the other."""

    parts: tuple[Part, ...]
    rounds: list[int] = field(default_factory=lambda: [0])

    def map(self, kernel: Callable[..., Any], *small: Any) -> list[Any]:
        """Return the answer of each partition to a question, in the order of the partitions."""
        self.rounds[0] += 1
        return [kernel(part, *small) for part in self.parts]

    @property
    def n_rounds(self) -> int:
        """How often the partitions were asked."""
        return self.rounds[0]


class Weighed(NamedTuple):
    """A handle to shares: the cuts, and sums that came with them."""

    cuts: Cuts
    gradient: FloatArray
    """Without the ridge."""
    hessian: FloatArray | None
    """Of a loss with rounded corners, without cuts and ridge; None for other losses."""
    dropped: FloatArray
    """The mass at the upper cut to drop, for each partition and group."""


@dataclass(frozen=True, eq=False)
class PartRay:
    """The points of an objective from a start in a direction."""

    objective: PartitionedObjective
    start: Point
    direction: FloatArray

    def at(self, t: float) -> Point:
        """Return the point at a multiple of the direction: a round over the rows."""
        return self.objective.near(self.start, self.start.theta + t * self.direction)

    @property
    def is_finite(self) -> bool:
        """Whether all predictions stay finite."""
        return bool(np.isfinite(self.direction).all())

    @property
    def largest_move(self) -> float:
        """The largest change of a prediction of the sample along the direction."""
        return float(np.abs(self.objective.sample.raw_prediction(self.direction)).max())


@dataclass(frozen=True, eq=False, repr=False)
class PartitionedObjective:
    """A ranked range of the losses of rows in partitions, plus a ridge.

    It answers what solvers ask of `RankedRangeObjective`. The loss has to be convex, and its
    order has to grow with its largest piece, as for every loss with one output and for softmax.

    Attributes
    ----------
    engine : Engine
        What asks the partitions.
    sample : RankedRangeObjective
        The same objective on a sample of the rows, in memory. It knows loss, ridge and shape.
    first_sample : RankedRangeObjective
        The same rows, with more of them dropped as a precaution: what to solve first.
    probe : Part
        Some of the sample: its rows guess where the cuts are.
    groups : Groups
        Ranks and masses; the rows of each group are known to the partitions only.
    sizes, strata
        The number of rows by group and class in each partition, and their number and mass in all.
    is_rounded : bool
        Whether a Hessian comes with each point, because only a few rows curve.
    """

    engine: Engine
    sample: RankedRangeObjective
    first_sample: RankedRangeObjective
    groups: Groups
    n_samples: int
    probe: Part
    sizes: tuple[dict[tuple[int, Any], int], ...]
    strata: dict[tuple[int, Any], Stratum]
    dropped: Dropped | None = None
    is_rounded: bool = False

    @classmethod
    def of(
        cls,
        engine: Engine,
        bare: RankedRangeObjective,
        groups: Groups,
        *,
        sample_size: int | None = None,
        rng: np.random.Generator,
    ) -> Self:
        """Return the objective of partitions.

        Parameters
        ----------
        engine : Engine
            What asks the partitions. All masses are one, or the partitions have masses.
        bare : RankedRangeObjective
            Any objective with the same loss, ridge and shape.
        groups : Groups
            Ranks and masses of the groups; a `weight` of any length says that rows have masses.
        sample_size : int, optional
            About how many rows to sample, by default a twentieth of many rows. They are drawn by
            their number among all rows.
        rng : Generator
        """
        counted = engine.map(kernels.count)
        if (largest := max(target for _, target in counted)) > LARGEST_TARGET:
            raise ValueError(
                f"a target is as large as {largest:.3g}; needed at most {LARGEST_TARGET:.0e} with "
                "rows in partitions: drop rows without a target"
            )
        strata: dict[tuple[int, Any], Stratum] = {}
        for own, _ in counted:
            for key, (size, mass) in own.items():
                before = strata.get(key, Stratum(0, 0.0))
                strata[key] = Stratum(before.size + size, before.mass + mass)
        objective = cls(
            engine=engine,
            sample=bare,
            first_sample=bare,
            groups=groups,
            n_samples=groups.n_samples,
            sizes=tuple({key: stratum.size for key, stratum in own.items()} for own, _ in counted),
            strata=dict(sorted(strata.items())),
            probe=bare.part,
        )
        sample_size = _sample_size(objective) if sample_size is None else sample_size
        drawn = Sample.draw(objective, sample_size, rng)
        sample = drawn.rank(0.0)
        return objective.replace(
            sample=sample,
            first_sample=drawn.rank(),
            probe=_make_probe(sample, objective.strata),
        )

    @classmethod
    def split(
        cls,
        objective: RankedRangeObjective,
        sizes: Sequence[int],
        *,
        sample_size: int | None = None,
        rng: np.random.Generator,
    ) -> Self:
        """Return the objective of rows in memory as one of partitions of these sizes."""
        whole, ends = objective.part, np.cumsum(sizes).tolist()
        n = objective.n_samples
        if min(sizes) < 0 or ends[-1] != n:
            raise ValueError(f"partitions have {list(sizes)} rows; needed sizes that add up to {n}")
        parts: tuple[Part, ...] = (whole,)
        if len(sizes) > 1:
            slices = [slice(*pair) for pair in pairwise([0, *ends])]
            parts = tuple(_cut(whole, rows, number) for number, rows in enumerate(slices))
        groups = tuple(each._replace(rows=np.arange(0)) for each in objective.groups)
        weight = np.zeros(0) if objective.is_weighted else None
        bare = Groups(groups, objective.n_samples, weight)
        return cls.of(Listed(parts), objective, bare, sample_size=sample_size, rng=rng)

    def replace(self, **parts: Any) -> Self:
        """Return the objective with some of its attributes replaced."""
        return dataclasses.replace(self, **parts)

    # -- What the objective is -------------------------------------------------------------------

    @property
    def loss(self) -> Loss:
        """The individual loss."""
        return self.sample.loss

    @property
    def C(self) -> float:  # noqa: N802  (the paper's name)
        """The inverse strength of the ridge."""
        return self.sample.C

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the parameters."""
        return self.sample.shape

    @property
    def n_parameters(self) -> int:
        """The number of parameters, over all outputs."""
        return self.sample.n_parameters

    @property
    def has_intercept(self) -> bool:
        """Whether the parameters have an intercept."""
        return self.sample.has_intercept

    @property
    def n_features(self) -> int:
        """The number of columns of X."""
        return self.sample.n_features

    @property
    def n_rows(self) -> int:
        """The number of rows, with those that have no mass."""
        return self.n_samples

    @property
    def is_convex(self) -> bool:
        """Whether the loss is convex and no row is dropped: then a local minimum is global."""
        return self.loss.convex and all(group.m == 0 for group in self.groups)

    @property
    def _scale(self) -> FloatArray:
        return np.array([group.scale for group in self.groups])

    def _ask(self, theta: FloatArray) -> Question:
        return Question(theta, self.loss, self._scale, self.dropped)

    @property
    def is_weighted(self) -> bool:
        """Whether rows have masses of their own."""
        return self.groups.weight is not None

    @property
    def class_of_row(self) -> npt.NDArray[Any] | None:
        """The class of each row of the sample, or None where the target has none."""
        return self.sample.class_of_row

    @property
    def passes(self) -> float:
        """How often the rows were read."""
        return float(self.engine.n_rounds)

    def count_strata(self) -> dict[tuple[int, Any], Stratum]:
        """Return the number and the mass of the rows of each group and class."""
        if self.dropped is None:
            return self.strata
        total: dict[tuple[int, Any], Stratum] = {}
        for own, _ in self.engine.map(kernels.count, self.dropped):
            for key, stratum in own.items():
                total[key] = Stratum(*np.add(total.get(key, (0, 0.0)), stratum).tolist())
        return dict(sorted(total.items()))

    def pick(self, drawn: Mapping[tuple[int, Any], IntArray]) -> kernels.Gathered:
        """Return rows by their numbers among all rows of their group and class."""
        chosen, passed = [], dict.fromkeys(drawn, 0)
        for sizes in self.sizes:
            mine = {}
            for key, size in sizes.items():
                begin, end = np.searchsorted(drawn[key], [passed[key], passed[key] + size])
                mine[key] = drawn[key][begin:end] - passed[key]
                passed[key] += size
            chosen.append(mine)
        taken = kernels.join(self.engine.map(kernels.pick, chosen))
        if len(chosen) == 1:
            return taken
        keys = {key: number for number, key in enumerate(drawn)}
        label = [np.full(len(rows), keys[key]) for mine in chosen for key, rows in mine.items()]
        order = np.argsort(np.concatenate(label), kind="stable")
        rows, X, y, group, mass = taken
        return kernels.Gathered(rows[order], X[order], y[order], group[order], mass[order])

    def with_rows(self, rows: kernels.Gathered, groups: Groups) -> RankedRangeObjective:
        """Return the objective of some of the rows, in memory, ranked as `groups` says."""
        return self.sample.with_rows(rows, groups)

    def merge_copies(self) -> RankedRangeObjective:
        """Return the objective with equal rows merged, in memory."""
        return merge_copies(self, self.engine.map(kernels.merge_copies))

    def in_memory(self) -> RankedRangeObjective:
        """Return the objective with all rows in memory."""
        rows = kernels.join(self.engine.map(kernels.pick))
        groups = tuple(
            group._replace(rows=np.flatnonzero(rows.group == g))
            for g, group in enumerate(self.groups)
        )
        weight = rows.mass.astype(np.float64) if self.is_weighted else None
        return self.with_rows(rows, Groups(groups, self.n_samples, weight))

    def smoothed(self, width: float) -> Self:
        """Return the objective with the corners of its loss rounded over that width."""
        is_rounded = len(self.shape) == 1
        return self.replace(sample=self.sample.smoothed(width), is_rounded=is_rounded)

    # -- Points ----------------------------------------------------------------------------------

    def at(self, theta: FloatArray, raw: Recipe | None = None) -> Point:
        """Return the point of parameters, in one round over the rows."""
        return self._evaluate(theta, raw)

    def near(self, point: Point, theta: FloatArray) -> Point:
        """Return the point of parameters, near another one whose cuts are known."""
        return self._evaluate(theta, point.raw)

    def coarse(self, point: Point) -> Point:
        """Return the point itself: losses are always computed in float64."""
        return point

    fine = renewed = coarse

    def ray(self, point: Point, direction: FloatArray) -> PartRay:
        """Return the points from a point in a direction."""
        return PartRay(self, point, direction)

    def between(self, start: Point, end: Point) -> PartRay:
        """Return the points from one point to another one, and beyond."""
        return PartRay(self, start, end.theta - start.theta)

    def gradient(self, point: Point) -> FloatArray:
        """Return the subgradient at a point."""
        return np.asarray(point.shares.gradient + self.sample.ridge_gradient(point.theta))

    def hessian(self, point: Point) -> FloatArray:
        """Return the second derivative for fixed shares, on the sample: no round over the rows."""
        return self.sample.hessian(self._on_sample(point))

    def hessian_with_cuts(self, point: Point) -> FloatArray:
        """Return a second derivative that includes the cuts, mostly from the sample."""
        return self.sample.hessian_with_cuts(self._on_sample(point), point.shares.hessian)

    def _evaluate(self, theta: FloatArray, seen: Recipe | None) -> Point:
        """Return the point of parameters; cuts at other ones help to find the cuts here."""
        ask, cuts = self._ask(theta), Cuts.none(len(self.groups))
        kernel: Any = partial(kernels.weigh, needs_hessian=True)
        kernel, settled = kernel if self.is_rounded else kernels.weigh, None
        if not self.groups.is_full:
            guess = Guess(self, theta, seen)
            for attempt in range(_MISSES + 1):
                edges = guess.edges(np.inf if attempt == _MISSES else _WIDER**attempt)
                sums = self.engine.map(kernel, ask, cuts, edges)
                settled = settle(self.groups, sums, edges)
                if settled is not None:
                    break
            assert settled is not None, "the masses of the partitions do not add up"
            cuts = settled.cuts
        if settled is None or settled.pull is None:  # with cuts that are known
            sums = self.engine.map(kernel, ask, cuts)
            loss, pull = sum(each.loss for each in sums), sum(each.pull for each in sums)
            dropped = (
                np.zeros((len(sums), len(self.groups))) if settled is None else settled.dropped
            )
        else:
            loss, pull, dropped = settled.loss, settled.pull, settled.dropped
        value = float(loss) + self.sample.ridge(theta)
        hessian = sum(each.hessian for each in sums) if self.is_rounded else None
        return Point(theta, Recipe(theta, cuts), value, Weighed(cuts, pull, hessian, dropped))

    def majorise(self, point: Point) -> tuple[Self, Point]:
        """Return the trimming majoriser at a point, and the same point on it."""
        point = self.fine(point)
        cuts, tied = point.shares.cuts, point.shares.dropped
        groups = tuple(g._replace(m=0.0, k=g.width, mass=g.mass - g.m) for g in self.groups)
        dropped = Dropped(point.theta, self.loss, cuts.upper, tied)
        majoriser = self.replace(
            groups=Groups(groups, self.n_samples, None),
            dropped=dropped if any(g.m > 0 for g in self.groups) else self.dropped,
        )
        whole = (cuts.upper_share == 0) | (cuts.upper_share == 1)
        if not (whole & (cuts.upper > cuts.lower)).all():
            return majoriser, majoriser.at(point.theta, point.raw)
        free = Cuts.none(len(groups))._replace(lower=cuts.lower, lower_share=cuts.lower_share)
        handle = point.shares._replace(cuts=free, dropped=np.zeros_like(tied))
        return majoriser, point._replace(raw=point.raw._replace(cuts=free), shares=handle)

    # -- Single numbers, most of them from the sample ----------------------------------------------

    def _on_sample(self, point: Point) -> Point:
        return self.sample.at(point.theta)

    def diagonal_size(self, point: Point) -> FloatArray:
        """Return the root of the diagonal of a rough Hessian."""
        squares = sum(self.engine.map(kernels.column_squares)) / self.n_samples
        return self.sample.diagonal_size(self._on_sample(point), squares)

    def typical_loss(self, point: Point) -> float:
        """Return a typical loss, the unit of the widths of rounded corners."""
        return self.sample.typical_loss(self._on_sample(point))

    def is_higher(self, point: Point, other: Point) -> bool:
        """Tell whether a point is above another one by more than the chance of a sample."""
        return self.sample.is_higher(self._on_sample(point), self._on_sample(other))

    def kept_loss(self, point: Point) -> float:
        """Return the objective at a point without its ridge."""
        return point.value - self.sample.ridge(point.theta)

    def spread(self, point: Point) -> float:
        """Return by how much raw predictions differ between rows of the sample, at most."""
        return float(np.ptp(self.sketch(point), axis=0).max())

    def sketch(self, point: Point) -> FloatArray:
        """Return the raw predictions of the sample, which tell points apart."""
        return self.sample.raw_prediction(point.theta)

    def row_weights(self, point: Point) -> FloatArray:
        """Return the shares of all rows, partition by partition."""
        point = self.fine(point)
        ask = self._ask(point.theta)
        return np.concatenate(self.engine.map(kernels.row_shares, ask, point.shares.cuts))

    def dropped_by_class(self, point: Point) -> dict[Any, float]:
        """Return the mass above rank m, by class where the target has classes, else by group."""
        if self.loss.class_of_row(self.sample.y) is None:
            return {group.label: group.m for group in self.groups}
        point, ask = self.fine(point), self._ask(point.theta)
        lost: dict[Any, float] = {}
        for part in self.engine.map(kernels.dropped_by_class, ask, point.shares.cuts):
            for name, mass in part.items():
                lost[name] = lost.get(name, 0.0) + mass
        return dict(sorted(lost.items()))

    # -- Bounds and bands ------------------------------------------------------------------------

    def share_weights(self, point: Point) -> None:
        """Return None: the planes that touch the objective need no other weights."""
        del point

    def lower_bound(self, point: Point, weights: Any, enough: float = np.inf) -> float:
        """Return a lower bound of a convex objective, from any weights of its rows at a point.

        See `sorr.objectives.bound`. Weights are within the limits of their rows; the total of each
        group is scaled down where it is too large. Newton's method finds a shift of all predictions
        at which weighted slopes cancel, in a round over the rows for each step, until the bound is
        `enough`. With one output, two sums whose slopes have opposite signs are mixed, so that
        slopes cancel at once: the steps are a little too long on purpose.
        """
        if weights is None:
            return self._bound_by_planes(point, enough)
        is_single = len(self.shape) == 1
        is_curved = self.has_intercept and self.loss.has_curvature
        limit = np.array([group.scale * group.width for group in self.groups])
        best, planes, shift = 0.0, Planes(self.C, self.n_features), np.zeros(self.shape[1:])
        for _ in range(_MAX_BALANCE_ROUNDS):
            asked = self._ask(point.theta), weights, shift if np.any(shift) else None
            answers = self.engine.map(kernels.tangents, *asked)
            weight, value, pull = (sum(each) for each in zip(*answers, strict=True))
            factor = np.minimum(1.0, limit / np.where(weight > 0, weight, 1.0))
            factors = np.repeat(factor, 2) if is_single else factor
            pull = factors.reshape(-1, *[1] * (pull.ndim - 1)) * pull
            center = point.theta.copy()
            if self.has_intercept:
                center[-1] += shift
            height = factors * value - np.tensordot(pull, center, axes=center.ndim)
            best = max(best, self._bound_from(height, pull, float(factor @ weight)))
            if is_curved and is_single:
                best = max(best, planes.add(float(height.sum()), pull.sum(axis=0)))
            slope = pull[:, -1].sum(axis=0)
            is_balanced = not is_single and np.abs(slope).max() <= 1e-15 * float(factor @ weight)
            if not is_curved or is_balanced or best >= enough or planes.is_done:
                break
            shift = shift - self._intercept_step(point, shift, slope)
        return best

    def _bound_by_planes(self, point: Point, enough: float) -> float:
        """Return a bound from planes that touch the objective at some intercepts.

        Each is an evaluation there.
        """
        best, planes, theta = 0.0, Planes(self.C, self.n_features), point.theta
        size = sum(group.scale * group.width for group in self.groups)
        for _ in range(_MAX_BALANCE_ROUNDS):
            pull = point.shares.gradient
            height = self.kept_loss(point) - float(np.vdot(pull, point.theta))
            slope = np.abs(pull[self.n_features :]).max(initial=0.0) / size
            if slope <= 1e-13:
                best = max(best, finish_bound(height, pull[: self.n_features].ravel(), self.C))
            if pull.ndim == 1 and self.has_intercept:
                best = max(best, planes.add(height, pull))
            if slope <= 1e-15 or best >= enough or planes.is_done:
                break
            shift = point.theta[-1] - theta[-1]
            step = self._intercept_step(point._replace(theta=theta), shift, pull[-1])
            if not np.any(step):  # nothing curves
                break
            moved = point.theta.copy()
            moved[-1] -= step
            point = self.near(point, moved)
        return best

    def _bound_from(self, height: FloatArray, pull: FloatArray, size: float) -> float:
        """Return a bound from sums of tangents by cell, after balancing their slopes."""
        is_single = len(self.shape) == 1
        if self.has_intercept and is_single:
            down, up = (-float(pull[0::2, -1].sum()), float(pull[1::2, -1].sum()))
            if max(up, down) > 0:
                ratio = min(up, down) / max(up, down)
                lighter = np.tile([1.0, ratio] if up > down else [ratio, 1.0], len(self.groups))
                height, pull = lighter * height, lighter[:, None] * pull
        elif self.has_intercept and np.abs(pull[:, -1].sum(axis=0)).max() > 1e-13 * size:
            return 0.0
        pulled = pull.sum(axis=0)[: self.n_features].ravel()
        return finish_bound(float(height.sum()), pulled, self.sample.C)

    def _intercept_step(self, point: Point, shift: FloatArray, slope: FloatArray) -> FloatArray:
        """Return how far to move predictions down until weighted slopes cancel, on the sample."""
        sample = self.sample
        at = self._on_sample(point)
        bend = sample.loss.curvature(sample.y, at.raw + shift)
        curve = np.atleast_2d(np.tensordot(at.shares, bend, axes=1))
        move = np.linalg.lstsq(curve, np.atleast_1d(slope), rcond=1e-12)[0]
        move = np.clip(_OVERSHOOT[len(self.shape) == 1] * move, -1.0, 1.0)
        return np.asarray(move.reshape(np.shape(slope)))

    def band(self, point: Point, size: int) -> tuple[Band, Callable[[FloatArray], BandWeights]]:
        """Return the problem of about `size` rows near the cut, and the way to weights of all."""
        low, high = Guess(self, point.theta, None).band(size, point.shares.cuts)
        above = Cuts.none(len(self.groups))._replace(lower=high, lower_share=np.zeros(len(high)))
        kernel = partial(kernels.weigh, gather=(low, high))
        answers = self.engine.map(kernel, self._ask(point.theta), above)
        near = kernels.join([answer.gathered for answer in answers])
        ends = np.cumsum([len(answer.gathered.rows) for answer in answers])[:-1]
        inside = sum(answer.inside for answer in answers)
        limit = np.array(
            [g.scale * (g.width - i) for g, i in zip(self.groups, inside, strict=True)]
        )
        limit[[group.is_full for group in self.groups]] = np.inf
        used, threshold = np.unique(near.group, return_inverse=True)
        hessian: FloatArray = np.diag(self.sample.ridge_diagonal)
        if self.loss.has_curvature:
            hessian = self.sample.curvature_above(self._on_sample(point), high)
        pull = sum(answer.pull for answer in answers)
        gradient = self.sample.ridge_gradient(point.theta) + pull
        band = Band(
            design=Design(near.X, intercept=self.sample.design.intercept),
            y=near.y,
            loss=self.loss,
            omega=self._scale[near.group] * near.mass,
            group=threshold,
            remaining=limit[used],
            center=point.theta.ravel(),
            shape=self.shape,
            hessian=hessian,
            gradient=gradient.ravel(),
        )
        rows = tuple(answer.gathered.rows for answer in answers)

        def weights(solved: FloatArray) -> BandWeights:
            return BandWeights(point.theta, high, rows, tuple(np.split(solved, ends)))

        return band, weights

    # -- Models without coefficients ---------------------------------------------------------------

    def clip_targets(self) -> Self:
        """Return the objective itself: huge targets were refused."""
        return self

    def constant_rows(self) -> RankedRangeObjective:
        """Return the objective of models without coefficients: one row for each group and class."""
        return constant_rows(self.sample, self.groups, self.count_strata())

    def constant_sums(self, theta: FloatArray, weights: ConstantWeights) -> ConstantSums:
        """Return the sums of weights at a constant model over all rows."""
        answers = self.engine.map(kernels.constant_sums, self._ask(theta), weights)
        return ConstantSums(*(sum(each) for each in zip(*answers, strict=True)))


def _cut(part: Part, rows: slice, number: int) -> Part:
    """Return some of the rows of a partition as one of their own."""
    group = None if part.group is None else part.group[rows]
    mass = None if part.mass is None else part.mass[rows]
    classes = None if part.classes is None else part.classes[rows]
    return Part(part.X[rows], part.y[rows], group, mass, part.intercept, number, classes)


def _make_probe(sample: RankedRangeObjective, strata: dict[tuple[int, Any], Stratum]) -> Part:
    """Return some rows of a sample with masses that add up to those of all rows."""
    part = _cut(sample.part, slice(None, None, math.ceil(sample.n_samples / _PROBE)), 0)
    mass = np.zeros(part.n_samples)
    for key, rows in part.strata().items():
        weight = np.ones(len(rows)) if part.mass is None else part.mass[rows]
        mass[rows] = strata[key].mass * weight / weight.sum()
    return dataclasses.replace(part, mass=mass)


Objective: TypeAlias = RankedRangeObjective | PartitionedObjective
"""What solvers minimise: an objective of rows in memory, or in partitions."""


def _sample_size(objective: Objective) -> int:
    low, high = _SAMPLE_ROWS
    size = min(max(low, int(_SAMPLED * objective.n_samples)), high)
    return min(
        max(size, _ROWS_PER_PARAMETER * objective.n_parameters), max(objective.n_samples // 2, 1)
    )
