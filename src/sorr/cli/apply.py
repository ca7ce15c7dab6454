"""``sorr apply``: a corrected table, made of a table and the decisions about its rows."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sorr._files import check_name
from sorr.cli.console import (
    EXIT_CODES,
    as_json,
    check_places,
    one_line,
    print_error_line,
    report_errors,
    show_progress,
    write_files,
)
from sorr.cli.options import FILES, Debug, Force, Id, Json, Sheet, stem_of

if TYPE_CHECKING:
    from sorr.auditing import Correction

EXAMPLES = f"""\
{EXIT_CODES}

\b
Examples:
  sorr apply people.csv audit-people/suspects.csv --out corrected.csv
  sorr apply people.csv decisions.csv --out corrected.csv --id name
  sorr apply people.xlsx decisions.csv --sheet 2024 --out corrected.xlsx
  sorr apply people.csv.gz decisions.csv --out corrected.csv.gz --json
  sorr apply people.csv decisions.csv --out people.csv --force
"""
_LOG = ".changes.csv"


@report_errors
def apply(
    data: Annotated[
        Path, typer.Argument(metavar="FILE", help=f"The table: {FILES}.", show_default=False)
    ],
    decisions: Annotated[
        Path,
        typer.Argument(
            metavar="DECISIONS",
            help="What was decided: a suspects.csv with the column decision filled in, or the "
            "decisions.csv that the report exports.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="CORRECTED",
            help=f"File to write, in the format of FILE. A log of changes goes to CORRECTED{_LOG}.",
            show_default=False,
        ),
    ],
    id_column: Id = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="COLUMN",
            help="Column of the labels.",
            show_default="the one in DECISIONS",
        ),
    ] = None,
    sheet: Sheet = None,
    force: Force = False,
    json: Json = False,
    debug: Debug = False,  # noqa: ARG001 - read by report_errors
) -> None:
    """Write a corrected table: with new labels, and without the rows to remove.

    A decision is relabel (to new_label if there is one, else to suggested), keep, remove or unsure.
    Rows without a decision stay as they are. In CSV, TSV and JSON lines only the cells that change
    differ from FILE, byte for byte; other formats are written again. Everything is checked before
    anything is written.
    """
    log = out.with_name(out.name + _LOG)
    _check_places(data, decisions, out, log, force)
    with show_progress("apply") as progress:
        from sorr.auditing import correct_file

        correction = correct_file(
            data,
            decisions,
            id_column=id_column,
            target=target,
            sheet=sheet,
            out=out,
            progress=progress,
        )
    with show_progress("writing"):
        write_files({out: correction.content, log: correction.log_csv()}, force)
    files = {"corrected": out, "changes": log}
    if json:
        typer.echo(as_json({**_summary(correction), "files": files}))
        return
    for note in correction.notes:
        print_error_line(f"Note: {note}")
    for line in _sentences(correction):
        typer.echo(one_line(line))
    for path in files.values():
        typer.echo(str(path))
    options = {"--id": id_column, "--sheet": sheet}
    typer.echo(one_line(_next_step(correction, data, decisions, out, options)))


def _check_places(data: Path, decisions: Path, out: Path, log: Path, force: bool) -> None:
    """Refuse places that cannot be written to, and those where an input would be lost."""
    if not out.name:
        raise typer.BadParameter(
            f"given {str(out)!r}; needed the name of a file", param_hint="--out"
        )
    check_name(out)
    for path, what in ((decisions, "the decisions"), (data, "the table")):
        for place in (out, log):
            is_asked = place == out and path == data  # with --force
            if _is_same(path, place) and not is_asked:
                raise typer.BadParameter(
                    f"{str(place)!r} is the file of {what}; choose another path",
                    param_hint="--out",
                )
    check_places([out, log], force)


def _is_same(path: Path, place: Path) -> bool:
    try:
        return path.samefile(place)
    except OSError:  # one of them does not exist
        return False


def _summary(correction: Correction) -> dict[str, Any]:
    return {
        "table": correction.table,
        "target": correction.target,
        **correction.counts(),
        "notes": list(correction.notes),
    }


def _sentences(correction: Correction) -> list[str]:
    counts = correction.counts()
    changed = _count(counts["changed"], "label")
    removed = _count(counts["removed"], "row")
    rest = [
        f"{_count(counts['kept'], 'label')} confirmed",
        f"{counts['unsure']:,} unsure",
        f"{counts['undecided']:,} undecided",
    ]
    return [
        f"{correction.table}: {changed} changed, {removed} removed.",
        f"Left as they are: {', '.join(rest)}.",
    ]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _next_step(
    correction: Correction,
    data: Path,
    decisions: Path,
    out: Path,
    options: dict[str, str | None],
) -> str:
    """Return what to do now: check the result, or go on deciding."""
    command = ["sorr", "audit", str(out), "--target", correction.target]
    if correction.counts()["undecided"]:
        command[2] = str(data)
        command += ["--decisions", str(decisions), "--out", f"audit-{stem_of(data)}-2"]
    for option, value in options.items():
        command += [] if value is None else [option, value]
    return f"Next: {shlex.join(command)}"
