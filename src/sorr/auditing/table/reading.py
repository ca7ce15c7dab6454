"""Tables from files, by the ends of their names."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from sorr.auditing.table.delimited import read_delimited
from sorr.auditing.table.frame import Table
from sorr.auditing.table.opening import Source, Tick, examine
from sorr.auditing.table.parquet import read_parquet
from sorr.auditing.table.problems import TableError, shown

__all__ = ["SUFFIXES", "Progress", "read_table"]

Progress = Callable[[float, float, str], None]

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": None}
_PARQUET = (".parquet", ".pq")
SUFFIXES = (*_SEPARATORS, *(f"{it}.gz" for it in _SEPARATORS), *_PARQUET)
"""What the name of a table may end with."""

_STANDARD_INPUT = "-"
_PASSES = ("checking", "reading", "reading again")


def read_table(
    path: str | os.PathLike[str],
    *,
    text_columns: Iterable[str] = (),
    n_rows: int | None = None,
    random_state: Any = None,
    progress: Progress | None = None,
) -> Table:
    """Return the table in a CSV, TSV or Parquet file, with the place of each row in it.

    Parameters
    ----------
    path : path-like
        A file whose name ends in one of `SUFFIXES`, or ``"-"`` for the standard input. Text may be
        packed by gzip, whatever the name, and is UTF-8, or UTF-16 or UTF-32 with a mark.
    text_columns : iterable of str
        Columns whose values stay as they are written, such as 01.
    n_rows : int, optional
        Take a random sample of so many rows. The others are read and counted, not kept.
    random_state : int, RandomState instance or None
        Draws the sample.
    progress : callable, optional
        Called now and then with the bytes that were read, with how many there are to read, each
        pass counted, and with what is being done.

    Returns
    -------
    Table
        Its columns hold numbers, or dates if the file has a type for them, or text; what is missing
        is NaN or NaT. A column is of numbers if each of its values is one, or missing.

    Raises
    ------
    TableError
        If there is no such file, or anything is wrong with it. The message is one line.
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
    progress: Progress | None,
) -> Table:
    if suffix not in (*_SEPARATORS, *_PARQUET):
        raise TableError(
            f"{shown(source.name)} ends in {shown(suffix)}, which is no known kind of table; "
            f"needed one of {', '.join(SUFFIXES)}"
        )
    try:
        import pandas  # noqa: F401, ICN001
    except ImportError as error:
        raise TableError(
            'a table is read by pandas, which is not there: pip install "sorr[audit]"'
        ) from error
    begin = _passes(source, progress)
    try:
        if source.is_parquet or suffix in _PARQUET:
            return read_parquet(source, text_columns, n_rows, random_state, begin(1))
        usual = _SEPARATORS[suffix]
        return read_delimited(source, usual, tuple(text_columns), n_rows, random_state, begin)
    except MemoryError as error:
        raise TableError(
            f"{shown(source.name)} does not fit into memory; audit a random sample of it with "
            "--rows 100000"
        ) from error


def _passes(source: Source, progress: Progress | None) -> Callable[[int], Tick]:
    """Return what begins a pass over a file, and tells of the bytes read in it."""

    def begin(turn: int) -> Tick:
        def tick(done: int) -> None:
            if progress is not None:
                whole = max(turn + 1, 2) * source.size
                progress(turn * source.size + done, whole, f"{_PASSES[turn]} {source.name}")

        return tick

    return begin
