import datetime as dt

import numpy as np
import pytest

pytest.importorskip("pandas", reason="tables are an extra")

import pandas as pd

from sorr.auditing.columns import Roles, check_features, kind_of, missing_counts
from sorr.auditing.table import TableError


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, 3], "number"),
        ([1.5, None, 3], "number"),
        (np.array([1, 2.5, None], dtype=object), "number"),
        (pd.array([1, None], dtype="Int64"), "number"),
        ([True, False], "text"),
        (["a", None, "b"], "text"),
        (["1", "2"], "text"),
        (np.array([1, "a"], dtype=object), "text"),
        (pd.Categorical(["x", "y"]), "text"),
        (["2024-01-31", "2025-02-01 12:00"], "date"),
        (["31.01.2024", None], "date"),
        (["1/2/24", "12/31/1999"], "date"),
        (["2024-01-31", "soon"], "text"),
        (["1.2.3", "10.4.2"], "text"),
        (pd.to_datetime(["2024-01-31"]), "date"),
        (np.array([dt.date(2024, 1, 31), None], dtype=object), "date"),
        (pd.to_timedelta([1], unit="D"), "date"),
        ([None, None], "text"),
    ],
)
def test_a_column_holds_numbers_dates_or_texts(values, kind):
    assert kind_of(pd.Series(values)) == kind


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        (Roles("Survive"), r"--target 'Survive': .* did you mean 'survived'\?"),
        (Roles("SEX"), r"did you mean 'sex'\?"),
        (Roles("zzz"), "there are 'survived', 'sex', 'age'$"),
        (Roles("survived", id_column="nr"), "--id 'nr': there is no such column"),
        (Roles("survived", ignore=("nr",)), "--ignore 'nr': there is no such column"),
        (Roles("survived", group=("nr",)), "--group 'nr': there is no such column"),
        (Roles("survived", ignore=("survived",)), "also named by --id or --ignore"),
    ],
)
def test_a_name_that_no_column_has_is_refused_with_names_that_come_close(roles, message):
    with pytest.raises(TableError, match=message):
        roles.check(["survived", "sex", "age"])


def test_features_are_the_columns_that_have_no_other_role():
    roles = Roles("y", id_column="nr", ignore=("b",), group=("c",))
    assert roles.features(["nr", "a", "b", "c", "y"]) == ["a", "c"]
    with pytest.raises(TableError, match="no column is left to learn from"):
        roles.features(["nr", "b", "y"])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"gone": [None] * 4}, "'gone' is a column without a single value; .* --ignore 'gone'$"),
        ({"a": [np.nan] * 4, "b": [None] * 4}, "'a', 'b' are columns .* --ignore 'a' --ignore 'b'"),
        ({"when": ["2024-01-31"] * 4}, "'when' is a column of dates.*--ignore 'when'$"),
    ],
)
def test_columns_that_nothing_can_be_learned_from_are_named_with_the_way_out(columns, message):
    with pytest.raises(TableError, match=message):
        check_features(pd.DataFrame({"x": range(4)} | columns))


def test_too_many_texts_are_names_and_not_categories():
    frame = pd.DataFrame({"who": [f"n{i}" for i in range(10_000)] * 2, "town": ["a", "b"] * 10_000})
    with pytest.raises(TableError, match=r"'who' .*10,000 in 20,000 rows.*--ignore 'who'.*--id"):
        check_features(frame)
    with pytest.raises(TableError, match=r"\(60 in 60 rows\)"):
        check_features(frame.head(60))
    assert check_features(frame.head(50)) == ()


def test_a_column_of_one_value_is_no_reason_to_stop():
    (note,) = check_features(pd.DataFrame({"x": [1, 2], "same": ["a", "a"], "more": [1, None]}))
    assert note == "'same' is a column of one value only, which tells nothing."


def test_a_column_that_counts_the_rows_is_noted():
    frame = pd.DataFrame(
        {"nr": range(3, 33), "x": [1, 5] * 15, "year": [2000.5 + i for i in range(30)]}
    )
    (note,) = check_features(frame)
    assert note.startswith("'nr' is a column with another whole number in each row")
    assert note.endswith("say so with --id 'nr'.")
    assert check_features(frame.head(19)) == ()


def test_missing_values_are_counted_where_there_are_any():
    assert missing_counts(pd.DataFrame({"a": [1, None], "b": ["x", "y"]})) == {"a": 1}
