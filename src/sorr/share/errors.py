r"""How errors of predictions are distributed, with and without wrong targets.

Honest errors have a bell: normal, Laplace or Student's, with one scale, or with two if they are
skewed. Wrong targets add normal components further out than the bell reaches,

.. math:: (1 - \varepsilon)\, f(u) + \varepsilon \sum_j a_j N(u; \mu_j, \sigma_j).

The explanations are compared by their likelihoods, less Schwarz's penalty for each number that is
fitted. So a heavy tail explains errors that are large, and only what no tail explains is evidence
of wrong targets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, gammaln, logit, ndtr, ndtri, stdtr, stdtrit

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

_LOG_2, _LOG_2_PI = float(np.log(2)), float(np.log(2 * np.pi))
_FIRST_STEPS, _PROMISING = 8, 3  # steps from every start, and how many go on
_MOST, _BINS = 600, 1000  # errors that are kept as they are, and bins of more
_NODES = np.linspace(-2.5, 2.5, 11)  # standard deviations: sizes that errors of a mixed bell have
_SHARES = np.exp(-0.5 * _NODES**2) / np.exp(-0.5 * _NODES**2).sum()
_EXACT = 1e-9  # of the spread of targets: errors below are as good as zero
LARGEST = 1e100  # targets beyond would have infinite squares
_NOTHING = 1e-300  # densities are at least so large
_NO_PART = (0.0, 0.0, 1.0, 0.0, -np.inf)
_SURELY = 700.0  # in logarithms
_CORNER = 0.1  # scales within which the weight of a Laplace bell is bounded


@dataclass(frozen=True)
class Bell:
    """The distribution of honest errors, in units of its scale."""

    name: str
    degrees: float = np.inf
    """Of Student's distribution; infinite for the normal one, 0 for Laplace's."""
    variety: float = 0.0
    """The standard deviation of the logarithm of the size of errors, which differs by row."""

    def log_density(self, u: FloatArray) -> FloatArray:
        """Return the logarithm of the density."""
        return np.asarray(_see((self,), u[None])[0][0])

    def weight(self, u: FloatArray) -> FloatArray:
        """Return how much each error counts in a least-squares step towards the likeliest fit."""
        return np.asarray(_see((self,), u[None])[1][0])

    def beyond(self, u: FloatArray) -> FloatArray:
        """Return the probability of an error at least this large."""
        size = np.abs(u)
        if self.variety:
            return np.asarray(2 * ndtr(-size[..., None] * np.exp(-self.variety * _NODES)) @ _SHARES)
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

    @cached_property
    def middle(self) -> float:
        """The size of the median error, in that of a normal of scale one."""
        return self.quantile(0.5) / float(ndtri(0.75))

    @cached_property
    def reach(self) -> float:
        """The size that nearly all errors stay below."""
        return self.quantile(REACH)


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


@lru_cache(maxsize=256)
def _kinds(bells: tuple[Bell, ...]) -> list[tuple[Any, str, FloatArray, FloatArray]]:
    """Return bells of the same formula together: where they are, and the numbers in it."""
    kinds: dict[str, list[int]] = {}
    for i, bell in enumerate(bells):
        kinds.setdefault(bell.name.split()[0], []).append(i)
    found = []
    for name, rows in kinds.items():
        is_run = rows[-1] - rows[0] + 1 == len(rows)
        some: Any = slice(rows[0], rows[-1] + 1) if is_run else np.array(rows)
        first = second = np.array([[bells[i].degrees] for i in rows])
        if name == "Student":
            second = gammaln(first / 2 + 0.5) - gammaln(first / 2) - 0.5 * np.log(first * np.pi)
        if name == "mixed":
            logs = np.array([bells[i].variety for i in rows])[:, None, None] * _NODES[:, None]
            first, second = np.exp(-2 * logs), np.log(_SHARES)[:, None] - logs - 0.5 * _LOG_2_PI
        found.append((some, name, first, second))
    return found


def _see(bells: tuple[Bell, ...], u: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log densities and weights of errors in scales, a row for each bell."""
    log_density, weight = np.empty_like(u), np.empty_like(u)
    for rows, name, first, second in _kinds(bells):
        v = u[rows]
        if name == "normal":
            log_density[rows], weight[rows] = -0.5 * v * v - 0.5 * _LOG_2_PI, 1.0
        elif name == "Laplace":
            size = np.abs(v)
            log_density[rows], weight[rows] = -size - _LOG_2, 1 / np.maximum(size, _CORNER)
        elif name == "Student":
            off = first + v * v
            log_density[rows] = second - 0.5 * (first + 1) * np.log(off / first)
            weight[rows] = (first + 1) / off
        else:
            parts = second - (0.5 * first) * (v * v)[:, None]
            top = parts.max(axis=1)
            parts = np.exp(parts - top[:, None])
            sums = parts.sum(axis=1)
            log_density[rows] = top + np.log(sums)
            weight[rows] = (first.transpose(0, 2, 1) @ parts)[:, 0] / sums
    return log_density, weight


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
        return 0.5 * (self.below + self.above) * self.bell.middle

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
        return np.asarray(np.log(Explanations.of([self]).look(errors[None]).wrong[0]))

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
        if log_prior is None:
            log_prior = np.full(1, logit(self.share) if self.outliers else 0.0)
        honest, log_density = Explanations.of([self]).look(errors[None]).weigh(log_prior[None])
        return honest[0], log_density[0]

    def beyond(self, errors: FloatArray) -> FloatArray:
        """Return the probability that an honest error is at least as large, on either side."""
        return self.bell.beyond(self.in_scales(errors))

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
        reach, u = self.bell.reach, self.in_scales(errors)
        is_far = np.abs(u) > reach
        total = float(mass[is_far].sum())
        width = BEYOND_BELL * reach * 0.5 * (self.below + self.above)
        if total > 1e-9:
            off = errors[is_far] - self.centre
            width = max(float(np.sqrt(mass[is_far] @ off**2 / total)), width)
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
        share = as_prior(total / float(mass.sum()))
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
        one = Explanations.of([self])
        look = one.look(errors[None])
        return one.improve(
            errors[None], look, honest[None], wrong[None], fit_centre=fit_centre
        ).pick(0)


class Look(NamedTuple):
    """What explanations say about errors: a row of numbers for each of them."""

    off: FloatArray
    """Errors from the centre."""
    log_honest: FloatArray
    bell: FloatArray
    """How much each error counts in a least-squares step."""
    wrong: FloatArray
    """The density of the errors of wrong targets."""
    shares: FloatArray
    """Which part of that belongs to each component."""

    def weigh(self, log_prior: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the probability that each row is honest, and the log density of its error."""
        if not len(self.wrong):
            return np.ones_like(self.off), self.log_honest
        prior = expit(log_prior)
        honest = (1 - prior) * np.exp(self.log_honest)
        total = honest + prior * self.wrong
        return honest / total, np.log(total)


@dataclass(frozen=True)
class Explanations:
    """Explanations in columns, so that one step improves all of them.

    All have wrong targets, or none has. Errors have a row for each explanation, or one for all.
    """

    bells: tuple[Bell, ...]
    reach: FloatArray
    middle: FloatArray
    floor: FloatArray
    centre: FloatArray
    below: FloatArray
    above: FloatArray
    share: FloatArray
    parts: FloatArray
    """The weight, mean, width and side of components, and minus infinity if there is none."""

    @classmethod
    def of(cls, given: Sequence[Explanation]) -> Explanations:
        """Return explanations together."""
        rows = [
            (it.bell.reach, it.bell.middle, it.floor, it.centre, it.below, it.above, it.share)
            for it in given
        ]
        most = max(len(it.outliers) for it in given)
        parts = [
            [(*part, 0.0) for part in it.outliers] + (most - len(it.outliers)) * [_NO_PART]
            for it in given
        ]
        reach, middle, floor, centre, below, above, share = np.array(rows).T[..., None]
        columns = np.array(parts).reshape(len(given), most, 5).transpose(2, 0, 1)[..., None]
        bells = tuple(it.bell for it in given)
        return cls(bells, reach, middle, floor, centre, below, above, share, columns)

    def pick(self, i: int) -> Explanation:
        """Return one of them."""
        outliers = tuple(
            Component(weight, mean, width, int(side))
            for weight, mean, width, side, is_there in self.parts[:, i, :, 0].T.tolist()
            if not is_there
        )
        centre, below, above, share, floor = (
            float(each[i, 0])
            for each in (self.centre, self.below, self.above, self.share, self.floor)
        )
        return Explanation(self.bells[i], centre, below, above, share, outliers, floor=floor)

    @cached_property
    def is_skewed(self) -> bool:
        """Whether any bell has two scales."""
        return bool((self.below != self.above).any())

    @cached_property
    def scale(self) -> FloatArray:
        """The sizes of typical errors."""
        return 0.5 * (self.below + self.above) * self.middle

    def scale_of(self, off: FloatArray) -> FloatArray:
        """Return the scale on the side of each error."""
        return np.where(off < 0, self.below, self.above) if self.is_skewed else self.above

    def look(self, errors: FloatArray) -> Look:
        """Return what they say about errors."""
        off, half = errors - self.centre, 0.5 * (self.below + self.above)
        log_honest, bell = _see(self.bells, off / self.scale_of(off))
        log_honest -= np.log(half)
        weight, mean, width, _, is_there = self.parts
        if not self.parts.size:
            return Look(off, log_honest, bell, off[:0], off[:0])
        z = (errors[:, None] - mean) / width
        first = np.log(np.maximum(weight, 1e-300)) - np.log(width) - 0.5 * _LOG_2_PI
        logs = first + is_there - 0.5 * z * z
        top = logs.max(axis=1)
        shares = np.exp(logs - top[:, None])
        sums = shares.sum(axis=1)
        shares /= sums[:, None]
        far = BEYOND_BELL * self.reach * half
        anywhere = (ANYWHERE / np.pi) / (far + off * off / far)
        wrong = (1 - ANYWHERE) * sums * np.exp(top) + anywhere
        return Look(off, log_honest, bell, np.maximum(wrong, _NOTHING), shares)

    def improve(
        self,
        errors: FloatArray,
        look: Look,
        honest: FloatArray,
        wrong: FloatArray,
        *,
        fit_centre: bool = True,
    ) -> Explanations:
        """Return what one step makes likelier, as `Explanation.improve`."""
        centre, off, bell = self.centre, look.off, look.bell
        if fit_centre:
            pull = honest * bell
            if self.is_skewed:
                pull /= self.scale_of(off) ** 2
            total = np.maximum(pull.sum(axis=1, keepdims=True), 1e-300)
            centre = np.where(total > 1e-300, _dot(pull, errors) / total, centre)
            off = errors - centre
            bell = _see(self.bells, off / self.scale_of(off))[1]
        pull, kept = honest * bell * off, honest.sum(axis=1, keepdims=True)
        total = np.maximum(kept, 1.0)
        below = above = np.maximum(np.sqrt(_dot(pull, off) / total), self.floor)
        if self.is_skewed:
            sums = _dot(pull, np.minimum(off, 0.0)), _dot(pull, np.maximum(off, 0.0))
            low, high = (np.maximum(x, total * self.floor**2) ** (1 / 3) for x in sums)
            both, is_skewed = np.sqrt((low + high) / total), self.below != self.above
            below = np.where(is_skewed, low * both, below)
            above = np.where(is_skewed, high * both, above)
        parts, share = self.parts, self.share
        if parts.size:
            _, mean, _, side, is_there = parts
            every = wrong.sum(axis=1, keepdims=True)
            shares, errors, middle = look.shares * wrong[:, None], errors[:, None], centre[:, None]
            mass = shares.sum(axis=2, keepdims=True)
            some = np.maximum(mass, 1e-9)
            mean = np.where(mass > 1e-9, _dot(shares, errors) / some, mean)
            least = np.where(side < 0, (self.reach * below)[:, None], (self.reach * above)[:, None])
            mean = middle + side * np.maximum(side * (mean - middle), least)
            width = np.where(mass > 1e-9, np.sqrt(_dot(shares, (errors - mean) ** 2) / some), 0.0)
            half = 0.5 * (below + above)
            wide, narrow = BEYOND_BELL * self.reach * half, NARROWEST_SIDE * self.middle * half
            width = np.maximum(width, np.where(side == 0, wide[:, None], narrow[:, None]))
            parts = np.stack([mass / (every + 1e-9)[:, None], mean, width, side, is_there])
            share = np.minimum(np.maximum(every / (every + kept), SMALLEST_PRIOR), LARGEST_PRIOR)
        fixed = self.bells, self.reach, self.middle, self.floor
        return Explanations(*fixed, centre, below, above, share, parts)


def _dot(left: FloatArray, right: FloatArray) -> FloatArray:
    return np.asarray(np.vecdot(left, right))[..., None]


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
    others = _settle(list(wrong.simpler()), errors, mass, EM_STEPS)
    return max([wrong, *others], key=_value)


def _far_out(errors: FloatArray, mass: FloatArray) -> BoolArray:
    """Return which errors lie further out than those of a normal bell."""
    off = np.abs(errors - weighted_median(errors, mass))
    unit = NORMAL.quantile(REACH) / NORMAL.quantile(0.5)
    return np.asarray(off > unit * weighted_median(off, mass))


def _best(starts: Iterable[Explanation], errors: FloatArray, mass: FloatArray) -> Explanation:
    """Return the best distribution that the most promising starts lead to."""
    tried = _settle(list(starts), errors, mass, _FIRST_STEPS)
    promising = sorted(tried, key=_value)[-_PROMISING:]
    return max(_settle(promising, errors, mass, EM_STEPS), key=_value)


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


def _settle(
    starts: Sequence[Explanation], errors: FloatArray, mass: FloatArray, steps: int
) -> list[Explanation]:
    """Return the likeliest distributions near starts, with their values."""
    if not starts:
        return []
    whole = float(mass.sum())
    trust = min(1.0, BELIEVED_ROWS / whole)
    found, live = list(starts), list(range(len(starts)))
    now, last = Explanations.of(starts), np.full(len(starts), -np.inf)
    for _ in range(steps):
        look = now.look(errors[None])
        honest, log_density = look.weigh(logit(now.share))
        value = log_density @ mass
        is_still = np.abs(value - last) < EM_TOLERANCE * whole
        last, old = value, now
        now = old.improve(errors[None], look, mass * honest, mass * (1 - honest))
        if is_still.any():
            for i in np.flatnonzero(is_still).tolist():
                found[live[i]] = replace(old.pick(i), value=float(value[i]))
            rest = np.flatnonzero(~is_still).tolist()
            live, last = [live[i] for i in rest], value[rest]
            if not live:
                break
            now = Explanations.of([now.pick(i) for i in rest])
    for i, place in enumerate(live):
        found[place] = replace(now.pick(i), value=float(last[i]))
    return [
        replace(  # most targets are right, or nothing can be told
            it,
            value=trust * it.value - it.penalty(trust * whole) if it.share <= 0.5 else -np.inf,
        )
        for it in found
    ]


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
