from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sorr.ranked import (
    Mass,
    Ranking,
    average_ranked_range,
    kth_largest,
    ranked_range_weights,
    sum_ranked_range,
    sums_below,
    thresholds,
    top_sum,
)
from tests.ranked import referees
from tests.ranked.paths import both_paths
from tests.ranked.strategies import masses, ranked, rows, spread, weighted
from tests.slow import examples


@both_paths
@given(row=ranked())
def test_the_sum_is_that_of_the_sorted_slice(path, row):
    values, m, k = row
    with path():
        assert sum_ranked_range(values, m, k) == sum(referees.kept(values, m, k))


@both_paths
@given(row=ranked(max_size=7))
def test_the_sum_equals_the_one_found_by_enumeration(path, row):
    values, m, k = row
    with path():
        assert top_sum(values, k) == referees.top_sum_by_enumeration(values, k)
        assert sum_ranked_range(values, m, k) == referees.range_sum_by_enumeration(values, m, k)


@both_paths
@given(row=rows(spread), data=st.data())
def test_ranges_that_tile_the_ranks_add_up_to_the_sum(path, row, data):
    n = len(row)
    cuts = sorted({0, n, *data.draw(st.lists(st.integers(0, n), max_size=4))})
    with path():
        parts = [sum_ranked_range(row, m, k) for m, k in pairwise(cuts)]
    assert_allclose(sum(parts), row.sum(), rtol=1e-12, atol=1e-12 * np.abs(row).sum())


@both_paths
@given(row=weighted())
def test_masses_that_tile_the_weight_add_up_to_the_weighted_sum(path, row):
    values, weight, m, k = row
    cuts = sorted({0.0, m, k, weight.sum()})
    with path():
        parts = [
            sum_ranked_range(values, Mass(low), Mass(high), sample_weight=weight)
            for low, high in pairwise(cuts)
        ]
    assert sum(parts) == values @ weight


@both_paths
@given(row=ranked(), seed=st.integers(0, 99))
def test_the_order_of_the_values_is_irrelevant(path, row, seed):
    values, m, k = row
    shuffled = np.random.default_rng(seed).permutation(values)
    with path():
        assert sum_ranked_range(shuffled, m, k) == sum_ranked_range(values, m, k)
        assert thresholds(shuffled, m, k) == thresholds(values, m, k)


@both_paths
@given(row=weighted(), shift=st.integers(-3, 3), scale=st.sampled_from([0.5, 1.0, 4.0]))
def test_shifting_and_scaling_the_values_shifts_and_scales_the_sum(path, row, shift, scale):
    values, weight, m, k = row
    m, k = Mass(m), Mass(k)
    with path():
        plain = sum_ranked_range(values, m, k, sample_weight=weight)
        moved = sum_ranked_range(scale * values + shift, m, k, sample_weight=weight)
    assert moved == scale * plain + (k - m) * shift


@both_paths
@given(row=weighted())
def test_a_weighted_sum_is_that_of_the_segments(path, row):
    values, weight, m, k = row
    with path():
        result = sum_ranked_range(values, Mass(m), Mass(k), sample_weight=weight)
    assert result == referees.segments(values, weight, m, k) @ values


@both_paths
@given(row=ranked(), data=st.data())
def test_two_copies_of_a_row_equal_weight_two(path, row, data):
    values, m, k = row
    n = len(values)
    copies = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    if copies.sum() < k:
        copies = copies + 1
    with path():
        repeated = np.repeat(values, copies)
        for function in (sum_ranked_range, average_ranked_range, thresholds):
            assert function(values, m, k, sample_weight=copies) == function(repeated, m, k)


@both_paths
@given(row=ranked())
def test_weights_of_one_change_nothing(path, row):
    values, m, k = row
    with path():
        ones = np.ones(len(values))
        assert sum_ranked_range(values, m, k, sample_weight=ones) == sum_ranked_range(values, m, k)
        assert thresholds(values, m, k, sample_weight=ones) == thresholds(values, m, k)


@both_paths
@given(row=ranked())
def test_the_thresholds_are_the_values_at_both_ranks(path, row):
    values, m, k = row
    down = sorted(values, reverse=True)
    with path():
        upper, lower = thresholds(values, m, k)
        assert lower == kth_largest(values, k) == down[k - 1]
        assert upper == (down[m - 1] if m else np.inf)


@both_paths
@pytest.mark.parametrize("outlier", [1e17, 1e300, np.inf])
def test_a_huge_discarded_loss_leaves_the_sum_untouched(path, outlier):
    values = np.array([0.1, outlier, 0.2, 0.3, outlier, 0.15])
    with path():
        assert sum_ranked_range(values, m=2, k=4) == 0.5
        assert sum_ranked_range(values, m=2, k=4, sample_weight=np.ones(6)) == 0.5
        assert average_ranked_range(values, m=2) == pytest.approx(0.1875, rel=1e-15)


@both_paths
def test_infinite_values_count_when_they_are_kept(path):
    values = np.array([np.inf, 2.0, 1.0, -np.inf])
    with path():
        assert sum_ranked_range(values, m=0, k=2) == np.inf
        assert sum_ranked_range(values, m=1, k=3) == 3.0
        assert sum_ranked_range(values, m=1, k=4) == -np.inf
        assert kth_largest(values, 1) == np.inf


@both_paths
def test_an_infinite_value_without_mass_adds_nothing(path):
    values, weight = [np.inf, 2.0, 1.0, -np.inf], [0.0, 1.0, 1.0, 0.0]
    with path():
        assert sum_ranked_range(values, 0, 2, sample_weight=weight) == 3.0
        assert thresholds(values, 1, 2, sample_weight=weight) == (2.0, 1.0)


@both_paths
def test_rounding_of_masses_does_not_pull_an_outlier_back_in(path):
    # 0.1 + 0.1 + 0.1 > 0.3 and ten times 0.1 is not 1: none of it may leave a sliver of infinity
    values, weight = np.array([np.inf] * 3 + [1.0] * 7), np.full(10, 0.1)
    with path():
        assert sum_ranked_range(values, Mass(0.3), sample_weight=weight) == pytest.approx(0.7)
        assert average_ranked_range(values, 0.3, sample_weight=weight) == pytest.approx(1.0)
        assert average_ranked_range(values, 3, sample_weight=10 * weight) == pytest.approx(1.0)
        assert kth_largest(-values, Mass(0.7), sample_weight=weight) == -1.0
        low = np.array([1.0] * 8 + [-np.inf] * 2)  # eight times 0.1 is less than 0.8
        assert sum_ranked_range(low, 0, Mass(0.8), sample_weight=weight) == pytest.approx(0.8)
        assert kth_largest(low, Mass(0.8), sample_weight=weight) == 1.0


def test_twenty_weights_of_seven_tenths_hold_a_mass_of_fourteen():
    weight = np.full(20, 0.7)
    assert weight.sum() < 14
    assert sum_ranked_range(np.ones(20), 0, 14, sample_weight=weight) == pytest.approx(14.0)


@both_paths
def test_a_narrow_range_after_a_huge_mass_is_not_taken_for_rounding(path):
    values, weight = np.r_[1e6, np.arange(20.0)], np.r_[1e11, np.ones(20)]
    for width in (5, 20):
        ends = {"m": Mass(1e11), "k": Mass(1e11 + width), "sample_weight": weight}
        with path():
            result = average_ranked_range(values, **ends)
        assert result == pytest.approx(np.arange(20.0)[20 - width :].mean(), rel=1e-9)
    with path():
        total = sum_ranked_range([np.inf, 1.0], Mass(1), Mass(1 + 1e-11), sample_weight=[1, 1])
    assert total == pytest.approx(1e-11, rel=1e-4)  # one plus 1e-11 has five digits of it
    with path():  # as narrow as rounding itself: still not the discarded row
        total = sum_ranked_range([np.inf, 1.0], Mass(1), Mass(1 + 1e-14), sample_weight=[1, 1])
    assert 0 < total < 1e-13


@both_paths
@pytest.mark.parametrize("scale", [1e-200, 1e150, 1e300])
def test_the_scale_of_the_weights_cancels(path, scale):
    values = np.random.default_rng(0).normal(size=50)
    weight = np.random.default_rng(1).uniform(size=50)
    with path():
        result = average_ranked_range(values, 0.2, 0.7, sample_weight=scale * weight)
        expected = average_ranked_range(values, 0.2, 0.7, sample_weight=weight)
    assert result == pytest.approx(expected, rel=1e-12)


@both_paths
def test_a_sum_beyond_the_largest_float_is_infinite(path):
    with path():
        assert sum_ranked_range([1e308] * 4, 1) == np.inf
        assert sum_ranked_range([1e308] * 4, 1, sample_weight=[1, 2, 3, 4]) == np.inf


@both_paths
@given(row=ranked(spread), batch=st.integers(1, 3))
def test_a_batch_gives_each_row_what_the_row_alone_gives(path, row, batch):
    values, m, k = row
    stack = np.stack([np.roll(values, i) * (i + 1) for i in range(2 * batch)])
    stack = stack.reshape(batch, 2, -1)
    weight = np.arange(1.0, len(values) + 1)
    own = weight * np.arange(1, 2 * batch + 1).reshape(batch, 2, 1)
    with path():
        for function in (sum_ranked_range, average_ranked_range):
            for mass in (None, weight, own):
                result = function(stack, m, k, sample_weight=mass)
                assert result.shape == (batch, 2)
                for index in np.ndindex(batch, 2):
                    single = None if mass is None else mass[index] if mass is own else mass
                    alone = function(stack[index], m, k, sample_weight=single)
                    assert_allclose(result[index], alone, rtol=1e-12, atol=1e-6)
        upper, lower = thresholds(stack, m, k)
        assert lower.shape == upper.shape == (batch, 2)
        assert_array_equal(lower, kth_largest(stack, k))


def test_fractions_are_shares_of_the_values_or_of_the_weight():
    values = np.arange(20.0)
    assert sum_ranked_range(values, 0.1, 0.5) == sum_ranked_range(values, 2, 10)
    weight = np.linspace(0.5, 1.5, 20)
    assert sum_ranked_range(values, 0.1, 0.5, sample_weight=weight) == pytest.approx(
        sum_ranked_range(values, Mass(2.0), Mass(10.0), sample_weight=weight), rel=1e-12
    )


def test_parts_of_a_value_count_in_part():
    assert sum_ranked_range([4.0, 3.0, 2.0], Mass(0.5), Mass(2.25)) == 2.0 + 3.0 + 0.5
    assert kth_largest([4.0, 3.0, 2.0], Mass(2.25)) == 2.0
    assert kth_largest([4.0, 3.0, 2.0], Mass(2.0)) == 3.0


@pytest.mark.parametrize("weight", [None, [2.0]])
def test_one_value_is_its_own_average(weight):
    assert average_ranked_range([7.0], sample_weight=weight) == 7.0
    assert thresholds([7.0], sample_weight=weight) == (np.inf, 7.0)


@both_paths
def test_single_precision_is_added_up_in_double(path):
    values = np.full(5000, 0.1, dtype=np.float32)
    with path():
        total = sum_ranked_range(values, 500, 4500)
    assert total == pytest.approx(4000 * float(np.float32(0.1)), rel=1e-14)


def test_lists_integers_and_booleans_are_values():
    assert sum_ranked_range([3, 1, 2], 1) == 3.0
    assert sum_ranked_range(np.array([True, False]), 0, 1) == 1.0


def test_the_values_are_left_as_they_were():
    values = np.random.default_rng(0).normal(size=100)
    before = values.copy()
    sum_ranked_range(values, 10, 90)
    thresholds(values, 10, 90, sample_weight=np.ones(100))
    assert_array_equal(values, before)


@pytest.mark.parametrize(
    ("values", "weight", "words"),
    [
        ([[1.0, 2.0], [np.nan, np.nan]], None, ["2 of 4 values are NaN", "index 1, 0"]),
        ([1.0, np.nan], None, ["1 of 2 values are NaN", "index 1"]),
        ([], None, ["shape (0,)", "at least one value"]),
        (3.0, None, ["shape ()", "at least one value"]),
        ([1.0, 2.0], [1.0], ["shape (1,)", "needed (2,)"]),
        ([1.0, 2.0], [1.0, -1.0], ["1 of 2 weights", "negative", "index 1"]),
        ([1.0, 2.0], [np.nan, 1.0], ["1 of 2 weights", "NaN", "index 0"]),
        ([1.0, 2.0], [np.inf, 1.0], ["1 of 2 weights", "infinite", "index 0"]),
        ([1.0, 2.0], [0.0, 0.0], ["all 2 weights are zero"]),
        ([1.0, 2.0], [1e308, 1e308], ["add up to infinity", "scale them down"]),
    ],
)
def test_values_and_weights_that_make_no_sense_are_refused(values, weight, words):
    with pytest.raises(ValueError, match=r"needed|drop|mass") as caught:
        sum_ranked_range(values, 0, sample_weight=weight)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("values", [["a", "b"], [1j, 2.0]])
def test_values_that_are_no_numbers_are_refused(values):
    with pytest.raises(TypeError, match="needed real numbers"):
        sum_ranked_range(values, 0)


@both_paths
@pytest.mark.parametrize("function", [sum_ranked_range, average_ranked_range, thresholds])
@pytest.mark.parametrize("ends", [(0, None), (2, None), (0, 5), (2, 5)])
@pytest.mark.parametrize("weight", [None, np.ones(40)])
def test_nan_is_refused_wherever_it_ranks(path, function, ends, weight):
    values = np.arange(40.0)
    values[31] = np.nan
    with path(), pytest.raises(ValueError, match="1 of 40 values are NaN, the first at index 31"):
        function(values, *ends, sample_weight=weight)


@given(row=weighted(mass=masses))
def test_the_kth_largest_of_a_mass_is_the_value_of_its_segment(row):
    values, weight, _, k = row
    kept = referees.segments(values, weight, 0, k)
    expected = values[kept > 0].min()
    assert kth_largest(values, Mass(k), sample_weight=weight) == expected


@both_paths
@given(row=ranked())
def test_the_weights_reproduce_the_value_and_sum_to_k_minus_m(path, row):
    values, m, k = row
    with path():
        weights = ranked_range_weights(values, m, k)
        total = sum_ranked_range(values, m, k)
    assert weights.min() >= 0
    assert weights.max() <= 1
    assert weights.sum() == pytest.approx(k - m, rel=1e-14)
    assert weights @ values == pytest.approx(total, rel=1e-13, abs=1e-13)


@both_paths
@given(row=ranked(max_size=6))
def test_at_ties_the_weights_are_the_mean_over_all_tie_breaks(path, row):
    values, m, k = row
    with path():
        weights = ranked_range_weights(values, m, k)
    assert_allclose(weights, referees.weights_by_tie_breaks(values, m, k), rtol=1e-14)


@both_paths
@given(row=weighted())
def test_with_masses_the_weights_reproduce_the_value_and_stay_below_the_mass(path, row):
    values, weight, m, k = row
    with path():
        shares = ranked_range_weights(values, Mass(m), Mass(k), sample_weight=weight)
    assert (shares >= 0).all()
    assert (shares <= weight).all()
    assert shares.sum() == pytest.approx(k - m, rel=1e-13)
    expected = referees.segments(values, weight, m, k)
    assert shares @ values == pytest.approx(expected @ values, rel=1e-12, abs=1e-12)
    for value in np.unique(values):
        tied = values == value  # what the range takes of a tie is exact, and shared by mass
        assert shares[tied].sum() == pytest.approx(expected[tied].sum(), rel=1e-12, abs=1e-14)
        assert_allclose(shares[tied] * weight[tied].sum(), shares[tied].sum() * weight[tied])


@both_paths
@given(row=weighted(mass=st.just(0.0)))
def test_ends_between_ranks_count_values_in_part(path, row):
    values, _, m, k = row
    n = len(values)
    m, k = m + 0.3 * (n - 1), k + 0.3 * (n - 1)  # up to n, with all kinds of fractions
    weight = np.ones(n)
    with path():
        shares = ranked_range_weights(values, Mass(m), Mass(k))
        both = ranked_range_weights([values, -values], Mass(m), Mass(k))
    expected = ranked_range_weights(values, Mass(m), Mass(k), sample_weight=weight)
    assert_allclose(shares, expected, rtol=1e-12, atol=1e-13)
    assert_allclose(both[0], expected, rtol=1e-12, atol=1e-13)
    assert shares @ values == pytest.approx(
        referees.segments(values, weight, m, k) @ values, rel=1e-12, abs=1e-12
    )


@both_paths
def test_an_end_that_rounding_moves_off_a_rank_brings_no_value_back(path):
    values = np.array([np.inf] * 7 + [3.0, 2.0, 1.0])
    with path():
        for m in (0.7 * 10, 7 - 1e-15):  # the first is a little more than 7
            assert_array_equal(ranked_range_weights(values, Mass(m), Mass(10.0))[:7], np.zeros(7))


@both_paths
@given(
    row=weighted(mass=st.sampled_from([0.1, 0.3, 0.7])),
    ends=st.tuples(*[st.floats(0.01, 0.99)] * 2),
)
def test_rounding_never_lifts_a_share_above_its_mass(path, row, ends):
    values, weight = row[:2]
    m, k = sorted(ends)
    if k - m < 1e-6:
        return
    with path():
        shares = ranked_range_weights(values, m, k, sample_weight=weight)
    assert (shares >= 0).all()
    assert (shares <= weight).all()
    assert shares.sum() == pytest.approx((k - m) * weight.sum(), rel=1e-9)


@both_paths
@given(row=ranked(), data=st.data())
def test_a_row_of_weight_two_counts_as_two_copies(path, row, data):
    values, m, k = row
    n = len(values)
    copies = np.array(data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)))
    origin = np.repeat(np.arange(n), copies)
    with path():
        repeated = ranked_range_weights(values[origin], m, k)
        shares = ranked_range_weights(values, m, k, sample_weight=copies)
    assert_allclose(shares, np.bincount(origin, repeated, minlength=n), rtol=1e-13)


@both_paths
def test_they_are_the_derivative_of_the_sum_where_no_values_tie(path):
    rng = np.random.default_rng(0)
    values, weight = rng.normal(size=25), rng.uniform(0.1, 2.0, size=25)
    step = 1e-6
    with path():
        shares = ranked_range_weights(values, 0.2, 0.7, sample_weight=weight)
        for i, change in enumerate(step * np.eye(25)):
            up, down = (
                sum_ranked_range(moved, 0.2, 0.7, sample_weight=weight)
                for moved in (values + change, values - change)
            )
            assert (up - down) / (2 * step) == pytest.approx(shares[i], abs=1e-8)


@given(row=ranked(max_size=12), other=st.data())
def test_for_top_sums_they_are_a_subgradient(row, other):
    values, _, k = row
    moved = values + np.array(
        other.draw(st.lists(st.integers(-3, 3), min_size=len(values), max_size=len(values)))
    )
    slope = ranked_range_weights(values, 0, k) @ (moved - values)
    gain = sum_ranked_range(moved, 0, k) - sum_ranked_range(values, 0, k)
    assert gain >= slope - 1e-12


def test_a_mass_that_rounding_inflates_counts_once():
    weight = np.array([0.3, 0.1, 1.0])  # 0.3 + 0.1 - 0.3 > 0.1
    shares = ranked_range_weights([3.0, 2.0, 1.0], Mass(0.1), Mass(0.4), sample_weight=weight)
    assert (shares <= weight).all()
    assert_allclose(shares, [0.2, 0.1, 0.0], rtol=1e-15)


@both_paths
def test_all_values_equal_share_everything_equally(path):
    with path():
        assert_array_equal(ranked_range_weights(np.ones(10), 2, 7), np.full(10, 0.5))
        assert_array_equal(ranked_range_weights(np.ones((2, 10)), 2, 7), np.full((2, 10), 0.5))
        shares = ranked_range_weights(np.ones(4), 1, 3, sample_weight=[1, 1, 2, 4])
    assert_array_equal(shares, [0.25, 0.25, 0.5, 1.0])


@both_paths
def test_infinite_values_are_ranked_like_any_other(path):
    values = [np.inf, -np.inf, 1.0, np.inf, 0.0, -np.inf]
    with path():
        assert_array_equal(ranked_range_weights(values, 1, 5), [0.5, 0.5, 1, 0.5, 1, 0.5])


def test_a_batch_gives_each_row_its_own_weights():
    values = np.random.default_rng(1).integers(0, 4, size=(3, 2, 9)).astype(float)
    weight = np.arange(1.0, 10.0)
    for mass in (None, weight, np.broadcast_to(weight, values.shape)):
        result = ranked_range_weights(values, 0.25, 0.75, sample_weight=mass)
        assert result.shape == values.shape
        for index in np.ndindex(3, 2):
            alone = None if mass is None else weight
            expected = ranked_range_weights(values[index], 0.25, 0.75, sample_weight=alone)
            assert_allclose(result[index], expected, rtol=1e-14)


def test_the_dtype_is_that_of_the_values():
    values = np.arange(6, dtype=np.float32)
    for weight in (None, np.ones(6), np.ones((1, 6))):
        rows = values if np.ndim(weight) < 2 else values[None]
        assert ranked_range_weights(rows, 1, 4, sample_weight=weight).dtype == np.float32
    assert ranked_range_weights([1, 2], 0, 1).dtype == np.float64


@both_paths
def test_nan_is_refused_with_its_position(path):
    with path(), pytest.raises(ValueError, match="index 2"):
        ranked_range_weights([1.0, 2.0, np.nan], 0, 1)


# -- Many rows, each with ranks of its own ---------------------------------------------------------


def rank_all(losses, m, k, mass=None):
    """Return a ranking of the rows of a matrix, all with the same ranks."""
    ends = np.full((2, len(losses)), [[m], [k]], dtype=float)
    return Ranking(losses, mass, losses.shape[1] if mass is None else mass.sum(), *ends)


@settings(max_examples=examples(60))
@given(
    seed=st.integers(0, 10_000),
    m=st.integers(0, 9),
    width=st.integers(1, 10),
    levels=st.sampled_from([1, 2, 4, 1000]),
    weighted=st.booleans(),
)
def test_the_kept_mass_is_that_of_the_range_with_ties_shared(seed, m, width, levels, weighted):
    rng = np.random.default_rng(seed)
    losses = rng.integers(0, levels, (3, 12)).astype(np.float32)
    mass = rng.integers(1, 4, 12).astype(float) if weighted else None
    k = min(m + width, 12)
    kept = rank_all(losses, m, k, mass).kept
    for row, weight in zip(losses, kept, strict=True):
        assert weight.sum() == pytest.approx(k - m, rel=1e-6)
        if mass is None:
            expected = ranked_range_weights(row.astype(float), m, k)
            assert_allclose(weight, expected, atol=1e-6)
        else:
            copies = ranked_range_weights(np.repeat(row, mass.astype(int)).astype(float), m, k)
            starts = np.cumsum(mass.astype(int)) - mass.astype(int)
            assert_allclose(weight, np.add.reduceat(copies, starts), atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [30, 60])
def test_blurred_weights_have_the_mass_of_the_range(k, weighted):
    rng = np.random.default_rng(0)
    losses = rng.exponential(size=(5, 60))
    mass = rng.uniform(0.5, 1.5, 60) if weighted else None
    mass = mass if mass is None else mass * 60 / mass.sum()
    ranking = rank_all(losses, 6, k, mass)
    own = np.ones(60) if mass is None else mass
    for hot in (slice(0, 0), slice(0, 5)):
        blur = ranking.blur(0.5, np.full(5, 1e-9), hot, 0.3)
        assert_allclose(blur.weight.sum(axis=1), k - 6, rtol=1e-9)
        assert (blur.weight >= 0).all()
        largest = np.argsort(-losses, axis=1)[:, :2]
        assert (np.take_along_axis(blur.weight, largest, axis=1) < 0.9 * own.min()).all()
        if k < 60:
            assert ((blur.edge > 0).sum(axis=1) >= 2).all()
            smallest = np.argsort(losses, axis=1)[:, :10]
            assert not np.take_along_axis(blur.weight, smallest, axis=1).any()


def test_where_all_losses_tie_all_rows_count():
    blur = rank_all(np.ones((2, 60)), 6, 30).blur(0.5, np.full(2, 1e-3), slice(0, 0), 0.0)
    assert_allclose(blur.weight, 24 / 60)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_sums_below_ranks_are_those_of_each_row(weighted):
    rng = np.random.default_rng(0)
    losses = rng.exponential(size=(3, 12))
    mass = rng.integers(1, 3, 12).astype(float) if weighted else None
    ends = np.array([0.0, 1.0, 5.0, 12.0])
    table = sums_below(losses, mass, ends)
    for row, sums in zip(losses, table, strict=True):
        copies = row if mass is None else np.repeat(row, mass.astype(int))
        expected = [sum_ranked_range(copies, int(end)) if end < len(copies) else 0 for end in ends]
        np.testing.assert_allclose(sums, expected, rtol=1e-12)
