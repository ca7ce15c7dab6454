import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from sorr.losses import LogSumExpPairwise, SigmoidPairwise
from tests.losses.problems import GRID, N_LABELS, difference, scores, targets

LOSS = SigmoidPairwise()
Y, F = targets(LOSS, n=500), scores(LOSS, n=500)


def test_the_values_are_those_of_lsep_at_the_sigmoids():
    expected = []
    for y, f in zip(Y, F, strict=True):
        outputs = 1 / (1 + np.exp(-f))
        pairs = [np.exp(u - v) for u in outputs[~y] for v in outputs[y]]
        expected.append(np.log(1 + sum(pairs)))
    assert_allclose(LOSS.value(Y, F), expected, rtol=1e-12)
    assert_array_equal(LOSS.value(Y, F), LogSumExpPairwise().value(Y, expit(F)))


@pytest.mark.parametrize("choices", [None, GRID], ids=["generic", "ties"])
def test_its_gradient_matches_differences_at_ties_too(choices):
    f = scores(LOSS, n=500, choices=choices)
    slope = difference(lambda point: LOSS.value(Y, point), f, step=1e-5)
    assert_allclose(LOSS.gradient(Y, f), slope, rtol=1e-6, atol=1e-9)


def test_it_is_bounded_and_reaches_its_bounds_where_all_outputs_are_zero_or_one():
    pairs = Y.sum(axis=1) * (~Y).sum(axis=1)
    value = LOSS.value(Y, F)
    assert np.all(value >= np.log1p(pairs * np.exp(-1)) - 1e-12)
    assert np.all(value <= np.log1p(pairs * np.e) + 1e-12)
    assert_allclose(LOSS.value(Y, np.where(Y, 1e3, -1e3)), np.log1p(pairs * np.exp(-1)))
    assert_allclose(LOSS.value(Y, np.where(Y, -1e3, 1e3)), np.log1p(pairs * np.e))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_huge_scores_have_finite_losses_and_no_gradient(dtype):
    huge = np.finfo(dtype).max / 2
    f = np.where(np.random.default_rng(0).random(F.shape) < 0.5, -huge, huge).astype(dtype)
    value, gradient = LOSS.value_and_gradient(Y, f)
    assert np.isfinite(value).all()
    assert_array_equal(gradient, 0)


@pytest.mark.parametrize("fill", [False, True])
def test_samples_with_no_label_or_all_labels_cost_nothing(fill):
    y = np.full((len(F), N_LABELS), fill)
    assert_array_equal(LOSS.value(y, F), 0)
    assert_array_equal(LOSS.gradient(y, F), 0)


def test_permuting_the_labels_permutes_the_gradient():
    order = np.random.default_rng(0).permutation(N_LABELS)
    value, gradient = LOSS.value_and_gradient(Y, F)
    moved, moved_gradient = LOSS.value_and_gradient(Y[:, order], F[:, order])
    assert_allclose(moved, value, rtol=1e-12)
    assert_allclose(moved_gradient, gradient[:, order], rtol=1e-12, atol=1e-15)


def test_where_zero_is_matters_here_and_not_without_the_sigmoid():
    assert_allclose(LogSumExpPairwise().value(Y, F + 4), LogSumExpPairwise().value(Y, F))
    assert np.abs(LOSS.value(Y, F + 4) - LOSS.value(Y, F)).max() > 0.1


def test_small_scores_cost_what_a_quarter_of_them_costs_without_the_sigmoid():
    f = 1e-4 * F
    expected = LogSumExpPairwise().value(Y, f / 4)
    assert_allclose(LOSS.value(Y, f), expected, rtol=1e-9)
