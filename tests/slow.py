"""What only a run of the slow tests does: further cases, and further examples of a property."""

from __future__ import annotations

import pytest
from hypothesis import settings


def slow(*values):
    """Mark the values of a parameter as slow: ``[first, *slow(second, third)]``."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def examples(number):
    """Return a number of examples, or by default the part of it that every property test draws."""
    thorough = settings.get_profile("thorough").max_examples
    return number * settings.default.max_examples // thorough
