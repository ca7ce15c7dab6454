"""Make some labels wrong, and say which.

No label is flipped twice, and the arrays passed in are not changed. The same seed gives the same
labels.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from numbers import Real
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._checks import as_classes, as_generator, as_vector

MNIST_FLIPS: Mapping[Any, Any] = MappingProxyType({2: 7, 3: 8, 5: 6, 6: 5, 7: 1})
"""Digits, and the digits they are labelled as: the asymmetric noise of the paper's MNIST tables."""
RandomState = int | np.random.Generator | None


class Flipped(NamedTuple):
    """Labels, and which of them are wrong."""

    y: Any
    wrong: Any


def flip_pairs(
    y: npt.ArrayLike, pairs: Mapping[Any, Any], rate: float, random_state: RandomState = None
) -> Flipped:
    """Give a share of the rows of some classes the label of another class.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The true classes.
    pairs : mapping
        From a class to the label that its rows get, such as `MNIST_FLIPS`.
    rate : float
        The share of each of these classes, from 0 to 1: exactly ``int(rate * n)`` of its n rows.
    random_state : int, Generator or None, default=None
        Seed for the choice of rows.

    Returns
    -------
    y : ndarray of shape (n_samples,)
    wrong : ndarray of bool of shape (n_samples,)

    References
    ----------
    S. Hu, Y. Ying, X. Wang, S. Lyu, "Learning by minimizing the sum of ranked range", NeurIPS
    2020, section 4: multi-class learning.

    Examples
    --------
    >>> noisy = flip_pairs([5, 5, 6, 6], {5: 6, 6: 5}, rate=0.5, random_state=0)
    >>> noisy.wrong.sum(), (noisy.y == 5).sum()
    (np.int64(2), np.int64(2))
    """
    labels, rng = as_vector("y", y), as_generator(random_state)
    share = _as_rate(rate)
    noisy, wrong = labels.copy(), np.zeros(len(labels), dtype=bool)
    present = set(np.unique(labels).tolist())
    for source, target in pairs.items():
        _check_pair(source, target, present)
        members = rng.permutation(np.flatnonzero(labels == source))
        chosen = members[: int(share * len(members))]
        noisy[chosen], wrong[chosen] = target, True
    return Flipped(noisy, wrong)


def flip_symmetric(y: npt.ArrayLike, rate: float, random_state: RandomState = None) -> Flipped:
    """Give a share of all rows another class, each with the same probability.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The true classes, at least two.
    rate : float
        The share of the rows, from 0 to 1: exactly ``int(rate * n_samples)`` of them.
    random_state : int, Generator or None, default=None
        Seed for the choice of rows and of their classes.

    Returns
    -------
    y : ndarray of shape (n_samples,)
    wrong : ndarray of bool of shape (n_samples,)

    Examples
    --------
    >>> noisy = flip_symmetric(["a", "b", "c", "a"], rate=0.5, random_state=0)
    >>> noisy.wrong.tolist(), noisy.y.tolist()
    ([True, False, True, False], ['b', 'b', 'a', 'a'])
    """
    labels, rng = as_vector("y", y), as_generator(random_state)
    classes, index = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y holds one class only, {classes.tolist()[0]!r}; needed another one to flip to"
        )
    chosen = rng.permutation(len(labels))[: int(_as_rate(rate) * len(labels))]
    wrong = np.zeros(len(labels), dtype=bool)
    wrong[chosen] = True
    index[wrong] = (index[wrong] + rng.integers(1, len(classes), len(chosen))) % len(classes)
    return Flipped(classes[index], wrong)


def flip_by_transition(
    y: npt.ArrayLike,
    matrix: npt.ArrayLike,
    random_state: RandomState = None,
    *,
    classes: npt.ArrayLike | None = None,
) -> Flipped:
    """Draw the label of each row with the probabilities that a matrix has for its true class.

    Each row is drawn independently, so the number of wrong labels varies. `flip_pairs` and
    `flip_symmetric` flip an exact number of rows.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The true classes.
    matrix : array-like of shape (n_classes, n_classes)
        In row i and column j, the probability that a row of class i is labelled j. Each row adds
        up to one.
    random_state : int, Generator or None, default=None
        Seed for the labels.
    classes : array-like of shape (n_classes,), optional
        The class of each row and column of the matrix. By default the sorted classes in `y`.

    Returns
    -------
    y : ndarray of shape (n_samples,)
    wrong : ndarray of bool of shape (n_samples,)

    Examples
    --------
    >>> noisy = flip_by_transition([0, 1, 1, 0], [[1.0, 0.0], [1.0, 0.0]], random_state=0)
    >>> noisy.y.tolist(), noisy.wrong.tolist()
    ([0, 0, 0, 0], [False, True, True, False])
    """
    labels, rng = as_vector("y", y), as_generator(random_state)
    names, index = as_classes("y", labels, classes)
    noisy, draws = np.empty_like(index), rng.random(len(labels))
    for i, probability in enumerate(_as_transition(matrix, len(names))):
        members = np.flatnonzero(index == i)
        possible = np.flatnonzero(probability)  # a class of probability zero is never drawn
        ends = np.cumsum(probability[possible])[:-1]
        noisy[members] = possible[np.searchsorted(ends, draws[members], side="right")]
    return Flipped(names[noisy], noisy != index)


# -- Arguments -------------------------------------------------------------------------------------


def _as_rate(rate: object) -> float:
    if isinstance(rate, bool) or not isinstance(rate, Real):
        raise TypeError(f"rate={rate!r} is of type {type(rate).__name__}; needed a number")
    if not 0 <= float(rate) <= 1:
        raise ValueError(f"rate={rate} is not a share of the labels; needed a number from 0 to 1")
    return float(rate)


def _check_pair(source: Hashable, target: Hashable, present: set[Any]) -> None:
    if source == target:
        raise ValueError(f"pairs gives {source!r} its own label; needed another class")
    for name in (source, target):
        if name not in present:
            raise ValueError(
                f"pairs has the class {name!r}, which is not in y; needed classes of y: remove "
                "this pair"
            )


def _as_transition(matrix: npt.ArrayLike, n_classes: int) -> npt.NDArray[np.float64]:
    transition = np.asarray(matrix, dtype=np.float64)
    if transition.shape != (n_classes, n_classes):
        raise ValueError(
            f"matrix has shape {transition.shape}; needed a row and a column for each of the "
            f"{n_classes} classes: pass classes if some of them are not in y"
        )
    sums = transition.sum(axis=1)
    if not ((transition >= 0).all() and np.allclose(sums, 1, rtol=0, atol=1e-9)):
        raise ValueError(
            "matrix holds a negative number or NaN, or a row that does not add up to one; needed "
            "the probabilities of the labels of each class"
        )
    return transition
