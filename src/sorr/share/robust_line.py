"""A plane that outliers do not move, wherever they lie, and what its errors say about targets.

First comes a fit that resists nearly half of the rows: least trimmed squares from many starts. Then
every row gets a probability that its target is wrong, by its error and by how far out it lies:
among rows which are nearly all outliers, a row with a small error is one by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from sorr._typing import BoolArray, FloatArray, IntArray
from sorr.objectives import RankedRangeObjective
from sorr.ranked import Mass
from sorr.share.constants import (
    BY_CHANCE,
    CLIPPED_COLUMN,
    LARGEST_LOG_SPREAD,
    LARGEST_PRIOR,
    LINE_SAMPLE,
    LINE_STEPS,
    PULL_OF_PRIOR,
    ROWS_FOR_EACH_COLUMN,
    SMALLEST_PRIOR,
    WIDEST,
)
from sorr.share.errors import (
    LARGEST,
    NORMAL,
    PARTS,
    Bell,
    Explanation,
    Explanations,
    Findings,
    Look,
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
_TOGETHER = 1 << 18  # entries of X, once for each fit, that are worked on together
_HANKEL = np.add.outer(range(3), range(3))
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
    reason = why_not(y, mass)
    rows_given = min(float(mass.sum()), len(y))
    if reason is None and rows_given < ROWS_FOR_EACH_COLUMN * p:
        reason = (
            f"has {rows_given:,.0f} rows for {X.shape[1]:,} columns, too few for a plane that "
            f"resists outliers; needed {ROWS_FOR_EACH_COLUMN} or more for each column"
        )
    if reason is not None:
        middle = np.full(len(y), float(np.average(y, weights=mass)))
        silent = cannot_judge(middle, y, mass, f"y {reason}", model=_NAME)
        return JudgedLine(silent, None, np.ones(len(y)))
    y = np.clip(y, -LARGEST, LARGEST)
    floor = floor_of(y, mass)
    if X.shape[1] > WIDEST:
        return _judge_wide(X, y, mass, floor, fit_intercept, rng)
    size = max(LINE_SAMPLE, 2 * ROWS_FOR_EACH_COLUMN * p)
    part = None if len(y) <= size else np.sort(rng.choice(len(y), size, replace=False))
    some: Any = slice(None) if part is None else part
    unit = Units.of(X[some], fit_intercept)
    rows = Rows(unit.apply(X[some]), y[some], mass[some], fit_intercept, floor)
    return _judge_all(_search(rows, rng), unit, X, y, mass, part, floor)


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
    inverse: FloatArray
    """That of the gram matrix of the rows."""
    honest: FloatArray
    """The probability that each row is honest."""
    total: float
    """The sum of the weights behind that."""
    prior: FloatArray
    """Of the log odds of a wrong target: a constant, and slopes of distance and its square."""
    places: FloatArray
    """The mean and the spread of the logarithms of distances."""
    slopes: FloatArray
    """Of the logarithm of the size of errors."""
    holds_majority: bool
    """Whether half of the rows or more are honest."""
    value: float

    @property
    def sizes(self) -> tuple[int, ...]:
        """What the size of errors depends on."""
        return self.shape.sizes


class Start(NamedTuple):
    """Where a fit begins."""

    theta: FloatArray
    errors: Explanation
    shape: Shape


class _Fits(NamedTuple):
    """Fits that are improved together: their numbers as in `Fit`, in rows."""

    place: IntArray
    theta: FloatArray
    errors: Explanations
    sizes: tuple[int, ...]
    by_distance: BoolArray
    inverse: FloatArray
    honest: FloatArray
    total: FloatArray
    prior: FloatArray
    places: FloatArray
    slopes: FloatArray

    def keep(self, rows: IntArray) -> _Fits:
        """Return some of them."""
        arrays = (item for item in self._asdict().items() if isinstance(item[1], np.ndarray))
        some: dict[str, Any] = {name: value[rows] for name, value in arrays}
        return self._replace(errors=Explanations.of([self.errors.pick(i) for i in rows]), **some)

    def pick(self, i: int, value: float, mass: FloatArray) -> Fit:
        """Return one of them, given its log-likelihood."""
        errors, by_distance = self.errors.pick(i), bool(self.by_distance[i])
        whole = float(mass.sum())
        more = 2 * (by_distance and bool(errors.outliers)) + len(self.sizes)
        return Fit(
            self.theta[i],
            errors,
            Shape(by_distance, self.sizes),
            self.inverse[i],
            self.honest[i],
            float(self.total[i]),
            self.prior[i],
            self.places[i],
            self.slopes[i],
            bool(mass @ (self.honest[i] > 0.5) >= 0.5 * whole),
            value - errors.penalty(whole, more),
        )


class Place(NamedTuple):
    """What an explanation says about rows before their errors are known."""

    log_prior: FloatArray
    spread: FloatArray
    distance: FloatArray


def place_rows(fit: Fit | _Fits, columns: FloatArray, logs: FloatArray) -> Place:
    """Return the prior and the size of errors of rows, by the logarithms of their distances."""
    distance = (logs - fit.places[..., :1]) / fit.places[..., 1:]
    log_prior = fit.prior[..., :1]
    if fit.prior[..., 1:].any():
        log_prior = log_prior + (fit.prior[..., 1:2] + fit.prior[..., 2:] * distance) * distance
    log_prior = _within(log_prior, _LOWEST, _HIGHEST)
    spread = np.ones(distance.shape)
    if fit.slopes.shape[-1]:
        size = (_of_size(distance, columns, fit.sizes) @ fit.slopes[..., None])[..., 0]
        spread = np.exp(_within(size, -LARGEST_LOG_SPREAD, LARGEST_LOG_SPREAD))
    return Place(log_prior, spread, distance)


def _places(logs: FloatArray, mass: FloatArray) -> FloatArray:
    """Return the mean and the spread of the logarithms of squared distances."""
    whole = mass.sum()
    middle = logs @ mass / whole
    spread = np.sqrt((logs - middle[..., None]) ** 2 @ mass / whole)
    return np.stack([middle, np.maximum(spread, 1e-9)], axis=-1)


def _within(values: FloatArray, low: float, high: float) -> FloatArray:
    return np.asarray(np.minimum(np.maximum(values, low), high))


def _log(far: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.maximum(far, 1e-12)))


_LOWEST, _HIGHEST = (float(logit(as_prior(share))) for share in (0.0, 1.0))


def fitted_spread(leverage: FloatArray, honest: FloatArray) -> FloatArray:
    """Return the size of errors relative to new rows: those fitted lie closer, others further."""
    return np.sqrt(np.maximum(1 + (1 - 2 * honest) * leverage, _LEAST_LEFT))


def _of_size(distance: FloatArray, columns: FloatArray, chosen: tuple[int, ...]) -> FloatArray:
    """Return what the size of errors depends on, without extremes."""
    d = columns.shape[1]
    Z = np.empty((*distance.shape, len(chosen)))
    for k, i in enumerate(chosen):
        Z[..., k] = distance if i == 0 else columns[:, (i - 1) % d]
        if i > d:
            Z[..., k] = np.abs(Z[..., k])
    return _within(Z, -CLIPPED_COLUMN, CLIPPED_COLUMN)


def settle(rows: Rows, starts: Sequence[Start], steps: int = LINE_STEPS) -> list[Fit]:
    """Return the likeliest plane and explanation near each start.

    Starts that share what sizes depend on go on together; all have wrong targets, or none has.
    """
    found: list[Fit] = []
    most = max(1, _TOGETHER // rows.A.size)
    for _, group in groupby(starts, key=lambda start: start.shape.sizes):
        same = list(group)
        for i in range(0, len(same), most):
            found += _settle(rows, same[i : i + most], steps)
    return found


def _settle(rows: Rows, starts: Sequence[Start], steps: int) -> list[Fit]:
    mass, columns = rows.mass, rows.columns
    theta = np.array([start.theta for start in starts])
    given = [start.errors for start in starts]
    if rows.intercept:
        theta[:, -1] += [it.centre for it in given]
        given = [it.move(-it.centre) for it in given]
    errors = Explanations.of(given)
    has_outliers = bool(given[0].outliers)
    honest: FloatArray = np.ones((len(starts), len(rows.y)))
    if has_outliers:
        off = rows.y - theta @ rows.A.T - errors.centre
        honest = (np.abs(off) <= errors.reach * errors.scale_of(off)).astype(np.float64)
    weight = mass * honest
    prior: FloatArray = np.zeros((len(starts), 3))
    if has_outliers:
        prior[:, 0] = logit(errors.share[:, 0])
    now = _Fits(
        np.arange(len(starts)),
        theta,
        errors,
        starts[0].shape.sizes,
        np.array([start.shape.by_distance for start in starts]),
        rows.solve(weight)[1],
        honest,
        weight.sum(axis=1),
        prior,
        np.empty(0),
        np.zeros((len(starts), len(starts[0].shape.sizes))),
    )
    found: dict[int, Fit] = {}
    for step in range(1, steps + 1):
        leverage = rows.leverage(now.inverse)
        logs = _log(leverage * now.total[:, None])
        now = now._replace(places=_places(logs, mass))
        log_prior, sizes, distance = place_rows(now, columns, logs)
        spread = sizes * fitted_spread(leverage, now.honest)
        off = (rows.y - now.theta @ rows.A.T) / spread
        look = now.errors.look(off)
        honest, log_density = look.weigh(log_prior)
        value = (log_density - np.log(spread)) @ mass
        right, wrong = mass * honest, mass * (1 - honest)
        errors = now.errors.improve(off, look, right, wrong, fit_centre=not rows.intercept)
        if has_outliers:
            prior = _new_prior(now, distance, wrong, mass)
        slopes = now.slopes
        if now.sizes:
            slopes = _new_slopes(now, distance, columns, right, look)
        if now.errors.is_skewed:
            middle = 0.5 * (now.errors.below + now.errors.above)
            sizes = sizes * now.errors.scale_of(off) / middle
        weight = np.where(honest > 0.5, right, 0.0) * look.bell / sizes**2
        theta, inverse = rows.solve(weight)
        is_still = np.abs(theta - now.theta).max(axis=1) < _STILL * errors.scale[:, 0]
        now = now._replace(
            theta=theta,
            errors=errors,
            inverse=inverse,
            honest=honest,
            total=weight.sum(axis=1),
            prior=prior,
            slopes=slopes,
        )
        if step == steps or is_still.any():
            for i in range(len(theta)):
                if is_still[i] or step == steps:
                    found[int(now.place[i])] = now.pick(i, float(value[i]), mass)
            if is_still.all():
                break
            now = now.keep(np.flatnonzero(~is_still))
            prior = now.prior
    return [found[i] for i in range(len(starts))]


def _new_prior(
    fits: _Fits, distance: FloatArray, wrong: FloatArray, mass: FloatArray
) -> FloatArray:
    """Return the priors that are likelier for the wrong targets: shares, or curves by distance."""
    prior = np.zeros_like(fits.prior)
    prior[:, 0] = logit(np.clip(wrong.sum(axis=1) / mass.sum(), SMALLEST_PRIOR, LARGEST_PRIOR))
    by = fits.by_distance
    if not by.any():
        return prior
    curve, distance, wrong = fits.prior[by], distance[by], wrong[by]
    square = distance * distance
    powers = np.stack(
        [np.ones_like(distance), distance, square, square * distance, square * square], axis=1
    )
    pull = np.array([1e-9, PULL_OF_PRIOR, PULL_OF_PRIOR])
    for _ in range(3):
        p = expit(_within(curve[:, None] @ powers[:, :3], _LOWEST, _HIGHEST)[:, 0])
        sums = powers @ (mass * p * (1 - p))[..., None]
        bend = sums[:, _HANKEL, 0] + np.diag(pull)
        slope = powers[:, :3] @ (wrong - mass * p)[..., None] - (pull * curve)[..., None]
        step = np.linalg.solve(bend, slope)[..., 0]
        curve = curve + step
        if np.abs(step).max() < _STILL:  # the next one would be the square of that
            break
    prior[by] = curve
    return prior


def _new_slopes(
    fits: _Fits, distance: FloatArray, columns: FloatArray, mass: FloatArray, look: Look
) -> FloatArray:
    """Return likelier slopes of the logarithm of the size of errors: by a step of Fisher's."""
    Z = _of_size(distance, columns, fits.sizes)
    Z -= mass[:, None] @ Z / mass.sum(axis=1)[:, None, None]
    u = look.off / fits.errors.scale_of(look.off)
    heavy = (Z * mass[..., None]).transpose(0, 2, 1)
    bend = heavy @ Z + np.eye(Z.shape[2])
    is_first = ~fits.slopes.any(axis=1, keepdims=True)  # from afar, Fisher's step overshoots
    logs = np.log(np.maximum(np.abs(u), _SMALL))
    pull = heavy @ np.where(is_first, logs, (look.bell * u * u - 1) / 2)[..., None]
    return np.asarray(fits.slopes + np.linalg.solve(bend, pull - fits.slopes[..., None])[..., 0])


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
    starts = []
    for theta in trimmed_starts(rows, rng):
        off = rows.y - rows.A @ theta
        bell = _around(NORMAL, off, rows)
        for parts in PARTS:
            errors = bell.with_outliers(off, rows.mass, parts)
            starts += [Start(theta, errors, Shape(by)) for by in (False, True)]
    fits = settle(rows, starts, _FIRST_LINE_STEPS)
    promising = sorted(fits, key=_rank)[-_PROMISING:]
    wrong = max(_go_on(rows, [(each, each.errors) for each in promising]), key=_rank)
    simpler = _go_on(rows, [(wrong, errors) for errors in wrong.errors.simpler()])
    wrong = max([wrong, *simpler], key=_rank)
    off = rows.y - rows.A @ wrong.theta
    tail = explain_honest(off, rows.mass, rows.floor)
    honest = _honest(rows, wrong.theta, tail)
    other = explain_wrong(off, rows.mass, rows.floor, may_be_skewed=tail.is_skewed)
    if other.bell is not NORMAL or other.is_skewed:
        wrong = max([wrong, *_go_on(rows, [(wrong, other)])], key=_rank)
    if honest.sizes and honest.value > wrong.value:
        shape = replace(wrong.shape, sizes=honest.sizes)
        wrong = max([wrong, *settle(rows, [Start(wrong.theta, wrong.errors, shape)])], key=_rank)
    return Found(honest, wrong)


def _around(bell: Bell, off: FloatArray, rows: Rows) -> Explanation:
    """Return a bell of the size of the median error."""
    size = max(weighted_median(np.abs(off), rows.mass), rows.floor) / bell.quantile(0.5)
    return Explanation(bell, 0.0, size, size, floor=rows.floor)


def _go_on(rows: Rows, pairs: Sequence[tuple[Fit, Explanation]]) -> list[Fit]:
    """Return what more steps lead to, from other explanations of errors perhaps."""
    return settle(rows, [Start(fit.theta, errors, fit.shape) for fit, errors in pairs])


def _honest(rows: Rows, theta: FloatArray, heavy: Explanation) -> Fit:
    """Return the best fit without wrong targets, given the best distribution of errors nearby."""
    (first,) = settle(rows, [Start(theta, heavy, Shape())])
    off = rows.y - rows.A @ first.theta
    shapes = [Shape(), Shape(sizes=_sizes_that_pay(rows, first))]
    starts = [
        Start(first.theta, _around(bell, off, rows), shape)
        for shape, bell in product(shapes, dict.fromkeys((NORMAL, heavy.bell)))
        if shape.sizes or bell is NORMAL
    ]
    return max([first, *settle(rows, starts)], key=_rank)


def _sizes_that_pay(rows: Rows, fit: Fit) -> tuple[int, ...]:
    """Return on what the size of errors depends: what raises the likelihood by more than it costs.

    The gain is that of the score test, one column after the other. A bell of heavy tails bounds
    what a single row adds to it.
    """
    off = rows.y - rows.A @ fit.theta
    u = off / _around(_BOUNDED, off, rows).above
    excess = _BOUNDED.weight(u) * u**2
    excess -= rows.mass @ excess / rows.mass.sum()
    logs = _log(rows.leverage(fit.inverse) * fit.total)
    middle, width = _places(logs, rows.mass)
    distance = (logs - middle) / width
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
) -> JudgedLine:
    """Return what the fits of a sample say about all rows."""
    fit = found.best
    n, d = X.shape
    honest = np.zeros(n)
    honest[slice(None) if part is None else part] = fit.honest
    errors, sizes, closeness, log_prior = np.empty((4, n))
    step = max(1, _BLOCK // max(1, d))
    for start in range(0, n, step):
        block = slice(start, start + step)
        A = unit.apply(X[block])
        leverage = np.einsum("ij,ij->i", A @ fit.inverse, A)
        place = place_rows(fit, A[:, :d], _log(leverage * fit.total))
        errors[block] = y[block] - A @ fit.theta
        sizes[block], log_prior[block] = place.spread, place.log_prior
        closeness[block] = fitted_spread(leverage, honest[block])
    suggested = y - errors
    errors /= sizes * closeness
    explained, remark = Findings(found.honest.errors, found.wrong.errors, found.gain), ""
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
