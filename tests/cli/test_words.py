import json
import math

from hypothesis import given
from hypothesis import strategies as st

from sorr.cli.words import as_json, plain, shortened


@given(st.text(st.characters() | st.sampled_from("\x1b\x00\x07\r\n\x9b\u202e\u2066")))
def test_no_text_can_steer_a_terminal_or_take_two_lines(text):
    shown = plain(text)
    assert len(shown.splitlines()) <= 1
    assert not set(shown) & {chr(i) for i in (*range(32), *range(127, 160), 0x202E, 0x2066)}


def test_other_scripts_stay_as_they_are():
    assert plain("שלום 😀 Größe") == "שלום 😀 Größe"


@given(st.text(), st.integers(1, 50))
def test_a_shortened_text_fits(text, length):
    assert len(shortened(text, length)) <= length
    assert shortened(text, len(plain(text)) + 1) == plain(text)


def test_json_holds_no_number_that_json_has_not():
    found = json.loads(as_json({"a": [math.nan, (math.inf, 1.5)], 3: {"b": None}}))
    assert found == {"a": [None, [None, 1.5]], "3": {"b": None}}


def test_json_is_ascii_and_escapes_what_terminals_obey():
    text = as_json({"x": "\x1b[31mé"})
    assert text.isascii()
    assert text.isprintable()
