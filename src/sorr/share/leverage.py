"""Leverage outliers: rows far from all others that contradict them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sorr._typing import FloatArray
from sorr.share.average import AverageLoss, probabilities

_SAMPLE = 2000  # rows that medians are taken of
_FAR = 3.0  # robust standard deviations above the median size of a row
_SURE = 0.02  # times the probability by chance: labels below it are taken to be wrong
_MAX_FAR = 0.45  # share of far rows, above which none is an outlier
_NORMAL = 1.4826  # from the median absolute deviation to the standard deviation of a normal
_TAIL = 1.2816  # 80 % of |x| lie below, for a standard normal
_ROUNDING = 8  # units in the last place of the centre: equal numbers differ by no more
_BLOCK = 1 << 18


def find_leverage(
    problem: AverageLoss, mass: FloatArray, rng: np.random.Generator
) -> tuple[npt.NDArray[np.bool_], FloatArray | None]:
    """Return which rows are leverage outliers, and a fit to the rows that are not far out.

    A row is *far* if its size, each feature in units of its robust spread, is three robust
    standard deviations above the median size. Far rows are dropped only if a fit to (some of)
    the others gives their label a probability below 1 % (with more than two classes, less): good
    leverage stays in. So does a class most of which would go.
    """
    n = problem.design.n_samples
    nobody = np.zeros(n, dtype=bool)
    sizes = row_sizes(problem.design.X, rng)
    middle = np.median(sizes)
    spread = _NORMAL * np.median(np.abs(sizes - middle))
    far = (sizes > middle + _FAR * spread) & (mass > 0)
    near = np.flatnonzero(~far & (mass > 0))
    if not far.any() or far.mean() > _MAX_FAR or spread == 0:
        return nobody, None
    present = np.bincount(problem.index[near], minlength=problem.n_classes)
    if present.min() < 2:
        return nobody, None
    limit = max(2 * _SAMPLE, 20 * problem.design.n_parameters)
    if len(near) > limit:
        near = np.sort(rng.choice(near, limit, replace=False))
    part = problem.take(near)
    theta = part.fit(mass[near], part.metric(None, rng), tol=1e-2)
    rows = np.flatnonzero(far)
    p = probabilities(problem.take(rows).raw(theta))
    found = nobody.copy()
    found[rows] = p[np.arange(len(rows)), problem.index[rows]] < _SURE / problem.n_classes
    common = problem.by_class(mass * found) > 0.5 * problem.by_class(mass)
    return found & ~common[problem.index], theta


def row_sizes(X: Any, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Return the norm of each row, its features centred and scaled robustly.

    The spread of a feature is 1.4826 MAD, or the 80 % quantile of the deviations if that is
    larger: of a binary feature the MAD alone is zero. Where both are zero it is the standard
    deviation. Sparse rows are never made dense.
    """
    n = X.shape[0]
    part = X if n <= _SAMPLE else X[np.sort(rng.choice(n, _SAMPLE, replace=False))]
    if sparse.issparse(X):
        return _sparse_sizes(X, *_sparse_centre(part))
    centre, spread = centre_and_spread(part)
    sizes = np.empty(n)
    step = max(1, _BLOCK // max(1, X.shape[1]))
    shift, factor = centre.astype(X.dtype), (1 / spread).astype(X.dtype)
    for start in range(0, n, step):
        block = (X[start : start + step] - shift) * factor
        sizes[start : start + step] = np.sqrt(np.einsum("ij,ij->i", block, block))
    return sizes


def centre_and_spread(part: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the median and the spread of each column: infinite where nothing varies."""
    columns = np.sort(part.T, axis=1)  # faster than medians along the other axis
    centre = _quantile(columns, 0.5)
    deviation = np.sort(np.abs(part.T - centre[:, None]), axis=1)
    spread = _NORMAL * _quantile(deviation, 0.5)
    spread = np.maximum(spread, _quantile(deviation, 0.8) / _TAIL)
    rough = columns.std(axis=1, dtype=np.float64)
    rounding = _ROUNDING * np.finfo(part.dtype).eps * np.abs(centre)
    spread = np.where(spread > rounding, spread, rough)
    return centre, np.where(spread > 0, spread, np.inf)


def _quantile(columns: FloatArray, share: float) -> FloatArray:
    """Return a quantile of sorted rows, halfway between two values if need be."""
    at = share * (columns.shape[1] - 1)
    low, high = columns[:, int(np.floor(at))], columns[:, int(np.ceil(at))]
    return np.asarray(0.5 * (low + high), dtype=np.float64)


def _sparse_centre(part: Any) -> tuple[FloatArray, FloatArray]:
    """Return the same for sparse rows: a column that is mostly zero has median and MAD zero."""
    n, d = part.shape
    columns = sparse.csc_array(part)
    stored = np.diff(columns.indptr)
    sums = np.asarray(columns.sum(axis=0)).ravel()
    squares = np.asarray(columns.multiply(columns).sum(axis=0)).ravel()
    centre = np.zeros(d)
    spread = np.sqrt(np.maximum(squares / n - (sums / n) ** 2, 0.0))
    spread[spread == 0] = np.inf
    full = np.flatnonzero(stored >= 0.19 * n)  # the others have a zero 80 % quantile
    step = max(1, _BLOCK // n)
    for start in range(0, len(full), step):
        block = full[start : start + step]
        centre[block], spread[block] = centre_and_spread(columns[:, block].toarray())
    return centre, spread


def _sparse_sizes(X: Any, centre: FloatArray, spread: FloatArray) -> npt.NDArray[np.float64]:
    shift = centre / spread
    rows = sparse.csr_array(X)
    scaled = rows.data / spread[rows.indices]
    change = scaled * (scaled - 2 * shift[rows.indices])
    owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    squares = np.bincount(owner, change, rows.shape[0]) + shift @ shift
    return np.sqrt(np.maximum(squares, 0.0))
