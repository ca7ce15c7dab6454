"""Rows long enough to be narrowed for real, against a full sort."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sorr.ranked import (
    Mass,
    average_ranked_range,
    kth_largest,
    ranked_range_weights,
    sum_ranked_range,
    thresholds,
)
from sorr.ranked.bounds import Ends
from sorr.ranked.select import _sample_slice, is_long, narrow
from tests.slow import slow

N = 400_000


def _rows():
    rng = np.random.default_rng(7)
    normal = rng.normal(size=N)
    return {
        "distinct": normal,
        "heavy tail": rng.standard_cauchy(size=N),
        "hinge": np.maximum(0.0, 1.0 - rng.normal(1.0, 1.0, size=N)),
        "few values": np.round(normal, 1),
        "two values": np.where(normal > 0.1, 1.0, 0.0),
        "constant": np.full(N, 0.7),
        "block in the middle": np.where(rng.random(N) < 0.6, 0.0, normal),
        "ascending": np.sort(normal),
        "descending": np.sort(normal)[::-1],
        "periodic": np.tile(np.arange(64.0), N // 64),
        "infinite outliers": np.where(rng.random(N) < 0.05, np.inf, normal),
        "single precision": normal.astype(np.float32),
    }


ROWS = _rows()
ENDS = [(0, N // 2), (N // 10, 9 * N // 10)]
ENDS += slow(
    (N // 10, N),
    (N - 1, N),
    (0, N),
    (0, 1),
    (7, 8),
    (N // 2, N // 2 + 3),
    (N // 2 - 20_000, N // 2 + 20_000),
)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("ends", ENDS)
def test_long_rows_agree_with_a_full_sort(name, ends):
    values, (m, k) = ROWS[name], ends
    down = np.sort(values)[::-1]
    kept = down[m:k].astype(np.float64)
    rtol = 1e-6 if values.dtype == np.float32 else 1e-12  # single-precision products
    total = sum_ranked_range(values, m, k)
    assert_allclose(total, kept.sum(), rtol=rtol, atol=rtol * np.abs(kept).sum())
    upper, lower = thresholds(values, m, k)
    assert lower == kth_largest(values, k) == down[k - 1]
    assert upper == (down[m - 1] if m else np.inf)
    shares = ranked_range_weights(values, m, k)
    assert_allclose(shares.sum(dtype=np.float64), k - m, rtol=1e-6 if rtol > 1e-9 else 1e-12)
    assert_array_equal(shares[(values > down[m]) | (values < down[k - 1])], 0)
    assert_array_equal(shares[(values < down[m]) & (values > down[k - 1])], 1)
    for end in {down[m], down[k - 1]}:
        tied = values == end
        expected = np.count_nonzero(down[m:k] == end) / np.count_nonzero(tied)
        assert_allclose(shares[tied], expected, rtol=rtol)


@pytest.mark.parametrize("name", ["infinite outliers", *slow("hinge", "distinct", "few values")])
@pytest.mark.parametrize("ends", [(0.0, 1.0), (0.1, 1.0), (0.1, 0.9), (0.5, 0.50001), (0.0, 0.4)])
def test_long_rows_with_weights_agree_with_a_full_sort(name, ends):
    values = ROWS[name]
    weight = np.random.default_rng(3).integers(0, 9, size=N) / 8  # sums of eighths are exact
    m, k = (np.floor(8 * share * weight.sum()) / 8 for share in ends)
    order = np.argsort(-values, kind="stable")
    edges = np.concatenate([[0.0], np.cumsum(weight[order])])
    mass = np.clip(np.minimum(edges[1:], k) - np.maximum(edges[:-1], m), 0, None)
    ordered = values[order]

    def call(function):
        return function(values, Mass(m), Mass(k), sample_weight=weight)

    expected = ordered[mass > 0] @ mass[mass > 0]
    assert_allclose(call(sum_ranked_range), expected, rtol=1e-12, atol=1e-9)
    upper, lower = call(thresholds)
    assert lower == ordered[mass > 0][-1]
    assert upper == (ordered[np.searchsorted(edges, m) - 1] if m else np.inf)
    shares = call(ranked_range_weights)
    assert_allclose(shares.sum(), k - m, rtol=1e-12)
    assert (shares <= weight).all()
    for end in {ordered[mass > 0][0], ordered[mass > 0][-1]}:
        tied = values == end
        assert_allclose(shares[tied].sum(), mass[ordered == end].sum(), rtol=1e-9)
    between = (values < ordered[mass > 0][0]) & (values > ordered[mass > 0][-1])
    assert_array_equal(shares[between], weight[between])


def test_most_of_a_long_row_is_decided_without_ranking_it():
    values = ROWS["distinct"]
    assert is_long(values, None)
    narrowed = narrow(values, Ends(N // 10, 9 * N // 10), None)
    assert narrowed is not None
    assert 0 < len(narrowed.values) < N // 20


def test_a_bracket_that_misses_is_noticed():
    # An evenly spaced sample sees nothing but zeros here, and can only guess wrong.
    values = np.random.default_rng(5).normal(size=N)
    values[_sample_slice(values)] = 0.0
    ends = Ends(N // 10, 9 * N // 10)
    assert narrow(values, ends, None) is None
    down = np.sort(values)[::-1]
    assert sum_ranked_range(values, ends.m, ends.k) == pytest.approx(
        down[ends.m : ends.k].sum(), abs=1e-6
    )
    weight = np.ones(N)
    assert kth_largest(values, ends.k, sample_weight=weight) == down[ends.k - 1]


@pytest.mark.parametrize("shift", [5.0, -5.0])
@pytest.mark.parametrize(
    "ends", [(N // 10, 9 * N // 10), *slow((0, N // 2), (N // 2, N), (0, 1))], ids=str
)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_sample_unlike_the_row_does_no_harm(shift, ends, weighted):
    # Every sampled value lies above (or below) almost all others: each bracket misses on one side.
    values = np.random.default_rng(5).normal(size=N) - shift
    values[_sample_slice(values)] += 2 * shift
    weight = np.ones(N) if weighted else None
    down = np.sort(values)[::-1]
    m, k = ends
    total = sum_ranked_range(values, m, k, sample_weight=weight)
    assert total == pytest.approx(down[m:k].sum(), rel=1e-12)
    assert kth_largest(values, k, sample_weight=weight) == down[k - 1]
    shares = ranked_range_weights(values, m, k, sample_weight=weight)
    assert_array_equal(shares, (values >= down[k - 1]) & (values <= down[m]))


def test_one_row_with_most_of_the_weight_is_no_surprise_to_the_sample():
    values = np.random.default_rng(5).normal(size=N)
    weight = np.ones(N)
    weight[12_345] = 3.0 * N
    assert 12_345 % _sample_slice(values).step
    values[12_345] = 0.25
    ends = Ends.of_mass(0.2 * N, 3.0 * N, N)
    narrowed = narrow(values, ends, weight)
    assert narrowed is not None
    assert len(narrowed.values) < N // 20
    assert kth_largest(values, Mass(3.0 * N), sample_weight=weight) == 0.25


@pytest.mark.parametrize("outlier", [np.inf, 1e308])
def test_outliers_on_both_sides_of_a_long_weighted_row_leave_the_sum_finite(outlier):
    values = ROWS["distinct"].copy()
    values[3], values[7] = outlier, -outlier
    down = np.sort(values)[::-1]
    total = sum_ranked_range(values, 40, 4 * (N - 10), sample_weight=np.full(N, 4.0))
    assert total == pytest.approx(4 * down[10 : N - 10].sum(), rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_long_sum_beyond_the_largest_float_is_infinite(weighted):
    values = 1e305 * (1 + ROWS["distinct"] ** 2)
    assert sum_ranked_range(values, 10, sample_weight=np.ones(N) if weighted else None) == np.inf


def test_a_row_that_would_hardly_shrink_is_cut_whole():
    values = np.zeros(N)
    sample = _sample_slice(values)
    values[sample] = np.random.default_rng(5).normal(size=len(values[sample]))
    assert narrow(values, Ends(0, N // 2), None) is None
    assert kth_largest(values, N // 2) == 0.0


def test_blocks_of_ties_that_only_the_sample_sees_do_not_dig_deep():
    values = np.random.default_rng(5).normal(size=N)
    sample = _sample_slice(values)
    values[sample] = np.arange(len(values[sample])) % 4
    weight = np.ones(N)
    assert kth_largest(values, N // 3, sample_weight=weight) == np.sort(values)[N - N // 3]


@pytest.mark.parametrize("weighted", [False, True])
def test_nan_in_a_long_row_is_refused_with_its_position(weighted):
    values = ROWS["distinct"].copy()
    values[123_456] = np.nan
    weight = np.ones(N) if weighted else None
    for function in (sum_ranked_range, ranked_range_weights, thresholds):
        for ends in [(0, None), (0.1, None), (0.1, 0.9), (0, 10)]:
            with pytest.raises(ValueError, match=f"1 of {N} values are NaN.*index 123456"):
                function(values, *ends, sample_weight=weight)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("function", [average_ranked_range, ranked_range_weights, thresholds])
def test_ten_million_values_need_at_most_three_arrays_of_that_size(function, weighted):
    values = np.random.default_rng(0).exponential(size=10_000_000)
    weight = np.random.default_rng(1).uniform(size=values.size) if weighted else None
    for kind in (values, np.maximum(values - np.log(2.0), 0.0)):  # half of the second are zeros
        tracemalloc.start()
        function(kind, 0.1, 0.9, sample_weight=weight)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= 3 * values.nbytes
