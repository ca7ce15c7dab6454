import csv
import io
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sorr._csv import escape_formula, to_csv

TEXTS = st.text(
    st.characters() | st.sampled_from("=+-@\t\r\n;,'\" 0123456789.e\uff1d\uff0d\ufeff\u200b")
)


def read(text):
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.mark.parametrize(
    "formula",
    [
        "=cmd|' /C calc'!A0",
        "+SUM(A1)",
        "-2+3+cmd|' /C calc'!A0",
        "@SUM(1)",
        "  =1+1",
        "\u00a0=1+1",
        "\ufeff=1+1",
        "\u200b=1+1",
        "\x00=1+1",
        "\n=1+1",
        "\uff1d1+1",
        "\uff0d2",
        "\ufe622",
        "\uff20x",
        "\tx",
        "\rx",
        "-",
        "+ 1",
        "-1 and more",
        "-1e",
        "--1",
        "=1",
        "-٣",  # digits of another script are no plain number
    ],
)
def test_a_formula_gets_an_apostrophe(formula):
    assert escape_formula(formula).startswith("'")


@pytest.mark.parametrize(
    "number", ["-3.5", "+1e-3", "-0", "-.5", "+5.", "-1E+10", " -3", "-3 ", "12", "3-4", "1e5"]
)
def test_a_number_is_left_alone(number):
    assert escape_formula(number) == number


@pytest.mark.parametrize(
    "text", ["", "a", "Smith, John", "x=1", "a-b", "1-2", "שלום", "😀", "'tis", 'say "hi"', "a;b"]
)
def test_a_plain_text_is_left_alone(text):
    assert escape_formula(text) == text


def test_a_formula_behind_a_semicolon_cannot_become_a_cell_of_its_own():
    assert escape_formula("a;=1+1; @b;-2") == "a;'=1+1;' @b;-2"


def test_control_characters_do_not_survive():
    assert (
        escape_formula("a\x00b\x1b[31mc\x7f\x9bd\ud800") == "a\ufffdb\ufffd[31mc\ufffd\ufffdd\ufffd"
    )
    assert escape_formula("a\r\nb\nc\td\u2028e") == "a b c d e"


@given(TEXTS)
@example("\r\n=1")
@example(" \t=1")
def test_nothing_neutral_begins_as_a_formula_does_or_breaks_a_line(text):
    made = escape_formula(text)
    assert len(made.splitlines()) <= 1
    for piece in made.split(";"):
        is_number = True
        try:
            float(piece)
        except ValueError:
            is_number = False
        assert is_number or not piece.lstrip().startswith(("=", "+", "-", "@", "\uff1d", "\uff0d"))


@given(TEXTS)
def test_what_is_neutral_stays_as_it_is(text):
    assert escape_formula(escape_formula(text)) == escape_formula(text)


@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(st.lists(TEXTS, min_size=width, max_size=width), min_size=1)
    )
)
def test_any_reader_of_csv_gets_the_neutral_texts_back(rows):
    text = to_csv(rows[0], rows[1:])
    assert read(text) == [[escape_formula(cell) for cell in row] for row in rows]
    assert text.count("\n") == len(rows)


@given(st.floats(allow_nan=False) | st.integers())
def test_numbers_are_read_back_to_the_last_bit(number):
    _, (cell,) = read(to_csv(["x"], [[number]]))
    assert type(number)(cell) == number


def test_numbers_of_numpy_are_written_as_plain_ones():
    numbers = [np.float64(-0.1), np.float32(-0.1), np.int64(-3), np.bool_(True), -math.inf]
    assert to_csv(["a", "b", "c", "d", "e"], [numbers]).splitlines()[1] == "-0.1,-0.1,-3,True,-inf"


def test_what_is_missing_is_an_empty_cell():
    pandas = pytest.importorskip("pandas", reason="it has missing values of its own")
    row = [None, math.nan, np.float64("nan"), pandas.NA, pandas.NaT]
    assert to_csv(list("abcde"), [row]) == "a,b,c,d,e\n,,,,\n"


def test_a_header_is_neutral_too():
    assert to_csv(["=cmd", "a,b"], []) == '\'=cmd,"a,b"\n'


def test_other_values_are_written_as_their_text():
    assert to_csv(["x"], [[["=", 1]]]) == "x\n\"['=', 1]\"\n"
