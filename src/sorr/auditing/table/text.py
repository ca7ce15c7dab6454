"""Tables as text: find the names, check all records, then read the good ones with pandas."""

from __future__ import annotations

import os
import warnings
from array import array
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sorr._typing import BoolArray, IntArray
from sorr.auditing.table.files import (
    Source,
    Tick,
    bytes_per_row,
    check_memory,
    encoding_notes,
    text,
)
from sorr.auditing.table.scan import LONGEST, Dialect, Records, long_fields, scan
from sorr.auditing.table.values import (
    MISSING,
    Seal,
    SetAside,
    Table,
    TableError,
    chosen_rows,
    column_names,
    is_number,
    known_columns,
    listed,
    quote,
    settle,
)

if TYPE_CHECKING:
    from pandas import DataFrame, Series

Pass = Callable[[int], Tick]

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
_HEAD = 1 << 16  # bytes that hold them; more are read if a record is longer
_SNIFFED = 100  # records that show the separator and the names
_AGREE = 0.8  # of the records from the names on have as many fields as there are names
_KEPT = 1000  # rows that show the types and widths of columns
_KEPT_FIELDS = 200_000  # of these rows together: fewer rows of a wide table
_FEW_ROWS = 20  # of a table so small that a single ragged row is more than 1 %
_MOST_ASIDE = 100_000  # ragged rows that are kept in memory, besides 1 % of all
_SHOWN = 200  # characters of a record that is set aside
_FIGURES = frozenset("0123456789+-.eE \tinfatyINFATY")  # what numbers are written with
_BOOLEANS = frozenset({"true", "false"})


# -- The separator and the names -------------------------------------------------------------------


class Layout(NamedTuple):
    """The separator of a table, the names as they are written, and the records above the rows."""

    dialect: Dialect
    names: list[str]
    n_above: int
    """The number of records above the first row: titles, comments, and the names."""
    skipped: list[str]
    """Titles and comments."""


class _View(NamedTuple):
    """The first records of a text, split by one dialect."""

    dialect: Dialect
    records: list[bytes]
    counts: list[int]
    width: int
    place: int
    """The first record with as many fields as most have."""

    def fields(self, place: int) -> list[str]:
        return self.dialect.fields(self.records[place])

    @property
    def is_table(self) -> bool:
        """Whether most records agree: names at the top, or names and two rows below a title."""
        after = self.counts[self.place :]
        share = after.count(self.width) / len(after)
        return self.width > 1 and (
            share >= _AGREE and len(after) > 2 if self.place else share >= 0.5
        )

    @property
    def merit(self) -> tuple[bool, int, float]:
        """What makes one separator better than another: names early, many fields, few ragged."""
        share = self.counts.count(self.width) / len(self.counts)
        return self.is_table, -self.place, share * (self.width - 1)


def find_layout(source: Source, usual: str | None) -> Layout:
    """Return the layout of a text. `usual` is the usual separator for its name."""
    size = _HEAD
    with long_fields():
        while True:
            head, is_whole = _start(source, size)
            views, trouble = _views(head, is_whole, source.name, usual)
            view = max(views, key=lambda it: it.merit)  # the usual one comes first among equals
            if is_whole or len(view.records) > 2 or size > LONGEST:
                break
            size *= 16
        if not view.is_table:
            if trouble is not None:
                raise trouble
            view = views[0]
        if _has_spaces(view):
            view = _view(head, is_whole, view.dialect._replace(skip_space=True), source.name)
        return _layout(view, source.name)


def _start(source: Source, size: int) -> tuple[bytes, bool]:
    """Return the first bytes of a text, and whether they are all."""
    head = b""
    with closing(text(source, lambda _: None)) as blocks:
        for block in blocks:
            head += block
            if len(head) > size:
                return head[:size], False
    return head, True


def _views(
    head: bytes, is_whole: bool, name: str, usual: str | None
) -> tuple[list[_View], TableError | None]:
    """Return the first records by each separator, the usual one first, and what kept others out."""
    views, trouble = [], None
    for separator in sorted(SEPARATORS, key=lambda it: it != usual):
        try:
            views.append(_view(head, is_whole, Dialect(separator), name))
        except TableError as error:
            trouble = trouble or error
    if not views:
        raise trouble or _empty(name)
    return views, trouble


def _view(head: bytes, is_whole: bool, dialect: Dialect, name: str) -> _View:
    records: list[bytes] = []
    counts: list[int] = []
    try:
        for found in scan([head], dialect, name):
            there = np.flatnonzero(found.n_fields)
            there = there[
                : _SNIFFED if is_whole or len(there) < 2 else min(_SNIFFED, len(there) - 1)
            ]
            records, counts = found.texts(there), found.n_fields[there].tolist()
    except TableError:
        if not records or (is_whole and len(records) < 2):
            raise
    if not records:
        raise _empty(name)
    width = max(Counter(counts).items(), key=lambda it: (it[1], it[0]))[0]
    return _View(dialect, records, counts, width, counts.index(width))


def _has_spaces(view: _View) -> bool:
    """Tell whether a space follows each separator: among the names, or in rows before quotes."""
    if view.width < 2:
        return False
    names, *rows = (view.fields(i)[1:] for i in range(view.place, len(view.records)))
    cells = [cell for row in rows for cell in row]
    return all(name[:1] == " " for name in names) or (
        all(cell[:1] == " " for cell in cells) and any(cell[:2] == ' "' for cell in cells)
    )


def _layout(view: _View, name: str) -> Layout:
    """Return where the names are: the first record that has as many fields as most.

    The record above it holds the names if it lacks the name of the first column, as R writes row
    names, or if separators at the end of lines are only here or only there.
    """
    place, width = view.place, view.width
    names = view.fields(place)
    if place:
        above = view.fields(place - 1)
        rows = [view.fields(i) for i in range(place, len(view.records)) if view.counts[i] == width]
        are_all = all(count == width for count in view.counts[place:])
        ends_empty = all(not row[-1].strip() for row in rows)
        if (
            len(above) == width - 1
            and (width > 2 or ends_empty)
            and are_all
            and not _are_names(rows)
        ):
            names, place = ([*above, ""] if ends_empty else ["", *above]), place - 1
        elif len(above) > width and not "".join(above[width:]).strip():
            names, place = above[:width], place - 1
        elif len(above) > 1 and not any(map(is_number, above)) and all(map(is_number, names)):
            raise TableError(
                f"{quote(name)} has {len(above)} names ({listed(above[:3])}), but {width} fields "
                "in most rows; needed one name per column"
            )
    skipped = [_shown(record) for record in view.records[:place]]
    return Layout(view.dialect, names, place + 1, skipped)


def _are_names(rows: list[list[str]]) -> bool:
    """Tell whether the first of some rows holds names: texts above columns of numbers."""
    first, *others = rows
    if not others or any(map(is_number, first)):
        return False
    return any(all(map(is_number, cells)) for cells in zip(*others, strict=True))


def _empty(name: str) -> TableError:
    return TableError(f"{quote(name)} is empty; needed a line of names, and rows below it")


def _shown(record: bytes) -> str:
    return record[: 4 * _SHOWN].decode(errors="replace").rstrip("\r\n")[:_SHOWN]


# -- The first pass: all records are counted and checked -------------------------------------------


@dataclass(frozen=True)
class Survey:
    """What the first pass found.

    The line of a row is its number plus a shift. Only changes of the shift are stored.
    """

    layout: Layout
    n_rows: int
    n_blank: int
    set_aside: list[SetAside] = field(repr=False)
    codes: list[int] = field(repr=False)
    """Columns with values that begin with a zero and another digit."""
    first_rows: list[list[str]] = field(repr=False)
    changes: IntArray = field(repr=False)
    shifts: IntArray = field(repr=False)
    cuts: IntArray = field(repr=False)
    """Where in the text there are no rows: pairs of bytes."""
    seal: Seal = field(repr=False)

    def lines(self, rows: IntArray) -> IntArray:
        """Return the lines where rows begin, counted from 1."""
        places = np.searchsorted(self.changes, rows, side="right") - 1
        return np.asarray(rows + self.shifts[places], dtype=np.int64)


def read_records(
    source: Source, layout: Layout, tick: Tick, seal: Seal | None = None
) -> Iterator[tuple[Records, BoolArray, BoolArray]]:
    """Yield the records of a text, which of them are rows, and which are ragged."""
    n_above = layout.n_above
    with closing(text(source, tick)) as blocks:
        seen = blocks if seal is None else seal.watch(blocks)
        for found in scan(seen, layout.dialect, source.name):
            is_there = found.n_fields > 0
            if n_above:
                above = np.flatnonzero(is_there)[:n_above]
                is_there[above] = False
                n_above -= len(above)
            is_row = is_there & (found.n_fields == len(layout.names))
            yield found, is_row, is_there & ~is_row


def survey(source: Source, layout: Layout, tick: Tick) -> Survey:
    """Read a text once and return what is in it, or raise an error that says what is wrong."""
    n_rows, n_blank, n_ragged, shift = 0, 0, 0, None
    kept = max(min(_KEPT, _KEPT_FIELDS // len(layout.names)), 1)
    first: list[bytes] = []
    aside: list[SetAside] = []
    codes: set[int] = set()
    changes, shifts, cuts = array("q"), array("q"), array("q")
    seal = Seal(keeps=True)
    for found, is_row, is_ragged in read_records(source, layout, tick, seal):
        rows = np.flatnonzero(is_row)
        moves = found.lines[rows] - np.arange(n_rows, n_rows + len(rows))
        is_new = np.diff(moves, prepend=moves[:1] - 1) != 0
        if len(moves):
            is_new[0] = moves[0] != shift
            shift = int(moves[-1])
        changes.frombytes((np.flatnonzero(is_new) + n_rows).astype(np.int64).tobytes())
        shifts.frombytes(moves[is_new].astype(np.int64).tobytes())
        n_rows += len(rows)
        if len(first) < kept:
            first += found.texts(rows[: kept - len(first)])
        with_codes, columns = found.codes
        codes.update(np.unique(columns[is_row[with_codes]]).tolist())
        n_blank += int((found.n_fields == 0).sum())
        if len(rows) < len(is_row):
            others = np.flatnonzero(~is_row)
            places = np.stack([found.starts[others], found.ends[others]], axis=1) + found.offset
            cuts.frombytes(places.astype(np.int64).tobytes())
        if is_ragged.any():
            n_ragged += int(found.n_lines[is_ragged].sum())  # quotes may have swallowed rows
            ragged = np.flatnonzero(is_ragged)
            shown = zip(ragged.tolist(), found.texts(ragged), strict=True)
            aside += [
                SetAside(int(found.lines[i]), int(found.n_fields[i]), _shown(it)) for i, it in shown
            ]
            if len(aside) > _MOST_ASIDE + n_rows // 100:
                break
    is_one = n_ragged == 1 and n_rows >= _FEW_ROWS
    if n_ragged * 100 > n_rows + n_ragged and not is_one:
        raise TableError(_ragged(source, layout, aside, n_ragged, n_rows))
    if not n_rows:
        raise TableError(f"{quote(source.name)} has a line of names, but no rows below it")
    with long_fields():
        rows_of_fields = [layout.dialect.fields(record) for record in first]
    return Survey(
        layout,
        n_rows,
        n_blank,
        aside,
        sorted(codes),
        rows_of_fields,
        np.array(changes, dtype=np.int64),
        np.array(shifts, dtype=np.int64),
        np.array(cuts, dtype=np.int64).reshape(-1, 2),
        seal,
    )


def _ragged(
    source: Source, layout: Layout, aside: list[SetAside], n_ragged: int, n_rows: int
) -> str:
    """Return what is wrong with a file of many ragged rows, and the way out."""
    width = len(layout.names)
    shown = ", ".join(
        f"line {it.line} has {it.n_fields} ({quote(it.text, 60)})" for it in aside[:3]
    )
    if aside[0].n_fields > width:
        way_out = (
            f"put fields that contain a {SEPARATORS[layout.dialect.separator]} in double quotes"
        )
    else:
        way_out = "add the missing fields. A field may be empty, but needs its separator"
    return (
        f"{quote(source.name)}: {n_ragged:,} of {n_rows + n_ragged:,} rows do not have {width} "
        f"field{'s' * (width > 1)}, as the names do: {shown}; {way_out}. Up to 1 % of the rows may "
        "be so, and are set aside"
    )


# -- The second pass: pandas reads the rows --------------------------------------------------------


def read_delimited(
    source: Source,
    usual: str | None,
    text_columns: Iterable[str],
    n_rows: int | None,
    random_state: Any,
    begin: Pass,
) -> Table:
    """Return the table in a text file. `usual` is the usual separator for its name."""
    layout = find_layout(source, usual)
    names, notes = column_names(layout.names, source.name)
    as_text = known_columns(text_columns, names, source.name)
    found = survey(source, layout, begin(0))
    rows, sampled = chosen_rows(found.n_rows, n_rows, random_state)
    kinds = [_kind(cells) for cells in zip(*found.first_rows, strict=True)]
    check_memory(source.name, len(rows), _row_bytes(kinds))
    sure = [name for name, (kind, _) in zip(names, kinds, strict=True) if kind == "mixed"]
    sure += [names[i] for i in found.codes]
    picked = rows if sampled else None
    frame = _parsed(RowText(source, found, picked, begin), names, as_text, sure)
    if len(frame) != len(rows):
        raise TableError(
            f"{quote(source.name)}: {len(frame):,} rows were read, but {len(rows):,} were "
            "counted before; if the file did not change, please report this as a bug in sorr"
        )
    frame, left_out = without_empty(frame, layout.names)
    notes = [*sampled, *encoding_notes(source), *_manner(found, usual), *notes, *left_out]
    return Table(
        frame,
        rows,
        found.lines(rows),
        found.n_rows,
        tuple(notes),
        source.name,
        tuple(found.set_aside),
        layout.dialect.separator,
        found.seal.fingerprint(found.n_rows, len(names)),
        found.seal.original(found.n_rows),
    )


def without_empty(frame: DataFrame, written: list[str]) -> tuple[DataFrame, list[str]]:
    """Remove columns without name and values, which a separator at the end of lines makes."""
    named = zip(frame.columns, written, strict=True)
    empty = [name for name, text in named if not text.strip() and frame[name].isna().all()]
    if not empty or len(empty) == len(frame.columns):
        return frame, []
    note = f"Columns without a name and without values were removed: {listed(empty)}."
    return frame.drop(columns=empty), [note]


def aside_note(aside: list[SetAside], n_rows: int, why: str) -> list[str]:
    """Return a note on records that are no rows."""
    if not aside:
        return []
    places = ", ".join(f"{it.line:,}" for it in aside[:5])
    more = f" and {len(aside) - 5:,} more" * (len(aside) > 5)
    one = len(aside) == 1
    return [
        f"{len(aside):,} of {n_rows + len(aside):,} rows {why} and {'was' if one else 'were'} set "
        f"aside: line{'s' * (not one)} {places}{more}."
    ]


def _manner(found: Survey, usual: str | None) -> list[str]:
    """Return notes on how the text was read."""
    notes = []
    dialect, names, _, skipped = found.layout
    if dialect.separator != usual and len(names) > 1:
        notes.append(f"The separator is a {SEPARATORS[dialect.separator]}.")
    if dialect.skip_space:
        notes.append("Spaces after separators were ignored.")
    if skipped:
        what = f"line{'s' * (len(skipped) > 1)} above the names"
        notes.append(f"{len(skipped)} {what} {_were(len(skipped))} skipped: {listed(skipped)}.")
    if found.n_blank:
        lines = f"blank line{'s' * (found.n_blank > 1)}"
        notes.append(f"{found.n_blank:,} {lines} {_were(found.n_blank)} skipped.")
    verb = "has" if len(found.set_aside) == 1 else "have"
    return [
        *notes,
        *aside_note(found.set_aside, found.n_rows, f"{verb} too few or too many fields"),
    ]


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _kind(cells: tuple[str, ...]) -> tuple[str, float]:
    """Return the type of a column, judged by its first cells, and their mean width.

    A column of texts beside numbers, or of booleans, is mixed. pandas would read it as text in
    some parts only, so it is told that this is text. It takes longer over columns it is told of.
    """
    there = {cell for cell in cells if cell not in MISSING}
    width = sum(map(len, cells)) / len(cells)
    n_texts = sum(not _FIGURES.issuperset(cell) for cell in there)
    if 0 < n_texts < len(there) or (there and all(it.lower() in _BOOLEANS for it in there)):
        return "mixed", width
    return "text" if n_texts else "number", width


def _row_bytes(kinds: list[tuple[str, float]]) -> float:
    n_numbers = sum(kind == "number" for kind, _ in kinds)
    return bytes_per_row(n_numbers, [width for kind, width in kinds if kind != "number"])


class RowText(NamedTuple):
    """The records of rows, for pandas."""

    source: Source
    found: Survey
    picked: IntArray | None
    begin: Pass

    @property
    def path(self) -> str | None:
        """The path of a file that pandas can read by itself, in parallel: it has nothing to cut.

        The lines above the rows have to be skipped, and must end as pandas counts them.
        """
        source, cuts = self.source, self.found.cuts
        n_above = self.found.layout.n_above
        if self.picked is not None or source.packing or len(cuts) != n_above:
            return None
        if source.encoding not in ("utf-8", "utf-8-sig") or cuts[-1, 0] > LONGEST:
            return None
        with source.path.open("rb") as file:
            above = file.read(int(cuts[-1, 1]) + (3 if source.encoding == "utf-8-sig" else 0))
        is_plain = above.count(b"\n") == n_above and above.count(b"\r") == above.count(b"\r\n")
        return os.path.abspath(source.path) if is_plain and above[-1:] == b"\n" else None  # noqa: PTH100

    def blocks(self, turn: int) -> Generator[bytes, None, None]:
        """Yield the records of rows, and nothing else."""
        tick = self.begin(turn)
        return self._whole(tick) if self.picked is None else self._sample(self.picked, tick)

    def _whole(self, tick: Tick) -> Generator[bytes, None, None]:
        """Yield a text without the parts to cut."""
        cuts, offset = self.found.cuts, 0
        with closing(text(self.source, tick)) as blocks:
            for block in blocks:
                end = offset + len(block)
                first = int(np.searchsorted(cuts[:, 1], offset, side="right"))
                last = int(np.searchsorted(cuts[:, 0], end, side="left"))
                if first == last:
                    yield block
                else:
                    edges = (cuts[first:last] - offset).clip(0, len(block)).ravel().tolist()
                    kept = [0, *edges, len(block)]
                    pairs = zip(kept[::2], kept[1::2], strict=True)
                    if part := b"".join([block[i:j] for i, j in pairs]):
                        yield part
                offset = end

    def _sample(self, picked: IntArray, tick: Tick) -> Generator[bytes, None, None]:
        """Yield some rows of a text."""
        n_rows = 0
        for found, is_row, _ in read_records(self.source, self.found.layout, tick):
            rows = np.flatnonzero(is_row)
            start, end = np.searchsorted(picked, [n_rows, n_rows + len(rows)])
            if end > start:
                yield b"".join(found.texts(rows[picked[start:end] - n_rows]))
            n_rows += len(rows)


class Feed:
    """A file for pandas, which asks for a number of bytes and accepts any number."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks

    def read(self, size: int = -1) -> bytes:
        """Return the next records."""
        del size
        return next(self._blocks, b"")

    def __iter__(self) -> Iterator[bytes]:
        return self._blocks


def _parsed(rows: RowText, names: list[str], as_text: list[str], sure: list[str]) -> DataFrame:
    """Return the records as pandas reads them, numbers as numbers.

    pandas reads a long file in parts. A column that it read as numbers in some parts only, as
    booleans, or as integers that do not fit is read again as text. So is a column of floats that
    are too large to be exact, as they may have been whole.
    """
    import pandas as pd

    dialect, path = rows.found.layout.dialect, rows.path
    options: dict[str, Any] = {
        "sep": dialect.separator,
        "skipinitialspace": dialect.skip_space,
        "header": None,
        "names": names,
        "index_col": False,
        "na_values": list(MISSING),
        "keep_default_na": False,
        "skip_blank_lines": False,
        "engine": "c",
    }

    def read(turn: int, dtype: Any, **more: Any) -> DataFrame:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)
            if path is not None and not more:
                skipped = rows.found.layout.n_above
                frame = pd.read_csv(
                    path, dtype=dtype, skiprows=skipped, compression=None, **options
                )
                rows.begin(turn)(rows.source.size)
                return frame
            with closing(rows.blocks(turn)) as blocks:
                return pd.read_csv(Feed(blocks), dtype=dtype, **options, **more)

    frame = read(1, dict.fromkeys([*as_text, *sure], str))
    doubtful = {name: _doubt(frame[name]) for name in names}
    again = [name for name, doubt in doubtful.items() if doubt]
    if again:
        texts = read(2, str, usecols=again)
        for name in again:
            is_text = doubtful[name] == "text"
            frame[name] = texts[name] if is_text else settle(texts[name])
    return frame


def _doubt(column: Series[Any]) -> str:
    """Return why a column has to be read again: it is text, it may be text, or nothing."""
    from pandas.api import types

    if column.dtype == object:
        is_pure = types.infer_dtype(column, skipna=True) in {"string", "empty"}
        return "" if is_pure else "text"
    if types.is_bool_dtype(column) or column.dtype == np.uint64:
        return "text"
    if column.dtype == np.float64:
        sizes = np.abs(column.to_numpy())
        return "perhaps" if ((sizes >= 2.0**53) & (sizes < np.inf)).any() else ""
    return ""
