"""Both ways through the room: rows ranked as they are, and rows narrowed first."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from unittest import mock

import pytest

from sorr.ranked import select


def _every_third(values):
    return slice(len(values) // 2 % 3, None, 3) if len(values) > 3 else slice(None, None, 1)


@contextmanager
def narrowed():
    """Narrow even the shortest row, by a sample so poor that many brackets miss."""
    tiny = {"_LONG": 1, "_LONG_WEIGHTED": 1, "_CHUNK": 8, "_BLOCK": 2}
    tiny |= {"_UNDECIDED": 0.95, "_UNDECIDED_WEIGHTED": 0.95, "_SIGMAS": 0.3}
    with mock.patch.multiple(select, _sample_slice=_every_third, **tiny):
        yield


both_paths = pytest.mark.parametrize("path", [nullcontext, narrowed], ids=["whole", "narrowed"])
