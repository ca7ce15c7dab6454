"""Names for arrays and callbacks that several rooms use in their signatures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
"""Numbers of any precision."""
Weight: TypeAlias = npt.NDArray[np.float64]
"""The mass of each row."""
BoolArray: TypeAlias = npt.NDArray[np.bool_]
IntArray: TypeAlias = npt.NDArray[np.intp]
"""Positions or counts."""
Report: TypeAlias = Callable[[float, float, str], None]
"""Progress above the estimators: the work done, all of it, and what is being done."""
