"""The paper's Algorithm 1: a difference of convex functions, the second one linearised."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.objectives import RankedRangeObjective
from sorr.solvers.base import (
    Progress,
    Solution,
    Status,
    as_count,
    as_generator,
    as_start,
    describe,
    recounted,
    tamed,
)
from sorr.solvers.bfgs import lower
from sorr.solvers.degenerate import is_constant
from sorr.solvers.record import Record
from sorr.solvers.schedule import KSchedule
from sorr.solvers.starts import average_start
from sorr.solvers.stochastic import StepSize, step_sizes, stochastic_step
from sorr.solvers.tangent import parted_shares

__all__ = ["dca"]

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
    given, objective = objective, tamed(objective)
    first = as_start(objective, start)
    if start is None and not objective.loss.convex:
        first = average_start(objective, random, _BRIEF)
    record = Record(objective, first, k_schedule, progress)
    if inner == "deterministic":
        steps, outer = as_count("inner_steps", inner_steps, 500), 100
        step = partial(_deterministic_step, record, first, steps, tol, random)
    else:
        batch, outer = min(as_count("batch_size", batch_size, 1), n), 30
        steps = as_count("inner_steps", inner_steps, 2 * math.ceil(n / batch))
        eta = step_sizes(objective, step_size, batch)
        step = partial(stochastic_step, record, steps, batch, eta, random)
    status = Status.ITERATION_LIMIT
    with np.errstate(over="ignore", invalid="ignore"):  # steps that diverge are reported in words
        for _ in range(as_count("outer_steps", outer_steps, outer)):
            step()
            if record.change <= tol:
                status = Status.CONVERGED
                break
    theta, objective = record.best, record.objective
    raw = objective.raw_prediction(theta)
    minimum = describe(objective, theta, raw)
    if status is Status.CONVERGED and _is_blind(record, raw, tol):
        status = Status.UNCERTIFIED
    elif status is Status.CONVERGED and is_constant(objective, raw, minimum.objective):
        status = Status.CONSTANT_MODEL
    solution = Solution(
        theta=theta,
        objective=minimum.objective,
        gap=np.inf,
        status=status,
        fixed_point=False,
        passes=record.passes,
        trace=tuple(record.trace),
        minima=(minimum,),
        row_weights=objective.shares(raw),
        groups=objective.groups,
        n_features=objective.design.n_features,
    )
    return recounted(given, solution)


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
        point = lower(
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
    point = lower(partial(_majoriser, convex, theta_hat), start, max_steps=steps, tol=tol / 1000)
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
