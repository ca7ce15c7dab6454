"""What estimators warn about, each under a class of its own."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sorr.solvers import Solution, Status

__all__ = [
    "ConstantModelWarning",
    "NotConvergedWarning",
    "SeparableWarning",
    "notices_of",
    "warn",
]

_TINY_LOSS = 1e-7  # of every row that is kept: margins of 16, and probabilities of one
_SMALL_LOSS = 1e-2  # the same without a ridge, where the solver gives up at some point
_UNFINISHED = (Status.UNCERTIFIED, Status.NOT_FIXED, Status.ITERATION_LIMIT)


class NotConvergedWarning(ConvergenceWarning):
    """The fit ended before its tolerance was reached."""


class ConstantModelWarning(UserWarning):
    """The best model that was found predicts the same for every row."""


class SeparableWarning(UserWarning):
    """The rows that are kept are told apart without error, and only C limits the coefficients."""


def notices_of(solution: Solution, largest_kept: float, C: float) -> list[Warning]:
    """Return what makes a solution less than it seems.

    Parameters
    ----------
    solution : Solution
    largest_kept : float
        The largest loss among the rows that are kept, or NaN where the loss is zero from some
        point on, or targets are no classes: there the data limits the coefficients.
    C : float
    """
    status, found = solution.status, list[Warning]()
    if status is Status.CONSTANT_MODEL:
        return [ConstantModelWarning(f"Constant model: {status.sentence}.")]
    if largest_kept < (_SMALL_LOSS if np.isinf(C) else _TINY_LOSS):
        found.append(
            SeparableWarning(
                "The rows that are kept are separable: each is predicted right with a loss of "
                f"{largest_kept:.1g} at most, so that the size of the coefficients is set by "
                f"C={C:g} and not by the data; lower C, or read nothing into their size and into "
                "probabilities of zero and one."
            )
        )
        if np.isinf(C):
            return found  # there is no minimum to converge to
    if status in _UNFINISHED:
        gap = f" (gap {solution.gap:.1g})" if np.isfinite(solution.gap) else ""
        found.append(NotConvergedWarning(f"Not converged{gap}: {status.sentence}."))
    return found


def warn(notices: Iterable[Warning]) -> None:
    """Warn the caller of the public function that calls this."""
    for notice in notices:
        warnings.warn(notice, stacklevel=3)
