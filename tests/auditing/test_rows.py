import numpy as np
import pytest

pytest.importorskip("pandas", reason="tables are an extra")

import pandas as pd

from sorr.auditing.columns import Roles
from sorr.auditing.rows import labelled_rows, task_of
from sorr.auditing.table import Table, TableError
from tests.auditing.tables import mixed, rows, table


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
    with pytest.raises(TableError, match=r"--task regression needs numbers, .*'y' holds 'a'"):
        task_of(pd.Series(["a", "b"]), "y", "regression")
    with pytest.raises(TableError, match="--task 'ranking' is not known; needed auto"):
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
    assert "2 rows without a label are left aside." in found.notes


def test_rows_of_a_sample_keep_the_numbers_they_have_in_the_file():
    frame = mixed(n=40)
    frame.loc[0, "y"] = None
    sample = Table(frame, np.arange(40) * 3 + 1, None, 200, (), "a sample")
    assert labelled_rows(sample, Roles("y")).numbers.tolist() == list(range(4, 121, 3))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a"] * 60, "'y' is 'a' in every row; needed a column with two values"),
        ([3] * 60, "'y' is '3' in every row"),
        ([None] * 60, "'y' has no value in any row"),
        (
            [f"n{i}" for i in range(60)],
            "60 different values in 60 rows; needed classes that repeat",
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
    assert any("have the spent 0" in note for note in rows(frame, "spent").notes)
    assert not any("have the" in note for note in rows(frame.tail(25), "spent").notes)


def test_missing_values_are_told():
    assert rows(mixed()).missing == {"age": 20}
