"""Parquet, Feather and JSON come back as numbers, dates or text, never as a mixture."""

import bz2
import datetime as dt
import decimal
import gzip
import io
import json
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sorr.auditing import TableError, read_table
from sorr.auditing.table import formats

pd = pytest.importorskip("pandas", reason="tables are read by pandas")
pa = pytest.importorskip("pyarrow", reason="Parquet is read by pyarrow")
pq = pytest.importorskip("pyarrow.parquet", reason="Parquet is read by pyarrow")


@pytest.fixture
def parquet_write(tmp_path):
    def parquet_write(columns, name="t.parquet", **options):
        path = tmp_path / name
        table = columns if isinstance(columns, pa.Table) else pa.table(columns)
        pq.write_table(table, path, **options)
        return path

    return parquet_write


def refusal(path, **options):
    with pytest.raises(TableError) as caught:
        read_table(path, **options)
    assert str(caught.value).isprintable()
    return str(caught.value)


def test_columns_come_back_in_order_and_rows_without_lines(parquet_write):
    path = parquet_write({"b": [1.5, None], "a": ["x", None], "n": [1, 2], "w": [7, None]})
    table = read_table(path)
    assert list(table.frame.columns) == ["b", "a", "n", "w"]
    assert table.frame["n"].dtype == np.int64
    assert table.frame["w"].dtype == table.frame["b"].dtype == np.float64
    assert table.frame["a"].isna().tolist() == [False, True]
    assert table.lines is None
    assert (table.n_rows, table.rows.tolist(), table.notes) == (2, [0, 1], ())


def test_types_that_are_neither_numbers_nor_text_become_one_of_them_or_dates(parquet_write):
    day = dt.date(2020, 1, 2)
    frame = read_table(
        parquet_write(
            {
                "truth": [True, None],
                "money": [decimal.Decimal("1.50"), None],
                "day": [day, None],
                "time": [dt.time(1, 2), None],
                "class": pa.array(["a", "b"]).dictionary_encode(),
                "nothing": pa.nulls(2),
            }
        )
    ).frame
    assert frame["truth"].iloc[0] == "True"
    assert frame["money"].iloc[0] == 1.5
    assert pd.api.types.is_datetime64_any_dtype(frame["day"])
    assert frame["time"].iloc[0] == "01:02:00"
    assert frame["class"].tolist() == ["a", "b"]
    assert frame["nothing"].dtype == np.float64
    assert frame.drop(columns="class").iloc[1].isna().all()


def test_lists_and_bytes_are_read_as_text_and_told_of(parquet_write):
    table = read_table(parquet_write({"x": [1], "list": [[1, 2]], "bytes": [b"\0"]}))
    assert table.frame["list"].tolist() == ["[1, 2]"]
    assert table.notes == ("Lists, structures or bytes were read as text: 'list', 'bytes'.",)


def test_text_columns_of_numbers_are_text(parquet_write):
    path = parquet_write({"n": [1, None], "x": [0.5, 2.0], "b": [True, False]})
    frame = read_table(path, text_columns=["n", "x", "b"]).frame
    assert frame["n"].iloc[0] == "1"
    assert frame["n"].isna().tolist() == [False, True]
    assert frame["x"].iloc[0] == "0.5"
    assert frame["b"].tolist() == ["True", "False"]


@pytest.mark.parametrize("n_rows", [1, 10, 299, 300, 400])
def test_a_sample_holds_its_rows_of_the_whole_over_many_parts(parquet_write, n_rows, monkeypatch):
    monkeypatch.setattr(formats, "_BATCH", 50)
    path = parquet_write({"i": range(300), "t": [f"t{i}" for i in range(300)]}, row_group_size=7)
    table = read_table(path, n_rows=n_rows, random_state=0)
    assert table.frame["i"].tolist() == table.rows.tolist() == sorted(set(table.rows.tolist()))
    assert table.frame["t"].tolist() == [f"t{i}" for i in table.rows]
    assert len(table.frame) == min(n_rows, 300)
    assert bool(table.notes) == (n_rows < 300)


def test_an_index_that_pandas_wrote_is_a_column(tmp_path):
    pd.DataFrame({"x": [1, 2]}, index=[5, 6]).to_parquet(tmp_path / "t.pq")
    table = read_table(tmp_path / "t.pq")
    assert table.frame["__index_level_0__"].tolist() == [5, 6]
    assert table.frame.index.equals(pd.RangeIndex(2))


def test_progress_reaches_the_end(parquet_write):
    told = []
    read_table(parquet_write({"x": range(10)}), progress=lambda *it: told.append(it))
    assert told[-1][0] == told[-1][1]
    assert told[-1][2] == "reading t.parquet"


def test_parquet_is_known_by_its_bytes_too(parquet_write):
    assert read_table(parquet_write({"x": [1]}, name="t.csv")).frame["x"].tolist() == [1]


def test_names_that_occur_twice_are_made_different(parquet_write):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    assert list(read_table(parquet_write(table)).frame.columns) == ["a", "a (2)"]


def test_a_file_without_rows_is_refused(parquet_write):
    assert "has no rows" in refusal(parquet_write({"x": pa.array([], pa.int64())}))


def test_a_damaged_file_is_refused(tmp_path, parquet_write):
    path = tmp_path / "u.parquet"
    whole = parquet_write({"x": list(range(1000))}).read_bytes()
    for content in (whole[:-20], whole[:50] + b"\xff" * 50 + whole[100:]):
        path.write_bytes(content)
        assert "'u.parquet' is not a Parquet file, or is damaged" in refusal(path)


def test_a_machine_without_pyarrow_is_told_what_to_install(parquet_write, monkeypatch):
    path = parquet_write({"x": [1]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert refusal(path).endswith('pip install "sorr[parquet]"')


def test_texts_that_mean_missing_are_missing_and_others_stay(parquet_write):
    frame = read_table(parquet_write({"a": ["NA", "", " x ", "None", "5", None]})).frame
    assert frame["a"].isna().tolist() == [True, True, False, False, False, True]
    assert frame["a"].dropna().tolist() == [" x ", "None", "5"]


def test_numbers_of_every_size_become_64_bits_or_text(parquet_write):
    frame = read_table(
        parquet_write(
            {
                "small": pa.array([1, 2], pa.uint8()),
                "half": pa.array([0.5, None], pa.float32()),
                "large": pa.array([2**64 - 1, 1], pa.uint64()),
                "code": pa.array([2**60 + 1, None], pa.int64()),
                "zone": pa.array([dt.datetime(2020, 1, 2)] * 2, pa.timestamp("us", tz="UTC")),
            }
        )
    ).frame
    assert frame["small"].dtype == np.int64
    assert frame["half"].dtype == np.float64
    assert frame["large"].tolist() == [str(2**64 - 1), "1"]
    assert frame["code"].iloc[0] == str(2**60 + 1)
    assert frame["zone"].iloc[0] == dt.datetime(2020, 1, 2)


# -- Feather and Arrow -----------------------------------------------------------------------------


FEATHERS = ["feather", "packed feather", "arrow stream"]


@pytest.fixture(params=FEATHERS)
def feather(request, tmp_path):
    from pyarrow import feather as writer
    from pyarrow import ipc

    def feather(columns):
        table, path = pa.table(columns), tmp_path / "t.feather"
        if request.param == "arrow stream":
            with ipc.new_stream(path, table.schema) as stream:
                stream.write_table(table)
        else:
            packing = "zstd" if "packed" in request.param else "uncompressed"
            writer.write_feather(table, path, compression=packing)
        return path

    return feather


def test_feather_comes_back_with_its_types(feather):
    day = dt.datetime(2020, 1, 2)
    table = read_table(feather({"a": [1, 2], "b": ["x", None], "c": [day, None], "d": [[1], []]}))
    assert table.frame["a"].tolist() == [1, 2]
    assert table.frame["b"].isna().tolist() == [False, True]
    assert table.frame["c"].iloc[0] == day
    assert table.frame["d"].tolist() == ["[1]", "[]"]
    assert table.lines is None


def test_a_sample_of_feather_holds_its_rows_of_the_whole(feather, monkeypatch):
    monkeypatch.setattr(formats, "_BATCH", 50)
    table = read_table(feather({"i": range(300)}), n_rows=100, random_state=0)
    assert table.frame["i"].tolist() == table.rows.tolist()
    assert (len(table.frame), table.n_rows) == (100, 300)


def test_damaged_feather_is_refused(feather):
    path = feather({"i": range(300)})
    path.write_bytes(path.read_bytes()[:60])
    assert "is not a Feather file, or is damaged" in refusal(path)


# -- JSON ------------------------------------------------------------------------------------------


@pytest.fixture
def write(tmp_path):
    def write(content, name="t.jsonl"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def test_objects_are_rows_and_their_keys_are_columns(write):
    table = read_table(
        write(
            '{"n": 1, "x": 0.5, "t": " a", "yes": true, "list": [1, {"b": "é"}], "code": "07"}\n'
            "\n"
            '{"x": null, "n": 2, "t": "NA", "yes": false, "new": "5", "code": "1", "mix": 1}\n'
            '{"n": 3, "x": 2, "t": "b", "new": "6.5", "mix": "z"}\r\n'
        )
    )
    frame = table.frame
    assert list(frame.columns) == ["n", "x", "t", "yes", "list", "code", "new", "mix"]
    assert frame["n"].dtype == np.int64
    assert frame["x"].fillna(-1).tolist() == [0.5, -1, 2]
    assert frame["t"].fillna("-").tolist() == [" a", "-", "b"]
    assert frame["yes"].fillna("-").tolist() == ["true", "false", "-"]
    assert frame["list"].iloc[0] == '[1, {"b": "é"}]'
    assert frame["code"].tolist()[:2] == ["07", "1"]
    assert frame["new"].tolist()[1:] == [5, 6.5]
    assert frame["mix"].tolist()[1:] == ["1", "z"]
    assert table.lines.tolist() == [1, 3, 4]


VALUES = st.one_of(
    st.none(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
)
OBJECTS = st.lists(st.dictionaries(st.sampled_from("abc"), VALUES, min_size=1), min_size=1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(OBJECTS, st.sampled_from(["lines", "list", "spread", "spread list"]), st.booleans())
def test_whatever_objects_are_written_comes_back(write, objects, form, is_ascii):
    spread = "spread" in form
    texts = [json.dumps(it, ensure_ascii=is_ascii, indent=2 if spread else None) for it in objects]
    text = "\n".join(texts)
    if "list" in form:
        text = "[" + ",\n".join(texts) + "]"
    table = read_table(write(text, "t.json"), text_columns=[*objects[0]][:1])
    assert table.n_rows == len(objects) == len(table.frame)
    for key in objects[0]:
        for value, found in zip((it.get(key) for it in objects), table.frame[key], strict=True):
            is_missing = value is None or value in formats.MISSING
            assert (
                pd.isna(found)
                if is_missing
                else (found == value or str(found) == str(value) or float(found) == float(value))
            )
    heights = [text.count("\n") + 1 for text in texts]
    assert table.lines.tolist() == [1 + sum(heights[:i]) for i in range(len(objects))]


def test_broken_lines_are_set_aside_or_refused(write):
    lines = ['{"a": 1}'] * 299
    table = read_table(write("\n".join([*lines[:9], '{"a": ', *lines[9:], "[1]", '{"a": 2}'])))
    assert [tuple(it) for it in table.set_aside] == [(10, 0, '{"a": '), (301, 0, "[1]")]
    assert table.lines.tolist()[-1] == 302
    assert "2 of 302 rows are no JSON objects and were set aside: lines 10, 301." in table.notes
    message = refusal(write('{"a": 1}\n{"a": \n[]\n5\n{"a": 2}\n'))
    assert "3 of 5 lines are no JSON objects: line 2 ('{\"a\": '), line 3 ('[]'), line 4" in message


@pytest.mark.parametrize("text", ["[]", "{}", "[{}, {}]"])
def test_json_without_rows_is_refused(write, text):
    assert "has no rows" in refusal(write(text, "t.json"))


def test_a_list_that_is_cut_off_is_refused_with_the_line(write):
    assert "in line 3 does not end" in refusal(write('[{"a": 1},\n{"a": 2},\n{"a": '))
    assert "are no JSON objects" in refusal(write("[[1, 2], [3, 4]]", "t.json"))


def test_json_that_is_nested_without_end_is_a_broken_line(write):
    assert "are no JSON objects" in refusal(write('{"a": 1}\n{"a": ' + "[" * 100_000))


def test_a_line_of_json_without_end_is_refused(write, monkeypatch):
    monkeypatch.setattr(formats, "LONGEST", 1000)
    line = '{"a": 1}\n'
    assert "line 2 of 't.jsonl' is longer than 1,000" in refusal(write(line + "x" * 2000))


def test_a_sample_of_json_has_its_true_lines(write):
    lines = [json.dumps({"i": i}) for i in range(500)]
    lines[100] = "broken"
    path = write(bz2.compress("\n".join(lines).encode()), "t.jsonl.bz2")
    table = read_table(path, n_rows=50, random_state=0)
    assert table.frame["i"].tolist() == (table.lines - 1).tolist()
    assert (table.n_rows, len(table.set_aside)) == (499, 1)


def test_json_comes_from_standard_input_and_in_other_encodings(write, monkeypatch):
    content = '{"name": "Müller"}\n{"name": "Größe"}\n'
    stream = io.TextIOWrapper(io.BytesIO(gzip.compress(content.encode("utf-16"))))
    monkeypatch.setattr(sys, "stdin", stream)
    assert read_table("-").frame["name"].tolist() == ["Müller", "Größe"]
    pytest.importorskip("charset_normalizer", reason="guesses encodings")
    table = read_table(write(content.encode("cp1252")))
    assert table.frame["name"].tolist() == ["Müller", "Größe"]


def test_json_that_needs_too_much_memory_is_refused(write, monkeypatch):
    from sorr.auditing.table import files

    monkeypatch.setattr(files, "available_memory", lambda: 100_000)
    lines = "\n".join(json.dumps({"i": i, "word": "x" * 20}) for i in range(3000))
    assert "3,000 rows take" in refusal(write(lines))
