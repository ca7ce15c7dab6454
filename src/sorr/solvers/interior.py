r"""A primal-dual interior point method for the rows near the cut, with a quadratic for the others.

It solves

.. math:: \min_{\theta, \lambda, \xi} \; q(\theta) + \sum_g r_g \lambda_g + \sum_i \omega_i \xi_i
    \quad \text{s.t. } \xi_i \ge 0, \; a_{il} = \xi_i + \lambda_{g(i)} - s_{il}(\theta) \ge 0

with a convex quadratic q for the ridge and the rows that certainly count in full.
:math:`s_{il}` are the pieces of the loss of row i. The multipliers :math:`V_{il}` of the last
constraints are the weights of the rows, :math:`u_i = \omega_i - \sum_l V_{il}` those of the first.
If the loss has a floor, so has every :math:`\lambda_g`, with a multiplier :math:`\nu_g`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg

from sorr._typing import FloatArray
from sorr.objectives import Band

_STEP_TO_BOUNDARY = 0.99  # share of the way to the boundary that a step takes
_PATIENCE = 30  # steps without progress after which it stops: far from the minimum there are some
_TINY = 1e-300


class Interior(NamedTuple):
    """The last point, and the weights of the pieces there."""

    theta: FloatArray
    weights: FloatArray


def solve_interior(band: Band, theta: FloatArray, *, tol: float, max_iter: int = 100) -> Interior:
    """Return the minimum of a band problem, from any start, or the last point before a failure."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        state = _State(band, theta)
        last, lowest, stalled = state.point(), np.inf, 0
        for _ in range(max_iter):
            error = state.error()
            if not np.isfinite(state.theta).all() or np.isnan(error):
                break
            last = state.point()
            stalled = 0 if error < 0.9 * lowest else stalled + 1
            lowest = min(lowest, error)
            if error <= tol or stalled >= _PATIENCE:
                break
            state.step()
    return last


class _State:
    """The variables of the method, and one step of Mehrotra's predictor and corrector."""

    def __init__(self, band: Band, theta: FloatArray) -> None:
        self.band = band
        self.theta = np.array(theta, dtype=np.float64).ravel()
        self.loss = band.loss
        self.floor = float(self.loss.floor)
        self.fixed = np.isinf(band.remaining)
        self.n_thresholds = len(band.remaining)
        self.decrement = np.inf  # of the quadratic model, after the last step
        self._evaluate()
        self._center()

    def point(self) -> Interior:
        return Interior(self.theta.reshape(self.band.shape), self.V)

    def _evaluate(self) -> None:
        band = self.band
        self.raw = band.design.predict(self.theta.reshape(band.shape))
        s, slopes = self.loss.pieces(band.y, self.raw)
        self.s = np.asarray(s, dtype=np.float64)
        self.A = slopes[:, :, None] if slopes.ndim == 2 else slopes

    def _center(self) -> None:
        """Start on the central path, far enough from the boundary."""
        band, top = self.band, self.s.max(axis=1)
        self.lam = np.full(self.n_thresholds, max(self.floor, 0.0))
        for g in np.flatnonzero(~self.fixed):
            rows = np.flatnonzero(band.group == g)
            order = rows[np.argsort(-top[rows])]
            ranks = np.cumsum(band.omega[order])
            cut = min(int(np.searchsorted(ranks, band.remaining[g])), len(order) - 1)
            self.lam[g] = top[order[cut]]
        distance = np.abs(top - self.lam[band.group])
        self.mu = 0.5 * max(
            float(distance.mean()), 1e-2 * float(np.abs(top).mean()), float(np.abs(self.lam).max())
        )
        self.mu = self.mu if self.mu > 0 else 0.5
        for g in np.flatnonzero(~self.fixed):
            in_group = band.group == g
            low, high = self.lam[g] - 50 * self.mu, self.lam[g] + 50 * self.mu
            if self.floor == 0:
                low = min(1e-2 * self.mu, 0.5 * high)
            for _ in range(50):
                middle = (low + high) / 2
                total = band.omega[in_group] @ _central_share(top[in_group] - middle, self.mu)
                low, high = (middle, high) if total > band.remaining[g] else (low, middle)
            self.lam[g] = (low + high) / 2
        offset = self.lam[band.group]
        if self.s.shape[1] == 1:
            share = _central_share(top - offset, self.mu)
            self.xi = self.mu / (1 - share)
            self.a = np.maximum(self.xi + offset - top, _TINY)[:, None]
            self.V = (band.omega * share)[:, None]
        else:
            self.xi = _central_slack(self.s - offset[:, None], self.mu)
            self.a = (self.xi + offset)[:, None] - self.s
            self.V = band.omega[:, None] * self.mu / self.a
        self.u = np.maximum(band.omega - self.V.sum(axis=1), _TINY)
        self.bounded = ~self.fixed if self.floor == 0 else np.zeros_like(self.fixed)
        self.nu = np.where(self.bounded, self.mu / np.maximum(self.lam, _TINY), 0.0)
        self.nu *= band.omega.mean()

    def complementarity(self) -> float:
        bounded = (self.lam * self.nu)[self.bounded]
        return float((self.a * self.V).sum() + self.xi @ self.u + bounded.sum())

    def _gradient(self) -> FloatArray:
        band = self.band
        residual = np.einsum("il,ilj->ij", self.V, self.A)
        pulled = band.design.pull(residual[:, 0] if len(band.shape) == 1 else residual).ravel()
        return np.asarray(pulled + band.gradient + band.hessian @ (self.theta - band.center))

    def error(self) -> float:
        """Return by how much the optimality conditions are violated, relative to the value."""
        band = self.band
        self.sums = np.bincount(band.group, self.V.sum(axis=1), self.n_thresholds)
        self.open = np.where(self.fixed, 0.0, band.remaining - self.sums - self.nu)
        value = float(self.V.ravel() @ np.abs(self.s).ravel()) + _TINY
        scale = float(np.abs(self.lam).max() + np.abs(self.s).mean())
        self.g = self._gradient()
        rest = float(np.abs(self.open).sum()) * scale + self.decrement
        return (self.complementarity() + rest) / value

    def step(self) -> None:
        band, loss = self.band, self.loss
        e = self.V / self.a
        h = self.u / self.xi
        total = e.sum(axis=1)
        den = h + total
        mean = np.einsum("il,ilj->ij", e, self.A) / total[:, None]
        spread = self.A - mean[:, None, :]
        block = np.einsum("il,ilj,ilk->ijk", e, spread, spread)
        q = total * h / den
        block += q[:, None, None] * mean[:, :, None] * mean[:, None, :]
        if loss.has_curvature:
            bend = loss.curvature(band.y, self.raw)
            if bend.ndim == 1:
                block[:, 0, 0] += self.V[:, 0] * bend
            else:
                block += self.V[:, 0][:, None, None] * bend
        size, several = self.theta.size, len(band.shape) == 2
        M = np.zeros((size + self.n_thresholds, size + self.n_thresholds))
        M[:size, :size] = band.hessian + band.design.gram(block if several else block[:, 0, 0])
        coupling = q[:, None] * mean
        for g in range(self.n_thresholds):
            j = size + g
            if self.fixed[g]:
                M[j, j] = 1.0
                continue
            in_group = band.group == g
            column = coupling
            if self.n_thresholds > 1:
                column = np.where(in_group[:, None], coupling, 0.0)
            edge = band.design.pull(column if several else column[:, 0]).ravel()
            M[:size, j] = M[j, :size] = -edge
            M[j, j] = q[in_group].sum() + (self.nu[g] / self.lam[g] if self.bounded[g] else 0.0)
        solve = solve_symmetric(M)

        def direction(target: float, second: tuple[FloatArray, ...] | None) -> _Direction:
            rc = target * band.omega[:, None] - self.a * self.V
            rx = target * band.omega - self.xi * self.u
            rl = np.where(self.bounded, target * band.omega.mean() - self.lam * self.nu, 0.0)
            if second is not None:
                rc, rx, rl = rc - second[0], rx - second[1], rl - second[2]
            t = rc / self.a
            tsum = t.sum(axis=1)
            ratio = rx / self.xi
            flat = (tsum * h - total * ratio) / den
            lifted = np.einsum("il,ilj->ij", t, spread) + mean * flat[:, None]
            pulled = band.design.pull(lifted if several else lifted[:, 0]).ravel()
            rhs = np.empty(size + self.n_thresholds)
            rhs[:size] = -(self.g + pulled)
            moved = np.bincount(band.group, flat, self.n_thresholds)
            lam = np.where(self.bounded, self.lam, 1.0)
            rhs[size:] = np.where(
                self.fixed, 0.0, moved - self.open + np.where(self.bounded, rl / lam, 0.0)
            )
            solution = solve(rhs)
            dtheta, dlam = solution[:size], solution[size:]
            dlam[self.fixed] = 0.0
            raw_step = band.design.predict(dtheta.reshape(band.shape))
            ds = np.einsum(
                "ilj,ij->il", self.A, raw_step[:, None] if raw_step.ndim == 1 else raw_step
            )
            lag = dlam[band.group][:, None] - ds
            dxi = (ratio + tsum - (e * lag).sum(axis=1)) / den
            da = lag + dxi[:, None]
            dV = t - e * da
            dnu = np.where(self.bounded, (rl - self.nu * dlam) / lam, 0.0)
            return _Direction(theta=dtheta, lam=dlam, xi=dxi, a=da, V=dV, u=-dV.sum(axis=1), nu=dnu)

        count = float(band.omega.sum() * (self.s.shape[1] + 1))
        before = self.complementarity()
        predictor = direction(0.0, None)
        after = self._complementarity_after(predictor, self._reach(predictor))
        sigma = min(1.0, (max(after, 0.0) / before) ** 3)
        second = (
            predictor.a * predictor.V,
            predictor.xi * predictor.u,
            predictor.lam * predictor.nu,
        )
        chosen = direction(sigma * before / count, second)
        alpha = min(1.0, _STEP_TO_BOUNDARY * self._reach(chosen))
        if alpha < 1e-2:  # the correction failed: go towards the centre instead
            chosen = direction(0.5 * before / count, None)
            alpha = min(1.0, _STEP_TO_BOUNDARY * self._reach(chosen))
        self.decrement = abs(float(self.g @ chosen.theta)) * (1 - min(alpha, 0.999)) ** 2
        self._move(chosen, alpha)

    def _reach(self, d: _Direction) -> float:
        """Return the step to the boundary, at most a little more than one."""
        pairs = [(self.a, d.a), (self.V, d.V), (self.xi, d.xi), (self.u, d.u)]
        if self.bounded.any():
            pairs += [(self.lam[self.bounded], d.lam[self.bounded])]
            pairs += [(self.nu[self.bounded], d.nu[self.bounded])]
        reach = 1.0 / _STEP_TO_BOUNDARY
        for value, change in pairs:
            steepest = float(np.max(-change / value))
            if steepest > 0:
                reach = min(reach, 1.0 / steepest)
        return reach

    def _complementarity_after(self, d: _Direction, reach: float) -> float:
        t = min(1.0, reach)
        total = float(((self.a + t * d.a) * (self.V + t * d.V)).sum())
        total += float((self.xi + t * d.xi) @ (self.u + t * d.u))
        bounded = (self.lam + t * d.lam) * (self.nu + t * d.nu)
        return total + float(bounded[self.bounded].sum())

    def _move(self, d: _Direction, alpha: float) -> None:
        band = self.band
        self.theta = self.theta + alpha * d.theta
        self.lam = self.lam + alpha * d.lam
        self.nu = self.nu + alpha * d.nu
        self.V = np.maximum(self.V + alpha * d.V, _TINY)
        self.u = np.maximum(self.u + alpha * d.u, _TINY)
        a, xi = self.a + alpha * d.a, self.xi + alpha * d.xi
        self._evaluate()
        offset = self.lam[band.group]
        if a.shape[1] == 1:
            # The larger of the two slacks absorbs what the curvature of the loss adds.
            r = self.s[:, 0] - offset
            wide = xi >= a[:, 0]
            new_xi, new_a = a[:, 0] + r, xi - r
            take_xi = np.where(wide, new_xi > 0, new_a <= 0) & (new_xi > 0)
            self.xi = np.where(take_xi, new_xi, np.where(new_a > 0, xi, np.maximum(r, 0) + a[:, 0]))
            self.a = np.where(take_xi, a[:, 0], np.maximum(self.xi - r, _TINY))[:, None]
        else:
            self.xi = xi
            self.a = np.maximum((xi + offset)[:, None] - self.s, 1e-3 * a)


class _Direction(NamedTuple):
    theta: FloatArray
    lam: FloatArray
    xi: FloatArray
    a: FloatArray
    V: FloatArray
    u: FloatArray
    nu: FloatArray


def _central_share(excess: FloatArray, mu: float) -> FloatArray:
    """Return the share of a row on the central path, given its loss above the threshold."""
    ratio = excess / mu
    return np.asarray(0.5 + ratio / (2 * (np.sqrt(ratio * ratio + 4) + 2)))


def _central_slack(excess: FloatArray, mu: float) -> FloatArray:
    """Return the slack at which the shares of all pieces and of the bound at zero sum to one."""
    low = np.maximum(excess.max(axis=1), 0.0)
    high = low + mu * (excess.shape[1] + 1)
    for _ in range(60):
        middle = (low + high) / 2
        over = mu / middle + (mu / (middle[:, None] - excess)).sum(axis=1) > 1
        low, high = np.where(over, middle, low), np.where(over, high, middle)
    return np.asarray(high)


# -- Linear systems with a symmetric matrix that is positive definite, or nearly so ----------------


def solve_symmetric(M: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return a solver for linear systems with a symmetric matrix.

    The matrix is scaled to a unit diagonal, and each solution is refined once. If the matrix is
    not quite positive definite, the smallest of a few ridges that makes it so is added.
    """
    diagonal = np.diag(M)
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = M * scale[:, None] * scale
    if not np.isfinite(scaled).all():
        return lambda rhs: np.full_like(rhs, np.nan)
    for ridge in (1e-15, 1e-12, 1e-9, 1e-6):
        try:
            factor = linalg.cho_factor(
                scaled + ridge * np.eye(len(M)), lower=True, check_finite=False
            )
            break
        except linalg.LinAlgError:
            continue
    else:
        return lambda rhs: np.asarray(scale * np.linalg.lstsq(scaled, scale * rhs, rcond=None)[0])

    def solve(rhs: FloatArray) -> FloatArray:
        b = scale * rhs
        x = linalg.cho_solve(factor, b, check_finite=False)
        x = x + linalg.cho_solve(factor, b - scaled @ x, check_finite=False)
        return np.asarray(scale * x)

    return solve
