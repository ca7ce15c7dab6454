"""What estimators warn about, each under a class of its own."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sorr.solvers import Solution, Status

__all__ = ["ConstantModelWarning", "NotConvergedWarning", "SeparableWarning", "warn_of"]

_TINY_LOSS = 1e-7  # of every row that is kept: margins of 16, and probabilities of one


class NotConvergedWarning(ConvergenceWarning):
    """The fit ended before its tolerance was reached."""


class ConstantModelWarning(UserWarning):
    """The best model that was found predicts the same for every row."""


class SeparableWarning(UserWarning):
    """The rows that are kept are told apart without error, and only C limits the coefficients."""


def warn_of(solution: Solution, largest_kept: float, C: float) -> None:
    """Warn of what makes a solution less than it seems.

    Parameters
    ----------
    solution : Solution
    largest_kept : float
        The largest loss among the rows that are kept, or NaN where targets are no classes.
    C : float
    """
    status = solution.status
    if status is Status.CONSTANT_MODEL:
        warnings.warn(ConstantModelWarning(f"Constant model: {status.sentence}."), stacklevel=4)
    elif 0 < largest_kept < _TINY_LOSS or (np.isinf(C) and largest_kept < 1e-2):
        warnings.warn(
            SeparableWarning(
                "The rows that are kept are separable: each is predicted right with a loss below "
                f"{max(_TINY_LOSS, largest_kept):.1g}, so that the size of the coefficients is set "
                f"by C={C:g} and not by the data; lower C, or read nothing into their size and "
                "into probabilities of zero and one."
            ),
            stacklevel=4,
        )
    elif status in (Status.UNCERTIFIED, Status.NOT_FIXED, Status.ITERATION_LIMIT):
        gap = f" (gap {solution.gap:.1g})" if np.isfinite(solution.gap) else ""
        warnings.warn(NotConvergedWarning(f"Not converged{gap}: {status.sentence}."), stacklevel=4)
