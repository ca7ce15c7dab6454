"""Tables as text: surveyed first, then read by pandas, record by record the same."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from sorr._typing import IntArray
from sorr.auditing.table.frame import Table, chosen_rows, column_names, known_columns
from sorr.auditing.table.memory import bytes_per_row, check_memory
from sorr.auditing.table.numerals import Reading, notes_on, read_numbers
from sorr.auditing.table.opening import Source, Tick, read_lines
from sorr.auditing.table.problems import TableError, listed, shown
from sorr.auditing.table.survey import SEPARATORS, Survey, long_fields, records_of, survey

if TYPE_CHECKING:
    from pandas import DataFrame, Series

__all__ = ["MISSING", "read_delimited"]

MISSING = (
    *("", "NA", "N/A", "n/a", "#N/A", "#NA", "#N/A N/A", "<NA>", "NULL", "null"),
    *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
"""What is missing in any column: as in pandas, but for None, which names a category in many."""

_BATCH = 4096  # records that are handed over at once
_FIGURES = frozenset("0123456789+-.,eE ?")  # what numbers are written with
_BOOLEANS = frozenset({"true", "false"})
Pass = Callable[[int], Tick]


def read_delimited(
    source: Source,
    usual: str | None,
    text_columns: Iterable[str],
    n_rows: int | None,
    random_state: Any,
    begin: Pass,
) -> Table:
    """Return the table in a text file; `usual` is the separator that its name stands for."""

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
            f"{shown(source.name)}: {len(frame):,} rows were read where {len(rows):,} had been "
            "counted; if it does not change while it is read, report this as a bug in sorr"
        )
    more = _find_numbers(frame, as_text, found.dialect.separator)
    frame, left_out = _without_empty(frame, found.names)
    notes = [*sampled, *_manner(source, found, usual), *notes, *left_out, *more]
    return Table(frame, rows, found.lines(rows), found.n_rows, tuple(notes), source.name)


def _manner(source: Source, found: Survey, usual: str | None) -> list[str]:
    """Return notes on the way the text was taken apart."""
    notes = []
    if source.encoding.startswith("UTF"):
        notes.append(f"The file was decoded as {source.encoding}.")
    separator = found.dialect.separator
    if separator != usual and len(found.names) > 1:
        notes.append(f"The file was read with a {SEPARATORS[separator]} as separator.")
    if found.dialect.skip_space:
        notes.append("Spaces after separators were left out.")
    if found.n_blank:
        one = found.n_blank == 1
        notes.append(f"{found.n_blank:,} blank line{' was' if one else 's were'} skipped.")
    return notes


def _kind(cells: tuple[str, ...]) -> tuple[str, float]:
    """Return what a column looks like, by its first cells, and the mean width of those."""
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
    """Yield the records of rows as they stand in the file, without blank lines between them."""
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
    """A file in the eyes of pandas, which asks for so many characters and takes what it gets."""

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

    pandas goes through a long file in parts, which saves half of the memory; a column that it took
    for numbers in one part only, for truth values, or for Python's long integers is read again as
    the text that it is.
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
    """Tell whether a column holds nothing but numbers, or nothing but text."""
    from pandas.api import types

    if column.dtype == object:
        return types.infer_dtype(column, skipna=True) in {"string", "empty"}
    return not types.is_bool_dtype(column)


def _find_numbers(frame: DataFrame, text_columns: list[str], separator: str) -> list[str]:
    """Put numbers into columns of text that hold nothing else, and return notes on them."""
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
    """Leave out columns of neither name nor values, as a separator at the end of lines makes."""
    named = zip(frame.columns, written, strict=True)
    empty = [name for name, text in named if not text.strip() and frame[name].isna().all()]
    if not empty or len(empty) == len(frame.columns):
        return frame, []
    note = f"Columns that have neither a name nor a value were left out: {listed(empty)}."
    return frame.drop(columns=empty), [note]
