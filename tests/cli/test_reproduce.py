import os
import signal
import subprocess
import sys
from textwrap import dedent

import pytest

pytest.importorskip("typer", reason="the command line is an extra")
pytest.importorskip("rich", reason="the command line is an extra")

from typer.testing import CliRunner

import sorr
from sorr.cli.app import app
from sorr.experiments import Plan, row_file
from tests.experiments.fakes import ROOT, failing, logged, measured, published, wait_for
from tests.slow import slow

MISSING_FILE = FileNotFoundError("mnist.gz is not in /data; put it there")


@pytest.fixture(scope="module", autouse=True)
def _all_is_loaded():
    """Load what is loaded late: `published` forgets modules that it saw first."""
    assert CliRunner().invoke(app, ["reproduce", "--splits", "1", "--list"]).exit_code == 0
    import sorr.cli.console  # noqa: F401


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log"


def reproduce(*arguments):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


def test_an_experiment_writes_its_tables_and_prints_where_they_are(folder, log):
    with published(logged(log)):
        done = reproduce("fake", "--out", folder)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines() == [str(folder / "fake.md"), str(folder / "fake.csv")]
    assert (folder / "fake.md").read_text().startswith("# Table fake")
    assert len(measured(log)) == 24
    assert "fake: 100%" in done.stderr


def test_the_options_say_how_much_is_measured(folder, log):
    with published(logged(log)):
        assert (
            reproduce("fake", "--protocol", "ours", "--splits", 1, "--out", folder).exit_code == 0
        )
    assert sorted(measured(log)) == [
        f"ours {dataset} {model} 0"
        for dataset in ("monk", "titanic")
        for model in ("AoRR", "average")
    ]


def test_the_same_command_again_measures_nothing(folder, log):
    with published(logged(log)):
        first = reproduce("fake", "--out", folder)
        log.unlink()
        again = reproduce("fake", "--out", folder)
    assert measured(log) == []
    assert (again.exit_code, again.stdout) == (0, first.stdout)


def test_all_and_a_name_twice_measure_each_experiment_once(folder, log):
    with published(logged(log, name="one"), logged(log, name="two")):
        done = reproduce("two", "all", "two", "--splits", 1, "--out", folder)
    assert [line.rpartition("/")[2] for line in done.stdout.splitlines()] == [
        *("two.md", "two.csv"),
        *("one.md", "one.csv"),
    ]
    assert len(measured(log)) == 16


def test_the_folder_of_a_quick_run_is_another_one(log, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with published(logged(log)):
        assert reproduce("fake", "--quick").exit_code == 0
        assert reproduce("fake").exit_code == 0
    assert (tmp_path / "reproduction" / "rows" / "fake.csv").exists()
    quick = tmp_path / "reproduction-quick"
    assert (quick / "rows" / "fake-quick.csv").exists()
    assert "A quick run" in (quick / "fake.md").read_text()


def test_drawing_measures_nothing(folder, log):
    with published(logged(log)):
        reproduce("fake", "--out", folder)
    before = (folder / "fake.md").read_bytes()
    (folder / "fake.md").unlink()
    with published(failing(AssertionError("it fits"))):
        done = reproduce("fake", "--draw", "--out", folder)
    assert done.exit_code == 0
    assert (folder / "fake.md").read_bytes() == before


def test_drawing_what_was_never_measured_says_so(folder, log):
    with published(logged(log)):
        done = reproduce("fake", "--draw", "--out", folder)
    assert done.exit_code == 1
    assert f"fake: nothing to draw in {folder}" in done.stderr
    assert measured(log) == []


def test_the_list_has_a_line_for_each(log):
    with published(logged(log, name="one"), logged(log, name="two", protocols=("ours",), splits=5)):
        done = reproduce("--list")
    assert done.exit_code == 0
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["one", "what", "one", "shows", "paper,", "ours", "3"] in lines
    assert ["two", "what", "two", "shows", "ours", "5"] in lines


def unboxed(text):
    return " ".join(text.replace("│", " ").split())


def test_a_wrong_name_is_refused_before_anything_runs(folder, log):
    with published(logged(log, name="table1")):
        done = reproduce("table1", "tabel1", "--out", folder)
    assert done.exit_code == 2
    assert "there is no experiment 'tabel1'; did you mean 'table1'?" in unboxed(done.stderr)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "none given; needed names of --list, or all"),
        (["fake", "--jobs", 0], "given 0; needed 1 or more, or -1 for all cores"),
        (["fake", "--splits", 0], "Invalid value for '--splits'"),
        (["fake", "--protocol", "theirs"], "'theirs' is not one of"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message, log):
    with published(logged(log)):
        done = reproduce(*arguments)
    assert done.exit_code == 2
    assert message in unboxed(done.stderr)


def test_an_experiment_that_lacks_a_file_is_named_and_the_others_go_on(folder, log):
    with published(failing(MISSING_FILE, after=2, name="needy"), logged(log, name="able")):
        done = reproduce("all", "--out", folder)
    assert done.exit_code == 1
    assert "needy: mnist.gz is not in /data; put it there (while measuring: paper" in done.stderr
    assert f"2 rows of needy are kept in {folder / 'rows' / 'needy.csv'}" in done.stderr
    assert "Incomplete: needy." in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout.splitlines() == [str(folder / "able.md"), str(folder / "able.csv")]


def test_what_was_measured_before_a_file_lacked_can_be_drawn(folder):
    with published(failing(MISSING_FILE, after=2)):
        assert reproduce("fake", "--out", folder).exit_code == 1
        done = reproduce("fake", "--draw", "--out", folder)
    assert done.exit_code == 0
    assert "monk" in (folder / "fake.md").read_text()


def test_a_missing_package_keeps_the_rows(folder):
    error = ImportError('fake needs matplotlib, which is not installed: pip install "sorr[plot]"')
    with published(failing(error, after=1)):
        done = reproduce("fake", "--out", folder)
    assert done.exit_code == 1
    assert 'pip install "sorr[plot]"' in done.stderr
    assert "1 rows of fake are kept" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_matplotlib_it_is_said_at_once(folder, log, monkeypatch):
    monkeypatch.setattr("sorr.cli.reproduce.find_spec", lambda _: None)
    with published(logged(log)):
        done = reproduce("fake", "--out", folder)
    assert done.exit_code == 0
    assert done.stderr.startswith("Figures need matplotlib, which is not installed: pip install")


def test_a_fault_of_ours_shows_where_it_is_and_the_others_go_on(folder, log):
    with published(
        failing(ZeroDivisionError("by nothing"), name="faulty"), logged(log, name="able")
    ):
        done = reproduce("all", "--out", folder)
    assert done.exit_code == 1
    assert "Traceback" in done.stderr
    assert "faulty: by nothing (while measuring: paper monk average 0" in done.stderr
    assert (folder / "able.md").exists()


def test_rows_of_several_versions_are_named(folder, log, monkeypatch):
    with published(logged(log)):
        done = reproduce("fake", "--splits", 1, "--out", folder)
        assert "measured by" not in done.stderr
        monkeypatch.setattr(sys.modules["sorr.experiments.runner"], "__version__", "99.0")
        done = reproduce("fake", "--splits", 2, "--out", folder)
    assert done.exit_code == 0
    assert f"sorr {sorr.__version__}" in done.stderr
    assert "sorr 99.0. To measure all of them" in done.stderr


def test_rows_with_other_columns_are_refused_in_a_sentence(folder, log):
    (folder / "rows").mkdir(parents=True)
    (folder / "rows" / "fake.csv").write_text("protocol,accuracy\nours,1\n")
    with published(logged(log)):
        done = reproduce("fake", "--out", folder)
    assert done.exit_code == 1
    assert "fake.csv has the columns protocol, accuracy; needed" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_experiment_of_the_other_protocol_only_says_so(folder, log):
    with published(logged(log, protocols=("ours",))):
        done = reproduce("fake", "--protocol", "paper", "--out", folder)
    assert done.exit_code == 0
    assert "fake has only this protocol: ours" in done.stderr


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="there are no process groups here")
@pytest.mark.parametrize("jobs", [2, *slow(1)])
def test_an_interrupted_run_says_what_is_kept_and_goes_on(folder, log, jobs):
    script = f"""
        import signal, sys
        from sorr.cli import main
        from tests.experiments.fakes import logged, published
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = ["sorr", "reproduce", "fake", "--jobs", "{jobs}", "--out", {str(folder)!r}]
        with published(logged({str(log)!r}, pause=0.1)):
            main()
    """
    process = subprocess.Popen(
        [sys.executable, "-c", dedent(script)],
        cwd=ROOT,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: len(measured(log)) >= 5)
    os.killpg(process.pid, signal.SIGINT)  # as the keyboard does: to all processes at once
    out, err = process.communicate()
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    rows = row_file(logged(log), Plan(), folder).read()
    if jobs == 2:  # so that what is being started does not complain
        assert {row["status"] for row in rows} == {"deaf to Ctrl-C"}
    kept = len(rows)
    last = err.splitlines()[-1]
    assert last.startswith(f"Stopped: {kept} rows of fake are kept in {folder}")
    assert last.endswith("The same command continues.")
    again = log.with_name("again")
    with published(logged(again)):
        assert reproduce("fake", "--out", folder).exit_code == 0
    assert len(measured(again)) == 24 - kept
