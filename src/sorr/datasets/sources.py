"""The official sources of the tables, and how to get the known table from what they hold.

Each recipe takes a function that returns the content behind an address.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from sorr.datasets.formats import (
    FloatTable,
    read_arff,
    read_keel,
    read_libsvm,
    read_rows,
    read_sequences,
)

__all__ = ["IMAGE_MIRRORS", "SOURCES"]

Get = Callable[[str], bytes]
Recipe = Callable[[Get], FloatTable]

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
_KEEL = "https://sci2s.ugr.es/keel/dataset/data/classification"
_OPENML = "https://www.openml.org/api/v1/json/data"
_GITHUB = "https://raw.githubusercontent.com"
_AUTHORS = f"{_GITHUB}/discovershu/SoRR/35532779b956118da44487c2b6393aa0e433de96"
_MULAN_COPY = f"{_GITHUB}/li9i/mlaslcs/6e38524dbb0dbe4a12f044a96dd5ffa5426af0dc/datasets"


def _australian_of_uci(get: Get) -> FloatTable:
    return read_rows(get(f"{_UCI}/statlog/australian/australian.dat"))


def _australian_of_libsvm(get: Get) -> FloatTable:
    table = read_libsvm(get(f"{_LIBSVM}/australian"), n_features=14)
    table[:, -1] = table[:, -1] > 0
    return table


def _keel(get: Get, name: str) -> FloatTable:
    with zipfile.ZipFile(io.BytesIO(get(f"{_KEEL}/{name}.zip"))) as archive:
        return read_keel(archive.read(f"{name}.dat"))


def _phoneme_copy(get: Get) -> FloatTable:
    return read_rows(get(f"{_GITHUB}/jbrownlee/Datasets/master/phoneme.csv"), delimiter=",")


def _splice(get: Get) -> FloatTable:
    """Put the rows of LIBSVM's training set first, in its order, and leave the others in theirs.

    Of rows that are equal, the first that is left is taken.
    """
    url = f"{_UCI}/molecular-biology/splice-junction-gene-sequences/splice.data"
    table = read_sequences(get(url))
    places = defaultdict[bytes, deque[int]](deque)
    for i, row in enumerate(table):
        places[row.tobytes()].append(i)
    first = []
    for row in read_libsvm(get(f"{_LIBSVM}/splice"), n_features=table.shape[1] - 1):
        if not places[row.tobytes()]:
            raise ValueError("LIBSVM has a row that UCI has not, or has less often")
        first.append(places[row.tobytes()].popleft())
    return np.concatenate([table[first], np.delete(table, first, axis=0)])


def _openml(get: Get, data_id: int) -> FloatTable:
    described = json.loads(get(f"{_OPENML}/{data_id}"))
    return read_arff(get(described["data_set_description"]["url"]))


def _emotions_of_authors(get: Get) -> FloatTable:
    return read_rows(get(f"{_AUTHORS}/TKML/data/emotions.dat"), delimiter=",")


def _mulan_copy(get: Get, *files: str) -> FloatTable:
    return np.concatenate([read_arff(get(f"{_MULAN_COPY}/{file}.arff")) for file in files])


def _toy_of_authors(get: Get, name: str) -> FloatTable:
    from scipy.io import loadmat

    file: Any = io.BytesIO(get(f"{_AUTHORS}/AoRR/dataset/mydata/{name}.mat"))
    arrays = loadmat(file)
    return np.column_stack([arrays["x"], arrays["y"].ravel()]).astype(np.float64)


SOURCES: Mapping[str, Mapping[str, Recipe]] = MappingProxyType(
    {
        "australian": {"UCI": _australian_of_uci, "LIBSVM": _australian_of_libsvm},
        "australian-keel": {"KEEL": partial(_keel, name="australian")},
        "phoneme": {
            "KEEL": partial(_keel, name="phoneme"),
            "GitHub jbrownlee/Datasets": _phoneme_copy,
        },
        "titanic-keel": {"KEEL": partial(_keel, name="titanic")},
        "splice": {"UCI and LIBSVM": _splice},
        "emotions": {
            "OpenML": partial(_openml, data_id=40589),
            "GitHub discovershu/SoRR": _emotions_of_authors,
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
"""For each table, what to try, the first one first."""

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
"""For each set of images, folders of its four archives."""
