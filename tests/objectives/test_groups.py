import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sorr.objectives import Group, Groups
from sorr.ranked import Mass
from tests.ranked.referees import segments

LABELS = np.array(["b", "a", "b", "b", "a", "b"])


@st.composite
def grouped(draw):
    """Draw values that are often tied, with groups in two labels, weighted or not."""
    n = draw(st.integers(2, 15))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = random.integers(0, 4, n).astype(float)
    weight = None
    if draw(st.booleans()):
        weight = random.choice([0.0, 0.3, 1.0, 2.5], n)
        weight[0] += 0.7
    m = draw(st.sampled_from([0, 0.15, 0.4]))
    k = draw(st.sampled_from([0.5, 0.85, None]))
    return values, Groups.of(n, m, k, random.integers(2, size=n), weight)


def masses_of(groups, group):
    return groups.masses[group.rows]


def test_without_labels_all_rows_are_one_group():
    (group,) = Groups.of(10, 2, 6)
    assert group == Group(None, slice(None), 2.0, 6.0, 10.0, 1 / 4)
    assert group.width == 4
    assert len(Groups.of(10, 2, 6)) == 1


def test_rows_are_grouped_by_label_and_a_group_counts_by_its_mass():
    first, second = Groups.of(6, 0, 0.5, LABELS)
    assert (first.label, second.label) == ("a", "b")
    assert_array_equal(first.rows, [1, 4])
    assert_array_equal(second.rows, [0, 2, 3, 5])
    assert (first.mass, first.k, first.scale) == (2.0, 1.0, 2 / 6)
    assert (second.mass, second.k, second.scale) == (4.0, 2.0, 4 / 6 / 2)


def test_ranks_may_differ_between_the_groups():
    first, second = Groups.of(6, {"a": 0, "b": 1}, {"a": None, "b": 3}, LABELS)
    assert (first.m, first.k) == (0.0, 2.0)
    assert (second.m, second.k) == (1.0, 3.0)


def test_a_group_without_mass_is_left_out():
    weight = np.where(LABELS == "a", 0.0, 1.5)
    (only,) = Groups.of(6, 0.25, None, LABELS, weight)
    assert only.label == "b"
    assert (only.m, only.k, only.mass) == (1.5, 6.0, 6.0)


def test_masses_are_ones_unless_weights_are_given():
    assert_array_equal(Groups.of(3, 0, None).masses, [1, 1, 1])
    weight = np.array([0.5, 2.0, 0.0])
    assert_array_equal(Groups.of(3, 0, None, weight=weight).masses, weight)


def test_a_range_is_full_where_nothing_is_ranked():
    assert Groups.of(6, 0, None, LABELS).is_full
    assert not Groups.of(6, 0, {"a": 2, "b": 3}, LABELS).is_full
    assert not Groups.of(6, {"a": 1, "b": 0}, None, LABELS).is_full
    assert Groups.of(3, 0, Mass(0.6), weight=np.array([0.1, 0.2, 0.3])).is_full


@given(grouped())
def test_the_shares_are_those_of_segments_laid_end_to_end_with_ties_evened_out(drawn):
    values, groups = drawn
    shares = groups.shares(values)
    for group in groups:
        own, weight = values[group.rows], masses_of(groups, group)
        plain = segments(own, weight, group.m, group.k)
        for value in np.unique(own):
            tied = own == value
            expected = weight[tied] * plain[tied].sum() / max(weight[tied].sum(), 1e-300)
            assert_allclose(shares[group.rows][tied], group.scale * expected, atol=1e-12)
    assert_allclose(shares.sum(), 1, rtol=1e-12)
    assert_allclose(sum(group.scale * group.width for group in groups), 1, rtol=1e-12)


@given(grouped())
def test_the_part_of_k_minus_the_part_of_m_is_the_whole(drawn):
    values, groups = drawn
    first, second = groups.with_ends("k"), groups.with_ends("m")
    assert_allclose(first.shares(values) - second.shares(values), groups.shares(values), atol=1e-12)
    assert all(group.m == 0 for group in (*first, *second))


@given(grouped())
def test_trimming_takes_mass_m_of_the_largest_and_cuts_at_most_one_row_of_a_group(drawn):
    values, groups = drawn
    trimmed = groups.trimmed(values)
    for group, rest in zip(groups, trimmed, strict=True):
        own, weight = values[group.rows], masses_of(groups, group)
        kept = masses_of(trimmed, rest)
        dropped = weight - kept
        assert kept.min() >= 0
        assert_allclose(dropped.sum(), group.m, atol=1e-9)
        assert np.count_nonzero((dropped > 1e-9) & (kept > 1e-9)) <= 1
        assert own[dropped > 1e-9].min(initial=np.inf) >= own[kept > 1e-9].max(initial=-np.inf)
        assert (rest.m, rest.scale) == (0.0, group.scale)
        assert_allclose([rest.k, rest.mass], [group.width, group.mass - group.m])


@given(grouped())
def test_what_trimming_leaves_adds_up_to_the_same_ranked_range(drawn):
    values, groups = drawn
    left = groups.trimmed(values).shares(values) @ values
    assert_allclose(left, groups.shares(values) @ values, rtol=1e-12, atol=1e-12)


def test_trimming_in_single_precision_drops_the_same_rows():
    random = np.random.default_rng(0)
    weight, values = random.random(20), random.standard_normal(20)
    groups = Groups.of(20, Mass(3.3), None, weight=weight)
    single = groups.trimmed(values.astype(np.float32))
    assert_allclose(single.masses, groups.trimmed(values).masses, rtol=1e-12, atol=1e-12)


def test_single_precision_stays_and_is_close():
    values = np.random.default_rng(1).standard_normal(20)
    for weight in (None, np.full(20, 0.1)):
        groups = Groups.of(20, 0.2, 0.7, weight=weight)
        narrow = groups.shares(values.astype(np.float32))
        assert narrow.dtype == np.float32
        assert_allclose(narrow, groups.shares(values), rtol=1e-6)  # units of the last place


def test_a_row_outside_of_every_group_counts_nothing():
    (group,) = Groups.of(3, 0, None)
    groups = Groups((group._replace(rows=np.array([0, 2]), mass=2.0, k=2.0),), 3)
    assert_allclose(groups.shares(np.array([1.0, 9.0, 2.0])), [1 / 3, 0, 1 / 3])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"m": {"a": 1}, "k": None}, TypeError, r"m=.* is a mapping, .* no groups; pass groups="),
        ({"m": 0, "k": {"a": 1}}, TypeError, r"k=.* is a mapping, .*or a single number"),
        (
            {"m": {"a": 1}, "k": None, "labels": LABELS},
            ValueError,
            "has no entry for group 'b'; needed one for each group",
        ),
        (
            {"m": 1, "k": None, "labels": LABELS},
            ValueError,
            r"m=1 is a count, but the rows are ranked within groups.*pass a fraction such as m=0.1",
        ),
        ({"m": 0, "k": 3, "labels": LABELS}, ValueError, "k=3 is a count, .* or a mapping"),
        (
            {"m": 0, "k": {"a": 3, "b": 3}, "labels": LABELS},
            ValueError,
            "^in group 'a': k=3 exceeds the 2 values; pass a fraction",
        ),
        ({"m": 0, "k": 7}, ValueError, "^k=7 exceeds the 6 values"),
        ({"m": 0.0, "k": None}, ValueError, "m=0.0 is not a fraction; pass m=0 to drop nothing"),
        ({"m": {"a": 0, "b": 3}, "k": 0.5, "labels": LABELS}, ValueError, "^in group 'b': .*m < k"),
        (
            {"m": 0, "k": None, "labels": LABELS[:5]},
            ValueError,
            r"groups has shape \(5,\); needed one label for each of the 6 rows",
        ),
    ],
)
def test_ranks_and_labels_that_do_not_fit_are_refused_with_a_way_out(arguments, error, message):
    with pytest.raises(error, match=message):
        Groups.of(6, **arguments)


def test_a_count_of_zero_is_no_count():
    assert all(group.m == 0 for group in Groups.of(6, 0, None, LABELS))


def test_a_mapping_to_a_group_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"entry for 7, which is not a group; needed 0, 1"):
        Groups.of(4, {0: 1, 1: 1, 7: 1}, None, labels=[0, 0, 1, 1])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labels", [None, LABELS])
def test_strata_count_the_rows_of_each_group_and_class_that_have_a_mass(labels, weighted):
    weight = np.array([1.0, 0.5, 0.0, 2.0, 3.0, 0.0]) if weighted else None
    side = np.array([1, -1, 1, -1, 1, 1])
    groups = Groups.of(6, 0, None, labels, weight)
    mass = np.ones(6) if weight is None else weight
    expected = {}
    for g, group in enumerate(groups):
        members = np.arange(6)[group.rows]
        for name in (-1, 1):
            rows = [i for i in members if side[i] == name and mass[i] > 0]
            if rows:
                expected[g, name] = (len(rows), sum(mass[i] for i in rows))
    assert groups.strata(side) == expected
    whole = groups.strata(None)
    assert sum(stratum.mass for stratum in whole.values()) == mass.sum()
    assert {name for _, name in whole} == {None}


def test_rows_have_the_number_of_their_group_and_none_of_the_mass_outside():
    weight = np.array([1.0, 0.0, 2.0, 1.0, 0.0, 1.0])  # the group "a" has no mass
    number, mass = Groups.of(6, 0, None, LABELS, weight).of_rows()
    assert_array_equal(number, np.zeros(6))
    assert_array_equal(mass, weight)
    assert Groups.of(6, 0, None, None, weight).of_rows() == (None, weight)
