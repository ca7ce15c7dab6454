import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sorr.estimators.ranked_range import ranks_in_all, ranks_in_classes

MASSES = np.array([30, 15])
NAMES = ["a", "b"]


def test_a_fraction_holds_in_each_class_and_rounds_so_that_no_class_vanishes():
    ranks = ranks_in_classes(0.1, 0.9, MASSES, NAMES)
    assert_array_equal(ranks.m, [3, 1])
    assert_array_equal(ranks.k, [27, 14])
    assert_array_equal(ranks_in_classes(0.99, None, np.array([1, 200]), NAMES).m, [0, 198])


def test_a_mapping_gives_classes_their_own_and_leaves_the_others_whole():
    ranks = ranks_in_classes({"b": 4}, {"a": 0.5}, MASSES, NAMES)
    assert_array_equal(ranks.m, [0, 4])
    assert_array_equal(ranks.k, [15, 15])


def test_fractions_of_weight_are_not_rounded():
    ranks = ranks_in_classes(0.1, None, np.array([30.5, 15.0]), NAMES)
    assert_allclose(ranks.m, [3.05, 1.5], rtol=1e-15)


def test_pooled_ranks_count_in_all_rows():
    assert_array_equal(np.ravel(ranks_in_all(0.1, None, MASSES, NAMES)), [4, 45])
    assert_array_equal(np.ravel(ranks_in_all(3, 40, MASSES, NAMES)), [3, 40])


def test_a_class_inside_m_is_refused_with_the_ways_out():
    with pytest.raises(ValueError, match=r"class 'b' has 15 of 45 rows.*lower m.*within_class"):
        ranks_in_all(0.4, None, MASSES, NAMES)
    ranks_in_all(14, None, MASSES, NAMES)


@pytest.mark.parametrize("name", ["m", "k"])
def test_a_bare_count_within_classes_is_refused_with_both_readings(name):
    ranks = {"m": 0, "k": None} | {name: 5}
    message = rf"{name}=5 is a count.*5 rows of every class or 5 rows in all.*'a': 5.*pooled.*0\.11"
    with pytest.raises(ValueError, match=message):
        ranks_in_classes(*ranks.values(), MASSES, NAMES)


def test_a_mapping_with_a_stranger_or_for_all_rows_is_refused():
    with pytest.raises(
        ValueError, match="'c', which is not a class of y; needed classes among 'a', 'b'"
    ):
        ranks_in_classes({"c": 1}, None, MASSES, NAMES)
    with pytest.raises(TypeError, match="mapping, but all rows are ranked together"):
        ranks_in_all({"a": 1}, None, MASSES, NAMES)


@pytest.mark.parametrize("m", [True, np.nan, 1.0, 0.0, -1, "ten", 2.5])
@pytest.mark.parametrize("find_ranks", [ranks_in_classes, ranks_in_all])
def test_what_is_no_rank_is_refused(find_ranks, m):
    with pytest.raises((TypeError, ValueError), match=f"m={m!r}"):
        find_ranks(m, None, MASSES, NAMES)


def test_errors_within_a_class_name_it():
    with pytest.raises(ValueError, match=r"in class 'b': m=20 drops everything out of the 15"):
        ranks_in_classes({"b": 20}, None, MASSES, NAMES)
    with pytest.raises(ValueError, match=r"in class 'a'.*m=0.5 and k=0.3 leave no rank"):
        ranks_in_classes(0.5, 0.3, MASSES, NAMES)
