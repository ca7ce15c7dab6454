import pytest

pytest.importorskip("pandas", reason="tables are an extra")

from collections import Counter

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from sorr.auditing import TableError
from sorr.auditing.target import read_target, task_of, unify_spellings


def column(values):
    return pd.Series(values, name="y")


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b"], "classification"),
        ([True, False], "classification"),
        ([0, 1, 1], "classification"),
        ([0.5, 1.5, 0.5], "classification"),
        (list(range(20)) * 3, "classification"),
        (list(range(20)) * 2, "regression"),
        (list(range(21)) * 9, "regression"),
        ([0.5, 1.5, 2.5], "regression"),
        ([1.0, None, 2.0], "classification"),
        ([f"${i},000" for i in range(1, 40)], "regression"),
        (["10 %", "20 %", "30 %"] * 5, "classification"),
        (list(pd.date_range("2024-01-01", periods=40)), "regression"),
        ([f"2024-01-{i:02d}" for i in range(1, 31)], "regression"),
    ],
)
def test_many_numbers_are_a_regression_and_all_else_are_classes(values, task):
    assert task_of(column(values))[0] == task


def test_what_is_asked_for_is_done_if_it_can_be():
    assert task_of(column([1, 2]), "regression")[0] == "regression"
    assert task_of(column(range(99)), "classification")[0] == "classification"
    assert task_of(column(["10 %", "20 %"]), "regression")[1].tolist() == [10, 20]
    with pytest.raises(TableError, match=r"task='regression' needs numbers, .*'y' holds 'a'"):
        task_of(column(["a", "b"]), "regression")
    with pytest.raises(TableError, match="task='ranking' is not known; needed auto"):
        task_of(column([1, 2]), "ranking")


def test_labels_keep_their_kind():
    assert read_target(column([0.0, 1.0, 1.0, 0.0] * 3)).y.tolist() == [0, 1, 1, 0] * 3
    assert (
        read_target(column([0.5, 1.0, 1.0, 0.5] * 3)).y.tolist() == ["0.5", "1.0", "1.0", "0.5"] * 3
    )
    assert read_target(column([True, False] * 6)).y.tolist() == ["True", "False"] * 6


def test_amounts_and_dates_are_numbers_and_the_note_says_how():
    found = read_target(column([f"${i},500" for i in range(1, 40)]))
    assert found.y[:2].tolist() == [1500, 2500]
    assert found.notes == ("The target was read as numbers: $1,500 as 1500.",)
    found = read_target(column(pd.date_range("1970-01-02", periods=40)))
    assert found.y[:2].tolist() == [1, 2]
    assert "days since 1970" in found.notes[0]


def test_labels_that_say_nothing_are_missing():
    found = read_target(column(["a", "b", "?", None, " ", "N/A"] * 5))
    assert found.is_there.tolist() == [True, True, False, False, False, False] * 5
    assert found.notes == ("Labels that say nothing count as missing: '?', 'N/A'.",)
    found = read_target(column([1.0, 2.0, np.inf, np.nan] * 5))
    assert found.is_there.tolist() == [True, True, False, False] * 5


def test_a_sign_may_be_a_class():
    assert set(read_target(column(["+", "-"] * 10)).y) == {"+", "-"}


@pytest.mark.parametrize(
    "spellings",
    [
        ["yes", "Yes ", "YES", " yes"],
        ["non smoker", "non-smoker", "Non_Smoker", "nonsmoker", "non  smoker"],
        ["<=50K", "<=50K.", "<= 50k"],
        ["N.Y.", "NY", "ny"],
        ["\uff21\uff22", "ab"],
    ],
)
def test_spellings_that_differ_by_case_spaces_or_punctuation_are_one_label(spellings):
    counts = Counter({"other": 5, spellings[0]: 9} | dict.fromkeys(spellings[1:], 2))
    found = unify_spellings(counts)
    assert {found[it] for it in spellings} == {spellings[0]}
    assert found["other"] == "other"


@pytest.mark.parametrize(
    "labels",
    [
        ["A", "A+", "A-"],
        ["1.5", "15"],
        ["C", "C++", "C#"],
        ["-1", "1"],
        ["+", "-"],
        ["<5", ">5"],
        ["1-2", "12"],
        ["10%", "10"],
        ["v1", "v2"],
    ],
)
def test_signs_that_may_mean_something_stay(labels):
    found = unify_spellings(Counter(labels))
    assert [found[label] for label in labels] == labels


def test_labels_that_nothing_else_tells_apart_stay():
    assert unify_spellings(Counter({"M": 5, "m": 5})) == {"M": "M", "m": "m"}


@given(st.dictionaries(st.text("aAbB .-_1", max_size=4), st.integers(1, 9), max_size=8))
def test_unifying_twice_changes_nothing_more(counts):
    once = unify_spellings(Counter(counts))
    merged = Counter()
    for spelling, count in counts.items():
        merged[once[spelling]] += count
    again = unify_spellings(merged)
    if len({again[it] for it in merged}) > 1:
        assert all(again[it] == it for it in merged)


def test_small_classes_are_named_and_not_judged():
    found = read_target(column(["a"] * 20 + ["b"] * 20 + ["c"] * 4 + ["d"]))
    assert found.is_judged.sum() == 40
    assert found.is_there.all()
    assert found.notes == ("2 classes of fewer than 5 rows are not judged: 'c', 'd'.",)


def test_two_classes_are_judged_even_if_one_is_small():
    assert read_target(column(["a"] * 20 + ["b"] * 3)).is_judged.all()


def test_of_very_many_classes_the_most_frequent_are_judged():
    found = read_target(column([f"c{i % 120}" for i in range(1210)]))
    assert len(set(found.y[found.is_judged])) == 100
    assert "Only the 100 most frequent classes are judged; 20 others are not." in found.notes


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a"] * 60, "'y' is 'a' in every row; needed a column with at least two values"),
        ([3] * 60, "'y' is '3' in every row"),
        ([None] * 60, "no row has a value of the target 'y'"),
        (["a", "b"] * 4, "8 rows have a value of the target 'y'; needed at least 10"),
        ([f"n{i}" for i in range(60)], "60 different values in 60 rows, .* task='regression'"),
    ],
)
def test_a_target_that_cannot_be_learned_is_refused_with_a_way_out(labels, message):
    with pytest.raises(TableError, match=message):
        read_target(column(labels))


def test_a_number_that_half_of_the_rows_have_is_noted():
    spent = np.maximum(np.arange(60) - 40, 0) * 1.5
    assert any("have y = 0" in note for note in read_target(column(spent)).notes)
    assert not any("At least half" in note for note in read_target(column(spent[35:])).notes)
