"""``sorr audit``: which rows of a table do not belong, why, and a model without them."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.columns import Columns
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sorr.cli.console import (
    EXIT_CODES,
    as_json,
    check_places,
    guarded,
    plain,
    read,
    shortened,
    shown,
    write_files,
)
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

if TYPE_CHECKING:
    from sorr.auditing import AuditReport

__all__ = ["EXAMPLES", "audit", "print_summary"]

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

    from sorr.cli.audit import print_summary

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
        from sorr.auditing import audit_example, audit_table

        if table is None or target is None:
            return audit_example(seed=seed, jobs=jobs, progress=progress)
        return audit_table(table, target, seed=seed, jobs=jobs, progress=progress, **options)


def _contents(report: AuditReport) -> dict[str, str | bytes]:
    """Return what is in each file."""
    from sorr.auditing import dump_model

    page, table, model = _FILES
    return {
        page: report.to_html(),
        table: report.suspects_csv(),
        model: dump_model(report.model),
    }


# -- What an audit found, on one screen ------------------------------------------------------------


_MOST_ROWS = 10  # of the suspects: the file has them all
_MOST_STRATA = 4  # classes, or groups, of a table: the report has them all
_MOST_NOTES = 3
_WIDEST = 18  # letters of a cell
_LONGEST_CHOICE = 240  # letters on how many rows were left out: three lines
_NARROWEST = 20  # letters of a line of a reason
_END = re.compile(r"(?<=[.!?]) (?=[A-Z])")


def print_summary(report: AuditReport, console: Console) -> None:
    """Print what was read, how many rows are suspect, how sure that is, and the first of them."""
    found = report.summary()
    for line in _sentences(found):
        _print(console, line)
    console.print(Columns([_strata(*it) for it in found["dropped"].items()], padding=(0, 3)))
    if found["suspects"]:
        console.print(_suspects(report, console.width))
    for text in found["warnings"]:
        _print(console, f"Warning: {text}", "bold yellow")
    notes = found["notes"]
    for text in notes[:_MOST_NOTES]:
        _print(console, f"Note: {text}", "dim")
    if len(notes) > _MOST_NOTES:
        _print(console, f"{len(notes) - _MOST_NOTES} more notes are in the report.", "dim")


def _print(console: Console, line: str, style: str = "") -> None:
    console.print(Text(plain(line), style=style), soft_wrap=not console.is_terminal)


def _sentences(found: dict[str, Any]) -> list[str]:
    low, high = found["share_over_resamples"]
    plainly, robustly = (_error(found, kind) for kind in ("plain", "robust"))
    lines = [
        f"{found['table']}: {found['rows']:,} rows, {_columns(found['columns'])} to learn "
        f"{found['target']} from ({found['task']}).",
        f"{_suspect(found['suspects'])} left out: {found['share']:.1%} of all, and {low:.1%} to "
        f"{high:.1%} in fits to halves of them.",
        _first_sentences(found["choice"], _LONGEST_CHOICE),
        f"Error on held-out rows that were kept: {robustly}; of a plain fit: {plainly}. On all "
        f"held-out rows, as labelled: {_error(found, 'robust_on_all')} and "
        f"{_error(found, 'plain_on_all')}.",
    ]
    if planted := found.get("planted"):
        lines.append(
            f"{planted['wrong']} labels were made wrong on purpose: {planted['found']} of them are "
            "among the suspects."
        )
    return lines


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count:,} columns"


def _suspect(count: int) -> str:
    return "1 row is suspect and was" if count == 1 else f"{count:,} rows are suspect and were"


def _first_sentences(text: str, length: int) -> str:
    """Return as many of the first sentences as fit, and one at least: the report has them all."""
    sentences = _END.split(plain(text))
    kept = sentences[:1]
    for sentence in sentences[1:]:
        if len(" ".join([*kept, sentence])) > length:
            break
        kept.append(sentence)
    return " ".join(kept)


def _error(found: dict[str, Any], kind: str) -> str:
    error = found["held_out_error"][kind]
    return f"{error:.4g}" if found["task"] == "regression" else f"{error:.1%}"


def _strata(name: str, strata: list[dict[str, Any]]) -> Table:
    """Return how many rows were left out of each class or group, those with the most first."""
    table = _table()
    table.add_column(Text(shortened(name, _WIDEST)))
    for title in ("rows", "left out", "share"):
        table.add_column(title, justify="right")
    ordered = sorted(strata, key=lambda it: -it["dropped"] / it["rows"])
    for it in ordered[:_MOST_STRATA]:
        numbers = (f"{it['rows']:,}", f"{it['dropped']:,}", f"{it['dropped'] / it['rows']:.1%}")
        table.add_row(Text(shortened(it["name"], _WIDEST)), *numbers)
    if len(strata) > _MOST_STRATA:
        table.add_row(Text(f"and {len(strata) - _MOST_STRATA} more", style="dim"))
    return table


def _suspects(report: AuditReport, width: int) -> Table:
    """Return the most suspect rows: how likely each is wrong, how often it is left out again.

    Reasons take two lines of what the other columns leave of the width.
    """
    suspects = report.suspects.head(_MOST_ROWS)
    records = [dict(zip(suspects.columns, row, strict=True)) for row in _tuples(suspects)]
    columns = {"row": [str(it["row"]) for it in records]}
    if report.rows.ids is not None:
        columns["id"] = [shortened(it["id"], _WIDEST) for it in records]
    for name in ("given", "suggested"):
        columns[name] = [_label(it[name]) for it in records]
    for title, name, say in (
        ("wrong", "flip_posterior", _chance),
        ("again", "dropped_share", _percent),
    ):
        shares = [say(it[name]) for it in records]
        if any(shares):
            columns[title] = shares
    taken = sum(max(map(len, (title, *cells))) + 2 for title, cells in columns.items())
    room = max(width - taken - 2, _NARROWEST)
    columns["reason"] = [_two_lines(it["reason"], room) for it in records]
    table = _table()
    for title in columns:
        is_number = title in ("row", "wrong", "again")
        table.add_column(title, justify="right" if is_number else "left")
    for cells in zip(*columns.values(), strict=True):
        table.add_row(*map(Text, cells))
    return table


def _two_lines(text: str, width: int) -> str:
    first, *rest = textwrap.wrap(plain(text), width) or [""]
    return "\n".join([first, shortened(" ".join(rest), width)]) if rest else first


def _tuples(frame: Any) -> list[tuple[Any, ...]]:
    return list(frame.itertuples(index=False, name=None))


def _label(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else shortened(value, _WIDEST)


def _percent(share: float) -> str:
    return "" if share != share else f"{share:.0%}"


def _chance(probability: float) -> str:
    """Return a probability without more digits than anyone should trust."""
    return ">99%" if probability > 0.99 else _percent(probability)


def _table() -> Table:
    return Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
