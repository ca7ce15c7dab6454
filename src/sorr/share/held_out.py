"""Scores of rows by models that have not seen them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from sorr._typing import FloatArray
from sorr.share.average import AverageLoss, Metric

__all__ = ["HeldOut", "assign_folds", "fair_start", "hold_out", "over_folds"]

_MANY = 100  # rows for each parameter from which on two folds do
_FEW = 20  # rows for each parameter below which a fit knows each label
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

    Scores of the rows that were fitted are too good to be true: a likelihood of them finds no
    wrong labels where there are few rows for each parameter. Fits start from theta, which is that
    of all rows, unless rows are so few that it could fit any of their labels: then it might be a
    minimum for the other folds as well, and nothing would be held out. There are three folds, or
    two where there are many rows.
    """
    n = problem.design.n_samples
    n_folds = 2 if n > _MANY * int(np.prod(problem.shape)) else 3
    folds = assign_folds(problem.index, n_folds, rng)
    start = fair_start(problem, theta)

    def fit(fold: int) -> FloatArray:
        rows = np.flatnonzero(folds != fold)
        return problem.take(rows).fit(mass[rows], metric, start)

    thetas = over_folds(fit, n_folds, n_jobs)
    scores = np.empty((n, *problem.shape[1:]))
    for fold, there in enumerate(thetas):
        out = np.flatnonzero(folds == fold)
        scores[out] = problem.take(out).raw(there)
    return HeldOut(scores, folds, thetas)


def fair_start(problem: AverageLoss, theta: FloatArray) -> FloatArray | None:
    """Return where a fit to some of the rows may start without a hint at the others."""
    few = problem.design.n_samples < _FEW * problem.design.n_parameters
    return None if few else theta


def over_folds(
    function: Callable[[int], _Result], n_folds: int, n_jobs: int | None
) -> list[_Result]:
    """Return the results for each fold, found by several threads if so many are asked for."""
    if n_jobs in (None, 1):
        return [function(fold) for fold in range(n_folds)]
    return list(Parallel(n_jobs=n_jobs, prefer="threads")(map(delayed(function), range(n_folds))))
