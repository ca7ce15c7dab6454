import csv
import io
from collections import Counter

import pytest

pytest.importorskip("pandas", reason="tables are an extra")

import numpy as np
import pandas as pd
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sorr._csv import escape_formula
from sorr.auditing import Table, TableError, read_table
from sorr.auditing.decisions import decisions_csv, read_decisions
from sorr.auditing.matching import table_mark
from sorr.auditing.table.values import fingerprint_frame
from sorr.auditing.target import unify_spellings

LABELS = ["cat", "dog", "bird"]


def animals(n=12):
    return pd.DataFrame(
        {
            "name": [f"n{i}" for i in range(n)],
            "kind": [LABELS[i % 3] for i in range(n)],
            "legs": [(4, 4, 2)[i % 3] for i in range(n)],
        }
    )


def as_file(folder, frame, name="animals.csv", **options):
    path = folder / name
    frame.to_csv(path, index=False)
    return read_table(path, **options)


def as_frame(frame):
    n = len(frame)
    return Table(frame, np.arange(n), None, n, (), "frame", fingerprint=fingerprint_frame(frame))


def decided(table, rows=(1, 5), target="kind", word="relabel", label="bird", mark=None, **more):
    frame = table.frame
    columns = {
        "row": list(rows),
        "id": [frame.iloc[row, 0] for row in rows],
        "given": [frame[target].iloc[row] for row in rows],
        "suggested": [label] * len(rows),
        "decision": [word] * len(rows),
    } | more
    return pd.DataFrame(columns).assign(table=table_mark(table, target) if mark is None else mark)


def match(frame, table, **options):
    return read_decisions(frame).match(table, **options)


def refusal(frame, table, **options):
    with pytest.raises(TableError) as caught:
        match(frame, table, **options)
    message = str(caught.value)
    assert message.isprintable()
    return message


# -- The same table --------------------------------------------------------------------------------


def test_rows_and_target_of_the_same_table_count_as_they_are(tmp_path):
    table = as_file(tmp_path, animals())
    found = match(decided(table), table)
    assert found.target == "kind"
    assert [(it.row, it.label) for it in found.decisions.decided] == [(1, "bird"), (5, "bird")]
    assert found.notes == ()
    assert found.decisions.table == table_mark(table, "kind")


def test_packing_and_encoding_make_no_other_table(tmp_path):
    frame = animals().assign(kind=lambda it: it["kind"].replace("bird", "Vögel"))
    table = as_file(tmp_path, frame)
    frame.to_csv(tmp_path / "other.csv.gz", index=False, encoding="utf-16")
    other = read_table(tmp_path / "other.csv.gz")
    assert match(decided(table, label="Vögel"), other).target == "kind"


def test_a_sample_is_the_same_table_and_its_decisions_keep_their_rows(tmp_path):
    table = as_file(tmp_path, animals(60))
    sample = as_file(tmp_path, animals(60), n_rows=30, random_state=0)
    found = match(decided(table, rows=range(20)), sample)
    assert [it.row for it in found.decisions.decided] == list(range(20))


def test_a_row_outside_of_the_table_is_refused(tmp_path):
    table = as_file(tmp_path, animals())
    message = refusal(decided(table).assign(row=[1, 12]), table)
    assert "position 1 of the decisions: the row is 12, but 'animals.csv' has 12 rows" in message
    assert "from 0 to 11" in message


def test_rows_that_were_mixed_up_in_a_spreadsheet_are_refused(tmp_path):
    table = as_file(tmp_path, animals())
    mixed = decided(table, rows=[0, 1]).assign(row=[1, 0])
    message = refusal(mixed, table)
    assert "row 1 of 'animals.csv' has 'dog' in column 'kind', but the decisions say 'cat'" in (
        message
    )
    assert "sorted apart" in message


def test_labels_given_need_not_be_there_if_the_table_is_the_same(tmp_path):
    table = as_file(tmp_path, animals())
    found = match(decided(table).drop(columns="given"), table)
    assert [it.row for it in found.decisions.decided] == [1, 5]


def test_a_target_that_is_named_counts_more_than_the_position(tmp_path):
    frame = animals().assign(other=lambda it: it["kind"])
    table = as_file(tmp_path, frame)
    assert match(decided(table), table, target="other").target == "other"
    assert "in column 'legs'" in refusal(decided(table), table, target="legs")


def test_ids_alone_find_rows_of_the_same_table(tmp_path):
    table = as_file(tmp_path, animals())
    found = match(decided(table).drop(columns="row"), table, id_column="name")
    assert [it.row for it in found.decisions.decided] == [1, 5]
    assert "has no row; name the column of its id ('n1') with id_column" in refusal(
        decided(table).drop(columns="row"), table
    )


# -- A table that has changed ----------------------------------------------------------------------


def test_a_table_of_another_size_is_refused_with_what_differs(tmp_path):
    table = as_file(tmp_path, animals())
    shorter = as_file(tmp_path, animals().drop(index=3), "shorter.csv")
    message = refusal(decided(table), shorter)
    assert "'shorter.csv' is not the table that the decisions given are about" in message
    assert "it has 11 rows, and had 12" in message
    assert "id_column" in message
    wider = as_file(tmp_path, animals().assign(new=1), "wider.csv")
    assert "it has 4 columns, and had 3" in refusal(decided(table), wider)


def test_another_label_in_a_table_of_the_same_size_is_named(tmp_path):
    table = as_file(tmp_path, animals())
    frame = animals()
    frame.loc[5, "kind"] = "dog"
    message = refusal(decided(table), as_file(tmp_path, frame, "changed.csv"))
    assert "row 5 has the label 'dog' now, and had 'bird' (position 1 of the decisions)" in message
    frame = animals().assign(legs=3)
    message = refusal(decided(table), as_file(tmp_path, frame, "changed.csv"))
    assert "its content is another" in message


def test_rows_of_a_changed_table_are_found_by_their_ids(tmp_path):
    table = as_file(tmp_path, animals())
    turned = as_file(tmp_path, animals().iloc[::-1].drop(index=4), "turned.csv")
    found = match(decided(table).assign(tier=[3, 1]), turned, id_column="name")
    assert [it.row for it in found.decisions.decided] == [9, 6]
    assert found.decisions.listed == ((9, 3), (6, 1))
    assert found.target == "kind"
    assert found.notes == ("Rows were found by 'name'.",)
    again = found.decisions.match(turned)
    assert again.decisions.decided == found.decisions.decided


def test_a_target_that_moved_has_to_be_named(tmp_path):
    table = as_file(tmp_path, animals())
    moved = as_file(tmp_path, animals()[["kind", "legs", "name"]], "moved.csv")
    message = refusal(decided(table), moved, id_column="name")
    assert "has '4' in column 'legs', but the decisions say 'dog'" in message
    assert "name it with target" in message
    assert match(decided(table), moved, id_column="name", target="kind").target == "kind"


def test_a_label_that_has_changed_is_refused_with_both(tmp_path):
    table = as_file(tmp_path, animals())
    frame = animals(13)
    frame.loc[5, "kind"] = "dog"
    changed = as_file(tmp_path, frame, "changed.csv")
    message = refusal(decided(table), changed, id_column="name", target="kind")
    assert "position 1 of the decisions: row 5 of 'changed.csv' has 'dog'" in message
    assert "but the decisions say 'bird'" in message


def test_ids_that_do_not_tell_rows_apart_are_refused(tmp_path):
    table = as_file(tmp_path, animals())
    frame = animals(13)
    frame.loc[12, "name"] = "n5"
    message = refusal(decided(table), as_file(tmp_path, frame, "twice.csv"), id_column="name")
    assert "the id 'n5' is not unique: 2 rows have it in column 'name', such as 5 and 12" in message
    frame.loc[[5, 12], "name"] = "gone"
    message = refusal(decided(table), as_file(tmp_path, frame, "gone.csv"), id_column="name")
    assert "position 1 of the decisions: the id 'n5' is not in column 'name'" in message
    longer = as_file(tmp_path, animals(13), "longer.csv")
    message = refusal(decided(table, id=["n1", "n1"]), longer, id_column="name")
    assert "the id 'n1' also stands for another decided row (position 0" in message
    message = refusal(decided(table, id=["n1", None]), longer, id_column="name")
    assert "position 1 of the decisions has no id" in message


def test_a_sample_of_a_changed_table_leaves_out_ids_that_are_not_in_it(tmp_path):
    table = as_file(tmp_path, animals(60))
    sample = as_file(tmp_path, animals(61), "longer.csv", n_rows=30, random_state=0)
    found = match(decided(table, rows=range(60)), sample, id_column="name")
    rows = [it.row for it in found.decisions.decided]
    assert rows == [row for row in sample.rows.tolist() if row < 60]
    assert found.notes[1] == f"{60 - len(rows)} decided rows are not in the sample."


@pytest.mark.parametrize("role", ["id_column", "target"])
def test_a_column_that_is_not_there_is_refused(tmp_path, role):
    table = as_file(tmp_path, animals())
    message = refusal(decided(table), table, **{role: "nam"})
    assert f"{role}='nam': 'animals.csv' has no such column; did you mean 'name'?" in message


# -- Decisions of a file for a frame, and of nobody knows what -------------------------------------


def test_decisions_about_a_file_are_good_for_the_same_table_as_a_frame(tmp_path):
    table, frame = as_file(tmp_path, animals()), as_frame(animals())
    for one, other in ((table, frame), (frame, table)):
        found = match(decided(one), other)
        assert [it.row for it in found.decisions.decided] == [1, 5]
        assert "its size and labels agree" in found.notes[0]
    assert "it has 11 rows, and had 12" in refusal(decided(table), as_frame(animals(11)))
    turned = as_frame(animals().iloc[::-1])
    assert "row 0 of 'frame' has 'bird'" in refusal(decided(table, rows=[0]), turned)


def test_a_frame_with_other_labels_is_refused(tmp_path):
    table = as_file(tmp_path, animals())
    frame = animals()
    frame.loc[5, "kind"] = "dog"
    assert "row 5 of 'frame' has 'dog' in column 'kind'" in refusal(decided(table), as_frame(frame))
    assert "have no labels in the column given" in refusal(
        decided(table).drop(columns="given"), as_frame(frame)
    )


def test_decisions_that_name_no_table_need_a_target_and_labels_that_agree(tmp_path):
    table = as_file(tmp_path, animals())
    nameless = decided(table, mark="")
    assert "do not say which column they are about" in refusal(nameless, table)
    found = match(nameless, table, target="kind")
    assert [it.row for it in found.decisions.decided] == [1, 5]
    assert found.notes == (
        "The decisions do not say which table they are about; its labels agree.",
    )
    wrong = nameless.assign(row=[1, 6])
    assert "row 6 of 'animals.csv' has 'cat'" in refusal(wrong, table, target="kind")
    without = nameless.drop(columns="given")
    assert "have no labels in the column given" in refusal(without, table, target="kind")


# -- Labels ----------------------------------------------------------------------------------------


def test_an_unknown_label_is_refused_with_what_may_be_meant(tmp_path):
    table = as_file(tmp_path, animals())
    message = refusal(decided(table, new_label=["bird", "brid"]), table)
    assert "position 1 of the decisions: the new label is 'brid', which column 'kind'" in message
    assert "did you mean 'bird'?" in message
    assert "there are 'cat', 'dog', 'bird'" in refusal(decided(table, label="?!"), table)


@pytest.mark.parametrize(
    ("label", "spelling"),
    [
        ("n/a yet", " N/A  yet"),
        ("=1+1", "'=1+1"),
        ("a;-b", "a;'-b"),
        ("two\nlines", "two lines"),
        ("007", "7"),
        ("1.50", "1,5"),
        ("1e3", "1000"),
        ("TRUE", "true"),
        ("A+", "a+"),
    ],
)
def test_a_label_is_known_in_the_spellings_of_spreadsheets(label, spelling):
    table = as_frame(animals().replace({"kind": {"bird": label}}))
    found = match(decided(table, rows=[1, 2], label=spelling), table)
    assert [it.label for it in found.decisions.decided] == [label, label]
    again = decided(table, rows=[2], label="cat", given=[spelling])
    assert match(again, table).decisions.decided[0].label == "cat"


def test_a_text_that_stands_for_two_labels_is_refused():
    frame = animals().replace({"kind": {"bird": "\x1a", "dog": "\x1b"}})
    table = as_frame(frame)
    message = refusal(decided(table, rows=[0], label="\ufffd"), table)
    assert "the new label is" in message
    found = match(decided(table, rows=[1, 2], given=["\ufffd", "\ufffd"], label="cat"), table)
    assert len(found.decisions.decided) == 2


@pytest.mark.parametrize(("label", "other"), [("A+", "A"), ("-1", "1"), ("1.5", "15"), ("7", "70")])
def test_a_sign_that_may_mean_something_makes_another_label(label, other):
    table = as_frame(animals().replace({"kind": {"bird": label}}))
    assert f"the new label is '{other}'" in refusal(decided(table, label=other), table)


def test_spellings_of_one_class_become_its_most_frequent_one():
    frame = animals(30)
    frame.loc[[2, 5], "kind"] = ["Bird ", "BIRD"]
    table = as_frame(frame)
    for spelling in ("Bird ", "BIRD", "bird", "b.i.r.d"):
        found = match(decided(table, rows=[0, 1], label=spelling), table)
        assert {it.label for it in found.decisions.decided} == {"bird"}
    assert match(decided(table, rows=[2, 5], given=["bird", "bird"], label="cat"), table)


def test_whole_numbers_that_are_classes_take_no_other_number():
    table = as_frame(animals())
    found = match(decided(table, rows=[0, 1], target="legs", label="2.0"), table)
    assert [it.label for it in found.decisions.decided] == ["2", "2"]
    assert "there are '4', '2'" in refusal(decided(table, target="legs", label="10"), table)
    assert "the new label is 'two'" in refusal(decided(table, target="legs", label="two"), table)


def numbers(kind=float, n=60):
    values = [f"{i / 8 + 20:.3f}" for i in range(n)]
    if kind is str:
        values = [f"${it}" for it in values]
    return as_frame(
        pd.DataFrame({"x": range(n), "price": [kind(it) for it in values], "y": ["a"] * n})
    )


@pytest.mark.parametrize("kind", [float, str])
def test_a_target_of_many_numbers_takes_any_number(kind):
    table = numbers(kind)
    given = [20.125, 20.625]
    for label, known in (("33.3", "33.3"), ("33,3", "33.3"), ("-4e2", "-4e2"), (7, "7")):
        found = match(decided(table, target="price", given=given, label=label), table)
        assert {it.label for it in found.decisions.decided} == {known}
    for label in ("many", "1,234", "1_000", "nan", "inf", "1e999"):
        message = refusal(decided(table, target="price", given=given, label=label), table)
        assert "needed a plain number" in message
    message = refusal(decided(table, target="price", given=[20.125, 20.25]), table)
    assert "row 5 of 'frame' has" in message


def test_a_target_of_dates_takes_no_number():
    days = pd.date_range("2024-01-01", periods=60)
    table = as_frame(pd.DataFrame({"x": range(60), "day": days}))
    given = ["2024-01-02", "2024-01-06"]
    assert match(decided(table, target="day", word="keep", given=given), table).target == "day"
    message = refusal(decided(table, target="day", given=given, label="19800.5"), table)
    assert "needed a date" in message


def test_rows_without_a_label_agree_with_none_given():
    frame = animals()
    frame.loc[[1, 5], "kind"] = [None, "?"]
    table = as_frame(frame)
    nameless = decided(table, mark="", rows=[0, 1, 5], given=["cat", None, None])
    assert len(match(nameless, table, target="kind").decisions.decided) == 3
    assert "but the decisions say ''" in refusal(
        decided(table, mark="", rows=[0, 4], given=[None, "dog"]), table, target="kind"
    )


# -- From labels to a spreadsheet and back ---------------------------------------------------------

_signs = st.characters(codec="utf-8", exclude_characters="\0")
_texts = st.one_of(
    st.text(_signs, min_size=1, max_size=12),
    st.text(st.sampled_from("=+-@'\"; ,\t\n\ra1.é"), min_size=1, max_size=8),
    st.sampled_from(["=1+1", "'=1+1", "1.0", "1", "007", "1e5", "TRUE", "NA", "null", " a", "a "]),
)


@settings(deadline=None)
@given(
    labels=st.lists(_texts, min_size=2, max_size=5, unique=True), separator=st.sampled_from(",;")
)
def test_labels_come_back_as_the_classes_they_are(tmp_path_factory, labels, separator):
    labels = [it for it in labels if it.strip()]
    assume(len({escape_formula(it) for it in labels}) == len(labels) > 1)
    frame = pd.DataFrame({"x": range(4 * len(labels)), "y": labels * 4})
    table = as_frame(frame)
    rows = range(len(labels))
    columns = {
        "row": rows,
        "given": labels,
        "decision": ["relabel"] * len(labels),
        "new_label": labels[1:] + labels[:1],
    }
    text = decisions_csv(columns, table_mark(table, "y"))
    cells = list(csv.reader(io.StringIO(text, newline="")))
    saved = io.StringIO()
    csv.writer(saved, delimiter=separator, quoting=csv.QUOTE_ALL).writerows(cells)
    path = tmp_path_factory.mktemp("round") / "decisions.csv"
    path.write_bytes(saved.getvalue().encode("utf-8-sig"))
    found = read_decisions(path).match(table)
    classes = unify_spellings(Counter(labels * 4))
    assert [it.label for it in found.decisions.decided] == [
        classes[it] for it in labels[1:] + labels[:1]
    ]
