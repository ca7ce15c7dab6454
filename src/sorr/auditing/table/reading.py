"""Tables from CSV, TSV and Parquet files."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sorr._typing import IntArray, Report
from sorr.auditing.table.files import Source, Tick, bytes_per_row, check_memory, examine
from sorr.auditing.table.text import read_delimited
from sorr.auditing.table.values import (
    Argument,
    Table,
    TableError,
    chosen_rows,
    column_names,
    known_columns,
    listed,
    quote,
)

if TYPE_CHECKING:
    from pandas import DataFrame

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": None}
_PARQUET_SUFFIXES = (".parquet", ".pq")
SUFFIXES = (*_SEPARATORS, *(f"{it}.gz" for it in _SEPARATORS), *_PARQUET_SUFFIXES)
"""Endings of file names that can be read."""

_STANDARD_INPUT = "-"
_PASSES = ("checking", "reading", "reading again")


def read_table(
    path: str | os.PathLike[str],
    *,
    text_columns: Iterable[str] = (),
    n_rows: int | None = None,
    random_state: Any = None,
    progress: Report | None = None,
) -> Table:
    """Return the table in a CSV, TSV or Parquet file, with the place of each row.

    Parameters
    ----------
    path : path-like
        A file whose name ends in one of `SUFFIXES`, or ``"-"`` for standard input. Text may be
        compressed with gzip under any name. It is in UTF-8, or in UTF-16 or UTF-32 with a mark.
    text_columns : iterable of str
        Columns whose values stay as they are written, such as 01 for a code.
    n_rows : int, optional
        Use a random sample of this many rows. The others are read and counted, but not kept.
    random_state : int, RandomState instance or None
        Seed for the sample.
    progress : callable, optional
        Called now and then with the bytes read so far, the bytes to read in all passes, and what
        is being done.

    Returns
    -------
    Table
        Columns hold numbers, text, or dates if the file has a type for them. Missing values are
        NaN or NaT. A column holds numbers if each value is a number or missing.

    Raises
    ------
    TableError
        If the file does not exist, or something is wrong with it. The message is one line.
    """
    if os.fspath(path) == _STANDARD_INPUT:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "input"
            with copy.open("wb") as target:
                shutil.copyfileobj(sys.stdin.buffer, target)
            source = examine(copy, "standard input")
            return _read(source, ".txt", text_columns, n_rows, random_state, progress)
    file = Path(path)
    with suppress(RuntimeError):  # there is no such user
        file = file.expanduser()
    suffix = Path(file.name.lower().removesuffix(".gz")).suffix
    source = examine(file, file.name or str(file))
    return _read(source, suffix, text_columns, n_rows, random_state, progress)


def _read(
    source: Source,
    suffix: str,
    text_columns: Iterable[str],
    n_rows: int | None,
    random_state: Any,
    progress: Report | None,
) -> Table:
    if suffix not in (*_SEPARATORS, *_PARQUET_SUFFIXES):
        raise TableError(
            f"{quote(source.name)} ends in {quote(suffix)}, which is not a known kind of table; "
            f"needed one of {', '.join(SUFFIXES)}"
        )
    try:
        import pandas  # noqa: F401, ICN001
    except ImportError as error:
        raise TableError(
            'tables need pandas, which is not installed: pip install "sorr[audit]"'
        ) from error
    begin = _passes(source, progress)
    try:
        if source.is_parquet or suffix in _PARQUET_SUFFIXES:
            return read_parquet(source, text_columns, n_rows, random_state, begin(1))
        usual = _SEPARATORS[suffix]
        return read_delimited(source, usual, tuple(text_columns), n_rows, random_state, begin)
    except MemoryError as error:
        raise TableError(
            f"{quote(source.name)} does not fit into memory; audit a random sample with ",
            Argument("n_rows", 100_000),
        ) from error


def _passes(source: Source, progress: Report | None) -> Callable[[int], Tick]:
    """Return a function that starts a pass over a file and reports the bytes read in it."""

    def begin(turn: int) -> Tick:
        def tick(done: int) -> None:
            if progress is not None:
                total = max(turn + 1, 2) * source.size
                progress(turn * source.size + done, total, f"{_PASSES[turn]} {source.name}")

        return tick

    return begin


# -- Parquet ---------------------------------------------------------------------------------------


_BATCH = 1 << 16  # rows that are decoded at once


def read_parquet(
    source: Source,
    text_columns: Iterable[str],
    n_rows: int | None,
    random_state: Any,
    tick: Tick,
) -> Table:
    """Return the table in a Parquet file, with the types that the file declares."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise TableError(
            f"{quote(source.name)} needs pyarrow, which is not installed: "
            'pip install "sorr[parquet]"'
        ) from error
    try:
        with pq.ParquetFile(source.path) as file:
            names, notes = column_names(file.schema_arrow.names, source.name)
            as_text = set(known_columns(text_columns, names, source.name))
            if not names or not file.metadata.num_rows:
                raise TableError(f"{quote(source.name)} has no rows")
            n_there = file.metadata.num_rows
            rows, sampled = chosen_rows(n_there, n_rows, random_state)
            check_memory(source.name, len(rows), _row_bytes(file))
            table = _taken(file, rows, lambda share: tick(int(share * source.size)))
        odd = [
            name
            for name, kind in zip(names, table.schema.types, strict=True)
            if pa.types.is_nested(kind) or _is_binary(kind)
        ]
        columns = {
            name: _column(column, name in as_text or name in odd)
            for name, column in zip(names, table.columns, strict=True)
        }
    except (pa.ArrowException, OSError) as error:
        raise TableError(
            f"{quote(source.name)} is not a Parquet file, or is damaged ({quote(error, 80)}); "
            "write or download it again"
        ) from error
    if odd:
        notes.append(f"Lists, structures or bytes were read as text: {listed(odd)}.")
    return Table(_frame(columns), rows, None, n_there, (*sampled, *notes), source.name)


def _frame(columns: dict[str, Any]) -> DataFrame:
    import pandas as pd

    return pd.DataFrame(columns, copy=False)


def _row_bytes(file: Any) -> float:
    """Return the memory of an audit per row, from the types of columns and the bytes stored."""
    import pyarrow as pa

    types = file.schema_arrow.types
    is_number = [pa.types.is_primitive(it) for it in types]
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    stored = sum(group.total_byte_size for group in groups) / file.metadata.num_rows
    n_texts = is_number.count(False)
    return bytes_per_row(is_number.count(True), [stored / max(n_texts, 1)] * n_texts)


def _taken(file: Any, rows: IntArray, report: Any) -> Any:
    """Return some rows of a file, decoded batch by batch."""
    import pyarrow as pa

    parts, done, n_rows = [], 0, file.metadata.num_rows
    for batch in file.iter_batches(_BATCH):
        start, end = np.searchsorted(rows, [done, done + len(batch)])
        if end - start == len(batch):
            parts.append(batch)
        elif end > start:
            parts.append(batch.take(pa.array(rows[start:end] - done)))
        done += len(batch)
        report(done / n_rows)
    return pa.Table.from_batches(parts, file.schema_arrow)


def _is_binary(kind: Any) -> bool:
    from pyarrow import types

    return bool(
        types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    )


def _column(column: Any, as_text: bool) -> Any:
    """Return a column for pandas: numbers, dates or text, never a mixture."""
    import pandas as pd
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("ms"))
    if pa.types.is_null(column.type):
        column = column.cast(pa.float64())
    is_boolean = pa.types.is_boolean(column.type)
    if as_text and pa.types.is_primitive(column.type) and not is_boolean:
        return column.cast(pa.string()).to_pandas()  # whole numbers stay whole beside missing ones
    values = column.to_pandas()
    if as_text or is_boolean or pa.types.is_time(column.type):
        return values.map(str, na_action="ignore").astype(pd.Series(["text"]).dtype)
    return values
