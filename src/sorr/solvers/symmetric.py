"""Systems of equations with a symmetric matrix that is positive, or nearly so."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

from sorr._typing import FloatArray

__all__ = ["solve_symmetric"]


def solve_symmetric(M: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return a function that solves with a matrix, scaled to a unit diagonal and refined once.

    A matrix that is not quite definite gets the smallest ridge that makes it so.
    """
    diagonal = np.diag(M)
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = M * scale[:, None] * scale
    if not np.isfinite(scaled).all():
        return lambda rhs: np.full_like(rhs, np.nan)
    for ridge in (1e-15, 1e-12, 1e-9, 1e-6):
        try:
            factor = linalg.cho_factor(
                scaled + ridge * np.eye(len(M)), lower=True, check_finite=False
            )
            break
        except linalg.LinAlgError:
            continue
    else:
        return lambda rhs: np.asarray(scale * np.linalg.lstsq(scaled, scale * rhs, rcond=None)[0])

    def solve(rhs: FloatArray) -> FloatArray:
        b = scale * rhs
        x = linalg.cho_solve(factor, b, check_finite=False)
        x = x + linalg.cho_solve(factor, b - scaled @ x, check_finite=False)
        return np.asarray(scale * x)

    return solve
