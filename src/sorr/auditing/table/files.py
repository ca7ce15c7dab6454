"""Opening a file: what it is, how it is packed, its text as UTF-8, and the memory it takes."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import os
import re
import shlex
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from sorr._checks import close_names
from sorr.auditing.table.values import Argument, TableError, listed, quote, quote_bare

Tick = Callable[[int], None]
"""Called now and then with the number of bytes read so far."""

BLOCK = 1 << 20  # bytes that are read at once
_HEAD = 1 << 12  # bytes that show the type of a file
_BOMB = 1 << 28  # bytes that a packed file may become, however small it is
_RATIO = 250  # times that it may grow beyond them; tables shrink 5 to 50 times
_SAMPLE = 1 << 16  # bytes that show an encoding
_MARKS = {  # the longest first, because the mark of UTF-32 begins with that of UTF-16
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
MIXED = "UTF-8 mixed with Windows-1252"
ENCODINGS = {  # those that tables come in, with the names that people know
    "cp1252": "Windows-1252 (Western Europe)",
    "cp1250": "Windows-1250 (Central Europe)",
    "cp1251": "Windows-1251 (Cyrillic)",
    "cp1253": "Windows-1253 (Greek)",
    "cp1254": "Windows-1254 (Turkish)",
    "cp1255": "Windows-1255 (Hebrew)",
    "cp1256": "Windows-1256 (Arabic)",
    "cp1257": "Windows-1257 (Baltic)",
    "cp850": "DOS 850 (Western Europe)",
    "cp866": "DOS 866 (Cyrillic)",
    "koi8_r": "KOI8-R (Russian)",
    "mac_roman": "Mac Roman",
    "cp932": "Shift JIS (Japanese)",
    "euc_jp": "EUC-JP (Japanese)",
    "gb18030": "GB 18030 (Chinese)",
    "big5": "Big5 (Chinese)",
    "cp949": "CP949 (Korean)",
}
_PACKED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_KINDS = {
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    b"FEA1": "feather",
    b"\xff\xff\xff\xff": "feather",
    b"\xd0\xcf\x11\xe0": "workbook",
}
_OTHERS = {
    b"7z\xbc\xaf": "a 7-Zip archive: unpack it",
    b"Rar!": "a RAR archive: unpack it",
    b"%PDF": "a PDF document: take the table out of it",
    b"\x89HDF": "an HDF5 file: write the table in it as Parquet or CSV",
    b"\x93NUMPY": "a NumPy array: write it as CSV, with column names in the first line",
    b"SQLite": "an SQLite database: write the table in it as CSV",
    b"<!doctype": "a web page, perhaps one that asks you to sign in: download the file again",
    b"<html": "a web page, perhaps one that asks you to sign in: download the file again",
}
_JSON = re.compile(r"\s*(?:\[\s*)?\{\s*[\"}]|\s*\[\s*\]\s*$")
_TABLES = re.compile(
    r"\.(csv|tsv|tab|txt|json|jsonl|ndjson|parquet|pq|feather|arrow|ods|xl\w+)(\.\w+)?$", re.I
)
INSTALL = 'pip install "sorr[audit]"'


class OtherEncodingError(Exception):
    """A text is not in the encoding that was assumed."""


@dataclass(frozen=True)
class Source:
    """A readable file, its kind, how it is packed, and the encoding of its text."""

    path: Path
    name: str
    size: int
    kind: str
    """One of text, json, workbook, parquet, feather."""
    packing: str = ""
    encoding: str = "utf-8"
    example: str = ""
    """A word that is not ASCII, if the encoding was guessed."""


def examine(path: Path, name: str) -> Source:
    """Return the type of a file by its content, or raise an error that says why it is none."""
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
    source = Source(path, name, path.stat().st_size, "text")
    start = _start(path, name)
    packing = next((it for mark, it in _PACKED.items() if start.startswith(mark)), "")
    if start.startswith(b"PK\x03\x04"):
        if _is_workbook(source):
            return replace(source, kind="workbook")
        packing = "zip"
    if packing == "bzip2" and start[4:10] not in (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90"):
        packing = ""  # a text that happens to begin with BZh
    source = replace(source, packing=packing)
    with readable(source), _unpacked(source) as (_, stream):
        head = stream.read(_HEAD)
    if not head.strip():
        raise TableError(f"{quote(name)} is empty; needed a line of names, and rows below it")
    return _recognized(source, head)


def _recognized(source: Source, head: bytes) -> Source:
    """Return a source with its kind and encoding, from the first bytes of its content."""
    for mark, kind in _KINDS.items():
        if head.startswith(mark):
            return replace(source, kind=kind)
    if source.packing and head.startswith(b"PK\x03\x04"):
        return replace(source, kind="workbook")
    if source.packing and any(map(head.startswith, _PACKED)):
        raise TableError(f"{quote(source.name)} is packed more than once; unpack it once")
    start = head.lstrip()[:16].lower()
    for mark, what in _OTHERS.items():
        if head.startswith(mark) or start.startswith(mark):
            raise TableError(f"{quote(source.name)} is {what}")
    marks = (encoding for mark, encoding in _MARKS.items() if head.startswith(mark))
    encoding = next(marks, None) or _wide(head) or "utf-8"
    text = head.decode(encoding, errors="replace")
    is_json = _JSON.match(text) or (".json" in source.name.lower() and text.lstrip()[:1] == "[")
    return replace(source, kind="json" if is_json else "text", encoding=encoding)


def _wide(head: bytes) -> str | None:
    """Return the encoding of UTF-16 without a mark, where every other byte of ASCII is zero."""
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) < len(head) / 4 or min(even, odd):
        return None
    return "utf-16-le" if odd else "utf-16-be"


# -- The content of a file -------------------------------------------------------------------------


def content(source: Source, tick: Tick) -> Generator[bytes, None, None]:
    """Yield the unpacked bytes of a file in blocks. A file that grows beyond reason is refused."""
    done = 0
    with readable(source), _unpacked(source) as (raw, stream):
        while block := stream.read(BLOCK):
            done += len(block)
            if source.packing and done > max(_BOMB, _RATIO * source.size):
                raise TableError(
                    f"{quote(source.name)} grows more than {_RATIO} times when it is unpacked, as "
                    "no table does; if it is one, unpack it yourself"
                )
            tick(raw.tell())
            yield block
    tick(source.size)


def text(source: Source, tick: Tick) -> Generator[bytes, None, None]:
    """Yield the text of a file in blocks of UTF-8, without a mark.

    Raises
    ------
    OtherEncodingError
        If the text is not in the encoding of the source.
    """
    encoding, errors = source.encoding, "strict"
    if encoding == MIXED:
        encoding, errors = "utf-8", _windows.__name__
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    is_utf8 = source.encoding == "utf-8"
    try:
        for block in content(source, tick):
            if is_utf8 and block.isascii() and not decoder.getstate()[0]:
                yield block
                continue
            decoded = decoder.decode(block)
            yield block if is_utf8 else decoded.encode()
        if rest := decoder.decode(b"", final=True):  # half a letter, in a mixture of encodings
            yield rest.encode()
    except UnicodeError as error:
        if source.encoding.startswith(("UTF", "utf-16")):
            raise TableError(
                f"{quote(source.name)} begins as {source.encoding}, but is not valid; save it as "
                "CSV (UTF-8)"
            ) from error
        raise OtherEncodingError from error


def guess_encoding(source: Source) -> Source:
    """Return a source with the most likely encoding of its text, which is not valid UTF-8.

    Lines of UTF-8 next to a few others come from files that were put together. There, the bytes
    that are no UTF-8 are read as Windows-1252, which most such lines are in.
    """
    sample, n_right, n_wrong, rest = bytearray(), 0, 0, b""
    for block in content(replace(source, encoding="utf-8"), lambda _: None):
        *lines, rest = (rest + block).split(b"\n")
        for line in [*lines, *([rest] * (len(block) < BLOCK))]:
            if line.isascii():
                continue
            is_right = _is_utf8(line)
            n_right, n_wrong = n_right + is_right, n_wrong + (not is_right)
            if len(sample) < _SAMPLE and not is_right:
                sample += line[:_SAMPLE] + b"\n"
        if len(sample) >= _SAMPLE:
            break
        rest = rest[-BLOCK:]
    if n_right >= n_wrong:
        return _with_example(source, bytes(sample), MIXED)
    try:
        from charset_normalizer import from_bytes
    except ImportError as error:
        raise TableError(
            f"{quote(source.name)} is not UTF-8, and another encoding is guessed by "
            f"charset-normalizer, which is not installed: {INSTALL}"
        ) from error
    best = from_bytes(bytes(sample), cp_isolation=list(ENCODINGS)).best()
    western = from_bytes(bytes(sample), cp_isolation=["cp1252"]).best()
    found = "cp1252" if best is None or _is_as_good(western, best) else best.encoding
    return _with_example(source, bytes(sample), found)


def encoding_notes(source: Source) -> list[str]:
    """Return what readers should know of the encoding of a file."""
    if source.encoding in ("utf-8", "utf-8-sig"):
        return []
    if not source.example:
        return [f"The file was decoded as {source.encoding[:6].upper()}."]
    name = ENCODINGS.get(source.encoding, source.encoding)
    return [f"The file is not UTF-8. It was read as {name}, for example {quote(source.example)}."]


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_as_good(western: Any, best: Any) -> bool:
    """Tell whether Windows-1252, the most frequent of these encodings, explains a text as well."""
    if "cp1252" in (best.encoding, *best.could_be_from_charset):
        return True
    if western is None:
        return False
    return bool(western.chaos <= best.chaos and western.coherence >= best.coherence)


def _with_example(source: Source, sample: bytes, encoding: str) -> Source:
    codec, errors = (encoding, "replace")
    if encoding == MIXED:
        codec, errors = "utf-8", _windows.__name__
    words = re.findall(r"\w*[^\W\x00-\x7f]\w*", sample.decode(codec, errors))
    return replace(source, encoding=encoding, example=words[0] if words else "?")


def _windows(error: UnicodeError) -> tuple[str, int]:
    """Decode bytes that are not UTF-8 as Windows-1252: an error handler for codecs."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error(_windows.__name__, _windows)


@contextmanager
def _unpacked(source: Source) -> Iterator[tuple[IO[bytes], Any]]:
    """Give the file as it is, and its content unpacked."""
    with source.path.open("rb") as raw:
        if source.packing == "gzip":
            with gzip.GzipFile(fileobj=raw) as stream:
                yield raw, stream
        elif source.packing == "bzip2":
            with bz2.BZ2File(raw) as stream:
                yield raw, stream
        elif source.packing == "xz":
            with lzma.LZMAFile(raw) as stream:
                yield raw, stream
        elif source.packing == "zstd":
            yield raw, _Zstandard(raw, source.name)
        elif source.packing == "zip":
            with (
                zipfile.ZipFile(raw) as archive,
                archive.open(zip_member(archive, source)) as stream,
            ):
                yield raw, stream
        else:
            yield raw, raw


class _Zstandard:
    """The content of a file packed with zstd.

    The reader of the package says nothing if a file is cut off, so the end of each frame is looked
    for here.
    """

    def __init__(self, raw: IO[bytes], name: str) -> None:
        try:
            import zstandard
        except ImportError as error:
            raise TableError(
                f"{quote(name)} is packed with zstd and needs zstandard, which is not installed: "
                f"{INSTALL}"
            ) from error
        self._raw = raw
        self._make = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj
        self._object = self._make()
        self._packed, self._ready = b"", bytearray()
        self._is_within = True

    def read(self, size: int) -> bytes:
        """Return up to so many bytes. Pieces are small, since each may grow 30,000 times."""
        while len(self._ready) < size:
            self._packed = self._packed or self._raw.read(1 << 12)
            if not self._packed:
                if self._is_within:
                    raise EOFError
                break
            self._ready += self._object.decompress(self._packed)
            self._is_within, self._packed = not self._object.eof, self._object.unused_data
            if self._object.eof:
                self._object = self._make()
        block = bytes(self._ready[:size])
        del self._ready[:size]
        return block


def zip_member(archive: zipfile.ZipFile, source: Source) -> str:
    """Return the one table in an archive."""
    names = [
        it.filename
        for it in archive.infolist()
        if not it.is_dir() and not it.filename.startswith("__MACOSX/")
    ]
    if len(names) > 1:
        names = [name for name in names if _TABLES.search(name)] or names
    if len(names) != 1:
        raise TableError(
            f"{quote(source.name)} is a zip archive of {len(names)} files"
            f"{': ' * bool(names)}{listed(names)}; needed one table, so unpack it"
        )
    return names[0]


def _is_workbook(source: Source) -> bool:
    try:
        with zipfile.ZipFile(source.path) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False
    return "content.xml" in names or any(name.startswith("xl/") for name in names)


@contextmanager
def readable(source: Source) -> Iterator[None]:
    """Turn whatever stops the reading of a file into an error of one line."""
    try:
        yield
    except (TableError, MemoryError, UnicodeError, OtherEncodingError):
        raise
    except _DAMAGES as error:
        raise TableError(_damage(source, error)) from error
    except Exception as error:
        if type(error).__module__.startswith(("zstandard", "zstd")):
            raise TableError(_damage(source, error)) from error
        if isinstance(error, RuntimeError) and "password" in str(error):
            raise TableError(f"{quote(source.name)} has a password; unpack it first") from error
        raise


_DAMAGES = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError)


def _damage(source: Source, error: Exception) -> str:
    is_system = isinstance(error, OSError) and error.errno is not None
    if is_system or not source.packing:
        return f"{quote(source.name)} cannot be read: {_reason(error)}"
    what = "it ends too early" if isinstance(error, EOFError) else _reason(error)
    return f"{quote(source.name)} is a damaged {source.packing} file ({what}); get or pack it again"


def _start(path: Path, name: str) -> bytes:
    try:
        with path.open("rb") as raw:
            return raw.read(16)
    except PermissionError as error:
        command = shlex.quote(str(path)) if str(path).isprintable() else "FILE"
        raise TableError(
            f"{quote(name, 200)} cannot be read: no permission; ask its owner, or run chmod u+r "
            f"{command}"
        ) from error
    except OSError as error:
        raise TableError(f"{quote(name, 200)} cannot be read: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    reason = getattr(error, "strerror", None) or str(error)
    return quote_bare(" ".join(reason.split()), 100)


def _missing(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"there is no folder {quote(folder, 200)}; needed the path of a table"
    close = close_names(path.name, _files_in(folder))
    hint = f"; did you mean {listed(close)}?" if close else ""
    return f"there is no file {quote(path, 200)}{hint or '; needed the path of a table'}"


def _tables_in(folder: Path) -> str:
    found = [name for name in _files_in(folder) if _TABLES.search(name)]
    return f", such as {listed(found[:3])}" if found else ""


def _files_in(folder: Path) -> list[str]:
    try:
        return sorted(it.name for it in folder.iterdir() if it.is_file())
    except OSError:
        return []


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
