"""Every loss, with targets and raw predictions to try it on."""

from __future__ import annotations

from typing import Any

import numpy as np

from sorr.losses import (
    Absolute,
    BinaryLoss,
    Hinge,
    Huber,
    Logistic,
    LogSumExpPairwise,
    Loss,
    ModifiedHuber,
    MulticlassHinge,
    MulticlassLoss,
    MultilabelHinge,
    RegressionLoss,
    SigmoidPairwise,
    SmoothAbsolute,
    SmoothHinge,
    Softmax,
    Squared,
    SquaredHinge,
    TopKMultilabel,
    TopKSubset,
    TopKSVM,
)

BINARY = [Logistic(), Hinge(), SmoothHinge(0.3), SquaredHinge(), ModifiedHuber()]
REGRESSION = [Squared(), Absolute(), SmoothAbsolute(0.3), Huber(), Huber(delta=0.5)]
MULTICLASS = [Softmax(), MulticlassHinge()]
TOP_K = [cls(k) for cls in (TopKMultilabel, TopKSubset, TopKSVM) for k in (1, 2, 3)]
MULTILABEL = [*TOP_K, MultilabelHinge(), LogSumExpPairwise()]
BOUNDED = [SigmoidPairwise()]
ALL: list[Loss] = [*BINARY, *REGRESSION, *MULTICLASS, *MULTILABEL, *BOUNDED]

N_LABELS = 5
GRID = np.array([-2.0, -1.0, -0.5, 0.0, 0.25, 1.0, 1.5])


def targets(loss: Loss, n: int = 200, seed: int = 0) -> np.ndarray[Any, Any]:
    """Draw targets; those of label sets include the empty and the full set."""
    rng = np.random.default_rng([seed, 1])
    if isinstance(loss, BinaryLoss):
        y = rng.choice([-1, 1], n)
    elif isinstance(loss, RegressionLoss):
        y = rng.choice(GRID, n)
    elif isinstance(loss, MulticlassLoss):
        y = rng.integers(N_LABELS, size=n)
    else:
        y = rng.random((n, N_LABELS)) < rng.random((n, 1))
        y[:2] = [[False], [True]]
    return loss.check_target(y, n_outputs(loss))


def n_outputs(loss: Loss) -> int:
    return 1 if isinstance(loss, BinaryLoss | RegressionLoss) else N_LABELS


def scores(loss: Loss, n: int = 200, seed: int = 0, choices: Any = None) -> np.ndarray[Any, Any]:
    """Draw raw predictions: normal, hence in general position, or from a few choices."""
    rng = np.random.default_rng([seed, 2])
    shape = n if n_outputs(loss) == 1 else (n, N_LABELS)
    return 2 * rng.standard_normal(shape) if choices is None else rng.choice(choices, shape)


def difference(
    function: Any, point: np.ndarray[Any, Any], step: float = 1e-6
) -> np.ndarray[Any, Any]:
    """Return the central difference in each output, along a new last axis if there are several."""
    if point.ndim == 1:
        return np.asarray(function(point + step) - function(point - step)) / (2 * step)
    sides = [
        function(point + shift) - function(point - shift) for shift in step * np.eye(point.shape[1])
    ]
    return np.stack(sides, axis=-1) / (2 * step)
