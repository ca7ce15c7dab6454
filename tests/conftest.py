"""Property tests draw the same examples on every run, and none is timed.

By default they draw a third of the usual number. A run that takes slow tests (``-m slow``) takes
all of them again with the full number.
"""

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=33)
settings.register_profile("thorough", settings.get_profile("repeatable"), max_examples=100)


def _leaves_slow_tests_out(config):
    return "not slow" in config.option.markexpr


def pytest_configure(config):
    settings.load_profile("repeatable" if _leaves_slow_tests_out(config) else "thorough")


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(config, items):
    if _leaves_slow_tests_out(config):
        return
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("slow")


DATA = os.environ.get("SORR_DATA")  # read now, since some tests hide it


@pytest.fixture
def data_folder():
    """Return the folder of data sets; skip the test, which is marked `data`, if there is none."""
    if not DATA or not Path(DATA).is_dir():
        pytest.skip("the environment variable SORR_DATA names no folder of data sets")
    return Path(DATA)
