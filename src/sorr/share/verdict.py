"""From evidence to a verdict: the rates at which labels go wrong, and how reliable they are."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.share.average import probabilities
from sorr.share.evidence import Evidence
from sorr.share.regions import Region, excess, rate_bounds, regions_of, tree_scores
from sorr.share.saturation import Saturation, bin_scores, fit_saturation
from sorr.share.transition import Transition, fit_transition

_LIKELIHOOD_RATIO = 2.7  # twice the gain of free rates: 90 % of chi-squared with one degree
_VAGUE = 0.15  # standard error of a rate, above which the two cannot be distinguished
_MISFIT = 2.0  # standard errors by which a rate may exceed what a region allows
_HIGHEST = 0.40  # a higher rate is more likely caused by a wrong model
_NEGLIGIBLE = 0.02  # a rate that need not be tested
_ONE_SIDED = 1.64
_LOPSIDED = 2.0  # ratio of the rates of two classes, from which they are treated separately


class Regime(Enum):
    """The kind of wrong labels that were found, each with a sentence."""

    CLEAN = "no wrong labels were found beyond what chance explains"
    SYMMETRIC = "labels go wrong at about the same rate in all classes"
    ASYMMETRIC = "labels of some classes go wrong more often than those of others"
    MISFIT = "the linear model does not fit; the estimate counts wrong labels and misfit together"
    UNCERTAIN = (
        "wrong labels cannot be distinguished from chance: the classes overlap too much, or there "
        "are too few rows"
    )
    TOO_FEW_ROWS = (
        "there are too few rows to distinguish wrong labels from chance, so none are dropped"
    )

    @property
    def sentence(self) -> str:
        """What the regime means."""
        return self.value


EVEN = frozenset({Regime.CLEAN, Regime.SYMMETRIC, Regime.UNCERTAIN})


class Verdict(NamedTuple):
    """The rates at which labels go wrong, and how reliable they are."""

    regime: Regime
    noise: Saturation | Transition
    """The curve or matrix that was chosen."""
    spread: FloatArray
    """The covariance of the two rates, none of them tied; of more classes, standard errors."""
    wrong: npt.NDArray[np.float64]
    """The mass of wrong rows among those labelled as each class, without leverage outliers."""
    bounds: npt.NDArray[np.float64]
    """An upper bound for the rate of each true class, in any model."""

    @property
    def is_lopsided(self) -> bool:
        """Whether rates differ so much that it matters."""
        if isinstance(self.noise, Transition):
            return bool(self.noise.apart.any())
        return bool(self.noise.rates.max() > _LOPSIDED * self.noise.rates.min())


def judge(evidence: Evidence, rng: np.random.Generator) -> Verdict:
    """Return the verdict on the evidence."""
    index, mass, scores = evidence.problem.index, evidence.mass, evidence.scores
    K = evidence.problem.n_classes
    noise: Saturation | Transition
    if K == 2:
        bins = bin_scores(scores, index, mass)
        free, tied = fit_saturation(bins), fit_saturation(bins, tied=True)
        ratio = 2 * (free.log_likelihood - tied.log_likelihood)
        even = ratio <= _LIKELIHOOD_RATIO or bool(free.errors.max() > _VAGUE)
        noise = tied if even else free
        errors, spread = free.errors, free.covariance
    else:
        noise = fit_transition(scores, index, mass, rng)
        even = not noise.apart.any()
        errors, spread = noise.errors, noise.spread
    kept = np.flatnonzero(mass > 0)
    every = np.column_stack([-scores, scores]) if K == 2 else probabilities(scores)
    regions = regions_of(every[kept], index[kept], mass[kept])
    surely = noise.rates - _ONE_SIDED * errors
    if surely.max() >= _NEGLIGIBLE:
        rows, by_tree = tree_scores(evidence.problem, mass, rng)
        regions += regions_of(by_tree, index[rows], mass[rows])
    wrong = evidence.problem.by_class(mass * noise.wrong(scores, index))
    regime = _regime(noise, errors, regions, even)
    return Verdict(regime, noise, spread, wrong, rate_bounds(regions, K))


def _regime(
    noise: Saturation | Transition, errors: FloatArray, regions: list[Region], even: bool
) -> Regime:
    surely = noise.rates - _ONE_SIDED * errors
    if surely.max() >= _NEGLIGIBLE and (
        excess(regions, noise.rates, errors) > _MISFIT or noise.rates.max() > _HIGHEST
    ):
        return Regime.MISFIT
    if surely.max() <= 0:
        return Regime.CLEAN if noise.rates.max() < _NEGLIGIBLE else Regime.UNCERTAIN
    return Regime.SYMMETRIC if even else Regime.ASYMMETRIC


def confident_counts(evidence: Evidence) -> npt.NDArray[np.float64]:
    """Return the mass of rows that score for another class as high as its own rows on average.

    These are the counts of confident learning (Northcutt, Jiang, Chuang, "Confident learning:
    estimating uncertainty in dataset labels", 2021). They need no model of the noise, and are
    too many where classes overlap.
    """
    index, mass = evidence.problem.index, evidence.mass
    p = probabilities(evidence.scores)
    usual = evidence.problem.by_class(mass * p[np.arange(len(index)), index])
    usual /= np.maximum(evidence.label_mass, 1e-300)
    likely = np.where(p >= usual, p, 0.0)
    best = likely.argmax(axis=1)
    off = (likely.max(axis=1) > 0) & (best != index)
    return evidence.problem.by_class(mass * off)
