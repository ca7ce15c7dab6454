"""Tables as text, in two passes: count and check the records, then read them with pandas."""

from __future__ import annotations

import csv
import io
import warnings
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sorr._typing import IntArray
from sorr.auditing.table.files import LONGEST, Source, Tick, bytes_per_row, check_memory, read_lines
from sorr.auditing.table.values import (
    Reading,
    Table,
    TableError,
    chosen_rows,
    column_names,
    known_columns,
    listed,
    notes_on,
    quote,
    read_numbers,
)

if TYPE_CHECKING:
    from pandas import DataFrame, Series

Record = tuple[str, int, int]
"""The text of a record, its number of fields and of lines. A blank line has no fields."""
Check = Callable[[list[str]], object]

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
_SNIFFED = 50  # lines that a separator must fit
_KEPT = 1000  # rows that show the types and widths of columns
_KEPT_FIELDS = 200_000  # of these rows together: fewer rows of a wide table
_MAX_RAGGED = 1000  # rows of a wrong length, after which the search stops
_BATCH = 4096  # records that are handed to pandas at once
_FIGURES = frozenset("0123456789+-.,eE ?")  # what numbers are written with
_BOOLEANS = frozenset({"true", "false"})
MISSING = (
    *("", "NA", "N/A", "n/a", "#N/A", "#NA", "#N/A N/A", "<NA>", "NULL", "null"),
    *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
"""What counts as missing in any column: as in pandas, but not None, which is often a category."""

Pass = Callable[[int], Tick]


class Dialect(NamedTuple):
    """What separates two fields: a character, and perhaps spaces after it."""

    separator: str
    skip_space: bool = False

    def rows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Return the fields of each record, as Python's csv module splits them."""
        return csv.reader(lines, delimiter=self.separator, skipinitialspace=self.skip_space)

    @property
    def blanks(self) -> str:
        """The characters of a line without a record."""
        return " \t\r\n".replace(self.separator, "")


@dataclass(frozen=True)
class Survey:
    """The result of the first pass.

    The line of a row is its number plus a shift. Only changes of the shift are stored.
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
        """Return the lines where rows begin, counted from 1."""
        places = np.searchsorted(self.changes, rows, side="right") - 1
        return np.asarray(rows + self.shifts[places])


def survey(source: Source, usual: str | None, tick: Tick, check: Check) -> Survey:
    """Read a file once and return its structure, or raise an error that says what is wrong.

    `usual` is the usual separator for its name. `check` is called with the names as soon as they
    are known, to refuse wrong ones early.
    """
    with long_fields():
        dialect = _sniff(source, usual)
        with closing(read_lines(source, tick)) as lines:
            return _survey(source, dialect, records_of(lines, dialect, source.name), check)


def records_of(lines: Iterator[str], dialect: Dialect, name: str) -> Iterator[Record]:
    """Yield the records of lines. Most are one line; those with quotes may take several.

    The fields of a line without quotes are counted without splitting it.
    """
    waiting: list[str] = []
    taken: list[str] = []
    done = 0

    def needed() -> Iterator[str]:
        while True:
            line = waiting.pop() if waiting else next(lines, None)
            if line is None:
                raise TableError(
                    f"{quote(name)} ends inside quotes that open in the record of line "
                    f"{done + 1}; close them, or double quotes that belong to a value"
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
                f"the record in line {done + 1} of {quote(name)} cannot be read: {error}; check "
                "its quotes"
            ) from error
        yield "".join(taken), n_fields, len(taken)
        done += len(taken)


@contextmanager
def long_fields() -> Iterator[None]:
    """Let the csv module read fields longer than its default of 131,072 characters."""
    before = csv.field_size_limit(LONGEST)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _sniff(source: Source, usual: str | None) -> Dialect:
    """Return the first separator that gives the first rows as many fields as there are names.

    The usual one is tried first, and is used if none fits.
    """
    with closing(read_lines(source, lambda _: None)) as lines:
        head = list(islice((line for line in lines if line.strip()), _SNIFFED))
    if not head:
        raise TableError(
            f"{quote(source.name)} is empty; needed a line of names, and rows below it"
        )
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
                if ragged.count >= _MAX_RAGGED:
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
        raise TableError(
            f"{quote(source.name)} is empty; needed a line of names, and rows below it"
        )
    if ragged.count:
        raise TableError(ragged.message(source.name, width, n_rows, dialect.separator))
    if not n_rows:
        raise TableError(f"{quote(source.name)} has a line of names, but no rows below it")
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
    """Rows whose number of fields differs from the number of names."""

    def __init__(self) -> None:
        self.count = 0
        self.line = 0
        self.n_fields = 0
        self.is_alike = True

    def add(self, line: int, n_fields: int, row: int) -> None:
        """Record one more. They are alike if all rows so far have the same number of fields."""
        if not self.count:
            self.line, self.n_fields = line, n_fields
        self.is_alike = self.is_alike and row == self.count and n_fields == self.n_fields
        self.count += 1

    def message(self, name: str, width: int, n_rows: int, separator: str) -> str:
        """Return what is wrong, and the way out."""
        there = f"{self.n_fields} field{'s' * (self.n_fields != 1)}"
        if self.is_alike and self.count > 1 and n_rows <= self.count:
            return (
                f"{quote(name)} has {width} names in its first line, but {there} in every row; "
                "needed one name per column"
            )
        others = min(self.count, _MAX_RAGGED) - 1
        number = f"{others:,}{' or more' * (self.count >= _MAX_RAGGED)}"
        besides = (
            f" ({number} other {'rows are' if others > 1 else 'row is'} wrong too)"
            if others
            else ""
        )
        if self.n_fields > width:
            way_out = f"put fields that contain a {SEPARATORS[separator]} in double quotes"
        else:
            way_out = "add the missing fields. A field may be empty, but needs its separator"
        return (
            f"line {self.line} of {quote(name)} has {there}, but the header has {width}{besides}; "
            f"{way_out}"
        )


# -- The second pass -------------------------------------------------------------------------------


def read_delimited(
    source: Source,
    usual: str | None,
    text_columns: Iterable[str],
    n_rows: int | None,
    random_state: Any,
    begin: Pass,
) -> Table:
    """Return the table in a text file. `usual` is the usual separator for its name."""

    def named(written: list[str]) -> tuple[list[str], list[str], list[str]]:
        names, notes = column_names(written, source.name)
        return names, notes, known_columns(text_columns, names, source.name)

    found = survey(source, usual, begin(0), named)
    names, notes, as_text = named(found.names)
    rows, sampled = chosen_rows(found.n_rows, n_rows, random_state)
    kinds = [_kind(cells) for cells in zip(*found.first_rows, strict=True)]
    check_memory(source.name, len(rows), _row_bytes(kinds))
    booleans = [name for name, (kind, _) in zip(names, kinds, strict=True) if kind == "boolean"]
    picked = rows if sampled else None
    with long_fields():
        texts = partial(_texts, source, found, picked, begin)
        frame = _parsed(texts, names, [*as_text, *booleans], found)
    if len(frame) != len(rows):
        raise TableError(
            f"{quote(source.name)}: {len(frame):,} rows were read, but {len(rows):,} were "
            "counted before; if the file did not change, please report this as a bug in sorr"
        )
    more = _find_numbers(frame, as_text, found.dialect.separator)
    frame, left_out = _without_empty(frame, found.names)
    notes = [*sampled, *_manner(source, found, usual), *notes, *left_out, *more]
    return Table(frame, rows, found.lines(rows), found.n_rows, tuple(notes), source.name)


def _manner(source: Source, found: Survey, usual: str | None) -> list[str]:
    """Return notes on how the text was read."""
    notes = []
    if source.encoding.startswith("UTF"):
        notes.append(f"The file was decoded as {source.encoding}.")
    separator = found.dialect.separator
    if separator != usual and len(found.names) > 1:
        notes.append(f"The separator is a {SEPARATORS[separator]}.")
    if found.dialect.skip_space:
        notes.append("Spaces after separators were ignored.")
    if found.n_blank:
        one = found.n_blank == 1
        notes.append(f"{found.n_blank:,} blank line{' was' if one else 's were'} skipped.")
    return notes


def _kind(cells: tuple[str, ...]) -> tuple[str, float]:
    """Return the type of a column, judged by its first cells, and their mean width."""
    there = {cell for cell in cells if cell.strip() not in MISSING}
    width = sum(map(len, cells)) / len(cells)
    if there and all(cell.lower() in _BOOLEANS for cell in there):
        return "boolean", width
    is_number = all(_FIGURES.issuperset(cell) for cell in there)
    return "number" if is_number else "text", width


def _row_bytes(kinds: list[tuple[str, float]]) -> float:
    n_numbers = sum(kind == "number" for kind, _ in kinds)
    return bytes_per_row(n_numbers, [width for kind, width in kinds if kind != "number"])


def _texts(
    source: Source, found: Survey, rows: IntArray | None, begin: Pass, turn: int
) -> Generator[str, None, None]:
    """Yield the records of rows as they are in the file, without blank lines."""
    tick = begin(turn)
    with closing(read_lines(source, tick)) as lines:
        records: Iterator[str] = lines
        if found.has_long_records:
            each = records_of(lines, found.dialect, source.name)
            records = (text for text, n_fields, _ in each if n_fields)
        elif found.n_blank:
            blanks = found.dialect.blanks
            records = (line for line in lines if line.strip(blanks))
        next(records, None)
        if rows is not None:
            records = _picked(records, rows)
        yield from records
    tick(source.size)


def _picked(records: Iterator[str], rows: IntArray) -> Iterator[str]:
    last = -1
    for row in rows.tolist():
        yield from islice(records, row - last - 1, row - last)
        last = row


class _Feed:
    """A file for pandas, which asks for a number of characters and accepts any number."""

    def __init__(self, texts: Iterator[str]) -> None:
        self._texts = texts

    def read(self, size: int = -1) -> str:
        """Return the next records."""
        del size
        return "".join(islice(self._texts, _BATCH))

    def __iter__(self) -> Iterator[str]:
        return self._texts


def _parsed(
    texts: Callable[[int], Generator[str, None, None]],
    names: list[str],
    as_text: list[str],
    found: Survey,
) -> DataFrame:
    """Return the records as pandas reads them, numbers as numbers.

    pandas reads a long file in parts, which halves the memory. A column that it read as numbers
    in some parts only, as booleans, or as Python's long integers is read again as text.
    """
    import pandas as pd

    def read(turn: int, wanted: list[str], dtype: Any) -> DataFrame:
        with closing(texts(turn)) as stream, warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)
            return pd.read_csv(
                _Feed(stream),
                sep=found.dialect.separator,
                skipinitialspace=found.dialect.skip_space,
                header=None,
                names=names,
                usecols=wanted,
                index_col=False,
                dtype=dtype,
                na_values=list(MISSING),
                keep_default_na=False,
                skip_blank_lines=False,
                engine="c",
            )

    frame = read(1, names, dict.fromkeys(as_text, str))
    mixed = [name for name in names if not _is_pure(frame[name])]
    if mixed:
        again = read(2, mixed, str)
        for name in mixed:
            frame[name] = again[name]
    return frame


def _is_pure(column: Series[Any]) -> bool:
    """Tell whether a column holds only numbers, or only text."""
    from pandas.api import types

    if column.dtype == object:
        return types.infer_dtype(column, skipna=True) in {"string", "empty"}
    return not types.is_bool_dtype(column)


def _find_numbers(frame: DataFrame, text_columns: list[str], separator: str) -> list[str]:
    """Turn columns of text that hold only numbers into numbers, and return notes on them."""
    from pandas.api import types

    found: dict[str, Reading] = {}
    stays = set(text_columns)
    for name in frame.columns:
        if name not in stays and not types.is_numeric_dtype(frame[name]):
            reading = read_numbers(frame[name], separator)
            if reading is not None and (reading.marks or reading.example):
                found[name] = reading
    for name, reading in found.items():
        frame[name] = reading.values
    return notes_on(found)


def _without_empty(frame: DataFrame, written: list[str]) -> tuple[DataFrame, list[str]]:
    """Remove columns without name and values, which a separator at the end of lines makes."""
    named = zip(frame.columns, written, strict=True)
    empty = [name for name, text in named if not text.strip() and frame[name].isna().all()]
    if not empty or len(empty) == len(frame.columns):
        return frame, []
    note = f"Columns without a name and without values were removed: {listed(empty)}."
    return frame.drop(columns=empty), [note]
