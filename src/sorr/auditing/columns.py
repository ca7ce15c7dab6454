"""What the columns of a table are for, what is in them, and which cannot be learned from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sorr.auditing.table.problems import TableError, close_names, listed, shown

if TYPE_CHECKING:
    from pandas import DataFrame, Series

__all__ = ["Kind", "Roles", "check_features", "kind_of", "missing_counts"]

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
                raise TableError(f"--{role} {shown(name)}: {_no_such(name, columns)}")
        if self.target in (self.id_column, *self.ignore):
            raise TableError(
                f"--target {shown(self.target)} is also named by --id or --ignore; needed a column "
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
        return f"there is no such column; did you mean {' or '.join(map(shown, close))}?"
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
        flags = " ".join(f"--id {shown(name)}" for name in keys[:1])
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
    flags = " ".join(f"--ignore {shown(name)}" for name in names[:8])
    return f"leave {'it' if len(names) == 1 else 'them'} out with {flags}"
