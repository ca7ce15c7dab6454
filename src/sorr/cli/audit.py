"""``sorr audit``: find the labels of a table that look wrong, and fit a model without them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sorr._files import check_name
from sorr.cli.console import (
    EXIT_CODES,
    as_json,
    check_places,
    one_line,
    option_of,
    read,
    report_errors,
    shorten,
    show_progress,
    write_files,
)
from sorr.cli.options import (
    FILES,
    Category,
    Date,
    Debug,
    Drop,
    Force,
    Group,
    GroupFolds,
    Id,
    Ignore,
    Jobs,
    Json,
    ModelOption,
    Number,
    Rows,
    Seed,
    Sheet,
    Task,
    TaskOption,
    Text,
    as_drop,
    as_roles,
    ending_of,
    stem_of,
)

if TYPE_CHECKING:
    from rich.console import Console

    from sorr._files import Content
    from sorr.auditing import AuditReport, Roles
    from sorr.auditing import Table as DataTable

EXAMPLES = f"""\
{EXIT_CODES}

\b
Examples:
  sorr audit
  sorr audit people.csv --target income
  sorr audit people.csv.gz --target income --id name --ignore zip --group sex
  sorr audit people.xlsx --sheet 2024 --target income --date signed=%d/%m/%Y
  sorr audit visits.parquet --target outcome --group-folds patient --out found
  sorr audit people.csv --target income --decisions decisions.csv --out second
  sorr audit people.csv --target income --model xgboost:XGBClassifier
  sorr audit people.csv --target income --probabilities mine.csv
  sorr audit people.csv --target income --json | jq .suspects
"""
REPORT, SUSPECTS, MODEL = "report.html", "suspects.csv", "model.skops"
# Limits of the summary, so that it is about ten lines. The files hold everything.
_MAX_ROWS = 3
_MAX_NOTES = 2
_MAX_FINDINGS = 2
_MAX_REASON = 240


@report_errors
def audit(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help=f"{FILES}; - for standard input. Without a file, an example is audited.",
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", metavar="COLUMN", help="Column to predict: the labels."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help=f"Folder for {REPORT}, {SUSPECTS} and {MODEL}.",
            show_default="audit- and the name of the file",
        ),
    ] = None,
    decisions: Annotated[
        Path | None,
        typer.Option(
            "--decisions",
            metavar="FILE",
            help="Decisions of the last round. Rows that were checked are known, are not asked "
            "again, and teach the judge.",
            show_default=False,
        ),
    ] = None,
    model: ModelOption = "auto",
    probabilities: Annotated[
        Path | None,
        typer.Option(
            "--probabilities",
            metavar="FILE",
            help="Table with a column of probabilities for each class, of a model that has not "
            "seen the rows; in the same order, or with the column of --id. It judges instead of "
            "--model.",
            show_default=False,
        ),
    ] = None,
    m: Drop = "auto",
    task: TaskOption = Task.auto,
    id_column: Id = None,
    ignore: Ignore = None,
    group: Group = None,
    group_folds: GroupFolds = None,
    number: Number = None,
    category: Category = None,
    text: Text = None,
    date: Date = None,
    sheet: Sheet = None,
    rows: Rows = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    force: Force = False,
    json: Json = False,
    debug: Debug = False,  # noqa: ARG001 - read by report_errors
) -> None:
    """Find the labels of a table that look wrong, and fit a model without them.

    Columns are read as they are: amounts, percentages, dates and texts; identifiers are set aside.
    The folder then holds a report to decide in, row by row, the same list for a spreadsheet, and
    the model for sorr predict. sorr apply carries the decisions out. Suspects may be a minority,
    not mistakes: look at them. Without evidence of wrong labels nothing is dropped.
    """
    columns = {
        "id_column": id_column,
        "ignore": ignore,
        "group": group,
        "group_folds": group_folds,
        "number": number,
        "category": category,
        "text": text,
        "date": date,
    }
    options: dict[str, Any] = {"m": as_drop(m), "task": task.value}
    tables = {"decisions": decisions, "probabilities": probabilities}
    _check_target(data, target, {**columns, **options, **tables, "rows": rows, "sheet": sheet})
    folder = out or Path(f"audit-{'example' if data is None else stem_of(data)}")
    if out is not None:
        check_name(out)
    check_places([folder / name for name in _names(data, model, probabilities)], force)
    options["model"] = model
    if data is not None:  # what is wrong with the options is said before a large table is read
        from sorr.auditing import as_judge, read_decisions

        as_judge(model, options["m"])
        if decisions is not None:
            options["decisions"] = read_decisions(decisions)
    roles = None if target is None else as_roles(target, **columns)
    table = None
    if data is not None and roles is not None:
        table = read(data, roles.as_written, rows, seed, sheet)
        if probabilities is not None:
            options["probabilities"] = read(probabilities, [id_column]).frame
    report = _audit(table, roles, options, seed=seed, jobs=jobs)
    with show_progress("report"):
        contents = _contents(report, folder, _names(data, model, probabilities))
    write_files(contents, force)
    files = {path.name: path for path in contents}
    if json:
        typer.echo(as_json({**report.to_dict(), "files": files}))
        return
    from rich.console import Console

    print_summary(report, files, data, Console())


def _names(data: Path | None, model: str, probabilities: Path | None) -> list[str]:
    """Return the names of the files to write. Only named models are saved."""
    names = [REPORT, SUSPECTS]
    if probabilities is None and ":" not in model:
        names.append(MODEL)
    return names if data is not None else [*names, "robots.csv"]


def _contents(report: AuditReport, folder: Path, names: list[str]) -> dict[Path, Content]:
    from sorr.auditing import dump_model

    contents: dict[Path, Content] = {}
    for name in names:
        if name == REPORT:
            contents[folder / name] = report.to_html()
        elif name == SUSPECTS:
            contents[folder / name] = report.suspects_csv()
        elif name == MODEL and report.model is not None:
            contents[folder / name] = dump_model(report.model)
        elif report.table.original is not None:
            contents[folder / name] = report.table.original
    return contents


def _check_target(data: Path | None, target: str | None, options: dict[str, Any]) -> None:
    if data is not None:
        if target is None:
            raise typer.BadParameter(
                "none given; needed the column that holds the labels", param_hint="--target"
            )
        return
    given = options | {"target": target}
    names = [name for name, value in given.items() if value not in (None, [], "auto")]
    if names:
        flags = ", ".join(map(option_of, names))
        raise typer.BadParameter(
            f"none given; without a file an example is audited, which takes no {flags}",
            param_hint="FILE",
        )


def _audit(
    table: DataTable | None,
    roles: Roles | None,
    options: dict[str, Any],
    *,
    seed: int,
    jobs: int,
) -> AuditReport:
    with show_progress("audit") as progress:
        from sorr.auditing import audit_example, audit_table

        if table is None or roles is None:
            return audit_example(model=options["model"], seed=seed, jobs=jobs, progress=progress)
        return audit_table(table, roles, seed=seed, jobs=jobs, progress=progress, **options)


# -- The summary on screen -------------------------------------------------------------------------


def print_summary(
    report: AuditReport, files: Mapping[str, Path], data: Path | None, console: Console
) -> None:
    """Print the verdict, the most suspect rows, what else was found, and what to do next."""
    rows = report.rows
    n_columns = len(rows.frame.columns)
    _print(
        console,
        f"{rows.name}: {len(rows):,} rows, {n_columns:,} column{'s' * (n_columns != 1)} to learn "
        f"{rows.roles.target} from. Judged by {report.judged_by}.",
    )
    _print(console, f"{report.headline}.", "bold")
    for text in filter(None, (report.meaning, report.since, _planted(report))):
        _print(console, text)
    for line in _suspect_lines(report):
        _print(console, line)
    for text in report.warnings:
        _print(console, f"Warning: {text}", "yellow")
    _print_findings(report, console)
    _print_notes(report, console)
    for line in _next_steps(report, files, data):
        _print(console, line)


def _planted(report: AuditReport) -> str:
    if (planted := report.planted) is None:
        return ""
    return (
        f"{planted.wrong} labels were made wrong on purpose; {planted.found} of them are among "
        f"the {planted.dropped} that were dropped."
    )


def _suspect_lines(report: AuditReport) -> list[str]:
    """Return the most suspect rows, one a line: where, what, and why."""
    from sorr.auditing import format_probability

    lines = []
    for it in report.describe(report.order[:_MAX_ROWS]).itertuples(index=False):
        place = f"row {it.row}" if it.line is None else f"line {it.line}"
        name = "" if report.rows.ids is None else f" ({shorten(it.id, 24)})"
        probability = (
            format_probability(float(it.probability)).replace("%", " %").replace(">", "over ")
        )
        label, suggested = (_label(value) for value in (it.given, it.suggested))
        sure = f", {probability} wrong" if probability and it.tier > 1 else ""
        lines.append(
            f"- {place}{name}: {label} \N{RIGHTWARDS ARROW} {suggested}{sure}. "
            f"{shorten(it.reason, _MAX_REASON)}"
        )
    if more := len(report.order) - len(lines):
        lines.append(f"- and {more:,} more row{'s' * (more > 1)}")
    return lines


def _print_findings(report: AuditReport, console: Console) -> None:
    """Print what else was found, as far as it needs a look, and how much more there is."""
    findings = report.findings
    shown = [it for it in findings if it.severity != "note"][:_MAX_FINDINGS]
    for finding in shown:
        style = "red" if finding.severity == "problem" else "yellow"
        title = f"{finding.severity.capitalize()}: {finding.name}."
        _print(console, f"{title} {finding.sentence}", style)
    if more := len(findings) - len(shown):
        also = "Also found" if not shown else "The report has"
        _print(console, f"{also}: {more} more finding{'s' * (more > 1)}.", "dim")


def _print_notes(report: AuditReport, console: Console) -> None:
    notes = report.notes
    for text in notes[:_MAX_NOTES]:
        _print(console, f"Note: {text}", "dim")
    if (more := len(notes) - _MAX_NOTES) > 0:
        _print(console, f"The report has {more} more note{'s' * (more > 1)}.", "dim")


def _next_steps(report: AuditReport, files: Mapping[str, Path], data: Path | None) -> list[str]:
    """Return where the files are, and what to do with them."""
    table = files.get("robots.csv", data)
    lines = [f"The report is in {files[REPORT]}."]
    if len(report.order):
        lines = [f"Decide row by row in {files[REPORT]}, or in a spreadsheet in {files[SUSPECTS]}."]
    to_do = len(report.order) or len(report.earlier)
    if to_do and table is not None and str(table) != "-":
        endings = "".join(ending_of(table))
        out = f"{table.name.removesuffix(endings)}-corrected{endings}"
        command = ["sorr", "apply", str(table), str(files[SUSPECTS]), "--out", out]
        if report.table.sheet is not None:
            command += ["--sheet", report.table.sheet]
        lines.append(f"Then correct the table: {shlex.join(command)}")
    if MODEL in files:
        what = "The model without the dropped rows" if report.n_dropped else "The model"
        lines.append(f"{what} is in {files[MODEL]} (sorr predict).")
    elif report.model is not None:
        lines.append("The model is not saved: it is code of your own, and model files hold none.")
    else:
        lines.append("No model was fitted, because probabilities were given.")
    return lines


def _print(console: Console, line: str, style: str = "") -> None:
    from rich.text import Text

    console.print(Text(one_line(line), style=style), soft_wrap=not console.is_terminal)


def _label(value: Any) -> str:
    from sorr.auditing import quote

    return f"{value:,.6g}" if isinstance(value, float) else quote(value, 24)[1:-1]
