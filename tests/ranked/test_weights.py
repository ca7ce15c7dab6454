import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sorr.ranked import Mass, ranked_range_weights, sum_ranked_range
from tests.ranked import referees
from tests.ranked.paths import both_paths
from tests.ranked.strategies import ranked, weighted


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
        found = ranked_range_weights(values, 0.25, 0.75, sample_weight=mass)
        assert found.shape == values.shape
        for index in np.ndindex(3, 2):
            alone = None if mass is None else weight
            expected = ranked_range_weights(values[index], 0.25, 0.75, sample_weight=alone)
            assert_allclose(found[index], expected, rtol=1e-14)


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
