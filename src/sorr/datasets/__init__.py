"""Data to try models on: wrong labels at known places."""

from sorr.datasets.noise import (
    MNIST_FLIPS,
    Flipped,
    flip_by_transition,
    flip_labels,
    flip_pairs,
    flip_symmetric,
)

__all__ = [
    "MNIST_FLIPS",
    "Flipped",
    "flip_by_transition",
    "flip_labels",
    "flip_pairs",
    "flip_symmetric",
]
