"""Where files of data lie, and whether they hold what they should."""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
import tempfile
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sorr.datasets.catalogue import Part

__all__ = [
    "DamagedFileError",
    "Folder",
    "cache_folder",
    "check",
    "find_file",
    "folders",
    "keep_file",
    "read_file",
]

Array = npt.NDArray[Any]
Folder = str | os.PathLike[str] | None
Reader = Callable[[bytes], Array]


class DamagedFileError(OSError, ValueError):
    """A file holds anything else than it should."""


def cache_folder() -> Path:
    """Return the folder that ``SORR_CACHE`` names, or else that of sorr in the user's cache."""
    named = os.environ.get("SORR_CACHE")
    if named:
        return Path(named).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "sorr"


def folders(data_home: Folder) -> list[Path]:
    """Return where files are looked for, the first place first."""
    if data_home is not None and not Path(data_home).expanduser().is_dir():
        raise NotADirectoryError(
            f"data_home={os.fspath(data_home)!r} is no folder; needed the one that holds the files"
        )
    named = [data_home, os.environ.get("SORR_DATA")]
    return [*(Path(folder).expanduser() for folder in named if folder), cache_folder()]


def find_file(part: Part, data_home: Folder) -> Path | None:
    """Return the first file of that name, compressed or not, or None if there is none."""
    for folder in folders(data_home):
        for path in (folder / f"{part.file}.gz", folder / part.file):
            if path.is_file():
                return path
    return None


def read_file(path: Path, part: Part, read: Reader) -> Array:
    """Return the array in a file, or refuse a file that holds anything else than it should."""
    content = path.read_bytes()
    try:
        return check(read(gzip.decompress(content) if path.suffix == ".gz" else content), part)
    except (ValueError, EOFError, OSError, zlib.error) as error:
        raise DamagedFileError(
            f"{path} is damaged, or another file than {part.file} is known to be: {error}. It is "
            "left as it is: delete it to have it fetched again, or put a good copy in its place"
        ) from error


def check(array: Array, part: Part) -> Array:
    """Return the array if it is the known one."""
    if array.shape != part.shape:
        raise ValueError(f"its array has shape {array.shape}; needed {part.shape}")
    ordered = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    if hashlib.sha256(ordered.data).hexdigest() != part.sha256:
        raise ValueError(
            "its array has the right shape and other values, as its SHA-256 says; needed "
            f"{part.sha256[:12]}..."
        )
    return array


def keep_file(part: Part, archive: bytes) -> Path | None:
    """Put a compressed file into the cache, whole or not at all; warn if that cannot be done."""
    path = cache_folder() / f"{part.file}.gz"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            whole = Path(folder) / path.name
            whole.write_bytes(archive)
            whole.replace(path)
    except OSError as error:
        warnings.warn(
            f"{path} could not be written ({error}), so that it will be fetched again; name a "
            "folder that can be written to by the environment variable SORR_CACHE",
            stacklevel=6,  # the caller of load_phoneme() and the like
        )
        return None
    return path
