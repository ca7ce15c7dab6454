"""Files: the order of places, and nothing but the known array from any of them."""

import gzip
import hashlib
import struct
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sorr.datasets.catalogue import Part
from sorr.datasets.files import (
    cache_folder,
    check_array,
    data_folders,
    find_file,
    keep_file,
    read_arff,
    read_csv,
    read_file,
    read_idx,
    read_keel,
    read_libsvm,
    read_rows,
    read_sequences,
    write_csv,
)

TABLE = np.array([[1.5, 0.0], [2.5, 1.0]])
CONTENT = write_csv(("f1", "y"), TABLE)
PART = Part("small.csv", (2, 2), hashlib.sha256(TABLE.astype("<f8").tobytes()).hexdigest())


def put(folder, content=CONTENT, name="small.csv"):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(content)
    return path


def test_the_folder_given_comes_before_the_environment_and_the_cache(tmp_path, monkeypatch, cache):
    given, named = tmp_path / "given", tmp_path / "named"
    given.mkdir()
    monkeypatch.setenv("SORR_DATA", str(named))
    assert find_file(PART, given) is None
    for folder in (cache, named, given):
        path = put(folder)
        assert find_file(PART, given) == path
    assert find_file(PART, None) == named / "small.csv"
    assert data_folders(given) == [given, named, cache]


def test_a_compressed_file_comes_before_the_plain_one(cache):
    put(cache)
    packed = put(cache, gzip.compress(CONTENT, mtime=0), "small.csv.gz")
    assert find_file(PART, None) == packed
    np.testing.assert_array_equal(read_file(packed, PART, read_csv), TABLE)


def test_a_folder_that_is_given_has_to_be_there(tmp_path):
    with pytest.raises(NotADirectoryError, match=r"absent' is not a folder; needed"):
        find_file(PART, tmp_path / "absent")


@pytest.mark.parametrize(
    ("platform", "variable", "expected"),
    [
        ("linux", "XDG_CACHE_HOME", "sorr"),
        ("linux", None, ".cache/sorr"),
        ("darwin", None, "Library/Caches/sorr"),
        ("win32", "LOCALAPPDATA", "sorr"),
        ("win32", None, "AppData/Local/sorr"),
    ],
)
def test_the_cache_is_where_the_platform_keeps_it(
    platform, variable, expected, tmp_path, monkeypatch
):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for name in ("SORR_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv(variable, str(tmp_path))
    assert cache_folder() == tmp_path / expected


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("small.csv", CONTENT.replace(b"2.5", b"2.6"), "other values"),
        ("small.csv", CONTENT.replace(b"2.5,1\n", b""), r"shape \(1, 2\); needed \(2, 2\)"),
        ("small.csv", CONTENT.replace(b"2.5", b"x"), "could not convert"),
        ("small.csv", b"", "no rows"),
        ("small.csv.gz", CONTENT, "gzip"),
        ("small.csv.gz", gzip.compress(CONTENT, mtime=0)[:-9], "end-of-stream"),
        ("small.csv.gz", gzip.compress(CONTENT, mtime=0)[:-6] + b"\0\0\0\0\0\0", "CRC"),
        ("small.csv.gz", gzip.compress(CONTENT, mtime=0)[:10] + b"\xff" * 30, "invalid"),
    ],
)
def test_a_damaged_file_is_refused_by_name_and_left_alone(name, content, message, tmp_path):
    path = put(tmp_path, content, name)
    with pytest.raises(ValueError, match=message) as caught:
        read_file(path, PART, read_csv)
    assert str(path) in str(caught.value)
    assert "delete it" in str(caught.value)
    assert path.read_bytes() == content


def test_the_order_of_bytes_and_of_memory_does_not_change_the_checksum():
    for same in (TABLE, np.asfortranarray(TABLE), TABLE.astype(">f8")):
        assert check_array(same, PART) is same
    with pytest.raises(ValueError, match="other values"):
        check_array(TABLE[::-1], PART)


def test_a_file_is_kept_whole_and_without_leftovers(cache):
    part = Part("folder/small.csv", PART.shape, PART.sha256)
    path = keep_file(part, gzip.compress(CONTENT, mtime=0))
    assert path == cache / "folder" / "small.csv.gz"
    assert list(path.parent.iterdir()) == [path]
    np.testing.assert_array_equal(read_file(path, part, read_csv), TABLE)


def test_a_cache_that_cannot_be_written_is_told(cache):
    cache.write_text("a file where the folder should be")
    with pytest.warns(UserWarning, match="could not be written .* SORR_CACHE"):
        assert keep_file(PART, b"") is None


# -- Formats: samples written by hand --------------------------------------------------------------


ARFF = b"""\
% a comment
@relation 'music: -C 2'

@attribute Mean_Acc numeric
@attribute amazed-suprised {0,1}
@ATTRIBUTE 'a name' REAL
@attribute happy {FALSE, TRUE}

@DATA
0.25,1,-3e-2,FALSE
% another one
0.5,0,4,TRUE
"""

KEEL = b"""\
@relation phoneme
@attribute Aa real [-1.7, 4.107]
@attribute Class {0, 1}
@inputs Aa
@outputs Class
@data
1.24, 0
0.268, 1
"""

SPLICE = b"""\
EI,   ATRINS-DONOR-521,               AGCT
IE,            HUMX-ACCEPTOR-1,       TTTT
N,              HUMX-NEG-1,           NGCT
N,              HUMX-NEG-2,           CCGA
"""


def idx(array, kind=8):
    header = bytes([0, 0, kind, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + array.tobytes()


def test_arff_gives_numbers_first_and_labels_last():
    expected = [[0.25, -0.03, 1, 0], [0.5, 4, 0, 1]]
    np.testing.assert_array_equal(read_arff(ARFF), expected)
    np.testing.assert_array_equal(read_arff(ARFF.replace(b"\n", b"\r\n")), expected)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"@DATA", b"", "no line @data"),
        (b"0.25,1,-3e-2,FALSE", b"{0 0.25, 1 1}", "sparse"),
        (b"@ATTRIBUTE 'a name' REAL\n", b"", "4 columns and 3 attributes"),
        (b"0.25,", b"?,", "could not convert"),
    ],
)
def test_arff_that_is_not_as_expected_is_refused(old, new, message):
    with pytest.raises(ValueError, match=message):
        read_arff(ARFF.replace(old, new))


def test_keel_keeps_the_order_of_columns():
    np.testing.assert_array_equal(read_keel(KEEL), [[1.24, 0], [0.268, 1]])


def test_a_file_without_rows_is_refused():
    with pytest.raises(ValueError, match="no rows"):
        read_keel(KEEL[: KEEL.index(b"1.24")])


def test_rows_are_parted_by_white_space_or_by_commas():
    expected = [[1, 22.08, 0], [0, 7, 1]]
    np.testing.assert_array_equal(read_rows(b"1 22.08 0\n0 7 1\n"), expected)
    np.testing.assert_array_equal(read_rows(b"1,22.08, 0\n0,7,1", delimiter=","), expected)


def test_libsvm_fills_in_the_zeros():
    content = b"+1 1:1.000000 3:11.460000 \n-1 2:22.08\n\n"
    np.testing.assert_array_equal(
        read_libsvm(content, n_features=3), [[1, 0, 11.46, 1], [0, 22.08, 0, -1]]
    )


@pytest.mark.parametrize("number", [0, 4])
def test_libsvm_with_another_number_of_features_is_refused(number):
    with pytest.raises(ValueError, match=f"feature {number}; needed 1 to 3"):
        read_libsvm(b"+1 %d:1.0" % number, n_features=3)


def test_sequences_are_coded_and_ambiguous_ones_left_out():
    expected = [[1, 2, 3, 4, -1], [4, 4, 4, 4, -1], [3, 3, 2, 1, 1]]
    np.testing.assert_array_equal(read_sequences(SPLICE), expected)


def test_sequences_of_an_unknown_class_are_refused():
    with pytest.raises(ValueError, match="class 'XX'; needed N, EI or IE"):
        read_sequences(SPLICE.replace(b"EI", b"XX"))


@pytest.mark.parametrize("shape", [(3,), (2, 3, 4)])
def test_idx_gives_the_array_that_was_written(shape):
    array = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    np.testing.assert_array_equal(read_idx(idx(array)), array)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0\0\x08",
        b"\0\0\x08\x03\0\0",
        b"<html>not found</html>",
        idx(np.zeros(4, dtype=np.uint8))[:-1],
        idx(np.zeros(4, dtype=np.uint8)) + b"\0",
        idx(np.zeros(4, dtype=np.float32), kind=13),
        gzip.compress(idx(np.zeros(4, dtype=np.uint8)), mtime=0),
    ],
)
def test_idx_that_is_cut_or_of_another_kind_is_refused(content):
    with pytest.raises(ValueError, match=r".+"):
        read_idx(content)


@given(arrays(np.float64, (3, 2), elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_our_own_format_keeps_every_bit(table):
    content = write_csv(("f1", "y"), table)
    assert content.startswith(b"f1,y\n")
    assert read_csv(content).tobytes() == table.tobytes()


def test_whole_numbers_are_written_as_such():
    assert write_csv(("a", "y"), np.array([[22.08, 1.0], [7.0, -1.0]])) == b"a,y\n22.08,1\n7,-1\n"
