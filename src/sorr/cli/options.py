"""Options that several commands have. The same name means the same everywhere."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from sorr.auditing import Roles


class Task(StrEnum):
    """What the model learns."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


FILES = "CSV, TSV (also packed), Excel, OpenDocument, Parquet, Feather or JSON lines"


_ENDINGS = (
    *(".csv", ".tsv", ".tab", ".txt", ".parquet", ".pq", ".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"),
    *(".feather", ".arrow", ".jsonl", ".ndjson", ".json"),
)
_PACKINGS = (".gz", ".bz2", ".xz", ".zst", ".zip")


def ending_of(path: Path) -> tuple[str, str]:
    """Return how the name of a table ends: its kind, and its packing.

    Examples
    --------
    >>> ending_of(Path("people.CSV.gz")), ending_of(Path("people"))
    (('.CSV', '.gz'), ('', ''))
    """
    name = path.name
    packing = next((name[-len(it) :] for it in _PACKINGS if name.lower().endswith(it)), "")
    name = name.removesuffix(packing)
    return next((name[-len(it) :] for it in _ENDINGS if name.lower().endswith(it)), ""), packing


def stem_of(path: Path) -> str:
    """Return the name of a table without its endings, for other files that are named after it.

    Examples
    --------
    >>> stem_of(Path("people.csv.gz")), stem_of(Path(".csv"))
    ('people', 'table')
    """
    return path.name.removesuffix("".join(ending_of(path))).strip("-. ") or "table"


def _check_jobs(jobs: int) -> int:
    if jobs == 0:
        raise typer.BadParameter("given 0; needed 1 or more, or -1 for all cores")
    return jobs


def _columns(flag: str, text: str, metavar: str = "COLUMN") -> Any:
    """Return an option that names columns."""
    return typer.Option(flag, metavar=metavar, help=text, show_default=False)


Data = Annotated[
    Path,
    typer.Argument(metavar="FILE", help=f"{FILES}; - for standard input.", show_default=False),
]
Target = Annotated[
    str,
    typer.Option("--target", metavar="COLUMN", help="Column to predict.", show_default=False),
]
Id = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="Column that names rows. It is shown, not learned from; decisions find their rows by "
        "it if the table has changed.",
    ),
]
Ignore = Annotated[
    list[str] | None,
    _columns("--ignore", "Column not to learn from. Repeat it for several columns."),
]
Group = Annotated[
    list[str] | None,
    _columns(
        "--group", "Also count the dropped rows by this column. Repeat it for several columns."
    ),
]
Number = Annotated[
    list[str] | None,
    _columns("--number", "Read this column as numbers. Repeat it for several columns."),
]
Category = Annotated[
    list[str] | None, _columns("--category", "Read this column as categories, such as codes.")
]
Text = Annotated[
    list[str] | None, _columns("--text", "Read this column as texts, compared by their letters.")
]
Date = Annotated[
    list[str] | None,
    _columns(
        "--date",
        "Read this column as dates, perhaps with a format such as signed=%d/%m/%Y.",
        "COLUMN[=FORMAT]",
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        "--sheet",
        metavar="NAME",
        help="Sheet of a workbook, by name or number.",
        show_default="the first with rows",
    ),
]
GroupFolds = Annotated[
    str | None,
    typer.Option(
        "--group-folds",
        metavar="COLUMN",
        help="Column of entities, such as patients: no row is judged by others of its entity.",
        show_default=False,
    ),
]
Drop = Annotated[
    str,
    typer.Option(
        "--m",
        metavar="auto|SHARE|COUNT",
        help="How many rows to drop: those that are flagged, a share such as 0.1, or a number such "
        "as 20. A share or a number needs --model linear.",
    ),
]
ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="auto|linear|forest|boosting|PLACE",
        help="The model that judges labels and is fitted; auto is a forest with a linear model. "
        "package.module:estimator is one of your own: this imports the module, which runs its "
        "code. Such a model is not saved, so sorr fit does not take it.",
    ),
]
TaskOption = Annotated[
    Task,
    typer.Option("--task", help="Classes or numbers; auto decides by the target."),
]
Rows = Annotated[
    int | None,
    typer.Option(
        "--rows", metavar="N", min=2, help="Use a random sample of N rows.", show_default="all"
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        metavar="N",
        min=0,
        max=2**32 - 1,
        help="Seed for everything random. The same seed gives the same result.",
    ),
]
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs",
        metavar="N",
        callback=_check_jobs,
        help="Number of parallel jobs; -1 for one per core. Results do not depend on it.",
    ),
]
NewFile = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="File to write.", show_default="standard output"),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object for scripts, and nothing else.")
]
Debug = Annotated[
    bool,
    typer.Option("--debug", envvar="SORR_DEBUG", help="Show where an error comes from."),
]


def as_drop(text: str) -> float | int | Literal["auto"]:
    """Return how many rows to drop, or refuse a text that does not say so.

    Examples
    --------
    >>> as_drop("auto"), as_drop("0.1"), as_drop("20")
    ('auto', 0.1, 20)
    """
    if text == "auto":
        return "auto"
    try:
        if text.isascii() and text.isdigit():
            return int(text)
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0.0 < share < 1.0:
        raise typer.BadParameter(
            f"given {text!r}; needed auto, a share between 0 and 1 such as 0.1, or a number of "
            "rows such as 20",
            param_hint="--m",
        )
    return share


def as_named_model(text: str) -> str:
    """Return the name of a model, or refuse a text that is none."""
    from sorr._checks import suggest
    from sorr.auditing import MODELS

    if ":" in text:
        raise typer.BadParameter(
            f"given {text!r}; a model of your own is code, which model files do not hold; needed "
            f"one of {', '.join(MODELS)}, or sorr audit",
            param_hint="--model",
        )
    if text not in MODELS:
        raise typer.BadParameter(f"given {text!r}; {suggest(text, MODELS)}", param_hint="--model")
    return text


def as_roles(target: str, **given: Any) -> Roles:
    """Return what the columns are for. Options that were not given are left out."""
    from sorr.auditing import Roles

    named = {name: value for name, value in given.items() if value}
    return Roles(
        target,
        **{name: tuple(it) if isinstance(it, list) else it for name, it in named.items()},
    )
