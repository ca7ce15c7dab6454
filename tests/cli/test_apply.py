import json
import os
import stat

import pytest

pytest.importorskip("typer", reason="the command line is an extra")
pytest.importorskip("rich", reason="the command line is an extra")
pytest.importorskip("pandas", reason="tables are read by it")

from typer.testing import CliRunner

from sorr.auditing import read_table
from sorr.auditing.decisions import decisions_csv
from sorr.auditing.matching import table_mark
from sorr.cli.app import app

TABLE = "name,label\n" + "".join(f"n{i},{'yes' if i % 2 else 'no'}\n" for i in range(12))


def run(*arguments):
    return CliRunner().invoke(app, ["apply", *map(str, arguments)])


def refusal(*arguments):
    done = run(*arguments)
    assert done.exit_code == 2, done.stdout
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(TABLE)
    return path


@pytest.fixture
def decisions(table):
    mark = table_mark(read_table(table), "label")
    columns = {
        "row": [0, 3, 4, 5, 6],
        "id": ["n0", "n3", "n4", "n5", "n6"],
        "given": ["no", "yes", "no", "yes", "no"],
        "suggested": ["yes", "no", "yes", "no", "yes"],
        "decision": ["relabel", "remove", "keep", "unsure", ""],
    }
    path = table.with_name("decisions.csv")
    path.write_text(decisions_csv(columns, mark))
    return path


@pytest.fixture
def out(tmp_path):
    return tmp_path / "corrected.csv"


EXPECTED = TABLE.replace("n0,no", "n0,yes").replace("n3,yes\n", "")


def test_a_corrected_table_and_a_log_are_written(table, decisions, out):
    done = run(table, decisions, "--out", out)
    assert done.exit_code == 0, done.stderr
    assert out.read_text() == EXPECTED
    log = out.with_name("corrected.csv.changes.csv")
    assert log.read_text() == (
        "row,line,id,decision,before,after\n0,2,n0,relabel,no,yes\n3,5,n3,remove,yes,\n"
    )
    assert done.stdout.splitlines() == [
        "people.csv: 1 label changed, 1 row removed.",
        "Left as they are: 1 label confirmed, 1 unsure, 1 undecided.",
        str(out),
        str(log),
        f"Next: sorr audit {table} --target label --decisions {decisions} --out audit-people-2",
    ]
    assert table.read_text() == TABLE


def test_when_all_is_decided_the_corrected_table_is_audited_next(table, decisions, out):
    decisions.write_text(decisions.read_text().replace("yes,,,,,", "yes,,,,keep,"))
    done = run(table, decisions, "--out", out)
    assert done.stdout.splitlines()[-1] == f"Next: sorr audit {out} --target label"


def test_scripts_get_one_object(table, decisions, out):
    found = json.loads(run(table, decisions, "--out", out, "--json").stdout)
    assert found == {
        "table": "people.csv",
        "target": "label",
        "changed": 1,
        "removed": 1,
        "kept": 1,
        "unsure": 1,
        "undecided": 1,
        "notes": [],
        "files": {"corrected": str(out), "changes": f"{out}.changes.csv"},
    }


def test_nothing_is_overwritten_without_force(table, decisions, out):
    out.write_text("mine")
    assert "exists already; overwrite with --force" in refusal(table, decisions, "--out", out)
    assert "people.csv exists already" in refusal(table, decisions, "--out", table)
    log = out.with_name("corrected.csv.changes.csv")
    log.write_text("mine too")
    out.unlink()
    assert f"{log} exists already" in refusal(table, decisions, "--out", out)
    assert not out.exists()
    assert (log.read_text(), table.read_text()) == ("mine too", TABLE)


def test_the_table_itself_is_replaced_with_force(table, decisions):
    done = run(table, decisions, "--out", table, "--force")
    assert done.exit_code == 0, done.stderr
    assert table.read_text() == EXPECTED


@pytest.mark.parametrize("place", ["decisions.csv", "./decisions.csv"])
def test_decisions_are_never_overwritten(place, table, decisions):
    before = decisions.read_text()
    told = refusal(table, decisions, "--out", f"{decisions.parent}/{place}", "--force")
    assert "is the file of the decisions" in told
    assert decisions.read_text() == before


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("relabel", "relable", "line 2 of 'decisions.csv': the decision is 'relable'"),
        ("0,,n0", "99,,n0", "line 2 of 'decisions.csv': the row is 99, but 'people.csv' has 12"),
        ("no,yes,,,,relabel", "no,maybe,,,,relabel", "the new label is 'maybe', which column"),
        (",relabel,,12x2-", ",relabel,,13x2-", "is about another table"),
    ],
)
def test_bad_decisions_are_refused_with_the_line_before_anything_is_written(
    old, new, told, table, decisions, out
):
    text = decisions.read_text()
    assert old in text
    decisions.write_text(text.replace(old, new))
    assert told in refusal(table, decisions, "--out", out)
    assert sorted(it.name for it in out.parent.iterdir()) == ["decisions.csv", "people.csv"]


def test_a_table_that_has_changed_is_refused_or_matched_by_id(table, decisions, out):
    names, *rows = TABLE.splitlines()
    table.write_text("\n".join([names, *rows[::-1]]))
    told = refusal(table, decisions, "--out", out)
    assert "is not the table that the decisions in 'decisions.csv' are about" in told
    assert "--id" in told
    assert not out.exists()
    done = run(table, decisions, "--out", out, "--id", "name")
    assert done.exit_code == 0, done.stderr
    assert out.read_text().splitlines()[-1] == "n0,yes"
    assert "Note: Rows were found by 'name'." in done.stderr


@pytest.mark.parametrize("name", ["nul.csv", "COM1", "a:b.csv", "what?.csv", "c.csv.", "c\\d.csv"])
def test_names_that_windows_does_not_have_are_refused(name, table, decisions):
    told = refusal(table, decisions, "--out", table.with_name(name))
    assert "Windows" in told
    assert "such as" in told


def test_options_are_named_as_options(table, decisions, out):
    told = refusal(table, decisions, "--out", out.with_suffix(".xlsx"))
    assert "--out 'corrected.xlsx' has the ending of another format" in told
    assert "Name it 'corrected.csv'" in told


def test_a_missing_file_is_refused(table, decisions, out):
    assert "there is no file" in refusal(table.with_name("peopel.csv"), decisions, "--out", out)
    assert "there is no file" in refusal(table, decisions.with_name("none.csv"), "--out", out)


def test_a_folder_is_made(table, decisions, tmp_path):
    out = tmp_path / "new" / "deep" / "c.csv"
    assert run(table, decisions, "--out", out).exit_code == 0
    assert out.read_text() == EXPECTED


def test_an_interruption_leaves_the_old_file(table, decisions, out, monkeypatch):
    out.write_text("old")

    def interrupted(*_):
        yield b"half"
        raise KeyboardInterrupt

    monkeypatch.setattr("sorr.auditing.table.edits._replaced", interrupted)
    done = run(table, decisions, "--out", out, "--force")
    assert done.exit_code == 130
    assert out.read_text() == "old"
    assert sorted(it.name for it in out.parent.iterdir()) == [
        "corrected.csv",
        "decisions.csv",
        "people.csv",
    ]


def test_a_label_that_controls_a_terminal_is_shown_as_text(table, decisions, out):
    decisions.write_text(decisions.read_text().replace("no,yes", "no,\x1b[31mred", 1))
    told = run(table, decisions, "--out", out).stderr
    assert "\x1b" not in told
    assert "red" in told


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="rights are those of POSIX users")
def test_a_folder_that_cannot_be_written_to_is_told_early(table, decisions, tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(stat.S_IREAD | stat.S_IEXEC)
    assert "cannot write to" in refusal(table, decisions, "--out", folder / "c.csv")


def test_help_shows_examples():
    text = run("--help").stdout
    assert "sorr apply people.csv" in text
    assert "CORRECTED.changes.csv" in " ".join(text.split())
