r"""A lower bound on a convex top-sum objective, from any weights of its rows.

For losses :math:`s_i \ge 0`, each at least the affine function it touches at any raw prediction
:math:`f_i` of our choice, with gradient :math:`a_i`,

.. math:: \min_{w, b} P(w, b) \ge \sum_i v_i (s_i(f_i) - a_i f_i)
    - \frac{C}{2} \Big\| \sum_i v_i a_i x_i \Big\|^2
    \quad \text{if } 0 \le v_i \le \omega_i, \ \sum_{i \in g} v_i \le c_g, \ \sum_i v_i a_i = 0.

:math:`\omega_i` is what the row counts if it is fully kept, :math:`c_g` what its group counts in
all, and the last condition comes from the free intercept. The weights of a solver are first moved
to satisfy these conditions. So the bound holds up to rounding for any weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from sorr._typing import FloatArray

if TYPE_CHECKING:
    from sorr.objectives.objective import RankedRangeObjective

_ROUNDS = 3  # corrections that turn weights into a circulation


def lower_bound(objective: RankedRangeObjective, raw: FloatArray, weights: FloatArray) -> float:
    """Return a lower bound of a convex objective (m = 0).

    Parameters
    ----------
    objective : RankedRangeObjective
        With m = 0 in every group.
    raw : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The raw predictions at which losses are replaced by their tangents, near the minimum.
    weights : ndarray of shape (n_samples, n_pieces)
        The weight of each piece of each loss. The closer they are to the optimal multipliers, the
        tighter is the bound. It is zero if they are not finite.
    """
    if not np.isfinite(weights).all():
        return 0.0
    weights = _admissible(objective, weights)
    loss, design = objective.loss, objective.design
    values, slopes = loss.pieces(objective.y, raw)
    if design.intercept and loss.has_curvature:
        shifted = _balanced(objective, raw, weights[:, 0], slopes[:, 0])
        if shifted is not raw:
            raw = shifted
            values, slopes = loss.pieces(objective.y, raw)
    if design.intercept and slopes.ndim == 3 and not loss.has_curvature:
        weights = _circulating(weights, slopes)
    if slopes.ndim == 2:
        residual = np.einsum("il,il->i", weights, slopes)
        heights = np.einsum("il,il->i", weights, values) - residual * raw
    else:
        residual = np.einsum("il,ilj->ij", weights, slopes)
        heights = np.einsum("il,il->i", weights, values) - np.einsum("ij,ij->i", residual, raw)
    if design.intercept and slopes.ndim == 2:
        heights, residual = _balance(heights, residual)
    elif design.intercept and not _adds_up(weights, slopes):
        return 0.0
    height = float(heights.sum())
    pulled = design.pull(residual)[: design.n_features].ravel()
    return finish_bound(height, pulled, objective.C)


def finish_bound(height: float, pulled: FloatArray, C: float) -> float:
    """Return the best bound from the sum of tangents at zero and their gradient."""
    square = float(pulled @ pulled) / 2
    if square == 0:
        return max(height, 0.0)
    # All weights may shrink together; without a ridge only a zero square gives a bound.
    shrink = min(1.0, height / (2 * C * square)) if np.isfinite(C) else 0.0
    if shrink <= 0:
        return 0.0
    return max(shrink * height - shrink**2 * C * square, 0.0)


class Planes:
    """Weighted sums of tangents: planes below a convex objective without its ridge.

    A mixture of two planes is one too. If their slopes in the intercept have opposite signs, the
    mixture without a slope gives a bound.
    """

    def __init__(self, C: float, n_features: int) -> None:
        self._C, self._n_features = C, n_features
        self._planes: list[tuple[float, FloatArray]] = []
        self.is_done = False

    def add(self, height: float, pull: FloatArray) -> float:
        """Add a plane, by its height at zero and its gradient; return the best bound with it."""
        best, slope = 0.0, float(pull[-1])
        for other_height, other in self._planes:
            other_slope = float(other[-1])
            if slope * other_slope <= 0 and slope != other_slope:
                part = other_slope / (other_slope - slope)
                mixed = part * pull + (1 - part) * other
                level = part * height + (1 - part) * other_height
                best = max(best, finish_bound(level, mixed[: self._n_features], self._C))
                self.is_done = True  # what is lost by the mixture is of second order
        self._planes.append((height, pull))
        return best


def _admissible(objective: RankedRangeObjective, weights: FloatArray) -> FloatArray:
    """Return the weights reduced to the limits of each row and the total of each group."""
    admissible = np.zeros_like(weights)  # zero for rows in no group
    masses = objective.groups.masses
    # A smooth loss needs the full total of its group; at a corner of others less may be right.
    rounds = 3 if objective.loss.has_curvature else 0
    for group in objective.groups:
        block = np.maximum(weights[group.rows], 0.0)
        most, total = group.scale * masses[group.rows], group.scale * group.width
        for last in [False] * rounds + [True]:
            sums = block[:, 0] if block.shape[1] == 1 else block.sum(axis=1)
            if (sums > most).any():
                safe = np.where(sums > 0, sums, 1.0)
                block = block * np.minimum(most / safe, 1.0)[:, None]
            reached = float(block.sum())
            if reached == 0 or abs(reached - total) <= 1e-15 * total:
                break
            block = block * (min(1.0, total / reached) if last else total / reached)
        admissible[group.rows] = block
    return admissible


def _balanced(
    objective: RankedRangeObjective, raw: FloatArray, weights: FloatArray, slopes: FloatArray
) -> FloatArray:
    """Return raw predictions shifted by the intercept at which the weighted slopes sum to zero.

    `_balance` removes the rounding error that is left.
    """
    loss, y = objective.loss, objective.y
    close = 1e-11 * float(weights @ np.abs(slopes).reshape(len(weights), -1).max(axis=1))
    for _ in range(20):
        totals = weights @ slopes
        if np.abs(totals).max() <= (close if raw.ndim == 1 else 1e-4 * close):
            break
        bend = loss.curvature(y, raw)
        if raw.ndim == 1:
            curve = float(weights @ bend)
            if curve <= 0:
                break
            raw = raw - np.clip(totals / curve, -1.0, 1.0)
        else:
            curves = np.einsum("i,ijk->jk", weights, bend)
            raw = raw - np.clip(np.linalg.lstsq(curves, totals, rcond=1e-12)[0], -1.0, 1.0)
        slopes = loss.gradient(y, raw)
    return raw


def _circulating(weights: FloatArray, slopes: FloatArray) -> FloatArray:
    r"""Return weights of affine pieces of several outputs whose weighted slopes sum to zero.

    They are :math:`v_{il} (1 - a_{il} p)`, scaled down so that none grows, with the p that solves
    :math:`\sum v_{il} a_{il} a_{il}^T p = \sum v_{il} a_{il}`. Pieces that pull from one class to
    another are the edges of a graph, and their weights become a circulation on it. Edges on no
    cycle cannot be part of a circulation, as those of a label that all rows have, or none.
    """
    weights = _on_cycles(weights, slopes)
    for _ in range(_ROUNDS):
        totals = np.einsum("il,ilj->j", weights, slopes)
        if np.abs(totals).max() <= 1e-15 * weights.sum():
            break
        scatter = np.einsum("il,ilj,ilk->jk", weights, slopes, slopes)
        factor = 1 - slopes @ np.linalg.lstsq(scatter, totals, rcond=1e-12)[0]
        factor = np.maximum(factor, 0.0)
        weights = weights * (factor / max(float(factor.max()), 1.0))
    if _adds_up(weights, slopes):
        return weights
    return np.where(slopes.any(axis=2), 0.0, weights)  # pieces without a slope still give a bound


def _on_cycles(weights: FloatArray, slopes: FloatArray) -> FloatArray:
    """Return the weights with zeros for edges from one strong component to another."""
    tails, heads = slopes.argmin(axis=2), slopes.argmax(axis=2)  # the same if there is no edge
    n_labels = slopes.shape[2]
    counted = weights > 0
    graph = np.zeros((n_labels, n_labels), dtype=bool)
    graph[tails[counted], heads[counted]] = True
    parts = connected_components(csr_array(graph), connection="strong")[1]
    return np.where(parts[tails] == parts[heads], weights, 0.0)


def _adds_up(weights: FloatArray, slopes: FloatArray) -> bool:
    """Return whether the weighted slopes of several outputs sum to zero, up to rounding.

    The rounding error is relative to the pieces, because they may cancel within a row.
    """
    totals = np.einsum("il,ilj->j", weights, slopes)
    size = float(np.vdot(weights, np.abs(slopes).sum(axis=2)))
    return bool(np.abs(totals).max() <= 1e-13 * size)


def _balance(heights: FloatArray, residual: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return heights and residuals of one output, scaled down so that residuals sum to zero."""
    total, size = float(residual.sum()), float(np.abs(residual).sum())
    up, down = (size + total) / 2, (size - total) / 2
    if total == 0:
        return heights, residual
    heavier = residual > 0 if total > 0 else residual < 0
    factor = np.where(heavier, min(up, down) / max(up, down), 1.0)
    return heights * factor, residual * factor
