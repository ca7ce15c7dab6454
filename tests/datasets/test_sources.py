"""Recipes: small files as the sources write them, put behind their addresses by hand."""

import io
import json
import zipfile

import numpy as np
import pytest
from scipy.io import savemat

from sorr.datasets.catalogue import IMAGES, TABLES
from sorr.datasets.sources import IMAGE_MIRRORS, SOURCES

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
    with pytest.raises(ValueError, match="LIBSVM has a row that UCI has not"):
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
