"""Starting points by gradients alone: for several outputs, or for many parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from scipy.optimize import minimize

from sorr.objectives import RankedRangeObjective
from sorr.objectives.design import FloatArray
from sorr.solvers.cuts import soft_top

__all__ = ["HEATS", "first_order_starts"]

HEATS = (3.0, 1.0, 0.3, 0.1)

Function: TypeAlias = Callable[[FloatArray], tuple[float, FloatArray]]

_STEPS = 30


def first_order_starts(objective: RankedRangeObjective) -> list[FloatArray]:
    """Return starting points for any loss and any number of parameters, the best first.

    They are reached from the average-loss fit, from zero, and from an annealed fit. Where the
    objective is convex there is just one.
    """
    whole = tuple(
        group._replace(m=0.0, k=group.mass, scale=group.scale * group.width / group.mass)
        for group in objective.groups
    )
    everything = objective.with_groups(replace(objective.groups, groups=whole))
    zero = np.zeros(objective.shape)
    average = _descend(objective, everything.value_and_subgradient, zero)
    points = [average]
    if not objective.is_convex:
        points += [zero, _anneal(objective, average)]
    found = [_descend(objective, objective.value_and_subgradient, point) for point in points]
    return sorted(found, key=objective.value)


def _anneal(objective: RankedRangeObjective, theta: FloatArray) -> FloatArray:
    r"""Return where descent ends while the upper cut of the ranks is blurred less and less.

    At a heat :math:`\tau`, the part of row i that is dropped is
    :math:`p_i = \operatorname{clip}((s_i - \lambda) / \tau, 0, 1)`, a mass of m in all: the top sum
    of the dropped losses is :math:`\max_p \sum_i p_i s_i - \tau p_i^2 / 2`. Heats are in units of
    the average loss at the start.
    """
    unit = float(np.mean(objective.losses(objective.raw_prediction(theta)))) or 1.0
    for heat in HEATS:
        theta = _descend(objective, _soft_trimmed(objective, heat * unit), theta)
    return theta


def _soft_trimmed(objective: RankedRangeObjective, heat: float) -> Function:
    first = objective.convex_parts()[0]
    masses = objective.groups.masses

    def function(theta: FloatArray) -> tuple[float, FloatArray]:
        raw = objective.raw_prediction(theta)
        losses = objective.losses(raw)
        shares = first.shares(raw)
        value = objective.ridge(theta)
        for group in objective.groups:
            rows, mass = group.rows, masses[group.rows]
            left = soft_top(losses[rows][None], mass, np.array([group.m]), heat)[0]
            dropped = mass - left
            shares[rows] -= group.scale * dropped
            part = np.divide(dropped, mass, out=np.zeros_like(mass), where=mass > 0)
            value += group.scale * heat / 2 * float(dropped @ part)
        value += float(shares @ losses)
        return value, objective.subgradient_at(raw, theta, shares)

    return function


def _descend(objective: RankedRangeObjective, function: Function, start: FloatArray) -> FloatArray:
    """Take a few quasi-Newton steps, in coordinates in which columns have the same size."""
    X, shape = objective.design.X, objective.shape
    square = X.multiply(X) if objective.design.is_sparse else np.square(X)
    size = np.sqrt(np.asarray(square.mean(axis=0), dtype=np.float64)).ravel()
    size = np.append(np.where(size > 0, size, 1.0), np.ones(shape[0] - len(size)))
    scale = size.reshape(-1, *(1,) * (len(shape) - 1))

    def scaled(flat: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = function(flat.reshape(shape) / scale)
        return value, np.asarray(gradient / scale).ravel()

    flat = (start * scale).ravel()
    found = minimize(scaled, flat, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    return np.asarray(found.x.reshape(shape) / scale)
