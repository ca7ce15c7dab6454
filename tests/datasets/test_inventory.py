import pytest

from sorr.datasets import DATASETS, load_dataset
from sorr.datasets.inventory import inventory


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """Have no data anywhere, and no network."""

    def refuse(url):
        raise AssertionError(f"{url} is asked for")

    monkeypatch.setattr("sorr.datasets.fetch.download_content", refuse)
    monkeypatch.delenv("SORR_DATA", raising=False)
    monkeypatch.setenv("SORR_CACHE", str(tmp_path))
    return tmp_path


def test_each_data_set_is_listed_once(nowhere):
    assert not list(nowhere.iterdir())
    assert tuple(entry.name for entry in inventory()) == DATASETS


@pytest.mark.usefixtures("nowhere")
def test_sets_that_follow_from_a_rule_need_no_file():
    places = {entry.name: entry.place for entry in inventory()}
    assert places["monk"] == places["titanic"] == "generated"
    assert places["australian"] == "to be fetched from UCI"
    assert places["mnist"].startswith("to be fetched from https://")
    for name in DATASETS:
        assert (places[name] == "generated") == (name in ("monk", "titanic"))


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("name", ["monk", "titanic"])
def test_the_numbers_are_those_of_the_loaded_set(name):
    entry = next(entry for entry in inventory() if entry.name == name)
    loaded = load_dataset(name)
    assert loaded.data.shape == (entry.rows, entry.columns)
    assert entry.target == f"{len(loaded.target_names)} classes"
    assert entry.text == loaded.DESCR


def test_a_file_that_is_there_is_named_by_its_folder(nowhere):
    (nowhere / "emotions.csv.gz").write_bytes(b"")
    entry = next(entry for entry in inventory() if entry.name == "emotions")
    assert (entry.place, entry.target) == (f"found in {nowhere}", "6 labels")


def test_images_without_their_classes_are_not_there(nowhere):
    folder = nowhere / "mnist"
    folder.mkdir()
    (folder / "train-images-idx3-ubyte.gz").write_bytes(b"")
    found = [next(e.place for e in inventory() if e.name == "mnist")]
    (folder / "train-labels-idx1-ubyte.gz").write_bytes(b"")
    found.append(next(e.place for e in inventory() if e.name == "mnist"))
    assert found[0].startswith("to be fetched")
    assert found[1] == f"found in {folder}"
