"""The tables: what users get of them, from files and from what the sources would send."""

import json

import numpy as np
import pytest

from sorr.datasets import (
    load_australian,
    load_emotions,
    load_monk,
    load_phoneme,
    load_scene,
    load_splice,
    load_titanic,
    load_yeast,
)

from .test_sources import KEEL, LIBSVM, OPENML, UCI, zipped

SPLICE = UCI + "molecular-biology/splice-junction-gene-sequences/splice.data"


def lines(rows, between=" "):
    return "".join(between.join(map(repr, row)) + "\n" for row in rows.tolist())


def as_libsvm(X, y):
    rows = [" ".join(f"{i}:{v!r}" for i, v in enumerate(row, 1) if v) for row in X.tolist()]
    return "".join(f"{label:+d} {row}\n" for label, row in zip(y, rows, strict=True)).encode()


def as_arff(X, Y):
    header = "".join(f"@attribute Att{i} numeric\n" for i in range(X.shape[1]))
    header += "".join(f"@attribute Class{i} {{FALSE,TRUE}}\n" for i in range(Y.shape[1]))
    words = np.where(Y == 1, "TRUE", "FALSE").tolist()
    rows = zip(X.tolist(), words, strict=True)
    body = "".join(",".join([*map(repr, x), *labels]) + "\n" for x, labels in rows)
    return f"@relation some\n{header}@data\n{body}".encode()


def as_sequences(X, y):
    letters = np.array(list("?AGCT"))[X.astype(int)]
    kinds = ["N" if label == 1 else "EI" for label in y]
    rows = [f"{k},  NAME,  {''.join(row)}\n" for k, row in zip(kinds, letters, strict=True)]
    return "".join(["EI, NAME, " + "N" * 60 + "\n", *rows]).encode()


def same(first, second):
    np.testing.assert_array_equal(first.data, second.data)
    np.testing.assert_array_equal(first.target, second.target)


@pytest.mark.parametrize(
    ("load", "shape", "counts"),
    [
        (load_monk, (432, 6), {1: 228, 0: 204}),
        (load_australian, (690, 14), {1: 307, 0: 383}),
        (load_phoneme, (5404, 5), {1: 1586, 0: 3818}),
        (load_titanic, (2201, 3), {1: 711, -1: 1490}),
        (load_splice, (3175, 60), {1: 1648, -1: 1527}),
    ],
)
def test_two_classes_have_the_sizes_that_the_paper_prints(load, shape, counts, data_folder):
    table = load(data_home=data_folder, download=False)
    assert (table.data.shape, table.data.dtype) == (shape, np.float64)
    labels, sizes = np.unique(table.target, return_counts=True)
    assert dict(zip(labels.tolist(), sizes.tolist(), strict=True)) == counts
    assert table.target.dtype == np.int64
    assert table.data.flags.c_contiguous


@pytest.mark.parametrize(
    ("load", "shape", "n_labels", "cardinality", "most"),
    [
        (load_emotions, (593, 72), 6, 1.868, 3),
        (load_scene, (2407, 294), 6, 1.074, 3),
        (load_yeast, (2417, 103), 14, 4.237, 11),
    ],
)
def test_sets_of_labels_are_indicators(load, shape, n_labels, cardinality, most, data_folder):
    table = load(data_home=data_folder, download=False)
    assert table.data.shape == shape
    assert (table.target.shape, table.target.dtype) == ((shape[0], n_labels), np.int8)
    sizes = table.target.sum(axis=1)
    assert (sizes.min(), sizes.max()) == (1, most)
    assert sizes.mean() == pytest.approx(cardinality, abs=5e-4)
    assert len(table.target_names) == n_labels


def test_australian_at_keel_has_lost_the_points_of_three_columns(data_folder):
    uci = load_australian(data_home=data_folder)
    keel = load_australian("keel", data_home=data_folder)
    np.testing.assert_array_equal(uci.target, keel.target)
    differ = np.flatnonzero((uci.data != keel.data).any(axis=0)).tolist()
    assert [uci.feature_names[i] for i in differ] == ["A2", "A3", "A7"]
    assert (uci.data[0, 1], keel.data[0, 1]) == (22.08, 2208)
    alike = [np.corrcoef(uci.data[:, i], keel.data[:, i])[0, 1] for i in differ]
    np.testing.assert_allclose(alike, [0.69, 0.40, 0.30], atol=0.005)


def test_titanic_at_keel_has_the_same_rows_in_another_order(data_folder):
    ours, keel = load_titanic(), load_titanic("keel", data_home=data_folder)
    assert not np.array_equal(ours.target, keel.target)
    first, second = (sorted(map(tuple, np.column_stack([t.data, t.target]))) for t in (ours, keel))
    assert first == second


def test_an_unknown_variant_is_refused():
    with pytest.raises(ValueError, match="variant='openml'; needed 'uci' or 'keel'"):
        load_australian("openml")


@pytest.mark.parametrize("load", [load_monk, load_titanic])
def test_generated_tables_need_neither_files_nor_network(load, network, cache):
    assert load(download=False).filename is None
    assert (network.asked, cache.exists()) == ([], False)


def test_australian_from_uci_or_from_libsvm_is_the_known_one(network, cache, data_folder):
    known = load_australian(data_home=data_folder)
    plain = lines(np.column_stack([known.data, known.target])).encode()
    for url, content in {
        UCI + "statlog/australian/australian.dat": plain,
        LIBSVM + "australian": as_libsvm(known.data, 2 * known.target - 1),
    }.items():
        network.contents = {url: content}
        fetched = load_australian()
        same(fetched, known)
        assert fetched.filename == str(cache / "australian.csv.gz")
        same(load_australian(download=False), known)
        (cache / "australian.csv.gz").unlink()


@pytest.mark.parametrize(
    ("load", "options", "name"),
    [(load_phoneme, {}, "phoneme"), (load_australian, {"variant": "keel"}, "australian")],
)
def test_tables_from_keel_are_the_known_ones(load, options, name, network, data_folder):
    known = load(**options, data_home=data_folder)
    rows = lines(np.column_stack([known.data, known.target]), ", ")
    content = f"@relation {name}\n@attribute a real\n@inputs a\n@data\n{rows}"
    network.contents[KEEL + f"{name}.zip"] = zipped(f"{name}.dat", content)
    same(load(**options), known)
    same(load(**options, download=False), known)


def test_splice_from_uci_and_libsvm_is_the_known_one(network, data_folder):
    known = load_splice(data_home=data_folder)
    X, y = known.data, known.target
    mixed = np.r_[999:-1:-1, 1000:3175]  # LIBSVM has an order of its own
    network.contents[SPLICE] = as_sequences(X[mixed], y[mixed])
    network.contents[LIBSVM + "splice"] = as_libsvm(X[:1000], y[:1000])
    same(load_splice(), known)
    same(load_splice(download=False), known)


def test_sets_of_labels_from_openml_are_the_known_ones(network, data_folder):
    known = load_emotions(data_home=data_folder)
    described = {"data_set_description": {"url": "https://somewhere/some.arff"}}
    network.contents[OPENML + "40589"] = json.dumps(described).encode()
    network.contents["https://somewhere/some.arff"] = as_arff(known.data, known.target)
    same(load_emotions(), known)
    same(load_emotions(download=False), known)
