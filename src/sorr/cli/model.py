"""``sorr fit``: a model of a table, without the rows that do not belong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sorr.cli.console import (
    EXIT_CODES,
    as_json,
    check_places,
    guarded,
    plain,
    read,
    say,
    shown,
    write_files,
)
from sorr.cli.options import (
    Data,
    Debug,
    Drop,
    Force,
    Id,
    Ignore,
    Jobs,
    Json,
    NewFile,
    Rows,
    Seed,
    Target,
    Task,
    TaskOption,
    as_drop,
)

if TYPE_CHECKING:
    from sorr.auditing import Fitted, Table

__all__ = ["FIT_EXAMPLES", "PREDICT_EXAMPLES", "fit", "predict"]

FIT_EXAMPLES = f"""\
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
        from sorr.auditing import dump_model, fit_table

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


# -- ``sorr predict``: what a saved model makes of the rows of a table -----------------------------


PREDICT_EXAMPLES = f"""\
{EXIT_CODES}

\b
Examples:
  sorr predict audit-people/model.skops others.csv --out predictions.csv
  sorr predict income.skops others.csv --id name
  sorr predict income.skops others.parquet --json
"""
_MOST_NAMED = 8  # columns in a message


@guarded
def predict(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", help="What sorr fit or sorr audit wrote.", show_default=False
        ),
    ],
    data: Data,
    out: NewFile = None,
    id_column: Id = None,
    force: Force = False,
    json: Json = False,
    debug: Debug = False,  # noqa: ARG001 - read by what guards it
) -> None:
    """Predict the target of each row of a table, as CSV.

    The columns: row, counted from 0; the one of --id; prediction; and for classes probability, how
    sure the model is of that class. Columns that the model does not know are ignored, and missing
    values are filled in as they were when it was fitted.
    """
    if out is not None:
        check_places([out], force)
    pipeline = _loaded(model)
    table = _table(data, pipeline.named_steps["columns"], id_column)
    for note in table.notes:
        say(f"Note: {note}")
    with shown("predicting"):
        found = _predictions(model, pipeline, table, id_column)
        text = _csv(found)
    if out is not None:
        write_files({out: text}, force)
    if json:
        answer = {"model": model, "table": table.name, "rows": len(found["row"]), "out": out}
        typer.echo(as_json(answer if out else {**answer, "predictions": _records(found)}))
    elif out is None:
        typer.echo(text.encode("utf-8"), nl=False)
    else:
        typer.echo(f"{len(found['row']):,} rows are predicted in {out}")


def _loaded(path: Path) -> Any:
    """Return a model that takes raw columns."""
    from sorr.auditing import load_model

    pipeline = load_model(path)
    if "columns" not in pipeline.named_steps:
        raise ValueError(f"{path} takes no raw columns; needed a model of sorr fit or sorr audit")
    return pipeline


def _table(path: Path, columns: Any, id_column: str | None) -> Table:
    """Return the table, if it has all the columns that the model learned from."""
    from sorr.auditing import TableError

    needed = list(columns.feature_names_in_)
    try:
        table = read(path, [*columns.categorical_, id_column])
    except TableError:
        if str(path) != "-":  # which can be read but once
            _check_columns(path, needed, read(path, ()))
        raise
    _check_columns(path, needed, table)
    return table


def _predictions(
    path: Path, pipeline: Any, table: Table, id_column: str | None
) -> dict[str, list[Any]]:
    """Return what is known of each row, by the names of the columns."""
    found = {"row": table.rows.tolist()}
    if id_column is not None:
        name = id_column if id_column not in ("row", "prediction", "probability") else "id"
        found[name] = table.frame[id_column].tolist()
    try:
        prepared, last = pipeline[:-1].transform(table.frame), pipeline[-1]
        found["prediction"] = last.predict(prepared).tolist()
        if hasattr(last, "predict_proba"):
            found["probability"] = last.predict_proba(prepared).max(axis=1).tolist()
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path} does not work with the packages that are installed here "
            f"({type(error).__name__}: {error}); needed those it was fitted with, which its second "
            "line names: or fit it anew"
        ) from error
    return found


def _csv(found: dict[str, list[Any]]) -> str:
    from sorr.auditing import to_csv

    text: str = to_csv(list(found), zip(*found.values(), strict=True))
    return text


def _records(found: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]


def _check_columns(path: Path, needed: Sequence[str], table: Table) -> None:
    """Refuse a table that lacks columns, and name those that may be meant."""
    absent = [name for name in needed if name not in table.frame.columns]
    if absent:
        more = f" and {len(absent) - _MOST_NAMED} more" if len(absent) > _MOST_NAMED else ""
        names = ", ".join(_named(name, table) for name in absent[:_MOST_NAMED])
        raise ValueError(
            f"{path} lacks {len(absent)} of the {len(needed)} columns that the model learned from: "
            f"{names}{more}; needed all of them, under the same names"
        )


def _named(name: str, table: Table) -> str:
    from sorr._checks import close_names
    from sorr.auditing import quote

    close = close_names(name, table.frame.columns)
    hint = f" (there is {' and '.join(map(quote, close))})" if close else ""
    return f"{quote(name)}{hint}"
