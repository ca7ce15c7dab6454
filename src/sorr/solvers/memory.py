"""The curvature met on the way, as quasi-Newton methods remember it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from sorr._typing import FloatArray

__all__ = ["Memory"]

_TINY = float(np.finfo(np.float64).tiny)


class Memory:
    """The last steps, and the changes of the gradient along them: limited-memory BFGS.

    Parameters
    ----------
    size : int
        How many are kept.
    """

    def __init__(self, size: int) -> None:
        self._pairs: deque[tuple[FloatArray, FloatArray, float]] = deque(maxlen=size)

    def __len__(self) -> int:
        return len(self._pairs)

    def clear(self) -> None:
        """Forget everything: corners have made it useless."""
        self._pairs.clear()

    def add(self, step: FloatArray, change: FloatArray, *, rtol: float) -> None:
        """Remember a step, unless the function did not curve upwards along it."""
        curvature = float(np.vdot(step, change))
        if float(np.vdot(change, change)) < _TINY:  # near zero of a ridge squares vanish
            return
        if curvature > rtol * float(np.linalg.norm(step) * np.linalg.norm(change)):
            self._pairs.append((step, change, curvature))

    def solve(
        self, gradient: FloatArray, metric: Callable[[FloatArray], FloatArray] | None = None
    ) -> FloatArray:
        """Return the inverse of the remembered Hessian, times the gradient.

        What is not remembered is taken from the inverse metric, or from the size of the last
        change.
        """
        result = gradient.copy()
        parts = []
        for step, change, curvature in reversed(self._pairs):
            part = float(np.vdot(step, result)) / curvature
            result -= part * change
            parts.append(part)
        if metric is not None:
            result = metric(result)
        elif self._pairs:
            _, change, curvature = self._pairs[-1]
            result *= curvature / float(np.vdot(change, change))
        for (step, change, curvature), part in zip(self._pairs, reversed(parts), strict=True):
            result += (part - float(np.vdot(change, result)) / curvature) * step
        return result
