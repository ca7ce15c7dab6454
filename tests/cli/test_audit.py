import csv
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

pytest.importorskip("typer", reason="the command line is an extra")
pytest.importorskip("rich", reason="the command line is an extra")
pytest.importorskip("pandas", reason="tables are read by it")
pytest.importorskip("skops", reason="models are stored by it")

from typer.testing import CliRunner

import sorr.auditing.run
from sorr.auditing.report import AuditReport
from sorr.auditing.run import audit_table
from sorr.auditing.storage import load_model
from sorr.auditing.table import read_table
from sorr.cli.app import app
from tests.cli.fakes import RIGHT, people
from tests.experiments.fakes import ROOT, wait_for

FILES = ["model.skops", "report.html", "suspects.csv"]


def audit(*arguments):
    return CliRunner().invoke(app, ["audit", *map(str, arguments)])


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = people(tmp_path_factory.mktemp("table") / "people.csv")
    table = read_table(path, text_columns=["name"])
    return audit_table(table, "income", m=6, id_column="name", group=["job"])


@pytest.fixture
def asked(monkeypatch, report):
    """Answer each audit with a known report, and note what was asked for."""
    found = {}

    def answer(table=None, target=None, *, progress, **options):
        progress(1.0, 1.0, "")
        found.update(table=table, target=target, **options)
        return report

    monkeypatch.setattr(sorr.auditing.run, "audit_table", answer)
    monkeypatch.setattr(sorr.auditing.run, "audit_example", answer)
    monkeypatch.setattr(AuditReport, "to_html", lambda _: "<!doctype html>é")
    return found


@pytest.fixture
def table(tmp_path):
    return people(tmp_path / "people.csv")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.usefixtures("asked")
def test_three_files_are_written_and_named(table, tmp_path, report):
    out = tmp_path / "out"
    done = audit(table, "--target", "income", "--out", out)
    assert (done.exit_code, done.stderr) == (0, "")
    assert names(out) == FILES
    assert (out / "report.html").read_text(encoding="utf-8") == "<!doctype html>é"
    suspects = list(csv.DictReader(io.StringIO((out / "suspects.csv").read_text())))
    assert [int(row["row"]) for row in suspects] == report.suspects["row"].tolist()
    assert load_model(out / "model.skops").classes_.tolist() == ["high", "low"]
    written = [str(out / name) for name in ("report.html", "suspects.csv", "model.skops")]
    assert done.stdout.splitlines()[-3:] == written


def test_the_options_reach_the_audit(asked, table, here):
    options = "--m 0.05 --task classification --id name --ignore age --group job --group income"
    draws = "--rows 90 --seed 7 --jobs 2"
    done = audit(table, "--target", "income", *options.split(), *draws.split())
    assert done.exit_code == 0, done.stderr
    taken = asked.pop("table")
    assert (taken.name, len(taken.frame), taken.n_rows) == ("people.csv", 90, RIGHT)
    assert asked == {
        "target": "income",
        "m": 0.05,
        "task": "classification",
        "id_column": "name",
        "ignore": ("age",),
        "group": ("job", "income"),
        "seed": 7,
        "jobs": 2,
    }
    assert names(here / "audit-people") == FILES


def test_without_a_file_the_example_is_audited(asked, here):
    assert audit("--seed", 3).exit_code == 0
    assert asked == {"table": None, "target": None, "seed": 3, "jobs": 1}
    assert names(here / "audit-example") == FILES


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz", "People.CSV", "people.tsv"])
def test_the_folder_is_called_after_the_file(name, here, table):
    text = table.read_text()
    table.unlink()
    text = text.replace(",", "\t") if name.endswith("tsv") else text
    Path(name).write_text(text)  # packed or not: it is looked at
    done = audit(name, "--target", "income")
    assert done.exit_code == 0, done.stderr
    assert (here / f"audit-{name.partition('.')[0]}" / "model.skops").exists()


@pytest.mark.usefixtures("asked")
def test_scripts_get_one_object_and_nothing_else(table, tmp_path, report):
    done = audit(table, "--target", "income", "--out", tmp_path / "out", "--json")
    found = json.loads(done.stdout)
    files = found.pop("files")
    assert found == json.loads(json.dumps(report.summary()))
    assert sorted(files) == FILES
    assert all(Path(path).exists() for path in files.values())
    assert done.stderr == ""


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_there_stops_it_before_anything_is_computed(asked, table, tmp_path, name):
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text("mine")
    done = audit(table, "--target", "income", "--out", out)
    assert done.exit_code == 2
    assert f"{name} exists already; --force overwrites" in done.stderr
    assert asked == {}
    assert names(out) == [name]
    assert audit(table, "--target", "income", "--out", out, "--force").exit_code == 0
    assert names(out) == FILES
    assert (out / name).read_bytes() != b"mine"


@pytest.mark.usefixtures("asked")
def test_other_files_in_the_folder_stay(table, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    assert audit(table, "--target", "income", "--out", tmp_path).exit_code == 0
    assert names(tmp_path) == sorted([*FILES, "mine.txt", "people.csv"])


@pytest.mark.usefixtures("asked")
def test_a_link_at_the_place_of_a_file_is_replaced(table, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    out = tmp_path / "out"
    out.mkdir()
    (out / "report.html").symlink_to(victim)
    assert audit(table, "--target", "income", "--out", out, "--force").exit_code == 0
    assert victim.read_text() == "precious"
    assert not (out / "report.html").is_symlink()


def test_a_place_that_is_no_folder_is_refused_before_anything_is_computed(asked, table):
    done = audit(table, "--target", "income", "--out", table / "out")
    assert (done.exit_code, asked) == (2, {})
    assert "people.csv is no folder; name another place with --out" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["people.csv"], "Invalid value for --target: none given; needed the column"),
        (["--target", "income"], "without it an example is audited, which takes no --target"),
        (["--id", "a", "--rows", "9", "--m", "0"], "takes no --m, --id, --rows"),
        (["people.csv", "--target", "income", "--m", "all"], "needed auto, a share"),
        (["people.csv", "--target", "income", "--rows", "1"], "Invalid value for '--rows'"),
        (["people.csv", "--target", "income", "--seed", "-1"], "Invalid value for '--seed'"),
        (["people.csv", "--target", "incom", "--m", "0"], "did you mean 'income'"),
        (["people.csv", "--target", "income", "--id", "nam"], "did you mean 'name'"),
        (["people.csv", "--target", "income", "--group", "jbo"], "did you mean 'job'"),
        (["no.csv", "--target", "income"], "no.csv"),
    ],
)
@pytest.mark.usefixtures("table")
def test_what_cannot_be_used_is_said_and_nothing_is_written(arguments, message, here):
    done = audit(*arguments)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
    assert done.stderr.splitlines()[-1].startswith("Error: ")
    assert (done.stdout, names(here)) == ("", ["people.csv"])


def test_what_fails_while_a_page_is_made_leaves_no_file(asked, table, here, monkeypatch):
    def fail(_):
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr(AuditReport, "to_html", fail)
    done = audit(table, "--target", "income")
    assert done.exit_code == 1
    assert asked
    assert done.stderr.startswith("This is a fault of sorr: ZeroDivisionError: by nothing")
    assert names(here) == ["people.csv"]


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="there are no process groups here")
def test_an_interrupted_audit_leaves_nothing_behind(table, here):
    script = f"""
        import signal, sys, time
        from pathlib import Path
        import sorr.auditing.run
        from sorr.cli import main

        def wait(*_, progress, **__):
            Path("begun").touch()
            time.sleep(60)

        sorr.auditing.run.audit_table = wait
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = ["sorr", "audit", {table.name!r}, "--target", "income"]
        main()
    """
    process = subprocess.Popen(
        [sys.executable, "-c", dedent(script)],
        cwd=here,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for((here / "begun").exists)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "Stopped."
    assert "Traceback" not in err
    assert names(here) == ["begun", "people.csv"]


def test_the_first_command_of_all_finds_the_wrong_labels_of_the_example(tmp_path):
    pytest.importorskip("jinja2", reason="the report is made by it")
    command = [sys.executable, "-m", "sorr", "audit", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "labels were made wrong on purpose" in done.stdout
    assert names(tmp_path) == FILES
