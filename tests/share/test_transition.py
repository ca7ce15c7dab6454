"""Rates of several classes: planted matrices, pairs that stand out, and conversions to shares."""

import numpy as np
import pytest

from sorr.share.intervals import true_mass, wrong_mass
from sorr.share.transition import fit_transition


def draw(matrix, n=6000, seed=0, sharpness=4.0):
    rng = np.random.default_rng(seed)
    K = len(matrix)
    scores = sharpness * rng.normal(size=(n, K))
    true = (scores + rng.gumbel(size=(n, K))).argmax(axis=1)
    label = (rng.random(n)[:, None] > np.cumsum(matrix, axis=1)[true]).sum(axis=1)
    return scores, label, true


def even(K, rate):
    matrix = np.full((K, K), rate / (K - 1))
    np.fill_diagonal(matrix, 1 - rate)
    return matrix


@pytest.mark.parametrize("rate", [0.0, 0.2])
def test_an_even_matrix_is_recovered(rate):
    scores, label, _ = draw(even(4, rate))
    fit = fit_transition(0.5 * scores, label, np.ones(len(label)))
    np.testing.assert_allclose(fit.matrix, even(4, rate), atol=0.02)
    np.testing.assert_allclose(fit.matrix.sum(axis=1), 1)
    assert fit.slope == pytest.approx(2.0, rel=0.1)


def test_a_pair_of_classes_stands_out():
    matrix = np.eye(5)
    matrix[1, 3], matrix[1, 1] = 0.25, 0.75
    scores, label, true = draw(matrix, sharpness=10.0)
    fit = fit_transition(scores, label, np.ones(len(label)))
    assert np.argwhere(fit.apart).tolist() == [[1, 3]]
    assert fit.matrix[1, 3] == pytest.approx(0.25, abs=0.04)
    wrong = fit.wrong(scores, label)
    assert wrong[label != true].mean() > 0.8
    assert wrong.sum() == pytest.approx((label != true).sum(), rel=0.15)


def test_few_rows_of_many_rows_do():
    scores, label, _ = draw(even(4, 0.2), n=12_000)
    mass = np.ones(len(label))
    fits = [fit_transition(scores, label, mass, np.random.default_rng(0)) for _ in range(2)]
    np.testing.assert_array_equal(fits[0].matrix, fits[1].matrix)
    np.testing.assert_allclose(fits[0].matrix, even(4, 0.2), atol=0.04)


def test_labels_and_rates_give_the_true_mass_and_what_is_wrong():
    rng = np.random.default_rng(0)
    matrix = 0.3 * rng.dirichlet(np.ones(3), size=3) + 0.7 * np.eye(3)
    true = np.array([50.0, 30.0, 20.0])
    np.testing.assert_allclose(true_mass(matrix, true @ matrix), true)
    flow = true[:, None] * matrix
    np.testing.assert_allclose(
        wrong_mass(matrix, true @ matrix), (flow - np.diag(np.diag(flow))).sum(0)
    )
