"""A file of text, opened: what it is, how it is packed and encoded, and its lines."""

from __future__ import annotations

import codecs
import difflib
import gzip
import io
import os
import re
import shlex
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from sorr.auditing.table.values import TableError, listed, quote

__all__ = [
    "LONGEST",
    "Source",
    "Tick",
    "available_memory",
    "bytes_per_row",
    "check_memory",
    "examine",
    "read_lines",
]

Tick = Callable[[int], None]
"""Told now and then how many bytes of the file have been read."""

LONGEST = 1 << 24  # characters of a line or of a field: more is not a table, or a quote is missing
_BLOCK = 1 << 20
_HEAD = 1 << 12
_TICK = 1 << 13  # lines
_BREAK = re.compile(rb"\r\n|\r|\n")
_GZIP = b"\x1f\x8b"
_PARQUET_MAGIC = b"PAR1"
_MARKS = {  # the longest first: that of UTF-32 begins with that of UTF-16
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
_TABLES = (".csv", ".gz", ".tsv", ".tab", ".txt", ".parquet", ".pq")
_SAVE = "save it as CSV (UTF-8)"
_OTHERS = {
    b"\xd0\xcf\x11\xe0": f"an Excel workbook (.xls): open it and {_SAVE}",
    b"BZh": "packed with bzip2: unpack it with bunzip2",
    b"\xfd7zXZ": "packed with xz: unpack it with unxz",
    b"\x28\xb5\x2f\xfd": "packed with zstd: unpack it with unzstd",
    b"7z\xbc\xaf": "a 7-Zip archive: unpack it",
    b"%PDF": f"a PDF document: take the table out of it and {_SAVE}",
    b"ARROW1": "a Feather file: write it as Parquet or CSV",
    b"\x89HDF": "an HDF5 file: write the table in it as Parquet or CSV",
    b"\x93NUMPY": "a NumPy array: write it as CSV, with a line of names",
    b"SQLite": "a data base of SQLite: write the table in it as CSV",
    b"<!doctype": "a web page, perhaps one that asks to sign in: fetch the file again",
    b"<html": "a web page, perhaps one that asks to sign in: fetch the file again",
}


@dataclass(frozen=True)
class Source:
    """A file that can be read, how it is packed, and how its text is encoded."""

    path: Path
    name: str
    size: int
    is_packed: bool
    is_parquet: bool
    encoding: str


def examine(path: Path, name: str) -> Source:
    """Return what a file is, or say why it cannot be read."""
    try:
        is_there = path.exists()
    except OSError as error:
        raise TableError(f"{quote(path, 200)} cannot be read: {_reason(error)}") from error
    if not is_there:
        raise TableError(_missing(path))
    if path.is_dir():
        raise TableError(f"{quote(name, 200)} is a folder; needed a file in it{_tables_in(path)}")
    if not path.is_file():
        raise TableError(
            f"{quote(name, 200)} is no regular file; it is read twice: write it to a file first, "
            "or pipe it in with - as the file"
        )
    size = path.stat().st_size
    packed = Source(path, name, size, _start(path, name) == _GZIP, False, "")
    with _readable(packed), _bytes(packed) as (_, stream):
        head = stream.read(_HEAD)
    if not head.strip():
        raise TableError(f"{quote(name)} is empty; needed a line of names and rows below it")
    is_parquet = head.startswith(_PARQUET_MAGIC)
    if not is_parquet:
        _check_is_text(head, packed)
    marks = (encoding for mark, encoding in _MARKS.items() if head.startswith(mark))
    return Source(path, name, size, packed.is_packed, is_parquet, next(marks, "utf-8"))


def read_lines(source: Source, tick: Tick) -> Generator[str, None, None]:
    """Yield the lines of a file with their ends: LF, CR LF or a lone CR."""
    with _readable(source), _bytes(source) as (raw, stream):
        text = io.TextIOWrapper(stream, encoding=source.encoding, newline="")  # keeps the ends
        for number, line in enumerate(iter(partial(text.readline, LONGEST), ""), start=1):
            if "\0" in line:
                raise TableError(
                    f"{quote(source.name)} has a NUL character in line {number}, as text has not: "
                    f"it is damaged, in UTF-16 without a mark, or no table; {_SAVE}"
                )
            if len(line) >= LONGEST:
                raise TableError(
                    f"line {number} of {quote(source.name)} is longer than {LONGEST:,} characters; "
                    "needed a table with a line for each row"
                )
            if not number % _TICK:
                tick(raw.tell())
            yield line
    tick(source.size)


def _start(path: Path, name: str) -> bytes:
    try:
        with path.open("rb") as raw:
            return raw.read(len(_GZIP))
    except PermissionError as error:
        raise TableError(
            f"{quote(name, 200)} may not be read by you; ask its owner, or: chmod u+r "
            f"{_in_a_command(path)}"
        ) from error
    except OSError as error:
        raise TableError(f"{quote(name, 200)} cannot be read: {_reason(error)}") from error


@contextmanager
def _bytes(source: Source) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Give the file as it lies there, and the bytes in it, unpacked."""
    with source.path.open("rb", buffering=_BLOCK) as raw:
        if not source.is_packed:
            yield raw, raw
            return
        with gzip.GzipFile(fileobj=raw) as unpacked, io.BufferedReader(unpacked, _BLOCK) as stream:
            yield raw, stream


@contextmanager
def _readable(source: Source) -> Iterator[None]:
    """Say in one line what stops a file from being read to its end."""
    try:
        yield
    except UnicodeError as error:
        raise TableError(_wrong_bytes(source)) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        what = "ends too early" if isinstance(error, EOFError) else _reason(error)
        raise TableError(
            f"{quote(source.name)} is a damaged gzip file ({what}); fetch or pack it again"
        ) from error
    except OSError as error:
        raise TableError(f"{quote(source.name)} cannot be read: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    said = getattr(error, "strerror", None) or str(error)
    return " ".join(said.split())[:100]


def _missing(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"there is no folder {quote(folder, 200)}; needed the path of a table"
    names = {name.casefold(): name for name in _files_in(folder)}
    close = difflib.get_close_matches(path.name.casefold(), names, n=3)
    hint = f"; did you mean {listed([names[it] for it in close])}?" if close else ""
    return f"there is no file {quote(path, 200)}{hint or '; needed the path of a table'}"


def _tables_in(folder: Path) -> str:
    found = [name for name in _files_in(folder) if name.lower().endswith(_TABLES)]
    return f", such as {listed(found[:3])}" if found else ""


def _files_in(folder: Path) -> list[str]:
    try:
        return sorted(it.name for it in folder.iterdir() if it.is_file())
    except OSError:
        return []


def _check_is_text(head: bytes, source: Source) -> None:
    """Refuse a file whose first bytes say that it is something else than a table as text."""
    if head.startswith(b"PK\x03\x04"):
        raise TableError(f"{quote(source.name)} is {_archive(source)}")
    start = head.lstrip()[:16].lower()
    for mark, what in _OTHERS.items():
        if head.startswith(mark) or start.startswith(mark):
            raise TableError(f"{quote(source.name)} is {what}")


def _archive(source: Source) -> str:
    try:
        with zipfile.ZipFile(source.path) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile):
        names = []
    if any(name.startswith("xl/") for name in names):
        return f"an Excel workbook: open it and {_SAVE}"
    if "content.xml" in names:
        return f"a LibreOffice document: open it and {_SAVE}"
    return "a zip archive: unpack it and name the table in it"


def _wrong_bytes(source: Source) -> str:
    """Return what is wrong with the encoding of a file: in which line, with which byte."""
    if not source.encoding.startswith("utf-8"):
        return f"{quote(source.name)} begins as {source.encoding} and goes on as none; {_SAVE}"
    number, wrong, right = 1, None, None
    with _bytes(source) as (_, stream):
        for line in iter(partial(stream.readline, LONGEST), b""):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                if wrong is None:
                    before = line[: error.start]
                    wrong = number + len(_BREAK.findall(before)), line[error.start]
            else:
                right = right or (None if line.isascii() else number)
            if wrong and right:
                break
            number += len(_BREAK.findall(line))
    if wrong is None:
        return f"{quote(source.name)} changed while it was read; try again"
    place, byte = wrong
    letter = bytes([byte]).decode("cp1252", errors="replace")
    what = f"line {place} has the byte 0x{byte:02X} ({quote(letter)} in Windows-1252)"
    if right is not None:
        return (
            f"{quote(source.name)} mixes encodings: line {right} is UTF-8, and {what}; write that "
            "line, and others of the same origin, in UTF-8"
        )
    return f"{quote(source.name)} is not UTF-8: {what}; save it as UTF-8, or: {_conversion(source)}"


def _conversion(source: Source) -> str:
    name = source.path.name.removesuffix(".gz")
    new = _in_a_command(Path(f"{Path(name).stem}-utf8{Path(name).suffix}"))
    old = _in_a_command(source.path)
    convert = "iconv -f WINDOWS-1252 -t UTF-8"
    if source.is_packed:
        return f"gunzip -c {old} | {convert} > {new}"
    return f"{convert} {old} > {new}"


def _in_a_command(path: Path) -> str:
    return shlex.quote(str(path)) if str(path).isprintable() else "FILE"


# -- How much memory there is, and how much an audit of a table takes ------------------------------


_NUMBER = 60  # bytes that a number takes in an audit: itself and six copies, as measured
_TEXT = 220  # and a text, beside its letters: objects, codes, the columns of its categories
_ROW = 200  # and a row: its losses, ranks, and what became of it in each resample
_SHARE = 0.8  # of the free memory: other programs want some of it
_SYSTEM = Path("/")


def bytes_per_row(n_numbers: int, text_widths: list[float]) -> float:
    """Return what an audit takes for each row, from its numbers and the letters in its texts."""
    return _ROW + _NUMBER * n_numbers + sum(_TEXT + 2 * width for width in text_widths)


def check_memory(name: str, n_rows: int, row_bytes: float) -> None:
    """Refuse rows that an audit has no memory for, and say how many there is memory for."""
    free = available_memory()
    if free is None or n_rows * row_bytes <= _SHARE * free:
        return
    fitting = int(_SHARE * free / row_bytes)
    fitting -= fitting % 10 ** max(len(str(fitting)) - 2, 0)  # a number that one can type
    raise TableError(
        f"{quote(name)}: {n_rows:,} rows take about {_gigabytes(n_rows * row_bytes)} of memory, "
        f"and {_gigabytes(free)} are free; split the file, or audit a random sample of it with "
        f"--rows {max(fitting, 1)}"
    )


def available_memory() -> int | None:
    """Return the bytes of memory that can be had, or None where no one says."""
    found = [*_meminfo(), *_limits()]
    return min(found) if found else _physical()


def _meminfo() -> Iterator[int]:
    """Yield what the kernel of Linux takes for free."""
    for line in _lines("proc/meminfo"):
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) * 1024


def _limits() -> Iterator[int]:
    """Yield what the control groups of this process leave it: containers set such limits."""
    for line in _lines("proc/self/cgroup"):
        _, controllers, place = line.split(":", 2)
        if controllers == "":
            files = "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            files = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
        else:
            continue
        root = Path("sys/fs/cgroup") / ("memory" if controllers else "")
        group = root / place.lstrip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(root):
                yield from _left(folder, *files)


def _left(folder: Path, limit: str, usage: str, cache: str) -> Iterator[int]:
    """Yield what a group leaves: its limit without what is used, cached files aside."""
    amounts = [*_lines(folder / limit), *_lines(folder / usage)]
    if len(amounts) == 2 and all(amount.isdecimal() for amount in amounts):
        most, used = map(int, amounts)
        named = dict(line.split() for line in _lines(folder / "memory.stat"))
        yield max(most - used + int(named.get(cache, 0)), 0)


def _physical() -> int | None:
    """Return the memory that is built in, on systems which say no more than that."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _lines(path: Path | str) -> list[str]:
    try:
        return (_SYSTEM / path).read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeError):
        return []


def _gigabytes(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:,.1f} GB"
