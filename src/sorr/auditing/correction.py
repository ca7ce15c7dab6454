"""Decisions applied to a table: the same file or frame, with new labels and without some rows."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sorr._csv import to_csv
from sorr._files import Content
from sorr._typing import IntArray, Report
from sorr.auditing.decisions import MARK, Decisions, read_decisions
from sorr.auditing.spellings import Labels, texts_of
from sorr.auditing.table import Argument, Table, TableError, quote, read_table
from sorr.auditing.table.cells import (
    JsonRow,
    Place,
    edit_places,
    json_edit,
    json_rows,
    json_value_place,
    open_delimited,
    quoted,
    rewrite,
    value_of,
)
from sorr.auditing.table.edits import (
    PACKINGS,
    Edit,
    Edited,
    can_express,
    codec_of,
    encode_edits,
    packed,
    packing_of,
    stamp_of,
)
from sorr.auditing.table.files import (
    ENCODINGS,
    OtherEncodingError,
    Source,
    Tick,
    content,
    examine,
    guess_encoding,
)
from sorr.auditing.table.rewriting import (
    Arrow,
    Excel,
    OpenDocument,
    Written,
    book_kind,
    counted,
    find_sheet,
    frame_as_workbook,
    frame_records,
)
from sorr.auditing.table.values import column_names, fingerprint_frame, known_columns, spell
from sorr.auditing.written import as_texts

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_ENDINGS = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), "text"),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "json"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".feather", ".arrow"), "feather"),
    **{it: it for it in (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")},
}
_KINDS = {  # in words, and the ending to use
    "text": ("delimited text", ".csv"),
    "json": ("JSON", ".jsonl"),
    "parquet": ("a Parquet file", ".parquet"),
    "feather": ("a Feather file", ".feather"),
}
_UNWRITABLE = (".xls", ".xlsb")


class Change(NamedTuple):
    """A row with another label than before, or one that is gone."""

    row: int
    line: int | None
    id: str
    decision: str
    before: str
    after: str


@dataclass(frozen=True)
class Correction:
    """A corrected table, as the content of a file.

    Attributes
    ----------
    content : bytes or iterable of bytes
        The whole file.
    changes : tuple of Change
        The rows that differ, in their order.
    notes : tuple of str
        What readers should know.
    table, target : str
        The name of the file that was corrected, and the column of the labels.
    decisions : Decisions
        Those that were applied, with the rows of this table.
    """

    content: Content = field(repr=False)
    changes: tuple[Change, ...] = field(repr=False)
    notes: tuple[str, ...]
    table: str
    target: str
    decisions: Decisions = field(repr=False)

    def log_csv(self) -> str:
        """Return the changes as CSV, safe to open in a spreadsheet."""
        return to_csv(Change._fields, self.changes)

    def counts(self) -> dict[str, int]:
        """Return how many labels changed and rows went, and how many rows stay as they are."""
        words = Counter(it.word for it in self.decisions.decided)
        changed = Counter(it.decision for it in self.changes)
        return {
            "changed": changed["relabel"],
            "removed": changed["remove"],
            "kept": words["keep"],
            "unsure": words["unsure"],
            "undecided": len(self.decisions.listed) - len(self.decisions.decided),
        }


# -- Files -----------------------------------------------------------------------------------------


def correct_file(
    path: str | os.PathLike[str],
    decisions: Any,
    *,
    id_column: str | None = None,
    target: str | None = None,
    sheet: str | int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Report | None = None,
) -> Correction:
    """Return a file with decisions applied. Nothing is written.

    Of delimited text and JSON, only the cells that change differ from the file, byte for byte.
    Other files are written again in their format.

    Parameters
    ----------
    path : path-like
        The table, in any format that `read_table` reads.
    decisions : path-like, DataFrame or Decisions
        What was decided, as `read_decisions` takes it.
    id_column, target : str, optional
        As for `Decisions.match`.
    sheet : str or int, optional
        The sheet of a workbook.
    out : path-like, optional
        The file to be written. Its ending says how to pack it, and may not contradict the format.
        The default is the file that is read.
    progress : callable, optional
        Called now and then with the work done, all of it, and what is being done.

    Raises
    ------
    TableError
        If something is wrong with the table, the decisions, or both together.
    """
    given = read_decisions(decisions)
    if not given.decided:
        raise TableError(
            f"{quote(given.name)} has no decision; write relabel, keep, remove or unsure into the "
            "column decision"
        )
    if os.fspath(path) == "-":
        raise TableError("standard input cannot be corrected; write it to a file first")
    file = Path(path)
    with suppress(RuntimeError):  # there is no such user
        file = file.expanduser()
    source = examine(file, file.name or str(file))
    name = Path(out or file).name
    if sheet is not None and source.kind != "workbook":
        raise TableError(
            Argument("sheet", sheet), f" needs a workbook, and {quote(source.name)} is none"
        )
    asked = _Asked(given, id_column, target, sheet, name, _stages(source, progress))
    if source.kind == "text":
        return _with_encoding(source, lambda it: _correct_delimited(it, asked))
    if source.kind == "json":
        return _with_encoding(source, lambda it: _correct_json(it, asked))
    return _correct_typed(source, asked)


class _Asked(NamedTuple):
    """What was asked for."""

    given: Decisions
    id_column: str | None
    target: str | None
    sheet: str | int | None
    out: str
    begin: Callable[[int], Tick]


_STAGES = ("checking", "reading", "looking for rows in", "looking for bytes in")


def _stages(source: Source, progress: Report | None) -> Callable[[int], Tick]:
    """Return a function that starts a pass over a file and reports the bytes read in it."""

    def begin(turn: int) -> Tick:
        def tick(done: int) -> None:
            if progress is not None:
                total = len(_STAGES) * source.size
                progress(turn * source.size + done, total, f"{_STAGES[turn]} {source.name}")

        return tick

    return begin


def _with_encoding(source: Source, correct: Callable[[Source], Correction]) -> Correction:
    try:
        return correct(source)
    except OtherEncodingError:
        return correct(guess_encoding(source))


class _Plan(NamedTuple):
    """What becomes of rows: those with a new value, and those that go."""

    new: dict[int, Written]
    removed: set[int]

    @property
    def rows(self) -> IntArray:
        return np.array(sorted({*self.new, *self.removed}), dtype=np.int64)


def _plan(decisions: Decisions, labels: Labels, target: str, source: Source | None = None) -> _Plan:
    """Return what becomes of rows, or raise an error with the line of a decision that cannot be."""
    new: dict[int, Written] = {}
    removed = set[int]()
    codec = None if source is None else codec_of(source)
    for it in decisions.decided:
        if it.word == "remove":
            removed.add(it.row)
        elif it.word == "relabel":
            found = labels.find(it.label)
            if found is None:
                raise TableError(
                    f"{decisions.where(it.place)}: {quote(it.label)} is no label of the target "
                    f"{quote(target)}; needed one that the table has"
                )
            if codec is not None and not can_express(codec, found.text):
                assert source is not None
                encoding = ENCODINGS.get(source.encoding, source.encoding)
                raise TableError(
                    f"{decisions.where(it.place)}: {quote(found.text)} cannot be written in "
                    f"{encoding}, the encoding of the table; save the table as CSV (UTF-8) first"
                )
            new[it.row] = found
    return _Plan(new, removed)


def _changes(
    decisions: Decisions, plan: _Plan, before: Mapping[int, str], lines: Mapping[int, int]
) -> tuple[Change, ...]:
    """Return the rows that differ, in their order. A label that stays as it is makes no change."""
    found = []
    for it in sorted(decisions.decided, key=lambda it: it.row):
        line = lines.get(it.row)
        if it.row in plan.new and plan.new[it.row].text != before[it.row]:
            after = plan.new[it.row].text
            found.append(Change(it.row, line, it.id, it.word, before[it.row], after))
        elif it.row in plan.removed:
            found.append(Change(it.row, line, it.id, it.word, before[it.row], ""))
    return tuple(found)


def _check_ending(out: str, kind: str, source: Source) -> None:
    """Refuse the name of a file that says it were of another format."""
    plain, packing = _plain_name(out)
    asked = _ENDINGS.get(Path(plain).suffix.lower())
    if asked in (None, kind):
        return
    what, ending = _KINDS.get(kind, (f"a workbook ({kind})", kind))
    raise TableError(
        Argument("out", out),
        f" has the ending of another format; {quote(source.name)} is {what} and stays so. Name it "
        f"{quote(Path(plain).stem + ending + packing)}",
    )


def _plain_name(name: str) -> tuple[str, str]:
    """Return a name without the ending of a packing, and that ending."""
    ending = Path(name).suffix
    return (name[: -len(ending)], ending) if ending.lower() in PACKINGS else (name, "")


# -- Delimited text --------------------------------------------------------------------------------


def _correct_delimited(source: Source, asked: _Asked) -> Correction:
    _check_ending(asked.out, "text", source)
    stamp = stamp_of(source)
    plain, _ = _plain_name(source.name)
    usual = {".csv": ",", ".tsv": "\t", ".tab": "\t"}.get(Path(plain).suffix.lower())
    opened = open_delimited(source, usual, asked.begin(0))
    names = opened.columns_with_values(asked.begin)
    asked_for = _target_name(asked, names)
    wanted = dict.fromkeys(filter(None, (asked_for, asked.id_column)))
    raw = opened.raw(known_columns(wanted, names, source.name), asked.begin)
    table = opened.table(names, raw, [asked.id_column] if asked.id_column else [])
    written = [] if asked_for is None else texts_of(raw[asked_for.strip()])
    del raw
    target, decisions, notes = asked.given.match(
        table, id_column=asked.id_column, target=asked.target
    )
    labels = Labels(table.frame[target], written, table.separator)
    plan = _plan(decisions, labels, target, source)
    places = opened.places(plan.rows, target, asked.begin(2))
    dialect = opened.layout.dialect

    def edit(place: Place) -> Edit | None:
        label = plan.new[place.row].text
        new = rewrite(place.cell, label, dialect, is_exact=labels.is_exact)
        return None if place.cell[new.start : new.end] == new.text else new

    edits = edit_places(places, edit, plan.removed)
    before = {it.row: value_of(it.cell, dialect) for it in places}
    if not labels.is_exact:
        before = {row: value.strip() for row, value in before.items()}
    lines = dict(zip(plan.rows.tolist(), opened.found.lines(plan.rows).tolist(), strict=True))
    encoded = encode_edits(source, edits, asked.begin(3))
    return Correction(
        Edited(source, encoded, packing_of(asked.out), asked.out, stamp),
        _changes(decisions, plan, before, lines),
        (*notes, *table.notes, *_nothing_left(plan, table)),
        source.name,
        target,
        decisions,
    )


def _target_name(asked: _Asked, names: Sequence[str]) -> str | None:
    """Return the target: as asked for, or as the decisions say."""
    if asked.target is not None:
        return asked.target
    found = MARK.fullmatch(asked.given.table)
    position = int(found[5]) if found else 0
    return names[position - 1] if 1 <= position <= len(names) else None


def _nothing_left(plan: _Plan, table: Table) -> list[str]:
    if len(plan.removed) < table.n_rows:
        return []
    return ["All rows were removed: only the names of the columns are left."]


# -- JSON ------------------------------------------------------------------------------------------


def _correct_json(source: Source, asked: _Asked) -> Correction:
    _check_ending(asked.out, "json", source)
    stamp = stamp_of(source)
    table = read_table(source.path, text_columns=filter(None, [asked.id_column]))
    target, decisions, notes = asked.given.match(
        table, id_column=asked.id_column, target=asked.target
    )
    wanted = {it.row for it in decisions.decided}
    found = _JsonColumn(source, target, wanted, asked.begin(2))
    labels = Labels(table.frame[target], found.written)
    plan = _plan(decisions, labels, target)

    def edit(place: Place) -> Edit | None:
        value = plan.new[place.row].value
        text = value if isinstance(value, str) else found.number(plan.new[place.row])
        new = json_edit(place.cell, found.key, text)
        return None if place.cell[new.start : new.end] == new.text else new

    chosen = [it for it in found.places if it.row in plan.new or it.row in plan.removed]
    edits = edit_places(chosen, edit, plan.removed)
    encoded = encode_edits(source, edits, asked.begin(3))
    return Correction(
        Edited(source, encoded, packing_of(asked.out), asked.out, stamp),
        _changes(decisions, plan, _spelled(table, target, plan), _lines(table, plan)),
        (*notes, *_nothing_left(plan, table)),
        source.name,
        target,
        decisions,
    )


class _JsonColumn:
    """The values of a target in a file of JSON, and the places of some rows."""

    def __init__(self, source: Source, target: str, wanted: set[int], tick: Tick) -> None:
        self.key = target
        keys = self._collect(json_rows(source, tick), wanted)
        names, _ = column_names(keys, source.name)
        key = keys[names.index(target)]
        if key != target:  # the name has spaces around it, or is there twice
            self.key = key
            self._collect(json_rows(source, tick), wanted)

    def _collect(self, rows: Iterator[JsonRow], wanted: set[int]) -> list[str]:
        keys: dict[str, None] = {}
        counts: Counter[tuple[str, type]] = Counter()
        first: dict[tuple[str, type], str] = {}
        self.places: list[Place] = []
        for place, value in rows:
            keys.update(dict.fromkeys(value))
            if place.row in wanted:
                self.places.append(place)
            cell = value.get(self.key)
            if cell is None:
                continue
            text = ("true" if cell else "false") if isinstance(cell, bool) else spell(cell)
            kind = text, type(cell)
            counts[kind] += 1
            if kind not in first:
                start, end = json_value_place(place.cell, self.key) or (0, 0)
                first[kind] = place.cell[start:end]
        self.written = [Written(kind[0], first[kind], count) for kind, count in counts.items()]
        texts = sum(count for (_, kind), count in counts.items() if kind is str)
        self._are_texts = 2 * texts > counts.total()
        return list(keys)

    def number(self, number: Written) -> str:
        """Return a number as JSON: in quotes if most numbers of the target are."""
        return quoted(number.text) if self._are_texts else repr(number.value)


def _lines(table: Table, plan: _Plan) -> dict[int, int]:
    """Return the lines of some rows, if the table has lines."""
    if table.lines is None:
        return {}
    return dict(zip(plan.rows.tolist(), table.lines[plan.rows].tolist(), strict=True))


def _spelled(table: Table, target: str, plan: _Plan) -> dict[int, str]:
    """Return the labels of some rows before they change."""
    rows = plan.rows
    texts = as_texts(table.frame[target].iloc[rows])
    pairs = zip(rows.tolist(), texts.tolist(), strict=True)
    return {row: text if isinstance(text, str) else "" for row, text in pairs}


# -- Workbooks, Parquet and Feather ----------------------------------------------------------------


def _correct_typed(source: Source, asked: _Asked) -> Correction:
    data = b"".join(content(source, lambda _: None))
    kind = book_kind(data) if source.kind == "workbook" else source.kind
    if kind in _UNWRITABLE:
        _check_conversion(asked.out, kind, source)
    else:
        _check_ending(asked.out, kind, source)
    table = read_table(source.path, text_columns=filter(None, [asked.id_column]), sheet=asked.sheet)
    target, decisions, notes = asked.given.match(
        table, id_column=asked.id_column, target=asked.target
    )
    lines = [] if table.lines is None else table.lines.tolist()
    document: Any
    if kind in _UNWRITABLE:
        document = _Values(table, target, asked.out, kind)
    elif kind in ("parquet", "feather"):
        document = Arrow(source, data, list(table.frame.columns).index(target))
    else:
        document = (OpenDocument if kind == ".ods" else Excel)(
            find_sheet(source, data, asked.sheet), lines, target
        )
    asked.begin(2)(source.size)
    plan = _plan(decisions, Labels(table.frame[target], document.written()), target)
    values = {row: it.value for row, it in plan.new.items()}
    corrected = document.corrected(values, plan.removed)
    pieces = packed([corrected], packing_of(asked.out), source, asked.out)
    return Correction(
        b"".join(pieces),
        _changes(decisions, plan, _spelled(table, target, plan), _lines(table, plan)),
        (*notes, *document.notes, *_nothing_left(plan, table)),
        source.name,
        target,
        decisions,
    )


def _check_conversion(out: str, kind: str, source: Source) -> None:
    """Refuse to write formats that nothing writes."""
    if Path(_plain_name(out)[0]).suffix.lower() not in (".csv", ".xlsx"):
        stem = Path(_plain_name(out)[0]).stem
        raise TableError(
            f"{quote(source.name)} is a workbook ({kind}), a format that cannot be written; use ",
            Argument("out", f"{stem}.xlsx"),
            " or ",
            Argument("out", f"{stem}.csv"),
            ": they get its values, without styles and formulas",
        )


class _Values:
    """The values of a workbook, for another format."""

    def __init__(self, table: Table, target: str, out: str, kind: str) -> None:
        self._table, self._target, self._out = table, target, out
        self.notes = [
            f"The workbook ({kind}) cannot be written in its format: the file has its values, "
            "without styles, formulas and other sheets."
        ]

    def written(self) -> list[Written]:
        """Return the values of the target."""
        return counted(self._table.frame[self._target].dropna().tolist())

    def corrected(self, new: Mapping[int, Any], removed: set[int]) -> bytes:
        """Return the file with new values of rows, and without others."""
        at = list(self._table.frame.columns).index(self._target)
        frame = _replaced(self._table.frame, at, new, removed)
        if _plain_name(self._out)[0].lower().endswith(".csv"):
            return b"".join(frame_records(frame))
        return frame_as_workbook(frame, "Sheet1", self._out)


# -- Frames ----------------------------------------------------------------------------------------


def apply_decisions(
    frame: Any, decisions: Any, *, target: str | None = None, id_column: str | None = None
) -> Any:
    """Return a frame with decisions applied: with new labels, and without rows to remove.

    Parameters
    ----------
    frame : DataFrame of pandas or polars, or Table
        The table that was audited. It is not changed. Of a `Table` the frame is returned; if that
        is a sample, decisions about other rows do not matter.
    decisions : path-like, DataFrame or Decisions
        What was decided: a filled-in suspects.csv or its content, as `read_decisions` takes it.
    target : str, optional
        The column of the labels. By default the one that the decisions name.
    id_column : str, optional
        The column that names rows. If the frame has changed since, rows are found by it.

    Returns
    -------
    DataFrame
        Of the same kind, with the same columns and types. The index of pandas stays.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [1, 2, 3, 4], "label": ["a", "b", "a", "b"]})
    >>> decided = pd.DataFrame({"row": [0, 3], "given": ["a", "b"], "new_label": ["b", ""]})
    >>> decided["decision"] = ["relabel", "remove"]
    >>> apply_decisions(frame, decided, target="label")["label"].tolist()
    ['b', 'b', 'a']
    """
    given = read_decisions(decisions)
    if isinstance(frame, Table):
        name, matched, _ = given.match(frame, id_column=id_column, target=target)
        names = [str(it) for it in frame.frame.columns]
        new, removed = _new_values(frame.frame, names.index(name), matched, frame.frame[name])
        at = {row: i for i, row in enumerate(frame.rows.tolist())}
        there = {at[row]: value for row, value in new.items() if row in at}
        gone = {at[row] for row in removed if row in at}
        return _replaced(frame.frame, names.index(name), there, gone)
    is_polars = type(frame).__module__.partition(".")[0] == "polars"
    if is_polars and hasattr(frame, "collect"):
        raise TableError("the frame is lazy; needed one with rows, so call its method collect")
    if not is_polars and not hasattr(frame, "iloc"):
        raise TableError(
            f"the table is of type {quote(type(frame).__name__)}; needed a DataFrame of pandas or "
            "polars"
        )
    plain = frame.to_pandas() if is_polars else frame
    names = [str(it) for it in plain.columns]
    if len(set(names)) < len(names):
        twice = next(it for it in names if names.count(it) > 1)
        raise TableError(f"there are two columns named {quote(twice)}; needed different names")
    plain = plain.set_axis(names, axis=1).reset_index(drop=True)
    n = len(plain)
    mark = fingerprint_frame(plain)
    table = Table(plain, np.arange(n), None, n, (), "the frame", fingerprint=mark)
    name, matched, _ = given.match(table, id_column=id_column, target=target)
    new, removed = _new_values(frame, names.index(name), matched, plain[name])
    replace = _replaced_polars if is_polars else _replaced
    return replace(frame, names.index(name), new, removed)


def _new_values(
    frame: Any, at: int, decisions: Decisions, column: Series[Any]
) -> tuple[dict[int, Any], set[int]]:
    """Return the new values of rows, of the type that the frame has, and the rows that go."""
    if hasattr(frame, "iloc"):
        values = frame.iloc[:, at].dropna().tolist()
    else:
        values = frame[:, at].drop_nulls().to_list()
    plan = _plan(decisions, Labels(column, counted(values)), str(column.name))
    return {row: it.value for row, it in plan.new.items()}, plan.removed


def _replaced(frame: DataFrame, at: int, new: Mapping[int, Any], removed: set[int]) -> DataFrame:
    """Return a frame of pandas with new values, and without some rows."""
    from pandas.api import types

    keep = np.ones(len(frame), dtype=bool)
    keep[list(removed)] = False
    result = frame.copy()
    column = result.iloc[:, at].copy()
    is_whole = all(float(it).is_integer() for it in new.values() if isinstance(it, float))
    if types.is_integer_dtype(column.dtype) and not is_whole:
        column = column.astype("Float64" if types.is_extension_array_dtype(column) else "float64")
    for row, value in new.items():
        column.iloc[row] = value
    result.isetitem(at, column)
    return result.loc[keep] if removed else result


def _replaced_polars(frame: Any, at: int, new: Mapping[int, Any], removed: set[int]) -> Any:
    """Return a frame of polars with new values, and without some rows."""
    column = frame[:, at]
    kind = type(column)
    if new:
        values = column.to_list()
        for row, value in new.items():
            values[row] = value
        is_whole = all(isinstance(it, int) for it in new.values())
        if column.dtype.is_integer() and not is_whole:
            column = kind(column.name, values, strict=False)
        else:
            column = kind(column.name, values, dtype=column.dtype)
        frame = frame.with_columns(column)
    if not removed:
        return frame
    keep = np.ones(len(frame), dtype=bool)
    keep[list(removed)] = False
    return frame.filter(kind("keep", keep.tolist()))
