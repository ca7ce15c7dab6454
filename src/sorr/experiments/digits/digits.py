"""Handwritten digits of which some are labelled as others: MNIST, or small ones for quick runs."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits

from sorr._typing import FloatArray
from sorr.datasets import MNIST_FLIPS, flip_pairs, load_dataset
from sorr.experiments.cells import seed_of

__all__ = ["SMALL", "Digits", "Images", "images_of", "noise_of", "noisy_digits", "setting_of"]

SMALL = "digits"
"""The name of scikit-learn's 1,797 digits of 8 x 8 pixels, which need no file."""
_TESTED = 500  # of them

Labels = npt.NDArray[np.intp]


class Images(NamedTuple):
    """Images as rows of pixels from 0 to 1, in two parts, and what they show."""

    X: FloatArray
    y: Labels
    X_test: FloatArray
    y_test: Labels


class Digits(NamedTuple):
    """Training images, their labels as given, which of these are wrong, and the right ones."""

    X: FloatArray
    y: Labels
    wrong: npt.NDArray[np.bool_]
    y_clean: Labels
    seed: int

    def per_class(self, chosen: npt.NDArray[np.bool_]) -> list[int]:
        """Count chosen rows by the label that they were given."""
        return [int(count) for count in np.bincount(self.y[chosen], minlength=10)]


def noisy_digits(dataset: str, noise: int, run: int) -> tuple[Digits, Images]:
    """Return training images with some per cent of five digits flipped, and the images they are of.

    Test labels are as they were. The flips depend on the names and the number of the run only.

    Examples
    --------
    >>> digits, _ = noisy_digits("digits", 20, 0)
    >>> digits.wrong.sum() == (digits.y != digits.y_clean).sum()
    np.True_
    """
    images = images_of(dataset, run)
    seed = seed_of(dataset, noise, run) % 2**31
    flipped = flip_pairs(images.y, MNIST_FLIPS, noise / 100, seed)
    return Digits(images.X, flipped.y, flipped.wrong, images.y, seed), images


def images_of(dataset: str, run: int = 0) -> Images:
    """Return the images of MNIST in its own two parts, or small ones in two random parts."""
    return _small(run) if dataset == SMALL else _mnist()


@cache
def _mnist() -> Images:
    train, test = (load_dataset("mnist", subset=part) for part in ("train", "test"))
    scale = np.float32(255)
    return Images(
        train.data.astype(np.float32) / scale,
        train.target.astype(np.intp),
        test.data.astype(np.float32) / scale,
        test.target.astype(np.intp),
    )


@cache
def _small(run: int) -> Images:
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed_of(SMALL, run)).permutation(len(y))
    X, y = (X[order] / 16).astype(np.float32), y[order].astype(np.intp)
    return Images(X[_TESTED:], y[_TESTED:], X[:_TESTED], y[:_TESTED])


def setting_of(noise: int) -> str:
    """Return the setting of a cell with that per cent of some digits flipped.

    Examples
    --------
    >>> setting_of(20), noise_of("noise=0.2")
    ('noise=0.2', 20)
    """
    return f"noise={noise / 100:g}"


def noise_of(setting: str) -> int:
    """Return the per cent that a setting names."""
    return round(100 * float(setting.removeprefix("noise=")))
