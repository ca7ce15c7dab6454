"""The command ``sorr`` and its parts."""

from __future__ import annotations

from typing import Annotated

import typer

from sorr import __version__
from sorr.cli import audit, datasets, model, reproduce

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,  # plain text: rich would take more time than all the rest
    pretty_exceptions_enable=False,
    epilog="sorr COMMAND --help explains a command, with examples.",
)
_COMMANDS = (
    (audit.audit, audit.EXAMPLES, "Find the rows of a table that do not belong."),
    (model.fit, model.FIT_EXAMPLES, "Fit a model without the rows that do not belong."),
    (model.predict, model.PREDICT_EXAMPLES, "Predict from a saved model, as CSV."),
    (datasets.datasets, datasets.EXAMPLES, "List the data sets there are, or write one as CSV."),
    (reproduce.reproduce, reproduce.EXAMPLES, "Measure tables and figures of the paper."),
)
for command, examples, purpose in _COMMANDS:
    app.command(epilog=examples, short_help=purpose)(command)


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
