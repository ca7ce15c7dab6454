"""How suspect each row is, what its label should perhaps be, and whom that concerns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.auditing.fit import Fitted
from sorr.auditing.preparation import MISSING
from sorr.auditing.table import quote_bare
from sorr.share import OutlierShare, estimate_outlier_share

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = [
    "Judgement",
    "Stratum",
    "Suggestions",
    "all_strata",
    "contributions",
    "judge",
    "reasons",
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
    p, given = model.predict_proba(X), fitted.class_of_row[rows]
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


# -- Why a row is suspect, in words: the columns that argue against its label ----------------------


_MOST_NAMED = 3  # columns in a sentence
_SHARE_NAMED = 0.8  # of all that speaks against a label: no more columns are named beyond it
_USUAL = (0.1, 0.9)  # between these quantiles a number is usual
_BLOCK = 1 << 22  # entries that are worked on at a time
_SAMPLE = 20_000  # rows that quantiles are taken of


def contributions(
    fitted: Fitted, rows: npt.NDArray[np.intp], towards: npt.NDArray[Any]
) -> tuple[list[str], FloatArray]:
    """Return the raw columns, and how much each argues for a suggestion and against the label.

    That is what the column adds to the difference of the two raw predictions, beyond what it adds
    in the average of the rows that are kept. Of a regression, `towards` is plus or minus one.

    Parameters
    ----------
    fitted : Fitted
    rows : ndarray of shape (n_chosen,)
        Which rows.
    towards : ndarray of shape (n_chosen,)
        The label that is suggested for each, or the sign of what the prediction is off by.

    Returns
    -------
    names : list of str
    amounts : ndarray of shape (n_chosen, n_names)
    """
    names = list(dict.fromkeys(source.column for source in fitted.sources))
    member = np.zeros((len(fitted.sources), len(names)))
    for i, source in enumerate(fitted.sources):
        member[i, names.index(source.column)] = 1.0
    usual = np.asarray(fitted.X[~fitted.dropped].mean(axis=0)).ravel()
    amounts = np.empty((len(rows), len(names)))
    step = max(1, _BLOCK // len(fitted.sources))
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        part = fitted.X[rows[block]]
        part = (part.toarray() if hasattr(part, "toarray") else part) - usual
        amounts[block] = (part * _directions(fitted, rows[block], towards[block])) @ member
    return names, amounts


def _directions(
    fitted: Fitted, rows: npt.NDArray[np.intp], towards: npt.NDArray[Any]
) -> npt.NDArray[np.float64]:
    """Return, of each row, by how much a unit of each prepared column favours the suggestion."""
    coef = np.atleast_2d(fitted.model.coef_)
    if not fitted.classes:
        return np.asarray(coef * towards[:, None], dtype=np.float64)
    to = np.searchsorted(fitted.model.classes_, towards)
    if len(coef) == 1:
        return np.asarray(coef * np.where(to == 1, 1.0, -1.0)[:, None])
    return np.asarray(coef[to] - coef[fitted.class_of_row[rows]])


def reasons(
    fitted: Fitted,
    rows: npt.NDArray[np.intp],
    found: Suggestions,
    far: npt.NDArray[np.bool_],
) -> list[str]:
    """Return a sentence for each row.

    Parameters
    ----------
    fitted : Fitted
    rows : ndarray of shape (n_chosen,)
    found : Suggestions
        What their labels should perhaps be.
    far : ndarray of bool of shape (n_chosen,)
        Whether the row lies far from all others.
    """
    given = fitted.rows.y[rows]
    towards = found.labels if fitted.classes else np.sign(found.labels - given)
    names, amounts = contributions(fitted, rows, towards)
    phrases = _Phrases(fitted, rows)
    sentences = []
    for i in range(len(rows)):
        opening = _of_class if fitted.classes else _of_number
        head, cause = opening(given[i], found.labels[i], found.sure[i], found.own[i])
        named = [phrases.of(names[j], i) for j in _strongest(amounts[i])]
        verb = "speaks" if len(named) == 1 else "speak"
        tail = (
            f"; {cause} {verb} {_listed(named)}."
            if named
            else ", whatever the columns: such a label is rare among such rows."
        )
        sentences.append("It lies far from all other rows. " * bool(far[i]) + head + tail)
    return sentences


def _of_class(given: Any, suggested: Any, sure: float, own: float) -> tuple[str, str]:
    """Return what the model says of a row, and what the columns argue for."""
    if sure > own:
        return (
            f"The model says {quote_bare(suggested)} ({_percent(sure)})",
            f"against {quote_bare(given)}",
        )
    return (
        f"The model says {quote_bare(given)} too ({_percent(own)})",
        f"for {quote_bare(suggested)}",
    )


def _of_number(given: float, suggested: float, sure: float, _: float) -> tuple[str, str]:
    side, other = ("above", "lower") if given > suggested else ("below", "higher")
    off = f"{sure:.1f} typical errors {side}" if np.isfinite(sure) else "most rows fit exactly"
    return f"Given {given:.4g}, expected {suggested:.4g}: {off}", f"for a {other} number"


def _percent(share: float) -> str:
    return "over 99%" if share > 0.99 else f"{share:.0%}"


def _strongest(amounts: FloatArray) -> Iterator[int]:
    """Yield the columns that argue the most, until most of the argument is told."""
    for_it = np.maximum(amounts, 0.0)
    whole, told = float(for_it.sum()), 0.0
    for j in np.argsort(-for_it, kind="stable")[:_MOST_NAMED].tolist():
        if for_it[j] <= 0.0 or told >= _SHARE_NAMED * whole:
            return
        told += float(for_it[j])
        yield j


def _listed(phrases: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(phrases[:-1]), phrases[-1]]))


class _Phrases:
    """Values of columns as text, with what is usual where that helps."""

    def __init__(self, fitted: Fitted, rows: npt.NDArray[np.intp]) -> None:
        numeric = fitted.pipeline.named_steps["columns"].numeric_
        chosen: DataFrame = fitted.rows.frame.iloc[rows]
        self.values = {name: chosen[name].to_numpy(dtype=object) for name in chosen.columns}
        self.class_of_row = fitted.class_of_row[rows]
        self.numeric = set(numeric)
        self.usual = _usual(fitted, numeric) if fitted.classes else {}

    def of(self, name: str, place: int) -> str:
        """Return the value of a column in one of the rows."""
        value = self.values[name][place]
        if value is None or value != value:
            return f"{quote_bare(name)} {MISSING}"
        if name not in self.numeric:
            return f"{quote_bare(name)} = {quote_bare(value)}"
        text = f"{quote_bare(name)} = {float(value):.4g}"
        low, high = self.usual.get(self.class_of_row[place], {}).get(name, (-np.inf, np.inf))
        if low <= float(value) <= high:
            return text
        return f"{text} (usually {low:.4g} to {high:.4g})"


def _usual(fitted: Fitted, numeric: Sequence[str]) -> dict[int, dict[str, tuple[float, float]]]:
    """Return, by class and column, between which numbers most rows lie that are kept."""
    found = {}
    for stratum in range(len(fitted.classes)):
        rows = np.flatnonzero(~fitted.dropped & (fitted.class_of_row == stratum))
        rows = rows[:: -(-len(rows) // _SAMPLE)] if len(rows) else rows
        values = fitted.rows.frame.iloc[rows][list(numeric)].astype(float).quantile(_USUAL)
        found[stratum] = {name: (values[name].iloc[0], values[name].iloc[1]) for name in numeric}
    return found
