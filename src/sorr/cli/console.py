"""What all commands share: errors as one line, progress, files, and texts and tables on screen."""

from __future__ import annotations

import functools
import json
import math
import os
import re
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

import typer

from sorr._files import Content, write_all_atomically

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from sorr._typing import Report
    from sorr.auditing import Table as DataTable

FAILED, UNUSABLE, STOPPED = 1, 2, 130
EXIT_CODES = (
    "Exit codes: 0 success; 1 failed or incomplete; 2 wrong arguments or input, nothing is "
    "written; 130 stopped with Ctrl-C."
)
_OPTIONS = {"id_column": "--id", "n_rows": "--rows"}  # where an argument has another name here
_SECONDS_BEFORE_PROGRESS = 2.0
# Control characters, and those that turn the direction of the text after them.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
P = ParamSpec("P")


# -- Errors and exit codes -------------------------------------------------------------------------


def report_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Return the command with every error reported in one line, and warnings as notes.

    With the option `debug` of the command, the traceback is printed as well.
    """

    @functools.wraps(command)
    def run(*args: P.args, **options: P.kwargs) -> None:
        with _print_warnings(), _end_on_errors(bool(options.get("debug"))):
            command(*args, **options)

    return run


def print_error_line(text: object) -> None:
    """Print one line on standard error."""
    typer.echo(one_line(text), err=True)


@contextmanager
def _end_on_errors(debug: bool) -> Iterator[None]:
    try:
        yield
    except (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError):
        raise  # typer handles these
    except KeyboardInterrupt as error:
        _print_traceback(error, debug)
        print_error_line("Stopped.")
        raise typer.Exit(STOPPED) from None
    except Exception as error:
        _print_traceback(error, debug)
        sentence, code = _describe(error)
        print_error_line(sentence)
        raise typer.Exit(code) from None


def _print_traceback(error: BaseException, debug: bool) -> None:
    if debug:
        typer.echo("".join(traceback.format_exception(error)), err=True, nl=False)


def _describe(error: Exception) -> tuple[str, int]:
    """Return the sentence for an exception, and the exit code."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"Error: {error.filename}: {error.strerror}", UNUSABLE
    if isinstance(error, ValueError | OSError):
        return f"Error: {_with_options(error)}", UNUSABLE
    package = str(getattr(error, "name", "sorr")).partition(".")[0]
    if isinstance(error, ModuleNotFoundError) and package != "sorr":
        return f'Error: {package} is needed and not installed: pip install "sorr[cli]"', FAILED
    if isinstance(error, ImportError) and "pip install" in str(error):
        return f"Error: {error}", FAILED
    if isinstance(error, MemoryError):
        return "Error: not enough memory; use a random sample of N rows with --rows N", FAILED
    name = type(error).__name__
    return (
        f"Internal error in sorr: {name}: {error}. Please report it; --debug shows where.",
        FAILED,
    )


def _with_options(error: Exception) -> str:
    """Return the message of an error, with the arguments it names as options of the command."""
    parts = getattr(error, "parts", (str(error),))
    return "".join(part if isinstance(part, str) else _as_options(part) for part in parts)


def option_of(argument: str) -> str:
    """Return the option that sets an argument of the library, by its name."""
    return _OPTIONS.get(argument, f"--{argument.replace('_', '-')}")


def _as_options(argument: Any) -> str:
    from sorr.auditing import quote

    option = option_of(argument.name)
    if argument.value is None:
        return option
    values = argument.value if isinstance(argument.value, list) else [argument.value]
    texts = [str(value) if isinstance(value, int | float) else quote(value) for value in values]
    return " ".join(f"{option} {text}" for text in texts)


@contextmanager
def _print_warnings() -> Iterator[None]:
    """Print warnings as notes, without the line of code that raised them."""

    def print_note(message: Warning | str, *_: Any, **__: Any) -> None:
        print_error_line(f"Note: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = print_note
        yield


# -- Steps that take time --------------------------------------------------------------------------


def read(
    path: Path,
    text_columns: Iterable[str | None],
    rows: int | None = None,
    seed: int = 0,
    sheet: str | None = None,
) -> DataTable:
    """Return the table in a file, or a sample of its rows. Columns named None are skipped."""
    names = tuple(name for name in text_columns if name is not None)
    with show_progress("reading") as progress:
        from sorr.auditing import read_table

        return read_table(
            path,
            text_columns=names,
            n_rows=rows,
            random_state=seed,
            sheet=sheet,
            progress=progress,
        )


@contextmanager
def show_progress(name: str) -> Iterator[Report]:
    """Show the progress of a step on standard error, if it takes longer than two seconds."""
    from rich.console import Console

    from sorr.cli.progress import track

    console = Console(stderr=True)
    with track(name, console, after=_SECONDS_BEFORE_PROGRESS, transient=True) as progress:
        yield progress


# -- Files -----------------------------------------------------------------------------------------


def check_places(paths: Iterable[Path], force: bool) -> None:
    """Refuse paths that exist or cannot be written to. Call it before the work begins."""
    places = list(paths)
    _check_free(places, force)
    for folder in dict.fromkeys(path.parent for path in places):
        existing = next(
            path for path in (folder, *folder.absolute().parents) if os.path.lexists(path)
        )
        if not existing.is_dir():
            raise NotADirectoryError(f"{existing} is not a folder; choose another path with --out")
        try:
            with tempfile.TemporaryDirectory(prefix=".sorr-", dir=existing):
                pass
        except OSError as error:
            raise PermissionError(
                f"cannot write to {existing} ({error.strerror}); choose another path with --out"
            ) from error


def write_files(contents: Mapping[Path, Content], force: bool) -> None:
    """Write the files of one folder: all of them, or none."""
    write_all_atomically(contents, lambda: _check_free(contents, force))


def _check_free(paths: Iterable[Path], force: bool) -> None:
    existing = [path for path in paths if os.path.lexists(path)]
    for path in existing:
        if path.is_dir() and not path.is_symlink():
            raise IsADirectoryError(f"{path} is a folder; choose another path with --out")
    if existing and not force:
        names = ", ".join(map(str, existing))
        verb = "exists" if len(existing) == 1 else "exist"
        raise FileExistsError(
            f"{names} {verb} already; overwrite with --force, or choose another path with --out"
        )


# -- Texts -----------------------------------------------------------------------------------------


def one_line(text: object) -> str:
    r"""Return a text on one line, without characters that control a terminal.

    Examples
    --------
    >>> one_line("two\nlines, \x1b[31mred")
    'two lines, \ufffd[31mred'
    """
    return _CONTROL.sub("\ufffd", " ".join(str(text).split()))


def shorten(text: object, length: int) -> str:
    """Return a text on one line, cut to a length.

    Examples
    --------
    >>> shorten("a long story", 7)
    'a long…'
    """
    line = one_line(text)
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def as_json(value: Any) -> str:
    r"""Return JSON in ASCII. NaN and infinity, which JSON does not have, become null.

    Examples
    --------
    >>> as_json({"share": float("nan"), "name": "é"})
    '{"share": null, "name": "\\u00e9"}'
    """
    return json.dumps(_without_nan(value), default=str)


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _without_nan(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# -- Tables and pages on screen --------------------------------------------------------------------


def make_table(
    titles: Iterable[str],
    rows: Iterable[Iterable[str]],
    *,
    numbers: Iterable[str] = (),
    is_narrow: bool = True,
) -> Table:
    """Return a table for the screen, whose cells are texts and never markup.

    Columns whose titles are in `numbers` are aligned to the right. A narrow table has less space
    between its columns.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    spacing: dict[str, Any] = {"padding": (0, 1, 0, 0), "pad_edge": False} if is_narrow else {}
    table, right = Table(box=SIMPLE_HEAD, **spacing), set(numbers)
    for title in titles:
        table.add_column(
            Text(title), justify="right" if title in right else "left", overflow="fold"
        )
    for cells in rows:
        table.add_row(*map(Text, cells))
    return table


def print_page(text: str, console: Console) -> None:
    """Print Markdown: titles in bold, tables aligned, everything else as it is."""
    from rich.text import Text

    for is_table, lines in groupby(text.splitlines(), key=lambda line: line.startswith("|")):
        if is_table:
            header, _, *body = (
                [field.strip() for field in line.strip("|").split("|")] for line in lines
            )
            console.print(make_table(header, body))
            continue
        for line in lines:
            title = line.lstrip("#")
            styled = Text(line) if title == line else Text(title.strip(), style="bold")
            console.print(styled, highlight=False)
