import datetime as dt

import pytest

pytest.importorskip("pandas", reason="tables are an extra")

import numpy as np
import pandas as pd

from sorr.auditing import Table, TableError
from sorr.auditing.rows import (
    Roles,
    check_features,
    kind_of,
    labelled_rows,
    missing_counts,
    task_of,
)
from tests.auditing.tables import mixed, rows, table


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
        (Roles("Survive"), r"target='Survive': .* did you mean 'survived'\?"),
        (Roles("SEX"), r"did you mean 'sex'\?"),
        (Roles("zzz"), "the columns are 'survived', 'sex', 'age'$"),
        (Roles("survived", id_column="nr"), "id_column='nr': there is no such column"),
        (Roles("survived", ignore=("nr",)), "ignore=\\['nr'\\]: there is no such column"),
        (Roles("survived", group=("nr",)), "group=\\['nr'\\]: there is no such column"),
        (Roles("survived", ignore=("survived",)), "also named by id_column or ignore"),
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
        ({"gone": [None] * 4}, "column 'gone' has no values; .* ignore=\\['gone'\\]$"),
        ({"a": [np.nan] * 4, "b": [None] * 4}, "columns 'a', 'b' have .* ignore=\\['a', 'b'\\]$"),
        ({"when": ["2024-01-31"] * 4}, "column 'when' holds dates; .* ignore=\\['when'\\]$"),
    ],
)
def test_columns_that_nothing_can_be_learned_from_are_named_with_the_way_out(columns, message):
    with pytest.raises(TableError, match=message):
        check_features(pd.DataFrame({"x": range(4)} | columns))


def test_too_many_texts_are_names_and_not_categories():
    frame = pd.DataFrame({"who": [f"n{i}" for i in range(10_000)] * 2, "town": ["a", "b"] * 10_000})
    with pytest.raises(
        TableError, match=r"'who' .*10,000 in 20,000 rows.* ignore=\['who'\].* id_column='who'"
    ):
        check_features(frame)
    with pytest.raises(TableError, match=r"\(60 in 60 rows\)"):
        check_features(frame.head(60))
    assert check_features(frame.head(50)) == ()


def test_a_column_of_one_value_is_no_reason_to_stop():
    (note,) = check_features(pd.DataFrame({"x": [1, 2], "same": ["a", "a"], "more": [1, None]}))
    assert note == "Column 'same' has one value only: nothing to learn from."


def test_a_column_that_counts_the_rows_is_noted():
    frame = pd.DataFrame(
        {"nr": range(3, 33), "x": [1, 5] * 15, "year": [2000.5 + i for i in range(30)]}
    )
    (note,) = check_features(frame)
    assert note.startswith("Column 'nr' holds whole numbers that rise from row to row.")
    assert note.endswith("make this the id column: then it is not learned from.")
    assert check_features(frame.head(19)) == ()


def test_missing_values_are_counted_where_there_are_any():
    assert missing_counts(pd.DataFrame({"a": [1, None], "b": ["x", "y"]})) == {"a": 1}


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b"], "classification"),
        ([True, False], "classification"),
        ([0, 1, 1], "classification"),
        ([0.5, 1.5, 0.5], "classification"),
        (list(range(20)), "classification"),
        (list(range(21)), "regression"),
        ([0.5, 1.5, 2.5], "regression"),
        ([1.0, None, 2.0], "classification"),
    ],
)
def test_many_numbers_are_a_regression_and_all_else_are_classes(values, task):
    assert task_of(pd.Series(values), "y", "auto") == task


def test_what_is_asked_for_is_done_if_it_can_be():
    assert task_of(pd.Series([1, 2]), "y", "regression") == "regression"
    assert task_of(pd.Series(range(99)), "y", "classification") == "classification"
    with pytest.raises(TableError, match=r"task='regression' needs numbers, .*'y' holds 'a'"):
        task_of(pd.Series(["a", "b"]), "y", "regression")
    with pytest.raises(TableError, match="task='ranking' is not known; needed auto"):
        task_of(pd.Series([1, 2]), "y", "ranking")
    with pytest.raises(TableError, match="holds dates"):
        task_of(pd.Series(["2024-01-31"]), "y", "auto")


def test_labels_keep_their_kind():
    frame = pd.DataFrame(
        {"x": range(12), "whole": [0.0, 1.0, 1.0, 0.0] * 3, "b": [True, False] * 6}
    )
    frame["half"] = [0.5, 1.0, 1.0, 0.5] * 3
    assert rows(frame, "whole").y.tolist() == [0, 1, 1, 0] * 3
    assert rows(frame, "half").y.tolist() == ["0.5", "1.0", "1.0", "0.5"] * 3
    assert rows(frame, "b").y.tolist() == ["True", "False"] * 6


def test_rows_without_a_label_are_left_aside_and_the_others_keep_their_numbers():
    frame = mixed()
    frame.loc[[0, 7], "y"] = None
    lines = np.arange(len(frame)) + 2
    found = labelled_rows(table(frame, lines=lines), Roles("y", id_column="noise"))
    assert len(found) == len(frame) - 2
    assert found.numbers[:7].tolist() == [1, 2, 3, 4, 5, 6, 8]
    assert found.lines[:2].tolist() == [3, 4]
    assert found.ids[0] == frame["noise"][1]
    assert found.frame["age"][0] == frame["age"][1]
    assert "2 rows have no label and are not used." in found.notes


def test_rows_of_a_sample_keep_the_numbers_they_have_in_the_file():
    frame = mixed(n=40)
    frame.loc[0, "y"] = None
    sample = Table(frame, np.arange(40) * 3 + 1, None, 200, (), "a sample")
    assert labelled_rows(sample, Roles("y")).numbers.tolist() == list(range(4, 121, 3))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a"] * 60, "'y' is 'a' in every row; needed a column with at least two values"),
        ([3] * 60, "'y' is '3' in every row"),
        ([None] * 60, "'y' has no values"),
        (
            [f"n{i}" for i in range(60)],
            "60 different values in 60 rows; needed at most 100 classes",
        ),
        ([np.inf, *range(59)], "infinite"),
    ],
)
def test_a_target_that_cannot_be_learned_is_refused(labels, message):
    with pytest.raises(TableError, match=message):
        rows(pd.DataFrame({"x": range(60), "y": labels}))


def test_groups_are_texts_and_many_numbers_are_cut_in_four():
    frame = mixed().assign(town=lambda it: it["town"].where(it.index > 3))
    found = rows(frame, group=("town", "noise", "age")).groups
    assert set(found["town"]) == {"(missing)", "Rome", "Bonn", "Oslo"}
    assert len(set(found["noise"])) == 4
    assert sorted(np.unique(found["noise"], return_counts=True)[1]) == [60, 60, 60, 60]
    assert len(set(found["age"])) == 5  # four parts, and missing


def test_rare_groups_are_taken_together():
    frame = pd.DataFrame(
        {"x": range(200), "y": [0, 1] * 100, "g": [f"g{i % 20}" for i in range(200)]}
    )
    frame.loc[:60, "g"] = "g0"
    found = rows(frame, group=("g",)).groups["g"]
    assert len(set(found)) == 13
    assert "(others)" in found


def test_a_number_that_half_of_the_rows_have_is_noted():
    frame = pd.DataFrame(
        {"x": np.arange(60.0) % 7, "spent": np.maximum(np.arange(60) - 40, 0) * 1.5}
    )
    assert any("have spent = 0" in note for note in rows(frame, "spent").notes)
    assert not any("At least half" in note for note in rows(frame.tail(25), "spent").notes)


def test_missing_values_are_told():
    assert rows(mixed()).missing == {"age": 20}
