"""Whatever a text looks like, its table comes back, or one line names the trouble and its line."""

import bz2
import gzip
import lzma
import re
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sorr.auditing import TableError, read_table
from sorr.auditing.table.values import MISSING
from tests.slow import examples

pd = pytest.importorskip("pandas", reason="tables are read by pandas")

ANY_TABLE = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
BREAK = re.compile("\r\n|\r|\n")
CELLS = st.one_of(
    st.text(st.sampled_from("ab01 ,;|\t\"\n\r'#é中\U0001f600\u2028\x0b.-?=\\N"), max_size=6),
    st.sampled_from(["", "NA", "007", "1.5", "=1+1", "<b>", "x" * 3000]),
)
PACKINGS = {"": lambda it: it, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.fixture
def write(tmp_path):
    def write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def refusal(path, **options):
    with pytest.raises(TableError) as caught:
        read_table(path, **options)
    message = str(caught.value)
    assert message.isprintable(), "a message is one line without control characters"
    assert len(message) < 700
    return message


class Written(NamedTuple):
    text: str
    names: list
    rows: list
    lines: list
    ragged: list
    nul: int | None
    open_quote: int | None


@st.composite
def written_tables(draw):
    """Draw a table and the text in which it is written, perhaps with some trouble."""
    separator, end = draw(st.sampled_from(",;\t|")), draw(st.sampled_from(["\n", "\r\n", "\r"]))
    quoting = draw(st.sampled_from(["needed", "all", "any"]))
    trouble = draw(st.sampled_from(["none", "none", "few ragged", "ragged", "nul", "open"]))
    n_columns = draw(st.integers(2, 4))
    names = ["a", "b\nc", 'd"', "e"][:n_columns]
    rows = draw(st.lists(st.lists(CELLS, min_size=n_columns, max_size=n_columns), min_size=1))
    if "ragged" in trouble:
        rows += [["x"] * n_columns] * (200 if trouble == "few ragged" else 6)
    places = draw(st.sets(st.integers(0, len(rows) - 1), min_size=1, max_size=2))

    def field(cell):
        is_needed = set(cell) & {separator, '"', "\n", "\r"}
        if is_needed or quoting == "all" or (quoting == "any" and draw(st.booleans())):
            return '"' + cell.replace('"', '""') + '"'
        return cell

    text, lines, ragged, nul = separator.join(map(field, names)) + end, [], [], None
    for i, row in enumerate(rows):
        blanks = draw(st.integers(0, 8)) if len(rows) < 50 else 0
        text += end * max(blanks - 6, 0)
        line = 1 + len(BREAK.findall(text))
        cells = list(map(field, row))
        if i in places and trouble == "nul":
            nul = nul or line + len(BREAK.findall(separator.join(cells[:-1])))
            cells[-1] = "\0"
        if i in places and "ragged" in trouble:
            cells = draw(st.sampled_from([["x"] * (n_columns - 1), ["x"] * (n_columns + 1)]))
            ragged.append((line, len(cells)))
        else:
            lines.append(line)
        text += separator.join(cells) + end
    open_quote = None
    if trouble == "open":
        open_quote = 1 + len(BREAK.findall(text))
        text += separator.join(['"x', *["x"] * (n_columns - 1)])
    kept = [row for i, row in enumerate(rows) if not ("ragged" in trouble and i in places)]
    return Written(text, names, kept, lines, ragged, nul, open_quote)


def cells_of(frame):
    return frame.astype(object).where(frame.notna(), None).to_numpy().tolist()


@settings(ANY_TABLE, max_examples=examples(120))
@given(
    written_tables(),
    st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-32"]),
    st.sampled_from(list(PACKINGS)),
)
def test_a_file_is_read_as_it_was_written_or_refused_with_the_line(write, it, encoding, packing):
    path = write(PACKINGS[packing](it.text.encode(encoding)), f"table.csv{packing}")
    if it.nul is not None:
        assert f"has a NUL character in line {it.nul}:" in refusal(path)
    elif it.open_quote is not None:
        assert f"quotes that open in the record of line {it.open_quote};" in refusal(path)
    elif 100 * len(it.ragged) > len(it.rows) + len(it.ragged):
        line, n_fields = it.ragged[0]
        assert f": line {line} has {n_fields} ('x" in refusal(path)
    else:
        table = read_table(path, text_columns=it.names)
        assert list(table.frame.columns) == it.names
        assert cells_of(table.frame) == [
            [None if cell in MISSING else cell for cell in row] for row in it.rows
        ]
        assert table.lines.tolist() == it.lines
        assert [(aside.line, aside.n_fields) for aside in table.set_aside] == it.ragged
        assert table.n_rows == len(it.rows)


@settings(ANY_TABLE, max_examples=examples(60))
@given(written_tables().filter(lambda it: it.nul is None and it.open_quote is None))
def test_a_column_is_numbers_or_text_as_written_and_never_both(write, it):
    try:
        table = read_table(write(it.text))
    except TableError:
        return
    for i, name in enumerate(table.frame.columns):
        column, cells = table.frame[name], [row[i] for row in it.rows]
        there = [cell for cell in cells if cell not in MISSING]
        is_code = any(re.match(" *0[0-9]", cell) for cell in there)
        if pd.api.types.is_numeric_dtype(column):
            assert not is_code
            assert column.dropna().tolist() == [float(cell) for cell in there]
        else:
            assert column.dropna().tolist() == there


# -- Names and what is above them ------------------------------------------------------------------


def test_titles_and_comments_above_the_names_are_skipped_and_told_of(write):
    rows = "".join(f"{i},x,{i / 2}\n" for i in range(9))
    table = read_table(write(f"Sales of 2024\n# made by hand, twice\n\nid,kind,amount\n{rows}"))
    assert list(table.frame.columns) == ["id", "kind", "amount"]
    assert table.lines.tolist() == list(range(5, 14))
    assert table.notes[0] == (
        "2 lines above the names were skipped: 'Sales of 2024', '# made by hand, twice'."
    )


def test_a_title_does_not_hide_another_separator(write):
    table = read_table(write("Report, May\n\na;b;c\n1,5;2,5;x\n2,5;3,5;y\n"))
    assert list(table.frame.columns) == ["a", "b", "c"]
    assert table.separator == ";"


def test_row_names_that_r_writes_get_the_name_of_their_place(write):
    table = read_table(write('"x","kind"\n"1",0.5,"a"\n"2",1.5,"b"\n'))
    assert list(table.frame.columns) == ["column 1", "x", "kind"]
    assert table.frame["kind"].tolist() == ["a", "b"]


def test_a_title_with_one_field_less_than_the_names_is_no_row_of_names(write):
    table = read_table(write("Sales, 2024\nregion,amount,kind\nnorth,1,a\nsouth,2,b\n"))
    assert list(table.frame.columns) == ["region", "amount", "kind"]


@pytest.mark.parametrize("text", ["a,b,\n1,2\n3,4\n", "a,b\n1,2,\n3,4,\n", "a,b,\n1,2,\n3,4,\n"])
def test_separators_at_the_end_of_some_lines_make_no_column(write, text):
    table = read_table(write(text))
    assert list(table.frame.columns) == ["a", "b"]
    assert table.frame["b"].tolist() == [2, 4]


def test_names_that_are_repeated_are_made_different(write):
    table = read_table(write("x,x,x (2),x\n1,2,3,4\n"))
    assert list(table.frame.columns) == ["x", "x (3)", "x (2)", "x (4)"]
    assert "Names that were there before got a number: 'x (3)', 'x (4)'." in table.notes


def test_too_few_names_for_numbers_are_refused(write):
    assert "has 2 names ('a', 'b'), but 4 fields in most rows" in refusal(
        write("a,b\n" + "1,2,3,4\n" * 9)
    )


def test_a_million_columns_are_refused_at_once(write):
    path = write(",".join(map(str, range(1_000_000))) + "\n" + ",".join("1" * 1_000_000) + "\n")
    assert "has 1,000,000 columns; up to 16,384 are read" in refusal(path)


def test_names_that_are_formulas_or_scripts_stay_text(write):
    names = ["=cmd|' /C calc'!A0", "<script>alert(1)</script>", "{{7*7}}"]
    table = read_table(write(",".join(names) + "\n=1+1,<b>,${x}\n"))
    assert list(table.frame.columns) == names
    assert table.frame.to_numpy().tolist() == [["=1+1", "<b>", "${x}"]]


# -- Rows with too few or too many fields ----------------------------------------------------------


def test_up_to_one_row_in_a_hundred_is_set_aside_with_its_line_and_text(write):
    rows = ["1,2"] * 198
    table = read_table(write("\n".join(["a,b", *rows[:9], "1,x, y", *rows[9:], "2"])))
    assert [tuple(it) for it in table.set_aside] == [(11, 3, "1,x, y"), (201, 1, "2")]
    assert table.lines.tolist() == [*range(2, 11), *range(12, 201)]
    assert table.frame["b"].tolist() == [2] * 198
    assert table.notes == (
        "2 of 200 rows have too few or too many fields and were set aside: lines 11, 201.",
    )


def test_more_is_refused_with_the_first_three_lines(write):
    message = refusal(write("a,b\n" + "1,2\n" * 9 + "1\n1,2,3\n4\n5\n"))
    assert message.startswith(
        "'table.csv': 4 of 13 rows do not have 2 fields, as the names do: line 11 has 1 ('1'), "
        "line 12 has 3 ('1,2,3'), line 13 has 1 ('4'); add the missing fields."
    )
    assert "put fields that contain a semicolon in double quotes" in refusal(
        write("a;b\n" + "1;2\n" * 9 + "1;2;3\n")
    )


def test_rows_that_an_open_quote_swallows_all_count(write):
    rows = "1,2\n" * 100
    message = refusal(write(f'a,b\n{rows}3,"4\n5,6\n7,8"\n{rows}'.replace('8"', '8",9')))
    assert "3 of 203 rows do not have 2 fields" in message
    assert "line 102 has 3 ('3," in message


def test_a_sample_keeps_the_true_lines_beside_rows_that_are_set_aside(write):
    rows = [f"{i},{i}" if i % 150 else f"{i}" for i in range(3000)]
    path = write("a,b\n\n" + "\n".join(rows))
    table = read_table(path, n_rows=300, random_state=0)
    assert table.frame["a"].tolist() == (table.lines - 3).tolist()
    assert (table.n_rows, len(table.set_aside)) == (2980, 20)


def test_very_many_ragged_rows_end_the_search(write, monkeypatch):
    from sorr.auditing.table import text

    monkeypatch.setattr(text, "_MOST_ASIDE", 100)
    message = refusal(write("a,b\n" + "1,2\n" * 200 + "1,2,3\n" * 5000 + "1,2\n" * 600_000))
    assert "line 202 has 3" in message


# -- Values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cells",
    [
        ["$1,234", "$5"],
        ["1.234,5", "2,5"],
        ["12 %", "5 %"],
        ["007", "010"],
        ["", "010"],
        [" 07", "8"],
        ["12345678901234567", ""],
        ["12345678901234567", "0.5"],
        ["99999999999999999999", "1"],
        ["9223372036854775808", "1"],
        [" x ", "y "],
        ["True", "false"],
        ["0x1F", "1"],
        ["1_000", "2"],
    ],
)
def test_what_is_no_plain_number_stays_text_as_written(write, cells):
    text = "a;b\n" + "".join(f"{cell};1\n" for cell in cells)
    assert read_table(write(text)).frame["a"].fillna("").tolist() == cells


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "2"], [1, 2]),
        (["9223372036854775807", "-1"], [2**63 - 1, -1]),
        (["1.5", "-2e3", "+.5"], [1.5, -2000, 0.5]),
        (["0", "0.5"], [0.0, 0.5]),
        (["1e300", "5"], [1e300, 5.0]),
        (["inf", "1"], [float("inf"), 1.0]),
    ],
)
def test_plain_numbers_are_numbers(write, cells, expected):
    column = read_table(write("a;b\n" + "".join(f"{cell};1\n" for cell in cells))).frame["a"]
    assert column.tolist() == expected
    assert column.dtype == type(expected[0])


def test_a_code_late_in_a_long_file_makes_text_of_the_numbers_before_it(write):
    frame = read_table(write("a,b\n" + "1.50,2\n" * 5000 + "01,3\n")).frame
    assert frame["a"].iloc[0] == "1.50"
    assert frame["b"].dtype == "int64"


def test_large_plain_files_are_read_by_pandas_itself_and_packed_ones_alike(write):
    rows = "".join(f'{i},"w{i % 7}",{i / 8}\n' for i in range(400_000))
    text = f'n,"w",x\n{rows}'
    assert len(text) > 5 * 2**20, "pandas reads files of this size in parallel"
    plain, packed = read_table(write(text)), read_table(write(gzip.compress(text.encode(), 1), "t"))
    assert plain.frame.equals(packed.frame)
    assert plain.lines.tolist() == packed.lines.tolist() == list(range(2, 400_002))
    assert plain.frame["n"].tolist() == list(range(400_000))


def test_a_cell_of_10_megabytes_is_read(write):
    long = "x" * 10_000_000
    assert read_table(write(f"a,b\n{long},1\n2,3\n")).frame["a"].str.len().tolist() == [10**7, 1]


# -- Encodings -------------------------------------------------------------------------------------


GERMAN = "name,ort\n" + "Müller,Köln\nGroß,Düsseldorf\nJäger,Würzburg\nWeiß,München\n" * 5
RUSSIAN = "имя,город\n" + "Иван,Москва\nОльга,Санкт-Петербург\nДмитрий,Новосибирск\n" * 5  # noqa: RUF001
JAPANESE = "名前,都市\n" + "田中さくら,東京都渋谷区\nすずきいちろう,大阪府大阪市\n" * 5
POLISH = "imię,miasto\n" + "Łukasz,Łódź\nMałgorzata,Gdańsk\nGrażyna,Częstochowa\n" * 5


@pytest.mark.parametrize(
    ("text", "encoding", "name"),
    [
        (GERMAN, "cp1252", "Windows-1252"),
        (RUSSIAN, "cp1251", "Windows-1251"),
        (JAPANESE, "cp932", "Shift JIS"),
        (POLISH, "cp1250", "Windows-1250"),
    ],
)
@pytest.mark.parametrize("packing", ["", ".bz2"])
def test_other_encodings_are_guessed_and_told_of_with_an_example(
    write, text, encoding, name, packing
):
    pytest.importorskip("charset_normalizer", reason="guesses encodings")
    table = read_table(write(PACKINGS[packing](text.encode(encoding)), f"t.csv{packing}"))
    names, *rows = (line.split(",") for line in text.splitlines())
    assert list(table.frame.columns) == names
    assert table.frame.to_numpy().tolist() == rows
    assert table.notes[0].startswith(f"The file is not UTF-8. It was read as {name}")
    example = table.notes[0].split("for example '")[1].rstrip("'.")
    assert example in text
    assert not example.isascii()


def test_a_few_lines_of_windows_1252_in_utf8_are_read_as_such(write):
    text = "a,b\n1,é\n2,ß\n".encode() + "3,ü\n".encode("cp1252") + b"4,\x81\n"
    table = read_table(write(text))
    assert table.frame["b"].tolist()[:3] == ["é", "ß", "ü"]
    assert "It was read as UTF-8 mixed with Windows-1252, for example 'ü'." in table.notes[0]


def test_a_wrong_byte_far_down_is_noticed(write):
    text = b"a,b\n" + b"1,2\n" * 400_000 + "3,Müller\n".encode("cp1252") * 3
    assert read_table(write(text)).frame["b"].iloc[-1] == "Müller"


def test_utf16_is_read_without_a_mark_too(write):
    for encoding in ("utf-16-le", "utf-16-be"):
        table = read_table(write("a,ü\n1,ß\n2,x\n".encode(encoding)))
        assert table.frame.to_numpy().tolist() == [[1, "ß"], [2, "x"]]
        assert table.notes == ("The file was decoded as UTF-16.",)


def test_a_machine_without_charset_normalizer_is_told_what_to_install(write, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "charset_normalizer", None)
    assert refusal(write(GERMAN.encode("cp1252"))).endswith('pip install "sorr[audit]"')


def test_torn_utf16_is_refused(write):
    assert "begins as UTF-16, but is not valid" in refusal(
        write("a,b\n1,é\n".encode("utf-16")[:-1])
    )


def test_a_single_ragged_row_of_a_small_table_is_set_aside(tmp_path):
    path = tmp_path / "small.csv"
    path.write_text("a,b\n" + "1,2\n" * 30 + "1,2,3\n" + "4,5\n")
    table = read_table(path)
    assert len(table.frame) == 31
    assert [(it.line, it.n_fields) for it in table.set_aside] == [(32, 3)]
    path.write_text("a,b\n" + "1,2\n" * 30 + "1,2,3\n" * 2)
    with pytest.raises(TableError, match="2 of 32 rows do not have 2 fields"):
        read_table(path)


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("cp1252", ("Hélène", "Orléans", "François", "Nîmes")),
        ("cp1252", ("Müller", "Straße", "Jörg", "Nöte")),
        ("cp1250", ("Jiří", "Plzeň", "Šárka", "Děčín")),
        ("cp1251", ("Иван", "Москва", "Анна", "Казань")),
        ("cp932", ("太郎", "東京", "花子", "大阪")),
    ],
)
def test_of_encodings_that_explain_a_text_alike_the_most_frequent_is_taken(
    tmp_path, encoding, words
):
    path = tmp_path / "table.csv"
    path.write_bytes(("a,b\n" + "{},{}\n{},{}\n".format(*words) * 20).encode(encoding))
    assert read_table(path).frame.iloc[:2].to_numpy().ravel().tolist() == list(words)
