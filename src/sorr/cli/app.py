"""The command ``sorr`` and its parts."""

from __future__ import annotations

from typing import Annotated

import typer

from sorr import __version__
from sorr.cli.reproduce import reproduce

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
app.command()(reproduce)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sorr {__version__}")
        raise typer.Exit


@app.callback()
def sorr(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print it and end."),
    ] = False,
) -> None:
    """Learn from data whose labels are partly wrong."""
