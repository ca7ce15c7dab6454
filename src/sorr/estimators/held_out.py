"""Scores of rows by models that have not seen them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from sorr.estimators.average import AverageLoss, Metric
from sorr.objectives.design import FloatArray

__all__ = ["assign_folds", "held_out_scores"]

_MANY = 100  # rows for each parameter from which on two folds do


def assign_folds(
    index: npt.NDArray[np.intp], n_folds: int, rng: np.random.Generator
) -> npt.NDArray[np.intp]:
    """Return the fold of each row: of every class about as many in each fold."""
    folds = np.empty(len(index), dtype=np.intp)
    order = rng.permutation(len(index))
    order = order[np.argsort(index[order], kind="stable")]
    folds[order] = np.arange(len(index)) % n_folds
    return folds


def held_out_scores(
    problem: AverageLoss,
    mass: FloatArray,
    metric: Metric,
    theta: FloatArray,
    rng: np.random.Generator,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return the raw prediction of each row by a fit to the other folds.

    Scores of the rows that were fitted are too good to be true: a likelihood of them finds no
    wrong labels where there are few rows for each parameter. Fits start from theta, which is that
    of all rows. There are three folds, or two where there are many rows.
    """
    n = problem.design.n_samples
    n_folds = 2 if n > _MANY * int(np.prod(problem.shape)) else 3
    folds = assign_folds(problem.index, n_folds, rng)

    def score(fold: int) -> FloatArray:
        there = problem.fit(np.where(folds == fold, 0.0, mass), metric, theta)
        return problem.take(np.flatnonzero(folds == fold)).raw(there)

    if n_jobs in (None, 1):
        parts = [score(fold) for fold in range(n_folds)]
    else:
        parts = Parallel(n_jobs=n_jobs, prefer="threads")(map(delayed(score), range(n_folds)))
    scores = np.empty((n, *problem.shape[1:]))
    for fold, part in enumerate(parts):
        scores[folds == fold] = part
    return scores
