"""How a table and what is in it appear in messages: on one line, whatever they hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sorr._checks import close_names
from sorr._typing import IntArray

if TYPE_CHECKING:
    from pandas import DataFrame, Series

__all__ = [
    "Reading",
    "Table",
    "TableError",
    "chosen_rows",
    "column_names",
    "known_columns",
    "listed",
    "notes_on",
    "quote",
    "quote_bare",
    "read_numbers",
]

_MOST_LISTED = 8


class TableError(ValueError):
    """A table cannot be used as it is: one line says why, and the way out."""


def quote(value: Any, width: int = 40) -> str:
    r"""Return a value in quotes, on one line and short: what cannot be seen is escaped.

    Examples
    --------
    >>> print(quote("two\nlines"), quote("\x1b[31mred"), quote("abcdefghijklmnop", width=9))
    'two\nlines' '\x1b[31mred' 'abcdef...'
    """
    text = str(value)
    quoted = repr(text[: width + 1])
    if len(text) <= width and len(quoted) <= width + 2:
        return quoted
    return f"{quoted[: width - 2]}...{quoted[0]}"


def quote_bare(value: Any, width: int = 40) -> str:
    r"""Return a value as `quote` does, without the quotes: for sentences.

    Examples
    --------
    >>> print(quote_bare("blue"), quote_bare("two\nlines"), quote_bare("it's"))
    blue two\nlines it's
    """
    return quote(value, width)[1:-1]


def listed(values: Sequence[Any]) -> str:
    """Return the first of several values, as `quote` does, and how many there are besides.

    Examples
    --------
    >>> listed(["a", "b"]), listed(range(10))
    ("'a', 'b'", "'0', '1', '2', '3', '4', '5', '6', '7' and 2 more")
    """
    more = len(values) - _MOST_LISTED
    named = ", ".join(map(quote, values[:_MOST_LISTED]))
    return f"{named} and {more} more" if more > 0 else named


# -- A table as it was read, the names of its columns, and which of its rows are taken -------------


@dataclass(frozen=True, eq=False)
class Table:
    """A table that was read from a file.

    Attributes
    ----------
    frame : DataFrame
        The columns in the order of the file: of numbers, of dates, or of text; rows from 0 on.
    rows : ndarray of shape (n,)
        Which data row of the file each row of the frame is, from 0 on.
    lines : ndarray of shape (n,) or None
        The line of the file in which it begins, from 1 on; None where there are no lines.
    n_rows : int
        The data rows of the file, of which the frame may hold a sample.
    notes : tuple of str
        What a reader of the results should know of the way the file was read.
    name : str
        The file's name.
    """

    frame: DataFrame = field(repr=False)
    rows: IntArray = field(repr=False)
    lines: IntArray | None = field(repr=False)
    n_rows: int
    notes: tuple[str, ...]
    name: str


def column_names(written: Sequence[str], file: str) -> tuple[list[str], list[str]]:
    """Return the names of columns without white space around them, and notes on them.

    A column without a name is called after its place: pandas writes such a one for its index.
    """
    names = [str(name).strip() for name in written]
    unnamed = [f"column {i}" for i, name in enumerate(names, start=1) if not name]
    names = [name or f"column {i}" for i, name in enumerate(names, start=1)]
    looks_like_data = sum(map(_is_number, names)) > len(names) / 2
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        hint = "are those of a row? Then put a line of names above it" if looks_like_data else ""
        raise TableError(
            f"{quote(file)} has more than one column called {listed(twice)}; "
            f"{hint or 'give each a name of its own'}"
        )
    notes = []
    if unnamed:
        notes.append(f"Columns without a name are called after their place: {listed(unnamed)}.")
    if looks_like_data:
        notes.append(
            f"The first line was read as names, and most are numbers ({listed(names[:3])}): if it "
            "is a row, put a line of names above it."
        )
    return names, notes


def known_columns(asked: Iterable[str], names: Sequence[str], file: str) -> list[str]:
    """Return the columns asked for, or say which are not there."""
    found = [str(name).strip() for name in asked]
    there = set(names)
    absent = [name for name in found if name not in there]
    if absent:
        close = close_names(absent[0], names)
        hint = f"did you mean {listed(close)}?" if close else f"there are {listed(names)}"
        raise TableError(f"{quote(file)} has no column {listed(absent)}; {hint}")
    return found


def chosen_rows(n_rows: int, asked: int | None, random_state: Any) -> tuple[IntArray, list[str]]:
    """Return the numbers of the rows to take, in order: all, or a random sample; and a note."""
    from sklearn.utils.random import sample_without_replacement

    if asked is not None and asked < 1:
        raise TableError(f"--rows {asked} leaves nothing to learn from; needed 1 or more")
    if asked is None or asked >= n_rows:
        return np.arange(n_rows, dtype=np.int64), []
    drawn = sample_without_replacement(n_rows, asked, random_state=random_state)
    return np.sort(drawn).astype(np.int64), [
        f"This is a random sample of {asked:,} of the {n_rows:,} rows."
    ]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# -- Columns of text that hold numbers, written in a way that pandas does not take for such --------


_MARKS = frozenset({"", "?", "-", "--", ".", "None", "none", "NONE"})
_TRIED = 100  # texts: a column of words shows itself in these
_BETWEEN = ". \u00a0\u202f'\u2019"  # thousands: also spaces that do not break, and apostrophes
_POWER = r"(?:[eE][+-]?\d+)?"
_PLAIN = re.compile(rf"[+-]?(?:\d+\.?\d*|\.\d+){_POWER}|[+-]?(?i:inf|infinity)", re.ASCII)
_COMMA = re.compile(
    rf"[+-]?(?:\d+|[1-9]\d{{0,2}}(?:([{_BETWEEN}])\d{{3}})(?:\1\d{{3}})*)?(?:,\d*)?{_POWER}",
    re.ASCII,
)
_THOUSANDS = re.compile(rf"[+-]?(?:\d+|[1-9]\d{{0,2}}(?:,\d{{3}})+)?(?:\.\d*)?{_POWER}", re.ASCII)
_GROUPS = str.maketrans("", "", _BETWEEN)


class Reading(NamedTuple):
    """A column of numbers, and how they were found in a text."""

    values: Series[Any]
    marks: tuple[str, ...]
    example: tuple[str, float] | None
    """A text with a comma, and the number it stands for; None if the numbers were plain ones."""


def read_numbers(column: Series[Any], separator: str) -> Reading | None:
    """Return the numbers in a column of text, or None if anything else is in it.

    Where a comma may stand before decimals as well as thousands, as in 1,234, it does the former
    in a file whose fields are separated by semicolons.
    """
    texts = column.dropna().str.strip()
    is_mark = texts.isin(_MARKS)
    written = texts[~is_mark]
    numbers = _numbers(written, separator) if _may_be_numbers(written) else None
    if numbers is None:
        return None
    marks = tuple(sorted(texts[is_mark].unique()))
    commas = written.index[written.str.contains(",", regex=False)][:1]
    example = next(((written[at], float(numbers[at])) for at in commas), None)
    return Reading(numbers.reindex(column.index).astype("float64"), marks, example)


def notes_on(readings: dict[str, Reading]) -> list[str]:
    """Return what to say of columns in which numbers were found."""
    notes = []
    marked = [name for name, reading in readings.items() if reading.marks]
    if marked:
        marks = sorted({mark for name in marked for mark in readings[name].marks})
        what = ", ".join(quote(mark) if mark else "white space" for mark in marks)
        notes.append(
            f"{what} {'was' if len(marks) == 1 else 'were'} read as missing in {listed(marked)}, "
            "where all else is a number."
        )
    with_commas = [name for name, reading in readings.items() if reading.example]
    if with_commas:
        text, number = readings[with_commas[0]].example or ("", 0.0)
        notes.append(
            f"{listed(with_commas)}: commas in numbers were read as in {quote_bare(text)} for "
            f"{number!r}."
        )
    return notes


def _may_be_numbers(texts: Series[Any]) -> bool:
    """Tell whether the first texts are numbers, each in some style."""
    styles = _PLAIN, _COMMA, _THOUSANDS
    return len(texts) > 0 and all(
        any(style.fullmatch(text) for style in styles) for text in texts.iloc[:_TRIED]
    )


def _numbers(texts: Series[Any], separator: str) -> Series[Any] | None:
    """Return the number that each text stands for, in the one style that fits them all."""
    if not texts.str.contains(",", regex=False).any():
        return _converted(texts)
    is_thousands = all(map(_THOUSANDS.fullmatch, texts))
    if is_thousands and separator != ";":
        return _converted(texts.str.replace(",", "", regex=False))
    found = None
    if not texts.str.contains(".", regex=False).any():
        found = _converted(texts.str.replace(",", ".", regex=False))
    if found is None and all(map(_COMMA.fullmatch, texts)):
        found = _converted(texts.map(lambda text: text.translate(_GROUPS).replace(",", ".")))
    if found is None and is_thousands:
        found = _converted(texts.str.replace(",", "", regex=False))
    return found


def _converted(texts: Series[Any]) -> Series[Any] | None:
    import pandas as pd

    numbers = pd.to_numeric(texts, errors="coerce")
    return None if numbers.isna().any() else numbers
