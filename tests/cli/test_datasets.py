import csv
import io
import json

import pytest

pytest.importorskip("typer", reason="the command line is an extra")
pytest.importorskip("rich", reason="the command line is an extra")

import numpy as np
from typer.testing import CliRunner

from sorr.cli.app import app
from sorr.datasets import DATASETS, load_dataset


def datasets(*arguments):
    return CliRunner().invoke(app, ["datasets", *map(str, arguments)])


@pytest.fixture(autouse=True)
def _nothing_is_fetched(monkeypatch):
    def refuse(url):
        raise OSError(f"{url} is asked for")

    monkeypatch.setattr("sorr.datasets.sources.download_content", refuse)


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    monkeypatch.delenv("SORR_DATA", raising=False)
    monkeypatch.setenv("SORR_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("nowhere")
def test_the_list_says_where_each_is_from():
    done = datasets()
    assert done.exit_code == 0
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["monk", "432", "6", "2", "classes", "generated"] in lines
    assert [line[0] for line in lines if line and line[0] in DATASETS] == list(DATASETS)
    assert "to be fetched from UCI" in " ".join(done.stdout.split())


@pytest.mark.usefixtures("nowhere")
def test_the_list_for_scripts_is_one_object():
    found = json.loads(datasets("--json").stdout)["datasets"]
    assert [it["name"] for it in found] == list(DATASETS)
    assert found[0]["rows"] == 432


def test_what_is_written_reads_as_the_loaded_set(tmp_path):
    path = tmp_path / "titanic.csv"
    done = datasets("titanic", "--out", path)
    assert (done.exit_code, done.stdout, done.stderr) == (0, f"{path}\n", "")
    header, *rows = csv.reader(io.StringIO(path.read_text()))
    loaded = load_dataset("titanic")
    assert header == [*loaded.feature_names, "y"]
    X = np.array([row[:-1] for row in rows], dtype=float)
    assert np.array_equal(X, loaded.data)
    names = np.array(loaded.target_names)[(loaded.target == 1).astype(int)]
    assert [row[-1] for row in rows] == names.tolist()


def test_without_a_file_it_goes_to_standard_output_alone():
    done = datasets("monk")
    assert done.stdout.startswith("a1,a2,a3,a4,a5,a6,y\n1,1,1,1,1,1,rule holds\n")
    assert len(done.stdout.splitlines()) == 433
    assert done.stderr == ""


class Loaded:
    """Two rows with two labels each, as whole numbers."""

    data = np.array([[0, 255], [7, 8]], dtype=np.uint8)
    target = np.array([[0, 1], [1, 1]], dtype=np.int8)
    feature_names = ("p1", "p2")


def test_labels_have_a_column_each(monkeypatch):
    monkeypatch.setattr("sorr.datasets.load_dataset", lambda _: Loaded)
    assert datasets("emotions").stdout == "p1,p2,y1,y2\n0,255,0,1\n7,8,1,1\n"


@pytest.mark.usefixtures("nowhere")
def test_a_description_needs_no_file():
    found = json.loads(datasets("mnist", "--json").stdout)
    assert (found["rows"], found["columns"]) == (60_000, 784)
    assert "handwritten" in found["text"]


def test_scripts_are_told_where_the_file_is(tmp_path):
    path = tmp_path / "monk.csv"
    found = json.loads(datasets("monk", "--out", path, "--json").stdout)
    assert found["out"] == str(path)
    assert path.exists()


def test_a_wrong_name_is_refused_with_a_close_one(tmp_path):
    done = datasets("monkey", "--out", tmp_path / "x.csv")
    assert done.exit_code == 2
    assert done.stderr == (
        "Error: name='monkey' is not the name of a data set; did you mean 'monk'?\n"
    )
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_there_stays_unless_forced(tmp_path):
    path = tmp_path / "monk.csv"
    path.write_text("mine")
    assert datasets("monk", "--out", path).exit_code == 2
    assert path.read_text() == "mine"
    assert datasets("monk", "--out", path, "--force").exit_code == 0
    assert path.read_text().startswith("a1,")


def test_a_file_without_a_name_is_refused(tmp_path):
    done = datasets("--out", tmp_path / "x.csv")
    assert done.exit_code == 2
    assert "given without a NAME" in done.stderr


@pytest.mark.usefixtures("nowhere")
def test_a_set_that_cannot_be_fetched_is_one_line_with_the_way_out(tmp_path):
    done = datasets("phoneme", "--out", tmp_path / "x.csv")
    assert done.exit_code == 2
    assert done.stderr.startswith("Error: phoneme.csv.gz is not in")
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "x.csv").exists()
