"""One thread for each test process, and no docstring examples of packages that are missing."""

import os
from importlib.util import find_spec

# Tests run in parallel processes and on small matrices: more threads only get in each other's way.
# NumPy reads this once, when it is imported; the worker processes of pytest inherit it.
for _library in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

_NEEDS = {
    "src/sorr/plots/*": "matplotlib",
    "src/sorr/cli/*": "typer",
    "src/sorr/auditing/*": "pandas",
    "tests/auditing/tables.py": "pandas",
    "tests/auditing/hostile.py": "pandas",
}
collect_ignore_glob = [files for files, package in _NEEDS.items() if not find_spec(package)]
