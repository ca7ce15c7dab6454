import pytest

pytest.importorskip("pandas", reason="tables are an extra")

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from sorr.auditing import TableError
from sorr.auditing.preparation import MISSING, RawColumns, TypicalScaler, prepared_by, sources


def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "town": rng.choice(["Rome", "Bonn", "Oslo"], 60),
            "age": np.where(np.arange(60) % 7, rng.normal(size=60), np.nan),
            "smokes": rng.choice([True, False], 60),
            "size": rng.integers(1, 9, 60),
            "rare": ["a"] * 30 + ["b"] * 24 + ["c"] * 3 + ["d"] * 3,
            "gaps": [None] * 10 + ["x"] * 25 + ["y"] * 25,
        }
    )


def prepared(frame):
    columns = RawColumns().fit(frame)
    return Pipeline([("columns", columns), ("prepare", prepared_by(columns))]).fit(frame)


def test_columns_are_told_apart_by_what_is_in_them():
    columns = RawColumns().fit(frame())
    assert columns.numeric_ == ["age", "size"]
    assert columns.categorical_ == ["town", "smokes", "rare", "gaps"]
    names = columns.get_feature_names_out().tolist()
    assert names == columns.transform(frame()).columns.tolist()


def test_every_prepared_column_knows_where_it_comes_from():
    pipeline = prepared(frame())
    found = [source.label for source in sources(pipeline[-1])]
    assert found == [
        "age",
        "size",
        f"age = {MISSING}",
        "town = Bonn",
        "town = Oslo",
        "town = Rome",
        "smokes = True",
        "rare = a",
        "rare = b",
        "rare = (rare)",
        f"gaps = {MISSING}",
        "gaps = x",
        "gaps = y",
    ]
    X = pipeline.transform(frame())
    X = X.toarray() if hasattr(X, "toarray") else X
    assert X.shape == (60, len(found))
    np.testing.assert_array_equal(X[:, 4], frame()["town"] == "Oslo")
    np.testing.assert_array_equal(X[:, 6], frame()["smokes"])
    np.testing.assert_array_equal(X[:, 9], frame()["rare"].isin(["c", "d"]))
    np.testing.assert_array_equal(X[:, 10], frame()["gaps"].isna())
    np.testing.assert_array_equal(X[:, 2] > X[:, 2].min(), frame()["age"].isna())


def test_missing_numbers_become_the_median():
    X = prepared(frame()).transform(frame())
    X = X.toarray() if hasattr(X, "toarray") else X
    np.testing.assert_allclose(X[frame()["age"].isna(), 0], 0.0, atol=1e-12)


def test_the_same_values_in_other_types_and_orders_give_the_same_columns():
    pipeline, table = prepared(frame()), frame()
    other = pd.DataFrame(
        {
            "size": table["size"].astype(str),
            "extra": 1,
            "smokes": table["smokes"].astype(str),
            "gaps": table["gaps"].astype(object),
            "rare": pd.Categorical(table["rare"]),
            "age": table["age"].astype(object),
            "town": table["town"].astype("string"),
        }
    )
    first, second = pipeline.transform(table), pipeline.transform(other)
    assert abs(first - second).max() == 0.0


def test_a_category_is_the_same_as_a_whole_number_and_as_text():
    columns = RawColumns().fit(pd.DataFrame({"code": ["1", "2", "x"]}))
    for values in (["1", "2"], [1, 2], [1.0, 2.0]):
        assert columns.transform(pd.DataFrame({"code": values}))["code"].tolist() == ["1", "2"]


def test_an_array_in_the_order_of_the_fit_will_do():
    columns = RawColumns().fit(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}))
    found = columns.transform(np.array([[3.0, "z"]], dtype=object))
    assert found.to_dict("list") == {"a": [3.0], "b": ["z"]}
    with pytest.raises(TableError, match=r"shape \(1, 3\); needed 2 columns"):
        columns.transform(np.ones((1, 3)))


def test_polars_frames_will_do():
    pl = pytest.importorskip("polars", reason="optional")
    columns = RawColumns().fit(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}))
    found = columns.transform(pl.DataFrame({"b": ["y"], "a": [5.0]}))
    assert found.to_dict("list") == {"a": [5.0], "b": ["y"]}


def test_a_column_that_is_not_there_is_named():
    columns = RawColumns().fit(pd.DataFrame({"a": [1.0], "b": ["x"]}))
    with pytest.raises(TableError, match=r"1 of the columns .* missing: 'b'; needed all of them"):
        columns.transform(pd.DataFrame({"a": [1.0]}))


def test_a_text_where_numbers_were_is_named():
    columns = RawColumns().fit(pd.DataFrame({"a": [1.0, 2.0]}))
    with pytest.raises(TableError, match="column 'a' holds 'many', which is not a number"):
        columns.transform(pd.DataFrame({"a": ["3", "many"]}))


def test_infinite_numbers_are_missing():
    columns = RawColumns().fit(pd.DataFrame({"a": [1.0, 2.0]}))
    found = columns.transform(pd.DataFrame({"a": [np.inf, 1.0, -np.inf]}))["a"]
    assert found.isna().tolist() == [True, False, True]


def test_an_absurd_entry_leaves_the_scale_of_a_column_as_it_is():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    spoiled = X.copy()
    spoiled[0] = 1e12
    before, after = TypicalScaler().fit(X), TypicalScaler().fit(spoiled)
    np.testing.assert_allclose(after.scale_, before.scale_, rtol=0.02)
    np.testing.assert_allclose(before.scale_, 1.0, rtol=0.15)
    np.testing.assert_allclose(after.centre_, np.median(spoiled, axis=0))
    scaled = after.transform(spoiled)
    np.testing.assert_array_equal(scaled[0], 100.0)
    np.testing.assert_allclose(scaled[1:], (X[1:] - after.centre_) / after.scale_)


def test_rare_columns_and_constant_ones_have_a_scale_too():
    X = np.zeros((100, 2))
    X[:3, 0] = 5.0
    scaler = TypicalScaler().fit(X)
    np.testing.assert_allclose(scaler.scale_, [X[:, 0].std(), 1.0])
    np.testing.assert_allclose(scaler.transform(X)[:, 1], 0.0)
