"""The same fit with other numbers of rows left out, and on other rows: how much depends on both."""

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
from sorr.auditing.fit import Fitted, fit_model, largest

__all__ = ["Resamples", "Sweep", "SweepPoint", "ignore_warnings", "resample", "sweep"]


_LARGEST_FIT = 10_000  # rows: more change nothing that can be seen, and the losses are of all rows
_VALIDATED = 5_000  # rows of all folds together
_FOLDS = 5
_RESAMPLES = 20
_STARTS = 10  # of each of these fits: they find what a hundred find
_POSITIONS = 24
_FURTHEST = 0.5  # of the rows may be left out
_CURVE = np.linspace(0.0, 1.0, 121) ** 1.5  # shares of a class at which its curve has points


@dataclass(frozen=True, eq=False)
class SweepPoint:
    """A fit with so many rows left out.

    Attributes
    ----------
    counts : ndarray of shape (n_groups,)
        How many are left out, of each group of rows that are ranked together.
    share : float
        The same as a share of all rows.
    dropped : ndarray of bool of shape (n_rows,)
        Which they are.
    cuts : ndarray of shape (n_groups,)
        The smallest loss that is left out; NaN where none is.
    curves : ndarray of shape (n_groups, n_points)
        The losses of each group in descending order, at the shares `Sweep.shares` of it.
    error, kept_error : float
        What fits without a row say of it, against what is given: the share that differs, or the
        mean absolute difference. Of all rows, and of those that the audit keeps.
    """

    counts: npt.NDArray[np.int64]
    share: float
    dropped: npt.NDArray[np.bool_] = field(repr=False)
    cuts: FloatArray = field(repr=False)
    curves: FloatArray = field(repr=False)
    error: float
    kept_error: float


@dataclass(frozen=True, eq=False)
class Sweep:
    """Fits with ever more rows left out.

    Attributes
    ----------
    positions : tuple of SweepPoint
    chosen : int
        Which of them is the one of the audit.
    shares : ndarray of shape (n_points,)
        Where curves have points.
    """

    points: tuple[SweepPoint, ...]
    chosen: int
    shares: FloatArray = field(repr=False)


@dataclass(frozen=True, eq=False)
class Resamples:
    """Fits to halves of the rows, each judging all of them.

    Attributes
    ----------
    dropped : ndarray of shape (n_rows,)
        The share of the fits that leave a row out.
    shares : ndarray of shape (n_fits,)
        The share of all rows that each leaves out.
    """

    dropped: FloatArray = field(repr=False)
    shares: FloatArray


def sweep(fitted: Fitted, seed: int, jobs: int, tell: Callable[[float, str], None]) -> Sweep:
    """Return the fits along a way from no rows left out, by those of the audit, to half of them.

    From the audit's fit the way goes down and up, each fit beginning at the last one. Up to the
    audit's choice all groups grow in its proportion; beyond, by the same share of what is left.
    """
    steps = _counts(np.bincount(fitted.groups), fitted.counts, _most(fitted, fitted.class_of_row))
    place = next(i for i, counts in enumerate(steps) if np.array_equal(counts, fitted.counts))
    rng = np.random.default_rng(seed)
    rows = _part(fitted.class_of_row, _LARGEST_FIT, rng)
    share = len(rows) / len(fitted.rows)
    with ignore_warnings():
        tell(0.0, "other numbers of rows left out")
        fits: dict[int, Any] = {place: fitted.model}
        for way in (range(place - 1, -1, -1), range(place + 1, len(steps))):
            last = fitted.model
            for i in way:
                last = _refit(last, fitted, rows, np.rint(steps[i] * share))
                fits[i] = last
        losses = [fits[i].row_losses(fitted.X, fitted.rows.y) for i in range(len(steps))]
        masks = [largest(it, fitted.groups, step) for it, step in zip(losses, steps, strict=True)]
        tell(0.5, "errors on rows held out")
        errors = _validate(fitted, masks, rng, jobs)
    positions = tuple(
        _position(fitted, losses[i], steps[i], masks[i], *errors[i]) for i in range(len(steps))
    )
    return Sweep(positions, place, _CURVE)


def _most(fitted: Fitted, class_of_row: IntArray) -> npt.NDArray[np.int64]:
    """Return how many rows of each group can be left out without a class that vanishes."""
    sizes = np.bincount(class_of_row, minlength=max(len(fitted.classes), 1))
    return np.asarray(np.maximum((sizes.min(keepdims=True) if fitted.is_pooled else sizes) - 1, 0))


def _counts(
    sizes: IntArray, chosen: npt.NDArray[np.int64], most: npt.NDArray[np.int64]
) -> list[npt.NDArray[np.int64]]:
    """Return how many rows of each group are left out, at each position, without repetition."""
    share = float(chosen.sum() / sizes.sum())
    furthest = min(_FURTHEST, max(0.3, 1.5 * share))
    found = {tuple(chosen.tolist()): chosen}
    for way in np.linspace(0.0, furthest, _POSITIONS):
        if way <= share:
            counts = chosen * (way / share if share else 0.0)
        else:
            counts = chosen + (sizes - chosen) * ((way - share) / (1 - share))
        whole = np.minimum(np.floor(counts + 1e-9).astype(np.int64), np.maximum(most, chosen))
        found.setdefault(tuple(whole.tolist()), whole)
    return sorted(found.values(), key=lambda counts: int(counts.sum()))


def _refit(last: Any, fitted: Fitted, rows: IntArray, counts: npt.NDArray[Any]) -> Any:
    """Return a fit to some rows that leaves so many out, begun where the last one ended."""
    model = copy.copy(last)
    model.set_params(m=_drop(fitted, rows, counts), warm_start=True, certify=False)
    return model.fit(fitted.X[rows], fitted.rows.y[rows])


def _drop(fitted: Fitted, rows: IntArray, counts: npt.NDArray[Any]) -> Any:
    """Return how many rows of each group to leave out, as the estimator takes it."""
    whole = np.minimum(counts, _most(fitted, fitted.class_of_row[rows])).astype(int).tolist()
    return whole[0] if fitted.is_pooled else dict(zip(fitted.classes, whole, strict=True))


def _position(
    fitted: Fitted,
    losses: FloatArray,
    counts: npt.NDArray[np.int64],
    dropped: npt.NDArray[np.bool_],
    error: float,
    kept_error: float,
) -> SweepPoint:
    cuts, curves = [], []
    for group in range(len(counts)):
        ordered = -np.sort(-losses[fitted.groups == group])
        curves.append(ordered[np.rint(_CURVE * (len(ordered) - 1)).astype(int)])
        cuts.append(ordered[counts[group] - 1] if counts[group] else np.nan)
    share = float(counts.sum() / len(losses))
    return SweepPoint(counts, share, dropped, np.array(cuts), np.array(curves), error, kept_error)


def _validate(
    fitted: Fitted, masks: Sequence[npt.NDArray[np.bool_]], rng: np.random.Generator, jobs: int
) -> list[tuple[float, float]]:
    """Return the errors at each position, of rows that the fits have not seen."""
    rows = _part(fitted.class_of_row, _VALIDATED, rng)
    fold = _folds(fitted.class_of_row[rows], rng)
    folds = [i for i in range(_FOLDS) if (fold == i).any()]
    tasks = (delayed(_hold_out)(fitted, rows, fold == i, masks) for i in folds)
    wrong = np.concatenate(Parallel(n_jobs=jobs, prefer="threads")(tasks), axis=1)
    order = np.concatenate([np.flatnonzero(fold == i) for i in folds])
    kept = ~fitted.dropped[rows[order]]
    return [(float(it.mean()), float(it[kept].mean())) for it in wrong]


def _hold_out(
    fitted: Fitted,
    rows: IntArray,
    is_out: npt.NDArray[np.bool_],
    masks: Sequence[npt.NDArray[np.bool_]],
) -> FloatArray:
    """Return how wrong each held-out row is predicted, at each position.

    A fit leaves out as many rows as are suspects among those it has, whichever they are.
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


def _part(class_of_row: IntArray, limit: int, rng: np.random.Generator) -> IntArray:
    """Return at most so many rows, drawn evenly, two of each class at least."""
    if len(class_of_row) <= limit:
        return np.arange(len(class_of_row))
    chosen = rng.choice(len(class_of_row), limit, replace=False)
    few = np.flatnonzero(
        np.bincount(class_of_row[chosen], minlength=int(class_of_row.max()) + 1) < 2
    )
    more = [np.flatnonzero(class_of_row == label)[:2] for label in few]
    return np.unique(np.concatenate([chosen, *more]))


def resample(fitted: Fitted, seed: int, jobs: int, tell: Callable[[float, str], None]) -> Resamples:
    """Return which rows are left out by fits to random halves of all rows.

    Where the audit estimates how many rows are wrong, so does each of these fits.
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
        most = -(-min(len(rows), _LARGEST_FIT * len(rows) // len(class_of_row) + 1) // 2)
        halves.append(rng.choice(rows, most, replace=False))
    return np.sort(np.concatenate(halves))


def _judge(fitted: Fitted, half: IntArray) -> npt.NDArray[np.bool_]:
    """Return which of all rows are left out by a fit to some of them."""
    rows, groups, m = fitted.rows, fitted.groups, fitted.m
    sizes, inside = np.bincount(groups), np.bincount(groups[half])
    if m != "auto":
        m = _drop(fitted, half, np.rint(fitted.counts * inside / sizes))
    model = fit_model(
        fitted.X[half],
        rows.y[half],
        rows.task,
        m,
        fitted.model.random_state,
        1,
        certify=False,
        n_starts=_STARTS,
    )
    counts = fitted.counts if m != "auto" else np.rint(model.m_ * sizes / inside).astype(np.int64)
    return largest(model.row_losses(fitted.X, rows.y), groups, counts)


@contextmanager
def ignore_warnings() -> Iterator[None]:
    """Keep to oneself what the many fits warn about: that of the audit has said it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
