"""The loop of the script that was released for MNIST, step by step.

It is not quite Algorithm 1 (see `sorr.solvers.dca`), and the figures it gives depend on how:

- a label costs [1 + its score - the score of the row's own label]_+, and the own label is ranked
  with the others, with a cost of one, though it has no slope; so where it scores best it takes the
  place of a wrong one;
- each outer step begins at the same random point, with weights from 0 to 1, and keeps the slope of
  the tangent only; there is no ridge;
- in each outer step that iterate is kept which predicts best, the last of several, and the next
  tangent is taken there; the result is what the last outer step kept.

The script looks at test rows for that, in every step. Here it is rows that were held out of the
training rows with their labels as given, right or wrong, in every tenth step.

Two things make it faster. The slope is summed over the rows whose costly labels have changed since
the last step: that is the same slope. And steps may be made in the directions only in which images
vary most; in all others weights stay at the random point, which they hardly leave in full.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import BoolArray, FloatArray
from sorr.experiments.published import LoopSetting

__all__ = ["Kept", "Part", "released_svm", "released_tkml"]

Labels = npt.NDArray[np.intp]
_START_SEED = 1234
_LOOK_EVERY = 10


class Part(NamedTuple):
    """Some rows, and a label from 0 on for each: as it was given."""

    X: FloatArray
    y: Labels


class Kept(NamedTuple):
    """What the loop ends with.

    Attributes
    ----------
    coef : ndarray of shape (n_classes, n_features + 1)
        The last column holds the intercepts.
    accuracy : float
        On the rows that were held out.
    step : int
        Which of the inner steps it was, the first being 1.
    """

    coef: FloatArray
    accuracy: float
    step: int

    def scores(self, X: FloatArray) -> FloatArray:
        """Return the scores of all classes."""
        return np.asarray(X @ self.coef[:, :-1].T + self.coef[:, -1])


def released_tkml(
    train: Part,
    held: Part,
    k: int,
    setting: LoopSetting,
    *,
    n_directions: int | None = None,
    look_every: int = _LOOK_EVERY,
) -> Kept:
    """Return what the released loop ends with.

    Parameters
    ----------
    train, held : Part
        What the slopes are taken of, and what tells which iterate to keep.
    k : int
        As in the script: the loss is that of the label ranked k + 1.
    setting : LoopSetting
        The steps.
    n_directions : int, optional
        In how many directions of the largest spread steps are made; by default in all.
    look_every : int, default=10
        How often held-out rows are looked at; also after the last step.
    """
    descent = _Descent(train, held, setting, n_directions, look_every)
    found = _Found(descent.nowhere, 0.0, 0)
    for _ in range(setting.outer):
        tangent = descent.slope(partial(costly, n_ranked=k), found.move)
        found = descent.run(partial(costly, n_ranked=k + 1), tangent)
    return descent.kept(found)


def released_svm(
    train: Part,
    held: Part,
    setting: LoopSetting,
    *,
    ranks_own: bool,
    n_directions: int | None = None,
    look_every: int = _LOOK_EVERY,
) -> Kept:
    """Return what one outer step of the loop ends with for the sum of the top 1: it has no tangent.

    Parameters
    ----------
    train, held, setting, n_directions, look_every
        As for `released_tkml`.
    ranks_own : bool
        Whether the own label is ranked with the others, as in the script for the other loss. Then
        rows that are right cost nothing, whatever their margin. Else it is the top-1 SVM.
    """
    descent = _Descent(train, held, setting, n_directions, look_every)
    active = partial(costly, n_ranked=1) if ranks_own else costliest_other
    return descent.kept(descent.run(active, descent.nowhere))


class _Found(NamedTuple):
    """A way that was gone from the random point, how well it predicts, and after which step."""

    move: FloatArray
    accuracy: float
    step: int


class _Descent:
    """Rows in the directions of the steps, their scores at the random point, and the way down."""

    def __init__(
        self,
        train: Part,
        held: Part,
        setting: LoopSetting,
        n_directions: int | None,
        look_every: int,
    ) -> None:
        self.setting, self.look_every = setting, look_every
        self.y, self.n, self.y_held = train.y, len(train.y), held.y
        rows, checked = _with_ones(train.X), _with_ones(held.X)
        shape = int(train.y.max()) + 1, rows.shape[1]
        self.start = np.random.RandomState(_START_SEED).rand(*shape).astype(rows.dtype)
        self.directions = _directions(rows, n_directions)
        self.rows = rows @ self.directions
        self.columns = np.ascontiguousarray(self.rows.T)
        self.held = np.ascontiguousarray((checked @ self.directions).T)
        self.first_scores, self.first_held = self.start @ rows.T, self.start @ checked.T
        self.nowhere = np.zeros((shape[0], self.rows.shape[1]), dtype=rows.dtype)

    def run(self, active: Callable[[FloatArray, Labels], BoolArray], tangent: FloatArray) -> _Found:
        """Return the point on the way down that predicts best."""
        move, found = self.nowhere, _Found(self.nowhere, 0.0, 0)
        counted = np.zeros((len(move), self.n), dtype=bool)
        slope = np.zeros(move.shape)
        for step in range(1, self.setting.inner + 1):
            now = active(self._scores(move), self.y)
            changed = np.flatnonzero((now != counted).any(axis=0))
            change = self._signs(now, changed) - self._signs(counted, changed)
            slope += change @ self.rows[changed]
            counted = now
            move = move - (self.setting.step / self.n * (slope - tangent)).astype(move.dtype)
            if step % self.look_every == 0 or step == self.setting.inner:
                accuracy = self._accuracy(move)
                if accuracy >= found.accuracy:
                    found = _Found(move, accuracy, step)
        return found

    def slope(
        self, active: Callable[[FloatArray, Labels], BoolArray], move: FloatArray
    ) -> FloatArray:
        """Return the sum over rows of the slopes of the labels that count."""
        return self._signs(active(self._scores(move), self.y), np.arange(self.n)) @ self.rows

    def kept(self, found: _Found) -> Kept:
        """Return a point by its coefficients."""
        return Kept(self.start + found.move @ self.directions.T, found.accuracy, found.step)

    def _scores(self, move: FloatArray) -> FloatArray:
        return np.asarray(self.first_scores + move @ self.columns)

    def _signs(self, counted: BoolArray, rows: npt.NDArray[np.intp]) -> FloatArray:
        """Return 1 for labels that count, and for the own label minus their number."""
        signs = counted[:, rows].astype(self.rows.dtype)
        signs[self.y[rows], np.arange(len(rows))] = -signs.sum(axis=0)
        return signs

    def _accuracy(self, move: FloatArray) -> float:
        scores = self.first_held + move @ self.held
        return float(np.mean(np.argmax(scores, axis=0) == self.y_held))


def _directions(rows: FloatArray, number: int | None) -> FloatArray:
    """Return directions as columns: all of them, or those in which the mean square is largest."""
    if number is None:
        return np.eye(rows.shape[1], dtype=rows.dtype)
    _, vectors = np.linalg.eigh((rows.T @ rows).astype(np.float64))
    return vectors[:, -number:].astype(rows.dtype)


def costly(scores: FloatArray, y: Labels, n_ranked: int) -> BoolArray:
    """Mark other labels that rank among the first, the own one ranked too, and cost something.

    Parameters
    ----------
    scores : ndarray of shape (n_classes, n_samples)
    y : ndarray of shape (n_samples,)
    n_ranked : int
        How many labels of a row count.

    Returns
    -------
    ndarray of bool of shape (n_classes, n_samples)
    """
    own = y, np.arange(len(y))
    found = (scores >= _kth_largest(scores, n_ranked)) & (scores > scores[own] - 1)
    found[own] = False
    return found


def costliest_other(scores: FloatArray, y: Labels) -> BoolArray:
    """Mark the label that scores best but for the own one, if it costs something."""
    own = y, np.arange(len(y))
    others = scores.copy()
    others[own] = -np.inf
    return np.asarray((others >= others.max(axis=0)) & (others > scores[own] - 1))


def _kth_largest(scores: FloatArray, k: int) -> FloatArray:
    """Return the k-th largest of each column.

    Ten rows and many columns need no sort: `sorr.ranked.kth_largest` takes several times as long.
    """
    top = np.full((k, scores.shape[1]), -np.inf, dtype=scores.dtype)
    for score in scores:
        for place in top:
            score, place[:] = np.minimum(place, score), np.maximum(place, score)
    return np.asarray(top[-1])


def _with_ones(X: FloatArray) -> FloatArray:
    return np.column_stack([X, np.ones(len(X), dtype=X.dtype)])
