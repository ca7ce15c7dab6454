"""Ways to spoil training data with correct labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

__all__ = ["FLIPS", "JUDGED", "NOISES", "Noise", "Spoiled", "spoil"]

DISTANCE = 20.0  # how far rows are moved, in standard deviations of a feature


class Noise(NamedTuple):
    """What is done to the rows, and to which share of them."""

    kind: str
    rate: float


NOISES = {
    "none": Noise("none", 0.0),
    **{f"sym{rate}": Noise("symmetric", rate / 100) for rate in (10, 20, 30)},
    **{f"one{rate}": Noise("one class", rate / 100) for rate in (10, 20, 30)},
    **{f"lev{rate}": Noise("leverage", rate / 100) for rate in (5, 10)},
}
FLIPS = {  # for lists of suspects: fewer wrong labels, as in real tables
    f"{name}{rate}": Noise(kind, rate / 100)
    for name, kind in (("sym", "symmetric"), ("one", "one class"))
    for rate in (5, 10, 20)
}

JUDGED = {  # for judges of labels
    "none": Noise("none", 0.0),
    **{f"sym{rate}": Noise("symmetric", rate / 100) for rate in (15, 20)},
    **{f"one{rate}": Noise("one class", rate / 100) for rate in (20, 25, 30)},
}


class Spoiled(NamedTuple):
    """Rows with their labels as given, and which of them were spoiled."""

    X: npt.NDArray[np.float64]
    y: npt.NDArray[np.intp]
    wrong: npt.NDArray[np.bool_]


def spoil(
    X: npt.NDArray[np.float64],
    y: npt.NDArray[np.intp],
    noise: Noise,
    pair: tuple[int, int],
    rng: np.random.Generator,
) -> Spoiled:
    """Spoil an exact number of rows; the arrays passed in are not changed.

    *Symmetric*: a share of all rows gets another label, each with the same probability.
    *One class*: a share of the rows of the first class of the pair gets the label of the second.
    *Leverage*: a share of all rows is moved far to the side of the first class, along the direction
    that separates the two classes in a fit to the correct labels, and gets the label of the second.
    Rows that had this label before are outliers as well.
    """
    X, y, wrong = X.copy(), y.copy(), np.zeros(len(y), dtype=bool)
    source, target = pair
    if noise.kind == "symmetric":
        wrong[rng.permutation(len(y))[: round(noise.rate * len(y))]] = True
        n_classes = int(y.max()) + 1
        y[wrong] = (y[wrong] + rng.integers(1, n_classes, int(wrong.sum()))) % n_classes
    elif noise.kind == "one class":
        members = rng.permutation(np.flatnonzero(y == source))
        wrong[members[: round(noise.rate * len(members))]] = True
        y[wrong] = target
    elif noise.kind == "leverage":
        wrong[rng.permutation(len(y))[: round(noise.rate * len(y))]] = True
        coef = LogisticRegression(max_iter=1000).fit(X, y).coef_
        direction = coef[0] if len(coef) == 1 else coef[source] - coef[target]
        X[wrong] += DISTANCE * direction / np.linalg.norm(direction)
        y[wrong] = target
    return Spoiled(X, y, wrong)
