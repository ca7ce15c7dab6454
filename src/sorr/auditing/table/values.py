"""A table as it was read: its names, its rows, numbers in texts, and values in messages."""

from __future__ import annotations

import math
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

_MAX_LISTED = 8  # values in a message
_MISSING_MARKS = frozenset({"", "?", "-", "--", ".", "None", "none", "NONE"})
_TEXTS_TRIED = 100  # enough to see that a column holds words
_BETWEEN = ". \u00a0\u202f'\u2019"  # thousands: also spaces that do not break, and apostrophes
_POWER = r"(?:[eE][+-]?\d+)?"
_PLAIN = re.compile(rf"[+-]?(?:\d+\.?\d*|\.\d+){_POWER}|[+-]?(?i:inf|infinity)", re.ASCII)
_COMMA = re.compile(
    rf"[+-]?(?:\d+|[1-9]\d{{0,2}}(?:([{_BETWEEN}])\d{{3}})(?:\1\d{{3}})*)?(?:,\d*)?{_POWER}",
    re.ASCII,
)
_THOUSANDS = re.compile(rf"[+-]?(?:\d+|[1-9]\d{{0,2}}(?:,\d{{3}})+)?(?:\.\d*)?{_POWER}", re.ASCII)
_GROUPS = str.maketrans("", "", _BETWEEN)


# -- Values and arguments in messages --------------------------------------------------------------


def format_probability(value: float) -> str:
    """Return a probability in percent, never as certain; nothing for NaN.

    Examples
    --------
    >>> format_probability(0.9999), format_probability(0.64), format_probability(float("nan"))
    ('>99%', '64%', '')
    """
    if math.isnan(value):
        return ""
    return ">99%" if value > 0.99 else "<1%" if value < 0.01 else f"{value:.0%}"


class Argument(NamedTuple):
    """An argument that a message names.

    The library writes it as in Python; the command line writes it as an option.

    Examples
    --------
    >>> print(Argument("ignore", ["age", "zip"]), Argument("n_rows", 100), Argument("target"))
    ignore=['age', 'zip'] n_rows=100 target
    """

    name: str
    value: Any = None

    def __str__(self) -> str:
        if self.value is None:
            return self.name
        if isinstance(self.value, list):
            return f"{self.name}=[{', '.join(map(quote, self.value))}]"
        value = self.value if isinstance(self.value, int | float) else quote(self.value)
        return f"{self.name}={value}"


class TableError(ValueError):
    """A table cannot be used as it is. The message is one line: what is wrong, and the way out.

    Parameters
    ----------
    *parts : str or Argument
        The message, with the arguments of the library that it names.
    """

    def __init__(self, *parts: str | Argument) -> None:
        super().__init__("".join(map(str, parts)))
        self.parts = parts


def quote(value: Any, width: int = 40) -> str:
    r"""Return a value in quotes, short and on one line. Characters without a shape are escaped.

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
    r"""Return a value as `quote` does, without the quotes.

    Examples
    --------
    >>> print(quote_bare("blue"), quote_bare("two\nlines"), quote_bare("it's"))
    blue two\nlines it's
    """
    return quote(value, width)[1:-1]


def listed(values: Sequence[Any]) -> str:
    """Return the first values, each as `quote` does, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b"]), listed(range(10))
    ("'a', 'b'", "'0', '1', '2', '3', '4', '5', '6', '7' and 2 more")
    """
    more = len(values) - _MAX_LISTED
    named = ", ".join(map(quote, values[:_MAX_LISTED]))
    return f"{named} and {more} more" if more > 0 else named


# -- The table, the names of its columns, and a sample of its rows ---------------------------------


@dataclass(frozen=True, eq=False)
class Table:
    """A table that was read from a file.

    Attributes
    ----------
    frame : DataFrame
        The columns in the order of the file: numbers, dates or text. The index counts from 0.
    rows : ndarray of shape (n,)
        The number of each row among the data rows of the file, from 0.
    lines : ndarray of shape (n,) or None
        The line of the file where each row begins, from 1. None if the file has no lines.
    n_rows : int
        The number of data rows of the file. The frame may hold a sample of them.
    notes : tuple of str
        What readers of the results should know about how the file was read.
    name : str
        The name of the file.
    """

    frame: DataFrame = field(repr=False)
    rows: IntArray = field(repr=False)
    lines: IntArray | None = field(repr=False)
    n_rows: int
    notes: tuple[str, ...]
    name: str


def column_names(written: Sequence[str], file: str) -> tuple[list[str], list[str]]:
    """Return the names of columns without white space around them, and notes on them.

    A column without a name gets its position as a name. pandas writes its index that way.
    """
    names = [str(name).strip() for name in written]
    unnamed = [f"column {i}" for i, name in enumerate(names, start=1) if not name]
    names = [name or f"column {i}" for i, name in enumerate(names, start=1)]
    looks_like_data = sum(map(_is_number, names)) > len(names) / 2
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        hint = "if the first line is a row, put a line of names above it" if looks_like_data else ""
        raise TableError(
            f"{quote(file)} has more than one column called {listed(twice)}; "
            f"{hint or 'give each column its own name'}"
        )
    notes = []
    if unnamed:
        notes.append(f"Columns without a name got their position as a name: {listed(unnamed)}.")
    if looks_like_data:
        notes.append(
            f"The first line was read as names, but most are numbers ({listed(names[:3])}). If it "
            "is a row, put a line of names above it."
        )
    return names, notes


def known_columns(asked: Iterable[str], names: Sequence[str], file: str) -> list[str]:
    """Return the columns asked for, or raise an error with those that do not exist."""
    found = [str(name).strip() for name in asked]
    there = set(names)
    absent = [name for name in found if name not in there]
    if absent:
        close = close_names(absent[0], names)
        hint = f"did you mean {listed(close)}?" if close else f"there are {listed(names)}"
        raise TableError(f"{quote(file)} has no column {listed(absent)}; {hint}")
    return found


def chosen_rows(n_rows: int, asked: int | None, random_state: Any) -> tuple[IntArray, list[str]]:
    """Return the numbers of the rows to use, all or a random sample in order, and a note."""
    from sklearn.utils.random import sample_without_replacement

    if asked is not None and asked < 1:
        raise TableError(
            Argument("n_rows", asked), " leaves nothing to learn from; needed 1 or more"
        )
    if asked is None or asked >= n_rows:
        return np.arange(n_rows, dtype=np.int64), []
    drawn = sample_without_replacement(n_rows, asked, random_state=random_state)
    return np.sort(drawn).astype(np.int64), [
        f"These are a random sample of {asked:,} of the {n_rows:,} rows."
    ]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# -- Numbers in columns of text, written in ways that pandas does not read -------------------------


class Reading(NamedTuple):
    """A column of numbers, and how they were written."""

    values: Series[Any]
    marks: tuple[str, ...]
    example: tuple[str, float] | None
    """A text with a comma and its number, or None if no number has a comma."""


def read_numbers(column: Series[Any], separator: str) -> Reading | None:
    """Return the numbers in a column of text, or None if it holds anything else.

    The comma of 1,234 may separate decimals or thousands. It separates decimals if semicolons
    separate the fields of the file.
    """
    texts = column.dropna().str.strip()
    is_mark = texts.isin(_MISSING_MARKS)
    written = texts[~is_mark]
    numbers = _numbers(written, separator) if _may_be_numbers(written) else None
    if numbers is None:
        return None
    marks = tuple(sorted(texts[is_mark].unique()))
    commas = written.index[written.str.contains(",", regex=False)][:1]
    example = next(((written[at], float(numbers[at])) for at in commas), None)
    return Reading(numbers.reindex(column.index).astype("float64"), marks, example)


def notes_on(readings: dict[str, Reading]) -> list[str]:
    """Return notes on columns of text that hold numbers."""
    notes = []
    marked = [name for name, reading in readings.items() if reading.marks]
    if marked:
        marks = sorted({mark for name in marked for mark in readings[name].marks})
        what = ", ".join(quote(mark) if mark else "white space" for mark in marks)
        notes.append(
            f"{what} {'was' if len(marks) == 1 else 'were'} read as missing in {listed(marked)}, "
            "where all other values are numbers."
        )
    with_commas = [name for name, reading in readings.items() if reading.example]
    if with_commas:
        text, number = readings[with_commas[0]].example or ("", 0.0)
        notes.append(
            f"{listed(with_commas)}: commas in numbers were read as in {quote_bare(text)} = "
            f"{number!r}."
        )
    return notes


def _may_be_numbers(texts: Series[Any]) -> bool:
    """Tell whether each of the first texts is a number in some style."""
    styles = _PLAIN, _COMMA, _THOUSANDS
    return len(texts) > 0 and all(
        any(style.fullmatch(text) for style in styles) for text in texts.iloc[:_TEXTS_TRIED]
    )


def _numbers(texts: Series[Any], separator: str) -> Series[Any] | None:
    """Return the number of each text, in the one style that fits all of them."""
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
