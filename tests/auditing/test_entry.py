import pytest

pytest.importorskip("pandas", reason="tables are an extra")

import numpy as np
import pandas as pd

import sorr
from sorr.auditing import TableError, variations
from tests.auditing.tables import mixed
from tests.slow import slow


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Make audits short: here it does not matter how much is tried besides the fit."""
    for name, number in (("_RESAMPLES", 2), ("_POINTS", 3), ("_FOLDS", 2)):
        monkeypatch.setattr(variations, name, number)


def found(*arguments, **options):
    report = sorr.audit(*arguments, model="linear", m=8, **options)
    return np.flatnonzero(report.fitted.dropped).tolist()


def test_labels_are_a_column_or_stand_apart():
    frame = mixed()
    X, y = frame.drop(columns="y"), frame["y"]
    expected = found(frame, "y")
    assert len(expected) == 8
    assert found(X, y) == found(X, list(y)) == expected
    assert found(X.set_index(np.arange(240)[::-1]), y) == expected


def test_arrays_sparse_matrices_and_polars_will_do():
    sparse = pytest.importorskip("scipy.sparse")
    X, y = mixed()[["age", "noise"]].fillna(40.0).to_numpy(), mixed()["y"]
    expected = found(X, y)
    assert found(sparse.csr_array(X), y) == expected
    assert found(X.astype(object).tolist(), y) == expected
    pl = pytest.importorskip("polars", reason="optional")
    assert found(pl.DataFrame(X), pl.Series(y.to_list())) == expected


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (mixed(), mixed()["y"], "X also holds the labels, in column y"),
        (mixed(), [1, 2], "X has 240 rows, but y has 2; needed one label per row"),
        ([1, 2], [1, 2], r"X has shape \(2,\)"),
        (np.empty((0, 3)), [], "no row has a value of the target"),
        (mixed(), mixed()[["y"]], r"y has shape \(240, 1\)"),
        (mixed(), "label", "target='label': there is no such column"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), [1], "X has two columns named a"),
    ],
)
def test_what_makes_no_sense_is_refused(X, y, message):
    with pytest.raises(TableError, match=message):
        sorr.audit(X, y)


def test_another_column_of_the_name_of_the_labels_is_learned_from():
    frame = mixed()
    y = frame["y"].rename("age")
    report = sorr.audit(frame.drop(columns="y"), y, model="linear", m=8)
    assert report.rows.roles.target == "age (y)"
    assert "age" in report.rows.frame.columns


def test_names_are_a_list_and_not_a_text():
    with pytest.raises(TypeError, match=r"ignore='age' is a single text; needed a list of names"):
        sorr.audit(mixed(), "y", ignore="age")


@pytest.mark.parametrize("state", [np.random.default_rng(0), *slow(np.random.RandomState(0), None)])
def test_any_source_of_random_numbers_will_do(state):
    assert len(found(mixed(), "y", random_state=state)) == 8


def test_numbers_of_numpy_are_numbers():
    report = sorr.audit(mixed(), "y", model="linear", m=np.int64(8))
    assert report.n_dropped == 8


@pytest.mark.parametrize(
    ("m", "message"),
    [("0.1", "m='0.1' is not a number; needed 'auto'"), (True, "m=True is not a number")],
)
def test_what_is_no_number_of_rows_is_refused(m, message):
    with pytest.raises(TableError, match=message):
        sorr.audit(mixed(), "y", m=m)


def test_the_model_is_named_and_a_number_of_rows_needs_a_linear_one():
    report = sorr.audit(mixed(n=120), "y", model="forest")
    assert report.fitted.name == "forest"
    assert report.linear is None
    with pytest.raises(
        TableError, match=r"m=8 needs a linear model, but the model is model='auto'"
    ):
        sorr.audit(mixed(), "y", m=8)


def test_lists_of_mixed_rows_keep_their_kinds():
    X = [[float(i) / 2, "u" if i % 3 else "v"] for i in range(40)]
    report = sorr.audit(X, ["a", "b"] * 20, model="linear", m=0)
    assert report.model[0].kinds_ == {"x0": "number", "x1": "category"}
