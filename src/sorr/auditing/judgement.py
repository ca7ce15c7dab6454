"""How suspect each row is, what its label should perhaps be, and whom that concerns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.auditing.fit import Fitted
from sorr.estimators import OutlierShare, estimate_outlier_share

__all__ = [
    "Judgement",
    "Stratum",
    "Suggestions",
    "all_strata",
    "judge",
    "shares_by",
    "suggestions",
    "typical_error",
    "unevenness",
]

_UNLIKELY = 0.01  # that groups differ so much by chance
_UNEVEN = 2.0  # times the share of all rows, from which on a group is named
_FEWEST = 5  # rows left out of a group that is named
_EXACT = 1e-6  # of the range of a target: residuals below are as good as zero


@dataclass(frozen=True, eq=False)
class Judgement:
    """How suspect each row is.

    Attributes
    ----------
    share : object or None
        The estimate of how many rows are wrong, with its `sentence`.
    score : ndarray of shape (n_rows,)
        The larger, the more suspect.
    rank : ndarray of shape (n_rows,)
        1 for the most suspect row; rows that are left out come before those that are kept.
    posterior : ndarray of shape (n_rows,)
        The probability that the label is wrong, or a number an outlier; NaN where no model of that
        holds.
    far : ndarray of bool of shape (n_rows,)
        Whether the row lies far from all others, and contradicts them.
    """

    share: Any
    score: FloatArray = field(repr=False)
    rank: npt.NDArray[np.int64] = field(repr=False)
    posterior: FloatArray = field(repr=False)
    far: npt.NDArray[np.bool_] = field(repr=False)


def judge(fitted: Fitted, seed: int, jobs: int) -> Judgement:
    """Return how suspect each row is.

    Rows are ranked by the estimate of the share of wrong ones; where the number of rows to leave
    out was given, by their losses.
    """
    model, n, share = fitted.model, len(fitted.rows), fitted.share
    score = model.losses_ if share is None else share.score_
    if share is None and fitted.classes:
        y = fitted.rows.y
        share = estimate_outlier_share(
            fitted.X, y, C=model.C, drop="estimate", random_state=seed, n_jobs=jobs
        )
    posterior, far = np.full(n, np.nan), np.zeros(n, dtype=bool)
    if share is not None:
        posterior = share.flip_posterior_ if fitted.classes else share.probability_
        far = share.leverage_
    order = np.lexsort([-score, ~fitted.dropped])
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(1, n + 1)
    return Judgement(share, np.asarray(score), rank, posterior, far)


class Suggestions(NamedTuple):
    """What the labels of some rows should perhaps be.

    Of classes, the one that explains the label best if that is wrong; of numbers, the prediction.
    """

    labels: npt.NDArray[Any]
    sure: FloatArray
    """Its probability; by how many typical errors a number is off, infinite if rows fit exactly."""
    own: FloatArray
    """The probability of the label that is given; NaN for numbers."""


def suggestions(fitted: Fitted, judgement: Judgement, rows: npt.NDArray[np.intp]) -> Suggestions:
    """Return what the labels of some rows should perhaps be."""
    nothing = np.full(len(rows), np.nan)
    if len(rows) == 0:
        return Suggestions(fitted.rows.y[rows], nothing, nothing)
    model, X = fitted.model, fitted.X[rows]
    if not fitted.classes:
        predicted, scale = model.predict(X), typical_error(fitted)
        off = np.abs(predicted - fitted.rows.y[rows])
        return Suggestions(predicted, off / scale if scale else np.full(len(rows), np.inf), nothing)
    p, given = model.predict_proba(X), fitted.strata[rows]
    likely = p.copy()
    if isinstance(judgement.share, OutlierShare):
        flips = judgement.share.flip_rate_
        likely = p * np.maximum(flips[:, given].T, 1e-12)
    place = np.arange(len(rows))
    likely[place, given] = -1.0
    best = likely.argmax(axis=1)
    return Suggestions(np.asarray(model.classes_[best]), p[place, best], p[place, given])


def typical_error(fitted: Fitted) -> float:
    """Return the standard deviation that the middle of the residuals suggests; zero if it fits."""
    y = fitted.rows.y
    residuals = np.abs(y - fitted.prediction)[~fitted.dropped]
    middle = 1.4826 * float(np.median(residuals))
    return middle if middle > _EXACT * float(np.ptp(y)) else 0.0


class Stratum(NamedTuple):
    """Rows that have something in common, and how many of them are left out."""

    name: str
    rows: int
    dropped: int

    @property
    def share(self) -> float:
        """The share that is left out."""
        return self.dropped / self.rows


def shares_by(labels: npt.NDArray[Any], dropped: npt.NDArray[np.bool_]) -> list[Stratum]:
    """Return how many rows of each label are left out."""
    names, place = np.unique(labels, return_inverse=True)
    rows = np.bincount(place, minlength=len(names))
    gone = np.bincount(place, dropped, minlength=len(names))
    return [Stratum(str(n), int(r), int(d)) for n, r, d in zip(names, rows, gone, strict=True)]


def unevenness(name: str, strata: list[Stratum]) -> str | None:
    """Return a warning if rows of some strata are left out far more often than those of all."""
    from scipy.stats import chi2_contingency

    rows, gone = sum(it.rows for it in strata), sum(it.dropped for it in strata)
    if gone == 0 or gone == rows or len(strata) < 2:
        return None
    table = np.array([[it.dropped, it.rows - it.dropped] for it in strata])
    if chi2_contingency(table).pvalue >= _UNLIKELY:
        return None
    worst = max(strata, key=lambda it: it.share)
    others = (gone - worst.dropped) / max(rows - worst.rows, 1)
    if worst.dropped < _FEWEST or worst.share < _UNEVEN * others:
        return None
    return (
        f"{worst.share:.1%} of the rows with {name} {worst.name} are left out, and {others:.1%} of "
        f"the others: {worst.dropped} of {worst.rows} rows. Look at them before you trust a model "
        "that has not learned from them: they may be a minority, and not wrong."
    )


def all_strata(fitted: Fitted) -> Mapping[str, list[Stratum]]:
    """Return how many rows are left out of each class, and of each group of each group column."""
    found = {}
    if fitted.classes:
        found[fitted.rows.roles.target] = shares_by(fitted.rows.y, fitted.dropped)
    for name, labels in fitted.rows.groups.items():
        found[name] = shares_by(labels, fitted.dropped)
    return found
