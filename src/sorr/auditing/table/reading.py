"""Tables from files of every usual kind."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from sorr._typing import Report
from sorr.auditing.table.files import (
    INSTALL,
    OtherEncodingError,
    Source,
    Tick,
    content,
    examine,
    guess_encoding,
)
from sorr.auditing.table.formats import read_feather, read_json, read_parquet
from sorr.auditing.table.text import read_delimited
from sorr.auditing.table.values import Argument, Table, TableError, quote
from sorr.auditing.table.workbooks import read_workbook

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": None}
_PACKINGS = (".gz", ".bz2", ".xz", ".zst", ".zip")
_TEXTS = (*_SEPARATORS, ".jsonl", ".ndjson", ".json")
SUFFIXES = (
    *_TEXTS,
    *(f"{it}{packing}" for packing in _PACKINGS for it in _TEXTS),
    *(".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".parquet", ".pq", ".feather", ".arrow"),
)
"""Usual endings of file names. Files are recognized by their content, so others may be read too."""

_STANDARD_INPUT = "-"
_PASSES = ("checking", "reading", "reading again")


def read_table(
    path: str | os.PathLike[str],
    *,
    text_columns: Iterable[str] = (),
    n_rows: int | None = None,
    random_state: Any = None,
    sheet: str | int | None = None,
    progress: Report | None = None,
) -> Table:
    """Return the table in a file, with the place of each row.

    Parameters
    ----------
    path : path-like
        A file of delimited text or JSON lines, plain or packed, a workbook, or a Parquet or
        Feather file; ``"-"`` for standard input. The content counts, not the name.
    text_columns : iterable of str
        Columns whose values stay as they are written, such as 1 for a code.
    n_rows : int, optional
        Use a random sample of this many rows. The others are read and counted, but not kept.
    random_state : int, RandomState instance or None
        Seed for the sample.
    sheet : str or int, optional
        The sheet of a workbook, by its name or its number from 1. The first with rows by default.
    progress : callable, optional
        Called now and then with the bytes read so far, the bytes to read in all passes, and what
        is being done.

    Returns
    -------
    Table
        Columns hold numbers, text, or dates if the file has a type for them. Missing values are
        NaN or NaT. A column holds numbers if each value is a plain number or missing, and none is
        written as codes are, such as 007. All else is text, as it is written.

    Raises
    ------
    TableError
        If the file does not exist, or something is wrong with it. The message is one line.
    """
    as_text = tuple(text_columns)
    with ExitStack() as stack:

        def temporary() -> Path:
            folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
            return Path(stack.enter_context(folder)) / "copy"

        if os.fspath(path) == _STANDARD_INPUT:
            copy = temporary()
            with copy.open("wb") as target:
                shutil.copyfileobj(sys.stdin.buffer, target)
            source, suffix = examine(copy, "standard input"), ".txt"
        else:
            file = Path(path)
            with suppress(RuntimeError):  # there is no such user
                file = file.expanduser()
            source, suffix = examine(file, file.name or str(file)), _suffix(file.name)
        if source.packing and source.kind not in ("text", "json"):
            source = _unpacked(source, temporary())
        try:
            import pandas  # noqa: F401, ICN001
        except ImportError as error:
            raise TableError(f"tables need pandas, which is not installed: {INSTALL}") from error
        with _enough_memory(source):
            return _read(source, suffix, as_text, n_rows, random_state, sheet, progress)


def _read(
    source: Source,
    suffix: str,
    as_text: tuple[str, ...],
    n_rows: int | None,
    random_state: Any,
    sheet: str | int | None,
    progress: Report | None,
) -> Table:
    begin = _passes(source, progress)
    sample = as_text, n_rows, random_state
    if source.kind == "workbook":
        return read_workbook(source, sheet, *sample, begin(1))
    if sheet is not None:
        raise TableError(
            Argument("sheet", sheet), f" needs a workbook, and {quote(source.name)} is none"
        )
    if source.kind == "parquet":
        return read_parquet(source, *sample, begin(1))
    if source.kind == "feather":
        return read_feather(source, *sample, begin(1))
    usual = _SEPARATORS.get(suffix)
    for _ in range(2):
        try:
            if source.kind == "json":
                return read_json(source, *sample, begin)
            return read_delimited(source, usual, *sample, begin)
        except OtherEncodingError:
            source = guess_encoding(source)
    raise TableError(f"{quote(source.name)} is in an unknown encoding; save it as CSV (UTF-8)")


def _suffix(name: str) -> str:
    plain = name.lower()
    for packing in _PACKINGS:
        plain = plain.removesuffix(packing)
    return Path(plain).suffix


def _unpacked(source: Source, target: Path) -> Source:
    """Return a workbook or a Parquet file that was packed, unpacked."""
    with target.open("wb") as copy:
        for block in content(source, lambda _: None):
            copy.write(block)
    return examine(target, source.name)


@contextmanager
def _enough_memory(source: Source) -> Iterator[None]:
    try:
        yield
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
