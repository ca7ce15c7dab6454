"""Every file that cannot be used is refused in one line, which names the way out."""

import gzip
import io
import os
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sorr.auditing import TableError, quote, read_table
from sorr.auditing.table import files, quote_bare
from sorr.auditing.table.values import MISSING, column_names, column_of, settle

pd = pytest.importorskip("pandas", reason="tables are read by pandas")

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


BAD = {
    "empty": (b"", "is empty; needed a line of names"),
    "blank": ("\n \n\r\n" + " " * 9000 + "\n", "is empty; needed a line of names"),
    "mark alone": (b"\xef\xbb\xbf", "is empty; needed a line of names"),
    "packed nothing": (gzip.compress(b""), "is empty"),
    "header alone": ("a,b\n\n", "has a line of names, but no rows below it"),
    "open quotes": (
        'a,b\n1,2\n3,"4\n5,6\n',
        "ends inside quotes that open in the record of line 3; close them",
    ),
    "open quotes in the header": ('a,"b\n1,2\n', "in the record of line 1"),
    "NUL": ("a,b\n1,2\n1,\0\n", "NUL character in line 3"),
    "NUL in UTF-16": ("a,b\n1,\0\n".encode("utf-16"), "NUL character in line 2"),
    "no text at all": (bytes(range(32)) * 99, "NUL character in line 1"),
    "zip of two": (zipped("a.csv", "b.csv"), "is a zip archive of 2 files: 'a.csv', 'b.csv'"),
    "zip of none": (zipped("folder/"), "is a zip archive of 0 files; needed one table"),
    "torn zip": (zipped("xl/a")[:20], "is a damaged zip file"),
    "7-Zip": (b"7z\xbc\xaf\x27\x1c", "is a 7-Zip archive: unpack it"),
    "PDF": (b"%PDF-1.7\n", "is a PDF document: take the table out of it"),
    "web page": (b"\n<!DOCTYPE html>\n<html>", "is a web page"),
    "packed twice": (gzip.compress(gzip.compress(b"a,b\n1,2\n")), "is packed more than once"),
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
    monkeypatch.setattr(files, "_unpacked", fail)
    assert refusal(path) == "'t.csv' cannot be read: Input/output error"


def test_a_name_too_long_for_the_system_is_refused():
    assert "cannot be read" in refusal("x" * 5000 + ".csv")


def test_text_columns_that_are_not_there_are_named_before_the_file_is_read(refused):
    said = refused("label,b\n1,2\n", text_columns=["lable", "c"])
    assert said == "'table.csv' has no column 'lable', 'c'; did you mean 'label'?"
    assert refused("label,b\n1,2\n", text_columns=["zzz"]).endswith("there are 'label', 'b'")


def test_names_are_refused_as_soon_as_they_are_known(refused):
    rest = b"1,2\n" * 30_000 + b"\0"
    told = []
    options = {"text_columns": ["c"], "progress": lambda *it: told.append(it)}
    assert "has no column 'c'" in refused(b"a,b\n" + rest, **options)
    assert not told


def test_a_sample_of_no_rows_is_refused(refused):
    assert refused("a,b\n1,2\n", n_rows=0).startswith("n_rows=0 leaves nothing to learn from")


def test_a_file_that_grows_while_it_is_read_is_noticed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    told = []

    def grow(_done, _whole, label):
        told.append(label)
        if len(told) == 2:  # at the end of the file
            path.write_text("a,b\n1,2\n3,4\n")

    assert "2 rows were read, but 1" in refusal(path, progress=grow)


def test_hostile_names_are_shown_short_and_escaped(refused):
    said = refused(f'"{HOSTILE}","b"\n1,2\n', text_columns=["c"])
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


# -- Names and values ------------------------------------------------------------------------------


@given(st.lists(st.sampled_from(["x", "x (2)", "x (3)", "", "column 2", " x"]), min_size=1))
def test_names_are_all_different_and_the_first_of_each_stays(written):
    names, _ = column_names(written, "t.csv")
    assert len(set(names)) == len(names) == len(written)
    for name in ("x", "x (2)", "x (3)"):
        if name in (stripped := [it.strip() for it in written]):
            assert names[stripped.index(name)] == name


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1", " 2", "+3"], [1, 2, 3]),
        (["1", "2.5"], [1.0, 2.5]),
        ([str(2**63 - 1), "0"], [2**63 - 1, 0]),
        (["-inf", "1e5"], [float("-inf"), 1e5]),
    ],
)
def test_plain_numbers_in_texts_are_numbers(texts, expected):
    found = settle(pd.Series(texts, dtype=str))
    assert found.tolist() == expected
    assert found.dtype == type(expected[0])


@pytest.mark.parametrize(
    "texts",
    [
        ["007", "1"],
        [str(2**63), "1"],
        [str(2**53), "NA"],
        [str(2**60), "0.5"],
        ["1,5", "2"],
        ["$1", "2"],
        ["1_0", "2"],
        ["\u0663", "1"],
        ["1", "x"],
    ],
)
def test_codes_and_other_texts_stay(texts):
    found = settle(pd.Series(texts, dtype=str))
    assert found.dropna().tolist() == [it for it in texts if it != "NA"]


CELLS = st.one_of(
    st.none(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False),
    st.text(max_size=4),
    st.dates(),
    st.datetimes(),
    st.lists(st.integers(), max_size=2),
    st.just(b"\xff"),
)


@given(st.lists(CELLS, min_size=1, max_size=5))
def test_a_column_of_any_cells_holds_one_kind_and_keeps_what_is_missing(cells):
    column = column_of(cells)
    there = column.dropna()
    assert len(column) == len(cells)
    assert column[[it is None for it in cells]].isna().all()
    is_number = pd.api.types.is_numeric_dtype(column)
    is_date = pd.api.types.is_datetime64_any_dtype(column)
    assert is_number or is_date or all(isinstance(it, str) for it in there)
    if is_number:
        expected = [it for it in cells if it is not None and it not in MISSING]
        assert there.tolist() == [float(it) for it in expected]
    if is_date:
        assert not any(isinstance(it, int | float | str) for it in cells)


@given(st.lists(st.one_of(st.none(), st.integers(-(2**70), 2**70)), min_size=1))
def test_whole_numbers_are_never_rounded(cells):
    column = column_of(cells)
    assert [None if pd.isna(it) else int(it) for it in column.astype(object)] == cells


def test_numbers_beside_texts_are_written_as_people_do():
    assert column_of([1.0, 2.5, "x", True, b"y"]).tolist() == ["1", "2.5", "x", "True", "y"]
    nested = column_of([{"a": [1, "é"]}, [None]])
    assert nested.tolist() == ['{"a": [1, "é"]}', "[null]"]
