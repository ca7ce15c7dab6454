"""The softmax over label sets: its loss on the training rows, and the minimum of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import linalg, optimize, sparse

from sorr._typing import FloatArray
from sorr.solvers import Status

__all__ = ["Found", "SetSoftmax", "distinct_sets"]

RIDGE_OF_SETS = 1e-3  # of the intercepts of sets: finite for a set that is seen once
_CHUNK = 2**18  # probabilities at a time: they stay in the cache
_MOST_FEATURES = 1000  # whose correlations are worth a decomposition
_SMALLEST = 2.0**-52  # objective that a gap is relative to
_MEMORY = 20  # steps that the quasi-Newton method remembers


class Found(NamedTuple):
    """The parameters that were found, and what is known about them."""

    coef: FloatArray
    """Of shape (n_features, n_labels)."""
    offset: FloatArray
    """The intercept of each set."""
    objective: float
    gap: float
    """By how much the objective could be lowered at most, relative to its value."""
    n_iter: int
    status: Status


class SetSoftmax:
    r"""The mean loss of a softmax over label sets, plus ridges.

    .. math:: \sum_i p_i \Big( \log \sum_Y e^{f_Y(x_i)} - f_{Y_i}(x_i) \Big)
        + \frac{\|W\|^2}{2C} + \frac{r}{2} \|b\|^2, \qquad
        f_Y(x) = \sum_{j \in Y} w_j \cdot (x - \bar x) + b_Y

    It is convex, and curved by 1 / C and r at least, so that the gradient bounds the distance to
    the minimum from above: see `gap`.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    sets : ndarray of bool of shape (n_sets, n_labels)
    index : ndarray of shape (n_samples,)
        Which of the sets each row has.
    weight : ndarray of shape (n_samples,) or None
        The mass of each row.
    C : float
    """

    def __init__(
        self,
        X: Any,
        sets: npt.NDArray[np.bool_],
        index: npt.NDArray[np.intp],
        weight: FloatArray | None,
        C: float,
    ) -> None:
        n = X.shape[0]
        self.C, self.index, self.sets = C, index, sets.astype(np.float64)
        self.mass = np.full(n, 1 / n) if weight is None else weight / weight.sum()
        X = X.astype(np.float64)
        self.mean: FloatArray = np.asarray(self.mass @ X)
        self.is_sparse = sparse.issparse(X)
        self.X = X if self.is_sparse else X - self.mean
        self.shares = np.bincount(index, self.mass, len(sets))  # of each set
        self.target = self.sets[index]

    @property
    def shape(self) -> tuple[int, int]:
        """Of the coefficients: (n_features, n_labels)."""
        return self.X.shape[1], self.sets.shape[1]

    def value_and_gradient(
        self, coef: FloatArray, offset: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        """Return the objective, and its gradient by the coefficients and by the intercepts."""
        scores = self.X @ coef
        if self.is_sparse:
            scores -= self.mean @ coef
        value = (coef * coef).sum() / (2 * self.C) + RIDGE_OF_SETS / 2 * (offset @ offset)
        by_offset = RIDGE_OF_SETS * offset - self.shares
        residual = np.empty_like(scores)  # how probable a label is, less whether it is there
        size = max(1, _CHUNK // len(self.sets))
        for begin in range(0, len(scores), size):
            rows = slice(begin, begin + size)
            mass, own = self.mass[rows], self.index[rows, None]
            logits = scores[rows] @ self.sets.T + offset
            logits -= logits.max(axis=1, keepdims=True)
            own_logits = np.take_along_axis(logits, own, axis=1)[:, 0]
            probability = np.exp(logits, out=logits)
            total = probability.sum(axis=1)
            value += mass @ (np.log(total) - own_logits)
            probability *= (mass / total)[:, None]
            by_offset += probability.sum(axis=0)
            residual[rows] = probability @ self.sets - mass[:, None] * self.target[rows]
        by_coef = self.X.T @ residual + coef / self.C
        if self.is_sparse:
            by_coef -= np.outer(self.mean, residual.sum(axis=0))
        return float(value), np.asarray(by_coef), by_offset

    def gap(self, value: float, by_coef: FloatArray, by_offset: FloatArray) -> float:
        """Return a bound of how far the objective is above its minimum, relative to its value.

        A single set has a loss of zero, and a gradient that is rounding.
        """
        square = self.C * (by_coef * by_coef).sum() + (by_offset @ by_offset) / RIDGE_OF_SETS
        return float(square / 2 / max(value, _SMALLEST))

    def minimise(
        self,
        coef: FloatArray,
        offset: FloatArray,
        *,
        tol: float,
        max_iter: int,
        report: Callable[[str], None] | None = None,
    ) -> Found:
        """Return the minimum to a gap of `tol`, by quasi-Newton steps from given parameters."""
        frame = self._frame()
        last: dict[str, Any] = {}

        def evaluate(theta: FloatArray) -> tuple[float, FloatArray]:
            coef, offset = frame.back(theta)
            value, *slopes = self.value_and_gradient(coef, offset)
            gap = self.gap(value, *slopes)
            last.update(theta=theta.copy(), found=(coef, offset, value, gap))
            return value, frame.slope(*slopes)

        def stop(intermediate_result: Any) -> None:
            if not np.array_equal(intermediate_result.x, last["theta"]):
                return
            *_, value, gap = last["found"]
            if report is not None:
                report(f"objective {value:.6g}, gap {gap:.1g}")
            if gap <= tol:
                raise StopIteration

        start = frame.forth(coef, offset)
        evaluate(start)
        n_iter = 0
        if last["found"][-1] > tol:  # else the start is the solution
            limits: Any = {"maxiter": max_iter, "maxfun": 10 * max_iter, "ftol": 0.0, "gtol": 0.0}
            result: Any = optimize.minimize(
                evaluate,
                start,
                jac=True,
                method="L-BFGS-B",
                callback=stop,
                options=limits | {"maxcor": _MEMORY},
            )
            n_iter = int(result.nit)
            if not np.array_equal(result.x, last["theta"]):
                evaluate(result.x)
        coef, offset, value, gap = last["found"]
        status = Status.OPTIMAL if gap <= tol else Status.UNCERTIFIED
        return Found(coef, offset, value, gap, n_iter, status)

    def _frame(self) -> Frame:
        """Return coordinates in which the objective is curved alike in all directions."""
        d = self.X.shape[1]
        present = self.shares @ self.sets
        spread = present * (1 - present)  # of the labels: their curvature where all are alike
        bends, axes = self._variances(), None
        if d <= _MOST_FEATURES:
            bends, axes = linalg.eigh(self._covariance())
        of_coef = 1 / np.sqrt(np.outer(np.maximum(bends, 0), spread) + 1 / self.C)
        of_offset = 1 / np.sqrt(self.shares * (1 - self.shares) + RIDGE_OF_SETS)
        return Frame(axes, of_coef, of_offset)

    def _variances(self) -> FloatArray:
        if self.is_sparse:
            return np.asarray(self.mass @ self.X.multiply(self.X)) - self.mean**2
        return np.asarray(self.mass @ (self.X * self.X))

    def _covariance(self) -> FloatArray:
        if self.is_sparse:
            product = self.X.T @ self.X.multiply(self.mass[:, None])
            return np.asarray(product.toarray()) - np.outer(self.mean, self.mean)
        return np.asarray(self.X.T @ (self.X * self.mass[:, None]))


class Frame(NamedTuple):
    """Coordinates of the parameters: the axes of the features, and lengths along them."""

    axes: FloatArray | None
    """None if they are the features themselves."""
    of_coef: FloatArray
    of_offset: FloatArray

    def back(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the coefficients and intercepts at these coordinates."""
        size = self.of_coef.size
        coef = self.of_coef * theta[:size].reshape(self.of_coef.shape)
        return coef if self.axes is None else self.axes @ coef, self.of_offset * theta[size:]

    def forth(self, coef: FloatArray, offset: FloatArray) -> FloatArray:
        """Return the coordinates of parameters."""
        along = coef if self.axes is None else self.axes.T @ coef
        return np.concatenate([(along / self.of_coef).ravel(), offset / self.of_offset])

    def slope(self, by_coef: FloatArray, by_offset: FloatArray) -> FloatArray:
        """Return the gradient by the coordinates."""
        along = by_coef if self.axes is None else self.axes.T @ by_coef
        return np.concatenate([(along * self.of_coef).ravel(), by_offset * self.of_offset])


def distinct_sets(
    indicator: npt.NDArray[np.bool_],
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.intp]]:
    """Return the distinct rows of an indicator, and which of them each row is."""
    packed = np.packbits(indicator, axis=1)  # eight labels in a byte: fewer to compare
    _, first, index = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return indicator[first], np.reshape(index, -1)
