"""The loops that the paper's authors released, step by step, for all three kinds of data."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import BoolArray, FloatArray, IntArray
from sorr.experiments.published import LoopSetting
from sorr.losses import Loss, get_loss

__all__ = [
    "DigitsPart",
    "Kept",
    "Part",
    "Released",
    "released_digits_tkml",
    "released_fit",
    "released_split",
    "released_svm",
    "released_tkml",
]


def released_fit(
    X: FloatArray,
    y: npt.NDArray[np.intp],
    loss: str,
    *,
    m: int,
    k: int,
    outer: int,
    inner: int,
    step: float,
    start_seed: int,
    score: Callable[[FloatArray], float],
) -> FloatArray:
    """Return the coefficients, and last the intercept, that the released loop ends with.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        -1 or 1.
    loss : {"logistic", "hinge"}
    m, k : int
        The ranks, as counts. With m = 0 there is no tangent, and one outer step is all.
    outer, inner : int
        How many steps.
    step : float
        The length of an inner step.
    start_seed : int
        Draws the point of the first tangent, uniform in the unit cube.
    score : callable
        Of coefficients: the accuracy on validation rows, after every inner step.

    Notes
    -----
    An outer step depends on nothing but its tangent, so one that has the tangent of an earlier
    one is not repeated: it would end at the same point.
    """
    design = np.column_stack([X, np.ones(len(X))])
    losses = get_loss(loss)
    first = np.random.RandomState(start_seed).rand(design.shape[1])
    theta: FloatArray = np.roll(first, -1)  # the intercept is drawn first
    ends: dict[bytes, FloatArray] = {}
    for _ in range(outer):
        tangent = _slope(design, y, losses, theta, m)
        name = tangent.tobytes()
        if name not in ends:
            ends[name] = _descend(design, y, losses, tangent, k, inner, step, score)
        theta = ends[name]
    return theta


def _descend(
    design: FloatArray,
    y: npt.NDArray[np.intp],
    loss: Loss,
    tangent: FloatArray,
    k: int,
    inner: int,
    step: float,
    score: Callable[[FloatArray], float],
) -> FloatArray:
    """Return the point of the highest score on the way down from zero."""
    theta = best = np.zeros(design.shape[1])
    highest = -np.inf
    for _ in range(inner):
        theta = theta - step * (_slope(design, y, loss, theta, k) - tangent)
        found = score(theta)
        if found >= highest:
            highest, best = found, theta
    return best


def _slope(
    design: FloatArray, y: npt.NDArray[np.intp], loss: Loss, theta: FloatArray, rank: int
) -> FloatArray:
    """Return the sum of the slopes of all losses at least as large as the one of that rank, / n."""
    if rank == 0:
        return np.zeros(design.shape[1])
    values, slopes = loss.value_and_gradient(y, design @ theta)
    if rank < len(values):
        ranked = np.partition(-values, rank - 1)  # `kth_largest` checks its arguments, every time
        slopes = np.where(-values <= ranked[rank - 1], slopes, 0.0)
    return np.asarray(slopes @ design / len(values))


def released_split(y: npt.NDArray[np.intp], seed: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return the rows to train, to validate and to test on: half, a quarter, a quarter.

    Rows are drawn class by class, so that every part has its share of each, with the random
    numbers of the released scripts.

    Examples
    --------
    >>> [len(part) for part in released_split(np.array([-1, 1] * 8), 0)]
    [8, 4, 4]
    """
    random = np.random.RandomState(seed)
    left = np.arange(len(y))
    parts = []
    for _ in range(2):
        drawn = [left[y[left] == label] for label in np.unique(y)]
        halves = [random.choice(rows, len(rows) // 2, replace=False) for rows in drawn]
        parts.append(np.concatenate(halves))
        left = np.setdiff1d(left, parts[-1])
    return parts[0], parts[1], left


# -- The loop of the script that was released for the top-k multi-label loss, step by step ---------


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


class Part(NamedTuple):
    """Some rows, and the indicator of their labels."""

    X: FloatArray
    Y: BoolArray


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
        self.start: FloatArray = np.ascontiguousarray(start.T)

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


# -- The loop of the script that was released for MNIST, step by step ------------------------------


Labels = npt.NDArray[np.intp]
_LOOK_EVERY = 10


class DigitsPart(NamedTuple):
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


def released_digits_tkml(
    train: DigitsPart,
    held: DigitsPart,
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
    train: DigitsPart,
    held: DigitsPart,
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
        train: DigitsPart,
        held: DigitsPart,
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
