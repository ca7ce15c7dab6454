"""Both ways through the room: rows cut whole, and rows narrowed first, however short they are."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from unittest import mock

import pytest

from sorr.ranked import select as brackets_module
from sorr.ranked import select as narrow_module


def _every_third(values):
    return slice(len(values) // 2 % 3, None, 3) if len(values) > 3 else slice(None, None, 1)


@contextmanager
def narrowed():
    """Narrow even the shortest row, by a sample so poor that many brackets miss."""
    tiny = {"_LONG": 1, "_LONG_WEIGHTED": 1, "_CHUNK": 8, "_BLOCK": 2}
    tiny |= {"_UNDECIDED": 0.95, "_UNDECIDED_WEIGHTED": 0.95}
    with (
        mock.patch.multiple(narrow_module, **tiny),
        mock.patch.object(brackets_module, "_SIGMAS", 0.3),
        mock.patch.object(brackets_module, "sample_of", _every_third),
        mock.patch.object(narrow_module, "sample_of", _every_third),
    ):
        yield


both_paths = pytest.mark.parametrize("path", [nullcontext, narrowed], ids=["whole", "narrowed"])
