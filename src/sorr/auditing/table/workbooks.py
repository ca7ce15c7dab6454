"""Tables from workbooks: Excel and OpenDocument, read by calamine after a look at their size.

calamine makes a range of all cells between the first and the last one, and the process ends if
there is no memory for it. So the parts of a workbook are unpacked once before, to count their bytes
and to find its last cell.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import IO, Any
from xml.parsers import expat

import numpy as np

from sorr.auditing.table.files import (
    BLOCK,
    INSTALL,
    Source,
    Tick,
    available_memory,
    bytes_per_row,
    check_memory,
    readable,
)
from sorr.auditing.table.text import without_empty
from sorr.auditing.table.values import (
    MISSING,
    Seal,
    Table,
    TableError,
    chosen_rows,
    column_names,
    column_of,
    known_columns,
    listed,
    quote,
    spell,
)

_GROWTH = 1 << 28  # bytes that a workbook may become, however small it is
_RATIO = 250  # times that it may grow beyond them
_CELL = 40  # bytes of a cell in a range of calamine, and beside it
_MOST_CELLS = 100_000_000  # where nobody knows how much memory there is
_SNIFFED = 50  # rows that show where the names are
_LONG_ROW = 1 << 26  # bytes of a row that are looked at together
_CHUNK = 1 << 14  # rows that are turned at once


def read_workbook(
    source: Source,
    sheet: str | int | None,
    text_columns: Iterable[str],
    n_rows: int | None,
    random_state: Any,
    tick: Tick,
) -> Table:
    """Return the table in a sheet of a workbook. The line of a row is the one that Excel shows."""
    with _opened(source, tick) as book:
        page, sheets = chosen_sheet(source, book, sheet), book.sheet_names
        return _read(source, page, sheets, text_columns, n_rows, random_state, tick)


def read_sheets(source: Source) -> list[list[tuple[int, list[str]]]]:
    """Return the cells of all sheets as texts: for each row its line and its cells."""
    with _opened(source, lambda _: None) as book:
        pages = [book.get_sheet_by_name(name) for name in book.sheet_names]
        return [_lines(page) for page in pages if page.height]


def _lines(page: Any) -> list[tuple[int, list[str]]]:
    rows = list(page.iter_rows())
    top = _top(page, len(rows))
    return [(i + top, [spell(it) for it in row]) for i, row in enumerate(rows)]


def _top(page: Any, n_rows: int) -> int:
    """Return the line of the first row: calamine begins at row 1, or at the first with a cell."""
    return int(page.end[0]) + 2 - n_rows


@contextmanager
def _opened(source: Source, tick: Tick) -> Iterator[Any]:
    """Give a workbook, and turn whatever is wrong with it into an error of one line."""
    try:
        import python_calamine as calamine
    except ImportError as error:
        raise TableError(
            f"{quote(source.name)} is a workbook and needs python-calamine, which is not "
            f"installed: {INSTALL}"
        ) from error
    with readable(source):
        check_size(source)
    tick(source.size // 2)
    try:
        with (
            source.path.open("rb") as file,  # of a path, calamine believes the ending
            calamine.CalamineWorkbook.from_filelike(file) as book,
        ):
            yield book
    except calamine.PasswordError as error:
        raise TableError(
            f"{quote(source.name)} has a password; open it and save it without one"
        ) from error
    except (calamine.CalamineError, OSError, ValueError) as error:
        if isinstance(error, TableError):
            raise
        raise TableError(
            f"{quote(source.name)} is not a workbook, or is damaged ({quote(error, 80)}); open it "
            "and save it again"
        ) from error
    except BaseException as error:  # an error in calamine itself is no Exception
        if type(error).__name__ != "PanicException":
            raise
        raise TableError(f"{quote(source.name)} is damaged; open it and save it again") from error


def chosen_sheet(source: Source, book: Any, asked: str | int | None) -> Any:
    """Return the sheet asked for, or the first one with rows."""
    names = book.sheet_names
    if asked is None:
        for name in names:
            page = book.get_sheet_by_name(name)
            if page.height > 1:
                return page
        raise TableError(f"{quote(source.name)} has no sheet with a row of names and rows below it")
    if isinstance(asked, str) and asked not in names and asked.isdecimal():
        asked = int(asked)
    if isinstance(asked, int) and 1 <= asked <= len(names):
        return book.get_sheet_by_index(asked - 1)
    if asked in names:
        return book.get_sheet_by_name(asked)
    raise TableError(f"{quote(source.name)} has no sheet {quote(asked)}; there are {listed(names)}")


def _read(
    source: Source,
    page: Any,
    sheets: list[str],
    text_columns: Iterable[str],
    n_rows: int | None,
    random_state: Any,
    tick: Tick,
) -> Table:
    import pandas as pd

    place, written, skipped = names_in_sheet(source, page)
    names, notes = column_names(written, source.name)
    kept = set(known_columns(text_columns, names, source.name))
    is_there = np.fromiter((any(it != "" for it in row) for row in page.iter_rows()), dtype=bool)
    n_blank = int((~is_there).sum())
    is_there[: place + 1] = False
    places = np.flatnonzero(is_there)
    if not len(places):
        raise TableError(f"{quote(source.name)} has a row of names, but no rows below it")
    rows, sampled = chosen_rows(len(places), n_rows, random_state)
    check_memory(source.name, len(rows), bytes_per_row(0, [8.0] * len(names)))
    picked = places[rows]
    cells: list[list[Any]] = [[] for _ in names]
    for chunk in _chunks(page, picked):
        for column, values in zip(cells, zip(*chunk, strict=True), strict=True):
            column += [None if it == "" or it in MISSING else it for it in values]
    columns = {}
    for i, name in enumerate(names):
        columns[name] = column_of(cells[i], as_text=name in kept)
        cells[i] = []
    frame, left_out = without_empty(pd.DataFrame(columns, copy=False), written)
    tick(source.size)
    told = [*sampled]
    if len(sheets) > 1:
        told.append(
            f"This is the sheet {quote(page.name)} of {len(sheets)} in the workbook: "
            f"{listed(sheets)}."
        )
    if skipped:
        one = len(skipped) == 1
        what = f"row{'s' * (not one)} above the names {'was' if one else 'were'}"
        told.append(f"{len(skipped)} {what} skipped: {listed(skipped)}.")
    if n_blank:
        told.append(f"{n_blank:,} blank row{' was' if n_blank == 1 else 's were'} skipped.")
    notes = [*told, *notes, *left_out]
    lines = (picked + _top(page, len(is_there))).astype(np.int64)
    seal = Seal.of_file(source.path)
    seal.add(page.name.encode(errors="replace"))  # another sheet is another table
    mark = seal.fingerprint(len(places), len(names))
    sheet = page.name if len(sheets) > 1 else None
    return Table(
        *(frame, rows, lines, len(places), tuple(notes), source.name),
        fingerprint=mark,
        sheet=sheet,
    )


def _chunks(page: Any, picked: Any) -> Iterator[list[list[Any]]]:
    """Yield some rows of a sheet, many at a time."""
    wanted, chunk, at = picked.tolist(), [], 0
    for i, row in enumerate(page.iter_rows()):
        if at == len(wanted):
            break
        if i == wanted[at]:
            chunk.append(row)
            at += 1
            if len(chunk) == _CHUNK:
                yield chunk
                chunk = []
    if chunk:
        yield chunk


def names_in_sheet(source: Source, page: Any) -> tuple[int, list[str], list[str]]:
    """Return the place of the names, the names, and what is above them.

    Names are in the first row with more than half as many cells as most rows have. Titles have
    fewer.
    """
    rows = ((i, row) for i, row in enumerate(page.iter_rows()) if any(it != "" for it in row))
    first = list(islice(rows, _SNIFFED))
    if not first:
        raise TableError(
            f"{quote(source.name)}: the sheet {quote(page.name)} is empty; needed a row of names, "
            "and rows below it"
        )
    counts = [sum(it != "" for it in row) for _, row in first]
    usual = max(Counter(counts).items(), key=lambda it: (it[1], it[0]))[0]
    start = next(i for i, count in enumerate(counts) if 2 * count > usual)
    place, names = first[start]
    above = ["; ".join(spell(it) for it in row if it != "") for _, row in first[:start]]
    return place, [spell(it) for it in names], above


# -- The size of a workbook ------------------------------------------------------------------------


_COMPOUND = b"\xd0\xcf\x11\xe0"
_XLS_CELLS = frozenset({0x06, 0xBD, 0xD6, 0xFD, 0x203, 0x204, 0x205, 0x207, 0x27E})
_XLS_MANY, _XLS_SIZE, _XLS_LOCKED = 0xBD, 0x200, 0x2F
_COLUMNS = re.compile(rb' r="([A-Z]+)')
_ROWS = re.compile(rb' r="[A-Z]*([0-9]+)"')
_ANY_COLUMNS = re.compile(rb"\sr\s*=\s*[\"']\s*([A-Za-z]+)")
_ANY_ROWS = re.compile(rb"\sr\s*=\s*[\"']\s*[A-Za-z]*([0-9]+)")
_ROW = re.compile(rb"<(?:\w+:)?row\b")
_CELL_TAG = re.compile(rb"<(?:\w+:)?c[\s/>]")


def check_size(source: Source) -> None:
    """Refuse a workbook whose parts, or whose range of cells, are too large for the memory.

    Sizes in the directory of an archive may lie. So the bytes are counted while they are unpacked.
    """
    free = available_memory()
    most = _MOST_CELLS if free is None else int(0.8 * free / _CELL)
    if _start(source) == _COMPOUND:
        check_memory(source.name, 1, 3.0 * source.size)
        _check_last(source, _last_of_xls(source.path.read_bytes()), most)
    if not zipfile.is_zipfile(source.path):
        return
    budget = _Budget(source, max(_GROWTH, _RATIO * source.size), free)
    with zipfile.ZipFile(source.path) as archive, source.path.open("rb") as raw:
        for member in archive.infolist():
            parts = budget.spend(_inflated(raw, member, source))
            name = member.filename.lower()
            if name.startswith("xl/worksheets/") and name.endswith(".bin"):
                last = _last_of_binary(parts)
            elif name.startswith("xl/worksheets/") or name.endswith("sheet.xml"):
                last = _last_of_excel(parts)
            elif name == "content.xml":
                last = _last_of_opendocument(parts)
            else:
                last = 0, 0
            for _ in parts:
                pass
            _check_last(source, last, most)


def _check_last(source: Source, last: tuple[int, int], most: int) -> None:
    if last[0] * last[1] > most:
        raise TableError(
            f"{quote(source.name)} has cells down to row {last[0]:,} and column {last[1]:,}, too "
            "many for the memory; delete what stands far from the table (Ctrl+End finds it), or "
            "save the table as CSV"
        )


def _start(source: Source) -> bytes:
    with source.path.open("rb") as file:
        return file.read(len(_COMPOUND))


class _Budget:
    """The bytes that a workbook may become when it is unpacked."""

    def __init__(self, source: Source, most: int, free: int | None) -> None:
        self._source, self._left = source, most if free is None else min(most, int(0.8 * free))

    def spend(self, parts: Iterator[bytes]) -> Iterator[bytes]:
        for part in parts:
            self._left -= len(part)
            if self._left < 0:
                raise TableError(
                    f"{quote(self._source.name)} grows beyond reason when it is unpacked; if it is "
                    "a table, save it as CSV"
                )
            yield part


def _inflated(raw: IO[bytes], member: zipfile.ZipInfo, source: Source) -> Iterator[bytes]:
    """Yield the unpacked bytes of a member of an archive, whatever its size is said to be."""
    raw.seek(member.header_offset)
    header = raw.read(30)
    if len(header) < 30 or header[:4] != b"PK\x03\x04":
        raise zipfile.BadZipFile("a member is missing")
    n_name, n_extra = struct.unpack("<HH", header[26:30])
    raw.seek(n_name + n_extra, 1)
    left = member.compress_size
    if member.compress_type == zipfile.ZIP_STORED:
        while left > 0 and (block := raw.read(min(BLOCK, left))):
            left -= len(block)
            yield block
        return
    if member.compress_type != zipfile.ZIP_DEFLATED:
        raise TableError(
            f"{quote(source.name)} is packed in an unusual way; open it and save it again"
        )
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    packed = b""
    while not inflater.eof:
        if not packed:
            packed = raw.read(min(1 << 16, left))
            left -= len(packed)
        block = inflater.decompress(packed, BLOCK)
        packed = inflater.unconsumed_tail
        if block:
            yield block
        elif not packed and left <= 0:
            return


def _last_of_excel(parts: Iterator[bytes]) -> tuple[int, int]:
    """Return the last row and column of a sheet in XML, by the references of its cells.

    Nearly all programs write a reference as r="A1". Where there are fewer of them than cells, other
    ways to write one are looked for. Cells without any follow the one before.
    """
    last_row, n_rows, widest = 0, 0, 0
    columns, rows = set[bytes](), set[bytes]()
    for data in _whole_rows(parts):
        found = _COLUMNS.findall(data)
        rows.update(_ROWS.findall(data))
        if data.count(b"<c") != len(found) or b":c" in data:
            found = _ANY_COLUMNS.findall(data)
            rows.update(_ANY_ROWS.findall(data))
            if len(_CELL_TAG.findall(data)) > len(found):
                widest = max(widest, *(len(_CELL_TAG.findall(row)) for row in _ROW.split(data)))
        columns.update(found)
        n_rows += len(_ROW.findall(data))
        last_row = max([last_row, *(int(row[:9]) for row in rows)])
        rows.clear()
    return max(last_row, n_rows), max(map(_column_number, columns), default=0) + widest


def _whole_rows(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the parts of a sheet, cut before tags of rows as far as there are any."""
    rest = b""
    for part in parts:
        data = rest + part
        row = max(data.rfind(b"<row"), data.rfind(b":row"))
        cut = data.rfind(b"<", 0, row + 1) if row > 0 or len(data) < _LONG_ROW else len(data) - 64
        yield data[: max(cut, 0)]
        rest = data[max(cut, 0) :]
    yield rest


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters.upper()[:8]:
        number = 26 * number + letter - ord("A") + 1
    return number


def _last_of_binary(parts: Iterator[bytes]) -> tuple[int, int]:
    """Return the last row and column of a sheet in .xlsb: records with a type and a length."""
    data = b"".join(parts)
    at, last_row, last_column = 0, 0, 0
    while at < len(data):
        kind, at = _packed_number(data, at, 2)
        size, at = _packed_number(data, at, 4)
        if kind == 0 and size >= 4:  # BrtRowHdr
            last_row = max(last_row, int.from_bytes(data[at : at + 4], "little") + 1)
        elif 1 <= kind <= 11 and size >= 4:  # the kinds of cells
            last_column = max(last_column, int.from_bytes(data[at : at + 4], "little") + 1)
        at += size
    return last_row, last_column


def _last_of_xls(data: bytes) -> tuple[int, int]:
    """Return the last row and column of a workbook in .xls: records with a type and a length."""
    stream = _stream_of_xls(data)
    at, last_row, last_column = 0, 0, 0
    while at + 4 <= len(stream):
        kind, size = struct.unpack_from("<HH", stream, at)
        record = stream[at + 4 : at + 4 + size]
        at += 4 + size
        if kind in _XLS_CELLS and len(record) >= 6:
            row, first = struct.unpack_from("<HH", record)
            last = int.from_bytes(record[-2:], "little") if kind == _XLS_MANY else first
            last_row, last_column = max(last_row, row + 1), max(last_column, first + 1, last + 1)
        elif kind == _XLS_SIZE and len(record) in (10, 14):
            row, column = struct.unpack_from("<H4xH" if len(record) == 10 else "<4xI2xH", record)
            last_row, last_column = max(last_row, row), max(last_column, column)
        elif kind == _XLS_LOCKED:
            break
    return last_row, last_column


def _stream_of_xls(data: bytes) -> bytes:
    """Return the stream of a workbook in a compound file: sectors in a chain, perhaps small ones.

    It is damaged if a chain is longer than the file. calamine says so in its own words.
    """
    if len(data) < 512:
        return b""
    size, small = (1 << min(it, 16) for it in struct.unpack_from("<HH", data, 30))
    directory, least, first_small = struct.unpack_from("<I4xI I", data, 48)
    tables = list(struct.unpack_from("<109I", data, 76))
    following = int.from_bytes(data[68:72], "little")
    for _ in range(len(data) // size):
        sector = data[(following + 1) * size : (following + 2) * size]
        if len(sector) < size:
            break
        *more, following = struct.unpack(f"<{size // 4}I", sector)
        tables += more
    joined = b"".join(data[(it + 1) * size : (it + 2) * size] for it in tables if it < 1 << 31)

    def chain(start: int, links: bytes, body: bytes, step: int) -> bytes:
        parts, n_links = list[bytes](), len(links) // 4
        while start < n_links and len(parts) <= n_links:
            parts.append(body[start * step : (start + 1) * step])
            start = int.from_bytes(links[4 * start : 4 * start + 4], "little")
        return b"".join(parts)

    body = data[size:]
    entries = chain(directory, joined, body, size)
    root = int.from_bytes(entries[116:120], "little")
    for at in range(0, len(entries), 128):
        name = entries[at : at + 64].decode("utf-16-le", "replace").rstrip("\0").lower()
        if name in ("workbook", "book"):
            start, length = struct.unpack_from("<II", entries, at + 116)
            if length >= least:
                return chain(start, joined, body, size)[:length]
            links = chain(first_small, joined, body, size)
            return chain(start, links, chain(root, joined, body, size), small)[:length]
    return b""


def _packed_number(data: bytes, at: int, most: int) -> tuple[int, int]:
    """Return a number in groups of seven bits, and the place after it."""
    number = 0
    for i, byte in enumerate(data[at : at + most]):
        number |= (byte & 0x7F) << 7 * i
        if not byte & 0x80:
            return number, at + i + 1
    return number, at + most


def _last_of_opendocument(parts: Iterator[bytes]) -> tuple[int, int]:
    """Return the last row and column with a value. Rows and cells say how often they repeat."""
    row = column = last_row = last_column = row_end = 0
    repeats = 1

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal row, column, last_row, last_column, row_end, repeats
        kind = tag.rpartition(":")[2]
        if kind == "table":
            row = 0
        elif kind == "table-row":
            repeats = _times(attributes, "number-rows-repeated")
            row, column, row_end = row + repeats, 0, 0
        elif kind in ("table-cell", "covered-table-cell"):
            column += _times(attributes, "number-columns-repeated")
            if any(
                it.rpartition(":")[2] in ("value-type", "value", "formula") for it in attributes
            ):
                row_end = column
        elif kind == "p":
            row_end = column
        if row_end:
            last_row, last_column = max(last_row, row), max(last_column, row_end)

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    try:
        for part in parts:
            parser.Parse(part)
    except expat.ExpatError as error:
        raise zipfile.BadZipFile(f"content.xml: {error}") from error
    return last_row, last_column


def _times(attributes: dict[str, str], name: str) -> int:
    found = (value for key, value in attributes.items() if key.rpartition(":")[2] == name)
    text = next(found, "1")
    return int(text[:9]) if text.isdecimal() else 1
