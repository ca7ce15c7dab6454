r"""The same objective with its cuts blurred: rows near a rank count in part.

A ranked range cuts sharply: a row that passes rank m or rank k counts in full on one side of it
and not at all on the other. `annealed` softens the cut at m, so that outliers fade before they
are dropped. `blurred` softens the cut at k, so that Newton's method sees a curvature there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from sorr._typing import FloatArray
from sorr.losses import Loss
from sorr.objectives.objective import DerivedObjective, Point, RankedRangeObjective
from sorr.ranked import Mass, kth_largest

_MAX_LEVEL_STEPS = 60  # steps of Newton's method or of bisection


def annealed(objective: RankedRangeObjective, temperature: float) -> Annealed:
    r"""Return the objective with its cut at rank m softened over losses of that temperature T.

    The part :math:`p_i` of each row that is dropped grows linearly with its loss,

    .. math:: p_i = \mathrm{clip}\Big(\frac{s_i - \lambda}{T}, 0, 1\Big),

    with the level :math:`\lambda` at which a mass of m is dropped. It lies above the objective,
    and tends to it as the temperature goes to zero.
    """
    return Annealed(**objective.parts(), temperature=temperature)


def blurred(objective: RankedRangeObjective, width: float) -> Blurred:
    """Return an objective with m = 0 with its cut at rank k blurred over that width of losses.

    It lies above the objective, and tends to it as the width goes to zero.
    """
    return Blurred(**objective.parts(), width=width)


@dataclass(frozen=True, eq=False, repr=False)
class _SoftObjective(DerivedObjective):
    def value_and_shares_at(self, raw: FloatArray, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the soft objective and the shares of the rows, given the raw predictions."""
        total, shares = self.weigh(self.losses(raw))
        return total + self.ridge(theta), shares


@dataclass(frozen=True, eq=False, repr=False)
class Annealed(_SoftObjective):
    """An objective that drops rows softly, above rank m."""

    temperature: float

    def weigh(self, losses: FloatArray) -> tuple[float, FloatArray]:
        """Return the soft objective without the ridge, and the shares of the rows."""
        shares = self.groups.with_ends("k").shares(losses)
        saved, masses = 0.0, self.groups.masses
        for group in self.groups:
            if group.m > 0:
                mass, own = masses[group.rows], losses[group.rows]
                bracket = (float(own.min()) - self.temperature, float(own.max()))
                part = clip_to_mass(own, mass, group.m, bracket, self.temperature)
                shares[group.rows] -= (group.scale * mass * part).astype(shares.dtype)
                saved += group.scale * float(mass @ (part * part))
        return float(shares @ losses) + self.temperature / 2 * saved, shares


class SoftCut(NamedTuple):
    """What a blurred cut gives: the objective without the ridge, and the shares of the rows."""

    value: float
    shares: FloatArray
    moving: FloatArray
    """The full share of the rows that count in part; zero for all others."""


@dataclass(frozen=True, eq=False, repr=False)
class Blurred(_SoftObjective):
    """An objective with m = 0 whose cut at rank k is blurred."""

    width: float

    def weigh(self, losses: FloatArray) -> tuple[float, FloatArray]:
        """Return the blurred objective without the ridge, and the shares of the rows."""
        cut = self.cut(losses)
        return cut.value, cut.shares

    def newton_model(self, point: Point) -> tuple[FloatArray, FloatArray]:
        """Return the gradient and the second derivative at a point, for one output."""
        losses, slopes = self.loss.value_and_gradient(self.y, point.raw)
        cut = self.cut(losses)
        gradient = self.design.pull(cut.shares * slopes) + self.ridge_gradient(point.theta)
        bend = cut.shares * self.loss.curvature(self.y, point.raw)
        bend += cut.moving * slopes**2 / (2 * self.width)
        rows = np.flatnonzero(bend)
        hessian = self.design.take(rows).gram(bend[rows])
        hessian[np.diag_indices_from(hessian)] += self.ridge_diagonal
        for group in self.groups:
            moving = float(cut.moving[group.rows].sum())
            if moving > 0:
                weighted = np.zeros_like(slopes)
                weighted[group.rows] = cut.moving[group.rows] * slopes[group.rows]
                near = np.flatnonzero(weighted)
                mean = self.design.take(near).pull(weighted[near])
                hessian -= np.outer(mean, mean) / (2 * self.width * moving)
        return gradient, hessian

    def piece_weights(self, raw: FloatArray, theta: FloatArray, sharp: Loss) -> FloatArray:
        """Return how much each piece of a loss counts, whose corners this objective rounds."""
        shares = self.value_and_shares_at(raw, theta)[1]
        slopes = sharp.pieces(self.y, raw)[1]
        if slopes.shape[1] == 1 and sharp.has_curvature:
            return shares[:, None]
        mixed = self.loss.gradient(self.y, raw)
        if slopes.ndim == 3:
            return np.asarray(shares[:, None] * _solve_parts(slopes, mixed))
        # A slope between two pieces consists of parts of those on its side of zero.
        parts = np.clip(mixed[:, None] / np.where(slopes == 0, 1.0, slopes), 0.0, 1.0)
        return np.asarray(shares[:, None] * parts)

    def cut(self, losses: FloatArray) -> SoftCut:
        """Return what losses add up to, what each row counts, and which rows count in part."""
        shares, moving = np.zeros_like(losses), np.zeros_like(losses)
        value, masses, width = 0.0, self.groups.masses, self.width
        for group in self.groups:
            omega, s = group.scale * masses[group.rows], losses[group.rows]
            if group.is_full:
                shares[group.rows] = omega
                value += float(omega @ s)
                continue
            total = group.scale * group.width
            end = _value_at(s, masses[group.rows], group.width)
            near = np.flatnonzero(np.abs(s - end) < 2 * width)
            own = np.where(s >= end + 2 * width, omega, 0.0)
            rest = total - float(own.sum())
            bracket = (float(end) - 3 * width, float(end) + width)
            part = clip_to_mass(s[near], omega[near], rest, bracket, 2 * width)
            own[near] = omega[near] * part
            value += float(own @ s) + width * float(omega[near] @ (part * (1 - part)))
            in_part = np.zeros_like(s)
            in_part[near] = np.where((part > 0) & (part < 1), omega[near], 0.0)
            shares[group.rows], moving[group.rows] = own, in_part
        return SoftCut(value, shares, moving)


def _solve_parts(slopes: FloatArray, mixed: FloatArray) -> FloatArray:
    """Return how much of each piece is in a mixture of their slopes, for several outputs."""
    squares = slopes @ slopes.transpose(0, 2, 1)
    try:
        parts = np.linalg.solve(squares, slopes @ mixed[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:  # pieces that depend on each other mix in many ways
        parts = np.zeros(slopes.shape[:2])
        for i in np.flatnonzero(mixed.any(axis=1)):
            parts[i] = nnls(slopes[i].T, mixed[i])[0]
    return np.asarray(np.clip(parts, 0.0, 1.0))


def _value_at(values: FloatArray, masses: FloatArray, rank: float) -> float:
    """Return the value at a rank in mass; quickly, if all rows that are left have one mass."""
    held, mass = masses > 0, float(masses.max())
    if (masses[held] < mass).any():
        return float(kth_largest(values, Mass(rank), sample_weight=masses))
    left = values[held]
    lowest = left.min()
    above = left[left > lowest]  # ties, as of losses that are zero, make a partition slow
    place = len(above) - math.ceil(rank / mass)
    return float(lowest if place < 0 else np.partition(above, place)[place])


def clip_to_mass(
    values: FloatArray,
    mass: FloatArray,
    total: float,
    bracket: tuple[float, float],
    width: float,
) -> FloatArray:
    """Return parts ``clip((values - level) / width, 0, 1)`` whose mass is the total.

    Newton's method finds the level, on a falling, piecewise linear function; a step that leaves
    the bracket halves it instead.
    """
    low, high = bracket
    level = (low + high) / 2
    close = float(np.finfo(values.dtype).eps) ** 0.75 * total
    for _ in range(_MAX_LEVEL_STEPS):
        part = np.clip((values - level) * (1 / width), 0.0, 1.0)
        excess = float(mass @ part) - total
        if abs(excess) <= close:
            break
        low, high = (level, high) if excess > 0 else (low, level)
        moving = float(mass @ ((part > 0) & (part < 1)))
        level = level + width * excess / moving if moving > 0 else (low + high) / 2
        if not low < level < high:
            level = (low + high) / 2
    return np.asarray(part)
