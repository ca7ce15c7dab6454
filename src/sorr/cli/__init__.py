"""The command line: arguments are read, a room is called, and what came out is printed."""

from __future__ import annotations

import sys
from importlib.util import find_spec

__all__ = ["main"]

_NEEDED = ("typer", "rich.console")  # found now, loaded when something is printed


def main() -> None:
    """Run the command ``sorr``, or say how to install what it needs."""
    try:
        for module in _NEEDED:
            if not _is_there(module):
                package = module.partition(".")[0]
                sys.exit(
                    f'The command sorr needs {package}, which is missing: pip install "sorr[cli]"'
                )
        from sorr.cli.app import app
    except KeyboardInterrupt:
        sys.exit(130)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal may lack a letter of the data
    app(prog_name="sorr")


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its package is missing
        return False
