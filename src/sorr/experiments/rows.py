"""The rows of a run: one line of a CSV file for each finished cell, written at once."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from numbers import Integral, Real
from pathlib import Path
from typing import Any, BinaryIO

Row = dict[str, Any]

KEY = ("protocol", "dataset", "model", "setting", "split")
_KEPT = ("seed", "chosen", "objective", "gap", "status", "seconds", "versions")
_NUMBERS = ("objective", "gap", "seconds")


class RefusedError(RuntimeError):
    """A folder that this run must not write to. The message says why, and what to do."""


class RowFile:
    """Rows on disk. Rows are added, never changed.

    A row is one line, written at once to the end of the file, so that several processes may add
    rows. A process that is killed leaves complete rows behind, and at worst the beginning of one.
    Such a beginning is not read. The next row replaces it, and its cell is measured again.

    Parameters
    ----------
    path : Path
        A CSV file. The first row creates it.
    measures : sequence of str
        The names of the measures, which are columns of numbers.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = RowFile(Path(folder.name) / "rows.csv", ["error"])
    >>> cell = {"protocol": "ours", "dataset": "monk", "model": "average", "split": 0}
    >>> file.add({**cell, "error": 0.25, "chosen": {"C": 10.0}})
    >>> file.read()[0]["error"], file.read()[0]["chosen"]
    (0.25, {'C': 10.0})
    >>> folder.cleanup()
    """

    def __init__(self, path: Path, measures: Sequence[str]) -> None:
        self.path, self.measures = path, tuple(measures)
        self.columns = (*KEY, *self.measures, *_KEPT)

    def add(self, row: Mapping[str, Any]) -> None:
        """Append a row. Rows of other processes cannot come between its bytes."""
        line = _line([_as_text(row.get(column)) for column in self.columns])
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b", buffering=0) as file, _locked(file.fileno()):
            if _cut_torn_line(file) == 0:
                line = _line(self.columns) + line
            unwritten = line.encode()
            while unwritten:  # once, unless the disk is nearly full
                unwritten = unwritten[file.write(unwritten) :]
            os.fsync(file.fileno())

    def read(self) -> list[Row]:
        """Return all rows. If a cell has several, the first counts.

        Raises
        ------
        RefusedError
            If the file has other columns.
        """
        content = self.path.read_bytes() if self.path.exists() else b""
        header, *lines = content[: content.rfind(b"\n") + 1].decode().split("\n")
        columns = _fields(header)
        if lines and columns != list(self.columns):
            raise RefusedError(
                f"{self.path} has the columns {', '.join(columns)}; needed "
                f"{', '.join(self.columns)}. Another version of this experiment wrote it; pass "
                "another folder"
            )
        rows: dict[tuple[Any, ...], Row] = {}
        for fields in map(_fields, lines):
            if len(fields) == len(self.columns):
                row = self._row(dict(zip(self.columns, fields, strict=True)))
                rows.setdefault(tuple(row[name] for name in KEY), row)
        return list(rows.values())

    def _row(self, fields: Mapping[str, str]) -> Row:
        row: Row = dict(fields)
        for name in (*self.measures, *_NUMBERS):
            row[name] = float(fields[name] or "nan")
        for name in ("chosen", "versions"):
            row[name] = json.loads(fields[name] or "{}")
        return row | {"split": int(fields["split"]), "seed": int(fields["seed"] or 0)}


def group_rows(rows: Iterable[Row], *columns: str) -> dict[tuple[Any, ...], list[Row]]:
    """Return the rows by their values in some columns.

    Examples
    --------
    >>> group_rows([{"a": 1, "b": 2}, {"a": 1, "b": 3}], "a")
    {(1,): [{'a': 1, 'b': 2}, {'a': 1, 'b': 3}]}
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[column] for column in columns), []).append(row)
    return groups


def select_rows(rows: Iterable[Row], **wanted: Any) -> list[Row]:
    """Return the rows that have these values."""
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Real) and not isinstance(value, Integral):
        return repr(float(value))  # NumPy's own floats would say so
    if isinstance(value, Mapping):
        return json.dumps(value, sort_keys=True, default=lambda array: array.tolist())
    text = str(value)
    if "\n" in text or "\r" in text:
        raise ValueError(f"a row is one line; given {text!r}, needed a text without line breaks")
    return text


def _line(fields: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(fields)
    return text.getvalue()


def _fields(line: str) -> list[str]:
    """Return the fields of a line, or none if the line is incomplete."""
    try:
        return next(csv.reader([line], strict=True), [])
    except csv.Error:
        return []


def _cut_torn_line(file: BinaryIO) -> int:
    """Cut off the beginning of a row that a killed process left; return the size of the file."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 1, 0))
    if file.read(1) in (b"\n", b""):
        return size
    file.seek(0)
    return file.truncate(file.read().rfind(b"\n") + 1)


@contextmanager
def _locked(handle: int, *, wait: bool = True) -> Iterator[None]:
    """Lock a file against other processes, where the system can."""
    try:
        import fcntl
    except ImportError:  # Windows: only the single write protects the row
        yield
        return
    fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    try:
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Lock a folder for one run.

    The file ".lock" is not removed. Otherwise one run could lock the removed file while another
    locks a new one.

    Raises
    ------
    RefusedError
        If another run writes to the folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        lock = stack.enter_context((folder / ".lock").open("ab"))
        try:
            stack.enter_context(_locked(lock.fileno(), wait=False))
        except BlockingIOError:
            raise RefusedError(
                f"another run writes to {folder}; wait until it ends, or pass another folder"
            ) from None
        yield
