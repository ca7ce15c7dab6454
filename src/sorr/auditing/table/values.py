"""A table as it was read: its names, its rows and its values, and values in messages."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sorr._checks import close_names
from sorr._typing import IntArray

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_MAX_LISTED = 8  # values in a message
MOST_COLUMNS = 16_384  # as many as Excel has; pandas takes seconds for that many, minutes for more
_PLAIN = re.compile(
    r"\s*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|(?i:inf|infinity))\s*", re.ASCII
)
_WHOLE = re.compile(r"\s*[+-]?\d+\s*", re.ASCII)
_CODE = re.compile(r"\s*0\d", re.ASCII)
_EXACT = 2**53  # a float keeps every whole number up to here
_DIGITS = 16  # of a fingerprint: two tables share one by accident once in 2**64
MOST_KEPT = 16_000_000  # bytes of a text that a report may carry along
MOST_KEPT_ROWS = 50_000  # of it
MISSING = (
    *("", "NA", "N/A", "n/a", "#N/A", "#NA", "#N/A N/A", "<NA>", "NULL", "null"),
    *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
"""What counts as missing in any column: as in pandas, but not None, which is often a category."""


# -- Values and arguments in messages --------------------------------------------------------------


def format_probability(value: float) -> str:
    """Return a probability in percent, never as certain; nothing for NaN.

    Examples
    --------
    >>> format_probability(0.9999), format_probability(0.64), format_probability(float("nan"))
    ('>99%', '64%', '')
    """
    if math.isnan(value):
        return ""
    return ">99%" if value > 0.99 else "<1%" if value < 0.01 else f"{value:.0%}"


class Argument(NamedTuple):
    """An argument that a message names.

    The library writes it as in Python; the command line writes it as an option.

    Examples
    --------
    >>> print(Argument("ignore", ["age", "zip"]), Argument("n_rows", 100), Argument("target"))
    ignore=['age', 'zip'] n_rows=100 target
    """

    name: str
    value: Any = None

    def __str__(self) -> str:
        if self.value is None:
            return self.name
        if isinstance(self.value, list):
            return f"{self.name}=[{', '.join(map(quote, self.value))}]"
        value = self.value if isinstance(self.value, int | float) else quote(self.value)
        return f"{self.name}={value}"


class TableError(ValueError):
    """A table cannot be used as it is. The message is one line: what is wrong, and the way out.

    Parameters
    ----------
    *parts : str or Argument
        The message, with the arguments of the library that it names.
    """

    def __init__(self, *parts: str | Argument) -> None:
        super().__init__("".join(map(str, parts)))
        self.parts = parts


def quote(value: Any, width: int = 40) -> str:
    r"""Return a value in quotes, short and on one line. Characters without a shape are escaped.

    Examples
    --------
    >>> print(quote("two\nlines"), quote("\x1b[31mred"), quote("abcdefghijklmnop", width=9))
    'two\nlines' '\x1b[31mred' 'abcdef...'
    """
    text = str(value)
    quoted = repr(text[: width + 1])
    if len(text) <= width and len(quoted) <= width + 2:
        return quoted
    return f"{quoted[: width - 2]}...{quoted[0]}"


def quote_bare(value: Any, width: int = 40) -> str:
    r"""Return a value as `quote` does, without the quotes.

    Examples
    --------
    >>> print(quote_bare("blue"), quote_bare("two\nlines"), quote_bare("it's"))
    blue two\nlines it's
    """
    return quote(value, width)[1:-1]


def listed(values: Sequence[Any]) -> str:
    """Return the first values, each as `quote` does, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b"]), listed(range(10))
    ("'a', 'b'", "'0', '1', '2', '3', '4', '5', '6', '7' and 2 more")
    """
    more = len(values) - _MAX_LISTED
    named = ", ".join(map(quote, values[:_MAX_LISTED]))
    return f"{named} and {more} more" if more > 0 else named


# -- The table, the names of its columns, and a sample of its rows ---------------------------------


class SetAside(NamedTuple):
    """A record of a file that is no row: it has too few or too many fields, or is broken."""

    line: int
    n_fields: int
    text: str
    """The record as it is in the file, shortened."""


@dataclass(frozen=True, eq=False)
class Table:
    """A table that was read from a file.

    Attributes
    ----------
    frame : DataFrame
        The columns in the order of the file: numbers, dates or text. The index counts from 0.
    rows : ndarray of shape (n,)
        The number of each row among the data rows of the file, from 0.
    lines : ndarray of shape (n,) or None
        The line of the file where each row begins, from 1. None if the file has no lines.
    n_rows : int
        The number of data rows of the file. The frame may hold a sample of them.
    notes : tuple of str
        What readers of the results should know about how the file was read.
    name : str
        The name of the file.
    set_aside : tuple of SetAside
        Records that could not be read as rows.
    separator : str or None
        What separates the fields in the file. None if it is not delimited text.
    fingerprint : str
        The size of the whole table and a digest of its content, as in 150x5-0c1f5d2ba3e94d77. ""
        if nobody asked for one.
    sheet : str or None
        The sheet of a workbook.
    original : bytes or None
        The whole text in UTF-8, if it is delimited text that is short enough to carry along.
    """

    frame: DataFrame = field(repr=False)
    rows: IntArray = field(repr=False)
    lines: IntArray | None = field(repr=False)
    n_rows: int
    notes: tuple[str, ...]
    name: str
    set_aside: tuple[SetAside, ...] = field(default=(), repr=False)
    separator: str | None = None
    fingerprint: str = ""
    original: bytes | None = field(default=None, repr=False)
    sheet: str | None = None


def column_names(written: Sequence[str], file: str) -> tuple[list[str], list[str]]:
    """Return the names of columns without white space around them, and notes on them.

    A column without a name gets its position as a name. pandas writes its index that way. A name
    that was given before gets a number. More columns than pandas carries in a reasonable time are
    refused.
    """
    if len(written) > MOST_COLUMNS:
        raise TableError(
            f"{quote(file)} has {len(written):,} columns; up to {MOST_COLUMNS:,} are read. Keep "
            "those that matter, or put the table on its side if its columns are rows"
        )
    names = [str(name).strip() for name in written]
    unnamed = [f"column {i}" for i, name in enumerate(names, start=1) if not name]
    names = [name or f"column {i}" for i, name in enumerate(names, start=1)]
    looks_like_data = sum(map(is_number, names)) > len(names) / 2
    names, renamed = _different(names)
    notes = []
    if unnamed:
        notes.append(f"Columns without a name got their position as a name: {listed(unnamed)}.")
    if renamed:
        notes.append(f"Names that were there before got a number: {listed(renamed)}.")
    if looks_like_data:
        notes.append(
            f"The first line was read as names, but most are numbers ({listed(names[:3])}). If it "
            "is a row, put a line of names above it."
        )
    return names, notes


def _different(names: list[str]) -> tuple[list[str], list[str]]:
    """Return names of which no two are equal, and those that were changed for it."""
    taken, given = set(names), set[str]()
    counts = dict.fromkeys(names, 1)
    found, changed = [], []
    for name in names:
        new = name
        while new in given or (new != name and new in taken):
            counts[name] += 1
            new = f"{name} ({counts[name]})"
        given.add(new)
        found.append(new)
        if new != name:
            changed.append(new)
    return found, changed


def known_columns(asked: Iterable[str], names: Sequence[str], file: str) -> list[str]:
    """Return the columns asked for, or raise an error with those that do not exist."""
    found = [str(name).strip() for name in asked]
    there = set(names)
    absent = [name for name in found if name not in there]
    if absent:
        close = close_names(absent[0], names)
        hint = f"did you mean {listed(close)}?" if close else f"there are {listed(names)}"
        raise TableError(f"{quote(file)} has no column {listed(absent)}; {hint}")
    return found


def chosen_rows(n_rows: int, asked: int | None, random_state: Any) -> tuple[IntArray, list[str]]:
    """Return the numbers of the rows to use, all or a random sample in order, and a note."""
    from sklearn.utils.random import sample_without_replacement

    if asked is not None and asked < 1:
        raise TableError(
            Argument("n_rows", asked), " leaves nothing to learn from; needed 1 or more"
        )
    if asked is None or asked >= n_rows:
        return np.arange(n_rows, dtype=np.int64), []
    drawn = sample_without_replacement(n_rows, asked, random_state=random_state)
    return np.sort(drawn).astype(np.int64), [
        f"These are a random sample of {asked:,} of the {n_rows:,} rows."
    ]


def is_number(text: str) -> bool:
    """Tell whether a text is a plain number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


# -- The values of a column, from cells of any kind ------------------------------------------------


def settle(column: Series[Any], *, as_text: bool = False) -> Series[Any]:
    """Return a column of texts with NaN for what is missing, as numbers if each text is one.

    The column is text if a number in it is written as codes are: with a zero too many, or with
    more digits than can be kept.
    """
    column = column.where(column.notna() & ~column.isin(MISSING))
    there = column.dropna()
    is_number = not as_text and len(there) > 0 and all(map(_PLAIN.fullmatch, there))
    if not is_number or any(map(_CODE.match, there)):
        return column
    whole = [int(text) if _WHOLE.fullmatch(text) else None for text in there]
    if len(there) == len(column) and None not in whole:
        fits = all(-(2**63) <= number < 2**63 for number in whole if number is not None)
        return there.map(int).astype("int64") if fits else column
    if any(number is not None and abs(number) >= _EXACT for number in whole):
        return column
    return there.astype("float64").reindex(column.index)


def column_of(cells: list[Any], *, as_text: bool = False) -> Series[Any]:
    """Return cells of any kind, None where missing, as numbers, dates or text, never a mixture.

    Whole numbers become text without a decimal point, dates at midnight without a time.
    """
    import pandas as pd

    kinds = set(map(type, cells)) - {type(None)}
    if not as_text and kinds and kinds <= {int, float}:
        return _numbers(cells, kinds)
    if not as_text and kinds and kinds <= {dt.date, dt.datetime}:
        return pd.Series(pd.to_datetime(pd.Series(cells, dtype=object), errors="coerce"))
    if not kinds:
        return pd.Series(np.full(len(cells), np.nan))
    texts = [it if it is None or type(it) is str else spell(it) for it in cells]
    return settle(pd.Series(texts, dtype=text_dtype()), as_text=as_text)


def _numbers(cells: list[Any], kinds: set[type]) -> Series[Any]:
    """Return numbers: whole if all are and none is missing, text if they would not be exact."""
    import pandas as pd

    values = pd.Series(cells, dtype=object)
    if any(type(it) is int and abs(it) >= _EXACT for it in cells):
        if kinds != {int} or None in cells or not all(-(2**63) <= it < 2**63 for it in cells):
            return values.map(spell, na_action="ignore").astype(text_dtype())
        return values.astype("int64")
    numbers = values.astype("float64")
    is_whole = bool((numbers % 1 == 0).all()) and bool((numbers.abs() < _EXACT).all())
    return numbers.astype("int64") if is_whole else numbers


def text_dtype() -> Any:
    """Return the type that pandas gives to text, which depends on its version."""
    import pandas as pd

    return pd.Series(["text"]).dtype


def spell(value: Any) -> str:
    """Return a value as people write it: whole numbers and days without zeros behind them."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value)) if abs(float(value)) < 1e15 else str(value)
    if isinstance(value, dt.datetime):
        return str(value.date() if value.time() == dt.time() else value)
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=spell)
    return str(value)


# -- Fingerprints ----------------------------------------------------------------------------------


class Seal:
    """A digest of the text of a file, made of its blocks as they pass, and the text if short."""

    def __init__(self, *, keeps: bool = False) -> None:
        self._digest = hashlib.blake2b()
        self._size = 0
        self._blocks: list[bytes] | None = [] if keeps else None

    @classmethod
    def of_file(cls, path: Path) -> Seal:
        """Return the seal of all bytes of a file."""
        found = cls()
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                found.add(block)
        return found

    def watch(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield blocks as they are, while another thread makes the digest of the last one."""
        with ThreadPoolExecutor(1) as pool:
            turn: Future[None] | None = None
            for block in blocks:
                if turn is not None:
                    turn.result()
                turn = pool.submit(self.add, block)
                yield block

    def add(self, block: bytes) -> None:
        """Take the next bytes into account."""
        self._digest.update(block)
        if self._blocks is not None:
            self._size += len(block)
            self._blocks.append(block)
            if self._size > MOST_KEPT:
                self._blocks = None

    def fingerprint(self, n_rows: int, n_columns: int) -> str:
        """Return the fingerprint of a table of this size."""
        return f"{n_rows}x{n_columns}-{self._digest.hexdigest()[:_DIGITS]}"

    def original(self, n_rows: int) -> bytes | None:
        """Return the text of a table of so many rows, if it was kept."""
        if self._blocks is None or n_rows > MOST_KEPT_ROWS:
            return None
        return b"".join(self._blocks)


def fingerprint_frame(frame: DataFrame) -> str:
    """Return the fingerprint of a frame: its size, its names, and its values in their order.

    The index does not matter, nor how pandas stores a column: numbers may be whole or floats, texts
    objects or strings, and None, NaN, NaT and NA are all missing.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [1, 2], "label": ["a", None]})
    >>> fingerprint_frame(frame) == fingerprint_frame(frame.astype(object).set_index([[7, 8]]))
    True
    """
    digest = hashlib.blake2b()
    for i, name in enumerate(frame.columns):
        for part in (str(name).encode(errors="surrogatepass"), *_canonical(frame.iloc[:, i])):
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
    n_rows, n_columns = frame.shape
    return f"{n_rows}x{n_columns}-v{digest.hexdigest()[: _DIGITS - 1]}"


def _canonical(column: Series[Any]) -> Iterator[bytes]:
    """Yield a column as bytes: its kind and its values, alike for columns that hold the same."""
    import pandas as pd
    from pandas.api import types

    kind = column.dtype.kind
    if not column.notna().any():
        yield b"empty"
        return
    if isinstance(column.dtype, np.dtype | pd.DatetimeTZDtype) and kind in "mM":
        yield from _canonical_times(column)
        return
    if kind not in "iufb" or isinstance(column.dtype, pd.SparseDtype):
        column = column.astype(object)
        kind = types.infer_dtype(column, skipna=True)
    if kind in (*"iuf", "integer", "floating", "mixed-integer-float"):
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        if kind in ("f", "floating") or np.nanmax(np.abs(numbers)) < _EXACT:
            yield b"number"
            yield np.where(np.isnan(numbers), np.nan, numbers + 0.0).tobytes()  # 0.0 is also -0.0
            return
        column = column.astype(object)
    is_text = kind == "string"
    if kind.startswith("mixed"):  # pandas takes 1 and True for one value
        column = column.map(_tagged, na_action="ignore")
        is_text = True
    codes, different = pd.factorize(column)
    texts = [it if is_text else _tagged(it) for it in np.asarray(different, dtype=object)]
    yield kind.encode() if len(kind) > 1 else b"boolean" if kind == "b" else b"integer"
    yield codes.astype(np.int64).tobytes()
    yield np.fromiter(map(len, texts), np.int64, len(texts)).tobytes()
    yield "".join(texts).encode(errors="surrogatepass")


def _tagged(value: Any) -> str:
    """Return a value as text that is another one for a value of another type."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return f"number {spell(value)}"
    return f"{type(value).__name__.removesuffix('_')} {spell(value)}"


def _canonical_times(column: Series[Any]) -> Iterator[bytes]:
    """Yield dates or durations, alike for every unit that pandas keeps them in."""
    zone = getattr(column.dtype, "tz", None)
    if zone is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    values = column.to_numpy()
    steps = 1000 ** ("s", "ms", "us", "ns").index(np.datetime_data(values.dtype)[0])
    is_there = ~np.isnat(values)
    seconds, rest = np.divmod(np.where(is_there, values.astype(np.int64), 0), steps)
    yield f"{values.dtype.kind}{'' if zone is None else zone}".encode()
    yield is_there.tobytes()
    yield seconds.tobytes()
    yield (rest * (10**9 // steps)).tobytes()
