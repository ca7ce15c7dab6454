"""Property tests draw the same examples on every run, and none is timed; where data sets are."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

DATA = os.environ.get("SORR_DATA")  # read now, since some tests hide it


@pytest.fixture
def data_folder():
    """Return the folder of data sets; skip the test, which is marked `data`, if there is none."""
    if not DATA or not Path(DATA).is_dir():
        pytest.skip("the environment variable SORR_DATA names no folder of data sets")
    return Path(DATA)
