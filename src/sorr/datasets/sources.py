"""Where the arrays of data sets come from: files, official sources, or a rule.

A recipe makes a known table from an official source. It takes a function that returns the content
of an address.
"""

from __future__ import annotations

import gzip
import http.client
import io
import json
import urllib.request
import zipfile
import zlib
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from sorr.datasets.catalogue import TABLES, Part
from sorr.datasets.files import (
    Array,
    FloatTable,
    Folder,
    Reader,
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

Get = Callable[[str], bytes]
Recipe = Callable[[Get], FloatTable]

_TIMEOUT = 30.0  # seconds without an answer from a source
_FAILURES = (
    OSError,  # of the network, of gzip
    http.client.HTTPException,
    ValueError,
    KeyError,
    EOFError,
    zlib.error,
    zipfile.BadZipFile,
)

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
_KEEL = "https://sci2s.ugr.es/keel/dataset/data/classification"
_OPENML = "https://www.openml.org/api/v1/json/data"
_GITHUB = "https://raw.githubusercontent.com"
_AUTHORS = f"{_GITHUB}/discovershu/SoRR/35532779b956118da44487c2b6393aa0e433de96"
_MULAN_COPY = f"{_GITHUB}/li9i/mlaslcs/6e38524dbb0dbe4a12f044a96dd5ffa5426af0dc/datasets"


def _rows(get: Get, url: str, delimiter: str | None = ",") -> FloatTable:
    return read_rows(get(url), delimiter)


def _australian_of_libsvm(get: Get) -> FloatTable:
    table = read_libsvm(get(f"{_LIBSVM}/australian"), n_features=14)
    table[:, -1] = table[:, -1] > 0
    return table


def _keel(get: Get, name: str) -> FloatTable:
    with zipfile.ZipFile(io.BytesIO(get(f"{_KEEL}/{name}.zip"))) as archive:
        return read_keel(archive.read(f"{name}.dat"))


def _splice(get: Get) -> FloatTable:
    """Return UCI's rows: those of LIBSVM's training set first, in its order, then the others.

    Of equal rows, the first one left is taken.
    """
    url = f"{_UCI}/molecular-biology/splice-junction-gene-sequences/splice.data"
    table = read_sequences(get(url))
    places = defaultdict[bytes, deque[int]](deque)
    for i, row in enumerate(table):
        places[row.tobytes()].append(i)
    first = []
    for row in read_libsvm(get(f"{_LIBSVM}/splice"), n_features=table.shape[1] - 1):
        if not places[row.tobytes()]:
            raise ValueError("LIBSVM has a row that UCI does not have, or not as often")
        first.append(places[row.tobytes()].popleft())
    return np.concatenate([table[first], np.delete(table, first, axis=0)])


def _openml(get: Get, data_id: int) -> FloatTable:
    described = json.loads(get(f"{_OPENML}/{data_id}"))
    return read_arff(get(described["data_set_description"]["url"]))


def _mulan_copy(get: Get, *files: str) -> FloatTable:
    return np.concatenate([read_arff(get(f"{_MULAN_COPY}/{file}.arff")) for file in files])


def _toy_of_authors(get: Get, name: str) -> FloatTable:
    from scipy.io import loadmat

    file: Any = io.BytesIO(get(f"{_AUTHORS}/AoRR/dataset/mydata/{name}.mat"))
    arrays = loadmat(file)
    return np.column_stack([arrays["x"], arrays["y"].ravel()]).astype(np.float64)


SOURCES: Mapping[str, Mapping[str, Recipe]] = MappingProxyType(
    {
        "australian": {
            "UCI": partial(_rows, url=f"{_UCI}/statlog/australian/australian.dat", delimiter=None),
            "LIBSVM": _australian_of_libsvm,
        },
        "australian-keel": {"KEEL": partial(_keel, name="australian")},
        "phoneme": {
            "KEEL": partial(_keel, name="phoneme"),
            "GitHub jbrownlee/Datasets": partial(
                _rows, url=f"{_GITHUB}/jbrownlee/Datasets/master/phoneme.csv"
            ),
        },
        "titanic-keel": {"KEEL": partial(_keel, name="titanic")},
        "splice": {"UCI and LIBSVM": _splice},
        "emotions": {
            "OpenML": partial(_openml, data_id=40589),
            "GitHub discovershu/SoRR": partial(_rows, url=f"{_AUTHORS}/TKML/data/emotions.dat"),
        },
        "scene": {
            "OpenML": partial(_openml, data_id=40595),
            "GitHub li9i/mlaslcs": lambda get: _mulan_copy(get, "scene-train", "scene-test"),
        },
        "yeast": {
            "OpenML": partial(_openml, data_id=40597),
            "GitHub li9i/mlaslcs": lambda get: _mulan_copy(get, "yeast"),
        },
        "toy-balanced": {"GitHub discovershu/SoRR": partial(_toy_of_authors, name="data4_1")},
        "toy-imbalanced": {"GitHub discovershu/SoRR": partial(_toy_of_authors, name="data6_1")},
    }
)
"""The recipes of each table, by the name of the source, in the order in which they are tried."""

IMAGE_MIRRORS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "mnist": (
            "https://ossci-datasets.s3.amazonaws.com/mnist",
            "https://storage.googleapis.com/cvdf-datasets/mnist",
        ),
        "fashion-mnist": (
            f"{_GITHUB}/zalandoresearch/fashion-mnist/master/data/fashion",
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
        ),
    }
)
"""The mirrors of each set of images: folders with its four archives."""


# -- Tables made by a rule or from counts, without a file ------------------------------------------


_MONK_SIZES = (3, 3, 2, 3, 4, 2)  # how many values each attribute has

# The codes of KEEL's file.
_CLASSES = (-1.87, -0.923, 0.0214, 0.965)  # first, second, third, crew
_ADULT, _CHILD = -0.228, 4.38
_MALE, _FEMALE = 0.521, -1.92
_PASSENGERS = (  # age, sex, and for each class of passage how many died and how many survived
    (_CHILD, _MALE, ((0, 5), (0, 11), (35, 13), (0, 0))),
    (_CHILD, _FEMALE, ((0, 1), (0, 13), (17, 14), (0, 0))),
    (_ADULT, _MALE, ((118, 57), (154, 14), (387, 75), (670, 192))),
    (_ADULT, _FEMALE, ((4, 140), (13, 80), (89, 76), (3, 20))),
)


def make_monk() -> npt.NDArray[np.float64]:
    """Return the third Monk problem: all 432 rows of its six attributes, and its rule.

    Returns
    -------
    ndarray of shape (432, 7)
        Attributes, counted from one, in lexicographic order; in the last column, 1 if (a5 = 3 and
        a4 = 1) or (a5 is not 4 and a2 is not 3), else 0.
    """
    rows = np.indices(_MONK_SIZES).reshape(len(_MONK_SIZES), -1) + 1
    _, a2, _, a4, a5, _ = rows
    holds = ((a5 == 3) & (a4 == 1)) | ((a5 != 4) & (a2 != 3))
    return np.vstack([rows, holds]).T.astype(np.float64)


def make_titanic() -> npt.NDArray[np.float64]:
    """Return the people on the Titanic, from the numbers of each kind who died and survived.

    Returns
    -------
    ndarray of shape (2201, 4)
        Class of passage, age, sex, and 1 for survived or -1 for died. The rows of each kind are
        spread evenly over the table, so any range of rows is similar to the whole.
    """
    kinds = [
        (passage, age, sex, outcome, count)
        for age, sex, columns in _PASSENGERS
        for passage, counts in zip(_CLASSES, columns, strict=True)
        for outcome, count in zip((-1, 1), counts, strict=True)
    ]
    counts = [kind[-1] for kind in kinds]
    rows = np.repeat([kind[:-1] for kind in kinds], counts, axis=0)
    places = np.concatenate([(np.arange(count) + 0.5) / max(count, 1) for count in counts])
    return rows[np.argsort(places, kind="stable")].astype(np.float64)


# -- Known arrays: from a file, or else from an official source ------------------------------------


def get_table(name: str, data_home: Folder, download: bool) -> tuple[FloatTable, Path | None]:
    """Return the table of that name, and the file that holds it."""
    known = TABLES[name]

    def fetch(recipe: Recipe) -> tuple[Array, bytes]:
        array = recipe(download_content)
        text = write_csv((*known.features, *known.labels), array)
        return array, gzip.compress(text, compresslevel=6, mtime=0)

    sources = {source: partial(fetch, recipe) for source, recipe in SOURCES[name].items()}
    return _find_or_fetch(known.part, read_csv, sources, data_home, download)


def get_images(
    part: Part, data_home: Folder, download: bool
) -> tuple[npt.NDArray[np.uint8], Path | None]:
    """Return the images, or the classes, of one file, and that file."""
    folder, _, name = part.file.partition("/")

    def fetch(mirror: str) -> tuple[Array, bytes]:
        archive = download_content(f"{mirror}/{name}.gz")
        return read_idx(gzip.decompress(archive)), archive

    mirrors = {mirror: partial(fetch, mirror) for mirror in IMAGE_MIRRORS[folder]}
    return _find_or_fetch(part, read_idx, mirrors, data_home, download)


def download_content(url: str) -> bytes:
    """Return the content of an address."""
    request = urllib.request.Request(url, headers={"User-Agent": "sorr"})
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
        content: bytes = response.read()
    return content


def _find_or_fetch(
    part: Part,
    read: Reader,
    sources: Mapping[str, Callable[[], tuple[Array, bytes]]],
    data_home: Folder,
    download: bool,
) -> tuple[Array, Path | None]:
    """Return the array of a file, or of the first source that has it, and the file.

    A source is a function that returns the array, and the archive to keep in the cache.
    """
    path = find_file(part, data_home)
    if path is not None:
        return read_file(path, part, read), path
    reasons = []
    for source, fetch in sources.items() if download else ():
        try:
            array, archive = fetch()
            return check_array(array, part), keep_file(part, archive)
        except _FAILURES as error:
            reasons.append(f"{source}: {type(error).__name__}: {error}")
    fault = (
        f"could not be fetched ({'; '.join(reasons)})"
        if download
        else f"with download=False it is not fetched from {' or '.join(sources)}"
    )
    raise FileNotFoundError(
        f"{part.file}.gz is not in {' or '.join(map(str, data_folders(data_home)))}, and {fault}; "
        "put it there, or pass its folder as data_home or in the environment variable SORR_DATA"
    )
