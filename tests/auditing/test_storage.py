import hashlib
import io
import json
import pickle
import struct
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("skops", reason="models are stored by it")

import numpy as np
import skops.io
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sorr import RankedRangeClassifier, RankedRangeRegressor
from sorr.auditing import ModelError, dump_model, fit_table, load_model, read_table, storage
from sorr.auditing.storage import _round_down, pack, read_model, unpack
from sorr.losses import Huber
from sorr.share import make_model


class Stranger(TransformerMixin, BaseEstimator):
    """A class that no model of ours has."""

    def fit(self, X, y=None):  # noqa: ARG002
        return self

    def transform(self, X):
        return X


def fitted_tree():
    return DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])


def table(n, seed=0):
    """Return rows of two numbers, one of them missing at times, and a text; and labels."""
    rng = np.random.default_rng(seed)
    X = np.empty((n, 3), dtype=object)
    X[:, :2] = rng.normal(size=(n, 2))
    X[::7, 1] = np.nan
    X[:, 2] = rng.choice(["plain", "=cmd", "<b>", "שלום", "rare " * (n > 5)], n)
    y = np.where(X[:, 0].astype(float) + 0.3 * rng.normal(size=n) > 0, "yes", "no")
    return X, y


def pipeline(last, before=()):
    prepare = ColumnTransformer(
        [
            ("numbers", SimpleImputer(strategy="median", add_indicator=True), [0, 1]),
            ("texts", OneHotEncoder(handle_unknown="ignore", min_frequency=2), [2]),
        ]
    )
    return Pipeline([*before, ("prepare", prepare), ("model", last)])


@pytest.fixture(scope="module")
def data():
    return table(60)


@pytest.fixture(scope="module")
def model(data):
    return pipeline(RankedRangeClassifier(m=0.1, C=60, random_state=0)).fit(*data)


@pytest.fixture(scope="module")
def content(model):
    return dump_model(model)


def signed(body):
    """Return a file with any content and the digest that belongs to it."""
    return f"sorr model 4 sha256:{hashlib.sha256(body).hexdigest()}\n".encode() + body


def crafted(thing):
    """Return a file of ours with anything in it that skops can write."""
    archive = skops.io.dumps(thing)
    return signed(b'{"scikit-learn": "1.0"}\n' + archive)


def reworded(content, change):
    """Return a file with another schema, and the digest that belongs to it."""
    _, versions, archive = content.split(b"\n", 2)
    members = unpack(archive)
    schema = json.loads(members["schema.json"])
    change(schema)
    members["schema.json"] = json.dumps(schema).encode()
    return signed(versions + b"\n" + pack(members))


def said(content):
    """Return the one line that refuses a file."""
    with pytest.raises(ModelError) as caught:
        read_model(content)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.digits
def test_a_loaded_model_predicts_the_same_to_the_last_bit(model, content, data, tmp_path):
    path = tmp_path / "model.skops"
    path.write_bytes(content)
    loaded = load_model(path)
    X = np.concatenate([data[0], table(200, seed=1)[0]])
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert loaded[-1].outlier_score(model[:-1].transform(data[0]), data[1]).tobytes() == (
        model[-1].outlier_score(model[:-1].transform(data[0]), data[1]).tobytes()
    )


@pytest.mark.parametrize(
    "last",
    [
        RankedRangeClassifier(m="auto", C=60, random_state=0),
        RankedRangeClassifier(m={"yes": 2, "no": 0.1}, loss="hinge", random_state=1, certify=False),
        RankedRangeClassifier(m=3, ranking="pooled", loss="softmax", class_weight="balanced"),
        RankedRangeClassifier(m=0.1, random_state=np.random.RandomState(0)),
        RankedRangeClassifier(m=0.1, random_state=np.random.default_rng(0)),
        RankedRangeClassifier(m=0.1, random_state=np.int64(3)),
    ],
    ids=lambda last: f"{last.m} {last.loss} {type(last.random_state).__name__}",
)
def test_whatever_the_parameters_are_the_file_can_be_loaded(last, data):
    X, y = data
    y = np.where(X[:, 2] == "plain", "perhaps", y) if last.loss == "softmax" else y
    fitted = pipeline(last).fit(X, y)
    loaded = read_model(dump_model(fitted))
    assert loaded.decision_function(X).tobytes() == fitted.decision_function(X).tobytes()
    assert loaded[-1].m == last.m
    assert loaded[-1].random_state in (None, 0, 1, 3)


@pytest.mark.parametrize("loss", ["squared", "absolute", Huber(delta=0.5)], ids=str)
def test_a_regression_too_predicts_the_same(loss, data):
    X, _ = data
    y = X[:, 0].astype(float) * 2 + 1
    fitted = pipeline(RankedRangeRegressor(m=5, loss=loss, random_state=0)).fit(X, y)
    loaded = read_model(dump_model(fitted))
    assert loaded.predict(X).tobytes() == fitted.predict(X).tobytes()
    assert loaded[-1].loss == loss


def named(name, seed=0, *, is_classifier=True):
    """Return a model of that name, with few trees."""
    model = make_model(name, seed, is_classifier=is_classifier)
    if name == "boosting":
        return model.set_params(max_iter=8)
    return model.set_params(n_estimators=20) if name == "forest" else model


@pytest.fixture(scope="module", params=["auto", "forest", "boosting"])
def trees(request, data):
    return pipeline(named(request.param)).fit(*data)


@pytest.fixture(scope="module")
def kept_trees(trees):
    return dump_model(trees)


@pytest.mark.digits
def test_trees_predict_the_same_to_the_last_bit(trees, kept_trees):
    X = table(400, seed=1)[0]
    X[::9, 0] = np.nan
    loaded = read_model(kept_trees)
    assert loaded.predict_proba(X).tobytes() == trees.predict_proba(X).tobytes()
    assert np.array_equal(loaded.predict(X), trees.predict(X))
    assert dump_model(trees) == kept_trees
    assert dump_model(loaded) == kept_trees
    assert type(loaded[-1]) is type(trees[-1])


@pytest.mark.parametrize("name", ["auto", "forest", "boosting"])
def test_trees_of_several_classes_predict_the_same(name):
    X, y = table(150)
    y = np.where(X[:, 2] == "plain", "perhaps", y)
    fitted = pipeline(named(name)).fit(X, y)
    loaded = read_model(dump_model(fitted))
    assert loaded.predict_proba(X).tobytes() == fitted.predict_proba(X).tobytes()
    assert loaded.classes_.tolist() == ["no", "perhaps", "yes"]


@pytest.mark.parametrize("name", ["auto", "forest", "boosting"])
def test_trees_of_numbers_predict_the_same(name, data):
    X, _ = data
    y = X[:, 0].astype(float) ** 2 - 3
    fitted = pipeline(named(name, is_classifier=False)).fit(X, y)
    content = dump_model(fitted)
    loaded = read_model(content)
    assert loaded.predict(X).tobytes() == fitted.predict(X).tobytes()
    assert type(loaded[-1]) is type(fitted[-1])
    assert dump_model(fitted) == content


def test_the_model_that_was_saved_keeps_its_trees(trees, kept_trees, data):
    last = trees[-1]
    assert kept_trees
    inside = last.forest_ if hasattr(last, "forest_") else last
    if hasattr(inside, "estimators_"):
        assert isinstance(inside.estimators_, list)
    assert len(trees.predict(data[0])) == 60


def test_a_forest_takes_a_few_bytes_for_each_node():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 6))
    y = np.where(X[:, 0] + rng.normal(size=1500) > 0, "a", "b")
    fitted = Pipeline([("model", named("forest"))]).fit(X, y)
    nodes = sum(tree.tree_.node_count for tree in fitted[-1].estimators_)
    assert nodes > 5000
    assert len(dump_model(fitted)) < 7 * nodes + 3000  # scikit-learn takes 80


@given(
    st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=9),
    st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=1, max_size=9),
)
def test_a_rounded_threshold_parts_numbers_of_32_bits_as_before(thresholds, numbers):
    exact = np.array(thresholds + [float(it) for it in numbers])
    rounded = _round_down(exact)
    assert np.array_equal(rounded, rounded.astype(np.float32))
    X = np.array(numbers, dtype=np.float32).astype(np.float64)
    np.testing.assert_array_equal(X[:, None] <= exact, X[:, None] <= rounded)


def tampered(content, name, change):
    """Return a file with one array of its trees changed."""
    _, versions, archive = content.split(b"\n", 2)
    members = unpack(archive)
    schema = json.loads(members["schema.json"])
    nodes = [it for it in storage.nodes(schema) if name in (it.get("content") or {})]
    (where,) = [it for it in nodes if "sizes" in it["content"]]
    file = where["content"][name]["file"]
    changed = change(np.load(io.BytesIO(members[file])))
    made = io.BytesIO()
    np.save(made, changed, allow_pickle=False)
    members[file] = made.getvalue()
    return signed(versions + b"\n" + pack(members))


def at(place, value):
    def change(array):
        array = array.copy()
        array[place] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("column", at(0, 99), "lead nowhere"),
        ("column", at(0, -1), "lead nowhere"),
        ("left", at(0, 0), "lead nowhere"),
        ("left", at(0, 10**6), "lead nowhere"),
        ("right", at(0, -5), "lead nowhere"),
        ("right", lambda it: it[:-1], "differ in length"),
        ("sizes", lambda it: it + 1, "do not add up"),
        ("sizes", lambda it: it[:0], "do not add up"),
        ("sizes", lambda it: it.astype(float), "sizes is no list of whole numbers"),
        ("sizes", lambda it: it[:, None], "sizes is no list of whole numbers"),
        ("threshold", lambda it: it[1:], "entries of threshold; needed"),
        ("threshold", lambda it: it.astype(np.int64), "threshold is no list of numbers"),
        ("value", lambda it: it[1:], "entries of value; needed"),
        ("missing_left", lambda it: it[1:], "entries of missing_left; needed"),
    ],
)
def test_trees_that_are_none_are_refused(kept_trees, name, change, message):
    assert message in said(tampered(kept_trees, name, change))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("value_class", at(0, 77), "trees that are damaged (IndexError"),
        ("n_values", at(0, 200), "entries of value_class; needed"),
        ("depths", lambda it: it[1:], "entries of depths; needed"),
    ],
)
def test_leaves_that_are_none_are_refused(data, name, change, message):
    content = dump_model(pipeline(named("forest")).fit(*data))
    assert message in said(tampered(content, name, change))


def test_trees_that_would_fill_the_memory_are_refused(kept_trees, trees, monkeypatch):
    monkeypatch.setattr("sorr.auditing.storage._MAX_BYTES", 1000)
    if hasattr(trees[-1], "_predictors"):
        assert read_model(kept_trees)  # their nodes are as large in the file
    else:
        assert "a model has fewer" in said(kept_trees)


def test_a_combined_model_without_its_parts_is_refused(data):
    fitted = pipeline(named("auto")).fit(*data)
    fitted[-1].line_ = LogisticRegression()
    assert "a combined model without its parts" in said(dump_model(fitted))


@pytest.mark.parametrize("labels", [[0, 1], [False, True], ["=b", "a"]], ids=str)
def test_classes_of_any_kind_come_back(labels, data):
    X, y = data
    y = np.array(labels)[(y == "yes").astype(int)]
    loaded = read_model(dump_model(pipeline(RankedRangeClassifier(m=0.1)).fit(X, y)))
    assert loaded.classes_.tolist() == labels
    assert loaded.classes_.dtype == y.dtype


def test_a_model_of_sorr_fit_comes_back_from_its_file(tmp_path):
    pd = pytest.importorskip("pandas", reason="tables are read by it")
    X, y = table(80)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).astype({"a": float, "b": float}).assign(y=y)
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    for target in ("y", "a"):
        fitted = fit_table(read_table(path), target, model="linear", m=0.1).pipeline
        content = dump_model(fitted)
        assert len(content) < 10_000
        loaded = read_model(content)
        assert np.array_equal(loaded.predict(frame), fitted.predict(frame))
        assert loaded.named_steps["columns"].of_kind("category") == (
            ["c"] if target == "y" else ["c", "y"]
        )


def test_nothing_of_the_training_rows_is_in_the_file():
    X, y = table(5000)
    X[:, 0] = np.pi * X[:, 0]
    fitted = pipeline(RankedRangeClassifier(m="auto", C=5000, random_state=0)).fit(X, y)
    content = dump_model(fitted)
    assert len(content) < 10_000
    loaded = read_model(content)
    assert set(vars(loaded[-1])) == {
        *fitted[-1].get_params(),
        *("coef_", "intercept_", "classes_", "_loss", "_levels", "n_features_in_"),
    }
    unpacked = b"".join(unpack(content.split(b"\n", 2)[2]).values())
    learned = {
        fitted["prepare"].transform(X[:1])[0, 0],
        *fitted["prepare"].named_transformers_["numbers"].statistics_,
    }
    for value in set(X[:50, 0]) - learned:
        assert struct.pack("<d", value) not in unpacked
        assert repr(value).encode() not in unpacked


def test_the_model_that_was_saved_is_left_as_it_was(data):
    state = np.random.RandomState(0)
    fitted = pipeline(RankedRangeClassifier(m=0.1, random_state=state)).fit(*data)
    before = dict(vars(fitted[-1]))
    dump_model(fitted)
    assert vars(fitted[-1]) == before
    assert fitted[-1].random_state is state


@pytest.mark.digits
def test_the_same_model_gives_the_same_bytes(model, content, data):
    assert dump_model(model) == content
    again = pipeline(RankedRangeClassifier(m=0.1, C=60, random_state=0)).fit(*data)
    assert dump_model(again) == content


def test_skops_can_read_the_file_by_itself(model, content, data, tmp_path):
    path = tmp_path / "model.skops"
    path.write_bytes(content)
    names = skops.io.get_untrusted_types(file=path)
    assert names == [
        "numpy.dtype",
        "sorr.estimators.classifier.RankedRangeClassifier",
        "sorr.losses.binary.Logistic",
    ]
    loaded = skops.io.load(path, trusted=names)
    assert np.array_equal(loaded.predict(data[0]), model.predict(data[0]))


def test_a_file_with_any_single_byte_altered_is_refused(content):
    rng = np.random.default_rng(0)
    for place, flip in enumerate(rng.integers(1, 256, len(content)).tolist()):
        altered = bytearray(content)
        altered[place] ^= flip
        with pytest.raises(ModelError):
            read_model(bytes(altered))


@pytest.mark.parametrize("bit", range(8))
def test_each_bit_of_the_first_line_counts(content, bit):
    for place in range(content.index(b"\n") + 1):
        altered = bytearray(content)
        altered[place] ^= 1 << bit
        with pytest.raises(ModelError):
            read_model(bytes(altered))


def test_a_file_that_was_cut_or_continued_is_refused(content):
    for wrong in (content[:-1], content[:100], content + b"\0", content + content):
        assert "changed or damaged" in said(wrong)


def test_a_file_of_another_kind_is_named(model, content):
    archive = content.split(b"\n", 2)[2]
    plain_zip = io.BytesIO()
    with zipfile.ZipFile(plain_zip, "w") as opened:
        opened.writestr("a.txt", "hello")
    assert said(b"") == "is empty, not a model file of sorr"
    assert said(b"a,b\n1,2\n").startswith("is a file of another kind, not a model file of sorr")
    assert "is a pickle, which could run any code" in said(pickle.dumps(model))
    assert "a zip archive without the first line" in said(plain_zip.getvalue())
    assert "a zip archive of skops without the first line" in said(archive)
    older = said(content.replace(b"model 4", b"model 3", 1))
    assert "has model format 3, but sorr" in older
    assert "fit the model again" in older
    newer = said(content.replace(b"model 4", b"model 5", 1))
    assert newer.endswith("reads format 4; use the version of sorr that wrote it")
    assert "is a sorr model with a damaged first line" in said(b"sorr model x\n")


def test_a_pickle_behind_a_valid_first_line_is_not_run(tmp_path):
    class Attack:
        def __reduce__(self):
            return Path.touch, (tmp_path / "run",)

    body = b'{"scikit-learn": "1.0"}\n' + pickle.dumps(Attack())
    assert "its archive is damaged (BadZipFile" in said(signed(body))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("thing", "name"),
    [
        (DecisionTreeClassifier(), "sklearn.tree._classes.DecisionTreeClassifier"),
        (fitted_tree().tree_, "sklearn.tree._tree.Tree"),
        (Stranger(), "tests.auditing.test_storage.Stranger"),
        (np.random.default_rng(0), "numpy.random._generator.Generator"),
        (zipfile.ZipFile, "zipfile.ZipFile"),
        ({1, 2}, "builtins.set"),
        (RankedRangeClassifier().fit, "sorr.estimators.classifier.RankedRangeClassifier"),
    ],
    ids=lambda it: it if isinstance(it, str) else "",
)
def test_a_type_that_is_no_part_of_a_model_is_refused(thing, name):
    unfitted = Pipeline([("model", thing)])
    assert f"holds a {name}, which is not part of a sorr model" in said(crafted(thing))
    assert f"holds a {name}, which is not part of a sorr model" in said(crafted(unfitted))


def test_a_trusted_type_loaded_in_another_way_is_refused(content):
    def call_it(schema):
        schema["content"]["content"]["memory"] = {
            "__class__": "Pipeline",
            "__module__": "sklearn.pipeline",
            "__loader__": "ConstructorFromReduceNode",
            "content": schema["content"]["content"]["memory"],
        }

    assert "holds a sklearn.pipeline.Pipeline, which is not part" in said(
        reworded(content, call_it)
    )


def test_an_old_protocol_of_skops_is_refused(content):
    def age(schema):
        schema["protocol"] = 1

    assert "has protocol 1 of skops; needed 2 or later" in said(reworded(content, age))


def test_a_faulty_schema_is_refused_in_a_sentence(content):
    assert "its archive is damaged (KeyError" in said(reworded(content, dict.clear))
    deep = signed(b"{}\n" + pack({"schema.json": b'{"content":' * 100_000}))
    assert "its archive is damaged (RecursionError" in said(deep)


def test_a_name_cannot_flood_the_screen(content):
    def rename(schema):
        schema["__class__"] = "x" * 10_000

    assert len(said(reworded(content, rename))) < 300


@pytest.mark.parametrize(
    ("thing", "found"),
    [
        ([1, 2], "holds a builtins.list; needed a Pipeline that ends in a RankedRangeClassifier"),
        (Pipeline([]), "holds a Pipeline that ends in a builtins.NoneType; needed a Ranked"),
        (
            Pipeline([("prepare", SimpleImputer())]),
            "holds a Pipeline that ends in a sklearn.impute._base.SimpleImputer; needed",
        ),
        (Pipeline([("model", RankedRangeClassifier())]), "holds a Pipeline that is not fitted"),
    ],
    ids=["list", "nothing", "imputer", "unfitted"],
)
def test_what_is_no_fitted_pipeline_of_ours_is_refused(thing, found):
    assert said(crafted(thing)).startswith(found)


def test_a_bomb_is_not_unpacked(content, monkeypatch):
    archive = pack({"schema.json": b" " * 1_000_000}, zipfile.ZIP_DEFLATED)
    monkeypatch.setattr("sorr.auditing.storage.LIMIT", 999_999)
    assert said(signed(b"{}\n" + archive)) == (
        "holds 1,000,000 bytes when unpacked; a model has 999,999 at most"
    )
    monkeypatch.setattr(storage, "LIMIT", len(content) - 1)
    assert "is larger than a model can be" in said(content)


def test_a_bomb_that_lies_about_its_size_is_read_no_further_than_it_says():
    archive = bytearray(pack({"schema.json": b" " * 1_000_000}, zipfile.ZIP_DEFLATED))
    size = struct.pack("<I", 1_000_000)
    assert archive.count(size) == 2  # before the member, and in the directory
    lying = bytes(archive.replace(size, struct.pack("<I", 10)))
    assert "its archive is damaged (BadZipFile" in said(signed(b"{}\n" + lying))


def test_an_archive_with_two_files_of_one_name_is_refused():
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("schema.json", "{}")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("schema.json", "{}")
    assert "holds an archive that skops did not write" in said(signed(b"{}\n" + made.getvalue()))


def test_what_could_not_be_loaded_is_not_saved(data):
    strange = pipeline(RankedRangeClassifier(m=0.1), [("strange", Stranger())]).fit(*data)
    with pytest.raises(ModelError, match=r"holds a tests\.auditing\.test_storage\.Stranger"):
        dump_model(strange)
    numbers = data[0][:, :1].astype(float)
    foreign = Pipeline([("scale", StandardScaler()), ("model", LogisticRegression())])
    with pytest.raises(ModelError, match=r"ends in a sklearn\.linear_model"):
        dump_model(foreign.fit(numbers, data[1]))
    with pytest.raises(ModelError, match=r"holds a sorr\.estimators\.classifier"):
        dump_model(RankedRangeClassifier(m=0.1).fit(numbers, data[1]))
    with pytest.raises(ModelError, match="not fitted"):
        dump_model(pipeline(RankedRangeClassifier()))


def test_another_scikit_learn_is_a_note_and_no_obstacle(model, content, data):
    _, versions, archive = content.split(b"\n", 2)
    found = json.loads(versions) | {"scikit-learn": "1.2.3"}
    older = signed(json.dumps(found).encode() + b"\n" + archive)
    with pytest.warns(UserWarning, match=r"fitted with scikit-learn 1\.2\.3, and .* is installed"):
        loaded = read_model(older)
    assert np.array_equal(loaded.predict(data[0]), model.predict(data[0]))


def test_the_path_is_part_of_each_message(tmp_path):
    path = tmp_path / "no.skops"
    with pytest.raises(ModelError, match=r"there is no file .*no\.skops; needed a model"):
        load_model(path)
    path.write_bytes(b"hello")
    with pytest.raises(ModelError, match=r"no\.skops is a file of another kind"):
        load_model(path)
    with pytest.raises(IsADirectoryError):
        load_model(tmp_path)


def test_without_skops_it_is_said_how_to_install_it(content, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "skops.io", None)
    with pytest.raises(ImportError, match=r"need skops, which is not installed: pip install"):
        read_model(content)
