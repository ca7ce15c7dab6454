"""Plain logistic and softmax fits, many of them on the same rows: warm, and no better than needed.

A share of wrong labels takes half a dozen fits, none of which has to be exact. They run on a
standardised copy of the rows in float32, with a metric from a sample of the rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from sorr._typing import FloatArray
from sorr.objectives import Design
from sorr.solvers import Memory

_SAMPLE = 2000  # rows that show the curvature well enough, or four times the parameters
_DENSE = 400  # columns up to which their correlations are worth a factorisation
_FLOOR = 0.02  # of the largest curvature: what is saturated now may not be after the next step
_MEMORY, _HALVINGS, _ARMIJO = 8, 20, 1e-4  # of quasi-Newton steps and their line search
_BLOCKS = 4000  # outputs times columns up to which each output has a metric of its own
_BLOCK = 1 << 18  # entries of X that are worked on at a time


class Frame(NamedTuple):
    """Where the columns were moved to: by their centre, then over their scale."""

    centre: FloatArray
    scale: FloatArray

    def original(self, theta: FloatArray, intercept: bool) -> npt.NDArray[np.float64]:
        """Return parameters for the rows as they were given, from those for standardised rows."""
        d = len(self.scale)
        coef = (theta[:d].T / self.scale).T
        if intercept:
            coef = np.concatenate([coef, np.asarray(theta[d] - self.centre @ coef)[None]])
        return coef.astype(np.float64, copy=False)

    def standardised(self, theta: FloatArray, intercept: bool) -> npt.NDArray[np.float64]:
        """Return the parameters for standardised rows: the inverse of `original`."""
        d = len(self.scale)
        coef = (theta[:d].T * self.scale).T
        if intercept:
            coef = np.concatenate([coef, np.asarray(theta[d] + self.centre @ theta[:d])[None]])
        return coef.astype(np.float64, copy=False)


def standardise(X: Any, intercept: bool) -> tuple[Any, Frame]:
    """Return the columns with mean zero and spread one, in float32, and where they came from.

    Without an intercept nothing can be moved; sparse rows stay as they are.
    """
    n, d = X.shape
    if sparse.issparse(X):
        return X, Frame(np.zeros(d), np.ones(d))
    step = max(1, _BLOCK // max(1, d))
    blocks = [slice(start, start + step) for start in range(0, n, step)]
    centre = np.asarray(np.mean(X, axis=0, dtype=np.float64)) if intercept else np.zeros(d)
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
    """About the inverse Hessian: a diagonal, a matrix, or a matrix for each output."""

    def __init__(self, inverse: FloatArray, n_outputs: int) -> None:
        self.inverse = inverse
        self.n_outputs = n_outputs

    def divide(self, gradient: FloatArray) -> FloatArray:
        """Return the step of Newton's method, of flattened parameters."""
        parts = gradient.reshape(-1, self.n_outputs)
        if self.inverse.ndim == 1:
            parts = self.inverse[:, None] * parts
        elif self.inverse.ndim == 2:
            parts = self.inverse @ parts
        else:
            parts = np.matmul(self.inverse, parts.T[:, :, None])[:, :, 0].T
        return np.asarray(parts).ravel()


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
        self._sign = np.where(index == 1, -1, 1).astype(X.dtype)
        rows = self.design.n_parameters
        self.shape = (rows,) if n_classes == 2 else (rows, n_classes)

    def take(self, rows: npt.NDArray[Any]) -> AverageLoss:
        """Return the problem of some of the rows."""
        X, intercept = self.design.X[rows], self.design.intercept
        return AverageLoss(X, self.index[rows], self.n_classes, self.ridge, intercept)

    def by_class(self, mass: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the mass labelled as each class."""
        return np.bincount(self.index, mass, self.n_classes).astype(np.float64)

    def raw(self, theta: FloatArray) -> FloatArray:
        """Return the scores of the rows: of class 1 if there are two classes, else of each."""
        X, coef = self.design.X, theta[: self.design.n_features]
        coef = coef.astype(X.dtype, copy=False)
        if coef.ndim == 2 and not self.design.is_sparse:
            raw = (coef.T @ X.T).T  # one class after the other: sums over classes are fast
        else:
            raw = np.asarray(X @ coef)
        if self.design.intercept:
            raw += theta[-1].astype(raw.dtype)
        return np.asarray(raw)

    def losses(self, raw: FloatArray) -> FloatArray:
        """Return the loss of each row."""
        if raw.ndim == 1:
            return np.logaddexp(0.0, np.where(self.index == 1, -raw, raw))
        top = raw.max(axis=1)
        total = np.exp(raw - top[:, None]).sum(axis=1)
        return np.asarray(np.log(total) + top - raw[np.arange(len(raw)), self.index])

    def order(self, raw: FloatArray) -> FloatArray:
        """Return what ranks the rows as their losses do."""
        return self.mistakes(raw) if raw.ndim == 1 else self.losses(raw)

    def mistakes(self, raw: FloatArray) -> FloatArray:
        """Return what ranks misclassified rows as their losses do: not positive for others."""
        if raw.ndim == 1:
            return np.where(self.index == 1, -raw, raw)
        wrong = raw.argmax(axis=1) != self.index
        return np.where(wrong, self.losses(raw), 0.0)

    def metric(self, theta: FloatArray | None, rng: np.random.Generator) -> Metric:
        """Return a metric from the curvature on a sample of the rows."""
        design, d = self.design, self.design.n_features
        n_outputs = 1 if self.n_classes == 2 else self.n_classes
        ridge = np.append(self.ridge, np.zeros(int(design.intercept)))
        if design.is_sparse or d > _DENSE:
            return Metric(1 / (0.1 * design.sizes**2 + ridge), n_outputs)
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
        inverses = []
        for bend in bends.T:
            gram = _gram(part.design, bend / len(bend))
            diagonal = np.diag_indices_from(gram)
            gram[diagonal] += ridge + 1e-6 * max(float(gram[diagonal].max()), 1e-300)
            factor = cho_factor(gram, check_finite=False)
            inverses.append(cho_solve(factor, np.eye(len(gram)), check_finite=False))
        return Metric(inverses[0] if len(inverses) == 1 else np.stack(inverses), n_outputs)

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

        Quasi-Newton steps, at two passes over the rows each; the line search needs none. The fit
        stops when the coordinates of the gradient are below `tol` in the mean square, in a metric
        in which the loss has a curvature near one.
        """
        share = (mass / mass.sum()).astype(self.design.dtype)
        theta = np.zeros(self.shape) if start is None else start
        raw = self.raw(theta)
        value, residual = self._loss(raw, share)
        value += self._ridge(theta, theta)
        gradient = self._pull(residual, theta)
        memory = Memory(_MEMORY)
        enough = theta.size * tol**2
        for _ in range(max_iter):
            step = -memory.solve(gradient.ravel(), metric.divide).reshape(self.shape)
            slope = float(np.vdot(gradient, step))
            if not -slope > enough:
                break
            draw = self.raw(step)
            linear, square = self._ridge(theta, step), self._ridge(step, step)
            bare, t = value - self._ridge(theta, theta), 1.0
            for _ in range(_HALVINGS):
                moved = raw + draw.dtype.type(t) * draw
                loss, residual = self._loss(moved, share)
                change = loss - bare + 2 * t * linear + t**2 * square
                if change <= _ARMIJO * t * slope:
                    break
                t *= min(max(-0.5 * t * slope / (change - t * slope), 0.1), 0.5)
            else:
                break
            theta, raw, value = theta + t * step, moved, value + change
            before, gradient = gradient, self._pull(residual, theta)
            memory.add((t * step).ravel(), (gradient - before).ravel(), rtol=1e-10)
        return theta

    def _loss(self, raw: FloatArray, share: FloatArray) -> tuple[float, FloatArray]:
        if raw.ndim == 1:
            return _logistic(raw, self._sign, share)
        return _softmax(raw, self.index, share)

    def _ridge(self, one: FloatArray, other: FloatArray) -> float:
        d = self.design.n_features
        return 0.5 * float(self.ridge @ (one[:d] * other[:d]).reshape(d, -1).sum(axis=1))

    def _pull(self, residual: FloatArray, theta: FloatArray) -> npt.NDArray[np.float64]:
        """Return the gradient."""
        d = self.design.n_features
        gradient = np.empty(self.shape)
        gradient[:d] = self.design.X.T @ residual
        gradient[:d] += (theta[:d].T * self.ridge).T
        gradient[d:] = residual.sum(axis=0)
        return gradient


def _logistic(raw: FloatArray, sign: FloatArray, share: FloatArray) -> tuple[float, FloatArray]:
    signed = raw * sign
    small = np.exp(-np.abs(signed))
    value = np.vdot(share, np.maximum(signed, 0) + np.log(1 + small))
    slope = np.where(signed > 0, 1, small) / (1 + small)
    return float(value), share * sign * slope


def _softmax(
    raw: FloatArray, index: npt.NDArray[np.intp], share: FloatArray
) -> tuple[float, FloatArray]:
    rows = np.arange(len(raw))
    shifted = raw - raw.max(axis=1, keepdims=True)
    residual = np.exp(shifted)
    total = residual.sum(axis=1)
    value = np.vdot(share, np.log(total) - shifted[rows, index])
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
