"""How many targets of a regression are outliers, estimated from the residuals of a robust fit."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._checks import as_inverse_ridge, as_seed
from sorr._typing import FloatArray
from sorr.share.plane import Plane, Rows, first_plane
from sorr.share.tails import Tails, fit_tails

_MIN_ROWS, _ROWS_EACH = 10, 2.5  # in all, and for each column
_MAX_ROWS = 20_000  # with more rows, the plane is found on a sample
_AMPLE = 30  # rows for each column, with which a robust plane cannot confirm itself
_SCARCE = 12  # rows for each column, with fewer of which its residuals say little
_DOUBTFUL = 0.25  # share of outliers from which on it might have, with fewer
_MARGIN = 1.6  # for each column: by what it has to explain rows better, having chosen them
_ROUNDS = 6  # of planes without the suspects of the last one, where rows are few
_SETTLED = 0.002  # change of the share below which there is no other round
_SURE = 0.9  # probability above which a row is left out of the plane altogether
_HIGHEST = 0.4  # a share above is more likely a wrong model, or two kinds of rows
_CERTAIN = 0.95  # probability that there are outliers, to say so without a doubt
_HEAVY = 1.25  # times as far as a normal bell's reaches a tail that is called heavy
_SLACK, _RELATIVE = 0.01, 0.05  # what an interval leaves for what the model gets wrong
_FAR = 3.0  # times the average leverage, from which on a suspect lies far from all others
_ABSURD = 1e100  # targets beyond would have infinite squares
_EXACT = 1e-9  # of the spread of targets: residuals below are as good as zero


class ResidualRegime(Enum):
    """The kind of residuals that were found, each with a sentence."""

    CLEAN = "no target is further off than chance explains"
    HEAVY_TAILED = "residuals have heavy tails, which explain almost all targets that are far off"
    OUTLIERS = "some targets are further off than the residuals of the others explain"
    UNCERTAIN = (
        "some targets are far off, but there are too few rows, or their tails are too heavy, to be "
        "sure that they are outliers"
    )
    TOO_MANY = (
        "too many targets disagree with the best linear model: it does not fit, or there are two "
        "kinds of rows, so none are dropped"
    )
    TOO_FEW_ROWS = (
        "there are too few rows for so many columns to find outliers, so none are dropped"
    )

    @property
    def sentence(self) -> str:
        """What the regime means."""
        return self.value


@dataclass(frozen=True, eq=False)
class ResidualShare:
    """How many targets are outliers, and how sure that is.

    Attributes
    ----------
    rate_ : float
        The share of outliers among all rows.
    count_ : float
        The same as a number of rows, or mass if there are weights.
    interval_ : ndarray of shape (2,)
        An interval for `rate_`: a little wider than 95 %, because the model of residuals is not
        exact. With few rows per column, it includes what another plane would drop, if that one
        does not fit the rows much better.
    scale_ : float
        The typical residual: the standard deviation of a normal bell with the same median size.
    cutoff_ : ndarray of shape (2,)
        The distances below and above the plane from which a target is more likely an outlier than
        not. They differ if errors are skewed, and are infinite if there are no outliers.
    regime_ : ResidualRegime
        The kind of residuals that were found. ``regime_.sentence`` says it in words.
    drop_ : int or float
        How many rows a trimmed fit should drop: those beyond `cutoff_`. A whole number, or mass
        if the weights are not whole numbers.
    theta_ : ndarray of shape (n_parameters,)
        The start of that fit: coefficients, then the intercept.
    score_ : ndarray of shape (n_samples,)
        How suspect each row is: its absolute residual over the typical one (of the same sign, if
        errors are skewed), as if the row had not been fitted.
    probability_ : ndarray of shape (n_samples,)
        The probability that each row is an outlier, by the same model.
    leverage_ : ndarray of bool of shape (n_samples,)
        Outliers that also lie far from the other rows.
    """

    rate_: float
    count_: float
    interval_: FloatArray
    scale_: float
    cutoff_: FloatArray
    regime_: ResidualRegime
    drop_: int | float
    theta_: FloatArray = field(repr=False)
    score_: FloatArray = field(repr=False)
    probability_: FloatArray = field(repr=False)
    leverage_: npt.NDArray[np.bool_] = field(repr=False)

    @property
    def sentence(self) -> str:
        """The result in words."""
        text = f"{self.regime_.sentence[0].upper()}{self.regime_.sentence[1:]}."
        if self.regime_ is ResidualRegime.TOO_FEW_ROWS:
            return text
        low, high = self.interval_
        text += (
            f" {self.rate_:.1%} of the rows ({self.count_:.0f}) seem to be outliers, between "
            f"{low:.1%} and {high:.1%}. A typical residual is {self.scale_:.3g}."
        )
        if self.drop_:
            text += f" {self.drop_:.0f} rows are dropped, whose targets are {self._beyond()}."
        if self.leverage_.any():
            text += f" {int(self.leverage_.sum())} of them are far from all other rows."
        return text

    def _beyond(self) -> str:
        below, above = self.cutoff_
        if below == above:
            return f"more than {above:.3g} off"
        parts = [f"{end:.3g} too {word}" for end, word in ((below, "low"), (above, "high"))]
        return "more than " + " or ".join(
            part for part, end in zip(parts, self.cutoff_, strict=True) if np.isfinite(end)
        )


def residual_share_of(
    X: Any,
    y: FloatArray,
    C: float,
    fit_intercept: bool,
    weight: FloatArray | None,
    random_state: Any,
) -> ResidualShare:
    """Return the share of outliers, for rows that are already checked.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    C : float
        The inverse strength of the ridge, as in `RankedRangeRegressor`.
    fit_intercept : bool
    weight : ndarray of shape (n_samples,), optional
        The mass of each row, above zero.
    random_state : int, RandomState, Generator or None
        Seed for everything random. The same seed gives the same result.
    """
    rng = np.random.default_rng(as_seed(random_state))
    given = np.ones(len(y)) if weight is None else weight
    whole = bool(np.all(given % 1 == 0))
    mass = given if whole else given * (given.sum() / (given @ given))  # as many as tell as much
    y = np.clip(y.astype(np.float64, copy=False), -_ABSURD, _ABSURD)
    rows = Rows(X, y, mass, as_inverse_ridge(C), fit_intercept)
    each = _AMPLE if rows.is_wide else _ROWS_EACH
    is_few = mass.sum() < max(_MIN_ROWS, each * rows.n_parameters)
    found = _plain(rows, rng) if is_few else _search(rows, rng)
    regime = ResidualRegime.TOO_FEW_ROWS if is_few else _regime(found.tails)
    return _assemble(found, regime, given, whole)


class _Found(NamedTuple):
    """A plane, and what its residuals say."""

    plane: Plane
    tails: Tails
    rival: float = 0.0
    """The share of outliers by a robust plane that was not believed, at most."""

    @property
    def fitness(self) -> float:
        """How well each row is explained by the plane of the others."""
        return self.tails.evidence - self.tails.trust * self.plane.stretch

    @property
    def suspicion(self) -> FloatArray:
        return self.tails.suspicion(self.plane.residuals)


def _floor(y: FloatArray) -> float:
    """Return what is as good as zero among residuals."""
    middle = float(np.median(y))
    off = np.abs(y - middle)
    spread = float(np.median(off)) or float(np.mean(np.minimum(off, 1.0)))
    return max(_EXACT * spread, 1e-12 * abs(middle), 1e-200)


def _plain(rows: Rows, rng: np.random.Generator) -> _Found:
    """Return the plane of all rows."""
    start = first_plane(rows, rng, 0.0) if rows.is_wide else np.zeros(rows.n_parameters)
    plane = rows.through(np.ones(len(rows.y)), start)
    return _Found(plane, fit_tails(plane.residuals, rows.mass, _floor(rows.y)))


def _search(rows: Rows, rng: np.random.Generator) -> _Found:
    """Return the plane that explains the rows best, and what its residuals say.

    That is least trimmed squares and one fit to the rows that are no suspects then: more of these
    would lean towards outliers that lie far out. Where rows are few for each column it takes more
    of them, and a robust plane can confirm itself: the rows it was fitted to lie close, and all
    others look like outliers. If these are many, it has to explain the rows much better than what
    comes of a plain start.
    """
    n = len(rows.y)
    size = max(_MAX_ROWS, 10 * rows.n_parameters)
    part = rows if n <= size else rows.take(np.sort(rng.choice(n, size, replace=False)))
    floor = _floor(part.y)
    theta = first_plane(part, rng)
    everyone = np.ones(len(part.y))
    each = float(part.mass.sum()) / rows.n_parameters
    is_scarce = each < _SCARCE
    best = _settle(part, part.near(theta, everyone), floor, _ROUNDS if is_scarce else 1)
    if each < _AMPLE and best.tails.rate > _DOUBTFUL:
        plain = _settle(part, part.through(everyone, theta), floor, _ROUNDS)
        margin = _MARGIN * plain.tails.trust * rows.n_parameters
        if best.fitness <= plain.fitness + margin:
            best = plain._replace(rival=best.tails.interval[1])
    if part is rows:
        return best
    near = rows.near(best.plane.theta, np.ones(n))
    kept = _kept(best.tails.suspicion(near.residuals))
    plane = rows.through(kept, best.plane.theta)
    return _Found(plane, fit_tails(plane.residuals, rows.mass, floor), best.rival)


def _settle(rows: Rows, plane: Plane, floor: float, rounds: int) -> _Found:
    """Return what leaving out suspects, again and again, comes to."""
    found = _Found(plane, fit_tails(plane.residuals, rows.mass, floor))
    for _ in range(rounds):
        plane = rows.through(_kept(found.suspicion), found.plane.theta)
        before, found = found, _Found(plane, fit_tails(plane.residuals, rows.mass, floor))
        if abs(found.tails.rate - before.tails.rate) < _SETTLED:
            break
    return found


def _kept(suspicion: FloatArray) -> FloatArray:
    """Return which part of each row counts in the next plane."""
    return np.where(suspicion > _SURE, 0.0, 1 - suspicion)


def _regime(tails: Tails) -> ResidualRegime:
    if tails.rate > _HIGHEST:
        return ResidualRegime.TOO_MANY
    if tails.clean > 0.5:
        is_heavy = tails.heaviness > _HEAVY
        return ResidualRegime.HEAVY_TAILED if is_heavy else ResidualRegime.CLEAN
    is_sure = 1 - tails.clean >= _CERTAIN
    return ResidualRegime.OUTLIERS if is_sure else ResidualRegime.UNCERTAIN


def _assemble(
    found: _Found, regime: ResidualRegime, given: FloatArray, whole: bool
) -> ResidualShare:
    """Return the answer."""
    plane, tails = found.plane, found.tails
    total = float(given.sum())
    probability = found.suspicion
    rate, (low, high) = tails.rate, tails.interval
    cutoffs = np.array(tails.cutoffs)
    slack = _SLACK + _RELATIVE * rate
    low, high = max(low - slack, 0.0), min(max(high, found.rival) + slack, 1.0)
    if regime is ResidualRegime.TOO_FEW_ROWS:
        rate, low, high = 0.0, 0.0, 1.0
    if regime in (ResidualRegime.TOO_FEW_ROWS, ResidualRegime.TOO_MANY):
        low, cutoffs = 0.0, np.full(2, np.inf)
    is_out = (probability > 0.5) & bool(np.isfinite(cutoffs).any())
    dropped = float(given @ is_out)
    average = float(np.average(plane.leverage, weights=np.where(is_out, 0.0, given)))
    return ResidualShare(
        rate_=rate,
        count_=rate * total,
        interval_=np.array([low, high]),
        scale_=tails.scale,
        cutoff_=cutoffs,
        regime_=regime,
        drop_=round(dropped) if whole else dropped,
        theta_=plane.theta,
        score_=tails.scores(plane.residuals),
        probability_=probability,
        leverage_=is_out & (plane.leverage > _FAR * average),
    )
