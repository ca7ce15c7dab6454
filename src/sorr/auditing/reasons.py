"""Why a row is suspect, in words: the columns that argue against its label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.auditing.fit import Fitted
from sorr.auditing.judgement import Suggestions
from sorr.auditing.preparation import MISSING
from sorr.auditing.table import plain

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["contributions", "reasons"]

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
    return np.asarray(coef[to] - coef[fitted.strata[rows]])


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
        return f"The model says {plain(suggested)} ({_percent(sure)})", f"against {plain(given)}"
    return f"The model says {plain(given)} too ({_percent(own)})", f"for {plain(suggested)}"


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
        self.strata = fitted.strata[rows]
        self.numeric = set(numeric)
        self.usual = _usual(fitted, numeric) if fitted.classes else {}

    def of(self, name: str, place: int) -> str:
        """Return the value of a column in one of the rows."""
        value = self.values[name][place]
        if value is None or value != value:
            return f"{plain(name)} {MISSING}"
        if name not in self.numeric:
            return f"{plain(name)} = {plain(value)}"
        text = f"{plain(name)} = {float(value):.4g}"
        low, high = self.usual.get(self.strata[place], {}).get(name, (-np.inf, np.inf))
        if low <= float(value) <= high:
            return text
        return f"{text} (usually {low:.4g} to {high:.4g})"


def _usual(fitted: Fitted, numeric: Sequence[str]) -> dict[int, dict[str, tuple[float, float]]]:
    """Return, by class and column, between which numbers most rows lie that are kept."""
    found = {}
    for stratum in range(len(fitted.classes)):
        rows = np.flatnonzero(~fitted.dropped & (fitted.strata == stratum))
        rows = rows[:: -(-len(rows) // _SAMPLE)] if len(rows) else rows
        values = fitted.rows.frame.iloc[rows][list(numeric)].astype(float).quantile(_USUAL)
        found[stratum] = {name: (values[name].iloc[0], values[name].iloc[1]) for name in numeric}
    return found
