"""Aggregate losses by the paper's protocol: the released loop with the printed settings.

Columns are standardised over all rows, before they are split, as in the released scripts. The
average, the maximum and the average top-k go through the same loop: k = n, k = 1 and the printed
k, without a tangent. The scripts hold no robust maximum.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.preprocessing import scale

from sorr._typing import FloatArray
from sorr.datasets import load_dataset
from sorr.experiments.aggregates.released import released_fit, released_split
from sorr.experiments.cells import Cell, Measured
from sorr.experiments.published import AGGREGATE_SETTINGS

__all__ = ["measure_paper", "released_error"]

_START = {"logistic": 1234, "hinge": 1}  # seeds of the point of the first tangent
_QUICK = 200  # inner steps


def measure_paper(
    cells: tuple[Cell, ...], *, quick: bool = False
) -> Iterator[tuple[Cell, Measured]]:
    """Yield the test errors of models whose setting is a loss."""
    for cell in cells:
        yield cell, released_error(cell, quick=quick)


def released_error(cell: Cell, *, m: int | None = None, quick: bool = False) -> Measured:
    """Return the test error of one model, with another m than the printed one if that is given."""
    found = _as_released(cell.dataset, quick)
    y = np.where(found.target == found.target.max(), 1, -1)
    X = scale(found.data)
    train, validation, test = released_split(y, cell.split)
    printed = AGGREGATE_SETTINGS[cell.dataset][cell.setting]
    low, high = {
        "AoRR": (printed.m if m is None else m, printed.k),
        "AT_k": (0, printed.k),
        "maximum": (0, 1),
        "average": (0, len(train)),
    }[cell.model]
    theta = released_fit(
        X[train],
        y[train],
        cell.setting,
        m=low,
        k=high,
        outer=printed.outer,
        inner=min(printed.inner, _QUICK) if quick else printed.inner,
        step=printed.step,
        start_seed=_START[cell.setting],
        score=partial(_accuracy, X[validation], y[validation]),
    )
    error = 100 * (1 - _accuracy(X[test], y[test], theta))
    return Measured({"error": error}, {"m": low, "k": high}, seed=cell.split)


def _as_released(dataset: str, quick: bool) -> Any:
    """Return a data set with its rows in the order of the authors' file, which splits depend on."""
    if dataset == "titanic" and not quick:
        return load_dataset(dataset, variant="keel")
    return load_dataset(dataset)


def _accuracy(X: FloatArray, y: npt.NDArray[np.intp], theta: FloatArray) -> float:
    return float(np.mean((X @ theta[:-1] + theta[-1] >= 0) == (y > 0)))
