"""How a fit begins that goes on from the last one, and what is said of one that did not end."""

from __future__ import annotations

from typing import Any

import numpy as np

from sorr._typing import FloatArray
from sorr.estimators.label_sets import Labels
from sorr.estimators.notices import NotConvergedWarning

__all__ = ["not_converged", "warm_theta"]


def warm_theta(estimator: Any, labels: Labels) -> FloatArray | None:
    """Return the parameters of the last fit, if it was one of the same labels and features."""
    coef = getattr(estimator, "coef_", None)
    if coef is None or not np.array_equal(estimator.classes_, labels.classes):
        return None
    if coef.shape[1] != estimator.n_features_in_:
        return None
    parts = [coef.T, *([estimator.intercept_[None]] if estimator.fit_intercept else [])]
    return np.concatenate(parts)


def not_converged(estimator: Any, is_unfinished: bool) -> list[Warning]:
    """Return a warning if the last fit took all the steps it was given, and needed more."""
    if not is_unfinished:
        return []
    gap = getattr(estimator, "gap_", None)
    return [
        NotConvergedWarning(
            f"Not converged{'' if gap is None else f' (gap {gap:.1g})'} in {estimator.n_iter_} "
            "steps; scale the columns of X, lower C, or raise tol or max_iter."
        )
    ]
