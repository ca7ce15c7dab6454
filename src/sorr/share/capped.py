"""Trimming within each class, of no more rows than held-out predictions get wrong."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.share.average import AverageLoss, Metric

_SETTLED = 0.004  # share of the rows that may still change when trimming stops


class Trimmed(NamedTuple):
    """Parameters, and which rows they were fitted without."""

    theta: FloatArray
    dropped: npt.NDArray[np.bool_]


def choose_rows(
    mistakes: FloatArray,
    index: npt.NDArray[np.intp],
    counts: FloatArray,
    mass: FloatArray,
    *,
    cap: bool = True,
) -> npt.NDArray[np.bool_]:
    """Return the rows to drop: the largest mistakes of each class, up to its count of mass.

    With `cap` a row whose mistake is not positive is right, and stays.
    """
    chosen = np.zeros(len(mistakes), dtype=bool)
    candidates = np.flatnonzero((mistakes > 0) & (mass > 0) if cap else mass > 0)
    labels = index[candidates]
    for label, count in enumerate(counts.tolist()):
        if count > 0:
            rows = candidates[labels == label]
            chosen[rows[_largest(mistakes[rows], mass[rows], count)]] = True
    return chosen


def _largest(values: FloatArray, mass: FloatArray, count: float) -> npt.NDArray[Any] | slice:
    """Return the largest values, whose mass together is the count or just below."""
    if count >= mass.sum():
        return slice(None)
    if mass.min() == mass.max():  # no need to sort
        k = int(count / mass[0])
        return np.argpartition(-values, k)[:k]
    order = np.argsort(-values, kind="stable")
    return order[np.cumsum(mass[order]) <= count]


def capped_trimming(
    problem: AverageLoss,
    mass: FloatArray,
    metric: Metric,
    theta: FloatArray,
    counts: FloatArray,
    most: FloatArray,
    scores: FloatArray,
    *,
    rounds: int,
) -> Trimmed:
    """Return the fit without the most suspect rows of each class, and those rows.

    First the largest mistakes of held-out scores are dropped: at most `counts` in each class, and
    none that the scores get right. Without the cap, trimming eats into clean rows where the count
    is too large, and goes on to confirm itself. Then, round by round, rows are chosen anew by the
    fit without them: as many as before, or more, up to `most`, if it gets more of them wrong.
    """
    index = problem.index
    dropped = choose_rows(problem.mistakes(scores), index, counts, mass)
    if not dropped.any():
        return Trimmed(theta, dropped)
    for i in range(rounds):
        theta = problem.fit(balanced(problem, mass, dropped), metric, theta)
        if i + 1 == rounds:
            break
        raw = problem.raw(theta)
        had = problem.by_class(mass * dropped)
        wrong = problem.by_class(mass * (problem.mistakes(raw) > 0))
        size = np.maximum(had, np.minimum(most, wrong))
        chosen = choose_rows(problem.order(raw), index, size, mass, cap=False)
        changed = float(np.mean(chosen != dropped))
        dropped = chosen
        if changed <= _SETTLED:
            break
    return Trimmed(theta, dropped)


def balanced(problem: AverageLoss, mass: FloatArray, dropped: npt.NDArray[np.bool_]) -> FloatArray:
    """Return the mass of the rows that are kept, each class scaled up to what it had.

    So does the ranked range within classes.
    """
    kept = np.where(dropped, 0.0, mass)
    had, left = problem.by_class(mass), problem.by_class(kept)
    return np.asarray(kept * (had / np.maximum(left, 1e-300))[problem.index])
