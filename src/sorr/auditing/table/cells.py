"""Cells in a text: where each is, and how a new value is written there.

Places are bytes of the text in UTF-8, as it comes out of `files.text`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from sorr._typing import IntArray
from sorr.auditing.table.edits import Edit
from sorr.auditing.table.files import Source, Tick, encoding_notes, text
from sorr.auditing.table.scan import Dialect
from sorr.auditing.table.text import (
    Feed,
    Layout,
    Pass,
    RowText,
    Survey,
    find_layout,
    read_records,
    survey,
)
from sorr.auditing.table.values import (
    MISSING,
    Table,
    column_names,
    settle,
    text_dtype,
)

if TYPE_CHECKING:
    from pandas import DataFrame, Series


class Place(NamedTuple):
    """Where a row and one of its cells are in a text."""

    row: int
    start: int
    end: int
    """Of the record, with its line break."""
    has_break: bool
    """Whether the record ends with a line break. The last one of a file may have none."""
    break_before: int
    """The bytes of the line break before the record."""
    cell_start: int
    cell_end: int
    cell: str
    """The cell as it is in the text, with its quotes."""


# -- Delimited text --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Delimited:
    """A table as delimited text, of which few columns are read and few cells are looked for."""

    source: Source
    found: Survey
    names: list[str]

    @property
    def layout(self) -> Layout:
        """The separator, and where the names are."""
        return self.found.layout

    def raw(self, names: Sequence[str], begin: Pass) -> DataFrame:
        """Return some columns as texts, exactly as they are written."""
        import pandas as pd

        if not names:
            return pd.DataFrame()
        dialect = self.layout.dialect
        rows = RowText(self.source, self.found, None, begin)
        with closing(rows.blocks(1)) as blocks:
            return pd.read_csv(
                cast("Any", Feed(blocks)),
                sep=dialect.separator,
                skipinitialspace=dialect.skip_space,
                header=None,
                names=self.names,
                usecols=list(names),
                index_col=False,
                dtype=str,
                na_filter=False,
                skip_blank_lines=False,
                engine="c",
            )

    def columns_with_values(self, begin: Pass) -> list[str]:
        """Return the names without those of columns that have neither a name nor a value."""
        cells = zip(*self.found.first_rows, strict=True)
        doubtful = [
            name
            for name, written, first in zip(self.names, self.layout.names, cells, strict=True)
            if not written.strip() and all(cell in MISSING for cell in first)
        ]
        if not doubtful:
            return self.names
        raw = self.raw(doubtful, begin)
        empty = {name for name in doubtful if raw[name].isin(MISSING).all()}
        left = [name for name in self.names if name not in empty]
        return left or self.names

    def table(self, names: Sequence[str], read: DataFrame, as_text: Sequence[str]) -> Table:
        """Return a table with the columns that were read; the others are there, without values.

        It has no lines: those of all rows would take more memory than all else.
        """
        import pandas as pd

        n = self.found.n_rows
        nothing = np.broadcast_to(np.nan, n)  # takes no memory
        columns: dict[str, Any] = dict.fromkeys(names, nothing)
        for name in read.columns:
            columns[name] = settled(read[name], as_text=name in as_text)
        rows = np.arange(n, dtype=np.int64)
        return Table(
            pd.DataFrame(columns, copy=False),
            rows,
            None,
            n,
            tuple(encoding_notes(self.source)),
            self.source.name,
            tuple(self.found.set_aside),
            self.layout.dialect.separator,
            self.found.seal.fingerprint(n, len(self.names)),
        )

    def places(self, rows: IntArray, column: str, tick: Tick) -> list[Place]:
        """Return where some rows are, in their order, and their cells in a column."""
        dialect, at = self.layout.dialect, self.names.index(column)
        wanted, places = np.unique(rows), list[Place]()
        n_rows, before = 0, b""
        with closing(cast("Any", read_records(self.source, self.layout, tick))) as parts:
            for found, is_row, _ in parts:
                there = np.flatnonzero(is_row)
                first, last = np.searchsorted(wanted, [n_rows, n_rows + len(there)])
                for row in wanted[first:last].tolist():
                    i = int(there[row - n_rows])
                    start, end = int(found.starts[i]), int(found.ends[i])
                    record = found.data[start:end]
                    broken = _line_break(record)
                    low, high = field_place(record[: len(record) - broken], dialect, at)
                    head = found.data[max(start - 2, 0) : start] or before
                    places.append(
                        Place(
                            row,
                            found.offset + start,
                            found.offset + end,
                            broken > 0,
                            _line_break(head),
                            found.offset + start + low,
                            found.offset + start + high,
                            record[low:high].decode(),
                        )
                    )
                n_rows += len(there)
                before = found.data[max(int(found.ends[-1]) - 2, 0) : int(found.ends[-1])]
                if last == len(wanted):
                    break
        return places


def open_delimited(source: Source, usual: str | None, tick: Tick) -> Delimited:
    """Return the table in a text file, after a look at all its records."""
    layout = find_layout(source, usual)
    names, _ = column_names(layout.names, source.name)
    return Delimited(source, survey(source, layout, tick), names)


def delimited_in_memory(data: bytes, name: str, separator: str) -> Delimited:
    """Return the table in a text that was read before, with the separator that was found then."""
    path = cast("Path", _Memory(data))
    source = Source(path, name, len(data), "text")
    return open_delimited(source, separator, lambda _: None)


class _Memory:
    """What is needed of a path, for bytes in memory."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def open(self, mode: str) -> io.BytesIO:
        del mode
        return io.BytesIO(self._data)


def settled(raw: Series[Any], *, as_text: bool = False) -> Series[Any]:
    """Return a column of texts as the audit reads it: numbers if each text is one."""
    import pandas as pd

    codes, different = pd.factorize(raw)
    values = settle(pd.Series(different, dtype=text_dtype()), as_text=as_text)
    return values.take(codes).set_axis(raw.index)


def field_place(record: bytes, dialect: Dialect, column: int) -> tuple[int, int]:
    """Return where a field begins and ends in a record without its line break.

    Examples
    --------
    >>> field_place(b'a,"b,c",d', Dialect(","), 1)
    (2, 7)
    """
    separator = dialect.separator.encode()
    if b'"' not in record:
        fields = record.split(separator, column + 1)
        start = sum(map(len, fields[:column])) + column
        return start, start + len(fields[column])
    start = 0
    for _ in range(column):
        start = _field_end(record, start, separator, dialect.skip_space) + 1
    return start, _field_end(record, start, separator, dialect.skip_space)


def _field_end(record: bytes, start: int, separator: bytes, skip_space: bool) -> int:
    """Return where a field ends: quotes count only at its start."""
    at = start
    if skip_space:
        while record[at : at + 1] == b" ":
            at += 1
    if record[at : at + 1] == b'"':
        at = _closing(record, at, b'"') + 1
    end = record.find(separator, at)
    return len(record) if end < 0 else end


def _closing(field: Any, opening: int, mark: Any) -> int:
    """Return the place of the quote that closes a field; two in a row are one letter."""
    at = opening + 1
    while True:
        at = field.find(mark, at)
        if at < 0:
            return len(field)
        if field[at + 1 : at + 2] != mark:
            return int(at)
        at += 2


def _line_break(data: bytes) -> int:
    """Return the number of bytes of the line break at the end of a text."""
    if data.endswith(b"\r\n"):
        return 2
    return int(data.endswith((b"\r", b"\n")))


def needs_quotes(label: str, dialect: Dialect) -> bool:
    """Tell whether a label has to stand in quotes."""
    if dialect.skip_space and label[:1] == " ":
        return True
    return any(mark in label for mark in (dialect.separator, '"', "\r", "\n"))


def quoted(label: str) -> str:
    """Return a label in quotes."""
    return '"' + label.replace('"', '""') + '"'


def rewrite(cell: str, label: str, dialect: Dialect, *, is_exact: bool = False) -> Edit:
    """Return the edit of a cell that gives it a new label, in places of the cell.

    Quotes stay, and so does white space around the old value; with `is_exact` only the quotes.

    Examples
    --------
    >>> rewrite('" yes "', "no", Dialect(","))
    Edit(start=2, end=5, text='no')
    """
    lead = len(cell) - len(cell.lstrip(" ")) if dialect.skip_space else 0
    if cell[lead : lead + 1] == '"':
        close = _closing(cell, lead, '"')
        if cell[close + 1 :].strip() or (is_exact and cell[close + 1 :]):
            return Edit(lead, len(cell), quoted(label))  # letters follow the quotes: "a"b
        start, end = _core(cell, lead + 1, close, is_exact)
        return Edit(start, end, label.replace('"', '""'))
    start, end = _core(cell, lead, len(cell), is_exact)
    if needs_quotes(label, dialect):  # which have to be at the very start of the cell
        return Edit(lead, len(cell), quoted(cell[lead:start] + label + cell[end:]))
    return Edit(start, end, label)


def _core(cell: str, start: int, end: int, is_exact: bool) -> tuple[int, int]:
    """Return where a value is without white space around it."""
    value = cell[start:end]
    if is_exact:
        return start, end
    if not value.strip():
        return end, end
    return start + len(value) - len(value.lstrip()), end - len(value) + len(value.rstrip())


def value_of(cell: str, dialect: Dialect) -> str:
    """Return the value of a cell, as Python's csv module reads it."""
    fields = next(dialect.rows(io.StringIO(cell, newline="")), [])
    return fields[0] if fields else ""


def edit_places(
    places: Sequence[Place], edit: Callable[[Place], Edit | None], removed: set[int]
) -> list[Edit]:
    """Return the edits of rows: records that are removed, and new values of cells.

    `edit` returns the edit of a cell in places of the cell, or None. If the last record goes, and
    no line break is behind it, the one before goes too: the file still ends without one.
    """
    edits: list[Edit] = []
    first: Place | None = None  # of the removed records that follow each other
    for place in places:
        if place.row in removed:
            if first is None or not edits or edits[-1].end != place.start:
                first = place
                edits.append(Edit(place.start, place.end, ""))
            else:
                edits[-1] = edits[-1]._replace(end=place.end)
            if not place.has_break:
                edits[-1] = edits[-1]._replace(start=first.start - first.break_before)
        elif (new := edit(place)) is not None:
            first = None
            start, end = (len(place.cell[:it].encode()) for it in new[:2])
            edits.append(Edit(place.cell_start + start, place.cell_start + end, new.text))
        else:
            first = None
    return edits


# -- JSON ------------------------------------------------------------------------------------------


class JsonRow(NamedTuple):
    """An object in a text of JSON, and where it is."""

    place: Place
    value: dict[str, Any]


def json_rows(source: Source, tick: Tick) -> Iterator[JsonRow]:
    """Yield the objects of a text: one a line, one after the other, or in a list."""
    blocks = text(source, tick)
    with closing(blocks):
        first = next(blocks, b"")
        start = first.lstrip()
        line = start.split(b"\n", 1)[0]
        is_spread = start[:1] == b"{" and len(line) < 1 << 20 and _object(line) is None
        if start[:1] == b"[" or is_spread:
            yield from _json_in_text((first + b"".join(blocks)).decode())
        else:
            yield from _json_lines(first, blocks)


def _json_lines(first: bytes, blocks: Iterator[bytes]) -> Iterator[JsonRow]:
    row, offset, rest, before = 0, 0, b"", b""
    for block in _chained(first, blocks):
        *lines, rest = (rest + block).split(b"\n")
        for line in [*(it + b"\n" for it in lines), *([rest] if not block else [])]:
            if (value := _object(line)) is not None:
                broken = _line_break(line)
                record = line[: len(line) - broken].decode()
                yield JsonRow(
                    Place(
                        row,
                        offset,
                        offset + len(line),
                        broken > 0,
                        _line_break(before),
                        offset,
                        offset + len(line) - broken,
                        record,
                    ),
                    value,
                )
                row += 1
            offset, before = offset + len(line), line[-2:]


def _chained(first: bytes, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the blocks, and an empty one at the end."""
    yield first
    yield from (block for block in blocks if block)
    yield b""


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line) if line.strip() else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _json_in_text(whole: str) -> Iterator[JsonRow]:
    """Yield objects in a list, or one after the other.

    The record of an object reaches to the next one. That of the last begins behind the one before,
    so that its comma goes with it.
    """
    opening = len(whole) - len(whole.lstrip())
    at = opening + (whole[opening] == "[")
    decoder = json.JSONDecoder()
    found: list[tuple[int, int, Any]] = []
    while True:
        while at < len(whole) and whole[at] in " \t\r\n,":
            at += 1
        if at >= len(whole) or whole[at] == "]":
            break
        value, end = decoder.raw_decode(whole, at)
        found.append((at, end, value))
        at = end
    row, offset, counted = 0, 0, 0
    for i, (start, end, value) in enumerate(found):
        offset, counted = offset + len(whole[counted:start].encode()), start
        if not isinstance(value, dict):
            continue
        size = len(whole[start:end].encode())
        is_last = i == len(found) - 1
        gap = "" if is_last else whole[end : found[i + 1][0]]
        before = whole[found[i - 1][1] : start] if i else ""
        place = Place(
            row,
            offset,
            offset + size + len(gap.encode()),
            not is_last,
            len(before.encode()),
            offset,
            offset + size,
            whole[start:end],
        )
        row += 1
        yield JsonRow(place, value)


def json_value_place(record: str, key: str) -> tuple[int, int] | None:
    """Return where the value of a key is in an object; None if the object lacks the key.

    Of equal keys the last one counts, as for Python's json module.

    Examples
    --------
    >>> json_value_place('{"a": [1], "b" : 2}', "b")
    (17, 18)
    """
    decoder, found = json.JSONDecoder(), None
    at = record.index("{") + 1
    while True:
        at = _after_space(record, at, ",")
        if record[at] == "}":
            return found
        name, at = decoder.raw_decode(record, at)
        start = _after_space(record, at, ":")
        _, at = decoder.raw_decode(record, start)
        if name == key:
            found = start, at


def _after_space(record: str, at: int, mark: str) -> int:
    while record[at] in " \t\r\n" or record[at] == mark:
        at += 1
    return at


def json_edit(record: str, key: str, value: str) -> Edit:
    """Return the edit of an object that gives a key a new value, which is written as JSON."""
    place = json_value_place(record, key)
    if place is not None:
        return Edit(*place, value)
    end = record.rindex("}")
    behind = len(record[:end].rstrip())
    is_empty = record[:behind].endswith("{")
    space = " " * ('": ' in record)
    comma = "" if is_empty else f",{space}"
    return Edit(behind, behind, f"{comma}{json.dumps(key, ensure_ascii=False)}:{space}{value}")
