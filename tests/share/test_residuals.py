"""The share of outliers in a regression: right where it can be known, and honest where not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from sorr.share import ResidualRegime, residual_share_of
from sorr.share.plane import Rows, first_plane
from tests.slow import slow


def rows(n=400, d=4, share=0.1, seed=0, errors="normal", leverage=False):
    """Return rows, targets, coefficients, and which targets are 6 to 20 typical errors off."""
    rng = np.random.default_rng(seed)
    X, coef = rng.normal(size=(n, d)), rng.normal(size=d)
    noise = rng.standard_t(3, size=n) if errors == "t3" else getattr(rng, errors)(size=n)
    wrong = np.zeros(n, dtype=bool)
    wrong[rng.choice(n, int(share * n), replace=False)] = True
    if leverage:
        X[wrong] += 10 * coef / np.linalg.norm(coef)
    y = X @ coef + 3 + noise
    y[wrong] -= rng.uniform(6, 20, size=wrong.sum())
    return X, y, coef, wrong


def share_of(X, y, weight=None, C=1e6, seed=0):
    return residual_share_of(X, y, C, True, weight, seed)


@pytest.mark.parametrize("leverage", [False, True])
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_outliers_of_one_side_are_counted_and_the_plane_found(share, leverage):
    X, y, coef, wrong = rows(share=share, leverage=leverage, seed=2)
    found = share_of(X, y)
    assert found.regime_ is ResidualRegime.OUTLIERS
    assert_allclose(found.count_, wrong.sum(), atol=4 + 0.1 * wrong.sum())
    assert found.interval_[0] <= share <= found.interval_[1]
    assert_allclose(found.drop_, wrong.sum(), atol=2 + 0.1 * wrong.sum())
    assert (found.probability_[wrong] > 0.5).mean() > 0.9
    assert np.abs(found.theta_[:-1] - coef).max() < 0.25
    assert (found.leverage_[wrong].mean() > 0.8) if leverage else found.leverage_.mean() < 0.05


@pytest.mark.parametrize("seed", [0, *slow(1, 2)])
@pytest.mark.parametrize("errors", ["normal", "laplace", "t3"])
def test_clean_rows_lose_hardly_any_that_their_tails_explain(errors, seed):
    X, y, _, _ = rows(n=1000, share=0.0, errors=errors, seed=seed)
    found = share_of(X, y)
    assert found.drop_ <= 6  # a cut at 2.5 robust standard deviations drops 60 of t3
    assert found.interval_[0] == 0


@pytest.mark.parametrize(("errors", "regime"), [("normal", "CLEAN"), ("laplace", "HEAVY_TAILED")])
def test_heavy_tails_are_told_from_normal_ones(errors, regime):
    X, y, _, _ = rows(n=1000, share=0.0, errors=errors)
    assert share_of(X, y).regime_.name == regime


@pytest.mark.parametrize("seed", range(3))
def test_few_rows_for_each_column_do_not_make_outliers(seed):
    X, y, _, _ = rows(n=100, d=20, share=0.0, seed=seed)
    assert share_of(X, y).drop_ <= 2


def test_few_rows_for_each_column_do_not_hide_them():
    X, y, _, wrong = rows(n=100, d=20, share=0.2, seed=1)
    assert_array_equal(share_of(X, y).probability_ > 0.5, wrong)


def test_a_second_kind_of_rows_is_too_many_to_drop():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = X @ [1.0, 2.0] + 0.1 * rng.normal(size=600)
    y[:260] = 30 - 4 * y[:260]
    found = share_of(X, y)
    assert found.regime_ is ResidualRegime.TOO_MANY
    assert found.drop_ == 0
    assert found.interval_[0] == 0
    assert not found.leverage_.any()
    assert "none are dropped" in found.sentence


def test_too_few_rows_are_said_to_be():
    X, y, _, _ = rows(n=12, d=6, share=0.0)
    found = share_of(X, y)
    assert found.regime_ is ResidualRegime.TOO_FEW_ROWS
    assert (found.drop_, found.rate_) == (0, 0.0)
    assert_array_equal(found.interval_, [0, 1])
    assert found.sentence.startswith("There are too few rows")


def test_the_sentence_says_how_many_and_how_far():
    X, y, _, _ = rows(share=0.1, errors="exponential")
    text = share_of(X, y).sentence
    assert text.startswith("Some targets are further off")
    assert "seem to be outliers, between" in text
    assert "rows are dropped, whose targets are more than" in text
    assert "too low" in text


def test_a_row_of_weight_two_is_two_rows():
    X, y, _, _ = rows(n=120, share=0.1)
    weight = np.random.default_rng(1).integers(1, 4, size=120)
    weighed = share_of(X, y, weight.astype(float))
    repeated = share_of(X.repeat(weight, axis=0), y.repeat(weight))
    assert weighed.drop_ == repeated.drop_
    assert_allclose(weighed.rate_, repeated.rate_, atol=1e-3)
    assert_allclose(weighed.theta_, repeated.theta_, atol=1e-2)


def test_weights_that_are_no_numbers_of_copies_count_as_rows_that_tell_as_much():
    X, y, _, wrong = rows(share=0.1)
    weight = np.random.default_rng(0).uniform(0.001, 0.003, size=len(y))
    found = share_of(X, y, weight)
    assert_allclose(found.drop_, weight[wrong].sum(), rtol=0.1)
    assert_allclose(found.rate_, 0.1, atol=0.03)


def test_sparse_rows_have_the_share_of_dense_ones():
    X, y, _, _ = rows()
    X[np.abs(X) < 0.5] = 0
    dense, other = share_of(X, y), share_of(sparse.csr_array(X), y)
    assert dense.drop_ == other.drop_
    assert_allclose(other.theta_, dense.theta_, atol=1e-6)


@pytest.mark.digits
def test_the_same_seed_gives_the_same_bytes_on_a_sample_of_many_rows():
    X, y, _, wrong = rows(n=30_000, share=0.05)
    one, two = (share_of(X, y) for _ in range(2))
    assert one.score_.tobytes() == two.score_.tobytes()
    assert_allclose(one.drop_, wrong.sum(), rtol=0.1)  # and some of 28,500 beyond 2.8 errors


def test_residuals_of_fitted_rows_are_as_large_as_those_of_new_ones():
    X, y, _, _ = rows(n=60, d=20, share=0.0)
    some = Rows(X, y, np.ones(60), 1e9, True)
    plane = some.through(np.ones(60), np.zeros(21))
    raw = y - X @ plane.theta[:-1] - plane.theta[-1]
    assert_allclose(np.mean(plane.residuals**2), np.sum(raw**2) / (60 - 21), rtol=0.1)
    assert_allclose(plane.leverage.sum(), 21, rtol=1e-3)


def test_columns_far_from_zero_do_no_harm():
    X, y, coef, _ = rows()
    found = share_of(1e-3 * X + 1e6, y, C=np.inf)
    assert_array_equal(found.probability_ > 0.5, share_of(X, y, C=np.inf).probability_ > 0.5)
    assert_allclose(1e-3 * found.theta_[:-1], coef, atol=0.3)


def test_many_columns_share_what_they_fit():
    X, y, _, _ = rows(n=50, d=3, share=0.0)
    some = Rows(X, y, np.ones(50), 1e4, True)
    near = some.near(first_plane(some, np.random.default_rng(0)), np.ones(50))
    assert_allclose(near.leverage, 4 / 50)


def test_constant_targets_are_clean():
    found = share_of(np.random.default_rng(0).normal(size=(50, 2)), np.full(50, 3.0))
    assert found.drop_ == 0
    assert np.isfinite(found.theta_).all()


def test_very_many_columns_need_more_rows_each():
    places = np.random.default_rng(0).integers(0, 1100, size=4000)
    X = sparse.csr_array((np.ones(4000), (np.arange(4000), places)), shape=(4000, 1100))
    y = places % 7 + 0.1
    y[0] += 50
    found = share_of(X, y)
    assert found.regime_ is ResidualRegime.TOO_FEW_ROWS
    assert found.score_[1:].max() < found.score_[0]


def test_a_plane_that_is_not_believed_shows_in_the_interval():
    X, y, coef, _ = rows(n=100, d=3, share=0.0)
    X[:30] += 10 * coef / np.linalg.norm(coef)
    y[:30] = X[:30] @ coef + 3 - np.linspace(10, 25, 30)
    found = share_of(X, y)
    assert found.drop_ == 0
    assert found.interval_[1] > 0.3
