r"""The maximum of values from which slack may be subtracted, out of a budget.

.. math:: R_K(s) = \min_{\xi \ge 0, \, \|\xi\|_p \le K} \; \max_i \; (s_i - \xi_i)
    = \max_{v \ge 0, \, \sum_i v_i = 1} \; \sum_i v_i s_i - K \|v\|_q,
    \qquad \tfrac1p + \tfrac1q = 1

The slack that is worth most lowers the largest values to a common threshold t, as if water were
poured into their mirror image: :math:`\xi_i = (s_i - t)_+`, and :math:`R_K(s) = t` is the
only number with :math:`\|(s - t)_+\|_p = K`. The weights v are its gradient:
:math:`v_i \propto \xi_i^{p-1}`. Without a budget this is the maximum; as K grows, it tends to the
average, less a constant.

Mass :math:`\omega_i` of a row is so many copies of it, each with slack of its own:
:math:`\|\xi\|_p^p = \sum_i \omega_i \xi_i^p`.
"""

from __future__ import annotations

import difflib
import math
from numbers import Real
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray

__all__ = ["NORMS", "Slack", "as_budget", "as_norm", "pour", "robust_maximum"]

NORMS = {"l1": 1, "l2": 2}


class Slack(NamedTuple):
    """The threshold, which is the value; the slack of each value; the gradient."""

    threshold: float
    slack: FloatArray
    weights: FloatArray


def robust_maximum(
    values: npt.ArrayLike,
    K: float,
    norm: str = "l2",
    *,
    sample_weight: npt.ArrayLike | None = None,
) -> Slack:
    r"""Lower the largest values by slack within a budget, and return the largest that is left.

    .. math:: R_K(s) = \min_{\xi \ge 0, \, \|\xi\| \le K} \; \max_i \; (s_i - \xi_i)

    Parameters
    ----------
    values : array-like of shape (n_samples,)
        Finite numbers.
    K : float
        The budget: how large the norm of all slack may be. Zero gives the maximum.
    norm : {"l1", "l2"}, default="l2"
        How slack is measured.
    sample_weight : array-like of shape (n_samples,), optional
        The mass of each value: a value of weight two is two copies of it.

    Returns
    -------
    Slack
        ``threshold`` is the value of the function, ``slack`` what is subtracted from each value,
        and ``weights`` its gradient in the values: not negative, of sum one. Where there are
        several subgradients, values that tie share alike.

    Examples
    --------
    >>> threshold, slack, weights = robust_maximum([5.0, 4.0, 1.0], K=3.0, norm="l1")
    >>> threshold
    3.0
    >>> slack
    array([2., 1., 0.])
    >>> weights
    array([0.5, 0.5, 0. ])
    """
    power = as_norm(norm)
    budget = as_budget(K)
    s = np.asarray(values, dtype=np.float64)
    if s.ndim != 1 or s.size == 0 or not np.isfinite(s).all():
        raise ValueError(
            f"the values have shape {s.shape}, or hold NaN or infinity; needed one finite number "
            "for each sample"
        )
    mass = np.ones_like(s)
    if sample_weight is not None:
        mass = np.asarray(sample_weight, dtype=np.float64)
        if mass.shape != s.shape or not (np.isfinite(mass) & (mass >= 0)).all() or not mass.any():
            raise ValueError(
                "sample_weight has another shape than the values, or holds negative weights, NaN "
                "or infinity, or adds up to zero; needed a finite weight for each value"
            )
    return pour(s, budget, power, mass)


def pour(s: FloatArray, budget: float, power: int, mass: FloatArray) -> Slack:
    """Return threshold, slack and weights of values whose arguments are checked.

    Newton's method on the norm of the slack as a function of the threshold, which is convex: from
    below it comes up to the root and never passes it.
    """
    counted = mass > 0
    top = float(s[counted].max())
    if budget > 0:
        total = float(mass.sum())
        t = float(mass @ np.where(counted, s, 0.0)) / total - budget / total ** (1 / power)
        t = min(t, top)
    else:
        t = top
    while True:
        above = np.where(counted, np.maximum(s - t, 0.0), 0.0)
        amount = float(mass @ above)
        if amount == 0:
            break
        if power == 1:
            step = (amount - budget) / float(mass[above > 0].sum())
        else:
            size = math.sqrt(float(mass @ above**2))
            step = (size - budget) * size / amount
        if not t + step > t:
            break
        t += step
    weights = mass * (above if power == 2 else above > 0)
    if not weights.any():
        weights = mass * (s >= t)
    slack = np.maximum(s - t, 0.0)
    return Slack(t, slack, weights / weights.sum())


def as_norm(norm: object) -> int:
    """Return the power of a norm by name, or refuse it."""
    if isinstance(norm, str) and norm in NORMS:
        return NORMS[norm]
    close = difflib.get_close_matches(str(norm).lower(), NORMS)
    hint = f"did you mean {close[0]!r}?" if close else f"needed one of {', '.join(NORMS)}"
    raise ValueError(f"norm={norm!r} is not the name of a norm; {hint}")


def as_budget(K: object) -> float:
    """Return a budget of slack as a float, or refuse it."""
    if isinstance(K, bool | np.bool_) or not isinstance(K, Real):
        raise TypeError(
            f"K={K!r} is of type {type(K).__name__}; needed a number, the budget of slack"
        )
    if not 0 <= float(K) < math.inf:
        raise ValueError(
            f"K={K} is not a budget of slack; needed 0 <= K < inf: K=0 is the maximum loss"
        )
    return float(K)
