"""What this room passes around: arrays by name, and the two ends of a range."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Ends", "FloatArray", "Mask", "Weight"]

FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
Weight: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]


class Ends(NamedTuple):
    """The ends of a range within one row: in values, or in mass where the row has weights.

    Masses are sums of floats. Two that differ by less than the slack are the same.
    """

    m: int | float
    k: int | float
    m_slack: float = 0.0
    k_slack: float = 0.0
