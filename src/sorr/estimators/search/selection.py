"""Which cell of a grid to take, given the error of each: the rules, and their order of ties."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from sorr._typing import FloatArray
from sorr.estimators.search.grids import Cell, size_of

__all__ = ["ranking_of", "smoothed"]

_TIED = 1e-3  # of the lowest error: what is left to gain by polishing solutions
_ROUNDING = 1e-9


def ranking_of(error: FloatArray, cells: Sequence[Cell], total: float) -> list[int]:
    """Return the cells from best to worst, without those that have no error.

    Cells within a thousandth of the lowest error are tied. Among them the average loss comes
    first, then the one which keeps most ranks, then the smallest C, then the smallest m.

    Parameters
    ----------
    error : ndarray of shape (n_cells,)
        The lower, the better; NaN for cells that were left out.
    cells : sequence of Cell
    total : float
        The number of rows, or their mass.

    Examples
    --------
    >>> cells = [Cell(0, None, 1.0), Cell(0.1, None, 1.0), Cell(0.2, None, 1.0)]
    >>> ranking_of(np.array([0.2, 0.1, 0.1]), cells, total=100)
    [1, 2, 0]
    """

    def preference(i: int) -> tuple[bool, float, float, float]:
        m, k, C = cells[i]
        low, high = size_of(m, total), size_of(k, total)
        return not (low == 0 and high >= total), low - high, C, low

    left = [int(i) for i in np.argsort(error, kind="stable") if not np.isnan(error[i])]
    ranking: list[int] = []
    while left:
        lowest = error[left[0]]
        limit = lowest + _TIED * abs(lowest) + _ROUNDING
        tied = [i for i in left if error[i] <= limit]
        ranking += sorted(tied, key=preference)
        left = left[len(tied) :]
    return ranking


def smoothed(error: FloatArray, shape: tuple[int, int, int]) -> FloatArray:
    """Return the mean error of each cell and its neighbours in the grid, of those that have one.

    Parameters
    ----------
    error : ndarray of shape (n_cells,)
    shape : tuple of int
        The shape of the grid, of which the cells are the entries in order.
    """
    cube = np.pad(error.reshape(shape), 1, constant_values=np.nan)
    total, number = np.zeros(shape), np.zeros(shape)
    for shift in product(range(3), repeat=3):
        part = cube[tuple(slice(s, s + size) for s, size in zip(shift, shape, strict=True))]
        is_there = ~np.isnan(part)
        total += np.where(is_there, part, 0.0)
        number += is_there
    mean = np.where(np.isnan(cube[1:-1, 1:-1, 1:-1]), np.nan, total / np.maximum(number, 1))
    return np.asarray(mean.ravel())
