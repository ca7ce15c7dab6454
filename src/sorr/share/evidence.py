"""The evidence about wrong labels: a plain fit, and scores of rows that were held out."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.share.average import AverageLoss, Metric
from sorr.share.held_out import HeldOut, hold_out
from sorr.share.leverage import find_leverage

_ROUGH = 1e-2  # gradient of a fit that is but a start


class Evidence(NamedTuple):
    """A plain fit without leverage outliers, and scores of rows that were held out."""

    problem: AverageLoss
    mass: FloatArray
    """Of each row: zero for leverage outliers."""
    leverage: npt.NDArray[np.bool_]
    theta: FloatArray
    metric: Metric
    held_out: HeldOut
    is_robust: bool = False
    """Whether theta and the scores are those of one robust fit, which has seen all rows."""

    @property
    def scores(self) -> FloatArray:
        """The scores of all rows, by fits that have not seen them or do not chase their labels."""
        return self.held_out.scores

    @property
    def label_mass(self) -> npt.NDArray[np.float64]:
        """The mass labelled as each class, without leverage outliers."""
        return self.problem.by_class(self.mass)


def gather(
    problem: AverageLoss,
    mass: FloatArray,
    rng: np.random.Generator,
    n_jobs: int | None,
    robust: Callable[[FloatArray], FloatArray | None] | None = None,
) -> Evidence:
    """Return the evidence; `robust` fits rows of given masses, where that is to be done."""
    leverage, theta = find_leverage(problem, mass, rng)
    mass = np.where(leverage, 0.0, mass)
    if robust is not None and (steady := robust(mass)) is not None:
        theta = steady
        scores = problem.raw(theta).astype(np.float64)
        nobody = HeldOut(scores, np.zeros(len(mass), dtype=np.intp), [theta])
        metric = problem.metric(None, rng)
        return Evidence(problem, mass, leverage, theta, metric, nobody, is_robust=True)
    if theta is None:
        theta = problem.fit(mass, problem.metric(None, rng), tol=_ROUGH)
    metric = problem.metric(theta, rng)
    theta = problem.fit(mass, metric, theta)
    held_out = hold_out(problem, mass, metric, theta, rng, n_jobs)
    return Evidence(problem, mass, leverage, theta, metric, held_out)
