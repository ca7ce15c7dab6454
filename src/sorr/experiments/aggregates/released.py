"""The loop of the scripts that were released with the paper, step by step.

It is not quite Algorithm 1 (see `sorr.solvers.dca`), and the figures it gives depend on how:

- there is no ridge, and slopes are means over all n rows;
- every row whose loss is at least the loss ranked k (or m) counts in full, ties included;
- each outer step begins at zero again, and keeps the slope of the tangent only;
- of the inner steps that one is kept whose validation accuracy is highest, the last of several,
  and the next tangent is taken there; the result is what the last outer step kept.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray, IntArray
from sorr.losses import Loss, get_loss

__all__ = ["released_fit", "released_split"]


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
    theta = np.roll(first, -1)  # the intercept is drawn first
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
