"""Losses by name."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

from sorr.losses import binary, multiclass, multilabel, pairwise, regression
from sorr.losses.base import Loss

__all__ = ["LOSSES", "get_loss"]

_CLASSES: list[type[Loss]] = [
    getattr(module, name)
    for module in (binary, regression, multiclass, multilabel, pairwise)
    for name in module.__all__
]

LOSSES: Mapping[str, type[Loss]] = MappingProxyType({loss.name: loss for loss in _CLASSES})
"""Every loss class under its name."""


def get_loss(loss: str | Loss, **parameters: Any) -> Loss:
    """Return the loss of a name, with its parameters; a loss object passes through.

    Examples
    --------
    >>> get_loss("huber", delta=2.0)
    Huber(delta=2.0)
    """
    if isinstance(loss, Loss):
        if parameters:
            raise TypeError(
                f"{', '.join(parameters)} given beside the loss object {loss!r}, which has its "
                f"parameters already; pass them to the object, or give the name {loss.name!r}"
            )
        return loss
    if not isinstance(loss, str):
        raise TypeError(
            f"loss={loss!r} is of type {type(loss).__name__}; needed a name such as 'logistic', "
            "or a loss object such as Logistic()"
        )
    if loss not in LOSSES:
        close = difflib.get_close_matches(loss, LOSSES)
        hint = (
            f"did you mean {' or '.join(close)}?" if close else f"needed one of {', '.join(LOSSES)}"
        )
        raise ValueError(f"loss={loss!r} is not the name of a loss; {hint}")
    found = LOSSES[loss]
    accepted = [field.name for field in fields(found)]  # type: ignore[arg-type]
    unknown = [name for name in parameters if name not in accepted]
    if unknown:
        raise TypeError(
            f"{loss} has no parameter {', '.join(unknown)}; "
            f"it accepts {', '.join(accepted) or 'none'}"
        )
    return found(**parameters)
