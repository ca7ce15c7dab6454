"""A linear fit with other numbers of dropped rows, and on other rows: how stable it is."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import clone

from sorr._typing import FloatArray, IntArray
from sorr.auditing.fit import Fitted, fit_linear, largest, take_rows

_MAX_FIT_ROWS = 10_000  # more rows make no visible difference; losses are of all rows
_MAX_VALIDATED_ROWS = 5_000  # of all folds together
_FOLDS = 5
_RESAMPLES = 20
_STARTS = 10  # of each of these fits; a hundred find nothing better
_POINTS = 24  # of the sweep
_MAX_SHARE = 0.5  # of the rows that a fit may drop
_CURVE = np.linspace(0.0, 1.0, 121) ** 1.5  # shares of a class where its curve has points


@dataclass(frozen=True, eq=False)
class SweepPoint:
    """A fit that drops a number of rows.

    Attributes
    ----------
    counts : ndarray of shape (n_groups,)
        The number of rows it drops, for each group that is ranked together.
    share : float
        The same as a share of all rows.
    dropped : ndarray of bool of shape (n_rows,)
        Which rows it drops.
    cuts : ndarray of shape (n_groups,)
        The smallest loss that is dropped, or NaN if none is.
    curves : ndarray of shape (n_groups, n_points)
        The losses of each group at the shares `Sweep.shares` of it: of the dropped rows, then of
        the kept ones, both in descending order.
    error, kept_error : float
        The error on held-out rows: the share of wrong predictions, or the mean absolute error.
        On all rows, and on those that the audit keeps.
    gain_error : float
        The standard error of how much less `kept_error` is than with no dropped rows.
    """

    counts: npt.NDArray[np.int64]
    share: float
    dropped: npt.NDArray[np.bool_] = field(repr=False)
    cuts: FloatArray = field(repr=False)
    curves: FloatArray = field(repr=False)
    error: float
    kept_error: float
    gain_error: float


@dataclass(frozen=True, eq=False)
class Sweep:
    """Fits that drop more and more rows.

    Attributes
    ----------
    positions : tuple of SweepPoint
    chosen : int
        The index of the point of the audit.
    shares : ndarray of shape (n_points,)
        Where the curves have points.
    """

    points: tuple[SweepPoint, ...]
    chosen: int
    shares: FloatArray = field(repr=False)


@dataclass(frozen=True, eq=False)
class Resamples:
    """Fits to halves of the rows, each judging all rows.

    Attributes
    ----------
    dropped : ndarray of shape (n_rows,)
        The share of the fits that drop each row.
    shares : ndarray of shape (n_fits,)
        The share of all rows that each fit drops.
    """

    dropped: FloatArray = field(repr=False)
    shares: FloatArray


@dataclass(frozen=True, eq=False)
class Variations:
    """A linear fit without dropping rows, with other numbers of dropped rows, and to halves."""

    plain: Any = field(repr=False)
    sweep: Sweep
    resamples: Resamples


def sweep(fitted: Fitted, seed: int, jobs: int, tell: Callable[[float, str], None]) -> Sweep:
    """Return fits from no dropped rows, through the audit's choice, to at most half of the rows.

    The sweep goes down and up from the fit of the audit. Each fit starts at the one before, and
    drops the rows with the largest losses. Up to the audit's choice all groups grow in proportion;
    beyond it, by the same share of the rest.
    """
    steps = _counts(np.bincount(fitted.groups), fitted.counts, _most(fitted, fitted.class_of_row))
    place = next(i for i, counts in enumerate(steps) if np.array_equal(counts, fitted.counts))
    rng = np.random.default_rng(seed)
    rows = take_rows(fitted.class_of_row, np.arange(len(fitted.rows)), _MAX_FIT_ROWS, rng)
    share = len(rows) / len(fitted.rows)
    with ignore_warnings():
        tell(0.0, "other numbers of dropped rows")
        fits: dict[int, Any] = {place: fitted.model}
        for way in (range(place - 1, -1, -1), range(place + 1, len(steps))):
            last = fitted.model
            for i in way:
                last = _refit(last, fitted, rows, np.rint(steps[i] * share))
                fits[i] = last
        losses = [fits[i].row_losses(fitted.X, fitted.rows.y) for i in range(len(steps))]
        masks = [largest(it, fitted.groups, step) for it, step in zip(losses, steps, strict=True)]
        masks[place] = fitted.dropped
        tell(0.5, "errors on held-out rows")
        errors = _validate(fitted, masks, rng, jobs)
    positions = tuple(
        _position(fitted, losses[i], steps[i], masks[i], errors[i]) for i in range(len(steps))
    )
    return Sweep(positions, place, _CURVE)


def _most(fitted: Fitted, class_of_row: IntArray) -> npt.NDArray[np.int64]:
    """Return how many rows of each group can be dropped while every class keeps one."""
    sizes = np.bincount(class_of_row, minlength=max(len(fitted.classes), 1))
    return np.asarray(np.maximum((sizes.min(keepdims=True) if fitted.is_pooled else sizes) - 1, 0))


def _counts(
    sizes: IntArray, chosen: npt.NDArray[np.int64], most: npt.NDArray[np.int64]
) -> list[npt.NDArray[np.int64]]:
    """Return the number of dropped rows of each group at each point, without repetition."""
    share = float(chosen.sum() / sizes.sum())
    furthest = min(_MAX_SHARE, max(0.3, 1.5 * share))
    found = {tuple(chosen.tolist()): chosen}
    for way in np.linspace(0.0, furthest, _POINTS):
        if way <= share:
            counts = chosen * (way / share if share else 0.0)
        else:
            counts = chosen + (sizes - chosen) * ((way - share) / (1 - share))
        whole = np.minimum(np.floor(counts + 1e-9).astype(np.int64), np.maximum(most, chosen))
        found.setdefault(tuple(whole.tolist()), whole)
    return sorted(found.values(), key=lambda counts: int(counts.sum()))


def _refit(last: Any, fitted: Fitted, rows: IntArray, counts: npt.NDArray[Any]) -> Any:
    """Return a fit to some rows that drops these counts and starts at the last fit."""
    model = copy.copy(last)
    model.set_params(m=_drop(fitted, rows, counts), warm_start=True, certify=False)
    return model.fit(fitted.X[rows], fitted.rows.y[rows])


def _drop(fitted: Fitted, rows: IntArray, counts: npt.NDArray[Any]) -> Any:
    """Return how many rows of each group to drop, in the form of the estimator."""
    whole = np.minimum(counts, _most(fitted, fitted.class_of_row[rows])).astype(int).tolist()
    return whole[0] if fitted.is_pooled else dict(zip(fitted.classes, whole, strict=True))


def _position(
    fitted: Fitted,
    losses: FloatArray,
    counts: npt.NDArray[np.int64],
    dropped: npt.NDArray[np.bool_],
    errors: tuple[float, float, float],
) -> SweepPoint:
    cuts, curves = [], []
    for group in range(len(counts)):
        inside = fitted.groups == group
        parts = (losses[inside & dropped], losses[inside & ~dropped])
        ordered = np.concatenate([-np.sort(-part) for part in parts])
        curves.append(ordered[np.rint(_CURVE * (len(ordered) - 1)).astype(int)])
        cuts.append(ordered[counts[group] - 1] if counts[group] else np.nan)
    share = float(counts.sum() / len(losses))
    return SweepPoint(counts, share, dropped, np.array(cuts), np.array(curves), *errors)


def _validate(
    fitted: Fitted, masks: Sequence[npt.NDArray[np.bool_]], rng: np.random.Generator, jobs: int
) -> list[tuple[float, float, float]]:
    """Return the errors at each point, on rows that the fits have not seen."""
    rows = take_rows(fitted.class_of_row, np.arange(len(fitted.rows)), _MAX_VALIDATED_ROWS, rng)
    fold = _folds(fitted.class_of_row[rows], rng)
    folds = [i for i in range(_FOLDS) if (fold == i).any()]
    tasks = (delayed(_hold_out)(fitted, rows, fold == i, masks) for i in folds)
    wrong = np.concatenate(Parallel(n_jobs=jobs, prefer="threads")(tasks), axis=1)
    order = np.concatenate([np.flatnonzero(fold == i) for i in folds])
    kept = ~fitted.dropped[rows[order]]
    spread = (wrong[0] - wrong)[:, kept].std(axis=1) / np.sqrt(kept.sum())
    return [
        (float(it.mean()), float(it[kept].mean()), float(error))
        for it, error in zip(wrong, spread, strict=True)
    ]


def _hold_out(
    fitted: Fitted,
    rows: IntArray,
    is_out: npt.NDArray[np.bool_],
    masks: Sequence[npt.NDArray[np.bool_]],
) -> FloatArray:
    """Return the error of each held-out row at each point.

    A fit drops as many of its rows as there are suspects among them, but not always the same.
    """
    inside, outside = rows[~is_out], rows[is_out]
    model = clone(fitted.model).set_params(m=0, certify=False)
    model.fit(fitted.X[inside], fitted.rows.y[inside])
    given, found = fitted.rows.y[outside], []
    for mask in masks:
        counts = np.bincount(fitted.groups[inside], mask[inside], minlength=len(fitted.counts))
        model = _refit(model, fitted, inside, counts)
        predicted = model.predict(fitted.X[outside])
        is_class = bool(fitted.classes)
        found.append(predicted != given if is_class else np.abs(predicted - given))
    return np.array(found, dtype=np.float64)


def _folds(class_of_row: IntArray, rng: np.random.Generator) -> IntArray:
    """Return the fold of each row, balanced by class. The only row of a class is never held out."""
    fold, begin = np.full(len(class_of_row), -1), 0
    for label in np.unique(class_of_row):
        rows = rng.permutation(np.flatnonzero(class_of_row == label))
        if len(rows) > 1:
            fold[rows] = (begin + np.arange(len(rows))) % _FOLDS
            begin += len(rows)
    return fold


def resample(fitted: Fitted, seed: int, jobs: int, tell: Callable[[float, str], None]) -> Resamples:
    """Return which rows are dropped by fits to random halves of all rows.

    Each drops as many rows as the audit, for its size: those with the largest losses.
    """
    class_of_row = fitted.class_of_row
    halves = [_half(class_of_row, np.random.default_rng([seed, i])) for i in range(_RESAMPLES)]
    tasks = (delayed(_judge)(fitted, half) for half in halves)
    dropped, shares = np.zeros(len(class_of_row)), []
    with ignore_warnings():
        found: Iterator[npt.NDArray[np.bool_]] = Parallel(
            n_jobs=jobs, prefer="threads", return_as="generator"
        )(tasks)
        for i, mask in enumerate(found):
            tell(i / _RESAMPLES, "fits to halves of the rows")
            dropped += mask
            shares.append(mask.mean())
    return Resamples(dropped / _RESAMPLES, np.array(shares))


def _half(class_of_row: IntArray, rng: np.random.Generator) -> IntArray:
    halves = []
    for label in np.unique(class_of_row):
        rows = np.flatnonzero(class_of_row == label)
        most = -(-min(len(rows), _MAX_FIT_ROWS * len(rows) // len(class_of_row) + 1) // 2)
        halves.append(rng.choice(rows, most, replace=False))
    return np.sort(np.concatenate(halves))


def _judge(fitted: Fitted, half: IntArray) -> npt.NDArray[np.bool_]:
    """Return which of all rows a fit to some of them drops."""
    rows, groups = fitted.rows, fitted.groups
    sizes, inside = np.bincount(groups), np.bincount(groups[half])
    m = _drop(fitted, half, np.rint(fitted.counts * inside / sizes))
    model = fit_linear(
        fitted.X[half],
        rows.y[half],
        rows.task,
        m,
        fitted.model.random_state,
        1,
        certify=False,
        n_starts=_STARTS,
    )
    return largest(model.row_losses(fitted.X, rows.y), groups, fitted.counts)


@contextmanager
def ignore_warnings() -> Iterator[None]:
    """Hide the warnings of the many fits. Those of the audit itself are kept."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
