"""The toy figures: their rows, the lines that models draw through them, and means over draws."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from sorr._typing import BoolArray, FloatArray, IntArray
from sorr.datasets import BayesClassifier, load_toy, make_imbalanced, make_multimodal
from sorr.experiments.experiment import Measured
from sorr.experiments.paper.released import run_aggregate_loop
from sorr.experiments.published import LoopSetting
from sorr.experiments.rows import Row
from sorr.objectives import RankedRangeObjective, constant_model
from sorr.solvers import Status, trim

KINDS = ("balanced", "imbalanced")
AUTHORS = " (authors' file)"
"""Added to the name of a kind if the rows are those of the paper's authors."""
MODELS = ("average", "maximum", "AT_k", "AoRR")
LINE = ("coef1", "coef2", "intercept")
ERRORS = ("error_rows", "error_population")
"""On the rows of the fit without outliers, and on unseen rows, in per cent."""
MEASURES = (*LINE, *ERRORS)

_C = 1e4
_OUTER_STEPS = {"logistic": 100, "hinge": 5}  # as printed in the paper's appendix
_INNER_STEPS, _STEP, _START_SEED = 1000, 0.01, 1234
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
        The distribution of the other rows. None if it is not known.
    """

    X: FloatArray
    y: IntArray
    outliers: BoolArray
    bayes: BayesClassifier | None


def toy_rows(name: str, split: int = 0, n_outliers: int = 1) -> Toy:
    """Return the rows of a toy set.

    Parameters
    ----------
    name : str
        "balanced" or "imbalanced", followed by `AUTHORS` for the authors' file.
    split : int, default=0
        The seed of rows that are drawn.
    n_outliers : int, default=1
        The number of outliers among rows that are drawn. The files have one.
    """
    if name.endswith(AUTHORS):
        toy = load_toy(name.removesuffix(AUTHORS), download=False)
        return Toy(toy.data, toy.target, toy.outliers, None)
    toy = _MAKERS[name](n_outliers, random_state=split)
    return Toy(toy.data, toy.target, toy.outliers, toy.bayes)


def has_file(kind: str) -> bool:
    """Return whether the authors' file of a kind is on this machine."""
    try:
        load_toy(kind, download=False)
    except FileNotFoundError:
        return False
    return True


def row_error(theta: FloatArray, toy: Toy) -> float:
    """Return the share of rows on the wrong side of a line, without outliers, in per cent.

    A row on the line counts half. So a constant model without an intercept is wrong on half of the
    rows, like a coin.

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
    r"""Return how often a line is wrong on unseen rows without outliers, in per cent.

    No rows are drawn. Along the normal of the line a round Gaussian is one-dimensional, and
    :math:`\Phi` gives its share on the wrong side.

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
        else:  # a constant: right, wrong, or undecided
            wrong += share * (1 - np.sign(inside)) / 2
    return float(100 * wrong)


@cache
def bayes_error(kind: str) -> float:
    """Return the lowest possible error on unseen rows of a kind, in per cent."""
    return float(100 * _MAKERS[kind](0, random_state=0).bayes.error())


# -- Lines by either protocol ----------------------------------------------------------------------


class Ranks(NamedTuple):
    """The losses ranked m + 1 to k count."""

    m: int
    k: int


class Fit(NamedTuple):
    """A line, and how it was fitted.

    Attributes
    ----------
    theta : ndarray of shape (3,)
        Two coefficients and the intercept.
    objective : float
        The average of the losses ranked m + 1 to k, with a ridge of C = 1e4, at theta. Both
        protocols can be compared by it, though the released loop has no ridge.
    gap : float
        As in `sorr.solvers.Solution`. NaN if unknown.
    status : str
    """

    theta: FloatArray
    objective: float
    gap: float
    status: str


def ranks(model: str, n_samples: int, *, m: int, k: int) -> Ranks:
    """Return the ranks that a model learns from. Only AoRR leaves out the m largest losses.

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


def fit(protocol: str, X: FloatArray, y: IntArray, loss: str, kept: Ranks, *, seed: int) -> Fit:
    """Return the line that a protocol ends with.

    Parameters
    ----------
    protocol : {"paper", "ours"}
        "paper" is the released loop with the printed settings. Like the script, it keeps the step
        with the highest accuracy on the rows of the fit. "ours" minimises, from many starts.
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        -1 or 1.
    loss : {"logistic", "hinge"}
    kept : Ranks
    seed : int
        Seed of the starts of "ours". The loop has the seed of its script.
    """
    objective = RankedRangeObjective(X, y, loss, m=kept.m, k=kept.k, C=_C)
    if protocol == "ours":
        solution = trim(objective, random_state=seed)
        constant = solution.status is Status.CONSTANT_MODEL  # perhaps with coefficients of 1e-16
        theta = constant_model(objective) if constant else solution.theta
        return Fit(theta.astype(np.float64), solution.objective, solution.gap, solution.status.name)
    signed = y[:, np.newaxis] * np.column_stack([X, np.ones(len(X))])
    theta = run_aggregate_loop(
        X,
        y,
        loss,
        m=kept.m,
        k=kept.k,
        setting=LoopSetting(None, _OUTER_STEPS[loss], _INNER_STEPS, _STEP),
        start_seed=_START_SEED,
        score=lambda theta: np.count_nonzero(signed @ theta > 0) / len(y),
    )
    return Fit(theta, objective.value(theta), math.nan, "")


def measure(protocol: str, toy: Toy, loss: str, kept: Ranks, seed: int) -> Measured:
    """Return the line that a protocol ends with, and how often it is wrong."""
    line = fit(protocol, toy.X, toy.y, loss, kept, seed=seed)
    population = math.nan if toy.bayes is None else population_error(line.theta, toy.bayes)
    values = [*map(float, line.theta), row_error(line.theta, toy), population]
    return Measured(
        dict(zip(MEASURES, values, strict=True)),
        chosen={"m": kept.m, "k": kept.k},
        objective=line.objective,
        gap=line.gap,
        status=line.status,
    )


# -- Records: the line on the first draw, and means over all draws ---------------------------------


Record = dict[str, Any]


def summarise(rows: Iterable[Row]) -> list[Record]:
    """Return a record for each model: its line on the first draw, and means over all draws.

    Spreads are standard deviations over the draws. `constant` is the number of draws on which the
    model has no line. `gap` is the largest gap.
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        loss = row["setting"].partition(" ")[0]
        key = row["protocol"], row["dataset"], loss, row["model"], row["chosen"]["k"]
        groups.setdefault(key, []).append(row)
    return [_record(key, group) for key, group in groups.items()]


def _record(key: tuple[Any, ...], rows: list[Row]) -> Record:
    names = ("protocol", "dataset", "loss", "model", "k")
    record: Record = dict(zip(names, key, strict=True)) | {"draws": len(rows)}
    first = next((row for row in rows if row["split"] == 0), None)
    for name in LINE:
        record[name] = math.nan if first is None else first[name]
    record["constant"] = sum(is_constant(row) for row in rows)
    record["objective"] = _mean(rows, "objective")
    record["gap"] = max(row["gap"] for row in rows)
    for name in ERRORS:
        record[name] = _mean(rows, name)
        values = [row[name] for row in rows]
        record[f"{name}_spread"] = float(np.std(values, ddof=1)) if len(rows) > 1 else math.nan
    return record


def is_constant(line: Row | Record) -> bool:
    """Return whether a model has no line: it predicts the same everywhere."""
    return bool(line["coef1"] == 0 and line["coef2"] == 0)


def _mean(rows: list[Row], name: str) -> float:
    return float(np.mean([row[name] for row in rows]))
