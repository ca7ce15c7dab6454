"""Scores of rows by models that have not seen them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from sorr._typing import FloatArray
from sorr.share.average import AverageLoss, Metric

_ROWS_FOR_TWO_FOLDS = 100  # for each parameter; with fewer there are three
_ROWS_FOR_WARM_START = 20  # for each parameter; with fewer a fit knows each label
_Result = TypeVar("_Result")


class HeldOut(NamedTuple):
    """Scores of all rows by fits to the other folds, and those fits."""

    scores: FloatArray
    folds: npt.NDArray[np.intp]
    thetas: list[FloatArray]


def assign_folds(
    index: npt.NDArray[np.intp], n_folds: int, rng: np.random.Generator
) -> npt.NDArray[np.intp]:
    """Return the fold of each row: of every class about as many in each fold."""
    folds = np.empty(len(index), dtype=np.intp)
    order = rng.permutation(len(index))
    order = order[np.argsort(index[order], kind="stable")]
    folds[order] = np.arange(len(index)) % n_folds
    return folds


def hold_out(
    problem: AverageLoss,
    mass: FloatArray,
    metric: Metric,
    theta: FloatArray,
    rng: np.random.Generator,
    n_jobs: int | None = None,
) -> HeldOut:
    """Return the raw prediction of each row by a fit to the other folds.

    Scores of fitted rows are too good: with few rows per parameter, they show no wrong labels.
    Fits start at theta, the fit to all rows, unless there are so few rows that it could fit any
    labels. Then it might be a minimum for the other folds too, and nothing would be held out.
    There are three folds, or two if there are many rows.
    """
    n = problem.design.n_samples
    n_folds = 2 if n > _ROWS_FOR_TWO_FOLDS * int(np.prod(problem.shape)) else 3
    folds = assign_folds(problem.index, n_folds, rng)
    start = start_without_leak(problem, theta)

    def fit(fold: int) -> FloatArray:
        rows = np.flatnonzero(folds != fold)
        return problem.take(rows).fit(mass[rows], metric, start)

    thetas = over_folds(fit, n_folds, n_jobs)
    scores = np.empty((n, *problem.shape[1:]))
    for fold, there in enumerate(thetas):
        out = np.flatnonzero(folds == fold)
        scores[out] = problem.take(out).raw(there)
    return HeldOut(scores, folds, thetas)


def start_without_leak(problem: AverageLoss, theta: FloatArray) -> FloatArray | None:
    """Return where a fit to some rows may start without knowing the labels of the others."""
    few = problem.design.n_samples < _ROWS_FOR_WARM_START * problem.design.n_parameters
    return None if few else theta


def over_folds(
    function: Callable[[int], _Result], n_folds: int, n_jobs: int | None
) -> list[_Result]:
    """Return the result for each fold, computed by several threads if asked for."""
    if n_jobs in (None, 1):
        return [function(fold) for fold in range(n_folds)]
    return list(Parallel(n_jobs=n_jobs, prefer="threads")(map(delayed(function), range(n_folds))))
