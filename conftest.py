"""Examples in docstrings that need what is not installed are left out."""

from importlib.util import find_spec

_NEEDS = {
    "src/sorr/plots/*": "matplotlib",
    "src/sorr/cli/*": "typer",
    "src/sorr/auditing/*": "pandas",
    "tests/auditing/tables.py": "pandas",
    "tests/auditing/hostile.py": "pandas",
}
collect_ignore_glob = [files for files, package in _NEEDS.items() if not find_spec(package)]
