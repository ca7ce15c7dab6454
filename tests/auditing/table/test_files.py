"""Packed files are unpacked, and rows that an audit has no memory for are refused."""

import bz2
import gzip
import io
import lzma
import os
import re
import sys
import zipfile

import pytest

pytest.importorskip("pandas", reason="tables are an extra")

from sorr.auditing import TableError, read_table
from sorr.auditing.table import files
from sorr.auditing.table.files import available_memory, bytes_per_row, check_memory


@pytest.fixture
def free(monkeypatch):
    """Let a machine have so many free bytes."""

    def free(n_bytes):
        monkeypatch.setattr(files, "available_memory", lambda: n_bytes)

    return free


@pytest.fixture
def system(tmp_path, monkeypatch):
    """Build the files in which Linux tells of memory."""
    monkeypatch.setattr(files, "_SYSTEM", tmp_path)

    def system(**files):
        for name, content in files.items():
            path = tmp_path / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)

    return system


def suggested(message):
    return int(re.search(r"n_rows=(\d+)", message)[1])


def test_more_columns_and_longer_texts_take_more_memory():
    assert 0 < bytes_per_row(0, []) < bytes_per_row(1, []) < bytes_per_row(2, [])
    assert bytes_per_row(1, []) < bytes_per_row(0, [1.0]) < bytes_per_row(0, [9.0])


def test_a_million_rows_of_20_numbers_fit_into_4_gigabytes():
    assert 20 * 8 * 1e6 < 1e6 * bytes_per_row(20, []) < 0.8 * 4e9


@pytest.mark.parametrize("n_bytes", [1e3, 12_345_678, 3.3e9])
def test_the_sample_that_is_suggested_fits_and_is_not_much_smaller_than_could_be(free, n_bytes):
    free(n_bytes)
    row_bytes = 1000.0
    with pytest.raises(TableError) as caught:
        check_memory("t.csv", 10**8, row_bytes)
    rows = suggested(str(caught.value))
    if rows > 1:
        check_memory("t.csv", rows, row_bytes)
        assert rows * row_bytes > 0.8 * 0.8 * n_bytes
    assert "about 100.0 GB" in str(caught.value)


def test_nothing_is_refused_where_no_one_knows_the_memory(free):
    free(None)
    check_memory("t.csv", 10**12, 1000.0)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_large_file_is_refused_before_it_is_read_and_a_sample_of_it_is_not(tmp_path, free, name):
    pd = pytest.importorskip("pandas", reason="tables are read by pandas")
    path = tmp_path / name
    frame = pd.DataFrame({"x": range(5000), "word": ["a word"] * 5000})
    if name == "t.csv":
        frame.to_csv(path, index=False)
    else:
        pytest.importorskip("pyarrow", reason="Parquet is read by pyarrow")
        frame.to_parquet(path)
    free(1_000_000)
    with pytest.raises(TableError, match=r"5,000 rows take .* GB are free; .* n_rows") as caught:
        read_table(path)
    rows = suggested(str(caught.value))
    assert 500 < rows < 5000
    assert len(read_table(path, n_rows=rows, random_state=0).frame) == rows


def test_a_machine_that_runs_out_of_memory_all_the_same_says_what_to_do(tmp_path, monkeypatch):
    pd = pytest.importorskip("pandas", reason="tables are read by pandas")

    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr(pd, "read_csv", fail)
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match=r"does not fit into memory; .* n_rows"):
        read_table(tmp_path / "t.csv")


def test_free_memory_is_what_the_kernel_says(system):
    system(proc__meminfo="MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable:    4000 kB\n")
    assert available_memory() == 4000 * 1024


def test_a_container_leaves_less(system):
    system(
        proc__meminfo="MemAvailable: 4000000 kB\n",
        proc__self__cgroup="0::/box\n",
        sys__fs__cgroup__box__memory_dot_max="2000000\n",
        sys__fs__cgroup__box__memory_dot_current="1500000\n",
        sys__fs__cgroup__box__memory_dot_stat="anon 1200000\ninactive_file 300000\n",
    )
    assert available_memory() == 2_000_000 - 1_500_000 + 300_000


def test_the_tightest_of_nested_groups_counts(system):
    system(
        proc__self__cgroup="3:cpu:/\n4:memory:/outer/inner\n",
        sys__fs__cgroup__memory__outer__memory_dot_limit_in_bytes="700\n",
        sys__fs__cgroup__memory__outer__memory_dot_usage_in_bytes="100\n",
        sys__fs__cgroup__memory__outer__inner__memory_dot_limit_in_bytes="9000\n",
        sys__fs__cgroup__memory__outer__inner__memory_dot_usage_in_bytes="50\n",
    )
    assert available_memory() == 600


def test_a_group_without_a_limit_leaves_everything(system):
    system(
        proc__meminfo="MemAvailable: 4 kB\n",
        proc__self__cgroup="0::/\n",
        sys__fs__cgroup__memory_dot_max="max\n",
        sys__fs__cgroup__memory_dot_current="1500000\n",
    )
    assert available_memory() == 4096


def test_other_systems_say_what_is_built_in_or_nothing(system, monkeypatch):
    system()
    amounts = {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(os, "sysconf", amounts.__getitem__, raising=False)
    assert available_memory() == 4_096_000
    monkeypatch.delattr(os, "sysconf")
    assert available_memory() is None


def test_this_machine_has_some_memory():
    found = available_memory()
    assert found is None or found > 2**20


# -- Packed files ----------------------------------------------------------------------------------


TEXT = b"a,b\n" + b"".join(b"%d,w%d\n" % (i, i * i) for i in range(9999))


def zipped(content, *more):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("t.csv", *more):
            archive.writestr(name, content)
    return stream.getvalue()


def zstd(content):
    return pytest.importorskip("zstandard", reason="packs with zstd").compress(content)


PACKINGS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd,
    "zip": zipped,
}


@pytest.fixture
def write(tmp_path):
    def write(content, name="t"):
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return write


def refusal(path, **options):
    with pytest.raises(TableError) as caught:
        read_table(path, **options)
    assert str(caught.value).isprintable()
    return str(caught.value)


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("name", ["t", "t.csv", "t.csv.gz"])
def test_packed_text_is_known_by_its_content(write, packing, name):
    table = read_table(write(PACKINGS[packing](TEXT), name))
    assert table.frame["a"].tolist() == list(range(9999))
    assert table.lines.tolist() == list(range(2, 10_001))


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_sample_of_packed_text_has_its_true_lines(write, packing):
    table = read_table(write(PACKINGS[packing](TEXT)), n_rows=50, random_state=0)
    assert table.frame["a"].tolist() == (table.lines - 2).tolist()


@pytest.mark.parametrize("packing", ["gzip", "bzip2", "xz", "zstd"])
def test_files_that_were_packed_in_parts_are_read_whole(write, packing):
    pack, half = PACKINGS[packing], len(TEXT) // 2
    table = read_table(write(pack(TEXT[:half]) + pack(TEXT[half:])))
    assert table.frame["a"].tolist() == list(range(9999))


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_packed_file_that_was_cut_off_is_refused(write, packing):
    packed = PACKINGS[packing](TEXT)
    assert f"is a damaged {packing} file" in refusal(write(packed[: len(packed) * 9 // 10]))


def test_a_gzip_file_whose_content_was_changed_is_refused(write):
    packed = gzip.compress(TEXT)
    assert "is a damaged gzip file (CRC" in refusal(write(packed[:-8] + b"\0" * 8))


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_bomb_is_refused_in_bounded_memory(write, packing, monkeypatch):
    monkeypatch.setattr(files, "_BOMB", 1 << 18)
    monkeypatch.setattr(files, "_RATIO", 50)
    packed = PACKINGS[packing](b"a,b\n" + b"1,2\n" * (1 << 18))
    assert "grows more than 50 times when it is unpacked" in refusal(write(packed))


def test_an_archive_may_hold_files_that_are_no_tables(write):
    assert len(read_table(write(zipped(TEXT, "read.me", "__MACOSX/._t.csv"))).frame) == 9999


def test_a_machine_without_zstandard_is_told_what_to_install(write, monkeypatch):
    path = write(zstd(TEXT))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    assert refusal(path).endswith('pip install "sorr[audit]"')


def test_a_text_may_begin_like_a_packed_file(write):
    assert list(read_table(write(b"BZh,b\n1,2\n")).frame.columns) == ["BZh", "b"]
