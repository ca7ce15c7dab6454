"""How suspect each row is, a better label for it, the reason, and which groups are affected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.auditing.fit import Fitted
from sorr.auditing.preparation import MISSING
from sorr.auditing.table import format_probability, quote_bare
from sorr.share import OutlierShare, estimate_outlier_share

if TYPE_CHECKING:
    from pandas import DataFrame

_MAX_P_VALUE = 0.01  # that groups differ by chance, for a warning
_MIN_RATIO = 2.0  # of the dropped share of a group to that of all others, for a warning
_MIN_DROPPED = 5  # rows of a group, for a warning
_EXACT = 1e-6  # of the range of a target: smaller residuals count as zero
_MAX_COLUMNS = 3  # in a reason
_EXPLAINED = 0.8  # of the evidence against a label, after which a reason names no more columns
_USUAL = (0.1, 0.9)  # quantiles between which a number is usual
_BLOCK = 1 << 22  # entries that are computed at once
_SAMPLE = 20_000  # rows that quantiles are computed from
_UNEXPLAINED = "No single column explains it; this label is rare for similar rows."


@dataclass(frozen=True, eq=False)
class Judgement:
    """How suspect each row is.

    Attributes
    ----------
    share : object or None
        The estimate of how many rows are wrong, with its `sentence`.
    score : ndarray of shape (n_rows,)
        The larger the score, the more suspect the row.
    rank : ndarray of shape (n_rows,)
        1 for the most suspect row. Dropped rows come before kept ones.
    posterior : ndarray of shape (n_rows,)
        The probability that the label is wrong, or the number an outlier. NaN where the data does
        not support a model of that.
    far : ndarray of bool of shape (n_rows,)
        Whether the row is far from all others and contradicts them.
    """

    share: Any
    score: FloatArray = field(repr=False)
    rank: npt.NDArray[np.int64] = field(repr=False)
    posterior: FloatArray = field(repr=False)
    far: npt.NDArray[np.bool_] = field(repr=False)


def judge(fitted: Fitted, seed: int, jobs: int) -> Judgement:
    """Return how suspect each row is.

    Rows are ranked by the estimate of the share of wrong labels, or by their losses if the number
    of rows to drop was given.
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
    """Better labels for some rows.

    For classes, the class that explains the label best if it is wrong. For numbers, the
    prediction.
    """

    labels: npt.NDArray[Any]
    sure: FloatArray
    """Its probability. For numbers, the deviation in typical errors, or infinity."""
    own: FloatArray
    """The probability of the given label. NaN for numbers."""


def suggestions(fitted: Fitted, judgement: Judgement, rows: npt.NDArray[np.intp]) -> Suggestions:
    """Return better labels for some rows."""
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
    """Return a robust standard deviation of the residuals, or zero if most rows fit exactly."""
    y = fitted.rows.y
    residuals = np.abs(y - fitted.prediction)[~fitted.dropped]
    middle = 1.4826 * float(np.median(residuals))
    return middle if middle > _EXACT * float(np.ptp(y)) else 0.0


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
    return (
        f"{worst.share:.1%} of the rows with {name} = {worst.name} are dropped ({worst.dropped} of "
        f"{worst.rows}), but only {others:.1%} of the others. Look at them before you use a model "
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


# -- Reasons: the columns that argue against a label -----------------------------------------------


def contributions(
    fitted: Fitted, rows: npt.NDArray[np.intp], towards: npt.NDArray[Any]
) -> tuple[list[str], FloatArray]:
    """Return the raw columns, and how much each argues for the suggestion and against the label.

    That is what the column adds to the difference of the two raw predictions, beyond its average
    over the kept rows. `towards` holds the suggested labels, or plus or minus one for regression.
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
    """Return how much a unit of each prepared column favours the suggestion, for each row."""
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
    """Return a sentence for each row. `far` marks rows that are far from all others."""
    given = fitted.rows.y[rows]
    towards = found.labels if fitted.classes else np.sign(found.labels - given)
    names, amounts = contributions(fitted, rows, towards)
    phrases = _Phrases(fitted, rows)
    sentences = []
    for i in range(len(rows)):
        named = _listed([phrases.of(names[j], i) for j in _strongest(amounts[i])])
        say = _explain_class if fitted.classes else _explain_number
        sentence = say(given[i], found.labels[i], found.sure[i], found.own[i], named)
        sentences.append("This row is far from all others. " * bool(far[i]) + sentence)
    return sentences


def _explain_class(given: Any, suggested: Any, sure: float, own: float, named: str) -> str:
    """Return what the model predicts for a row, and the columns that cause it."""
    label, other = quote_bare(given), quote_bare(suggested)
    if sure > own:
        opening = f"The model predicts {other} ({format_probability(sure)}), not {label}"
        return f"{opening}, because of {named}." if named else f"{opening}. {_UNEXPLAINED}"
    opening = f"The model predicts {label} as well ({format_probability(own)})"
    return f"{opening}; evidence for {other}: {named}." if named else f"{opening}. {_UNEXPLAINED}"


def _explain_number(given: float, suggested: float, sure: float, _: float, named: str) -> str:
    side = "high" if given > suggested else "low"
    size = f"{sure:.1f} typical errors too {side}" if np.isfinite(sure) else "most rows fit exactly"
    opening = f"Given {given:.4g}, expected {suggested:.4g} ({size})"
    return f"{opening}{', because of ' * bool(named)}{named}."


def _strongest(amounts: FloatArray) -> Iterator[int]:
    """Yield the columns that argue most, until they explain enough."""
    positive = np.maximum(amounts, 0.0)
    total, explained = float(positive.sum()), 0.0
    for j in np.argsort(-positive, kind="stable")[:_MAX_COLUMNS].tolist():
        if positive[j] <= 0.0 or explained >= _EXPLAINED * total:
            return
        explained += float(positive[j])
        yield j


def _listed(phrases: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(phrases[:-1]), *phrases[-1:]]))


class _Phrases:
    """Values of columns as text, with the usual range if a value is outside of it."""

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
    """Return the usual range of each column of numbers in the kept rows of each class."""
    found = {}
    for stratum in range(len(fitted.classes)):
        rows = np.flatnonzero(~fitted.dropped & (fitted.class_of_row == stratum))
        rows = rows[:: -(-len(rows) // _SAMPLE)] if len(rows) else rows
        values = fitted.rows.frame.iloc[rows][list(numeric)].astype(float).quantile(_USUAL)
        found[stratum] = {name: (values[name].iloc[0], values[name].iloc[1]) for name in numeric}
    return found
