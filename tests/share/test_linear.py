"""The leverage screen: planted outliers, nothing in normal data, sparse rows like dense ones."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from sorr.share import judge_linear
from sorr.share.linear import find_leverage, row_sizes


def found_in(X, y, mass=None, seed=0):
    return find_leverage(X, y, np.ones(len(y)) if mass is None else mass, seed)


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
    assert found_in(X, y).sum() <= 2


@pytest.mark.parametrize("share", [0.05, 0.1])
def test_planted_outliers_are_found(share):
    X, y, direction = normal()
    moved = np.arange(int(share * len(y)))
    X[moved] += 20 * direction
    y[moved] = 0
    found = found_in(X, y)
    assert found.dtype == bool
    assert found[moved].all()
    assert found.sum() <= len(moved) + 2


def test_far_rows_that_agree_stay():
    X, y, direction = normal()
    X[:100] += 20 * direction
    y[:100] = 1
    assert not found_in(X, y)[:100].any()


def test_a_row_without_mass_is_no_outlier():
    X, y, direction = normal()
    X[:100] += 20 * direction
    y[:100] = 0
    mass = np.ones(len(y))
    mass[:50] = 0
    found = found_in(X, y, mass)
    assert not found[:50].any()
    assert found[50:100].all()


def test_sparse_rows_have_the_outliers_of_dense_ones():
    X, y, direction = normal()
    X[np.abs(X) < 0.1] = 0
    X[:100] += 20 * direction
    y[:100] = 0
    dense, thin = found_in(X, y), found_in(sparse.csr_array(X), y)
    assert dense[:100].all()
    assert_array_equal(thin[:100], dense[:100])
    assert thin.sum() <= 102


def test_with_more_than_half_of_the_rows_far_nobody_is_an_outlier():
    X, y, direction = normal()
    X[:1100] += 20 * direction * np.where(np.arange(1100) % 2, 1, -1)[:, None]
    y[:1100] = np.arange(1100) % 2 == 0
    assert not found_in(X, y).any()


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
    assert not found_in(X, y).any()


# -- The judgement for a linear model --------------------------------------------------------------


def judged(X, y, weight=None):
    classes = np.unique(y)
    return judge_linear(X, np.searchsorted(classes, y), classes, weight, seed=0)


def test_leverage_outliers_do_not_count_among_the_wrong_labels():
    X, y, direction = normal()
    X[:100] += 20 * direction
    y[:100] = 0
    found = judged(X, y)
    assert found.leverage[:100].all()
    assert found.dropped[:100].all()
    assert (found.judgement.mass_[found.leverage] == 0).all()
    assert found.judgement.count_.sum() < 50


def test_what_is_dropped_is_what_is_flagged_and_the_outliers():
    X, y, direction = normal(n=1500, d=4)
    X[:40] += 20 * direction
    y[:40] = 0
    sure = np.flatnonzero(np.abs(X @ direction) > 1)[40:140]
    y[sure] = 1 - y[sure]
    found = judged(X, y)
    assert found.judgement.flagged_.any()
    assert found.leverage.any()
    assert_array_equal(found.dropped, found.judgement.flagged_ | found.leverage)


def test_a_line_of_the_wrong_shape_is_no_evidence():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(1000, 2))
    y = (np.hypot(*X.T) < 1.2).astype(int)  # a disc: no line fits it
    found = judged(X, y)
    assert not found.judgement.has_evidence
    assert not found.dropped.any()


def test_with_fewer_than_fifty_rows_nothing_is_judged():
    X, y, direction = normal(n=49, d=2)
    X[:4] += 20 * direction
    y[:4] = 0
    found = judged(X, y)
    assert not found.dropped.any()
    assert not found.judgement.can_judge
    weight = np.full(49, 2.0)
    assert judged(X, y, weight).judgement.can_judge  # as many as 98 rows
