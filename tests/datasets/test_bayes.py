"""The Bayes classifier against closed forms, sampling and densities of scipy."""

import pickle

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from sorr.datasets.bayes import BayesClassifier, Gaussian

MIXTURE = BayesClassifier(
    (
        Gaussian(1, 0.5, (0.0, 0.0), 0.7),
        Gaussian(1, 0.1, (2.0, 1.0), 0.4),
        Gaussian(-1, 0.4, (1.0, 2.0), 0.9),
    )
)


@pytest.mark.parametrize("share", [0.5, 0.3, 0.02])
@pytest.mark.parametrize("deviation", [0.2, 1.0])
def test_of_two_equal_gaussians_the_error_is_known(share, deviation):
    distance = 5**0.5  # between the means, in deviations
    bayes = BayesClassifier(
        (
            Gaussian(1, share, (2 * deviation, deviation), deviation),
            Gaussian(-1, 1 - share, (0.0, 0.0), deviation),
        )
    )
    shift = np.log((1 - share) / share) / distance
    expected = share * norm.cdf(shift - distance / 2) + (1 - share) * norm.sf(shift + distance / 2)
    assert bayes.error() == pytest.approx(expected, rel=1e-3)


def test_the_decision_is_the_logarithm_of_the_odds():
    X = np.random.default_rng(0).normal(1.0, 1.5, size=(50, 2))
    density = {1: np.zeros(50), -1: np.zeros(50)}
    for label, share, mean, deviation in MIXTURE.components:
        density[label] += share * multivariate_normal(mean, deviation**2 * np.eye(2)).pdf(X)
    odds = np.log(density[1] / density[-1])
    np.testing.assert_allclose(MIXTURE.decision_function(X), odds, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(MIXTURE.predict(X), np.sign(odds))
    np.testing.assert_array_equal(MIXTURE(X), MIXTURE.predict(X))
    assert set(MIXTURE(X).tolist()) == {-1, 1}


def test_the_error_is_the_share_of_rows_that_are_predicted_wrong():
    rng, n = np.random.default_rng(0), 200_000
    wrong = 0.0
    for label, share, mean, deviation in MIXTURE.components:
        X = rng.normal(mean, deviation, size=(n, 2))
        wrong += share * np.mean(MIXTURE(X) != label)
    # three standard errors of the share of n rows
    assert MIXTURE.error() == pytest.approx(wrong, abs=3 * 0.5 / n**0.5)


def test_far_from_all_centres_the_decision_stays_finite():
    assert np.isfinite(MIXTURE.decision_function([[1e3, 1e3], [-1e3, 0.0]])).all()


def test_it_can_be_sent_to_other_processes():
    assert pickle.loads(pickle.dumps(MIXTURE)) == MIXTURE
