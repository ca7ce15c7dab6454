"""Every file that cannot be used is refused in one line, which names the way out."""

import gzip
import io
import math
import os
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("pandas", reason="tables are read by pandas")

from hypothesis import given
from hypothesis import strategies as st

from sorr.auditing import TableError, quote, read_table
from sorr.auditing.table import files, quote_bare, text
from sorr.auditing.table.values import read_numbers

HOSTILE = "\x1b[31m\r\nred\u202e" + "x" * 500


def zipped(*names):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(name, "content")
    return stream.getvalue()


def refusal(path, **options):
    with pytest.raises(TableError) as caught:
        read_table(path, **options)
    message = str(caught.value)
    assert message.isprintable(), "a message is one line without control characters"
    assert len(message) < 700
    return message


@pytest.fixture
def refused(tmp_path):
    """Write a file and return the message with which it is refused."""

    def refused(content, name="table.csv", **options):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return refusal(path, **options)

    return refused


ROWS = "".join(f"{i},{i}\n" for i in range(1200))
BAD = {
    "empty": (b"", "is empty; needed a line of names"),
    "blank": ("\n \n\r\n" + " " * 9000 + "\n", "is empty; needed a line of names"),
    "mark alone": (b"\xef\xbb\xbf", "is empty; needed a line of names"),
    "packed nothing": (gzip.compress(b""), "is empty"),
    "header alone": ("a,b\n\n", "has a line of names, but no rows below it"),
    "twice a name": ("a,b, a,b\n1,2,3,4\n", "more than one column called 'a', 'b'; give each"),
    "no header": ("1,0,1\n1,0,1\n", "called '1'; if the first line is a row, put a line of names"),
    "too long": (
        "a,b\n1,2\n1,x, y\n3,4\n",
        "line 3 of 'table.csv' has 3 fields, but the header has 2; put fields that contain a comma "
        "in double quotes",
    ),
    "too short": (
        "a;b;c\n1;2;3\n1;2\n",
        "line 3 of 'table.csv' has 2 fields, but the header has 3; add the missing fields",
    ),
    "long after lines in quotes": ('a,b\n"1\n\n",2\n\n1,2,3\n', "line 6 of 'table.csv' has 3"),
    "two of them": (
        "a,b\n1,2,3\n1,2\n1\n",
        "line 2 of 'table.csv' has 3 fields, but the header has 2 (1 other row is",
    ),
    "all rows": ("a,b\n1,2,3\n1,2,3\n", "has 2 names in its first line, but 3 fields in every row"),
    "many": ("a,b\n1,2\n" + "1,2,3\n" * 5000, "(999 or more other rows are wrong too)"),
    "many alike": ("a,b\n" + "1,2,3\n" * 5000, "3 fields in every row; needed one name per column"),
    "open quotes": (
        'a,b\n1,2\n3,"4\n5,6\n',
        "ends inside quotes that open in the record of line 3; close them",
    ),
    "open quotes in the header": ('a,"b\n1,2\n', "in the record of line 1"),
    "windows": (
        "n,a\n1,x\r\n2,René\r3,é\n".encode("cp1252"),
        "is not UTF-8: line 3 has the byte 0xE9 ('é' in Windows-1252); save it as UTF-8, or run "
        "iconv -f WINDOWS-1252 -t UTF-8 ",
    ),
    "mixed": (
        "a,b\n1,é\n".encode() + "2,ü\n".encode("cp1252"),
        "mixes encodings: line 2 is UTF-8, but line 3 has the byte 0xFC ('ü' in Windows-1252)",
    ),
    "mixed the other way": (
        "a,b\n1,ü\n".encode("cp1252") + "2,é\n".encode(),
        "mixes encodings: line 3 is UTF-8, but line 2 has the byte 0xFC",
    ),
    "cut UTF-8": ("a,b\n1,é".encode()[:-1], "is not UTF-8: line 2 has the byte 0xC3"),
    "cut UTF-16": ("a,b\n1,é\n".encode("utf-16")[:-1], "begins as UTF-16, but is not valid"),
    "UTF-16 without a mark": ("a,b\n1,2\n".encode("utf-16-le"), "NUL character in line 1"),
    "NUL": ("a,b\n1,2\n1,\0\n", "NUL character in line 3"),
    "NUL in UTF-16": ("a,b\n1,\0\n".encode("utf-16"), "NUL character in line 2"),
    "xlsx": (zipped("[Content_Types].xml", "xl/workbook.xml"), "is an Excel workbook: open it"),
    "ods": (zipped("mimetype", "content.xml"), "is a LibreOffice document: open it and save it"),
    "zip": (zipped("table.csv"), "is a zip archive: unpack it"),
    "torn zip": (zipped("xl/a")[:20], "is a zip archive: unpack it"),
    "xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", "is an Excel workbook (.xls)"),
    "bzip2": (b"BZh91AY", "compressed with bzip2"),
    "web page": (b"\n<!DOCTYPE html>\n<html>", "is a web page"),
    "torn gzip": (gzip.compress(ROWS.encode())[:-20], "is a damaged gzip file (it ends too early)"),
    "gzip of 10 bytes": (gzip.compress(b"a,b\n1,2")[:10], "is a damaged gzip file"),
    "changed gzip": (gzip.compress(b"a,b\n1,2\n")[:-8] + b"\0" * 8, "is a damaged gzip file (CRC"),
}


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD)
def test_a_bad_file_is_refused_by_name_with_the_way_out(refused, content, message):
    said = refused(content)
    assert message in said
    assert "table.csv" in said


def test_a_missing_file_brings_up_names_close_to_it(tmp_path):
    (tmp_path / "People.csv").write_text("a\n1\n")
    assert "did you mean 'People.csv'?" in refusal(tmp_path / "peple.csv")
    assert "there is no file" in refusal(tmp_path / "other.parquet")
    assert "there is no folder" in refusal(tmp_path / "nowhere" / "t.csv")
    assert "there is no file" in refusal("~nobody-of-this-name.csv")


def test_a_folder_is_no_table_but_may_hold_some(tmp_path):
    (tmp_path / "t.csv").write_text("a\n1\n")
    (tmp_path / "t.doc").write_text("a")
    assert refusal(tmp_path).endswith("is a folder; needed a file, such as 't.csv'")


def test_a_pipe_is_refused_since_it_can_be_read_only_once(tmp_path):
    if not hasattr(os, "mkfifo"):
        pytest.skip("there are no named pipes on this system")
    os.mkfifo(tmp_path / "t.csv")
    assert "is not a regular file" in refusal(tmp_path / "t.csv")


def test_a_file_that_may_not_be_read_says_so(tmp_path, monkeypatch):
    def forbid(*_, **__):
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")
    monkeypatch.setattr(Path, "open", forbid)  # a mode of 000 would not stop the superuser
    assert "cannot be read: no permission; ask its owner, or run chmod u+r" in refusal(path)


def test_a_file_that_fails_half_way_says_why(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(5, "Input/output error")

    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")
    monkeypatch.setattr(files.io, "TextIOWrapper", fail)
    assert refusal(path) == "'t.csv' cannot be read: Input/output error"


@pytest.mark.parametrize("name", ["t.xlsx", "t.json", "t", "t.gz", ".csv"])
def test_an_unknown_kind_of_file_brings_up_those_that_are_known(refused, name):
    assert ".csv, .tsv, .tab, .txt, .csv.gz" in refused("a,b\n1,2\n", name)


def test_a_name_too_long_for_the_system_is_refused():
    assert "cannot be read" in refusal("x" * 5000 + ".csv")


def test_a_line_without_end_is_refused_before_it_fills_the_memory(refused, monkeypatch):
    monkeypatch.setattr(files, "LONGEST", 1000)
    assert "line 2 of 'table.csv' is longer than 1,000" in refused("a,b\n" + "x" * 2000)


def test_a_value_without_end_is_refused_too(refused, monkeypatch):
    monkeypatch.setattr(text, "LONGEST", 1000)
    assert "the record in line 2 of 'table.csv'" in refused('a,b\n1,"' + "xxxx\n" * 2000)


def test_text_columns_that_are_not_there_are_named_before_the_file_is_read(refused):
    said = refused("label,b\n1,2\n", text_columns=["lable", "c"])
    assert said == "'table.csv' has no column 'lable', 'c'; did you mean 'label'?"
    assert refused("label,b\n1,2\n", text_columns=["zzz"]).endswith("there are 'label', 'b'")


def test_names_are_refused_as_soon_as_they_are_known(refused):
    rest = b"1,2\n" * 30_000 + b"\0"
    told = []
    options = {"text_columns": ["c"], "progress": lambda *it: told.append(it)}
    assert "has no column 'c'" in refused(b"a,b\n" + rest, **options)
    assert "more than one column" in refused(b"a,a\n" + rest, **options)
    assert not told


def test_a_sample_of_no_rows_is_refused(refused):
    assert refused("a,b\n1,2\n", n_rows=0).startswith("n_rows=0 leaves nothing to learn from")


def test_a_file_that_grows_while_it_is_read_is_noticed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")

    def grow(done, whole, label):
        if 2 * done == whole and label.startswith("checking"):
            path.write_text("a,b\n1,2\n3,4\n")

    assert "2 rows were read, but 1" in refusal(path, progress=grow)


def test_hostile_names_are_shown_short_and_escaped(refused):
    said = refused(f'"{HOSTILE}","{HOSTILE}"\n1,2\n')
    assert r"'\x1b[31m\r\nred\u202exxx" in said
    assert "\x1b" not in refused(b"", "\x1b[31m\n.csv")


@pytest.mark.parametrize("width", [10, 40])
@pytest.mark.parametrize("value", [HOSTILE, "\n" * 100, "'" * 100, "'\"" * 50, 10**90, "é" * 41])
def test_a_long_value_is_shown_in_the_width_that_is_there(value, width):
    text = quote(value, width)
    assert text.isprintable()
    assert len(text) == width + 2
    assert text[-4:-1] == "..."
    assert quote_bare(value, width) == text[1:-1]


def test_a_short_value_is_shown_whole():
    assert quote("x" * 40) == repr("x" * 40)
    assert quote(1.5) == "'1.5'"
    assert quote_bare(None) == "None"


def test_a_machine_without_pandas_is_told_what_to_install(refused, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pandas", None)
    assert 'pip install "sorr[audit]"' in refused("a,b\n1,2\n")


# -- Numbers that are written with commas, or beside marks for what is missing, are numbers --------


pd = pytest.importorskip("pandas", reason="tables are read by pandas")


def numbers(*texts, separator=","):
    reading = read_numbers(pd.Series(texts, dtype=str), separator)
    return None if reading is None else reading.values.tolist()


def is_same(found, expected):
    return found is not None and all(
        a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(found, expected, strict=True)
    )


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("1", "?", "2.5"), [1, math.nan, 2.5]),
        (("1", " ? ", "", "-", ".", "None", "-3e2"), [1, *[math.nan] * 5, -300]),
        (("1,5", "2", "-0,25"), [1.5, 2, -0.25]),
        (("1.234,5", "2.000", "12"), [1234.5, 2000, 12]),
        (("1 234,5", "7"), [1234.5, 7]),
        (("1\u202f234\u202f567,5", "1'000,0", "0,5"), [1234567.5, 1000, 0.5]),
        (("1,234", "1,234,567.5", "12", ".5"), [1234, 1234567.5, 12, 0.5]),
        (("0,123", "0,456"), [0.123, 0.456]),
        (("1,5E3", "?"), [1500, math.nan]),
    ],
)
def test_numbers_are_found_in_texts(texts, expected):
    assert is_same(numbers(*texts), expected)


@pytest.mark.parametrize(
    "texts",
    [
        ("?", "?", "-"),
        ("1", "?", "two"),
        ("1.5", "1,5"),
        ("1,2,3", "4,5"),
        ("2020-01-01", "2020-01-02"),
        ("111 222", "333 444"),
        ("1.234.567", "1.2.3"),
        ("12.34.56", "1"),
        ("0x1F", "?"),
        ("1_000", "?"),
        ("1,", ","),
        ("\u0663", "?"),
        ("1", *map(str, range(200)), "x"),
    ],
)
def test_texts_that_are_no_numbers_stay(texts):
    assert numbers(*texts) is None


def test_a_doubtful_comma_is_read_as_the_separator_of_the_file_suggests():
    assert numbers("1,234", "2,000", separator=",") == [1234, 2000]
    assert numbers("1,234", "2,000", separator=";") == [1.234, 2.0]
    assert numbers("1,234,567", "2,000", separator=";") == [1234567, 2000]


def test_missing_values_stay_missing():
    found = read_numbers(pd.Series(["1,5", None, "?"], dtype=str), ";").values
    assert found.isna().tolist() == [False, True, True]
    assert found.dtype == "float64"


@given(st.lists(st.decimals(-(10**9), 10**9, places=3), min_size=1))
def test_decimal_commas_of_a_european_file_mean_what_they_say(values):
    texts = [f"{value:.3f}".replace(".", ",") for value in values]
    assert numbers(*texts, separator=";") == [float(value) for value in values]


@given(st.lists(st.decimals(-(10**9), 10**9, places=3), min_size=1))
def test_separators_of_thousands_mean_what_they_say(values):
    found = numbers(*[f"{value:,.3f}" for value in values])
    plain = all(abs(value) < 1000 for value in values)
    assert plain or found == [float(value) for value in values]


def test_a_table_says_what_was_read_as_missing_and_how_commas_were_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("age;income;work\n39;1.234,5;?\n?;7,25;None\n50;8;private\n")
    table = read_table(path)
    assert is_same(table.frame["age"].tolist(), [39, math.nan, 50])
    assert table.frame["income"].tolist() == [1234.5, 7.25, 8.0]
    assert table.frame["work"].tolist() == ["?", "None", "private"]
    assert table.notes[1:] == (
        "'?' was read as missing in 'age', where all other values are numbers.",
        "'income': commas in numbers were read as in 1.234,5 = 1234.5.",
    )


def test_text_columns_are_not_looked_into(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1,5;?\n2,5;1\n")
    table = read_table(path, text_columns=["a", "b"])
    assert table.frame.to_numpy().tolist() == [["1,5", "?"], ["2,5", "1"]]
    assert len(table.notes) == 1
