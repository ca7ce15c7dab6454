import numpy as np
from numpy.testing import assert_allclose

from sorr.estimators.search.grids import Cell
from sorr.estimators.search.selection import ranking_of, smoothed

AVERAGE = Cell(0, None, 1e4)


def best(cells, errors=None):
    """Return the cell that comes first: of tied ones, unless errors are given."""
    errors = np.full(len(cells), 0.2) if errors is None else np.array(errors)
    return cells[ranking_of(errors, cells, total=100.0)[0]]


def test_the_lowest_error_comes_first():
    assert best([AVERAGE, Cell(0.1, None, 1.0)], [0.2, 0.15]) == Cell(0.1, None, 1.0)


def test_ties_go_to_the_average_loss_whatever_its_ridge():
    assert best([Cell(0.01, None, 1.0), AVERAGE, Cell(0, 0.9, 1.0)]) == AVERAGE
    assert best([Cell(0.01, None, 1.0), Cell(0, 100, 1e4)]) == Cell(0, 100, 1e4)


def test_then_to_the_cell_that_keeps_most_ranks():
    cells = [Cell(0, 0.5, 1.0), Cell(0.1, None, 1e4), Cell(0.2, None, 1.0)]
    assert best(cells) == Cell(0.1, None, 1e4)


def test_then_to_the_smallest_c_and_last_to_the_smallest_m():
    assert best([Cell(0.1, None, 10.0), Cell(0.1, None, 1.0)]) == Cell(0.1, None, 1.0)
    assert best([Cell(20, 60, 1.0), Cell(10, 50, 1.0)]) == Cell(10, 50, 1.0)


def test_a_thousandth_of_the_error_is_a_tie_and_a_hundredth_is_none():
    cells = [AVERAGE, Cell(0.1, None, 1.0)]
    assert best(cells, [1.0005, 1.0]) == AVERAGE
    assert best(cells, [1.01, 1.0]) == cells[1]


def test_errors_equal_up_to_rounding_are_tied_at_zero_too():
    assert best([Cell(0.1, None, 1.0), AVERAGE], [0.0, 1e-17]) == AVERAGE


def test_every_cell_with_an_error_has_a_place():
    cells = [Cell(0.1 * i, None, 1.0) if i else Cell(0, None, 1.0) for i in range(5)]
    error = np.array([0.3, np.nan, 0.1, 0.2, np.nan])
    assert ranking_of(error, cells, 100.0) == [2, 3, 0]


def test_smoothing_averages_the_neighbours_that_have_an_error():
    rng = np.random.default_rng(0)
    cube = rng.random((2, 3, 4))
    cube[0, 1, 2] = cube[1, 0, 0] = np.nan
    found = smoothed(cube.ravel(), cube.shape).reshape(cube.shape)
    for i, j, k in np.ndindex(cube.shape):
        near = cube[max(i - 1, 0) : i + 2, max(j - 1, 0) : j + 2, max(k - 1, 0) : k + 2]
        expected = np.nan if np.isnan(cube[i, j, k]) else np.nanmean(near)
        assert_allclose(found[i, j, k], expected)
