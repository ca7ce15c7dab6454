"""What minimises in the limit of many rows: at a point for fixed thresholds, and over a few points.

Losses are scaled to one at a margin of zero, as in the proof of Theorem 2 of the paper, so that
thresholds mean the same for all of them. Everything is found in closed form or by enumeration.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise, permutations, product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.losses import get_loss
from sorr.ranked import Mass, Thresholds, thresholds, truncate

__all__ = [
    "LOSSES",
    "PointMinimum",
    "Population",
    "PopulationMinimum",
    "expected_loss",
    "point_minimum",
    "population_minimum",
    "scaled_loss",
]

LOSSES = ("logistic", "hinge")
"""Those of the paper, convex and falling at zero."""

_SAME = 1e-12  # what differs by less is the same minimum


def scaled_loss(loss: str, margin: npt.ArrayLike) -> FloatArray:
    """Return a loss of margins, which may be infinite, scaled to one at zero."""
    z = np.asarray(margin, dtype=np.float64)
    at = get_loss(loss).value(np.ones(z.size + 1), np.append(z.ravel(), 0.0))
    return np.asarray(at[:-1] / at[-1]).reshape(z.shape)


def _margin_of(loss: str, level: float) -> float:
    """Return the smallest margin of which the loss is at most `level`."""
    if loss == "hinge":
        return 1 - level
    return math.inf if level == 0 else -math.log(math.expm1(level * math.log(2)))


# -- one point, thresholds that are given ----------------------------------------------------------


class PointMinimum(NamedTuple):
    """What minimises the loss at a point, thresholds being given.

    Attributes
    ----------
    low, high : float
        The smallest and the largest minimiser. Infinite if it is flat up to there, or, if both
        are, where the infimum is approached and not reached.
    infimum : float
    excess : float
        By how much the infimum over zero and the predictions of the wrong sign is above: positive
        if and only if all minimisers, and all that tends to the infimum, have the sign of Bayes'
        rule. At probability one half, where there is no wrong sign, NaN.
    """

    low: float
    high: float
    infimum: float
    excess: float


def point_minimum(loss: str, cuts: Thresholds, eta: float) -> PointMinimum:
    r"""Return what minimises the expected loss at a point, for fixed thresholds.

    .. math:: \eta g(s(t)) + (1 - \eta) g(s(-t)), \qquad
        g(s) = [s - \lambda]_+ - [s - \hat\lambda]_+

    Between the corners of both terms each of them is constant, or decreasing or increasing and
    convex. The minimum is at a corner, at infinity, or where the slopes of both terms cancel: of
    the logistic loss at the log-odds.

    Parameters
    ----------
    loss : {"logistic", "hinge"}
    cuts : Thresholds
        Of which the upper one may be infinite.
    eta : float
        The probability of the positive class, strictly between 0 and 1.

    Returns
    -------
    PointMinimum

    Examples
    --------
    >>> point_minimum("hinge", Thresholds(upper=1.5, lower=0.0), eta=0.75)
    PointMinimum(low=1.0, high=inf, infimum=0.375, excess=0.625)
    """
    corners = [_margin_of(loss, float(level)) for level in cuts]
    corners.append(1.0 if loss == "hinge" else math.log(eta / (1 - eta)))
    points = np.unique([0.0, math.inf, *corners])
    points = np.unique(np.concatenate([-points, points]))
    values = expected_loss(loss, cuts, eta, points)
    infimum = values.min()
    minimisers = points[values <= infimum + _SAME]
    is_wrong = np.sign(points) * (eta - 0.5) <= 0
    excess = math.nan if eta == 0.5 else float(values[is_wrong].min() - infimum)
    return PointMinimum(
        float(minimisers[0]),
        float(minimisers[-1]),
        float(infimum),
        0.0 if excess <= _SAME else excess,
    )


def expected_loss(loss: str, cuts: Thresholds, eta: float, points: npt.ArrayLike) -> FloatArray:
    """Return the expected loss of predictions at a point, for fixed thresholds."""
    t = np.asarray(points, dtype=np.float64)
    right, wrong = (truncate(scaled_loss(loss, z), *cuts) for z in (t, -t))
    return np.asarray(eta * right + (1 - eta) * wrong)


# -- a few points, the ranks being given -----------------------------------------------------------


class Population(NamedTuple):
    """A distribution over a few points: the mass of either class at each, in whole numbers."""

    positive: tuple[int, ...]
    negative: tuple[int, ...]

    @property
    def total(self) -> int:
        """The mass of all."""
        return sum(self.positive) + sum(self.negative)

    @property
    def etas(self) -> tuple[float, ...]:
        """The probability of the positive class at each point."""
        return tuple(p / (p + n) for p, n in zip(self.positive, self.negative, strict=True))

    @property
    def bayes(self) -> tuple[int, ...]:
        """The class that Bayes' rule predicts at each point, -1 or 1."""
        return tuple(1 if eta > 0.5 else -1 for eta in self.etas)

    @property
    def bayes_error(self) -> float:
        """The share of the mass that Bayes' rule gets wrong."""
        return sum(map(min, self.positive, self.negative)) / self.total


class PopulationMinimum(NamedTuple):
    """What minimises the ranked range of a population.

    Attributes
    ----------
    predictions : tuple of float
        A minimiser: the raw prediction at each point. Infinite where the infimum is not reached.
        Of several, one that agrees with Bayes' rule where that is possible.
    infimum : float
        The average over the ranks that are kept.
    cuts : Thresholds
        The losses at both ends.
    excess : tuple of float
        By how much the infimum is above, over all predictions that are zero or wrong at a point.
    """

    predictions: tuple[float, ...]
    infimum: float
    cuts: Thresholds
    excess: tuple[float, ...]


def population_minimum(loss: str, population: Population, m: int, k: int) -> PopulationMinimum:
    """Return what minimises the ranked range over all predictions at the points of a population.

    For each choice of sides to predict, and each order of the points by how far from zero their
    predictions are, the order of the losses is known: those of the other side first, the farthest
    leading, then those of the side that is predicted. A sum of convex functions of one prediction
    each is left, minimised in closed form with neighbours pooled that are out of order. Both kinds
    of choices are enumerated: the minimum is global.

    Parameters
    ----------
    loss : {"logistic", "hinge"}
    population : Population
    m, k : int
        The mass to drop from the top, and down to which to keep.

    Returns
    -------
    PopulationMinimum

    Examples
    --------
    >>> population_minimum("hinge", Population((7,), (3,)), m=1, k=10).predictions
    (1.0,)
    >>> population_minimum("hinge", Population((7,), (3,)), m=1, k=4).predictions
    (0.0,)
    """
    best = {
        sides: min(_on_sides(loss, population, sides, m, k), key=lambda found: found[0])
        for sides in product((1, -1), repeat=len(population.etas))
    }
    infimum = min(value for value, _ in best.values())
    bayes = population.bayes
    minimal = [sides for sides, (value, _) in best.items() if value <= infimum + _SAME]
    sides = min(minimal, key=lambda sides: sum(map(int.__ne__, sides, bayes)))
    predictions = tuple(s * t + 0.0 for s, t in zip(sides, best[sides][1], strict=True))
    excess = [
        min(value for sides, (value, _) in best.items() if sides[j] != bayes[j]) - infimum
        for j in range(len(bayes))
    ]
    losses = scaled_loss(loss, np.concatenate([predictions, np.negative(predictions)]))
    masses = np.array(population.positive + population.negative, dtype=np.float64)
    return PopulationMinimum(
        predictions,
        infimum,
        thresholds(losses, Mass(m), Mass(k), sample_weight=masses),
        tuple(0.0 if gap <= _SAME else gap for gap in excess),
    )


def _on_sides(
    loss: str, population: Population, sides: Sequence[int], m: int, k: int
) -> Iterator[tuple[float, tuple[float, ...]]]:
    """Yield the minimum and the distances from zero, for each order of these."""
    pairs = zip(sides, population.positive, population.negative, strict=True)
    masses = [(p, n) if side == 1 else (n, p) for side, p, n in pairs]
    for order in permutations(range(len(sides))):
        ranked = [masses[j][1] for j in reversed(order)] + [masses[j][0] for j in order]
        ends = list(accumulate(ranked, initial=0))
        kept = [max(0, min(high, k) - max(low, m)) for low, high in pairwise(ends)]
        against, agreeing = kept[len(order) - 1 :: -1], kept[len(order) :]
        distances = _pooled(loss, against, agreeing)
        values = scaled_loss(loss, [*np.negative(distances), *distances])
        total = sum(
            mass * value for mass, value in zip(against + agreeing, values, strict=True) if mass
        )
        back = sorted(zip(order, distances, strict=True))
        yield float(total) / (k - m), tuple(distance for _, distance in back)


def _pooled(loss: str, against: Sequence[int], agreeing: Sequence[int]) -> list[float]:
    """Return the distances from zero, in rising order, that minimise the sum of their losses."""
    blocks: list[tuple[float, int, int, int]] = []
    for low, high in zip(against, agreeing, strict=True):
        block = (_balance(loss, low, high), low, high, 1)
        while blocks and blocks[-1][0] > block[0]:
            _, a, b, count = blocks.pop()
            a, b, count = a + block[1], b + block[2], count + block[3]
            block = (_balance(loss, a, b), a, b, count)
        blocks.append(block)
    return [distance for distance, _, _, count in blocks for _ in range(count)]


def _balance(loss: str, against: int, agreeing: int) -> float:
    """Return the largest t >= 0 that minimises ``against * s(-t) + agreeing * s(t)``.

    Past the corner of the hinge nothing is gained: it is not left.
    """
    if loss == "hinge":
        return 1.0 if agreeing >= against else 0.0
    if against == 0:
        return math.inf
    return math.log(max(agreeing / against, 1.0))
