"""What the columns of a table are for, what is in them, and which cannot be learned from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import numpy.typing as npt

from sorr._checks import close_names
from sorr._typing import IntArray
from sorr.auditing.table import Table, quote_bare
from sorr.auditing.table.values import TableError, listed, quote

if TYPE_CHECKING:
    from pandas import DataFrame, Series

__all__ = [
    "Kind",
    "Roles",
    "Rows",
    "Task",
    "check_features",
    "kind_of",
    "labelled_rows",
    "missing_counts",
]

Kind = Literal["number", "text", "date"]

_MOST_TEXTS = 1000  # different ones in a column: more are names, not categories
_MANY_TEXTS = 50  # from here on, a column is no category if most rows have a text of their own
_COUNTED = 20  # rows, from which on whole numbers in order are taken for a count
_LOOKED_AT = 50  # different texts that must all be dates for a column of dates
_DATE = re.compile(
    r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))([T ,].*)?\s*"
)


@dataclass(frozen=True)
class Roles:
    """Which columns are the target, the identifier and groups, and which are left out."""

    target: str
    id_column: str | None = None
    ignore: tuple[str, ...] = ()
    group: tuple[str, ...] = ()

    def check(self, columns: Sequence[str]) -> None:
        """Refuse names that no column has, and roles that exclude each other."""
        named = [("target", self.target), ("id", self.id_column)]
        named += [("ignore", name) for name in self.ignore]
        named += [("group", name) for name in self.group]
        for role, name in named:
            if name is not None and name not in columns:
                raise TableError(f"--{role} {quote(name)}: {_no_such(name, columns)}")
        if self.target in (self.id_column, *self.ignore):
            raise TableError(
                f"--target {quote(self.target)} is also named by --id or --ignore; needed a column "
                "for the target alone"
            )

    def features(self, columns: Iterable[str]) -> list[str]:
        """Return the columns to learn from."""
        left_out = {self.target, self.id_column, *self.ignore}
        found = [name for name in columns if name not in left_out]
        if not found:
            raise TableError(
                "no column is left to learn from; needed one at least beside --target, --id and "
                "--ignore"
            )
        return found


def _no_such(name: str, columns: Sequence[str]) -> str:
    if close := close_names(name, columns):
        return f"there is no such column; did you mean {' or '.join(map(quote, close))}?"
    return f"there is no such column; there are {listed(columns)}"


def kind_of(column: Series[Any]) -> Kind:
    """Return whether a column holds numbers, dates, or texts: which is everything else."""
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
    texts = column.dropna().unique()[:_LOOKED_AT]
    if len(texts) and all(isinstance(it, str) and _DATE.fullmatch(it) for it in texts):
        return "date"
    return "text"


def missing_counts(frame: DataFrame) -> dict[str, int]:
    """Return the number of missing values of each column that has any."""
    counts = frame.isna().sum()
    return {str(name): int(count) for name, count in counts.items() if count}


def check_features(frame: DataFrame) -> tuple[str, ...]:
    """Refuse columns that nothing can be learned from; return what else there is to say of them.

    All columns of the first kind of trouble are named at once, so that one command mends them.
    """
    kinds = {name: kind_of(frame[name]) for name in frame.columns}
    empty = [name for name in frame.columns if frame[name].isna().all()]
    if empty:
        raise TableError(f"{_named(empty)} without a single value; {_way_out(empty)}")
    dates = [name for name, kind in kinds.items() if kind == "date"]
    if dates:
        raise TableError(
            f"{_named(dates)} of dates, which are no numbers; turn them into numbers, such as days "
            f"since a day or the month, or {_way_out(dates)}"
        )
    different = {name: frame[name].nunique() for name, kind in kinds.items() if kind == "text"}
    names = [name for name, count in different.items() if _is_too_many(count, len(frame))]
    if names:
        counts = ", ".join(f"{different[name]:,}" for name in names)
        raise TableError(
            f"{_named(names)} of too many different texts to compare rows by ({counts} in "
            f"{len(frame):,} rows); {_way_out(names)}, or name one that tells rows apart with --id"
        )
    constant = [name for name in frame.columns if frame[name].nunique(dropna=False) == 1]
    notes = [f"{_named(constant)} of one value only, which tells nothing."] if constant else []
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    if keys := [name for name in numbers if _counts_rows(frame[name])]:
        flags = " ".join(f"--id {quote(name)}" for name in keys[:1])
        notes.append(
            f"{_named(keys)} with another whole number in each row, in order: if that only tells "
            f"rows apart, say so with {flags}."
        )
    return tuple(notes)


def _counts_rows(column: Series[Any]) -> bool:
    """Tell whether a column of numbers does nothing but count the rows."""
    if len(column) < _COUNTED or column.isna().any():
        return False
    values = column.astype(float)
    return bool((values.diff().iloc[1:] > 0).all() and (values % 1 == 0).all())


def _is_too_many(different: int, rows: int) -> bool:
    return different > _MOST_TEXTS or (different > _MANY_TEXTS and different > rows / 2)


def _named(names: Sequence[str]) -> str:
    return f"{listed(names)} {'is a column' if len(names) == 1 else 'are columns'}"


def _way_out(names: Sequence[str]) -> str:
    flags = " ".join(f"--ignore {quote(name)}" for name in names[:8])
    return f"leave {'it' if len(names) == 1 else 'them'} out with {flags}"


# -- The rows of a table that have a label: what is learned from, and where each stands ------------


Task = Literal["classification", "regression"]

_FEWEST = 10  # rows that anything can be learned from
_MOST_NUMBERS = 20  # different whole numbers that are taken for classes
_MOST_CLASSES = 100
_MOST_GROUPS = 12  # values of a group column; numbers are cut into quarters, texts taken together


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with a label.

    Attributes
    ----------
    name : str
        What the table is called.
    frame : DataFrame
        The columns to learn from, raw.
    y : ndarray of shape (n_rows,)
        The labels: texts or whole numbers of a classification, numbers of a regression.
    roles : Roles
    task : {"classification", "regression"}
    numbers : ndarray of shape (n_rows,)
        Which data row of the table each is, from 0 on.
    lines : ndarray of shape (n_rows,) or None
        The line of the file in which it begins.
    ids : ndarray of shape (n_rows,) or None
        Its identifier.
    groups : mapping of str to ndarray of shape (n_rows,)
        By group column, the group of each row, as text.
    missing : mapping of str to int
        How many values are missing of the columns to learn from.
    notes : tuple of str
        What a reader of the results should know of the table.
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
    """Return the rows of a table that have a label, or say what is wrong with it."""
    frame = table.frame
    names = [str(name) for name in frame.columns]
    roles.check(names)
    features = roles.features(names)
    target = frame[roles.target]
    is_there = target.notna().to_numpy()
    notes = list(table.notes)
    if not is_there.all():
        if not is_there.any():
            raise TableError(f"the target {quote(roles.target)} has no value in any row")
        notes.append(f"{int((~is_there).sum()):,} rows without a label are left aside.")
        frame, target = frame[is_there], target[is_there]
    if len(target) < _FEWEST:
        raise TableError(
            f"{len(target)} rows have a label; needed {_FEWEST} at least to tell which do not "
            "belong"
        )
    found = task_of(target, roles.target, task)
    y = _classes(target, roles.target) if found == "classification" else _numbers(target)
    if len(np.unique(y)) < 2:
        raise TableError(
            f"the target {quote(roles.target)} is {quote(y[0])} in every row; needed a column with "
            "two values at least"
        )
    notes += check_features(frame[features])
    if found == "regression" and (same := _common(y)) is not None:
        notes.append(
            f"Half of the rows or more have the {quote_bare(roles.target)} {same:.4g}: a plane "
            "through those takes all others for outliers. Audit the others alone, or use classes."
        )
    places = np.flatnonzero(is_there)
    return Rows(
        name=table.name,
        frame=frame[features].reset_index(drop=True),
        y=y,
        roles=roles,
        task=found,
        numbers=table.rows[places],
        lines=None if table.lines is None else table.lines[places],
        ids=None if roles.id_column is None else frame[roles.id_column].to_numpy(dtype=object),
        groups={name: _groups(frame[name]) for name in roles.group},
        missing=missing_counts(frame[features]),
        notes=tuple(notes),
    )


def _common(y: npt.NDArray[np.float64]) -> float | None:
    """Return the number that half of the rows have, if there is one."""
    values, counts = np.unique(y, return_counts=True)
    return float(values[counts.argmax()]) if counts.max() >= len(y) / 2 else None


def task_of(target: Series[Any], name: str, asked: str) -> Task:
    """Return what is to be learned: classes, unless a target holds many numbers."""
    if asked not in ("auto", "classification", "regression"):
        raise TableError(
            f"--task {quote(asked)} is not known; needed auto, classification or regression"
        )
    kind = kind_of(target)
    if kind == "date":
        raise TableError(
            f"the target {quote(name)} holds dates; needed classes or numbers, such as days since "
            "a day"
        )
    if asked == "regression" and kind == "text":
        raise TableError(
            f"--task regression needs numbers, and the target {quote(name)} holds "
            f"{quote(target.dropna().iloc[0])}; needed another target, or --task classification"
        )
    if asked != "auto":
        return cast("Task", asked)
    if kind == "text":
        return "classification"
    values = np.unique(_numbers(target.dropna()))
    are_classes = len(values) <= 2 or (
        len(values) <= _MOST_NUMBERS and bool(np.all(values % 1 == 0))
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
    if different > _MOST_CLASSES or (different > 2 and different > len(target) / 2):
        raise TableError(
            f"the target {quote(name)} has {different:,} different values in {len(target):,} rows; "
            f"needed classes that repeat, {_MOST_CLASSES} at most: or --task regression, if they "
            "are numbers"
        )
    if kind_of(target) == "number":
        values = _numbers(target)
        return values.astype(np.int64) if bool(np.all(values % 1 == 0)) else values.astype(str)
    return np.array([str(value) for value in target.to_numpy(dtype=object)])


def _groups(column: Series[Any]) -> npt.NDArray[Any]:
    """Return the group of each row as text: many numbers in four parts, rare texts together."""
    import pandas as pd

    if kind_of(column) == "number" and column.nunique() > _MOST_GROUPS:
        parts = pd.qcut(column.astype(float), 4, duplicates="drop")
        texts = {part: f"{part.left:.4g} to {part.right:.4g}" for part in parts.cat.categories}
        names = parts.map(texts).astype(object)
    else:
        names = column.astype(object)
        common = set(names.value_counts().index[:_MOST_GROUPS])
        names = names.where(names.isna() | names.isin(common), "(others)")
    return np.array([str(it) for it in names.where(names.notna(), "(missing)")], dtype=object)
