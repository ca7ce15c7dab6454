"""The roles of columns, and the rows of a table: those that are judged, and the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._checks import close_names
from sorr._typing import BoolArray, IntArray
from sorr.auditing.columns import (
    RUNNING,
    Column,
    Context,
    Kind,
    UnreadableError,
    parse_column,
    read_column,
    read_columns,
)
from sorr.auditing.leaks import Leak, find_leaks
from sorr.auditing.table import Argument, Table, TableError, quote
from sorr.auditing.table.values import SetAside, listed, spell
from sorr.auditing.target import Target, Task, read_target
from sorr.auditing.written import kind_of_values

if TYPE_CHECKING:
    from pandas import DataFrame, Series

    from sorr.auditing.decisions import Decisions

_MAX_GROUPS = 12  # values of a group column; numbers are cut into quarters, rare texts are joined
_ASKED: Mapping[str, Kind] = {
    "number": "number",
    "category": "category",
    "text": "text",
    "date": "date",
    "ignore": "unused",
}


@dataclass(frozen=True)
class Roles:
    """What the columns of a table are for, as far as somebody has said so.

    Attributes
    ----------
    target : str
        The column to predict.
    id_column : str or None
        The column that names rows.
    ignore : tuple of str
        Columns not to learn from.
    group : tuple of str
        Columns by whose values dropped rows are counted.
    group_folds : str or None
        The column of entities, such as patients: their rows are held out together.
    number, category, text, date : tuple of str
        Columns to read as such. A date may have its format behind it, as in
        ``"signed=%d/%m/%Y"``.
    """

    target: str
    id_column: str | None = None
    ignore: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    group_folds: str | None = None
    number: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    date: tuple[str, ...] = ()

    def check(self, columns: Sequence[str]) -> None:
        """Refuse names without a column, and roles that exclude each other."""
        single = {
            "target": self.target,
            "id_column": self.id_column,
            "group_folds": self.group_folds,
        }
        named: list[tuple[str, str, Any]] = [
            (role, name, name) for role, name in single.items() if name is not None
        ]
        for role in (*_ASKED, "group"):
            given: tuple[str, ...] = getattr(self, role)
            named += [(role, self._name(role, it, columns), [it]) for it in given]
        for role, name, value in named:
            if name not in columns:
                raise TableError(Argument(role, value), f": {_no_such(name, columns)}")
        taken: dict[str, str] = {}
        for role, name, _ in named:
            if role == "group":
                continue
            if taken.setdefault(name, role) != role:
                raise TableError(
                    f"column {quote(name)} is named by ",
                    Argument(taken[name]),
                    " and by ",
                    Argument(role),
                    "; needed one of them",
                )

    def _name(self, role: str, given: str, columns: Sequence[str]) -> str:
        """Return the column of a name that may have a format of dates behind it."""
        return given.partition("=")[0] if role == "date" and given not in columns else given

    def asked(self, columns: Sequence[str]) -> dict[str, str]:
        """Return the kinds that columns are to be read as; dates with their format behind it."""
        found: dict[str, str] = {}
        for role, kind in _ASKED.items():
            for given in getattr(self, role):
                name = self._name(role, given, columns)
                found[name] = kind + given[len(name) :]
        if self.id_column is not None:
            found[self.id_column] = "id"
        return found

    @property
    def as_written(self) -> tuple[str, ...]:
        """Columns whose values have to be read as they are written, such as 007."""
        names = (*self.category, *self.text, *(it.partition("=")[0] for it in self.date))
        return names if self.id_column is None else (*names, self.id_column)


def _no_such(name: str, columns: Sequence[str]) -> str:
    if close := close_names(name, columns):
        return f"there is no such column; did you mean {' or '.join(map(quote, close))}?"
    return f"there is no such column; the columns are {listed(columns)}"


@dataclass(frozen=True, eq=False)
class Aside:
    """Rows that are not judged, because they have no label, or one that hardly any row has.

    Attributes
    ----------
    frame : DataFrame
        The columns to learn from.
    y : ndarray of shape (n_rows,)
        The labels, empty texts where there are none.
    numbers, lines, ids
        As those of `Rows`.
    """

    frame: DataFrame = field(repr=False)
    y: npt.NDArray[Any] = field(repr=False)
    numbers: IntArray = field(repr=False)
    lines: IntArray | None = field(repr=False)
    ids: npt.NDArray[Any] | None = field(repr=False)

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True, eq=False)
class Rows(Aside):
    """Rows with a label that can be judged.

    Attributes
    ----------
    frame : DataFrame
        The columns to learn from: numbers, dates or texts.
    y : ndarray of shape (n_rows,)
        The labels: texts or whole numbers for classification, numbers for regression. Of rows that
        somebody has checked, the right ones.
    given : ndarray of shape (n_rows,)
        The labels as they are in the table.
    known : ndarray of bool of shape (n_rows,)
        The rows that somebody has checked.
    table : Table
        What was audited.
    numbers : ndarray of shape (n_rows,)
        The number of each row among the data rows of the table, from 0.
    lines : ndarray of shape (n_rows,) or None
        The line of the file where each row begins.
    ids : ndarray of shape (n_rows,) or None
        The identifier of each row.
    roles : Roles
    task : {"classification", "regression"}
    columns : tuple of Column
        How each column but the target was read, in the order of the table.
    written : ndarray of shape (n_rows,) or None
        The labels as they are written, if some spellings were taken for one class.
    groups : mapping of str to ndarray of shape (n_rows,)
        For each group column, the group of each row as text.
    fold_groups : ndarray of shape (n_rows,) or None
        A number for each row; rows that share one are held out together.
    leaks : tuple of Leak
        The columns that give the target away.
    unlabelled, rare : Aside
        The rows without a label, and those of classes that are too small to be judged.
    set_aside : tuple of SetAside
        The lines of the file that could not be read.
    notes : tuple of str
        What readers of the results should know about the table.
    """

    table: Table = field(repr=False)
    given: npt.NDArray[Any] = field(repr=False)
    known: BoolArray = field(repr=False)
    roles: Roles
    task: Task
    columns: tuple[Column, ...] = field(repr=False)
    written: npt.NDArray[Any] | None = field(repr=False)
    groups: Mapping[str, npt.NDArray[Any]] = field(repr=False)
    fold_groups: IntArray | None = field(repr=False)
    leaks: tuple[Leak, ...]
    unlabelled: Aside = field(repr=False)
    rare: Aside = field(repr=False)
    set_aside: tuple[SetAside, ...] = field(repr=False)
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the table."""
        return self.table.name

    @property
    def missing(self) -> dict[str, int]:
        """The number of missing values of each column that is learned from and has any."""
        used = (column for column in self.columns if column.is_learned_from)
        return {column.name: column.missing for column in used if column.missing}


def labelled_rows(
    table: Table,
    roles: Roles,
    task: str = "auto",
    seed: int = 0,
    decisions: Decisions | None = None,
) -> Rows:
    """Return the rows of a table as they are learned from, or say why that cannot be.

    Columns that recode the target are left out: with them, no label would look wrong. `decisions`
    are those of the last round, with rows of this table: rows to remove are left out, and others
    have the label that somebody decided on.
    """
    frame = table.frame
    names = [str(name) for name in frame.columns]
    roles.check(names)
    target = read_target(frame[roles.target], task, table.separator)
    target, checked = _decide(table, frame[roles.target], target, decisions)
    columns = _read(table, roles, [name for name in names if name != roles.target])
    features = _parsed(frame, columns)
    judged = np.flatnonzero(target.is_judged)
    is_empty = features.iloc[judged].isna().all()
    columns = tuple(
        it.leave_out("no row with a label has a value") if is_empty.get(it.name, False) else it
        for it in columns
    )
    _refuse_nothing(columns)
    features = features[[column.name for column in columns if column.is_learned_from]]
    leaks = find_leaks(features.iloc[judged], target.y[judged], target.task, seed=seed)
    columns = _without_recodings(columns, leaks, roles)
    features = features[[column.name for column in columns if column.is_learned_from]]
    ids = _ids(frame, columns, roles)

    def take(chosen: BoolArray) -> dict[str, Any]:
        places = np.flatnonzero(chosen)
        return {
            "frame": features.iloc[places].reset_index(drop=True),
            "y": target.y[places],
            "numbers": table.rows[places],
            "lines": None if table.lines is None else table.lines[places],
            "ids": None if ids is None else ids[places],
        }

    return Rows(
        **(take(target.is_judged) | {"y": checked.y[judged]}),
        table=table,
        given=target.y[judged],
        known=checked.known[judged],
        roles=roles,
        task=target.task,
        columns=columns,
        written=None if target.written is None else target.written[judged],
        groups={name: _groups(frame[name].iloc[judged]) for name in roles.group},
        fold_groups=_fold_groups(frame, roles, judged),
        leaks=tuple(leaks),
        unlabelled=Aside(**take(~target.is_there)),
        rare=Aside(**take(target.is_there & ~target.is_judged)),
        set_aside=table.set_aside,
        notes=(*table.notes, *target.notes, *_count_unlabelled(target), *checked.notes),
    )


class _Checked(NamedTuple):
    """What decisions say about all rows of a table."""

    y: npt.NDArray[Any]
    """The labels, right where somebody checked them."""
    known: BoolArray
    notes: tuple[str, ...] = ()


def _decide(
    table: Table, column: Series[Any], target: Target, decisions: Decisions | None
) -> tuple[Target, _Checked]:
    """Return the target without rows to remove, and what somebody checked.

    A right label that too few rows have to be judged takes its row out of those that are judged.
    """
    known = np.zeros(len(target.y), dtype=bool)
    if decisions is None:
        return target, _Checked(target.y, known)
    place_of = {int(row): place for place, row in enumerate(table.rows.tolist())}
    y, is_judged, outside = target.y.copy(), target.is_judged.copy(), 0
    judged = {spell(label): label for label in np.unique(y[is_judged]).tolist()}
    for decision in decisions.decided:
        place = place_of.get(decision.row)
        if place is None or not target.is_judged[place]:
            outside += decision.word != "unsure"
        elif decision.word == "remove":
            is_judged[place] = False
        elif decision.word == "keep":
            known[place] = True
        elif decision.word == "relabel" and target.task == "regression":
            y[place], known[place] = _as_number(decision.label, column, target.y), True
        elif decision.word == "relabel" and decision.label in judged:
            y[place], known[place] = judged[decision.label], True
        elif decision.word == "relabel":
            is_judged[place] = False
    notes: tuple[str, ...] = ()
    if outside:
        notes = (
            f"{outside:,} decision{'s are' if outside > 1 else ' is'} about rows that are not "
            "judged here.",
        )
    return target._replace(is_judged=is_judged), _Checked(y, known & is_judged, notes)


def _as_number(label: str, column: Series[Any], y: npt.NDArray[Any]) -> float:
    """Return a number, written as a plain one or as the column has it, such as $20.50."""
    try:
        return float(label)
    except ValueError:
        places = np.flatnonzero(column.map(spell, na_action="ignore") == label)
        return float(y[places[0]])


def _read(table: Table, roles: Roles, names: list[str]) -> tuple[Column, ...]:
    """Return how the columns are read."""
    context = Context(table.separator, table.n_rows)
    asked = roles.asked(names)
    try:
        columns = read_columns(table.frame[names], asked, context)
    except UnreadableError as error:
        way_out = "; a date may have its format behind it, as in signed=%d/%m/%Y"
        raise TableError(
            Argument(error.kind, [error.name]),
            f" does not fit: the column holds {quote(error.example)}; needed a column most of "
            f"whose values are {error.kind}s{way_out * (error.kind == 'date')}",
        ) from None
    if roles.group_folds is not None:
        columns = tuple(
            it.leave_out("its rows are held out together") if it.name == roles.group_folds else it
            for it in columns
        )
    return _with_something_to_learn(table, columns, asked)


def _refuse_nothing(columns: Sequence[Column]) -> None:
    """Refuse a table without any column to learn from, and say what became of its columns."""
    if not any(column.is_learned_from for column in columns):
        why = [f"{quote(it.name)} ({it.reading}, {it.treatment})" for it in columns[:5]]
        raise TableError(
            f"no column is left to learn from: {', '.join(why) or 'there is only the target'}; "
            "needed at least one of numbers, dates, categories or texts. If one of these is such a "
            "column, name it with ",
            Argument("number"),
            ", ",
            Argument("category"),
            " or ",
            Argument("text"),
        )


def _with_something_to_learn(
    table: Table, columns: tuple[Column, ...], asked: Mapping[str, str]
) -> tuple[Column, ...]:
    """Return the columns; if nothing else is there to learn from, running numbers are numbers."""
    if any(column.is_learned_from for column in columns):
        return columns
    return tuple(
        read_column(table.frame[it.name], "number")
        if it.kind == "id" and it.name not in asked and it.reading == RUNNING
        else it
        for it in columns
    )


def _parsed(frame: DataFrame, columns: Sequence[Column]) -> DataFrame:
    """Return the columns that are learned from: numbers, dates and texts."""
    import pandas as pd

    used = (column for column in columns if column.is_learned_from)
    parsed = {it.name: parse_column(frame[it.name], it.kind, it.format) for it in used}
    return pd.DataFrame(parsed, index=range(len(frame)), copy=False)


def _without_recodings(
    columns: tuple[Column, ...], leaks: Sequence[Leak], roles: Roles
) -> tuple[Column, ...]:
    """Leave out columns that recode the target, unless somebody asked for them or none is left."""
    asked = roles.asked([column.name for column in columns])
    recodings = {leak.column for leak in leaks if leak.is_recoding} - set(asked)
    left = tuple(
        it.leave_out("it gives the target away") if it.name in recodings else it for it in columns
    )
    return left if any(column.is_learned_from for column in left) else columns


def _ids(
    frame: DataFrame, columns: Sequence[Column], roles: Roles
) -> npt.NDArray[np.object_] | None:
    """Return what names the rows: the column that was asked for, or the first that does so."""
    if roles.id_column is not None:
        return np.asarray(frame[roles.id_column], dtype=object)
    found = [column.name for column in columns if column.names_rows]
    found.sort(key=lambda name: kind_of_values(frame[name].dropna()) == "number")
    return np.asarray(frame[found[0]], dtype=object) if found else None


def _count_unlabelled(target: Target) -> list[str]:
    n = int((~target.is_there).sum())
    if not n:
        return []
    return [f"{n:,} row{' has' if n == 1 else 's have'} no label: not judged, but predicted."]


def _fold_groups(frame: DataFrame, roles: Roles, judged: IntArray) -> IntArray | None:
    """Return a number for each entity. Rows without an entity are on their own."""
    import pandas as pd

    if roles.group_folds is None:
        return None
    codes = pd.factorize(frame[roles.group_folds].iloc[judged])[0]
    alone = codes.max(initial=-1) + 1 + np.arange(len(codes))
    return np.asarray(np.where(codes < 0, alone, codes), dtype=np.intp)


def _groups(column: Series[Any]) -> npt.NDArray[Any]:
    """Return the group of each row as text. Many numbers become quarters, rare texts one group."""
    import pandas as pd

    if kind_of_values(column.dropna()) == "number" and column.nunique() > _MAX_GROUPS:
        parts = pd.qcut(column.astype(float), 4, duplicates="drop")
        texts = {part: f"{part.left:.4g} to {part.right:.4g}" for part in parts.cat.categories}
        names = parts.map(texts).astype(object)
    else:
        names = column.astype(object)
        common = set(names.value_counts().index[:_MAX_GROUPS])
        names = names.where(names.isna() | names.isin(common), "(others)")
    return np.array([str(name) for name in names.where(names.notna(), "(missing)")], dtype=object)
