r"""How labels of several classes go wrong: a matrix of rates, from scores of held-out rows.

.. math:: P(y = j \mid z) = \sum_k \mathrm{softmax}(a z + b)_k \, T_{kj},

where :math:`T_{kj}` is the share of class k that is labelled j.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from sorr._typing import FloatArray
from sorr.share.average import probabilities

_PSEUDO_COUNT = 1e-3  # of every rate
_FREE, _STEPS = 12, 40  # of the EM algorithm: with all rates free, and after that at most
_GAIN = 5e-6  # of the log likelihood by row, below which it stops
_START = 0.1  # the rate to start from
_LARGEST = 0.49  # a rate of one half would leave little to learn from the labels
_STANDS_OUT = 4.0  # standard errors: of a hundred pairs of classes none does by chance
_PULL = 1e-5  # of slope and shift to one and zero, in masses of all rows
_ROWS = (2000, 200)  # rows that are enough, and for each class


@dataclass(frozen=True)
class Transition:
    """A fitted matrix of rates.

    Attributes
    ----------
    slope : float
        a.
    shift : ndarray of shape (n_classes,)
        b.
    matrix : ndarray of shape (n_classes, n_classes)
        T: rows are true classes, columns labels.
    spread : ndarray of shape (n_classes, n_classes)
        Standard errors of the matrix, as if the true classes were known: too small where they
        overlap.
    apart : ndarray of bool of shape (n_classes, n_classes)
        Which rates stand out from all others.
    """

    slope: float
    shift: FloatArray
    matrix: FloatArray
    spread: FloatArray
    apart: npt.NDArray[np.bool_]

    @property
    def rates(self) -> FloatArray:
        """The share of each true class that is labelled otherwise."""
        return 1 - np.diag(self.matrix)

    @property
    def errors(self) -> FloatArray:
        """The standard errors of the rates."""
        return np.asarray(np.diag(self.spread))

    def members(self, scores: FloatArray) -> FloatArray:
        """Return the probability of each true class, before the label is seen."""
        return probabilities(self.slope * scores + self.shift)

    def log_odds(self, scores: FloatArray, index: npt.NDArray[np.intp]) -> FloatArray:
        """Return the log odds that a label is wrong, given the scores and the label."""
        joint = self.members(scores) * self.matrix[:, index].T
        rows = np.arange(len(index))
        right = joint[rows, index].copy()
        joint[rows, index] = 0.0
        return np.asarray(np.log(joint.sum(axis=1) + 1e-300) - np.log(right + 1e-300))

    def wrong(self, scores: FloatArray, index: npt.NDArray[np.intp]) -> FloatArray:
        """Return the probability that a label is wrong, given the scores and the label."""
        return np.asarray(expit(self.log_odds(scores, index)))


def fit_transition(
    scores: FloatArray,
    index: npt.NDArray[np.intp],
    mass: FloatArray,
    rng: np.random.Generator | None = None,
) -> Transition:
    """Return the rates of largest likelihood: an EM algorithm, the true classes being hidden.

    A matrix of K classes has K (K - 1) rates, more than a thousand rows can tell apart. All of
    them are taken to be one and the same, but for pairs of classes that stand out. Of many rows,
    a sample is used.
    """
    n, K = scores.shape
    limit = max(_ROWS[0], _ROWS[1] * K)
    if n > limit and rng is not None:
        some = rng.choice(n, limit, replace=False)
        scores, index, mass = scores[some], index[some], mass[some]
    slope: float = 1.0
    shift: FloatArray = np.zeros(K)
    T = np.full((K, K), _START / (K - 1))
    np.fill_diagonal(T, 1 - _START)
    member = (index[:, None] == np.arange(K)) * mass[:, None]
    value, pure = -np.inf, np.ones(K)
    apart = ~np.eye(K, dtype=bool)
    for step in range(_FREE + _STEPS):
        p = probabilities(slope * scores + shift)
        joint = p * T[:, index].T
        total = np.maximum(joint.sum(axis=1), 1e-300)
        previous, value = value, float(mass @ np.log(total))
        if step > _FREE and value - previous < _GAIN * mass.sum():
            break
        belief = joint / total[:, None]
        flow = belief.T @ member  # the mass of true class k labelled j
        pure = np.maximum(flow.sum(axis=1), 1.0)
        if step == _FREE:
            apart = _stands_out(flow)
        T = _rates(flow, apart)
        slope, shift = _recalibrate(scores, p, belief, mass, slope, shift)
    spread = np.sqrt(np.maximum(T * (1 - T), 1 / pure[:, None]) / pure[:, None])
    return Transition(slope, shift, T, spread, apart)


def _stands_out(flow: FloatArray) -> npt.NDArray[np.bool_]:
    """Return the pairs of classes whose flow is too large for the rate that the others share."""
    off = ~np.eye(len(flow), dtype=bool)
    apart = np.zeros_like(off)
    for _ in range(3):  # as pairs leave the common rate, it falls
        expected = _common_rate(flow, off & ~apart) * flow.sum(axis=1, keepdims=True)
        apart = off & (flow > expected + _STANDS_OUT * np.sqrt(expected + 1))
    return apart


def _common_rate(flow: FloatArray, common: npt.NDArray[np.bool_]) -> float:
    sizes = np.broadcast_to(flow.sum(axis=1, keepdims=True), flow.shape)
    even = float(sizes[common].sum())
    rate = float(flow[common].sum()) / even if even > 0 else 0.0
    return min(rate, _LARGEST / (len(flow) - 1))


def _rates(flow: FloatArray, apart: npt.NDArray[np.bool_]) -> FloatArray:
    """Return the matrix of rates from the flow of mass; those not apart are the same."""
    common = ~apart
    np.fill_diagonal(common, False)
    T = np.where(common, _common_rate(flow, common), 0.0)
    own = np.where(common, 0.0, flow + _PSEUDO_COUNT)
    T += own * ((1 - T.sum(axis=1, keepdims=True)) / own.sum(axis=1, keepdims=True))
    return np.asarray(T)


def _recalibrate(
    scores: FloatArray,
    p: FloatArray,
    belief: FloatArray,
    mass: FloatArray,
    slope: float,
    shift: FloatArray,
) -> tuple[float, FloatArray]:
    """Return slope and shift after a Newton step towards what is believed of the classes.

    A weak pull towards one and zero keeps both finite where scores tell the classes apart.
    """
    K = len(shift)
    total = float(mass.sum())
    pull = _PULL * total * np.append(np.ones(K), float(mass @ (scores**2).mean(axis=1)) / total)
    residual = (belief - p) * mass[:, None]
    gradient = np.append(residual.sum(axis=0), float(np.vdot(residual, scores)))
    gradient -= pull * np.append(shift, slope - 1)
    weighted = p * mass[:, None]
    mean = (p * scores).sum(axis=1)
    hessian = np.empty((K + 1, K + 1))
    hessian[:K, :K] = np.diag(weighted.sum(axis=0)) - weighted.T @ p
    hessian[:K, K] = hessian[K, :K] = (weighted * (scores - mean[:, None])).sum(axis=0)
    hessian[K, K] = float((weighted * (scores - mean[:, None]) ** 2).sum())
    hessian[np.diag_indices(K + 1)] += pull + 1e-6 * max(float(np.trace(hessian)), 1e-300)
    step = np.linalg.solve(hessian, gradient)
    return max(slope + float(step[K]), 0.05), shift + step[:K] - step[:K].mean()
