"""Tables whose cells have types, written again: workbooks, Parquet and Feather.

Each reader here returns how the values of a column are written, and a function that gives some rows
a new value, leaves out others and returns the bytes of the new file.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
import zipfile
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sorr._typing import BoolArray
from sorr.auditing.table.files import Source
from sorr.auditing.table.values import TableError, column_names, listed, quote, spell
from sorr.auditing.table.workbooks import chosen_sheet, names_in_sheet

if TYPE_CHECKING:
    from pandas import DataFrame

INSTALL_EXCEL = 'pip install "sorr[excel]"'
_HARMLESS = re.compile(
    r"xl/(calcChain|sharedStrings)\.xml|.*\.rels|docProps/.*|.*/printerSettings.*"
)


class Written(NamedTuple):
    """A value as it is written in cells of a column, and in how many."""

    text: str
    value: Any
    times: int


def counted(values: Iterable[Any]) -> list[Written]:
    """Return how often each value occurs. Numbers and truth values that are equal differ."""
    counts: Counter[tuple[str, type]] = Counter()
    first: dict[tuple[str, type], Any] = {}
    for value in values:
        if value is not None:
            key = spell(value), type(value)
            counts[key] += 1
            first.setdefault(key, value)
    return [Written(key[0], first[key], count) for key, count in counts.items()]


# -- Workbooks -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sheet:
    """The sheet of a workbook that holds the table, and where its columns are."""

    source: Source
    name: str
    first_column: int
    """The number of the first column of the table in the sheet, from 1."""
    names: list[str]
    data: bytes = field(repr=False)

    def column(self, name: str) -> int:
        """Return the number of a column in the sheet, from 1."""
        return self.first_column + self.names.index(name)


def book_kind(data: bytes) -> str:
    """Return the ending that a workbook should have."""
    if not data.startswith(b"PK"):
        return ".xls"
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = set(archive.namelist())
    if "content.xml" in names:
        return ".ods"
    if "xl/workbook.bin" in names:
        return ".xlsb"
    return ".xlsm" if "xl/vbaProject.bin" in names else ".xlsx"


def find_sheet(source: Source, data: bytes, asked: str | int | None) -> Sheet:
    """Return the sheet of a workbook that was read before."""
    import python_calamine as calamine

    with calamine.CalamineWorkbook.from_filelike(io.BytesIO(data)) as book:
        page = chosen_sheet(source, book, asked)
        _, written, _ = names_in_sheet(source, page)
        names, _ = column_names(written, source.name)
        return Sheet(source, page.name, page.start[1] + 1, names, data)


class Excel:
    """A workbook of Excel, changed by openpyxl."""

    def __init__(self, sheet: Sheet, lines: Sequence[int], target: str) -> None:
        openpyxl = _package("openpyxl", sheet.source.name)
        self._sheet = sheet
        self._lines = [int(line) for line in lines]
        self._column = sheet.column(target)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            self._book = openpyxl.load_workbook(
                io.BytesIO(sheet.data), keep_vba=book_kind(sheet.data) == ".xlsm", rich_text=True
            )
        self.notes = [f"{str(it.message).rstrip('.')}." for it in told]
        self._page = self._book[sheet.name]

    def written(self) -> list[Written]:
        """Return the values of the target."""
        cells = (self._page.cell(line, self._column) for line in self._lines)
        return counted(
            str(cell.value) if type(cell.value).__name__ == "CellRichText" else cell.value
            for cell in cells
            if cell.data_type != "f"
        )

    def corrected(self, new: Mapping[int, Any], removed: set[int]) -> bytes:
        """Return the workbook with new values of rows, and without others."""
        for row, value in new.items():
            cell = self._page.cell(self._lines[row], self._column)
            if type(cell).__name__ == "MergedCell":
                raise TableError(
                    f"{quote(self._sheet.source.name)}: the cell {cell.coordinate} is merged with "
                    "others; separate them in the workbook first"
                )
            cell.value = value
            if isinstance(value, str):
                cell.data_type = "s"  # a label that begins with = is no formula
        if removed:
            self._remove({self._lines[row] for row in removed})
            page = self._page
            if page.conditional_formatting or page.data_validations.dataValidation or page._charts:  # noqa: SLF001
                self.notes.append(
                    "Conditional formats, lists of allowed values and charts were not adjusted to "
                    "rows that moved up."
                )
        has_formulas = any(
            cell.data_type == "f"
            for page in self._book.worksheets
            for row in page.iter_rows()
            for cell in row
        )
        if has_formulas:
            adjusted = " They were not adjusted to rows that moved up." * bool(removed)
            self.notes.append(
                "The workbook has formulas, whose results are missing until it is opened and saved "
                f"in Excel or LibreOffice. Do that before you audit it again.{adjusted}"
            )
        buffer = io.BytesIO()
        self._book.save(buffer)
        self.notes += _lost(self._sheet.data, buffer.getvalue())
        return buffer.getvalue()

    def _remove(self, lines: set[int]) -> None:
        """Move the cells, heights and merged cells below rows up at once.

        openpyxl removes one row at a time, and takes minutes for a thousand of them.
        """
        page, gone = self._page, sorted(lines)

        def moved(line: int) -> int:
            return line - bisect_left(gone, line)

        merged = [it for it in page.merged_cells.ranges if it.max_row >= gone[0]]
        for area in merged:
            page.unmerge_cells(str(area))
        cells = page._cells  # noqa: SLF001 - there is no other way to move cells at once
        kept = {place: cell for place, cell in cells.items() if place[0] not in lines}
        cells.clear()
        for (line, column), cell in kept.items():
            cell.row = moved(line)
            cells[cell.row, column] = cell
        heights = {line: it for line, it in page.row_dimensions.items() if line not in lines}
        page.row_dimensions.clear()
        for line, it in heights.items():
            it.index = moved(line)
            page.row_dimensions[it.index] = it
        for area in merged:
            whole = {*range(area.min_row, area.max_row + 1)}
            left = sorted(whole - lines)
            if left and (len(left) > 1 or area.min_col < area.max_col):
                page.merge_cells(
                    start_row=moved(left[0]),
                    end_row=moved(left[-1]),
                    start_column=area.min_col,
                    end_column=area.max_col,
                )
        for table in page.tables.values():
            table.ref = _moved_area(table.ref, moved, lines)
            if table.autoFilter is not None and table.autoFilter.ref:
                table.autoFilter.ref = _moved_area(table.autoFilter.ref, moved, lines)
        if page.auto_filter.ref:
            page.auto_filter.ref = _moved_area(page.auto_filter.ref, moved, lines)


def _moved_area(area: str, moved: Any, lines: set[int]) -> str:
    """Return the reference of an area of which rows were removed."""
    from openpyxl.utils import get_column_letter, range_boundaries

    left, top, right, bottom = range_boundaries(area)
    while bottom in lines and bottom > top:
        bottom -= 1
    return f"{get_column_letter(left)}{moved(top)}:{get_column_letter(right)}{moved(bottom)}"


def _lost(before: bytes, after: bytes) -> list[str]:
    """Return a note on the parts of a workbook that openpyxl did not write again."""
    kinds = []
    for data in (before, after):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [it for it in archive.namelist() if not _HARMLESS.fullmatch(it)]
        kinds.append({re.sub(r"\d*\.\w+$", "", it.removeprefix("xl/")) for it in names})
    lost = sorted(kinds[0] - kinds[1])
    if not lost:
        return []
    return [
        "Values, formulas and styles were kept, but openpyxl does not know some parts of the "
        f"workbook, and they are gone: {listed(lost)}."
    ]


def _package(name: str, file: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        package = "odfpy" if name.startswith("odf") else name
        raise TableError(
            f"{quote(file)} is written by {package}, which is not installed: {INSTALL_EXCEL}"
        ) from error


# -- OpenDocument ----------------------------------------------------------------------------------

_OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
_TABLE = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"
_TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
_VALUES = ("value-type", "value", "boolean-value", "date-value", "time-value", "string-value")


class OpenDocument:
    """A workbook of LibreOffice, changed by odfpy. Rows and cells may stand for several."""

    def __init__(self, sheet: Sheet, lines: Sequence[int], target: str) -> None:
        opendocument = _package("odf.opendocument", sheet.source.name)
        self.notes: list[str] = []
        self._lines = [int(line) for line in lines]
        self._column = sheet.column(target)
        self._document = opendocument.load(io.BytesIO(sheet.data))
        pages = [
            it
            for it in _descendants(self._document.spreadsheet, _TABLE, "table")
            if it.attributes.get((_TABLE, "name")) == sheet.name
        ]
        self._rows = list(_descendants(pages[0], _TABLE, "table-row"))

    def written(self) -> list[Written]:
        """Return the values of the target, with a copy of a cell that has each."""
        found: dict[tuple[str, Any], list[Any]] = {}
        elements, wanted = self._by_line(), set(self._lines)
        for line in wanted:
            cell = self._cell(elements[line])
            if cell is None or not cell.attributes.get((_OFFICE, "value-type")):
                continue
            value = _opendocument_value(cell)
            entry = found.setdefault((spell(value), type(value)), [cell, 0])
            entry[1] += 1
        return [Written(text, _clone(cell), count) for (text, _), (cell, count) in found.items()]

    def corrected(self, new: Mapping[int, Any], removed: set[int]) -> bytes:
        """Return the workbook with new values of rows, and without others."""
        values = {self._lines[row]: value for row, value in new.items()}
        gone = {self._lines[row] for row in removed}
        self._split(set(values) | gone)
        elements = self._by_line()
        for line, value in values.items():
            cell = self._cell(elements[line], alone=True)
            if cell is None:
                raise TableError(f"row {line} of the sheet has no cell for the target")
            _set_value(cell, value)
        gone_rows = {id(elements[line]) for line in gone}
        for parent in {id(it): it for it in (elements[line].parentNode for line in gone)}.values():
            parent.childNodes[:] = [it for it in parent.childNodes if id(it) not in gone_rows]
        if gone:
            self.notes.append("Formulas were not adjusted to rows that moved up.")
        buffer = io.BytesIO()
        self._document.write(buffer)
        return buffer.getvalue()

    def _by_line(self) -> dict[int, Any]:
        """Return the element of each line of the table."""
        found, line, last = {}, 1, max(self._lines)
        for row in self._rows:
            times = _times(row, "number-rows-repeated")
            for at in range(line, min(line + times, last + 1)):
                found[at] = row
            line += times
        return found

    def _split(self, lines: set[int]) -> None:
        """Give lines that are to change an element of their own."""
        line, rows = 1, []
        for row in self._rows:
            times = _times(row, "number-rows-repeated")
            cuts = sorted(it for it in lines if line <= it < line + times)
            if times > 1 and cuts:
                parts, at = [], line
                for cut in cuts:
                    parts += [cut - at, 1]
                    at = cut + 1
                parts.append(line + times - at)
                rows += _apart(row, parts, "number-rows-repeated")
            else:
                rows.append(row)
            line += times
        self._rows = rows

    def _cell(self, row: Any, *, alone: bool = False) -> Any:
        """Return the cell of the target in a row, or one that stands for it and others."""
        column = 1
        for cell in list(row.childNodes):
            if getattr(cell, "qname", ("", ""))[1] not in ("table-cell", "covered-table-cell"):
                continue
            times = _times(cell, "number-columns-repeated")
            if column <= self._column < column + times:
                if times == 1 or not alone:
                    return cell
                before = self._column - column
                parts = [before, 1, times - before - 1]
                return _apart(cell, parts, "number-columns-repeated")[1 if before else 0]
            column += times
        return None


def _descendants(node: Any, space: str, name: str) -> Iterator[Any]:
    for child in node.childNodes:
        if getattr(child, "qname", None) == (space, name):
            yield child
        elif hasattr(child, "childNodes"):
            yield from _descendants(child, space, name)


def _times(element: Any, name: str) -> int:
    return int(element.attributes.get((_TABLE, name), 1))


def _apart(element: Any, parts: Sequence[int], name: str) -> list[Any]:
    """Put several elements at the place of one that stands for several; return those.

    The lists of children are changed themselves: odfpy keeps other lists beside them, in which it
    does not find elements that were inserted, and of which writing needs none.
    """
    found = []
    for times in filter(None, parts):
        again = _clone(element)
        again.attributes.pop((_TABLE, name), None)
        if times > 1:
            again.attributes[_TABLE, name] = str(times)
        again.parentNode = element.parentNode
        found.append(again)
    siblings = element.parentNode.childNodes
    at = siblings.index(element)
    siblings[at : at + 1] = found
    return found


def _clone(node: Any) -> Any:
    from odf.element import Element, Text

    if not hasattr(node, "qname"):
        return Text(node.data)
    again = Element(qname=node.qname, qattributes=dict(node.attributes), check_grammar=False)
    for child in node.childNodes:
        again.appendChild(_clone(child))
    return again


def _opendocument_value(cell: Any) -> Any:
    attributes = {name: value for (_, name), value in cell.attributes.items()}
    kind = attributes["value-type"]
    if kind in ("float", "percentage", "currency"):
        return float(attributes["value"])
    if kind == "boolean":
        return attributes["boolean-value"] == "true"
    if kind == "string" and "string-value" not in attributes:
        return "\n".join(map(_text_in, _descendants(cell, _TEXT, "p")))
    return next((attributes[it] for it in _VALUES[3:] if it in attributes), "")


def _text_in(node: Any) -> str:
    if not hasattr(node, "qname"):
        return str(node.data)
    if node.qname == (_TEXT, "s"):
        return " " * int(node.attributes.get((_TEXT, "c"), 1))
    return "".join(map(_text_in, node.childNodes))


def _set_value(cell: Any, value: Any) -> None:
    """Give a cell the value of another cell, or a text or number."""
    from odf.element import Element, Text

    for name in _VALUES:
        cell.attributes.pop((_OFFICE, name), None)
    cell.attributes.pop((_TABLE, "formula"), None)
    for space, name in [it for it in cell.attributes if it[1] == "value-type"]:
        del cell.attributes[space, name]  # LibreOffice stores it twice
    cell.childNodes[:] = [
        it for it in cell.childNodes if getattr(it, "qname", None) != (_TEXT, "p")
    ]
    if hasattr(value, "qname"):
        for (space, name), it in value.attributes.items():
            if name in _VALUES:
                cell.attributes[space, name] = it
        for child in value.childNodes:
            if getattr(child, "qname", None) == (_TEXT, "p"):
                cell.appendChild(_clone(child))
        return
    is_number = isinstance(value, int | float)
    cell.attributes[_OFFICE, "value-type"] = "float" if is_number else "string"
    if is_number:
        cell.attributes[_OFFICE, "value"] = repr(value)
    shown = Element(qname=(_TEXT, "p"), check_grammar=False)
    shown.appendChild(Text(str(value)))
    cell.appendChild(shown)


# -- Parquet and Feather ---------------------------------------------------------------------------


class Arrow:
    """A Parquet or Feather file, written again by pyarrow with the same types and packing."""

    def __init__(self, source: Source, data: bytes, column: int) -> None:
        import pyarrow as pa
        from pyarrow import feather, ipc
        from pyarrow import parquet as pq

        self.notes: list[str] = []
        self._source, self._data, self._column = source, data, column
        buffer = pa.BufferReader(data)
        self._is_stream = data.startswith(b"\xff\xff\xff\xff")
        if source.kind == "parquet":
            self._table = pq.ParquetFile(buffer).read()
        elif self._is_stream:
            self._table = ipc.open_stream(buffer).read_all()
        else:
            self._table = feather.read_table(buffer)

    def written(self) -> list[Written]:
        """Return the values of the target."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = self._table.column(self._column)
        if pa.types.is_nested(column.type):
            raise TableError("the target holds lists or structures; needed labels or numbers")
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        found = pc.value_counts(column.combine_chunks()).to_pylist()
        return [
            Written(spell(it["values"]), it["values"], it["counts"])
            for it in found
            if it["values"] is not None
        ]

    def corrected(self, new: Mapping[int, Any], removed: set[int]) -> bytes:
        """Return the file with new values of rows, and without others."""
        import pyarrow as pa

        table = self._table
        if new:
            at, kind = self._column, table.schema.field(self._column)
            table = table.set_column(at, kind, self._replaced(table.column(at), new))
        sizes = self._group_sizes(len(table))
        if removed:
            keep = np.ones(len(table), dtype=bool)
            keep[list(removed)] = False
            sizes = [int(it.sum()) for it in np.split(keep, np.cumsum(sizes)[:-1])]
            table = table.filter(pa.array(keep))
        return (
            self._parquet(table, sizes) if self._source.kind == "parquet" else self._feather(table)
        )

    def _replaced(self, column: Any, new: Mapping[int, Any]) -> Any:
        """Return a column of the same type with new values."""
        import pyarrow as pa
        import pyarrow.compute as pc

        order = sorted(new)
        mask = np.zeros(len(column), dtype=bool)
        mask[order] = True
        values = [new[row] for row in order]
        kind = column.type
        try:
            if pa.types.is_dictionary(kind):
                whole = column.unify_dictionaries().combine_chunks()
                codes = {it: i for i, it in enumerate(whole.dictionary.to_pylist())}
                indices = pa.array([codes[it] for it in values], kind.index_type)
                indices = pc.replace_with_mask(whole.indices, pa.array(mask), indices)
                return pa.DictionaryArray.from_arrays(
                    indices, whole.dictionary, ordered=kind.ordered
                )
            return pc.replace_with_mask(
                column.combine_chunks(), pa.array(mask), _array(values, kind)
            )
        except (pa.ArrowException, KeyError, OverflowError) as error:
            raise TableError(
                f"the target of {quote(self._source.name)} has the type {kind}, which cannot hold "
                f"all new values ({quote(error, 60)}); give values of this type, or change the "
                "type of the column first"
            ) from error

    def _group_sizes(self, n_rows: int) -> list[int]:
        from pyarrow import BufferReader
        from pyarrow import parquet as pq

        if self._source.kind != "parquet":
            return [n_rows]
        found = pq.ParquetFile(BufferReader(self._data)).metadata
        return [found.row_group(i).num_rows for i in range(found.num_row_groups)]

    def _parquet(self, table: Any, sizes: Sequence[int]) -> bytes:
        """Return a Parquet file with the groups, packing and metadata of the one that was read."""
        import pyarrow as pa
        from pyarrow import parquet as pq

        before = pq.ParquetFile(pa.BufferReader(self._data))
        group = before.metadata.row_group(0)
        columns = [group.column(i) for i in range(group.num_columns)]
        packing = {it.path_in_schema: _codec(it.compression) for it in columns}
        repeated = [
            it.path_in_schema
            for it in columns
            if {"RLE_DICTIONARY", "PLAIN_DICTIONARY"}.intersection(it.encodings)
        ]
        sink = pa.BufferOutputStream()
        with pq.ParquetWriter(
            sink,
            before.schema_arrow,
            compression=packing,
            use_dictionary=repeated or False,
            version=before.metadata.format_version,
            store_schema=b"ARROW:schema" in (before.metadata.metadata or {}),
        ) as writer:
            start = 0
            for size in sizes:
                if size:
                    writer.write_table(table.slice(start, size), row_group_size=size)
                start += size
        return bytes(sink.getvalue())

    def _feather(self, table: Any) -> bytes:
        import pyarrow as pa
        from pyarrow import feather, ipc

        sink = pa.BufferOutputStream()
        if self._data.startswith(b"FEA1"):
            feather.write_feather(table, sink, version=1)
            return bytes(sink.getvalue())
        options = ipc.IpcWriteOptions(compression=_arrow_codec(self._data))
        opened = ipc.new_stream if self._is_stream else ipc.new_file
        with opened(sink, table.schema, options=options) as writer:
            writer.write_table(table)
        return bytes(sink.getvalue())


def _array(values: Sequence[Any], kind: Any) -> Any:
    """Return values as an array of a type, or raise an error if it cannot hold them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not all(isinstance(it, int | float) for it in values):
        return pa.array(values, kind)
    found = pa.array(values).cast(kind)  # pa.array would cut 7.5 to 7
    if pa.types.is_floating(kind) and not pc.all(pc.is_finite(found)).as_py():
        raise OverflowError("a number is too large")
    return found


def _codec(name: str) -> str:
    return "none" if name == "UNCOMPRESSED" else name.lower()


def _arrow_codec(data: bytes) -> str | None:
    """Return how the columns of an Arrow file are packed, by the marks that frames begin with.

    A packed column begins at a multiple of eight bytes with its size, and a frame behind it.
    """
    words = np.frombuffer(data, np.uint32, len(data) // 8 * 2)[::2]
    if (words == 0x184D2204).any():
        return "lz4"
    return "zstd" if (words == 0xFD2FB528).any() else None


# -- Values alone ----------------------------------------------------------------------------------


def frame_records(frame: DataFrame, keep: BoolArray | None = None) -> Iterator[bytes]:
    """Yield the names and rows of a frame as records of CSV in UTF-8, values as they are."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")

    def record(cells: Iterable[str]) -> bytes:
        buffer.seek(0)
        buffer.truncate()
        writer.writerow(cells)
        return buffer.getvalue().encode(errors="replace")

    yield record(map(str, frame.columns))
    columns = [_texts(frame.iloc[:, i]) for i in range(frame.shape[1])]
    for i, cells in enumerate(zip(*columns, strict=True)):
        if keep is None or keep[i]:
            yield record(cells)


def _texts(column: Any) -> list[str]:
    missing = column.isna().to_numpy()
    values = column.astype(object).to_numpy()
    return ["" if gone else spell(it) for it, gone in zip(values, missing, strict=True)]


def frame_as_workbook(frame: DataFrame, sheet: str, file: str) -> bytes:
    """Return a new workbook with the values of a frame."""
    openpyxl = _package("openpyxl", file)
    book = openpyxl.Workbook()
    page = book.active
    page.title = sheet
    rows: list[list[Any]] = [list(map(str, frame.columns))]
    missing = frame.isna().to_numpy()
    for i, row in enumerate(frame.astype(object).itertuples(index=False)):
        rows.append([None if gone else it for it, gone in zip(row, missing[i], strict=True)])
    for i, cells in enumerate(rows, start=1):
        for j, value in enumerate(cells, start=1):
            if value is None:
                continue
            cell = page.cell(i, j)
            cell.value = value.to_pydatetime() if hasattr(value, "to_pydatetime") else value
            if isinstance(value, str):
                cell.data_type = "s"  # text that begins with = is no formula
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()
