"""Decisions of a person about rows: their file, and whether they are about the table at hand."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sorr._checks import close_names
from sorr._csv import to_csv
from sorr.auditing.table import Table, TableError, quote
from sorr.auditing.table.files import OtherEncodingError, Source, examine, guess_encoding, text
from sorr.auditing.table.scan import Dialect, long_fields, scan
from sorr.auditing.table.text import SEPARATORS
from sorr.auditing.table.values import listed, spell
from sorr.auditing.table.workbooks import read_sheets

if TYPE_CHECKING:
    from pandas import DataFrame

WORDS = ("relabel", "keep", "remove", "unsure")
COLUMNS = (
    *("row", "line", "id", "given", "suggested", "tier", "probability", "reason"),
    *("decision", "new_label", "table"),
)
GIVEN = "the decisions given"
"""The name of decisions that come from no file."""
_NAMES_WITHIN = 20  # records: above the names, spreadsheets may have titles
_WHOLE = re.compile(r"\+?(\d{1,18})(?:[.,]0{0,2})?", re.ASCII)  # 1,000 would be 1 or 1000
MARK = re.compile(  # fingerprint (rows, columns, v for a frame), position of the target
    r"((\d{1,18})x(\d{1,9})-(v?)[0-9a-f]{15,16})-(\d{1,9})", re.ASCII
)


class Decision(NamedTuple):
    """What somebody decided about a row."""

    row: int
    """The number of the row among the data rows of the table, from 0. -1 if there is only an id."""
    word: str
    """One of WORDS."""
    label: str
    """The new label as text, if the word is relabel."""
    given: str
    """The label that the table had."""
    id: str
    place: int
    """The line of the decisions file, from 1, or the position in a frame, from 0."""


class Matched(NamedTuple):
    """Decisions that are about a table: with its rows, and its labels as it writes them."""

    target: str
    """The column of the labels."""
    decisions: Decisions
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Decisions:
    """Decisions about the rows of one table.

    Attributes
    ----------
    decided : tuple of Decision
        Each row at most once, in the order of the file.
    listed : tuple of (int, int)
        The row and the tier (0 if unknown) of every line, also of rows that are not decided.
    table : str
        The fingerprint of the table and the position of the target. "" if unknown.
    name : str
        The name of the file, for messages.
    ids : tuple of str
        The identifiers of the rows in `listed`.
    """

    decided: tuple[Decision, ...]
    listed: tuple[tuple[int, int], ...] = field(repr=False)
    table: str
    name: str
    ids: tuple[str, ...] = field(default=(), repr=False)

    def match(
        self, table: Table, *, id_column: str | None = None, target: str | None = None
    ) -> Matched:
        """Return the decisions for the rows of a table, or raise an error that says what differs.

        Parameters
        ----------
        table : Table
            The table to correct, or to audit again. It may be a sample of its rows.
        id_column : str, optional
            The column that names rows. If the table has changed, rows are found by it.
        target : str, optional
            The column of the labels. By default the one at the position that the decisions name.

        Raises
        ------
        TableError
            If the table is another one, or a row, an identifier or a label is not in it.
        """
        from sorr.auditing.matching import Matching

        return Matching(self, table, id_column, target).result()

    def where(self, place: int) -> str:
        """Return the place of a decision in words."""
        if self.name == GIVEN:
            return f"position {place} of the decisions"
        return f"line {place} of {quote(self.name)}"


# -- Reading ---------------------------------------------------------------------------------------


def read_decisions(given: Any) -> Decisions:
    """Return decisions from a file or a frame.

    Parameters
    ----------
    given : path-like, pandas or polars DataFrame, or Decisions
        CSV with any usual separator and encoding, or a workbook. It needs the columns decision, and
        row or id. new_label, suggested, given, tier and table are used if they are there. Other
        columns do not matter, nor does the order of rows.

    Raises
    ------
    TableError
        If there is no such file, or something in it is no decision. The message names the line.
    """
    if isinstance(given, Decisions):
        return given
    if hasattr(given, "columns"):
        return _collected(GIVEN, *_records_of_frame(given))
    if not isinstance(given, str | os.PathLike):
        raise TableError(
            f"decisions are {quote(type(given).__name__)}; needed the path of a file, or a frame "
            "of pandas or polars"
        )
    file = Path(given)
    with suppress(RuntimeError):  # there is no such user
        file = file.expanduser()
    source = examine(file, file.name or str(file))
    if source.kind == "workbook" and not source.packing:
        return _collected(source.name, *_records_of_workbook(source))
    if source.kind != "text":
        raise TableError(
            f"{quote(source.name)} is no file of decisions; needed CSV or a workbook with the "
            "columns row and decision, such as suspects.csv"
        )
    return _collected(source.name, *_records_of_text(source))


_Records = Iterable[tuple[int, Sequence[str]]]


def _records_of_frame(frame: Any) -> tuple[list[str], _Records]:
    """Return the names of the columns of a frame, and its rows as texts."""
    names = [str(name) for name in frame.columns]
    if hasattr(frame, "get_columns"):
        columns = [column.to_list() for column in frame.get_columns()]
    else:
        columns = [frame.iloc[:, i] for i in range(len(names))]
        columns = [it.astype(object).where(it.notna(), None).tolist() for it in columns]
    texts = [["" if it is None or it != it else spell(it) for it in column] for column in columns]
    if not _are_names(names):
        raise _lacking(names, GIVEN)
    return names, enumerate(zip(*texts, strict=True))


def _records_of_workbook(source: Source) -> tuple[list[str], _Records]:
    """Return the names and the rows of the first sheet that holds decisions."""
    sheets = read_sheets(source)
    for rows in sheets:
        for i, (_, cells) in enumerate(rows[:_NAMES_WITHIN]):
            if _are_names(cells):
                return cells, rows[i + 1 :]
    first = next((cells for rows in sheets for _, cells in rows), [])
    raise _lacking(first, source.name)


def _records_of_text(source: Source) -> tuple[list[str], _Records]:
    """Return the names and the rows of a text, by the separator that its names have."""
    data = _text(source)
    longest: list[str] = []
    with long_fields():
        for separator in SEPARATORS:
            top = _top(_split(data, Dialect(separator), source.name))
            for i, names in enumerate(top):
                if _are_names(names):
                    records = _split(data, Dialect(separator), source.name)
                    return names, list(islice(records, i + 1, None))
            longest = max([longest, *top], key=len)
        if not longest:
            list(_split(data, Dialect(","), source.name))  # says what is wrong with the text
    raise _lacking(longest, source.name)


def _text(source: Source) -> bytes:
    """Return a text in UTF-8, whatever it is encoded in."""
    for _ in range(2):
        try:
            return b"".join(text(source, lambda _: None))
        except OtherEncodingError:
            source = guess_encoding(source)
    raise TableError(f"{quote(source.name)} is in an unknown encoding; save it as CSV (UTF-8)")


def _top(records: Iterator[tuple[int, list[str]]]) -> list[list[str]]:
    """Return the first records, as far as they can be read."""
    found = []
    with suppress(TableError):
        for _, cells in islice(records, _NAMES_WITHIN):
            found.append(cells)
    return found


def _split(data: bytes, dialect: Dialect, name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the fields of each record that is not blank."""
    for found in scan([data], dialect, name):
        there = np.flatnonzero(found.n_fields)
        lines = found.lines[there].tolist()
        for line, record in zip(lines, found.texts(there), strict=True):
            yield line, dialect.fields(record)


def _plain(name: str) -> str:
    return "_".join(name.casefold().split())


def _are_names(cells: Sequence[str]) -> bool:
    plain = set(map(_plain, cells))
    return "decision" in plain and not plain.isdisjoint({"row", "id"})


def _lacking(names: Sequence[str], file: str) -> TableError:
    """Return which of the columns that decisions need is not among some names."""
    lacking = "row" if "decision" in set(map(_plain, names)) else "decision"
    what = f"{file} have" if file == GIVEN else f"{quote(file)} has"
    return TableError(
        f"{what} no column {quote(lacking)}; needed the columns row and decision, as in "
        f"suspects.csv. There are {listed(names) or 'none'}"
    )


class _Columns:
    """Where the columns of decisions are among others."""

    def __init__(self, names: Sequence[str], file: str) -> None:
        places: dict[str, int] = {}
        for i, name in enumerate(map(_plain, names)):
            if name in COLUMNS and places.setdefault(name, i) != i:
                raise TableError(f"{quote(file)} has two columns {quote(name)}; needed one")
        self.places = places
        self.n_names = len(names)
        self.n_needed = 1 + max(places[it] for it in ("row", "id", "decision") if it in places)

    def of(self, cells: Sequence[str], name: str) -> str:
        """Return a cell, or nothing if there is no such column."""
        place = self.places.get(name, len(cells))
        return cells[place] if place < len(cells) else ""


def _collected(name: str, names: Sequence[str], records: _Records) -> Decisions:
    """Return the decisions in some records, or raise an error with the place of what is wrong."""
    columns = _Columns(names, name)
    empty = Decisions((), (), "", name)
    decided: dict[int | str, Decision] = {}
    there: dict[int | str, tuple[int, int, str]] = {}
    mark, mark_place = "", 0
    for place, cells in records:
        if not any(map(str.strip, cells)):
            continue
        where = empty.where(place)
        if len(cells) < columns.n_needed or any(map(str.strip, cells[columns.n_names :])):
            raise TableError(
                f"{where} has {len(cells)} fields, but there are {columns.n_names} names of "
                "columns; put fields that contain a separator in double quotes, and add the fields "
                "that are missing"
            )
        decision = _decision(columns, cells, place, where)
        key = decision.row if decision.row >= 0 else decision.id
        tier = _WHOLE.fullmatch(columns.of(cells, "tier").strip())
        there.setdefault(key, (decision.row, int(tier[1]) if tier else 0, decision.id))
        if found := columns.of(cells, "table").strip():
            if not MARK.fullmatch(found):
                raise TableError(
                    f"{where}: the column table is {quote(found)}, which is no fingerprint of a "
                    "table; copy it from another line, or leave it empty"
                )
            if mark not in ("", found):
                raise TableError(
                    f"{where} is about another table ({quote(found, 60)}) than "
                    f"{empty.where(mark_place)} ({quote(mark, 60)}); needed decisions "
                    "about one table"
                )
            if not mark:
                mark, mark_place = found, place
        if not decision.word:
            continue
        earlier = decided.setdefault(key, decision)
        if (earlier.word, earlier.label.strip()) != (decision.word, decision.label.strip()):
            what = f"row {key}" if decision.row >= 0 else f"the row with id {quote(key)}"
            raise TableError(
                f"{where}: {what} is decided twice, here {_say(decision)} and in "
                f"{empty.where(earlier.place).partition(' of ')[0]} {_say(earlier)}; remove one"
            )
    pairs = tuple((row, tier) for row, tier, _ in there.values())
    ids = tuple(it for *_, it in there.values())
    return Decisions(tuple(decided.values()), pairs, mark, name, ids)


def _decision(columns: _Columns, cells: Sequence[str], place: int, where: str) -> Decision:
    """Return the decision in a record. Its word is empty if nothing is decided."""
    word = columns.of(cells, "decision").strip().casefold()
    if word and word not in WORDS:
        close = close_names(word, WORDS)
        hint = f"did you mean {listed(close)}?" if close else f"needed {listed(WORDS)} or nothing"
        raise TableError(f"{where}: the decision is {quote(word)}; {hint}")
    written, name = columns.of(cells, "row").strip(), columns.of(cells, "id").strip()
    number = _WHOLE.fullmatch(written)
    if written and not number:
        raise TableError(
            f"{where}: the row is {quote(written)}; needed the number of a row, from 0, such as 12"
        )
    if not written and not name and word:
        raise TableError(f"{where} has a decision, but no row; needed the number of a row, from 0")
    new, suggested = columns.of(cells, "new_label"), columns.of(cells, "suggested")
    if new.strip() and word not in ("relabel", "unsure"):
        raise TableError(
            f"{where}: there is a new label ({quote(new)}), but the decision is {quote(word)}; "
            "write relabel, or remove the new label"
        )
    label = (new if new.strip() else suggested) if word == "relabel" else ""
    if word == "relabel" and not label.strip():
        raise TableError(
            f"{where}: the decision is relabel, but there is no label; write one into new_label"
        )
    row = int(number[1]) if number else -1
    return Decision(row, word, label, columns.of(cells, "given"), name, place)


def _say(decision: Decision) -> str:
    return f"{decision.word} ({quote(decision.label)})" if decision.label else decision.word


# -- Writing ---------------------------------------------------------------------------------------


def decisions_csv(columns: DataFrame | Mapping[str, Sequence[Any]], table: str = "") -> str:
    r"""Return a file of decisions, safe to open in a spreadsheet.

    Parameters
    ----------
    columns : DataFrame or mapping of str to sequence
        Columns of COLUMNS, each with one value per row. Others are left out, and those that are
        not there are empty. With decision and new_label, it is a file that was filled in.
    table : str
        What decisions name the table by, for every row.

    Examples
    --------
    >>> print(decisions_csv({"row": [3], "given": ["=a"], "suggested": ["b"]}, "9x2-0-2"))
    row,line,id,given,suggested,tier,probability,reason,decision,new_label,table
    3,,,'=a,b,,,,,,9x2-0-2
    <BLANKLINE>
    """
    n_rows = len(columns["row"])
    cells = []
    for name in COLUMNS:
        if name in columns:
            values = columns[name]
            values = values.tolist() if hasattr(values, "tolist") else list(values)
            cells.append(values if name == "probability" else [_cell(it) for it in values])
        else:
            cells.append([""] * n_rows)
    if table:
        cells[COLUMNS.index("table")] = [table] * n_rows
    return to_csv(COLUMNS, zip(*cells, strict=True))


def _cell(value: Any) -> Any:
    """Return a value as text, whole numbers without a decimal point; missing ones as they are."""
    if isinstance(value, str | int):
        return value
    is_finite = isinstance(value, float) and value == value
    return spell(value) if is_finite else value
