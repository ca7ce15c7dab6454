"""The scanner of delimited text: where each record is, its line, and its number of fields.

pandas reads values, but does not say in which line a row begins, nor which rows are ragged and
where. This scanner does, at a small part of the time of pandas. It follows the rules that pandas
and Python's csv module share: quotes open a field only at its start, two quotes inside quotes are
one, quotes elsewhere are letters, and a line ends with LF, CR LF or CR.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sorr._typing import BoolArray, IntArray
from sorr.auditing.table.values import TableError, quote

LONGEST = 1 << 24  # bytes of a record; longer ones mean no table, or quotes that do not close
_LF, _CR, _QUOTE, _SPACE, _ZERO = b'\n\r" 0'
_BREAK = re.compile(rb"\r\n|\r|\n")
_CODE = re.compile(r" *0[0-9]")
_STEPS = 1000  # spaces before a quote that the fast way looks across
_Bytes: TypeAlias = npt.NDArray[np.uint8]
_NONE = np.empty(0, dtype=np.int64)


class Dialect(NamedTuple):
    """What separates two fields: a character, and perhaps spaces after it."""

    separator: str
    skip_space: bool = False

    def rows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Return the fields of each record, as Python's csv module splits them."""
        return csv.reader(lines, delimiter=self.separator, skipinitialspace=self.skip_space)

    def fields(self, record: bytes) -> list[str]:
        """Return the fields of one record."""
        lines = io.StringIO(record.decode(errors="replace"), newline="")
        return next(self.rows(lines), [])

    @property
    def blanks(self) -> bytes:
        """The characters of a line without a record."""
        return b" \t\r\n".replace(self.separator.encode(), b"")


class Records(NamedTuple):
    """Complete records that follow each other in a text.

    Attributes
    ----------
    data : bytes
        A part of the text, in UTF-8.
    offset : int
        The place of `data` in the text, in bytes.
    starts, ends : ndarray of shape (n,)
        Where in `data` each record begins, and where it ends with its line break.
    lines : ndarray of shape (n,)
        The line of the text where each record begins, from 1.
    n_lines : ndarray of shape (n,)
        The number of lines that each record takes.
    n_fields : ndarray of shape (n,)
        The number of fields of each record. A blank line has none.
    codes : tuple of two ndarrays
        The records and the columns of fields that begin with a zero and another digit, as codes do.
    """

    data: bytes
    offset: int
    starts: IntArray
    ends: IntArray
    lines: IntArray
    n_lines: IntArray
    n_fields: IntArray
    codes: tuple[IntArray, IntArray]

    def texts(self, which: BoolArray | IntArray) -> list[bytes]:
        """Return the bytes of some records."""
        places = zip(self.starts[which].tolist(), self.ends[which].tolist(), strict=True)
        return [self.data[start:end] for start, end in places]


class _Found(NamedTuple):
    """Records in a part of a text, without their lines."""

    ends: IntArray
    n_lines: IntArray
    n_fields: IntArray
    codes: tuple[IntArray, IntArray]
    is_open: bool
    """Whether the text ends inside quotes."""


def scan(blocks: Iterable[bytes], dialect: Dialect, name: str) -> Iterator[Records]:
    """Yield the records of a text that comes in blocks of UTF-8, in any cut."""
    rest, offset, line = b"", 0, 1
    waiting: list[bytes] = []
    for block, is_last in _with_last(blocks):
        waiting.append(block)
        if sum(map(len, waiting)) < len(rest) <= LONGEST and not is_last:
            continue  # a long record is looked at again only when it has doubled
        data = b"".join([rest, *waiting]) if rest else block
        waiting.clear()
        if (at := data.find(b"\0")) >= 0:
            before = data[:at]
            raise TableError(
                f"{quote(name)} has a NUL character in line {line + count_breaks(before)}: it is "
                "damaged, or not a table; export it again"
            )
        found = _fast(data, dialect, is_last) or _slow(data, dialect, is_last)
        n = len(found.ends)
        used = int(found.ends[-1]) if n else 0
        if n:
            starts = np.concatenate([[0], found.ends[:-1]])
            before_each = np.cumsum(found.n_lines) - found.n_lines
            n_fields = _without_blank(data, starts, found.ends, found.n_fields, dialect)
            lines = line + before_each
            line += int(found.n_lines.sum())
            yield Records(
                *(data, offset, starts, found.ends, lines, found.n_lines, n_fields, found.codes)
            )
        rest = data[used:]
        offset += used
        if rest and is_last and found.is_open:
            raise TableError(
                f"{quote(name)} ends inside quotes that open in the record of line {line}; close "
                "them, or double quotes that belong to a value"
            )
        if len(rest) > LONGEST:
            why = "do its quotes close?" if found.is_open else "needed a table with a row per line"
            raise TableError(
                f"the record in line {line} of {quote(name)} is longer than {LONGEST:,} bytes; "
                f"{why}"
            )


def count_breaks(data: bytes) -> int:
    """Return the number of line breaks in a text."""
    return sum(1 for _ in _BREAK.finditer(data))


@contextmanager
def long_fields() -> Iterator[None]:
    """Let the csv module read fields longer than its default of 131,072 characters."""
    before = csv.field_size_limit(2 * LONGEST)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _with_last(blocks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield each block, and whether it is the last one."""
    before = None
    for block in blocks:
        if before is not None:
            yield before, False
        before = block
    yield before or b"", True


def _without_blank(
    data: bytes, starts: IntArray, ends: IntArray, n_fields: IntArray, dialect: Dialect
) -> IntArray:
    """Return the numbers of fields with 0 for each record of white space."""
    single = np.flatnonzero(n_fields <= 1)
    if not len(single):
        return n_fields
    blanks = dialect.blanks
    first = np.frombuffer(data, np.uint8)[starts[single]]
    for i in single[np.isin(first, list(blanks))].tolist():
        if not data[starts[i] : ends[i]].strip(blanks):
            n_fields[i] = 0
    return n_fields


# -- The fast way: whole blocks at a time, where every quote opens or closes a field ---------------


def _fast(data: bytes, dialect: Dialect, is_last: bool) -> _Found | None:
    """Return the records of a text that begins with a record; None if its quotes are irregular.

    The quotes before a character tell whether it is inside quotes: if their number is odd. That
    is so if each quote which opens by this count stands at the start of a field, or after another.
    """
    array = np.frombuffer(data, np.uint8)
    is_mark = array == ord(dialect.separator)
    is_mark |= array == _LF
    has_quotes, has_returns = b'"' in data, b"\r" in data
    if has_quotes:
        is_mark |= array == _QUOTE
    if has_returns:
        is_mark |= array == _CR
    marks = np.flatnonzero(is_mark)
    kinds = array[marks]
    is_break = kinds == _LF
    if has_returns:
        following = array[np.minimum(marks + 1, len(array) - 1)]
        is_end = marks + 1 == len(array)
        alone = np.where(is_end, is_last, following != _LF)
        is_break |= (kinds == _CR) & alone
    is_open = False
    n_breaks = None
    is_outer = is_break | (kinds == ord(dialect.separator))
    if has_quotes:
        is_quote = kinds == _QUOTE
        is_inside = (np.cumsum(is_quote, dtype=np.uint8) & 1).view(np.bool_)  # may wrap around
        is_open = bool(is_inside[-1])
        if not _is_regular(array, marks[is_quote & is_inside], dialect):
            return None
        is_outer &= ~is_inside
        if (is_break & is_inside).any():
            n_breaks = np.cumsum(is_break)[is_outer]
    if has_quotes or has_returns:
        marks, is_break = marks[is_outer], is_break[is_outer]
    last = np.flatnonzero(is_break)  # of the fields, those that end a record
    ends = marks[last] + 1
    n_fields = np.diff(last, prepend=-1)
    n_lines = np.ones(len(last), dtype=np.int64)
    if n_breaks is not None:
        n_lines = np.diff(n_breaks[last], prepend=0)
    used = int(ends[-1]) if len(ends) else 0
    if is_last and used < len(data) and not is_open:
        n_after = len(marks) - (int(last[-1]) + 1 if len(last) else 0)
        ends = np.append(ends, len(data))
        n_fields = np.append(n_fields, n_after + 1)
        n_lines = np.append(n_lines, 1 + count_breaks(data[used:]))
    codes = _codes(array, is_mark, marks, ends, n_fields)
    return _Found(ends, n_lines, n_fields, codes, is_open)


def _is_regular(array: _Bytes, opening: IntArray, dialect: Dialect) -> bool:
    """Tell whether each quote that opens is at the start of a field, or doubles the one before."""
    before = opening - 1
    for _ in range(_STEPS if dialect.skip_space else 1):
        found = array[np.maximum(before, 0)]
        is_right = (before < 0) | (found == ord(dialect.separator))
        is_right |= (found == _LF) | (found == _CR)
        is_right |= (found == _QUOTE) & (before == opening - 1)
        is_space = (found == _SPACE) & dialect.skip_space
        if not (is_right | is_space).all():
            return False
        if not is_space.any():
            return True
        before = before - is_space
    return False


def _codes(
    array: _Bytes, is_mark: BoolArray, marks: IntArray, ends: IntArray, n_fields: IntArray
) -> tuple[IntArray, IntArray]:
    """Return the records and columns of fields that begin as 007 does, also in quotes.

    Spaces may stand before the zero. A zero inside a longer text counts too: that text is no number
    anyway.
    """
    is_start = is_mark[:-2] | (array[:-2] == _SPACE)
    is_code = (array[1:-1] == _ZERO) & (array[2:] - np.uint8(_ZERO) < 10) & is_start
    places = np.flatnonzero(is_code) + 1
    if array[:1].tobytes() == b"0" and array[1:2].tobytes().isdigit():
        places = np.concatenate([[0], places])
    if not len(places):
        return _NONE, _NONE
    records = np.searchsorted(ends, places, side="right")
    is_whole = records < len(ends)
    places, records = places[is_whole], records[is_whole]
    first = np.cumsum(n_fields) - n_fields
    return records, np.searchsorted(marks, places) - first[records]


# -- The slow way: Python's csv module, for quotes that the fast way does not understand -----------


def _slow(data: bytes, dialect: Dialect, is_last: bool) -> _Found:
    """Return the records of a text that begins with a record, as the csv module splits them.

    The text is decoded byte by byte, so that places in it are places in `data`.
    """
    lines = io.StringIO(data.decode("latin-1"), newline="")
    place, taken = 0, 0
    is_done = False

    def each() -> Iterator[str]:
        nonlocal place, taken, is_done
        for line in lines:
            place += len(line)
            taken += 1
            yield line
        is_done = True

    ends: list[int] = []
    n_lines: list[int] = []
    n_fields: list[int] = []
    records: list[int] = []
    columns: list[int] = []
    with long_fields():
        for i, fields in zip(count(), dialect.rows(each()), strict=False):
            has_break = data[place - 1] == _LF or (
                data[place - 1] == _CR and (is_last or place < len(data))
            )
            if is_done or not (has_break or is_last):
                break
            ends.append(place)
            n_lines.append(taken)
            n_fields.append(len(fields))
            taken = 0
            for column, field in enumerate(fields):
                if _CODE.match(field):
                    records.append(i)
                    columns.append(column)
    is_open = is_done and taken > 0
    found = (np.array(it, dtype=np.int64) for it in (ends, n_lines, n_fields, records, columns))
    ends_, n_lines_, n_fields_, records_, columns_ = found
    return _Found(ends_, n_lines_, n_fields_, (records_, columns_), is_open)
