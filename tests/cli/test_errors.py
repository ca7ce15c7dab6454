import subprocess
import sys
import warnings
from textwrap import dedent

import pytest

pytest.importorskip("typer", reason="the command line is an extra")

import typer
from typer.testing import CliRunner

from sorr.auditing.storage import ModelError
from sorr.auditing.table import TableError
from sorr.cli.errors import guarded
from sorr.cli.options import Debug


def end(error, *arguments, env=None):
    """Return how a command ends that raises an error."""
    app = typer.Typer(pretty_exceptions_enable=False)

    @app.command()
    @guarded
    def fail(debug: Debug = False):  # noqa: ARG001
        if error is not None:
            raise error

    return CliRunner().invoke(app, list(arguments), env=env)


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (ValueError("k=120 exceeds"), 2, "Error: k=120 exceeds"),
        (TableError("no rows"), 2, "Error: no rows"),
        (ModelError("m.skops is a pickle"), 2, "Error: m.skops is a pickle"),
        (OSError("the disk is full"), 2, "Error: the disk is full"),
        (
            PermissionError(13, "Permission denied", "out/a.csv"),
            2,
            "Error: out/a.csv: Permission denied",
        ),
        (
            ModuleNotFoundError("No module named 'pandas'", name="pandas.core"),
            1,
            'Error: this needs pandas, which is missing: pip install "sorr[cli]"',
        ),
        (
            ImportError('models need skops: pip install "sorr[audit]"'),
            1,
            'Error: models need skops: pip install "sorr[audit]"',
        ),
        (
            ModuleNotFoundError("No module named 'sorr.none'", name="sorr.none"),
            1,
            "This is a fault of sorr: ModuleNotFoundError: No module named 'sorr.none'; run again "
            "with --debug and report it",
        ),
        (
            ZeroDivisionError("by nothing"),
            1,
            "This is a fault of sorr: ZeroDivisionError: by nothing; run again with --debug and "
            "report it",
        ),
        (
            MemoryError(),
            1,
            "Error: there is not enough memory; --rows N takes so many of the rows",
        ),
        (KeyboardInterrupt(), 130, "Stopped."),
    ],
    ids=lambda it: type(it).__name__ if isinstance(it, BaseException) else "",
)
def test_an_exception_is_one_line_and_an_exit_code(error, code, line):
    done = end(error)
    assert (done.exit_code, done.stdout, done.stderr) == (code, "", f"{line}\n")


def test_debug_shows_where_it_happened_and_ends_alike():
    for done in (
        end(ValueError("too few"), "--debug"),
        end(ValueError("too few"), env={"SORR_DEBUG": "1"}),
    ):
        first, *_, last = done.stderr.splitlines()
        assert first == "Traceback (most recent call last):"
        assert last == "Error: too few"
        assert done.exit_code == 2
        assert done.stdout == ""


def test_a_message_cannot_steer_the_terminal():
    done = end(ValueError("a\x1b]0;title\x07\nb\r\u202ec"))
    assert done.stderr == "Error: a\ufffd]0;title\ufffd b \ufffdc\n"


def test_what_typer_knows_is_left_to_it():
    assert end(typer.Exit(7)).exit_code == 7
    refused = end(typer.BadParameter("given 0", param_hint="--jobs"))
    assert refused.exit_code == 2
    assert "Invalid value for --jobs: given 0" in " ".join(refused.stderr.split())
    assert end(None).exit_code == 0


def test_a_wrong_option_keeps_the_message_of_typer():
    done = end(None, "--debgu")
    assert done.exit_code == 2
    assert "No such option: --debgu" in done.stderr


def test_a_warning_is_a_note_without_a_place_in_the_code():
    app = typer.Typer()

    @app.command()
    @guarded
    def warn():
        warnings.simplefilter("default")
        warnings.warn("look\nhere", stacklevel=1)

    done = CliRunner().invoke(app, [])
    assert (done.exit_code, done.stderr) == (0, "Note: look here\n")


@pytest.mark.skipif(sys.platform == "win32", reason="there are other pipes")
def test_a_reader_that_has_seen_enough_ends_it_in_silence():
    script = dedent("""\
        import sys
        from sorr.cli import main
        sys.argv = ["sorr", "datasets", "monk"]
        import sorr.cli.datasets as module
        module._lines = lambda name: (f"{i}\\n" * 1000 for i in range(1000))
        main()
    """)
    command = f"'{sys.executable}' -c '{script}' | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stdout == "0\n"
    assert done.stderr == ""
