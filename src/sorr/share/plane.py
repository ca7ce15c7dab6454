"""A plane through the rows that agree, and residuals as if each row had not been fitted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import pinvh

from sorr._typing import FloatArray
from sorr.objectives import RankedRangeObjective
from sorr.ranked import Mass
from sorr.solvers import trim

_SAMPLE = 5000  # rows that the first plane is found on, or more if there are many columns
_ROWS_EACH = 20  # of them for each column
_MAX_WRONG = 0.45  # share of the rows that may be wrong in the first plane
_WIDE = 1000  # columns from which on no matrix of their products is formed
_BLOCK = 1 << 18  # entries of X that are worked on at a time
_FITTED = 0.95  # of the variance of a residual at most is lost to the fit


class Plane(NamedTuple):
    """A plane, and the residual of each row."""

    theta: FloatArray
    """Coefficients, then the intercept."""
    residuals: FloatArray
    """Of the variance that rows which belong have, had none of them been fitted."""
    leverage: FloatArray
    """How much each row could move the plane: from 0 on, above 1 for some that were dropped."""
    stretch: float
    """The logarithm of how much wider the predictions of rows are than the residuals."""


class Rows:
    """Rows, targets and masses, and the planes through some of them.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    mass : ndarray of shape (n_samples,)
    C : float
        The inverse ridge on the coefficients, as in the estimators.
    intercept : bool
    """

    def __init__(self, X: Any, y: FloatArray, mass: FloatArray, C: float, intercept: bool) -> None:
        self.X, self.y, self.mass, self.C, self.intercept = X, y, mass, C, intercept
        self.is_sparse = bool(sparse.issparse(X))
        d = X.shape[1]
        self.shift, self.scale = np.zeros(d), np.ones(d)
        if not self.is_sparse:
            step = max(1, X.shape[0] // 2000)
            part = X[::step].astype(np.float64)
            if intercept:
                self.shift = np.median(part, axis=0)
            self.scale = np.mean(np.abs(part - self.shift), axis=0)
            self.scale[~((self.scale > 0) & np.isfinite(self.scale))] = 1.0

    @property
    def n_parameters(self) -> int:
        """The number of coefficients, and the intercept."""
        return int(self.X.shape[1]) + self.intercept

    @property
    def is_wide(self) -> bool:
        """Whether columns are too many to tell how much each row has determined the plane."""
        return self.n_parameters > _WIDE

    def take(self, rows: npt.NDArray[np.intp]) -> Rows:
        """Return some of the rows."""
        return Rows(self.X[rows], self.y[rows], self.mass[rows], self.C, self.intercept)

    def through(self, kept: FloatArray, start: FloatArray) -> Plane:
        """Return the least-squares plane of rows, each kept to some part.

        Parameters
        ----------
        kept : ndarray of shape (n_samples,)
            Which part of each row's mass counts: 1 for a row that belongs.
        start : ndarray of shape (n_parameters,)
            A plane nearby.
        """
        if self.is_wide:
            return self.near(start, kept)
        p = self.n_parameters
        gram, pull = np.zeros((p, p)), np.zeros(p)
        for rows, block in self._blocks(kept > 0):
            weight = (self.mass[rows] * kept[rows])[:, None]
            heavy = block.multiply(weight).tocsr() if self.is_sparse else block * weight
            product = heavy.T @ block
            gram += product.toarray() if self.is_sparse else product
            pull += heavy.T @ self.y[rows]
        counted = float(self.mass @ kept)
        ridge = np.zeros(p)
        ridge[: self.X.shape[1]] = 0.5 * counted / self.C / self.scale**2
        inverse = pinvh(gram + np.diag(ridge))
        theta = self._original(inverse @ pull)
        leverage = np.zeros(len(self.y))
        for rows, block in self._blocks(np.ones(len(self.y), dtype=bool)):
            moved = block @ inverse
            both = block.multiply(moved) if self.is_sparse else block * moved
            leverage[rows] = np.asarray(both.sum(axis=1)).ravel()
        return self._plane(theta, leverage, kept)

    def near(self, theta: FloatArray, kept: FloatArray) -> Plane:
        """Return a given plane, as if each of the kept rows had determined it alike."""
        freedom = min(float(self.n_parameters), 0.5 * float(self.mass @ kept))
        alike = np.full(len(self.y), freedom / max(float(self.mass @ kept), 1.0))
        return self._plane(theta, alike, kept)

    def _plane(self, theta: FloatArray, leverage: FloatArray, kept: FloatArray) -> Plane:
        """Return the plane, and residuals of one variance: kept rows are closer, others further."""
        d = self.X.shape[1]
        raw = np.asarray(self.X @ theta[:d]) + (theta[d] if self.intercept else 0.0)
        spread = np.maximum(1 + (1 - 2 * kept) * leverage, 1 - _FITTED)
        stretch = 0.5 * float(self.mass @ np.abs(np.log(spread)))
        return Plane(theta, (self.y - raw) / np.sqrt(spread), leverage, stretch)

    def _original(self, theta: FloatArray) -> FloatArray:
        d = self.X.shape[1]
        coef = theta[:d] / self.scale
        return np.append(coef, theta[d] - self.shift @ coef) if self.intercept else coef

    def _blocks(self, chosen: npt.NDArray[np.bool_]) -> Iterator[tuple[Any, Any]]:
        """Yield chosen rows with their numbers: moved and scaled, with a column of ones."""
        n, d = self.X.shape
        step = n if self.is_sparse else max(1, _BLOCK // max(1, d))
        block: Any
        for start in range(0, n, step):
            rows = start + np.flatnonzero(chosen[start : start + step])
            if self.is_sparse:
                block = sparse.csr_array(self.X[rows]).astype(np.float64)
                if self.intercept:
                    ones = sparse.csr_array(np.ones((len(rows), 1)))
                    block = sparse.csr_array(sparse.hstack([block, ones]))
            else:
                block = np.empty((len(rows), self.n_parameters))
                block[:, :d] = (self.X[rows] - self.shift) / self.scale
                block[:, d:] = 1.0
            yield rows, block


def first_plane(rows: Rows, rng: np.random.Generator, most: float = _MAX_WRONG) -> FloatArray:
    """Return least trimmed squares, on a sample of many rows: a share of `most` may be wrong."""
    n, p = len(rows.y), rows.n_parameters
    picked: Any = slice(None)
    if n > max(_SAMPLE, _ROWS_EACH * p):
        picked = np.sort(rng.choice(n, max(_SAMPLE, _ROWS_EACH * p), replace=False))
    mass = rows.mass[picked]
    is_counted = bool(np.all(mass == 1))
    total = float(mass.sum())
    dropped = max(0.0, min(most * total, (total - p * total / len(mass)) / 2))
    objective = RankedRangeObjective(
        rows.X[picked],
        rows.y[picked],
        "squared",
        m=int(dropped) if is_counted else Mass(dropped),
        C=rows.C,
        sample_weight=None if is_counted else mass,
        fit_intercept=rows.intercept,
    )
    return np.asarray(trim(objective, certify=False, random_state=rng).theta, dtype=np.float64)
