"""The command ``sorr`` and its subcommands."""

from __future__ import annotations

from typing import Annotated

import typer

from sorr import __version__
from sorr.cli import apply, audit, datasets, model, reproduce

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,  # plain text: loading rich would take longer than everything else
    pretty_exceptions_enable=False,
    epilog="sorr COMMAND --help explains a command, with examples.",
)
_COMMANDS = (
    (audit.audit, audit.EXAMPLES, "Find the labels of a table that look wrong."),
    (apply.apply, apply.EXAMPLES, "Carry out decisions: a corrected table."),
    (model.fit, model.FIT_EXAMPLES, "Fit a model without the suspect rows."),
    (model.predict, model.PREDICT_EXAMPLES, "Predict with a saved model, as CSV."),
    (datasets.datasets, datasets.EXAMPLES, "List the data sets, or write one as CSV."),
    (reproduce.reproduce, reproduce.EXAMPLES, "Reproduce tables and figures of the paper."),
)
for command, examples, purpose in _COMMANDS:
    app.command(epilog=examples, short_help=purpose)(command)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"sorr {__version__}")
        raise typer.Exit


@app.callback()
def sorr(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
) -> None:
    """Learn from data with some wrong labels."""
