"""The paper's Algorithm 1: a difference of convex functions, the second one linearised."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from sorr._checks import as_count, as_generator
from sorr._typing import FloatArray
from sorr.objectives import Design, Group, Groups, RankedRangeObjective
from sorr.ranked import Mass, kth_largest
from sorr.solvers.descent import Point, minimise_nonsmooth
from sorr.solvers.solution import (
    Progress,
    Solution,
    Status,
    Step,
    as_start,
    clip_targets,
    restore_targets,
)
from sorr.solvers.starts import average_start

__all__ = [
    "Batch",
    "KSchedule",
    "Record",
    "Sampled",
    "StepSize",
    "dca",
    "parted_shares",
    "step_sizes",
    "stochastic_step",
    "tangent_shares",
]

_BRIEF = 25  # steps to a start by a relative of the loss

Inner: TypeAlias = Literal["stochastic", "deterministic"]


def dca(
    objective: RankedRangeObjective,
    *,
    start: npt.ArrayLike | None = None,
    inner: Inner = "stochastic",
    outer_steps: int | None = None,
    inner_steps: int | None = None,
    step_size: StepSize | None = None,
    batch_size: int | None = None,
    k_schedule: KSchedule | None = None,
    tol: float = 1e-6,
    random_state: int | np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Solution:
    r"""Minimise a ranked range by the algorithm of the paper.

    F is the difference of two convex functions, :math:`\phi_k` with the ridge and :math:`\phi_m`.
    Each outer step replaces the second by its tangent at the current point, whose slope is

    .. math:: \hat\theta \in \partial \phi_m(S(\theta_t)),

    losses tied at rank m sharing equally (where that leads nowhere, as it can at zero, they part
    as they do downhill), and lowers what is left, a convex majoriser of F:

    .. math:: \min_{\theta, \lambda} \; k \lambda + \sum_i [s_i(\theta) - \lambda]_+
        - \langle \theta, \hat\theta \rangle.

    Parameters
    ----------
    objective : RankedRangeObjective
        What to minimise.
    start : array-like, optional
        The first point: zero by default, or for a loss that is not convex a short fit by a convex
        relative of it: at zero all labels tie, and from near there the steps may lead nowhere.
    inner : {"stochastic", "deterministic"}, default="stochastic"
        How the convex problem is lowered.

        - "stochastic": subgradient steps on one row each, Eq. (SGD) of the paper; see the notes.
          With a batch as large as the data, the full-batch steps of the authors' code.
        - "deterministic": quasi-Newton steps on all rows which never go up: F falls in every
          outer step.
    outer_steps, inner_steps : int, optional
        How many steps to take at most. By default 30 outer ones, each with two readings of the
        data, if "stochastic"; 100 of at most 500 if "deterministic".
    step_size : float or callable, optional
        The step :math:`\eta_l`, or a function of the number l = 0, 1, ... of the inner step
        within its outer step. By default :math:`\eta_0 / \sqrt{l + 1}`, where :math:`\eta_0` is
        what the squared loss would bear: (k - m) / n, over the largest eigenvalue of the second
        moments of the rows plus their mean squared length divided by the size of a batch.
    batch_size : int, optional
        The rows of a step: 1 by default.
    k_schedule : KSchedule, optional
        Lowers k as the training accuracy rises, and so replaces the k of the objective: the
        solution is one of the last objective.
    tol : float, default=1e-6
        Stop when an outer step changes F by less than this, relatively.
    random_state : int, Generator or None
        Draws the rows, and breaks ties where sharing them leads nowhere.
    progress : callable, optional
        Called with each `Step`.

    Returns
    -------
    Solution
        The point after an outer step at which F is lowest. Nothing is certified: the gap is
        infinite. `Status.UNCERTIFIED` says that F seems to have converged, but that rounding may
        hide what is left to do: losses above rank m are so large that the difference of the two
        functions has no digits of the others.

    Notes
    -----
    As printed, Eq. (SGD) draws one row, but subtracts all of :math:`\hat\theta` and of k. The mean
    of that step over the rows is not a subgradient of the stated sum; with
    :math:`\hat\theta / n` and :math:`k / n` it is. These are what is subtracted here. Since F is
    an average, everything is also divided by (k - m) / n, with the ridge added as it stands
    in F: a row i of loss above :math:`\lambda` adds
    :math:`\frac{n}{k - m} \partial s_i` to the slope in :math:`\theta`, any other nothing, and
    :math:`\frac{n}{k - m} (\frac{k}{n} - \mathbb{I}[s_i > \lambda])` is the slope in
    :math:`\lambda`. Rows are drawn in proportion to their mass, and each group has
    a :math:`\lambda` of its own, which starts an outer step at its best: the loss ranked k.

    References
    ----------
    S. Hu, Y. Ying, X. Wang, S. Lyu, "Learning by minimizing the sum of ranked range", NeurIPS
    2020, Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(6.0)[:, None]
    >>> y = np.array([1.0, 3.0, -40.0, 7.0, 9.0, 11.0])  # a line, and an outlier
    >>> objective = RankedRangeObjective(X, y, "absolute", m=1, C=np.inf)
    >>> dca(objective, inner="deterministic").theta.round(4)
    array([2., 1.])
    """
    _refuse(inner, step_size, batch_size)
    if not tol >= 0:
        raise ValueError(f"tol={tol} is no tolerance; needed tol >= 0: 0 makes all outer steps")
    random, n = as_generator(random_state), objective.n_samples
    given, objective = objective, clip_targets(objective)
    first = as_start(objective, start)
    if start is None and not objective.loss.convex:
        first = average_start(objective, random, _BRIEF)
    record = Record(objective, first, k_schedule, progress)
    if inner == "deterministic":
        steps, outer = 500 if inner_steps is None else as_count("inner_steps", inner_steps), 100
        step = partial(_deterministic_step, record, first, steps, tol, random)
    else:
        batch, outer = min(1 if batch_size is None else as_count("batch_size", batch_size), n), 30
        steps = (
            2 * math.ceil(n / batch)
            if inner_steps is None
            else as_count("inner_steps", inner_steps)
        )
        eta = step_sizes(objective, step_size, batch)
        step = partial(stochastic_step, record, steps, batch, eta, random)
    status = Status.ITERATION_LIMIT
    with np.errstate(over="ignore", invalid="ignore"):  # steps that diverge are reported in words
        for _ in range(outer if outer_steps is None else as_count("outer_steps", outer_steps)):
            step()
            if record.change <= tol:
                status = Status.CONVERGED
                break
    theta, objective = record.best, record.objective
    raw = objective.raw_prediction(theta)
    if status is Status.CONVERGED and _is_blind(record, raw, tol):
        status = Status.UNCERTIFIED
    point = Point(theta, raw, objective.value_at(raw, theta), objective.shares(raw))
    solution = Solution.at(
        objective, point, status=status, trace=record.trace, passes=record.passes
    )
    return restore_targets(given, solution)


def _is_blind(record: Record, raw: FloatArray, tol: float) -> bool:
    """Tell whether rounding hides what is left of F in the difference of two convex functions.

    A huge loss above rank m is part of both, and leaves no digits to the others.
    """
    if record.objective.value_at(raw, record.best) == 0:
        return False
    convex = record.objective.convex_parts()[0].value_at(raw, record.best)
    scale = max(step.objective for step in record.trace)
    return bool(np.finfo(float).eps * convex > max(tol, 1e-12) * scale)


def _deterministic_step(
    record: Record, first: FloatArray, steps: int, tol: float, random: np.random.Generator
) -> None:
    """Take an outer step whose inner steps read all rows; it never leads up."""
    objective, start, before = record.objective, record.theta, record.value
    convex, tangent = objective.convex_parts()
    best, lowest = start, before
    for shares in _choices(record, random):
        theta_hat = tangent.subgradient_at(record.raw, start, shares)
        point = minimise_nonsmooth(
            partial(_majoriser, convex, theta_hat),
            start,
            max_steps=steps,
            tol=tol / 1000,  # so that an outer step that changes nothing is a stationary point
        )
        value = objective.value(point)
        if value < lowest:  # rounding can leave it a little above
            best, lowest = point, value
        if abs(value - before) > tol * before:
            break
    if best is first and not objective.loss.smooth:  # a corner, perhaps: no way down leads on
        best = _past_corners(record, steps, tol)
    record.add(best)


def _past_corners(record: Record, steps: int, tol: float) -> FloatArray:
    """Return a lower point, or the current one, by way of the majoriser with rounded corners.

    Where losses tie at corners, as all do at zero, a subgradient may point nowhere.
    """
    objective, start = record.objective, record.theta
    try:
        convex, tangent = objective.smoothed(0.1 * record.value).convex_parts()
    except (TypeError, ValueError):  # corners that nothing rounds, or nothing left to lower
        return start
    theta_hat = tangent.subgradient_at(record.raw, start)
    point = minimise_nonsmooth(
        partial(_majoriser, convex, theta_hat), start, max_steps=steps, tol=tol / 1000
    )
    return point if objective.value(point) < record.value else start


def _majoriser(
    convex: RankedRangeObjective, theta_hat: FloatArray, theta: FloatArray
) -> tuple[float, FloatArray]:
    value, slope = convex.value_and_subgradient(theta)
    return value - float(np.vdot(theta_hat, theta)), slope - theta_hat


def _choices(record: Record, random: np.random.Generator) -> Iterator[FloatArray]:
    """Yield how much each row counts above rank m: ties shared, then parted if that differs."""
    shared = record.objective.convex_parts()[1].shares(record.raw)
    yield shared
    parted = parted_shares(record.objective, record.theta, record.raw, random)
    if np.abs(parted - shared).max() > 1e-6 * shared.max():
        yield parted


def _refuse(inner: str, step_size: StepSize | None, batch_size: int | None) -> None:
    """Refuse options that the inner method would not read."""
    if inner not in get_args(Inner):
        raise ValueError(f"inner={inner!r} is unknown; needed one of {', '.join(get_args(Inner))}")
    if inner == "deterministic" and not (step_size is None and batch_size is None):
        raise ValueError(
            "step_size or batch_size is given, but deterministic steps find their length and read "
            "all rows; needed inner='stochastic', or neither of them"
        )


# -- What DCA remembers on its way: the trace, the objective in force, the best point --------------


class Record:
    """Where the search is, the objective in force there, and the best point so far.

    Attributes
    ----------
    best : ndarray
        The lowest point.
    change : float
        By how much the last outer step changed the objective, relatively.
    """

    def __init__(
        self,
        objective: RankedRangeObjective,
        start: FloatArray,
        k_schedule: KSchedule | None,
        progress: Progress | None,
    ) -> None:
        self.objective = objective
        self.trace: list[Step] = []
        self._schedule, self._progress = k_schedule, progress
        self._given, self._before = objective.groups, objective.design.passes
        self._accuracy = 0.0
        self.change = self.value = self._lowest = np.inf
        self.add(start)

    @property
    def passes(self) -> float:
        """How often the data was read."""
        return self.objective.design.passes - self._before

    def add(self, theta: FloatArray) -> None:
        """Move to the result of an outer step, and lower k if the schedule says so."""
        raw = self.objective.raw_prediction(theta)
        value = self.objective.value_at(raw, theta)
        if not np.isfinite(value):
            raise FloatingPointError(
                f"the objective is {value} after {len(self.trace)} outer steps: the inner steps "
                "diverge; needed shorter ones: lower step_size, or scale the columns of X"
            )
        self.change = abs(value - self.value) / max(abs(value), np.finfo(float).tiny)
        self.theta, self.raw, self.value = theta, raw, value
        if value <= self._lowest:
            self._lowest, self.best = value, theta
        step = Step(0, "dca", value, self.passes)
        self.trace.append(step)
        if self._progress is not None:
            self._progress(step)
        if self._schedule is not None:
            self._adapt(self._schedule)

    def _adapt(self, schedule: KSchedule) -> None:
        objective = self.objective
        right = objective.loss.is_right(objective.y, self.raw)
        accuracy = float(np.average(right, weights=self._given.weight))
        self._accuracy = max(accuracy, self._accuracy)  # once reached, a level counts as reached
        groups = schedule.groups(self._given, self._accuracy)
        if [group.k for group in groups] != [group.k for group in objective.groups]:
            self.objective = objective.with_groups(groups)
            self.value = self._lowest = self.objective.value_at(self.raw, self.theta)
            self.best, self.change = self.theta, np.inf


# -- How much each row counts in the tangent of the second convex part, and what ties mean for it --


def tangent_shares(
    objective: RankedRangeObjective,
    theta: FloatArray,
    raw: FloatArray,
    random: np.random.Generator,
) -> FloatArray:
    """Return how much each row counts above rank m: ties share, unless all rows are tied."""
    order = objective.loss.order(objective.y, raw)
    cut = [np.ptp(order[group.rows]) for group in objective.groups if group.m > 0]
    if cut and max(cut) == 0:
        return parted_shares(objective, theta, raw, random)
    return objective.convex_parts()[1].shares(raw)


def parted_shares(
    objective: RankedRangeObjective,
    theta: FloatArray,
    raw: FloatArray,
    random: np.random.Generator,
) -> FloatArray:
    """Return how much each row counts above rank m where ties are broken as they part downhill.

    Where everything is tied, as at zero, the slope with ties shared can make a point look
    stationary which is not: one that belongs to a direction of descent leads away from it. Where
    the slope vanishes the direction is a random one.
    """
    order = objective.loss.order(objective.y, raw)
    slope = objective.subgradient_at(raw, theta)
    if not np.linalg.norm(slope) > 1e-9:
        slope = random.standard_normal(slope.shape)
    rise = -objective.loss.gradient(objective.y, raw) * objective.design.predict(slope)
    rank = np.empty(len(order))
    rank[np.lexsort((rise if rise.ndim == 1 else rise.sum(axis=1), order))] = np.arange(len(order))
    return objective.convex_parts()[1].groups.shares(rank)


# -- The last rank to keep, as a function of how well the training rows are predicted already ------


@dataclass(frozen=True)
class KSchedule:
    """Which share of the rows k keeps, once the training accuracy reaches given levels.

    Below the first accuracy k keeps all rows. ``KSchedule.PAPER``, also the default, is that of
    the paper, section 4.1, after Kawaguchi and Lu: half of the rows from 70 % on, a quarter from
    80 %, an eighth from 90 %, a sixteenth from 95 %, and one in 32 from 99.5 %.

    Parameters
    ----------
    accuracies : tuple of float
        Increasing, each above 0 and at most 1.
    fractions : tuple of float
        As many, decreasing, strictly between 0 and 1: the share of the mass of each group.

    References
    ----------
    K. Kawaguchi, H. Lu, "Ordered SGD: a new stochastic optimization framework for empirical risk
    minimization", AISTATS 2020.

    Examples
    --------
    >>> groups = Groups.of(1000, m=20, k=None)
    >>> [KSchedule.PAPER.groups(groups, a).groups[0].k for a in (0.5, 0.7, 0.93, 1.0)]
    [1000.0, 500.0, 125.0, 31.0]
    """

    accuracies: tuple[float, ...] = (0.7, 0.8, 0.9, 0.95, 0.995)
    fractions: tuple[float, ...] = (1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32)

    PAPER: ClassVar[KSchedule]

    def __post_init__(self) -> None:
        if len(self.accuracies) != len(self.fractions):
            raise ValueError(
                f"{len(self.accuracies)} accuracies and {len(self.fractions)} fractions are "
                "given; needed a fraction for each accuracy"
            )
        levels = (0.0, *self.accuracies)
        if not all(low < high <= 1 for low, high in pairwise(levels)):
            raise ValueError(
                f"accuracies={self.accuracies} do not increase within 0 and 1; needed shares of "
                "the rows, as in (0.7, 0.9)"
            )
        shares = (1.0, *self.fractions)
        if not all(high > low > 0 for high, low in pairwise(shares)):
            raise ValueError(
                f"fractions={self.fractions} do not decrease between 1 and 0; needed shares of "
                "the rows, as in (0.5, 0.25)"
            )

    def fraction(self, accuracy: float) -> float:
        """Return the share of the rows that k keeps at that training accuracy."""
        return (1.0, *self.fractions)[bisect_right(self.accuracies, accuracy)]

    def groups(self, groups: Groups, accuracy: float) -> Groups:
        """Return the groups with the k of that training accuracy; m and their shares stay.

        Rows without weights are counted in whole numbers, rounded down as in the paper. Where k
        would fall to m or below, one row more than m is kept, of average mass.
        """
        fraction = self.fraction(accuracy)
        whole = groups.weight is None
        return replace(groups, groups=tuple(_cut(g, groups, fraction, whole) for g in groups))


def _cut(group: Group, groups: Groups, fraction: float, whole: bool) -> Group:
    wanted = fraction * group.mass
    n_rows = len(groups.masses[group.rows])
    k = max(float(math.floor(wanted)) if whole else wanted, group.m + group.mass / n_rows)
    k = min(k, group.mass)
    return group._replace(k=k, scale=group.scale * group.width / (k - group.m))


KSchedule.PAPER = KSchedule()


# -- Steps on some of the rows, for the convex problem of the paper's DCA --------------------------


StepSize: TypeAlias = "float | Callable[[int], float]"

_BLOCK = 1 << 18  # entries of X that are gathered at a time: they stay in the cache


class Batch(NamedTuple):
    """Some rows, and how much each adds to the slope of G.

    A row whose loss is above the threshold of its group adds `full` times the slope of its loss
    in theta, and ``due - full`` in the threshold; any other adds nothing and `due`. On average
    over draws, `full` is the mass of the row times the scale of its group; `due` is the same times
    k over the mass of the group.
    """

    X: Any
    y: npt.NDArray[Any]
    group: npt.NDArray[np.intp]
    full: FloatArray
    due: FloatArray


class Sampled:
    """The convex problem of one outer step of DCA, seen through batches of rows.

    Rows are drawn with replacement and with probability in proportion to their mass, so each row
    of a batch stands for the same part of the total. A batch as large as the data is all rows,
    without a draw.
    """

    def __init__(self, objective: RankedRangeObjective) -> None:
        groups = objective.groups
        self.objective = objective
        self.group = np.zeros(groups.n_samples, dtype=np.intp)
        self.mass = np.zeros(groups.n_samples)  # stays zero in rows outside of every group
        for number, group in enumerate(groups):
            self.group[group.rows] = number
            self.mass[group.rows] = groups.masses[group.rows]
        self.total = float(self.mass.sum())
        self._ladder = np.cumsum(self.mass)
        self._scale = np.array([group.scale for group in groups])
        self._quota = np.array([group.k / group.mass for group in groups])
        self._ridge = objective.ridge_diagonal.reshape(objective.shape)

    def thresholds(self, raw: FloatArray) -> FloatArray:
        """Return the best thresholds at raw predictions: the losses ranked k."""
        losses = self.objective.losses(raw)
        found = []
        for group in self.objective.groups:
            k = None if group.k >= group.mass else Mass(group.k)
            found.append(kth_largest(losses[group.rows], k, sample_weight=self.mass[group.rows]))
        return np.array(found, dtype=np.float64)

    def batches(self, steps: int, batch_size: int, random: np.random.Generator) -> Iterator[Batch]:
        """Yield a batch for each step."""
        design, n = self.objective.design, len(self.mass)
        if batch_size >= n:
            X = design.X if design.is_sparse else design.X.astype(np.float64, copy=False)
            whole = self._batch(X, self.objective.y, self.group, self.mass)
            for _ in range(steps):
                design.count(2 * n)
                yield whole
            return
        at_once = max(1, _BLOCK // (batch_size * max(1, design.n_features)))
        for done in range(0, steps, at_once):
            size = batch_size * min(at_once, steps - done)
            drawn = random.random(size) * self._ladder[-1]
            rows = np.searchsorted(self._ladder, drawn, side="right")
            design.count(2 * size)
            X = design.X[rows]
            if design.is_sparse and size * design.n_features <= _BLOCK:
                X = X.toarray()  # steps are dense in any case, and slicing is slow
            elif not design.is_sparse:
                X = X.astype(np.float64, copy=False)
            each = np.full(size, self.total / batch_size)
            block = self._batch(X, self.objective.y[rows], self.group[rows], each)
            full, due = block.full, block.due
            for start in range(0, size, batch_size):
                part = slice(start, start + batch_size)
                yield Batch(X[part], block.y[part], block.group[part], full[part], due[part])

    def _batch(
        self, X: Any, y: npt.NDArray[Any], group: npt.NDArray[np.intp], mass: FloatArray
    ) -> Batch:
        full = mass * self._scale[group]
        return Batch(X, y, group, full, full * self._quota[group])

    def direction(
        self, batch: Batch, theta: FloatArray, level: FloatArray, theta_hat: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the subgradient of G in theta and in the thresholds, estimated on a batch.

        Its mean over all draws is a subgradient of G.
        """
        d = self.objective.design.n_features
        raw = batch.X @ theta[:d]
        if self.objective.design.intercept:
            raw += theta[d]
        losses, slopes = self.objective.loss.value_and_gradient(batch.y, raw)
        count = batch.full * (losses > level[batch.group])
        slopes = slopes * (count if slopes.ndim == 1 else count[:, None])
        down = self._ridge * theta
        down -= theta_hat
        down[:d] += batch.X.T @ slopes
        if self.objective.design.intercept:
            down[d] += np.add.reduce(slopes)
        surplus = batch.due - count
        if len(level) == 1:
            return down, np.add.reduce(surplus, keepdims=True)
        return down, np.asarray(np.bincount(batch.group, surplus, len(level)), dtype=np.float64)


def stochastic_step(
    record: Record,
    steps: int,
    batch_size: int,
    step_size: Callable[[int], float],
    random: np.random.Generator,
) -> None:
    """Take an outer step whose inner steps read batches: Eq. (SGD) of the paper if of one row."""
    convex, tangent = record.objective.convex_parts()
    sampled = Sampled(convex)
    shares = tangent_shares(record.objective, record.theta, record.raw, random)
    theta_hat = tangent.subgradient_at(record.raw, record.theta, shares)
    theta, level = record.theta, sampled.thresholds(record.raw)
    for number, batch in enumerate(sampled.batches(steps, batch_size, random)):
        down, surplus = sampled.direction(batch, theta, level, theta_hat)
        length = step_size(number)
        theta, level = theta - length * down, level - length * surplus
    record.add(theta)


def step_sizes(
    objective: RankedRangeObjective, step_size: StepSize | None, batch_size: int
) -> Callable[[int], float]:
    """Return the length of each step as a function of its number."""
    if callable(step_size):
        return step_size
    if step_size is not None:
        length = _positive(step_size)
        return lambda _: length
    groups = objective.groups
    heaviest = max(group.scale for group in groups) * sum(group.mass for group in groups)
    first = 1 / (heaviest * _bend(objective.design, batch_size) + 1 / objective.C)
    return lambda number: first / math.sqrt(1 + number)


def _bend(design: Design, batch_size: int) -> float:
    """Return how much the mean of half the squared raw predictions of a batch bends at most.

    Over all rows that is the largest eigenvalue of their second moments, found by iteration on
    some of them; the noise of a batch adds the mean squared length of a row, over its size.
    """
    some = design.take(np.arange(0, design.n_samples, math.ceil(design.n_samples / 1000)))
    square = float(np.vdot(stored := some.X.data if some.is_sparse else some.X, stored))
    square = square / some.n_samples + design.intercept
    direction = np.ones(design.n_parameters)
    for _ in range(10):
        direction = some.pull(some.predict(direction)) / some.n_samples
        largest = float(np.linalg.norm(direction))
        direction /= max(largest, np.finfo(float).tiny)
    return max(largest + square / batch_size, float(np.finfo(float).tiny))


def _positive(step_size: object) -> float:
    if not isinstance(step_size, bool) and isinstance(step_size, Real) and float(step_size) > 0:
        return float(step_size)
    raise ValueError(
        f"step_size={step_size!r} is not a positive number; needed one, or a function of the "
        "number of the step, such as lambda l: 0.1 / (l + 1) ** 0.5"
    )
