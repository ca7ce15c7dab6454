"""The curve with two asymptotes: derivatives, planted rates, and weights that are copies."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from sorr.share.saturation import Bins, bin_scores, fit_saturation, likelihood


def draw(n, low, high, seed=0, slope=2.0, shift=0.5):
    rng = np.random.default_rng(seed)
    score = 2.5 * rng.normal(size=n)
    one = rng.random(n) < expit(slope * score + shift)
    flipped = rng.random(n) < np.where(one, high, low)
    return score, (one ^ flipped).astype(int), flipped


@pytest.fixture
def bins():
    score, label, _ = draw(2000, 0.1, 0.2)
    return bin_scores(score, label, np.ones(2000))


@pytest.mark.parametrize("at", [(1.0, 0.0, 0.05, 0.2), (2.0, 0.5, 0.1, 0.2), (0.5, -1.0, 0.0, 0.4)])
def test_the_gradient_agrees_with_differences(bins, at):
    at = np.array(at)
    gradient = likelihood(at, bins)[1]
    for i, step in enumerate(1e-6 * np.eye(4)):
        up, down = likelihood(at + step, bins)[0], likelihood(at - step, bins)[0]
        assert gradient[i] == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-4)


def test_the_information_is_the_expected_curvature():
    # With the expected labels in each bin, the expected and the observed information agree.
    at = np.array([1.5, 0.3, 0.1, 0.2])
    score = np.linspace(-3, 3, 60)
    q = at[2] + (1 - at[2] - at[3]) * expit(at[0] * score + at[1])
    bins = Bins(score, 50 * (1 - q), 50 * q)
    information = likelihood(at, bins)[2]
    for i, step in enumerate(1e-5 * np.eye(4)):
        up, down = likelihood(at + step, bins)[1], likelihood(at - step, bins)[1]
        np.testing.assert_allclose(-(up - down) / 2e-5, information[i], rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.1, 0.1), (0.0, 0.3), (0.2, 0.05)])
def test_planted_rates_are_recovered_within_three_errors(rates):
    score, label, flipped = draw(20_000, *rates, seed=1)
    fit = fit_saturation(bin_scores(score, label, np.ones(20_000)))
    assert np.all(np.abs(fit.rates - rates) < 3 * fit.errors + 0.005)
    wrong = fit.wrong(score, label)
    counts = np.bincount(label, wrong)
    assert counts == pytest.approx(np.bincount(label[flipped], minlength=2), abs=250)


def test_the_largest_likelihood_is_that_of_a_general_optimiser(bins):
    best = -min(
        minimize(
            lambda t: -likelihood(t, bins)[0],
            start,
            bounds=[(1e-3, 50), (None, None), (0, 0.49), (0, 0.49)],
        ).fun
        for start in ([1, 0, 0.02, 0.02], [1, 0, 0.2, 0.2])
    )
    assert fit_saturation(bins).log_likelihood == pytest.approx(best, abs=0.01)
    tied = fit_saturation(bins, tied=True)
    assert tied.rates[0] == tied.rates[1]
    assert tied.log_likelihood <= best + 0.01


def test_a_weight_of_two_counts_as_two_copies(bins):
    double = Bins(bins.score, 2 * bins.zeros, 2 * bins.ones)
    at = np.array([1.0, 0.0, 0.05, 0.2])
    for one, two in zip(likelihood(at, bins), likelihood(at, double), strict=True):
        np.testing.assert_allclose(2 * np.asarray(one), two)
    score, label, _ = draw(300, 0.1, 0.2)
    weight = np.random.default_rng(0).integers(1, 4, 300)
    copies = np.repeat(np.arange(300), weight)
    many = bin_scores(score[copies], label[copies], np.ones(len(copies)))
    for one, two in zip(bin_scores(score, label, weight), many, strict=True):
        np.testing.assert_allclose(one, two)


def test_equal_scores_share_a_bin():
    score = np.repeat([0.0, 1.0, 2.0], [500, 400, 100])
    bins = bin_scores(score, np.zeros(1000, dtype=int), np.ones(1000))
    np.testing.assert_array_equal(bins.score, [0, 1, 2])
    np.testing.assert_array_equal(bins.zeros, [500, 400, 100])
