from importlib.util import find_spec

import pytest


@pytest.fixture(autouse=True)
def _steps_are_silent(monkeypatch):
    """Show no progress of single steps, however busy the machine is."""
    if find_spec("typer"):  # without it, no step is taken
        monkeypatch.setattr("sorr.cli.console._SECONDS_BEFORE_PROGRESS", 3600.0)
