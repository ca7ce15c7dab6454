"""Files of data sets: where they are, whether they are intact, and their formats."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sorr._files import write_atomically
from sorr.datasets.catalogue import Part

Array = npt.NDArray[Any]
FloatTable = npt.NDArray[np.float64]
Folder = str | os.PathLike[str] | None
Reader = Callable[[bytes], Array]

_CODES = {"A": 1, "G": 2, "C": 3, "T": 4}  # of the letters of DNA


class DamagedFileError(OSError, ValueError):
    """A file does not hold the array it should."""


def cache_folder() -> Path:
    """Return the folder in ``SORR_CACHE``, or else that of sorr in the user's cache."""
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


def data_folders(data_home: Folder) -> list[Path]:
    """Return the folders in which files are looked for, in that order."""
    if data_home is not None and not Path(data_home).expanduser().is_dir():
        raise NotADirectoryError(
            f"data_home={os.fspath(data_home)!r} is not a folder; needed the one with the files"
        )
    named = [data_home, os.environ.get("SORR_DATA")]
    return [*(Path(folder).expanduser() for folder in named if folder), cache_folder()]


def find_file(part: Part, data_home: Folder) -> Path | None:
    """Return the first file of that name, compressed or not, or None."""
    for folder in data_folders(data_home):
        for path in (folder / f"{part.file}.gz", folder / part.file):
            if path.is_file():
                return path
    return None


def read_file(path: Path, part: Part, read: Reader) -> Array:
    """Return the array in a file, or refuse a file that does not hold the known array."""
    content = path.read_bytes()
    try:
        content = gzip.decompress(content) if path.suffix == ".gz" else content
        return check_array(read(content), part)
    except (ValueError, EOFError, OSError, zlib.error) as error:
        raise DamagedFileError(
            f"{path} is damaged, or not the known {part.file}: {error}. The file was not changed: "
            "delete it to fetch it again, or replace it with a good copy"
        ) from error


def check_array(array: Array, part: Part) -> Array:
    """Return the array if it is the known one, or refuse it."""
    if array.shape != part.shape:
        raise ValueError(f"its array has shape {array.shape}; needed {part.shape}")
    ordered = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    if hashlib.sha256(ordered.data).hexdigest() != part.sha256:
        raise ValueError(
            "its array has the right shape and other values: its SHA-256 is not "
            f"{part.sha256[:12]}..."
        )
    return array


def keep_file(part: Part, archive: bytes) -> Path | None:
    """Put a compressed file into the cache and return its path; warn if that is not possible."""
    path = cache_folder() / f"{part.file}.gz"
    try:
        return write_atomically(path, archive)
    except OSError as error:
        warnings.warn(
            f"{path} could not be written ({error}), so it will be fetched again next time; set "
            "the environment variable SORR_CACHE to a folder that can be written to",
            stacklevel=6,  # the caller of load_phoneme() and the like
        )
        return None


# -- Formats ---------------------------------------------------------------------------------------


def read_csv(content: bytes) -> FloatTable:
    """Return the numbers below the header of a table in our cache."""
    _, _, body = content.partition(b"\n")
    return read_rows(body, delimiter=",")


def write_csv(header: tuple[str, ...], table: FloatTable) -> bytes:
    """Return a table as text, from which `read_csv` reads the same numbers to the last bit."""
    lines = [",".join(map(_shortest, row)) for row in table.tolist()]
    return "\n".join([",".join(header), *lines, ""]).encode("ascii")


def csv_lines(loaded: Any) -> Iterator[str]:
    """Yield the lines of a data set as CSV: a header, then a line for each row.

    Parameters
    ----------
    loaded : Bunch
        As the loaders return it. The column y holds the class of each row under its name, or
        columns y1, y2 and so on hold 0 or 1 for each label.

    Yields
    ------
    str
    """
    values = loaded.target.tolist()
    if loaded.target.ndim == 1:
        names = dict(zip(sorted(set(values)), loaded.target_names, strict=True))
        columns, labels = ["y"], [[names[value]] for value in values]
    else:
        columns, labels = [f"y{i}" for i in range(1, loaded.target.shape[1] + 1)], values
    as_text = str if loaded.data.dtype.kind in "iu" else _shortest
    yield ",".join([*loaded.feature_names, *columns]) + "\n"
    for features, label in zip(loaded.data, labels, strict=True):
        yield ",".join([*map(as_text, features.tolist()), *map(str, label)]) + "\n"


def _shortest(value: float) -> str:
    """Return a number in the fewest digits that give it back."""
    return repr(value).removesuffix(".0")


def read_rows(content: bytes, delimiter: str | None = None) -> FloatTable:
    """Return the numbers of a file without a header, separated by white space by default."""
    if not content.strip():
        raise ValueError("it holds no rows")
    return np.loadtxt(io.BytesIO(content), delimiter=delimiter, comments="%", ndmin=2)


def read_keel(content: bytes) -> FloatTable:
    """Return all columns of a KEEL file, in its order; all of them hold numbers."""
    _, body = _split_header(content)
    return read_rows(body, delimiter=",")


def read_arff(content: bytes) -> FloatTable:
    """Return the numeric columns of an ARFF file, then its labels, each kind in its order.

    Labels are the nominal columns: 0 and 1, or FALSE and TRUE.
    """
    header, body = _split_header(content)
    kinds = [line for line in header if line.lower().startswith(b"@attribute")]
    if body.lstrip().startswith(b"{"):
        raise ValueError("its rows are sparse; needed rows of all values")
    for token, number in ((b"true", b"1"), (b"false", b"0"), (b"'", b""), (b'"', b"")):
        body = body.replace(token.upper(), number).replace(token, number)
    table = read_rows(body, delimiter=",")
    if table.shape[1] != len(kinds):
        raise ValueError(f"it has {table.shape[1]} columns and {len(kinds)} attributes")
    is_label = [kind.rstrip().endswith(b"}") for kind in kinds]
    return table[:, np.argsort(is_label, kind="stable")]


def _split_header(content: bytes) -> tuple[list[bytes], bytes]:
    """Return the lines before the line @data, and everything after it."""
    lines = content.splitlines(keepends=True)
    for i, line in enumerate(lines):
        if line.strip().lower() == b"@data":
            return [line.strip() for line in lines[:i]], b"".join(lines[i + 1 :])
    raise ValueError("it has no line @data")


def read_libsvm(content: bytes, n_features: int) -> FloatTable:
    """Return the features and the label of each line of a LIBSVM file.

    A line is a label, then a number, a colon and a value for each feature that is not zero.
    """
    lines = [line.split() for line in content.splitlines() if line.strip()]
    table = np.zeros((len(lines), n_features + 1))
    for row, (label, *entries) in zip(table, lines, strict=True):
        row[-1] = float(label)
        for entry in entries:
            number, _, value = entry.partition(b":")
            if not 1 <= int(number) <= n_features:
                raise ValueError(f"it has a feature {int(number)}; needed 1 to {n_features}")
            row[int(number) - 1] = float(value)
    return table


def read_sequences(content: bytes) -> FloatTable:
    """Return codes and label of each sequence in UCI's Splice without ambiguous letters.

    A line is a class, a name and a sequence, separated by commas. Letters are coded A = 1, G = 2,
    C = 3, T = 4. The label is 1 for the class N, and -1 for EI and IE.
    """
    rows = []
    for line in content.decode("ascii").splitlines():
        if not line.strip():
            continue
        kind, _, letters = (cell.strip() for cell in line.split(","))
        if kind not in ("N", "EI", "IE"):
            raise ValueError(f"it has a row of class {kind!r}; needed N, EI or IE")
        if set(letters) <= set(_CODES):
            rows.append([*(_CODES[letter] for letter in letters), 1 if kind == "N" else -1])
    return np.array(rows, dtype=np.float64)


def read_idx(content: bytes) -> npt.NDArray[np.uint8]:
    """Return the array of bytes in a file of the idx format, which MNIST uses."""
    if content[:3] != b"\0\0\x08" or len(content) < 4:
        raise ValueError("it does not begin with 00 00 08, as an idx file of bytes does")
    start = 4 + 4 * content[3]
    shape = np.frombuffer(content[4:start], dtype=">u4").tolist()
    values = np.frombuffer(content, dtype=np.uint8, offset=start)
    if values.size != np.prod(shape, dtype=np.int64):
        raise ValueError(f"it holds {values.size} values; needed those of shape {tuple(shape)}")
    return values.reshape(shape)
