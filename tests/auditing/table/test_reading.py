"""Whatever a file of text looks like, its values and the lines of its rows come back exact."""

import csv
import gzip
import io
import sys
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sorr.auditing import TableError, read_table
from sorr.auditing.table.values import MISSING
from tests.slow import examples

pd = pytest.importorskip("pandas", reason="tables are read by pandas")

CELLS = st.text(st.sampled_from("ab01 ,;|\t\"\n\r'#é中\U0001f600\u2028\x0b\x1c.-?=\\N"), max_size=6)
MISQUOTED = st.text(st.sampled_from('a1"" \t,\n'), max_size=4)
ANY_TABLE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def write(tmp_path):
    def write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


class Drawn(NamedTuple):
    names: list
    rows: list
    text: str


@st.composite
def drawn_tables(draw):
    """Draw the cells of a table, and a text in which they stand with blank lines between them."""
    separator = draw(st.sampled_from(",;\t|"))
    n_columns = draw(st.integers(2, 4))
    names = ["a", "b\nc", 'd"', "e"][:n_columns]
    rows = draw(st.lists(st.tuples(*[CELLS] * n_columns), min_size=1, max_size=12))

    def field(cell):
        if set(cell) & {separator, '"', "\n", "\r"} or draw(st.booleans()):
            return '"' + cell.replace('"', '""') + '"'
        return cell

    parts = []
    for cells in [names, *rows]:
        parts += draw(st.lists(st.sampled_from(["", " ", "  "]), max_size=2))
        parts.append(separator.join(map(field, cells)))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    return Drawn(names, rows, end.join(parts) + draw(st.sampled_from(["", end, end + end])))


def starts_of_records(text):
    """Return the line of each record, letter by letter: the referee."""
    starts, record, is_quoted, line, start = [], "", False, 1, 1
    for i, letter in enumerate(text + "\n"):
        is_end = letter == "\n" or (letter == "\r" and text[i + 1 : i + 2] != "\n")
        is_quoted ^= letter == '"'
        line += is_end
        if is_end and not is_quoted:
            starts += [start] if record.strip(" \r") else []
            record, start = "", line
        else:
            record += letter
    return starts


def cells_of(frame):
    return frame.astype(object).where(frame.notna(), None).to_numpy().tolist()


@ANY_TABLE
@given(drawn_tables(), st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]), st.booleans())
def test_values_and_lines_of_any_table_come_back(write, drawn, encoding, packed):
    content = drawn.text.encode(encoding)
    path = write(gzip.compress(content) if packed else content)
    table = read_table(path, text_columns=drawn.names)
    assert list(table.frame.columns) == drawn.names
    assert cells_of(table.frame) == [
        [None if cell in MISSING else cell for cell in row] for row in drawn.rows
    ]
    assert table.lines.tolist() == starts_of_records(drawn.text)[1:]
    assert table.rows.tolist() == list(range(table.n_rows)) == list(range(len(drawn.rows)))
    assert table.lines.dtype == table.rows.dtype == np.int64


@settings(ANY_TABLE, max_examples=examples(40))
@given(drawn_tables(), st.integers(1, 12), st.integers(0, 9))
def test_a_sample_holds_the_same_values_as_its_rows_in_the_whole(write, drawn, n_rows, seed):
    path = write(drawn.text)
    whole = read_table(path, text_columns=drawn.names)
    sample = read_table(path, text_columns=drawn.names, n_rows=n_rows, random_state=seed)
    assert len(sample.frame) == min(n_rows, whole.n_rows) == len(set(sample.rows.tolist()))
    assert sample.n_rows == whole.n_rows
    assert cells_of(sample.frame) == cells_of(whole.frame.iloc[sample.rows])
    assert sample.lines.tolist() == whole.lines[sample.rows].tolist()
    assert sample.frame.index.equals(pd.RangeIndex(len(sample.frame)))


@ANY_TABLE
@given(st.lists(st.tuples(MISQUOTED, MISQUOTED), min_size=1), st.sampled_from(["b,c", "b, c"]))
def test_however_quotes_are_misused_a_file_is_refused_or_read_as_by_the_csv_module(
    write, cells, header
):
    usual = [("x", "y")] * (2 * len(cells) + 1)  # so that most rows have two fields
    body = "\r\n".join(f"{left},{right}" for left, right in usual + cells)
    path = write(f"{header}\n{body}")
    try:
        table = read_table(path, text_columns=header.split(","))
    except TableError:
        return
    lines = io.StringIO(body, newline="")
    rows = [row for row in csv.reader(lines, skipinitialspace=" " in header) if len(row) > 1]
    assert cells_of(table.frame) == [[cell or None for cell in row] for row in rows]


@ANY_TABLE
@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.floats(width=64)), min_size=1))
def test_numbers_come_back_as_they_were_written(write, rows):
    table = read_table(write("whole,real\n" + "".join(f"{i},{x!r}\n" for i, x in rows)))
    assert table.frame["whole"].tolist() == [i for i, _ in rows]
    np.testing.assert_allclose(table.frame["real"], [x for _, x in rows], rtol=1e-15)


def test_every_row_is_drawn_as_often_as_any_other(write):
    path = write("x\n" + "".join(f"{i}\n" for i in range(10)))
    drawn = [read_table(path, n_rows=3, random_state=seed).rows for seed in range(200)]
    counts = np.bincount(np.concatenate(drawn), minlength=10)
    assert counts.sum() == 600
    assert 35 < counts.min() <= counts.max() < 85  # 60 and six standard deviations of 6.5


def test_the_same_seed_draws_the_same_rows(write):
    path = write("x\n" + "".join(f"{i}\n" for i in range(1000)))
    draw = [read_table(path, n_rows=9, random_state=seed).rows.tolist() for seed in (1, 1, 2)]
    assert draw[0] == draw[1] != draw[2]
    assert draw[0] == sorted(draw[0])


def test_a_sample_says_so_and_a_sample_of_all_rows_does_not(write):
    path = write("x\n1\n2\n3\n")
    assert "random sample of 2 of the 3 rows" in read_table(path, n_rows=2, random_state=0).notes[0]
    assert read_table(path, n_rows=3).notes == read_table(path, n_rows=9).notes == ()


def test_a_column_is_of_text_as_soon_as_one_value_is(write):
    frame = read_table(write("a,b\n01,1\n2,2\nx,3\n4,4\n")).frame
    assert frame["a"].tolist() == ["01", "2", "x", "4"]
    assert frame["b"].dtype == np.int64


def test_a_word_at_the_end_of_a_long_file_makes_text_of_the_numbers_before_it(write):
    width, n = 1000, 600  # pandas goes through such a file in parts of 512 rows
    lines = [",".join(["01"] + ["7"] * (width - 1))] * n + [",".join(["x"] * width)]
    header = ",".join(f"c{i}" for i in range(width))
    frame = read_table(write("\n".join([header, *lines[: n - 1], lines[-1]]))).frame
    assert frame["c0"].iloc[0] == "01"
    assert set(map(type, frame["c0"])) == set(map(type, frame["c9"])) == {str}


def test_text_columns_stay_as_they_are_written(write):
    path = write("zip,n\n01067,1.50\n99,2\nNone,\n")
    frame = read_table(path, text_columns=["zip", "n"]).frame
    assert frame["zip"].tolist() == ["01067", "99", "None"]
    assert frame["n"].tolist()[:2] == ["1.50", "2"]
    assert frame["n"].isna().tolist() == [False, False, True]


@pytest.mark.parametrize("rest", ["", "\n,5", "\nyes,5"])
def test_truth_values_are_text_as_written_with_and_without_missing_ones(write, rest):
    frame = read_table(write(f"a,b\ntrue,1\nFALSE,2{rest}\n")).frame
    assert frame["a"].tolist()[:2] == ["true", "FALSE"]


def test_truth_values_that_come_late_are_text_too(write):
    frame = read_table(write("a,b\n" + ",1\n" * 1200 + "TRUE,2\n")).frame
    assert frame["a"].iloc[-1] == "TRUE"


def test_names_that_mean_something_in_python_are_names_like_others(write):
    names = ["self", "index", "class", "__init__"]
    table = read_table(write(f"{','.join(names)}\n?,true,99999999999999999999,1\n1,,2,x\n"))
    assert list(table.frame.columns) == names
    assert table.frame["self"].tolist() == ["?", "1"]


def test_thousands_of_columns_are_read(write):
    names = [f"c{i}" for i in range(3_000)]
    path = write("\n".join([",".join(names), ",".join(["1"] * 3_000), ",".join(["x"] * 3_000)]))
    table = read_table(path, text_columns=names)
    assert table.frame.shape == (2, 3_000)


def test_whole_numbers_of_more_than_64_bits_are_text(write):
    frame = read_table(write("a,b\n99999999999999999999,1\n1,2\n")).frame
    assert frame["a"].tolist() == ["99999999999999999999", "1"]


def test_what_is_missing_and_what_only_looks_so(write):
    frame = read_table(write("word,number\nNA,NA\n,\nNone,null\n?,5\nnan,NaN\n")).frame
    assert frame["word"].isna().tolist() == [True, True, False, False, True]
    assert frame["number"].isna().tolist() == [True, True, True, False, True]


def test_a_hash_sign_begins_no_comment_and_a_first_column_no_index(write):
    frame = read_table(write("a,b\n#1,x\n#2,y # z\n")).frame
    assert frame.to_numpy().tolist() == [["#1", "x"], ["#2", "y # z"]]


@pytest.mark.parametrize("name", ["t.CSV", "t", "t.data", "t.csv.2024", ".csv", "t.parquet"])
def test_any_name_will_do(write, name):
    table = read_table(str(write("a,b\n1,x\n", name)))
    assert table.frame.to_numpy().tolist() == [[1, "x"]]
    assert table.name == name


@pytest.mark.parametrize(
    ("name", "separator", "word"),
    [
        ("t.csv", ";", "semicolon"),
        ("t.csv", "\t", "tab"),
        ("t.csv", "|", "vertical bar"),
        ("t.tsv", ",", "comma"),
        ("t.txt", "|", "vertical bar"),
        ("t.txt", "\t", "tab"),
    ],
)
def test_another_separator_is_found_and_told_of(write, name, separator, word):
    path = write(separator.join(["a", "b", "c"]) + "\n" + separator.join(["1", "x, y", "2"]), name)
    if separator == ",":
        path = write("a,b,c\n1,'x y',2", name)
    table = read_table(path)
    assert list(table.frame.columns) == ["a", "b", "c"]
    assert table.notes == (f"The separator is a {word}.",)


def test_a_comma_in_a_name_does_not_hide_the_semicolons(write):
    table = read_table(write("price, EUR;weight;x\n5;1,5;a\n7;2;b\n"))
    assert list(table.frame.columns) == ["price, EUR", "weight", "x"]


def test_the_usual_separator_comes_first_where_two_would_do(write):
    text = "a,b;c\n1,2;3\n"
    assert list(read_table(write(text)).frame.columns) == ["a", "b;c"]
    assert list(read_table(write(text, "t.tsv")).frame.columns) == ["a", "b;c"]


def test_the_separator_with_more_fields_comes_before_the_usual_one(write):
    table = read_table(write("price, EUR;weight;x\n5,1;1;a\n7,2;2;b\n"))
    assert list(table.frame.columns) == ["price, EUR", "weight", "x"]
    assert table.separator == ";"


def test_a_single_column_is_a_table_too(write):
    table = read_table(write('text\n"a;b"\nc d\n'))
    assert table.frame["text"].tolist() == ["a;b", "c d"]
    assert table.notes == ()


def test_blank_lines_are_skipped_and_counted(write):
    table = read_table(write("\n\na,b\n\n1,2\n  \n\n3,4\n\n"))
    assert table.lines.tolist() == [5, 8]
    assert table.notes == ("6 blank lines were skipped.",)


def test_only_spaces_and_tabs_make_a_line_blank(write):
    assert len(read_table(write("a\nx\n\x0b\n\u2028\n\xa0\n \t\n")).frame) == 4


def test_a_row_of_empty_fields_is_a_row(write):
    assert len(read_table(write("a\tb\n1\t2\n\t\n", "t.tsv")).frame) == 2


def test_names_lose_the_white_space_around_them_and_nothing_else(write):
    table = read_table(write(" a ,B b,ñ\t\n1,2,3\n"), text_columns=["a"])
    assert list(table.frame.columns) == ["a", "B b", "ñ"]


def test_spaces_after_every_separator_are_not_part_of_the_values(write):
    table = read_table(write('age, work, label\n39, "a, b", <=50K\n40, ?, >50K\n'))
    assert table.frame["work"].tolist() == ["a, b", "?"]
    assert table.frame["label"].tolist() == ["<=50K", ">50K"]
    assert "Spaces after separators were ignored." in table.notes


def test_a_column_without_a_name_is_called_after_its_place(write):
    table = read_table(write(",a\n0,x\n1,y\n"))
    assert list(table.frame.columns) == ["column 1", "a"]
    assert "'column 1'" in table.notes[0]


def test_a_separator_at_the_end_of_each_line_makes_no_column(write):
    table = read_table(write("a,b,\n1,2,\n3,4,\n"))
    assert list(table.frame.columns) == ["a", "b"]
    assert any("removed: 'column 3'" in note for note in table.notes)


def test_names_that_are_numbers_raise_a_doubt(write):
    notes = read_table(write("5.1,3.5,1.4,setosa\n4.9,3.0,1.3,setosa\n")).notes
    assert any("put a line of names above it" in note for note in notes)


def test_a_mark_of_utf16_is_told_of_and_that_of_utf8_is_not(write):
    text = "a,ü\n1,ß\n"
    assert read_table(write(text.encode("utf-16"))).notes == ("The file was decoded as UTF-16.",)
    table = read_table(write(text.encode("utf-8-sig")))
    assert list(table.frame.columns) == ["a", "ü"]
    assert table.notes == ()


def test_a_very_long_value_is_read(write):
    long = "x" * 500_000
    frame = read_table(write(f'a,b\n"{long},",1\n{long},2\n')).frame
    assert frame["a"].str.len().tolist() == [500_001, 500_000]


def test_the_limit_of_the_csv_module_is_left_as_it_was(write):
    before = csv.field_size_limit()
    read_table(write('a,b\n"1\n",2\n'))
    with pytest.raises(TableError):
        read_table(write('a,b\n"1\n,2\n'))
    assert csv.field_size_limit() == before


@pytest.mark.parametrize("n_rows", [None, 100])
def test_progress_only_goes_forward_and_reaches_the_end(write, n_rows):
    told = []
    path = write("x,y\n" + "1,2\n" * 1_000_000)
    read_table(path, n_rows=n_rows, random_state=0, progress=lambda *it: told.append(it))
    done, whole, labels = zip(*told, strict=True)
    assert list(done) == sorted(done)
    assert done[-1] == whole[-1] == 2 * path.stat().st_size
    assert len(done) > (4 if n_rows is None else 8)
    assert set(labels) == {"checking table.csv", "reading table.csv"}


def test_a_dash_stands_for_the_standard_input(monkeypatch):
    packed = gzip.compress(b"a;b\n1;x\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(packed)))
    table = read_table("-")
    assert table.frame.to_numpy().tolist() == [[1, "x"]]
    assert table.name == "standard input"
    assert table.lines.tolist() == [2]
