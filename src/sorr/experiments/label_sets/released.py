"""The loop of the script that was released for the top-k multi-label loss, step by step.

It is not quite Algorithm 1 (see `sorr.solvers.dca`), and the figures it gives depend on how:

- a label costs [1 + its score - the lowest score of a true label]_+; all labels of a row that cost
  at least what the label ranked k + 1 (or k, in the tangent) does count in full, ties included;
- each outer step begins at the same random point, and keeps the slope of the tangent only;
- slopes are means over all rows; the ridge is on the intercepts too;
- of the inner steps that one is kept whose validation accuracy is highest, the last of several,
  and the next tangent is taken there; the result is what the last outer step kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorr._typing import FloatArray
from sorr.experiments.label_sets.splits import Part
from sorr.experiments.published import LoopSetting

__all__ = ["Released", "released_tkml"]

_START_SEED = 1234
_ABOVE_ZERO = np.nextafter(0.0, 1.0)


class Released(NamedTuple):
    """What the loop ends with.

    Attributes
    ----------
    coef : ndarray of shape (n_features + 1, n_labels)
        The last row holds the intercepts.
    accuracy : float
        On the validation rows.
    repeated : int
        How many outer steps had the tangent of an earlier one.
    """

    coef: FloatArray
    accuracy: float
    repeated: int

    def scores(self, X: FloatArray) -> FloatArray:
        """Return the scores of all labels."""
        return np.asarray(X @ self.coef[:-1] + self.coef[-1])


def released_tkml(train: Part, validation: Part, k: int, setting: LoopSetting) -> Released:
    """Return the coefficients that the released loop ends with.

    Parameters
    ----------
    train, validation : Part
        Rows with at least one label each.
    k : int
        How many labels are predicted; fewer than there are.
    setting : LoopSetting
        C and the steps.

    Notes
    -----
    An outer step depends on nothing but its tangent, so one that has the tangent of an earlier
    one is not repeated: it would end at the same point.
    """
    if setting.C is None:
        raise ValueError("the setting has no C; needed a number, the inverse of the ridge")
    loop = _Loop(train, validation, k, setting, 1 / setting.C)
    coef, accuracy = loop.start, 0.0
    ends: dict[bytes, tuple[FloatArray, float]] = {}
    for _ in range(setting.outer):
        tangent = loop.slope(loop.train @ coef, k)
        name = tangent.tobytes()
        if name not in ends:
            ends[name] = loop.descend(tangent)
        coef, accuracy = ends[name]
    return Released(coef, accuracy, setting.outer - len(ends))


class _Loop:
    """The rows with a column of ones, training rows first, and what does not change with them."""

    def __init__(
        self, train: Part, validation: Part, k: int, setting: LoopSetting, ridge: float
    ) -> None:
        self.k, self.setting, self.ridge = k, setting, ridge
        X = np.vstack([train.X, validation.X])
        self.rows = np.column_stack([X, np.ones(len(X))])
        self.n = len(train.X)
        self.train = self.rows[: self.n]
        self.every = np.arange(self.n)
        self.untrue = np.where(train.Y, 0.0, np.inf)
        self.truth = validation.Y
        self.needed = np.minimum(validation.Y.sum(axis=1), k)
        shape = train.Y.shape[1], self.rows.shape[1]
        start = np.random.RandomState(_START_SEED).rand(*shape)
        self.start = np.ascontiguousarray(start.T)

    def descend(self, tangent: FloatArray) -> tuple[FloatArray, float]:
        """Return the point of the highest validation accuracy on the way down, and that."""
        coef = kept = self.start
        scores = self.rows @ coef
        highest = 0
        for _ in range(self.setting.inner):
            slope = self.slope(scores[: self.n], self.k + 1) - tangent
            coef = coef - self.setting.step * (slope / self.n + self.ridge * coef)
            scores = self.rows @ coef
            right = self.count_right(scores[self.n :])
            if right >= highest:
                highest, kept = right, coef
        return kept, highest / len(self.truth)

    def slope(self, scores: FloatArray, rank: int) -> FloatArray:
        """Return the sum over training rows of the slopes of their most costly labels."""
        lowest = (scores + self.untrue).argmin(axis=1)
        costs = 1 + scores - scores[self.every, lowest, None]
        bound = np.maximum(np.sort(costs, axis=1)[:, -rank], _ABOVE_ZERO)
        counted = (costs >= bound[:, None]).astype(np.float64)
        counted[self.every, lowest] = -(counted @ np.ones(counted.shape[1]))
        return np.asarray(self.train.T @ counted)

    def count_right(self, scores: FloatArray) -> int:
        """Count validation rows whose k best labels are all true, or contain all that are."""
        bound = np.sort(scores, axis=1)[:, -self.k]
        found = np.count_nonzero((scores >= bound[:, None]) & self.truth, axis=1)
        return int(np.count_nonzero(found == self.needed))
