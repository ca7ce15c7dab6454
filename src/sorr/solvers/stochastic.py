r"""Steps on some of the rows, for the convex problem of the paper's DCA.

.. math:: G(\theta, \lambda) = \sum_g a_g \Big( k_g \lambda_g
    + \sum_{i \in g} w_i [s_i(\theta) - \lambda_g]_+ \Big)
    + \frac{\|w\|^2}{2 C} - \langle \theta, \hat\theta \rangle

:math:`w_i` are the masses of the rows and :math:`a_g` the scales of the groups: 1 / (k - m) if
there is a single group. The minimum over :math:`\lambda` is the majoriser of DCA.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.objectives import Design, RankedRangeObjective
from sorr.ranked import Mass, kth_largest
from sorr.solvers.record import Record
from sorr.solvers.tangent import tangent_shares

__all__ = ["Batch", "Sampled", "StepSize", "step_sizes", "stochastic_step"]

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
