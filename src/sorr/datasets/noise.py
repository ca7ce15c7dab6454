"""Wrong labels at known places, drawn from labels that are right.

All rows are drawn from the labels that are given, so that no label is flipped twice, and arrays
that are given stay as they are. The same seed gives the same labels.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from numbers import Real
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "MNIST_FLIPS",
    "Flipped",
    "flip_by_transition",
    "flip_pairs",
    "flip_symmetric",
]

MNIST_FLIPS: Mapping[Any, Any] = MappingProxyType({2: 7, 3: 8, 5: 6, 6: 5, 7: 1})
"""Digits, and those they are mistaken for: the asymmetric noise of the paper's MNIST tables."""
_ROUNDING = 1e-9
RandomState = int | np.random.Generator | None


class Flipped(NamedTuple):
    """Labels of which some are wrong, and which of them are."""

    y: Any
    wrong: Any


def flip_pairs(
    y: npt.ArrayLike, pairs: Mapping[Any, Any], rate: float, random_state: RandomState = None
) -> Flipped:
    """Give a share of the rows of some classes the label of another class.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The right classes.
    pairs : mapping
        From a class to the one its rows get, such as `MNIST_FLIPS`.
    rate : float
        The share p of each of these classes, from 0 to 1: exactly ``int(p * n_c)`` of its n_c rows.
    random_state : int, Generator or None, default=None
        Draws the rows.

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
    labels, rng = _as_vector(y), np.random.default_rng(random_state)
    share = _as_rate("rate", rate)
    noisy, wrong = labels.copy(), np.zeros(len(labels), dtype=bool)
    present = set(np.unique(labels).tolist())
    for source, target in pairs.items():
        _check_pair(source, target, present)
        members = rng.permutation(np.flatnonzero(labels == source))
        chosen = members[: int(share * len(members))]
        noisy[chosen], wrong[chosen] = target, True
    return Flipped(noisy, wrong)


def flip_symmetric(y: npt.ArrayLike, rate: float, random_state: RandomState = None) -> Flipped:
    """Give a share of all rows another class, each of the others being as likely.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The right classes, two at least.
    rate : float
        The share of the rows, from 0 to 1: exactly ``int(rate * n_samples)`` of them.
    random_state : int, Generator or None, default=None
        Draws the rows and their classes.

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
    labels, rng = _as_vector(y), np.random.default_rng(random_state)
    classes, index = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y holds one class only, {classes.tolist()[0]!r}; needed another one to flip to"
        )
    chosen = rng.permutation(len(labels))[: int(_as_rate("rate", rate) * len(labels))]
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
    """Draw the class of each row from the row of a matrix that belongs to its right class.

    Each row of the data is drawn by itself, so that the number of wrong labels varies around what
    the matrix says: `flip_pairs` and `flip_symmetric` flip an exact number of rows.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The right classes.
    matrix : array-like of shape (n_classes, n_classes)
        In row i and column j, the probability that a row of class i is labelled j. Rows add up to
        one.
    random_state : int, Generator or None, default=None
        Draws the classes.
    classes : array-like of shape (n_classes,), optional
        The class of each row and column of the matrix; without it, those in `y`, sorted.

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
    labels, rng = _as_vector(y), np.random.default_rng(random_state)
    present, index = np.unique(labels, return_inverse=True)
    names = present if classes is None else np.asarray(classes)
    if classes is not None:
        index = _places(present, names)[index]
    noisy, draws = np.empty_like(index), rng.random(len(labels))
    for i, probability in enumerate(_as_transition(matrix, len(names))):
        members = np.flatnonzero(index == i)
        possible = np.flatnonzero(probability)  # a class of probability zero is never drawn
        ends = np.cumsum(probability[possible])[:-1]
        noisy[members] = possible[np.searchsorted(ends, draws[members], side="right")]
    return Flipped(names[noisy], noisy != index)


# -- what the functions take -----------------------------------------------------------------------


def _as_rate(name: str, rate: object) -> float:
    if isinstance(rate, bool) or not isinstance(rate, Real):
        raise TypeError(f"{name}={rate!r} is of type {type(rate).__name__}; needed a number")
    if not 0 <= float(rate) <= 1:
        raise ValueError(f"{name}={rate} is no share of the labels; needed a number from 0 to 1")
    return float(rate)


def _as_vector(y: npt.ArrayLike) -> npt.NDArray[Any]:
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(
            f"y has shape {labels.shape}; needed one class for each row, in one dimension"
        )
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("y holds NaN; needed one class for each row")
    return labels


def _check_pair(source: Hashable, target: Hashable, present: set[Any]) -> None:
    if source == target:
        raise ValueError(f"pairs gives {source!r} its own label; needed another class")
    for name in (source, target):
        if name not in present:
            raise ValueError(
                f"pairs names the class {name!r}, which is not in y; needed classes of y: leave "
                "out the pair"
            )


def _places(present: npt.NDArray[Any], names: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Return the place of each class that is there."""
    place = {name: i for i, name in enumerate(names.tolist())}
    if len(place) < len(names):
        raise ValueError("classes holds a class more than once; needed each of them once")
    for name in present.tolist():
        if name not in place:
            raise ValueError(f"y holds {name!r}, which is none of the classes; needed all of them")
    return np.array([place[name] for name in present.tolist()], dtype=np.intp)


def _as_transition(matrix: npt.ArrayLike, n_classes: int) -> npt.NDArray[np.float64]:
    transition = np.asarray(matrix, dtype=np.float64)
    if transition.shape != (n_classes, n_classes):
        raise ValueError(
            f"matrix has shape {transition.shape}; needed a row and a column for each of the "
            f"{n_classes} classes: pass classes if some of them are not in y"
        )
    sums = transition.sum(axis=1)
    if not ((transition >= 0).all() and np.allclose(sums, 1, rtol=0, atol=_ROUNDING)):
        raise ValueError(
            "matrix holds a negative number or NaN, or a row that does not add up to one; needed "
            "the probabilities of the labels of each class"
        )
    return transition
