"""One thread for each test process, no examples of missing packages, and two markers."""

import os
from importlib.util import find_spec

import pytest

# Tests run in parallel processes and on small matrices: more threads only get in each other's way.
# NumPy reads this once, when it is imported; the worker processes of pytest inherit it.
for _library in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

_NEEDS = {
    "src/sorr/plots/*": "matplotlib",
    "src/sorr/cli/*": "typer",
    "src/sorr/auditing/*": "pandas",
    "src/sorr/nn/*": "torch",
    "tests/auditing/tables.py": "pandas",
    "tests/auditing/hostile.py": "pandas",
    "tests/nn/launch.py": "torch",
    "tests/nn/training.py": "torch",
}
collect_ignore_glob = [files for files, package in _NEEDS.items() if not find_spec(package)]


@pytest.hookimpl(tryfirst=True)  # before pytest selects tests by their markers
def pytest_collection_modifyitems(items):
    """Mark tests that ask for the data sets, and the examples in docstrings."""
    for item in items:
        if "data_folder" in getattr(item, "fixturenames", ()):
            item.add_marker("data")
        if isinstance(item, pytest.DoctestItem):
            item.add_marker("digits")
