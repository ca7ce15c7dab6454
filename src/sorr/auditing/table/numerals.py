"""Columns of text that hold numbers, written in a way that pandas does not take for such.

A question mark, a dash, a dot or the word None stand for a missing value where all else in a
column is a number, and are values like others where it is not. Decimal commas and separators of
thousands are read where every number of a column agrees with them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from sorr.auditing.table.problems import listed, plain, shown

if TYPE_CHECKING:
    from pandas import Series

__all__ = ["Reading", "notes_on", "read_numbers"]

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
        what = ", ".join(shown(mark) if mark else "white space" for mark in marks)
        notes.append(
            f"{what} {'was' if len(marks) == 1 else 'were'} read as missing in {listed(marked)}, "
            "where all else is a number."
        )
    with_commas = [name for name, reading in readings.items() if reading.example]
    if with_commas:
        text, number = readings[with_commas[0]].example or ("", 0.0)
        notes.append(
            f"{listed(with_commas)}: commas in numbers were read as in {plain(text)} for "
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
