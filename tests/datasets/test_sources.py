"""Recipes: small files as the sources write them, put behind their addresses by hand."""

import gzip
import hashlib
import io
import json
import zipfile
from collections import Counter
from dataclasses import replace
from itertools import product
from urllib.request import Request

import numpy as np
import pytest
from scipy.io import savemat

from sorr.datasets import sources
from sorr.datasets.catalogue import IMAGES, TABLES, Part
from sorr.datasets.files import write_csv
from sorr.datasets.sources import IMAGE_MIRRORS, SOURCES, make_monk, make_titanic
from tests.datasets.test_files import idx

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
KEEL = "https://sci2s.ugr.es/keel/dataset/data/classification/"
OPENML = "https://www.openml.org/api/v1/json/data/"

ARFF = b"""\
@relation scene
@attribute Att1 numeric
@attribute Att2 numeric
@attribute Beach {0,1}
@data
0.646467,0.000083,1
"""


def zipped(name, content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, content)
    return file.getvalue()


def recipe(name, place):
    return SOURCES[name][place]


def test_every_table_has_a_source_unless_it_is_generated():
    assert set(SOURCES) == set(TABLES) - {"monk", "titanic"}
    assert all(SOURCES.values())
    assert set(IMAGE_MIRRORS) == set(IMAGES)


def test_australian_is_the_same_at_uci_and_at_libsvm(network):
    values = "1 22.08 11.46 2 4 4 1.585 0 0 0 1 2 100 1213"
    entries = [f"{i}:{float(value):f}" for i, value in enumerate(values.split(), 1)]
    pairs = " ".join(entry for entry in entries if not entry.endswith(":0.000000"))
    network.contents = {
        UCI + "statlog/australian/australian.dat": f"{values} 0\n{values} 1\n".encode(),
        LIBSVM + "australian": f"-1 {pairs} \n+1 {pairs} \n".encode(),
    }
    row = [float(value) for value in values.split()]
    for place in ("UCI", "LIBSVM"):
        table = recipe("australian", place)(network.get)
        np.testing.assert_array_equal(table, [[*row, 0], [*row, 1]])


@pytest.mark.parametrize(
    ("name", "file"),
    [("phoneme", "phoneme"), ("australian-keel", "australian"), ("titanic-keel", "titanic")],
)
def test_keel_packs_its_files(name, file, network):
    content = b"@relation x\n@attribute a real [1, 2208]\n@data\n2208.0, 0\n7, 1\n"
    network.contents[KEEL + f"{file}.zip"] = zipped(f"{file}.dat", content)
    np.testing.assert_array_equal(recipe(name, "KEEL")(network.get), [[2208, 0], [7, 1]])


def test_splice_has_the_rows_of_libsvm_first_and_the_others_as_they_are(network):
    network.contents = {
        UCI + "molecular-biology/splice-junction-gene-sequences/splice.data": b"""\
EI,   A-1,   AAAA
EI,   A-2,   AAAG
EI,   A-3,   AAAA
IE,   A-4,   NNNN
IE,   A-5,   AAAC
N,    A-6,   AAAA
N,    A-7,   AAAT
""",
        LIBSVM + "splice": b"+1 1:1 2:1 3:1 4:4\n-1 1:1 2:1 3:1 4:1\n",
    }
    table = recipe("splice", "UCI and LIBSVM")(network.get)
    first, others = [[4, 1], [1, -1]], [[2, -1], [1, -1], [3, -1], [1, 1]]
    np.testing.assert_array_equal(table[:, 3:], [*first, *others])
    np.testing.assert_array_equal(table[:, :3], np.ones((6, 3)))


def test_splice_with_a_row_that_uci_lacks_is_refused(network):
    network.contents = {
        UCI + "molecular-biology/splice-junction-gene-sequences/splice.data": b"EI, A-1, AAAA\n",
        LIBSVM + "splice": b"-1 1:1 2:1 3:1 4:1\n-1 1:1 2:1 3:1 4:1\n",
    }
    with pytest.raises(ValueError, match="LIBSVM has a row that UCI does not have"):
        recipe("splice", "UCI and LIBSVM")(network.get)


@pytest.mark.parametrize(
    ("name", "number"), [("emotions", 40589), ("scene", 40595), ("yeast", 40597)]
)
def test_openml_says_where_its_file_is(name, number, network):
    url = f"https://www.openml.org/data/v1/download/1/{name}.arff"
    described = {"data_set_description": {"id": str(number), "url": url}}
    network.contents = {OPENML + str(number): json.dumps(described).encode(), url: ARFF}
    table = recipe(name, "OpenML")(network.get)
    np.testing.assert_array_equal(table, [[0.646467, 0.000083, 1]])


def test_copies_on_github_are_pinned_to_a_commit_where_their_owner_may_change_them(network):
    for name, place in (
        ("emotions", "GitHub discovershu/SoRR"),
        ("scene", "GitHub li9i/mlaslcs"),
        ("yeast", "GitHub li9i/mlaslcs"),
        ("toy-balanced", "GitHub discovershu/SoRR"),
    ):
        with pytest.raises(OSError, match="no such address"):
            recipe(name, place)(network.get)
    for url in network.asked:
        owner_and_name = url.removeprefix("https://raw.githubusercontent.com/").split("/")
        assert len(owner_and_name[2]) == 40


def test_scene_is_the_training_part_and_then_the_test_part():
    contents = {
        "scene-train.arff": ARFF,
        "scene-test.arff": ARFF.replace(b"0.646467", b"0.5"),
    }
    table = recipe("scene", "GitHub li9i/mlaslcs")(lambda url: contents[url.rpartition("/")[2]])
    np.testing.assert_array_equal(table[:, 0], [0.646467, 0.5])


def test_plain_rows_on_github_are_read_as_they_are():
    rows = b"1.24,0.875,0\n0.268,1.352,1\n"
    for name, place in (
        ("phoneme", "GitHub jbrownlee/Datasets"),
        ("emotions", "GitHub discovershu/SoRR"),
    ):
        table = recipe(name, place)(lambda _: rows)
        np.testing.assert_array_equal(table, [[1.24, 0.875, 0], [0.268, 1.352, 1]])


@pytest.mark.parametrize("shape", [(2, 1), (1, 2)])
def test_toy_sets_are_files_of_matlab(shape):
    file = io.BytesIO()
    x, y = np.array([[2.0, 2.5], [0.1, 0.2]]), np.array([1, -1], dtype=np.int16)
    savemat(file, {"x": x, "y": y.reshape(shape)})
    table = recipe("toy-balanced", "GitHub discovershu/SoRR")(lambda _: file.getvalue())
    np.testing.assert_array_equal(table, [[2.0, 2.5, 1], [0.1, 0.2, -1]])
    assert table.dtype == np.float64


# -- Tables made by a rule -------------------------------------------------------------------------


def test_monk_is_every_combination_in_order_with_its_rule():
    expected = []
    for a1, a2, a3, a4, a5, a6 in product(*(range(1, size + 1) for size in (3, 3, 2, 3, 4, 2))):
        positive = (a5 == 3 and a4 == 1) or (a5 != 4 and a2 != 3)
        expected.append([a1, a2, a3, a4, a5, a6, int(positive)])
    np.testing.assert_array_equal(make_monk(), expected)
    assert sum(row[-1] for row in expected) == 228


def test_titanic_has_the_margins_of_the_board_of_trade():
    table = make_titanic()
    passage, age, sex, outcome = table.T
    assert table.shape == (2201, 4)
    assert Counter(passage.tolist()) == {-1.87: 325, -0.923: 285, 0.0214: 706, 0.965: 885}
    assert Counter(age.tolist()) == {-0.228: 2092, 4.38: 109}
    assert Counter(sex.tolist()) == {0.521: 1731, -1.92: 470}
    assert Counter(outcome.tolist()) == {1.0: 711, -1.0: 1490}
    assert Counter(passage[outcome == 1].tolist()) == {
        -1.87: 203,
        -0.923: 118,
        0.0214: 178,
        0.965: 212,
    }
    assert len(np.unique(table[:, :3], axis=0)) == 14


def test_titanic_has_no_fewer_errors_than_its_description_says():
    fewest = 0
    for row in np.unique(make_titanic()[:, :3], axis=0):
        same = (make_titanic()[:, :3] == row).all(axis=1)
        fewest += min((make_titanic()[same, 3] == outcome).sum() for outcome in (-1, 1))
    assert f"{fewest / 2201:.1%}" == "20.9%"
    assert "20.9 %" in TABLES["titanic"].text


def test_each_kind_of_passenger_is_spread_over_titanic():
    table = make_titanic()
    for kind in np.unique(table, axis=0):
        places = np.flatnonzero((table == kind).all(axis=1))
        for end in (500, 1000, 1500):
            expected = len(places) * end / len(table)
            assert abs((places < end).sum() - expected) <= 1


@pytest.mark.parametrize(("name", "make"), [("monk", make_monk), ("titanic", make_titanic)])
def test_generated_tables_are_those_of_the_catalogue(name, make):
    table = make()
    assert table.shape == TABLES[name].part.shape
    assert hashlib.sha256(table.astype("<f8").tobytes()).hexdigest() == TABLES[name].sha256


def test_monk_is_the_authors_file(data_folder):
    content = np.loadtxt(data_folder / "monk.csv.gz", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(make_monk(), content)


def test_titanic_is_keels_file_in_another_order(data_folder):
    content = np.loadtxt(data_folder / "titanic.csv.gz", delimiter=",", skiprows=1)
    assert Counter(map(tuple, make_titanic().tolist())) == Counter(map(tuple, content.tolist()))


# -- Files first, then sources in turn -------------------------------------------------------------


download_content = sources.download_content  # before it is put out of use for the tests
PHONEME = np.array([[1.24, 0.875, -0.205, -0.078, 0.067, 0], [0.268, 1.352, 1, -0.3, 0.2, 1]])
PICTURES = np.arange(2 * 28 * 28, dtype=np.uint8).reshape(2, 28, 28)
PART = Part("mnist/few-images", (2, 28, 28), hashlib.sha256(PICTURES.tobytes()).hexdigest())
MIRRORS = [
    "https://ossci-datasets.s3.amazonaws.com/mnist/few-images.gz",
    "https://storage.googleapis.com/cvdf-datasets/mnist/few-images.gz",
]
COPY = "https://raw.githubusercontent.com/jbrownlee/Datasets/master/phoneme.csv"


def rows(table):
    return write_csv(("no header there",), table).partition(b"\n")[2]


@pytest.fixture
def phoneme(monkeypatch):
    """Let two rows be all of Phoneme."""
    known = replace(TABLES["phoneme"], rows=2, sha256=hashlib.sha256(PHONEME).hexdigest())
    monkeypatch.setattr(sources, "TABLES", {"phoneme": known})
    return known


@pytest.mark.usefixtures("phoneme")
def test_what_was_fetched_once_is_read_from_the_cache(network, cache):
    network.contents[COPY] = rows(PHONEME)
    first, path = sources.get_table("phoneme", None, download=True)
    assert path == cache / "phoneme.csv.gz"
    assert len(network.asked) == 2  # KEEL, which had nothing, and then the copy
    second, same = sources.get_table("phoneme", None, download=False)
    assert (same, len(network.asked)) == (path, 2)
    for table in (first, second):
        np.testing.assert_array_equal(table, PHONEME)


def test_the_file_in_the_cache_has_the_header_and_is_the_same_each_time(phoneme, network, cache):
    network.contents[COPY] = rows(PHONEME)
    contents = []
    for _ in range(2):
        _, path = sources.get_table("phoneme", None, download=True)
        contents.append(path.read_bytes())
        path.unlink()
    assert contents[0] == contents[1]
    header = gzip.decompress(contents[0]).splitlines()[0].decode()
    assert header.split(",") == [*phoneme.features, "y"]
    assert list(cache.iterdir()) == []


@pytest.mark.usefixtures("phoneme")
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (rows(PHONEME[::-1]), "other values"),
        (rows(PHONEME[:1]), r"shape \(1, 6\); needed \(2, 6\)"),
        (b"<html>gone</html>", "could not convert"),
        (b"", "no rows"),
    ],
)
def test_other_rows_than_the_known_ones_are_refused_and_not_kept(content, reason, network, cache):
    network.contents[COPY] = content
    with pytest.raises(FileNotFoundError, match=f"jbrownlee/Datasets: ValueError: .*{reason}"):
        sources.get_table("phoneme", None, download=True)
    assert not cache.exists()


@pytest.mark.usefixtures("phoneme")
def test_a_damaged_file_is_neither_passed_over_nor_replaced(network, cache, tmp_path):
    network.contents[COPY] = rows(PHONEME)
    path = tmp_path / "phoneme.csv"
    path.write_bytes(b"f1,y\n1,0\n")
    with pytest.raises(ValueError, match=r"phoneme\.csv is damaged, or not the known"):
        sources.get_table("phoneme", tmp_path, download=True)
    assert path.read_bytes() == b"f1,y\n1,0\n"
    assert (network.asked, cache.exists()) == ([], False)


def test_without_download_the_error_says_where_it_looked_and_what_to_do(network, cache, tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        sources.get_table("scene", tmp_path, download=False)
    for said in (
        f"scene.csv.gz is not in {tmp_path} or {cache}",
        "download=False",
        "OpenML",
        "data_home",
        "SORR_DATA",
    ):
        assert said in str(caught.value)
    assert network.asked == []


def test_when_all_sources_fail_the_error_has_the_reason_of_each():
    with pytest.raises(FileNotFoundError) as caught:
        sources.get_table("phoneme", None, download=True)
    for said in ("KEEL: OSError: no such address", "Datasets: OSError: no such", "SORR_DATA"):
        assert said in str(caught.value)


def test_images_come_from_the_first_mirror_that_has_them(network, cache):
    archive = gzip.compress(idx(PICTURES))
    network.contents[MIRRORS[1]] = archive
    images, path = sources.get_images(PART, None, download=True)
    assert network.asked == MIRRORS
    assert path == cache / "mnist" / "few-images.gz"
    assert path.read_bytes() == archive
    np.testing.assert_array_equal(images, PICTURES)
    again, _ = sources.get_images(PART, None, download=False)
    np.testing.assert_array_equal(again, PICTURES)


def test_a_mirror_with_other_images_is_passed_over(network):
    network.contents[MIRRORS[0]] = gzip.compress(idx(PICTURES[::-1].copy()))
    network.contents[MIRRORS[1]] = gzip.compress(idx(PICTURES))
    images, _ = sources.get_images(PART, None, download=True)
    np.testing.assert_array_equal(images, PICTURES)


def test_a_download_that_breaks_off_is_a_reason_and_no_crash(network):
    network.contents = {
        MIRRORS[0]: gzip.compress(idx(PICTURES))[:-9],
        MIRRORS[1]: b"not an archive",
    }
    with pytest.raises(FileNotFoundError, match=r"EOFError.*BadGzipFile"):
        sources.get_images(PART, None, download=True)


def test_downloads_have_a_time_limit_and_say_who_asks(monkeypatch):
    calls = []

    class Response:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            calls.append("closed")

        def read(self):
            return b"content"

    def urlopen(request: Request, timeout: float):
        calls.append((request.full_url, request.get_header("User-agent"), timeout))
        return Response()

    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    assert download_content("https://example.org/x") == b"content"
    assert calls == [("https://example.org/x", "sorr", 30.0), "closed"]
