"""Numbers that are written with commas, or beside marks for what is missing, are numbers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sorr.auditing.table import read_table
from sorr.auditing.table.numerals import read_numbers

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
        "'?' was read as missing in 'age', where all else is a number.",
        "'income': commas in numbers were read as in 1.234,5 for 1234.5.",
    )


def test_text_columns_are_not_looked_into(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1,5;?\n2,5;1\n")
    table = read_table(path, text_columns=["a", "b"])
    assert table.frame.to_numpy().tolist() == [["1,5", "?"], ["2,5", "1"]]
    assert len(table.notes) == 1
