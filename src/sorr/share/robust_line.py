"""A plane that outliers do not move, wherever they lie, and what its errors say about targets.

First comes a fit that resists nearly half of the rows: least trimmed squares from many starts. Then
every row gets a probability that its target is wrong, by its error and by how far out it lies:
among rows which are nearly all outliers, a row with a small error is one by chance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from sorr._typing import FloatArray, IntArray
from sorr.objectives import RankedRangeObjective
from sorr.ranked import Mass
from sorr.share.constants import (
    BY_CHANCE,
    CLIPPED_COLUMN,
    FEWEST_FOR_EACH_COLUMN,
    LARGEST_LOG_SPREAD,
    LINE_SAMPLE,
    LINE_STEPS,
    PULL_OF_PRIOR,
    ROWS_FOR_EACH_COLUMN,
    WIDEST,
)
from sorr.share.errors import (
    LARGEST,
    NORMAL,
    PARTS,
    Bell,
    Explanation,
    Findings,
    as_prior,
    explain,
    explain_honest,
    explain_wrong,
    floor_of,
    weighted_median,
)
from sorr.share.targets import TargetJudgement, cannot_judge, judge_explained, why_not
from sorr.share.trimmed_squares import Rows, Units, trimmed_starts
from sorr.solvers import trim

_FIRST_LINE_STEPS, _PROMISING = 6, 3  # of every explanation, and how many go on
_BOUNDED = Bell("Student 3", 3.0)  # errors of any size add little to its score
_SMALL = 0.05  # scales: the logarithm of an error goes no further down
_NAME = "a linear model"
_WIDE_RIDGE = 1e6  # the inverse of the ridge where columns are many
_LEAST_LEFT = 0.05  # of the variance of an error that a fit leaves at least
_STILL = 1e-6  # of a scale: coefficients that move less stand still
_BLOCK = 1 << 20  # entries of X that are worked on at a time


class JudgedLine(NamedTuple):
    """The judgement of targets by a plane, and what a linear model should learn from them."""

    judgement: TargetJudgement
    theta: FloatArray | None
    """The plane: coefficients, then the intercept if there is one. None if there was none."""
    weight: FloatArray
    """How much each row should count: zero for wrong targets, less for errors of a heavy tail."""


def judge_line(
    X: Any, y: FloatArray, mass: FloatArray, *, fit_intercept: bool, rng: np.random.Generator
) -> JudgedLine:
    """Judge targets by a plane that resists outliers.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    mass : ndarray of shape (n_samples,)
        The mass of each row, above zero.
    fit_intercept : bool
    rng : Generator
        Draws the random starts, and a sample of many rows.
    """
    p = X.shape[1] + fit_intercept
    each = FEWEST_FOR_EACH_COLUMN if X.shape[1] <= WIDEST else ROWS_FOR_EACH_COLUMN
    reason = why_not(y, mass)
    rows_given = min(float(mass.sum()), len(y))
    if reason is None and rows_given < each * p:
        reason = (
            f"has {rows_given:,.0f} rows for {X.shape[1]:,} columns, too few for a plane that "
            f"resists outliers; needed {each:g} or more for each column"
        )
    if reason is not None:
        middle = np.full(len(y), float(np.average(y, weights=mass)))
        silent = cannot_judge(middle, y, mass, f"y {reason}", model=_NAME)
        return JudgedLine(silent, None, np.ones(len(y)))
    y = np.clip(y, -LARGEST, LARGEST)
    floor = floor_of(y, mass)
    few = rows_given < ROWS_FOR_EACH_COLUMN * p
    remark = "With fewer than ten rows for each column, outliers may hide." * bool(few)
    if X.shape[1] > WIDEST:
        return _judge_wide(X, y, mass, floor, fit_intercept, rng)
    size = max(LINE_SAMPLE, 2 * ROWS_FOR_EACH_COLUMN * p)
    part = None if len(y) <= size else np.sort(rng.choice(len(y), size, replace=False))
    some: Any = slice(None) if part is None else part
    unit = Units.of(X[some], fit_intercept)
    rows = Rows(unit.apply(X[some]), y[some], mass[some], fit_intercept, floor)
    return _judge_all(_search(rows, rng), unit, X, y, mass, part, floor, remark)


# -- Explanations of the errors of a plane ---------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """What an explanation of rows may use.

    Attributes
    ----------
    by_distance : bool
        Whether the prior of a wrong target depends on how far out a row lies.
    sizes : tuple of int
        What the size of errors depends on: 0 is the distance, 1 to d the columns, and what follows
        the sizes of the columns.
    """

    by_distance: bool = False
    sizes: tuple[int, ...] = ()


class Fit(NamedTuple):
    """A plane with an explanation of its errors."""

    theta: FloatArray
    errors: Explanation
    shape: Shape
    gram: FloatArray
    honest: FloatArray
    """The probability that each row is honest."""
    total: float
    """The sum of the weights behind the gram matrix."""
    prior: FloatArray
    """Of the log odds of a wrong target: a constant, and slopes of distance and its square."""
    places: FloatArray
    """The mean and the spread of the logarithms of distances."""
    slopes: FloatArray
    """Of the logarithm of the size of errors."""
    holds_majority: bool
    """Whether half of the rows or more are honest."""
    value: float


class Place(NamedTuple):
    """What an explanation says about rows before their errors are known."""

    log_prior: FloatArray
    spread: FloatArray
    distance: FloatArray


def place_rows(fit: Fit, columns: FloatArray, leverage: FloatArray) -> Place:
    """Return the prior and the size of errors of rows, by their leverage in the plane of a fit."""
    distance = (_log(leverage * fit.total) - fit.places[0]) / fit.places[1]
    log_prior = fit.prior[0] + fit.prior[1] * distance + fit.prior[2] * distance**2
    log_prior = np.clip(log_prior, _LOWEST, _HIGHEST)
    spread = np.ones(len(columns))
    if fit.shape.sizes:
        size = _of_size(distance, columns, fit.shape.sizes) @ fit.slopes
        spread = np.exp(np.clip(size, -LARGEST_LOG_SPREAD, LARGEST_LOG_SPREAD))
    return Place(log_prior, spread, distance)


def _places(far: FloatArray, mass: FloatArray) -> FloatArray:
    """Return the mean and the spread of the logarithms of squared distances."""
    logs = _log(far)
    middle = float(mass @ logs / mass.sum())
    spread = float(np.sqrt(mass @ (logs - middle) ** 2 / mass.sum()))
    return np.array([middle, max(spread, 1e-9)])


def _log(far: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.maximum(far, 1e-12)))


_LOWEST, _HIGHEST = (float(logit(as_prior(share))) for share in (0.0, 1.0))


def fitted_spread(leverage: FloatArray, honest: FloatArray) -> FloatArray:
    """Return the size of errors relative to new rows: those fitted lie closer, others further."""
    return np.sqrt(np.maximum(1 + (1 - 2 * honest) * leverage, _LEAST_LEFT))


def _of_size(distance: FloatArray, columns: FloatArray, chosen: tuple[int, ...]) -> FloatArray:
    """Return what the size of errors depends on, without extremes."""
    d = columns.shape[1]
    parts = [
        distance if i == 0 else columns[:, i - 1] if i <= d else np.abs(columns[:, i - 1 - d])
        for i in chosen
    ]
    return np.asarray(np.clip(np.column_stack(parts), -CLIPPED_COLUMN, CLIPPED_COLUMN))


def settle(
    rows: Rows, theta: FloatArray, errors: Explanation, shape: Shape, steps: int = LINE_STEPS
) -> Fit:
    """Return the likeliest plane and explanation near a start."""
    n = len(rows.y)
    whole = float(rows.mass.sum())
    columns = rows.columns
    honest: FloatArray = np.ones(n)
    if rows.intercept and errors.centre:
        theta = theta + errors.centre * (np.arange(len(theta)) == len(theta) - 1)
        errors = errors.move(-errors.centre)
    if errors.outliers:
        u = errors.in_scales(rows.y - rows.A @ theta)
        honest = (np.abs(u) <= errors.bell.quantile(0.99)).astype(np.float64)
    weight = rows.mass * honest
    _, gram = rows.solve(weight)
    log_share = logit(errors.share) if errors.outliers else 0.0
    fit = Fit(
        theta,
        errors,
        shape,
        gram,
        honest,
        float(weight.sum()),
        np.array([log_share, 0.0, 0.0]),
        np.array([0.0, 1.0]),
        np.zeros(len(shape.sizes)),
        holds_majority=False,
        value=-np.inf,
    )
    value = -np.inf
    for _ in range(steps):
        leverage = rows.leverage(fit.gram)
        fit = fit._replace(places=_places(leverage * fit.total, rows.mass))
        log_prior, sizes, distance = place_rows(fit, columns, leverage)
        spread = sizes * fitted_spread(leverage, fit.honest)
        off = (rows.y - rows.A @ fit.theta) / spread
        honest, log_density = fit.errors.weigh(off, log_prior)
        value = float(rows.mass @ (log_density - np.log(spread)))
        errors = fit.errors.improve(
            off, rows.mass * honest, rows.mass * (1 - honest), fit_centre=not rows.intercept
        )
        bell = fit.errors.bell.weight(fit.errors.in_scales(off))
        prior = fit.prior
        if fit.errors.outliers:
            prior = _new_prior(fit, distance, honest, rows.mass)
        slopes = fit.slopes
        if shape.sizes:
            slopes = _new_slopes(fit, distance, columns, rows.mass * honest, bell, off)
        if fit.errors.is_skewed:
            sides = np.where(off < 0, fit.errors.below, fit.errors.above)
            sizes = sizes * sides / (0.5 * (fit.errors.below + fit.errors.above))
        weight = rows.mass * np.where(honest > 0.5, honest, 0.0) * bell / sizes**2
        theta, gram = rows.solve(weight)
        moved = float(np.abs(theta - fit.theta).max())
        fit = fit._replace(
            theta=theta,
            errors=errors,
            gram=gram,
            honest=honest,
            total=float(weight.sum()),
            prior=prior,
            slopes=slopes,
            value=value,
        )
        if moved < _STILL * errors.scale:
            break
    more = 2 * (shape.by_distance and bool(fit.errors.outliers)) + len(fit.slopes)
    return fit._replace(
        holds_majority=bool(rows.mass @ (fit.honest > 0.5) >= 0.5 * whole),
        value=value - fit.errors.penalty(whole, more),
    )


def _new_prior(fit: Fit, distance: FloatArray, honest: FloatArray, mass: FloatArray) -> FloatArray:
    """Return the prior that is likelier for the wrong targets: a share, or a curve by distance."""
    if not fit.shape.by_distance:
        share = as_prior(float(mass @ (1 - honest) / mass.sum()))
        return np.array([logit(share), 0.0, 0.0])
    Q = np.column_stack([np.ones(len(distance)), distance, distance**2])
    pull = np.diag([1e-9, PULL_OF_PRIOR, PULL_OF_PRIOR])
    prior = fit.prior
    for _ in range(3):
        p = expit(np.clip(Q @ prior, _LOWEST, _HIGHEST))
        bend = (Q * (mass * p * (1 - p))[:, None]).T @ Q + pull
        prior = prior + np.linalg.solve(bend, Q.T @ (mass * (1 - honest - p)) - pull @ prior)
    return prior


def _new_slopes(
    fit: Fit,
    distance: FloatArray,
    columns: FloatArray,
    mass: FloatArray,
    bell: FloatArray,
    off: FloatArray,
) -> FloatArray:
    """Return likelier slopes of the logarithm of the size of errors: by a step of Fisher's."""
    Z = _of_size(distance, columns, fit.shape.sizes)
    Z = Z - mass @ Z / mass.sum()
    u = fit.errors.in_scales(off)
    bend = (Z * mass[:, None]).T @ Z
    bend.flat[:: len(bend) + 1] += 1.0
    if not fit.slopes.any():  # far from the likeliest slopes, where Fisher's step overshoots
        return np.linalg.solve(bend, Z.T @ (mass * np.log(np.maximum(np.abs(u), _SMALL))))
    pull = Z.T @ (mass * (bell * u * u - 1)) / 2 - fit.slopes
    return np.asarray(fit.slopes + np.linalg.solve(bend, pull))


# -- The search ------------------------------------------------------------------------------------


class Found(NamedTuple):
    """The best fits of a sample: without wrong targets, and with some."""

    honest: Fit
    wrong: Fit

    @property
    def gain(self) -> float:
        """By how much wrong targets explain the rows better, in logarithms."""
        return self.wrong.value - self.honest.value

    @property
    def best(self) -> Fit:
        """The fit whose plane is taken."""
        is_wrong = self.gain > BY_CHANCE and self.wrong.holds_majority
        return self.wrong if is_wrong else self.honest


def _search(rows: Rows, rng: np.random.Generator) -> Found:
    """Return the planes that explain the rows best, with and without wrong targets.

    Several minima are followed, and the likeliest explanation decides between them: the deepest
    minimum of least trimmed squares need not be the plane of the majority.
    """
    fits = []
    for theta in trimmed_starts(rows, rng):
        off = rows.y - rows.A @ theta
        size = max(weighted_median(np.abs(off), rows.mass), rows.floor) / NORMAL.quantile(0.5)
        bell = Explanation(NORMAL, 0.0, size, size, floor=rows.floor)
        for parts, by_distance in product(PARTS, (False, True)):
            start = bell.with_outliers(off, rows.mass, parts)
            fits.append(settle(rows, theta, start, Shape(by_distance), _FIRST_LINE_STEPS))
    promising = sorted(fits, key=_rank)[-_PROMISING:]
    wrong = max((_go_on(rows, each, each.errors) for each in promising), key=_rank)
    wrong = max([wrong, *(_go_on(rows, wrong, it) for it in wrong.errors.simpler())], key=_rank)
    off = rows.y - rows.A @ wrong.theta
    tail = explain_honest(off, rows.mass, rows.floor)
    honest = _honest(rows, wrong.theta, tail)
    other = explain_wrong(off, rows.mass, rows.floor, may_be_skewed=tail.is_skewed)
    if other.bell is not NORMAL or other.is_skewed:
        wrong = max(wrong, _go_on(rows, wrong, other), key=_rank)
    if honest.shape.sizes and honest.value > wrong.value:
        shape = replace(wrong.shape, sizes=honest.shape.sizes)
        wrong = max(wrong, settle(rows, wrong.theta, wrong.errors, shape), key=_rank)
    return Found(honest, wrong)


def _go_on(rows: Rows, fit: Fit, errors: Explanation) -> Fit:
    """Return what more steps lead to, from another explanation of errors perhaps."""
    return settle(rows, fit.theta, errors, fit.shape)


def _honest(rows: Rows, theta: FloatArray, heavy: Explanation) -> Fit:
    """Return the best fit without wrong targets, given the best distribution of errors nearby."""
    fits = [settle(rows, theta, heavy, Shape())]
    theta = fits[0].theta
    bells = {NORMAL, heavy.bell}
    shapes = [Shape(), Shape(sizes=_sizes_that_pay(rows, fits[0]))]
    off = rows.y - rows.A @ theta
    for shape, bell in product(shapes, bells):
        if shape.sizes or bell is NORMAL:
            size = max(weighted_median(np.abs(off), rows.mass), rows.floor) / bell.quantile(0.5)
            start = Explanation(bell, 0.0, size, size, floor=rows.floor)
            fits.append(settle(rows, theta, start, shape))
    return max(fits, key=_rank)


def _sizes_that_pay(rows: Rows, fit: Fit) -> tuple[int, ...]:
    """Return on what the size of errors depends: what raises the likelihood by more than it costs.

    The gain is that of the score test, one column after the other. A bell of heavy tails bounds
    what a single row adds to it.
    """
    bell = _BOUNDED
    off = rows.y - rows.A @ fit.theta
    size = max(weighted_median(np.abs(off), rows.mass), rows.floor) / bell.quantile(0.5)
    excess = bell.weight(off / size) * (off / size) ** 2
    excess -= rows.mass @ excess / rows.mass.sum()
    far = rows.leverage(fit.gram) * fit.total
    middle, width = _places(far, rows.mass)
    distance = (_log(far) - middle) / width
    d = rows.columns.shape[1]
    Z = _of_size(distance, rows.columns, tuple(range(2 * d + 1)))
    root = np.sqrt(rows.mass)[:, None]
    Z = root * (Z - rows.mass @ Z / rows.mass.sum())
    left = root[:, 0] * excess
    price = 0.5 * np.log(rows.mass.sum()) + np.log(2 * d + 1)
    chosen: list[int] = []
    while len(chosen) < Z.shape[1]:
        spread = np.einsum("ij,ij->j", Z, Z)
        is_new = spread > 1e-6 * spread.max()
        gain = 0.5 * (Z.T @ left) ** 2 / np.where(is_new, spread, np.inf) / np.mean(left**2)
        best = int(gain.argmax())
        if gain[best] <= price:
            break
        chosen.append(best)
        along = Z[:, best] / np.linalg.norm(Z[:, best])
        left, Z = left - along * (along @ left), Z - np.outer(along, along @ Z)
    return tuple(sorted(chosen))


def _rank(fit: Fit) -> tuple[bool, float]:
    """Return what makes a fit better: that it holds the majority of rows, and then its value."""
    return fit.holds_majority, fit.value


def _judge_all(
    found: Found,
    unit: Units,
    X: Any,
    y: FloatArray,
    mass: FloatArray,
    part: IntArray | None,
    floor: float,
    remark: str,
) -> JudgedLine:
    """Return what the fits of a sample say about all rows."""
    fit = found.best
    n, d = X.shape
    honest = np.zeros(n)
    honest[slice(None) if part is None else part] = fit.honest
    errors, sizes, closeness, log_prior = np.empty((4, n))
    inverse = np.linalg.inv(fit.gram)
    step = max(1, _BLOCK // max(1, d))
    for start in range(0, n, step):
        block = slice(start, start + step)
        A = unit.apply(X[block])
        leverage = np.einsum("ij,ij->i", A @ inverse, A)
        place = place_rows(fit, A[:, :d], leverage)
        errors[block] = y[block] - A @ fit.theta
        sizes[block], log_prior[block] = place.spread, place.log_prior
        closeness[block] = fitted_spread(leverage, honest[block])
    suggested = y - errors
    errors /= sizes * closeness
    explained = Findings(found.honest.errors, found.wrong.errors, found.gain)
    if not found.wrong.holds_majority:
        explained = explained._replace(gain=-np.inf)
        remark = (
            "More than half of the targets disagree with every plane, so that none is called "
            "wrong: a plane does not fit, or there are two kinds of rows."
        )
    elif part is not None and explained.evidence <= BY_CHANCE:
        explained = explain(errors, mass, floor)  # few wrong ones may be outside of the sample
    judgement = judge_explained(
        errors,
        y,
        mass,
        explained,
        suggested=suggested,
        spread=sizes,
        log_prior=log_prior if fit.errors.outliers else None,
        model=_NAME,
        remark=remark,
    )
    bell = explained.wrong if judgement.has_evidence else explained.honest
    weight = _weights(bell, errors, judgement) / sizes**2
    return JudgedLine(judgement, unit.original(fit.theta), weight)


def _weights(bell: Explanation, errors: FloatArray, judgement: TargetJudgement) -> FloatArray:
    """Return how much rows should count in squares: as in the likeliest fit, none if flagged.

    Where errors are skewed, weights would move the plane away from the mean; all count alike.
    """
    tail = np.ones(len(errors)) if bell.is_skewed else bell.bell.weight(bell.in_scales(errors))
    right = 1 - judgement.wrong_ if judgement.has_evidence else 1.0
    return np.where(judgement.flagged_, 0.0, right * tail)


def _judge_wide(
    X: Any,
    y: FloatArray,
    mass: FloatArray,
    floor: float,
    fit_intercept: bool,
    rng: np.random.Generator,
) -> JudgedLine:
    """Judge targets by least trimmed squares of many columns, where distances mean little."""
    n, d = X.shape
    size = max(LINE_SAMPLE, ROWS_FOR_EACH_COLUMN * (d + fit_intercept))
    part = np.arange(n) if n <= size else np.sort(rng.choice(n, size, replace=False))
    total = float(mass[part].sum())
    is_counted = bool((mass[part] == 1).all())
    objective = RankedRangeObjective(
        X[part],
        y[part],
        "squared",
        m=int(0.45 * total) if is_counted else Mass(0.45 * total),
        C=_WIDE_RIDGE,
        sample_weight=None if is_counted else mass[part],
        fit_intercept=fit_intercept,
    )
    theta = np.asarray(trim(objective, certify=False, random_state=rng).theta, dtype=np.float64)
    raw = np.asarray(X @ theta[:d]) + (theta[d] if fit_intercept else 0.0)
    found = explain(y - raw, mass, floor)
    remark = f"With more than {WIDEST} columns, outliers far out in them may hide."
    judgement = judge_explained(
        y - raw, y, mass, found, suggested=raw, spread=np.ones(n), model=_NAME, remark=remark
    )
    return JudgedLine(judgement, theta, np.where(judgement.flagged_, 0.0, 1.0))
