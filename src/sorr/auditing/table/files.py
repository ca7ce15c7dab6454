"""Opening a file: its type, compression, encoding and lines, and the memory it takes."""

from __future__ import annotations

import codecs
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

from sorr._checks import close_names
from sorr.auditing.table.values import Argument, TableError, listed, quote

Tick = Callable[[int], None]
"""Called now and then with the number of bytes read so far."""

LONGEST = 1 << 24  # characters of a line or field; longer ones mean no table, or a missing quote
_BLOCK = 1 << 20  # bytes that are read at once
_HEAD = 1 << 12  # bytes that show the type of a file
_TICK = 1 << 13  # lines between two reports of progress
_BREAK = re.compile(rb"\r\n|\r|\n")
_GZIP = b"\x1f\x8b"
_PARQUET_MAGIC = b"PAR1"
_MARKS = {  # the longest first, because the mark of UTF-32 begins with that of UTF-16
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
    b"BZh": "compressed with bzip2: unpack it with bunzip2",
    b"\xfd7zXZ": "compressed with xz: unpack it with unxz",
    b"\x28\xb5\x2f\xfd": "compressed with zstd: unpack it with unzstd",
    b"7z\xbc\xaf": "a 7-Zip archive: unpack it",
    b"%PDF": f"a PDF document: take the table out of it and {_SAVE}",
    b"ARROW1": "a Feather file: write it as Parquet or CSV",
    b"\x89HDF": "an HDF5 file: write the table in it as Parquet or CSV",
    b"\x93NUMPY": "a NumPy array: write it as CSV, with column names in the first line",
    b"SQLite": "an SQLite database: write the table in it as CSV",
    b"<!doctype": "a web page, perhaps one that asks you to sign in: download the file again",
    b"<html": "a web page, perhaps one that asks you to sign in: download the file again",
}


@dataclass(frozen=True)
class Source:
    """A readable file, its compression, and the encoding of its text."""

    path: Path
    name: str
    size: int
    is_packed: bool
    is_parquet: bool
    encoding: str


def examine(path: Path, name: str) -> Source:
    """Return the type of a file, or raise an error that says why it cannot be read."""
    try:
        is_there = path.exists()
    except OSError as error:
        raise TableError(f"{quote(path, 200)} cannot be read: {_reason(error)}") from error
    if not is_there:
        raise TableError(_missing(path))
    if path.is_dir():
        raise TableError(f"{quote(name, 200)} is a folder; needed a file{_tables_in(path)}")
    if not path.is_file():
        raise TableError(
            f"{quote(name, 200)} is not a regular file, and has to be read twice; write it to a "
            "file first, or pipe it in with - as the file"
        )
    size = path.stat().st_size
    packed = Source(path, name, size, _start(path, name) == _GZIP, False, "")
    with _readable(packed), _bytes(packed) as (_, stream):
        head = stream.read(_HEAD)
    if not head.strip():
        raise TableError(f"{quote(name)} is empty; needed a line of names, and rows below it")
    is_parquet = head.startswith(_PARQUET_MAGIC)
    if not is_parquet:
        _check_is_text(head, packed)
    marks = (encoding for mark, encoding in _MARKS.items() if head.startswith(mark))
    return Source(path, name, size, packed.is_packed, is_parquet, next(marks, "utf-8"))


def read_lines(source: Source, tick: Tick) -> Generator[str, None, None]:
    """Yield the lines of a file, each with its end: LF, CR LF or CR."""
    with _readable(source), _bytes(source) as (raw, stream):
        text = io.TextIOWrapper(stream, encoding=source.encoding, newline="")  # keeps the ends
        for number, line in enumerate(iter(partial(text.readline, LONGEST), ""), start=1):
            if "\0" in line:
                raise TableError(
                    f"{quote(source.name)} has a NUL character in line {number}: it is damaged, in "
                    f"UTF-16 without a mark, or not a table; {_SAVE}"
                )
            if len(line) >= LONGEST:
                raise TableError(
                    f"line {number} of {quote(source.name)} is longer than {LONGEST:,} characters; "
                    "needed a table with one line per row"
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
            f"{quote(name, 200)} cannot be read: no permission; ask its owner, or run chmod u+r "
            f"{_in_a_command(path)}"
        ) from error
    except OSError as error:
        raise TableError(f"{quote(name, 200)} cannot be read: {_reason(error)}") from error


@contextmanager
def _bytes(source: Source) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Give the file as it is, and its content unpacked."""
    with source.path.open("rb", buffering=_BLOCK) as raw:
        if not source.is_packed:
            yield raw, raw
            return
        with gzip.GzipFile(fileobj=raw) as unpacked, io.BufferedReader(unpacked, _BLOCK) as stream:
            yield raw, stream


@contextmanager
def _readable(source: Source) -> Iterator[None]:
    """Turn whatever stops the reading of a file into an error of one line."""
    try:
        yield
    except UnicodeError as error:
        raise TableError(_wrong_bytes(source)) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        what = "it ends too early" if isinstance(error, EOFError) else _reason(error)
        raise TableError(
            f"{quote(source.name)} is a damaged gzip file ({what}); download or compress it again"
        ) from error
    except OSError as error:
        raise TableError(f"{quote(source.name)} cannot be read: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    reason = getattr(error, "strerror", None) or str(error)
    return " ".join(reason.split())[:100]


def _missing(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"there is no folder {quote(folder, 200)}; needed the path of a table"
    close = close_names(path.name, _files_in(folder))
    hint = f"; did you mean {listed(close)}?" if close else ""
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
    """Refuse a file whose first bytes show that it is not a text."""
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
    return "a zip archive: unpack it and use the table in it"


def _wrong_bytes(source: Source) -> str:
    """Return what is wrong with the encoding of a file: the line and the byte."""
    if not source.encoding.startswith("utf-8"):
        return f"{quote(source.name)} begins as {source.encoding}, but is not valid; {_SAVE}"
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
        return f"{quote(source.name)} changed while it was being read; try again"
    place, byte = wrong
    letter = bytes([byte]).decode("cp1252", errors="replace")
    what = f"line {place} has the byte 0x{byte:02X} ({quote(letter)} in Windows-1252)"
    if right is not None:
        return (
            f"{quote(source.name)} mixes encodings: line {right} is UTF-8, but {what}; convert "
            "that line, and others from the same source, to UTF-8"
        )
    return (
        f"{quote(source.name)} is not UTF-8: {what}; save it as UTF-8, or run {_conversion(source)}"
    )


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


# -- Memory ----------------------------------------------------------------------------------------


_BYTES_PER_NUMBER = 60  # in an audit: the number and six copies, as measured
_BYTES_PER_TEXT = 220  # beside its letters: objects, codes, the columns of its categories
_BYTES_PER_ROW = 200  # losses, ranks, and the result in each resample
_USABLE = 0.8  # of the free memory; the rest is for other programs
_SYSTEM = Path("/")


def bytes_per_row(n_numbers: int, text_widths: list[float]) -> float:
    """Return the memory of an audit per row, from its numbers and the letters of its texts."""
    return (
        _BYTES_PER_ROW
        + _BYTES_PER_NUMBER * n_numbers
        + sum(_BYTES_PER_TEXT + 2 * width for width in text_widths)
    )


def check_memory(name: str, n_rows: int, row_bytes: float) -> None:
    """Refuse more rows than fit into memory, and say how many fit."""
    free = available_memory()
    if free is None or n_rows * row_bytes <= _USABLE * free:
        return
    fitting = int(_USABLE * free / row_bytes)
    fitting -= fitting % 10 ** max(len(str(fitting)) - 2, 0)  # a number that is easy to type
    raise TableError(
        f"{quote(name)}: {n_rows:,} rows take about {_gigabytes(n_rows * row_bytes)} of memory, "
        f"and {_gigabytes(free)} are free; split the file, or audit a random sample with ",
        Argument("n_rows", max(fitting, 1)),
    )


def available_memory() -> int | None:
    """Return the bytes of memory that are free, or None if that is not known."""
    found = [*_meminfo(), *_limits()]
    return min(found) if found else _physical()


def _meminfo() -> Iterator[int]:
    """Yield the free memory according to the kernel of Linux."""
    for line in _lines("proc/meminfo"):
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) * 1024


def _limits() -> Iterator[int]:
    """Yield what the control groups of this process allow: containers set such limits."""
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
    """Yield the limit of a group minus what is used, not counting cached files."""
    amounts = [*_lines(folder / limit), *_lines(folder / usage)]
    if len(amounts) == 2 and all(amount.isdecimal() for amount in amounts):
        most, used = map(int, amounts)
        named = dict(line.split() for line in _lines(folder / "memory.stat"))
        yield max(most - used + int(named.get(cache, 0)), 0)


def _physical() -> int | None:
    """Return the memory of the machine, for systems that report nothing else."""
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
