"""Plain logistic and softmax fits, many of them on the same rows: warm, and no better than needed.

A share of wrong labels takes half a dozen fits, none of which has to be exact. They run on a
standardised copy of the rows in float32, with a metric from a sample of the rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import expit

from sorr.objectives import Design
from sorr.objectives.design import FloatArray

__all__ = ["AverageLoss", "Frame", "Metric", "probabilities", "standardise"]

_SAMPLE = 2000  # rows that show the curvature well enough, or four times the parameters
_DENSE = 400  # columns up to which their correlations are worth a factorisation
_FLOOR = 0.02  # of the largest curvature: what is saturated now may not be after the next step
_BLOCKS = 4000  # outputs times columns up to which each output has a metric of its own
_BLOCK = 1 << 18  # entries of X that are worked on at a time


class Frame(NamedTuple):
    """Where the columns were moved to: by their centre, then over their scale."""

    centre: FloatArray
    scale: FloatArray

    def original(self, theta: FloatArray, intercept: bool) -> FloatArray:
        """Return parameters for the rows as they were given, from those for standardised rows."""
        d = len(self.scale)
        coef = (theta[:d].T / self.scale).T
        if not intercept:
            return np.asarray(coef)
        return np.concatenate([coef, [theta[d] - self.centre @ coef]])


def standardise(X: Any, intercept: bool) -> tuple[Any, Frame]:
    """Return the columns with mean zero and spread one, in float32, and where they came from.

    Without an intercept nothing can be moved; sparse rows stay as they are.
    """
    n, d = X.shape
    if sparse.issparse(X):
        return X, Frame(np.zeros(d), np.ones(d))
    step = max(1, _BLOCK // max(1, d))
    blocks = [slice(start, start + step) for start in range(0, n, step)]
    centre = np.mean(X, axis=0, dtype=np.float64) if intercept else np.zeros(d)
    squares = np.zeros(d)
    for rows in blocks:
        block = X[rows] - centre
        squares += np.einsum("ij,ij->j", block, block)
    scale = np.sqrt(squares / n)
    scale = np.where(scale > 1e-12 * (np.abs(centre) + 1e-300), scale, 1.0)
    out = np.empty((n, d), dtype=np.float32)
    for rows in blocks:
        out[rows] = (X[rows] - centre) / scale
    return out, Frame(centre, scale)


class Metric:
    """Coordinates in which the loss curves about equally in all directions.

    The Hessian is about ``factor.T @ factor``. The factor is a diagonal, an upper triangle, or
    one triangle for each output.
    """

    def __init__(self, factor: FloatArray) -> None:
        self.factor = factor
        self.inverse: FloatArray = np.empty(0)
        if factor.ndim == 3:  # for products of all outputs at once
            eye = np.eye(factor.shape[1])
            self.inverse = np.stack([solve_triangular(part, eye) for part in factor])

    def solve(self, u: FloatArray) -> FloatArray:
        """Return parameters from coordinates."""
        if self.factor.ndim == 1:
            return np.asarray((u.T / self.factor).T)
        if self.factor.ndim == 3:
            return np.asarray(np.matmul(self.inverse, u.T[:, :, None])[:, :, 0].T)
        return np.asarray(solve_triangular(self.factor, u, check_finite=False))

    def transpose_solve(self, gradient: FloatArray) -> FloatArray:
        """Return the gradient in the coordinates from that in the parameters."""
        if self.factor.ndim == 1:
            return np.asarray((gradient.T / self.factor).T)
        if self.factor.ndim == 3:
            return np.asarray(np.matmul(gradient.T[:, None, :], self.inverse)[:, 0, :].T)
        return np.asarray(solve_triangular(self.factor, gradient, trans="T", check_finite=False))

    def coordinates(self, theta: FloatArray) -> FloatArray:
        """Return coordinates from parameters."""
        if self.factor.ndim == 1:
            return np.asarray((theta.T * self.factor).T)
        if self.factor.ndim == 3:
            return np.asarray(np.matmul(self.factor, theta.T[:, :, None])[:, :, 0].T)
        return np.asarray(self.factor @ theta)


class AverageLoss:
    r"""The average logistic or softmax loss of a linear predictor, plus a ridge.

    .. math:: \sum_i v_i \ell_i(\theta) + \tfrac12 \sum_j r_j w_j^2, \qquad \sum_i v_i = 1

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    index : ndarray of shape (n_samples,)
        The class of each row, as a number from 0.
    n_classes : int
        With two classes there is one output, for class 1.
    ridge : ndarray of shape (n_features,)
        r: one over C, in units of the columns.
    intercept : bool
    """

    def __init__(
        self,
        X: Any,
        index: npt.NDArray[np.intp],
        n_classes: int,
        ridge: FloatArray,
        intercept: bool,
    ) -> None:
        self.design = Design(X, intercept=intercept)
        self.index = index
        self.n_classes = n_classes
        self.ridge = ridge
        rows = self.design.n_parameters
        self.shape = (rows,) if n_classes == 2 else (rows, n_classes)

    def take(self, rows: npt.NDArray[Any]) -> AverageLoss:
        """Return the problem of some of the rows."""
        X, intercept = self.design.X[rows], self.design.intercept
        return AverageLoss(X, self.index[rows], self.n_classes, self.ridge, intercept)

    def raw(self, theta: FloatArray) -> FloatArray:
        """Return the scores of the rows: of class 1 if there are two classes, else of each."""
        X, coef = self.design.X, theta[: self.design.n_features]
        raw = np.asarray(X @ coef.astype(X.dtype, copy=False))
        if self.design.intercept:
            raw += theta[-1].astype(raw.dtype)
        return raw

    def losses(self, raw: FloatArray) -> FloatArray:
        """Return the loss of each row."""
        if raw.ndim == 1:
            return np.logaddexp(0.0, np.where(self.index == 1, -raw, raw))
        top = raw.max(axis=1)
        total = np.exp(raw - top[:, None]).sum(axis=1)
        return np.asarray(np.log(total) + top - raw[np.arange(len(raw)), self.index])

    def mistakes(self, raw: FloatArray) -> FloatArray:
        """Return what ranks misclassified rows as their losses do: not positive for others."""
        if raw.ndim == 1:
            return np.where(self.index == 1, -raw, raw)
        wrong = raw.argmax(axis=1) != self.index
        return np.where(wrong, self.losses(raw), 0.0)

    def metric(self, theta: FloatArray | None, rng: np.random.Generator) -> Metric:
        """Return a metric from the curvature on a sample of the rows."""
        design, d = self.design, self.design.n_features
        ridge = np.append(self.ridge, np.zeros(int(design.intercept)))
        if design.is_sparse or d > _DENSE:
            return Metric(np.sqrt(0.1 * design.sizes**2 + ridge))
        n, size = design.n_samples, max(_SAMPLE, 4 * design.n_parameters)
        part = self if n <= size else self.take(np.sort(rng.choice(n, size, replace=False)))
        if theta is None:
            bends = np.full((part.design.n_samples, 1), 0.25 if self.n_classes == 2 else 0.1)
        else:
            p = probabilities(part.raw(theta))
            bends = p * (1 - p)
            if self.n_classes == 2 or self.n_classes * d > _BLOCKS:
                bends = bends.max(axis=1, keepdims=True)
            bends = np.maximum(bends, _FLOOR * bends.max(axis=0))
        factors = []
        for bend in bends.T:
            gram = _gram(part.design, bend / len(bend))
            diagonal = np.diag_indices_from(gram)
            gram[diagonal] += ridge + 1e-6 * max(float(gram[diagonal].max()), 1e-300)
            factors.append(cholesky(gram, check_finite=False))
        return Metric(factors[0] if len(factors) == 1 else np.stack(factors))

    def fit(
        self,
        mass: FloatArray,
        metric: Metric,
        start: FloatArray | None = None,
        *,
        tol: float = 1e-3,
        max_iter: int = 200,
    ) -> FloatArray:
        """Return the parameters of least average loss, a row counting by its mass.

        The fit stops when no coordinate of the gradient is above `tol`; the coordinates are such
        that the loss has a curvature near one.
        """
        d = self.design.n_features
        dtype = self.design.dtype
        share = (mass / mass.sum()).astype(dtype)
        rows = np.arange(self.design.n_samples)
        sign = np.where(self.index == 1, -1, 1).astype(dtype)
        ridge = self.ridge if len(self.shape) == 1 else self.ridge[:, None]

        def value_and_gradient(flat: FloatArray) -> tuple[float, FloatArray]:
            theta = metric.solve(flat.reshape(self.shape))
            raw = self.raw(theta)
            if raw.ndim == 1:
                value, residual = _logistic(raw, sign, share)
            else:
                value, residual = _softmax(raw, rows, self.index, share)
            gradient = np.zeros(self.shape)
            gradient[:d] = self.design.X.T @ residual
            gradient[d:] = residual.sum(axis=0, dtype=np.float64)
            pull = ridge * theta[:d]
            gradient[:d] += pull
            value += 0.5 * float(np.vdot(theta[:d], pull))
            return value, metric.transpose_solve(gradient).ravel()

        begin = np.zeros(self.shape) if start is None else metric.coordinates(start)
        options = {"maxiter": max_iter, "gtol": tol, "ftol": 1e-3 * tol, "maxcor": 10}
        end = minimize(
            value_and_gradient, begin.ravel(), method="L-BFGS-B", jac=True, options=options
        )
        return metric.solve(end.x.reshape(self.shape))


def _logistic(raw: FloatArray, sign: FloatArray, share: FloatArray) -> tuple[float, FloatArray]:
    signed = raw * sign
    small = np.exp(-np.abs(signed))
    value = np.vdot(share, np.maximum(signed, 0) + np.log(1 + small))
    slope = np.where(signed > 0, 1, small) / (1 + small)
    return float(value), share * sign * slope


def _softmax(
    raw: FloatArray, rows: npt.NDArray[np.intp], index: npt.NDArray[np.intp], share: FloatArray
) -> tuple[float, FloatArray]:
    raw -= raw.max(axis=1, keepdims=True)
    residual = np.exp(raw)
    total = residual.sum(axis=1)
    value = np.vdot(share, np.log(total) - raw[rows, index])
    residual *= (share / total)[:, None]
    residual[rows, index] -= share
    return float(value), residual


def _gram(design: Design, weight: FloatArray) -> npt.NDArray[np.float64]:
    """Return the weighted Gram matrix, in the precision of the rows: it is but a metric."""
    X = design.X
    scaled = X * np.sqrt(weight).astype(X.dtype)[:, None]
    if design.intercept:
        scaled = np.column_stack([scaled, np.sqrt(weight).astype(X.dtype)])
    return np.asarray(scaled.T @ scaled, dtype=np.float64)


def probabilities(raw: FloatArray) -> FloatArray:
    """Return the probability of each class, one column each."""
    if raw.ndim == 1:
        one = expit(raw)
        return np.column_stack([1 - one, one])
    p = np.exp(raw - raw.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return np.asarray(p)
