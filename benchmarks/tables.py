"""Tables for the benchmarks of quality and of labels: generated, from scikit-learn, or from files.

Files are looked for in the folder that the environment variable ``SORR_DATA`` names.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

__all__ = ["TABLES", "Columns", "Table", "read_images", "read_table"]

IMAGE_ROWS = 4000  # of the 11,000 to 12,000 that a pair of classes has
COMPONENTS = 40


class Table(NamedTuple):
    """A split of a table, standardised by its training part, with labels 0, 1, ...

    Rows of the first class of the pair are those that are taken for the second's.
    """

    X: npt.NDArray[np.float64]
    y: npt.NDArray[np.intp]
    X_test: npt.NDArray[np.float64]
    y_test: npt.NDArray[np.intp]
    pair: tuple[int, int] = (1, 0)


class Columns(NamedTuple):
    """A file as it is: features, which come first, and labels by the names of their columns."""

    X: npt.NDArray[np.float64]
    labels: npt.NDArray[np.bool_]
    names: list[str]


def synthetic(seed: int) -> Table:
    X, y = make_classification(
        20_000, 50, n_informative=20, n_redundant=0, flip_y=0, random_state=seed
    )
    return split(X, y, seed)


def breast(seed: int) -> Table:
    X, y = load_breast_cancer(return_X_y=True)
    return split(X, y, seed)


def digits(seed: int) -> Table:
    X, y = load_digits(return_X_y=True)
    return split(X, y, seed)._replace(pair=(1, 7))


def from_file(name: str, label: str, seed: int) -> Table:
    X, labels, names = read_table(name)
    return split(X, labels[:, names.index(label)].astype(np.intp), seed)


def images(folder: str, pair: tuple[int, int], seed: int) -> Table:
    """Return some training images and all test images of two classes, as principal components."""
    X, y = pair_of_images(folder, "train", pair)
    X, _, y, _ = train_test_split(X, y, train_size=IMAGE_ROWS, random_state=seed, stratify=y)
    X_test, y_test = pair_of_images(folder, "t10k", pair)
    components = PCA(COMPONENTS, random_state=seed).fit(X)
    return standardised(components.transform(X), y, components.transform(X_test), y_test)


def split(X: npt.NDArray[np.float64], y: npt.NDArray[np.intp], seed: int) -> Table:
    """Keep a quarter of the rows for the test."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=seed, stratify=y)
    return standardised(X, y, X_test, y_test)


def standardised(
    X: npt.NDArray[np.float64],
    y: npt.NDArray[np.intp],
    X_test: npt.NDArray[np.float64],
    y_test: npt.NDArray[np.intp],
) -> Table:
    scaler = StandardScaler().fit(X)
    return Table(scaler.transform(X), y, scaler.transform(X_test), y_test)


def pair_of_images(
    folder: str, part: str, pair: tuple[int, int]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.intp]]:
    """Return the images of two classes; the first class is 1, the second 0."""
    pixels, labels = read_images(folder, part)
    kept = np.isin(labels, pair)
    return pixels[kept] / 255.0, (labels[kept] == pair[0]).astype(np.intp)


@cache
def read_table(name: str) -> Columns:
    with gzip.open(folder_of_data() / f"{name}.csv.gz", "rt") as file:
        header = file.readline().strip().split(",")
        values = np.loadtxt(file, delimiter=",")
    features = next(i for i, column in enumerate(header) if column in ("y", "y1"))
    return Columns(values[:, :features], values[:, features:] > 0, header[features:])


@cache
def read_images(folder: str, part: str) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.intp]]:
    """Read all images, a row each, and their classes from the idx format."""
    arrays = []
    for what, start in (("labels-idx1", 8), ("images-idx3", 16)):
        with gzip.open(folder_of_data() / folder / f"{part}-{what}-ubyte.gz") as file:
            arrays.append(np.frombuffer(file.read(), dtype=np.uint8, offset=start))
    labels, pixels = arrays
    return pixels.reshape(len(labels), -1), labels.astype(np.intp)


def folder_of_data() -> Path:
    folder = os.environ.get("SORR_DATA")
    if not folder:
        raise FileNotFoundError("the environment variable SORR_DATA names no folder of data sets")
    return Path(folder)


TABLES: dict[str, Callable[[int], Table]] = {
    "synthetic": synthetic,
    "breast": breast,
    "digits": digits,
    **{
        name: partial(from_file, name, "y")
        for name in ("australian", "monk", "phoneme", "splice", "titanic")
    },
    **{
        f"{name}-{label}": partial(from_file, name, label)
        for name, label in (
            ("emotions", "y1"),
            ("emotions", "y3"),
            ("yeast", "y1"),
            ("yeast", "y3"),
            ("scene", "y1"),
        )
    },
    "mnist-4-9": partial(images, "mnist", (4, 9)),
    "mnist-3-5": partial(images, "mnist", (3, 5)),
    "fashion-0-6": partial(images, "fashion-mnist", (0, 6)),
}
