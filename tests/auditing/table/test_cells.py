"""Where cells are in a text, and how a new value is written there."""

import csv
import io
import json
from itertools import pairwise

import pytest

pytest.importorskip("pandas", reason="tables are read by it")

from hypothesis import given
from hypothesis import strategies as st

from sorr.auditing.table.cells import (
    delimited_in_memory,
    field_place,
    json_edit,
    json_value_place,
    needs_quotes,
    rewrite,
    value_of,
)
from sorr.auditing.table.scan import Dialect

COMMA = Dialect(",")
SPACED = Dialect(",", skip_space=True)
FIELDS = st.lists(st.text(st.sampled_from('ab, "\u00e9'), max_size=6), min_size=1, max_size=5)


def fields(record, dialect=COMMA):
    return dialect.fields(record.encode())


def edited(cell, edit):
    return cell[: edit.start] + edit.text + cell[edit.end :]


@given(st.text(st.sampled_from('ab, "\u00e9'), max_size=20), st.booleans())
def test_fields_are_where_the_csv_module_splits(record, skip_space):
    dialect = COMMA._replace(skip_space=skip_space)
    found = fields(record, dialect)
    data = record.encode()
    is_open = list(csv.reader([record + "\n", "end"], skipinitialspace=skip_space))[-1] != ["end"]
    if is_open or not found:
        return  # no record: the scanner refuses quotes that do not close
    places = [field_place(data, dialect, i) for i in range(len(found))]
    assert [value_of(data[low:high].decode(), dialect) for low, high in places] == found
    assert (places[0][0], places[-1][1]) == (0, len(data))
    assert all(one[1] + 1 == two[0] for one, two in pairwise(places))


@given(FIELDS, st.text(st.sampled_from('ab, "\n\u00e9'), min_size=1, max_size=6), st.booleans())
def test_a_new_label_is_read_again_with_the_white_space_of_the_old_one(cells, label, is_exact):
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="").writerow(cells)
    record = buffer.getvalue()
    low, high = field_place(record.encode(), COMMA, len(cells) - 1)
    cell = record.encode()[low:high].decode()
    label = label if is_exact else label.strip()
    now = value_of(edited(cell, rewrite(cell, label, COMMA, is_exact=is_exact)), COMMA)
    if is_exact:
        assert now == label
    else:
        old = cells[-1]
        left = old[: len(old) - len(old.lstrip())]
        right = old[len(old.rstrip()) :] if old.strip() else ""
        assert now == left + label + right


@pytest.mark.parametrize(
    ("cell", "label", "dialect", "written"),
    [
        ("yes", "no", COMMA, "no"),
        (" yes  ", "no", COMMA, " no  "),
        ('"yes"', "no", COMMA, '"no"'),
        ('" yes "', "no", COMMA, '" no "'),
        ('"yes" ', "no", COMMA, '"no" '),
        ('"a ""b"""', 'c "d"', COMMA, '"c ""d"""'),
        ("yes", "a,b", COMMA, '"a,b"'),
        (" yes ", "a,b", COMMA, '" a,b "'),
        (" yes ", "a,b", SPACED, ' "a,b "'),
        (' "yes"', "no", SPACED, ' "no"'),
        (' "yes"', "no", COMMA, " no"),
        ('"ye"s', "no", COMMA, '"no"'),
        ("", "no", COMMA, "no"),
        ('""', "no", COMMA, '"no"'),
        ("  ", "no", COMMA, "  no"),
        ("yes\u00a0", "no", COMMA, "no\u00a0"),
        ("yes", "a;b", COMMA, "a;b"),
        ("yes", "a\rb", COMMA, '"a\rb"'),
    ],
)
def test_quotes_and_white_space_stay(cell, label, dialect, written):
    assert edited(cell, rewrite(cell, label, dialect)) == written


def test_a_space_in_front_needs_quotes_where_spaces_are_skipped():
    assert needs_quotes(" a", SPACED)
    assert not needs_quotes(" a", COMMA)
    assert edited("yes", rewrite("yes", " a", SPACED, is_exact=True)) == '" a"'


@pytest.mark.parametrize("block", [1, 3, 40, 1 << 20])
def test_places_know_their_line_breaks(block, monkeypatch):
    monkeypatch.setattr("sorr.auditing.table.files.BLOCK", block)
    data = b'title\r\n\r\nx,label\r1,"a\nb"\n2,c\r\nragged\n3,d'
    data += b"\n4,d" * 29 + b"\r\n4,d"
    opened = delimited_in_memory(data, "t.csv", ",")
    places = opened.places([0, 1, 2, 32], "label", lambda _: None)
    assert [data[it.start : it.end] for it in places] == [
        b'1,"a\nb"\n',
        b"2,c\r\n",
        b"3,d\n",
        b"4,d",
    ]
    assert [data[it.cell_start : it.cell_end].decode() for it in places] == [
        it.cell for it in places
    ]
    assert [it.cell for it in places] == ['"a\nb"', "c", "d", "d"]
    assert [it.break_before for it in places] == [1, 1, 1, 2]
    assert [it.has_break for it in places] == [True, True, True, False]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(
    st.dictionaries(st.text(max_size=3), VALUES, max_size=4),
    st.text(max_size=3),
    st.sampled_from([None, 2]),
    st.booleans(),
)
def test_only_the_value_of_a_key_changes_in_an_object(row, key, indent, ascii_only):
    record = json.dumps(row, indent=indent, ensure_ascii=ascii_only)
    edit = json_edit(record, key, '"new"')
    assert json.loads(edited(record, edit)) == row | {key: "new"}
    place = json_value_place(record, key)
    assert (place is None) == (key not in row)
    if place is not None:
        assert json.loads(record[slice(*place)]) == row[key]
        assert (edit.start, edit.end) == place


def test_of_equal_keys_the_last_one_changes():
    record = '{"a": 1, "\\u0061": 2}'
    assert edited(record, json_edit(record, "a", "3")) == '{"a": 1, "\\u0061": 3}'
