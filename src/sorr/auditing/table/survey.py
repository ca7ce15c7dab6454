"""The first pass over a table as text: its records, counted and checked, and the line of each."""

from __future__ import annotations

import csv
import io
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import numpy as np

from sorr._typing import IntArray
from sorr.auditing.table.opening import LONGEST, Source, Tick, read_lines
from sorr.auditing.table.problems import TableError, shown

__all__ = ["SEPARATORS", "Dialect", "Survey", "long_fields", "records_of", "survey"]

Record = tuple[str, int, int]
"""A record as it stands in a file, its fields and its lines; a blank line has no fields."""
Check = Callable[[list[str]], object]

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
_SNIFFED = 50  # lines that a separator must fit
_KEPT = 1000  # rows from which the kinds and widths of columns are guessed
_KEPT_FIELDS = 200_000  # and fewer of them in a wide table
_MOST_RAGGED = 1000  # rows of a wrong length after which the others are not looked for


class Dialect(NamedTuple):
    """What stands between two fields: a separator, and perhaps spaces after it."""

    separator: str
    skip_space: bool = False

    def rows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Return the fields of records, as the csv module of Python takes them."""
        return csv.reader(lines, delimiter=self.separator, skipinitialspace=self.skip_space)

    @property
    def blanks(self) -> str:
        """What a line without a record is made of."""
        return " \t\r\n".replace(self.separator, "")


@dataclass(frozen=True)
class Survey:
    """What the first pass found.

    The line of a row is its number and a shift, of which only the changes are stored.
    """

    dialect: Dialect
    names: list[str]
    n_rows: int
    n_blank: int
    has_long_records: bool
    first_rows: list[list[str]] = field(repr=False)
    changes: IntArray = field(repr=False)
    shifts: IntArray = field(repr=False)

    def lines(self, rows: IntArray) -> IntArray:
        """Return the lines, counted from 1, in which rows begin."""
        places = np.searchsorted(self.changes, rows, side="right") - 1
        return np.asarray(rows + self.shifts[places])


def survey(source: Source, usual: str | None, tick: Tick, check: Check) -> Survey:
    """Read a file once, and return what is in it or say what is wrong with it.

    Parameters
    ----------
    source : Source
    usual : str or None
        The separator that the name of the file stands for, if it does for one.
    tick : callable
    check : callable
        Called with the names as soon as they are known, so that it can refuse them early.
    """
    with long_fields():
        dialect = _sniff(source, usual)
        with closing(read_lines(source, tick)) as lines:
            return _survey(source, dialect, records_of(lines, dialect, source.name), check)


def records_of(lines: Iterator[str], dialect: Dialect, name: str) -> Iterator[Record]:
    """Yield the records of lines; most are a line, those with quotes may go on over several.

    A line without quotes is a record whose fields need not be taken apart to be counted.
    """
    waiting: list[str] = []
    taken: list[str] = []
    done = 0

    def needed() -> Iterator[str]:
        while True:
            line = waiting.pop() if waiting else next(lines, None)
            if line is None:
                raise TableError(
                    f"{shown(name)} ends inside quotes, which open in the record that begins in "
                    f"line {done + 1}; close them, or double the ones that belong to a value"
                )
            taken.append(line)
            yield line

    rows = dialect.rows(needed())
    separator, blanks = dialect.separator, dialect.blanks
    for line in lines:
        if '"' not in line:
            n_fields = line.count(separator) + 1
            if n_fields == 1 and not line.strip(blanks):
                n_fields = 0
            yield line, n_fields, 1
            done += 1
            continue
        waiting.append(line)
        taken.clear()
        try:
            n_fields = len(next(rows))
        except csv.Error as error:
            raise TableError(
                f"the record that begins in line {done + 1} of {shown(name)} cannot be read: "
                f"{error}; is a quote missing or too many?"
            ) from error
        yield "".join(taken), n_fields, len(taken)
        done += len(taken)


@contextmanager
def long_fields() -> Iterator[None]:
    """Let the csv module read fields of more than its default of 131,072 characters."""
    before = csv.field_size_limit(LONGEST)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _sniff(source: Source, usual: str | None) -> Dialect:
    """Return the first separator that cuts the first rows into as many fields as the names.

    The usual one is tried first, and stays if none does.
    """
    with closing(read_lines(source, lambda _: None)) as lines:
        head = list(islice((line for line in lines if line.strip()), _SNIFFED))
    if not head:
        raise TableError(f"{shown(source.name)} is empty; needed a line of names and rows below it")
    found = {it: [len(row) for row in Dialect(it).rows(head)] for it in SEPARATORS}
    whole = -1 if len(head) == _SNIFFED else _SNIFFED  # the last record may be cut
    widest = sorted(found, key=lambda it: (it != usual, -found[it][0]))
    fitting = [it for it in widest if found[it][0] > 1 and len(set(found[it][:whole])) == 1]
    named = [it for it in widest if found[it][0] > 1]
    separator = (fitting or named or widest)[0]
    names = next(Dialect(separator).rows(head))
    return Dialect(separator, len(names) > 1 and all(it[:1] == " " for it in names[1:]))


def _survey(source: Source, dialect: Dialect, records: Iterator[Record], check: Check) -> Survey:
    names: list[str] = []
    line, width, kept, n_rows, n_blank, shift, has_long = 1, 0, 0, 0, 0, -1, False
    changes, shifts = array("q"), array("q")
    first: list[str] = []
    ragged = _Ragged()
    for text, n_fields, n_lines in records:
        if n_fields == 0:
            n_blank += 1
        elif not names:
            names = _fields([text], dialect)[0]
            check(names)
            width, kept = n_fields, max(min(_KEPT, _KEPT_FIELDS // n_fields), 1)
        else:
            if n_fields != width:
                ragged.add(line, n_fields, n_rows)
                if ragged.count >= _MOST_RAGGED:
                    break
            if line - n_rows != shift:
                shift = line - n_rows
                changes.append(n_rows)
                shifts.append(shift)
            if n_rows < kept:
                first.append(text)
            n_rows += 1
        has_long = has_long or n_lines > 1
        line += n_lines
    if not names:
        raise TableError(f"{shown(source.name)} is empty; needed a line of names and rows below it")
    if ragged.count:
        raise TableError(ragged.message(source.name, width, n_rows, dialect.separator))
    if not n_rows:
        raise TableError(
            f"{shown(source.name)} has a line of names and no rows below it; needed rows to learn "
            "from"
        )
    return Survey(
        dialect,
        names,
        n_rows,
        n_blank,
        has_long,
        _fields(first, dialect),
        np.array(changes, dtype=np.int64),
        np.array(shifts, dtype=np.int64),
    )


def _fields(texts: list[str], dialect: Dialect) -> list[list[str]]:
    return list(dialect.rows(io.StringIO("".join(texts), newline="")))


class _Ragged:
    """Rows with another number of fields than there are names."""

    def __init__(self) -> None:
        self.count = 0
        self.line = 0
        self.n_fields = 0
        self.is_alike = True

    def add(self, line: int, n_fields: int, row: int) -> None:
        """Take note of one more; all rows are alike if it is so from the first one on."""
        if not self.count:
            self.line, self.n_fields = line, n_fields
        self.is_alike = self.is_alike and row == self.count and n_fields == self.n_fields
        self.count += 1

    def message(self, name: str, width: int, n_rows: int, separator: str) -> str:
        """Return what is wrong and what to do about it."""
        there = f"{self.n_fields} field{'s' * (self.n_fields != 1)}"
        if self.is_alike and self.count > 1 and n_rows <= self.count:
            return (
                f"{shown(name)} has {width} names in its first line and {there} in every row; "
                "needed a name for each column"
            )
        others = min(self.count, _MOST_RAGGED) - 1
        some = f"{others:,}{' or more' * (self.count >= _MOST_RAGGED)}"
        besides = (
            f" ({some} other {'rows are' if others > 1 else 'row is'} wrong too)" if others else ""
        )
        if self.n_fields > width:
            way_out = f"put fields that contain a {SEPARATORS[separator]} in double quotes"
        else:
            way_out = "fill in what is missing; a field may be empty, but not its separator"
        return (
            f"line {self.line} of {shown(name)} has {there}, and the header {width}{besides}; "
            f"{way_out}"
        )
