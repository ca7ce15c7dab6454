"""Rates and posteriors against referees: optimisers of SciPy, enumeration, and Bayes' rule."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logsumexp, softmax
from sklearn.linear_model import LogisticRegression

from sorr import judge_labels
from sorr.share.constants import ASSUMED_NOISE, BY_CHANCE, NO_NOISE, PULL, SPREAD_OF_TWO
from sorr.share.posterior import (
    Curves,
    Pairs,
    Rates,
    Start,
    _log_flips,
    _log_odds,
    _weigh,
    calibrate,
    count_pairs,
    fit_curves,
    posterior,
)
from tests.share import simulate
from tests.slow import examples, slow

# -- Calibration -----------------------------------------------------------------------------------


def centred(P):
    L = np.log(P)
    return L - L.mean(axis=1, keepdims=True)


def test_the_calibration_of_two_classes_is_logistic_regression():
    P, y, _ = simulate.labelled(800, rate=0.1)
    found = calibrate(centred(P)[None], y, np.ones(800), pull=1e-12)
    score = np.log(P[:, 1] / P[:, 0])
    peer = LogisticRegression(C=np.inf, tol=1e-10).fit(score[:, None], y)
    assert_allclose(found.slopes, peer.coef_[0], rtol=1e-3)
    assert_allclose(found.shift[1] - found.shift[0], peer.intercept_[0], rtol=1e-3)
    assert_allclose(found.probabilities, peer.predict_proba(score[:, None]), atol=1e-4)


@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize("n_models", [1, 2])
def test_the_calibration_of_three_classes_has_the_largest_likelihood(noise, n_models):
    P, y, _ = simulate.labelled(400, K=3, rate=0.1, scale=2.0)
    rng = np.random.default_rng(0)
    mass = rng.uniform(0.5, 2.0, size=400)
    scores = np.array([centred(P), centred(softmax(centred(P) + rng.normal(size=P.shape), 1))])
    scores = scores[:n_models]
    pull, towards = 1e-3, 0.7

    def loss(theta):
        raw = np.tensordot(theta[:n_models], scores, 1) + theta[n_models:]
        p = softmax(raw, axis=1)[np.arange(400), y]
        away = theta - np.append(np.full(n_models, towards), np.zeros(3))
        return -mass @ np.log((1 - noise) * p + noise / 3) + pull * mass.sum() / 2 * away @ away

    best = min(
        (minimize(loss, start, method="BFGS") for start in rng.normal(size=(4, n_models + 3))),
        key=lambda result: result.fun,
    )
    found = calibrate(scores, y, mass, noise=noise, pull=pull, towards=towards)
    theta = np.append(found.slopes, found.shift)
    assert loss(theta) <= best.fun + 1e-4
    assert_allclose(theta, best.x, atol=2e-3)
    raw = np.tensordot(found.slopes, scores, 1) + found.shift
    assert_allclose(found.probabilities, softmax(raw, axis=1), rtol=1e-9)


def test_scores_that_contradict_the_labels_are_left_out():
    P, y, _ = simulate.labelled(600, K=3, rate=0.0)
    rng = np.random.default_rng(0)
    good = centred(P) + rng.normal(0, 2, size=P.shape)
    bad = -centred(P) + rng.normal(0, 2, size=P.shape)
    both = calibrate(np.array([good, bad]), y, np.ones(600), pull=1e-6)
    alone = calibrate(good[None], y, np.ones(600), pull=1e-6)
    assert_allclose(both.probabilities, alone.probabilities)
    assert both.slopes[1] == 0


# -- Curves ----------------------------------------------------------------------------------------


def random_pairs(seed, rare=False, n_known=0):
    """Return two pairs of classes with counts in few bins, drawn at random; some rows are known."""
    rng = np.random.default_rng(seed)
    score = np.sort(rng.normal(0, 4, size=(2, 60)), axis=1)
    share = 0.02 + 0.9 * expit(rng.uniform(0.4, 1.5, (2, 1)) * score - (5.0 if rare else 0.5))
    total = rng.integers(0, 40, size=(2, 60)).astype(float)
    second = rng.binomial(total.astype(int), share)
    mass = np.array([total - second, second], dtype=float)
    known = np.zeros((2, 2, 2, 60))
    np.add.at(known, tuple(rng.integers([[2], [2], [2], [60]], size=(4, n_known))), 1.0)
    return Pairs(np.array([0, 0]), np.array([1, 2]), score, mass, known)


@pytest.mark.parametrize("n_known", [0, 40])
@pytest.mark.parametrize("rare", [False, True])
@pytest.mark.parametrize("seed", [0, *slow(1, 2)])
def test_each_curve_has_the_largest_likelihood(seed, rare, n_known):
    pairs = random_pairs(seed, rare, n_known)
    r0 = np.array([0.0, 0.01, 0.05, 0.0, 0.03])
    r1 = np.array([0.0, 0.01, 0.05, 0.1, 0.08])
    reference, spread = np.array([0.5, 1.0, 1.0, 1.0, 1.0]), 1.0
    start = Start(1.0, np.zeros(2))
    found = fit_curves(pairs, r0, r1, reference, spread, start)

    def loss(theta, p, g):
        second = expit(np.exp(theta[0]) * pairs.score[p] + theta[1])
        q = np.clip(r0[g] + (1 - r0[g] - r1[g]) * second, 1e-15, 1 - 1e-15)
        away = ((theta[0] - np.log(reference[g])) ** 2 + theta[1] ** 2) / spread**2
        value = pairs.mass[1, p] @ np.log(q) + pairs.mass[0, p] @ np.log1p(-q)
        for by_label, share in zip(pairs.known[:, :, p], (1 - second, second), strict=True):
            value += by_label.sum(axis=0) @ np.log(np.maximum(share, 1e-300))
        return -value + away / 2

    starts = [(0.0, 0.0), (-1.5, -2.0), (1.0, 1.0), (0.0, -4.0)]
    for p, g in product(range(2), range(5)):
        theta = np.array([np.log(found.slope[p, g]), found.shift[p, g]])
        assert_allclose(-loss(theta, p, g), found.value[p, g], rtol=1e-9)
        best = min(minimize(loss, at, (p, g), method="Nelder-Mead").fun for at in starts)
        if found.value[p, g] > found.value[p].max() - 50:  # others have no weight
            assert found.value[p, g] >= -best - 1e-3  # nats: weights move by a thousandth


def test_how_many_pairs_are_fitted_at_a_time_changes_nothing():
    several = [random_pairs(seed, n_known=5) for seed in range(12)]
    pairs = Pairs(
        *(
            np.concatenate(
                [getattr(one, name) for one in several], {"mass": 1, "known": 2}.get(name, 0)
            )
            for name in Pairs._fields
        )
    )
    rates = np.repeat(np.linspace(0, 0.3, 7), 20)
    ones = np.ones(len(rates))
    whole = fit_curves(pairs, rates, rates, ones, 1.0, Start(1.0, np.zeros(24)))
    part = fit_curves(several[-1], rates, rates, ones, 1.0, Start(1.0, np.zeros(2)))
    assert_allclose(whole.value[-2:], part.value, rtol=1e-12)


def test_bins_hold_every_row_once_and_equal_scores_together():
    rng = np.random.default_rng(0)
    L = log_softmax(np.round(rng.normal(0, 3, size=(500, 2)), 1), axis=1)
    index, mass = rng.integers(2, size=500), rng.uniform(0.5, 2, size=500)
    right = np.where(rng.random(500) < 0.1, rng.integers(2, size=500), -1)
    known = right >= 0
    pairs = count_pairs(L, np.ones_like(L), index, mass, right, fewest=0)
    for j in range(2):
        assert_allclose(pairs.mass[j].sum(), mass[~known & (index == j)].sum())
        for k in range(2):
            assert_allclose(pairs.known[j, k].sum(), mass[(right == j) & (index == k)].sum())
    filled = pairs.mass.sum(axis=(0, 1)) + pairs.known.sum(axis=(0, 1, 2)) > 0
    assert (np.diff(pairs.score[0][filled]) > 0).all()
    twice = np.tile(np.arange(500), 2)
    again = count_pairs(
        L[twice], np.ones((1000, 2)), index[twice], mass[twice] / 2, right[twice], fewest=0
    )
    for one, other in zip(pairs[2:], again[2:], strict=True):
        assert_allclose(other, one, atol=1e-9)


def test_a_pair_needs_rows_of_both_labels_that_are_near_it():
    L = np.log(simulate.probabilities(300, K=3))
    index = L.argmax(axis=1)
    index[index == 2] = 1  # nobody is labelled 2
    nobody = np.full(300, -1)
    pairs = count_pairs(L, np.exp(L), index, np.ones(300), nobody)
    assert_array_equal(pairs.first, [0])
    assert_array_equal(pairs.second, [1])
    near = np.exp(L[:, 0]) + np.exp(L[:, 1]) > 0.5
    assert pairs.mass.sum() == near.sum()
    few = count_pairs(L, np.exp(L), index, np.full(300, 0.05), nobody)  # too few in mass
    assert len(few.first) == 0


def test_a_known_row_belongs_to_the_pair_of_its_label_and_its_true_class():
    P, y, _ = simulate.labelled(600, K=3, rate=0.0, scale=1.0)
    L, near = np.log(P), np.ones_like(P)  # every row is near every pair
    right = np.full(600, -1)
    row = np.flatnonzero(y == 0)[0]
    none = count_pairs(L, near, y, np.ones(600), right)
    right[row] = 2
    found = count_pairs(L, near, y, np.ones(600), right)
    assert list(zip(found.first, found.second, strict=True)) == [(0, 1), (0, 2), (1, 2)]
    assert_array_equal(found.known[:, :, 1].sum(axis=2), [[0, 0], [1, 0]])
    assert found.known.sum() == 1
    assert_array_equal(none.mass.sum(axis=(0, 2)) - found.mass.sum(axis=(0, 2)), [1, 1, 0])


# -- The hierarchy of rates ------------------------------------------------------------------------


def small_grid(n_common, n_free, rng, deviates):
    """Return a grid with few points, so that all explanations can be listed."""
    log_prior = log_softmax(rng.normal(size=n_common))
    log_free = log_softmax(rng.normal(size=n_free))
    common = np.append(0.0, rng.uniform(0.01, 0.2, size=n_common - 1))
    r0 = np.append(common, rng.uniform(0, 0.3, size=n_free))
    r1 = np.append(common, rng.uniform(0, 0.3, size=n_free))
    return Rates(common, log_prior, r0, r1, log_free, np.log(deviates), np.log1p(-deviates))


@pytest.mark.parametrize("n_pairs", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_evidence_and_weights_are_those_of_all_explanations_listed_one_by_one(n_pairs, seed):
    rng = np.random.default_rng(seed)
    n_common, n_free, deviates = 4, 5, 0.3
    grid = small_grid(n_common, n_free, rng, deviates)
    D = rng.normal(0, 2, size=(n_pairs, n_common + n_free))
    D[:, 0] = 0.0  # log-likelihoods are relative to no wrong label
    prior, likelihood = {}, {}
    for rate in range(n_common):
        for choice in product([None, *range(n_free)], repeat=n_pairs):
            weight, value = np.exp(grid.log_prior[rate]), 1.0
            for p, free in enumerate(choice):
                at = rate if free is None else n_common + free
                weight *= (
                    1 - deviates if free is None else deviates * np.exp(grid.log_prior_free[free])
                )
                value *= np.exp(D[p, at])
            prior[rate, choice], likelihood[rate, choice] = weight, value
    assert_allclose(sum(prior.values()), 1)
    none = (0, (None,) * n_pairs)
    total = sum(prior[key] * likelihood[key] for key in prior)
    some = (total - prior[none] * likelihood[none]) / (1 - prior[none])
    found = _weigh(grid, D)
    assert_allclose(found.evidence, np.log(some / likelihood[none]) - BY_CHANCE)
    for rate in range(n_common):
        mine = sum(prior[key] * likelihood[key] for key in prior if key[0] == rate)
        assert_allclose(found.of_rate[rate], mine / total)
    for p in range(n_pairs):
        for at in range(n_common + n_free):
            mine = sum(
                prior[rate, choice] * likelihood[rate, choice]
                for rate, choice in prior
                if (rate if choice[p] is None else n_common + choice[p]) == at
            )
            assert_allclose(found.of_pair[p, at], mine / total)


@pytest.mark.parametrize("K", [2, 3, 4, 10])
def test_the_grid_of_rates_has_a_prior_that_adds_up(K):
    grid = Rates.for_classes(K)
    assert_allclose(logsumexp(grid.log_prior), 0, atol=1e-12)
    assert_allclose(logsumexp(grid.log_prior_free), 0, atol=1e-12)
    assert_allclose(np.exp(grid.log_deviates) + np.exp(grid.log_conforms), 1)
    n = len(grid.common)
    assert_allclose(grid.r0[:n], grid.common / (K - 1))
    assert_array_equal(grid.r0[:n], grid.r1[:n])
    assert (grid.r0[n:] != grid.r1[n:]).all()
    assert (grid.r0 + grid.r1).max() < 1
    backwards = {(b, a) for a, b in zip(grid.r0[n:], grid.r1[n:], strict=True)}
    assert backwards == set(zip(grid.r0[n:], grid.r1[n:], strict=True))
    if K == 2:
        assert_allclose(np.exp(grid.log_prior[0] + grid.log_conforms), NO_NOISE)


def test_nothing_but_the_null_leaves_no_evidence():
    grid = Rates.for_classes(3)
    D = np.full((3, len(grid.r0)), -1e4)
    D[:, 0] = 0.0
    found = _weigh(grid, D)
    assert found.evidence < -1.0
    assert_allclose(found.of_rate[0], 1)


# -- The posterior of a row ------------------------------------------------------------------------


def bayes(label, t, r0, r1):
    """Return the probability that a label of a pair is wrong, by Bayes' rule."""
    prior = 1 - expit(t), expit(t)  # of the true class
    chance = (1 - r0, r0), (r1, 1 - r1)  # from true class (rows) to label
    joint = [prior[true] * chance[true][label] for true in (0, 1)]
    return joint[1 - label] / (joint[0] + joint[1])


def test_the_posterior_of_a_row_is_bayes_rule_averaged_over_explanations():
    rng = np.random.default_rng(0)
    K, n = 3, 120
    L, index = log_softmax(rng.normal(0, 3, (n, K)), axis=1), rng.integers(K, size=n)
    grid = small_grid(3, 4, rng, 0.3)
    points = len(grid.r0)
    first, second = np.array([0, 0, 1]), np.array([1, 2, 2])
    nothing = np.empty((2, 3, 0)), np.empty((2, 2, 3, 0))
    pairs = Pairs(first, second, np.empty((3, 0)), *nothing)
    slope, shift = rng.uniform(0.5, 2, (3, points)), rng.normal(size=(3, points))
    weight = rng.dirichlet(np.ones(points), size=3)
    found = _log_odds(L, index, pairs, Curves(slope, shift, shift), grid, weight)
    for i in range(n):
        odds = 0.0
        for p, (j, k) in enumerate([(0, 1), (0, 2), (1, 2)]):
            if index[i] not in (j, k):
                continue
            t = slope[p] * (L[i, k] - L[i, j]) + shift[p]
            label = int(index[i] == k)
            each = [bayes(label, t[g], grid.r0[g], grid.r1[g]) for g in range(points)]
            w = weight[p] @ each
            odds += w / (1 - w)
        assert_allclose(expit(found[i]), odds / (1 + odds), atol=2e-4)  # interpolated


def recipe_without_bins(P, y, mass, right=None):
    """Return evidence and posteriors of two classes, each curve fitted to rows and not to bins.

    Of a row that is not known, the label is likely, whatever the true class. Of a known one the
    true class is, and then its label: by the rates, or drawn from what the row looks like.
    """
    s, n = np.log(P[:, 1] / P[:, 0]), mass.sum()
    right = np.full(len(y), -1) if right is None else right
    known = right >= 0

    def best(r0, r1, reference, spread, start):
        chance = np.array([[1 - r0, r0], [r1, 1 - r1]])  # from true class (rows) to label
        of_first, of_second = (np.where(known, right == true, chance[true, y]) for true in (0, 1))

        def loss(theta):
            p = expit(np.exp(theta[0]) * s + theta[1])
            joint = np.maximum(of_first * (1 - p) + of_second * p, 1e-300)
            away = np.array([theta[0] - np.log(reference), theta[1]]) / spread
            pull = mass * (of_second - of_first) * p * (1 - p) / joint
            gradient = np.array([pull @ (np.exp(theta[0]) * s), pull.sum()])
            return -(mass @ np.log(joint)) + away @ away / 2, away / spread - gradient

        found = minimize(loss, start, jac=True, method="BFGS")
        p = expit(np.exp(found.x[0]) * s + found.x[1])
        looks = np.where(y == 1, p, 1 - p)
        labels = np.log(0.8 * chance[right, y] + 0.2 * looks) @ (mass * known)
        return found.x, -found.fun + labels

    wide = (PULL * n) ** -0.5
    plain, _ = best(0, 0, 1.0, wide, np.zeros(2))
    robust, _ = best(ASSUMED_NOISE / 2, ASSUMED_NOISE / 2, 1.0, wide, plain)
    grid = Rates.for_classes(2)
    found = [
        best(r0, r1, np.exp((robust if g else plain)[0]), SPREAD_OF_TWO, robust)
        for g, (r0, r1) in enumerate(zip(grid.r0, grid.r1, strict=True))
    ]
    value = np.array([each[1] for each in found])
    D = value - value[0]
    common = len(grid.common)
    log_prior = np.append(
        grid.log_prior + grid.log_conforms, grid.log_prior_free + grid.log_deviates
    )
    joint = log_prior + D
    rest = np.delete(joint, 0)
    evidence = logsumexp(rest) - logsumexp(np.delete(log_prior, 0)) - BY_CHANCE
    W = softmax(joint)
    w = np.zeros(len(y))
    for g, ((u, c), _) in enumerate(found):
        t = np.exp(u) * s + c
        both = [bayes(label, t, grid.r0[g], grid.r1[g]) for label in (0, 1)]
        w += W[g] * np.where(y == 0, *both)
    assert len(W) > common
    return evidence, w


def rows_of(case):
    """Return probabilities, labels and masses of two classes."""
    rates = {"one class": simulate.one_class(2, 0.15), "clean": np.eye(2)}.get(case)
    P, y, _ = simulate.labelled(400, rate=0.06, rates=rates, seed=3)
    if case == "rare":
        P = softmax(np.log(P) + np.array([0.0, -6.0]), axis=1)
        y = simulate.draw(P, 3)
        y[np.random.default_rng(0).choice(400, 8, replace=False)] = 1
    if case == "weighted":
        return P, y, np.random.default_rng(0).integers(1, 4, 400).astype(float)
    return P, y, np.ones(400)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["clean", "symmetric", "one class", "rare", "weighted"])
def test_two_classes_are_judged_as_by_the_recipe_without_bins(case, monkeypatch):
    P, y, mass = rows_of(case)
    evidence, w = recipe_without_bins(P, y, mass)
    usual = posterior(np.log(P), y, mass)
    assert_allclose(expit(usual.log_odds), w, atol=0.06)  # bins hold about seven rows
    assert (usual.evidence > 0) == (evidence > 0) == (case != "clean")
    monkeypatch.setattr("sorr.share.posterior.BINS", 1500)
    fine = posterior(np.log(P), y, mass)
    assert_allclose(expit(fine.log_odds), w, atol=2e-3)
    assert_allclose(fine.evidence, evidence, atol=0.1)


def some_known(y, wrong, seed=0, every=8):
    """Return the true classes of some rows of two classes, more of those that are wrong."""
    rng = np.random.default_rng(seed)
    is_known = rng.random(len(y)) < np.where(wrong, 0.5, 1 / every)
    return np.where(is_known, np.where(wrong, 1 - y, y), -1)


@pytest.mark.parametrize("case", ["clean", "symmetric", "one class", "weighted"])
def test_known_rows_are_judged_as_by_listing_what_their_labels_and_true_classes_may_be(
    case, monkeypatch
):
    monkeypatch.setattr("sorr.share.posterior.COMMON_RATES", (0.0, 0.01, 0.06, 0.2))
    monkeypatch.setattr("sorr.share.posterior.FREE_RATES", (0.0, 0.05, 0.2))
    monkeypatch.setattr("sorr.share.posterior.BINS", 1500)
    P, y, mass = rows_of(case)
    rates = {"one class": simulate.one_class(2, 0.15), "clean": np.eye(2)}.get(case)
    wrong = simulate.labelled(400, rate=0.06, rates=rates, seed=3)[2]
    right = some_known(y, wrong)
    evidence, w = recipe_without_bins(P, y, mass, right)
    found = posterior(np.log(P), y, mass, right)
    assert_allclose(expit(found.log_odds), w, atol=2e-3)
    assert_allclose(found.evidence, evidence, atol=0.1)
    plain = posterior(np.log(P), y, mass)
    if case != "clean":
        assert abs(found.evidence - plain.evidence) > 0.5  # what is known matters


def test_known_labels_are_draws_by_the_rates_or_from_what_rows_look_like():
    pairs, grid = random_pairs(0, n_known=9), Rates.for_classes(2)
    points = len(grid.r0)
    rng = np.random.default_rng(0)
    slope, shift = rng.uniform(0.2, 2, (2, points)), rng.normal(size=(2, points))
    found = _log_flips(pairs, Curves(slope, shift, shift), grid)
    for p, g in product(range(2), range(0, points, 7)):
        chance = (1 - grid.r0[g], grid.r0[g]), (grid.r1[g], 1 - grid.r1[g])
        likely = 1.0
        for truth, label, at in product(range(2), range(2), range(60)):
            second = expit(slope[p, g] * pairs.score[p, at] + shift[p, g])
            looks = (1 - second, second)[label]
            likely *= (0.8 * chance[truth][label] + 0.2 * looks) ** pairs.known[truth, label, p, at]
        assert_allclose(np.exp(found[p, g]), likely)


@pytest.mark.parametrize("seed", range(3))
def test_labels_found_wrong_where_classes_overlap_are_no_evidence_of_others_at_random(seed):
    P, y, _ = simulate.labelled(2000, rate=0.0, scale=2.5, seed=seed)
    given = judge_labels(P, y).given_probability_
    rows = np.flatnonzero((given > 0.2) & (given < 0.5))[:15]
    found = judge_labels(P, y, known={int(i): int(1 - y[i]) for i in rows})
    assert not found.has_evidence
    assert not found.flagged_.any()


def test_labels_found_wrong_where_the_model_is_certain_are_evidence():
    P, y, _ = simulate.labelled(2000, rate=0.0, scale=4.0)
    sure = np.flatnonzero(P[np.arange(2000), y] > 0.999)
    y[sure[:3]] = 1 - y[sure[:3]]
    plain = judge_labels(P, y)
    found = judge_labels(P, y, known={int(i): int(1 - y[i]) for i in sure[:3]})
    assert found.evidence_ > plain.evidence_ + 3


# -- Laws ------------------------------------------------------------------------------------------


@st.composite
def judged_rows(draw, most_classes=3):
    """Return probabilities and labels, many of them alike, some wrong."""
    K = draw(st.integers(2, most_classes))
    n = draw(st.integers(60, 160))
    seed = draw(st.integers(0, 2**16))
    rate = draw(st.sampled_from([0.0, 0.05, 0.2]))
    P, y, _ = simulate.labelled(n, K, rate, draw(st.sampled_from([1.0, 4.0, 10.0])), seed)
    if draw(st.booleans()):
        P = np.round(P, 3) + 1e-4
        P /= P.sum(axis=1, keepdims=True)
    y[:K] = np.arange(K)
    return P, y, np.random.default_rng(seed)


few = settings(max_examples=examples(18, 3))


def same(one, other, rows=slice(None), atol=1e-6):
    assert_allclose(other.wrong_, one.wrong_[rows], atol=atol)
    if np.isfinite(one.evidence_):
        assert_allclose(other.evidence_, one.evidence_, atol=max(1e-5, 10 * atol))
    else:
        assert other.evidence_ == one.evidence_


@few
@given(judged_rows())
def test_the_order_of_rows_changes_nothing(case):
    P, y, rng = case
    order = rng.permutation(len(y))
    one, other = judge_labels(P, y), judge_labels(P[order], y[order])
    same(one, other, order)
    assert_allclose(other.count_, one.count_, atol=1e-4)


@few
@given(judged_rows())
def test_the_order_of_classes_changes_nothing(case):
    P, y, rng = case
    order = rng.permutation(P.shape[1])
    one, other = judge_labels(P, y), judge_labels(P[:, order], y, classes=order)
    same(one, other)
    assert_allclose(other.rates_, one.rates_[np.ix_(order, order)], atol=1e-5)
    best = np.where(np.arange(len(order)) == y[:, None], -1, P).max(axis=1)
    assert_array_equal(P[np.arange(len(y)), other.suggested_], best)  # the first of equals


@few
@given(judged_rows())
def test_names_of_classes_change_nothing(case):
    P, y, _ = case
    names = np.array(["delta", "alpha", "charlie", "bravo"])[: P.shape[1]]
    one, other = judge_labels(P, y), judge_labels(P, names[y], classes=names)
    assert_array_equal(other.wrong_, one.wrong_)
    assert_array_equal(other.suggested_, names[one.suggested_])


@few
@given(judged_rows(most_classes=2))
def test_whole_weights_are_copies(case):
    P, y, rng = case
    weight = rng.integers(1, 4, size=len(y))
    copies = np.repeat(np.arange(len(y)), weight)
    one = judge_labels(P, y, sample_weight=weight)
    other = judge_labels(P[copies], y[copies])
    same(one, other, copies)
    assert_allclose(other.count_, one.count_, rtol=1e-5, atol=1e-5)
    assert_allclose(other.count_interval_, one.count_interval_, rtol=1e-4, atol=1e-4)


@few
@given(judged_rows(most_classes=2))
def test_rows_without_weight_do_not_count(case):
    P, y, rng = case
    weight = np.ones(len(y))
    weight[P.shape[1] :] = rng.random(len(y) - P.shape[1]) > 0.1
    counted = weight > 0
    one = judge_labels(P, y, sample_weight=weight)
    other = judge_labels(P[counted], y[counted])
    same(one, other, counted, atol=1e-4)  # posteriors are interpolated over all rows


@few
@given(judged_rows())
def test_a_constant_added_to_the_scores_of_a_row_changes_nothing(case):
    P, y, rng = case
    shift = rng.normal(0, 10, size=(len(y), 1))
    one = judge_labels(np.log(P), y, scores=True)
    other = judge_labels(np.log(P) + shift, y, scores=True)
    same(one, other)


def draw_known(P, y, rng):
    """Return the right labels of about a quarter of the rows, most of them as given."""
    rows = np.flatnonzero(rng.random(len(y)) < 0.25)
    other = rng.integers(P.shape[1], size=len(y))
    return {int(i): int(y[i] if rng.random() < 0.6 else other[i]) for i in rows}


@few
@given(judged_rows())
def test_nothing_known_changes_no_bit(case):
    P, y, _ = case
    L, mass = np.log(P), np.ones(len(y))
    one, other = posterior(L, y, mass), posterior(L, y, mass, np.full(len(y), -1))
    assert one.evidence == other.evidence
    for name in ("log_odds", "calibrated", "rates", "spread"):
        assert_array_equal(getattr(other, name), getattr(one, name))


@pytest.mark.slow
@few
@given(judged_rows())
def test_the_order_of_known_rows_changes_no_bit(case):
    P, y, rng = case
    known = draw_known(P, y, rng)
    one = judge_labels(P, y, known=known)
    for other in (
        judge_labels(P, y, known=dict(reversed(known.items()))),
        judge_labels(P, y, known=[known.get(i) for i in range(len(y))]),
    ):
        assert_array_equal(other.score_, one.score_)
        assert other.evidence_ == one.evidence_


@pytest.mark.slow
@few
@given(judged_rows())
def test_the_order_of_rows_and_classes_changes_nothing_if_some_are_known(case):
    P, y, rng = case
    known = draw_known(P, y, rng)
    one = judge_labels(P, y, known=known)
    order, classes = rng.permutation(len(y)), rng.permutation(P.shape[1])
    moved = {new: known[old] for new, old in enumerate(order.tolist()) if old in known}
    other = judge_labels(P[order][:, classes], y[order], classes=classes, known=moved)
    same(one, other, order)


@pytest.mark.slow
@few
@given(judged_rows(most_classes=2))
def test_whole_weights_are_copies_of_known_rows_too(case):
    P, y, rng = case
    known, weight = draw_known(P, y, rng), rng.integers(1, 4, size=len(y))
    copies = np.repeat(np.arange(len(y)), weight)
    of_copies = {new: known[old] for new, old in enumerate(copies.tolist()) if old in known}
    one = judge_labels(P, y, sample_weight=weight, known=known)
    other = judge_labels(P[copies], y[copies], known=of_copies)
    same(one, other, copies)
    assert_allclose(other.look_share_, one.look_share_)
    assert_allclose(other.count_interval_, one.count_interval_, rtol=1e-4, atol=1e-4)


@few
@given(judged_rows())
def test_every_row_may_be_known(case):
    P, y, rng = case
    right = np.where(rng.random(len(y)) < 0.1, rng.integers(P.shape[1], size=len(y)), y)
    found = judge_labels(P, y, known=right)
    assert_array_equal(found.wrong_, right != y)
    assert not found.tier_.any()
    assert np.isfinite(found.rates_).all()
    assert_allclose(found.count_.sum(), (right != y).sum())


@few
@given(judged_rows(), st.sampled_from([0.5, 2.0]))
def test_probabilities_squared_or_rooted_are_judged_alike(case, power):
    P, y, _ = case
    one = judge_labels(np.log(P), y, scores=True)
    other = judge_labels(power * np.log(P), y, scores=True)
    if abs(one.evidence_) > 1:
        assert_array_equal(one.has_evidence, other.has_evidence)
        assert (one.flagged_ != other.flagged_).mean() <= 0.03


# -- What it finds ---------------------------------------------------------------------------------


@pytest.mark.parametrize("K", [2, 3, 5])
@pytest.mark.parametrize("n", [60, 500, *slow(5000)])
def test_probabilities_without_information_give_no_evidence(n, K):
    rng = np.random.default_rng(n + K)
    y = np.append(np.arange(K), rng.integers(K, size=n - K))
    constant = judge_labels(np.tile(rng.dirichlet(np.ones(K)), (n, 1)), y)
    for found in (constant, judge_labels(rng.dirichlet(np.ones(K), n), y)):
        assert not found.has_evidence
        assert not found.flagged_.any()
        assert found.count_.sum() == 0
    assert not constant.can_judge


@pytest.mark.parametrize("n", [200, 2000])
@pytest.mark.parametrize("K", [2, 3])
def test_hard_predictions_give_no_evidence_out_of_nothing(n, K):
    P, y, _ = simulate.labelled(n, K, rate=0.0)
    hard = np.eye(K)[P.argmax(axis=1)] * (1 - 2e-3) + 2e-3 / K
    assert not judge_labels(hard, y).has_evidence


RATES = {
    "symmetric, 2 classes": simulate.symmetric(2, 0.1),
    "one of 2 classes": simulate.one_class(2, 0.2),
    "symmetric, 3 classes": simulate.symmetric(3, 0.12),
    "one of 3 classes": simulate.one_class(3, 0.2),
}


@pytest.mark.parametrize(
    "name",
    ["one of 2 classes", "symmetric, 3 classes", *slow("symmetric, 2 classes", "one of 3 classes")],
)
def test_rates_get_closer_as_rows_grow(name):
    rates = RATES[name]
    K = len(rates)

    def error(n, draws):
        found = [
            judge_labels(*simulate.labelled(n, K, rates=rates, scale=5.0, seed=seed)[:2]).rates_
            for seed in range(draws)
        ]
        return np.mean([np.abs(each - rates).max() for each in found])

    few, many = error(300, 6), error(10_000, 2)
    assert many < 0.7 * few
    assert many < 0.03


@pytest.mark.parametrize("name", RATES)
def test_the_posterior_says_how_many_of_its_rows_are_wrong(name):
    rates = RATES[name]
    P, y, wrong = simulate.labelled(10_000, len(rates), rates=rates, scale=5.0)
    found = judge_labels(P, y)
    assert found.verdict_ == "strong"
    for low, high in ((0.0, 0.1), (0.1, 0.5), (0.5, 0.9), (0.9, 1.0)):
        inside = (found.wrong_ >= low) & (found.wrong_ <= high)
        assert inside.sum() > 30
        assert abs(found.wrong_[inside].mean() - wrong[inside].mean()) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_a_suspect_found_wrong_makes_similar_rows_more_suspect_and_one_found_right_less(K, seed):
    P, y, _ = simulate.labelled(1200, K, rate=0.08, scale=4.0, seed=seed)
    plain = judge_labels(P, y)
    suspects = np.flatnonzero((plain.wrong_ > 0.3) & (plain.wrong_ < 0.9))
    checked, similar = suspects[::2][:15], suspects[1::2]
    others = plain.suggested_[checked]
    found = {
        "wrong": judge_labels(P, y, known=dict(zip(checked.tolist(), others, strict=True))),
        "right": judge_labels(P, y, known=dict(zip(checked.tolist(), y[checked], strict=True))),
    }
    mean = {name: each.wrong_[similar].mean() for name, each in found.items()}
    assert mean["right"] < plain.wrong_[similar].mean() < mean["wrong"]
    assert found["right"].evidence_ < plain.evidence_ < found["wrong"].evidence_


@pytest.mark.slow
@pytest.mark.parametrize("K", [2, 3])
def test_rows_known_at_random_bring_the_rates_closer(K):
    rates, errors = simulate.one_class(K, 0.25), {"plain": [], "known": []}
    for seed in range(8):
        P, y, wrong = simulate.labelled(500, K, rates=rates, scale=2.0, seed=seed)
        truth = np.where(wrong, 1, y)
        rows = np.random.default_rng(seed).choice(500, 150, replace=False)
        known = {int(i): int(truth[i]) for i in rows}
        for name, each in (("plain", None), ("known", known)):
            found = judge_labels(P, y, known=each).rates_
            errors[name].append(np.abs(found - rates).max())
    assert np.mean(errors["known"]) < 0.8 * np.mean(errors["plain"])


@pytest.mark.parametrize("K", [2, *slow(3)])
def test_intervals_of_counts_cover_the_number_of_wrong_labels(K):
    inside, draws = 0, 12
    for seed in range(draws):
        P, y, wrong = simulate.labelled(1000, K, rate=0.08, scale=6.0, seed=seed)
        found = judge_labels(P, y)
        low, high = found.total_interval
        assert low <= found.count_.sum() <= high
        inside += low <= wrong.sum() <= high
        assert (found.count_interval_[:, 0] <= found.count_).all()
        assert (found.count_ <= found.count_interval_[:, 1]).all()
    assert inside >= 0.75 * draws
