"""``sorr datasets``: list the data sets of sorr, or write one as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from sorr.cli.console import (
    EXIT_CODES,
    as_json,
    check_places,
    make_table,
    report_errors,
    show_progress,
    write_files,
)
from sorr.cli.options import Debug, Force, Json, NewFile

if TYPE_CHECKING:
    from sorr.datasets import Entry

EXAMPLES = f"""\
{EXIT_CODES}

\b
Examples:
  sorr datasets
  sorr datasets titanic --out titanic.csv
  sorr audit titanic.csv --target y
"""
_ROWS_AT_A_TIME = 500  # between two reports of progress


@report_errors
def datasets(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="The data set to write as CSV.", show_default=False),
    ] = None,
    out: NewFile = None,
    force: Force = False,
    json: Json = False,
    debug: Debug = False,  # noqa: ARG001 - read by report_errors
) -> None:
    """List the data sets, or write one as CSV.

    The column y holds the name of the class of each row. If a row can have several labels, the
    columns y1, y2 and so on hold 0 or 1 for each label. Of images, the training set is written,
    one row of grey values per image. Listing downloads nothing. A data set that is not stored here
    is downloaded when you write it, and kept.
    """
    from sorr.datasets import inventory

    entries = {entry.name: entry for entry in inventory()}
    if name is None:
        if out is not None:
            raise typer.BadParameter("given without a NAME; needed both", param_hint="--out")
        _print_list(list(entries.values()), json)
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


def _print_list(entries: list[Entry], json: bool) -> None:
    if json:
        typer.echo(as_json({"datasets": [entry._asdict() for entry in entries]}))
        return
    from rich.console import Console

    rows = (
        (entry.name, f"{entry.rows:,}", f"{entry.columns:,}", entry.target, entry.place)
        for entry in entries
    )
    titles = ("name", "rows", "columns", "target", "source")
    Console().print(make_table(titles, rows, numbers=("rows", "columns"), is_narrow=False))


def _lines(name: str) -> Iterator[str]:
    """Load a data set, and return its lines one by one as they are asked for."""
    from sorr.datasets import csv_lines, load_dataset

    loaded = load_dataset(name)
    n_rows = float(len(loaded.target))

    def lines() -> Iterator[str]:
        with show_progress(name) as update:
            for row, line in enumerate(csv_lines(loaded)):
                if row % _ROWS_AT_A_TIME == 0:
                    update(float(row), n_rows, "")
                yield line
            update(n_rows, n_rows, "")

    return lines()
