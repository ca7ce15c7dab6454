"""A table to try an audit on: robots, of which some carry a wrong label on purpose."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sorr.auditing.table import Table
from sorr.datasets import flip_symmetric, load_monk

__all__ = ["TARGET", "Example", "example"]

TARGET = "friendly"
_WRONG = 0.07  # of the labels
_SHAPES = ("round", "square", "octagon")
_VALUES = {
    "head": _SHAPES,
    "body": _SHAPES,
    "smiling": ("yes", "no"),
    "holding": ("sword", "balloon", "flag"),
    "jacket": ("red", "yellow", "green", "blue"),
    "tie": ("yes", "no"),
}


class Example(NamedTuple):
    """A table, and which of its labels are wrong."""

    table: Table
    wrong: npt.NDArray[np.bool_]


def example(seed: int = 0) -> Example:
    """Return the robots of the third Monk's problem, 30 of 432 with the wrong label.

    A robot is friendly if its jacket is green and it holds a sword, or if neither its jacket is
    blue nor its body an octagon.
    """
    import pandas as pd

    codes, friendly = load_monk(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(friendly))
    codes, friendly = codes[order].astype(int), friendly[order]
    noisy = flip_symmetric(np.where(friendly == 1, "yes", "no"), _WRONG, random_state=seed)
    columns = {
        name: np.array(values, dtype=object)[codes[:, i] - 1]
        for i, (name, values) in enumerate(_VALUES.items())
    }
    frame = pd.DataFrame(columns | {TARGET: noisy.y})
    n = len(frame)
    return Example(Table(frame, np.arange(n), None, n, (), "the robots"), noisy.wrong)
