import pytest

pytest.importorskip("pandas", reason="tables are an extra")

from itertools import product

import numpy as np
import pandas as pd

from sorr.auditing.columns import (
    Context,
    UnreadableError,
    parse_column,
    read_column,
    read_columns,
)

RNG = np.random.default_rng(0)
FIRST = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hal", "Ida", "Jo", "Kim", "Lou")
NAMES = [f"{FIRST[i % 12]} {a}{b}" for i, (a, b) in enumerate(product("BCDFG", FIRST))]


def column(values, name="x"):
    return pd.Series(values, name=name)


@pytest.mark.parametrize(
    ("values", "name", "kind", "reading"),
    [
        ([1.5, 2.5, 2.5] * 5, "x", "number", "numbers"),
        ([1, 2, 2] * 5, "x", "number", "whole numbers"),
        (["$1,234", "$12"] * 5, "x", "number", "whole numbers, written as $1,234"),
        (["1"] * 30 + ["2"] * 30 + ["oops"], "x", "number", "whole numbers; no number: oops"),
        (["31/01/2024", "5/2/2024"] * 5, "x", "date", "dates (day/month/year)"),
        (
            ["1/2/2024"] * 9 + ["3/4/2024"],
            "x",
            "date",
            "dates (month/day/year); day and month cannot be told apart",
        ),
        ([20180312, 20190401] * 5, "x", "date", "dates (year month day)"),
        (["10:30", "9:15"] * 5, "x", "date", "times of day (hour:minute)"),
        (list(pd.to_datetime(["2024-01-31", "2024-02-01"])) * 5, "x", "date", "dates"),
        (["a", "b"] * 8, "x", "category", "categories (2 values)"),
        ([True, False] * 8, "x", "category", "categories (2 values)"),
        (["007", "042"] * 8, "x", "category", "categories (2 values)"),
        (["1st", "2nd", "3rd"] * 5, "x", "category", "categories (3 values)"),
        (pd.Categorical(["1", "2"] * 8), "x", "category", "categories (2 values)"),
        ([1, 2, 3, 4] * 10, "store_id", "category", "keys (4 values)"),
        ([f"job {i % 300}" for i in range(500)], "x", "text", "texts (300 different)"),
        (
            [f"a rather long remark on order {i} and what came of it" for i in range(30)],
            "x",
            "text",
            "texts (30 different)",
        ),
        ([f'{{"a": {i}}}' for i in range(40)], "x", "text", "texts (40 different)"),
        (NAMES, "x", "id", "identifiers: no value repeats"),
        ([f"Mr{'s' * (i % 2)}. {it}" for i, it in enumerate(NAMES)], "x", "text", "names (60)"),
        ([f"INV-{i:05d}" for i in range(30)], "x", "id", "identifiers: no value repeats"),
        ([f"{i * 7919:032x}" for i in range(60)] * 2, "x", "id", "hashes"),
        (list(range(100)), "x", "id", "running numbers"),
        (list(RNG.permutation(100) + 1), "x", "id", "running numbers"),
        (list(np.cumsum(RNG.integers(1, 3, 100))), "x", "id", "running numbers"),
        (
            list(RNG.choice(10**7, 100, replace=False)),
            "customerId",
            "id",
            "identifiers: no value repeats",
        ),
        (list(RNG.integers(1000, 1050, 400)), "patient_id", "id", "keys that repeat"),
        ([None] * 9, "x", "unused", "empty"),
        (["  ", " "] * 9, "x", "unused", "empty"),
        (
            list(np.sort(RNG.choice(5000, 300, replace=False)) + 70_000),
            "visit",
            "id",
            "running numbers",
        ),
        (
            list(RNG.choice(90_000, 100, replace=False)),
            "Kundennr.",
            "id",
            "identifiers: no value repeats",
        ),
        (
            ["$5", "6 €"] * 9,
            "x",
            "number",
            "whole numbers, written as $5; several currencies: $, €",
        ),
        (["same"] * 9, "x", "unused", "one value"),
    ],
)
def test_a_column_is_read_as_a_person_would_read_it(values, name, kind, reading):
    found = read_column(column(values, name))
    assert found.kind == kind
    assert found.reading == reading
    assert found.is_learned_from == (kind not in ("id", "unused"))


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (list(range(1990, 2020)), "year"),
        (list(np.sort(RNG.integers(1000, 10**6, 100))), "population"),
        (list(RNG.choice(10**7, 100, replace=False)), "income"),
        (list(np.arange(100) + 0.5), "x"),
        ([1, 2, 3, 4, 5], "x"),
        (list(range(1, 60)), "age"),
        (list(range(1, 60)), "time"),
        (list(RNG.choice(10**7, 100, replace=False)), "no answer"),
    ],
)
def test_numbers_that_say_something_are_no_identifiers(values, name):
    assert read_column(column(values, name)).kind == "number"


def test_running_numbers_are_seen_in_a_sample_of_the_rows():
    rows = np.sort(RNG.choice(100_000, 200, replace=False)) + 1
    assert read_column(column(rows), context=Context(n_rows=100_000)).reading == "running numbers"
    assert read_column(column(rows), context=Context(n_rows=200)).kind == "number"


def test_a_value_and_missing_ones_say_something():
    found = read_column(column(["yes"] * 5 + [None] * 5))
    assert (found.kind, found.missing) == ("category", 5)
    assert found.treatment.endswith("missing is one of them")


def test_missing_values_and_what_cannot_be_read_are_counted():
    found = read_column(column(["1", "2", "3", None, "?", "n/a"] * 5 + ["4"] * 30))
    assert (found.kind, found.missing) == ("number", 15)
    assert "missing ones become the median" in found.treatment
    assert found.reading == "whole numbers; no number: ?, n/a"


def test_an_example_shows_what_was_written_and_what_was_read():
    assert read_column(column(["(3.50)", "4"] * 6)).example == "(3.50) = -3.5"
    assert read_column(column(["5/2/2024", "31/1/2024"] * 6)).example == "5/2/2024 = 2024-02-05"
    assert read_column(column(["a", "b"] * 6)).example == "a"


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([1, 2, 3] * 4, "category", "category"),
        ([1, 2, 3] * 4, "text", "text"),
        (list(range(30)), "number", "number"),
        (["a", "b"] * 5, "id", "id"),
        (["a", "b"] * 5, "unused", "unused"),
        ([20240131, 20240201] * 5, "date", "date"),
        (["x"] * 5, "category", "category"),
    ],
)
def test_a_column_is_read_as_asked(values, kind, expected):
    assert read_column(column(values), kind).kind == expected


def test_a_date_is_read_in_the_format_that_is_asked_for():
    given = column(["01/02/2024", "03/04/2024"])
    found = read_column(given, "date", "%d/%m/%Y")
    assert found.reading == "dates (day/month/year)"
    assert parse_column(given, "date", found.format)[0] == np.datetime64("2024-02-01")


@pytest.mark.parametrize("kind", ["number", "date"])
def test_what_cannot_be_read_as_asked_is_refused(kind):
    with pytest.raises(UnreadableError, match=f"'x' cannot be read as {kind}"):
        read_column(column(["a", "b"] * 5), kind)


def test_numbers_dates_and_texts_are_parsed_and_the_rest_is_missing():
    frame = pd.DataFrame(
        {
            "n": ["$1", "$2", None, "?"] * 5 + ["$3"] * 5,
            "d": ["2024-01-31", None, "2024-02-01", "2024-03-01", "soon"] * 5,
            "c": ["a", None, "b", "a", "b"] * 5,
        }
    )
    frame.loc[5:, "d"] = "2024-05-05"
    columns = read_columns(frame)
    n, d, c = (parse_column(frame[it.name], it.kind, it.format) for it in columns)
    np.testing.assert_array_equal(n[:4], [1, 2, np.nan, np.nan])
    assert d.dtype.kind == "M"
    np.testing.assert_array_equal(np.isnat(d[:5]), [False, True, False, False, True])
    assert c[:1].tolist() == ["a"]
    assert c[1] != c[1]


def test_infinite_numbers_are_missing():
    found = read_column(column([1.0, np.inf, 2.5] * 4))
    assert found.missing == 4
    parsed = parse_column(column([np.inf, 1.0, -np.inf]), "number", {})
    np.testing.assert_array_equal(parsed, [np.nan, 1.0, np.nan])


def test_time_spans_are_days():
    spans = column(pd.to_timedelta([36, 12, 24] * 4, unit="h"))
    assert read_column(spans).reading == "time spans, in days"
    np.testing.assert_allclose(parse_column(spans, "number", {})[:2], [1.5, 0.5])


def test_a_long_column_of_different_amounts_is_read_in_no_time():
    values = column([f"${i:,}.50" for i in range(30_000)])  # minutes, if each met all others
    found = read_column(values)
    assert found.kind == "number"
    assert parse_column(values, "number", found.format)[999] == 999.5


def test_a_column_with_missing_values_does_not_name_rows():
    assert read_column(column(NAMES)).names_rows
    assert not read_column(column([None, *NAMES])).names_rows
