"""Minimisers in the limit of many rows: at one point for fixed thresholds, and over a few points.

Losses are scaled to one at a margin of zero, as in the proof of Theorem 2 of the paper, so that
thresholds mean the same for all losses. All minima are found in closed form or by enumeration.
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

_SAME = 1e-12  # minima that differ by less are the same


def scaled_loss(loss: str, margin: npt.ArrayLike) -> FloatArray:
    """Return the loss of margins, scaled to one at zero. Margins may be infinite."""
    z = np.asarray(margin, dtype=np.float64)
    at = get_loss(loss).value(np.ones(z.size + 1), np.append(z.ravel(), 0.0))
    return np.asarray(at[:-1] / at[-1]).reshape(z.shape)


def _margin_of(loss: str, level: float) -> float:
    """Return the smallest margin whose loss is at most `level`."""
    if loss == "hinge":
        return 1 - level
    return math.inf if level == 0 else -math.log(math.expm1(level * math.log(2)))


# -- One point, for given thresholds ---------------------------------------------------------------


class PointMinimum(NamedTuple):
    """The minimum of the expected loss at a point, for given thresholds.

    Attributes
    ----------
    low, high : float
        The smallest and the largest minimiser. One is infinite if the loss is flat up to there.
        Both are infinite if the infimum is approached but not reached.
    infimum : float
    excess : float
        How far the infimum over zero and the predictions of the wrong sign is above `infimum`. It
        is positive if and only if all minimisers, and all sequences that tend to the infimum, have
        the sign of Bayes' rule. NaN at probability one half, where there is no wrong sign.
    """

    low: float
    high: float
    infimum: float
    excess: float


def point_minimum(loss: str, cuts: Thresholds, eta: float) -> PointMinimum:
    r"""Return the minimum of the expected loss at a point, for given thresholds.

    .. math:: \eta g(s(t)) + (1 - \eta) g(s(-t)), \qquad
        g(s) = [s - \lambda]_+ - [s - \hat\lambda]_+

    Between the corners of both terms, each term is constant, or monotone and convex. So the minimum
    is at a corner, at infinity, or where the slopes of both terms cancel. For the logistic loss
    that is at the log-odds.

    Parameters
    ----------
    loss : {"logistic", "hinge"}
    cuts : Thresholds
        The upper one may be infinite.
    eta : float
        The probability of the positive class, strictly between 0 and 1.

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
    """Return the expected loss of predictions at a point, for given thresholds."""
    t = np.asarray(points, dtype=np.float64)
    right, wrong = (truncate(scaled_loss(loss, z), *cuts) for z in (t, -t))
    return np.asarray(eta * right + (1 - eta) * wrong)


# -- A few points, for given ranks -----------------------------------------------------------------


class Population(NamedTuple):
    """A distribution over a few points: the mass of each class at each point, in whole numbers."""

    positive: tuple[int, ...]
    negative: tuple[int, ...]

    @property
    def total(self) -> int:
        """The total mass."""
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
    """The minimum of the ranked range of a population.

    Attributes
    ----------
    predictions : tuple of float
        A minimiser: the raw prediction at each point. Infinite where the infimum is not reached.
        If there are several, one that agrees best with Bayes' rule.
    infimum : float
        The average over the kept ranks.
    cuts : Thresholds
        The losses at both ends.
    excess : tuple of float
        For each point, how far the infimum over all predictions that are zero or wrong there is
        above `infimum`.
    """

    predictions: tuple[float, ...]
    infimum: float
    cuts: Thresholds
    excess: tuple[float, ...]


def population_minimum(loss: str, population: Population, m: int, k: int) -> PopulationMinimum:
    """Return the minimum of the ranked range over all predictions at the points of a population.

    Choose a side for each point, and an order of the points by their distance from zero. Then the
    order of the losses is known: first those of the other side, the farthest point first, then
    those of the predicted side. What remains is a sum of convex functions of one prediction each.
    It is minimised in closed form, and neighbours that are out of order are pooled. All sides and
    orders are enumerated, so the minimum is global.

    Parameters
    ----------
    loss : {"logistic", "hinge"}
    population : Population
    m, k : int
        The mass to drop from the top, and the mass down to which losses count.

    Examples
    --------
    >>> population_minimum("hinge", Population((7,), (3,)), m=1, k=10).predictions
    (1.0,)
    >>> population_minimum("hinge", Population((7,), (3,)), m=1, k=4).predictions
    (0.0,)
    """
    best = {
        sides: min(_on_sides(loss, population, sides, m, k), key=lambda minimum: minimum[0])
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
    """Yield the minimum and the distances from zero, for each order of the points."""
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
    """Return the distances from zero, in increasing order, that minimise the sum of the losses."""
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

    For the hinge loss it stays at the corner, since nothing is gained past it.
    """
    if loss == "hinge":
        return 1.0 if agreeing >= against else 0.0
    if against == 0:
        return math.inf
    return math.log(max(agreeing / against, 1.0))
