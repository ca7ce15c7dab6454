import json
import shutil

import pytest

pytest.importorskip("typer", reason="the command line is an extra")
pytest.importorskip("rich", reason="the command line is an extra")
pytest.importorskip("pandas", reason="tables are read by it")
pytest.importorskip("skops", reason="models are stored by it")

from typer.testing import CliRunner

from sorr.auditing.storage import load_model
from sorr.cli.app import app
from tests.cli.fakes import RIGHT, people


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def table(tmp_path):
    return people(tmp_path / "people.csv")


@pytest.fixture
def out(tmp_path):
    return tmp_path / "model.skops"


def test_a_model_is_saved_and_a_screen_says_how_it_is(table, out):
    done = run("fit", table, "--target", "income", "--id", "name", "--m", 6, "--out", out)
    assert done.exit_code == 0, done.stderr
    first, second, third, last = done.stdout.splitlines()
    assert first == "people.csv: 120 rows, 2 columns to learn income from (classification)."
    assert second == "6 rows were left out, 5.0% of all."
    assert "of the rows that were kept are predicted otherwise than labelled." in third
    assert last == str(out)
    model = load_model(out)
    assert model.classes_.tolist() == ["high", "low"]
    assert sorted(model.named_steps["columns"].feature_names_in_) == ["age", "job"]


def test_scripts_get_one_object(table, out):
    done = run(
        "fit", table, "--target", "income", "--id", "name", "--m", 0.05, "--out", out, "--json"
    )
    found = json.loads(done.stdout)
    assert (found["rows"], found["columns"], found["task"]) == (RIGHT, 2, "classification")
    assert 0 <= found["left_out"] <= 6
    assert 0 <= found["error_on_kept_rows"] < 0.2
    assert found["model"] == str(out)


def test_numbers_are_told_by_their_mean_absolute_error(table, out):
    done = run("fit", table, "--target", "age", "--id", "name", "--m", 0.05, "--out", out)
    assert done.exit_code == 0, done.stderr
    assert "(regression)." in done.stdout
    assert "The mean absolute error on the rows that were kept is " in done.stdout


def test_the_same_seed_gives_the_same_file(table, out, tmp_path):
    again = tmp_path / "again.skops"
    options = ("--target", "income", "--ignore", "name", "--rows", 80, "--seed", 3, "--m", 0.1)
    assert run("fit", table, *options, "--out", out).exit_code == 0
    assert run("fit", table, *options, "--out", again).exit_code == 0
    assert out.read_bytes() == again.read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "incme"], "there is no such column; did you mean 'income'"),
        (["--target", "income", "--m", "2.5"], "needed auto, a share between 0 and 1"),
        (["--target", "income", "--jobs", "0"], "given 0; needed 1 or more, or -1 for all"),
        (["--target", "income", "--task", "clusters"], "'clusters' is not one of"),
        (["--target", "name"], "name"),
        ([], "Missing option '--target'"),
    ],
    ids=["target", "m", "jobs", "task", "all different", "no target"],
)
def test_what_cannot_be_used_is_refused_and_nothing_is_written(options, message, table, out):
    done = run("fit", table, *options, "--out", out)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert "%" not in done.stderr  # no progress of what cannot be
    assert done.stdout == ""
    assert not out.exists()


def test_an_existing_model_is_refused_before_anything_is_read(tmp_path, out):
    out.write_text("mine")
    done = run("fit", tmp_path / "no.csv", "--target", "income", "--out", out)
    assert done.exit_code == 2
    assert "exists already; --force overwrites" in done.stderr
    assert out.read_text() == "mine"


def test_a_missing_file_is_one_line(tmp_path, out):
    done = run("fit", tmp_path / "no.csv", "--target", "income", "--out", out)
    assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)
    assert "no.csv" in done.stderr


def test_force_overwrites(table, out):
    shutil.copy(table, out)
    done = run(
        "fit", table, "--target", "income", "--id", "name", "--m", 0, "--out", out, "--force"
    )
    assert done.exit_code == 0
    assert out.read_bytes().startswith(b"sorr model 1 ")
