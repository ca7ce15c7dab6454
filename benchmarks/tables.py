"""Tables for the benchmarks: generated, from scikit-learn, or from `sorr.datasets`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from sorr.datasets import load_dataset

__all__ = ["SMALL", "TABLES", "Table"]

IMAGE_ROWS = 4000  # of the 11,000 to 12,000 that a pair of classes has
COMPONENTS = 40


class Table(NamedTuple):
    """A split of a table, standardised by its training part, with labels 0, 1, ...

    Some noise gives rows of the first class of the pair the label of the second.
    """

    X: npt.NDArray[np.float64]
    y: npt.NDArray[np.intp]
    X_test: npt.NDArray[np.float64]
    y_test: npt.NDArray[np.intp]
    pair: tuple[int, int] = (1, 0)


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


def iris(seed: int) -> Table:
    X, y = load_iris(return_X_y=True)
    return split(X, y, seed)._replace(pair=(1, 2))


def wine(seed: int) -> Table:
    X, y = load_wine(return_X_y=True)
    return split(X, y, seed)._replace(pair=(1, 2))


def from_file(name: str, label: int, seed: int) -> Table:
    options = {"variant": "keel"} if name == "titanic" else {}  # splits go by the order of rows
    loaded = load_dataset(name, **options)
    labels = loaded.target.reshape(len(loaded.target), -1)
    return split(loaded.data, (labels[:, label] > 0).astype(np.intp), seed)


def images(folder: str, pair: tuple[int, int], seed: int) -> Table:
    """Return some training images and all test images of two classes, as principal components."""
    X, y = pair_of_images(folder, "train", pair)
    X, _, y, _ = train_test_split(X, y, train_size=IMAGE_ROWS, random_state=seed, stratify=y)
    X_test, y_test = pair_of_images(folder, "test", pair)
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
    pixels, labels = load_dataset(folder, subset=part, return_X_y=True)
    kept = np.isin(labels, pair)
    return pixels[kept] / 255.0, (labels[kept] == pair[0]).astype(np.intp)


TABLES: dict[str, Callable[[int], Table]] = {
    "synthetic": synthetic,
    "breast": breast,
    "digits": digits,
    **{
        name: partial(from_file, name, 0)
        for name in ("australian", "monk", "phoneme", "splice", "titanic")
    },
    **{
        f"{name}-y{number}": partial(from_file, name, number - 1)
        for name, number in (
            ("emotions", 1),
            ("emotions", 3),
            ("yeast", 1),
            ("yeast", 3),
            ("scene", 1),
        )
    },
    "mnist-4-9": partial(images, "mnist", (4, 9)),
    "mnist-3-5": partial(images, "mnist", (3, 5)),
    "fashion-0-6": partial(images, "fashion-mnist", (0, 6)),
}
# So few rows are enough for a list of suspects, but a quarter of them cannot measure accuracy.
SMALL: dict[str, Callable[[int], Table]] = {"iris": iris, "wine": wine}
