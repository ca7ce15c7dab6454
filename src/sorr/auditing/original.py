"""A whole table as text with the places of rows, for a page that corrects it by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sorr._typing import IntArray
from sorr.auditing.spellings import Labels, texts_of
from sorr.auditing.table import Table
from sorr.auditing.table.cells import (
    Place,
    delimited_in_memory,
    field_place,
    needs_quotes,
    quoted,
    rewrite,
    settled,
)
from sorr.auditing.table.rewriting import frame_records
from sorr.auditing.table.scan import Dialect
from sorr.auditing.table.values import MOST_KEPT, MOST_KEPT_ROWS, spell
from sorr.auditing.written import as_texts

if TYPE_CHECKING:
    from pandas import Series


class Original(NamedTuple):
    """A table as text that can be corrected by replacing bytes."""

    data: bytes
    """In UTF-8."""
    places: IntArray
    """For each row that was asked for: start and end of its record, and of its label."""
    labels: dict[str, bytes]
    """How each label is written in a cell."""


def original_of(
    table: Table, numbers: IntArray, target: str, labels: Sequence[Any]
) -> Original | None:
    """Return a table as text with the places of some rows; None if it is too large for a page.

    Parameters
    ----------
    table : Table
        The table. What is no delimited text becomes CSV.
    numbers : ndarray of shape (n,)
        The rows whose places are needed, counted from 0 among all rows of the table.
    target : str
        The column of the labels.
    labels : sequence
        The labels that may be written. Those of a regression are numbers.
    """
    asked = np.asarray(numbers, dtype=np.int64)
    if table.n_rows > MOST_KEPT_ROWS:
        return None
    if table.separator is not None:
        if table.original is None:
            return None
        opened = delimited_in_memory(table.original, table.name, table.separator)
        raw = opened.raw([target], lambda _: lambda _: None)[target]
        found = opened.places(asked, target, lambda _: None)
        return _original(table.original, opened.layout.dialect, asked, found, raw, labels)
    if len(table.frame) < table.n_rows:
        return None
    return _original_of_frame(table, asked, target, labels)


def _original_of_frame(
    table: Table, asked: IntArray, target: str, labels: Sequence[Any]
) -> Original | None:
    import pandas as pd

    dialect, column = Dialect(","), list(table.frame.columns).index(target)
    wanted, places, parts, size = set(asked.tolist()), list[Place](), list[bytes](), 0
    for row, record in enumerate(frame_records(table.frame), start=-1):
        if row in wanted:
            low, high = field_place(record[:-1], dialect, column)
            cell = record[low:high].decode()
            end = size + len(record)
            places.append(Place(row, size, end, True, 1, size + low, size + high, cell))
        parts.append(record)
        size += len(record)
        if size > MOST_KEPT:
            return None
    texts = as_texts(table.frame[target])
    raw = pd.Series([it if isinstance(it, str) else "" for it in texts], dtype=object)
    return _original(b"".join(parts), dialect, asked, places, raw, labels)


def _original(
    data: bytes,
    dialect: Dialect,
    asked: IntArray,
    found: Sequence[Place],
    raw: Series[Any],
    labels: Sequence[Any],
) -> Original:
    """Return a text with places in the order that was asked for.

    If all labels can do without quotes, a place is inside of those that a cell has. Otherwise it
    is the whole cell, and labels have quotes if they need them, or if most cells have them.
    """
    known = Labels(settled(raw), texts_of(raw), dialect.separator)
    written: dict[str, str] = {}
    for label in labels:
        name = spell(label)
        usual = known.find(name)
        written[name] = name if usual is None else usual.text
    is_bare = not any(needs_quotes(text, dialect) for text in written.values())
    n_quoted = sum(place.cell.lstrip()[:1] == '"' for place in found)
    are_quoted = 2 * n_quoted > len(found)
    if not is_bare:
        written = {
            name: quoted(it) if are_quoted or needs_quotes(it, dialect) else it
            for name, it in written.items()
        }
    rows = {}
    for place in found:
        start, end = 0, len(place.cell)
        if is_bare:
            start, end, new = rewrite(place.cell, "0", dialect, is_exact=known.is_exact)
            if new != "0":  # an irregular cell, which gets other quotes
                start, end = 0, len(place.cell)
        low, high = (place.cell_start + len(place.cell[:edge].encode()) for edge in (start, end))
        rows[place.row] = (place.start, place.end, low, high)
    places = np.array([rows[row] for row in asked.tolist()], dtype=np.int64).reshape(-1, 4)
    return Original(data, places, {name: it.encode() for name, it in written.items()})
