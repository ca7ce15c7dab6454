"""Known arrays: from a file where there is one, or else from an official source."""

from __future__ import annotations

import gzip
import http.client
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sorr.datasets.catalogue import TABLES, Part
from sorr.datasets.formats import FloatTable, read_csv, read_idx, write_csv
from sorr.datasets.sources import IMAGE_MIRRORS, SOURCES
from sorr.datasets.store import Folder, check, find_file, folders, keep_file, read_file

__all__ = ["download_content", "get_images", "get_table"]

Array = npt.NDArray[Any]
_SECONDS = 30.0
_FAILURES = (
    OSError,  # of the network, of gzip
    http.client.HTTPException,
    ValueError,
    KeyError,
    EOFError,
    zlib.error,
    zipfile.BadZipFile,
)


def get_table(name: str, data_home: Folder, download: bool) -> tuple[FloatTable, Path | None]:
    """Return the table of that name, and the file that holds it now."""
    known = TABLES[name]

    def fetch(place: str) -> tuple[Array, bytes]:
        array = SOURCES[name][place](download_content)
        text = write_csv((*known.features, *known.labels), array)
        return array, gzip.compress(text, compresslevel=6, mtime=0)

    return _get(known.part, read_csv, SOURCES[name], fetch, data_home, download)


def get_images(
    part: Part, data_home: Folder, download: bool
) -> tuple[npt.NDArray[np.uint8], Path | None]:
    """Return the images, or the classes, of one file, and the file."""
    folder, _, name = part.file.partition("/")

    def fetch(mirror: str) -> tuple[Array, bytes]:
        archive = download_content(f"{mirror}/{name}.gz")
        return read_idx(gzip.decompress(archive)), archive

    return _get(part, read_idx, IMAGE_MIRRORS[folder], fetch, data_home, download)


def download_content(url: str) -> bytes:
    """Return what an address holds."""
    request = urllib.request.Request(url, headers={"User-Agent": "sorr"})
    with urllib.request.urlopen(request, timeout=_SECONDS) as response:
        content: bytes = response.read()
    return content


def _get(
    part: Part,
    read: Callable[[bytes], Array],
    places: Iterable[str],
    fetch: Callable[[str], tuple[Array, bytes]],
    data_home: Folder,
    download: bool,
) -> tuple[Array, Path | None]:
    """Return the array of a file, or else of the first place that has it, and where it lies now.

    `fetch` returns the array of a place, and the archive to keep in the cache.
    """
    path = find_file(part, data_home)
    if path is not None:
        return read_file(path, part, read), path
    reasons = []
    for place in places if download else ():
        try:
            array, archive = fetch(place)
            return check(array, part), keep_file(part, archive)
        except _FAILURES as error:
            reasons.append(f"{place}: {type(error).__name__}: {error}")
    fault = (
        f"could not be fetched ({'; '.join(reasons)})"
        if download
        else f"download=False keeps it from being fetched from {' or '.join(places)}"
    )
    raise FileNotFoundError(
        f"{part.file}.gz is not in {' or '.join(map(str, folders(data_home)))}, and {fault}; put "
        "it there, or name the folder that holds it by data_home or by the environment variable "
        "SORR_DATA"
    )
