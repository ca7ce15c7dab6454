"""Rows with more features than there are rows, in as many coordinates as rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg

from sorr._typing import FloatArray

__all__ = ["in_own_span"]


def in_own_span(X: Any) -> tuple[Any, Callable[[FloatArray], FloatArray]]:
    """Return rows in coordinates of what they span, and the way back for coefficients.

    Coefficients across that span cost and bring nothing, so that a ridge finds the same model
    there. Norms and products stay as they are. Rows are returned as they are where they are no
    fewer than their features.
    """
    if X.shape[0] >= X.shape[1]:
        return X, np.asarray
    if isinstance(X, np.ndarray):
        basis, coordinates = linalg.qr(X.T.astype(np.float64), mode="economic")
        return coordinates.T, lambda coef: np.asarray(basis @ coef)
    squares, vectors = linalg.eigh((X @ X.T).toarray().astype(np.float64))
    is_there = squares > squares[-1] * len(squares) * np.finfo(np.float64).eps
    is_there[-1] = True
    sizes = np.sqrt(np.maximum(squares[is_there], np.finfo(np.float64).tiny))
    vectors = vectors[:, is_there]
    return vectors * sizes, lambda coef: np.asarray(X.T @ ((vectors / sizes) @ coef))
