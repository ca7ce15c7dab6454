r"""The convex problem inside: the average of the top j losses, with a certified gap.

.. math:: \min_{\theta} \sum_g c_g \, \phi_{j_g}(S_g(\theta)) + \frac{\|w\|^2}{2C}

By itself it is CVaR or average top-k learning; with the hinge it is the nu-SVM.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from sorr._checks import check_limits
from sorr._typing import FloatArray, IntArray
from sorr.objectives import Group, RankedRangeObjective, blurred
from sorr.ranked import Mass, kth_largest
from sorr.solvers.certificate import lower_bound
from sorr.solvers.descent import Point, can_pass_corners, descend, evaluate, newton_past_corners
from sorr.solvers.interior import Band, solve_interior, solve_symmetric
from sorr.solvers.solution import (
    Progress,
    Solution,
    Status,
    Trace,
    as_start,
    constant_model,
    constant_weights,
    refuse_lost_class,
)

__all__ = [
    "Banded",
    "Certified",
    "Weigh",
    "minimise_top_sum",
    "polish",
    "refuse_unknown_pieces",
    "topsum",
]

_DENSE = 2000  # parameters up to which matrices of them are made
_SHORT = 1000  # rows up to which a fast phase does not pay
_LONG = 50_000  # rows from which on Newton steps around corners are cheaper than wide bands
_SLOW = 0.1  # share of the gap that is left after a step when it is time for larger ones
_NEAR_CONSTANT = 1e-3  # relative distance at which the constant model is tried
_CHEAP = 128  # parameters up to which a Newton step for the last digits is hardly noticed
_ROUNDING = 1e-14  # relative difference of two values of the same
_WIDTHS = (1e-2, 1e-3, 1e-4)  # of corners and cuts, relative to the mean loss, without matrices


class Certified(NamedTuple):
    """A point, a bound that no point can go below, and the weights of the rows behind it."""

    point: Point
    bound: float
    weights: FloatArray | None = None

    @property
    def gap(self) -> float:
        """By how much the value could be lowered at most, relative to it."""
        if self.point.value <= 0:
            return 0.0
        return max(self.point.value - self.bound, 0.0) / self.point.value


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
        `Status.OPTIMAL` if the gap was reached, or `Status.CONSTANT_MODEL` if that is the
        minimum, else `Status.UNCERTIFIED`.

    Examples
    --------
    >>> import numpy as np
    >>> from sorr.objectives import RankedRangeObjective
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1, 1, -1, 1])
    >>> solution = topsum(RankedRangeObjective(X, y, "hinge", k=2, C=10.0))
    >>> solution.gap <= 1e-6
    True
    """
    if not objective.loss.convex:
        raise ValueError(
            f"topsum is given {objective.loss.name}, which is not convex; needed a convex loss: "
            "use trim instead"
        )
    if not objective.is_convex:
        raise ValueError(
            "topsum is given an objective that drops rows, m > 0; needed m = 0, which is convex: "
            "use trim instead"
        )
    check_limits(tol, max_iter)
    refuse_lost_class(objective)
    refuse_unknown_pieces(objective)
    trace = Trace(objective, progress)
    point = evaluate(objective, as_start(objective, start))
    if objective.n_samples > _SHORT:
        point = descend(objective, point)
        if can_pass_corners(objective) and objective.n_samples > _LONG:
            point = newton_past_corners(objective, point)
    certified = minimise_top_sum(
        objective,
        point,
        tol=tol,
        max_iter=max_iter,
        patience=0,
        record=lambda moved: trace.add(0, "topsum", moved.value),
    )
    return Solution.at(
        objective,
        certified.point,
        status=Status.OPTIMAL if certified.gap <= tol else Status.UNCERTIFIED,
        trace=trace.steps,
        passes=trace.passes,
        gap=certified.gap,
        fixed_point=True,
    )


def refuse_unknown_pieces(objective: RankedRangeObjective) -> None:
    """Refuse a loss for which there is no dual bound."""
    if not objective.loss.has_bound:
        raise TypeError(
            f"a certificate needs a loss that is smooth, or whose pieces are known, and "
            f"{objective.loss.name} is neither; use trim with certify=False, or a smooth loss"
        )


def minimise_top_sum(
    objective: RankedRangeObjective,
    point: Point,
    *,
    tol: float,
    max_iter: int = 50,
    patience: int = 1,
    record: Callable[[Point], None] | None = None,
) -> Certified:
    """Return a certified point of a convex objective that is never worse than the start.

    Larger steps are taken where smaller ones do not do: patience is for how many of those.
    """
    found = _constant(objective, point)
    if found is not None and found.gap <= tol:
        return found
    found = Certified(point, 0.0)
    step = _steps(objective)
    for number in range(max_iter):
        theta, weigh = step(found.point)
        moved, end = _search(objective, found.point, theta)
        bound, weights = found.bound, weigh(end.raw)
        before, stuck = found.gap, moved.value >= found.point.value
        if (better := lower_bound(objective, end.raw, weights)) > bound:
            bound, stuck = better, False
        if stuck and found.weights is not None:
            weights = found.weights
        found = Certified(moved, bound, weights)
        if record is not None:
            record(moved)
        if found.gap <= tol:
            break
        is_slow = stuck or (number >= patience and found.gap > _SLOW * before)
        if is_slow and not step.widen() and stuck:
            lower = descend(objective, moved, tol=1e-8, precise=True)
            if not lower.value < moved.value:
                break
            found = found._replace(point=lower)  # where nothing curves, gradients may still lead
    return found


def polish(objective: RankedRangeObjective, point: Point) -> Point:
    """Return a certified point after one Newton step more, where that brings out all digits.

    A gap of 1e-12 in the objective leaves parameters right to about 1e-6 only. The step is taken
    where nothing is ranked, the loss is smooth and parameters are few, if it makes the gradient
    smaller.
    """
    if not isinstance(step := _steps(objective), _Newton) or objective.n_parameters > _CHEAP:
        return point
    theta = step(point)[0]
    if not np.isfinite(theta).all():
        return point
    end = evaluate(objective, theta)
    before, after = (
        float(np.abs(objective.subgradient_at(p.raw, p.theta, p.shares)).max())
        for p in (point, end)
    )
    return end if after < before and end.value <= point.value * (1 + _ROUNDING) else point


def _search(
    objective: RankedRangeObjective, point: Point, theta: FloatArray
) -> tuple[Point, Point]:
    """Return the best point met on the way to parameters, and the one to take a bound at.

    A convex line search, in one pass. Where the end is higher by rounding alone, a bound is
    tighter there: the weights of the rows were made for it.
    """
    if not np.isfinite(theta).all():
        return point, point
    end = evaluate(objective, theta)
    if end.value <= point.value:
        return end, end
    best = point
    t, direction, draw = 0.5, theta - point.theta, end.raw - point.raw
    for _ in range(25):
        there = evaluate(objective, point.theta + t * direction, point.raw + t * draw)
        if there.value < best.value:
            best = there
        elif best is not point:
            break
        t /= 2
    return best, end if end.value <= best.value * (1 + 1e-6) else best


def _constant(objective: RankedRangeObjective, point: Point) -> Certified | None:
    """Return the constant model with its certificate, if it is near and optimal.

    All losses of a class tie there, which is the worst case for everything else.
    """
    if objective.class_of_row is None or len(objective.shape) > 1 or objective.groups.is_full:
        return None
    if objective.n_samples <= _SHORT or objective.n_parameters > _DENSE:
        return None
    if float(np.ptp(point.raw)) > 1:  # so little does a model near the constant one tell apart
        return None
    constant = evaluate(objective, constant_model(objective))
    if point.value < constant.value * (1 - _NEAR_CONSTANT):
        return None
    weights = constant_weights(objective, constant.theta)
    if weights is None:
        return None
    values = objective.loss.pieces(objective.y, constant.raw)[0]
    if values.shape[1] > 1:
        return None
    return Certified(constant, lower_bound(objective, constant.raw, weights[:, None]))


class _Stepper(Protocol):
    def __call__(self, point: Point) -> tuple[FloatArray, Weigh]: ...

    def widen(self) -> bool: ...


def _steps(objective: RankedRangeObjective) -> _Stepper:
    if objective.n_parameters > _DENSE:
        return _FirstOrder(objective)
    if objective.groups.is_full and objective.loss.has_curvature:
        return _Newton(objective)
    return Banded(objective)


class _Newton:
    """Newton steps, where the loss is smooth and nothing is ranked."""

    def __init__(self, objective: RankedRangeObjective) -> None:
        self.objective = objective

    def widen(self) -> bool:
        return False

    def __call__(self, point: Point) -> tuple[FloatArray, Weigh]:
        objective = self.objective
        gradient = objective.subgradient_at(point.raw, point.theta, point.shares)
        hessian = objective.curvature_at(point.raw, point.shares)
        step = solve_symmetric(hessian)(gradient.ravel()).reshape(objective.shape)
        return point.theta - step, lambda raw: objective.shares(raw)[:, None]


class _FirstOrder:
    """Quasi-Newton steps with many parameters, for which no matrix is made.

    Corners and cuts are blurred; the weights of the blur are those of the bound.
    """

    def __init__(self, objective: RankedRangeObjective) -> None:
        self.objective = objective
        self.is_smooth = objective.groups.is_full and objective.loss.has_curvature
        self.widths = [0.0] if self.is_smooth else list(_WIDTHS)

    def widen(self) -> bool:
        if len(self.widths) > 1:
            self.widths = self.widths[1:]
            return True
        return False

    def __call__(self, point: Point) -> tuple[FloatArray, Weigh]:
        objective = self.objective
        if self.is_smooth:
            there = descend(objective, point, tol=1e-12, max_iter=300, precise=True)
            return there.theta, lambda raw: objective.shares(raw)[:, None]
        scale = objective.typical_loss(point.raw, point.shares) or point.value or 1.0
        width = self.widths[0] * scale
        soft = blurred(objective.smoothed(width), width)
        start = evaluate(soft, point.theta, point.raw)
        there = descend(soft, start, tol=1e-9, max_iter=300, precise=True)

        def weigh(raw: FloatArray) -> FloatArray:
            shares = soft.value_and_shares_at(raw, there.theta)[1]
            slopes = objective.loss.pieces(objective.y, raw)[1]
            if slopes.shape[1] == 1 and objective.loss.has_curvature:
                return shares[:, None]
            smooth = soft.loss.gradient(objective.y, raw)
            if slopes.ndim == 3:
                return np.asarray(shares[:, None] * _parts(slopes, smooth))
            # The slope between two pieces, as parts of theirs: of those on its side of zero.
            parts = np.clip(smooth[:, None] / np.where(slopes == 0, 1.0, slopes), 0.0, 1.0)
            return np.asarray(shares[:, None] * parts)

        return there.theta, weigh


def _parts(slopes: FloatArray, mixed: FloatArray) -> FloatArray:
    """Return how much of each piece is in a mixture of their slopes, where outputs are several."""
    squares = slopes @ slopes.transpose(0, 2, 1)
    try:
        parts = np.linalg.solve(squares, slopes @ mixed[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:  # pieces that depend on each other mix in many ways
        parts = np.zeros(slopes.shape[:2])
        for i in np.flatnonzero(mixed.any(axis=1)):
            parts[i] = nnls(slopes[i].T, mixed[i])[0]
    return np.asarray(np.clip(parts, 0.0, 1.0))


# -- Quadratic steps for top sums: rows near the cut are solved for, the others are modelled -------


Weigh: TypeAlias = Callable[[FloatArray], FloatArray]
"""From raw predictions to the weights of the pieces of all losses, for a lower bound."""

_WHOLE = 1000  # up to so many rows the interior point method takes all of them
_FEWEST = {True: 0, False: 400}  # rows in a band: of losses with curvature, and of others
_ROWS = {True: 8, False: 4}  # rows for each parameter
_TIES = 4  # times as many rows as wanted may be near the cut, before ties are broken
_INNER = 1e-9


class Banded:
    """Steps of a convex objective in which rows are ranked, or whose loss has corners.

    Rows whose loss is clearly above the threshold of their group count in full, through a
    quadratic model; those clearly below do not count; those between, the band, go into an interior
    point method. The size of the band is the price of a step.
    """

    def __init__(self, objective: RankedRangeObjective) -> None:
        self.objective = objective
        self.masses = objective.groups.masses
        self.n_rows = int(np.count_nonzero(self.masses))
        smooth = objective.loss.has_curvature
        size = max(_ROWS[smooth] * (objective.n_parameters + 1), _FEWEST[smooth])
        self.size = self.n_rows if self.n_rows <= _WHOLE else min(size, self.n_rows)

    def widen(self) -> bool:
        """Take more rows into the band; tell whether there were any more."""
        if self.size >= self.n_rows:
            return False
        self.size = min(2 * self.size, self.n_rows)
        return True

    def __call__(self, point: Point) -> tuple[FloatArray, Weigh]:
        """Return where a step leads to, and the weights of the rows there."""
        objective, loss = self.objective, self.objective.loss
        top = loss.pieces(objective.y, point.raw)[0].max(axis=1)
        omega, full = np.zeros((2, objective.n_samples))
        chosen: list[IntArray] = []
        label: list[IntArray] = []
        remaining: list[float] = []
        for group in objective.groups:
            rows = np.arange(objective.n_samples)[group.rows]
            rows = rows[self.masses[rows] > 0]
            omega[rows] = group.scale * self.masses[rows]
            if group.is_full and loss.has_curvature:
                full[rows] = omega[rows]
                continue
            near, inside, rest = self._split(group, top[rows], omega[rows])
            full[rows[inside]] = omega[rows[inside]]
            label.append(np.full(len(near), len(remaining)))
            chosen.append(rows[near])
            remaining.append(rest)
        rows = np.concatenate(chosen)
        found = solve_interior(
            Band(
                design=objective.design.take(rows),
                y=objective.y[rows],
                loss=loss,
                omega=omega[rows],
                group=np.concatenate(label),
                remaining=np.array(remaining),
                center=point.theta.ravel(),
                shape=objective.shape,
                **self._model(point, full),
            ),
            point.theta,
            tol=_INNER,
        )

        def weigh(raw: FloatArray) -> FloatArray:
            values = loss.pieces(objective.y, raw)[0]
            weights = np.zeros(values.shape)
            weights[np.arange(len(weights)), values.argmax(axis=1)] = full
            weights[rows] = found.weights
            return weights

        return found.theta, weigh

    def _split(
        self, group: Group, top: FloatArray, omega: FloatArray
    ) -> tuple[IntArray, IntArray, float]:
        """Return the rows near the cut, those surely above it, and what the near ones count."""
        total, whole = group.scale * group.width, float(omega.sum())
        size = min(max(int(np.ceil(self.size * len(top) / self.n_rows)), 2), len(top))
        if size == len(top):
            near, inside = np.arange(size), np.arange(0)
        else:
            # Losses below the floor add nothing, so that the cut lies above it.
            cut = float(omega[top > self.objective.loss.floor].sum())
            cut = cut if group.is_full else min(cut, total)
            width = whole * size / len(top)
            first = min(max(cut - width / 2, 0.0), whole - width)
            upper = np.inf
            if first > 0:
                upper = float(kth_largest(top, Mass(first), sample_weight=omega))
            lower = kth_largest(top, Mass(first + width), sample_weight=omega)
            near, inside = (
                np.flatnonzero((top <= upper) & (top >= lower)),
                np.flatnonzero(top > upper),
            )
            if len(near) > _TIES * size:  # a block of ties: any way to break it will do
                order = np.argsort(-top, kind="stable")
                begin = int(np.searchsorted(np.cumsum(omega[order]), first))
                near, inside = order[begin : begin + size], order[:begin]
        rest = total - float(omega[inside].sum())
        return near, inside, np.inf if group.is_full else rest

    def _model(self, point: Point, full: FloatArray) -> dict[str, FloatArray]:
        """Return the quadratic model of the rows that count in full, and of the ridge."""
        objective = self.objective
        gradient = objective.ridge_gradient(point.theta).ravel()
        hessian: FloatArray = np.diag(objective.ridge_diagonal)
        if full.any():
            residual = objective.weighted_gradient(point.raw, full)
            gradient = gradient + objective.design.pull(residual).ravel()
            if objective.loss.has_curvature:
                hessian = objective.curvature_at(point.raw, full)
        return {"hessian": hessian, "gradient": gradient}
