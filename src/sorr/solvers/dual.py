r"""A lower bound on a convex top-sum objective, from any weights of its rows.

For losses :math:`s_i \ge 0`, each at least the affine function it touches at any raw prediction
:math:`f_i` of our choice, with gradient :math:`a_i`,

.. math:: \min_{w, b} P(w, b) \ge \sum_i v_i (s_i(f_i) - a_i f_i)
    - \frac{C}{2} \Big\| \sum_i v_i a_i x_i \Big\|^2
    \quad \text{if } 0 \le v_i \le \omega_i, \ \sum_{i \in g} v_i \le c_g, \ \sum_i v_i a_i = 0.

:math:`\omega_i` is what the row counts if it is kept whole, :math:`c_g` what its group counts in all,
and the last condition belongs to the free intercept. Whatever weights a solver ends with are first
moved onto these conditions, so that the bound holds to rounding whatever their quality.
"""

from __future__ import annotations

import numpy as np

from sorr.objectives import RankedRangeObjective
from sorr.objectives.design import FloatArray

__all__ = ["lower_bound"]


def lower_bound(
    objective: RankedRangeObjective, raw: FloatArray, weights: FloatArray
) -> float:
    """Return a number that a convex objective (m = 0) cannot go below.

    Parameters
    ----------
    objective : RankedRangeObjective
        With m = 0 in every group.
    raw : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Where the losses are replaced by their tangents: raw predictions near the minimum.
    weights : ndarray of shape (n_samples, n_pieces)
        How much each piece of each loss counts: the closer to the optimal multipliers, the
        tighter the bound.
    """
    weights = _admissible(objective, weights)
    loss, design = objective.loss, objective.design
    if design.intercept and loss.has_curvature:
        raw = _balanced(objective, raw, weights[:, 0])
    values, slopes = loss.pieces(objective.y, raw)
    if slopes.ndim == 2:
        residual = np.einsum("il,il->i", weights, slopes)
        heights = np.einsum("il,il->i", weights, values) - residual * raw
    else:
        residual = np.einsum("il,ilj->ij", weights, slopes)
        heights = np.einsum("il,il->i", weights, values) - np.einsum("ij,ij->i", residual, raw)
    if design.intercept:
        factor = _balance(residual)
        heights *= factor
        residual *= factor if residual.ndim == 1 else factor[:, None]
    height = float(heights.sum())
    pulled = design.pull(residual)[: design.n_features].ravel()
    square = float(pulled @ pulled) / 2
    if square == 0:
        return max(height, 0.0)
    # All weights may shrink together; without a ridge only a zero square is worth anything.
    shrink = min(1.0, height / (2 * objective.C * square)) if objective.C < np.inf else 0.0
    if shrink <= 0:
        return 0.0
    return max(shrink * height - shrink**2 * objective.C * square, 0.0)


def _admissible(objective: RankedRangeObjective, weights: FloatArray) -> FloatArray:
    """Return the weights moved into the box of each row and below the total of each group."""
    weights = np.maximum(weights, 0.0)
    masses = objective.groups.masses
    # A smooth loss wants the total of its group used up; at a corner of others less may be right.
    rounds = 3 if objective.loss.has_curvature else 0
    for group in objective.groups:
        block = weights[group.rows]
        most, total = group.scale * masses[group.rows], group.scale * group.width
        for last in [False] * rounds + [True]:
            sums = block.sum(axis=1)
            block = block * np.divide(most, sums, out=np.ones_like(sums), where=sums > most)[:, None]
            reached = float(block.sum())
            if reached == 0:
                break
            block *= min(1.0, total / reached) if last else total / reached
        weights[group.rows] = block
    return weights


def _balanced(
    objective: RankedRangeObjective, raw: FloatArray, weights: FloatArray
) -> FloatArray:
    """Return raw predictions shifted by the intercept at which the weighted slopes add to zero."""
    loss, y = objective.loss, objective.y
    scale = float(weights.sum())
    for _ in range(20):
        slopes = loss.gradient(y, raw)
        if raw.ndim == 1:
            total, bend = float(weights @ slopes), float(weights @ loss.curvature(y, raw))
            if abs(total) <= 1e-15 * scale or bend <= 0:
                break
            raw = raw - np.clip(total / bend, -1.0, 1.0)
        else:
            totals = weights @ slopes
            if np.abs(totals).max() <= 1e-15 * scale:
                break
            bends = np.einsum("i,ijk->jk", weights, loss.curvature(y, raw))
            step = np.linalg.lstsq(bends, totals, rcond=1e-12)[0]
            raw = raw - np.clip(step, -1.0, 1.0)
    return raw


def _balance(residual: FloatArray) -> FloatArray:
    """Return factors, at most one, that make the residuals of one output add to zero.

    Of several outputs only those whose sums are zero up to rounding pass; else nothing does.
    """
    if residual.ndim == 2:
        sums = np.abs(residual.sum(axis=0))
        fine = (sums <= 1e-13 * np.abs(residual).sum()).all()
        return np.full(len(residual), float(fine))
    up, down = residual[residual > 0].sum(), -residual[residual < 0].sum()
    factor = np.ones(len(residual))
    if up > down:
        factor[residual > 0] = down / up
    elif down > up:
        factor[residual < 0] = up / down
    return factor
