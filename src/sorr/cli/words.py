"""Texts from files, as they can be shown on a terminal."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["as_json", "plain", "shortened"]

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # the last turn lines round


def plain(text: object) -> str:
    r"""Return a text on one line, without anything that a terminal would obey.

    Examples
    --------
    >>> plain("two\nlines, \x1b[31mred")
    'two lines, \ufffd[31mred'
    """
    return _CONTROL.sub("\ufffd", " ".join(str(text).split()))


def shortened(text: object, length: int) -> str:
    """Return a text that fits.

    Examples
    --------
    >>> shortened("a long story", 7)
    'a long…'
    """
    whole = plain(text)
    return whole if len(whole) <= length else whole[: length - 1].rstrip() + "…"


def as_json(value: Any) -> str:
    r"""Return JSON in plain ASCII; what is no number there, such as NaN, is null.

    Examples
    --------
    >>> as_json({"share": float("nan"), "name": "é"})
    '{"share": null, "name": "\\u00e9"}'
    """
    return json.dumps(_tidy(value), default=str)


def _tidy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _tidy(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_tidy(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
