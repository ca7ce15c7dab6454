r"""The posterior of "this label is wrong", averaged over rates of wrong labels.

Take the rows that are labelled j or k. If labels go wrong at random, the share of label k is

.. math:: P(k \mid s) = r_0 + (1 - r_0 - r_1) \, \sigma(a s + c), \qquad s = \log P_k / P_j,

with a plateau :math:`r_0` where the model is certain of j and :math:`1 - r_1` where it is certain
of k. Overlap of the classes bends the curve, and only wrong labels keep it from its ends. All
pairs of classes share one rate, from which each may deviate. Nothing is estimated once and for
all: every rate of a grid counts by how well it explains the labels of all pairs together.

Of a row that somebody checked, both the true class and the label are known. Its true class speaks
about the curve without plateaus. Its label speaks about the rates, unless somebody was led to it
by what the row looks like: a share :math:`\rho` of labels is drawn from the curve itself. So wrong
labels that are known count for the rates where the model is certain, and hardly where it is not.
Who chose a row by its score and its label has biased neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit, logsumexp

from sorr._typing import FloatArray, IntArray
from sorr.share.constants import (
    ASSUMED_NOISE,
    BINS,
    BY_CHANCE,
    COMMON_RATES,
    DEVIATING,
    FEWEST_IN_PAIR,
    FREE_RATES,
    HIGH_COMMON_RATES,
    LARGEST_SUM_OF_RATES,
    MISFIT,
    NO_NOISE,
    PULL,
    SHARE_WITHOUT_EVIDENCE,
    SMALLEST_SLOPE,
    SPREAD,
    SPREAD_OF_TWO,
)

_NEWTON_STEPS = 50  # at most; six or so are needed
_FISHER_STEPS = 60  # at most; ten or so are needed
_HOPELESS = 60.0  # by which a log-likelihood is too low for its rates to count
_SETTLED = 1e-5  # change of a log-likelihood that matters no longer
_CURVE_SETTLED = 1e-7  # the same by a parabola, which promises too little where rates are high
_POINTS = 513  # scores at which posteriors are computed; between them they are interpolated
DIGITS = 9  # of scores after the point; those that differ by rounding are equal
_NEGLIGIBLE = 1e-7  # weight of an explanation
_BY_LOOK = SHARE_WITHOUT_EVIDENCE  # of labels, drawn from what rows look like: as of rows in doubt
_CHUNK = 50_000  # numbers that are worked on at a time: they fit into a cache


class Calibration(NamedTuple):
    """A softmax of scores times slopes, plus a shift for each class."""

    slopes: FloatArray
    shift: FloatArray
    log_likelihood: float
    probabilities: FloatArray


def calibrate(
    scores: FloatArray,
    index: IntArray,
    mass: FloatArray,
    *,
    noise: float = 0.0,
    pull: float,
    towards: float = 1.0,
) -> Calibration:
    r"""Return the combination of scores under which the labels are most likely.

    The probabilities are :math:`p = \mathrm{softmax}(\sum_m a_m z_m + b)`, with slopes that are not
    negative: scores whose slope would be are left out. A share `noise` of the labels is taken to
    be drawn at random, so that labels which contradict the scores bend them less.

    Parameters
    ----------
    scores : ndarray of shape (n_models, n_samples, n_classes)
        z, log probabilities less their mean over the classes.
    index, mass : ndarray of shape (n_samples,)
        The class of each row, and its mass.
    noise : float
        The likelihood of a label is :math:`(1 - \nu) p_y + \nu / K`.
    pull : float
        The strength of a ridge, for each row, towards slopes of `towards` and shifts of zero.
    """
    slopes, shift, log_likelihood, log_p = _newton(scores, index, mass, noise, pull, towards)
    if len(scores) > 1 and slopes.min() < 0:
        kept = np.flatnonzero(slopes > 0) if slopes.max() > 0 else [0]
        rest = calibrate(scores[kept], index, mass, noise=noise, pull=pull, towards=towards)
        slopes = np.zeros(len(scores))
        slopes[kept] = rest.slopes
        return rest._replace(slopes=slopes)
    return Calibration(slopes, shift, log_likelihood, np.exp(log_p))


def _newton(
    scores: FloatArray,
    index: IntArray,
    mass: FloatArray,
    noise: float,
    pull: float,
    towards: float,
) -> tuple[FloatArray, FloatArray, float, FloatArray]:
    """Return slopes, shift, log-likelihood and log probabilities, by Newton steps with halving."""
    M, n, K = scores.shape
    rows, total = np.arange(n), float(mass.sum())
    at_label = scores[:, rows, index]
    centre = np.append(np.full(M, towards), np.zeros(K))
    ridge = pull * total

    def evaluate(theta: FloatArray) -> tuple[float, float, FloatArray, FloatArray]:
        raw = np.tensordot(theta[:M], scores, 1) + theta[M:]
        raw -= raw.max(axis=1, keepdims=True)
        log_p = raw - np.log(np.exp(raw).sum(axis=1, keepdims=True))
        log_q = log_p[rows, index]
        if noise:
            log_q = np.logaddexp(np.log1p(-noise) + log_q, np.log(noise / K))
        value = float(mass @ log_q)
        return value - 0.5 * ridge * float((theta - centre) @ (theta - centre)), value, log_p, log_q

    theta = centre
    penalised, value, log_p, log_q = evaluate(theta)
    for _ in range(_NEWTON_STEPS):
        p = np.exp(log_p)
        trust = mass * np.exp(np.log1p(-noise) + log_p[rows, index] - log_q) if noise else mass
        weighted = trust[:, None] * p
        means = np.array([np.einsum("ij,ij->i", p, z) for z in scores])
        pull_b = np.bincount(index, trust, K) - weighted.sum(axis=0)
        gradient = np.append((at_label - means) @ trust, pull_b) - ridge * (theta - centre)
        curvature = np.empty((M + K, M + K))
        curvature[M:, M:] = np.diag(weighted.sum(axis=0)) - weighted.T @ p
        for i, z in enumerate(scores):
            bent = weighted * (z - means[i][:, None])
            curvature[i, M:] = curvature[M:, i] = bent.sum(axis=0)
            curvature[i, :M] = [np.vdot(bent, other) for other in scores]
        curvature[np.diag_indices(M + K)] += ridge
        step = np.linalg.solve(curvature, gradient)
        if gradient @ step < _SETTLED * max(total, 1.0) * 1e-3:
            break
        for halving in range(30):
            tried = evaluate(theta + 0.5**halving * step)
            if tried[0] > penalised:
                break
        else:
            break
        theta = theta + 0.5**halving * step
        penalised, value, log_p, log_q = tried
    return theta[:M], theta[M:], value, log_p


# -- Pairs of classes ------------------------------------------------------------------------------


class Pairs(NamedTuple):
    """Pairs of classes j < k, their rows counted in bins of the score log P_k / P_j."""

    first: IntArray
    second: IntArray
    score: FloatArray
    """Of shape (pairs, bins)."""
    mass: FloatArray
    """Of shape (2, pairs, bins): labelled as the first class, and as the second."""
    known: FloatArray
    """Of shape (2, 2, pairs, bins): rows of each true class with each label, where it is known."""


def count_pairs(
    L: FloatArray,
    near: FloatArray,
    index: IntArray,
    mass: FloatArray,
    right: IntArray,
    fewest: float = FEWEST_IN_PAIR,
) -> Pairs:
    """Return the pairs with enough rows: those that are probably of one of the two classes.

    `right` is the true class of rows that are known, and -1 of others.
    """
    K = L.shape[1]
    members = [np.flatnonzero((index == j) & (mass > 0)) for j in range(K)]
    kept = []
    for j, k in combinations(range(K), 2):
        parts = [
            rows[
                (near[rows, j] + near[rows, k] > 0.5)
                & ((right[rows] < 0) | (right[rows] == j) | (right[rows] == k))
            ]
            for rows in (members[j], members[k])
        ]
        rows = np.concatenate(parts)
        label = np.repeat([0, 1], [len(part) for part in parts])
        if min(map(len, parts)) == 0 or mass[rows].sum() < fewest:
            continue
        truth = (right[rows] == k).astype(np.intp)
        kind = label + np.where(right[rows] < 0, 0, 2 + 2 * truth)
        kept.append((j, k, *_bin(L[rows, k] - L[rows, j], mass[rows], kind)))
    if not kept:
        empty, nothing = np.empty(0, dtype=np.intp), np.empty((6, 0, BINS))
        return Pairs(empty, empty, nothing[0], nothing[:2], nothing[2:].reshape(2, 2, 0, BINS))
    first, second, score, counts = map(np.array, zip(*kept, strict=True))
    counts = counts.transpose(1, 0, 2)
    return Pairs(first, second, score, counts[:2], counts[2:].reshape(2, 2, -1, BINS))


def _bin(s: FloatArray, mass: FloatArray, kind: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean score of each bin, and its mass by kind of row, of which there are six.

    A bin holds as much of the rows, and of what the curve of a plain model turns on, as any
    other; equal scores are in one bin, so that copies of a row count as its weight.
    """
    s = np.round(s, DIGITS)
    order = np.argsort(s)
    s, mass, kind = s[order], mass[order], kind[order]
    bend = mass * expit(s) * expit(-s)
    reach = np.cumsum(mass / mass.sum() + bend / max(float(bend.sum()), 1e-300)) / 2
    starts = np.flatnonzero(np.append(True, s[1:] != s[:-1]))
    edges = np.append(0.0, reach)[np.append(starts, len(s))]
    middle = 0.5 * (edges[1:] + edges[:-1])  # the same from either end
    bins = np.minimum((BINS * middle).astype(np.intp), BINS - 1)
    bins = np.repeat(bins, np.diff(np.append(starts, len(s))))
    total = np.bincount(bins, mass, BINS)
    score = np.bincount(bins, mass * s, BINS) / np.maximum(total, 1e-300)
    by_kind = np.bincount(kind * BINS + bins, mass, 6 * BINS).astype(np.float64)
    return score, by_kind.reshape(6, BINS)


class Curves(NamedTuple):
    """For each pair and each point of a grid of rates, the best curve: shape (pairs, points)."""

    slope: FloatArray
    shift: FloatArray
    value: FloatArray
    """The logarithm of its likelihood, its prior included."""


class Start(NamedTuple):
    """Where the search for curves starts: a slope, and a shift for each pair."""

    slope: float
    shift: FloatArray


def fit_curves(
    pairs: Pairs,
    r0: FloatArray,
    r1: FloatArray,
    reference: FloatArray,
    spread: float,
    start: Start,
) -> Curves:
    """Return the best curves, those of all pairs and rates at once, by damped Fisher scoring.

    Log slopes are drawn to the logarithm of the reference, shifts to zero, both with a standard
    deviation of `spread`. A curve is done if its likelihood has settled, or is too low for its
    rates to count.
    """
    shape = len(pairs.first), len(r0)
    pair, point = (part.ravel() for part in np.indices(shape))
    n = len(pair)
    centre = np.array([np.log(reference)[point], np.zeros(n)])
    at = np.array([np.full(n, np.log(start.slope)), start.shift[pair]])  # log slopes and shifts
    value, step, damping = np.full(n, -np.inf), np.zeros((2, n)), np.full(n, 1e-3)
    slopes, bends = np.zeros((2, n)), np.zeros((3, n))  # derivatives at the best point so far
    active = np.arange(n)
    for _ in range(_FISHER_STEPS):
        if not len(active):
            break
        tried = at[:, active] + step[:, active]
        off = tried - centre[:, active]
        found = _likelihoods(pairs, pair[active], r0[point[active]], r1[point[active]], *tried)
        found[0] -= 0.5 * spread**-2 * (off**2).sum(axis=0)
        found[1:3] -= spread**-2 * off
        found[3:5] += spread**-2
        gain = found[0] - value[active]
        better = gain > 0
        moved = active[better]
        at[:, moved] = tried[:, better]
        value[moved], slopes[:, moved], bends[:, moved] = np.split(found[:, better], [1, 3])
        damping[active] = np.clip(damping[active] * np.where(better, 0.1, 10), 1e-9, 1e9)
        behind = value.reshape(shape).max(axis=1)[pair[active]] - value[active]
        to_gain = (slopes[:, active] * _newton_step(slopes[:, active], bends[:, active])).sum(
            axis=0
        )
        is_open = (to_gain >= _CURVE_SETTLED) & (behind < _HOPELESS + to_gain)
        active = active[is_open]
        step[:, active] = _newton_step(slopes[:, active], bends[:, active], damping[active])
        step[0, active] = step[0, active].clip(-1, 1)
    return Curves(*(part.reshape(shape) for part in (np.exp(at[0]), at[1], value)))


def _newton_step(
    slopes: FloatArray, bends: FloatArray, damping: FloatArray | float = 0.0
) -> FloatArray:
    """Return the step to the top of a parabola for each curve, less far with damping."""
    (g_u, g_c), (h_u, h_c, h_uc) = slopes, bends
    h_u, h_c = (1 + damping) * h_u, (1 + damping) * h_c
    across = np.array([h_c * g_u - h_uc * g_c, h_u * g_c - h_uc * g_u])
    return np.asarray(across / (h_u * h_c - h_uc**2))


def _likelihoods(
    pairs: Pairs,
    pair: IntArray,
    low: FloatArray,
    high: FloatArray,
    log_slope: FloatArray,
    shift: FloatArray,
) -> FloatArray:
    """Return log-likelihood, both derivatives and the information, a column for each curve."""
    found = np.empty((6, len(pair)))
    sure = pairs.known.sum(axis=1) if pairs.known.any() else None
    for start in range(0, len(pair), size := max(1, _CHUNK // BINS)):
        part = slice(start, start + size)
        rows, r0 = pair[part], low[part, None]
        width = 1 - r0 - high[part, None]
        n0, n1 = pairs.mass[:, rows]
        bent = np.exp(log_slope[part, None]) * pairs.score[rows]
        logit = bent + shift[part, None]
        p = expit(logit)
        q = np.clip(r0 + width * p, 1e-15, 1 - 1e-15)
        value = n1 * np.log(q) + n0 * np.log1p(-q)
        dq = width * p * (1 - p)
        pull = (n1 / q - n0 / (1 - q)) * dq
        info = (n0 + n1) * dq**2 / (q * (1 - q))
        if sure is not None:
            k0, k1 = sure[:, rows]
            value += k1 * log_expit(logit) + k0 * log_expit(-logit)
            pull += k1 - (k0 + k1) * p
            info += (k0 + k1) * p * (1 - p)
        bends = info * bent
        sums = value, pull * bent, pull, bends * bent, info, bends
        found[:, part] = [each.sum(axis=-1) for each in sums]
    return found


# -- The hierarchy of rates ------------------------------------------------------------------------


class Rates(NamedTuple):
    """Points of a grid of rates: for common ones, and for pairs that deviate."""

    common: FloatArray
    log_prior: FloatArray
    r0: FloatArray
    """Common points first, then deviating ones."""
    r1: FloatArray
    log_prior_free: FloatArray
    log_deviates: float
    log_conforms: float

    @classmethod
    def for_classes(cls, K: int) -> Rates:
        """Return the grid and its prior for K classes."""
        common = np.array(COMMON_RATES + (HIGH_COMMON_RATES if K > 2 else ()))
        each = common / (K - 1)
        free = np.array(FREE_RATES)
        i, j = (part.ravel() for part in np.meshgrid(*2 * [np.arange(len(free))], indexing="ij"))
        inside = (i != j) & (free[i] + free[j] < LARGEST_SUM_OF_RATES)
        i, j = i[inside], j[inside]
        gap, gap_free = np.gradient(np.sqrt(common)), np.gradient(np.sqrt(free))
        deviates = DEVIATING if K == 2 else min(DEVIATING, 2 / (K * (K - 1)))
        none = NO_NOISE / (1 - deviates) if K == 2 else NO_NOISE
        log_prior = -2 * each + np.log(gap)
        log_prior[1:] += np.log1p(-none) - logsumexp(log_prior[1:])
        log_prior[0] = np.log(none)
        log_free = -free[i] - free[j] + np.log(gap_free[i]) + np.log(gap_free[j])
        return cls(
            common,
            log_prior,
            np.append(each, free[i]),
            np.append(each, free[j]),
            log_free - logsumexp(log_free),
            float(np.log(deviates)),
            float(np.log1p(-deviates)),
        )


class Curve(NamedTuple):
    """The share of a label against the score, for the pair of classes with most wrong labels."""

    first: int
    second: int
    score: FloatArray
    mass: FloatArray
    share: FloatArray
    """Of the label of the second class, in each bin."""
    without: FloatArray
    """The curve if no label is wrong."""
    average: FloatArray
    """The curve on average over all explanations."""


@dataclass(frozen=True)
class Posterior:
    """What the labels say about wrong labels.

    Attributes
    ----------
    knows : float
        How much of the entropy of the classes the model explains.
    evidence : float
        The logarithm of how much better some wrong labels explain the labels than none, less what
        chance may give.
    log_odds : ndarray of shape (n_samples,)
        The logarithm of the odds that each label is wrong.
    calibrated : ndarray of shape (n_samples, n_classes)
        The probabilities, calibrated on the labels as given.
    rates : ndarray of shape (n_classes, n_classes)
        The share of each true class (rows) that gets each label (columns), on average.
    spread : ndarray of shape (n_classes,)
        The standard deviation of the number of wrong labels among those of each class.
    curve : Curve or None
    """

    knows: float
    evidence: float
    log_odds: FloatArray
    calibrated: FloatArray
    rates: FloatArray
    spread: FloatArray
    curve: Curve | None

    @classmethod
    def unknown(cls, probabilities: FloatArray) -> Posterior:
        """Return what is known of too few rows: nothing."""
        n, K = probabilities.shape
        nothing = np.full(n, -np.inf)
        return cls(0.0, -np.inf, nothing, probabilities, np.eye(K), np.zeros(K), None)


def posterior(
    L: FloatArray, index: IntArray, mass: FloatArray, right: IntArray | None = None
) -> Posterior:
    """Return the posterior from log probabilities that are held out, one column for each class.

    `right` is the true class of rows that are known, and -1 of others.
    """
    K = L.shape[1]
    right = np.full(len(index), -1) if right is None else right
    calibrated = _calibrate_two if K == 2 else _calibrate_many
    pairs, plain, robust = calibrated(L, index, mass, right)
    shares = np.bincount(index, mass, K) / mass.sum()
    entropy = -float(shares @ np.log(np.maximum(shares, 1e-300)))
    grid = Rates.for_classes(K)
    reference = np.full(len(grid.r0), robust.slope)
    reference[0] = max(float(plain.slopes[0]), SMALLEST_SLOPE)
    spread = SPREAD_OF_TWO if K == 2 else SPREAD
    curves = fit_curves(pairs, grid.r0, grid.r1, reference, spread, robust)
    value = curves.value + _log_flips(pairs, curves, grid)
    weights = _weigh(grid, value - value[:, :1])
    log_odds = _log_odds(L, index, pairs, curves, grid, weights.of_pair)
    return Posterior(
        1 + plain.log_likelihood / mass.sum() / entropy,
        weights.evidence,
        log_odds,
        plain.probabilities,
        _mean_rates(K, pairs, grid, weights),
        _spread_of_counts(
            K, pairs, curves, grid, weights, log_odds, index, np.where(right < 0, mass, 0.0)
        ),
        _main_curve(pairs, curves, grid, weights),
    )


def _log_flips(pairs: Pairs, curves: Curves, grid: Rates) -> FloatArray:
    """Return how likely the labels of known rows are at each point, given their true classes."""
    found = np.zeros((len(pairs.first), len(grid.r0)))
    for p in np.flatnonzero(pairs.known.any(axis=(0, 1, 3))):
        second = expit(curves.slope[p][:, None] * pairs.score[p] + curves.shift[p][:, None])
        looks = 1 - second, second
        for truth, rate in ((0, grid.r0), (1, grid.r1)):
            for label in (0, 1):
                at_random = (rate if label != truth else 1 - rate)[:, None]
                chance = (1 - _BY_LOOK) * at_random + _BY_LOOK * looks[label]
                found[p] += np.log(np.maximum(chance, 1e-300)) @ pairs.known[truth, label, p]
    return found


def _calibrate_many(
    L: FloatArray, index: IntArray, mass: FloatArray, right: IntArray
) -> tuple[Pairs, Calibration, Start]:
    """Return the pairs, the plain calibration, and where a calibration with some noise ends."""
    z = (L - L.mean(axis=1, keepdims=True))[None]
    best = np.where(right < 0, index, right)
    plain = calibrate(z, best, mass, pull=PULL)
    robust = calibrate(z, best, mass, noise=ASSUMED_NOISE, pull=PULL)
    pairs = count_pairs(L, robust.probabilities, index, mass, right)
    shift = robust.shift[pairs.second] - robust.shift[pairs.first]
    return pairs, plain, Start(max(float(robust.slopes[0]), SMALLEST_SLOPE), shift)


def _calibrate_two(
    L: FloatArray, index: IntArray, mass: FloatArray, right: IntArray
) -> tuple[Pairs, Calibration, Start]:
    """Return the same for two classes: both calibrations are curves of the only pair."""
    pairs = count_pairs(L, np.ones_like(L), index, mass, right, fewest=0)
    spread, start = (PULL * mass.sum()) ** -0.5, Start(1.0, np.zeros(1))
    found = []
    for rate in (0.0, ASSUMED_NOISE / 2):
        rates = np.array([rate])
        found.append(fit_curves(pairs, rates, rates, np.ones(1), spread, start))
        start = Start(float(found[-1].slope[0, 0]), found[-1].shift[0])
    slope, shift, value = (part[0, 0] for part in found[0])
    p = expit(slope * (L[:, 1] - L[:, 0]) + shift)
    both = np.column_stack([1 - p, p])
    plain = Calibration(np.array([slope]), np.array([-shift, shift]) / 2, float(value), both)
    return pairs, plain, start


class Weights(NamedTuple):
    """How much each explanation counts."""

    evidence: float
    of_rate: FloatArray
    """Of each common rate."""
    of_pair: FloatArray
    """Of each point of the grid, for each pair: shape (pairs, points)."""
    given_rate: FloatArray
    """The probability that a pair conforms, for each common rate: shape (pairs, rates)."""
    free: FloatArray
    """Of each deviating point, if a pair deviates: shape (pairs, points)."""


def _weigh(grid: Rates, D: FloatArray) -> Weights:
    """Return the weights of all explanations, from log-likelihoods relative to no wrong label."""
    n_common = len(grid.common)
    common, free = D[:, :n_common], D[:, n_common:]
    own = logsumexp(grid.log_prior_free + free, axis=1, keepdims=True) if len(D) else free[:, :1]
    mix = np.logaddexp(grid.log_conforms + common, grid.log_deviates + own)
    total = grid.log_prior + mix.sum(axis=0)
    null = float(grid.log_prior[0] + len(D) * grid.log_conforms)
    whole = float(logsumexp(total))
    some = whole + np.log(-np.expm1(min(null - whole, -1e-300)))
    evidence = float(some - np.log(-np.expm1(null))) - BY_CHANCE
    of_rate = np.exp(total - whole)
    conforms = np.exp(grid.log_conforms + common - mix)
    inside = np.exp(grid.log_prior_free + free - own)
    deviates = ((1 - conforms) * of_rate).sum(axis=1, keepdims=True)
    of_pair = np.concatenate([conforms * of_rate, deviates * inside], axis=1)
    return Weights(evidence, of_rate, of_pair, conforms, inside)


def _log_odds(
    L: FloatArray,
    index: IntArray,
    pairs: Pairs,
    curves: Curves,
    grid: Rates,
    weight: FloatArray,
) -> FloatArray:
    """Return the log odds that each label is wrong: the odds of all other classes together."""
    odds = np.zeros(len(L))
    members = [np.flatnonzero(index == j) for j in range(L.shape[1])]
    for p, (j, k) in enumerate(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)):
        points = np.flatnonzero(weight[p] > _NEGLIGIBLE)
        W, slope, shift = weight[p][points], curves.slope[p][points], curves.shift[p][points]
        r0, r1 = grid.r0[points], grid.r1[points]
        rows_of = members[j], members[k]
        s_of = [L[rows, k] - L[rows, j] for rows in rows_of]
        everywhere = np.concatenate(s_of)
        at = np.linspace(everywhere.min(), everywhere.max(), _POINTS)
        curve = slope * at[:, None] + shift
        for sign, rows, s, r_in, r_own in (
            (-1.0, rows_of[0], s_of[0], r1, r0),
            (1.0, rows_of[1], s_of[1], r0, r1),
        ):
            with np.errstate(divide="ignore"):
                excess = np.log(r_in / (1 - r_own)) - sign * curve
            log_wrong = logsumexp(log_expit(excess), b=W, axis=1)
            log_right = logsumexp(log_expit(-excess), b=W, axis=1)
            odds[rows] += np.exp(np.interp(s, at, np.maximum(log_wrong - log_right, -700.0)))
    with np.errstate(divide="ignore"):
        return np.log(odds)


def _mean_rates(K: int, pairs: Pairs, grid: Rates, weights: Weights) -> FloatArray:
    rates = np.full((K, K), float(weights.of_rate @ grid.common) / (K - 1))
    rates[pairs.first, pairs.second] = weights.of_pair @ grid.r0
    rates[pairs.second, pairs.first] = weights.of_pair @ grid.r1
    np.fill_diagonal(rates, 0.0)
    np.fill_diagonal(rates, 1 - rates.sum(axis=1))
    return rates


def _main_curve(pairs: Pairs, curves: Curves, grid: Rates, weights: Weights) -> Curve | None:
    """Return the curve of the pair with the most wrong labels, or of the largest one."""
    if not len(pairs.first):
        return None
    size = pairs.mass.sum(axis=(0, 2)) + pairs.known.sum(axis=(0, 1, 3))
    rate = weights.of_pair @ (grid.r0 + grid.r1)
    p = int((rate * size).argmax())
    mass = pairs.mass[:, p].sum(axis=0)
    filled = np.flatnonzero(mass > 0)
    score = pairs.score[p][filled]
    low, high = grid.r0[:, None], 1 - grid.r1[:, None]
    all_curves = low + (high - low) * expit(
        curves.slope[p][:, None] * score + curves.shift[p][:, None]
    )
    return Curve(
        int(pairs.first[p]),
        int(pairs.second[p]),
        score,
        mass[filled],
        pairs.mass[1, p][filled] / mass[filled],
        all_curves[0],
        weights.of_pair[p] @ all_curves,
    )


def _spread_of_counts(
    K: int,
    pairs: Pairs,
    curves: Curves,
    grid: Rates,
    weights: Weights,
    log_odds: FloatArray,
    index: IntArray,
    mass: FloatArray,
) -> FloatArray:
    """Return standard deviations of the number of wrong labels, by the label they have.

    The rates are uncertain, with given rates each label is wrong or not, and no curve is exact.
    `mass` is that of rows that nobody checked; of others it is zero.
    """
    w = expit(log_odds)
    by_chance = np.bincount(index, mass * w * (1 - w), K)
    n_common = len(grid.common)
    mean, within = np.zeros((K, n_common)), np.zeros((K, n_common))
    for p in range(len(pairs.first)):
        t = curves.slope[p][:, None] * pairs.score[p] + curves.shift[p][:, None]
        for label, sign, r_in, r_own, counted in (
            (pairs.first[p], -1.0, grid.r1, grid.r0, pairs.mass[0, p]),
            (pairs.second[p], 1.0, grid.r0, grid.r1, pairs.mass[1, p]),
        ):
            with np.errstate(divide="ignore"):
                count = expit(np.log(r_in / (1 - r_own))[:, None] - sign * t) @ counted
            common, free = count[:n_common], count[n_common:]
            conforms = weights.given_rate[p]
            m_free = float(weights.free[p] @ free)
            s_free = float(weights.free[p] @ free**2)
            expected = conforms * common + (1 - conforms) * m_free
            mean[label] += expected
            within[label] += conforms * common**2 + (1 - conforms) * s_free - expected**2
    average = mean @ weights.of_rate
    between = (mean - average[:, None]) ** 2
    inexact = (MISFIT * np.bincount(index, mass * w, K)) ** 2
    variance = np.maximum((within + between) @ weights.of_rate + by_chance, 0.0) + inexact
    return np.asarray(np.sqrt(variance))
