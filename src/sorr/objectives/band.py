"""The rows near the cut of a convex objective, and a quadratic model of the others.

Rows whose loss is clearly above the threshold of their group count in full, through a quadratic
model. Rows clearly below it do not count. The rows in between are the band: an interior point
method finds what they count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray, IntArray
from sorr.objectives.design import Design
from sorr.objectives.groups import Group
from sorr.ranked import Mass, kth_largest

if TYPE_CHECKING:
    from sorr.objectives.objective import Point, RankedRangeObjective

Weigh: TypeAlias = Callable[[FloatArray], FloatArray]
"""From raw predictions to the weights of the pieces of all losses, for a lower bound."""

_MAX_TIES = 4  # times the size of the band; if more rows are near the cut, ties are broken


@dataclass(frozen=True)
class Band:
    """The problem: rows near the cut, and a quadratic for everything else.

    `omega` is the largest weight of each row, `group` the threshold it belongs to. `remaining` is
    the total weight of the rows of each threshold. It is infinite if the threshold is fixed at
    zero, because all rows of its group may count. The quadratic has a second derivative, and a
    gradient at the flat parameters `center`.
    """

    design: Design
    y: npt.NDArray[np.generic]
    loss: Any
    omega: FloatArray
    group: IntArray
    remaining: FloatArray
    hessian: FloatArray
    gradient: FloatArray
    center: FloatArray
    shape: tuple[int, ...]


def make_band(
    objective: RankedRangeObjective, point: Point, size: int
) -> tuple[Band, Callable[[FloatArray], Weigh]]:
    """Return the problem of about `size` rows, and the way from its weights to all."""
    loss, masses = objective.loss, objective.groups.masses
    top = loss.pieces(objective.y, point.raw)[0].max(axis=1)
    omega, full = np.zeros((2, objective.n_samples))
    chosen: list[IntArray] = []
    label: list[IntArray] = []
    remaining: list[float] = []
    share = size / objective.n_rows
    for group in objective.groups:
        rows = np.arange(objective.n_samples)[group.rows]
        rows = rows[masses[rows] > 0]
        omega[rows] = group.scale * masses[rows]
        if group.is_full and loss.has_curvature:
            full[rows] = omega[rows]
            continue
        near, inside, rest = _split(group, top[rows], omega[rows], share, loss.floor)
        full[rows[inside]] = omega[rows[inside]]
        label.append(np.full(len(near), len(remaining)))
        chosen.append(rows[near])
        remaining.append(rest)
    rows = np.concatenate(chosen)
    is_whole = len(rows) == objective.n_samples and len(chosen) == 1  # then in their own order
    gradient = objective.ridge_gradient(point.theta).ravel()
    hessian: FloatArray = np.diag(objective.ridge_diagonal)
    if full.any():
        residual = objective.weighted_gradient(point.raw, full)
        gradient = gradient + objective.design.pull(residual).ravel()
        if loss.has_curvature:
            hessian = objective.curvature_at(point.raw, full)
    band = Band(
        design=objective.design if is_whole else objective.design.take(rows),
        y=objective.y if is_whole else objective.y[rows],
        loss=loss,
        omega=omega[rows],
        group=np.concatenate(label),
        remaining=np.array(remaining),
        hessian=hessian,
        gradient=gradient,
        center=point.theta.ravel(),
        shape=objective.shape,
    )

    def weights_of(solved: FloatArray) -> Weigh:
        def weigh(raw: FloatArray) -> FloatArray:
            if is_whole:
                return solved
            values = loss.pieces(objective.y, raw)[0]
            weights = np.zeros(values.shape)
            weights[np.arange(len(weights)), values.argmax(axis=1)] = full
            weights[rows] = solved
            return weights

        return weigh

    return band, weights_of


def _split(
    group: Group, top: FloatArray, omega: FloatArray, share: float, floor: float
) -> tuple[IntArray, IntArray, float]:
    """Return the rows near the cut, those surely above it, and what the near ones count."""
    total, mass = group.scale * group.width, float(omega.sum())
    size = min(max(int(np.ceil(share * len(top))), 2), len(top))
    if size == len(top):
        near, inside = np.arange(size), np.arange(0)
    else:
        # Losses below the floor add nothing, so the cut lies above it.
        cut = float(omega[top > floor].sum())
        cut = cut if group.is_full else min(cut, total)
        width = mass * size / len(top)
        first = min(max(cut - width / 2, 0.0), mass - width)
        upper = np.inf
        if first > 0:
            upper = float(kth_largest(top, Mass(first), sample_weight=omega))
        lower = kth_largest(top, Mass(first + width), sample_weight=omega)
        near = np.flatnonzero((top <= upper) & (top >= lower))
        inside = np.flatnonzero(top > upper)
        if len(near) > _MAX_TIES * size:  # many ties: any way to break them is right
            order = np.argsort(-top, kind="stable")
            begin = int(np.searchsorted(np.cumsum(omega[order]), first))
            near, inside = order[begin : begin + size], order[:begin]
    rest = total - float(omega[inside].sum())
    return near, inside, np.inf if group.is_full else rest
