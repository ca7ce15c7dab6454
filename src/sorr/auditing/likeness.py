"""Which rows agree, and how close rows are to each other.

Equal rows are copies only if coincidence does not explain them: where rows agree by chance, leaving
out a column brings many more that agree. Rows are close, or far from all others, by their distance
in the prepared columns.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from pandas import DataFrame

_TIMES = 3  # as many agreeing rows as chance explains: then some are copies
_MOST_COPIES = 10  # of a row; if more rows share a value, it is common
MAX_COUNTS = 50_000_000  # rows counted for one question, with different columns left out: seconds
NEIGHBOURS = 10  # whose distance says how close rows usually are
_MAX_NEAR = 20_000  # rows among which neighbours are looked for
_MAX_PRODUCTS = 2.5e10  # multiplications for that: seconds
_CELLS = (0.0, 0.19, 0.41, 0.63, 0.83)  # offsets of grids; near copies share a cell in one of them
_CELL = 0.1  # spreads, the size of a cell
MAX_LOOKED_AT = 5_000  # pairs from cells, and rows with large values, that are looked at


class Groups(NamedTuple):
    """Rows that agree, and whether chance explains it."""

    group: IntArray
    size: IntArray
    """The number of rows in the group of each row."""
    are_copies: BoolArray


class Agreement:
    """Which rows agree in all columns, or in all but some.

    Each value has a random number of 64 bits, and a row the sum of them. So a column is left out
    by a subtraction.
    """

    def __init__(self, frame: DataFrame) -> None:
        import pandas as pd

        self.n = len(frame)
        self.hashes, self.counts = [], []
        for place, name in enumerate(frame.columns):
            codes, values = pd.factorize(frame[name])
            random = np.random.default_rng(place).integers(1 << 63, size=len(values) + 1)
            self.hashes.append(random.astype(np.uint64)[codes])  # missing values have code -1
            self.counts.append(np.bincount(codes + 1, minlength=len(values) + 1)[codes + 1])
        self.total = np.zeros(self.n, dtype=np.uint64)
        for numbers in self.hashes:
            self.total += numbers

    def group(self, *without: int) -> tuple[IntArray, IntArray]:
        """Return a number for each row that equal rows share, and how many they are."""
        import pandas as pd

        key = self.total.copy()
        for column in without:
            key -= self.hashes[column]
        codes, _ = pd.factorize(key)
        return codes, np.bincount(codes)[codes]

    def _independent(self, columns: list[int]) -> npt.NDArray[np.float64]:
        """Return how many rows equal each by chance, if columns have nothing to do with others."""
        shares = np.zeros(self.n)
        for column in columns:
            shares += np.log(self.counts[column] / self.n)
        return np.asarray(self.n * np.exp(shares))

    def judge(self, *without: int, tries: int) -> Groups:
        """Return groups of rows that agree, and which are copies.

        If one more column is left out, some more rows agree. They differ in that column, and so
        agree in the others by chance; a share of such rows agrees in that column too, by chance
        again: as many as its value is common. Nor are copies fewer than if columns had nothing to
        do with each other. Rows of which chance hardly brings one copy are judged together.
        """
        group, size = self.group(*without)
        columns = [column for column in range(len(self.hashes)) if column not in without]
        expected = self._independent(columns)
        is_rare = expected <= 1 / _TIMES
        for column in columns[:: -(-len(columns) // tries)]:
            if not (is_rare & (size > 1)).any():
                break
            more = self.group(*without, column)[1] - size
            others = self.counts[column] - np.minimum(size, _MOST_COPIES)
            usual = np.median(self.counts[column]) - 1  # a rare value of a column of common ones
            common = np.minimum(np.maximum(others, usual) / self.n, 0.5)
            np.maximum(expected, more * common / (1 - common), out=expected)
            is_rare = expected <= 1 / _TIMES
        if (size[is_rare] - 1).sum() < _TIMES * expected[is_rare].sum():
            is_rare[:] = False
        return Groups(group, size, is_rare & (size > 1))


def distinct_rows(frame: DataFrame) -> IntArray:
    """Return the first row of each group of equal rows."""
    return np.sort(np.unique(Agreement(frame).group()[0], return_index=True)[1])


class ClosePairs(NamedTuple):
    """Pairs of rows, how far apart they are, and how far away such rows usually are."""

    a: IntArray
    b: IntArray
    distance: FloatArray
    usual: FloatArray


class Cloud:
    """Rows as points, and their neighbours among at most some thousands of them.

    A deviation that is typical of the rows which deviate in a column counts at most one, so that a
    column which is zero in nearly all rows does not make the others outliers.
    """

    def __init__(self, X: Any, rows: IntArray) -> None:
        from sklearn.neighbors import NearestNeighbors

        self.X, self.rows = X, rows
        limit = int(np.clip(np.sqrt(_MAX_PRODUCTS / X.shape[1]), 2_000, _MAX_NEAR))
        rng = np.random.default_rng(0)
        is_all = len(rows) <= limit
        self.seen = rows if is_all else np.sort(rng.choice(rows, limit, replace=False))
        values = _dense(X[self.seen])
        deviation = np.abs(values - np.median(values, axis=0))
        deviation[deviation == 0] = np.nan
        is_moved = ~np.isnan(deviation).all(axis=0)
        self.scale = np.ones(X.shape[1])
        self.scale[is_moved] = np.maximum(1.0, np.nanmedian(deviation[:, is_moved], axis=0))
        self.search = NearestNeighbors(algorithm="brute").fit(values / self.scale)

    def points(self, rows: IntArray) -> npt.NDArray[np.float64]:
        """Return rows as points."""
        return _dense(self.X[rows]) / self.scale

    def neighbours(self, rows: IntArray, k: int) -> tuple[FloatArray, IntArray]:
        """Return the distances of rows to their k nearest others, and which these are."""
        k = min(k, len(self.seen) - 1)
        distance, place = self.search.kneighbors(self.points(rows), k + 1)
        near = self.seen[place]
        is_self = near == rows[:, None]
        is_self[~is_self.any(axis=1), -1] = True  # one too many, where the row itself is not there
        keep = ~is_self
        return distance[keep].reshape(len(rows), k), near[keep].reshape(len(rows), k)

    def distances(self, rows: IntArray, k: int) -> FloatArray:
        """Return the distance of rows to their k-th nearest other."""
        if not len(rows):
            return np.empty(0)
        return self.neighbours(rows, k)[0][:, -1]

    @cached_property
    def sample(self) -> FloatArray:
        """The distances of some rows to their ten nearest others."""
        rows = self.seen[:: -(-len(self.seen) // (MAX_LOOKED_AT // 2))]
        return self.neighbours(rows, NEIGHBOURS)[0]

    @property
    def dimension(self) -> float:
        """The dimension in which nearest neighbours are usually as close as here."""
        nearest, last = self.sample[:, 0], self.sample[:, -1]
        ratio = float(np.median(nearest[last > 0] / last[last > 0])) if (last > 0).any() else 0.0
        if not 0.0 < ratio < 1.0:
            return 0.0
        return float(np.log(1 - 0.5 ** (1 / (self.sample.shape[1] - 1))) / np.log(ratio))

    def close_pairs(self) -> ClosePairs:
        """Return rows, each with a close other row.

        That is the nearest one, or in a large table one in the same cell of a grid.
        """
        if len(self.seen) == len(self.rows):
            a = self.rows
            distance, near = self.neighbours(a, NEIGHBOURS)
            b, usual = near[:, 0], distance[:, -1]
        else:
            found = np.concatenate([self._share_cell(offset) for offset in _CELLS])
            a, b = np.unique(found, axis=0)[:MAX_LOOKED_AT].T
            usual = self.distances(a, NEIGHBOURS)
        # Outliers are far from their tenth neighbour: two of them are no copies for that.
        return ClosePairs(a, b, self._apart(a, b), np.minimum(usual, np.median(self.sample[:, -1])))

    def _apart(self, a: IntArray, b: IntArray) -> FloatArray:
        """Return distances without the rounding of those from scalar products."""
        return np.asarray(np.linalg.norm(self.points(a) - self.points(b), axis=1))

    def _share_cell(self, offset: float) -> IntArray:
        """Return pairs of rows that share a cell of a grid with few others."""
        import pandas as pd

        columns = self.X.tocsc() if hasattr(self.X, "tocsc") else self.X
        key = np.zeros(len(self.rows), dtype=np.uint64)
        for place in range(self.X.shape[1]):
            values = _dense(columns[:, [place]]).ravel()[self.rows] / self.scale[place]
            cells = np.floor(values / _CELL + offset).astype(np.int64)
            mixed = cells.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
            key += (mixed ^ (mixed >> np.uint64(32))) * np.uint64(2 * place + 1)
        codes, _ = pd.factorize(key)
        size = np.bincount(codes)[codes]
        few = np.flatnonzero((size > 1) & (size < NEIGHBOURS))
        few = few[np.argsort(codes[few], kind="stable")]
        is_pair = codes[few[:-1]] == codes[few[1:]]
        return np.column_stack([self.rows[few[:-1][is_pair]], self.rows[few[1:][is_pair]]])


def _dense(part: Any) -> npt.NDArray[np.float64]:
    return np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=np.float64)
