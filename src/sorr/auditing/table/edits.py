"""Edits of a text as edits of the bytes of its file, and the file with them.

Places of a text are bytes of it in UTF-8, as it comes out of `files.text`. They are mapped back to
the bytes of the file, whatever its encoding is, so that everything outside of edits is copied.
"""

from __future__ import annotations

import bz2
import codecs
import lzma
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from sorr._typing import IntArray
from sorr.auditing.table.files import INSTALL, MIXED, Source, Tick, content, zip_member
from sorr.auditing.table.values import TableError, quote

_PIECE = 256  # bytes that are decoded at once where the place of a letter is looked for
PACKINGS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd", ".zip": "zip"}


class Edit(NamedTuple):
    """A part of a text, and what stands there instead."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Edited:
    """The content of a text file with edits, packed as asked, in pieces of bytes.

    It is read from the file anew each time; a file that has changed meanwhile is refused.
    """

    source: Source
    edits: tuple[tuple[int, int, bytes], ...]
    """Places of the unpacked file in bytes, and what stands there instead."""
    packing: str
    name: str
    """Of the file to be written."""
    stamp: tuple[int, int]

    def __iter__(self) -> Iterator[bytes]:
        pieces = _replaced(self._checked(), self.edits)
        return packed(pieces, self.packing, self.source, self.name)

    def _checked(self) -> Iterator[bytes]:
        yield from content(self.source, lambda _: None)
        if stamp_of(self.source) != self.stamp:
            raise TableError(
                f"{quote(self.source.name)} changed while it was read; nothing was written, so "
                "start again when nobody writes to it"
            )


def stamp_of(source: Source) -> tuple[int, int]:
    """Return what tells whether a file has changed: its size, and when it was written."""
    found = source.path.stat()
    return found.st_size, found.st_mtime_ns


def encode_edits(
    source: Source, edits: Sequence[Edit], tick: Tick
) -> tuple[tuple[int, int, bytes], ...]:
    """Return the edits of a text as edits of the bytes of its file."""
    codec = codec_of(source)
    edges = np.array([it[:2] for it in edits], dtype=np.int64).reshape(-1, 2)
    places = _file_places(source, edges.ravel(), tick).reshape(-1, 2).tolist()
    return tuple(
        (start, end, it.text.encode(codec)) for (start, end), it in zip(places, edits, strict=True)
    )


def codec_of(source: Source) -> str:
    """Return the encoding in which new text has to be written, without a mark before it."""
    if source.encoding in (MIXED, "utf-8-sig"):
        return "utf-8"
    if source.encoding not in ("UTF-16", "UTF-32"):
        return source.encoding
    with closing(content(source, lambda _: None)) as blocks:
        is_little = next(blocks, b"")[:1] == b"\xff"
    return f"{source.encoding}-{'LE' if is_little else 'BE'}"


def can_express(codec: str, label: str) -> bool:
    """Tell whether a text can be written in an encoding, and read again."""
    try:
        return label.encode(codec).decode(codec) == label
    except UnicodeError:
        return False


def _file_places(source: Source, places: IntArray, tick: Tick) -> IntArray:
    """Return places of the text in UTF-8 as places of the bytes of the file."""
    if source.encoding in ("utf-8", "utf-8-sig"):
        return places + (len(codecs.BOM_UTF8) if source.encoding == "utf-8-sig" else 0)
    wanted = np.unique(places).tolist()
    found: list[int] = []
    codec, errors = source.encoding, "strict"
    if codec == MIXED:
        codec, errors = "utf-8", "_windows"
    decoder = codecs.getincrementaldecoder(codec)(errors)
    n_text = n_file = 0
    for block in content(source, tick):
        n_text = _find_edges(block, n_file, n_text, decoder, wanted, found)
        n_file += len(block)
    found += [n_file] * (len(wanted) - len(found))
    if wanted and wanted[-1] == n_text:
        found[-1] = n_file  # bytes that are half a letter belong to the last cell
    return np.array(found, dtype=np.int64)[np.searchsorted(wanted, places)]


def _find_edges(
    block: bytes, offset: int, n_text: int, decoder: Any, wanted: list[int], found: list[int]
) -> int:
    """Append the places of a block where wanted ones of the text are; return the text so far.

    A block without any is decoded at once, then one of a few bytes, and single bytes at the end.
    """
    state = decoder.getstate()
    end = n_text + _n_bytes(decoder.decode(block))
    if len(found) == len(wanted) or wanted[len(found)] > end:
        return end
    if len(block) == 1:
        decoder.setstate(state)
        letters = decoder.decode(block)
        start, sizes = offset - len(state[0]), np.cumsum([0, *map(_n_bytes, letters)])
        while len(found) < len(wanted) and wanted[len(found)] <= end:
            before = int(np.searchsorted(sizes, wanted[len(found)] - n_text))
            # Several letters at once are bytes that turned out to be no UTF-8: one letter each.
            is_end = before == len(letters) > 0
            place = offset + 1 - len(decoder.getstate()[0]) if is_end else start + before
            found.append(place)
        return end
    decoder.setstate(state)
    step = _PIECE if len(block) > _PIECE else 1
    for at in range(0, len(block), step):
        piece = block[at : at + step]
        n_text = _find_edges(piece, offset + at, n_text, decoder, wanted, found)
    return n_text


def _n_bytes(decoded: str) -> int:
    return len(decoded) if decoded.isascii() else len(decoded.encode())


def _replaced(blocks: Iterable[bytes], edits: Sequence[tuple[int, int, bytes]]) -> Iterator[bytes]:
    """Yield bytes with edits, which are in order and do not overlap."""
    offset = done = at = 0
    for block in blocks:
        end = offset + len(block)
        while at < len(edits) and edits[at][0] < end:
            start, stop, new = edits[at]
            if start > done:
                yield block[done - offset : start - offset]
                done = start
            if start >= offset and new:
                yield new
            done = max(done, min(stop, end))
            if stop > end:
                break
            at += 1
        if done < end:
            yield block[done - offset :]
            done = end
        offset = end
    for _, _, new in edits[at:]:
        if new:
            yield new


# -- Packing ---------------------------------------------------------------------------------------


def packing_of(name: str) -> str:
    """Return how a file of a name is packed."""
    return PACKINGS.get(Path(name.lower()).suffix, "")


def packed(pieces: Iterable[bytes], packing: str, source: Source, name: str) -> Iterator[bytes]:
    """Yield pieces as a packed file. No time is stored, so that equal tables are equal files."""
    if not packing:
        yield from pieces
        return
    if packing == "zip":
        yield from _zipped(pieces, source, name)
        return
    packer = _packer(packing, name)
    for piece in pieces:
        if block := packer.compress(piece):
            yield block
    yield packer.flush()


def _packer(packing: str, name: str) -> Any:
    if packing == "gzip":
        return zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
    if packing == "bzip2":
        return bz2.BZ2Compressor()
    if packing == "xz":
        return lzma.LZMACompressor()
    try:
        import zstandard
    except ImportError as error:
        raise TableError(
            f"{quote(name)} is to be packed with zstd and needs zstandard, which is not installed: "
            f"{INSTALL}"
        ) from error
    return zstandard.ZstdCompressor(write_checksum=True).compressobj()


def _zipped(pieces: Iterable[bytes], source: Source, name: str) -> Iterator[bytes]:
    """Yield a zip archive: of the same members as the one that was read, if that was one."""
    drain = _Drain()
    with zipfile.ZipFile(cast("Any", drain), "w", zipfile.ZIP_DEFLATED) as archive:
        if source.packing != "zip":
            inside = zipfile.ZipInfo(Path(name).stem)
            inside.compress_type = zipfile.ZIP_DEFLATED
            yield from _member_pieces(archive, inside, pieces, drain)
        else:
            with zipfile.ZipFile(source.path) as before:
                table = zip_member(before, source)
                for member in before.infolist():
                    again = copy(member)
                    if member.filename == table:
                        yield from _member_pieces(archive, again, pieces, drain)
                    else:
                        archive.writestr(again, before.read(member))
                        yield drain.take()
    yield drain.take()


def _member_pieces(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, pieces: Iterable[bytes], drain: _Drain
) -> Iterator[bytes]:
    with archive.open(member, "w", force_zip64=True) as file:
        for piece in pieces:
            file.write(piece)
            if block := drain.take():
                yield block


class _Drain:
    """A file that keeps what is written to it until it is taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, part: bytes) -> int:
        self._parts.append(bytes(part))
        return len(part)

    def flush(self) -> None:
        """Do nothing: a file has to have this."""

    def take(self) -> bytes:
        """Return what was written since the last time."""
        block = b"".join(self._parts)
        self._parts.clear()
        return block
