"""How labels are written in the cells of a table: most rows show it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sorr.auditing.columns import Context, read_column
from sorr.auditing.table.rewriting import Written
from sorr.auditing.table.values import MISSING, is_number
from sorr.auditing.target import NO_LABEL, task_of, unify_spellings
from sorr.auditing.written import kind_of_values, plain_numbers

if TYPE_CHECKING:
    from pandas import Series

_WHOLE = re.compile(r"\s*[+-]?\d+\s*", re.ASCII)
_EXACT = 2**53  # a float keeps every whole number up to here


class Labels:
    """How the labels of a target are written in the cells of a table.

    Parameters
    ----------
    column : Series
        The target as the audit reads it.
    written : sequence of Written
        The values of its cells, as they are.
    separator : str, optional
        Between the fields of the file.
    """

    def __init__(
        self, column: Series[Any], written: Sequence[Written], separator: str | None = None
    ) -> None:
        there = column.dropna()
        self._is_number = len(there) > 0 and kind_of_values(there) == "number"
        self.is_regression = task_of(column, "auto", separator)[0] == "regression"
        self._point = "."
        self._is_date = False
        if self.is_regression and not self._is_number:
            reading = read_column(column, context=Context(separator))
            self._is_date = reading.kind == "date"
            self._point = reading.format.get("point", ".")
        self._are_whole = self._is_number and bool((plain_numbers(there) % 1 == 0).all())
        self.is_exact = False
        self._known: dict[Any, Written] = {}
        usual = [it for it in written if it.text not in MISSING]
        usual.sort(key=lambda it: (-it.times, it.text))
        if self.is_regression:
            self._known = {it.text.strip(): it for it in reversed(usual)}
        elif self._is_number:
            self._collect_numbers(usual)
        else:
            self._collect_texts(usual)

    def _collect_numbers(self, written: Sequence[Written]) -> None:
        for it in written:
            if is_number(it.text):
                self._known.setdefault(float(it.text), it)

    def _collect_texts(self, written: Sequence[Written]) -> None:
        counts: Counter[str] = Counter()
        for it in written:
            if it.text.strip().casefold() not in NO_LABEL:
                counts[it.text] += it.times
        best = unify_spellings(counts)
        self.is_exact = any(label != label.strip() for label in best.values())
        cells: dict[str, Written] = {}
        for it in written:
            name = it.text if self.is_exact else it.text.strip()
            cells.setdefault(name, it._replace(text=name))
        for spelling, label in best.items():
            self._known[spelling] = cells[label]
        for spelling, label in best.items():
            self._known.setdefault(spelling.strip(), cells[label])

    def find(self, label: str) -> Written | None:
        """Return how a label is written; None if the target has no such label.

        A number that the target does not have is written in the shortest way.
        """
        if self.is_regression:
            found = None if self._is_date else self._number(label)
            return found or self._known.get(label.strip())  # a date, or a number with its unit
        if self._is_number:
            found = self._known.get(float(label)) if is_number(label) else None
            return found or self._number(label)
        return self._known.get(label) or self._known.get(label.strip())

    def _number(self, label: str) -> Written | None:
        """Return a number in the shortest way that reads as the same number."""
        text = label.strip()
        if not is_number(text) and self._point == ",":
            text = text.replace(",", ".")
        if not is_number(text) or not np.isfinite(float(text)):
            return None
        number: int | float = float(text)
        if _WHOLE.fullmatch(text) and (self._are_whole or not self._is_number):
            number = int(text)
        elif self._are_whole and float(text).is_integer() and abs(float(text)) < _EXACT:
            number = int(float(text))
        return Written(repr(number).replace(".", self._point), number, 0)


def texts_of(raw: Series[Any]) -> list[Written]:
    """Return the different texts of a column, and how many cells have each."""
    counts = raw.value_counts()
    pairs = zip(counts.index.tolist(), counts.tolist(), strict=True)
    return [Written(text, text, count) for text, count in pairs]
