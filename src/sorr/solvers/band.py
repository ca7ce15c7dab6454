"""Quadratic steps for top sums: rows near the cut are solved for, the others are modelled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from sorr._typing import FloatArray, IntArray
from sorr.objectives import Group, RankedRangeObjective
from sorr.ranked import Mass, kth_largest
from sorr.solvers.fast import Point
from sorr.solvers.interior import Band, solve_interior

__all__ = ["Banded", "Weigh"]

Weigh: TypeAlias = Callable[[FloatArray], FloatArray]
"""From raw predictions to the weights of the pieces of all losses, for a lower bound."""

_WHOLE = 1000  # up to so many rows the interior point method takes all of them
_FEWEST = {True: 0, False: 400}  # rows in a band: of losses with curvature, and of others
_ROWS = {True: 8, False: 4}  # rows for each parameter
_TIES = 4  # times as many rows as wanted may be near the cut, before ties are broken
_INNER = 1e-9


class Banded:
    """Steps of a convex objective in which rows are ranked, or whose loss has corners.

    Rows whose loss is clearly above the threshold of their group count in full, through a
    quadratic model; those clearly below do not count; those between, the band, go into an interior
    point method. The size of the band is the price of a step.
    """

    def __init__(self, objective: RankedRangeObjective) -> None:
        self.objective = objective
        self.masses = objective.groups.masses
        self.n_rows = int(np.count_nonzero(self.masses))
        smooth = objective.loss.has_curvature
        size = max(_ROWS[smooth] * (objective.n_parameters + 1), _FEWEST[smooth])
        self.size = self.n_rows if self.n_rows <= _WHOLE else min(size, self.n_rows)

    def widen(self) -> bool:
        """Take more rows into the band; tell whether there were any more."""
        if self.size >= self.n_rows:
            return False
        self.size = min(2 * self.size, self.n_rows)
        return True

    def __call__(self, point: Point) -> tuple[FloatArray, Weigh]:
        """Return where a step leads to, and the weights of the rows there."""
        objective, loss = self.objective, self.objective.loss
        top = loss.pieces(objective.y, point.raw)[0].max(axis=1)
        omega, full = np.zeros((2, objective.n_samples))
        chosen: list[IntArray] = []
        label: list[IntArray] = []
        remaining: list[float] = []
        for group in objective.groups:
            rows = np.arange(objective.n_samples)[group.rows]
            rows = rows[self.masses[rows] > 0]
            omega[rows] = group.scale * self.masses[rows]
            if group.is_full and loss.has_curvature:
                full[rows] = omega[rows]
                continue
            near, inside, rest = self._split(group, top[rows], omega[rows])
            full[rows[inside]] = omega[rows[inside]]
            label.append(np.full(len(near), len(remaining)))
            chosen.append(rows[near])
            remaining.append(rest)
        rows = np.concatenate(chosen)
        found = solve_interior(
            Band(
                design=objective.design.take(rows),
                y=objective.y[rows],
                loss=loss,
                omega=omega[rows],
                group=np.concatenate(label),
                remaining=np.array(remaining),
                center=point.theta.ravel(),
                shape=objective.shape,
                **self._model(point, full),
            ),
            point.theta,
            tol=_INNER,
        )

        def weigh(raw: FloatArray) -> FloatArray:
            values = loss.pieces(objective.y, raw)[0]
            weights = np.zeros(values.shape)
            weights[np.arange(len(weights)), values.argmax(axis=1)] = full
            weights[rows] = found.weights
            return weights

        return found.theta, weigh

    def _split(
        self, group: Group, top: FloatArray, omega: FloatArray
    ) -> tuple[IntArray, IntArray, float]:
        """Return the rows near the cut, those surely above it, and what the near ones count."""
        total, whole = group.scale * group.width, float(omega.sum())
        size = min(max(int(np.ceil(self.size * len(top) / self.n_rows)), 2), len(top))
        if size == len(top):
            near, inside = np.arange(size), np.arange(0)
        else:
            # Losses below the floor add nothing, so that the cut lies above it.
            cut = float(omega[top > self.objective.loss.floor].sum())
            cut = cut if group.is_full else min(cut, total)
            width = whole * size / len(top)
            first = min(max(cut - width / 2, 0.0), whole - width)
            upper = np.inf
            if first > 0:
                upper = float(kth_largest(top, Mass(first), sample_weight=omega))
            lower = kth_largest(top, Mass(first + width), sample_weight=omega)
            near, inside = (
                np.flatnonzero((top <= upper) & (top >= lower)),
                np.flatnonzero(top > upper),
            )
            if len(near) > _TIES * size:  # a block of ties: any way to break it will do
                order = np.argsort(-top, kind="stable")
                begin = int(np.searchsorted(np.cumsum(omega[order]), first))
                near, inside = order[begin : begin + size], order[:begin]
        rest = total - float(omega[inside].sum())
        return near, inside, np.inf if group.is_full else rest

    def _model(self, point: Point, full: FloatArray) -> dict[str, FloatArray]:
        """Return the quadratic model of the rows that count in full, and of the ridge."""
        objective = self.objective
        gradient = objective.ridge_gradient(point.theta).ravel()
        hessian: FloatArray = np.diag(objective.ridge_diagonal)
        if full.any():
            residual = objective.weighted_gradient(point.raw, full)
            gradient = gradient + objective.design.pull(residual).ravel()
            if objective.loss.has_curvature:
                hessian = objective.curvature_at(point.raw, full)
        return {"hessian": hessian, "gradient": gradient}
