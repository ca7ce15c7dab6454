"""From decisions to the rows of a table: whether it is the same one, and what its labels are."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._checks import close_names
from sorr._csv import escape_formula
from sorr._typing import BoolArray, IntArray
from sorr.auditing.decisions import GIVEN, MARK, Decision, Decisions, Matched
from sorr.auditing.table import Argument, Table, TableError, quote
from sorr.auditing.table.values import listed
from sorr.auditing.target import task_of, unify_spellings
from sorr.auditing.written import MISSING_MARKS, as_texts, kind_of_values

if TYPE_CHECKING:
    from pandas import Series

_NUMBER = re.compile(r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3},\d{3}", re.ASCII)
_CHANGED = re.compile(r"[' \ufffd]")  # a text that `escape_formula` changed has one of these
_CLOSE = 1e-6  # of a number: spreadsheets write it as they show it, with 7 digits or more


def table_mark(table: Table, target: str) -> str:
    """Return what decisions name a table by: its fingerprint and the position of the target."""
    names = [str(name) for name in table.frame.columns]
    return f"{table.fingerprint}-{names.index(target) + 1}"


class _Mark(NamedTuple):
    """What the column `table` of decisions says."""

    fingerprint: str
    n_rows: int
    n_columns: int
    is_frame: bool
    position: int

    @classmethod
    def of(cls, written: str) -> _Mark | None:
        found = MARK.fullmatch(written)
        if found is None:
            return None
        whole, n_rows, n_columns, kind, position = found.groups()
        return cls(whole, int(n_rows), int(n_columns), kind == "v", int(position))


class Matching:
    """The search for the rows of decisions in a table."""

    def __init__(
        self, decisions: Decisions, table: Table, id_column: str | None, target: str | None
    ) -> None:
        self.decisions, self.table = decisions, table
        self.names = [str(name) for name in table.frame.columns]
        self.id_column = self._known("id_column", id_column)
        self.target = self._known("target", target)
        self.mark = _Mark.of(decisions.table)
        self.is_sample = len(table.frame) < table.n_rows

    def _known(self, role: str, name: str | None) -> str | None:
        if name is None or name in self.names:
            return name
        close = close_names(name, self.names)
        hint = f"did you mean {listed(close)}?" if close else f"there are {listed(self.names)}"
        raise TableError(
            Argument(role, name), f": {quote(self.table.name)} has no such column; {hint}"
        )

    def result(self) -> Matched:
        """Return the decisions for this table, or raise an error that says what differs."""
        is_same = self.mark is not None and self.mark.fingerprint == self.table.fingerprint
        lacks_rows = any(it.row < 0 for it in self.decisions.decided)
        notes: list[str] = []
        if self.id_column is not None and (not is_same or lacks_rows):
            found, notes = self._by_id(self.id_column)
            if not is_same:
                notes.insert(0, f"Rows were found by {quote(self.id_column)}.")
        else:
            if not is_same:
                notes = self._check_kind()
            found = self._by_row()
        target = self._target()
        labels = _Labels(self.table, target)
        self._check_given(found, labels, is_same and target == self._at_position())
        decided = tuple(labels.settle(found))
        mark = table_mark(self.table, target) if self.table.fingerprint else ""
        return Matched(target, replace(found, decided=decided, table=mark), tuple(notes))

    def _at_position(self) -> str | None:
        if self.mark is None or not 1 <= self.mark.position <= len(self.names):
            return None
        return self.names[self.mark.position - 1]

    def _target(self) -> str:
        target = self.target or self._at_position()
        if target is None:
            why = (
                "do not say which column they are about"
                if self.mark is None
                else f"are about column {self.mark.position}, and there are {len(self.names)}"
            )
            raise TableError(
                f"{self._name} {why}; name the column of the labels with ", Argument("target")
            )
        return target

    @property
    def _name(self) -> str:
        name = self.decisions.name
        return name if name == GIVEN else f"the decisions in {quote(name)}"

    # Rows by their number

    def _check_kind(self) -> list[str]:
        """Refuse decisions about a table that has changed. Return notes on one that may be so."""
        mark, table = self.mark, self.table
        if mark is None:
            return ["The decisions do not say which table they are about; its labels agree."]
        is_frame = "-v" in table.fingerprint
        size = table.n_rows, _n_columns(table)
        if mark.is_frame == is_frame and table.fingerprint:
            raise self._changed(size)
        if (mark.n_rows, mark.n_columns) != size:
            raise self._changed(size)
        kinds = ("a frame", "a file") if mark.is_frame else ("a file", "a frame")
        return [
            f"The decisions are about {kinds[0]}, and this is {kinds[1]}; its size and labels "
            "agree."
        ]

    def _changed(self, size: tuple[int, int]) -> TableError:
        """Return what differs between the table and the one that decisions are about."""
        assert self.mark is not None
        told = []
        sizes = zip(size, self.mark[1:3], ("rows", "columns"), strict=True)
        told += [
            f"it has {now:,} {what}, and had {then:,}" for now, then, what in sizes if now != then
        ]
        if not told:
            told.append(self._first_other() or "its content is another")
        return TableError(
            f"{quote(self.table.name)} is not the table that {self._name} are about: "
            f"{' and '.join(told)}. If it has changed since, name the column that tells rows apart "
            "with ",
            Argument("id_column"),
            ", so that rows are found by it; or make the decisions again",
        )

    def _first_other(self) -> str:
        """Return the first decided row whose label is another one now."""
        column = self.target or self._at_position()
        if column is None:
            return ""
        for decision, now in self._others(
            self.decisions, _Labels(self.table, column), strict=False
        ):
            return (
                f"row {decision.row} has the label {quote(now)} now, and had "
                f"{quote(decision.given)} ({self.decisions.where(decision.place)})"
            )
        return ""

    def _by_row(self) -> Decisions:
        """Return the decisions as they are, if each row is one of the table."""
        decisions, n_rows = self.decisions, self.table.n_rows
        for decision in decisions.decided:
            where = decisions.where(decision.place)
            if decision.row < 0:
                raise TableError(
                    f"{where} has no row; name the column of its id ({quote(decision.id)}) with ",
                    Argument("id_column"),
                )
            if decision.row >= n_rows:
                raise TableError(
                    f"{where}: the row is {decision.row}, but {quote(self.table.name)} has "
                    f"{n_rows:,} rows; needed a number from 0 to {n_rows - 1}"
                )
        there = [(pair, name) for pair, name in _listed(decisions) if 0 <= pair[0] < n_rows]
        return replace(
            decisions,
            listed=tuple(pair for pair, _ in there),
            ids=tuple(name for _, name in there),
        )

    # Rows by their identifier

    def _by_id(self, column: str) -> tuple[Decisions, list[str]]:
        """Return the decisions with the rows that have their identifiers, and notes."""
        decisions = self.decisions
        wanted = (*(it.id for it in decisions.decided), *decisions.ids)
        rows_of = _rows_of_ids(self.table, column, wanted)
        decided, seen, n_absent = [], dict[str, Decision](), 0
        for decision in decisions.decided:
            where = decisions.where(decision.place)
            if not decision.id:
                raise TableError(
                    f"{where} has no id, and rows are found by ",
                    Argument("id_column", column),
                    "; write it into the column id",
                )
            twin = seen.setdefault(decision.id, decision)
            if twin is not decision:
                raise TableError(
                    f"{where}: the id {quote(decision.id)} also stands for another decided row "
                    f"({decisions.where(twin.place)}); needed an id of its own for each row"
                )
            rows = rows_of[decision.id]
            if len(rows) > 1:
                raise TableError(
                    f"{where}: the id {quote(decision.id)} is not unique: {len(rows):,} rows have "
                    f"it in column {quote(column)}, such as {rows[0]} and {rows[1]}; needed a "
                    "column that tells rows apart"
                )
            if not rows and not self.is_sample:
                raise TableError(
                    f"{where}: the id {quote(decision.id)} is not in column {quote(column)} of "
                    f"{quote(self.table.name)}; if the row is gone, remove this line"
                )
            n_absent += not rows
            decided += [decision._replace(row=row) for row in rows]
        lines = _listed(decisions)
        found = [(rows_of.get(name, []), name, tier) for (_, tier), name in lines]
        there = [(rows[0], name, tier) for rows, name, tier in found if len(rows) == 1]
        notes = []
        if n_absent:
            notes.append(f"{n_absent:,} decided rows are not in the sample.")
        return replace(
            decisions,
            decided=tuple(decided),
            listed=tuple((row, tier) for row, _, tier in there),
            ids=tuple(name for _, name, _ in there),
        ), notes

    # Labels

    def _check_given(self, found: Decisions, labels: _Labels, is_sure: bool) -> None:
        """Refuse decisions whose labels are not those of the table.

        In a table that is the same, labels differ where somebody sorted one column of the
        decisions without the others.
        """
        decided = found.decided
        if not is_sure and decided and not any(it.given.strip() for it in decided):
            raise TableError(
                f"{self._name} cannot be checked: they are about another table, or do not say "
                "which, and have no labels in the column given. Make them from the suspects.csv of "
                f"{quote(self.table.name)}"
            )
        for decision, now in self._others(found, labels, strict=not is_sure):
            where, name = found.where(decision.place), quote(labels.name)
            way_out: tuple[str | Argument, ...]
            if is_sure:
                way_out = (
                    "; were columns of the decisions sorted apart? If only given was changed, "
                    "empty that column",
                )
            elif self.target is None:
                way_out = (
                    "; if the labels are in another column, name it with ",
                    Argument("target"),
                )
            else:
                way_out = ("; needed decisions about the labels as they are",)
            raise TableError(
                f"{where}: row {decision.row} of {quote(self.table.name)} has {quote(now)} in "
                f"column {name}, but the decisions say {quote(decision.given)}",
                *way_out,
            )

    def _others(
        self, found: Decisions, labels: _Labels, *, strict: bool
    ) -> Iterator[tuple[Decision, str]]:
        """Yield decisions about rows with another label now, and that label.

        A blank label is another one than any label if `strict`, and is not looked at otherwise.
        """
        decided = [it for it in found.decided if it.row >= 0 and (strict or it.given.strip())]
        rows = np.array([it.row for it in decided], dtype=np.int64)
        places, is_there = _places(self.table, rows)
        there = np.flatnonzero(is_there)
        given = [decided[i].given for i in there]
        agree = labels.agree(places[there], given)
        for i in there[~agree]:
            yield decided[i], labels.text(int(places[i]))


def _listed(decisions: Decisions) -> Iterator[tuple[tuple[int, int], str]]:
    """Return the row and the tier of every line, and its identifier."""
    ids = decisions.ids or ("",) * len(decisions.listed)
    return zip(decisions.listed, ids, strict=True)


def _column(table: Table, name: str) -> Series[Any]:
    names = [str(it) for it in table.frame.columns]
    return table.frame.iloc[:, names.index(name)]


def _n_columns(table: Table) -> int:
    """Return the number of columns, also of those without a name that were not read."""
    found = re.match(r"\d+x(\d+)-", table.fingerprint)
    return int(found[1]) if found else table.frame.shape[1]


def _places(table: Table, rows: IntArray) -> tuple[IntArray, BoolArray]:
    """Return where rows are in the frame of a table, and which of them are there."""
    places = np.searchsorted(table.rows, rows)
    inside = np.minimum(places, len(table.rows) - 1)
    return inside, np.asarray((places < len(table.rows)) & (table.rows[inside] == rows))


def _rows_of_ids(table: Table, column: str, wanted: Iterable[str]) -> dict[str, list[int]]:
    """Return the rows of identifiers, which may be as they are or as `to_csv` writes them."""
    found: dict[str, list[int]] = {name: [] for name in wanted if name}
    texts = as_texts(_column(table, column)).tolist()
    named = [
        (it.strip(), row) for it, row in zip(texts, table.rows.tolist(), strict=True) if it == it
    ]
    for name, row in named:
        if name in found:
            found[name].append(row)
    changed = {name for name, rows in found.items() if not rows and _CHANGED.search(name)}
    if changed:
        for name, row in named:
            written = escape_formula(name).strip()
            if written in changed:
                found[written].append(row)
    return found


# -- Labels ----------------------------------------------------------------------------------------


class _Labels:
    """The labels of a table: which ones there are, and which text stands for which."""

    def __init__(self, table: Table, target: str) -> None:
        column = _column(table, target)
        self.name, self._file = target, table.name
        self._is_sample = len(table.frame) < table.n_rows
        task, self._numbers = task_of(column, "auto", table.separator)
        there = column.dropna()
        self._kind = kind_of_values(there) if len(there) else "text"
        self._is_many = task == "regression"
        self._texts: npt.NDArray[np.object_] = as_texts(column)
        self._counts = Counter([it for it in self._texts.tolist() if it == it])
        self._classes = {} if self._is_many else unify_spellings(self._counts)
        self._found: dict[str, str | None] = {}

    def text(self, place: int) -> str:
        """Return the label in a place of the frame as text, nothing if there is none."""
        label = self._texts[place]
        return label if label == label else ""

    def agree(self, places: IntArray, given: Sequence[str]) -> BoolArray:
        """Return which texts stand for the labels in some places."""
        if not self._is_many:
            self._resolve(given)
        return np.fromiter(
            map(self._is_label, places.tolist(), given), dtype=bool, count=len(places)
        )

    def _is_label(self, place: int, given: str) -> bool:
        now = self.text(place)
        if given == now:
            return True
        if not given.strip():
            return now.strip().casefold() in MISSING_MARKS
        if self._numbers is None:
            label = self._found[given]
            is_class = label is not None and label == self._classes.get(now)
            return is_class or escape_formula(now).strip() == given.strip()
        number, there = _number(given), float(self._numbers[place])
        if number is None:
            return escape_formula(now).strip() == given.strip()
        return abs(number - there) <= _CLOSE * max(abs(there), abs(number))

    def settle(self, found: Decisions) -> Iterator[Decision]:
        """Yield decisions with new labels as the table writes them, or refuse an unknown one."""
        asked = [it.label for it in found.decided if it.word == "relabel"]
        if not self._is_many:
            self._resolve(asked)
        for decision in found.decided:
            if decision.word != "relabel":
                yield decision
                continue
            label = self._new_label(decision.label)
            if label is None:
                raise self._unknown(decision.label, found.where(decision.place))
            yield decision._replace(label=label)

    def _new_label(self, written: str) -> str | None:
        plain, number = written.strip(), _number(written)
        if not self._is_many:
            label = self._found[written]
            if label is not None:
                return label
            is_numeric = self._kind == "number"
            is_fraction = is_numeric and number is not None and number % 1 != 0
            is_new = self._is_sample and (number is not None or not is_numeric)
            return plain if is_fraction or is_new else None  # fractions come from a regression
        if written in self._counts:
            return written
        if number is None or self._kind == "date" or _THOUSANDS.fullmatch(plain):
            return None
        return plain.replace(",", ".")

    def _unknown(self, written: str, where: str) -> TableError:
        opening = f"{where}: the new label is {quote(written)}"
        if self._is_many:
            what = "a date as the table has it" if self._kind == "date" else "a plain number"
            return TableError(
                f"{opening}, but column {quote(self.name)} of {quote(self._file)} holds numbers; "
                f"needed {what}"
            )
        labels = [label for label, _ in Counter(self._classes.values()).items()]
        close = close_names(written, labels)
        hint = f"did you mean {listed(close)}?" if close else f"there are {listed(labels)}"
        return TableError(
            f"{opening}, which column {quote(self.name)} of {quote(self._file)} does not have; "
            f"{hint}"
        )

    def _resolve(self, asked: Iterable[str]) -> None:
        """Find the class that each text stands for.

        A text is a label as it is, as `to_csv` writes it, without white space around it, in another
        spelling that is the same class in an audit, or as a number: spreadsheets write 007 as 7.
        """
        new = [it for it in dict.fromkeys(asked) if it not in self._found]
        alike = unify_spellings(Counter({**dict.fromkeys(new, 0), **self._counts}))
        for it in new:
            label = it if it in self._counts else self._written.get(it)
            label = label or self._written.get(it.strip())
            if label is None and alike[it] in self._counts:
                label = alike[it]
            if label is None and (number := _number(it)) is not None:
                label = self._numerals.get(number)
            self._found[it] = None if label is None else self._classes[label]

    @cached_property
    def _written(self) -> dict[str, str]:
        """Labels by the ways to write them, as far as no label of another class is written so."""
        found: dict[str, str] = {}
        ways = (escape_formula, str.strip, lambda it: escape_formula(it).strip())
        frequent = [label for label, _ in self._counts.most_common()]
        for way in ways:
            of_way: dict[str, list[str]] = {}
            for label in frequent:
                of_way.setdefault(way(label), []).append(label)
            for text, labels in of_way.items():
                if len({self._classes[label] for label in labels}) == 1:
                    found.setdefault(text, labels[0])
        return found

    @cached_property
    def _numerals(self) -> dict[float, str]:
        """Labels by their numbers, as far as no other label is the same number."""
        pairs = [(number, it) for it in self._counts if (number := _number(it)) is not None]
        times = Counter(number for number, _ in pairs)
        return {number: label for number, label in pairs if times[number] == 1}


def _number(written: str) -> float | None:
    """Return a number as spreadsheets write it, also with a decimal comma."""
    plain = written.strip()
    number = float(plain.replace(",", ".")) if _NUMBER.fullmatch(plain) else math.nan
    return number if math.isfinite(number) else None
