"""The roles and types of columns, the rows that have a label, and the task."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import numpy.typing as npt

from sorr._checks import close_names
from sorr._typing import IntArray
from sorr.auditing.table import Argument, Table, TableError, quote, quote_bare
from sorr.auditing.table.values import listed

if TYPE_CHECKING:
    from pandas import DataFrame, Series

Kind = Literal["number", "text", "date"]
Task = Literal["classification", "regression"]

_MAX_TEXTS = 1000  # different texts of a column; a column with more holds names, not categories
_MIN_NAMES = 50  # different texts, from which a column holds names if they differ in most rows
_MIN_COUNTED = 20  # rows, from which whole numbers in order are taken for a count of the rows
_TEXTS_TRIED = 50  # different texts that must all be dates for a column of dates
_MAX_FLAGGED = 8  # columns in the way out of an error
_MIN_ROWS = 10  # rows with a label that a model needs
_MAX_WHOLE_NUMBERS = 20  # different ones that are taken for classes
_MAX_CLASSES = 100
_MAX_GROUPS = 12  # values of a group column; numbers are cut into quarters, rare texts are joined
_DATE = re.compile(
    r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))([T ,].*)?\s*"
)


@dataclass(frozen=True)
class Roles:
    """Which columns are the target, the identifier and the groups, and which are ignored."""

    target: str
    id_column: str | None = None
    ignore: tuple[str, ...] = ()
    group: tuple[str, ...] = ()

    def check(self, columns: Sequence[str]) -> None:
        """Refuse names without a column, and roles that exclude each other."""
        named: list[tuple[str, str | None]] = [("target", self.target)]
        named += [("id_column", self.id_column)]
        named += [("ignore", name) for name in self.ignore]
        named += [("group", name) for name in self.group]
        for role, name in named:
            if name is not None and name not in columns:
                value = [name] if role in ("ignore", "group") else name
                raise TableError(Argument(role, value), f": {_no_such(name, columns)}")
        if self.target in (self.id_column, *self.ignore):
            raise TableError(
                Argument("target", self.target),
                " is also named by ",
                Argument("id_column"),
                " or ",
                Argument("ignore"),
                "; the target needs a column of its own",
            )

    def features(self, columns: Iterable[str]) -> list[str]:
        """Return the columns to learn from."""
        excluded = {self.target, self.id_column, *self.ignore}
        features = [name for name in columns if name not in excluded]
        if not features:
            raise TableError(
                "no column is left to learn from; needed at least one besides ",
                Argument("target"),
                ", ",
                Argument("id_column"),
                " and ",
                Argument("ignore"),
            )
        return features


def _no_such(name: str, columns: Sequence[str]) -> str:
    if close := close_names(name, columns):
        return f"there is no such column; did you mean {' or '.join(map(quote, close))}?"
    return f"there is no such column; the columns are {listed(columns)}"


def kind_of(column: Series[Any]) -> Kind:
    """Return whether a column holds numbers, dates or texts. Everything else counts as text."""
    from pandas.api import types

    if types.is_datetime64_any_dtype(column) or types.is_timedelta64_dtype(column):
        return "date"
    if types.is_bool_dtype(column):
        return "text"
    if types.is_numeric_dtype(column):
        return "number"
    inferred = types.infer_dtype(column, skipna=True)
    if inferred in {"integer", "floating", "mixed-integer-float", "decimal"}:
        return "number"
    if inferred in {"date", "datetime", "datetime64", "timedelta", "period"}:
        return "date"
    texts = column.dropna().unique()[:_TEXTS_TRIED]
    if len(texts) and all(isinstance(text, str) and _DATE.fullmatch(text) for text in texts):
        return "date"
    return "text"


def missing_counts(frame: DataFrame) -> dict[str, int]:
    """Return the number of missing values of each column that has any."""
    counts = frame.isna().sum()
    return {str(name): int(count) for name, count in counts.items() if count}


def check_features(frame: DataFrame) -> tuple[str, ...]:
    """Refuse columns that nothing can be learned from, and return notes on the others.

    An error names all columns with the same problem, so that one change solves it.
    """
    kinds = {name: kind_of(frame[name]) for name in frame.columns}
    empty = [name for name in frame.columns if frame[name].isna().all()]
    if empty:
        raise TableError(f"{_say(empty, 'has', 'have')} no values; ", *_way_out(empty))
    dates = [name for name, kind in kinds.items() if kind == "date"]
    if dates:
        raise TableError(
            f"{_say(dates, 'holds', 'hold')} dates; convert them to numbers, such as the month or "
            "the days since a date, or ",
            *_way_out(dates),
        )
    different = {name: frame[name].nunique() for name, kind in kinds.items() if kind == "text"}
    names = [name for name, count in different.items() if _is_too_many(count, len(frame))]
    if names:
        counts = ", ".join(f"{different[name]:,}" for name in names)
        raise TableError(
            f"{_say(names, 'has', 'have')} too many different texts for a category ({counts} in "
            f"{len(frame):,} rows); ",
            *_way_out(names),
            f", or make {'it' if len(names) == 1 else 'one'} the id column with ",
            Argument("id_column", names[0]),
        )
    constant = [name for name in frame.columns if frame[name].nunique(dropna=False) == 1]
    notes = []
    if constant:
        subject = _say(constant, "has", "have")
        notes.append(f"{subject[0].upper()}{subject[1:]} one value only: nothing to learn from.")
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    if keys := [name for name in numbers if _counts_rows(frame[name])]:
        subject = _say(keys, "holds", "hold")
        notes.append(
            f"{subject[0].upper()}{subject[1:]} whole numbers that rise from row to row. If they "
            "only identify rows, make this the id column: then it is not learned from."
        )
    return tuple(notes)


def _counts_rows(column: Series[Any]) -> bool:
    """Tell whether a column of numbers only counts the rows."""
    if len(column) < _MIN_COUNTED or column.isna().any():
        return False
    values = column.astype(float)
    return bool((values.diff().iloc[1:] > 0).all() and (values % 1 == 0).all())


def _is_too_many(different: int, rows: int) -> bool:
    return different > _MAX_TEXTS or (different > _MIN_NAMES and different > rows / 2)


def _say(names: Sequence[str], singular: str, plural: str) -> str:
    """Return columns as the subject of a sentence, with its verb."""
    is_one = len(names) == 1
    return f"column{'' if is_one else 's'} {listed(names)} {singular if is_one else plural}"


def _way_out(names: Sequence[str]) -> tuple[str, Argument]:
    return f"leave {'it' if len(names) == 1 else 'them'} out with ", Argument(
        "ignore", list(names[:_MAX_FLAGGED])
    )


# -- Rows with a label -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with a label.

    Attributes
    ----------
    name : str
        The name of the table.
    frame : DataFrame
        The columns to learn from, raw.
    y : ndarray of shape (n_rows,)
        The labels: texts or whole numbers for classification, numbers for regression.
    roles : Roles
    task : {"classification", "regression"}
    numbers : ndarray of shape (n_rows,)
        The number of each row among the data rows of the table, from 0.
    lines : ndarray of shape (n_rows,) or None
        The line of the file where each row begins.
    ids : ndarray of shape (n_rows,) or None
        The identifier of each row.
    groups : mapping of str to ndarray of shape (n_rows,)
        For each group column, the group of each row as text.
    missing : mapping of str to int
        The number of missing values of each column to learn from.
    notes : tuple of str
        What readers of the results should know about the table.
    """

    name: str
    frame: DataFrame = field(repr=False)
    y: npt.NDArray[Any] = field(repr=False)
    roles: Roles
    task: Task
    numbers: IntArray = field(repr=False)
    lines: IntArray | None = field(repr=False)
    ids: npt.NDArray[Any] | None = field(repr=False)
    groups: Mapping[str, npt.NDArray[Any]] = field(repr=False)
    missing: Mapping[str, int]
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.y)


def labelled_rows(table: Table, roles: Roles, task: str = "auto") -> Rows:
    """Return the rows of a table that have a label, or raise an error that says what is wrong."""
    frame = table.frame
    names = [str(name) for name in frame.columns]
    roles.check(names)
    features = roles.features(names)
    target = frame[roles.target]
    is_there = target.notna().to_numpy()
    notes = list(table.notes)
    if not is_there.all():
        if not is_there.any():
            raise TableError(f"the target {quote(roles.target)} has no values")
        notes.append(f"{int((~is_there).sum()):,} rows have no label and are not used.")
        frame, target = frame[is_there], target[is_there]
    if len(target) < _MIN_ROWS:
        raise TableError(
            f"{len(target)} rows have a label; needed at least {_MIN_ROWS} to find wrong ones"
        )
    task_found = task_of(target, roles.target, task)
    y = _classes(target, roles.target) if task_found == "classification" else _numbers(target)
    if len(np.unique(y)) < 2:
        raise TableError(
            f"the target {quote(roles.target)} is {quote(y[0])} in every row; needed a column with "
            "at least two values"
        )
    notes += check_features(frame[features])
    if task_found == "regression" and (same := _common(y)) is not None:
        notes.append(
            f"At least half of the rows have {quote_bare(roles.target)} = {same:.4g}. A linear "
            "model of these rows treats all others as outliers. Audit the others alone, or use "
            "classes."
        )
    places = np.flatnonzero(is_there)
    return Rows(
        name=table.name,
        frame=frame[features].reset_index(drop=True),
        y=y,
        roles=roles,
        task=task_found,
        numbers=table.rows[places],
        lines=None if table.lines is None else table.lines[places],
        ids=None if roles.id_column is None else frame[roles.id_column].to_numpy(dtype=object),
        groups={name: _groups(frame[name]) for name in roles.group},
        missing=missing_counts(frame[features]),
        notes=tuple(notes),
    )


def _common(y: npt.NDArray[np.float64]) -> float | None:
    """Return the number that at least half of the rows have, if there is one."""
    values, counts = np.unique(y, return_counts=True)
    return float(values[counts.argmax()]) if counts.max() >= len(y) / 2 else None


def task_of(target: Series[Any], name: str, asked: str) -> Task:
    """Return what to learn: classes, unless the target holds many numbers."""
    if asked not in ("auto", "classification", "regression"):
        raise TableError(
            Argument("task", asked),
            " is not known; needed auto, classification or regression",
        )
    kind = kind_of(target)
    if kind == "date":
        raise TableError(
            f"the target {quote(name)} holds dates; needed classes or numbers, such as days since "
            "a date"
        )
    if asked == "regression" and kind == "text":
        raise TableError(
            Argument("task", "regression"),
            f" needs numbers, but the target {quote(name)} holds "
            f"{quote(target.dropna().iloc[0])}; choose another target, or ",
            Argument("task", "classification"),
        )
    if asked != "auto":
        return cast("Task", asked)
    if kind == "text":
        return "classification"
    values = np.unique(_numbers(target.dropna()))
    are_classes = len(values) <= 2 or (
        len(values) <= _MAX_WHOLE_NUMBERS and bool(np.all(values % 1 == 0))
    )
    return "classification" if are_classes else "regression"


def _numbers(target: Series[Any]) -> npt.NDArray[np.float64]:
    values: npt.NDArray[np.float64] = target.to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        raise TableError(
            f"the target {quote(target.name)} holds an infinite number; needed finite ones"
        )
    return values


def _classes(target: Series[Any], name: str) -> npt.NDArray[Any]:
    different = target.nunique()
    if different > _MAX_CLASSES or (different > 2 and different > len(target) / 2):
        raise TableError(
            f"the target {quote(name)} has {different:,} different values in {len(target):,} rows; "
            f"needed at most {_MAX_CLASSES} classes, each in several rows; or ",
            Argument("task", "regression"),
            " if they are numbers",
        )
    if kind_of(target) == "number":
        values = _numbers(target)
        return values.astype(np.int64) if bool(np.all(values % 1 == 0)) else values.astype(str)
    return np.array([str(value) for value in target.to_numpy(dtype=object)])


def _groups(column: Series[Any]) -> npt.NDArray[Any]:
    """Return the group of each row as text. Many numbers become quarters, rare texts one group."""
    import pandas as pd

    if kind_of(column) == "number" and column.nunique() > _MAX_GROUPS:
        parts = pd.qcut(column.astype(float), 4, duplicates="drop")
        texts = {part: f"{part.left:.4g} to {part.right:.4g}" for part in parts.cat.categories}
        names = parts.map(texts).astype(object)
    else:
        names = column.astype(object)
        common = set(names.value_counts().index[:_MAX_GROUPS])
        names = names.where(names.isna() | names.isin(common), "(others)")
    return np.array([str(name) for name in names.where(names.notna(), "(missing)")], dtype=object)
