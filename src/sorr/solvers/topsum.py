r"""The convex problem inside: the average of the top j losses, with a certified gap.

.. math:: \min_{\theta} \sum_g c_g \, \phi_{j_g}(S_g(\theta)) + \frac{\|w\|^2}{2C}

By itself it is CVaR or average top-k learning; with the hinge it is the nu-SVM.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sorr.objectives import RankedRangeObjective
from sorr.objectives.design import FloatArray
from sorr.objectives.groups import Group
from sorr.ranked import Mass, kth_largest
from sorr.solvers.base import Progress, Solution, Status, Step, as_start, describe
from sorr.solvers.dual import lower_bound
from sorr.solvers.interior import Band, solve_interior, solve_symmetric

__all__ = ["Certified", "minimise_top_sum", "topsum"]

_WHOLE = 1000  # up to so many rows the interior point method takes all of them
_ROWS = {True: 8, False: 20}  # rows in the band for each parameter: smooth losses, others


@dataclass(frozen=True)
class Certified:
    """A point, its raw predictions and value, and a bound that no point can go below."""

    theta: FloatArray
    raw: FloatArray
    value: float
    bound: float
    iterations: int = 0

    @property
    def gap(self) -> float:
        """By how much the value could be lowered at most, relative to it."""
        if self.value <= 0:
            return 0.0
        return max(self.value - self.bound, 0.0) / self.value


def topsum(
    objective: RankedRangeObjective,
    *,
    start: npt.ArrayLike | None = None,
    tol: float = 1e-6,
    max_iter: int = 50,
    progress: Progress | None = None,
) -> Solution:
    """Minimise a convex objective, m = 0, to a certified gap.

    Parameters
    ----------
    objective : RankedRangeObjective
        With m = 0 in every group: the average of the top k losses, or of all.
    start : array-like, optional
        Where to start; by default at zero.
    tol : float, default=1e-6
        The gap to reach, relative to the value: the bound comes from a Fenchel dual on all rows.
    max_iter : int, default=50
        How many outer steps to take at most.
    progress : callable, optional
        Called with a `Step` after each outer step.

    Returns
    -------
    Solution
        `Status.OPTIMAL` if the gap was reached, else `Status.UNCERTIFIED`.

    Examples
    --------
    >>> import numpy as np
    >>> from sorr.objectives import RankedRangeObjective
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1, 1, -1, 1])
    >>> solution = topsum(RankedRangeObjective(X, y, "hinge", k=2, C=10.0))
    >>> solution.gap <= 1e-6
    True
    """
    if not objective.is_convex:
        raise ValueError(
            "topsum needs a convex objective, m = 0, and is given one that drops rows; "
            "use trim for m > 0"
        )
    trace: list[Step] = []

    def record(point: Certified) -> None:
        trace.append(Step(0, "topsum", point.value, objective.design.passes - before))
        if progress is not None:
            progress(trace[-1])

    before = objective.design.passes
    point = minimise_top_sum(
        objective, as_start(objective, start), tol=tol, max_iter=max_iter, record=record
    )
    return Solution(
        theta=point.theta,
        objective=point.value,
        gap=point.gap,
        status=Status.OPTIMAL if point.gap <= tol else Status.UNCERTIFIED,
        fixed_point=True,
        passes=objective.design.passes - before,
        trace=tuple(trace),
        minima=(describe(objective, point.theta, point.raw),),
        row_weights=objective.shares(point.raw),
        n_features=objective.design.n_features,
    )


def minimise_top_sum(objective, theta, *, tol, max_iter=50, record=None) -> Certified:
    """Return a certified point that is never worse than the start."""
    raw = objective.raw_prediction(theta)
    point = Certified(theta, raw, objective.value_at(raw, theta), 0.0)
    if objective.groups.is_full and objective.loss.has_curvature:
        step = _newton
    else:
        step = _banded(objective)
    for iteration in range(1, max_iter + 1):
        theta, weights = step(objective, point)
        moved = _search(objective, point, theta)
        bound = max(point.bound, lower_bound(objective, moved.raw, weights(moved)))
        stuck = moved.value >= point.value * (1 - 1e-15) and bound <= point.bound * (1 + 1e-15)
        point = Certified(moved.theta, moved.raw, moved.value, bound, iteration)
        if record is not None:
            record(point)
        if point.gap <= tol:
            break
        if stuck and not getattr(step, "widen", lambda: False)():
            break
    return point


def _search(objective, point, theta) -> Certified:
    """Return the best point found on the way to `theta`: a convex line search, without a pass."""
    raw = objective.raw_prediction(theta)
    value = objective.value_at(raw, theta)
    if value <= point.value:
        return Certified(theta, raw, value, point.bound)
    best = point
    t, direction, draw = 0.5, theta - point.theta, raw - point.raw
    for _ in range(25):
        at, there = point.theta + t * direction, point.raw + t * draw
        value = objective.value_at(there, at)
        if value < best.value:
            best = Certified(at, there, value, point.bound)
        elif best is not point:
            break
        t /= 2
    return best


def _newton(objective, point):
    """Return the full Newton step of a smooth objective in which nothing is ranked."""
    weights = objective.shares(point.raw)
    gradient = objective.subgradient_at(point.raw, point.theta, weights)
    hessian = objective.curvature_at(point.raw, weights)
    step = solve_symmetric(hessian)(gradient.ravel()).reshape(objective.shape)
    return point.theta - step, lambda moved: objective.shares(moved.raw)[:, None]


class _banded:
    """Sequential quadratic steps: rows near the cut by the interior point method, the rest modelled.

    Rows whose loss is clearly above the threshold of their group count in full, those clearly
    below not at all; their number is the price of one step.
    """

    def __init__(self, objective: RankedRangeObjective) -> None:
        self.masses = objective.groups.masses
        loss = objective.loss
        n = np.count_nonzero(self.masses)
        per_parameter = _ROWS[loss.has_curvature]
        self.size = n if n <= _WHOLE else per_parameter * (objective.n_parameters + 1)
        self.n = n

    def widen(self) -> bool:
        """Take more rows into the band; tell whether there were any more."""
        if self.size >= self.n:
            return False
        self.size *= 2
        return True

    def __call__(self, objective, point):
        loss, design = objective.loss, objective.design
        smooth = loss.has_curvature
        pieces, _ = loss.pieces(objective.y, point.raw)
        top = pieces.max(axis=1)
        omega = np.zeros(objective.n_samples)
        full = np.zeros(objective.n_samples)
        chosen, label, remaining = [], [], []
        for group in objective.groups:
            rows = np.arange(objective.n_samples)[group.rows]
            rows = rows[self.masses[rows] > 0]
            mass = group.scale * self.masses[rows]
            omega[rows] = mass
            if group.is_full and smooth:
                full[rows] = mass
                continue
            near, inside, rest = self._split(group, top[rows], mass, loss.floor)
            full[rows[inside]] = mass[inside]
            label += [np.full(len(near), len(remaining))]
            chosen += [rows[near]]
            remaining += [rest]
        band_rows = np.concatenate(chosen)
        hessian, gradient = self._model(objective, point, full, smooth)
        band = Band(
            design.take(band_rows),
            objective.y[band_rows],
            loss,
            omega[band_rows],
            np.concatenate(label),
            np.array(remaining),
            hessian,
            gradient,
            point.theta.ravel(),
            objective.shape,
        )
        found = solve_interior(band, point.theta, tol=1e-9)

        def weights(moved):
            spread = np.zeros_like(pieces)
            if full.any():
                largest = loss.pieces(objective.y, moved.raw)[0].argmax(axis=1)
                spread[np.arange(len(spread)), largest] = full
            spread[band_rows] = found.weights
            return spread

        return found.theta, weights

    def _split(self, group: Group, top, mass, floor):
        """Return the rows near the cut, those surely above it, and what the near ones count."""
        total = group.scale * group.width
        size = min(max(int(np.ceil(self.size * len(top) / self.n)), 2), len(top))
        if size == len(top):
            order = np.arange(size)
            return order, order[:0], np.inf if group.is_full else total
        # Losses below the floor add nothing, so the cut lies above it.
        cut = float(mass[top > floor].sum())
        cut = cut if group.is_full else min(cut, total)
        whole, half = float(mass.sum()), 0.5 * size / len(top) * float(mass.sum())
        first = min(max(cut - half, 0.0), whole - 2 * half)
        upper = kth_largest(top, Mass(first), sample_weight=mass) if first > 0 else np.inf
        lower = kth_largest(top, Mass(first + 2 * half), sample_weight=mass)
        near = np.flatnonzero((top <= upper) & (top >= lower))
        inside = np.flatnonzero(top > upper)
        if len(near) > 4 * size:  # a block of ties: any way to break it will do
            order = np.argsort(-top, kind="stable")
            begin = int(np.searchsorted(np.cumsum(mass[order]), first))
            near, inside = order[begin : begin + size], order[:begin]
        rest = total - float(mass[inside].sum())
        return near, inside, np.inf if group.is_full else rest

    def _model(self, objective, point, full, smooth):
        """Return the quadratic model of the rows that count in full, and of the ridge."""
        gradient = objective.ridge_gradient(point.theta).ravel()
        hessian = np.diag(objective.ridge_diagonal)
        if full.any():
            residual = objective.weighted_gradient(point.raw, full)
            gradient = gradient + objective.design.pull(residual).ravel()
            if smooth:
                hessian = objective.curvature_at(point.raw, full)
        return hessian, gradient
