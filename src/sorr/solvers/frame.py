"""Standardised coordinates: columns of like size, and what a usual loss and target measure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.objectives import RankedRangeObjective

__all__ = ["Frame", "column_scales"]

_FLAT = 1e-3


@dataclass(frozen=True)
class Frame:
    """The rows of an objective in standardised coordinates.

    Columns are divided by a robust scale, and centred if there is an intercept to make up for it.
    The objective stays what it was: its ridge is that of the original coefficients.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_parameters)
        The standardised columns, then the column of ones if there is an intercept.
    penalty : ndarray of shape (n_parameters,)
        How much the square of each standardised coefficient counts in the ridge.
    level, reach : float
        The middle and the spread of targets that are numbers: zero and one if they are classes.
    unit : float
        The size of a usual loss, by which smoothing is measured.
    """

    rows: FloatArray
    centre: FloatArray
    spread: FloatArray
    penalty: FloatArray
    level: float
    reach: float
    unit: float

    @classmethod
    def of(cls, objective: RankedRangeObjective, index: npt.NDArray[np.intp]) -> Frame:
        """Return the frame of some of the rows of an objective with one output."""
        design, y = objective.design, objective.y[index]
        X = design.take(index).X
        X = np.asarray(X.toarray() if design.is_sparse else X, dtype=np.float64)
        centre, spread = column_scales(X, centred=design.intercept)
        rows = (X - centre) / spread
        penalty = spread**-2.0
        if design.intercept:
            rows = np.hstack([rows, np.ones((len(X), 1))])
            penalty = np.append(penalty, 0.0)
        level, reach = 0.0, 1.0
        if objective.strata is None:
            level, reach = _middle(y)
        usual = objective.loss.value(y, np.full(len(y), level))
        unit = float(np.median(usual))
        if unit == 0 and usual.any():  # most targets are the same
            unit = float(np.median(usual[usual > 0]))
        unit = unit or 1.0
        return cls(rows, centre, spread, penalty, level, reach, unit)

    def constant(self, size: int) -> FloatArray:
        """Return candidates which predict the middle of the targets everywhere, or zero."""
        T = np.zeros((size, self.rows.shape[1]))
        T[:, len(self.spread) :] = self.level
        return T

    def standardised(self, theta: FloatArray) -> FloatArray:
        """Return parameters of the objective in these coordinates; the last axis holds them."""
        T = np.array(theta, dtype=np.float64)
        d = len(self.spread)
        T[..., d:] += (T[..., :d] @ self.centre)[..., None]
        T[..., :d] *= self.spread
        return T

    def original(self, T: FloatArray) -> FloatArray:
        """Return standardised parameters as those of the objective."""
        theta = np.array(T, dtype=np.float64)
        d = len(self.spread)
        theta[..., :d] /= self.spread
        theta[..., d:] -= (theta[..., :d] @ self.centre)[..., None]
        return theta


def column_scales(X: FloatArray, *, centred: bool) -> tuple[FloatArray, FloatArray]:
    """Return a centre and a positive scale of each column, which a few wild rows do not move.

    The scale is that of the middle half, unless most of a column is constant: then it is the
    standard deviation. A constant column has scale one.
    """
    low, middle, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
    centre = middle if centred else np.zeros_like(middle)
    peak = np.abs(X).max(axis=0)
    peak = np.where(peak > 0, peak, 1.0)
    parts = X / peak  # whose squares do not overflow
    deviation = peak * (parts.std(axis=0) if centred else np.sqrt(np.square(parts).mean(axis=0)))
    spread = (high - low) / 1.349
    spread = np.where(spread > _FLAT * deviation, np.minimum(spread, deviation), deviation)
    return centre, np.where(spread > 0, spread, 1.0)


def _middle(y: FloatArray) -> tuple[float, float]:
    """Return the middle and a positive spread of targets, which wild rows do not move.

    The spread is that of the middle half, or of the middle nine tenths where that is nearly
    constant, or the median distance of the targets that differ from the middle.
    """
    ends = np.quantile(y, [0.05, 0.25, 0.5, 0.75, 0.95])
    level, half, most = float(ends[2]), float(ends[3] - ends[1]), float(ends[4] - ends[0])
    if half > _FLAT * most:
        return level, half / 1.349
    if most > 0:
        return level, most / 3.29
    others = np.abs(y - level)
    return level, float(np.median(others[others > 0])) if others.any() else 1.0
