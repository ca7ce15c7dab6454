"""Cases of a test that only a run of the slow tests takes."""

from __future__ import annotations

import pytest


def slow(*values):
    """Mark the values of a parameter as slow: ``[first, *slow(second, third)]``."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]
