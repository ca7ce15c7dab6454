"""Data to try models on: the paper's sets, toy sets, and wrong labels at known places."""

from sorr.datasets.files import csv_lines
from sorr.datasets.loaders import (
    DATASETS,
    Entry,
    inventory,
    load_australian,
    load_dataset,
    load_emotions,
    load_fashion_mnist,
    load_mnist,
    load_monk,
    load_phoneme,
    load_scene,
    load_splice,
    load_titanic,
    load_yeast,
)
from sorr.datasets.noise import (
    MNIST_FLIPS,
    Flipped,
    flip_by_transition,
    flip_pairs,
    flip_symmetric,
)
from sorr.datasets.toys import BayesClassifier, Gaussian, load_toy, make_imbalanced, make_multimodal

__all__ = [
    "DATASETS",
    "MNIST_FLIPS",
    "BayesClassifier",
    "Entry",
    "Flipped",
    "Gaussian",
    "csv_lines",
    "flip_by_transition",
    "flip_pairs",
    "flip_symmetric",
    "inventory",
    "load_australian",
    "load_dataset",
    "load_emotions",
    "load_fashion_mnist",
    "load_mnist",
    "load_monk",
    "load_phoneme",
    "load_scene",
    "load_splice",
    "load_titanic",
    "load_toy",
    "load_yeast",
    "make_imbalanced",
    "make_multimodal",
]
