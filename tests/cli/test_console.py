import io
import json
import math
import os
import subprocess
import sys
import tempfile
import warnings
from textwrap import dedent

import pytest

pytest.importorskip("typer", reason="the command line is an extra")
pytest.importorskip("rich", reason="the command line is an extra")

import typer
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from sorr.auditing import ModelError, TableError
from sorr.auditing.table import Argument
from sorr.cli.console import (
    as_json,
    check_places,
    one_line,
    print_page,
    report_errors,
    shorten,
    write_files,
)
from sorr.cli.options import Debug
from sorr.experiments.tables import format_table


def end(error, *arguments, env=None):
    """Return how a command ends that raises an error."""
    app = typer.Typer(pretty_exceptions_enable=False)

    @app.command()
    @report_errors
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
            'Error: pandas is needed and not installed: pip install "sorr[cli]"',
        ),
        (
            ImportError('models need skops: pip install "sorr[audit]"'),
            1,
            'Error: models need skops: pip install "sorr[audit]"',
        ),
        (
            ModuleNotFoundError("No module named 'sorr.none'", name="sorr.none"),
            1,
            "Internal error in sorr: ModuleNotFoundError: No module named 'sorr.none'. Please "
            "report it; --debug shows where.",
        ),
        (
            ZeroDivisionError("by nothing"),
            1,
            "Internal error in sorr: ZeroDivisionError: by nothing. Please report it; --debug "
            "shows where.",
        ),
        (
            MemoryError(),
            1,
            "Error: not enough memory; use a random sample of N rows with --rows N",
        ),
        (KeyboardInterrupt(), 130, "Stopped."),
    ],
    ids=lambda it: type(it).__name__ if isinstance(it, BaseException) else "",
)
def test_an_exception_is_one_line_and_an_exit_code(error, code, line):
    done = end(error)
    assert (done.exit_code, done.stdout, done.stderr) == (code, "", f"{line}\n")


@pytest.mark.parametrize(
    ("argument", "in_python", "on_the_command_line"),
    [
        (Argument("ignore", ["a b", "c"]), "ignore=['a b', 'c']", "--ignore 'a b' --ignore 'c'"),
        (Argument("id_column", "nr"), "id_column='nr'", "--id 'nr'"),
        (Argument("n_rows", 100), "n_rows=100", "--rows 100"),
        (Argument("target"), "target", "--target"),
    ],
)
def test_an_error_names_arguments_as_options(argument, in_python, on_the_command_line):
    error = TableError("use ", argument, ", or not")
    assert str(error) == f"use {in_python}, or not"
    assert end(error).stderr == f"Error: use {on_the_command_line}, or not\n"


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
    @report_errors
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


def test_files_are_there_and_nothing_else(tmp_path):
    folder = tmp_path / "a" / "b"
    places = [folder / "x.txt", folder / "y.bin", folder / "z.csv"]
    check_places(places, force=False)
    assert not (tmp_path / "a").exists()  # asking leaves no trace
    contents = ["é\r\n", b"\x00\xff", iter(["1\n", "2\n"])]
    write_files(dict(zip(places, contents, strict=True)), force=False)
    assert [path.read_bytes() for path in places] == ["é\r\n".encode(), b"\x00\xff", b"1\n2\n"]
    assert sorted(folder.iterdir()) == places


def test_what_is_there_is_not_overwritten_unless_forced(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("old")
    for act in (
        lambda: check_places([tmp_path / "y", path], force=False),
        lambda: write_files({path: "new", tmp_path / "y": "new"}, force=False),
    ):
        with pytest.raises(FileExistsError, match=r"x\.txt exists already; overwrite with --force"):
            act()
    assert [it.name for it in tmp_path.iterdir()] == ["x.txt"]
    assert path.read_text() == "old"
    check_places([path], force=True)
    write_files({path: "new"}, force=True)
    assert path.read_text() == "new"


def test_all_that_are_there_are_named_at_once(tmp_path):
    for name in "ab":
        (tmp_path / name).touch()
    with pytest.raises(FileExistsError, match=r"a, .*b exist already"):
        check_places([tmp_path / "a", tmp_path / "b"], force=False)


def test_a_folder_at_the_place_of_a_file_is_never_replaced(tmp_path):
    (tmp_path / "x").mkdir()
    with pytest.raises(IsADirectoryError, match="x is a folder; choose another path"):
        check_places([tmp_path / "x"], force=True)


def test_a_file_at_the_place_of_a_folder_is_refused(tmp_path):
    (tmp_path / "x").touch()
    with pytest.raises(NotADirectoryError, match="x is not a folder; choose another path"):
        check_places([tmp_path / "x" / "y" / "z.csv"], force=True)


def test_a_place_that_cannot_be_written_to_is_refused_at_once(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", refuse)
    with pytest.raises(PermissionError, match=r"cannot write to .* \(Permission denied\)"):
        check_places([tmp_path / "x"], force=True)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is forbidden to root"
)
def test_a_folder_without_the_right_to_write_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="cannot write to"):
        check_places([tmp_path / "x"], force=True)


@pytest.mark.parametrize("is_broken", [False, True])
def test_a_link_is_replaced_and_never_followed(tmp_path, is_broken):
    victim = tmp_path / "victim"
    if not is_broken:
        victim.write_text("precious")
    path = tmp_path / "x.txt"
    path.symlink_to(victim)
    with pytest.raises(FileExistsError):
        check_places([path], force=False)
    write_files({path: "new"}, force=True)
    assert path.read_text() == "new"
    assert not path.is_symlink()
    assert is_broken != victim.exists()
    assert is_broken or victim.read_text() == "precious"


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_interruption_leaves_the_old_files_and_no_others(tmp_path, error):
    def lines():
        yield "half"
        raise error

    old = tmp_path / "x.txt"
    old.write_text("old")
    with pytest.raises(error):
        write_files({old: "new", tmp_path / "y.txt": lines()}, force=True)
    assert [it.name for it in tmp_path.iterdir()] == ["x.txt"]
    assert old.read_text() == "old"


def test_files_have_the_usual_rights(tmp_path):
    usual, path = tmp_path / "usual", tmp_path / "x"
    usual.touch()
    write_files({path: "x"}, force=False)
    assert path.stat().st_mode == usual.stat().st_mode


PAGE = f"""# Errors

Per cent, [not markup].

{format_table(["data set", "ours"], [["monk", "12.00 (0.50)"], ["splice [1]", ""]])}
- A note.
"""


def printed(width):
    text = io.StringIO()
    print_page(PAGE, Console(file=text, width=width))
    return [line.rstrip() for line in text.getvalue().splitlines()]


def test_a_page_is_shown_without_its_marks():
    assert [line for line in printed(60) if line] == [
        "Errors",
        "Per cent, [not markup].",
        " data set    ours",
        " ────────────────────────",
        " monk        12.00 (0.50)",
        " splice [1]",
        "- A note.",
    ]


def test_a_narrow_terminal_still_shows_every_number():
    assert max(map(len, printed(20))) <= 20
    assert "(0.50)" in " ".join(printed(20))


@given(st.text(st.characters() | st.sampled_from("\x1b\x00\x07\r\n\x9b\u202e\u2066")))
def test_no_text_can_steer_a_terminal_or_take_two_lines(text):
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert not set(line) & {chr(i) for i in (*range(32), *range(127, 160), 0x202E, 0x2066)}


def test_other_scripts_stay_as_they_are():
    assert one_line("שלום 😀 Größe") == "שלום 😀 Größe"


@given(st.text(), st.integers(1, 50))
def test_a_shortened_text_fits(text, length):
    assert len(shorten(text, length)) <= length
    assert shorten(text, len(one_line(text)) + 1) == one_line(text)


def test_json_holds_no_number_that_json_has_not():
    found = json.loads(as_json({"a": [math.nan, (math.inf, 1.5)], 3: {"b": None}}))
    assert found == {"a": [None, [None, 1.5]], "3": {"b": None}}


def test_json_is_ascii_and_escapes_what_terminals_obey():
    text = as_json({"x": "\x1b[31mé"})
    assert text.isascii()
    assert text.isprintable()
