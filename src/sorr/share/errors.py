r"""How errors of predictions are distributed, with and without wrong targets.

Honest errors have a bell: normal, Laplace or Student's, with one scale, or with two if they are
skewed. Wrong targets add normal components further out than the bell reaches,

.. math:: (1 - \varepsilon)\, f(u) + \varepsilon \sum_j a_j N(u; \mu_j, \sigma_j).

The explanations are compared by their likelihoods, less Schwarz's penalty for each number that is
fitted. So a heavy tail explains errors that are large, and only what no tail explains is evidence
of wrong targets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import (
    gammaln,
    log_expit,
    logit,
    ndtr,
    ndtri,
    stdtr,
    stdtrit,
)

from sorr._typing import BoolArray, FloatArray
from sorr.share.constants import (
    ANYWHERE,
    BELIEVED_ROWS,
    BEYOND_BELL,
    DEGREES,
    EM_STEPS,
    EM_TOLERANCE,
    LARGEST_PRIOR,
    NARROWEST_SIDE,
    REACH,
    SMALLEST_PRIOR,
    VARIETIES,
)

_LOG_2_PI = float(np.log(2 * np.pi))
_FIRST_STEPS, _PROMISING = 8, 3  # steps from every start, and how many go on
_MOST, _BINS = 600, 1000  # errors that are kept as they are, and bins of more
_NODES = np.linspace(-2.5, 2.5, 11)  # standard deviations: sizes that errors of a mixed bell have
_SHARES = np.exp(-0.5 * _NODES**2) / np.exp(-0.5 * _NODES**2).sum()
_EXACT = 1e-9  # of the spread of targets: errors below are as good as zero
LARGEST = 1e100  # targets beyond would have infinite squares
_SURELY = 700.0  # in logarithms
_CORNER = 0.1  # scales within which the weight of a Laplace bell is bounded


class Bell(NamedTuple):
    """The distribution of honest errors, in units of its scale."""

    name: str
    degrees: float = np.inf
    """Of Student's distribution; infinite for the normal one, 0 for Laplace's."""
    variety: float = 0.0
    """The standard deviation of the logarithm of the size of errors, which differs by row."""

    def log_density(self, u: FloatArray) -> FloatArray:
        """Return the logarithm of the density."""
        if self.variety:
            parts = self._sizes(u)
            top = parts.max(axis=0)
            return np.asarray(top + np.log(np.exp(parts - top).sum(axis=0)))
        if not self.degrees:
            return np.asarray(-np.abs(u) - np.log(2))
        if self.degrees == np.inf:
            return np.asarray(-0.5 * u * u - 0.5 * _LOG_2_PI)
        half = self.degrees / 2
        constant = gammaln(half + 0.5) - gammaln(half) - 0.5 * np.log(self.degrees * np.pi)
        return np.asarray(constant - (half + 0.5) * np.log1p(u * u / self.degrees))

    def weight(self, u: FloatArray) -> FloatArray:
        """Return how much each error counts in a least-squares step towards the likeliest fit."""
        if self.variety:
            parts = self._sizes(u)
            shares = np.exp(parts - parts.max(axis=0))
            return np.asarray(self._logs_and_shares[2] @ shares / shares.sum(axis=0))
        if not self.degrees:
            return np.asarray(1 / np.maximum(np.abs(u), _CORNER))
        if self.degrees == np.inf:
            return np.ones_like(u)
        return np.asarray((self.degrees + 1) / (self.degrees + u * u))

    def beyond(self, u: FloatArray) -> FloatArray:
        """Return the probability of an error at least this large."""
        size = np.abs(u)
        if self.variety:
            logs, shares, _ = self._logs_and_shares
            return np.asarray(2 * ndtr(-size[..., None] * np.exp(-logs)) @ shares)
        if not self.degrees:
            return np.exp(-size)
        if self.degrees == np.inf:
            return np.asarray(2 * ndtr(-size))
        return np.asarray(2 * stdtr(self.degrees, -size))

    def quantile(self, share: float) -> float:
        """Return the size below which a share of the errors lies."""
        if self.variety:
            return _quantile(self, share)
        if not self.degrees:
            return float(-np.log1p(-share))
        if self.degrees == np.inf:
            return float(ndtri((1 + share) / 2))
        return float(stdtrit(self.degrees, (1 + share) / 2))

    @property
    def _logs_and_shares(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The logarithms of the sizes, how many rows have each, and the weights of these."""
        logs = self.variety * _NODES
        return logs, _SHARES, np.exp(-2 * logs)

    def _sizes(self, u: FloatArray) -> FloatArray:
        """Return the logarithm of the density, by the size of errors."""
        logs, shares, _ = self._logs_and_shares
        scaled = u * np.exp(-logs)[:, None]
        first = np.log(shares) - logs - 0.5 * _LOG_2_PI
        return np.asarray(first[:, None] - 0.5 * scaled * scaled)


@lru_cache(maxsize=64)
def _quantile(bell: Bell, share: float) -> float:
    """Return the quantile of a bell without a formula for it."""
    high = 1.0
    while bell.beyond(np.array(high)) > 1 - share:
        high *= 2
    return float(brentq(lambda size: float(bell.beyond(np.array(size))) - 1 + share, 0.0, high))


NORMAL = Bell("normal")
BELLS = (
    NORMAL,
    Bell("Laplace", 0.0),
    *(Bell(f"Student {degrees:g}", degrees) for degrees in DEGREES),
    *(Bell(f"mixed sizes {variety:g}", variety=variety) for variety in VARIETIES),
)


PARTS = ((0,), (0, -1, 1))
"""The sides of wrong targets: anywhere, or also on both sides."""


class Component(NamedTuple):
    """A normal part of the errors of wrong targets."""

    weight: float
    mean: float
    width: float
    side: int
    """-1 if it lies below the bell, 1 if above, 0 if it is centred and wide."""


@dataclass(frozen=True)
class Explanation:
    """A distribution of errors: a bell, and what wrong targets add to it, if any.

    Attributes
    ----------
    bell : Bell
    centre : float
    below, above : float
        The scale of the bell on each side of its centre.
    share : float
        The share of wrong targets, if it is the same everywhere.
    outliers : tuple of Component
        The errors of wrong targets. Empty if none is wrong.
    value : float
        The log-likelihood, less the penalty.
    floor : float
        What is as good as zero.
    """

    bell: Bell
    centre: float
    below: float
    above: float
    share: float = 0.0
    outliers: tuple[Component, ...] = ()
    value: float = -np.inf
    floor: float = 0.0

    @property
    def is_skewed(self) -> bool:
        """Whether the bell has two scales."""
        return self.below != self.above

    @property
    def n_numbers(self) -> int:
        """How many numbers were fitted besides the centre, a scale and the bell."""
        sides = sum(part.side != 0 for part in self.outliers)
        return int(self.is_skewed) + 2 * len(self.outliers) + sides  # a share, a width, a mean

    def penalty(self, rows: float, more: int = 0) -> float:
        """Return the price of numbers that were fitted, and of another bell than the normal one.

        Half of what is believed beforehand is that errors are normal.
        """
        prior = 0.0 if self.bell is NORMAL else np.log(len(BELLS) - 1)
        return float(prior + 0.5 * (self.n_numbers + more) * np.log(max(rows, 2.0)))

    @cached_property
    def scale(self) -> float:
        """The size of a typical error: the standard deviation of a normal of the same median."""
        middle = self.bell.quantile(0.5) / NORMAL.quantile(0.5)
        return 0.5 * (self.below + self.above) * middle

    def in_scales(self, errors: FloatArray) -> FloatArray:
        """Return errors from the centre, in scales of their side."""
        off = errors - self.centre
        if not self.is_skewed:
            return np.asarray(off / self.above)
        return np.asarray(off / np.where(off < 0, self.below, self.above))

    def log_honest(self, errors: FloatArray) -> FloatArray:
        """Return the log density of honest errors."""
        width = 0.5 * (self.below + self.above)
        return np.asarray(self.bell.log_density(self.in_scales(errors)) - np.log(width))

    def log_wrong(self, errors: FloatArray) -> FloatArray:
        """Return the log density of the errors of wrong targets.

        A small part of them may be anywhere, so that no error is too large, or on the wrong side,
        to be wrong.
        """
        width = BEYOND_BELL * self.bell.quantile(REACH) * 0.5 * (self.below + self.above)
        anywhere = -np.log(np.pi * width) - np.log1p(((errors - self.centre) / width) ** 2)
        parts = np.logaddexp.reduce(self._parts(errors), axis=0)
        both = np.logaddexp(np.log1p(-ANYWHERE) + parts, np.log(ANYWHERE) + anywhere)
        return np.asarray(both)

    def log_odds(self, errors: FloatArray, log_prior: FloatArray | None = None) -> FloatArray:
        """Return the log odds that a target is wrong.

        Parameters
        ----------
        errors : ndarray of shape (n_samples,)
        log_prior : ndarray of shape (n_samples,), optional
            The log odds before the error is known. The default is the same share everywhere.
        """
        if not self.outliers:
            return np.full(len(errors), -np.inf)
        if log_prior is None:
            log_prior = np.full(len(errors), logit(self.share))
        return np.asarray(log_prior + self.log_wrong(errors) - self.log_honest(errors))

    def weigh(
        self, errors: FloatArray, log_prior: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the probability that each row is honest, and the log density of its error.

        Parameters
        ----------
        errors, log_prior : as in `log_odds`
        """
        log_honest = self.log_honest(errors)
        if not self.outliers:
            return np.ones(len(errors)), log_honest
        if log_prior is None:
            log_prior = np.full(len(errors), logit(self.share))
        log_honest = log_honest + log_expit(-log_prior)
        total = np.logaddexp(log_honest, self.log_wrong(errors) + log_expit(log_prior))
        return np.exp(log_honest - total), np.asarray(total)

    def beyond(self, errors: FloatArray) -> FloatArray:
        """Return the probability that an honest error is at least as large, on either side."""
        return self.bell.beyond(self.in_scales(errors))

    def _parts(self, errors: FloatArray) -> FloatArray:
        return np.array(
            [
                np.log(max(part.weight, 1e-300))
                - 0.5 * ((errors - part.mean) / part.width) ** 2
                - np.log(part.width)
                - 0.5 * _LOG_2_PI
                for part in self.outliers
            ]
        )

    def move(self, by: float) -> Explanation:
        """Return the same for errors that are larger by some number."""
        outliers = tuple(part._replace(mean=part.mean + by) for part in self.outliers)
        return replace(self, centre=self.centre + by, outliers=outliers)

    # -- Fitting ---------------------------------------------------------------------------------

    def with_outliers(
        self, errors: FloatArray, mass: FloatArray, parts: tuple[int, ...]
    ) -> Explanation:
        """Return the same bell with wrong targets further out: a start for `improve`.

        Parameters
        ----------
        errors, mass : ndarray of shape (n_samples,)
        parts : tuple of int
            The sides of the components, as in `Component`.
        """
        reach, u = self.bell.quantile(REACH), self.in_scales(errors)
        is_far = np.abs(u) > reach
        width = _wide(self, errors, np.where(is_far, mass, 0.0))
        outliers = []
        for side in parts:
            mean, spread = 0.0, width
            if side:
                of_side = is_far & (side * u > 0)
                off, of_these = np.abs(errors[of_side] - self.centre), mass[of_side]
                mean = reach * (self.below if side < 0 else self.above)
                if of_these.sum() > 0:
                    mean = max(weighted_median(off, of_these), mean)
                    spread = float(np.sqrt(np.average((off - mean) ** 2, weights=of_these)))
                    spread = max(spread, NARROWEST_SIDE * self.scale)
            outliers.append(Component(1 / len(parts), self.centre + side * mean, spread, side))
        share = as_prior(float(mass[is_far].sum() / mass.sum()))
        return replace(self, share=share, outliers=tuple(outliers))

    def simpler(self) -> Iterator[Explanation]:
        """Yield the same with one component of wrong targets less, if there are several."""
        for part in self.outliers if len(self.outliers) > 1 else ():
            rest = [other for other in self.outliers if other is not part]
            total = max(sum(other.weight for other in rest), 1e-9)
            rest = [other._replace(weight=other.weight / total) for other in rest]
            yield replace(self, outliers=tuple(rest))

    def improve(
        self,
        errors: FloatArray,
        honest: FloatArray,
        wrong: FloatArray,
        *,
        fit_centre: bool = True,
    ) -> Explanation:
        """Return the distribution that one step of expectation and maximisation makes likelier.

        Parameters
        ----------
        errors : ndarray of shape (n_samples,)
        honest, wrong : ndarray of shape (n_samples,)
            The mass of each row, divided by the probability of either.
        fit_centre : bool, default=True
            Whether the centre is fitted; a plane through the rows has fitted it already.
        """
        centre = self.centre
        if fit_centre:
            pull = honest * self.bell.weight(self.in_scales(errors))
            if self.is_skewed:
                pull = pull / np.where(errors < centre, self.below, self.above) ** 2
            centre = float(pull @ errors / pull.sum()) if pull.sum() > 0 else centre
        moved = replace(self, centre=centre)
        off = errors - centre
        squares = honest * self.bell.weight(moved.in_scales(errors)) * off * off
        total = max(float(honest.sum()), 1.0)
        if self.is_skewed:
            sums = [float(squares[off < 0].sum()), float(squares[off >= 0].sum())]
            low, high = (max(each, total * self.floor**2) ** (1 / 3) for each in sums)
            both = np.sqrt((low + high) / total)
            below, above = low * both, high * both
        else:
            below = above = max(float(np.sqrt(squares.sum() / total)), self.floor)
        moved = replace(moved, below=below, above=above)
        if not self.outliers:
            return moved
        parts = self._parts(errors)
        shares = wrong * np.exp(parts - np.logaddexp.reduce(parts, axis=0))
        found, every = [], float(wrong.sum()) + 1e-9
        reach = self.bell.quantile(REACH)
        for part, share in zip(self.outliers, shares, strict=True):
            mass = float(share.sum())
            if part.side == 0:
                found.append(Component(mass / every, centre, _wide(moved, errors, share), 0))
                continue
            scale = below if part.side < 0 else above
            mean = float(share @ errors) / mass if mass > 1e-9 else part.mean
            mean = centre + part.side * max(part.side * (mean - centre), reach * scale)
            spread = float(np.sqrt(share @ (errors - mean) ** 2 / mass)) if mass > 1e-9 else 0.0
            spread = max(spread, NARROWEST_SIDE * moved.scale)
            found.append(Component(mass / every, mean, spread, part.side))
        share_of_all = float(wrong.sum() / (wrong.sum() + honest.sum()))
        return replace(moved, outliers=tuple(found), share=as_prior(share_of_all))


def _wide(bell: Explanation, errors: FloatArray, mass: FloatArray) -> float:
    """Return the width of the centred component: it reaches further than the bell."""
    least = BEYOND_BELL * bell.bell.quantile(REACH) * 0.5 * (bell.below + bell.above)
    total = float(mass.sum())
    if total <= 1e-9:
        return least
    return max(float(np.sqrt(mass @ (errors - bell.centre) ** 2 / total)), least)


def as_prior(share: float) -> float:
    """Return a share that is neither nothing nor all."""
    return min(max(share, SMALLEST_PRIOR), LARGEST_PRIOR)


# -- One series of errors --------------------------------------------------------------------------


class Findings(NamedTuple):
    """The best explanation without wrong targets, and the best one with some."""

    honest: Explanation
    wrong: Explanation
    gain: float
    """By how much wrong targets explain the errors better, in logarithms."""

    @property
    def best(self) -> float:
        """The value of the better one."""
        return max(self.honest.value, self.wrong.value)

    @property
    def evidence(self) -> float:
        """The gain, within what is finite."""
        return float(np.clip(self.gain, -_SURELY, np.inf))


def explain(errors: FloatArray, mass: FloatArray, floor: float) -> Findings:
    """Return the best explanations of errors, with and without wrong targets.

    Parameters
    ----------
    errors : ndarray of shape (n_samples,)
    mass : ndarray of shape (n_samples,)
        How many rows each stands for.
    floor : float
        What is as good as zero.
    """
    honest = explain_honest(errors, mass, floor)
    wrong = explain_wrong(errors, mass, floor, may_be_skewed=honest.is_skewed)
    return Findings(honest, wrong, wrong.value - honest.value)


def explain_honest(errors: FloatArray, mass: FloatArray, floor: float) -> Explanation:
    """Return the best explanation without wrong targets."""
    errors, mass = compress(errors, mass)
    return _best(honest_starts(errors, mass, floor), errors, mass)


def explain_wrong(
    errors: FloatArray, mass: FloatArray, floor: float, *, may_be_skewed: bool
) -> Explanation:
    """Return the best explanation with wrong targets."""
    errors, mass = compress(errors, mass)
    further = np.sign(errors - weighted_median(errors, mass)) @ (mass * _far_out(errors, mass))
    starts = [
        start.with_outliers(errors, mass, parts)
        for start in honest_starts(errors, mass, floor)
        if may_be_skewed or not start.is_skewed
        for parts in (*PARTS, (1 if further > 0 else -1,))
    ]
    wrong = _best(starts, errors, mass)
    others = [_settle(each, errors, mass, EM_STEPS) for each in wrong.simpler()]
    return max([wrong, *others], key=_value)


def _far_out(errors: FloatArray, mass: FloatArray) -> BoolArray:
    """Return which errors lie further out than those of a normal bell."""
    off = np.abs(errors - weighted_median(errors, mass))
    unit = NORMAL.quantile(REACH) / NORMAL.quantile(0.5)
    return np.asarray(off > unit * weighted_median(off, mass))


def _best(starts: Iterable[Explanation], errors: FloatArray, mass: FloatArray) -> Explanation:
    """Return the best distribution that the most promising starts lead to."""
    tried = [_settle(start, errors, mass, _FIRST_STEPS) for start in starts]
    promising = sorted(tried, key=_value)[-_PROMISING:]
    return max((_settle(each, errors, mass, EM_STEPS) for each in promising), key=_value)


def _value(explanation: Explanation) -> float:
    return explanation.value


def honest_starts(errors: FloatArray, mass: FloatArray, floor: float) -> Iterator[Explanation]:
    """Yield a start for each bell, with one scale and with two."""
    centre = weighted_median(errors, mass)
    off = np.abs(errors - centre)
    is_low = errors < centre
    whole = max(weighted_median(off, mass), floor)
    sides = [
        max(weighted_median(off[part], mass[part]), floor) if part.any() else whole
        for part in (is_low, ~is_low)
    ]
    for bell in BELLS:
        unit = bell.quantile(0.5)
        yield Explanation(bell, centre, whole / unit, whole / unit, floor=floor)
        if sides[0] != sides[1]:
            yield Explanation(bell, centre, sides[0] / unit, sides[1] / unit, floor=floor)


def _settle(start: Explanation, errors: FloatArray, mass: FloatArray, steps: int) -> Explanation:
    """Return the likeliest distribution near a start, with its value."""
    now, last = start, -np.inf
    trust = min(1.0, BELIEVED_ROWS / float(mass.sum()))
    for _ in range(steps):
        honest, log_density = now.weigh(errors, None)
        value = float(mass @ log_density)
        if abs(value - last) < EM_TOLERANCE * float(mass.sum()):
            break
        last = value
        now = now.improve(errors, mass * honest, mass * (1 - honest))
    else:
        value = last
    if now.share > 0.5:  # most targets are right, or nothing can be told
        return replace(now, value=-np.inf)
    return replace(now, value=trust * value - now.penalty(trust * float(mass.sum())))


def compress(errors: FloatArray, mass: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return fewer errors with nearly the same distribution: those of a narrow bin, their mean."""
    if len(errors) <= _MOST:
        return errors, mass
    off = errors - weighted_median(errors, mass)
    unit = weighted_median(np.abs(off), mass) or float(np.abs(off).max()) or 1.0
    place = np.arcsinh(off / unit)  # even steps in the middle, even factors further out
    bins = np.floor((place - place.min()) * (_BINS / max(float(np.ptp(place)), 1e-300)))
    _, group = np.unique(bins, return_inverse=True)
    sums = np.bincount(group, mass).astype(np.float64)
    means = np.bincount(group, mass * errors) / np.maximum(sums, 1e-300)
    return means[sums > 0], sums[sums > 0]


def weighted_median(values: FloatArray, mass: FloatArray) -> float:
    """Return the value with half of the mass on either side."""
    if (mass == mass[0]).all():
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(mass[order])
    half = 0.5 * reached[-1]
    low = int(np.searchsorted(reached, half * (1 - 1e-12)))
    high = int(np.searchsorted(reached, half * (1 + 1e-12), side="right"))
    return float(0.5 * (values[order[low]] + values[order[min(high, len(values) - 1)]]))


def floor_of(y: FloatArray, mass: FloatArray) -> float:
    """Return what is as good as zero among errors of targets."""
    middle = weighted_median(y, mass)
    off = np.abs(y - middle)
    spread = weighted_median(off, mass) or float(np.average(np.minimum(off, 1.0), weights=mass))
    return max(_EXACT * spread, 1e-12 * abs(middle), 1e-200)
