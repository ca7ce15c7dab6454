"""What only a run of the slow tests does: further cases, and further examples of a property."""

from __future__ import annotations

import pytest
from hypothesis import settings


def slow(*values):
    """Mark the values of a parameter as slow: ``[first, *slow(second, third)]``."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def examples(number, first=None):
    """Return a number of examples, or by default fewer: `first` of them, or the usual part."""
    usual, thorough = settings.default.max_examples, settings.get_profile("thorough").max_examples
    if first is not None and usual < thorough:
        return first
    return number * usual // thorough
