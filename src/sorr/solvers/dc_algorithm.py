"""The paper's Algorithm 1: a difference of convex functions, the second one linearised.

The chapter has the algorithm, its two kinds of outer steps, and the record of a search.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from numbers import Real
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from sorr._checks import as_count, as_generator, check_choice
from sorr._typing import FloatArray
from sorr.objectives import Design, KSchedule, RankedRangeObjective, SampledRows
from sorr.solvers import constants as tuned
from sorr.solvers.candidates import average_start
from sorr.solvers.descent import minimise_nonsmooth
from sorr.solvers.solution import Progress, Solution, Status, Trace, as_start, restore_targets

Inner: TypeAlias = Literal["stochastic", "deterministic"]
StepSize: TypeAlias = "float | Callable[[int], float]"


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
    Each outer step replaces the second one by its tangent at the current point, with the slope

    .. math:: \hat\theta \in \partial \phi_m(S(\theta_t)).

    Losses tied at rank m get equal shares. If that leads nowhere, as it can at zero, the tie is
    broken in a direction of descent. The result is a convex majoriser of F, which inner steps
    minimise:

    .. math:: \min_{\theta, \lambda} \; k \lambda + \sum_i [s_i(\theta) - \lambda]_+
        - \langle \theta, \hat\theta \rangle.

    Parameters
    ----------
    objective : RankedRangeObjective
        What to minimise.
    start : array-like, optional
        The first point. The default is zero, or a short fit with a similar convex loss if the
        loss is not convex: at zero all labels tie, and steps may lead nowhere.
    inner : {"stochastic", "deterministic"}, default="stochastic"
        How the convex problem is minimised.

        - "stochastic": subgradient steps on one row each, Eq. (SGD) of the paper; see the notes.
          With a batch as large as the data, these are the full-batch steps of the authors' code.
        - "deterministic": quasi-Newton steps on all rows. F decreases in every outer step.
    outer_steps, inner_steps : int, optional
        Maximum numbers of steps. The defaults are 30 outer steps with two passes over the data
        each if "stochastic", and 100 outer steps of at most 500 if "deterministic".
    step_size : float or callable, optional
        The step :math:`\eta_l`, or a function of the number l = 0, 1, ... of the inner step
        within its outer step. The default is :math:`\eta_0 / \sqrt{l + 1}`. Here :math:`\eta_0`
        is the step that suits the squared loss: (k - m) / n, over the largest eigenvalue of the
        second moments of the rows plus their mean squared length divided by the batch size.
    batch_size : int, optional
        Number of rows in a step. The default is 1.
    k_schedule : KSchedule, optional
        Lowers k as the training accuracy rises. It replaces the k of the objective, and the
        solution belongs to the last objective.
    tol : float, default=1e-6
        Stop when the relative change of F in an outer step is below this.
    random_state : int, Generator or None
        Seed for everything random: the rows of batches, and the direction that breaks ties.
    progress : callable, optional
        Called with each `Step`.

    Returns
    -------
    Solution
        The point with the lowest F after an outer step. Nothing is certified: the gap is infinite.
        `Status.UNCERTIFIED` means that F seems to have converged, but that rounding errors may
        hide further progress: losses above rank m are so large that the difference of the two
        functions has no digits left.

    Notes
    -----
    As printed, Eq. (SGD) draws one row, but subtracts all of :math:`\hat\theta` and of k. The mean
    of that step over the rows is not a subgradient of the stated sum. With :math:`\hat\theta / n`
    and :math:`k / n` it is, and these are subtracted here. Because F is an average, everything is
    also divided by (k - m) / n, and the ridge is added as in F. A row i with a loss above
    :math:`\lambda` adds :math:`\frac{n}{k - m} \partial s_i` to the slope in :math:`\theta`; other
    rows add nothing. The slope in :math:`\lambda` is
    :math:`\frac{n}{k - m} (\frac{k}{n} - \mathbb{I}[s_i > \lambda])`. Rows are drawn in
    proportion to their mass. Each group has its own :math:`\lambda`, which starts every outer
    step at the loss ranked k.

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
    check_choice("inner", inner, get_args(Inner))
    if inner == "deterministic" and not (step_size is None and batch_size is None):
        raise ValueError(
            "step_size or batch_size is given, but deterministic steps find their length and use "
            "all rows; needed inner='stochastic', or neither of them"
        )
    if not tol >= 0:
        raise ValueError(f"tol={tol} is not a tolerance; needed tol >= 0: 0 makes all outer steps")
    rng, n = as_generator(random_state), objective.n_samples
    given, objective = objective, objective.clip_targets()
    first = as_start(objective, start)
    if start is None and not objective.loss.convex:
        first = average_start(objective, rng, tuned.SHORT_FIT_STEPS)
    record = _Record(objective, first, k_schedule, progress)
    n_inner = None if inner_steps is None else as_count("inner_steps", inner_steps)
    if inner == "deterministic":
        n_outer, n_inner = 100, n_inner or 500
        step = partial(_deterministic_step, record, first, n_inner, tol, rng)
    else:
        size = min(1 if batch_size is None else as_count("batch_size", batch_size), n)
        n_outer, n_inner = 30, n_inner or 2 * math.ceil(n / size)
        step_length = _step_sizes(objective, step_size, size)
        step = partial(_stochastic_step, record, n_inner, size, step_length, rng)
    n_outer = n_outer if outer_steps is None else as_count("outer_steps", outer_steps)
    status = Status.ITERATION_LIMIT
    with np.errstate(over="ignore", invalid="ignore"):  # divergence raises an error
        for _ in range(n_outer):
            step()
            if record.change <= tol:
                status = Status.CONVERGED
                break
    last = record.objective
    point = last.at(record.best)
    if status is Status.CONVERGED and _is_hidden_by_rounding(record, point.raw, tol):
        status = Status.UNCERTIFIED
    solution = Solution.at(last, point, status=status, trace=record.trace)
    return restore_targets(given, objective, solution)


def _is_hidden_by_rounding(record: _Record, raw: FloatArray, tol: float) -> bool:
    """Return whether rounding errors of the two convex functions are larger than what is left.

    A huge loss above rank m is part of both, and their difference loses the digits of the others.
    """
    if record.objective.value_at(raw, record.best) == 0:
        return False
    convex = record.objective.convex_parts()[0].value_at(raw, record.best)
    scale = max(step.objective for step in record.trace.steps)
    return bool(np.finfo(float).eps * convex > max(tol, 1e-12) * scale)


# -- Outer steps -----------------------------------------------------------------------------------


def _deterministic_step(
    record: _Record, first: FloatArray, max_steps: int, tol: float, rng: np.random.Generator
) -> None:
    """Take an outer step with inner steps on all rows; F never increases."""
    objective, start, before = record.objective, record.theta, record.value
    convex, tangent = objective.convex_parts()
    best, lowest = start, before
    for shares in record.tangent_choices(rng):
        theta_hat = tangent.subgradient_at(record.raw, start, shares)
        point = _minimise_majoriser(convex, theta_hat, start, max_steps, tol)
        value = objective.value(point)
        if value < lowest:  # rounding can leave it slightly above
            best, lowest = point, value
        if abs(value - before) > tol * before:
            break
    if best is first and not objective.loss.smooth:  # perhaps a corner where no step leads down
        best = _leave_corner(record, max_steps, tol)
    record.add(best)


def _leave_corner(record: _Record, max_steps: int, tol: float) -> FloatArray:
    """Return a lower point by the majoriser with rounded corners, or the current point.

    If losses tie at corners, as all do at zero, a subgradient may not point downhill.
    """
    objective, start, loss = record.objective, record.theta, record.objective.loss
    if not (loss.convex and loss.can_be_smoothed and record.value > 0):
        return start
    convex, tangent = objective.smoothed(0.1 * record.value).convex_parts()
    theta_hat = tangent.subgradient_at(record.raw, start)
    point = _minimise_majoriser(convex, theta_hat, start, max_steps, tol)
    return point if objective.value(point) < record.value else start


def _minimise_majoriser(
    convex: RankedRangeObjective,
    theta_hat: FloatArray,
    start: FloatArray,
    max_steps: int,
    tol: float,
) -> FloatArray:
    def majoriser(theta: FloatArray) -> tuple[float, FloatArray]:
        value, slope = convex.value_and_subgradient(theta)
        return value - float(np.vdot(theta_hat, theta)), slope - theta_hat

    # So precise that an outer step without a change is a stationary point.
    return minimise_nonsmooth(majoriser, start, max_steps=max_steps, tol=tol / 1000)


def _stochastic_step(
    record: _Record,
    n_steps: int,
    batch_size: int,
    step_length: Callable[[int], float],
    rng: np.random.Generator,
) -> None:
    """Take an outer step with inner steps on batches: Eq. (SGD) of the paper for one row each."""
    convex, tangent = record.objective.convex_parts()
    sampled = SampledRows(convex)
    theta_hat = tangent.subgradient_at(record.raw, record.theta, record.tangent_shares(rng))
    theta, level = record.theta, sampled.thresholds(record.raw)
    for number, batch in enumerate(sampled.batches(n_steps, batch_size, rng)):
        gradient, level_gradient = sampled.gradient(batch, theta, level, theta_hat)
        length = step_length(number)
        theta, level = theta - length * gradient, level - length * level_gradient
    record.add(theta)


class _Record:
    """The current point, the objective in force, the tangent there, and the best point so far.

    `change` is the relative change of the objective in the last outer step.
    """

    def __init__(
        self,
        objective: RankedRangeObjective,
        start: FloatArray,
        k_schedule: KSchedule | None,
        progress: Progress | None,
    ) -> None:
        self.objective = objective
        self.trace = Trace(objective, progress)
        self._schedule, self._given = k_schedule, objective.groups
        self._accuracy = 0.0
        self.change = self.value = self._lowest = np.inf
        self.add(start)

    def add(self, theta: FloatArray) -> None:
        """Move to the result of an outer step, and lower k if the schedule says so."""
        raw = self.objective.raw_prediction(theta)
        value = self.objective.value_at(raw, theta)
        if not np.isfinite(value):
            raise FloatingPointError(
                f"the objective is {value} after {len(self.trace.steps)} outer steps: the inner "
                "steps diverge; needed shorter ones: lower step_size, or scale the columns of X"
            )
        self.change = abs(value - self.value) / max(abs(value), np.finfo(float).tiny)
        self.theta, self.raw, self.value = theta, raw, value
        if value <= self._lowest:
            self._lowest, self.best = value, theta
        self.trace.add(0, "dca", value)
        if self._schedule is not None:
            self._adapt(self._schedule)

    def _adapt(self, schedule: KSchedule) -> None:
        objective = self.objective
        is_right = objective.loss.is_right(objective.y, self.raw)
        accuracy = float(np.average(is_right, weights=self._given.weight))
        self._accuracy = max(accuracy, self._accuracy)  # k never rises again
        groups = schedule.groups(self._given, self._accuracy)
        if [group.k for group in groups] != [group.k for group in objective.groups]:
            self.objective = objective.with_groups(groups)
            self.value = self._lowest = self.objective.value_at(self.raw, self.theta)
            self.best, self.change = self.theta, np.inf

    def tangent_choices(self, rng: np.random.Generator) -> Iterator[FloatArray]:
        """Yield the shares of the rows above rank m: equal at ties, then with ties broken."""
        equal = self.objective.convex_parts()[1].shares(self.raw)
        yield equal
        broken = self._break_ties_downhill(rng)
        if np.abs(broken - equal).max() > 1e-6 * equal.max():
            yield broken

    def tangent_shares(self, rng: np.random.Generator) -> FloatArray:
        """Return the shares of the rows above rank m: equal at ties, unless all rows are tied."""
        order = self.objective.loss.order(self.objective.y, self.raw)
        ranges = [np.ptp(order[group.rows]) for group in self.objective.groups if group.m > 0]
        if ranges and max(ranges) == 0:
            return self._break_ties_downhill(rng)
        return self.objective.convex_parts()[1].shares(self.raw)

    def _break_ties_downhill(self, rng: np.random.Generator) -> FloatArray:
        """Return the shares of the rows above rank m, with ties broken by a step downhill.

        If all rows are tied, as at zero, equal shares can make a point look stationary that is
        not. The shares in a direction of descent lead away from it. If the slope is zero, the
        direction is random.
        """
        objective, raw = self.objective, self.raw
        order = objective.loss.order(objective.y, raw)
        slope = objective.subgradient_at(raw, self.theta)
        if not np.linalg.norm(slope) > 1e-9:
            slope = rng.standard_normal(slope.shape)
        rise = -objective.loss.gradient(objective.y, raw) * objective.design.predict(slope)
        rise = rise if rise.ndim == 1 else rise.sum(axis=1)
        rank = np.empty(len(order))
        rank[np.lexsort((rise, order))] = np.arange(len(order))
        return objective.convex_parts()[1].groups.shares(rank)


# -- The length of steps -------------------------------------------------------------------------


def _step_sizes(
    objective: RankedRangeObjective, step_size: StepSize | None, batch_size: int
) -> Callable[[int], float]:
    """Return the length of each step as a function of its number."""
    if callable(step_size):
        return step_size
    if step_size is not None:
        given: object = step_size
        if isinstance(given, bool) or not isinstance(given, Real) or not float(given) > 0:
            raise ValueError(
                f"step_size={step_size!r} is not a positive number; needed one, or a function of "
                "the number of the step, such as lambda l: 0.1 / (l + 1) ** 0.5"
            )
        length = float(given)
        return lambda _: length
    groups = objective.groups
    heaviest = max(group.scale for group in groups) * sum(group.mass for group in groups)
    first = 1 / (heaviest * _largest_curvature(objective.design, batch_size) + 1 / objective.C)
    return lambda number: first / math.sqrt(1 + number)


def _largest_curvature(design: Design, batch_size: int) -> float:
    """Return the largest curvature of the mean of half the squared raw predictions of a batch.

    Over all rows it is the largest eigenvalue of their second moments, by power iteration on a
    sample. The noise of a batch adds the mean squared length of a row divided by the batch size.
    """
    sample = design.take(np.arange(0, design.n_samples, math.ceil(design.n_samples / 1000)))
    square = float(np.vdot(stored := sample.X.data if sample.is_sparse else sample.X, stored))
    square = square / sample.n_samples + design.intercept
    direction = np.ones(design.n_parameters)
    for _ in range(10):
        direction = sample.pull(sample.predict(direction)) / sample.n_samples
        largest = float(np.linalg.norm(direction))
        direction /= max(largest, np.finfo(float).tiny)
    return max(largest + square / batch_size, float(np.finfo(float).tiny))
