import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sorr.estimators.search.copies import merge_copies


@given(st.integers(0, 2**32 - 1))
def test_repeated_and_weighted_rows_become_the_same_in_any_order(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-1, 2, (8, 2)).astype(float), rng.integers(0, 2, 8)
    weight = rng.integers(1, 4, 8).astype(float)
    weight[0] = 6.0  # copies enough to be put together
    order = rng.permutation(8)
    copied = np.repeat(np.arange(8), weight.astype(int))
    rows, masses = merge_copies(X[order], y[order], weight[order])
    again, copies = merge_copies(X[copied], y[copied], None)
    assert_array_equal(X[order][rows], X[copied][again])
    assert_array_equal(y[order][rows], y[copied][again])
    assert_array_equal(masses, copies)
    assert masses.sum() == weight.sum()


def test_zeros_of_both_signs_are_the_same():
    X = np.array([[0.0], [-0.0], [0.0]])
    assert merge_copies(X, np.zeros(3), None)[1].tolist() == [3.0]


def test_rows_with_other_targets_stay_apart():
    X, y = np.zeros((4, 1)), np.array([0, 0, 1, 1])
    rows, weight = merge_copies(X, y, None)
    assert sorted(y[rows]) == [0, 1]
    assert weight.tolist() == [2.0, 2.0]


def test_few_copies_are_left_alone():
    X = np.arange(10.0)[:, None]
    X[1] = X[0]
    rows, weight = merge_copies(X, np.zeros(10), None)
    assert rows.tolist() == list(range(10))
    assert weight is None
