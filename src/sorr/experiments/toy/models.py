"""The models of the toy figures: a line through two features, by either protocol."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorr._typing import FloatArray, IntArray
from sorr.experiments.aggregates.released import released_fit
from sorr.experiments.cells import Measured
from sorr.experiments.toy.data import Toy, population_error, row_error
from sorr.objectives import RankedRangeObjective
from sorr.solvers import Status, trim
from sorr.solvers.degenerate import constant_model

__all__ = ["LOSSES", "MEASURES", "MODELS", "Fit", "Ranks", "fit", "measure", "ranks"]


LOSSES = ("logistic", "hinge")
MODELS = ("average", "maximum", "AT_k", "AoRR")
MEASURES = ("coef1", "coef2", "intercept", "error_rows", "error_population")
"""A line, its error on the rows of the fit that are no outliers, and on unseen ones: per cent."""

_C = 1e4
_OUTER = {"logistic": 100, "hinge": 5}  # as printed in the paper's appendix
_INNER, _STEP, _START_SEED = 1000, 0.01, 1234


class Ranks(NamedTuple):
    """The losses that count: those ranked m + 1 to k."""

    m: int
    k: int


class Fit(NamedTuple):
    """A line, and what is known about it.

    Attributes
    ----------
    theta : ndarray of shape (3,)
        Two coefficients and the intercept.
    objective : float
        The average of the losses ranked m + 1 to k, with a ridge of C = 1e4, at theta: comparable
        between protocols, though the released loop has no ridge.
    gap : float
        As in `sorr.solvers.Solution`; NaN where nothing is known.
    status : str
    """

    theta: FloatArray
    objective: float
    gap: float
    status: str


def ranks(model: str, n_samples: int, *, m: int, k: int) -> Ranks:
    """Return the losses that a model learns from; only AoRR leaves out the m largest.

    Examples
    --------
    >>> [tuple(ranks(model, 200, m=1, k=2)) for model in MODELS]
    [(0, 200), (0, 1), (0, 2), (1, 2)]
    """
    return {
        "average": Ranks(0, n_samples),
        "maximum": Ranks(0, 1),
        "AT_k": Ranks(0, k),
        "AoRR": Ranks(m, k),
    }[model]


def fit(protocol: str, X: FloatArray, y: IntArray, loss: str, kept: Ranks, seed: int) -> Fit:
    """Return the line that a protocol ends with.

    Parameters
    ----------
    protocol : {"paper", "ours"}
        "paper" is the released loop with the printed settings, which keeps the step of the highest
        accuracy on the rows of the fit, as the released script does; "ours" minimises, from many
        starts.
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        -1 or 1.
    loss : {"logistic", "hinge"}
    kept : Ranks
    seed : int
        Draws the starts of "ours". The loop has the seed of its script.
    """
    objective = RankedRangeObjective(X, y, loss, m=kept.m, k=kept.k, C=_C)
    if protocol == "ours":
        found = trim(objective, random_state=seed)
        constant = found.status is Status.CONSTANT_MODEL  # perhaps with coefficients of 1e-16
        theta = constant_model(objective) if constant else found.theta
        return Fit(theta.astype(np.float64), found.objective, found.gap, found.status.name)
    signed = y[:, np.newaxis] * np.column_stack([X, np.ones(len(X))])
    theta = released_fit(
        X,
        y,
        loss,
        m=kept.m,
        k=kept.k,
        outer=_OUTER[loss],
        inner=_INNER,
        step=_STEP,
        start_seed=_START_SEED,
        score=lambda theta: np.count_nonzero(signed @ theta > 0) / len(y),
    )
    return Fit(theta, objective.value(theta), float("nan"), "")


def measure(protocol: str, toy: Toy, loss: str, kept: Ranks, seed: int) -> Measured:
    """Return the line that a protocol ends with, and how often it is wrong."""
    found = fit(protocol, toy.X, toy.y, loss, kept, seed)
    population = float("nan") if toy.bayes is None else population_error(found.theta, toy.bayes)
    values = [*map(float, found.theta), row_error(found.theta, toy), population]
    return Measured(
        dict(zip(MEASURES, values, strict=True)),
        chosen={"m": kept.m, "k": kept.k},
        objective=found.objective,
        gap=found.gap,
        status=found.status,
    )
