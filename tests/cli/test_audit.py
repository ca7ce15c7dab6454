import csv
import io
import json
import math
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace

import pytest

pytest.importorskip("typer", reason="the command line is an extra")
pytest.importorskip("rich", reason="the command line is an extra")
pytest.importorskip("pandas", reason="tables are read by it")
pytest.importorskip("skops", reason="models are stored by it")

import pandas as pd
from rich.console import Console
from typer.testing import CliRunner

import sorr.auditing.entry
from sorr.auditing import AuditReport, Roles, audit_table, load_model, read_table
from sorr.cli.app import app
from sorr.cli.audit import print_summary
from tests.cli.fakes import RIGHT, people
from tests.experiments.fakes import ROOT, wait_for

FILES = ["model.skops", "report.html", "suspects.csv"]


def audit(*arguments):
    return CliRunner().invoke(app, ["audit", *map(str, arguments)])


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = people(tmp_path_factory.mktemp("table") / "people.csv")
    table = read_table(path, text_columns=["name"])
    roles = Roles("income", id_column="name", group=("job",))
    return audit_table(table, roles, model="linear", m=6)


@pytest.fixture
def asked(monkeypatch, report):
    """Answer each audit with a known report, and note what was asked for."""
    found = {}

    def answer(table=None, roles=None, *, progress, **options):
        progress(1.0, 1.0, "")
        found.update(table=table, roles=roles, **options)
        return report

    monkeypatch.setattr(sorr.auditing.entry, "audit_table", answer)
    monkeypatch.setattr(sorr.auditing.entry, "audit_example", answer)
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
    options += " --number hours --category job --category income --text age --date name=%Y"
    options += " --group-folds town"
    draws = "--model linear --rows 90 --seed 7 --jobs 2"
    done = audit(table, "--target", "income", *options.split(), *draws.split())
    assert done.exit_code == 0, done.stderr
    taken = asked.pop("table")
    assert (taken.name, len(taken.frame), taken.n_rows) == ("people.csv", 90, RIGHT)
    assert asked == {
        "roles": Roles(
            "income",
            id_column="name",
            ignore=("age",),
            group=("job", "income"),
            group_folds="town",
            number=("hours",),
            category=("job", "income"),
            text=("age",),
            date=("name=%Y",),
        ),
        "model": "linear",
        "m": 0.05,
        "task": "classification",
        "seed": 7,
        "jobs": 2,
    }
    assert names(here / "audit-people") == FILES


def test_without_a_file_the_example_is_audited(asked, here):
    assert audit("--seed", 3).exit_code == 0
    assert asked == {"table": None, "roles": None, "model": "auto", "seed": 3, "jobs": 1}
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
    assert f"{name} exists already; overwrite with --force" in done.stderr
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
    assert "people.csv is not a folder; choose another path with --out" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["people.csv"], "Invalid value for --target: none given; needed the column"),
        (["--target", "income"], "without a file an example is audited, which takes no --target"),
        (["--id", "a", "--rows", "9", "--m", "0"], "takes no --id, --m, --rows"),
        (["people.csv", "--target", "income", "--m", "all"], "needed auto, a share"),
        (["people.csv", "--target", "income", "--rows", "1"], "Invalid value for '--rows'"),
        (["people.csv", "--target", "income", "--seed", "-1"], "Invalid value for '--seed'"),
        (["people.csv", "--target", "incom", "--m", "0"], "did you mean 'income'"),
        (["people.csv", "--target", "income", "--model", "tree"], "'tree' is not one of"),
        (
            ["people.csv", "--target", "income", "--ignore", "name", "--m", "0.05"],
            "--m 0.05 needs a linear model, but the model is --model 'auto', which drops what "
            "looks wrong; needed --model 'linear', or no --m",
        ),
        (
            ["people.csv", "--target", "age", "--ignore", "name", "--model", "forest", "--m", "5"],
            "--m 5 needs a linear model, but the model is --model 'forest'",
        ),
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
    assert done.stderr.startswith("Internal error in sorr: ZeroDivisionError: by nothing")
    assert names(here) == ["people.csv"]


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="there are no process groups here")
def test_an_interrupted_audit_leaves_nothing_behind(table, here):
    script = f"""
        import signal, sys, time
        from pathlib import Path
        import sorr.auditing.entry
        from sorr.cli import main

        def wait(*_, progress, **__):
            Path("begun").touch()
            time.sleep(60)

        sorr.auditing.entry.audit_table = wait
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
    assert "evidence of wrong labels" in done.stdout
    wrong, found = re.search(
        r"(\d+) labels were made wrong on purpose; (\d+) of them", done.stdout
    ).groups()
    assert int(wrong) == 30
    assert int(found) >= 28
    assert names(tmp_path) == FILES


SUSPECT = {
    "row": 3,
    "line": 5,
    "id": "p003",
    "given": "yes",
    "suggested": "no",
    "tier": 3,
    "probability": 0.98,
    "dropped": True,
    "loss": 2.5,
    "dropped_share": 0.85,
    "reason": "A linear model prefers no because of age = 3.",
}
SUMMARY = {
    "table": "people.csv",
    "target": "income",
    "task": "classification",
    "rows": 1200,
    "columns": 4,
    "headline": "1 of 1,200 labels is probably wrong",
    "suspects": 1,
    "choice": "There is evidence. " + "It is long. " * 40,
    "held_out_error": {
        "plain": 0.123,
        "robust": 0.045,
        "plain_on_all": 0.2,
        "robust_on_all": 0.15,
    },
    "dropped": {"income": [{"name": "yes", "rows": 700, "dropped": 1}]},
    "warnings": [],
    "findings": [],
    "notes": [],
}


def printed(summary=(), suspects=(SUSPECT,), ids=("p003",), width=100, terminal=False):
    """Return what is printed of a report."""
    text = io.StringIO()
    report = SimpleNamespace(
        summary=lambda: SUMMARY | dict(summary),
        suspects=pd.DataFrame(list(suspects)),
        rows=SimpleNamespace(ids=ids),
    )
    console = Console(file=text, width=width, force_terminal=terminal, color_system=None)
    print_summary(report, console)
    return text.getvalue()


def test_it_says_what_was_read_what_is_suspect_and_how_sure_that_is():
    lines = printed().splitlines()
    assert lines[0] == "people.csv: 1,200 rows, 4 columns to learn income from (classification)."
    assert lines[1] == "1 of 1,200 labels is probably wrong."
    assert lines[3] == (
        "Error on held-out rows that were kept: 4.5%; of a plain fit: 12.3%. "
        "On all held-out rows, with the labels as given: 15.0% and 20.0%."
    )
    words = [line.split() for line in lines]
    assert ["yes", "700", "1", "0.1%"] in words
    assert ["row", "id", "given", "suggested", "tier", "wrong", "reason"] in words
    assert ["3", "p003", "yes", "no", "3", "98%", *SUSPECT["reason"].split()] in words


def test_a_model_that_is_not_linear_has_one_error_and_no_fits_to_halves():
    errors = {"plain": 0.123, "robust": None, "plain_on_all": 0.2, "robust_on_all": None}
    row = SUSPECT | {"loss": None, "dropped_share": None}
    text = printed({"held_out_error": errors}, [row])
    assert "kept: 12.3%. On all held-out rows, with the labels as given: 20.0%." in text
    words = [line.split() for line in text.splitlines()]
    assert ["row", "id", "given", "suggested", "tier", "wrong", "reason"] in words


def test_of_a_long_verdict_there_are_the_first_sentences():
    choice = printed().splitlines()[2]
    assert choice.startswith("There is evidence. It is long.")
    assert choice.endswith("long.")
    assert len(choice) <= 420
    long = "word " * 100
    assert printed({"choice": f"{long}end. More."}).splitlines()[2] == f"{long}end."


@pytest.mark.parametrize("width", [80, 120])
def test_it_fits_one_screen_however_much_there_is(width):
    dropped = {
        name: [{"name": f"{name}{i}", "rows": 10, "dropped": i % 5} for i in range(50)]
        for name in ("income", "job")
    }
    more = {
        "suspects": 500,
        "dropped": dropped,
        "notes": ["a note"] * 30,
        "warnings": ["look at them"],
        "planted": {"wrong": 30, "found": 27},
    }
    row = SUSPECT | {"reason": "because " * 100, "id": "i" * 1000}
    text = printed(more, [row] * 500, width=width)
    assert len(text.splitlines()) <= 46
    assert max(map(len, text.splitlines()[6:])) <= width
    assert text.count("iii…") == 10
    assert text.count("and 46 more") == 2
    assert "The report has 27 more notes." in text


def test_findings_that_need_a_look_are_told_and_the_others_counted():
    findings = [
        {"severity": severity, "name": f"{severity} {i}", "sentence": "It is so."}
        for severity in ("problem", "warning", "note")
        for i in range(3)
    ]
    text = printed({"findings": findings})
    assert "Problem: problem 0. It is so." in text
    assert "Warning: warning 0. It is so." in text
    assert "warning 1" not in text
    assert "The report has 5 more findings." in text


def test_the_strata_that_lost_most_come_first():
    strata = [{"name": f"c{i}", "rows": 100, "dropped": i} for i in range(9)]
    text = printed({"dropped": {"income": strata}})
    assert [line.split()[0] for line in text.splitlines() if line.startswith(" c")] == [
        *("c8", "c7", "c6", "c5"),
    ]


def test_warnings_and_known_wrong_labels_are_told():
    text = printed({"warnings": ["9% of job pilot."], "planted": {"wrong": 30, "found": 27}})
    assert "Warning: 9% of job pilot." in text
    assert "30 labels were made wrong on purpose; 27 of them are among the 1 that w" in text


def test_numbers_are_told_as_numbers():
    row = SUSPECT | {"given": 12.3456789, "suggested": 3.0, "tier": None, "probability": math.nan}
    errors = {"plain": 1234.5678, "robust": 2.0, "plain_on_all": 9.0, "robust_on_all": 7.0}
    text = printed({"task": "regression", "held_out_error": errors, "dropped": {}}, [row], None)
    assert "Error on held-out rows that were kept: 2; of a plain fit: 1235." in text
    words = [line.split() for line in text.splitlines()]
    assert ["row", "given", "suggested", "again", "reason"] in words
    assert ["3", "12.3457", "3", "85%", *SUSPECT["reason"].split()] in words


def test_nothing_suspect_needs_no_table():
    text = printed({"suspects": 0, "headline": "No sign of labels wrong at random"}, [])
    assert "No sign of labels wrong at random." in text
    assert "reason" not in text


def test_rows_worth_a_look_are_listed_though_none_is_dropped():
    row = SUSPECT | {"tier": 1, "probability": 0.2, "dropped": False}
    text = printed({"suspects": 0}, [row])
    assert ["3", "p003", "yes", "no", "1", "20%"] in [
        line.split()[:6] for line in text.splitlines()
    ]


@pytest.mark.parametrize("terminal", [False, True])
def test_cells_are_text_and_neither_markup_nor_orders_to_the_terminal(terminal):
    row = SUSPECT | {"given": "[bold]x[/]", "id": "\x1b[31mred", "reason": "[/nope]\r\n\x07a"}
    text = printed({"table": "[red]\x1b]0;t\x07.csv"}, [row], terminal=terminal)
    assert "[bold]x[/]" in text
    assert "[/nope]" in text
    assert "\x1b]0" not in text
    assert "\x1b[31m" not in text
    assert "\x07" not in text


def test_no_probability_is_told_as_certain():
    assert ">99%" in printed({}, [SUSPECT | {"probability": 0.9999}]).split()
