import csv
import io
import json
import shutil

import pytest

pytest.importorskip("typer", reason="the command line is an extra")
pytest.importorskip("rich", reason="the command line is an extra")
pytest.importorskip("pandas", reason="tables are read by it")
pytest.importorskip("skops", reason="models are stored by it")

import pandas as pd
from sklearn.pipeline import Pipeline
from typer.testing import CliRunner

from sorr import RankedRangeClassifier
from sorr.auditing import dump_model, load_model
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
    done = run(
        "fit",
        table,
        "--target",
        "income",
        "--id",
        "name",
        "--model",
        "linear",
        "--m",
        6,
        "--out",
        out,
    )
    assert done.exit_code == 0, done.stderr
    first, second, third, last = done.stdout.splitlines()
    assert first == "people.csv: 120 rows, 2 columns to learn income from (classification)."
    assert second == "6 rows were dropped (5.0% of all)."
    assert third.startswith("The model disagrees with ")
    assert last == str(out)
    model = load_model(out)
    assert model.classes_.tolist() == ["high", "low"]
    assert sorted(model.named_steps["columns"].feature_names_in_) == ["age", "job"]


def test_scripts_get_one_object(table, out):
    options = ("--target", "income", "--id", "name", "--model", "forest")
    done = run("fit", table, *options, "--out", out, "--json")
    found = json.loads(done.stdout)
    assert (found["rows"], found["columns"], found["task"]) == (RIGHT, 2, "classification")
    assert 0 <= found["left_out"] <= 8
    assert 0 <= found["error_on_kept_rows"] < 0.2
    assert (found["model"], found["file"]) == ("forest", str(out))
    assert found["verdict"] in ("none", "weak", "clear", "strong")


def test_a_forest_is_told_by_rows_that_it_has_not_seen(table, out):
    options = ("--target", "income", "--id", "name", "--model", "forest")
    done = run("fit", table, *options, "--out", out)
    assert "of the labels that were kept, before it has seen them." in done.stdout
    assert type(load_model(out)[-1]).__name__ == "ExtraTreesClassifier"


def test_numbers_are_told_by_their_mean_absolute_error(table, out):
    done = run("fit", table, "--target", "age", "--id", "name", "--out", out)
    assert done.exit_code == 0, done.stderr
    assert "(regression)." in done.stdout
    assert "The mean absolute error on the rows that were kept is " in done.stdout


@pytest.mark.slow
def test_the_same_seed_gives_the_same_file(table, out, tmp_path):
    again = tmp_path / "again.skops"
    options = ("--target", "income", "--ignore", "name", "--rows", 80, "--seed", 3)
    options = (*options, "--model", "linear", "--m", 0.1)
    assert run("fit", table, *options, "--out", out).exit_code == 0
    assert run("fit", table, *options, "--out", again).exit_code == 0
    assert out.read_bytes() == again.read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "incme"], "there is no such column; did you mean 'income'"),
        (["--target", "income", "--m", "2.5"], "needed auto, a share between 0 and 1"),
        (["--target", "income", "--ignore", "name", "--m", "5"], "--m 5 needs a linear model"),
        (["--target", "income", "--jobs", "0"], "given 0; needed 1 or more, or -1 for all cores"),
        (["--target", "income", "--task", "clusters"], "'clusters' is not one of"),
        (["--target", "name"], "name"),
        ([], "Missing option '--target'"),
    ],
    ids=["target", "m", "m without linear", "jobs", "task", "all different", "no target"],
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
    assert "exists already; overwrite with --force" in done.stderr
    assert out.read_text() == "mine"


def test_a_missing_file_is_one_line(tmp_path, out):
    done = run("fit", tmp_path / "no.csv", "--target", "income", "--out", out)
    assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)
    assert "no.csv" in done.stderr


def test_force_overwrites(table, out):
    shutil.copy(table, out)
    done = run(
        *("fit", table, "--target", "income", "--id", "name"),
        *("--model", "linear", "--m", 0, "--out", out, "--force"),
    )
    assert done.exit_code == 0
    assert out.read_bytes().startswith(b"sorr model 4 ")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table, a model of classes and one of numbers."""
    folder = tmp_path_factory.mktemp("models")
    table_to_predict = people(folder / "people.csv")
    for target, name in (("income", "classes.skops"), ("age", "numbers.skops")):
        options = ("--target", target, "--ignore", "name", "--model", "linear", "--m", 0.05)
        assert run("fit", table_to_predict, *options).exit_code == 2  # no --out
        assert run("fit", table_to_predict, *options, "--out", folder / name).exit_code == 0
    return folder


@pytest.fixture
def table_to_predict(tmp_path):
    return people(tmp_path / "new.csv", seed=1)


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_each_row_is_predicted_as_the_model_does_in_python(folder, table_to_predict):
    done = run("predict", folder / "classes.skops", table_to_predict, "--id", "name")
    assert (done.exit_code, done.stderr) == (0, "")
    found = rows(done.stdout)
    frame = pd.read_csv(table_to_predict)
    model = load_model(folder / "classes.skops")
    assert list(found[0]) == ["row", "name", "prediction", "probability"]
    assert [row["row"] for row in found] == [str(i) for i in range(len(frame))]
    assert [row["name"] for row in found] == frame["name"].tolist()
    assert [row["prediction"] for row in found] == model.predict(frame).tolist()
    sure = model.predict_proba(frame).max(axis=1)
    assert [float(row["probability"]) for row in found] == sure.tolist()


def test_numbers_have_no_probability(folder, table_to_predict):
    found = rows(run("predict", folder / "numbers.skops", table_to_predict).stdout)
    assert list(found[0]) == ["row", "prediction"]
    assert 10 < float(found[0]["prediction"]) < 70


def test_a_file_is_written_whole_and_not_overwritten(folder, table_to_predict, tmp_path):
    out = tmp_path / "out.csv"
    model = folder / "classes.skops"
    done = run("predict", model, table_to_predict, "--out", out)
    assert (done.exit_code, done.stdout) == (0, f"120 predictions are in {out}\n")
    assert out.read_text() == run("predict", model, table_to_predict).stdout
    out.write_text("mine")
    again = run("predict", model, table_to_predict, "--out", out)
    assert again.exit_code == 2
    assert "exists already" in again.stderr
    assert out.read_text() == "mine"
    assert run("predict", model, table_to_predict, "--out", out, "--force").exit_code == 0
    assert out.read_text() != "mine"


def test_scripts_get_one_object_of_predictions(folder, table_to_predict, tmp_path):
    model = folder / "classes.skops"
    found = json.loads(run("predict", model, table_to_predict, "--id", "name", "--json").stdout)
    assert (found["rows"], found["table"], found["out"]) == (120, "new.csv", None)
    first = found["predictions"][0]
    assert (first["row"], first["name"]) == (0, "p000")
    assert first["prediction"] in ("high", "low")
    out = tmp_path / "out.csv"
    done = run("predict", model, table_to_predict, "--out", out, "--json")
    assert json.loads(done.stdout) == {
        "model": str(model),
        "table": "new.csv",
        "rows": 120,
        "out": str(out),
    }
    assert len(out.read_text().splitlines()) == 121


def test_columns_may_be_more_and_in_another_order_and_the_target_absent(
    folder, table_to_predict, tmp_path
):
    frame = pd.read_csv(table_to_predict)
    other = tmp_path / "other.csv"
    frame[["job", "age"]].assign(more="x").to_csv(other, index=False)
    model = folder / "classes.skops"
    assert run("predict", model, other).stdout == run("predict", model, table_to_predict).stdout


def test_missing_columns_are_listed_with_those_that_may_be_meant(
    folder, table_to_predict, tmp_path
):
    other = tmp_path / "other.csv"
    pd.read_csv(table_to_predict).rename(columns={"age": "Age", "job": "zzz"}).to_csv(
        other, index=False
    )
    done = run("predict", folder / "classes.skops", other)
    assert done.exit_code == 2
    assert done.stderr == (
        f"Error: {other} lacks 2 of the 2 columns that the model learned from: 'age' (there is "
        "'Age'), 'job'; needed all of them, with the same names\n"
    )


def test_a_wrong_id_names_a_close_one(folder, table_to_predict):
    done = run("predict", folder / "classes.skops", table_to_predict, "--id", "nmae")
    assert done.exit_code == 2
    assert "has no column 'nmae'; did you mean 'name'" in done.stderr


def test_texts_of_digits_are_read_as_they_were_learned(tmp_path):
    train, out = tmp_path / "train.csv", tmp_path / "m.skops"
    lines = [f"{'01' if i % 2 else 'x1'},{'a' if i % 2 else 'b'}" for i in range(60)]
    train.write_text("\n".join(["code,y", *lines, ""]))
    assert run("fit", train, "--target", "y", "--model", "linear", "--out", out).exit_code == 0
    new = tmp_path / "new.csv"
    new.write_text("code\n01\n01\n")  # a column of numbers, were it not known better
    found = rows(run("predict", out, new).stdout)
    assert [row["prediction"] for row in found] == ["a", "a"]


def test_formulas_are_neutral_in_the_file(tmp_path):
    train, out = tmp_path / "train.csv", tmp_path / "m.skops"
    lines = [f"{i},{'=cmd' if i > 30 else '-1+2'},@{i}" for i in range(60)]
    train.write_text("\n".join(["x,y,id", *lines, ""]))
    done = run("fit", train, "--target", "y", "--id", "id", "--model", "linear", "--out", out)
    assert done.exit_code == 0, done.stderr
    first, *_, last = rows(run("predict", out, train, "--id", "id").stdout)
    assert (first["id"], first["prediction"]) == ("'@0", "'-1+2")
    assert (last["id"], last["prediction"]) == ("'@59", "'=cmd")


def test_an_id_called_like_a_column_of_ours_gets_another_name(folder, table_to_predict, tmp_path):
    other = tmp_path / "other.csv"
    pd.read_csv(table_to_predict).rename(columns={"name": "row"}).to_csv(other, index=False)
    found = rows(run("predict", folder / "classes.skops", other, "--id", "row").stdout)
    assert (found[3]["row"], found[3]["id"]) == ("3", "p003")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"name,age\n"])
def test_what_is_no_model_is_refused_in_one_line(content, table_to_predict, tmp_path):
    model = tmp_path / "model.skops"
    model.write_bytes(content)
    done = run("predict", model, table_to_predict)
    assert (done.exit_code, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert "not a model file of sorr" in done.stderr


def test_an_altered_model_is_refused(folder, table_to_predict, tmp_path):
    content = bytearray((folder / "classes.skops").read_bytes())
    content[-100] ^= 1
    model = tmp_path / "model.skops"
    model.write_bytes(content)
    done = run("predict", model, table_to_predict)
    assert done.exit_code == 2
    assert "was changed or damaged" in done.stderr


def test_a_model_of_prepared_columns_is_refused(table_to_predict, tmp_path):
    last = RankedRangeClassifier(m=0).fit([[0.0], [1.0], [2.0], [0.5]], [0, 1, 1, 1])
    model = tmp_path / "model.skops"
    model.write_bytes(dump_model(Pipeline([("model", last)])))
    done = run("predict", model, table_to_predict)
    assert done.exit_code == 2
    assert "does not take raw columns" in done.stderr


def test_a_model_of_another_time_says_what_it_needs(folder, table_to_predict, tmp_path):
    aged = load_model(folder / "classes.skops")
    del aged.named_steps["prepare"].transformers_  # as if scikit-learn had called it otherwise
    model = tmp_path / "model.skops"
    model.write_bytes(dump_model(aged))
    done = run("predict", model, table_to_predict)
    assert done.exit_code == 2
    assert "does not work with the installed packages (" in done.stderr
    assert "or fit the model again" in done.stderr


def test_a_file_that_is_not_there_is_one_line(folder, tmp_path):
    for model, table_to_predict in (
        (tmp_path / "no", "x.csv"),
        (folder / "classes.skops", tmp_path / "no.csv"),
    ):
        done = run("predict", model, table_to_predict)
        assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)
