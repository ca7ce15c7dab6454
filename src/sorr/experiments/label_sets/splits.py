"""Rows with label sets, and their parts by either protocol: half train, a quarter each the rest."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.datasets import make_multilabel_classification
from sklearn.preprocessing import StandardScaler

from sorr.datasets import load_dataset
from sorr.experiments.cells import seed_of

__all__ = ["SYNTHETIC", "Part", "Split", "our_split", "paper_split", "seed_of_split"]

SYNTHETIC = "synthetic"
"""The name of a small set that is generated, for quick runs."""


class Part(NamedTuple):
    """Some rows, and the indicator of their labels."""

    X: npt.NDArray[np.float64]
    Y: npt.NDArray[np.bool_]


class Split(NamedTuple):
    """What is learned from, what is chosen on, and what is only tested on."""

    train: Part
    validation: Part
    test: Part


def our_split(dataset: str, split: int) -> Split:
    """Return a random split, standardised by its training part.

    Examples
    --------
    >>> [len(part.X) for part in our_split("synthetic", 0)]
    [50, 25, 25]
    """
    X, Y = _rows_of(dataset)
    order = np.random.default_rng(seed_of(dataset, split)).permutation(len(X))
    parts = np.split(order, [len(X) // 2, len(X) * 3 // 4])
    scaler = StandardScaler().fit(X[parts[0]])
    return Split(*(Part(scaler.transform(X[part]), Y[part]) for part in parts))


def paper_split(dataset: str, split: int) -> Split:
    """Return a random split as the released script draws it; its own is the first, of seed 1.

    All columns go from -1 to 1 over all rows, before they are split.
    """
    X, Y = _rows_of(dataset)
    low, high = X.min(axis=0), X.max(axis=0)
    X = 2 * (X - low) / (high - low + 1e-8) - 1
    order = np.random.RandomState(seed_of_split(split)).permutation(len(X))
    half, quarter = (int(np.ceil(share * len(X))) for share in (0.5, 0.25))
    parts = np.split(order, [half, half + quarter])
    return Split(*(Part(X[part], Y[part]) for part in parts))


def seed_of_split(split: int) -> int:
    """Return what the released script would draw a split from."""
    return split + 1


@cache
def _rows_of(dataset: str) -> Part:
    if dataset == SYNTHETIC:
        X, Y = make_multilabel_classification(
            100, 8, n_classes=6, allow_unlabeled=False, random_state=0
        )
        return Part(X, Y > 0)
    found = load_dataset(dataset)
    return Part(found.data, found.target > 0)
