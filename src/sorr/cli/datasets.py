"""``sorr datasets``: the data sets that come with sorr, listed, or one as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sorr.cli.console import EXIT_CODES, as_json, check_places, guarded, shown, write_files
from sorr.cli.options import Debug, Force, Json, NewFile

if TYPE_CHECKING:
    from sorr.datasets import Entry

__all__ = ["EXAMPLES", "datasets"]

EXAMPLES = f"""\
{EXIT_CODES}

\b
Examples:
  sorr datasets
  sorr datasets titanic --out titanic.csv
  sorr audit titanic.csv --target y
"""
_ROWS_AT_A_TIME = 500  # between two reports of progress


@guarded
def datasets(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="Which of the list to write as CSV.", show_default=False
        ),
    ] = None,
    out: NewFile = None,
    force: Force = False,
    json: Json = False,
    debug: Debug = False,  # noqa: ARG001 - read by what guards it
) -> None:
    """List the data sets there are, or write one as CSV.

    The column y holds the class of each row, under its name; y1, y2 and so on are 0 or 1 for each
    label where a row can have several. Images are a row of grey values each, those for training.
    Listing fetches nothing; a set that is not here yet is fetched when it is written, and kept.
    """
    from sorr.datasets import inventory

    entries = {entry.name: entry for entry in inventory()}
    if name is None:
        if out is not None:
            raise typer.BadParameter("given without a NAME", param_hint="--out")
        _list(list(entries.values()), json)
        return
    if out is not None:
        check_places([out], force)
    if json and out is None and name in entries:
        typer.echo(as_json(entries[name]._asdict()))
        return
    lines = _lines(name)
    if out is None:
        for line in lines:
            typer.echo(line.encode("utf-8"), nl=False)
        return
    write_files({out: lines}, force)
    typer.echo(as_json({**entries[name]._asdict(), "out": out}) if json else str(out))


def _list(entries: list[Entry], json: bool) -> None:
    if json:
        typer.echo(as_json({"datasets": [entry._asdict() for entry in entries]}))
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("name", box=SIMPLE_HEAD)
    table.add_column("rows", justify="right")
    table.add_column("columns", justify="right")
    table.add_column("target")
    table.add_column("where it is from", overflow="fold")
    for entry in entries:
        numbers = (f"{entry.rows:,}", f"{entry.columns:,}")
        table.add_row(entry.name, *numbers, entry.target, Text(entry.place))
    Console().print(table)


def _lines(name: str) -> Iterator[str]:
    """Return the lines of a data set, as they are asked for; it is loaded at once."""
    from sorr.datasets import load_dataset

    return _watched(name, load_dataset(name))


def _watched(name: str, loaded: Any) -> Iterator[str]:
    from sorr.datasets import csv_lines

    n_rows = len(loaded.target)
    with shown(name) as update:
        for row, line in enumerate(csv_lines(loaded)):
            if row % _ROWS_AT_A_TIME == 0:
                update(float(row), float(n_rows), "")
            yield line
        update(float(n_rows), float(n_rows), "")
