"""The command line: read the arguments, call a room, print the result."""

from __future__ import annotations

import sys
from importlib.util import find_spec

__all__ = ["main"]

_REQUIRED = ("typer", "rich.console")  # checked now, loaded when something is printed


def main() -> None:
    """Run the command ``sorr``, or say how to install what it needs."""
    try:
        for module in _REQUIRED:
            if not _is_installed(module):
                package = module.partition(".")[0]
                sys.exit(f'sorr needs {package}, which is not installed: pip install "sorr[cli]"')
        from sorr.cli.app import app
    except KeyboardInterrupt:
        sys.exit(130)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal may lack a letter of the data
    app(prog_name="sorr")


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package of the module is missing
        return False
