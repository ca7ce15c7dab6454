"""What went wrong, in one line on standard error, and the exit code that belongs to it."""

from __future__ import annotations

import functools
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec

import typer

from sorr.cli.words import plain

__all__ = ["EXIT_CODES", "guarded", "say"]

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
