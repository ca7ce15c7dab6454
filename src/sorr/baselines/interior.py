r"""A primal-dual interior point method for the robust maximum loss of a linear predictor.

It solves

.. math:: \min_{\theta, t, \xi} \; t + \frac{\|w\|^2}{2C}
    \quad \text{s.t. } a_{il} = \xi_i + t - s_{il}(\theta) \ge 0, \; \xi_i \ge 0, \;
    \frac1p \sum_i \omega_i \xi_i^p = \frac{K^p}{p}

where :math:`s_{il}` are the pieces of the loss of row i and :math:`\omega_i` is its mass. The
multipliers are :math:`V_{il}` for the first constraints, whose sums over l are the weights of the
rows, :math:`u_i` for the second and :math:`\mu` for the budget, which is always used up. For p = 2
the second constraints go without saying. A row of mass two takes the steps of two copies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorr._typing import FloatArray
from sorr.objectives import RankedRangeObjective
from sorr.solvers.symmetric import solve_symmetric

__all__ = ["Interior"]

_SHY = 0.99  # how far to the boundary a step goes
_KEPT = 0.1  # of the room of a row that curves may not take
_RISE = 0.5  # of the fall of the threshold, and of all products, that curves may undo


class Interior:
    """The variables of the method, and one step of a predictor and a corrector.

    Parameters
    ----------
    objective : RankedRangeObjective
        The loss, the rows and the ridge.
    mass : ndarray of shape (n_samples,)
    budget : float
        K, above zero.
    power : {1, 2}
        p.
    """

    def __init__(
        self, objective: RankedRangeObjective, mass: FloatArray, budget: float, power: int
    ) -> None:
        self.objective, self.mass, self.budget, self.power = objective, mass, budget, power
        self.theta = np.zeros(self.objective.shape)
        self.raw = self.objective.raw_prediction(self.theta)
        s = self._pieces(self.raw)[0]
        total, pieces = float(mass.sum()), s.shape[1]
        self.products = np.inf  # before the last step
        self.is_bounded = power == 1  # whether slack could become negative otherwise
        self.count = total * (pieces + self.is_bounded)
        # On the central path, but for the gradient: equal slack, and as far off as losses are high.
        even = budget / total ** (1 / power)
        distance = max(float(s.max()), even)
        self.xi = np.full(len(mass), even)
        self.t = float(s.max()) - even + distance
        self.V = np.repeat((mass / (total * pieces))[:, None], pieces, axis=1)
        self.u = mass * (distance / (total * pieces * even) if self.is_bounded else 0.0)
        self.mu = (1 / total + float(self.u[0] / mass[0])) / even ** (power - 1)

    def _pieces(self, raw: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the pieces of the losses, the floor being one, and their slopes in each output."""
        loss, y = self.objective.loss, self.objective.y
        s, slopes = loss.pieces(y, raw)
        slopes = slopes[:, :, None] if slopes.ndim == 2 else slopes
        if loss.floor == 0:
            s = np.append(s, np.zeros((len(s), 1)), axis=1)
            slopes = np.append(slopes, np.zeros_like(slopes[:, :1]), axis=1)
        return s, slopes

    def _left(self) -> float:
        """Return what is left of the budget, negative if too much was spent, up to its slope."""
        if self.power == 1:
            return self.budget - float(self.mass @ self.xi)
        size = float(np.sqrt(self.mass @ self.xi**2))
        return size * (self.budget - size)

    def _pull(self, residual: FloatArray) -> FloatArray:
        """Return the sum of the rows times residuals of each output, flat."""
        several = len(self.objective.shape) == 2
        return self.objective.design.pull(residual if several else residual[:, 0]).ravel()

    def step(self, least: float) -> bool:
        """Take a step; tell whether there was one.

        Products are not made smaller in all than `least`: while the minimum is far, they would
        close the ways to it.
        """
        objective, mass = self.objective, self.mass
        s, A = self._pieces(self.raw)
        a = (self.xi + self.t)[:, None] - s
        self.products = self._products(a)
        if not self.products > 0:
            return False
        left = self._left()
        slope, bend = mass * self.xi ** (self.power - 1), mass * (self.power - 1.0)  # of the budget
        h = self.u / self.xi if self.is_bounded else self.u
        e = self.V / a
        E = e.sum(axis=1)
        mean = np.einsum("il,ilj->ij", e, A) / E[:, None]
        spread = A - mean[:, None, :]
        D = self.mu * bend + h + E
        q = E * (self.mu * bend + h) / D
        block = np.einsum("il,ilj,ilk->ijk", e, spread, spread)
        block += q[:, None, None] * mean[:, :, None] * mean[:, None, :]
        if objective.loss.has_curvature:
            curvature = objective.loss.curvature(objective.y, self.raw)
            curvature = curvature[:, None, None] if curvature.ndim == 1 else curvature
            block += self.V[:, :1, None] * curvature
        several = len(objective.shape) == 2
        size = self.theta.size
        M = objective.design.gram(block if several else block[:, 0, 0])
        M[np.arange(size), np.arange(size)] += objective.ridge_diagonal
        # The threshold and the multiplier of the budget go first, and together: each by itself
        # may be next to undetermined.
        share = slope * E / D
        edges = np.column_stack([-self._pull(q[:, None] * mean), self._pull(share[:, None] * mean)])
        off = -float(share.sum())
        first, last = float(q.sum()), -float(slope @ (slope / D))
        inverse = np.array([[last, -off], [-off, first]]) / np.float64(first * last - off * off)
        solve = solve_symmetric(M - edges @ inverse @ edges.T)
        ridge = objective.ridge_gradient(self.theta).ravel()

        def direction(target: float, second: _Direction | None) -> _Direction:
            """Return the Newton step towards products of that size, for each unit of mass."""
            products = target * mass[:, None]
            to_V = (products if second is None else products - second.a * second.V) / a
            to_u = np.zeros_like(mass)
            if self.is_bounded:
                product = target * mass
                to_u = (product if second is None else product - second.xi * second.u) / self.xi
            rho = to_V.sum(axis=1) + to_u - self.mu * slope
            lifted = (E * rho / D)[:, None] * mean - np.einsum("il,ilj->ij", to_V, A)
            rest = np.array(
                [
                    float(to_V.sum()) - 1 - float((E * rho / D).sum()),
                    left - float(slope @ (rho / D)),
                ]
            )
            found = solve(self._pull(lifted) - ridge - edges @ (inverse @ rest))
            t, mu = (float(x) for x in inverse @ (rest - edges.T @ found))
            theta = found.reshape(self.theta.shape)
            raw = objective.raw_prediction(theta)
            flat = raw[:, None] if raw.ndim == 1 else raw
            xi = (rho - mu * slope - E * (t - (mean * flat).sum(axis=1))) / D
            da = (xi + t)[:, None] - np.einsum("ilj,ij->il", A, flat)
            return _Direction(
                theta, raw, t, xi, da, to_V - self.V - e * da, to_u - self.u - h * xi, mu
            )

        now = self.products / self.count
        ahead = direction(0.0, None)
        reach = min(1.0, self._reach(ahead, a))
        then = self._products(a, ahead, reach) / self.count
        sigma = min(max(then / now, 0.0) ** 3, 1.0)
        chosen = direction(max(sigma * now, least / self.count), ahead)
        if _SHY * self._reach(chosen, a) < 1e-2:  # the correction misled: go towards the centre
            chosen = direction(0.5 * now, None)
        return self._move(chosen, a)

    def _products(self, a: FloatArray, d: _Direction | None = None, length: float = 0.0) -> float:
        """Return the sum of constraints times multipliers, here or further on."""
        a, V, xi, u = a, self.V, self.xi, self.u
        if d is not None:
            a, V = a + length * d.a, V + length * d.V
            xi, u = xi + length * d.xi, u + length * d.u
        return float((a * V).sum()) + (float(xi @ u) if self.is_bounded else 0.0)

    def _reach(self, d: _Direction, a: FloatArray) -> float:
        """Return how far a direction leads until a constraint or a multiplier is zero."""
        pairs = [(a, d.a), (self.V, d.V)]
        if self.is_bounded:
            pairs += [(self.xi, d.xi), (self.u, d.u)]
        steepest = max(float(np.max(-change / value)) for value, change in pairs)
        return 1 / steepest if steepest > 0 else np.inf

    def _move(self, d: _Direction, a: FloatArray) -> bool:
        """Go along a direction while everything stays inside.

        What losses curve by is taken from the room of their row; where that is too little, the
        threshold rises, which moves away from the minimum: by no more than is left to gain.
        """
        length = min(1.0, _SHY * self._reach(d, a))
        if not np.isfinite(d.theta).all() or not length > 0:
            return False
        for _ in range(60):
            raw = self.raw + length * d.raw
            level = self.xi + length * d.xi + self.t + length * d.t
            short = _KEPT * (a + length * d.a) - (level[:, None] - self._pieces(raw)[0])
            rise = max(float(short.max()), 0.0)
            if rise <= _RISE * (self.products + length * max(-d.t, 0.0)):
                break
            length *= 0.7
        else:
            return False
        self.theta = self.theta + length * d.theta
        self.raw = raw
        self.t += length * d.t + rise
        self.xi = self.xi + length * d.xi
        self.V = self.V + length * d.V
        self.u = self.u + length * d.u
        self.mu += length * d.mu
        return True


class _Direction(NamedTuple):
    theta: FloatArray
    raw: FloatArray
    t: float
    xi: FloatArray
    a: FloatArray
    V: FloatArray
    u: FloatArray
    mu: float
