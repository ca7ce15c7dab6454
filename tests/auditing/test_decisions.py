import csv
import io

import pytest

pytest.importorskip("pandas", reason="tables are an extra")

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from sorr.auditing import TableError
from sorr.auditing.decisions import WORDS, Decision, decisions_csv, read_decisions

MARK = "40x3-0123456789abcdef-3"


def written(tmp_path, content, name="decisions.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refusal(path):
    with pytest.raises(TableError) as caught:
        read_decisions(path)
    message = str(caught.value)
    assert "\n" not in message
    return message


# -- What is read ----------------------------------------------------------------------------------


def test_words_are_read_in_any_case_and_with_spaces_around_them(tmp_path):
    path = written(
        tmp_path, "row,decision,new_label,given\n4, Keep ,,a\n2,RELABEL,b,a\n7,remove,,\n"
    )
    found = read_decisions(path)
    assert found.decided == (
        Decision(4, "keep", "", "a", "", 2),
        Decision(2, "relabel", "b", "a", "", 3),
        Decision(7, "remove", "", "", "", 4),
    )
    assert found.name == "decisions.csv"
    assert found.table == ""


def test_a_row_is_relabelled_to_the_suggestion_unless_there_is_a_new_label(tmp_path):
    path = written(
        tmp_path,
        "row,suggested,decision,new_label\n0,no,relabel,\n1,no,relabel,maybe\n2,no,relabel,  \n",
    )
    assert [it.label for it in read_decisions(path).decided] == ["no", "maybe", "no"]


def test_rows_without_a_decision_are_listed_with_their_tier(tmp_path):
    path = written(tmp_path, "tier,row,decision\n3,8,\n2.0,1,keep\n,5,\n3,8,keep\n")
    found = read_decisions(path)
    assert found.listed == ((8, 3), (1, 2), (5, 0))
    assert [it.row for it in found.decided] == [1, 8]


def test_names_of_columns_may_be_in_any_order_and_case_beside_others(tmp_path):
    path = written(tmp_path, "Note,New Label,DECISION, Row \nhm,b,relabel,3\n")
    assert read_decisions(path).decided == (Decision(3, "relabel", "b", "", "", 2),)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_usual_way_to_save_csv_says_the_same(tmp_path, separator, encoding, end):
    rows = [
        ["row", "given", "suggested", "decision", "reason"],
        ["3", "größe", "a", "relabel", "grün, weiß; blau\tund | schwarz"],
        ["12", "b", "", "keep", "größer als üblich"],
    ]
    lines = [separator.join(f'"{cell}"' for cell in row) for row in rows]
    path = written(tmp_path, (end.join(lines) + end).encode(encoding))
    assert read_decisions(path).decided == (
        Decision(3, "relabel", "a", "größe", "", 2),
        Decision(12, "keep", "", "b", "", 3),
    )


def test_titles_blank_lines_and_the_separator_line_of_excel_may_be_above_the_names(tmp_path):
    path = written(tmp_path, "sep=;\r\n\r\nrow;decision\r\n3;keep\r\n;\r\n\r\n4;keep\r\n")
    assert [(it.row, it.place) for it in read_decisions(path).decided] == [(3, 4), (4, 7)]


def test_fields_that_a_spreadsheet_left_out_at_the_end_are_empty(tmp_path):
    path = written(tmp_path, "row,decision,new_label,table\n3,keep\n4,remove,,\n")
    assert [it.row for it in read_decisions(path).decided] == [3, 4]


@pytest.mark.parametrize("text", ["12", "12.0", "12,0", "12.00", " 12 ", "+12", "0012"])
def test_a_row_may_be_written_as_spreadsheets_write_whole_numbers(tmp_path, text):
    path = written(tmp_path, f'row;decision\n"{text}";keep\n')
    assert read_decisions(path).decided[0].row == 12


def test_labels_that_other_readers_take_for_missing_stay_labels(tmp_path):
    path = written(tmp_path, "row,given,suggested,decision,new_label\n1,NA,x,relabel,null\n")
    assert read_decisions(path).decided == (Decision(1, "relabel", "null", "NA", "", 2),)


def test_a_file_without_rows_holds_no_decisions(tmp_path):
    found = read_decisions(written(tmp_path, decisions_csv({"row": []})))
    assert (found.decided, found.listed) == ((), ())


def test_a_packed_file_is_read(tmp_path):
    import gzip

    path = written(tmp_path, gzip.compress(b"row,decision\n3,keep\n"), "decisions.csv.gz")
    assert [it.row for it in read_decisions(path).decided] == [3]


def test_ids_may_take_the_place_of_rows(tmp_path):
    path = written(tmp_path, "id,decision\nx7,keep\nx9,remove\n")
    found = read_decisions(path)
    assert [(it.row, it.id) for it in found.decided] == [(-1, "x7"), (-1, "x9")]
    assert found.ids == ("x7", "x9")


def test_decisions_stay_as_they_are(tmp_path):
    found = read_decisions(written(tmp_path, "row,decision\n3,keep\n"))
    assert read_decisions(found) is found


# -- Frames and workbooks --------------------------------------------------------------------------


def frame():
    return pd.DataFrame(
        {
            "row": [3.0, 5.0, np.nan],
            "given": ["a", None, "b"],
            "new_label": [1.0, np.nan, np.nan],
            "decision": ["relabel", "Keep", None],
            "table": [MARK, None, MARK],
        },
        index=[7, 8, 9],
    )


def test_a_frame_of_pandas_is_read_with_positions_from_0():
    found = read_decisions(frame())
    assert found.decided == (
        Decision(3, "relabel", "1", "a", "", 0),
        Decision(5, "keep", "", "", "", 1),
    )
    assert found.table == MARK


def test_a_frame_of_polars_says_the_same():
    pl = pytest.importorskip("polars")
    columns = frame().astype(object).where(frame().notna(), None).to_dict("list")
    assert read_decisions(pl.DataFrame(columns, strict=False)) == read_decisions(frame())


def test_a_frame_that_lacks_a_column_is_refused():
    with pytest.raises(TableError, match=r"the decisions given have no column 'decision'"):
        read_decisions(pd.DataFrame({"row": [1]}))


def test_positions_are_named_in_what_is_wrong_with_a_frame():
    wrong = pd.DataFrame({"row": [1, 2], "decision": ["keep", "kep"]})
    with pytest.raises(TableError, match=r"position 1 of the decisions: .*did you mean 'keep'"):
        read_decisions(wrong)


def test_something_else_is_refused():
    with pytest.raises(TableError, match="decisions are 'int'; needed the path"):
        read_decisions(3)


def workbook(tmp_path, rows):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    book.active.append(["notes"])
    sheet = book.create_sheet("suspects")
    for row in rows:
        sheet.append(row)
    path = tmp_path / "decisions.xlsx"
    book.save(path)
    return path


def test_a_workbook_that_was_filled_in_by_hand_is_read_with_its_lines(tmp_path):
    rows = [
        ["Suspects of May"],
        [],
        ["row", "given", "decision", "new_label"],
        [3, 0, "relabel", 1],
        [None, None, None, None],
        [12, "NA", "Relabel", "null"],
        [13, "two\nlines", "keep", None],
    ]
    found = read_decisions(workbook(tmp_path, rows))
    assert found.decided == (
        Decision(3, "relabel", "1", "0", "", 4),
        Decision(12, "relabel", "null", "NA", "", 6),
        Decision(13, "keep", "", "two\nlines", "", 7),
    )


def test_a_workbook_without_decisions_is_refused(tmp_path):
    message = refusal(workbook(tmp_path, [["row", "label"], [1, "a"]]))
    assert "'decisions.xlsx' has no column 'decision'" in message


# -- What is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("row,decision\n1,keep\n2,kep\n", "line 3 of 'decisions.csv': the decision is 'kep'; did"),
        ("row,decision\n1,yes\n", "the decision is 'yes'; needed 'relabel', 'keep', 'remove', 'un"),
        ("row,decision\n1.5,keep\n", "line 2 of 'decisions.csv': the row is '1.5'; needed"),
        ("row,decision\n-1,keep\n", "the row is '-1'"),
        ('row,decision\n"1,000",keep\n', "the row is '1,000'"),
        ("row,decision\nx,\n", "the row is 'x'"),
        ("row,decision\n,keep\n", "line 2 of 'decisions.csv' has a decision, but no row"),
        ("row,decision\n1,relabel\n", "the decision is relabel, but there is no label"),
        ("row,suggested,decision\n1, ,relabel\n", "there is no label; write one into new_label"),
        ("row,decision,new_label\n1,,b\n", "there is a new label ('b'), but the decision is ''"),
        ("row,decision,new_label\n1,keep,b\n", "but the decision is 'keep'"),
        (
            "row,decision\n1,keep\n2,keep\n1,remove\n",
            "line 4 of 'decisions.csv': row 1 is decided twice, here remove and in line 2 keep",
        ),
        (
            "row,decision,new_label\n1,relabel,a\n1,relabel,b\n",
            "here relabel ('b') and in line 2 relabel ('a'); remove one",
        ),
        ("id,decision\nx,keep\nx,remove\n", "the row with id 'x' is decided twice"),
        ("row,label\n1,a\n", "'decisions.csv' has no column 'decision'; needed the columns row an"),
        ("decision,label\nkeep,a\n", "'decisions.csv' has no column 'row'"),
        ("row,decision,row\n1,keep,2\n", "'decisions.csv' has two columns 'row'; needed one"),
        ("row,given,decision\n1,keep\n", "line 2 of 'decisions.csv' has 2 fields, but there are 3"),
        ("row,decision\n1,keep,b\n", "line 2 of 'decisions.csv' has 3 fields, but there are 2"),
        (
            f"row,decision,table\n1,keep,{MARK}\n2,,{MARK[:-1]}4\n",
            "line 3 of 'decisions.csv' is about another table",
        ),
        ("row,decision,table\n1,keep,of May\n", "the column table is 'of May', which is no finger"),
        ('row,decision\n1,"keep\n', "line 2"),
        ('[{"row": 1, "decision": "keep"}]', "is no file of decisions; needed CSV or a workbook"),
        ("", "is empty"),
        (b"\x01\x8d", "is in an unknown encoding; save it as CSV (UTF-8)"),
        ("row,decision\n1,ke\0ep\n", "has a NUL character in line 2"),
    ],
)
def test_what_is_wrong_is_refused_with_its_line(tmp_path, content, message):
    assert message in refusal(written(tmp_path, content))


def test_a_file_that_is_not_there_is_refused(tmp_path):
    written(tmp_path, "row,decision\n")
    assert "did you mean 'decisions.csv'?" in refusal(tmp_path / "decision.csv")


def test_a_quoted_line_break_keeps_the_line_of_the_next_row(tmp_path):
    path = written(tmp_path, 'row,reason,decision\r\n1,"two\r\nlines",keep\r\n2,one,kep\r\n')
    assert "line 4 of" in refusal(path)


def test_the_same_decision_twice_is_fine(tmp_path):
    path = written(tmp_path, "row,decision,new_label\n1,relabel,a\n1,Relabel, a\n1,,\n")
    assert [it.place for it in read_decisions(path).decided] == [2]


@pytest.mark.parametrize("evil", ["\x1b[31mred", "<script>alert(1)</script>", "=cmd|' /C calc'!A0"])
def test_hostile_text_is_quoted_in_messages_and_nothing_else(tmp_path, evil):
    cells = io.StringIO()
    csv.writer(cells).writerows([["row", "decision"], ["1", evil]])
    message = refusal(written(tmp_path, cells.getvalue()))
    assert "line 2 of" in message
    assert message.isprintable()


_words = ["row", "decision", "table", "id", "keep", "relabel", "7", "x", MARK, "é", "=1", "\x1b"]
_pieces = st.sampled_from([*_words, *",;\t\n\r \0'", '"', "\r\n", "\ufeff"])


@settings(deadline=None)
@given(
    top=st.sampled_from(["", "row,decision\n", "id;row;decision;table;tier\r\n"]),
    content=st.one_of(
        st.binary(max_size=60), st.lists(_pieces, max_size=40).map(lambda it: "".join(it).encode())
    ),
)
def test_any_bytes_are_decisions_or_refused_in_a_line(tmp_path_factory, top, content):
    path = written(tmp_path_factory.mktemp("any"), top.encode() + content)
    message, words = "", ()
    try:
        words = [it.word for it in read_decisions(path).decided]
    except TableError as error:
        message = str(error)
    assert message.isprintable()
    assert set(words) <= set(WORDS)


# -- What is written -------------------------------------------------------------------------------


def test_a_file_has_exactly_the_columns_that_are_promised():
    text = decisions_csv(
        {
            "row": np.array([4, 9]),
            "line": [6.0, np.nan],
            "id": ["=1+1", None],
            "given": np.array([1.0, 2.5]),
            "suggested": [0, 1],
            "tier": np.array([3, 1], dtype=np.int8),
            "probability": [0.75, float("nan")],
            "reason": ["a, b", 'say "no"'],
            "dropped": [True, False],
        },
        MARK,
    )
    assert text.splitlines() == [
        "row,line,id,given,suggested,tier,probability,reason,decision,new_label,table",
        f'4,6,\'=1+1,1,0,3,0.75,"a, b",,,{MARK}',
        f'9,,,2.5,1,1,,"say ""no""",,,{MARK}',
    ]


_texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
_labels = st.one_of(
    _texts, st.sampled_from(["=1", "'=1", " a", "a;=b", '"', "1.0", "007", "a\r\nb"])
)
_records = st.lists(
    st.tuples(
        st.sampled_from(["", *WORDS]), _labels, _labels, _labels, st.floats(0, 1), st.integers(0, 3)
    ),
    max_size=8,
)


def _columns(records):
    words, givens, labels, ids, probabilities, tiers = zip(*records, strict=True)
    return {
        "row": list(range(len(records))),
        "id": ids,
        "given": givens,
        "suggested": ["a"] * len(records),
        "tier": tiers,
        "probability": probabilities,
        "reason": labels,
        "decision": words,
        "new_label": [
            it if word == "relabel" else "" for it, word in zip(labels, words, strict=True)
        ],
    }


def _saved_again(text, separator, comma):
    """Return a file as a spreadsheet saves it: its separator, quotes everywhere, CRLF, a mark."""
    rows = list(csv.reader(io.StringIO(text, newline="")))
    numbers = [i for i, name in enumerate(rows[0]) if name in ("row", "tier", "probability")]
    for row in rows[1:]:
        for i in numbers:
            row[i] = f"{float(row[i])}".replace(".", comma)
    saved = io.StringIO()
    csv.writer(saved, delimiter=separator, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerows(
        rows
    )
    return b"\xef\xbb\xbf" + saved.getvalue().encode()


@settings(deadline=None)
@given(records=_records.filter(len), separator=st.sampled_from(",;\t"), comma=st.sampled_from(".,"))
def test_a_file_says_the_same_after_a_spreadsheet_saved_it(
    tmp_path_factory, records, separator, comma
):
    folder = tmp_path_factory.mktemp("decisions")
    text = decisions_csv(_columns(records), MARK)
    assert text.count("\n") == len(records) + 1
    plain = read_decisions(written(folder, text, "plain.csv"))
    again = read_decisions(written(folder, _saved_again(text, separator, comma), "again.csv"))
    assert again.decided == plain.decided
    assert again.listed == plain.listed == tuple((i, it[5]) for i, it in enumerate(records))
    assert again.table == plain.table == MARK
    assert [it.word for it in plain.decided] == [it[0] for it in records if it[0]]
