"""What went wrong, in one line on standard error, and the exit code that belongs to it."""

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
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from sorr.auditing import Table as DataTable

__all__ = [
    "EXIT_CODES",
    "Content",
    "as_json",
    "check_places",
    "guarded",
    "plain",
    "print_page",
    "read",
    "say",
    "shortened",
    "shown",
    "write_files",
]

FAILED, UNUSABLE, STOPPED = 1, 2, 130
EXIT_CODES = (
    "Exit codes: 0, done; 1, failed, or something was left out; 2, the command or its file cannot "
    "be used, and nothing was written; 130, stopped by Ctrl-C."
)
P = ParamSpec("P")


def say(text: object) -> None:
    """Print one line on standard error."""
    typer.echo(plain(text), err=True)


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """Return the command such that what goes wrong is said in one line.

    Its option `debug` shows where it went wrong as well. Warnings become notes.
    """

    @functools.wraps(command)
    def run(*args: P.args, **options: P.kwargs) -> None:
        with _noted(), _explained(bool(options.get("debug"))):
            command(*args, **options)

    return run


@contextmanager
def _explained(debug: bool) -> Iterator[None]:
    try:
        yield
    except (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError):
        raise  # typer knows what to do
    except KeyboardInterrupt as error:
        _show(error, debug)
        say("Stopped.")
        raise typer.Exit(STOPPED) from None
    except Exception as error:
        _show(error, debug)
        sentence, code = _told(error)
        say(sentence)
        raise typer.Exit(code) from None


def _show(error: BaseException, debug: bool) -> None:
    if debug:
        typer.echo("".join(traceback.format_exception(error)), err=True, nl=False)


def _told(error: Exception) -> tuple[str, int]:
    """Return what to say of an exception, and the exit code."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"Error: {error.filename}: {error.strerror}", UNUSABLE
    if isinstance(error, ValueError | OSError):
        return f"Error: {error}", UNUSABLE
    package = str(getattr(error, "name", "sorr")).partition(".")[0]
    if isinstance(error, ModuleNotFoundError) and package != "sorr":
        return f'Error: this needs {package}, which is missing: pip install "sorr[cli]"', FAILED
    if isinstance(error, ImportError) and "pip install" in str(error):
        return f"Error: {error}", FAILED
    if isinstance(error, MemoryError):
        return "Error: there is not enough memory; --rows N takes so many of the rows", FAILED
    name = type(error).__name__
    return f"This is a fault of sorr: {name}: {error}; run again with --debug and report it", FAILED


@contextmanager
def _noted() -> Iterator[None]:
    """Print warnings as notes, without the line of code that gave them."""

    def note(message: Warning | str, *_: Any, **__: Any) -> None:
        say(f"Note: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = note
        yield


# -- Steps that take time, with a report of how far they are; the first is to read a table ---------


_PATIENCE = 2.0  # seconds that nobody wonders about


def read(
    path: Path, text_columns: Iterable[str | None], rows: int | None = None, seed: int = 0
) -> DataTable:
    """Return the table in a file, or some of its rows; names that are None are no columns."""
    names = tuple(name for name in text_columns if name is not None)
    with shown("reading") as progress:
        from sorr.auditing import read_table

        return read_table(
            path, text_columns=names, n_rows=rows, random_state=seed, progress=progress
        )


@contextmanager
def shown(name: str) -> Iterator[Callable[[float, float, str], None]]:
    """Give what shows the progress of a step on standard error, if it takes a while."""
    from rich.console import Console

    from sorr.cli.progress import watched

    with watched(name, Console(stderr=True), after=_PATIENCE, passing=True) as progress:
        yield progress


# -- Files of a command: nothing is overwritten unasked, and each is written whole or not at all ---


Content = str | bytes | Iterable[str]


def check_places(paths: Iterable[Path], force: bool) -> None:
    """Refuse places that are taken or cannot be written to: to be asked before the work begins."""
    places = list(paths)
    _check_taken(places, force)
    for folder in dict.fromkeys(path.parent for path in places):
        ground = next(it for it in (folder, *folder.absolute().parents) if os.path.lexists(it))
        if not ground.is_dir():
            raise NotADirectoryError(f"{ground} is no folder; name another place with --out")
        try:
            with tempfile.TemporaryDirectory(prefix=".sorr-", dir=ground):
                pass
        except OSError as error:
            raise PermissionError(
                f"nothing can be written to {ground} ({error.strerror}); name another place with "
                "--out"
            ) from error


def write_files(contents: Mapping[Path, Content], force: bool) -> None:
    """Write files into one folder: under other names first, and moved when all are there.

    A link at the place of a file is replaced; what it leads to is left alone.
    """
    (folder,) = {path.parent for path in contents}
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".sorr-", dir=folder) as aside:
        whole = {path: Path(aside) / path.name for path in contents}
        for path, content in contents.items():
            _write(whole[path], content)
        _check_taken(contents, force)
        for path, file in whole.items():
            file.replace(path)


def _write(path: Path, content: Content) -> None:
    if isinstance(content, bytes):
        path.write_bytes(content)
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines([content] if isinstance(content, str) else content)


def _check_taken(paths: Iterable[Path], force: bool) -> None:
    taken = [path for path in paths if os.path.lexists(path)]
    for path in taken:
        if path.is_dir() and not path.is_symlink():
            raise IsADirectoryError(f"{path} is a folder; name another place with --out")
    if taken and not force:
        names = ", ".join(map(str, taken))
        exist = "exists" if len(taken) == 1 else "exist"
        raise FileExistsError(
            f"{names} {exist} already; --force overwrites, --out names another place"
        )


# -- Texts from files, as they can be shown on a terminal ------------------------------------------


_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # the last turn lines round


def plain(text: object) -> str:
    r"""Return a text on one line, without anything that a terminal would obey.

    Examples
    --------
    >>> plain("two\nlines, \x1b[31mred")
    'two lines, \ufffd[31mred'
    """
    return _CONTROL.sub("\ufffd", " ".join(str(text).split()))


def shortened(text: object, length: int) -> str:
    """Return a text that fits.

    Examples
    --------
    >>> shortened("a long story", 7)
    'a long…'
    """
    whole = plain(text)
    return whole if len(whole) <= length else whole[: length - 1].rstrip() + "…"


def as_json(value: Any) -> str:
    r"""Return JSON in plain ASCII; what is no number there, such as NaN, is null.

    Examples
    --------
    >>> as_json({"share": float("nan"), "name": "é"})
    '{"share": null, "name": "\\u00e9"}'
    """
    return json.dumps(_tidy(value), default=str)


def _tidy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _tidy(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_tidy(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# -- A page of Markdown on a terminal, its tables as narrow as they can be -------------------------


def print_page(text: str, console: Console) -> None:
    """Print titles in bold, tables with aligned columns, and everything else as it is."""
    for is_table, lines in groupby(text.splitlines(), key=lambda line: line.startswith("|")):
        if is_table:
            console.print(_table(list(lines)))
        else:
            for line in lines:
                console.print(_words(line), highlight=False)


def _table(lines: list[str]) -> Table:
    header, _, *body = ([field.strip() for field in line.strip("|").split("|")] for line in lines)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name in header:
        table.add_column(Text(name))
    for fields in body:
        table.add_row(*map(Text, fields))
    return table


def _words(line: str) -> Text:
    title = line.lstrip("#")
    return Text(line) if title == line else Text(title.strip(), style="bold")
