"""Tables for the benchmarks: generated, from scikit-learn, or from `sorr.datasets`."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

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

__all__ = [
    "DESIGN",
    "LARGEST",
    "REPORT",
    "REVIEWED",
    "SMALL",
    "TABLES",
    "Reviewed",
    "Table",
    "draw_sample",
    "load_reviewed",
    "load_survivors",
    "pair_of",
    "split_sample",
]

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

# -- Tables for judges of labels ----------------------------------------------------------------

DESIGN = ("banana", "magic", "pima", "phoneme", "spambase", "vehicle", "splice")
REPORT = ("australian", "mammographic", "monk", "satimage", "wisconsin", "breast", "digits", "wine")
LARGEST = 1500  # rows of a table that are judged
SURVIVORS = "messy/TitanicSurvival.csv.gz"
REVIEWED = ("mnist", "20news")
FILES = {  # in the folder SORR_DATA, with their SHA-256
    "banana.csv.gz": "cc50b4e5819dac69dd2b496bdcc1ec46f1d32d5b1d7a60cba34e009ec12392e8",
    "magic.csv.gz": "2c6c4c5b681f88543ea01b6bbb9ba03e3101736e633d6848abb9bb32d3e36887",
    "mammographic.csv.gz": "0170202aa1dfaa652a7fd5d581e6ee21cad6c2040c48a63205b87684ec207f3b",
    "pima.csv.gz": "365d795d07262af55ce5e6e6ef99604935333df956a29a21a9e1db07ecbab229",
    "satimage.csv.gz": "41f76aea69427eca9246711a1e38eaa50e1895f7366bc07365481651ff790068",
    "spambase.csv.gz": "83285d3fe35814bb50c09c28022ba26818c6f75123c4aa9bc9ce871c884dc5b6",
    "vehicle.csv.gz": "be5bdd7b11b9ea8efe225ee13ee3be8fc727766e0bb056bdc25e858ebea539e4",
    "wisconsin.csv.gz": "31d1079f0d912a42e49fc624c6b56d35e741748cc06f79b609f5bad985d3b3b3",
    SURVIVORS: "aba527d90f8f8ac3d745f7d0a8eb5044b19219c8ccd179b1415575bc335dc1f5",
    "real-errors/mnist.npz": "014090cd660bd2dc14f2479dbf871e46d7caeec9c0edc200876741867230f1cf",
    "real-errors/20news.npz": "5ba692c838b79016d248f986d1e46b1448ceff83e288dadb136d3aa0bdbd1d0d",
}
OWN: dict[str, Callable[..., Any]] = {
    "breast": load_breast_cancer,
    "digits": load_digits,
    "wine": load_wine,
}
Rows = tuple[npt.NDArray[np.float64], npt.NDArray[np.intp]]


def read_data(file: str) -> bytes:
    """Return a file of the folder SORR_DATA, or refuse one that is not the known one."""
    path = Path(os.environ.get("SORR_DATA", ""), file).expanduser()
    if "SORR_DATA" not in os.environ or not path.is_file():
        raise FileNotFoundError(f"there is no {file}; set SORR_DATA to the folder that holds it")
    content = path.read_bytes()
    if (found := hashlib.sha256(content).hexdigest()) != FILES[file]:
        raise ValueError(f"{file} has SHA-256 {found}; needed {FILES[file]}")
    return content


def read_table(file: str) -> list[list[str]]:
    """Return the lines of a compressed CSV file below its header."""
    text = gzip.decompress(read_data(file)).decode()
    return list(csv.reader(io.StringIO(text)))[1:]


def load_rows(name: str) -> Rows:
    """Return all rows of a table, and labels 0, 1, ..."""
    if f"{name}.csv.gz" in FILES:
        lines = read_table(f"{name}.csv.gz")
        X, labels = np.array([line[:-1] for line in lines], float), [line[-1] for line in lines]
    else:
        X, labels = OWN.get(name, partial(load_dataset, name))(return_X_y=True)
    return X, np.unique(labels, return_inverse=True)[1]


def draw_sample(name: str, seed: int, size: int = LARGEST) -> Rows:
    """Return at most so many rows of a table, in random order, with the classes as in all."""
    X, y = load_rows(name)
    if len(y) <= size:
        order = np.random.default_rng(seed).permutation(len(y))
        return X[order], y[order]
    X, _, y, _ = train_test_split(X, y, train_size=size, random_state=seed, stratify=y)
    return X, y


def split_sample(name: str, seed: int) -> Table:
    """Return at most 1,500 rows to learn from, and a quarter of all rows or more for the test."""
    X, y = load_rows(name)
    size = min(LARGEST, 3 * len(y) // 4)
    X, X_test, y, y_test = train_test_split(X, y, train_size=size, random_state=seed, stratify=y)
    return standardised(X, y, X_test, y_test)._replace(pair=pair_of(name))


def pair_of(name: str) -> tuple[int, int]:
    """Return the class whose labels go wrong if those of one class do, and what they become."""
    return {"digits": (1, 7), "wine": (1, 2)}.get(name, (1, 0))


def load_survivors() -> Rows:
    """Return sex, age (some missing) and class of passengers of the Titanic, and who survived."""
    lines = read_table(SURVIVORS)
    X = [
        [float(sex == "male"), float(age or "nan"), float(travelled[0])]
        for _, _, sex, age, travelled in lines
    ]
    return np.array(X), np.array([line[1] == "yes" for line in lines], np.intp)


class Reviewed(NamedTuple):
    """Held-out probabilities and labels as published, and which labels people found wrong."""

    probabilities: npt.NDArray[np.float64]
    labels: npt.NDArray[np.intp]
    rows: npt.NDArray[np.intp]
    """The rows that five people looked at."""
    wrong: npt.NDArray[np.bool_]
    """For each of these, whether fewer than three agreed with the label."""


def load_reviewed(name: str) -> Reviewed:
    arrays = np.load(io.BytesIO(read_data(f"real-errors/{name}.npz")))
    return Reviewed(
        arrays["probabilities"].astype(np.float64),
        arrays["labels"].astype(np.intp),
        arrays["reviewed"].astype(np.intp),
        arrays["votes_given"] < 3,
    )
