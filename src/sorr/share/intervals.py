"""From rates of true classes to shares of labelled rows, and how well they are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.share.saturation import Saturation
from sorr.share.transition import Transition


def true_mass(matrix: FloatArray, label_mass: FloatArray) -> npt.NDArray[np.float64]:
    r"""Return the mass of each true class, which the labels would have come from.

    Labels have the mass :math:`\ell = T^\top \pi`. Where that has no solution without negative
    parts, those are zero.
    """
    found = np.maximum(np.linalg.lstsq(matrix.T, label_mass, rcond=None)[0], 0.0)
    return np.asarray(found * (label_mass.sum() / max(float(found.sum()), 1e-300)))


def wrong_mass(matrix: FloatArray, label_mass: FloatArray) -> npt.NDArray[np.float64]:
    """Return the mass that is labelled as each class but belongs to another."""
    flow = true_mass(matrix, label_mass)[:, None] * matrix
    return np.asarray(flow.sum(axis=0) - np.diag(flow))


def share_errors(
    noise: Saturation | Transition, covariance: FloatArray, label_mass: FloatArray
) -> npt.NDArray[np.float64]:
    """Return standard errors of the share of wrong rows among those labelled as each class.

    Two classes: from the covariance of the two rates, by the slope of the share in them. More:
    from the errors of all rates, taken to be independent.
    """
    if isinstance(noise, Transition):
        flow = true_mass(noise.matrix, label_mass)[:, None] * covariance
        np.fill_diagonal(flow, 0.0)
        return np.asarray(np.sqrt((flow**2).sum(axis=0)) / np.maximum(label_mass, 1e-300))
    slopes = np.empty((2, 2))
    for i in range(2):
        step = np.where(np.arange(2) == i, 1e-5, 0.0)
        up, down = (
            wrong_mass(replace(noise, rates=noise.rates + sign * step).matrix, label_mass)
            for sign in (1.0, -1.0)
        )
        slopes[:, i] = (up - down) / 2e-5 / np.maximum(label_mass, 1e-300)
    return np.asarray(np.sqrt(np.maximum(np.einsum("ci,ij,cj->c", slopes, covariance, slopes), 0)))
