"""How good a fitted model is on rows it has not seen."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics import get_scorer

from sorr.ranked import Mass, average_ranked_range

__all__ = ["Scoring", "make_scoring"]


class Scoring(NamedTuple):
    """A score, the larger the better, and how to read it.

    Attributes
    ----------
    function : callable
        Of a fitted estimator, rows and targets.
    takes_weight : bool
        Whether it takes the masses of rows too.
    is_loss : bool
        Whether it is an error with its sign turned, rather than a share of one.
    """

    function: Callable[..., Any]
    takes_weight: bool
    is_loss: bool

    def score(
        self, model: Any, X: Any, y: npt.NDArray[Any], weight: npt.NDArray[np.float64] | None
    ) -> float:
        """Return the score of a model."""
        if weight is not None and self.takes_weight:
            return float(self.function(model, X, y, sample_weight=weight))
        return float(self.function(model, X, y))

    def error(self, score: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return scores as errors, the smaller the better."""
        return -score if self.is_loss else 1 - score


def make_scoring(scoring: Any, is_classes: bool) -> Scoring:
    """Return a score by name, as a function, or the default for classes or for numbers."""
    if scoring is None:
        if is_classes:
            return Scoring(share_right, takes_weight=True, is_loss=False)
        return Scoring(minus_median_error, takes_weight=True, is_loss=True)
    if not (isinstance(scoring, str) or callable(scoring)):
        raise TypeError(
            f"scoring={scoring!r} is of type {type(scoring).__name__}; needed the name of one "
            "score, a function of (estimator, X, y), or None"
        )
    function = get_scorer(scoring)
    metric = getattr(function, "_score_func", function)  # of scikit-learn's own scorers
    takes_weight = "sample_weight" in inspect.signature(metric).parameters
    return Scoring(function, takes_weight, is_loss=getattr(function, "_sign", 1) < 0)


def share_right(
    model: Any, X: Any, y: npt.NDArray[Any], sample_weight: npt.NDArray[np.float64] | None = None
) -> float:
    """Return the accuracy: of predictions, so that a constant model is right about some rows."""
    return float(np.average(model.predict(X) == y, weights=sample_weight))


def minus_median_error(
    model: Any, X: Any, y: npt.NDArray[Any], sample_weight: npt.NDArray[np.float64] | None = None
) -> float:
    """Return the median absolute error, of the mass of the rows, with its sign turned."""
    error = np.abs(model.predict(X) - y)
    mass = float(len(y) if sample_weight is None else sample_weight.sum())
    half = min(0.5, mass / 2)  # a row in the middle, or half of each of two
    middle = Mass(mass / 2 - half), Mass(mass / 2 + half)
    return -float(average_ranked_range(error, *middle, sample_weight=sample_weight))
