"""``sorr fit``: a model of a table, without the rows that do not belong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sorr.cli.errors import EXIT_CODES, guarded, say
from sorr.cli.inputs import read, shown
from sorr.cli.options import (
    Data,
    Debug,
    Drop,
    Force,
    Id,
    Ignore,
    Jobs,
    Json,
    Rows,
    Seed,
    Target,
    Task,
    TaskOption,
    as_drop,
)
from sorr.cli.outputs import check_places, write_files
from sorr.cli.words import as_json, plain

if TYPE_CHECKING:
    from sorr.auditing.fit import Fitted

__all__ = ["EXAMPLES", "fit"]

EXAMPLES = f"""\
{EXIT_CODES}

\b
Examples:
  sorr fit people.csv --target income --out income.skops
  sorr fit people.csv --target income --m 0.05 --ignore name --out it.skops
  sorr predict income.skops others.csv --out predictions.csv
"""


@guarded
def fit(
    data: Data,
    target: Target,
    out: Annotated[
        Path,
        typer.Option("--out", metavar="FILE", help="The model to write.", show_default=False),
    ],
    m: Drop = "auto",
    task: TaskOption = Task.auto,
    id_column: Id = None,
    ignore: Ignore = None,
    rows: Rows = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    force: Force = False,
    json: Json = False,
    debug: Debug = False,  # noqa: ARG001 - read by what guards it
) -> None:
    """Fit a model to a table and leave out the rows that do not belong.

    The model predicts from raw rows, with missing values and texts as they are. For the list of
    rows that were left out, and a report, use sorr audit.
    """
    drop = as_drop(m)
    check_places([out], force)
    table = read(data, [id_column], rows, seed)
    with shown("fit"):
        from sorr.auditing.fit import fit_table
        from sorr.auditing.storage import dump_model

        fitted = fit_table(
            table,
            target,
            m=drop,
            task=task.value,
            id_column=id_column,
            ignore=tuple(ignore or ()),
            seed=seed,
            jobs=jobs,
        )
    write_files({out: dump_model(fitted.pipeline)}, force)
    for note in (*fitted.rows.notes, *fitted.notes):
        say(f"Note: {note}")
    found = _figures(fitted)
    if json:
        typer.echo(as_json({**found, "model": out}))
        return
    for line in _sentences(found):
        typer.echo(plain(line))
    typer.echo(str(out))


def _figures(fitted: Fitted) -> dict[str, Any]:
    """Return the main figures of a fit, by name."""
    rows, kept = fitted.rows, ~fitted.dropped
    given, predicted = rows.y[kept], fitted.prediction[kept]
    is_regression = rows.task == "regression"
    error = abs(given - predicted) if is_regression else given != predicted
    return {
        "table": rows.name,
        "target": rows.roles.target,
        "task": rows.task,
        "rows": len(rows),
        "columns": len(rows.frame.columns),
        "left_out": int(fitted.dropped.sum()),
        "error_on_kept_rows": float(error.mean()),
    }


def _sentences(found: dict[str, Any]) -> list[str]:
    error, share = found["error_on_kept_rows"], found["left_out"] / found["rows"]
    wrong = (
        f"The mean absolute error on the rows that were kept is {error:.4g}."
        if found["task"] == "regression"
        else f"{error:.1%} of the rows that were kept are predicted otherwise than labelled."
    )
    return [
        f"{found['table']}: {found['rows']:,} rows, {found['columns']:,} columns to learn "
        f"{found['target']} from ({found['task']}).",
        f"{found['left_out']:,} rows were left out, {share:.1%} of all.",
        wrong,
    ]
