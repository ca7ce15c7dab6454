"""Both ways through the room: rows cut whole, and rows narrowed first, however short they are."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from unittest import mock

import pytest

from sorr.ranked import brackets as brackets_module
from sorr.ranked import narrow as narrow_module


@contextmanager
def narrowed():
    """Narrow even the shortest row, by brackets so tight that some of them miss."""
    tiny = {"_LONG": 1, "_LONG_WEIGHTED": 1, "_CHUNK": 8, "_BLOCK": 2}
    tiny |= {"_UNDECIDED": 0.95, "_UNDECIDED_WEIGHTED": 0.95}
    with (
        mock.patch.multiple(narrow_module, **tiny),
        mock.patch.object(brackets_module, "_SIGMAS", 0.3),
    ):
        yield


both_paths = pytest.mark.parametrize("path", [nullcontext, narrowed], ids=["whole", "narrowed"])
