"""Individual losses: one number per sample, with derivatives in the raw prediction.

Losses return arrays, not means, and have no factor one half. They may rank labels, but never
samples.
"""

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

from sorr._checks import suggest
from sorr.losses.base import (
    BinaryLoss,
    Loss,
    MulticlassLoss,
    MultilabelLoss,
    RegressionLoss,
    one_hot,
    weighted_sum,
)
from sorr.losses.binary import Hinge, Logistic, ModifiedHuber, SmoothHinge, SquaredHinge
from sorr.losses.margins import RoundedMultilabelHinge, RoundedTopKSVM, is_top
from sorr.losses.multiclass import MulticlassHinge, Softmax
from sorr.losses.multilabel import (
    LogSumExpPairwise,
    MultilabelHinge,
    SigmoidPairwise,
    TopKMultilabel,
    TopKSubset,
    TopKSVM,
)
from sorr.losses.regression import Absolute, Huber, SmoothAbsolute, Squared

__all__ = [
    "LOSSES",
    "Absolute",
    "BinaryLoss",
    "Hinge",
    "Huber",
    "LogSumExpPairwise",
    "Logistic",
    "Loss",
    "ModifiedHuber",
    "MulticlassHinge",
    "MulticlassLoss",
    "MultilabelHinge",
    "MultilabelLoss",
    "RegressionLoss",
    "RoundedMultilabelHinge",
    "RoundedTopKSVM",
    "SigmoidPairwise",
    "SmoothAbsolute",
    "SmoothHinge",
    "Softmax",
    "Squared",
    "SquaredHinge",
    "TopKMultilabel",
    "TopKSVM",
    "TopKSubset",
    "get_loss",
    "is_top",
    "one_hot",
    "weighted_sum",
]

LOSSES: Mapping[str, type[Loss]] = MappingProxyType(
    {
        loss.name: loss
        for loss in (
            Logistic,
            Hinge,
            SquaredHinge,
            SmoothHinge,
            ModifiedHuber,
            Squared,
            Absolute,
            SmoothAbsolute,
            Huber,
            Softmax,
            MulticlassHinge,
            MultilabelHinge,
            TopKMultilabel,
            TopKSubset,
            TopKSVM,
            LogSumExpPairwise,
            SigmoidPairwise,
        )
    }
)
"""Every loss class under its name."""


def get_loss(loss: str | Loss, **parameters: Any) -> Loss:
    """Return the loss with that name and parameters; a loss object is returned as it is.

    Examples
    --------
    >>> get_loss("huber", delta=2.0)
    Huber(delta=2.0)
    """
    if isinstance(loss, Loss):
        if parameters:
            raise TypeError(
                f"{', '.join(parameters)} given with the loss object {loss!r}, which already has "
                f"parameters; pass them to the object, or give the name {loss.name!r}"
            )
        return loss
    if not isinstance(loss, str):
        raise TypeError(
            f"loss={loss!r} is of type {type(loss).__name__}; needed a name such as 'logistic', "
            "or a loss object such as Logistic()"
        )
    if loss not in LOSSES:
        raise ValueError(f"loss={loss!r} is not the name of a loss; {suggest(loss, [*LOSSES])}")
    loss_class = LOSSES[loss]
    accepted = [field.name for field in fields(loss_class)]  # type: ignore[arg-type]
    unknown = [name for name in parameters if name not in accepted]
    if unknown:
        raise TypeError(
            f"{loss} has no parameter {', '.join(unknown)}; "
            f"it accepts {', '.join(accepted) or 'none'}"
        )
    return loss_class(**parameters)
