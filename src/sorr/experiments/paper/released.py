"""The loops that the paper's authors released, step by step.

There is one loop for aggregate losses, one for label sets and one for MNIST. Each of them repeats
the steps, the random numbers and the choices of its script.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sorr._typing import BoolArray, FloatArray, IntArray
from sorr.experiments.published import LoopSetting
from sorr.losses import Loss, get_loss

_START_SEED = 1234  # of the first point, in the scripts for label sets and for MNIST
_ABOVE_ZERO = np.nextafter(0.0, 1.0)
_LOOK_EVERY = 10  # steps of the loop for MNIST between two looks at held-out rows

_Mark: TypeAlias = Callable[[FloatArray, IntArray], BoolArray]


class Part(NamedTuple):
    """Rows, and their targets: an indicator of labels, or for each row a label from 0 on."""

    X: FloatArray
    y: npt.NDArray[Any]


# -- Aggregate losses ------------------------------------------------------------------------------


def run_aggregate_loop(
    X: FloatArray,
    y: IntArray,
    loss: str,
    *,
    m: int,
    k: int,
    setting: LoopSetting,
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
        The ranks, as counts. With m = 0 there is no tangent, and all outer steps are the same.
    setting : LoopSetting
        The steps. The loop has no ridge, so C is not used.
    start_seed : int
        Seed of the point of the first tangent, which is uniform in the unit cube.
    score : callable
        Takes coefficients and returns the accuracy on validation rows. Called after every inner
        step.

    Notes
    -----
    An outer step depends on its tangent only. If the tangent is that of an earlier step, the step
    is not repeated: it would end at the same point.
    """
    design = _with_ones(X)
    losses = get_loss(loss)
    first = np.random.RandomState(start_seed).rand(design.shape[1])
    theta: FloatArray = np.roll(first, -1)  # the intercept is drawn first
    ends: dict[bytes, FloatArray] = {}
    for _ in range(setting.outer):
        tangent = _slope(design, y, losses, theta, m)
        name = tangent.tobytes()
        if name not in ends:
            ends[name] = _descend(design, y, losses, tangent, k, setting=setting, score=score)
        theta = ends[name]
    return theta


def _descend(
    design: FloatArray,
    y: IntArray,
    loss: Loss,
    tangent: FloatArray,
    k: int,
    *,
    setting: LoopSetting,
    score: Callable[[FloatArray], float],
) -> FloatArray:
    """Return the point of the highest score on the way down from zero."""
    theta = best = np.zeros(design.shape[1])
    highest = -np.inf
    for _ in range(setting.inner):
        theta = theta - setting.step * (_slope(design, y, loss, theta, k) - tangent)
        accuracy = score(theta)
        if accuracy >= highest:
            highest, best = accuracy, theta
    return best


def _slope(design: FloatArray, y: IntArray, loss: Loss, theta: FloatArray, rank: int) -> FloatArray:
    """Return the sum, over n, of the slopes of all losses at least as large as that of a rank."""
    if rank == 0:
        return np.zeros(design.shape[1])
    values, slopes = loss.value_and_gradient(y, design @ theta)
    if rank < len(values):
        # Not `kth_largest`: it would check its arguments in each of many thousand steps.
        ranked = np.partition(-values, rank - 1)
        slopes = np.where(-values <= ranked[rank - 1], slopes, 0.0)
    return np.asarray(slopes @ design / len(values))


def draw_split(y: IntArray, seed: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return the rows for training, validation and testing: half, a quarter and a quarter.

    Rows are drawn class by class, so that every part has its share of each class, with the random
    numbers of the released scripts.

    Examples
    --------
    >>> [len(part) for part in draw_split(np.array([-1, 1] * 8), 0)]
    [8, 4, 4]
    """
    rng = np.random.RandomState(seed)
    left = np.arange(len(y))
    parts = []
    for _ in range(2):
        by_class = [left[y[left] == label] for label in np.unique(y)]
        halves = [rng.choice(rows, len(rows) // 2, replace=False) for rows in by_class]
        parts.append(np.concatenate(halves))
        left = np.setdiff1d(left, parts[-1])
    return parts[0], parts[1], left


# -- Label sets: the top-k multi-label loss --------------------------------------------------------


class LabelSetResult(NamedTuple):
    """What the loop for label sets ends with.

    Attributes
    ----------
    coef : ndarray of shape (n_features + 1, n_labels)
        The last row holds the intercepts.
    accuracy : float
        The accuracy on the validation rows.
    repeated : int
        The number of outer steps that had the tangent of an earlier one.
    """

    coef: FloatArray
    accuracy: float
    repeated: int

    def scores(self, X: FloatArray) -> FloatArray:
        """Return the scores of all labels."""
        return np.asarray(X @ self.coef[:-1] + self.coef[-1])


def run_label_set_loop(
    train: Part, validation: Part, k: int, setting: LoopSetting
) -> LabelSetResult:
    """Return the coefficients that the released loop for label sets ends with.

    Parameters
    ----------
    train, validation : Part
        Rows with at least one label each.
    k : int
        The number of labels to predict, fewer than there are.
    setting : LoopSetting
        C and the steps. As in `run_aggregate_loop`, outer steps are not repeated.
    """
    if setting.C is None:
        raise ValueError("the setting has no C; pass one, the inverse of the ridge")
    loop = _Loop(train, validation, k, setting, 1 / setting.C)
    coef, accuracy = loop.start, 0.0
    ends: dict[bytes, tuple[FloatArray, float]] = {}
    for _ in range(setting.outer):
        tangent = loop.slope(loop.train @ coef, k)
        name = tangent.tobytes()
        if name not in ends:
            ends[name] = loop.descend(tangent)
        coef, accuracy = ends[name]
    return LabelSetResult(coef, accuracy, setting.outer - len(ends))


class _Loop:
    """The rows with a column of ones, training rows first, and what stays the same in all steps."""

    def __init__(
        self, train: Part, validation: Part, k: int, setting: LoopSetting, ridge: float
    ) -> None:
        self.k, self.setting, self.ridge = k, setting, ridge
        self.rows = _with_ones(np.vstack([train.X, validation.X]))
        self.n = len(train.X)
        self.train = self.rows[: self.n]
        self.every = np.arange(self.n)
        self.untrue = np.where(train.y, 0.0, np.inf)
        self.truth = validation.y
        self.needed = np.minimum(validation.y.sum(axis=1), k)
        shape = train.y.shape[1], self.rows.shape[1]
        start = np.random.RandomState(_START_SEED).rand(*shape)
        self.start: FloatArray = np.ascontiguousarray(start.T)

    def descend(self, tangent: FloatArray) -> tuple[FloatArray, float]:
        """Return the point with the highest validation accuracy, and that accuracy."""
        coef = best = self.start
        scores = self.rows @ coef
        highest = 0
        for _ in range(self.setting.inner):
            slope = self.slope(scores[: self.n], self.k + 1) - tangent
            coef = coef - self.setting.step * (slope / self.n + self.ridge * coef)
            scores = self.rows @ coef
            right = self.count_right(scores[self.n :])
            if right >= highest:
                highest, best = right, coef
        return best, highest / len(self.truth)

    def slope(self, scores: FloatArray, rank: int) -> FloatArray:
        """Return the sum over training rows of the slopes of their most costly labels."""
        lowest = (scores + self.untrue).argmin(axis=1)
        costs = 1 + scores - scores[self.every, lowest, None]
        bound = np.maximum(np.sort(costs, axis=1)[:, -rank], _ABOVE_ZERO)
        counted = (costs >= bound[:, None]).astype(np.float64)
        counted[self.every, lowest] = -(counted @ np.ones(counted.shape[1]))
        return np.asarray(self.train.T @ counted)

    def count_right(self, scores: FloatArray) -> int:
        """Count the validation rows whose k best labels are all true, or contain all true ones."""
        bound = np.sort(scores, axis=1)[:, -self.k]
        n_true = np.count_nonzero((scores >= bound[:, None]) & self.truth, axis=1)
        return int(np.count_nonzero(n_true == self.needed))


# -- MNIST -----------------------------------------------------------------------------------------


class DigitsResult(NamedTuple):
    """What the loop for MNIST ends with.

    Attributes
    ----------
    coef : ndarray of shape (n_classes, n_features + 1)
        The last column holds the intercepts.
    accuracy : float
        The accuracy on the held-out rows.
    step : int
        The inner step that was kept, counted from 1.
    """

    coef: FloatArray
    accuracy: float
    step: int

    def scores(self, X: FloatArray) -> FloatArray:
        """Return the scores of all classes."""
        return np.asarray(X @ self.coef[:, :-1].T + self.coef[:, -1])


def run_digits_loop(
    train: Part,
    held: Part,
    k: int,
    setting: LoopSetting,
    *,
    n_directions: int | None = None,
    look_every: int = _LOOK_EVERY,
) -> DigitsResult:
    """Return what the released loop for MNIST ends with.

    Parameters
    ----------
    train, held : Part
        The rows whose slopes are taken, and those that decide which iterate is kept.
    k : int
        As in the script: the loss is that of the label ranked k + 1.
    setting : LoopSetting
        The steps.
    n_directions : int, optional
        The number of directions, those of the largest spread, in which steps are made. By default
        all of them.
    look_every : int, default=10
        How often the held-out rows are predicted. They are also predicted after the last step.
    """
    descent = _Descent(train, held, setting, n_directions, look_every)
    best = _Iterate(descent.nowhere, 0.0, 0)
    for _ in range(setting.outer):
        tangent = descent.slope(partial(mark_costly, n_ranked=k), best.move)
        best = descent.run(partial(mark_costly, n_ranked=k + 1), tangent)
    return descent.result(best)


def run_svm_loop(
    train: Part,
    held: Part,
    setting: LoopSetting,
    *,
    ranks_own: bool,
    n_directions: int | None = None,
    look_every: int = _LOOK_EVERY,
) -> DigitsResult:
    """Return what one outer step of that loop ends with for the top-1 sum, which has no tangent.

    Parameters
    ----------
    train, held, setting, n_directions, look_every
        As for `run_digits_loop`.
    ranks_own : bool
        Whether the own label of a row is ranked with the others, as in the script. Then rows that
        are right cost nothing, however small their margin. Otherwise it is the top-1 SVM.
    """
    descent = _Descent(train, held, setting, n_directions, look_every)
    mark = partial(mark_costly, n_ranked=1) if ranks_own else mark_costliest_other
    return descent.result(descent.run(mark, descent.nowhere))


class _Iterate(NamedTuple):
    """The distance from the random first point, its accuracy, and after which step."""

    move: FloatArray
    accuracy: float
    step: int


class _Descent:
    """Rows in the directions of the steps, their scores at the first point, and the way down."""

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

    def run(self, mark: _Mark, tangent: FloatArray) -> _Iterate:
        """Return the point on the way down that predicts best."""
        move, best = self.nowhere, _Iterate(self.nowhere, 0.0, 0)
        counted = np.zeros((len(move), self.n), dtype=bool)
        slope = np.zeros(move.shape)
        for step in range(1, self.setting.inner + 1):
            now = mark(self._scores(move), self.y)
            changed = np.flatnonzero((now != counted).any(axis=0))
            change = self._signs(now, changed) - self._signs(counted, changed)
            slope += change @ self.rows[changed]
            counted = now
            move = move - (self.setting.step / self.n * (slope - tangent)).astype(move.dtype)
            if step % self.look_every == 0 or step == self.setting.inner:
                accuracy = self._accuracy(move)
                if accuracy >= best.accuracy:
                    best = _Iterate(move, accuracy, step)
        return best

    def slope(self, mark: _Mark, move: FloatArray) -> FloatArray:
        """Return the sum over rows of the slopes of the labels that count."""
        return self._signs(mark(self._scores(move), self.y), np.arange(self.n)) @ self.rows

    def result(self, best: _Iterate) -> DigitsResult:
        """Return a point by its coefficients."""
        return DigitsResult(self.start + best.move @ self.directions.T, best.accuracy, best.step)

    def _scores(self, move: FloatArray) -> FloatArray:
        return np.asarray(self.first_scores + move @ self.columns)

    def _signs(self, counted: BoolArray, rows: IntArray) -> FloatArray:
        """Return 1 for labels that count, and minus their number for the own label."""
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


def mark_costly(scores: FloatArray, y: IntArray, n_ranked: int) -> BoolArray:
    """Mark other labels that cost something and rank among the first, the own one included.

    `scores` and the result have the shape (n_classes, n_samples).
    """
    own = y, np.arange(len(y))
    marked = (scores >= _kth_largest(scores, n_ranked)) & (scores > scores[own] - 1)
    marked[own] = False
    return marked


def mark_costliest_other(scores: FloatArray, y: IntArray) -> BoolArray:
    """Mark the best label other than the own one, if it costs something."""
    own = y, np.arange(len(y))
    others = scores.copy()
    others[own] = -np.inf
    return np.asarray((others >= others.max(axis=0)) & (others > scores[own] - 1))


def _kth_largest(scores: FloatArray, k: int) -> FloatArray:
    """Return the k-th largest of each column: ten rows and many columns need no sort."""
    top = np.full((k, scores.shape[1]), -np.inf, dtype=scores.dtype)
    for score in scores:
        for place in top:
            score, place[:] = np.minimum(place, score), np.maximum(place, score)
    return np.asarray(top[-1])


def _with_ones(X: FloatArray) -> FloatArray:
    return np.column_stack([X, np.ones(len(X), dtype=X.dtype)])
