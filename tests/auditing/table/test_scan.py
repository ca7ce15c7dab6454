"""The scanner finds the same records as Python's csv module, in any cut, and much faster."""

import io
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sorr.auditing import TableError
from sorr.auditing.table import scan as scanner
from sorr.auditing.table.scan import Dialect, scan

LETTERS = [
    b"a",
    b"b",
    b'"',
    b'"',
    b",",
    b",",
    b";",
    b"\n",
    b"\r",
    b"\r\n",
    b" ",
    b"\xc3\xa9",
    b"07",
]
TEXTS = st.lists(st.sampled_from(LETTERS), max_size=30).map(b"".join)
DIALECTS = st.builds(Dialect, st.sampled_from(",;"), st.booleans())


COMMA = Dialect(",")


def scanned(blocks, dialect=COMMA):
    """Return the bytes, the line and the number of fields of each record."""
    found, place = [], 0
    for part in scan(blocks, dialect, "t.csv"):
        assert part.offset == place, "records follow each other without a gap"
        assert part.starts[0] == 0
        assert part.starts[1:].tolist() == part.ends[:-1].tolist()
        place += int(part.ends[-1])
        every = np.arange(len(part.ends))
        found += zip(part.texts(every), part.lines.tolist(), part.n_fields.tolist(), strict=True)
    return found


def split_by_csv(text, dialect):
    """Return the same by the csv module alone: the referee."""
    lines = io.StringIO(text.decode(), newline="")
    taken, found, line = [], [], 1

    def each():
        for it in lines:
            taken.append(it)
            yield it
        assert not taken, "the text ends inside quotes"

    for fields in dialect.rows(each()):
        record = "".join(taken).encode()
        is_blank = len(fields) < 2 and not record.strip(b" \t\r\n")
        found.append((record, line, 0 if is_blank else len(fields)))
        line += len(taken)
        taken.clear()
    return found


@given(TEXTS, DIALECTS, st.lists(st.integers(0, 40), max_size=3))
@example(b'a,"b\r', Dialect(","), [])
@example(b'a,b"c",d\n"e\n",f', Dialect(","), [5])
def test_records_are_those_of_the_csv_module_in_any_cut(text, dialect, cuts):
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    blocks = [text[i:j] for i, j in pairwise(edges)]
    try:
        expected = split_by_csv(text, dialect)
    except AssertionError:
        with pytest.raises(TableError, match="ends inside quotes that open in the record of line"):
            scanned(blocks, dialect)
        return
    assert scanned(blocks, dialect) == expected


@given(TEXTS, DIALECTS, st.booleans())
def test_the_fast_way_finds_what_the_slow_way_finds(text, dialect, is_last):
    fast = scanner._fast(text, dialect, is_last)
    slow = scanner._slow(text, dialect, is_last)
    if fast is None:
        return
    assert fast.ends.tolist() == slow.ends.tolist()
    assert fast.n_lines.tolist() == slow.n_lines.tolist()
    assert fast.n_fields.tolist() == [n or 1 for n in slow.n_fields]  # an empty line has a field
    if b'0"' not in text and b"0 " not in text:
        codes = [set(zip(*map(np.ndarray.tolist, it.codes), strict=True)) for it in (fast, slow)]
        assert codes[0] >= codes[1]


@pytest.mark.parametrize(
    "text", [b"a,b\n1,2\n", b'"a","b ""c"""\r\n"1\n2",3\r\n', b'a\r"b"\r', b'x, "y, z"\n1, ""\n']
)
def test_usual_texts_need_no_slow_way(text):
    assert scanner._fast(text, Dialect(",", skip_space=b", " in text), True) is not None


@pytest.mark.parametrize("text", [b'5"\n', b'"a"b"c"\n', b'a, "b"\n'])
def test_quotes_inside_a_field_need_the_slow_way(text):
    assert scanner._fast(text, Dialect(","), True) is None


def test_codes_are_found_in_their_columns():
    text = b'x,07,"007"\n1.07,0.7,10\n 07,-07,0\n'
    (found,) = scan([text], Dialect(","), "t.csv")
    assert [it.tolist() for it in found.codes] == [[0, 0, 2], [1, 2, 0]]


def test_a_code_at_the_start_of_the_text_is_found():
    (found,) = scan([b"01,2\n"], Dialect(","), "t.csv")
    assert [it.tolist() for it in found.codes] == [[0], [0]]


def test_a_nul_is_named_with_its_line_across_blocks():
    with pytest.raises(TableError, match="NUL character in line 4"):
        scanned([b'a,b\n"1\n', b'2",3\nx,\0\n'])


@pytest.mark.parametrize(
    ("text", "hint"),
    [(b"x" * 2000, "a row per line"), (b'"' + b"x\n" * 1000, "do its quotes close")],
)
def test_a_record_without_end_is_refused_before_it_fills_the_memory(monkeypatch, text, hint):
    monkeypatch.setattr(scanner, "LONGEST", 1000)
    with pytest.raises(TableError, match=f"line 2 of 't.csv' is longer than 1,000.*{hint}"):
        scanned([b"a\n", *(text[i : i + 100] for i in range(0, len(text), 100))])


@pytest.mark.slow
def test_a_file_of_one_endless_quote_is_not_read_to_its_end():
    block, left = b"x,y\n" * (1 << 18), iter(range(40))
    with pytest.raises(TableError, match=r"line 1 of 't\.csv' is longer than"):
        scanned(b'a,"' + block if i == 0 else block for i in left)
    assert len(list(left)) > 5
