import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sorr.ranked import Mass, RankedRange, average_ranked_range


def test_a_range_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        RankedRange(1, 2).m = 0  # type: ignore[misc]


def test_a_range_equals_its_copy_and_hashes_like_it():
    assert RankedRange(1, 0.5) == pickle.loads(pickle.dumps(RankedRange(1, 0.5)))
    assert len({RankedRange(1, 2), RankedRange(np.int64(1), np.int32(2))}) == 1


def test_a_single_precision_fraction_means_the_number_it_shows():
    assert RankedRange(np.float32(0.9)).resolve(100).m == 90
    assert RankedRange(0, np.float32(0.1)).resolve(100).k == 10


def test_a_range_unpacks_into_its_ends():
    m, k = RankedRange.median(7)
    assert (m, k) == (3, 4)
    assert average_ranked_range([3.0, 1.0, 2.0], *RankedRange.median(3)) == 2.0


def test_numpy_numbers_become_plain_ones():
    ranks = RankedRange(np.int64(3), np.float32(0.5))
    assert (type(ranks.m), type(ranks.k)) == (int, float)


@pytest.mark.parametrize(
    ("m", "k", "error", "words"),
    [
        (True, None, TypeError, ["m=True", "bool", "count", "fraction"]),
        (0, np.True_, TypeError, ["k=", "bool", "count"]),
        ("2", None, TypeError, ["m='2'", "str", "count"]),
        (None, None, TypeError, ["m=None", "NoneType"]),
        (float("nan"), None, ValueError, ["m=nan", "not a number", "m=0.1"]),
        (0, float("nan"), ValueError, ["k=nan", "not a number", "k=0.1"]),
        (0, 1.0, ValueError, ["k=1.0", "one value", "k=None keeps all"]),
        (1.0, None, ValueError, ["m=1.0", "m=1 drops one value"]),
        (0, 0.0, ValueError, ["k=0.0", "pass k=1 to keep the largest"]),
        (0.0, None, ValueError, ["m=0.0", "pass m=0 to drop nothing"]),
        (0, 0, ValueError, ["k=0", "k >= 1"]),
        (-1, None, ValueError, ["m=-1", "m >= 0"]),
        (-0.5, None, ValueError, ["m=-0.5", "negative"]),
        (0, -3, ValueError, ["k=-3", "k >= 1"]),
        (2.5, None, ValueError, ["m=2.5", "Mass(2.5)"]),
        (0, float("inf"), ValueError, ["k=inf", "not a fraction"]),
        (5, 5, ValueError, ["m=5", "k=5", "m < k", "lower m or raise k"]),
        (0.5, 0.25, ValueError, ["m=0.5", "k=0.25", "lower m or raise k"]),
        (Mass(2.0), 1, ValueError, ["Mass(2.0)", "lower m or raise k"]),
        (Mass(-1), None, ValueError, ["Mass(-1.0)", "not negative"]),
        (0, Mass(0), ValueError, ["Mass(0.0)", "positive"]),
        (Mass("nan"), None, ValueError, ["Mass(nan)", "finite"]),
    ],
)
def test_what_is_no_rank_is_refused_with_a_way_out(m, k, error, words):
    with pytest.raises(error) as caught:
        RankedRange(m, k)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("ranks", "total", "words"),
    [
        (RankedRange(0, 120), 100, ["k=120", "100 values", "k=0.8", "k=None"]),
        (RankedRange(0, 120), 100.0, ["k=120", "total weight of 100", "k=0.8"]),
        (RankedRange(100), 100, ["m=100", "100 values", "m=0.1"]),
        (RankedRange(60, 0.5), 100, ["100 values", "m=60", "k=50", "lower m"]),
        (RankedRange(0.6, 50), 100.0, ["total weight of 100", "k=Mass(50.0)", "lower m"]),
    ],
)
def test_ranks_that_do_not_fit_the_total_are_refused_with_a_way_out(ranks, total, words):
    with pytest.raises(ValueError, match=r"needed|pass") as caught:
        ranks.resolve(total)
    for word in words:
        assert word in str(caught.value)


@given(st.integers(1, 10_000), st.integers(1, 9_999))
def test_a_fraction_written_as_a_ratio_of_counts_is_that_count(n, count):
    if count < n:
        assert RankedRange(count / n).resolve(n).m == count
        assert RankedRange(0, count / n).resolve(n).k == count


@given(
    st.integers(1, 1000),
    st.floats(0.001, 0.999),
    st.floats(0.001, 0.999),
)
def test_fractions_of_rows_widen_to_whole_rows_and_never_vanish(n, one, other):
    m, k = sorted([one, other])
    if m == k:
        return
    ranks = RankedRange(m, k).resolve(n)
    assert isinstance(ranks.m, int)
    assert isinstance(ranks.k, int)
    assert 0 <= ranks.m < ranks.k <= n
    assert ranks.m <= m * n * (1 + 1e-9)
    assert ranks.m > m * n - 1 - 1e-6
    assert ranks.k >= k * n * (1 - 1e-9)
    assert ranks.k < k * n + 1 + 1e-6


def test_fractions_of_weight_are_not_rounded():
    assert RankedRange(0.1, 0.9).resolve(2.0) == RankedRange(Mass(0.2), Mass(1.8))


def test_resolving_twice_changes_nothing():
    for total in (7, 7.5):
        once = RankedRange(0.3, 0.8).resolve(total)
        assert once.resolve(total) == once


def test_a_mass_says_so_and_is_not_a_fraction():
    assert repr(Mass(0.5)) == "Mass(0.5)"
    assert RankedRange(Mass(0.5), 2).resolve(10).m == 0.5


@pytest.mark.parametrize("n", [1, 2, 3, 4, 9, 10, 101])
def test_named_ranges_equal_their_closed_forms(n):
    values = np.random.default_rng(n).normal(size=n)
    down = np.sort(values)[::-1]

    def average(ranks):
        ranks = ranks.resolve(n)
        return average_ranked_range(values, ranks.m, ranks.k)

    assert average(RankedRange.average()) == pytest.approx(values.mean(), rel=1e-12)
    assert average(RankedRange.maximum()) == values.max()
    assert average(RankedRange.median(n)) == pytest.approx(np.median(values), rel=1e-15)
    for k in range(1, n + 1):
        assert average(RankedRange.average_top(k)) == pytest.approx(down[:k].mean(), rel=1e-12)
        assert average(RankedRange.top_value(k)) == down[k - 1]
    for m in range(n):
        assert average(RankedRange.trimmed(m)) == pytest.approx(down[m:].mean(), rel=1e-12)


@pytest.mark.parametrize("n", range(1, 12))
def test_the_median_has_the_ranks_of_the_paper(n):
    expected = (int(np.floor((n + 1) / 2)) - 1, int(np.ceil((n + 1) / 2)))
    ranks = RankedRange.median(n)
    assert (ranks.m, ranks.k) == expected


@pytest.mark.parametrize(
    ("n", "error"), [(0, ValueError), (-1, ValueError), (2.0, TypeError), (True, TypeError)]
)
def test_a_median_of_no_number_of_values_is_refused(n, error):
    with pytest.raises(error, match="not a number of values; needed an int, 1 or more"):
        RankedRange.median(n)


@pytest.mark.parametrize("k", [0.5, Mass(2)])
def test_a_top_value_needs_a_count(k):
    with pytest.raises(TypeError, match="not a rank; needed an int, 1 or more"):
        RankedRange.top_value(k)
