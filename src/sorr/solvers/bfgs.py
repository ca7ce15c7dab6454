"""Descent on a convex function with kinks: limited-memory BFGS that never goes up."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from sorr._typing import FloatArray
from sorr.solvers.memory import Memory

__all__ = ["lower"]

Function: TypeAlias = Callable[[FloatArray], tuple[float, FloatArray]]

_MEMORY = 30
_DECREASE, _SLOPE = 1e-4, 0.9
_TRIALS = 40
_PATIENCE = 10  # steps over which a decrease is judged: at a kink, single ones are often short


def lower(function: Function, start: FloatArray, *, max_steps: int, tol: float) -> FloatArray:
    """Return a point where the function is at most what it is at the start.

    The weak Wolfe conditions are met by bisection, which needs no second derivative: so the steps
    also get past kinks, and keep learning the shape of the function around them.

    Parameters
    ----------
    function : callable
        Returns the value and a subgradient at a point.
    start : ndarray
        Of any shape.
    max_steps : int
        How many steps to take at most.
    tol : float
        Stop when ten steps lower the function by less than this, relatively.

    References
    ----------
    A. S. Lewis, M. L. Overton, "Nonsmooth optimization via quasi-Newton methods", Mathematical
    Programming 141, 2013.
    """
    point = start
    value, slope = function(point)
    memory = Memory(_MEMORY)
    recent = deque([value], maxlen=_PATIENCE + 1)
    for _ in range(max_steps):
        direction = -memory.solve(slope)
        if not len(memory):
            direction /= max(1.0, float(np.linalg.norm(slope)))
        found = _search(function, point, value, slope, direction)
        if found is None:
            if not len(memory):
                break
            memory.clear()  # what was learnt misleads: go on from the subgradient alone
            continue
        new, value, new_slope = found
        memory.add(new - point, new_slope - slope, rtol=1e-12)
        point, slope = new, new_slope
        recent.append(value)
        if len(recent) > _PATIENCE and recent[0] - value <= tol * abs(value):
            break
    return point


def _search(
    function: Function,
    point: FloatArray,
    value: float,
    slope: FloatArray,
    direction: FloatArray,
) -> tuple[FloatArray, float, FloatArray] | None:
    """Return the next point with its value and slope, or None where no step goes down."""
    descent = float(np.vdot(slope, direction))
    if not descent < 0:
        return None
    low, high, length = 0.0, np.inf, 1.0
    lowest = None
    for _ in range(_TRIALS):
        new = point + length * direction
        new_value, new_slope = function(new)
        if not new_value < value + _DECREASE * length * descent:  # NaN is no decrease
            high = length
        else:
            low, lowest = length, (new, new_value, new_slope)
            if np.vdot(new_slope, direction) >= _SLOPE * descent:
                break
        length = 2 * length if high == np.inf else (low + high) / 2
    return lowest
