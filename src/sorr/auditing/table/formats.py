"""Tables whose values have types: Parquet, Feather, and JSON."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sorr._typing import IntArray
from sorr.auditing.table.files import (
    Source,
    Tick,
    bytes_per_row,
    check_memory,
    encoding_notes,
    text,
)
from sorr.auditing.table.scan import LONGEST
from sorr.auditing.table.text import Pass, aside_note
from sorr.auditing.table.values import (
    MISSING,
    Seal,
    SetAside,
    Table,
    TableError,
    chosen_rows,
    column_names,
    column_of,
    known_columns,
    listed,
    quote,
    text_dtype,
)

if TYPE_CHECKING:
    from pandas import DataFrame

# -- Parquet and Feather ---------------------------------------------------------------------------

_BATCH = 1 << 16  # rows that are decoded at once


def read_parquet(
    source: Source,
    text_columns: Iterable[str],
    n_rows: int | None,
    random_state: Any,
    tick: Tick,
) -> Table:
    """Return the table in a Parquet file, with the types that the file declares."""
    pa = _pyarrow(source)
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(source.path) as file:
            n_there = file.metadata.num_rows
            groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
            stored = sum(group.total_byte_size for group in groups) / max(n_there, 1)
            plan = _plan(
                source, file.schema_arrow, n_there, stored, text_columns, n_rows, random_state
            )
            batches = None if len(plan.rows) == n_there else file.iter_batches(_BATCH)
            table = file.read() if batches is None else _taken(batches, plan, source, tick)
        return _arrow_table(source, table, plan, tick)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(source, "Parquet", error) from error


def read_feather(
    source: Source,
    text_columns: Iterable[str],
    n_rows: int | None,
    random_state: Any,
    tick: Tick,
) -> Table:
    """Return the table in a Feather or Arrow file, with the types that the file declares."""
    pa = _pyarrow(source)
    from pyarrow import feather, ipc

    try:
        with source.path.open("rb") as head:
            is_stream = head.read(4) == b"\xff\xff\xff\xff"
        if is_stream:
            with pa.memory_map(str(source.path)) as file, ipc.open_stream(file) as stream:
                table = stream.read_all()
        else:
            table = feather.read_table(source.path, memory_map=True)
        stored = table.nbytes / max(len(table), 1)
        plan = _plan(source, table.schema, len(table), stored, text_columns, n_rows, random_state)
        if len(plan.rows) < len(table):
            table = _taken(table.to_batches(_BATCH), plan, source, tick)
        return _arrow_table(source, table, plan, tick)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(source, "Feather", error) from error


def _pyarrow(source: Source) -> Any:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise TableError(
            f"{quote(source.name)} needs pyarrow, which is not installed: "
            'pip install "sorr[parquet]"'
        ) from error
    return pa


def _damaged(source: Source, kind: str, error: Exception) -> TableError:
    return TableError(
        f"{quote(source.name)} is not a {kind} file, or is damaged ({quote(error, 80)}); "
        "write or download it again"
    )


class _Plan(NamedTuple):
    """What will be read of a file: the names of its columns, and the rows."""

    schema: Any
    names: list[str]
    as_text: list[str]
    n_there: int
    rows: IntArray
    notes: list[str]


def _plan(
    source: Source,
    schema: Any,
    n_there: int,
    stored: float,
    text_columns: Iterable[str],
    n_rows: int | None,
    random_state: Any,
) -> _Plan:
    import pyarrow as pa

    names, notes = column_names(schema.names, source.name)
    as_text = known_columns(text_columns, names, source.name)
    if not names or not n_there:
        raise TableError(f"{quote(source.name)} has no rows")
    rows, sampled = chosen_rows(n_there, n_rows, random_state)
    is_number = [pa.types.is_primitive(it) for it in schema.types]
    n_texts = is_number.count(False)
    row_bytes = bytes_per_row(is_number.count(True), [stored / max(n_texts, 1)] * n_texts)
    check_memory(source.name, len(rows), row_bytes)
    return _Plan(schema, names, as_text, n_there, rows, [*sampled, *notes])


def _taken(batches: Iterable[Any], plan: _Plan, source: Source, tick: Tick) -> Any:
    """Return some rows of a file, decoded batch by batch."""
    import pyarrow as pa

    parts, done = [], 0
    for batch in batches:
        start, end = np.searchsorted(plan.rows, [done, done + len(batch)])
        if end > start:
            parts.append(batch.take(pa.array(plan.rows[start:end] - done)))
        done += len(batch)
        tick(int(done / plan.n_there * source.size))
    return pa.Table.from_batches(parts, plan.schema)


def _arrow_table(source: Source, table: Any, plan: _Plan, tick: Tick) -> Table:
    import pandas as pd
    import pyarrow as pa

    tick(source.size)
    kinds = zip(plan.names, table.schema.types, strict=True)
    odd = [name for name, kind in kinds if pa.types.is_nested(kind) or _is_binary(kind)]
    notes = list(plan.notes)
    if odd:
        notes.append(f"Lists, structures or bytes were read as text: {listed(odd)}.")
    is_text = [name in set(plan.as_text) for name in plan.names]
    with ThreadPoolExecutor() as pool:  # pyarrow lets go of the interpreter
        columns = list(pool.map(_column, table.columns, is_text))
    frame = pd.DataFrame(dict(zip(plan.names, columns, strict=True)), copy=False)
    mark = Seal.of_file(source.path).fingerprint(plan.n_there, len(plan.names))
    return Table(frame, plan.rows, None, plan.n_there, tuple(notes), source.name, fingerprint=mark)


def _is_binary(kind: Any) -> bool:
    from pyarrow import types

    return bool(
        types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    )


def _is_string(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def _column(column: Any, as_text: bool) -> Any:
    """Return a column for pandas: numbers, dates or text, never a mixture."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if types.is_null(kind) or (types.is_decimal(kind) and not as_text):
        column = column.cast(pa.float64())
    elif types.is_date(kind) and not as_text:
        column = column.cast(pa.timestamp("ms"))
    elif types.is_integer(kind) and not as_text:
        column = _whole(column)
    elif types.is_floating(kind) and not as_text:
        column = column.cast(pa.float64())
    elif types.is_timestamp(kind) and kind.tz is not None:
        column = pc.local_timestamp(column)
    kind = column.type
    is_typed = types.is_integer(kind) or types.is_floating(kind) or types.is_timestamp(kind)
    if is_typed and not as_text:
        return column.to_pandas()
    if not (is_typed or types.is_date(kind) or _is_string(kind)):
        cells = [str(it) if isinstance(it, bool) else it for it in column.to_pylist()]
        return column_of(cells, as_text=True)
    column = column.cast(pa.large_string())  # whole numbers stay whole beside missing ones
    is_mark = pc.is_in(column, pa.array(MISSING, pa.large_string()))
    if pc.any(is_mark).as_py():
        column = pc.if_else(is_mark, pa.scalar(None, pa.large_string()), column)
    values = column.to_pandas().astype(text_dtype())
    return values.where(values.notna()) if values.dtype == object else values


def _whole(column: Any) -> Any:
    """Return whole numbers as int64, as floats beside missing ones, or as text if neither fits."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        if not column.null_count:
            return column.cast(pa.int64())
        return column.cast(pa.float64())  # refused for numbers that are not exact
    except pa.ArrowInvalid:
        return pc.cast(column, pa.large_string())


# -- JSON: one object a line, or one list of objects -----------------------------------------------


class _Row(NamedTuple):
    """An object in a text, or None and the text that is none."""

    line: int
    value: dict[str, Any] | None
    text: str = ""


def read_json(
    source: Source,
    text_columns: Iterable[str],
    n_rows: int | None,
    random_state: Any,
    begin: Pass,
) -> Table:
    """Return the table in a file of JSON: one object a line, or one list of objects.

    Lines are read by Python's json module. pandas would turn texts into dates, and whole numbers
    that are codes into floats.
    """
    picked: IntArray | None = None
    sampled: list[str] = []
    n_there, keys = 0, set[str]()
    if n_rows is not None:
        for row in _objects(source, begin(0)):
            n_there += row.value is not None
            keys.update(row.value or ())
        rows, sampled = chosen_rows(n_there, n_rows, random_state)
        picked = rows if sampled else None
    cells: dict[str, list[Any]] = {}
    lines: list[int] = []
    aside: list[SetAside] = []
    n_there, at, seal = 0, 0, Seal()
    with closing(_objects(source, begin(1), seal)) as found:
        for row in found:
            if row.value is None:
                aside.append(SetAside(row.line, 0, row.text))
                if len(aside) > 100_000:
                    break
                continue
            n_there += 1
            if picked is not None:
                if at == len(picked) or picked[at] != n_there - 1:
                    continue
                at += 1
            _add(row.value, cells, len(lines))
            lines.append(row.line)
            if len(lines) % _BATCH == 0:
                check_memory(source.name, len(lines), _row_bytes(cells))
    if len(aside) * 100 > n_there + len(aside):
        shown = ", ".join(f"line {it.line} ({quote(it.text, 60)})" for it in aside[:3])
        raise TableError(
            f"{quote(source.name)}: {len(aside):,} of {n_there + len(aside):,} lines are no JSON "
            f'objects: {shown}; needed one object a line, such as {{"x": 1}}, or one list of '
            "objects"
        )
    if not n_there or not cells:
        raise TableError(f"{quote(source.name)} has no rows")
    names, notes = column_names(list(cells), source.name)
    as_text = set(known_columns(text_columns, names, source.name))
    check_memory(source.name, len(lines), _row_bytes(cells))
    frame = _frame(cells, names, as_text, len(lines))
    verb = "is no JSON object" if len(aside) == 1 else "are no JSON objects"
    told = [*sampled, *encoding_notes(source), *aside_note(aside, n_there, verb), *notes]
    every = np.arange(n_there, dtype=np.int64) if picked is None else picked
    places = np.array(lines, dtype=np.int64)
    mark = seal.fingerprint(n_there, len(keys) or len(names))
    return Table(
        frame, every, places, n_there, tuple(told), source.name, tuple(aside), fingerprint=mark
    )


def _frame(cells: dict[str, list[Any]], names: list[str], as_text: set[str], n: int) -> DataFrame:
    import pandas as pd

    columns = {}
    for name, key in zip(names, list(cells), strict=True):
        values = cells.pop(key)
        values += [None] * (n - len(values))
        columns[name] = column_of(values, as_text=name in as_text)
    return pd.DataFrame(columns, copy=False)


def _add(row: dict[str, Any], cells: dict[str, list[Any]], n: int) -> None:
    """Append the values of a row to the columns. Truth values are text, as they are written."""
    for key, value in row.items():
        column = cells.get(key)
        if column is None:
            column = cells[key] = []
        if len(column) < n:
            column += [None] * (n - len(column))
        if value is True or value is False:
            value = "true" if value else "false"
        column.append(value)


def _row_bytes(cells: dict[str, list[Any]]) -> float:
    is_text = [any(isinstance(it, str) for it in column[:100]) for column in cells.values()]
    widths = [
        sum(len(str(it)) for it in column[:100]) / max(len(column[:100]), 1)
        for column, is_one in zip(cells.values(), is_text, strict=True)
        if is_one
    ]
    return bytes_per_row(is_text.count(False), widths)


def _objects(source: Source, tick: Tick, seal: Seal | None = None) -> Generator[_Row, None, None]:
    """Yield the objects of a text."""
    blocks: Iterator[bytes] = text(source, tick)
    if seal is not None:
        blocks = seal.watch(blocks)
    first = next(blocks, b"")
    is_list = first.lstrip()[:1] == b"["
    is_spread = first.lstrip()[:1] == b"{" and not _is_object(first.lstrip().split(b"\n", 1)[0])
    if is_list or is_spread:
        check_memory(source.name, 1, 10.0 * source.size)
        yield from _listed(source, (first + b"".join(blocks)).decode())
        return
    line, rest = 0, b""
    for block in _chained(first, blocks):
        *lines, rest = (rest + block).split(b"\n")
        if len(rest) > LONGEST:
            raise TableError(
                f"line {line + len(lines) + 1} of {quote(source.name)} is longer than {LONGEST:,} "
                "bytes; needed one object a line"
            )
        for record in lines:
            line += 1
            if record.strip():
                yield _row(line, record)
    if rest.strip():
        yield _row(line + 1, rest)


def _chained(first: bytes, blocks: Iterable[bytes]) -> Iterator[bytes]:
    yield first
    yield from blocks


def _is_object(record: bytes) -> bool:
    return len(record) >= LONGEST // 16 or _row(1, record).value is not None


def _row(line: int, record: bytes) -> _Row:
    try:
        value = json.loads(record)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return _Row(line, value)
    return _Row(line, None, record[:800].decode(errors="replace").rstrip("\r")[:200])


def _listed(source: Source, text: str) -> Iterator[_Row]:
    """Yield the objects of a list, or objects that take several lines each."""
    decoder, at, line, counted = json.JSONDecoder(), 0, 1, 0
    opening = len(text) - len(text.lstrip())
    at = opening + (text[opening] == "[")
    while True:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        if at >= len(text) or text[at] == "]":
            return
        line, counted = line + text.count("\n", counted, at), at
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise TableError(
                f"{quote(source.name)} is no valid JSON: {quote(text[at : at + 60], 60)} in line "
                f"{line} does not end as a value should; needed one object a line, or a list of "
                "objects"
            ) from error
        at = end
        yield _Row(line, value if isinstance(value, dict) else None, text[counted:end][:200])
