"""How each column is read: numbers in any costume, dates, categories, texts and identifiers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.auditing.table import quote_bare
from sorr.auditing.table.values import spell
from sorr.auditing.written import (
    BETWEEN_FORMATS,
    READABLE,
    Counted,
    as_dates,
    as_texts,
    find_date_formats,
    find_numbers,
    format_in_words,
    is_ambiguous,
    kind_of_values,
    parse_dates,
    parse_numbers,
    plain_date,
    plain_numbers,
    without_blanks,
)

if TYPE_CHECKING:
    from pandas import DataFrame, Series

Kind = Literal["number", "date", "category", "text", "id", "unused"]
"""What a column can be read as. The first four are learned from."""

MOST_CATEGORIES = 200  # values of a column that get a place of their own
_COVERED = 0.9  # of the rows, by the values that get a place; else the column holds texts
_FEWEST_TEXTS = 50  # different values, from which a column holds texts if they hardly repeat
_UNIQUE = 0.99  # of the values that differ in a column of identifiers
_FEWEST_IDS = 10  # rows, below which values may differ by chance
_MAX_NAME = 50  # letters, and words below, of a typical identifier; longer ones are texts
_MAX_WORDS = 6
_MAX_KEYS = 40  # different numbers of a column called "id" that are still categories
_SHARED_WORD = 0.1  # of the texts that have it, or have it not, so that a word tells them apart
_YEARS = (1500, 2100)
_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True)
class Column:
    """How a column is read, and what becomes of it.

    Attributes
    ----------
    name : str
    kind : {"number", "date", "category", "text", "id", "unused"}
    reading : str
        What it was read as, in words.
    treatment : str
        What the model makes of it, in words.
    missing : int
        How many values are missing, or cannot be read.
    example : str
        A value as it is written, and as it was read if that differs.
    format : mapping of str to str
        How numbers or dates are written.
    names_rows : bool
        Whether its values tell rows apart.
    """

    name: str
    kind: Kind
    reading: str
    treatment: str
    missing: int
    example: str
    format: Mapping[str, str] = field(default_factory=dict, repr=False)
    names_rows: bool = False

    @property
    def is_learned_from(self) -> bool:
        """Whether the model learns from it."""
        return self.kind not in ("id", "unused")

    def leave_out(self, why: str) -> Column:
        """Return the column as one that is not used, for a reason."""
        return replace(self, kind="unused", treatment=f"not used: {why}")


class Context(NamedTuple):
    """What else is known of a table when a column is read."""

    separator: str | None = None
    """Between the fields of the file: with semicolons, a comma in a number is a decimal one."""
    n_rows: int = 0
    """Of the whole file, if the rows are a sample of it."""


_ALONE = Context()


def read_columns(
    frame: DataFrame,
    asked: Mapping[str, str] | None = None,
    context: Context = _ALONE,
) -> tuple[Column, ...]:
    """Return how each column is read. `asked` maps names to kinds; a date may have a format."""
    found = []
    for name in frame.columns:
        given = (asked or {}).get(str(name), "")
        kind, _, written = given.partition("=")
        found.append(read_column(frame[name], kind or None, written, context))
    return tuple(found)


def read_column(
    column: Series[Any], kind: str | None = None, written: str = "", context: Context = _ALONE
) -> Column:
    """Return how a column is read, as a kind that is asked for or as what it seems to hold."""
    column = without_blanks(column)
    name, n_missing = str(column.name), int(column.isna().sum())
    values = _Values(column.dropna())
    first = quote_bare(spell(values.first)) if len(values) else ""
    if kind == "unused":
        return Column(name, "unused", "not read", "not used, as asked", n_missing, first)
    if not len(values):
        return Column(name, "unused", "empty", "not used: it has no values", n_missing, "")
    if kind is None and n_missing == 0 and values.n_different == 1:
        return Column(name, "unused", "one value", "not used: all rows are equal", 0, first)
    readers: dict[str, Callable[[], _Reading | None]] = {
        "number": lambda: _read_numbers(values, context.separator),
        "date": lambda: _read_dates(values, written),
        "id": lambda: _read_ids(values, name, context.n_rows, is_asked=kind == "id"),
        "category": lambda: _read_categories(values, is_asked=kind == "category"),
        "text": lambda: _read_texts(values),
    }
    attempts = [kind] if kind is not None else _attempts(values)
    for attempt in attempts:
        reading = readers[attempt]()
        if reading is not None:
            return reading.as_column(name, n_missing, first)
    raise UnreadableError(name, attempts[-1], values.series.iloc[0])


def _attempts(values: _Values) -> list[str]:
    """Return the kinds to try, the most special first."""
    if values.series.dtype.name == "category":
        return ["category", "text"]
    if values.kind == "number":
        return ["date", "id", "number"]
    return ["date", "number", "id", "category", "text"]


class UnreadableError(ValueError):
    """A column does not hold what was asked for."""

    def __init__(self, name: str, kind: str, example: Any) -> None:
        super().__init__(f"column {name!r} cannot be read as {kind}")
        self.name, self.kind, self.example = name, kind, example


class _Reading(NamedTuple):
    """A kind that a column may have."""

    kind: Kind
    text: str
    treatment: str
    n_unread: int = 0
    example: str = ""
    format: Mapping[str, str] = {}

    def as_column(self, name: str, n_missing: int, first: str) -> Column:
        missing = n_missing + self.n_unread
        treatment = self.treatment
        if missing and self.kind in ("number", "date"):
            treatment += "; missing ones become the median, and are marked"
        elif missing and self.kind == "category":
            treatment += "; missing is one of them"
        example = self.example or first
        names_rows = not n_missing and treatment.startswith(_NAMES_ROWS)
        return Column(
            name, self.kind, self.text, treatment, missing, example, self.format, names_rows
        )


def parse_column(column: Series[Any], kind: Kind, format: Mapping[str, str]) -> npt.NDArray[Any]:  # noqa: A002
    """Return the values of a column: float64, datetime64, or texts with NaN for missing ones.

    Numbers and dates that cannot be read are missing, and so are infinite numbers.
    """
    if kind == "number":
        return parse_numbers(column, format)
    if kind == "date":
        return parse_dates(column, format)
    return as_texts(column)


class _Values:
    """The values of a column that are not missing, and what several readers ask about them."""

    def __init__(self, series: Series[Any]) -> None:
        self.series = series
        self.kind = kind_of_values(series)

    def __len__(self) -> int:
        return len(self.series)

    @cached_property
    def counted(self) -> Counted:
        """The different texts, in the order of their first rows."""
        import pandas as pd

        codes, different = pd.factorize(as_texts(self.series))
        counts = dict.fromkeys((text.strip() for text in different), 0)
        for text, count in zip(different, np.bincount(codes[codes >= 0]).tolist(), strict=True):
            counts[text.strip()] += count
        return Counted(list(counts), np.array(list(counts.values()), dtype=np.float64))

    @cached_property
    def numbers(self) -> FloatArray:
        """The values as numbers, if that is their type."""
        return plain_numbers(self.series)

    @property
    def first(self) -> Any:
        """The first value that says something."""
        if self.kind == "text":
            said = self.counted.without_marks().texts
            return said[0] if said else self.counted.texts[0]
        return self.series.iloc[0]

    @cached_property
    def are_prose(self) -> bool:
        """Whether they are sentences, lists or JSON, and no names."""
        glance = self.counted.sample().texts
        letters, words = [len(text) for text in glance], [len(text.split()) for text in glance]
        is_long = np.median(letters) > _MAX_NAME or np.median(words) > _MAX_WORDS
        return bool(is_long or all(text.startswith(("[", "{")) for text in glance))

    @cached_property
    def share_words(self) -> bool:
        """Whether a word is in many of the texts, and not in all: then it says something."""
        glance = self.counted.sample().texts
        words = Counter(word for text in glance for word in {*_WORD.findall(text.lower())})
        low, high = _SHARED_WORD * len(glance), (1 - _SHARED_WORD) * len(glance)
        low = max(low, _FEWEST_IDS)
        return any(low <= count <= high for count in words.values())

    @property
    def n_different(self) -> int:
        """How many values there are."""
        if self.kind == "number":
            return len(np.unique(self.numbers))
        return len(self.counted.texts)


# -- Numbers and dates ---------------------------------------------------------------------------


def _read_numbers(values: _Values, separator: str | None) -> _Reading | None:
    if values.kind == "time span":
        return _Reading("number", "time spans, in days", "as a number")
    if values.kind == "number":
        n_infinite = int(np.isinf(values.numbers).sum())
        return _Reading("number", _name_numbers(values.numbers), "as a number", n_infinite)
    if values.kind == "date":
        return None
    counted = values.counted
    found = find_numbers(counted, separator)
    if found is None:
        return None
    texts = counted.without_marks().texts
    unread = [text for text, value in zip(texts, found.values, strict=True) if np.isnan(value)]
    gone = {*unread, *set(counted.texts).difference(texts)}
    counts = dict(zip(counted.texts, counted.counts.tolist(), strict=True))
    n_unread = int(sum(counts[text] for text in gone))
    reading = _name_numbers(found.values[~np.isnan(found.values)])
    example = ""
    if found.dressed is not None:
        value = found.values[texts.index(found.dressed)]
        reading = f"{reading}, written as {quote_bare(found.dressed)}"
        example = f"{quote_bare(found.dressed)} = {spell(value)}"
    if gone:
        named = ", ".join(quote_bare(text) or "(blank)" for text in sorted(gone)[:3])
        reading += f"; no number: {named}{' and others' * (len(gone) > 3)}"
    if len(found.money) > 1:
        reading += f"; several currencies: {', '.join(found.money)}"
    written = {"point": found.point, "unit": found.unit}
    return _Reading("number", reading, "as a number", n_unread, example, written)


def _name_numbers(numbers: FloatArray) -> str:
    finite = numbers[np.isfinite(numbers)]
    return "whole numbers" if len(finite) and (finite % 1 == 0).all() else "numbers"


def _read_dates(values: _Values, written: str = "") -> _Reading | None:
    if values.kind == "date":
        return _Reading("date", "dates", _DATE_TREATMENT)
    if values.kind == "number":
        return _read_compact_dates(values.numbers)
    if values.kind == "time span":
        return None
    counted = values.counted.without_marks()
    if not counted.texts:
        return None
    formats = written.split(BETWEEN_FORMATS) if written else find_date_formats(counted)
    if not formats:
        return None
    parsed = as_dates(counted.texts, formats)
    read = float(counted.counts[~np.isnat(parsed)].sum())
    if read < READABLE * counted.counts.sum():
        return None
    reading = " or ".join(format_in_words(it, counted.texts[0]) for it in formats)
    is_time = not any("%Y" in it or "%y" in it or it == "ISO8601" for it in formats)
    reading = f"times of day ({reading})" if is_time else f"dates ({reading})"
    if not written and is_ambiguous(counted, formats):
        reading += "; day and month cannot be told apart"
    first = next(i for i, it in enumerate(parsed) if not np.isnat(it))
    example = f"{quote_bare(counted.texts[first])} = {plain_date(parsed[first], is_time)}"
    treatment = "as a number of hours" if is_time else _DATE_TREATMENT
    n_unread = len(values) - int(read)
    format_ = {"dates": BETWEEN_FORMATS.join(formats)}
    return _Reading("date", reading, treatment, n_unread, example, format_)


_DATE_TREATMENT = "as its parts: year, month, weekday, hour, days since 1970"


def _read_compact_dates(numbers: FloatArray) -> _Reading | None:
    """Read whole numbers such as 20180312: no other numbers are all days of the calendar."""
    is_like_days = (numbers > 1800_01_01) & (numbers < 2200_01_01)
    if len(numbers) < _FEWEST_IDS or not is_like_days.all() or (numbers % 1 != 0).any():
        return None
    texts = [str(int(it)) for it in np.unique(numbers)]
    if np.isnat(as_dates(texts, ["%Y%m%d"])).any():
        return None
    example = f"{texts[0]} = {texts[0][:4]}-{texts[0][4:6]}-{texts[0][6:]}"
    format_ = {"dates": "%Y%m%d"}
    return _Reading("date", "dates (year month day)", _DATE_TREATMENT, 0, example, format_)


# -- Identifiers, categories and texts -------------------------------------------------------------

_TOKENS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ID_WORDS = frozenset(
    {
        *("id", "ids", "uuid", "guid", "uid", "pk", "nr", "rowname", "rownames", "rowid"),
        *("rownum", "serial", "ssn", "isbn", "ean", "barcode"),
    }
)
_ID_ALONE = frozenset({"key", "no", "index", "idx", "record", "case", "obs", "row"})
_ID_FIRST = frozenset({"id", "uuid", "guid"})
_ID_ENDING = re.compile(
    r"(?:study|patient|user|customer|client|order|product|person|subject|case|item|student|employee"
    r"|account|member|school|household|visit|event|session|device|row|record|invoice)(?:id|no|num)"
    r"|.+nr"
)
_TIME_WORDS = frozenset(
    {
        *("age", "year", "month", "week", "day", "days", "hour", "minute", "second", "time", "t"),
        *("date", "period", "trial", "dose", "rank", "position", "distance"),
    }
)
_EXPECTED_REPEATS = 5.0  # of numbers that differ by chance, of which none is seen: one in 150
_HASH = re.compile(r"\{?[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}\}?|[0-9a-fA-F]{16,128}", re.I)
RUNNING, REPEATED_KEYS = "running numbers", "keys that repeat"
_NAMES_ROWS = "names the rows"
_TREAT_ID = f"{_NAMES_ROWS}; not learned from"


def _read_ids(
    values: _Values, name: str, n_rows: int, *, is_asked: bool = False
) -> _Reading | None:
    """Read values that only tell rows apart: running numbers, hashes, names that occur once."""
    if is_asked:
        return _Reading("id", "identifiers, as asked", _TREAT_ID)
    if values.kind in ("date", "time span") or len(values) < _FEWEST_IDS:
        return None
    if values.kind == "number":
        return _read_number_ids(values.numbers, name, max(n_rows, len(values)))
    glance = values.counted.sample().texts
    if values.n_different > _MAX_KEYS and all(map(_HASH.fullmatch, glance)):
        return _Reading("id", "hashes", _TREAT_ID)
    if values.n_different < _UNIQUE * len(values):
        return None
    if values.are_prose or values.share_words:
        return None
    return _Reading("id", "identifiers: no value repeats", _TREAT_ID)


def _read_number_ids(numbers: FloatArray, name: str, n_rows: int) -> _Reading | None:
    """Read whole numbers that tell rows apart: by chance, some would have repeated.

    Of n numbers among s, about n^2 / 2s repeat. In a sample of a file, running numbers rise.
    Numbers that are called an identifier need no such evidence; years and times never have it.
    """
    if not np.isfinite(numbers).all() or (numbers % 1 != 0).any():
        return None
    words = [token.lower() for token in _TOKENS.findall(name)]
    is_named = _is_called_an_identifier(words)
    n, n_different = len(numbers), len(np.unique(numbers))
    if n_different < _UNIQUE * n:
        if not is_named:
            return None
        if n_different > _MAX_KEYS:
            return _Reading("id", REPEATED_KEYS, "not learned from: it tells entities apart")
        return _Reading("category", f"keys ({n_different} values)", "a column for each value")
    low, span = float(numbers.min()), float(np.ptp(numbers)) + 1
    steps = np.diff(numbers)
    is_sorted = bool((steps > 0).all() or (steps < 0).all())
    are_times = bool(_TIME_WORDS.intersection(words))
    are_times = are_times or (_YEARS[0] <= low and low + span <= _YEARS[1])
    repeats = n**2 / (2 * span)
    if not are_times and (repeats > _EXPECTED_REPEATS or (is_sorted and span < 2 * n_rows)):
        return _Reading("id", RUNNING, _TREAT_ID)
    return _Reading("id", "identifiers: no value repeats", _TREAT_ID) if is_named else None


def _is_called_an_identifier(words: list[str]) -> bool:
    if not words:
        return False
    is_alone = len(words) == 1 and words[0] in _ID_ALONE
    return (
        is_alone
        or words[-1] in _ID_WORDS
        or words[0] in _ID_FIRST
        or _ID_ENDING.fullmatch(words[-1]) is not None
    )


def _read_categories(values: _Values, *, is_asked: bool = False) -> _Reading | None:
    """Read texts that repeat: most rows have one of the values that get a column of their own."""
    counts, n = np.sort(values.counted.counts)[::-1], len(values)
    few = 1 if values.are_prose or values.share_words else _FEWEST_TEXTS
    hardly_repeat = len(counts) > max(n / 2, few)
    if not is_asked and (hardly_repeat or counts[:MOST_CATEGORIES].sum() < _COVERED * n):
        return None
    if len(counts) > MOST_CATEGORIES:
        treatment = f"a column for each of the {MOST_CATEGORIES} most frequent values"
    else:
        treatment = "a column for each value"
    reading = f"categories ({len(counts):,} value{'s' * (len(counts) != 1)})"
    return _Reading("category", reading, treatment)


def _read_texts(values: _Values) -> _Reading:
    treatment = "as numbers that compare groups of letters"
    if values.n_different >= _UNIQUE * len(values) and not values.are_prose:
        return _Reading("text", f"names ({values.n_different:,})", f"{_NAMES_ROWS}; {treatment}")
    return _Reading("text", f"texts ({values.n_different:,} different)", treatment)
