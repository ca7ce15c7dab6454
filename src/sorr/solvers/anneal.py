r"""A soft way to drop rows: outliers fade instead of being cut, and the fading gets sharper.

With the top sum of the dropped rows smoothed,

.. math:: \phi_m^\tau(s) = \max_{0 \le p \le 1, \ \sum_i \omega_i p_i = m}
    \sum_i \omega_i \big( p_i s_i - \tfrac{\tau}{2} p_i^2 \big),
    \qquad p_i = \operatorname{clip}((s_i - \lambda) / \tau, 0, 1),

a row near the cut pulls in part. Few local minima are left at a large heat :math:`\tau`; following
one down to a small heat leads to a deep minimum of the objective more often than starting there.
"""

from __future__ import annotations

import numpy as np

from sorr._typing import FloatArray
from sorr.objectives import RankedRangeObjective
from sorr.solvers.blur import clipped_parts
from sorr.solvers.fast import MEMORY, Point, descend, evaluate, usual_loss
from sorr.solvers.memory import Memory

__all__ = ["anneal"]

_HEATS = (0.5, 0.1)  # relative to the mean loss at the start
_STEPS = 30  # at most, at each heat


class _Heated(RankedRangeObjective):
    """An objective whose dropped rows are weighed softly."""

    heat: float

    @classmethod
    def of(cls, objective: RankedRangeObjective, heat: float) -> _Heated:
        heated = cls.__new__(cls)
        heated.__dict__.update(objective.__dict__, heat=heat)
        return heated

    def smoothed(self, width: float) -> _Heated:
        return self.of(super().smoothed(width), self.heat)

    def value_and_shares_at(self, raw: FloatArray, theta: FloatArray) -> tuple[float, FloatArray]:
        total, shares = self.weigh(self.losses(raw))
        return total + self.ridge(theta), shares

    def weigh(self, losses: FloatArray) -> tuple[float, FloatArray]:
        shares = self.groups.with_ends("k").shares(losses)
        saved, masses = 0.0, self.groups.masses
        for group in self.groups:
            if group.m > 0:
                mass = masses[group.rows]
                part = _faded(losses[group.rows], mass, group.m, self.heat)
                shares[group.rows] -= (group.scale * mass * part).astype(shares.dtype)
                saved += group.scale * float(mass @ (part * part))
        return float(shares @ losses) + self.heat / 2 * saved, shares


def anneal(objective: RankedRangeObjective, point: Point, rng: np.random.Generator) -> Point:
    """Return a point of the objective reached through soft versions of it."""
    scale, memory = usual_loss(objective, point), Memory(MEMORY)
    if scale <= 0:  # every row is fitted already
        return point
    for heat in _HEATS:
        heated = _Heated.of(objective, heat * scale)
        there = descend(
            heated,
            evaluate(heated, point.theta, point.raw),
            tol=2e-4,
            max_iter=_STEPS,
            rng=rng,
            memory=memory,
        )
        point = evaluate(objective, there.theta, there.raw)
    return point


def _faded(losses: FloatArray, mass: FloatArray, m: float, heat: float) -> FloatArray:
    """Return which part of each row is dropped, a mass of m in all."""
    low, high = float(losses.min()), float(losses.max())
    return clipped_parts(losses, mass, m, (low - heat, high), heat)
