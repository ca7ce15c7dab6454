r"""Scores that do not chase wrong labels, for many rows of several classes.

The top-k multi-label loss with k = 1 asks the label of a row to score above the *second* best
class: a row whose label is far behind the best class gives no more than a constant pull. So its
fit follows the majority even where a third of a class is mislabelled, which softmax does not, and
with several rows for each parameter no row has to be held out to see it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.losses import TopKMultilabel
from sorr.objectives import RankedRangeObjective
from sorr.solvers import average_start, descend, evaluate

_ROWS = 5000  # from which on a robust fit is taken
_ROWS_EACH = 5  # rows for each parameter
_SOFTMAX, _STEPS = 12, 40  # quasi-Newton steps of the start, and of the fit: neither to the end
_WIDTH = 1.5  # of the rounded corners, in losses at the start: rounder than for a last digit
_LOST = 0.1  # of the rows of a class: if no more are right it is lost; of all rows, in such classes
_STEEP = 4.0  # from scores of a margin of one to those of a softmax, roughly


def are_many(n_samples: int, n_classes: int, n_parameters: int) -> bool:
    """Tell whether there are several classes, and enough rows for a fit without held-out rows."""
    return n_classes > 2 and n_samples >= max(_ROWS, _ROWS_EACH * n_parameters)


def robust_fit(
    X: Any,
    index: npt.NDArray[np.intp],
    n_classes: int,
    C: float,
    intercept: bool,
    mass: FloatArray,
    rng: np.random.Generator,
) -> npt.NDArray[np.float64] | None:
    """Return parameters of scores by class, in the scale of a softmax.

    Under a strong ridge a margin is out of reach, and scores are highest for a few classes only:
    if hardly a row of the others is right, and they are many, nothing is returned.
    """
    objective = RankedRangeObjective(
        X,
        index,
        TopKMultilabel(1),
        C=C,
        sample_weight=None if mass.min() == mass.max() else mass,
        fit_intercept=intercept,
        n_outputs=n_classes,
    )
    start = evaluate(objective, average_start(objective, rng, _SOFTMAX))
    point = descend(objective, start, max_iter=_STEPS, rng=rng, widths=(_WIDTH,))
    right = mass * (point.raw.argmax(axis=1) == index)
    given, found = (np.bincount(index, part, n_classes) for part in (mass, right))
    if given[found < _LOST * given].sum() > _LOST * given.sum():
        return None
    return np.asarray(_STEEP * point.theta)
