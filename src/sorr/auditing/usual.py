"""What is usual for a label: the values of raw columns in the kept rows that have it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray, IntArray
from sorr.auditing.fit import Fitted
from sorr.auditing.preparation import MISSING
from sorr.auditing.table import quote_bare
from sorr.auditing.table.values import spell

_SAMPLE = 20_000  # rows with a label that a typical value is looked for in
_TYPICAL_TEXTS = 2_000  # of which the most typical one is looked for
_USUAL = (0.1, 0.9)  # quantiles between which a number is usual
_SCALE = (0.01, 0.99)  # quantiles from which on a bar is not made longer
_BINS, _BIN_ROWS = 10, 20  # of numbers, as if they were labels; and the fewest rows of one
_FLAGS = 3  # different numbers, up to which they are categories
_FIRST = 1_000  # values that are looked at before all are
_SHOWN = 60  # letters of a value


class Named(NamedTuple):
    """A value that argues against a label, beside what is usual for that label."""

    column: str
    value: Any
    """A number, or text on one line. None if it is missing."""
    usual: tuple[float, float] | None
    """Between which most numbers of kept rows with the label are. None for other columns."""
    scale: tuple[float, float] | None
    """Between which nearly all numbers of kept rows are, and this one: the ends of a bar."""
    common: str
    """The most frequent category of kept rows with the label; of dates, the usual range."""
    share: float | None
    """Of the other kept rows with the label, the part that has this category."""
    change: float
    """By how much the log odds of the suggestion fall if the value is replaced by a usual one.
    For numbers, how much nearer the prediction comes, in typical errors."""


class RawTable:
    """The raw columns that are learned from, and their usual values among kept rows.

    Usual values are those of a *stratum*: the rows with the same label, or with similar numbers.

    Parameters
    ----------
    fitted : Fitted
    """

    def __init__(self, fitted: Fitted) -> None:
        self.fitted = fitted
        self.kinds: dict[str, str] = fitted.pipeline.named_steps["columns"].kinds_
        self.names: list[str] = list(dict.fromkeys(it.column for it in fitted.sources))
        number = {name: i for i, name in enumerate(self.names)}
        self.column_of = np.array([number[it.column] for it in fitted.sources], dtype=np.intp)
        self.members = [np.flatnonzero(self.column_of == i) for i in range(len(self.names))]
        self._cache: dict[tuple[Any, ...], Any] = {}

    def _once(self, key: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]

    # Strata

    @cached_property
    def edges(self) -> FloatArray:
        """Between which numbers are similar, of a target of numbers."""
        y = self.fitted.rows.y[~self.fitted.dropped]
        parts = int(np.clip(len(y) // _BIN_ROWS, 1, _BINS))
        edges = np.unique(np.quantile(y, np.arange(1, parts) / parts, method="lower"))
        return np.asarray(edges[edges > y.min()])

    @cached_property
    def stratum(self) -> IntArray:
        """The stratum of each row."""
        if self.fitted.classes:
            return self.fitted.class_of_row
        return np.asarray(np.searchsorted(self.edges, self.fitted.rows.y, side="right"))

    @cached_property
    def kept(self) -> list[IntArray]:
        """The kept rows of each stratum; all of them, where none is kept."""
        strata = range(len(self.fitted.classes) or len(self.edges) + 1)
        groups = [np.flatnonzero(self.stratum == it) for it in strata]
        is_kept = ~self.fitted.dropped
        return [rows[is_kept[rows]] if is_kept[rows].any() else rows for rows in groups]

    @cached_property
    def shares(self) -> FloatArray:
        """The share of all rows that each stratum has."""
        return np.bincount(self.stratum, minlength=len(self.kept)) / len(self.stratum)

    # Values

    def numbers(self, name: str) -> FloatArray:
        """Return a column of numbers, or of dates as seconds since 1970; NaN where missing."""

        def read() -> FloatArray:
            values = self.fitted.rows.frame[name].to_numpy()
            if self.kinds[name] == "date":
                seconds = values.astype("datetime64[s]")
                return np.where(np.isnat(seconds), np.nan, seconds.astype(np.int64))
            return np.asarray(values, dtype=np.float64)

        found: FloatArray = self._once(("numbers", name), read)
        return found

    def codes(self, name: str) -> tuple[IntArray, npt.NDArray[Any]]:
        """Return the number of each text of a column, from 0 for what is missing, and the texts."""
        import pandas as pd

        def read() -> tuple[IntArray, npt.NDArray[Any]]:
            codes, texts = pd.factorize(self.fitted.rows.frame[name])
            return codes + 1, np.concatenate([[MISSING], np.asarray(texts, dtype=object)])

        found: tuple[IntArray, npt.NDArray[Any]] = self._once(("codes", name), read)
        return found

    def is_numeric(self, name: str) -> bool:
        """Whether a column holds numbers or dates."""
        return self.kinds[name] in ("number", "date")

    def is_missing(self, name: str, rows: Any) -> npt.NDArray[np.bool_]:
        """Return which values of a column are missing."""
        if self.is_numeric(name):
            return np.asarray(np.isnan(self.numbers(name)[rows]))
        return np.asarray(self.codes(name)[0][rows] == 0)

    def sorted_kept(self, name: str, stratum: int) -> FloatArray:
        """Return the numbers of the kept rows of a stratum in order, without missing ones."""

        def sort() -> FloatArray:
            values = np.sort(self.numbers(name)[self.kept[stratum]])
            return np.asarray(values[~np.isnan(values)])

        found: FloatArray = self._once(("sorted", name, stratum), sort)
        return found

    def has_flags(self, name: str) -> bool:
        """Whether a column of numbers has so few different ones that they are categories."""

        def look() -> bool:
            values = self.numbers(name)
            there = values[~np.isnan(values)]
            parts = (there[:_FIRST], there)  # most columns are told by their first values
            return all(len(np.unique(part)) <= _FLAGS for part in parts)

        return self.kinds[name] == "number" and bool(self._once(("flags", name), look))

    def counts(self, name: str, stratum: int) -> IntArray:
        """Return how many kept rows of a stratum have each text; of numbers, a value or none."""

        def count() -> IntArray:
            rows = self.kept[stratum]
            if self.kinds[name] != "category":
                return np.bincount(~self.is_missing(name, rows), minlength=2)
            codes, texts = self.codes(name)
            return np.bincount(codes[rows], minlength=len(texts))

        found: IntArray = self._once(("counts", name, stratum), count)
        return found

    # What is usual

    def usual_row(self, stratum: int, column: int) -> int:
        """Return a row with a usual value: the median, the most frequent category, a typical text.

        It is a row without a value if most have none.
        """

        def find() -> int:
            rows = self.kept[stratum]
            rows = rows[:: -(-len(rows) // _SAMPLE)]
            return int(rows[self._typical(self.names[column], column, rows)])

        return int(self._once(("usual", stratum, column), find))

    def _typical(self, name: str, column: int, rows: IntArray) -> int:
        """Return the position of a row with a usual value among some rows."""
        if self.kinds[name] == "category":
            codes = self.codes(name)[0][rows]
            return int(np.flatnonzero(codes == np.bincount(codes).argmax())[0])
        is_missing = self.is_missing(name, rows)
        if is_missing.mean() > 0.5:
            return int(np.flatnonzero(is_missing)[0])
        there = np.flatnonzero(~is_missing)
        if self.kinds[name] == "text":
            there = there[:: -(-len(there) // _TYPICAL_TEXTS)]
            block = dense(self.fitted.X[rows[there]][:, self.members[column]])
            return int(there[np.square(block - block.mean(axis=0)).sum(axis=1).argmin()])
        order = np.argsort(self.numbers(name)[rows[there]], kind="stable")
        return int(there[order[(len(order) - 1) // 2]])

    def usual_values(self, stratum: int, columns: IntArray) -> npt.NDArray[np.float64]:
        """Return prepared columns with usual values. Those of other columns are zero."""
        found = np.zeros(len(self.column_of))
        for column in columns.tolist():
            members = self.members[column]
            row = self.usual_row(stratum, column)
            found[members] = dense(self.fitted.X[[row]][:, members])[0]
        return found

    def usual_range(self, name: str, stratum: int) -> tuple[float, float] | None:
        """Return the numbers between which those of most kept rows of a stratum are."""

        def find() -> tuple[float, float] | None:
            values = self.sorted_kept(name, stratum)
            if not len(values):
                return None
            low, high = np.quantile(values, _USUAL)
            return float(low), float(high)

        found: tuple[float, float] | None = self._once(("range", name, stratum), find)
        return found

    def scale(self, name: str) -> tuple[float, float]:
        """Return the numbers between which those of nearly all kept rows are."""

        def find() -> tuple[float, float]:
            values = self.numbers(name)[~self.fitted.dropped]
            low, high = np.nanquantile(values, _SCALE)
            return float(low), float(high)

        found: tuple[float, float] = self._once(("scale", name), find)
        return found

    def share(self, name: str, row: int, stratum: int) -> float:
        """Return the share of other kept rows of a stratum that have the same category as a row.

        For numbers, dates and texts: that lack a value as it does, or have one as it does.
        """
        counts = self.counts(name, stratum)
        is_among = bool(self.stratum[row] == stratum and not self.fitted.dropped[row])
        if self.kinds[name] == "category":
            code = int(self.codes(name)[0][row])
        else:
            code = int(not self.is_missing(name, row))
        others = int(counts.sum()) - is_among
        return float((counts[code] - is_among) / others) if others > 0 else 0.0

    def describe(self, row: int, column: int, change: float) -> Named:
        """Return a value, and what is usual for the label of its row."""
        name = self.names[column]
        kind, stratum = self.kinds[name], int(self.stratum[row])
        value = None if self.is_missing(name, row) else self.value(name, row)
        if kind == "number":
            usual = self.usual_range(name, stratum)
            ends = [*self.scale(name), *(usual or ()), *([] if value is None else [value])]
            return Named(name, value, usual, (min(ends), max(ends)), "", None, change)
        if kind == "date":
            usual = self.usual_range(name, stratum)
            common = f"{as_day(usual[0])} to {as_day(usual[1])}" if usual else ""
            return Named(name, value, None, None, common, None, change)
        if kind == "text":
            return Named(name, value, None, None, "", None, change)
        codes, texts = self.codes(name)
        common = quote_bare(spell(texts[codes[self.usual_row(stratum, column)]]), _SHOWN)
        return Named(name, value, None, None, common, self.share(name, row, stratum), change)

    def value(self, name: str, row: int) -> Any:
        """Return a value that is not missing: a number, or text on one line."""
        if self.kinds[name] == "number":
            return float(self.numbers(name)[row])
        if self.kinds[name] == "date":
            return as_date(self.numbers(name)[row])
        codes, texts = self.codes(name)
        return quote_bare(spell(texts[codes[row]]), _SHOWN)

    def labels_of_equal(self, row: int, names: Sequence[str]) -> IntArray:
        """Return how many other rows have each label, of those with the same categories."""
        key = tuple((name, int(self.codes(name)[0][row])) for name in names)

        def count() -> IntArray:
            is_equal = np.ones(len(self.stratum), dtype=bool)
            for name, code in key:
                is_equal &= self.codes(name)[0] == code
            return np.bincount(self.stratum[is_equal], minlength=len(self.kept))

        found: IntArray = self._once(("equal", *key), count).copy()
        found[self.stratum[row]] -= 1
        return found


def as_date(seconds: float) -> str:
    """Return a day, or a moment of a day."""
    return str(np.datetime64(int(seconds), "s")).replace("T", " ").removesuffix(" 00:00:00")


def as_day(seconds: float) -> str:
    """Return a day."""
    return str(np.datetime64(int(seconds), "s").astype("datetime64[D]"))


def dense(part: Any) -> npt.NDArray[np.float64]:
    """Return rows as a dense array."""
    return np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=np.float64)
