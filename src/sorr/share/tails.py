r"""How much of the tail of residuals is more than their centre explains.

Sizes of residuals are taken to be a mixture: a bell that all rows that belong share, and outliers,
which may be anywhere further out than 99 % of it,

.. math:: (1 - \varepsilon)\, f(u / \sigma) / \sigma + \varepsilon\, g(u), \qquad g(u) \propto 1/u.

The bell is not known to be normal: f is one of Student's distributions or a Laplace-like one, and
all of them are weighed by how well they explain the sizes. So the tail of a heavy-tailed bell is
explained without outliers, and rows beyond a gap are not. The probabilities are those of bins,
whose edges grow by the same factor: a million rows cost as much as a thousand, and residuals of
zero do no harm.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincc, ndtri, stdtr

from sorr._typing import FloatArray

_DEGREES = (1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, np.inf)  # of Student's distributions
_POWERS = (1.0, 1.4)  # of exp(-u^power): Laplace, and halfway to the normal
_STEP = 0.05  # of bins, in logarithms
_NEAREST, _FARTHEST = 0.02, 1e4  # edges of the bins, in medians
_START = 0.99  # of the bell: outliers lie beyond
_REACH = 4.0  # times as far as they begin, they may lie at least
_SHARES = np.sin(np.linspace(0.0, np.pi / 4, 81)) ** 2  # even by Jeffreys' rule, up to one half
_WIDTHS = np.geomspace(0.25, 1.5, 28)  # of a bell, in those that have the median of all sizes
_BELIEVED = 5000.0  # rows: no bell is exact, and more of them would only say so
_SURE = 0.025  # in each tail of an interval
_MIN_ROWS = 8  # of one sign, to treat them separately
_LOPSIDED = 3.0  # what the evidence gains where the two signs are told apart
_UNEVEN = 5.0  # ratio of the median sizes of both signs, above which one has another kind of rows
_NEGLIGIBLE = 1e-4  # weight of an explanation
_HOPELESS = 15.0  # by which the logarithm of a likelihood is too low to look any closer
_COARSE = slice(0, None, 8)  # shares that show it
_NORMAL = float(ndtri(0.75))  # the median size of a standard normal


class Side(NamedTuple):
    """What the sizes of residuals say, of both signs or of one."""

    evidence: float
    """The logarithm of how well they are explained, by all explanations together."""
    rate: float
    interval: tuple[float, float]
    clean: float
    scale: float
    heaviness: float
    unit: float
    """The median size."""
    edges: FloatArray
    suspicion: FloatArray
    """The probability that a row is an outlier, in each bin."""

    @property
    def cutoff(self) -> float:
        """The size from which on a row is more likely an outlier than not."""
        beyond = np.flatnonzero(self.suspicion > 0.5)
        return float(self.edges[beyond[0] - 1]) if len(beyond) else np.inf


class Tails(NamedTuple):
    """What residuals say about outliers."""

    rate: float
    """The share of outliers: its mean over all explanations."""
    interval: tuple[float, float]
    clean: float
    """The probability that there are none."""
    heaviness: float
    """How far out 99 % of the bell reach in medians, over the same of a normal one."""
    scale: float
    """The standard deviation of a normal bell with the same median size, over both sides."""
    evidence: float
    """The logarithm of how well residuals are explained, that of their unit included."""
    trust: float
    """How much of a row each counts for in it."""
    sides: tuple[Side, Side]
    """Of residuals below zero and above; the same one twice if the bell seems symmetric."""

    @property
    def scales(self) -> tuple[float, float]:
        """The standard deviation of a normal bell with the same median size, on each side."""
        return self.sides[0].scale, self.sides[1].scale

    @property
    def cutoffs(self) -> tuple[float, float]:
        """The size from which on a row is more likely an outlier than not, on each side."""
        return self.sides[0].cutoff, self.sides[1].cutoff

    def suspicion(self, residuals: FloatArray) -> FloatArray:
        """Return the probability that each row is an outlier."""
        sizes = np.abs(residuals)
        below, above = (side.suspicion[_bins(sizes, side.edges)] for side in self.sides)
        return np.where(residuals < 0, below, above)

    def scores(self, residuals: FloatArray) -> FloatArray:
        """Return the size of each residual in standard deviations of its side."""
        return np.abs(residuals) / np.where(residuals < 0, *self.scales)


def fit_tails(residuals: FloatArray, mass: FloatArray, floor: float) -> Tails:
    """Return how many outliers there are, by all bells that explain the residuals.

    Parameters
    ----------
    residuals : ndarray of shape (n_samples,)
        All of the same variance, where rows belong.
    mass : ndarray of shape (n_samples,)
        How many rows each stands for.
    floor : float
        What is as good as zero: a median size below is taken to be this.
    """
    sizes, total = np.abs(residuals), float(mass.sum())
    trust = min(1.0, _BELIEVED / total)
    whole = _explain(sizes, mass, trust, floor)
    places = np.log(np.maximum(sizes, _NEAREST * whole.unit))
    unit = trust * float(mass @ places)
    is_below = residuals < 0
    parts = [np.flatnonzero(is_below), np.flatnonzero(~is_below)]
    if min(mass[rows].sum() for rows in parts) >= _MIN_ROWS:
        below, above = (_explain(sizes[rows], mass[rows], trust, floor) for rows in parts)
        is_skewed = below.evidence + above.evidence > whole.evidence + _LOPSIDED
        if is_skewed and 1 / _UNEVEN < below.unit / above.unit < _UNEVEN:
            left = float(mass[is_below].sum()) / total
            shares = (left, 1 - left)
            mean, low, high, far, scale = (
                shares[0] * a + shares[1] * b
                for a, b in zip(_figures(below), _figures(above), strict=True)
            )
            evidence = below.evidence + above.evidence - unit
            clean = below.clean * above.clean
            return Tails(mean, (low, high), clean, far, scale, evidence, trust, (below, above))
    mean, low, high, far, scale = _figures(whole)
    evidence = whole.evidence - unit
    return Tails(mean, (low, high), whole.clean, far, scale, evidence, trust, (whole, whole))


def _figures(side: Side) -> tuple[float, float, float, float, float]:
    return side.rate, *side.interval, side.heaviness, side.scale


def _explain(sizes: FloatArray, mass: FloatArray, trust: float, floor: float) -> Side:
    """Return what all bells and shares of outliers, weighed by their likelihood, say of sizes."""
    order = np.argsort(sizes)
    middle = np.searchsorted(np.cumsum(mass[order]), mass.sum() / 2)
    unit = max(float(sizes[order[middle]]), floor)
    edges = unit * np.exp(np.arange(np.log(_NEAREST), np.log(_FARTHEST) + _STEP, _STEP))
    counts = trust * np.bincount(_bins(sizes, edges), mass, len(edges) + 1).astype(np.float64)
    largest = edges[min(np.flatnonzero(counts)[-1], len(edges) - 1)]
    found = _profiles(unit, edges, counts, largest)
    evidence, weights = _posterior(np.array([value for value, _ in found]))
    suspicion = np.zeros(len(counts))
    scale = far = 0.0
    for bell, row, (_, widths) in zip(_bells(), weights, found, strict=True):
        scale += float(row @ widths) * bell.median / _NORMAL
        far += float(row.sum()) * bell.far / bell.median
        told = np.flatnonzero((row > _NEGLIGIBLE) & (_SHARES > 0))
        inside, outside = _masses(bell, widths[told], edges, largest)
        share = _SHARES[told, None]
        suspicion += row[told] @ (share * outside / ((1 - share) * inside + share * outside))
    by_share = weights.sum(axis=0)
    ends = np.searchsorted(np.cumsum(by_share), (_SURE, 1 - _SURE))
    low, high = _SHARES[np.minimum(ends, len(_SHARES) - 1)].tolist()
    return Side(
        evidence=evidence - 0.5 * float(np.log(counts.sum())),
        rate=float(by_share @ _SHARES),
        interval=(low, high),
        clean=float(by_share[0]),
        scale=scale,
        heaviness=far * _NORMAL / float(ndtri((1 + _START) / 2)),
        unit=unit,
        edges=edges,
        suspicion=np.maximum.accumulate(suspicion),
    )


class _Bell(NamedTuple):
    """The distribution of sizes, by a table of what lies beyond each."""

    logs: FloatArray
    beyond: FloatArray
    median: float
    far: float


@lru_cache(maxsize=1)
def _bells() -> tuple[_Bell, ...]:
    logs = np.linspace(np.log(1e-6), np.log(1e8), 6000)
    sizes = np.exp(logs)
    tables: list[Any] = [2 * stdtr(degrees, -sizes) for degrees in _DEGREES]
    tables += [gammaincc(1 / power, sizes**power) for power in _POWERS]
    return tuple(_Bell(logs, t, *(_quantile(logs, t, q) for q in (0.5, _START))) for t in tables)


def _quantile(logs: FloatArray, beyond: FloatArray, share: float) -> float:
    return float(np.exp(np.interp(share - 1, -beyond, logs)))


def _bins(sizes: FloatArray, edges: FloatArray) -> npt.NDArray[np.intp]:
    """Return the bin of each size: 0 below the first edge, and what is beyond the last in it."""
    step = np.log(edges[1] / edges[0])
    with np.errstate(divide="ignore"):
        place = np.ceil(np.log(sizes / edges[0]) / step)
    return np.asarray(np.clip(place, 0, len(edges) - 1), dtype=np.intp)


def _masses(
    bell: _Bell, widths: FloatArray, edges: FloatArray, largest: float
) -> tuple[FloatArray, FloatArray]:
    """Return the shares of the bell and of outliers in each bin, one row for each width."""
    logs = np.log(edges)
    beyond = np.interp(logs - np.log(widths)[:, None], bell.logs, bell.beyond)
    full = np.pad(beyond, ((0, 0), (1, 1)), constant_values=((0, 0), (1.0, 0.0)))
    inside = np.maximum(-np.diff(full, axis=1), 1e-300)
    first = np.log(bell.far * widths)[:, None]
    reach = np.maximum(first + np.log(_REACH), np.log(largest))
    placed = np.clip((logs - first) / (reach - first), 0.0, 1.0)
    placed = np.pad(placed, ((0, 0), (1, 1)), constant_values=((0, 0), (0.0, 1.0)))
    return inside, np.diff(placed, axis=1)


def _profiles(
    unit: float, edges: FloatArray, counts: FloatArray, largest: float
) -> list[tuple[FloatArray, FloatArray]]:
    """Return, for each bell, the log-likelihood of each share at the best width, and that width."""
    laid = [
        (unit * _WIDTHS / bell.median, *_masses(bell, unit * _WIDTHS / bell.median, edges, largest))
        for bell in _bells()
    ]
    coarse = [_profile(*there, counts, _SHARES[_COARSE]) for there in laid]
    limit = max(values.max() for values, _ in coarse) - _HOPELESS
    nowhere = np.full(len(_SHARES), -np.inf)
    return [
        _profile(*there, counts, _SHARES)
        if values.max() > limit
        else (nowhere, np.full(len(_SHARES), widths[0]))
        for there, (values, widths) in zip(laid, coarse, strict=True)
    ]


def _profile(
    widths: FloatArray,
    inside: FloatArray,
    outside: FloatArray,
    counts: FloatArray,
    shares: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the same of one bell: a parabola through three widths finds what lies between."""
    seen = np.flatnonzero(counts)
    inside, outside, held = inside[:, seen], outside[:, seen], counts[seen]
    is_far = outside.any(axis=0)
    near = np.log(inside[:, ~is_far]) @ held[~is_far]
    inside, outside, far = inside[:, is_far], outside[:, is_far], held[is_far]
    found = np.array([np.log((1 - share) * inside + share * outside) @ far for share in shares])
    found += near + (np.log1p(-shares) * (held.sum() - far.sum()))[:, None]
    best = np.clip(found.argmax(axis=1), 1, len(widths) - 2)
    rows = np.arange(len(found))
    left, here, right = (found[rows, best + i] for i in (-1, 0, 1))
    bend = np.minimum(left + right - 2 * here, -1e-12)
    shift = np.clip(0.5 * (left - right) / bend, -1.0, 1.0)
    value = here + 0.25 * (right - left) * shift
    step = np.log(widths[1] / widths[0])
    return value, widths[best] * np.exp(step * shift)


def _posterior(logs: FloatArray) -> tuple[float, FloatArray]:
    """Return the evidence, and the weight of each bell and share.

    Half of what is believed beforehand is that there are no outliers.
    """
    prior = np.full(len(_SHARES), 0.5 / (len(_SHARES) - 1))
    prior[0] = 0.5
    top = logs.max()
    weights = np.exp(logs - top) * prior / len(logs)
    total = float(weights.sum())
    return float(top + np.log(total)), np.asarray(weights / total)
