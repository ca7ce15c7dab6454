"""Least trimmed squares over half of the rows, from many starts: planes that outliers do not move.

References
----------
P. J. Rousseeuw and K. van Driessen, "Computing LTS regression for large data sets", Data Mining and
Knowledge Discovery 2006.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from sorr._typing import FloatArray, IntArray
from sorr.objectives import centre_and_spread
from sorr.share.constants import DISTINCT_MINIMA, STARTS
from sorr.share.row_values import is_sparse

_RIDGE = 1e-10  # of the mean diagonal, so that columns may depend on each other
_SUBSAMPLE, _ROWS_EACH = 300, 5  # rows that random starts are tried on, and for each column
_WORK = 1e9  # multiplications that random starts may take
_FEWEST_STARTS = 10
_FIRST_STEPS, _STEPS = 3, 50  # of concentration: for every start, and for the best ones
_POLISHED = 8  # starts that are followed to the end


# -- Rows of a sample ------------------------------------------------------------------------------


class Units(NamedTuple):
    """The centre and the unit of each column."""

    centre: FloatArray
    unit: FloatArray
    intercept: bool

    @classmethod
    def of(cls, X: Any, intercept: bool) -> Units:
        """Return those of some rows: medians, and spreads that outliers hardly change."""
        dense: Any = X.toarray() if is_sparse(X) else X
        centre, unit = centre_and_spread(dense.astype(np.float64, copy=False))
        if intercept:
            return cls(centre, unit, intercept)
        constant = np.where(centre == 0, np.inf, np.abs(centre))  # which may be the intercept
        return cls(np.zeros(len(centre)), np.where(np.isinf(unit), constant, unit), intercept)

    def apply(self, X: Any) -> FloatArray:
        """Return rows in these units, with a column of ones for the intercept."""
        dense: Any = X.toarray() if is_sparse(X) else X
        A = np.ones((dense.shape[0], len(self.centre) + self.intercept), order="F")
        A[:, : len(self.centre)] = (dense - self.centre) / self.unit
        return A

    def original(self, theta: FloatArray) -> FloatArray:
        """Return coefficients of the columns as they were given."""
        d = len(self.centre)
        coef = theta[:d] / self.unit
        return np.append(coef, theta[d] - self.centre @ coef) if self.intercept else coef


class Rows(NamedTuple):
    """Rows in robust units, their targets and masses."""

    A: FloatArray
    y: FloatArray
    mass: FloatArray
    intercept: bool
    floor: float

    @property
    def columns(self) -> FloatArray:
        """The columns without the one of the intercept."""
        return self.A[:, :-1] if self.intercept else self.A

    def solve(self, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the least-squares plane of weighted rows, and the inverse of its gram matrix.

        Several weights of each row give several planes.
        """
        p = self.A.shape[1]
        heavy = self.A.T * weight[..., None, :]
        gram = heavy @ self.A
        right = np.empty((*gram.shape[:-1], p + 1))
        right[..., :p], right[..., p] = np.eye(p), heavy @ self.y
        diagonal = np.einsum("...ii->...i", gram)
        diagonal += np.maximum(diagonal.sum(axis=-1, keepdims=True) * (_RIDGE / p), 1e-300)
        found = np.linalg.solve(gram, right)
        return found[..., p], found[..., :p]

    def leverage(self, inverse: FloatArray) -> FloatArray:
        """Return how much each row could move that plane."""
        return np.asarray((inverse @ self.A.T * self.A.T).sum(axis=-2))


# -- Starts: least trimmed squares -----------------------------------------------------------------


def trimmed_starts(rows: Rows, rng: np.random.Generator) -> list[FloatArray]:
    """Return distinct local minima of least trimmed squares over half of the rows, best first."""
    plain, _ = rows.solve(rows.mass)
    moved = rows._replace(y=rows.y - rows.A @ plain)
    kept = 0.5 * (moved.mass.sum() + rows.A.shape[1] * moved.mass.mean())
    starts = [np.zeros_like(plain), *_scatter_starts(moved), *_random_starts(moved, kept, rng)]
    tried = sorted(
        (_concentrate(moved, each, kept, _FIRST_STEPS) for each in starts), key=itemgetter(0)
    )
    best = [_concentrate(moved, each, kept, _STEPS) for _, each in tried[:_POLISHED]]
    distinct: list[tuple[float, FloatArray]] = []
    for value, theta in sorted(best, key=itemgetter(0)):
        if all(value > other * (1 + DISTINCT_MINIMA) for other, _ in distinct):
            distinct.append((value, theta))
    return [theta + plain for _, theta in distinct[:STARTS]]


def _concentrate(
    rows: Rows, theta: FloatArray, kept: float, steps: int
) -> tuple[float, FloatArray]:
    """Fit the rows that are closest, again and again; no step makes their squares larger."""
    last = np.inf
    for _ in range(steps):
        squares = (rows.y - rows.A @ theta) ** 2
        near = _nearest(squares, rows.mass, kept)
        value = float(rows.mass[near] @ squares[near])
        if value >= last * (1 - 1e-10):
            break
        last = value
        some = rows._replace(A=rows.A[near], y=rows.y[near])
        theta, _ = some.solve(rows.mass[near])
    return last, theta


def _nearest(values: FloatArray, mass: FloatArray, kept: float) -> IntArray:
    """Return the rows of the smallest values, up to a mass."""
    if (mass == mass[0]).all():
        count = min(max(round(kept / mass[0]), 1), len(values))
        return np.argpartition(values, count - 1)[:count]
    order = np.argsort(values, kind="stable")
    count = int(np.searchsorted(np.cumsum(mass[order]), kept * (1 - 1e-12))) + 1
    return order[:count]


def _scatter_starts(rows: Rows) -> Iterator[FloatArray]:
    """Yield planes that follow from robust covariances, and planes of the rows nearest to them."""
    d = rows.A.shape[1] - rows.intercept
    unit = 1.4826 * np.median(np.abs(rows.y))
    Z = np.column_stack([rows.columns, rows.y / (unit or 1.0)])
    half = 0.5 * rows.mass.sum()
    for scatter in _scatters(Z):
        coef = np.linalg.solve(scatter[:d, :d] + 1e-6 * np.eye(d), scatter[:d, d]) * (unit or 1.0)
        off = rows.y - rows.columns @ coef
        yield np.append(coef, np.median(off)) if rows.intercept else coef
        for columns in (d + 1, d):  # nearest in rows and targets, and in rows alone
            size = _robust_sizes(Z[:, :columns], scatter[:columns, :columns])
            near = _nearest(size, rows.mass, half)
            yield rows._replace(A=rows.A[near], y=rows.y[near]).solve(rows.mass[near])[0]


def _scatters(Z: FloatArray) -> Iterator[FloatArray]:
    """Yield covariances which outliers change little: of bounded values, signs, the middle, ranks.

    References
    ----------
    M. Hubert, P. Rousseeuw and T. Verdonck, "A deterministic algorithm for robust location and
    scatter", Journal of Computational and Graphical Statistics 2012.
    """
    yield _correlation(np.tanh(Z))
    norms = np.linalg.norm(Z, axis=1)
    signs = Z / np.maximum(norms, 1e-12)[:, None]
    yield signs.T @ signs * (Z.shape[1] / len(Z))
    middle = Z[norms <= np.median(norms)]
    yield np.cov(middle.T).reshape(2 * (Z.shape[1],))
    yield _correlation(np.argsort(np.argsort(Z, axis=0), axis=0) / len(Z))


def _correlation(Z: FloatArray) -> FloatArray:
    off = Z - Z.mean(axis=0)
    spread = np.sqrt((off * off).mean(axis=0))
    off /= np.where(spread > 0, spread, 1.0)
    return np.asarray(off.T @ off / len(off))


def _robust_sizes(Z: FloatArray, scatter: FloatArray) -> FloatArray:
    """Return the distance of each row from the middle, in robust spreads along main axes."""
    along = Z @ np.linalg.eigh(scatter)[1]
    off = along - np.median(along, axis=0)
    spread = np.median(np.abs(off), axis=0)
    rough = off.std(axis=0)
    spread = np.where(spread > 1e-9 * rough, spread, rough)
    return np.asarray(np.linalg.norm(off / np.where(spread > 0, spread, 1.0), axis=1))


def _random_starts(rows: Rows, kept: float, rng: np.random.Generator) -> list[FloatArray]:
    """Return the best planes through as many random rows as there are columns, after two steps."""
    n, p = rows.A.shape
    size = min(n, max(_SUBSAMPLE, _ROWS_EACH * p))
    some = rng.choice(n, size, replace=False, p=rows.mass / rows.mass.sum())
    A, y = rows.A[some], rows.y[some]
    count = max(p, min(size, round(size * kept / rows.mass.sum())))
    n_starts = int(np.clip(_WORK / (size * p * p), _FEWEST_STARTS, 500))
    drawn = rng.random((n_starts, size)).argpartition(p - 1, axis=1)[:, :p]
    ridge = 1e-9 * np.eye(p)
    few = A[drawn]  # rows of categories may be equal: the ridge keeps their gram matrix regular
    grams, pulls = few.transpose(0, 2, 1) @ few, few.transpose(0, 2, 1) @ y[drawn][..., None]
    theta = np.linalg.solve(grams + ridge, pulls)[..., 0]
    products = (A[:, :, None] * A[:, None, :]).reshape(size, p * p)
    along = A * y[:, None]
    for _ in range(2):
        squares = (y - theta @ A.T) ** 2
        limit = np.partition(squares, count - 1, axis=1)[:, count - 1 : count]
        is_near = (squares <= limit).astype(np.float64)
        grams = (is_near @ products).reshape(-1, p, p) + size * ridge
        theta = np.linalg.solve(grams, (is_near @ along)[..., None])[..., 0]
    squares = (y - theta @ A.T) ** 2
    values = np.partition(squares, count - 1, axis=1)[:, :count].sum(axis=1)
    return list(theta[np.argsort(values)[:10]])
