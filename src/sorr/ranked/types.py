"""What this room passes around: arrays by name, and the two ends of a range."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

__all__ = [
    "Ends",
]


_EPSILON = float(np.finfo(np.float64).eps)
_PAIRWISE = 64  # additions that lie on the way of one term when NumPy adds up many


class Ends(NamedTuple):
    """The ends of a range within one row: in values, or in mass where the row has weights.

    Masses are sums of floats: ten weights of 0.1 are not quite one. The units say how far off
    one addition may be at either end, so that what differs by rounding only is taken as equal.
    """

    m: int | float
    k: int | float
    m_unit: float = 0.0
    k_unit: float = 0.0

    def slacks(self, additions: int = 0) -> tuple[float, float]:
        """Return by how much a sum may miss either end, if so many terms are added one by one."""
        return self.m_unit * (_PAIRWISE + additions), self.k_unit * (_PAIRWISE + additions)

    @classmethod
    def of_mass(cls, m: float, k: float, n: int) -> Self:
        """Return the ends of a range of mass in a row of `n` values."""
        widest = (k - m) / (4 * (_PAIRWISE + n))  # so that no sum is taken to be at both ends
        return cls(m, k, min(_EPSILON * m, widest), min(_EPSILON * k, widest))
