"""Targets and losses that go together: what users give, in the form that losses take."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets

from sorr.losses import BinaryLoss, Loss, MulticlassLoss, RegressionLoss, get_loss

__all__ = ["classes_of", "encode", "loss_of_classes", "loss_of_numbers"]

_TWINS = (("logistic", "softmax"), ("hinge", "multiclass_hinge"))  # of two classes, of more


def classes_of(y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    """Return the classes, two at least, and for each row the index of its own."""
    check_classification_targets(y)
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(
            f"y holds one class only, {classes.tolist()[0]!r}, in the rows that count; needed two "
            "classes or more"
        )
    return classes, np.searchsorted(classes, y)


def encode(loss: Loss, index: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    """Return the index of each row's class as a loss over classes takes it."""
    return index if isinstance(loss, MulticlassLoss) else np.where(index == 1, 1.0, -1.0)


def loss_of_classes(loss: str | Loss, n_classes: int) -> Loss:
    """Return the loss in the form for so many classes."""
    twins = dict(_TWINS) if n_classes > 2 else {many: two for two, many in _TWINS}
    name = loss if isinstance(loss, str) else getattr(loss, "name", None)
    found = get_loss(twins.get(name, loss) if isinstance(name, str) else loss)
    if isinstance(found, BinaryLoss | MulticlassLoss):
        if n_classes == 2 or isinstance(found, MulticlassLoss):
            return found
        raise ValueError(
            f"loss={found.name!r} is for two classes, and y holds {n_classes}; needed 'logistic' "
            "or 'hinge', which have a form for many: or use OneVsRestClassifier"
        )
    raise ValueError(
        f"loss={found.name!r} is for {found.domain}; needed a loss over classes, such as "
        "'logistic' or 'hinge'"
    )


def loss_of_numbers(loss: str | Loss) -> Loss:
    """Return the loss, which has to be one of residuals."""
    found = get_loss(loss)
    if isinstance(found, RegressionLoss):
        return found
    raise ValueError(
        f"loss={found.name!r} is for {found.domain}; needed a loss of residuals, such as "
        "'squared', 'absolute' or 'huber'"
    )
