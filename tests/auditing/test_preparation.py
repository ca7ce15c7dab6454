import pytest

pytest.importorskip("pandas", reason="tables are an extra")

import numpy as np
import pandas as pd
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import Pipeline

from sorr.auditing import TableError
from sorr.auditing.columns import read_columns
from sorr.auditing.preparation import (
    MISSING,
    DateParts,
    RawColumns,
    TextEncoder,
    TypicalScaler,
    new_categories,
    prepared_by,
    sources,
)


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
    assert columns.of_kind("number") == ["age", "size"]
    assert columns.of_kind("category") == ["town", "smokes", "rare", "gaps"]
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
    columns = RawColumns().fit(pd.DataFrame({"code": ["1", "2", "x"] * 4}))
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
    columns = RawColumns().fit(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}))
    with pytest.raises(TableError, match=r"1 of the columns .* missing: 'b'; needed all of them"):
        columns.transform(pd.DataFrame({"a": [1.0]}))


def test_a_text_where_numbers_were_is_named():
    columns = RawColumns().fit(pd.DataFrame({"a": [1.0, 2.0]}))
    with pytest.raises(TableError, match="column 'a' holds 'many', which is not a number; needed"):
        columns.transform(pd.DataFrame({"a": ["3", "many"]}))
    few = pd.DataFrame({"a": ["3"] * 30 + ["many", "?", "inf"]})
    with pytest.warns(UserWarning, match="'many', which is not a number: 1 such value counts as"):
        found = columns.transform(few)["a"]
    assert found.isna().tolist() == [False] * 30 + [True] * 3


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


# -- Numbers in costume, dates and texts -----------------------------------------------------------


def messy(n=120):
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    jobs = [f"{a} {b}" for a in ("senior", "junior", "chief") for b in ("nurse", "clerk", "driver")]
    return pd.DataFrame(
        {
            "spent": [f"${value:,.2f}" for value in rng.lognormal(7, 1, n)],
            "weight": [f"{value:.1f} kg" for value in rng.normal(70, 9, n)],
            "signed": [day.strftime("%d/%m/%Y") for day in days],
            "job": [f"{jobs[i % 9]} {i % 10}" for i in range(n)],
        }
    )


def test_a_pipeline_takes_raw_rows_with_amounts_dates_and_texts():
    table = messy()
    pipeline = prepared(table)
    X = pipeline.transform(table)
    found = [source.label for source in sources(pipeline[-1])]
    assert X.shape == (120, len(found))
    assert np.isfinite(X).all()
    assert found[:7] == [
        *("spent", "weight", "signed (year)", "signed (month)", "signed (weekday)"),
        *("signed (days)", "job (text 1)"),
    ]
    one = pipeline.transform(table.iloc[[5]])
    np.testing.assert_allclose(one, X[[5]])


def test_another_unit_or_format_at_prediction_is_named():
    pipeline = prepared(messy())
    with pytest.raises(TableError, match=r"holds '150 lb', which is not a number; .* in kg, as"):
        pipeline.transform(messy().assign(weight="150 lb"))
    with pytest.raises(TableError, match=r"holds '2020 Jan', .* needed dates \(day/month/year\)"):
        pipeline.transform(messy().assign(signed="2020 Jan"))
    plain = messy().assign(weight=70.5, signed=pd.Timestamp("2020-01-31"))
    assert np.isfinite(pipeline.transform(plain)).all(), "numbers and dates by type will do"
    iso = pipeline.transform(plain.assign(signed="2020-01-31"))
    np.testing.assert_array_equal(iso, pipeline.transform(plain), "nobody misreads such dates")


def test_parts_of_dates_are_those_of_the_calendar():
    dates = pd.date_range("2019-12-30 06:30", periods=500, freq="37h").to_series()
    dates.iloc[3] = pd.NaT
    frame = pd.DataFrame({"d": dates.to_numpy()})
    parts = DateParts().fit(frame)
    assert parts.parts_ == {"d": ["year", "month", "weekday", "hour", "days", MISSING]}
    found = parts.transform(frame)
    there = dates.notna().to_numpy()
    days = dates[there].dt
    np.testing.assert_array_equal(found[there, 0], days.year)
    np.testing.assert_array_equal(found[there, 1], days.month)
    np.testing.assert_array_equal(found[there, 2], days.day_of_week + 1)
    np.testing.assert_allclose(found[there, 3], days.hour + days.minute / 60)
    since = (dates[there] - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    np.testing.assert_allclose(found[there, 4], since)
    assert np.isnan(found[3, :5]).all()
    np.testing.assert_array_equal(found[:, 5], ~there)


def test_times_of_day_are_hours_only():
    times = pd.to_datetime(["1900-01-01 10:30", "1900-01-01 23:15"])
    parts = DateParts().fit(pd.DataFrame({"t": times}))
    assert parts.parts_ == {"t": ["hour"]}


def test_texts_are_what_tf_idf_and_a_singular_value_decomposition_make_of_them():
    texts = messy()[["job"]].assign(job=lambda it: it["job"].str.upper())
    texts.iloc[7, 0] = np.nan
    encoder = TextEncoder(n_components=5).fit(texts)
    found = encoder.transform(texts)
    referee = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 4))
    weighted = referee.fit_transform(texts["job"].fillna(""))
    expected = TruncatedSVD(5, random_state=0).fit_transform(weighted)
    expected /= np.sqrt(expected.var(axis=0).sum())
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-4)
    np.testing.assert_allclose(found.var(axis=0).sum(), 1.0, rtol=1e-4)
    assert (found[7] == 0).all()


def test_texts_without_letters_say_nothing():
    frame = pd.DataFrame({"t": ["", None, "  "] * 5})
    assert TextEncoder().fit(frame).transform(frame).shape == (15, 0)


def test_columns_that_are_not_learned_from_are_not_needed():
    table = messy().assign(nr=range(120), y=["a", "b"] * 60)
    columns = RawColumns().use(read_columns(table, {"y": "unused"}))
    assert columns.feature_names_in_.tolist() == ["spent", "weight", "signed", "job"]
    assert columns.transform(messy()).shape == (120, 4)


def test_categories_that_the_fit_has_not_seen_are_told():
    pipeline = prepared(frame())
    others = frame().assign(town=["Rome", "Paris", "Kyiv"] * 20)
    assert new_categories(pipeline, others) == {"town": ["Kyiv", "Paris"]}
    assert new_categories(pipeline, frame()) == {}
