import csv
import io
import json
import os
import re
import shutil
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
from tests.slow import slow

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


@pytest.fixture(scope="module")
def first_round(tmp_path_factory):
    """Return the folder of an audit of the example, and what was printed."""
    folder = tmp_path_factory.mktemp("example")
    done = audit("--out", folder / "first")
    assert done.exit_code == 0, done.stderr
    return folder / "first", done.stdout


@pytest.fixture
def first(here, first_round):
    """Return a copy of that folder, in the one where a test works."""
    return shutil.copytree(first_round[0], here / "first")


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
    assert all(str(out / name) in done.stdout for name in FILES)


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
    assert names(here / "audit-example") == [*FILES[:2], "robots.csv", FILES[2]]


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
    assert found == json.loads(json.dumps(report.to_dict()))
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
        (["people.csv", "--target", "incom"], "did you mean 'income'"),
        (
            ["people.csv", "--target", "income", "--model", "tree"],
            "--model 'tree' is not known; needed one of",
        ),
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


def check_words_of_the_example(text):
    assert "evidence that at least about 30 of 432 labels are wrong" in text
    wrong, found = re.search(
        r"(\d+) labels were made wrong on purpose; (\d+) of them", text
    ).groups()
    assert int(wrong) == 30
    assert int(found) >= 28


def test_without_a_table_the_wrong_labels_of_the_example_are_found(first_round):
    folder, text = first_round
    check_words_of_the_example(text)
    assert names(folder) == [*FILES[:2], "robots.csv", FILES[2]]


@pytest.mark.slow
def test_the_first_command_of_all_finds_the_wrong_labels_of_the_example(tmp_path):
    pytest.importorskip("jinja2", reason="the report is made by it")
    command = [sys.executable, "-m", "sorr", "audit", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    check_words_of_the_example(done.stdout)
    assert names(tmp_path) == [*FILES[:2], "robots.csv", FILES[2]]


SUSPECT = {
    "row": 3,
    "line": 5,
    "id": "p003",
    "given": "yes",
    "suggested": "no",
    "tier": 3,
    "probability": 0.98,
    "reason": "Age (3) is far below the usual 20 to 60.",
}


class ManyRows(SimpleNamespace):
    def __len__(self):
        return 1200


def printed(suspects=(SUSPECT,), n_more=0, ids=("p003",), width=100, terminal=False, **more):
    """Return what is printed of a report."""
    text = io.StringIO()
    given = {
        "headline": "1 label is almost surely wrong",
        "meaning": "There is clear evidence.",
        "since": "",
        "judged_by": "a forest",
        "planted": None,
        "warnings": (),
        "findings": [],
        "notes": (),
        "model": object(),
        "n_dropped": 1,
        "earlier": (),
        "table": SimpleNamespace(sheet=None),
        "order": list(range(len(suspects) + n_more)),
        "describe": lambda chosen: pd.DataFrame(list(suspects)[: len(chosen)]),
        "rows": ManyRows(
            ids=ids,
            name=more.pop("name", "people.csv"),
            frame=pd.DataFrame(columns=list("abcd")),
            roles=SimpleNamespace(target="income"),
        ),
    }
    report = SimpleNamespace(**given | more)
    files = {name: Path("out") / name for name in FILES}
    console = Console(file=text, width=width, force_terminal=terminal, color_system=None)
    print_summary(report, files, Path("my people.csv"), console)
    return text.getvalue()


def test_ten_lines_say_what_was_found_and_what_to_do():
    assert printed(n_more=26).splitlines() == [
        "people.csv: 1,200 rows, 4 columns to learn income from. Judged by a forest.",
        "1 label is almost surely wrong.",
        "There is clear evidence.",
        "- line 5 (p003): yes \N{RIGHTWARDS ARROW} no, 98 % wrong. "
        "Age (3) is far below the usual 20 to 60.",
        "- and 26 more rows",
        "Decide row by row in out/report.html, or in a spreadsheet in out/suspects.csv.",
        "Then correct the table: sorr apply 'my people.csv' out/suspects.csv --out "
        "'my people-corrected.csv'",
        "The model without the dropped rows is in out/model.skops (sorr predict).",
    ]


def test_the_words_are_those_of_the_page(tmp_path, table):
    done = audit(table, "--target", "income", "--out", tmp_path / "out", "--model", "boosting")
    assert done.exit_code == 0
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    lines = done.stdout.splitlines()
    assert f"<h1>{lines[1].removesuffix('.')}</h1>" in page
    assert len(lines) <= 14


def test_a_verdict_stays_short_however_much_there_is():
    findings = [
        SimpleNamespace(severity=severity, name=f"{severity} {i}", sentence="It is so.")
        for severity in ("problem", "warning", "note")
        for i in range(9)
    ]
    row = SUSPECT | {"reason": "because " * 100, "id": "i" * 1000}
    text = printed([row] * 500, notes=("a note",) * 30, findings=findings)
    assert len(text.splitlines()) <= 16
    assert max(map(len, text.splitlines())) < 300
    assert "and 497 more rows" in text
    assert "Problem: problem 0. It is so." in text
    assert "problem 2" not in text
    assert "The report has: 25 more findings." in text
    assert "The report has 28 more notes." in text


def test_warnings_rounds_and_known_wrong_labels_are_told():
    text = printed(
        warnings=("9 % of job pilot.",),
        since="You made 3 decisions so far.",
        planted=SimpleNamespace(wrong=30, found=27, dropped=28),
    )
    assert "Warning: 9 % of job pilot." in text
    assert "You made 3 decisions so far." in text
    assert "30 labels were made wrong on purpose; 27 of them are among the 28 that w" in text


def test_numbers_are_told_as_numbers():
    row = SUSPECT | {"given": 12345.6789, "suggested": 3.0, "line": None}
    assert "row 3: 12,345.7 \N{RIGHTWARDS ARROW} 3, 98 % wrong." in printed([row], ids=None)


def test_nothing_suspect_needs_no_list():
    text = printed([], headline="No evidence of wrong labels")
    assert "No evidence of wrong labels." in text
    assert "- " not in text
    assert "sorr apply" not in text


def test_rows_worth_a_look_have_no_probability_of_being_wrong():
    row = SUSPECT | {"tier": 1, "probability": 0.2}
    assert "yes \N{RIGHTWARDS ARROW} no. Age" in printed([row])


@pytest.mark.parametrize("terminal", [False, True])
def test_cells_are_text_and_neither_markup_nor_orders_to_the_terminal(terminal):
    row = SUSPECT | {"given": "[bold]x[/]", "id": "\x1b[31mred", "reason": "[/nope]\r\n\x07a"}
    text = printed([row], terminal=terminal, name="[red]\x1b]0;t\x07.csv")
    assert "[bold]x[/]" in text
    assert "[/nope]" in text
    assert "\x1b]0" not in text
    assert "\x1b[31m" not in text
    assert "\x07" not in text


def test_no_probability_is_told_as_certain():
    assert "over 99 % wrong" in printed([SUSPECT | {"probability": 0.9999}])


# -- Rounds, models of the user, and probabilities -------------------------------------------------


def decide(path, word, n):
    """Fill in the first decisions of a list of suspects, as a spreadsheet does."""
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    for row in rows[:n]:
        row["decision"] = word
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def test_from_a_table_through_decisions_to_a_second_round_and_a_corrected_table(here, first):
    decide(first / "suspects.csv", "relabel", 20)
    robots = first / "robots.csv"
    arguments = (robots, "--target", "friendly")
    second = audit(*arguments, "--decisions", "first/suspects.csv", "--out", "second")
    assert second.exit_code == 0, second.stderr
    assert "You made 20 decisions so far: 20 relabelled." in second.stdout
    listed = list(csv.DictReader(io.StringIO((here / "second" / "suspects.csv").read_text())))
    decided = list(csv.DictReader(io.StringIO((here / "first" / "suspects.csv").read_text())))[:20]
    rows = {it["row"] for it in decided}
    assert {it["row"] for it in listed if it["decision"] == "relabel"} == rows
    assert not rows & {it["row"] for it in listed if not it["decision"]}
    third = audit(*arguments, "--decisions", "second/suspects.csv", "--out", "third")
    assert "You made 20 decisions so far: 20 relabelled." in third.stdout
    corrected = ["apply", str(robots), "second/suspects.csv", "--out", "corrected.csv"]
    assert CliRunner().invoke(app, corrected).exit_code == 0
    before, after = robots.read_text().splitlines(), Path("corrected.csv").read_text().splitlines()
    changed = [i for i, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]]
    assert changed == sorted(int(it["line"]) - 1 for it in decided)


def test_decisions_about_another_table_are_refused(table, here, first):
    decide(first / "suspects.csv", "keep", 3)
    done = audit(table, "--target", "income", "--decisions", "first/suspects.csv")
    assert done.exit_code == 2
    assert "--id" in done.stderr
    assert not (here / "audit-people").exists()


def test_a_model_of_the_user_is_not_saved_which_is_said(table, here):
    place = "sklearn.linear_model:LogisticRegression"
    done = audit(table, "--target", "income", "--model", place, "--ignore", "name")
    assert done.exit_code == 0, done.stderr
    assert "The model is not saved" in done.stdout
    assert names(here / "audit-people") == ["report.html", "suspects.csv"]


def test_probabilities_come_from_a_file_in_order_or_by_names(table, here):
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    high = [0.98 if float(row["age"] or 40) > 40 else 0.02 for row in rows]
    lines = [f"{row['name']},{p},{1 - p}" for row, p in zip(rows, high, strict=True)]
    Path("p.csv").write_text("\n".join(["name,high,low", *lines]))
    Path("turned.csv").write_text("\n".join(["name,high,low", *lines[::-1]]))
    options = (table, "--target", "income", "--id", "name", "--force")
    for name in ("p.csv", "turned.csv"):
        done = audit(*options, "--probabilities", name, "--out", f"by-{name}")
        assert done.exit_code == 0, done.stderr
        assert "No model was fitted, because probabilities were given." in done.stdout
        assert names(here / f"by-{name}") == ["report.html", "suspects.csv"]
    found = [(here / f"by-{name}" / "suspects.csv").read_text() for name in ("p.csv", "turned.csv")]
    assert found[0] == found[1]


def test_probabilities_without_a_class_are_refused(table, here):
    Path("p.csv").write_text("high\n" + "0.5\n" * RIGHT)
    done = audit(table, "--target", "income", "--probabilities", "p.csv")
    assert done.exit_code == 2
    assert "--probabilities has no column named 'low', a class of the target" in done.stderr
    assert not (here / "audit-people").exists()


@pytest.mark.parametrize("model", ["boosting", *slow("auto", "forest", "linear")])
@pytest.mark.parametrize("target", ["income", *slow("age")])
def test_every_named_model_predicts_from_its_file(table, here, model, target):
    ignore = ("--ignore", "name")
    done = audit(table, "--target", target, "--model", model, "--out", "out", *ignore)
    assert done.exit_code == 0, done.stderr
    predict = ["predict", "out/model.skops", str(table), "--out", "predicted.csv"]
    assert CliRunner().invoke(app, predict).exit_code == 0
    found = list(csv.DictReader(io.StringIO((here / "predicted.csv").read_text())))
    assert len(found) == RIGHT
    values = {row["prediction"] for row in found}
    if target == "income":
        assert values == {"high", "low"}
    else:
        assert all(10 < float(value) < 80 for value in values)
