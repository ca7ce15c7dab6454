"""Tables as Parquet files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from sorr._typing import IntArray
from sorr.auditing.table.frame import Table, chosen_rows, column_names, known_columns
from sorr.auditing.table.memory import bytes_per_row, check_memory
from sorr.auditing.table.opening import Source, Tick
from sorr.auditing.table.problems import TableError, listed, shown

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["read_parquet"]

_BATCH = 1 << 16  # rows that are decoded at once


def read_parquet(
    source: Source,
    text_columns: Iterable[str],
    n_rows: int | None,
    random_state: Any,
    tick: Tick,
) -> Table:
    """Return the table in a Parquet file; values are of the types that the file says they are."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise TableError(
            f"{shown(source.name)} is read by pyarrow, which is not there: "
            'pip install "sorr[parquet]"'
        ) from error
    try:
        with pq.ParquetFile(source.path) as file:
            names, notes = column_names(file.schema_arrow.names, source.name)
            as_text = set(known_columns(text_columns, names, source.name))
            if not names or not file.metadata.num_rows:
                raise TableError(f"{shown(source.name)} has no rows; needed rows to learn from")
            n_there = file.metadata.num_rows
            rows, sampled = chosen_rows(n_there, n_rows, random_state)
            check_memory(source.name, len(rows), _row_bytes(file))
            table = _taken(file, rows, lambda share: tick(int(share * source.size)))
        odd = [
            name
            for name, kind in zip(names, table.schema.types, strict=True)
            if pa.types.is_nested(kind) or _is_binary(kind)
        ]
        columns = {
            name: _column(column, name in as_text or name in odd)
            for name, column in zip(names, table.columns, strict=True)
        }
    except (pa.ArrowException, OSError) as error:
        raise TableError(
            f"{shown(source.name)} is no Parquet file, or a damaged one ({shown(error, 80)}); "
            "write or fetch it again"
        ) from error
    if odd:
        notes.append(f"Lists, structures or bytes were read as text: {listed(odd)}.")
    return Table(_frame(columns), rows, None, n_there, (*sampled, *notes), source.name)


def _frame(columns: dict[str, Any]) -> DataFrame:
    import pandas as pd

    return pd.DataFrame(columns, copy=False)


def _row_bytes(file: Any) -> float:
    """Return what an audit takes for a row, from the types of columns and the bytes stored."""
    import pyarrow as pa

    types = file.schema_arrow.types
    is_number = [pa.types.is_primitive(it) for it in types]
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    stored = sum(group.total_byte_size for group in groups) / file.metadata.num_rows
    n_texts = is_number.count(False)
    return bytes_per_row(is_number.count(True), [stored / max(n_texts, 1)] * n_texts)


def _taken(file: Any, rows: IntArray, tell: Any) -> Any:
    """Return these rows of a file, decoded part by part."""
    import pyarrow as pa

    parts, done, whole = [], 0, file.metadata.num_rows
    for batch in file.iter_batches(_BATCH):
        start, end = np.searchsorted(rows, [done, done + len(batch)])
        if end - start == len(batch):
            parts.append(batch)
        elif end > start:
            parts.append(batch.take(pa.array(rows[start:end] - done)))
        done += len(batch)
        tell(done / whole)
    return pa.Table.from_batches(parts, file.schema_arrow)


def _is_binary(kind: Any) -> bool:
    from pyarrow import types

    return bool(
        types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    )


def _column(column: Any, as_text: bool) -> Any:
    """Return a column for pandas: numbers, dates or text, never a mixture of objects."""
    import pandas as pd
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("ms"))
    if pa.types.is_null(column.type):
        column = column.cast(pa.float64())
    is_boolean = pa.types.is_boolean(column.type)
    if as_text and pa.types.is_primitive(column.type) and not is_boolean:
        return column.cast(pa.string()).to_pandas()  # whole numbers stay so beside missing ones
    values = column.to_pandas()
    if as_text or is_boolean or pa.types.is_time(column.type):
        return values.map(str, na_action="ignore").astype(pd.Series(["text"]).dtype)
    return values
