"""Fetching: files before sources, sources in turn, and never another array than the known one."""

import gzip
import hashlib
from dataclasses import replace
from urllib.request import Request

import numpy as np
import pytest

from sorr.datasets import fetch
from sorr.datasets.catalogue import TABLES, Part
from sorr.datasets.formats import write_csv

from .test_formats import idx

download_content = fetch.download_content  # before it is put out of use for the tests
PHONEME = np.array([[1.24, 0.875, -0.205, -0.078, 0.067, 0], [0.268, 1.352, 1, -0.3, 0.2, 1]])
PICTURES = np.arange(2 * 28 * 28, dtype=np.uint8).reshape(2, 28, 28)
PART = Part("mnist/few-images", (2, 28, 28), hashlib.sha256(PICTURES.tobytes()).hexdigest())
MIRRORS = [
    "https://ossci-datasets.s3.amazonaws.com/mnist/few-images.gz",
    "https://storage.googleapis.com/cvdf-datasets/mnist/few-images.gz",
]
COPY = "https://raw.githubusercontent.com/jbrownlee/Datasets/master/phoneme.csv"


def rows(table):
    return write_csv(("no header there",), table).partition(b"\n")[2]


@pytest.fixture
def phoneme(monkeypatch):
    """Let two rows be all of Phoneme."""
    known = replace(TABLES["phoneme"], rows=2, sha256=hashlib.sha256(PHONEME).hexdigest())
    monkeypatch.setattr(fetch, "TABLES", {"phoneme": known})
    return known


@pytest.mark.usefixtures("phoneme")
def test_what_was_fetched_once_is_read_from_the_cache(network, cache):
    network.contents[COPY] = rows(PHONEME)
    first, path = fetch.get_table("phoneme", None, download=True)
    assert path == cache / "phoneme.csv.gz"
    assert len(network.asked) == 2  # KEEL, which had nothing, and then the copy
    second, same = fetch.get_table("phoneme", None, download=False)
    assert (same, len(network.asked)) == (path, 2)
    for table in (first, second):
        np.testing.assert_array_equal(table, PHONEME)


def test_the_file_in_the_cache_has_the_header_and_is_the_same_each_time(phoneme, network, cache):
    network.contents[COPY] = rows(PHONEME)
    contents = []
    for _ in range(2):
        _, path = fetch.get_table("phoneme", None, download=True)
        contents.append(path.read_bytes())
        path.unlink()
    assert contents[0] == contents[1]
    header = gzip.decompress(contents[0]).splitlines()[0].decode()
    assert header.split(",") == [*phoneme.features, "y"]
    assert list(cache.iterdir()) == []


@pytest.mark.usefixtures("phoneme")
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (rows(PHONEME[::-1]), "other values"),
        (rows(PHONEME[:1]), r"shape \(1, 6\); needed \(2, 6\)"),
        (b"<html>gone</html>", "could not convert"),
        (b"", "no rows"),
    ],
)
def test_other_rows_than_the_known_ones_are_refused_and_not_kept(content, reason, network, cache):
    network.contents[COPY] = content
    with pytest.raises(FileNotFoundError, match=f"jbrownlee/Datasets: ValueError: .*{reason}"):
        fetch.get_table("phoneme", None, download=True)
    assert not cache.exists()


@pytest.mark.usefixtures("phoneme")
def test_a_damaged_file_is_neither_passed_over_nor_replaced(network, cache, tmp_path):
    network.contents[COPY] = rows(PHONEME)
    path = tmp_path / "phoneme.csv"
    path.write_bytes(b"f1,y\n1,0\n")
    with pytest.raises(ValueError, match=r"phoneme\.csv is damaged, or another file"):
        fetch.get_table("phoneme", tmp_path, download=True)
    assert path.read_bytes() == b"f1,y\n1,0\n"
    assert (network.asked, cache.exists()) == ([], False)


def test_without_download_the_error_says_where_it_looked_and_what_to_do(network, cache, tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        fetch.get_table("scene", tmp_path, download=False)
    for said in (
        f"scene.csv.gz is not in {tmp_path} or {cache}",
        "download=False",
        "OpenML",
        "data_home",
        "SORR_DATA",
    ):
        assert said in str(caught.value)
    assert network.asked == []


def test_when_all_sources_fail_the_error_has_the_reason_of_each():
    with pytest.raises(FileNotFoundError) as caught:
        fetch.get_table("phoneme", None, download=True)
    for said in ("KEEL: OSError: no such address", "Datasets: OSError: no such", "SORR_DATA"):
        assert said in str(caught.value)


def test_images_come_from_the_first_mirror_that_has_them(network, cache):
    archive = gzip.compress(idx(PICTURES))
    network.contents[MIRRORS[1]] = archive
    images, path = fetch.get_images(PART, None, download=True)
    assert network.asked == MIRRORS
    assert path == cache / "mnist" / "few-images.gz"
    assert path.read_bytes() == archive
    np.testing.assert_array_equal(images, PICTURES)
    again, _ = fetch.get_images(PART, None, download=False)
    np.testing.assert_array_equal(again, PICTURES)


def test_a_mirror_with_other_images_is_passed_over(network):
    network.contents[MIRRORS[0]] = gzip.compress(idx(PICTURES[::-1].copy()))
    network.contents[MIRRORS[1]] = gzip.compress(idx(PICTURES))
    images, _ = fetch.get_images(PART, None, download=True)
    np.testing.assert_array_equal(images, PICTURES)


def test_a_download_that_breaks_off_is_a_reason_and_no_crash(network):
    network.contents = {
        MIRRORS[0]: gzip.compress(idx(PICTURES))[:-9],
        MIRRORS[1]: b"not an archive",
    }
    with pytest.raises(FileNotFoundError, match=r"EOFError.*BadGzipFile"):
        fetch.get_images(PART, None, download=True)


def test_downloads_have_a_time_limit_and_say_who_asks(monkeypatch):
    calls = []

    class Response:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            calls.append("closed")

        def read(self):
            return b"content"

    def urlopen(request: Request, timeout: float):
        calls.append((request.full_url, request.get_header("User-agent"), timeout))
        return Response()

    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    assert download_content("https://example.org/x") == b"content"
    assert calls == [("https://example.org/x", "sorr", 30.0), "closed"]
