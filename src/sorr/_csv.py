"""Tables as CSV text, with cells that a spreadsheet shows and never runs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from numbers import Number
from typing import Any

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_BREAK = re.compile(r"\r\n|[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")
_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # lone surrogates cannot be written
_STARTS = frozenset("=+-@")  # what a formula begins with
_USUAL = re.compile(r"([0-9A-Za-z][0-9A-Za-z_.:/%() -]*)?(?<! )")  # needs no check
_SEPARATOR = re.compile(r'[",;|]')


def escape_formula(cell: str) -> str:
    r"""Return a text on one line that a spreadsheet does not run as a formula.

    An apostrophe is put before the start of a formula, also after white space, in full-width
    letters, and after a semicolon, which separates cells in many European spreadsheets. Numbers
    stay as they are. Line breaks and tabs become spaces, and other control characters U+FFFD.

    Examples
    --------
    >>> escape_formula("=1+1"), escape_formula("-3.5"), escape_formula("two\nlines")
    ("'=1+1", '-3.5', 'two lines')
    """
    pieces = [f"'{piece}" if _runs(piece) else piece for piece in cell.split(";")]
    return _UNFIT.sub("\ufffd", _BREAK.sub(" ", ";".join(pieces)))


def _runs(text: str) -> bool:
    """Tell whether a spreadsheet could run a text as a formula."""
    if text.startswith(("\t", "\r")):
        return True
    for start, letter in enumerate(text):
        if unicodedata.category(letter)[0] not in "CZ":  # neither control nor white space
            is_start = unicodedata.normalize("NFKC", letter)[0] in _STARTS
            return is_start and not _NUMBER.fullmatch(text[start:].rstrip())
    return False


def to_csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    r"""Return a table as CSV, one line per row. Formulas are escaped, missing values are empty.

    Numbers have as many digits as are needed to read the same number again.

    Examples
    --------
    >>> to_csv(["row", "label"], [(0, "@home"), (1, None)])
    "row,label\n0,'@home\n1,\n"
    """
    lines = [",".join(map(_field, cells)) or '""' for cells in (header, *rows)]
    return "\n".join([*lines, ""])


def _field(cell: Any) -> str:
    kind = type(cell)
    if kind is int:
        return str(cell)
    if isinstance(cell, str):
        return cell if _USUAL.fullmatch(cell) else _quoted(escape_formula(cell))
    if _is_missing(cell):
        return ""
    is_number = kind is float or isinstance(cell, Number)
    return str(cell) if is_number else _quoted(escape_formula(str(cell)))


def _is_missing(cell: Any) -> bool:
    try:
        return cell is None or bool(cell != cell)  # NaN is not itself
    except TypeError:  # pandas.NA has no truth value
        return True


def _quoted(text: str) -> str:
    if text == text.strip() and not _SEPARATOR.search(text):
        return text
    return '"' + text.replace('"', '""') + '"'
