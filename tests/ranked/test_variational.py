import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sorr.ranked import (
    Mass,
    kth_largest,
    sum_ranked_range,
    thresholds,
    top_sum,
    truncate,
    variational_top_sum,
)
from tests.ranked.strategies import exact, ranked, weighted


@given(row=ranked(), elsewhere=st.lists(exact, min_size=1))
def test_the_minimum_over_thresholds_is_the_top_sum_attained_at_rank_k(row, elsewhere):
    values, _, k = row
    best = variational_top_sum(values, k, kth_largest(values, k))
    assert best == top_sum(values, k)
    for threshold in [*values, *elsewhere, values.min() - 1, values.max() + 1]:
        assert variational_top_sum(values, k, threshold) >= best


@given(row=weighted(), elsewhere=st.lists(exact, min_size=1))
def test_the_same_holds_for_masses(row, elsewhere):
    values, weight, _, k = row
    at_rank = kth_largest(values, Mass(k), sample_weight=weight)
    best = variational_top_sum(values, Mass(k), at_rank, sample_weight=weight)
    assert best == top_sum(values, Mass(k), sample_weight=weight)
    for threshold in [*values, *elsewhere]:
        assert variational_top_sum(values, Mass(k), threshold, sample_weight=weight) >= best


@given(row=ranked())
def test_the_minimisers_are_the_interval_from_rank_k_plus_one_to_rank_k(row):
    values, _, k = row
    down = sorted(values, reverse=True)
    best = top_sum(values, k)
    assert variational_top_sum(values, k, down[k - 1] + 0.125) > best
    below = down[k] if k < len(down) else -10.0
    assert variational_top_sum(values, k, below) == best
    if k < len(down):
        assert variational_top_sum(values, k, below - 0.125) > best


@given(row=ranked())
def test_theorem_one_gives_the_sum_of_the_range(row):
    values, m, k = row
    if m == 0:
        return
    upper, lower = thresholds(values, m, k)
    difference = variational_top_sum(values, k, lower) - variational_top_sum(values, m, upper)
    assert difference == sum_ranked_range(values, m, k)
    assert upper >= lower


@given(row=ranked())
def test_truncated_values_and_thresholds_give_the_sum_of_the_range(row):
    values, m, k = row
    if m == 0:
        return
    upper, lower = thresholds(values, m, k)
    total = truncate(values, upper, lower).sum() + k * lower - m * upper
    assert total == sum_ranked_range(values, m, k)


def test_truncation_is_the_difference_of_two_hinges():
    values = np.linspace(-1, 5, 61)
    expected = np.maximum(values - 1, 0) - np.maximum(values - 3, 0)
    assert_allclose(truncate(values, 3.0, 1.0), expected, atol=1e-15)


def test_truncation_caps_infinite_values_unless_the_cap_is_infinite():
    assert_array_equal(truncate([np.inf, 0.0, -np.inf], 3.0, 1.0), [2.0, 0.0, 0.0])
    assert_array_equal(truncate([np.inf, 4.0], np.inf, 1.0), [np.inf, 3.0])


def test_a_batch_takes_a_threshold_for_each_row():
    values = np.random.default_rng(0).normal(size=(4, 3, 10))
    value = variational_top_sum(values, 3, kth_largest(values, 3))
    assert_allclose(value, top_sum(values, 3), rtol=1e-12)
    own = np.random.default_rng(1).uniform(size=values.shape)
    at_rank = kth_largest(values, 0.3, sample_weight=own)
    assert_allclose(
        variational_top_sum(values, 0.3, at_rank, sample_weight=own),
        top_sum(values, 0.3, sample_weight=own),
        rtol=1e-12,
    )


def test_a_batch_is_truncated_row_by_row():
    values = np.random.default_rng(0).normal(size=(3, 3))
    truncated = truncate(values, *thresholds(values, 1, 2))
    for row, expected in zip(values, truncated, strict=True):
        assert_array_equal(truncate(row, *thresholds(row, 1, 2)), expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_nan_is_refused_in_rows_of_any_length(weighted):
    for n in (10, 40_000):
        values = np.ones(n)
        values[5] = np.nan
        weight = np.where(np.isnan(values), 0.0, 1.0) if weighted else None
        with pytest.raises(ValueError, match="index 5"):
            variational_top_sum(values, 3, 0.0, sample_weight=weight)


def test_an_infinite_value_without_mass_adds_nothing():
    assert variational_top_sum([np.inf, 1.0], 1, 1.0, sample_weight=[0, 1]) == 1.0


@pytest.mark.parametrize("threshold", [np.inf, np.nan])
def test_a_threshold_must_be_finite(threshold):
    with pytest.raises(ValueError, match="needed a finite number"):
        variational_top_sum([1.0, 2.0], 1, threshold)


@pytest.mark.parametrize(("lower", "upper"), [(2.0, 1.0), (-np.inf, 1.0), (np.nan, 1.0)])
def test_thresholds_in_the_wrong_order_are_refused(lower, upper):
    with pytest.raises(ValueError, match="see `thresholds`"):
        truncate([1.0], upper, lower)
