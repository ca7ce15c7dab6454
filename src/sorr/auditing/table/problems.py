"""How a table and what is in it appear in messages: on one line, whatever they hold."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["TableError", "close_names", "listed", "plain", "shown"]

_MOST_LISTED = 8


class TableError(ValueError):
    """A table cannot be used as it is: one line says why, and the way out."""


def shown(value: Any, width: int = 40) -> str:
    r"""Return a value in quotes, on one line and short: what cannot be seen is escaped.

    Examples
    --------
    >>> print(shown("two\nlines"), shown("\x1b[31mred"), shown("abcdefghijklmnop", width=9))
    'two\nlines' '\x1b[31mred' 'abcdef...'
    """
    text = str(value)
    quoted = repr(text[: width + 1])
    if len(text) <= width and len(quoted) <= width + 2:
        return quoted
    return f"{quoted[: width - 2]}...{quoted[0]}"


def plain(value: Any, width: int = 40) -> str:
    r"""Return a value as `shown` does, without the quotes: for sentences.

    Examples
    --------
    >>> print(plain("blue"), plain("two\nlines"), plain("it's"))
    blue two\nlines it's
    """
    return shown(value, width)[1:-1]


def listed(values: Sequence[Any]) -> str:
    """Return the first of several values, as `shown` does, and how many there are besides.

    Examples
    --------
    >>> listed(["a", "b"]), listed(range(10))
    ("'a', 'b'", "'0', '1', '2', '3', '4', '5', '6', '7' and 2 more")
    """
    more = len(values) - _MOST_LISTED
    named = ", ".join(map(shown, values[:_MOST_LISTED]))
    return f"{named} and {more} more" if more > 0 else named


def close_names(name: str, names: Iterable[str]) -> list[str]:
    """Return up to three names that may be meant by another, whatever their case.

    Examples
    --------
    >>> close_names("LABLE", ["Label", "age", "label 2"])
    ['Label', 'label 2']
    """
    folded = {str(it).casefold(): str(it) for it in reversed(list(names))}  # of twins, the first
    return [folded[it] for it in difflib.get_close_matches(name.casefold(), folded, n=3)]
