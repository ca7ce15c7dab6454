"""A fingerprint changes with the content of a table, and with nothing else."""

import gzip
import hashlib
import json

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sorr.auditing import TableError, read_table
from sorr.auditing.table import values
from sorr.auditing.table.values import fingerprint_frame

pd = pytest.importorskip("pandas", reason="tables are read by pandas")

TEXT = 'name,"label, or so",x\r\nZoë,a,1\r\n"two\nlines",b,2\r\nJo,a,3\r\n'


def print_of(path, **options):
    return read_table(path, **options).fingerprint


@pytest.fixture
def write(tmp_path):
    def write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


# -- Files -----------------------------------------------------------------------------------------


def test_a_fingerprint_is_the_size_and_a_digest_of_the_text(write):
    digest = hashlib.blake2b(TEXT.encode()).hexdigest()[:16]
    assert print_of(write(TEXT.encode())) == f"3x3-{digest}"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_packing_and_encoding_do_not_matter(write, encoding, pack):
    plain = read_table(write(TEXT.encode()))
    other = read_table(write(pack(TEXT.encode(encoding)), "other.csv"))
    assert other.fingerprint == plain.fingerprint
    assert other.original == plain.original == TEXT.encode()


def test_text_that_is_no_utf8_has_the_original_it_was_read_as(write):
    german = "größe,farbe\n" + "weiß,grün\n" * 9
    table = read_table(write(german.encode("cp1252")))
    assert table.original == german.encode()
    assert table.fingerprint == print_of(write(german.encode(), "other.csv"))


def test_every_byte_matters(write):
    found = {
        print_of(write(TEXT.encode().replace(a, b))) for a, b in [(b"3", b"4"), (b"\r\n", b"\n")]
    }
    assert len({*found, print_of(write(TEXT.encode()))}) == 3


def test_a_sample_has_the_fingerprint_of_the_whole(write):
    lines = "".join(f"{i},{i % 3}\n" for i in range(500))
    path = write(b"id,label\n" + lines.encode())
    assert print_of(path, n_rows=20, random_state=1) == print_of(path)
    rows = "".join(
        json.dumps({"x": i} | ({"late": 1} if i == 499 else {})) + "\n" for i in range(500)
    )
    path = write(rows.encode(), "rows.jsonl")
    sample = read_table(path, n_rows=20, random_state=1)
    assert list(sample.frame.columns) == ["x"]
    assert sample.fingerprint == print_of(path)
    assert sample.fingerprint.startswith("500x2-")


def test_columns_that_are_not_read_count(write):
    table = read_table(write(b"a,b,\n1,2,\n3,4,\n"))
    assert table.frame.shape == (2, 2)
    assert table.fingerprint.startswith("2x3-")


def test_a_long_text_is_not_carried_along(write, monkeypatch):
    path = write(b"a,b\n" + b"1,2\n" * 100)
    assert read_table(path).original == path.read_bytes()
    assert read_table(path, n_rows=5).original == path.read_bytes()
    monkeypatch.setattr(values, "MOST_KEPT", 400)
    assert read_table(path).original is None
    monkeypatch.setattr(values, "MOST_KEPT", 404)
    assert read_table(path).original is not None
    monkeypatch.setattr(values, "MOST_KEPT_ROWS", 99)
    assert read_table(path).original is None


def test_json_has_a_fingerprint_and_no_original(write):
    rows = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    table = read_table(write(json.dumps(rows).encode(), "rows.json"))
    digest = hashlib.blake2b(json.dumps(rows).encode()).hexdigest()[:16]
    assert (table.fingerprint, table.original) == (f"2x2-{digest}", None)


def test_parquet_and_feather_have_the_digest_of_their_bytes(write, tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": range(100), "b": ["x", "y"] * 50})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_feather(tmp_path / "t.feather")
    for name in ("t.parquet", "t.feather"):
        data = (tmp_path / name).read_bytes()
        mark = f"100x2-{hashlib.blake2b(data).hexdigest()[:16]}"
        packed = write(gzip.compress(data), f"{name}.gz")
        assert print_of(tmp_path / name) == print_of(tmp_path / name, n_rows=9) == mark
        assert print_of(packed) == mark


def test_the_sheets_of_a_workbook_are_different_tables(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    for sheet in (book.active, book.create_sheet("more")):
        for row in (["a", "b"], [1, "x"], [2, "y"]):
            sheet.append(row)
    path = tmp_path / "book.xlsx"
    book.save(path)
    first, second = print_of(path, sheet=1), print_of(path, sheet=2)
    assert first.startswith("2x2-")
    assert second.startswith("2x2-")
    assert first == print_of(path)
    assert first != second


def test_a_text_that_is_refused_leaves_no_thread_behind(write):
    import threading

    before = threading.active_count()
    path = write(b"a,b\n" + b"1,2\n" * 10 + b"1,2,3\n" * 10)
    with pytest.raises(TableError, match="fields"):
        read_table(path)
    assert threading.active_count() == before


# -- Frames ----------------------------------------------------------------------------------------

_cells = {
    "numbers": st.one_of(st.none(), st.floats(allow_nan=False), st.integers(-9, 9)),
    "whole": st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(0, 3)),
    "texts": st.one_of(st.none(), st.text(max_size=3)),
    "truths": st.one_of(st.none(), st.booleans()),
    "mixed": st.one_of(st.none(), st.text(max_size=2), st.integers(0, 2), st.booleans()),
    "dates": st.one_of(st.none(), st.datetimes()),
}


@st.composite
def _columns(draw):
    n = draw(st.integers(1, 6))
    kinds = draw(st.lists(st.sampled_from(sorted(_cells)), min_size=1, max_size=4))
    return [draw(st.lists(_cells[kind], min_size=n, max_size=n)) for kind in kinds]


def _frame(columns, names=None):
    series = {i: pd.Series(cells, dtype=object) for i, cells in enumerate(columns)}
    return pd.DataFrame(series).set_axis(names or [f"c{i}" for i in range(len(columns))], axis=1)


def _same(one, other):
    return type(one) is type(other) and one == other


@given(columns=_columns(), data=st.data())
def test_another_value_makes_another_fingerprint(columns, data):
    i = data.draw(st.integers(0, len(columns) - 1))
    j = data.draw(st.integers(0, len(columns[0]) - 1))
    new = data.draw(st.one_of(*_cells.values()))
    old = columns[i][j]
    is_number = isinstance(old, int | float) and isinstance(new, int | float)
    assume(not (is_number and old == new) and not _same(old, new))
    changed = [list(cells) for cells in columns]
    changed[i][j] = new
    assert fingerprint_frame(_frame(changed)) != fingerprint_frame(_frame(columns))


@given(columns=_columns(), data=st.data())
def test_another_order_of_rows_or_columns_makes_another_fingerprint(columns, data):
    plain = fingerprint_frame(_frame(columns))
    rows = data.draw(st.permutations(range(len(columns[0]))))
    turned = [[cells[i] for i in rows] for cells in columns]
    if any(
        not _same(*pair)
        for a, b in zip(turned, columns, strict=True)
        for pair in zip(a, b, strict=True)
    ):
        assert fingerprint_frame(_frame(turned)) != plain
    names = data.draw(st.permutations([f"c{i}" for i in range(len(columns))]))
    assert (fingerprint_frame(_frame(columns, names)) == plain) == (names == sorted(names))


@given(columns=_columns(), index=st.integers(-5, 5))
def test_the_index_and_how_pandas_stores_a_column_do_not_matter(columns, index):
    frame = _frame(columns)
    plain = fingerprint_frame(frame)
    other = frame.set_axis(range(index, index + len(frame)), axis=0)
    for name in frame.columns:
        kind = pd.api.types.infer_dtype(frame[name], skipna=True)
        if kind == "string":
            other[name] = other[name].astype("string")
        elif kind == "boolean":
            other[name] = other[name].astype("boolean")
        elif kind == "floating":
            other[name] = other[name].astype("float64")
        elif kind == "integer":
            other[name] = other[name].astype("Int64")
    assert fingerprint_frame(other) == plain
    assert fingerprint_frame(frame.where(frame.notna(), np.nan)) == plain


def test_a_fingerprint_of_a_frame_says_so():
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", None]})
    mark = fingerprint_frame(frame)
    assert mark.startswith("3x2-v")
    assert len(mark) == len("3x2-") + 16


def test_categories_and_units_of_dates_do_not_matter():
    days = pd.to_datetime(["2024-01-01", None, "2024-05-06 07:08:09"], format="ISO8601")
    frame = pd.DataFrame({"day": days, "text": ["a", None, "b"]})
    other = pd.DataFrame(
        {"day": days.astype("datetime64[ms]"), "text": frame["text"].astype("category")}
    )
    assert fingerprint_frame(other) == fingerprint_frame(frame)
    later = frame.assign(day=frame["day"] + pd.Timedelta("1ms"))
    assert fingerprint_frame(later) != fingerprint_frame(frame)


def test_a_frame_of_polars_has_the_fingerprint_of_the_same_in_pandas():
    pl = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": [1, 2, None], "b": ["x", "y", None], "c": [True, False, True]})
    assert fingerprint_frame(pl.from_pandas(frame).to_pandas()) == fingerprint_frame(frame)


def test_whole_numbers_that_floats_cannot_tell_apart_are_different():
    for cells in ([2**60, 1], [2**60, None], [2**60, 0.5], [2**70, 1]):
        one, other = _frame([cells]), _frame([[cells[0] + 1, cells[1]]])
        assert fingerprint_frame(one) != fingerprint_frame(other)
    whole = pd.DataFrame({"c0": [2**60, 1]})
    assert fingerprint_frame(whole) == fingerprint_frame(whole.astype(object))


def test_lists_and_names_that_are_no_texts_have_a_fingerprint():
    frame = pd.DataFrame({0: [[1, 2], np.arange(2000)], 1: [None, {"a": 1}]})
    changed = pd.DataFrame({0: [[1, 2], np.arange(2000)], 1: [None, {"a": 2}]})
    longer = frame.copy()
    longer[0] = [[1, 2], np.r_[np.arange(1999), 0]]
    assert len(set(map(fingerprint_frame, [frame, changed, longer]))) == 3
