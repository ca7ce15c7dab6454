"""Drawings go nowhere, and are closed."""

import pytest


@pytest.fixture(autouse=True)
def _closed():
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="plots are drawn with matplotlib")
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")
