"""Edits of a text as edits of the bytes of its file."""

import io
import zipfile
from dataclasses import replace

import pytest

pytest.importorskip("pandas", reason="tables are read by it")

from hypothesis import given
from hypothesis import strategies as st

from sorr.auditing.table import edits
from sorr.auditing.table.edits import (
    Edit,
    Edited,
    can_express,
    codec_of,
    encode_edits,
    packed,
    packing_of,
    stamp_of,
)
from sorr.auditing.table.files import MIXED, Source, text

LETTERS = {
    "utf-8": "a,\n\u00e9\u20ac\U0001f600",
    "utf-8-sig": "a,\n\u00e9\u20ac\U0001f600",
    "UTF-16": "a,\n\u00e9\u20ac\U0001f600",
    "UTF-32": "a,\n\u00e9\u20ac\U0001f600",
    "utf-16-le": "a,\n\u00e9\u20ac\U0001f600",
    "utf-16-be": "a,\n\u00e9\u20ac\U0001f600",
    "cp1252": "a,\n\u00e9\u20ac",
    "cp932": "a,|\n\u30bd\u8868",
    "gb18030": "a,|\n\u00e9\u5317\U0001f600",
    "euc_jp": "a,\n\u30bd\u8868",
    "big5": "a,|\n\u5317\u4eac",
}
CUTS = st.lists(st.integers(0, 600), max_size=12)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("edits")


def source_of(path, data, encoding):
    path.write_bytes(data)
    return Source(path, path.name, len(data), "text", encoding=encoding)


def edits_at(cuts, decoded):
    """Return edits of a text whose ends are letters: from each second cut to the next."""
    places = sorted({min(it, len(decoded)) for it in cuts})
    places = places[: len(places) // 2 * 2]
    pairs = list(zip(places[::2], places[1::2], strict=True))
    sizes = [len(decoded[:it].encode()) for pair in pairs for it in pair]
    found = [Edit(*pair, "aa,") for pair in zip(sizes[::2], sizes[1::2], strict=True)]
    return pairs, found


@given(st.sampled_from(sorted(LETTERS)), st.data(), CUTS, st.sampled_from([1, 7, 300, 1 << 20]))
def test_everything_outside_of_edits_is_copied(folder, encoding, data, cuts, block):
    decoded = data.draw(st.text(st.sampled_from(LETTERS[encoding]), max_size=600))
    raw = decoded.encode(encoding)
    source = source_of(folder / "t.csv", raw, encoding)
    pairs, found = edits_at(cuts, decoded)
    codec = codec_of(source)
    expected, at = [raw[: len(raw) - len(decoded.encode(codec))]], 0  # the mark
    for start, end in pairs:
        expected += [decoded[at:start].encode(codec), "aa,".encode(codec)]
        at = end
    expected.append(decoded[at:].encode(codec))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sorr.auditing.table.files.BLOCK", block)
        places = encode_edits(source, found, lambda _: None)
        pieces = list(Edited(source, places, "", "c.csv", stamp_of(source)))
    assert b"".join(pieces) == b"".join(expected)


MIXTURE = st.sampled_from(
    [
        *(b"a", b",", b"\n", b"\xe9", b"\xa0", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xc3\xa9"),
        *("\u20ac".encode(), "\U0001f600".encode()),
    ]
)


@given(st.lists(MIXTURE, max_size=80), st.sampled_from([1, 7, 300]))
def test_in_mixed_encodings_each_separator_is_found(folder, parts, block):
    raw = b"".join(parts) + b","
    source = source_of(folder / "t.csv", raw, MIXED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sorr.auditing.table.files.BLOCK", block)
        whole = b"".join(text(source, lambda _: None))
        commas = [i for i, it in enumerate(whole) if it == ord(",")]
        found = [Edit(it, it + 1, ";") for it in commas]
        places = encode_edits(source, found, lambda _: None)
    assert [it[0] for it in places] == [i for i, it in enumerate(raw) if it == ord(",")]
    assert all(end == start + 1 for start, end, _ in places)


def test_text_that_an_encoding_lacks_cannot_be_expressed():
    assert can_express("cp1252", "caf\u00e9 \u20ac")
    assert not can_express("cp1252", "\u0141\u00f3d\u017a")
    assert not can_express("utf-8", "\ud800")


@pytest.mark.parametrize(
    ("mark", "codec"), [(b"\xff\xfe", "UTF-16-LE"), (b"\xfe\xff", "UTF-16-BE")]
)
def test_new_text_has_no_mark(mark, codec, tmp_path):
    source = source_of(tmp_path / "t.csv", mark + "a".encode(codec), "UTF-16")
    assert codec_of(source) == codec
    assert codec_of(replace(source, encoding=MIXED)) == "utf-8"


@pytest.mark.parametrize(
    ("name", "packing"),
    [("c.csv", ""), ("c.csv.gz", "gzip"), ("C.CSV.GZ", "gzip"), ("c.zip", "zip"), ("gz", "")],
)
def test_the_ending_says_how_to_pack(name, packing):
    assert packing_of(name) == packing


def test_equal_content_is_packed_to_equal_files(tmp_path, monkeypatch):
    source = source_of(tmp_path / "t.csv", b"x", "utf-8")
    for packing in ("gzip", "zip"):
        first = b"".join(packed([b"ab", b"c"], packing, source, f"c.csv.{packing}"))
        monkeypatch.setattr("time.time", lambda: 2e9)
        assert b"".join(packed([b"abc"], packing, source, f"c.csv.{packing}"))[:10] == first[:10]
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        assert archive.namelist() == ["c.csv"]
        assert archive.read("c.csv") == b"abc"


def test_a_missing_packer_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    source = source_of(tmp_path / "t.csv", b"x", "utf-8")
    with pytest.raises(edits.TableError, match="needs zstandard, which is not installed"):
        list(packed([b"x"], "zstd", source, "c.csv.zst"))
