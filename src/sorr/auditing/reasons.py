"""Why a row is suspect, in words: the columns that argue against its label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sorr.auditing.fit import Fitted, FloatArray
from sorr.auditing.preparation import MISSING
from sorr.auditing.table import plain

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["contributions", "reasons"]

_MOST_NAMED = 3  # columns in a sentence
_SHARE_NAMED = 0.8  # of all that speaks against a label: no more columns are named beyond it
_USUAL = (0.1, 0.9)  # between these quantiles a number is usual
_BLOCK = 4096
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
    for start in range(0, len(rows), _BLOCK):
        block = slice(start, start + _BLOCK)
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
    suggested: npt.NDArray[Any],
    far: npt.NDArray[np.bool_],
    certainty: FloatArray,
) -> list[str]:
    """Return a sentence for each row.

    Parameters
    ----------
    fitted : Fitted
    rows : ndarray of shape (n_chosen,)
    suggested : ndarray of shape (n_chosen,)
        The label, or number, that the model would give.
    far : ndarray of bool of shape (n_chosen,)
        Whether the row lies far from all others.
    certainty : ndarray of shape (n_chosen,)
        The probability that the model gives to the suggestion, or how many typical errors the
        label of a regression is off by.
    """
    given = fitted.rows.y[rows]
    towards = suggested if fitted.classes else np.sign(suggested - given)
    names, amounts = contributions(fitted, rows, towards)
    phrases = _Phrases(fitted, rows)
    return [
        _sentence(
            fitted,
            given[i],
            suggested[i],
            certainty[i],
            [phrases.of(names[j], i) for j in _strongest(amounts[i])],
            is_far=bool(far[i]),
        )
        for i in range(len(rows))
    ]


def _sentence(
    fitted: Fitted, given: Any, suggested: Any, sure: float, phrases: list[str], *, is_far: bool
) -> str:
    head = "It lies far from all other rows. " if is_far else ""
    if fitted.classes:
        verb = "says" if sure > 0.5 else "inclines to"
        chance = "over 99%" if sure > 0.99 else f"{sure:.0%}"
        head += f"The model {verb} {plain(suggested)} ({chance})"
        cause = f"against {plain(given)}"
    else:
        side, other = ("above", "lower") if given > suggested else ("below", "higher")
        head += f"Given {given:.4g}, expected {suggested:.4g}: {sure:.1f} typical errors {side}"
        cause = f"for a {other} number"
    if not phrases:
        return f"{head}, whatever the columns: such a label is rare among such rows."
    return f"{head}; {cause} {'speaks' if len(phrases) == 1 else 'speak'} {_listed(phrases)}."


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
