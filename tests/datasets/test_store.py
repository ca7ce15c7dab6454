"""Files: the order of places, and nothing but the known array from any of them."""

import gzip
import hashlib
import sys

import numpy as np
import pytest

from sorr.datasets.catalogue import Part
from sorr.datasets.formats import read_csv, write_csv
from sorr.datasets.store import cache_folder, check, find_file, folders, keep_file, read_file

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
    assert folders(given) == [given, named, cache]


def test_a_compressed_file_comes_before_the_plain_one(cache):
    put(cache)
    packed = put(cache, gzip.compress(CONTENT, mtime=0), "small.csv.gz")
    assert find_file(PART, None) == packed
    np.testing.assert_array_equal(read_file(packed, PART, read_csv), TABLE)


def test_a_folder_that_is_given_has_to_be_there(tmp_path):
    with pytest.raises(NotADirectoryError, match=r"absent' is no folder; needed"):
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
        assert check(same, PART) is same
    with pytest.raises(ValueError, match="other values"):
        check(TABLE[::-1], PART)


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
