import subprocess
import sys
from textwrap import dedent

import pytest

import sorr


def answer(*arguments):
    """Return what the command prints, how it ends, and which heavy packages it loaded."""
    script = f"""
        import sys
        from sorr.cli import main
        sys.argv = ["sorr", *{arguments!r}]
        try:
            main()
        except SystemExit as end:
            print(end.code, {{"numpy", "sklearn", "joblib"}} & set(sys.modules))
    """
    command = [sys.executable, "-c", dedent(script)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    *lines, end = done.stdout.splitlines()
    return "\n".join(lines), end


def test_importing_the_command_line_loads_no_package_at_all():
    script = "import sys, sorr.cli; print({'numpy', 'sklearn', 'typer', 'rich'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert done.stdout == "set()\n"


def test_help_answers_without_loading_anything_heavy():
    pytest.importorskip("typer", reason="the command line is an extra")
    text, end = answer("--help")
    assert "reproduce" in text
    assert end == "0 set()"


def test_the_version_is_the_one_of_the_package():
    pytest.importorskip("typer", reason="the command line is an extra")
    assert answer("--version") == (f"sorr {sorr.__version__}", "0 set()")


def test_the_package_can_be_run_as_a_module():
    pytest.importorskip("typer", reason="the command line is an extra")
    command = [sys.executable, "-m", "sorr", "reproduce", "--help"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "Usage: sorr reproduce" in done.stdout


def run_without(name):
    """Run the command where a module cannot be imported."""
    script = f"import sys; sys.modules[{name!r}] = None; from sorr.cli import main; main()"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)


@pytest.mark.parametrize("missing", ["typer", "rich.console"])
def test_without_the_extra_a_sentence_says_how_to_install_it(missing):
    if missing != "typer":
        pytest.importorskip("typer", reason="it is asked for first")
    done = run_without(missing)
    package = missing.partition(".")[0]
    assert done.stderr == (
        f'The command sorr needs {package}, which is missing: pip install "sorr[cli]"\n'
    )
    assert (done.returncode, done.stdout) == (1, "")


def test_another_module_that_is_missing_is_not_blamed_on_the_extra():
    pytest.importorskip("typer", reason="it is asked for first")
    assert "ModuleNotFoundError" in run_without("sorr.cli.screen").stderr
