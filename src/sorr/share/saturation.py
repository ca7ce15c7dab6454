r"""Label shares that level off: a logistic curve with two asymptotes, the rates of wrong labels.

Where a row is surely of one class, all that is left of the label is noise. With scores z from
rows that were held out,

.. math:: P(y = 1 \mid z) = \rho_0 + (1 - \rho_0 - \rho_1) \, \sigma(a z + b),

:math:`\rho_0` is the share of class 0 that is labelled 1, and :math:`\rho_1` that of class 1
labelled 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, xlogy

from sorr._typing import FloatArray

BINS = 60  # of equal mass: the fit then costs the same for any number of rows
LARGEST = 0.49  # a rate of one half would leave nothing to learn from the labels
_START = 0.2  # rate
_STEPS, _STEEPEST = 40, 50.0  # at most; a steeper curve is a jump
_GAIN = 2e-3  # of the log likelihood: a thousandth of what any decision turns on
_SINGULAR = 1e-9  # of the information: directions below are not told apart
_FLAT = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]], dtype=float)  # rho_0 = rho_1


class Bins(NamedTuple):
    """Scores in groups: their means, and the mass labelled 0 and 1."""

    score: FloatArray
    zeros: FloatArray
    ones: FloatArray


@dataclass(frozen=True)
class Saturation:
    """A fitted curve.

    Attributes
    ----------
    slope, shift : float
        a and b.
    rates : ndarray of shape (2,)
        The share of class 0 labelled 1, and of class 1 labelled 0.
    covariance : ndarray of shape (2, 2)
        Of the two rates: the inverse Fisher information.
    log_likelihood : float
    """

    slope: float
    shift: float
    rates: FloatArray
    covariance: FloatArray
    log_likelihood: float

    @property
    def errors(self) -> FloatArray:
        """The standard errors of the rates."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def matrix(self) -> FloatArray:
        """The share of each true class (rows) that is labelled as each class (columns)."""
        low, high = self.rates
        return np.array([[1 - low, low], [high, 1 - high]])

    def one(self, score: FloatArray) -> FloatArray:
        """Return the probability that a row is truly of class 1, before its label is seen."""
        return np.asarray(expit(self.slope * score + self.shift))

    def log_odds(self, score: FloatArray, index: npt.NDArray[np.intp]) -> FloatArray:
        """Return the log odds that a label is wrong, given the score and the label."""
        signed = np.where(index == 1, 1, -1) * (self.slope * score + self.shift)
        rate = np.maximum(self.rates, 1e-9)[1 - index]  # at which others get this label
        return np.asarray(np.log(rate / (1 - self.rates[index])) - signed)

    def wrong(self, score: FloatArray, index: npt.NDArray[np.intp]) -> FloatArray:
        """Return the probability that a label is wrong, given the score and the label."""
        return np.asarray(expit(self.log_odds(score, index)))


def bin_scores(
    score: FloatArray, index: npt.NDArray[np.intp], mass: FloatArray, bins: int = BINS
) -> Bins:
    """Return the scores in bins of about equal mass; equal scores fall into the same bin."""
    order = np.argsort(score)
    ordered = score[order]
    reached = np.cumsum(mass[order])
    cuts = np.searchsorted(reached, reached[-1] * np.arange(1, bins) / bins)
    edges = np.unique(ordered[np.minimum(cuts, len(ordered) - 1)])
    which = np.searchsorted(edges, score, side="left")
    size = len(edges) + 1
    total, ones, sums = (
        np.bincount(which, part, size).astype(np.float64)
        for part in (mass, mass * (index == 1), mass * score)
    )
    full = total > 0
    return Bins(sums[full] / total[full], (total - ones)[full], ones[full])


def likelihood(parameters: FloatArray, bins: Bins) -> tuple[float, FloatArray, FloatArray]:
    """Return the log likelihood of (a, b, rho_0, rho_1), its gradient, the Fisher information."""
    a, b, low, high = parameters
    s = expit(a * bins.score + b)
    width = 1 - low - high
    q = np.clip(low + width * s, 1e-12, 1 - 1e-12)
    value = float(xlogy(bins.ones, q).sum() + xlogy(bins.zeros, 1 - q).sum())
    bend = width * s * (1 - s)
    slopes = np.stack([bend * bins.score, bend, 1 - s, -s])
    spread = q * (1 - q)
    gradient = slopes @ ((bins.ones - (bins.ones + bins.zeros) * q) / spread)
    information = (slopes * ((bins.ones + bins.zeros) / spread)) @ slopes.T
    return value, gradient, information


def fit_saturation(bins: Bins, *, tied: bool = False) -> Saturation:
    """Return the curve of largest likelihood, by Fisher scoring; with `tied` the rates are equal.

    The start is a curve with many wrong labels. From there the search has found the highest peak
    wherever other starts were tried; from a curve without any it has not.
    """
    basis = _FLAT if tied else np.eye(4)
    start = np.array([1.0, 0.0, _START, _START])[: basis.shape[1]]
    value, parameters = _climb(bins, basis, start)
    information = likelihood(parameters, bins)[2]
    covariance = _inverse(information)[2:, 2:]
    return Saturation(float(parameters[0]), float(parameters[1]), parameters[2:], covariance, value)


def _inverse(information: FloatArray) -> FloatArray:
    """Return the inverse; what the rows do not tell at all has a large variance, not none."""
    size = np.sqrt(np.maximum(np.diag(information), 1e-12))
    scaled = information / np.outer(size, size)
    scaled[np.diag_indices_from(scaled)] += _SINGULAR
    return np.asarray(np.linalg.inv(scaled) / np.outer(size, size))


def _climb(
    bins: Bins, basis: npt.NDArray[np.float64], t: npt.NDArray[np.float64]
) -> tuple[float, npt.NDArray[np.float64]]:
    """Return the largest likelihood near a start; rates stay between 0 and their largest."""
    value, gradient, information = likelihood(basis @ t, bins)
    damping = 1e-3
    for _ in range(_STEPS):
        g, F = basis.T @ gradient, basis.T @ information @ basis
        at_low = (t <= 0) & (g < 0)
        at_high = (t >= LARGEST) & (g > 0)
        free = np.flatnonzero(~np.where(np.arange(len(t)) < 2, False, at_low | at_high))
        F, g = F[np.ix_(free, free)], g[free]
        scale = np.diag(F) + 1e-9 * max(float(np.diag(F).max()), 1e-300)
        step = np.linalg.solve(F + damping * np.diag(scale), g)
        moved = t.copy()
        moved[free] += step
        moved[2:] = np.clip(moved[2:], 0.0, LARGEST)
        moved[0] = min(max(moved[0], 1e-3), _STEEPEST)
        new = likelihood(basis @ moved, bins)
        if not new[0] > value:
            damping *= 10
            if damping > 1e4:
                break
            continue
        gain = new[0] - value
        t, (value, gradient, information) = moved, new
        damping = max(damping / 10, 1e-6)
        if gain < _GAIN:
            break
    return value, basis @ t
