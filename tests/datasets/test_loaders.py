"""The tables: what users get of them, from files and from what the sources would send."""

import builtins
import gzip
import hashlib
import inspect
import json
from dataclasses import replace

import numpy as np
import pytest

from sorr import datasets
from sorr.datasets import (
    DATASETS,
    inventory,
    load_australian,
    load_dataset,
    load_emotions,
    load_fashion_mnist,
    load_mnist,
    load_monk,
    load_phoneme,
    load_scene,
    load_splice,
    load_titanic,
    load_yeast,
    loaders,
    sources,
)
from sorr.datasets.catalogue import IMAGES, TABLES, Part
from sorr.datasets.files import write_csv
from tests.datasets.test_files import idx
from tests.datasets.test_sources import KEEL, LIBSVM, OPENML, UCI, zipped

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
    with pytest.raises(
        ValueError, match="variant='openml' is not known; needed one of 'uci', 'keel'"
    ):
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


# -- Images ----------------------------------------------------------------------------------------


@pytest.fixture
def mnist(monkeypatch, cache):
    """Let MNIST have three images for training and two for the test."""
    (cache / "mnist").mkdir(parents=True)
    parts = []
    for part, n in (("train", 3), ("t10k", 2)):
        pixels = np.random.default_rng(n).integers(0, 256, (n, 28, 28), dtype=np.uint8)
        for array, what in ((pixels, "images"), (np.arange(n, dtype=np.uint8), "labels")):
            sha256 = hashlib.sha256(array.tobytes()).hexdigest()
            parts.append(Part(f"mnist/{part}-{what}", array.shape, sha256))
            path = cache / "mnist" / f"{part}-{what}.gz"
            path.write_bytes(gzip.compress(idx(array)))
    small = replace(IMAGES["mnist"], train=tuple(parts[:2]), test=tuple(parts[2:]))
    monkeypatch.setattr(loaders, "IMAGES", {"mnist": small})


@pytest.mark.usefixtures("mnist")
def test_images_are_rows_of_pixels_in_parts(cache):
    train, test, both = (load_mnist(subset) for subset in ("train", "test", "all"))
    assert (train.data.shape, train.data.dtype) == ((3, 784), np.uint8)
    assert (test.target.tolist(), test.target.dtype) == ([0, 1], np.int64)
    np.testing.assert_array_equal(both.data, np.vstack([train.data, test.data]))
    np.testing.assert_array_equal(both.target, [0, 1, 2, 0, 1])
    expected = np.random.default_rng(3).integers(0, 256, (3, 28, 28), dtype=np.uint8)
    place = train.feature_names.index("pixel_2_5")
    np.testing.assert_array_equal(train.data[:, place], expected[:, 2, 5])
    assert train.filename == str(cache / "mnist" / "train-images.gz")
    train.data[0] = 0  # no buffer that must not be written to


@pytest.mark.usefixtures("mnist")
def test_images_can_be_frames():
    pytest.importorskip("pandas")
    loaded = load_mnist("test", as_frame=True)
    assert loaded.frame.shape == (2, 785)
    assert loaded.target.tolist() == [0, 1]


@pytest.mark.parametrize("load", [load_mnist, load_fashion_mnist])
def test_an_unknown_part_of_the_images_is_refused(load):
    with pytest.raises(
        ValueError, match="subset='valid' is not known; needed one of 'train', 'test'"
    ):
        load("valid")


@pytest.mark.parametrize("load", [load_mnist, load_fashion_mnist])
def test_images_have_ten_classes(load, data_folder):
    if not (data_folder / "mnist").is_dir():
        pytest.skip("no images there")
    X, y = load("test", data_home=data_folder, download=False, return_X_y=True)
    assert (X.shape, X.max()) == ((10_000, 784), 255)
    assert len(load("test", data_home=data_folder).target_names) == 10
    assert np.unique(y).tolist() == list(range(10))


# -- Bunches and frames ----------------------------------------------------------------------------


EMOTIONS = np.hstack(
    [np.arange(144.0).reshape(2, 72) / 8, [[1, 0, 0, 0, 0, 1], [0, 1, 0, 0, 0, 0]]]
)


@pytest.fixture
def emotions(monkeypatch, cache):
    """Let two rows be all of Emotions."""
    known = replace(TABLES["emotions"], rows=2, sha256=hashlib.sha256(EMOTIONS).hexdigest())
    for module in (sources, loaders):
        monkeypatch.setattr(module, "TABLES", {**TABLES, "emotions": known})
    cache.mkdir()
    (cache / "emotions.csv").write_bytes(write_csv((*known.features, *known.labels), EMOTIONS))
    return known


def test_a_bunch_has_the_parts_that_scikit_learn_gives(emotions, cache):
    loaded = load_emotions()
    np.testing.assert_array_equal(loaded.data, EMOTIONS[:, :72])
    np.testing.assert_array_equal(loaded.target, EMOTIONS[:, 72:])
    assert loaded.feature_names == list(emotions.features)
    assert loaded.target_names == list(emotions.target_names)
    assert emotions.text == loaded.DESCR
    assert loaded.filename == str(cache / "emotions.csv")


@pytest.mark.usefixtures("emotions")
def test_data_and_target_alone_are_those_of_the_bunch():
    loaded, (X, Y) = load_emotions(), load_emotions(return_X_y=True)
    np.testing.assert_array_equal(X, loaded.data)
    np.testing.assert_array_equal(Y, loaded.target)


@pytest.mark.usefixtures("emotions")
def test_frames_hold_the_same_numbers_under_names():
    pd = pytest.importorskip("pandas")
    loaded, plain = load_emotions(as_frame=True), load_emotions()
    np.testing.assert_array_equal(loaded.data.to_numpy(), plain.data)
    np.testing.assert_array_equal(loaded.target.to_numpy(), plain.target)
    assert loaded.target.columns.tolist() == plain.target_names
    assert loaded.frame.columns.tolist() == [*plain.feature_names, *plain.target_names]
    assert loaded.target.dtypes.unique().tolist() == [np.dtype(np.int8)]
    X, y = load_monk(as_frame=True, return_X_y=True)
    assert (type(X), type(y)) == (pd.DataFrame, pd.Series)
    assert (y.name, X.columns.tolist()) == ("y", ["a1", "a2", "a3", "a4", "a5", "a6"])


def test_frames_without_pandas_say_what_is_missing(monkeypatch):
    real = builtins.__import__

    def without_pandas(name, *rest):
        if name == "pandas":
            raise ImportError("No module named 'pandas'")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(ImportError, match=r"as_frame=True needs pandas, .*pip install pandas"):
        load_monk(as_frame=True)


def test_every_call_gives_arrays_of_its_own():
    first = load_monk()
    first.data[:], first.target[:] = 0, 0
    assert load_monk().target.sum() == 228
    assert load_monk().data.min() == 1


# -- Data sets by name -----------------------------------------------------------------------------


def loader(name):
    return getattr(datasets, "load_" + name.replace("-", "_"))


def test_the_names_are_those_of_the_paper_and_one_more():
    assert DATASETS == (
        "monk",
        "australian",
        "phoneme",
        "titanic",
        "splice",
        "emotions",
        "scene",
        "yeast",
        "mnist",
        "fashion-mnist",
    )


@pytest.mark.parametrize("name", DATASETS)
def test_all_loaders_take_the_same_options_by_keyword(name):
    options = {
        option: parameter.default
        for option, parameter in inspect.signature(loader(name)).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    assert options == {"return_X_y": False, "as_frame": False, "data_home": None, "download": True}


@pytest.mark.parametrize("name", DATASETS)
def test_a_name_gives_what_its_function_gives(name, data_folder):
    options = {"subset": "test"} if "mnist" in name else {}
    by_name = load_dataset(name, data_home=data_folder, download=False, **options)
    same = loader(name)(data_home=data_folder, download=False, **options)
    np.testing.assert_array_equal(by_name.data, same.data)
    np.testing.assert_array_equal(by_name.target, same.target)


def test_options_are_passed_on(data_folder):
    X, _ = load_dataset("australian", variant="keel", data_home=data_folder, return_X_y=True)
    assert X[0, 1] == 2208
    with pytest.raises(TypeError, match="unexpected keyword argument 'variant'"):
        load_dataset("monk", variant="keel")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("Monk", "did you mean 'monk'?"),
        ("fashion_mnist", "did you mean 'fashion-mnist'"),
        ("titanc", "did you mean 'titanic'?"),
        ("iris", "needed one of 'monk', 'australian', "),
        (3, "needed one of 'monk', 'australian', "),
    ],
)
def test_another_name_is_refused_with_the_closest_ones(name, advice):
    with pytest.raises(ValueError, match="is not the name of a data set") as caught:
        load_dataset(name)
    assert advice in str(caught.value)


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """Have no data anywhere, and no network."""

    def refuse(url):
        raise AssertionError(f"{url} is asked for")

    monkeypatch.setattr("sorr.datasets.sources.download_content", refuse)
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
    places = [next(e.place for e in inventory() if e.name == "mnist")]
    (folder / "train-labels-idx1-ubyte.gz").write_bytes(b"")
    places.append(next(e.place for e in inventory() if e.name == "mnist"))
    assert places[0].startswith("to be fetched")
    assert places[1] == f"found in {folder}"
