"""Minima that are worth nothing: found before fitting, or told apart afterwards."""

from __future__ import annotations

import numpy as np
from scipy import optimize

from sorr._typing import FloatArray
from sorr.objectives import RankedRangeObjective
from sorr.solvers.symmetric import solve_symmetric

__all__ = ["constant_model", "constant_weights", "is_constant", "refuse_lost_class"]


def refuse_lost_class(objective: RankedRangeObjective) -> None:
    """Refuse a single class, and to drop so much that a whole class could go.

    If every row of a class fits above rank m, predicting the other classes everywhere costs
    nothing: the intercept runs away, and the infimum of the objective is that of a problem
    without the class.
    """
    if objective.classes is None:
        return
    masses = objective.groups.masses
    names, index = objective.classes
    present = np.bincount(index, masses, len(names)) > 0
    if present.sum() < 2 and objective.design.intercept:
        raise ValueError(
            f"all rows that count are of class {names[present][0]:g}; needed two classes or more: "
            "with one, the intercept runs away"
        )
    if objective.is_convex:
        return
    kept = np.zeros(len(names), dtype=bool)
    for group in objective.groups:
        weight = None if objective.groups.weight is None else masses[group.rows]
        mass = np.bincount(index[group.rows], weight, len(names))
        kept |= mass > group.m * (1 + 1e-12)
    if kept[present].all():
        return
    lost = int(np.flatnonzero(present & ~kept)[0])
    size = float(masses[index == lost].sum())
    raise ValueError(
        f"class {names[lost]:g} has a mass of {size:g}, and m allows to drop all of it: the best "
        "model would then ignore that class; lower m below it, rank within classes "
        "(groups=y), or give the class more weight"
    )


def is_constant(objective: RankedRangeObjective, raw: FloatArray, value: float) -> bool:
    """Tell whether a model of classes is no better than one that predicts the same for every row.

    A strong ridge makes for small coefficients too; but these pay.
    """
    if objective.strata is None or float(np.ptp(raw, axis=0).max()) > 1e-2:
        return False
    if len(objective.shape) == 1:
        constant = objective.value(constant_model(objective))
    else:  # near enough to the best one to tell
        alike = np.broadcast_to(raw.mean(axis=0), raw.shape)
        constant = objective.value_at(alike, np.zeros(objective.shape))
    return value >= constant * (1 - 1e-8)


def constant_model(objective: RankedRangeObjective) -> FloatArray:
    """Return the best parameters without coefficients, of an objective with one output."""
    theta = np.zeros(objective.shape)
    if objective.design.intercept:
        raw = np.zeros(objective.n_samples)

        def value(intercept: float) -> float:
            return objective.value_at(raw + intercept, theta)

        theta[-1] = optimize.minimize_scalar(value, bracket=(-1.0, 1.0), tol=1e-12).x
        if value(0.0) <= value(float(theta[-1])) * (1 + 1e-12):
            theta[-1] = 0.0
    return theta


def constant_weights(
    objective: RankedRangeObjective, theta: FloatArray, max_iter: int = 15
) -> FloatArray | None:
    r"""Return weights that prove a constant model optimal for a convex objective, if there are any.

    At a model without coefficients all losses of a class tie, so that any weights
    :math:`0 \le v \le \omega` with the right sum in each group are subgradients; it is optimal
    if some of them pull nowhere, :math:`\sum_i v_i a_i x_i = 0` and :math:`\sum_i v_i a_i = 0`. The
    even weights are projected onto these conditions by a semismooth Newton method.
    """
    design, groups = objective.design, objective.groups
    slopes = objective.loss.gradient(objective.y, objective.raw_prediction(theta))
    omega, level = np.zeros(objective.n_samples), np.zeros(objective.n_samples)
    member = np.zeros((len(groups), objective.n_samples))
    for g, group in enumerate(groups):
        omega[group.rows] = group.scale * groups.masses[group.rows]
        level[group.rows] = group.width / group.mass
        member[g, group.rows] = 1.0
    wanted = np.array([group.scale * group.width for group in groups])
    size = design.n_parameters
    eta = np.zeros(size + len(groups))
    for _ in range(max_iter):
        part = np.clip(level + slopes * design.predict(eta[:size]) + eta[size:] @ member, 0.0, 1.0)
        weight = omega * part
        error = np.append(design.pull(weight * slopes), member @ weight - wanted)
        scale = np.append(design.pull(np.abs(weight * slopes)), wanted)
        if np.abs(error).max() <= 1e-12 * max(float(np.abs(scale).max()), 1e-300):
            return weight
        active = np.where((part > 0) & (part < 1), omega, 0.0)
        M = np.zeros((len(eta), len(eta)))
        M[:size, :size] = design.gram(active * slopes**2)
        for g in range(len(groups)):
            M[:size, size + g] = M[size + g, :size] = design.pull(active * slopes * member[g])
            M[size + g, size + g] = float(active @ member[g])
        step = solve_symmetric(M)(error)
        if not np.isfinite(step).all():
            return None
        eta = eta - step
    return None
