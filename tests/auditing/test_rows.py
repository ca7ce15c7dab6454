import pytest

pytest.importorskip("pandas", reason="tables are an extra")

import numpy as np
import pandas as pd

from sorr.auditing import Table, TableError
from sorr.auditing.rows import Roles, labelled_rows
from tests.auditing.tables import mixed, rows, table


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        (Roles("Survive"), r"target='Survive': .* did you mean 'survived'\?"),
        (Roles("SEX"), r"did you mean 'sex'\?"),
        (Roles("zzz"), "the columns are 'survived', 'sex', 'age'$"),
        (Roles("survived", id_column="nr"), "id_column='nr': there is no such column"),
        (Roles("survived", group_folds="nr"), "group_folds='nr': there is no such column"),
        (Roles("survived", ignore=("nr",)), r"ignore=\['nr'\]: there is no such column"),
        (Roles("survived", group=("nr",)), r"group=\['nr'\]: there is no such column"),
        (Roles("survived", date=("nr=%Y",)), r"date=\['nr=%Y'\]: there is no such column"),
        (Roles("survived", ignore=("survived",)), "'survived' is named by target and by ignore"),
        (Roles("survived", number=("age",), text=("age",)), "named by number and by text"),
        (Roles("survived", id_column="age", ignore=("age",)), "named by id_column and by ignore"),
    ],
)
def test_a_name_that_no_column_has_is_refused_with_names_that_come_close(roles, message):
    with pytest.raises(TableError, match=message):
        roles.check(["survived", "sex", "age"])


def test_a_column_may_be_a_group_and_have_a_kind():
    Roles("y", group=("a",), category=("a",)).check(["y", "a"])


def test_a_format_of_dates_follows_the_name():
    roles = Roles("y", id_column="nr", date=("d=%d/%m/%Y", "e=f"), ignore=("b",))
    assert roles.asked(["nr", "d", "e=f", "b"]) == {
        "nr": "id",
        "d": "date=%d/%m/%Y",
        "e=f": "date",
        "b": "unused",
    }
    assert Roles("y", id_column="nr", category=("c",)).as_written == ("c", "nr")


def kinds(found):
    return {column.name: column.kind for column in found.columns}


def test_every_column_but_the_target_is_listed_with_what_becomes_of_it():
    frame = mixed().assign(
        nr=range(240), same=1, gone=None, spent=[f"${i % 9 + 1},000" for i in range(240)]
    )
    found = rows(frame, ignore=("noise",))
    assert kinds(found) == {
        "age": "number",
        "town": "category",
        "noise": "unused",
        "nr": "id",
        "same": "unused",
        "gone": "unused",
        "spent": "number",
    }
    assert list(found.frame.columns) == ["age", "town", "spent"]
    assert found.frame["spent"][3] == 4000
    treatments = {column.name: column.treatment for column in found.columns}
    assert treatments["noise"] == "not used, as asked"
    assert treatments["same"] == "not used: all rows are equal"
    assert found.ids[:3].tolist() == [0, 1, 2], "the first column that tells rows apart names them"


def test_a_name_names_rows_rather_than_a_number():
    frame = mixed().assign(nr=range(240), who=[f"P{i} Q" for i in range(240)])
    assert rows(frame).ids[7] == "P7 Q"
    assert rows(frame, id_column="nr").ids[7] == 7


def test_columns_are_read_as_asked():
    frame = mixed().assign(code=[1, 2, 3] * 80, when=["1/2/2024", "3/4/2024"] * 120)
    found = rows(frame, category=("code",), date=("when=%d/%m/%Y",))
    assert kinds(found)["code"] == "category"
    assert found.frame["when"][0] == pd.Timestamp("2024-02-01")
    with pytest.raises(TableError, match=r"number=\['town'\] does not fit: the column holds"):
        rows(frame, number=("town",))


def test_a_table_without_a_column_to_learn_from_is_refused_with_reasons():
    frame = pd.DataFrame({"gone": [None] * 40, "y": ["a", "b"] * 20})
    frame["who"] = [f"P{i}" for i in range(40)]
    with pytest.raises(TableError, match=r"'gone' \(empty, .*\), 'who' \(identifiers.*\); needed"):
        rows(frame)
    with pytest.raises(TableError, match="there is only the target"):
        rows(frame[["y"]])
    assert kinds(rows(frame, text=("who",)))["who"] == "text"


def test_a_column_that_only_rows_without_a_label_fill_is_set_aside():
    frame = mixed()
    frame.loc[:19, "y"] = None
    frame["late"] = np.where(frame.index < 20, frame["noise"], np.nan)
    found = rows(frame)
    assert "late" not in found.frame
    with pytest.raises(TableError, match=r"'late' .*no row with a label has a value"):
        rows(frame[["late", "y"]])


def test_running_numbers_are_learned_from_if_there_is_nothing_else():
    frame = pd.DataFrame({"nr": range(40), "y": ["a", "b"] * 20})
    assert kinds(rows(frame)) == {"nr": "number"}
    with pytest.raises(TableError, match="no column is left"):
        rows(frame, id_column="nr")


def test_a_column_that_recodes_the_target_is_left_out_unless_asked_for():
    frame = mixed().assign(code=lambda it: it["y"].map({"yes": "J", "no": "N"}))
    found = rows(frame)
    assert "code" not in found.frame
    assert [leak.column for leak in found.leaks] == ["code"]
    column = next(column for column in found.columns if column.name == "code")
    assert column.treatment == "not used: it gives the target away"
    assert "code" in rows(frame, category=("code",)).frame
    alone = rows(frame[["code", "y"]])
    assert list(alone.frame.columns) == ["code"], "there is nothing else to learn from"


def test_rows_of_an_entity_share_a_number_and_the_entity_is_not_learned_from():
    frame = mixed().assign(patient=[f"p{i // 4}" for i in range(240)])
    frame.loc[:1, "patient"] = None
    found = rows(frame, group_folds="patient")
    assert "patient" not in found.frame
    numbers = found.fold_groups
    assert len(set(numbers[:2].tolist()) | {numbers[2]}) == 3, "rows without an entity are alone"
    assert numbers[4] == numbers[7] != numbers[8]


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
    assert "2 rows have no label: not judged, but predicted." in found.notes
    assert found.unlabelled.numbers.tolist() == [0, 7]
    assert found.unlabelled.lines.tolist() == [2, 9]
    assert found.unlabelled.frame["age"][0] == frame["age"][0]


def test_rows_of_a_sample_keep_the_numbers_they_have_in_the_file():
    frame = mixed(n=40)
    frame.loc[0, "y"] = None
    sample = Table(frame, np.arange(40) * 3 + 1, None, 200, (), "a sample")
    assert labelled_rows(sample, Roles("y")).numbers.tolist() == list(range(4, 121, 3))


def test_rows_of_a_small_class_are_kept_and_not_judged():
    frame = mixed()
    frame.loc[[3, 5], "y"] = "perhaps"
    found = rows(frame)
    assert len(found) == len(frame) - 2
    assert found.rare.numbers.tolist() == [3, 5]
    assert found.rare.y.tolist() == ["perhaps", "perhaps"]
    assert "1 class of fewer than 5 rows is not judged: 'perhaps'." in found.notes


def test_spellings_of_a_label_are_one_class_and_stay_as_they_are_written():
    frame = mixed()
    frame.loc[[3, 5], "y"] = "Yes "
    found = rows(frame)
    assert set(found.y) == {"yes", "no"}
    assert found.written[3] == "Yes "
    assert rows(mixed()).written is None


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


def test_missing_values_are_told():
    assert rows(mixed()).missing == {"age": 20}
