"""``sorr fit`` and ``sorr predict``: a model of a table, and its predictions for another."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sorr.cli.console import (
    EXIT_CODES,
    as_json,
    check_places,
    one_line,
    print_error_line,
    read,
    report_errors,
    show_progress,
    write_files,
)
from sorr.cli.options import (
    Category,
    Data,
    Date,
    Debug,
    Drop,
    Force,
    GroupFolds,
    Id,
    Ignore,
    Jobs,
    Json,
    ModelOption,
    NewFile,
    Number,
    Rows,
    Seed,
    Sheet,
    Target,
    Task,
    TaskOption,
    Text,
    as_drop,
    as_named_model,
    as_roles,
)

if TYPE_CHECKING:
    from sorr.auditing import Fitted, Table

FIT_EXAMPLES = f"""\
{EXIT_CODES}

\b
Examples:
  sorr fit people.csv --target income --out income.skops
  sorr fit people.csv --target income --model forest --out forest.skops
  sorr fit people.csv --target income --model linear --m 0.05 --out m5.skops
  sorr predict income.skops others.csv --out predictions.csv
"""
PREDICT_EXAMPLES = f"""\
{EXIT_CODES}

\b
Examples:
  sorr predict audit-people/model.skops others.csv --out predictions.csv
  sorr predict income.skops others.csv --id name
  sorr predict income.skops others.parquet --json
"""
_MAX_COLUMNS_NAMED = 8  # in a message


@report_errors
def fit(
    data: Data,
    target: Target,
    out: Annotated[
        Path,
        typer.Option("--out", metavar="FILE", help="Model file to write.", show_default=False),
    ],
    model: ModelOption = "auto",
    m: Drop = "auto",
    task: TaskOption = Task.auto,
    id_column: Id = None,
    ignore: Ignore = None,
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
    """Fit a model to a table, without the rows that look wrong.

    The model predicts from raw rows, with missing values and texts. For a list of the dropped
    rows and a report, use sorr audit.
    """
    drop = as_drop(m)
    check_places([out], force)
    roles = as_roles(
        target,
        id_column=id_column,
        ignore=ignore,
        group_folds=group_folds,
        number=number,
        category=category,
        text=text,
        date=date,
    )
    table = read(data, roles.as_written, rows, seed, sheet)
    with show_progress("fit") as progress:
        from sorr.auditing import dump_model, fit_table

        fitted = fit_table(
            table,
            roles,
            model=as_named_model(model),
            m=drop,
            task=task.value,
            seed=seed,
            jobs=jobs,
            progress=progress,
        )
    write_files({out: dump_model(fitted.pipeline)}, force)
    for note in (*fitted.rows.notes, *fitted.notes):
        print_error_line(f"Note: {note}")
    figures = _figures(fitted)
    if json:
        typer.echo(as_json({**figures, "file": out}))
        return
    for line in _sentences(figures):
        typer.echo(one_line(line))
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
        "model": fitted.name,
        "verdict": fitted.judgement.verdict_,
        "left_out": int(fitted.dropped.sum()),
        "error_on_kept_rows": float(error.mean()),
    }


def _sentences(figures: dict[str, Any]) -> list[str]:
    error, share = figures["error_on_kept_rows"], figures["left_out"] / figures["rows"]
    quality = f"The model disagrees with {error:.1%} of the labels that were kept."
    if figures["task"] == "regression":
        quality = f"The mean absolute error on the rows that were kept is {error:.4g}."
    elif figures["model"] != "linear":
        quality = f"{quality[:-1]}, before it has seen them."
    return [
        f"{figures['table']}: {figures['rows']:,} rows, {figures['columns']:,} columns to learn "
        f"{figures['target']} from ({figures['task']}).",
        f"{figures['left_out']:,} rows were dropped ({share:.1%} of all).",
        quality,
    ]


@report_errors
def predict(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="Model file that sorr fit or sorr audit wrote.",
            show_default=False,
        ),
    ],
    data: Data,
    out: NewFile = None,
    id_column: Id = None,
    sheet: Sheet = None,
    force: Force = False,
    json: Json = False,
    debug: Debug = False,  # noqa: ARG001 - read by report_errors
) -> None:
    """Predict the target of each row of a table, as CSV.

    The columns are row, counted from 0; the column of --id; prediction; and for classes
    probability, the probability of the predicted class. Columns that the model does not know are
    ignored. Missing values are filled in as they were for the fit.
    """
    if out is not None:
        check_places([out], force)
    pipeline = _load(model)
    table = _read_columns(data, pipeline.named_steps["columns"], id_column, sheet)
    for note in table.notes:
        print_error_line(f"Note: {note}")
    with show_progress("predicting"):
        from sorr._csv import to_csv

        columns = _predict(model, pipeline, table, id_column)
        records = list(zip(*columns.values(), strict=True))
        text = to_csv(list(columns), records)
    if out is not None:
        write_files({out: text}, force)
    if json:
        answer = {"model": model, "table": table.name, "rows": len(records), "out": out}
        predictions = [dict(zip(columns, record, strict=True)) for record in records]
        typer.echo(as_json(answer if out else {**answer, "predictions": predictions}))
    elif out is None:
        typer.echo(text.encode("utf-8"), nl=False)
    else:
        typer.echo(f"{len(records):,} predictions are in {out}")


def _load(path: Path) -> Any:
    """Return a model that takes raw columns."""
    from sorr.auditing import load_model

    pipeline = load_model(path)
    if "columns" not in pipeline.named_steps:
        raise ValueError(
            f"{path} does not take raw columns; needed a model that sorr fit or sorr audit wrote"
        )
    return pipeline


def _read_columns(path: Path, columns: Any, id_column: str | None, sheet: str | None) -> Table:
    """Return the table, if it has all columns that the model needs."""
    from sorr.auditing import TableError

    needed = list(columns.feature_names_in_)
    try:
        table = read(path, [*_as_written(columns), id_column], sheet=sheet)
    except TableError:
        if str(path) != "-":  # standard input can be read once only
            _check_columns(path, needed, read(path, (), sheet=sheet))
        raise
    _check_columns(path, needed, table)
    return table


def _tell_new_categories(pipeline: Any, table: Table) -> None:
    """Print a note for each column with values that the model has not seen."""
    from sorr.auditing import new_categories, quote

    for name, values in new_categories(pipeline, table.frame).items():
        what = "a value" if len(values) == 1 else f"{len(values):,} values"
        print_error_line(
            f"Note: column {quote(name)} has {what} that the model has not seen, such as "
            f"{quote(values[0])}; such values count as rare ones."
        )


def _as_written(columns: Any) -> list[str]:
    """Return the columns whose values have to be read as they are written, such as 007."""
    return [name for name, kind in columns.kinds_.items() if kind != "number"]


def _predict(
    path: Path, pipeline: Any, table: Table, id_column: str | None
) -> dict[str, list[Any]]:
    """Return the columns of the answer by name."""
    columns = {"row": table.rows.tolist()}
    if id_column is not None:
        name = id_column if id_column not in ("row", "prediction", "probability") else "id"
        columns[name] = table.frame[id_column].tolist()
    try:
        _tell_new_categories(pipeline, table)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Found unknown categories")  # told by name above
            prepared, last = pipeline[:-1].transform(table.frame), pipeline[-1]
        columns["prediction"] = last.predict(prepared).tolist()
        if hasattr(last, "predict_proba"):
            columns["probability"] = last.predict_proba(prepared).max(axis=1).tolist()
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path} does not work with the installed packages ({type(error).__name__}: {error}); "
            "install the versions that its second line names, or fit the model again"
        ) from error
    return columns


def _check_columns(path: Path, needed: Sequence[str], table: Table) -> None:
    """Refuse a table that lacks columns, and name similar ones."""
    absent = [name for name in needed if name not in table.frame.columns]
    if absent:
        hidden = len(absent) - _MAX_COLUMNS_NAMED
        more = f" and {hidden} more" if hidden > 0 else ""
        names = ", ".join(_with_hint(name, table) for name in absent[:_MAX_COLUMNS_NAMED])
        raise ValueError(
            f"{path} lacks {len(absent)} of the {len(needed)} columns that the model learned from: "
            f"{names}{more}; needed all of them, with the same names"
        )


def _with_hint(name: str, table: Table) -> str:
    from sorr._checks import close_names
    from sorr.auditing import quote

    close = close_names(name, table.frame.columns)
    hint = f" (there is {' and '.join(map(quote, close))})" if close else ""
    return f"{quote(name)}{hint}"
