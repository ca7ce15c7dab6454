"""Numbers and texts as the page shows them: short, and without invisible characters."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

MISSING = "(missing)"
_LARGE = 1e7  # larger numbers are written with a power of ten
_BREAK = re.compile(r"\r\n|[\t\n\v\f\r\x85\u2028\u2029]")
# Control characters, marks that turn the direction of the text, and halves of characters.
UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\ud800-\udfff]"
)


def seen(text: str) -> str:
    r"""Return a text on one line, with invisible characters spelled out.

    Examples
    --------
    >>> seen("one\ntwo \u202eeman")
    'one two [U+202E]eman'
    """
    return UNSEEN.sub(lambda found: f"[U+{ord(found[0]):04X}]", _BREAK.sub(" ", text))


def short(value: Any, width: int = 80) -> str:
    """Return a value as text. A long text is cut, and its length added.

    Examples
    --------
    >>> short("a" * 12, 6), short(2.50), short(None)
    ('aaaaaa\N{HORIZONTAL ELLIPSIS} (12 characters)', '2.5', '(missing)')
    """
    if value is None or _is_missing(value):
        return MISSING
    text = f"{value:.7g}" if isinstance(value, float | np.floating) else str(value)
    return seen(text) if len(text) <= width else f"{seen(text[:width])}… ({len(text):,} characters)"


def label(value: Any, width: int = 40) -> str:
    """Return a class or a number of the target as text."""
    return number(value) if isinstance(value, float) else short(value, width)


def _is_missing(value: Any) -> bool:
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        return True


def number(value: float) -> str:
    """Return a number with four significant digits, or more before the point.

    Examples
    --------
    >>> number(1234567.8), number(-0.012344), number(3.0), number(2.5e-9)
    ('1,234,568', '\N{MINUS SIGN}0.01234', '3', '2.5e-09')
    """
    if not math.isfinite(value):
        return "∞" if value > 0 else "\N{MINUS SIGN}∞" if value < 0 else MISSING
    size = abs(value)
    text = f"{size:,.0f}" if 1e4 <= size < _LARGE else f"{size:.4g}".replace("e+", "e")
    return f"\N{MINUS SIGN}{text}" if value < 0 and text != "0" else text


def brief(value: float) -> str:
    """Return a number with three significant digits, or more before the point.

    Examples
    --------
    >>> brief(1926.4), brief(0.016671), brief(12.0), brief(-4.2e-7)
    ('1,926', '0.0167', '12', '\N{MINUS SIGN}4.2e-07')
    """
    size = abs(value)
    text = f"{size:,.0f}" if 1e3 <= size < _LARGE else number(float(f"{size:.3g}"))
    return f"\N{MINUS SIGN}{text}" if value < 0 and text != "0" else text


def aligned(values: Iterable[float]) -> list[str]:
    """Return numbers with the same number of decimals, as many as the largest needs.

    Examples
    --------
    >>> aligned([-4.6704, 0.0785]), aligned([23456.7, 2.0]), aligned([3e24, 1.0])
    (['\N{MINUS SIGN}4.67', '0.08'], ['23,457', '2'], ['3e24', '1'])
    """
    values = list(values)
    largest = max((abs(it) for it in values if math.isfinite(it)), default=0.0)
    if not 1e-3 <= largest < _LARGE:
        return [number(it) for it in values]
    digits = max(0, 2 - math.floor(math.log10(largest)))
    texts = [f"{abs(it):,.{digits}f}" for it in values]
    return [
        f"\N{MINUS SIGN}{text}" if it < 0 and text.strip("0.") else text
        for it, text in zip(values, texts, strict=True)
    ]


def count(value: float) -> str:
    """Return a whole number with commas between thousands."""
    return f"{value:,.0f}"


def count_rows(value: int) -> str:
    """Return a number of rows.

    Examples
    --------
    >>> count_rows(1), count_rows(2000)
    ('1 row', '2,000 rows')
    """
    return f"{value:,} row" if value == 1 else f"{value:,} rows"


def percent(share: float) -> str:
    """Return a share in percent, with one decimal if needed.

    Examples
    --------
    >>> [it.replace("\N{NO-BREAK SPACE}", " ") for it in map(percent, (0.0625, 0.1, 0.0, 0.0004))]
    ['6.2 %', '10 %', '0 %', 'under 0.1 %']
    """
    if 0.0 < share < 0.0005:
        return "under 0.1\N{NO-BREAK SPACE}%"
    return f"{100 * share:.1f}".removesuffix(".0") + "\N{NO-BREAK SPACE}%"
