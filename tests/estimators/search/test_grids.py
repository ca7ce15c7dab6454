import numpy as np
import pytest

from sorr.estimators.search.grids import Pool, make_grid

HALVES = Pool(np.array([60, 40]), ["a", "b"], is_pooled=True)
WITHIN = Pool(np.array([60, 40]), ["a", "b"], is_pooled=False)
NUMBERS = Pool(np.array([100]), [], is_pooled=True)


def test_the_paper_s_grid_has_its_values_of_k_and_c():
    grid = make_grid("paper", HALVES)
    assert grid.k == (1, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, None)
    assert grid.C == (1.0, 10.0, 1e2, 1e3, 1e4, 1e5)
    assert 0 in grid.m
    assert len(grid.cells()) == np.prod(grid.shape)


def test_within_classes_the_paper_s_grid_has_no_count():
    assert make_grid("paper", WITHIN).k[0] == 0.1


@pytest.mark.parametrize("name", ["default", "paper"])
def test_named_grids_hold_the_average_loss(name):
    assert any(m == 0 and k is None for m, k, _ in make_grid(name, NUMBERS).cells())


def test_the_default_grid_keeps_all_ranks_below_m():
    assert make_grid("default", HALVES).k == (None,)


def test_values_are_sorted_by_what_they_mean_and_each_comes_once():
    grid = make_grid({"m": [0.3, 20, 0, 0.1, 0.3], "k": [None, 0.5, 90], "C": [10, 1]}, HALVES)
    assert grid.m == (0, 0.1, 20, 0.3)
    assert grid.k == (0.5, 90, None)
    assert grid.C == (1.0, 10.0)


def test_what_a_mapping_does_not_name_is_as_by_default():
    default = make_grid("default", NUMBERS)
    grid = make_grid({"m": [0]}, NUMBERS)
    assert (grid.k, grid.C) == (default.k, default.C)


def test_cells_change_m_fastest_and_c_slowest():
    cells = make_grid({"m": [0, 0.1], "k": [0.5, None], "C": [1, 2]}, HALVES).cells()
    assert [cell.m for cell in cells[:3]] == [0, 0.1, 0]
    assert [cell.C for cell in cells] == [1] * 4 + [2] * 4


@pytest.mark.parametrize(
    ("grid", "pool", "error", "message"),
    [
        ("papers", HALVES, ValueError, "grid='papers' is not known; did you mean 'paper'"),
        (3, HALVES, TypeError, "grid=3 is of type int; needed a name"),
        ({"c": [1]}, HALVES, ValueError, "values of 'c', which is not searched"),
        ({"m": 0.1}, HALVES, TypeError, r"is no list of values; needed one, \[0.1\]"),
        ({"m": "auto"}, HALVES, TypeError, "is no list of values"),
        ({"m": []}, HALVES, ValueError, "is empty"),
        ({"m": ["auto"]}, HALVES, ValueError, "m='auto' is a choice of RankedRangeClassifier"),
        ({"m": [{"a": 1}]}, WITHIN, TypeError, "needed counts or fractions"),
        ({"m": [1.0]}, HALVES, ValueError, "m=1.0 can be read"),
        ({"m": [True]}, HALVES, TypeError, "m=True is of type bool"),
        ({"k": [0.0]}, HALVES, ValueError, "k=0.0 is no share"),
        ({"m": [5]}, WITHIN, ValueError, "m=5 is a count, but rows are ranked within each class"),
        ({"k": [5]}, WITHIN, ValueError, "k=5 is a count, but rows are ranked within each class"),
        ({"C": [0]}, HALVES, ValueError, "needed numbers above 0"),
        ({"C": ["1"]}, HALVES, ValueError, "needed numbers above 0"),
        ({"C": [np.nan]}, HALVES, ValueError, "needed numbers above 0"),
    ],
)
def test_what_is_no_grid_is_refused(grid, pool, error, message):
    with pytest.raises(error, match=message):
        make_grid(grid, pool)


@pytest.mark.parametrize(
    ("m", "k", "pool", "reason"),
    [
        (0.1, None, HALVES, ""),
        (0.32, None, HALVES, ""),
        (0.33, None, HALVES, "more than 0.8 of the 40 rows of class 'b'"),
        (0.4, None, HALVES, "class 'b' has 40 of 100 rows"),
        (0.33, None, WITHIN, ""),
        (0.9, None, NUMBERS, ""),
        (0.5, 0.5, NUMBERS, "leave no rank between them"),
        (0, 101, NUMBERS, "k=101 exceeds the 100 values"),
    ],
)
def test_impossible_cells_say_why(m, k, pool, reason):
    found = pool.obstacle(m, k)
    assert reason in found
    assert bool(found) == bool(reason)


def test_masses_are_whole_if_weights_are_and_hold_class_weights_if_pooled():
    index = np.array([0, 0, 1])
    plain = Pool.of(index, None, ["a", "b"], None, True)
    assert plain.masses.dtype.kind == "i"
    weight, factor = np.array([1.0, 2.0, 0.5]), np.array([1.0, 4.0])
    np.testing.assert_allclose(Pool.of(index, weight, ["a", "b"], factor, True).masses, [3, 2])
    np.testing.assert_allclose(Pool.of(index, weight, ["a", "b"], factor, False).masses, [3, 0.5])
