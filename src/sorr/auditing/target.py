"""The target of a table: what is learned, labels that are one class, and those that are missing."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import BoolArray, FloatArray
from sorr.auditing.columns import Context, parse_column, read_column
from sorr.auditing.table import Argument, TableError, quote, quote_bare
from sorr.auditing.table.values import listed
from sorr.auditing.written import as_texts, kind_of_values, plain_numbers

if TYPE_CHECKING:
    from pandas import Series

Task = Literal["classification", "regression"]

_MIN_ROWS = 10  # with a label, that a model needs
_MOST_WHOLE_NUMBERS = 20  # different ones that are taken for classes
_REPEATED = 3  # rows for each of them on average
_FEWEST_OF_A_CLASS = 5  # rows, so that a model which has not seen some of them knows others
_MOST_CLASSES = 100  # that are judged, the most frequent ones
NO_LABEL = frozenset({"", "?", "??", "n/a", "n.a.", "#n/a", "nan", "null", "<na>", "tbd", "(null)"})
_MARKS = r"""[\s.,;:!?'"`\u00b4()\[\]{}/\\|_]+"""
_SOFT = re.compile(rf"(?<!\d){_MARKS}|{_MARKS}(?!\d)")
_HYPHEN = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])")


class Target(NamedTuple):
    """The target of all rows of a table."""

    y: npt.NDArray[Any]
    """Labels as texts or whole numbers, or numbers; anything where there is none."""
    is_there: BoolArray
    """Which rows have a target."""
    is_judged: BoolArray
    """Which rows have one that can be judged: of a class of enough rows."""
    task: Task
    written: npt.NDArray[np.object_] | None
    """Labels as they are written, if some spellings were taken for one class."""
    notes: tuple[str, ...]


def read_target(column: Series[Any], task: str = "auto", separator: str | None = None) -> Target:
    """Return the target in a column, or raise an error if nothing can be learned from it."""
    name, notes = str(column.name), []
    found, numbers = task_of(column, task, separator)
    if found == "classification":
        labels, is_there, written, more = _read_classes(column)
        notes += more
    else:
        assert numbers is not None
        labels, is_there, written = numbers, np.isfinite(numbers), None
        if kind_of_values(column.dropna()) == "date" or column.dtype.kind not in "fiub":
            notes.append(_how_read(column, numbers))
    n_there = int(is_there.sum())
    if n_there < _MIN_ROWS:
        has = f"{n_there} rows have" if n_there else "no row has"
        raise TableError(
            f"{has} a value of the target {quote(name)}; needed at least {_MIN_ROWS} to find wrong "
            "ones"
        )
    given = labels[is_there]
    different = np.unique(given)
    if len(different) < 2:
        raise TableError(
            f"the target {quote(name)} is {quote(different[0])} in every row; needed a column with "
            "at least two values"
        )
    is_judged = is_there.copy()
    if found == "classification":
        judged, more = _judged_classes(name, given)
        is_judged[is_there] = np.isin(given, judged)
        notes += more
    elif (same := _common(given)) is not None:
        notes.append(
            f"At least half of the rows have {quote_bare(name)} = {same:.4g}. A linear model of "
            "these rows treats all others as outliers. Audit the others alone, or use classes."
        )
    return Target(labels, is_there, is_judged, found, written, tuple(notes))


def task_of(
    column: Series[Any], asked: str = "auto", separator: str | None = None
) -> tuple[Task, FloatArray | None]:
    """Return what to learn, and the numbers of a regression: classes, unless there are many."""
    if asked not in ("auto", "classification", "regression"):
        raise TableError(
            Argument("task", asked), " is not known; needed auto, classification or regression"
        )
    if asked == "classification" or not column.notna().any():
        return "classification", None
    kind, is_auto = kind_of_values(column.dropna()), asked == "auto"
    if kind == "text":
        reading = read_column(column, context=Context(separator))
        if reading.kind not in ("number", "date") and not is_auto:
            raise TableError(
                Argument("task", "regression"),
                f" needs numbers, but the target {quote(column.name)} holds "
                f"{quote(column.dropna().iloc[0])}; choose another target, or ",
                Argument("task", "classification"),
            )
        if reading.kind not in ("number", "date"):
            return "classification", None
        values = parse_column(column, reading.kind, reading.format)
    elif kind == "date":
        values = parse_column(column, "date", {})
    else:
        values = parse_column(column, "number", {})
    numbers = _as_days(values)
    different = np.unique(numbers[np.isfinite(numbers)])
    are_few = len(different) <= min(_MOST_WHOLE_NUMBERS, np.isfinite(numbers).sum() / _REPEATED)
    are_whole = bool(np.all(different % 1 == 0)) or kind == "text"
    if is_auto and (len(different) <= 2 or (are_few and are_whole)):
        return "classification", None
    return "regression", numbers


def _as_days(values: npt.NDArray[Any]) -> FloatArray:
    """Return numbers as they are, and dates as days since 1970."""
    if values.dtype.kind != "M":
        return np.asarray(values, dtype=np.float64)
    seconds = values.astype("datetime64[s]").astype(np.int64) / 86400
    return np.where(np.isnat(values), np.nan, seconds)


def _how_read(column: Series[Any], numbers: FloatArray) -> str:
    """Return a note on how a target that is no plain number was read."""
    at = int(np.flatnonzero(np.isfinite(numbers))[0]) if np.isfinite(numbers).any() else 0
    what = f"{quote_bare(as_texts(column.iloc[[at]])[0])} as {numbers[at]:.10g}"
    is_date = kind_of_values(column.dropna()) == "date" or read_column(column).kind == "date"
    return f"The target was read as numbers: {what}{', days since 1970' * is_date}."


# -- Classes ---------------------------------------------------------------------------------------


def _read_classes(
    column: Series[Any],
) -> tuple[npt.NDArray[Any], BoolArray, npt.NDArray[np.object_] | None, list[str]]:
    """Return the class of each row, which rows have one, labels as written, and notes."""
    kind = kind_of_values(column.dropna()) if column.notna().any() else "text"
    if kind == "number":
        numbers = plain_numbers(column)
        is_there = np.isfinite(numbers)
        if (numbers[is_there] % 1 == 0).all():
            whole = np.where(is_there, numbers, 0).astype(np.int64)
            return whole, is_there, None, []
        return np.where(is_there, numbers.astype(str), ""), is_there, None, []
    texts = as_texts(column)
    is_there = np.array(
        [it == it and it.strip().casefold() not in NO_LABEL for it in texts], dtype=bool
    )
    marks = sorted(
        {it for it, there in zip(texts, is_there, strict=True) if it == it and not there}
    )
    notes = []
    if marks:
        named = ", ".join(quote(mark) for mark in marks[:3])
        notes.append(f"Labels that say nothing count as missing: {named}.")
    given = np.where(is_there, texts, "")
    spellings = unify_spellings(Counter(given[is_there].tolist()))
    labels = np.array([spellings.get(it, it) for it in given])
    changed = any(spelling != label for spelling, label in spellings.items())
    return labels, is_there, given if changed else None, notes


def unify_spellings(counts: Counter[str]) -> dict[str, str]:
    """Return for each spelling the most frequent one of the same label.

    Spellings are of one label if they differ by case, spaces or punctuation only. Signs that may
    carry a meaning stay: A+ and A, 1.5 and 15 differ. If nothing else would tell labels apart,
    they stay as they are.

    Examples
    --------
    >>> found = unify_spellings(Counter({"yes": 9, "Yes ": 2, "YES": 1, "no": 5, "A+": 1, "A": 1}))
    >>> found["Yes "], found["YES"], found["A+"]
    ('yes', 'yes', 'A+')
    """
    groups: dict[str, list[str]] = {}
    for spelling in counts:
        groups.setdefault(_key(spelling), []).append(spelling)
    if len(groups) < 2:
        return {spelling: spelling for spelling in counts}
    found = {}
    for spellings in groups.values():
        totals: Counter[str] = Counter()
        for spelling in spellings:
            totals[spelling.strip()] += counts[spelling]
        best = min(totals, key=lambda it: (-totals[it], it))
        found.update(dict.fromkeys(spellings, best))
    return found


def _key(spelling: str) -> str:
    """Return what stays of a label without case, spaces and punctuation."""
    text = unicodedata.normalize("NFKC", spelling).casefold().strip()
    return _HYPHEN.sub("", _SOFT.sub("", text)) or text


def _judged_classes(name: str, given: npt.NDArray[Any]) -> tuple[list[Any], list[str]]:
    """Return the classes of enough rows to be judged, and notes on the others."""
    values, counts = np.unique(given, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    values, counts = values[order], counts[order]
    fewest = _FEWEST_OF_A_CLASS if (counts >= _FEWEST_OF_A_CLASS).sum() > 1 else 2
    n_judged = min(int((counts >= fewest).sum()), _MOST_CLASSES)
    if n_judged < 2:
        raise TableError(
            f"the target {quote(name)} has {len(values):,} different values in {len(given):,} "
            "rows, so that there is nothing to compare; needed classes of several rows each: "
            "choose another target, or ",
            Argument("task", "regression"),
            " if they are numbers",
        )
    notes = []
    small = values[:_MOST_CLASSES][counts[:_MOST_CLASSES] < fewest]
    if len(small):
        named = listed(small.tolist())
        notes.append(
            f"{_classes(len(small))} of fewer than {fewest} rows {_are(len(small))} not judged: "
            f"{named}."
        )
    if len(values) > _MOST_CLASSES:
        left = len(values) - _MOST_CLASSES
        notes.append(
            f"Only the {_MOST_CLASSES} most frequent classes are judged; {left:,} others are not."
        )
    return values[:n_judged].tolist(), notes


def _classes(n: int) -> str:
    return "1 class" if n == 1 else f"{n:,} classes"


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _common(y: FloatArray) -> float | None:
    """Return the number that at least half of the rows have, if there is one."""
    values, counts = np.unique(y, return_counts=True)
    return float(values[counts.argmax()]) if counts.max() >= len(y) / 2 else None
