r"""The convex problem inside every fit: the average of the top j losses, to a certified gap.

.. math:: \min_{\theta} \sum_g c_g \, \phi_{j_g}(S_g(\theta)) + \frac{\|w\|^2}{2C}

On its own it is CVaR or average top-k learning; with the hinge it is the nu-SVM. There are three
kinds of steps: Newton's where nothing is ranked and the loss is smooth; an interior point method
on a band of rows around the cut; and first-order steps if there are many parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from sorr._checks import check_limits
from sorr._typing import FloatArray
from sorr.objectives import (
    Objective,
    Point,
    RankedRangeObjective,
    blurred,
    constant_model,
    refuse_lost_class,
    solve_symmetric,
)
from sorr.solvers import constants as tuned
from sorr.solvers.descent import (
    can_pass_corners,
    descend,
    newton_past_corners,
    search_line,
)
from sorr.solvers.interior import InteriorMethod
from sorr.solvers.solution import (
    Progress,
    Solution,
    Status,
    Trace,
    as_start,
    constant_weights,
)

_Weigh: TypeAlias = Callable[[Point], Any]
"""From a point to a handle to the weights of the pieces of all losses, for a lower bound."""

_ROUNDING = 1e-14  # relative difference of two values that should be equal
_SUM_ROUNDING = 1e-12  # the same of sums over many rows, added up in another order


class Certified(NamedTuple):
    """A point, a bound that no point can go below, and the weights of the rows behind it."""

    point: Point
    bound: float
    weights: Any = None

    @property
    def gap(self) -> float:
        """An upper limit on the distance to the minimum, relative to the value."""
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
        The gap to reach, relative to the value. The bound comes from a Fenchel dual on all rows.
    max_iter : int, default=50
        How many outer steps to take at most.
    progress : callable, optional
        Called with a `Step` after each outer step.

    Returns
    -------
    Solution
        With `Status.OPTIMAL` if the gap was reached, `Status.CONSTANT_MODEL` if the minimum is a
        constant model, and `Status.UNCERTIFIED` otherwise.

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
    point = objective.at(as_start(objective, start))
    certified = minimise_top_sum(
        objective,
        approach(objective, point),
        tol=tol,
        max_iter=max_iter,
        patience=0,
        record=lambda moved: trace.add(0, "topsum", moved.value),
    )
    return Solution.at(
        objective,
        certified.point,
        status=Status.OPTIMAL if certified.gap <= tol else Status.UNCERTIFIED,
        trace=trace,
        gap=certified.gap,
        fixed_point=True,
    )


def refuse_unknown_pieces(objective: Objective) -> None:
    """Refuse a loss for which there is no dual bound."""
    if not objective.loss.has_bound:
        raise TypeError(
            f"a certificate needs a loss that is smooth, or whose pieces are known, and "
            f"{objective.loss.name} is neither; use trim with certify=False, or a smooth loss"
        )


def approach(
    objective: RankedRangeObjective,
    point: Point,
    *,
    rng: np.random.Generator | None = None,
    record: Callable[[Point], None] | None = None,
) -> Point:
    """Return a lower point of a convex objective: the fast phase, where it pays."""
    if objective.n_samples <= tuned.FAST_PHASE_ROWS or takes_all_rows(objective, point):
        return point
    point = descend(objective, point, rng=rng, record=record)
    if can_pass_corners(objective) and objective.n_samples > tuned.NEWTON_CORNER_ROWS:
        point = newton_past_corners(objective, point, record)
    return point


def minimise_top_sum(
    objective: Objective,
    point: Point,
    *,
    tol: float,
    max_iter: int = 50,
    patience: int = 1,
    record: Callable[[Point], None] | None = None,
) -> Certified:
    """Return a certified point of a convex objective that is never worse than the start.

    After `patience` steps, a step that leaves much of the gap is followed by larger ones.
    """
    constant = _certify_constant(objective, point)
    if constant is not None and constant.gap <= tol:
        return constant
    best = Certified(point, 0.0)
    is_large = objective.n_samples > tuned.FAST_PHASE_ROWS  # with few rows, a step for all digits
    if is_large and _is_smooth(objective) and _may_be_certified(objective, point, tol):
        weights = objective.share_weights(point)
        enough = point.value * (1 - tuned.BOUND_SLACK * tol)
        best = Certified(point, objective.lower_bound(point, weights, enough), weights)
        if best.gap <= tol:
            return best
    step, center = _choose_steps(objective, point, tol), point
    for number in range(max_iter):
        theta, weigh = step(center)
        moved, end = _search(objective, best.point, theta)
        # Bounds may need steps that the value, a sum over all rows, no longer shows.
        center = end if end.value <= moved.value * (1 + _SUM_ROUNDING) else moved
        bound, weights = best.bound, weigh(end)
        before, is_stuck = best.gap, moved.value >= best.point.value
        enough = moved.value * (1 - tuned.BOUND_SLACK * tol)
        if (better := objective.lower_bound(end, weights, enough)) > bound:
            bound, is_stuck = better, False
        if is_stuck and best.weights is not None:
            weights = best.weights
        best = Certified(moved, bound, weights)
        if record is not None:
            record(moved)
        if best.gap <= tol:
            break
        is_slow = is_stuck or (number >= patience and best.gap > tuned.SLOW * before)
        if is_slow and not step.widen() and is_stuck:
            # Where nothing curves, gradients may still lead down.
            descended = descend(objective, moved, tol=1e-8, precise=True)
            if not descended.value < moved.value:
                break
            best, center = best._replace(point=descended), descended
    return best


def _may_be_certified(objective: Objective, point: Point, tol: float) -> bool:
    """Tell whether a bound from the shares of the rows at a point can be as tight as asked for.

    If the gradient vanishes in the intercept, the distance to that bound is C / 2 times the square
    of the gradient in the coefficients.
    """
    gradient = objective.gradient(point)[: objective.n_features].ravel()
    return objective.C / 2 * float(gradient @ gradient) <= tol * point.value


def can_be_polished(objective: Objective) -> bool:
    """Tell whether a Newton step can give more digits, at little cost."""
    return _is_smooth(objective) and objective.n_parameters <= tuned.MAX_POLISH_PARAMETERS


def polish(objective: Objective, point: Point) -> Point:
    """Return a certified point after one more Newton step, where that gives all digits.

    A gap of 1e-12 in the objective leaves parameters right to about 1e-6 only. The step is taken
    if nothing is ranked, the loss is smooth, parameters are few and the gradient gets smaller.
    """
    if not can_be_polished(objective):
        return point
    theta = _NewtonSteps(objective)(point)[0]
    if not np.isfinite(theta).all():
        return point
    end = objective.at(theta)
    before, after = (float(np.abs(objective.gradient(p)).max()) for p in (point, end))
    return end if after < before and end.value <= point.value * (1 + _ROUNDING) else point


def _search(objective: Objective, point: Point, theta: FloatArray) -> tuple[Point, Point]:
    """Return the best point met on the way to parameters, and the one to take a bound at.

    A convex line search, in one pass. If the end is higher only by rounding, its bound is
    tighter: the weights of the rows were made for it.
    """
    if not np.isfinite(theta).all():
        return point, point
    end = objective.at(theta)
    if end.value <= point.value:
        return end, end
    best = search_line(objective.between(point, end), length=0.5) or point
    return best, end if end.value <= best.value * (1 + 1e-6) else best


def _certify_constant(objective: Objective, point: Point) -> Certified | None:
    """Return the constant model with its certificate, if it is near and optimal.

    All losses of a class tie there, which is the worst case for the other steps.
    """
    if objective.class_of_row is None or len(objective.shape) > 1 or objective.groups.is_full:
        return None
    if (
        objective.n_samples <= tuned.FAST_PHASE_ROWS
        or objective.n_parameters > tuned.MAX_DENSE_PARAMETERS
        or objective.spread(point) > 1  # near the constant model, predictions hardly differ
        or takes_all_rows(objective, point)
    ):
        return None
    constant = objective.at(constant_model(objective))
    if point.value < constant.value * (1 - tuned.NEAR_CONSTANT):
        return None
    weights = constant_weights(objective, constant.theta)
    if weights is None:
        return None
    return Certified(constant, objective.lower_bound(constant, weights))


# -- steps ----------------------------------------------------------------------------------------


class _Steps(Protocol):
    def __call__(self, point: Point) -> tuple[FloatArray, _Weigh]:
        """Return where a step leads to, and the weights of the rows there."""

    def widen(self) -> bool:
        """Make the next steps larger; return whether that is possible."""


def _is_smooth(objective: Objective) -> bool:
    return objective.groups.is_full and objective.loss.has_curvature


def _choose_steps(objective: Objective, point: Point, tol: float) -> _Steps:
    if objective.n_parameters > tuned.MAX_DENSE_PARAMETERS:
        return _FirstOrderSteps(objective)
    if _is_smooth(objective):
        return _NewtonSteps(objective)
    return _BandSteps(objective, point, tol)


def takes_all_rows(objective: Objective, point: Point) -> bool:
    """Tell whether the interior point method takes all rows at once, from a point.

    From zero, where nothing is known about the rows, that is faster than a fast phase and a band.
    """
    if _is_smooth(objective) or objective.n_parameters > tuned.MAX_DENSE_PARAMETERS:
        return False
    rows, size = objective.n_rows, objective.n_parameters
    if rows <= tuned.MAX_ROWS_AT_ONCE:
        return True
    return (
        isinstance(objective, RankedRangeObjective)
        and rows <= tuned.MAX_ROWS_FROM_ZERO
        and size <= tuned.MAX_PARAMETERS_FROM_ZERO[objective.loss.has_curvature]
        and rows * size <= tuned.MAX_ENTRIES_FROM_ZERO
        and len(objective.shape) == 1
        and (objective.loss.smooth or objective.loss.floor == 0)
        and not objective.design.is_sparse
        and not point.theta.any()
    )


class _NewtonSteps:
    """Newton steps, for a smooth loss where nothing is ranked.

    With many rows and parameters, Hessians are in float32, until a step is slow.
    """

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        is_wide = objective.n_parameters > tuned.MAX_METRIC_PARAMETERS
        self.is_coarse = is_wide and objective.n_samples > tuned.FEW_ROWS

    def widen(self) -> bool:
        was_coarse, self.is_coarse = self.is_coarse, False
        return was_coarse

    def __call__(self, point: Point) -> tuple[FloatArray, _Weigh]:
        objective = self.objective
        hessian = objective.hessian(objective.coarse(point) if self.is_coarse else point)
        gradient = objective.gradient(point)
        step = solve_symmetric(hessian)(gradient.ravel()).reshape(objective.shape)
        return point.theta - step, objective.share_weights


class _FirstOrderSteps:
    """Quasi-Newton steps for many parameters, without a matrix of them.

    Corners and cuts are blurred. The blurred weights give the bound.
    """

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.is_smooth = _is_smooth(objective)
        self.widths = [0.0] if self.is_smooth else list(tuned.BLUR_WIDTHS)

    def widen(self) -> bool:
        if len(self.widths) > 1:
            self.widths = self.widths[1:]
            return True
        return False

    def __call__(self, point: Point) -> tuple[FloatArray, _Weigh]:
        objective = self.objective
        if self.is_smooth:
            end = descend(objective, point, tol=1e-12, max_iter=300, precise=True)
            return end.theta, objective.share_weights
        assert isinstance(objective, RankedRangeObjective)  # see `sorr.solvers.trimming`
        scale = objective.typical_loss(point) or point.value or 1.0
        width = self.widths[0] * scale
        soft = blurred(objective.smoothed(width), width)
        start = soft.at(point.theta, point.raw)
        end = descend(soft, start, tol=1e-9, max_iter=300, precise=True)
        return end.theta, lambda at: soft.piece_weights(at.raw, end.theta, objective.loss)


class _BandSteps:
    """Steps for ranked rows, or for a loss with corners: an interior point method for a band.

    A wider band makes a step larger and dearer. If the band has all rows, the next step continues
    the method to a smaller tolerance.
    """

    def __init__(self, objective: Objective, point: Point, tol: float) -> None:
        self.objective = objective
        self.n_rows = objective.n_rows
        self.tol = min(tuned.BAND_TOL * tol, tuned.MAX_BAND_TOL)
        curved = objective.loss.has_curvature
        size = max(
            tuned.BAND_PER_PARAMETER[curved] * (objective.n_parameters + 1), tuned.MIN_BAND[curved]
        )
        is_whole = takes_all_rows(objective, point)
        self.size = self.n_rows if is_whole else min(size, self.n_rows)
        self.method: InteriorMethod | None = None
        self.weights_of: Callable[[FloatArray], Any]

    def widen(self) -> bool:
        """Take more rows into the band, to more digits; return whether there were any more."""
        if self.size >= self.n_rows:
            return False
        self.tol = max(tuned.TIGHTER * self.tol, tuned.MIN_BAND_TOL)
        self.size = min(2 * self.size, self.n_rows)
        return True

    def __call__(self, point: Point) -> tuple[FloatArray, _Weigh]:
        """Return where a step leads to, and the weights of the rows there."""
        if self.method is None or self.tol < tuned.MIN_BAND_TOL:
            band, self.weights_of = self.objective.band(point, self.size)
            self.method = InteriorMethod(band, point.theta)
        solved, weights_of = self.method.run(tol=self.tol), self.weights_of
        if self.method.n_rows < self.n_rows:
            self.method = None
        else:
            self.tol *= tuned.TIGHTER
        return solved.theta, lambda _: weights_of(solved.weights)
