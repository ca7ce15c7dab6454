"""Bunches: the same parts in every form that is asked for."""

import builtins
import hashlib
from dataclasses import replace

import numpy as np
import pytest

from sorr.datasets import bunch, fetch, load_emotions, load_monk
from sorr.datasets.catalogue import TABLES
from sorr.datasets.formats import write_csv

EMOTIONS = np.hstack(
    [np.arange(144.0).reshape(2, 72) / 8, [[1, 0, 0, 0, 0, 1], [0, 1, 0, 0, 0, 0]]]
)


@pytest.fixture
def emotions(monkeypatch, cache):
    """Let two rows be all of Emotions."""
    known = replace(TABLES["emotions"], rows=2, sha256=hashlib.sha256(EMOTIONS).hexdigest())
    for module in (fetch, bunch):
        monkeypatch.setattr(module, "TABLES", {**TABLES, "emotions": known})
    cache.mkdir()
    (cache / "emotions.csv").write_bytes(write_csv((*known.features, *known.labels), EMOTIONS))
    return known


def test_a_bunch_has_the_parts_that_scikit_learn_gives(emotions, cache):
    found = load_emotions()
    np.testing.assert_array_equal(found.data, EMOTIONS[:, :72])
    np.testing.assert_array_equal(found.target, EMOTIONS[:, 72:])
    assert found.feature_names == list(emotions.features)
    assert found.target_names == list(emotions.target_names)
    assert emotions.text == found.DESCR
    assert found.filename == str(cache / "emotions.csv")


@pytest.mark.usefixtures("emotions")
def test_data_and_target_alone_are_those_of_the_bunch():
    found, (X, Y) = load_emotions(), load_emotions(return_X_y=True)
    np.testing.assert_array_equal(X, found.data)
    np.testing.assert_array_equal(Y, found.target)


@pytest.mark.usefixtures("emotions")
def test_frames_hold_the_same_numbers_under_names():
    pd = pytest.importorskip("pandas")
    found, plain = load_emotions(as_frame=True), load_emotions()
    np.testing.assert_array_equal(found.data.to_numpy(), plain.data)
    np.testing.assert_array_equal(found.target.to_numpy(), plain.target)
    assert found.target.columns.tolist() == plain.target_names
    assert found.frame.columns.tolist() == [*plain.feature_names, *plain.target_names]
    assert found.target.dtypes.unique().tolist() == [np.dtype(np.int8)]
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
