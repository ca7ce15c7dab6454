"""The command line: arguments are read, a room is called, and what came out is printed."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command ``sorr``, or say how to install what it needs."""
    try:
        from sorr.cli.app import app
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package not in {"typer", "rich"}:
            raise
        sys.exit(f'The command sorr needs {package}, which is missing: pip install "sorr[cli]"')
    except KeyboardInterrupt:
        sys.exit(130)
    app(prog_name="sorr")
