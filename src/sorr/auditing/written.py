"""Numbers and dates as people write them: in what style a column has them, and their values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.auditing.table.values import is_number, spell

if TYPE_CHECKING:
    from pandas import Series

READABLE = 0.95  # of the values that have to be numbers, or dates; the others count as missing
_SAMPLE = 200  # different values that show whether a column holds numbers or dates

MISSING_MARKS = frozenset(
    {
        *("", "?", "-", "--", "---", ".", "*", "none", "n.a.", "na", "n/a", "nil", "null"),
        *("unknown", "missing", "not available", "not applicable", "tbd", "undefined", "nan"),
        *("#n/a", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!", "(null)", "<na>"),
        *("0000-00-00", "0000/00/00", "00/00/0000", "00.00.0000", "0000-00-00 00:00:00"),
    }
)
"""What stands for a missing number or date, in small letters and without spaces around it."""


def as_texts(column: Series[Any]) -> npt.NDArray[np.object_]:
    """Return the values as text, whole numbers without a decimal point, NaN if missing."""
    import pandas as pd
    from pandas.api import types

    if column.dtype == object and types.infer_dtype(column, skipna=True) != "string":
        column = column.map(spell, na_action="ignore")  # lists have no hash, True equals 1
    codes, values = pd.factorize(column)
    texts = [spell(value) for value in values]
    known = np.array([*(text if text.strip() else np.nan for text in texts), np.nan], dtype=object)
    return np.asarray(known[codes])


def without_blanks(column: Series[Any]) -> Series[Any]:
    """Return the column with texts of spaces alone as missing."""
    if kind_of_values(column) != "text":
        return column
    try:
        different = column.unique()
    except TypeError:  # lists have no hash
        different = column.map(str, na_action="ignore").unique()
    blanks = [it for it in different if isinstance(it, str) and it.isspace()]
    return column.mask(column.isin(blanks)) if blanks else column


def kind_of_values(values: Series[Any]) -> Literal["number", "date", "time span", "text"]:
    """Return what the type of values says, which a file or a frame has given them."""
    from pandas.api import types

    if types.is_bool_dtype(values):
        return "text"
    if types.is_datetime64_any_dtype(values):
        return "date"
    if types.is_timedelta64_dtype(values):
        return "time span"
    if types.is_numeric_dtype(values):
        return "number"
    inferred = types.infer_dtype(values, skipna=True)
    if inferred in {"integer", "floating", "mixed-integer-float", "decimal"}:
        return "number"
    if inferred in {"date", "datetime", "datetime64", "period"}:
        return "date"
    return "time span" if inferred in {"timedelta", "timedelta64"} else "text"


class Counted(NamedTuple):
    """The different texts of a column, without spaces around them, and how often each occurs."""

    texts: list[str]
    counts: FloatArray

    def sample(self) -> Counted:
        """Return some of the texts, evenly spaced."""
        step = max(-(-len(self.texts) // _SAMPLE), 1)
        return Counted(self.texts[::step], self.counts[::step])

    def without_marks(self) -> Counted:
        """Return those texts that stand for a value."""
        keep = [i for i, text in enumerate(self.texts) if text.casefold() not in MISSING_MARKS]
        return Counted([self.texts[i] for i in keep], self.counts[keep])


# -- Numbers ---------------------------------------------------------------------------------------

_CODES = (
    "USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|RUB|BRL|ZAR|MXN|KRW|TRY|SGD"
    "|HKD|Rs\\.?|kr\\.?"
)
_MONEY = rf"[A-Z]{{0,2}}[$€£¥₹₽₩₺₫₴₦₱฿¢]|(?:{_CODES})(?![A-Za-z])"
_IS_MONEY = re.compile(_MONEY)
_COSTUME = re.compile(
    rf"""=? (?P<open>\()? \s*
    (?P<bound><=|>=|[<>≤≥~≈])? \s*
    (?P<sign>[-+\u2212\u2013])? \s*
    (?P<prefix>{_MONEY})? \s* (?P<open_inside>\()? \s*
    (?P<sign_inside>[-+\u2212\u2013])? \s*
    (?P<digits>[\d.,](?:[\d.,'\u2019]|[ \u00a0\u202f\u2009](?=\d))*)
    (?P<power>[eE][-+]?\d{{1,3}})? \s*
    (?:(?:±|\+/-)\s*[\d.,]+)? \s*
    (?P<unit>(?:[%‰°$€£¥₹₽]|/?[^\W\d_])[^\d\s()]{{0,11}}[\d]?(?:\s[^\W\d_]{{1,8}})?)? \s*
    (?P<behind>[-+]|[*†‡]+)? \s* (?P<close>\))?""",
    re.VERBOSE,
)
_DIGITS = {
    point: re.compile(
        rf"(?:\d+|[1-9]\d{{0,2}}(?:(?P<mark>[{marks}'\u2019 \u00a0\u202f\u2009])\d{{3}})"
        rf"(?:(?P=mark)\d{{3}})*)(?:{re.escape(point)}\d*)?|{re.escape(point)}\d+"
    )
    for point, marks in ((".", ","), (",", "."))
}
_NOT_DIGITS = re.compile(r"[^\d]")
_SCALES = {"k": 1e3, "K": 1e3, "M": 1e6, "Mio": 1e6, "mn": 1e6, "B": 1e9, "bn": 1e9}
_SCALED = "thousands, millions or billions"
_NO_THOUSANDS = re.compile(r",(?!\d{3}(?!\d))")
_CODES_AMONG = 0.01  # of the numbers: more texts with digits that are no numbers mean codes
_MOST_DIGITS = 15  # that a number of float64 keeps


class _Number(NamedTuple):
    """A number that a text may stand for, and what it is dressed in."""

    value: float
    prefix: str
    unit: str
    is_bound: bool
    """Whether it is said to be below or above it."""


def _number(text: str, point: str) -> _Number | None:
    """Return the number that a text stands for if `point` separates its decimals."""
    found = _COSTUME.fullmatch(text)
    if found is None:
        return None
    is_open = bool(found["open"] or found["open_inside"])
    if is_open != bool(found["close"]):
        return None
    digits = found["digits"]
    if not _DIGITS[point].fullmatch(digits) or (digits[0] == "0" and digits[1:2].isdigit()):
        return None
    whole, _, part = digits.partition(point)
    if len(whole) > _MOST_DIGITS and whole.isdigit():
        return None  # a code: numbers of so many digits are not exact
    value = float(f"{_NOT_DIGITS.sub('', whole) or 0}.{part or 0}{found['power'] or ''}")
    minus = [
        it for it in found.group("sign", "sign_inside", "behind") if it and it in "-\u2212\u2013"
    ]
    if (len(minus) + is_open) % 2:
        value = -value
    unit = (found["unit"] or "").rstrip(".")
    if len(unit) > 2:
        unit = unit.removesuffix("s")  # years and year
    prefix = found["prefix"] or ""
    if not prefix and _IS_MONEY.fullmatch(unit):
        prefix, unit = unit, ""  # 5 € and € 5
    is_bound = (found["bound"] or "~") not in "~≈" or found["behind"] == "+"
    return _Number(value, prefix, unit, is_bound)


class Numbers(NamedTuple):
    """Texts as numbers, NaN where they are none, in the one style that fits most of them."""

    values: FloatArray
    point: str
    unit: str
    money: tuple[str, ...]
    """The currencies."""
    dressed: str | None
    """A text that is no plain number, if there is one."""


def as_numbers(counted: Counted, point: str, unit: str | None) -> Numbers:
    """Return texts as numbers. The unit is the most frequent one if None."""
    found = [_number(text, point) for text in counted.texts]
    if unit is None:
        unit = _find_unit(found, counted.counts)
    values, dressed = np.full(len(found), np.nan), None
    for i, it in enumerate(found):
        if it is None:
            continue
        if unit == _SCALED and (not it.unit or it.unit in _SCALES):
            values[i] = it.value * _SCALES.get(it.unit, 1.0)
        elif it.unit in ("", unit):
            values[i] = it.value
        if dressed is None and values[i] == values[i] and not is_number(counted.texts[i]):
            dressed = counted.texts[i]
    bounds = np.array([it is not None and it.is_bound for it in found], dtype=bool)
    if counted.counts[bounds].sum() > 0.5 * counted.counts.sum():
        values[bounds], dressed = np.nan, None  # <60 and >60 are categories
    if len(found) and all(text.endswith("-") for text in counted.texts):
        values[:], dressed = np.nan, None  # 1935- begins a period
    money = dict.fromkeys(it.prefix for it in found if it is not None and it.prefix)
    return Numbers(values, point, unit, tuple(money), dressed)


def _find_unit(found: list[_Number | None], counts: FloatArray) -> str:
    """Return the most frequent unit, nothing, or that all units are thousands and the like."""
    units: Counter[str] = Counter()
    for it, count in zip(found, counts.tolist(), strict=True):
        if it is not None and it.unit:
            units[it.unit] += int(count)
    if not units:
        return ""
    return _SCALED if set(units) <= set(_SCALES) else units.most_common(1)[0][0]


def find_numbers(counted: Counted, separator: str | None) -> Numbers | None:
    """Return texts as numbers in the style that fits most, or None if too many fit none.

    Where both styles fit alike, a comma separates decimals if semicolons separate the fields.
    """
    written = counted.without_marks()
    if not written.texts:
        return None
    glance = written.sample()
    if all(np.isnan(as_numbers(glance, point, None).values).mean() > 0.5 for point in ".,"):
        return None
    best, most = None, -1.0
    for point in ",." if separator == ";" and _has_decimal_commas(written.texts) else ".,":
        found = as_numbers(written, point, None)
        read = float(written.counts[~np.isnan(found.values)].sum())
        if read > most:
            best, most = found, read
        if most == written.counts.sum():
            break
    if best is None or most < READABLE * written.counts.sum():
        return None
    unread = np.isnan(best.values)
    are_codes = unread & np.array([any(map(str.isdigit, text)) for text in written.texts])
    return None if written.counts[are_codes].sum() > _CODES_AMONG * most else best


def _has_decimal_commas(texts: Sequence[str]) -> bool:
    """Tell whether commas may separate decimals, and not thousands.

    Behind those are three digits, and smaller numbers have no comma.
    """
    n_commas = sum("," in text for text in texts)
    are_thousands = n_commas < len(texts) and not any(map(_NO_THOUSANDS.search, texts))
    return n_commas > 0 and not are_thousands


def plain_numbers(values: Series[Any]) -> FloatArray:
    """Return values as numbers, NaN where they are none."""
    import pandas as pd

    found = pd.to_numeric(values.astype(object), errors="coerce")
    return np.asarray(found.to_numpy(dtype=np.float64, na_value=np.nan))


def parse_numbers(column: Series[Any], written: Mapping[str, str]) -> FloatArray:
    """Return the numbers of a column that are written in a style that is known."""
    import pandas as pd
    from pandas.api import types

    kind = kind_of_values(column)
    if kind == "time span":
        spans = pd.to_timedelta(column).dt.total_seconds() / 86400
        return np.asarray(spans.to_numpy(dtype=np.float64, na_value=np.nan))
    if types.is_numeric_dtype(column):
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        codes, different = pd.factorize(as_texts(column))
        counted = Counted([text.strip() for text in different], np.ones(len(different)))
        parsed = as_numbers(counted, written.get("point", "."), written.get("unit")).values
        numbers = np.append(parsed, np.nan)[codes]
    return np.where(np.isinf(numbers), np.nan, numbers)


# -- Dates and times -------------------------------------------------------------------------------

_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_LIKE_A_DATE = re.compile(
    rf"(?=.{{4,40}}$)(?:.*\d{{1,4}}[-/.]\d{{1,2}}[-/.]\d{{1,4}}.*|\d{{1,2}}:\d{{2}}.*"
    rf"|(?=.*\d)(?:.*[^a-z])?(?:{_MONTHS})[a-z]*(?:[^a-z].*)?|\d{{1,2}}[-/ .](?:{_MONTHS})[a-z]*"
    r"|\d{4}\u5e74\d{1,2}\u6708.*|\d{4}[-/]\d{2}|\d{1,2}/\d{4}|(?:1[89]|2[01])\d{6})",
    re.IGNORECASE | re.DOTALL,
)
_TIME = re.compile(
    r"(?P<gap>[T ,]*)(?<![\d:])\d{1,2}:\d{2}(?P<s>:\d{2}(?P<f>[.,]\d+)?)?\s*(?P<p>[ap]m)?", re.I
)
_DAYS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y"),
    *("%m-%d-%Y", "%m.%d.%Y", "%m/%d/%y", "%d/%m/%y", "%d.%m.%y", "%d-%m-%y", "%m-%d-%y"),
    *("%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d-%b-%y", "%d/%b/%Y", "%d. %B %Y", "%d. %b %Y"),
    *("%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y", "%b. %d, %Y", "%d %b %y", "%Y-%b-%d"),
    *("%A, %B %d, %Y", "%a, %d %b %Y", "%a %d %b %Y", "%a %b %d %Y", "%A %d %B %Y"),
    *("%Y %b", "%Y %B", "%Y\u5e74%m\u6708%d\u65e5", "%Y\u5e74%m\u6708"),
    *("%b-%Y", "%b %Y", "%B %Y", "%b-%y", "%B-%Y", "%Y-%m", "%Y/%m", "%m/%Y", "%Y%m%d"),
)
_SWAPPED = {"%d": "%m", "%m": "%d"}
_WORDS = {"Y": "year", "m": "month", "d": "day", "H": "hour", "M": "minute", "S": "second"}
_WORDS |= {"y": "year", "b": "month", "B": "month", "I": "hour", "p": "AM/PM", "z": "zone"}
_WORDS |= {"A": "weekday", "a": "weekday"}
_ZONE = re.compile(r"\s*(?:UTC|GMT)$")
_MOST_FORMATS = 3  # of one column
BETWEEN_FORMATS = "|"


def find_date_formats(counted: Counted) -> list[str]:
    """Return the few formats that read most texts, the most frequent first."""
    glance = counted.sample()
    likely = [bool(_LIKE_A_DATE.fullmatch(text)) for text in glance.texts]
    if glance.counts[likely].sum() < READABLE * glance.counts.sum():
        return []
    formats: list[str] = []
    texts, counts = glance.texts, glance.counts
    while len(formats) < _MOST_FORMATS and len(texts):
        candidates = _candidates(texts)
        if not candidates:
            break
        read = [~np.isnat(as_dates(texts, [it])) for it in candidates]
        best = max(range(len(candidates)), key=lambda i: float(counts[read[i]].sum()))
        if not read[best].any():
            break
        chosen = candidates[best]
        formats.append(_settled(counted, chosen))
        texts = [text for text, done in zip(texts, read[best], strict=True) if not done]
        counts = counts[~read[best]]
    return formats


def _candidates(texts: Sequence[str]) -> list[str]:
    """Return the formats that the first text may have: days, and how its time is written."""
    text = _ZONE.sub("", texts[0])
    found = _TIME.search(text)
    if found is None:
        return ["ISO8601", *_DAYS] if text[:4].isdigit() else list(_DAYS)
    clock = "%I:%M" if found["p"] else "%H:%M"
    clock += (":%S" if found["s"] else "") + (".%f" if found["f"] else "")
    if found["p"]:
        clock += " %p" if found[0][: -len(found["p"])].endswith(" ") else "%p"
    if found.start() == 0 and found.end() == len(text):
        return [clock]
    rest = text[found.end() :]
    zone = "%z" if rest.strip() else ""
    if found.start() == 0 and rest.strip():
        return [f"{clock} {day}" for day in _DAYS]
    timed = [f"{day}{found['gap']}{clock}{zone}" for day in _DAYS]
    return ["ISO8601", *timed] if text[:4].isdigit() else timed


def _settled(counted: Counted, chosen: str) -> str:
    """Return the format, or that with day and month swapped if it reads more of all texts."""
    other = _swap(chosen)
    if other is None:
        return chosen
    read = [
        counted.counts[~np.isnat(as_dates(counted.texts, [it]))].sum() for it in (chosen, other)
    ]
    return other if read[1] > read[0] else chosen


def _swap(written: str) -> str | None:
    if "%d" not in written or "%m" not in written or written.startswith("%Y"):
        return None
    return re.sub("%[dm]", lambda found: _SWAPPED[found[0]], written)


def is_ambiguous(counted: Counted, formats: list[str]) -> bool:
    """Tell whether day and month could be swapped in all texts alike."""
    for chosen in formats:
        other = _swap(chosen)
        if other is not None:
            one, two = (~np.isnat(as_dates(counted.texts, [it])) for it in (chosen, other))
            if (one == two).all():
                return True
    return False


def as_dates(texts: Sequence[str], formats: Iterable[str]) -> npt.NDArray[np.datetime64]:
    """Return texts as dates in the first format that reads each, NaT where none does."""
    import pandas as pd

    found = np.full(len(texts), np.datetime64("NaT"), dtype="datetime64[s]")
    rest = np.arange(len(texts))
    for written in formats:
        some = [_ZONE.sub("", texts[i]) for i in rest.tolist()]
        dates = pd.to_datetime(
            pd.Series(some, dtype=object), format=written, errors="coerce", utc=True
        )
        parsed = dates.dt.tz_localize(None).to_numpy().astype("datetime64[s]")
        if "%y" in written:
            parsed = _last_century(parsed)
        found[rest] = parsed
        rest = rest[np.isnat(parsed)]
        if not len(rest):
            break
    return found


def _last_century(dates: npt.NDArray[np.datetime64]) -> npt.NDArray[np.datetime64]:
    """Return dates of years of two digits as spreadsheets read them: 30 is 1930, 29 is 2029."""
    months = dates.astype("datetime64[M]")
    before = (months - np.timedelta64(1200, "M")).astype("datetime64[s]") + (
        dates - months.astype("datetime64[s]")
    )
    return np.where(months >= np.datetime64("2030-01"), before, dates)


def parse_dates(column: Series[Any], written: Mapping[str, str]) -> npt.NDArray[np.datetime64]:
    """Return the dates of a column that are written in formats that are known."""
    import pandas as pd

    if kind_of_values(column.dropna()) == "date":
        dates = pd.to_datetime(column, errors="coerce", utc=True).dt.tz_localize(None)
        return np.asarray(dates.to_numpy().astype("datetime64[s]"))
    codes, different = pd.factorize(as_texts(column))
    formats = written.get("dates", "").split(BETWEEN_FORMATS)
    parsed = as_dates(
        [text.strip() for text in different], dict.fromkeys([*filter(None, formats), "ISO8601"])
    )
    return np.asarray(np.append(parsed, np.datetime64("NaT"))[codes])


def format_in_words(written: str, example: str = "") -> str:
    """Return a format as people say it, such as day/month/year."""
    if written == "ISO8601":
        return "year-month-day hour:minute" if _TIME.search(example) else "year-month-day"
    return re.sub(
        r"\.?%f|%([A-Za-z])", lambda found: _WORDS.get(found[1] or "", ""), written
    ).strip()


def plain_date(value: np.datetime64, is_time: bool) -> str:
    """Return a date, or a time of day, without zeros that say nothing."""
    day, _, time = str(value).partition("T")
    return time if is_time else day if time == "00:00:00" else f"{day} {time}"
