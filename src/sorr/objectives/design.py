"""The rows of the data as a linear map, and in standardised coordinates; linear systems of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import lapack

from sorr._typing import BoolArray, FloatArray, IntArray, Weight
from sorr.losses import Loss

_SQUARE_COLUMNS = 40  # columns from which half of a symmetric product is faster than all of it
_MAX_COPIED = 1 << 18  # entries of X up to which a copy with a column of ones makes steps cheaper
_BLOCK = 1 << 18  # entries of X that are worked on at a time: they stay in the cache
_GRAM_BLOCK = 1 << 15  # the same of many rows, where two copies are needed
_FLAT = 1e-3  # spread of the middle half, relative to the whole, below which it is not a scale
_NORMAL = 1.4826  # from the median absolute deviation to the standard deviation of a normal
_TAIL = 1.2816  # 80 % of |x| lie below, for a standard normal
_ROUNDING = 8  # units in the last place of the centre: equal numbers differ by no more
_RIDGES = (1e-15, 1e-12, 1e-9, 1e-6)  # added to the unit diagonal, until there is a factor


class _Meter:
    """The number of rows that were read, by a design and by those made from it."""

    def __init__(self, n_samples: int) -> None:
        self.n_samples = n_samples
        self.rows = 0


class Design:
    """A matrix of features, dense or CSR, with an implicit column of ones for the intercept.

    Coefficients have shape (n_parameters,) for one output and (n_parameters, n_outputs) for
    several, the intercept last. Products have the wider of the two precisions: float32 rows and
    float64 coefficients give float64 results, block by block, without a copy of the matrix.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        In float32 or float64.
    intercept : bool, default=True
        Whether there is a column of ones.
    meter : optional
        What counts the rows that are read. By default a new one.
    mass : ndarray of shape (n_samples,), optional
        The mass of each row in `sizes`. By default one.

    Attributes
    ----------
    passes : float
        How often the rows were read; a product with all of them counts as one. The products of
        designs made from this one, by `take`, `astype` and `with_sizes_by_mass`, count as well.
    """

    def __init__(
        self,
        X: Any,
        *,
        intercept: bool = True,
        meter: _Meter | None = None,
        mass: Weight | None = None,
    ) -> None:
        self.X = X
        self.intercept = intercept
        self.n_samples: int = X.shape[0]
        self.n_features: int = X.shape[1]
        self.n_parameters = self.n_features + intercept
        self._meter = _Meter(self.n_samples) if meter is None else meter
        self._mass = mass

    @property
    def passes(self) -> float:
        """How often the rows were read."""
        return self._meter.rows / self._meter.n_samples

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the features."""
        dtype: np.dtype[Any] = self.X.dtype
        return dtype

    @property
    def is_sparse(self) -> bool:
        """Whether the features are stored as CSR."""
        return bool(sparse.issparse(self.X))

    def predict(self, theta: FloatArray) -> FloatArray:
        """Return the raw predictions ``X @ coef + intercept``."""
        coef = theta[: self.n_features]
        if not coef.any():  # a usual starting point, which needs no look at the rows
            raw = np.zeros((self.n_samples, *theta.shape[1:]), dtype=coef.dtype)
            return raw + theta[self.n_features] if self.intercept else raw
        self._meter.rows += self.n_samples
        if self._is_wider(coef):
            raw = np.empty((self.n_samples, *theta.shape[1:]), dtype=coef.dtype)
            for rows in self._blocks():
                raw[rows] = self.X[rows].astype(coef.dtype) @ coef
        else:
            coef = coef.astype(np.result_type(self.dtype, coef.dtype), copy=False)
            if coef.ndim == 2 and not self.is_sparse:
                raw = self._predict_outputs(coef)
            else:
                raw = np.asarray(multiply(self.X, coef))
        if self.intercept:
            raw += theta[self.n_features]
        return raw

    def _predict_outputs(self, coef: FloatArray) -> FloatArray:
        """Return raw predictions of several outputs, one after the other in memory.

        Products of few rows stay in the cache, and maxima over outputs are fast.
        """
        raw: FloatArray = np.empty((coef.shape[1], self.n_samples), dtype=coef.dtype).T
        for rows in self._blocks():
            raw[rows] = self.X[rows] @ coef
        return raw

    def pull(self, residual: FloatArray) -> FloatArray:
        """Return the sum of the rows, each times its residual: the transpose of `predict`."""
        self._meter.rows += self.n_samples
        dtype = np.result_type(self.dtype, residual.dtype)
        total = np.empty((self.n_parameters, *residual.shape[1:]), dtype=dtype)
        if self._is_wider(residual):
            total[: self.n_features] = sum(
                self.X[rows].T.astype(dtype) @ residual[rows] for rows in self._blocks()
            )
        else:
            residual = residual.astype(dtype, copy=False)
            if residual.ndim == 2 and not self.is_sparse:
                total[: self.n_features] = (residual.T @ self.X).T  # a quarter faster
            else:
                total[: self.n_features] = self.X.T @ residual
        if self.intercept:
            total[self.n_features] = residual.sum(axis=0)
        return total

    def gram(self, weight: FloatArray) -> FloatArray:
        """Return the weighted sum of the outer products of the rows, added up in float64.

        Weights in float32 say that less will do: blocks of many columns are then in float32.

        With weights of shape (n_samples, l, l) that is the sum of Kronecker products of rows and
        weights: the matrix that maps flattened coefficients of shape (n_parameters, l).
        """
        self._meter.rows += self.n_samples
        if weight.ndim == 1:
            return self._gram(weight)
        if self.is_sparse and self.n_samples * self.n_features <= _BLOCK:
            return self._like(self.X.toarray()).gram(weight)  # a sparse product a pair is slow
        size, outputs = self.n_parameters, weight.shape[1]
        total = np.empty((size, outputs, size, outputs))
        for a in range(outputs):
            for b in range(a + 1):
                total[:, a, :, b] = total[:, b, :, a] = self._gram(weight[:, a, b])
        return total.reshape(size * outputs, size * outputs)

    def _gram(self, weight: FloatArray) -> FloatArray:
        d, total = self.n_features, np.zeros((self.n_parameters, self.n_parameters))
        if self.is_sparse:
            scaled = self.X.multiply(weight[:, None]).tocsr()
            total[:d, :d] = (self.X.T @ scaled).toarray()
            edge = np.asarray(self.X.T @ weight)
        else:
            edge = np.zeros(d)
            is_square = d >= _SQUARE_COLUMNS and bool((weight >= 0).all())
            dtype = weight.dtype if is_square else np.float64
            size = _BLOCK if is_square or self.X.size <= _BLOCK else _GRAM_BLOCK
            for rows in self._blocks(size):
                block = self.X[rows].astype(dtype, copy=False)
                if is_square:  # in the precision of the weights
                    root = np.sqrt(weight[rows])
                    scaled = block * root[:, None]
                    total[:d, :d] += scaled.T @ scaled
                    edge += root @ scaled
                    continue
                scaled = block * weight[rows, None]
                total[:d, :d] += scaled.T @ block
                if self.intercept:
                    edge += scaled.sum(axis=0)
        if self.intercept:
            total[d, :d] = total[:d, d] = edge
            total[d, d] = weight.sum()
        return total

    def as_columns(self) -> Design | DesignColumns:
        """Return dense rows, for one output, in the form in which products are fastest."""
        return self if self.X.size > _MAX_COPIED else DesignColumns(self)

    def count(self, rows: int) -> None:
        """Count rows that were read in a product made elsewhere."""
        self._meter.rows += rows

    @cached_property
    def sizes(self) -> npt.NDArray[np.float64]:
        """The root mean square of each column, or one where it is zero; one for the intercept."""
        X, mass = self.X, self._mass
        if mass is None:
            sizes = np.sqrt(self.column_squares() / self.n_samples)
        else:
            is_sparse = self.is_sparse
            squares = X.multiply(X).T @ mass if is_sparse else np.einsum("i,ij,ij->j", mass, X, X)
            sizes = np.sqrt(squares / mass.sum())
        return np.append(np.where(sizes > 0, sizes, 1.0), np.ones(int(self.intercept)))

    def column_squares(self) -> npt.NDArray[np.float64]:
        """Return the sum of the squares of each column."""
        squares = np.zeros(self.n_features)
        for rows in self._blocks():
            if self.is_sparse:
                block = self.X[rows]
                squares += np.bincount(block.indices, block.data**2, self.n_features)
            else:
                squares += np.einsum("ij,ij->j", self.X[rows], self.X[rows])
        return squares

    def with_sizes_by_mass(self, mass: Weight) -> Self:
        """Return the design whose `sizes` count a row of mass two as two rows."""
        return self._like(self.X, mass)

    def take(self, rows: IntArray | BoolArray) -> Self:
        """Return the design of some of the rows, as a copy."""
        return self._like(self.X[rows])

    def astype(self, dtype: npt.DTypeLike) -> Self:
        """Return the design with its features in another precision."""
        return self._like(self.X.astype(dtype, copy=False))

    def of(self, X: Any) -> Self:
        """Return the design of other rows."""
        return self._like(X)

    def _like(self, X: Any, mass: Weight | None = None) -> Self:
        return type(self)(X, intercept=self.intercept, meter=self._meter, mass=mass)

    def _is_wider(self, factor: FloatArray) -> bool:
        """Tell whether the rows have to be widened, block by block, for a product."""
        return factor.dtype.itemsize > self.dtype.itemsize and not self.is_sparse

    def _blocks(self, size: int = _BLOCK) -> list[slice]:
        stored = self.X.nnz if self.is_sparse else self.X.size
        step = max(1, size * self.n_samples // max(1, stored))
        return [slice(start, start + step) for start in range(0, self.n_samples, step)]


class DesignColumns:
    """Dense rows of a design with their ones, for one output, as columns: products are one call."""

    def __init__(self, design: Design) -> None:
        self.count, self.n_samples = design.count, design.n_samples
        self.columns = np.ones((design.n_parameters, self.n_samples))
        self.columns[: design.n_features] = design.X.T

    def predict(self, theta: FloatArray) -> FloatArray:
        """Return the raw predictions."""
        self.count(self.n_samples)
        return np.asarray(theta @ self.columns)

    def pull(self, residual: FloatArray) -> FloatArray:
        """Return the sum of the rows, each times its residual."""
        self.count(self.n_samples)
        return np.asarray(self.columns @ residual)

    def gram(self, weight: FloatArray) -> FloatArray:
        """Return the weighted sum of the outer products of the rows."""
        self.count(self.n_samples)
        if len(self.columns) < _SQUARE_COLUMNS:
            return np.asarray((self.columns * weight) @ self.columns.T)
        root = self.columns * np.sqrt(weight)
        return np.asarray(root @ root.T)


def as_features(X: Any) -> Any:
    """Return the features as a matrix of floats, dense or CSR, or raise an error."""
    if sparse.issparse(X):
        X = sparse.csr_array(cast("Any", X))
        stored = X.data
    else:
        X = stored = np.asarray(X)
    if X.ndim != 2 or X.shape[0] == 0:
        raise ValueError(
            f"X has shape {X.shape}; needed a matrix with one row for each sample: "
            "X.reshape(-1, 1) makes one of a single feature"
        )
    if stored.dtype.kind not in "fiub":
        raise ValueError(f"X has dtype {X.dtype}; needed numbers: encode categories first")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        is_finite = np.isfinite(stored.sum())  # a sum needs no memory, but it may overflow
    if not (is_finite or np.isfinite(stored).all()):
        raise ValueError(
            "X holds NaN or infinity; needed finite numbers: impute or drop those rows"
        )
    return X if sparse.issparse(X) else np.ascontiguousarray(X)


# -- Standardised coordinates ----------------------------------------------------------------------


@dataclass(frozen=True)
class Frame:
    """Rows in standardised coordinates.

    Columns are divided by a robust scale, and centred if there is an intercept. An objective does
    not change: its ridge is that of the original coefficients.
    """

    rows: FloatArray  # standardised columns, then ones if there is an intercept
    centre: FloatArray
    spread: FloatArray
    penalty: FloatArray  # factor of the square of each standardised coefficient in the ridge
    level: float  # middle of numeric targets; zero for classes
    reach: float  # spread of numeric targets; one for classes
    unit: float  # a typical loss, the unit of smoothing widths

    @classmethod
    def of(cls, design: Design, y: npt.NDArray[Any], loss: Loss) -> Frame:
        """Return the frame of some rows, for a loss of one output."""
        X = np.asarray(design.X.toarray() if design.is_sparse else design.X, dtype=np.float64)
        centre, spread = centre_and_spread(X)
        spread[np.isinf(spread)] = 0.0
        if not design.intercept:  # sizes count from zero
            spread, centre = np.maximum(spread, np.abs(centre)), np.zeros_like(centre)
        spread[spread == 0] = 1.0
        rows = (X - centre) / spread
        penalty = spread**-2.0
        if design.intercept:
            rows = np.hstack([rows, np.ones((len(X), 1))])
            penalty = np.append(penalty, 0.0)
        level, reach = 0.0, 1.0
        if loss.class_of_row(y) is None:
            level, reach = _middle(y)
        losses = loss.value(y, np.full(len(y), level))
        if not design.intercept:
            level = 0.0
        unit = float(np.median(losses))
        if unit == 0 and losses.any():  # most targets are the same
            unit = float(np.median(losses[losses > 0]))
        unit = unit or 1.0
        return cls(rows, centre, spread, penalty=penalty, level=level, reach=reach, unit=unit)

    def standardised(self, theta: FloatArray) -> FloatArray:
        """Return parameters of the objective, along the last axis, in these coordinates."""
        T = np.array(theta, dtype=np.float64)
        d = len(self.spread)
        T[..., d:] += (T[..., :d] @ self.centre)[..., None] - self.level
        T[..., :d] *= self.spread
        return T

    def original(self, T: FloatArray) -> FloatArray:
        """Return standardised parameters in the coordinates of the objective."""
        theta = np.array(T, dtype=np.float64)
        d = len(self.spread)
        theta[..., :d] /= self.spread
        theta[..., d:] -= (theta[..., :d] @ self.centre)[..., None] - self.level
        return theta


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


def _middle(y: FloatArray) -> tuple[float, float]:
    """Return the middle and a positive spread of the targets, robust to outliers.

    The spread is that of the middle half. If this is nearly constant, it is that of the middle
    nine tenths, or the median distance of the targets that differ from the middle.
    """
    ends = np.quantile(y, [0.05, 0.25, 0.5, 0.75, 0.95])
    level, half, most = float(ends[2]), float(ends[3] - ends[1]), float(ends[4] - ends[0])
    if half > _FLAT * most:
        return level, half / 1.349
    if most > 0:
        return level, most / 3.29
    others = np.abs(y - level)
    return level, float(np.median(others[others > 0])) if others.any() else 1.0


# -- Products and linear systems -------------------------------------------------------------------


def multiply(A: Any, B: Any) -> Any:
    """Return the product of finite numbers, without a false alarm.

    For float32 matrices of five columns, OpenBLAS on processors with AVX-512 also multiplies what
    happens to lie on the stack. The result is right, but a signalling NaN there, which is rare,
    makes NumPy warn of an invalid value.
    """
    with np.errstate(invalid="ignore"):
        return A @ B


def solve_symmetric(M: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return a solver for linear systems with a symmetric matrix, positive definite or nearly so.

    The matrix is scaled to a unit diagonal, and each solution is refined once. If the matrix is
    not quite positive definite, the smallest of a few ridges that makes it so is added.
    """
    diagonal = M.diagonal()
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = M * (scale[:, None] * scale)
    if not np.isfinite(scaled).all():
        return lambda rhs: np.full_like(rhs, np.nan)
    for ridge in _RIDGES:
        shifted = scaled.copy()
        shifted.flat[:: len(M) + 1] += ridge
        # LAPACK is called directly: for a few parameters, checks take longer than the work.
        factor, info = lapack.dpotrf(shifted.T, lower=1, clean=0, overwrite_a=1)
        if info == 0:
            break
    else:
        return lambda rhs: np.asarray(scale * np.linalg.lstsq(scaled, scale * rhs, rcond=None)[0])

    def solve(rhs: FloatArray) -> FloatArray:
        b = scale * rhs
        x = lapack.dpotrs(factor, b, lower=1)[0]
        x = x + lapack.dpotrs(factor, b - scaled @ x, lower=1)[0]
        return np.asarray(scale * x)

    return solve
