import os
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
        f'sorr needs {package}, which is not installed: pip install "sorr[cli]"\n'
    )
    assert (done.returncode, done.stdout) == (1, "")


def test_another_module_that_is_missing_is_not_blamed_on_the_extra():
    pytest.importorskip("typer", reason="it is asked for first")
    assert "ModuleNotFoundError" in run_without("sorr.cli.options").stderr


COMMANDS = ("audit", "apply", "fit", "predict", "datasets", "reproduce")


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "sorr", *arguments],
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )


def test_the_list_of_commands_says_what_each_is_for():
    pytest.importorskip("typer", reason="the command line is an extra")
    text, _ = answer("--help")
    listed = text.partition("Commands:\n")[2].splitlines()
    assert tuple(line.split()[0] for line in listed[: len(COMMANDS)]) == COMMANDS
    assert all(line.endswith(".") and "..." not in line for line in listed[: len(COMMANDS)])


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_explains_itself_with_examples_and_loads_nothing_heavy(command):
    pytest.importorskip("typer", reason="the command line is an extra")
    text, end = answer(command, "--help")
    assert f"Examples:\n    sorr {command}" in text
    assert "Exit codes: 0 success;" in text
    assert "--debug" in text
    assert max(map(len, text.splitlines())) <= 80
    assert end == "0 set()"


def test_help_loads_nothing_that_only_a_command_needs():
    pytest.importorskip("typer", reason="the command line is an extra")
    script = """
        import sys
        from sorr.cli import main
        sys.argv = ["sorr", "--help"]
        try:
            main()
        finally:
            print({"rich.table", "rich.progress", "pydantic", "sorr.auditing"} & set(sys.modules))
    """
    done = subprocess.run([sys.executable, "-c", dedent(script)], capture_output=True, text=True)
    assert done.stdout.endswith("set()\n")


def completed(words):
    place = str(len(words.split(" ")) - 1)
    done = run(_SORR_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=place)
    return done.stdout.split()


def test_bash_completes_commands_and_options():
    pytest.importorskip("typer", reason="the command line is an extra")
    assert completed("sorr au") == ["audit"]
    assert completed("sorr ") == list(COMMANDS)
    assert completed("sorr predict --f") == ["--force"]
    assert completed("sorr fit --task c") == ["classification"]


def test_the_script_for_bash_asks_the_command():
    pytest.importorskip("typer", reason="the command line is an extra")
    done = run("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert done.returncode == 0
    assert "_SORR_COMPLETE=complete_bash" in done.stdout
    assert "complete -o default -F _sorr_completion sorr" in done.stdout


def test_debug_comes_after_the_name_of_the_command():
    pytest.importorskip("typer", reason="the command line is an extra")
    short = run("datasets", "monkey")
    assert (short.returncode, len(short.stderr.splitlines())) == (2, 1)
    long = run("datasets", "monkey", "--debug")
    assert long.returncode == 2
    assert long.stderr.startswith("Traceback")
    assert long.stderr.endswith(short.stderr)
