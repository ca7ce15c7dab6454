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
from sorr.auditing.table.values import spell
from sorr.share import Judgement, TargetJudgement

if TYPE_CHECKING:
    from pandas import DataFrame

_MAX_P_VALUE = 0.01  # that groups differ by chance, for a warning
_MIN_RATIO = 2.0  # of the dropped share of a group to that of all others, for a warning
_MIN_DROPPED = 5  # rows of a group, for a warning
_EXACT = 1e6  # typical errors: with larger ones, most rows fit exactly
_LARGE = 1e12  # numbers from which on only their size is written
_MAX_COLUMNS = 3  # in a reason
_EXPLAINED = 0.8  # of the evidence against a label, after which a reason names no more columns
_USUAL = (0.1, 0.9)  # quantiles between which a number is usual
_BLOCK = 1 << 22  # entries that are computed at once
_SAMPLE = 20_000  # rows that quantiles are computed from


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
    return Suggestions(judgement.suggested_[rows], np.abs(judgement.error_[rows]), nothing)


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

    That is what the column adds to the difference of the two raw predictions of a linear model,
    beyond its average over the kept rows. `towards` holds the suggested labels, or plus or minus
    one for regression.
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
    coef = np.atleast_2d(fitted.line.coef_)
    if not fitted.classes:
        return np.asarray(coef * towards[:, None], dtype=np.float64)
    to = np.searchsorted(fitted.line.classes_, towards)
    if len(coef) == 1:
        return np.asarray(coef * np.where(to == 1, 1.0, -1.0)[:, None])
    return np.asarray(coef[to] - coef[fitted.class_of_row[rows]])


def reasons(fitted: Fitted, rows: npt.NDArray[np.intp], found: Suggestions) -> list[str]:
    """Return a sentence for each row."""
    given = fitted.rows.y[rows]
    towards = found.labels if fitted.classes else np.sign(found.labels - given)
    names, amounts = contributions(fitted, rows, towards)
    phrases, agrees = _Phrases(fitted, rows), _agrees(fitted, rows, towards)
    sentences = []
    for i in range(len(rows)):
        named = _listed([phrases.of(names[j], i) for j in _strongest(amounts[i])]) * bool(agrees[i])
        judgement = fitted.judgement
        if isinstance(judgement, TargetJudgement):
            sentence = _explain_number(given[i], found.labels[i], found.sure[i], named)
        else:
            label, other = quote_bare(given[i]), quote_bare(found.labels[i])
            sentence = (
                f"{_names(judgement)} {label} {format_probability(found.own[i])} and {other} "
                f"{format_probability(found.sure[i])}"
            )
            if named:
                sentence = f"A linear model prefers {other} because of {named}. {sentence}."
            else:
                sentence = f"{sentence}; no single column explains it."
        sentences.append(sentence)
    return sentences


def _agrees(
    fitted: Fitted, rows: npt.NDArray[np.intp], towards: npt.NDArray[Any]
) -> npt.NDArray[np.bool_]:
    """Return for which rows a linear model gives the suggestion more than the label."""
    if not fitted.classes or not len(rows):
        return np.ones(len(rows), dtype=bool)
    p, place = fitted.line.predict_proba(fitted.X[rows]), np.arange(len(rows))
    suggested = p[place, np.searchsorted(fitted.line.classes_, towards)]
    return np.asarray(suggested > p[place, fitted.class_of_row[rows]])


def _names(judgement: Judgement) -> str:
    """Return the opening of a sentence: the models that judge a label."""
    names = " and ".join(name for name, _ in judgement.models_)
    return f"{names[0].upper()}{names[1:]} {'gives' if len(judgement.models_) == 1 else 'give'}"


def _explain_number(given: float, suggested: float, sure: float, named: str) -> str:
    side = "high" if given > suggested else "low"
    size = f"{sure:.1f} typical errors too {side}"
    if sure > _EXACT:
        size = f"too {side}; most rows fit exactly"
    opening = f"Given {_plain(given)}, expected {_plain(suggested)} ({size})"
    return f"{opening}{', because of ' * bool(named)}{named}."


def _plain(value: float) -> str:
    """Return a number as people write it."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < _LARGE else f"{value:.4g}"


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
        numeric = fitted.pipeline.named_steps["columns"].of_kind("number")
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
            return f"{quote_bare(name)} = {quote_bare(spell(value))}"
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
