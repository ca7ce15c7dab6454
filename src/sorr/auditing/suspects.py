"""How suspect each row is, a better label for it, and which groups are affected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.auditing.fit import Fitted
from sorr.auditing.sentences import write_percent
from sorr.share import Judgement

_MAX_P_VALUE = 0.01  # that groups differ by chance, for a warning
_MIN_RATIO = 2.0  # of the dropped share of a group to that of all others, for a warning
_MIN_DROPPED = 5  # rows of a group, for a warning


@dataclass(frozen=True, eq=False)
class Ranking:
    """How suspect each row is.

    Attributes
    ----------
    rank : ndarray of shape (n_rows,)
        1 for the most suspect row. Dropped rows come before kept ones.
    tier : ndarray of int of shape (n_rows,)
        The tier of each row.
    probability : ndarray of shape (n_rows,)
        The probability that the label or the number is wrong.
    """

    rank: npt.NDArray[np.int64] = field(repr=False)
    tier: npt.NDArray[np.int8] = field(repr=False)
    probability: FloatArray = field(repr=False)


def rank_rows(fitted: Fitted) -> Ranking:
    """Return how suspect each row is, by the judgement.

    If the number of rows to drop was given, the dropped ones are ranked by their losses.
    """
    n, judgement = len(fitted.rows), fitted.judgement
    score = -np.argsort(judgement.order_).astype(np.float64)
    of_dropped = np.where(fitted.dropped, fitted.losses, 0.0) if fitted.m != "auto" else np.zeros(n)
    order = np.lexsort([-score, -of_dropped, ~fitted.dropped])
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(1, n + 1)
    return Ranking(rank, judgement.tier_, judgement.wrong_)


class Suggestions(NamedTuple):
    """Better labels for some rows: the most likely other class, or the predicted number."""

    labels: npt.NDArray[Any]
    sure: FloatArray
    """Its probability. For numbers, the error in typical ones."""
    own: FloatArray
    """The probability of the given label. NaN for numbers."""


def suggestions(fitted: Fitted, rows: npt.NDArray[np.intp]) -> Suggestions:
    """Return better labels for some rows."""
    nothing = np.full(len(rows), np.nan)
    if len(rows) == 0:
        return Suggestions(fitted.rows.y[rows], nothing, nothing)
    judgement = fitted.judgement
    if isinstance(judgement, Judgement):
        return Suggestions(
            judgement.suggested_[rows],
            judgement.suggested_probability_[rows],
            judgement.given_probability_[rows],
        )
    expected = np.round(judgement.suggested_[rows], _decimals(fitted.rows.given))
    return Suggestions(expected, np.abs(judgement.error_[rows]), nothing)


def _decimals(y: FloatArray) -> int:
    """Return how many decimals numbers have, at most as many as six significant digits leave."""
    largest = max(float(np.abs(y).max()), 1e-300)
    most = max(5 - int(np.floor(np.log10(largest))), 0)
    exact = (it for it in range(most) if np.allclose(np.round(y, it), y, rtol=1e-12, atol=0))
    return next(exact, most)


class Stratum(NamedTuple):
    """Rows of one class or group, and how many of them are dropped."""

    name: str
    rows: int
    dropped: int

    @property
    def share(self) -> float:
        """The share of its rows that are dropped."""
        return self.dropped / self.rows


def shares_by(labels: npt.NDArray[Any], dropped: npt.NDArray[np.bool_]) -> list[Stratum]:
    """Return how many rows of each label are dropped."""
    names, place = np.unique(labels, return_inverse=True)
    rows = np.bincount(place, minlength=len(names))
    gone = np.bincount(place, dropped, minlength=len(names))
    return [Stratum(str(n), int(r), int(d)) for n, r, d in zip(names, rows, gone, strict=True)]


def unevenness(name: str, strata: list[Stratum]) -> str | None:
    """Return a warning if the rows of one stratum are dropped far more often than the others."""
    from scipy.stats import chi2_contingency

    rows, gone = sum(it.rows for it in strata), sum(it.dropped for it in strata)
    if gone == 0 or gone == rows or len(strata) < 2:
        return None
    table = np.array([[it.dropped, it.rows - it.dropped] for it in strata])
    if chi2_contingency(table).pvalue >= _MAX_P_VALUE:
        return None
    worst = max(strata, key=lambda it: it.share)
    others = (gone - worst.dropped) / max(rows - worst.rows, 1)
    if worst.dropped < _MIN_DROPPED or worst.share < _MIN_RATIO * others:
        return None
    shares = write_percent(worst.share), write_percent(others)
    return (
        f"{shares[0]} of the rows with {name} = {worst.name} are dropped ({worst.dropped} of "
        f"{worst.rows}), but only {shares[1]} of the others. Look at them before you use a model "
        "that has not learned from them: they may be a minority, not mistakes."
    )


def all_strata(fitted: Fitted) -> Mapping[str, list[Stratum]]:
    """Return how many rows of each class, and of each group of each group column, are dropped."""
    found = {}
    if fitted.classes:
        found[fitted.rows.roles.target] = shares_by(fitted.rows.y, fitted.dropped)
    for name, labels in fitted.rows.groups.items():
        found[name] = shares_by(labels, fitted.dropped)
    return found
