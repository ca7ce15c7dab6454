"""The leverage screen: planted outliers, nothing in normal data, sparse rows like dense ones."""

import numpy as np
import pytest
from scipy import sparse

from sorr.share.average import AverageLoss, standardise
from sorr.share.leverage import find_leverage, row_sizes


def problem_of(X, y):
    rows, frame = standardise(X, True)
    return AverageLoss(rows, y, int(y.max()) + 1, 1 / (1e4 * frame.scale**2), True)


def normal(n=2000, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    weights = rng.normal(size=d)
    return (
        X,
        (X @ weights + rng.logistic(size=n) > 0).astype(int),
        weights / np.linalg.norm(weights),
    )


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_found_in_normal_rows(seed):
    X, y, _ = normal(seed=seed)
    found, _ = find_leverage(problem_of(X, y), np.ones(len(y)), np.random.default_rng(0))
    assert found.sum() <= 2


@pytest.mark.parametrize("share", [0.05, 0.1])
def test_planted_outliers_are_found(share):
    X, y, direction = normal()
    moved = np.arange(int(share * len(y)))
    X[moved] += 20 * direction
    y[moved] = 0
    found, theta = find_leverage(problem_of(X, y), np.ones(len(y)), np.random.default_rng(0))
    assert found[moved].all()
    assert found.sum() <= len(moved) + 2
    assert theta is not None


def test_far_rows_that_agree_stay():
    X, y, direction = normal()
    X[:100] += 20 * direction
    y[:100] = 1
    found, _ = find_leverage(problem_of(X, y), np.ones(len(y)), np.random.default_rng(0))
    assert not found[:100].any()


def test_binary_and_constant_columns_have_a_spread():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(500) < 0.1, np.ones(500), rng.normal(size=500)]).astype(float)
    sizes = row_sizes(X, np.random.default_rng(0))
    assert np.isfinite(sizes).all()
    assert sizes[X[:, 0] == 1].mean() > sizes[X[:, 0] == 0].mean()


def test_sparse_rows_have_the_sizes_of_dense_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(3, 1, (500, 30)) * (rng.random((500, 30)) < np.repeat([1.0, 0.3, 0.1], 10))
    sizes = [row_sizes(rows, np.random.default_rng(0)) for rows in (X, sparse.csr_array(X))]
    np.testing.assert_allclose(*sizes, rtol=1e-6)


def test_a_class_that_lies_apart_is_not_taken_for_outliers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = np.zeros(600, dtype=int)
    X[:100] += 15.0
    y[:100] = 1
    y[100:115] = 1  # wrong labels, which are all that is near
    found, _ = find_leverage(problem_of(X, y), np.ones(600), np.random.default_rng(0))
    assert not found.any()
