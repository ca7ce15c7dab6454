"""Trimming within each class that never drops a row which the model gets right."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sorr.estimators.average import AverageLoss, Metric
from sorr.objectives.design import FloatArray

__all__ = ["Trimmed", "capped_trimming", "choose_rows"]

_SETTLED = 0.004  # share of the rows that may still change when trimming stops


class Trimmed(NamedTuple):
    """Parameters, and which rows they were fitted without."""

    theta: FloatArray
    dropped: npt.NDArray[np.bool_]


def choose_rows(
    mistakes: FloatArray, index: npt.NDArray[np.intp], counts: FloatArray, mass: FloatArray
) -> npt.NDArray[np.bool_]:
    """Return the rows to drop: the largest mistakes of each class, up to its count of mass.

    A row whose mistake is not positive is right, and stays.
    """
    chosen = np.zeros(len(mistakes), dtype=bool)
    candidates = np.flatnonzero((mistakes > 0) & (mass > 0))
    labels = index[candidates]
    for label, count in enumerate(counts.tolist()):
        rows = candidates[labels == label]
        if count < mass[rows].sum():
            rows = rows[np.argsort(-mistakes[rows], kind="stable")]
            rows = rows[np.cumsum(mass[rows]) <= count]
        chosen[rows] = True
    return chosen


def capped_trimming(
    problem: AverageLoss,
    mass: FloatArray,
    metric: Metric,
    theta: FloatArray,
    counts: FloatArray,
    *,
    rounds: int,
    scores: FloatArray | None = None,
) -> Trimmed:
    """Return the fit without the most suspect rows of each class, and those rows.

    In each round the rows are chosen anew: at most `counts` in each class, and none that the
    current model gets right. Without the cap, trimming eats into clean rows where the count is
    too large, and goes on to confirm itself.
    """
    before = np.zeros(len(mass), dtype=bool)
    for i in range(rounds):
        first = i == 0 and scores is not None
        mistakes = problem.mistakes(scores if first else problem.raw(theta))
        dropped = choose_rows(mistakes, problem.index, counts, mass)
        changed = float(np.mean(dropped != before))
        if changed == 0:
            break
        before = dropped
        theta = problem.fit(_balanced(problem, mass, dropped), metric, theta)
        if changed <= _SETTLED:
            break
    return Trimmed(theta, before)


def _balanced(
    problem: AverageLoss, mass: FloatArray, dropped: npt.NDArray[np.bool_]
) -> FloatArray:
    """Return the mass of the rows that are kept, each class scaled up to what it had.

    So does the ranked range within classes.
    """
    kept = np.where(dropped, 0.0, mass)
    had, left = (np.bincount(problem.index, m, problem.n_classes) for m in (mass, kept))
    return np.asarray(kept * (had / np.maximum(left, 1e-300))[problem.index])
