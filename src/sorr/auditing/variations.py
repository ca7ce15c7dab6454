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

from sorr.auditing.fit import Fitted, FloatArray, fit_model
from sorr.ranked import kth_largest

__all__ = ["Position", "Resamples", "Walk", "quiet", "resample", "walk"]

Index = npt.NDArray[np.intp]

_LARGEST_FIT = 10_000  # rows: more change nothing that can be seen, and the losses are of all rows
_VALIDATED = 5_000  # rows of all folds together
_FOLDS = 5
_RESAMPLES = 20
_STARTS = 10  # of each of these fits: they find what a hundred find
_POSITIONS = 24
_FURTHEST = 0.5  # of the rows may be left out
_CURVE = np.linspace(0.0, 1.0, 121) ** 1.5  # shares of a class at which its curve has points


@dataclass(frozen=True, eq=False)
class Position:
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
        The losses of each group in descending order, at the shares `Walk.shares` of it.
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
class Walk:
    """Fits with ever more rows left out.

    Attributes
    ----------
    positions : tuple of Position
    chosen : int
        Which of them is the one of the audit.
    shares : ndarray of shape (n_points,)
        Where curves have points.
    """

    positions: tuple[Position, ...]
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


def walk(fitted: Fitted, seed: int, jobs: int, tell: Callable[[float, str], None]) -> Walk:
    """Return the fits along a way from no rows left out, by those of the audit, to half of them.

    From the audit's fit the way goes down and up, each fit beginning at the last one. Up to the
    audit's choice all groups grow in its proportion; beyond, by the same share of what is left.
    """
    groups, model = fitted.groups, fitted.model
    sizes, chosen = np.bincount(groups), np.rint(model.m_).astype(np.int64)
    steps = _counts(sizes, chosen)
    place = next(i for i, counts in enumerate(steps) if np.array_equal(counts, chosen))
    rng = np.random.default_rng(seed)
    rows = _part(fitted.strata, _LARGEST_FIT, rng)
    with quiet():
        tell(0.0, "other numbers of rows left out")
        fits: dict[int, Any] = {place: model}
        for way in (range(place - 1, -1, -1), range(place + 1, len(steps))):
            last = model
            for i in way:
                last = _refit(last, fitted, rows, steps[i] / sizes)
                fits[i] = last
        tell(0.5, "errors on rows held out")
        errors = _validate(fitted, [counts / sizes for counts in steps], rng, jobs)
    positions = tuple(_position(fitted, fits[i], steps[i], *errors[i]) for i in range(len(steps)))
    return Walk(positions, place, _CURVE)


def _counts(sizes: Index, chosen: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
    """Return how many rows of each group are left out, at each position, without repetition."""
    share = float(chosen.sum() / sizes.sum())
    furthest = min(_FURTHEST, max(0.3, 1.5 * share))
    found: dict[tuple[int, ...], npt.NDArray[np.int64]] = {}
    ways = [*np.linspace(0.0, furthest, _POSITIONS), share]
    for way in sorted(ways):
        if way <= share:
            counts = chosen * (way / share if share else 0.0)
        else:
            counts = chosen + (sizes - chosen) * ((way - share) / (1 - share))
        whole = np.minimum(np.floor(counts + 1e-9).astype(np.int64), np.maximum(sizes - 1, 0))
        whole = chosen if way == share else whole
        found.setdefault(tuple(whole.tolist()), whole)
    return sorted(found.values(), key=lambda counts: int(counts.sum()))


def _refit(last: Any, fitted: Fitted, rows: Index, shares: FloatArray) -> Any:
    """Return a fit that leaves out these shares of the groups, begun where the last one ended."""
    model = copy.copy(last)
    groups = np.bincount(fitted.groups[rows], minlength=len(shares))
    counts = np.floor(shares * groups + 1e-9).astype(int)
    classes = fitted.classes
    is_pooled = len(shares) == 1
    m = int(counts[0]) if is_pooled else dict(zip(classes, counts.tolist(), strict=True))
    model.set_params(m=m, warm_start=True, certify=False)
    return model.fit(fitted.X[rows], fitted.rows.y[rows])


def _position(
    fitted: Fitted, model: Any, counts: npt.NDArray[np.int64], error: float, kept_error: float
) -> Position:
    losses = model.row_losses(fitted.X, fitted.rows.y)
    dropped = largest(losses, fitted.groups, counts)
    cuts, curves = [], []
    for group in range(len(counts)):
        ordered = -np.sort(-losses[fitted.groups == group])
        curves.append(ordered[np.rint(_CURVE * (len(ordered) - 1)).astype(int)])
        cuts.append(ordered[counts[group] - 1] if counts[group] else np.nan)
    if model is fitted.model:
        dropped = fitted.dropped
    return Position(
        counts,
        float(counts.sum() / len(losses)),
        dropped,
        np.array(cuts),
        np.array(curves),
        error,
        kept_error,
    )


def largest(
    losses: FloatArray, groups: Index, counts: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Return which rows have the largest losses of their group; of equal ones the first do."""
    found = np.zeros(len(losses), dtype=bool)
    for group, count in enumerate(counts.tolist()):
        if count == 0:
            continue
        rows = np.flatnonzero(groups == group)
        values = losses[rows]
        level = float(kth_largest(values, count))
        above = values > level
        found[rows[above]] = True
        found[rows[np.flatnonzero(values == level)[: count - int(above.sum())]]] = True
    return found


def _validate(
    fitted: Fitted, shares: Sequence[FloatArray], rng: np.random.Generator, jobs: int
) -> list[tuple[float, float]]:
    """Return the errors at each position, of rows that the fits have not seen."""
    rows = _part(fitted.strata, _VALIDATED, rng)
    fold = _folds(fitted.strata[rows], rng)
    tasks = (delayed(_hold_out)(fitted, rows, fold == i, shares) for i in range(_FOLDS))
    wrong = np.concatenate(Parallel(n_jobs=jobs, prefer="threads")(tasks), axis=1)
    order = np.concatenate([np.flatnonzero(fold == i) for i in range(_FOLDS)])
    kept = ~fitted.dropped[rows[order]]
    return [(float(it.mean()), float(it[kept].mean())) for it in wrong]


def _hold_out(
    fitted: Fitted, rows: Index, is_out: npt.NDArray[np.bool_], shares: Sequence[FloatArray]
) -> FloatArray:
    """Return how wrong each held-out row is predicted, at each position."""
    inside, outside = rows[~is_out], rows[is_out]
    model = clone(fitted.model).set_params(m=0, certify=False)
    model.fit(fitted.X[inside], fitted.rows.y[inside])
    given, found = fitted.rows.y[outside], []
    for share in shares:
        model = _refit(model, fitted, inside, share)
        predicted = model.predict(fitted.X[outside])
        is_class = bool(fitted.classes)
        found.append(predicted != given if is_class else np.abs(predicted - given))
    return np.array(found, dtype=np.float64)


def _folds(strata: Index, rng: np.random.Generator) -> Index:
    """Return the fold of each row, even in all strata; a row alone in its own is never held out."""
    fold = np.full(len(strata), -1)
    for stratum in np.unique(strata):
        rows = rng.permutation(np.flatnonzero(strata == stratum))
        if len(rows) > 1:
            fold[rows] = np.arange(len(rows)) % _FOLDS
    return fold


def _part(strata: Index, limit: int, rng: np.random.Generator) -> Index:
    """Return at most so many rows, drawn evenly, two of each stratum at least."""
    if len(strata) <= limit:
        return np.arange(len(strata))
    chosen = rng.choice(len(strata), limit, replace=False)
    few = np.flatnonzero(np.bincount(strata[chosen], minlength=int(strata.max()) + 1) < 2)
    more = [np.flatnonzero(strata == stratum)[:2] for stratum in few]
    return np.unique(np.concatenate([chosen, *more]))


def resample(fitted: Fitted, seed: int, jobs: int, tell: Callable[[float, str], None]) -> Resamples:
    """Return which rows are left out by fits to random halves of all rows.

    Where the audit estimates how many rows are wrong, so does each of these fits.
    """
    strata = fitted.strata
    halves = [_half(strata, np.random.default_rng([seed, i])) for i in range(_RESAMPLES)]
    tasks = (delayed(_judge)(fitted, half) for half in halves)
    dropped, shares = np.zeros(len(strata)), []
    with quiet():
        found: Iterator[npt.NDArray[np.bool_]] = Parallel(
            n_jobs=jobs, prefer="threads", return_as="generator"
        )(tasks)
        for i, mask in enumerate(found):
            tell(i / _RESAMPLES, "fits to halves of the rows")
            dropped += mask
            shares.append(mask.mean())
    return Resamples(dropped / _RESAMPLES, np.array(shares))


def _half(strata: Index, rng: np.random.Generator) -> Index:
    halves = []
    for stratum in np.unique(strata):
        rows = np.flatnonzero(strata == stratum)
        most = -(-min(len(rows), _LARGEST_FIT * len(rows) // len(strata) + 1) // 2)
        halves.append(rng.choice(rows, most, replace=False))
    return np.sort(np.concatenate(halves))


def _judge(fitted: Fitted, half: Index) -> npt.NDArray[np.bool_]:
    """Return which of all rows are left out by a fit to some of them."""
    rows, m = fitted.rows, fitted.m
    if isinstance(m, int) and m:
        m = max(1, round(m * len(half) / len(rows)))
    seed = fitted.model.random_state
    X, y = fitted.X[half], rows.y[half]
    model = fit_model(X, y, rows.task, m, seed, 1, certify=False, n_starts=_STARTS)
    groups = fitted.groups
    shares = model.m_ / np.bincount(groups[half])
    losses = model.row_losses(fitted.X, rows.y)
    counts = np.floor(shares * np.bincount(groups) + 1e-9).astype(np.int64)
    return largest(losses, groups, counts)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep to oneself what the many fits warn about: that of the audit has said it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
