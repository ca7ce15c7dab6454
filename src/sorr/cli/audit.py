"""``sorr audit``: which rows of a table do not belong, why, and a model without them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sorr.cli.errors import EXIT_CODES, guarded
from sorr.cli.inputs import read, shown
from sorr.cli.options import (
    Debug,
    Drop,
    Force,
    Id,
    Ignore,
    Jobs,
    Json,
    Rows,
    Seed,
    Task,
    TaskOption,
    as_drop,
)
from sorr.cli.outputs import check_places, write_files
from sorr.cli.words import as_json

if TYPE_CHECKING:
    from sorr.auditing.report import AuditReport

__all__ = ["EXAMPLES", "audit"]

EXAMPLES = f"""\
{EXIT_CODES}

\b
Examples:
  sorr audit
  sorr audit people.csv --target income
  sorr audit people.csv.gz --target income --id name --ignore zip --group sex
  sorr audit people.parquet --target income --m 0.05 --out found --force
  sorr audit people.csv --target income --json | jq .suspects
"""
_FILES = ("report.html", "suspects.csv", "model.skops")
_ENDINGS = (".gz", ".csv", ".tsv", ".tab", ".txt", ".parquet", ".pq")


@guarded
def audit(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="CSV or TSV (also .gz), or Parquet; without it, an example is audited.",
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", metavar="COLUMN", help="The column to predict: the labels."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help=f"The folder for {_FILES[0]}, {_FILES[1]} and {_FILES[2]}.",
            show_default="audit- and the name of the file",
        ),
    ] = None,
    m: Drop = "auto",
    task: TaskOption = Task.auto,
    id_column: Id = None,
    ignore: Ignore = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            "--group",
            metavar="COLUMN",
            help="Say how many rows are left out by this column too; give it once for each.",
            show_default=False,
        ),
    ] = None,
    rows: Rows = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    force: Force = False,
    json: Json = False,
    debug: Debug = False,  # noqa: ARG001 - read by what guards it
) -> None:
    """Find the rows of a table that do not belong, and fit a model without them.

    The folder then holds a report to read, the suspect rows with a reason each, and the model,
    which sorr predict uses. Rows that were left out may be a minority, and not wrong: look at them.
    """
    drop = as_drop(m)
    options = {
        "m": drop,
        "task": task.value,
        "id_column": id_column,
        "ignore": tuple(ignore or ()),
        "group": tuple(group or ()),
    }
    _check_target(data, target, rows, options)
    folder = out or Path(f"audit-{_stem(data)}")
    places = {name: folder / name for name in _FILES}
    check_places(places.values(), force)
    report = _report(data, target, rows, seed, jobs, options)
    with shown("report"):
        contents = _contents(report)
    write_files({places[name]: contents[name] for name in _FILES}, force)
    if json:
        typer.echo(as_json({**report.summary(), "files": places}))
        return
    from rich.console import Console

    from sorr.cli.summary import print_summary

    print_summary(report, Console())
    for path in places.values():
        typer.echo(str(path))


def _check_target(
    data: Path | None, target: str | None, rows: int | None, options: dict[str, Any]
) -> None:
    if data is not None:
        if target is None:
            raise typer.BadParameter(
                "none given; needed the column that holds the labels", param_hint="--target"
            )
        return
    given = options | {"target": target, "rows": rows}
    named = [name for name, value in given.items() if value not in (None, (), "auto")]
    if named:
        flags = ", ".join(f"--{name.removesuffix('_column')}" for name in named)
        raise typer.BadParameter(
            f"none given, and without it an example is audited, which takes no {flags}",
            param_hint="FILE",
        )


def _stem(data: Path | None) -> str:
    if data is None:
        return "example"
    name = data.name
    for ending in _ENDINGS:
        if name.lower().endswith(ending):
            name = name[: -len(ending)]
    return name.strip("-. ") or "table"


def _report(
    data: Path | None,
    target: str | None,
    rows: int | None,
    seed: int,
    jobs: int,
    options: dict[str, Any],
) -> AuditReport:
    table = None if data is None else read(data, [options["id_column"]], rows, seed)
    with shown("audit") as progress:
        from sorr.auditing.run import audit_example, audit_table

        if table is None or target is None:
            return audit_example(seed=seed, jobs=jobs, progress=progress)
        return audit_table(table, target, seed=seed, jobs=jobs, progress=progress, **options)


def _contents(report: AuditReport) -> dict[str, str | bytes]:
    """Return what is in each file."""
    from sorr.auditing.storage import dump_model

    page, table, model = _FILES
    return {
        page: report.to_html(),
        table: report.suspects_csv(),
        model: dump_model(report.model),
    }
