"""Examples in docstrings that need what is not installed are left out."""

from importlib.util import find_spec

_NEEDS = {"src/sorr/plots/*": "matplotlib", "src/sorr/cli/*": "typer"}
collect_ignore_glob = [files for files, package in _NEEDS.items() if not find_spec(package)]
