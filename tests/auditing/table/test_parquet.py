"""Parquet files come back with the types they have, as numbers, dates or text."""

import datetime as dt
import decimal
import gzip
import sys

import numpy as np
import pytest

from sorr.auditing.table import TableError, parquet, read_table

pd = pytest.importorskip("pandas", reason="tables are read by pandas")
pa = pytest.importorskip("pyarrow", reason="Parquet is read by pyarrow")
pq = pytest.importorskip("pyarrow.parquet", reason="Parquet is read by pyarrow")


@pytest.fixture
def write(tmp_path):
    def write(columns, name="t.parquet", **options):
        path = tmp_path / name
        table = columns if isinstance(columns, pa.Table) else pa.table(columns)
        pq.write_table(table, path, **options)
        return path

    return write


def refusal(path, **options):
    with pytest.raises(TableError) as caught:
        read_table(path, **options)
    assert str(caught.value).isprintable()
    return str(caught.value)


def test_columns_come_back_in_order_and_rows_without_lines(write):
    path = write({"b": [1.5, None], "a": ["x", None], "n": [1, 2], "w": [7, None]})
    table = read_table(path)
    assert list(table.frame.columns) == ["b", "a", "n", "w"]
    assert table.frame["n"].dtype == np.int64
    assert table.frame["w"].dtype == table.frame["b"].dtype == np.float64
    assert table.frame["a"].isna().tolist() == [False, True]
    assert table.lines is None
    assert (table.n_rows, table.rows.tolist(), table.notes) == (2, [0, 1], ())


def test_types_that_are_neither_numbers_nor_text_become_one_of_them_or_dates(write):
    day = dt.date(2020, 1, 2)
    frame = read_table(
        write(
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


def test_lists_and_bytes_are_read_as_text_and_told_of(write):
    table = read_table(write({"x": [1], "list": [[1, 2]], "bytes": [b"\0"]}))
    assert table.frame["list"].tolist() == ["[1 2]"]
    assert table.notes == ("Lists, structures or bytes were read as text: 'list', 'bytes'.",)


def test_text_columns_of_numbers_are_text(write):
    path = write({"n": [1, None], "x": [0.5, 2.0], "b": [True, False]})
    frame = read_table(path, text_columns=["n", "x", "b"]).frame
    assert frame["n"].iloc[0] == "1"
    assert frame["n"].isna().tolist() == [False, True]
    assert frame["x"].iloc[0] == "0.5"
    assert frame["b"].tolist() == ["True", "False"]


@pytest.mark.parametrize("n_rows", [1, 10, 299, 300, 400])
def test_a_sample_holds_its_rows_of_the_whole_over_many_parts(write, n_rows, monkeypatch):
    monkeypatch.setattr(parquet, "_BATCH", 50)
    path = write({"i": range(300), "t": [f"t{i}" for i in range(300)]}, row_group_size=7)
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


def test_progress_reaches_the_end(write):
    told = []
    read_table(write({"x": range(10)}), progress=lambda *it: told.append(it))
    assert told[-1][0] == told[-1][1]
    assert told[-1][2] == "reading t.parquet"


def test_parquet_is_known_by_its_bytes_too(write):
    assert read_table(write({"x": [1]}, name="t.csv")).frame["x"].tolist() == [1]


def test_names_that_occur_twice_are_refused(write):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    assert "more than one column called 'a'" in refusal(write(table))


def test_a_file_without_rows_is_refused(write):
    assert "has no rows" in refusal(write({"x": pa.array([], pa.int64())}))


def test_what_is_no_parquet_is_refused(tmp_path, write):
    path = tmp_path / "u.parquet"
    path.write_text("a,b\n1,2\n")
    assert "is no Parquet file, or a damaged one" in refusal(path)
    whole = write({"x": list(range(1000))}).read_bytes()
    for content in (whole[:-20], whole[:50] + b"\xff" * 50 + whole[100:], gzip.compress(whole)):
        path.write_bytes(content)
        assert "'u.parquet'" in refusal(path)


def test_a_machine_without_pyarrow_is_told_what_to_install(write, monkeypatch):
    path = write({"x": [1]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert refusal(path).endswith('pip install "sorr[parquet]"')
