"""The rows of the toy figures: drawn like those of the paper, or its authors' own."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from sorr._typing import FloatArray
from sorr.datasets import BayesClassifier, load_toy, make_imbalanced, make_multimodal

__all__ = [
    "AUTHORS",
    "KINDS",
    "Toy",
    "bayes_error",
    "has_file",
    "population_error",
    "row_error",
    "toy_rows",
]


KINDS = ("balanced", "imbalanced")
AUTHORS = " (authors' file)"
"""What is added to the name of a kind if the rows are those of the paper's authors."""

_MAKERS = {"balanced": make_multimodal, "imbalanced": make_imbalanced}


class Toy(NamedTuple):
    """Rows in the plane, some of them outliers.

    Attributes
    ----------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        -1 or 1.
    outliers : ndarray of bool of shape (n_samples,)
    bayes : BayesClassifier or None
        Knows the distribution of the other rows; None if nobody told.
    """

    X: FloatArray
    y: npt.NDArray[np.intp]
    outliers: npt.NDArray[np.bool_]
    bayes: BayesClassifier | None


def toy_rows(name: str, split: int = 0, n_outliers: int = 1) -> Toy:
    """Return the rows of a toy set.

    Parameters
    ----------
    name : str
        "balanced" or "imbalanced", and `AUTHORS` behind it for the file.
    split : int, default=0
        The seed of rows that are drawn.
    n_outliers : int, default=1
        Among rows that are drawn; the files have one.
    """
    if name.endswith(AUTHORS):
        toy = load_toy(name.removesuffix(AUTHORS), download=False)
        return Toy(toy.data, toy.target, toy.outliers, None)
    toy = _MAKERS[name](n_outliers, random_state=split)
    return Toy(toy.data, toy.target, toy.outliers, toy.bayes)


def has_file(kind: str) -> bool:
    """Return whether the authors' file of a kind is at hand."""
    try:
        load_toy(kind, download=False)
    except FileNotFoundError:
        return False
    return True


def row_error(theta: FloatArray, toy: Toy) -> float:
    """Return the share of rows on the wrong side of a line, outliers aside, in per cent.

    On the line is half wrong. A constant model that has no intercept either is thus wrong on half
    of the rows: it says nothing, and a coin decides.

    Examples
    --------
    >>> toy = toy_rows("balanced", split=0)
    >>> row_error(np.array([-1.0, -1.0, 3.0]), toy), row_error(np.zeros(3), toy)
    (0.0, 50.0)
    """
    X, y = toy.X[~toy.outliers], toy.y[~toy.outliers]
    side = np.sign(y * (X @ theta[:2] + theta[2]))
    return float(100 * (1 - side).mean() / 2)


def population_error(theta: FloatArray, bayes: BayesClassifier) -> float:
    r"""Return how often a line is wrong on rows without outliers that it has not seen, in per cent.

    No rows are drawn: along the normal of the line a round Gaussian is one-dimensional, and
    :math:`\Phi` says how much of it is on the wrong side.

    Examples
    --------
    >>> bayes = make_multimodal().bayes
    >>> round(population_error(np.array([-1.0, -1.0, 3.0]), bayes), 3)
    0.044
    >>> population_error(np.zeros(3), bayes)
    50.0
    """
    width = float(np.hypot(*theta[:2]))
    wrong = 0.0
    for label, share, mean, deviation in bayes.components:
        inside = label * (float(theta[:2] @ np.asarray(mean)) + theta[2])
        if width > 0:
            wrong += share * float(ndtr(-inside / (deviation * width)))
        else:  # a constant: right, wrong, or without an opinion
            wrong += share * (1 - np.sign(inside)) / 2
    return float(100 * wrong)


@cache
def bayes_error(kind: str) -> float:
    """Return the least error that any classifier can have on unseen rows of a kind, in per cent."""
    return float(100 * _MAKERS[kind](0, random_state=0).bayes.error())
