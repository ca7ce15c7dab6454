"""``sorr audit``: find the labels of a table that look wrong, and fit a model without them."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sorr.cli.console import (
    EXIT_CODES,
    as_json,
    check_places,
    make_table,
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
    Model,
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
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

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
  sorr audit people.csv --target income --model linear --m 0.05
  sorr audit people.csv --target income --json | jq .suspects
"""
_FILES = ("report.html", "suspects.csv", "model.skops")
_ENDINGS = (
    *(".gz", ".bz2", ".xz", ".zst", ".zip", ".csv", ".tsv", ".tab", ".txt", ".parquet", ".pq"),
    *(
        ".xlsx",
        ".xls",
        ".xlsm",
        ".xlsb",
        ".ods",
        ".feather",
        ".arrow",
        ".jsonl",
        ".ndjson",
        ".json",
    ),
)
# Limits of the summary, so that it fits one screen. The files hold everything.
_MAX_ROWS = 10
_MAX_STRATA = 4  # classes or groups of a table
_MAX_NOTES = 3
_MAX_FINDINGS = 4
_MAX_CELL_WIDTH = 18
_MAX_CHOICE_LENGTH = 420  # of the verdict: its claim, and how many rows are worth a look
_MIN_REASON_WIDTH = 20
_SENTENCE_END = re.compile(r"(?<=[.!?]) (?=[A-Z])")


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
            help=f"Folder for {_FILES[0]}, {_FILES[1]} and {_FILES[2]}.",
            show_default="audit- and the name of the file",
        ),
    ] = None,
    model: ModelOption = Model.auto,
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
    The folder then holds a report to read, the suspect rows with a reason for each, and the model
    for sorr predict. The report also says how each column was read, and what else is wrong with the
    table. Suspects may be a minority, not mistakes: look at them. Without evidence of wrong labels
    nothing is dropped.
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
    options = {"m": as_drop(m), "task": task.value}
    _check_target(data, target, {**columns, **options, "rows": rows, "sheet": sheet})
    folder = out or Path(f"audit-{_stem(data)}")
    places = {name: folder / name for name in _FILES}
    check_places(places.values(), force)
    options["model"] = model.value
    roles = None if target is None else as_roles(target, **columns)
    table = None
    if data is not None and roles is not None:
        table = read(data, roles.as_written, rows, seed, sheet)
    report = _audit(table, roles, options, seed=seed, jobs=jobs)
    with show_progress("report"):
        from sorr.auditing import dump_model

        contents = dict(
            zip(
                places.values(),
                (report.to_html(), report.suspects_csv(), dump_model(report.model)),
                strict=True,
            )
        )
    write_files(contents, force)
    if json:
        typer.echo(as_json({**report.summary(), "files": places}))
        return
    from rich.console import Console

    print_summary(report, Console())
    for path in places.values():
        typer.echo(str(path))


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


def _stem(data: Path | None) -> str:
    if data is None:
        return "example"
    name = data.name
    for ending in _ENDINGS:
        if name.lower().endswith(ending):
            name = name[: -len(ending)]
    return name.strip("-. ") or "table"


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


def print_summary(report: AuditReport, console: Console) -> None:
    """Print what was read, the verdict, how many rows were dropped, and the worst rows."""
    from rich.columns import Columns

    summary = report.summary()
    for line in _sentences(summary):
        _print(console, line)
    tables = [_strata_table(name, strata) for name, strata in summary["dropped"].items()]
    console.print(Columns(tables, padding=(0, 3)))
    if len(report.suspects):
        console.print(_suspects_table(report, console.width))
    for text in summary["warnings"]:
        _print(console, f"Warning: {text}", "bold yellow")
    _print_findings(summary["findings"], console)
    notes = summary["notes"]
    for text in notes[:_MAX_NOTES]:
        _print(console, f"Note: {text}", "dim")
    if len(notes) > _MAX_NOTES:
        _print(console, f"The report has {len(notes) - _MAX_NOTES} more notes.", "dim")


def _print_findings(findings: list[dict[str, Any]], console: Console) -> None:
    """Print what else was found, as far as it needs a look, and how much more there is."""
    shown = [it for it in findings if it["severity"] != "note"][:_MAX_FINDINGS]
    for finding in shown:
        style = "bold red" if finding["severity"] == "problem" else "yellow"
        title = f"{finding['severity'].capitalize()}: {finding['name']}."
        _print(console, f"{title} {finding['sentence']}", style)
    if len(findings) > len(shown):
        more = len(findings) - len(shown)
        _print(console, f"The report has {more} more finding{'s' * (more > 1)}.", "dim")


def _print(console: Console, line: str, style: str = "") -> None:
    from rich.text import Text

    console.print(Text(one_line(line), style=style), soft_wrap=not console.is_terminal)


def _sentences(summary: dict[str, Any]) -> list[str]:
    lines = [
        f"{summary['table']}: {summary['rows']:,} rows, {_count(summary['columns'], 'column')} to "
        f"learn {summary['target']} from ({summary['task']}).",
        f"{summary['headline']}.",
        _first_sentences(summary["choice"], _MAX_CHOICE_LENGTH),
        _errors(summary),
    ]
    if planted := summary.get("planted"):
        lines.append(
            f"{planted['wrong']} labels were made wrong on purpose; {planted['found']} of them are "
            f"among the {summary['suspects']} that were dropped."
        )
    return lines


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _errors(summary: dict[str, Any]) -> str:
    """Return how many held-out predictions are wrong: of the kept rows, and of all."""
    plain, on_all = _error(summary, "plain"), _error(summary, "plain_on_all")
    noun = "targets" if summary["task"] == "regression" else "labels"
    if summary["held_out_error"]["robust"] is None:
        return (
            f"Error on held-out rows that were kept: {plain}. On all held-out rows, with the "
            f"{noun} as given: {on_all}."
        )
    return (
        f"Error on held-out rows that were kept: {_error(summary, 'robust')}; of a plain fit: "
        f"{plain}. On all held-out rows, with the {noun} as given: "
        f"{_error(summary, 'robust_on_all')} and {on_all}."
    )


def _first_sentences(text: str, length: int) -> str:
    """Return as many of the first sentences as fit, and at least one."""
    sentences = _SENTENCE_END.split(one_line(text))
    kept = sentences[:1]
    for sentence in sentences[1:]:
        if len(" ".join([*kept, sentence])) > length:
            break
        kept.append(sentence)
    return " ".join(kept)


def _error(summary: dict[str, Any], kind: str) -> str:
    error = summary["held_out_error"][kind]
    return f"{error:.4g}" if summary["task"] == "regression" else f"{error:.1%}"


def _strata_table(name: str, strata: list[dict[str, Any]]) -> Table:
    """Return how many rows of each class or group were dropped, the largest shares first."""
    titles = (shorten(name, _MAX_CELL_WIDTH), "rows", "dropped", "share")
    ordered = sorted(strata, key=lambda stratum: -stratum["dropped"] / stratum["rows"])
    rows = [
        (
            shorten(stratum["name"], _MAX_CELL_WIDTH),
            f"{stratum['rows']:,}",
            f"{stratum['dropped']:,}",
            f"{stratum['dropped'] / stratum['rows']:.1%}",
        )
        for stratum in ordered[:_MAX_STRATA]
    ]
    if len(strata) > _MAX_STRATA:
        rows.append((f"and {len(strata) - _MAX_STRATA} more", "", "", ""))
    return make_table(titles, rows, numbers=titles[1:])


def _suspects_table(report: AuditReport, width: int) -> Table:
    """Return the most suspect rows: how likely each is wrong; of numbers, how often it is dropped.

    A reason takes at most two lines of the width that the other columns leave.
    """
    from sorr.auditing import format_probability

    frame = report.suspects.head(_MAX_ROWS)
    suspects = [dict(zip(frame.columns, row, strict=True)) for row in frame.itertuples(index=False)]
    columns = {"row": [str(suspect["row"]) for suspect in suspects]}
    if report.rows.ids is not None:
        columns["id"] = [shorten(suspect["id"], _MAX_CELL_WIDTH) for suspect in suspects]
    for name in ("given", "suggested"):
        columns[name] = [_label(suspect[name]) for suspect in suspects]
    for title, name, write in (
        ("tier", "tier", _tier),
        ("wrong", "probability", format_probability),
        ("again", "dropped_share", _percent),
    ):
        texts = [write(suspect[name]) for suspect in suspects]
        if any(texts) and not (title == "again" and "tier" in columns):
            columns[title] = texts
    taken = sum(max(map(len, (title, *cells))) + 2 for title, cells in columns.items())
    room = max(width - taken - 2, _MIN_REASON_WIDTH)
    columns["reason"] = [_two_lines(suspect["reason"], room) for suspect in suspects]
    rows = zip(*columns.values(), strict=True)
    return make_table(columns, rows, numbers=("row", "tier", "wrong", "again"))


def _two_lines(text: str, width: int) -> str:
    first, *rest = textwrap.wrap(one_line(text), width) or [""]
    return "\n".join([first, shorten(" ".join(rest), width)]) if rest else first


def _label(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else shorten(value, _MAX_CELL_WIDTH)


def _tier(tier: int | None) -> str:
    return "" if tier is None else str(tier)


def _percent(share: float | None) -> str:
    return "" if share is None or share != share else f"{share:.0%}"
