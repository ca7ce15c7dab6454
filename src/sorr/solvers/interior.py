r"""A primal-dual interior point method for the rows near the cut, with a quadratic for the others.

It solves

.. math:: \min_{\theta, \lambda, \xi} \; q(\theta) + \sum_g r_g \lambda_g + \sum_i \omega_i \xi_i
    \quad \text{s.t. } \xi_i \ge 0, \; a_{il} = \xi_i + \lambda_{g(i)} - s_{il}(\theta) \ge 0

with a convex quadratic q for the ridge and the rows that certainly count in full.
:math:`s_{il}` are the pieces of the loss of row i. The multipliers :math:`V_{il}` of the last
constraints are the weights of the rows, :math:`u_i = \omega_i - \sum_l V_{il}` those of the first.
If the loss has a floor, so has every :math:`\lambda_g`, with a multiplier :math:`\nu_g`.

All pairs of a constraint and its multiplier stand in two rows of one array, so that a step of the
method is a few operations on whole arrays: :math:`(a, \xi, \lambda)` above :math:`(V, u, \nu)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sorr._typing import FloatArray
from sorr.objectives import Band, Design, DesignColumns, solve_symmetric
from sorr.solvers import constants as tuned

_STEP_TO_BOUNDARY = 0.99  # share of the way to the boundary that a step takes
_MIN_STEP = 1e-2  # below it, a corrected step gives way to one towards the centre
_PATIENCE = 30  # steps without progress after which it stops: far from the minimum there are some
_TINY = 1e-300
_CENTRE_TOL = 1e-2  # error of the sum of shares at the start, relative to the sum
_CENTRE_STEPS = 20  # to that sum, at most


class Interior(NamedTuple):
    """The last point, and the weights of the pieces there."""

    theta: FloatArray
    weights: FloatArray


# -- One step of any such method: a predictor, a corrector, and how far to go ----------------------


class Move(NamedTuple):
    """A change of all variables."""

    free: FloatArray
    """Of the variables without a sign."""
    raw: FloatArray
    """Of the raw predictions."""
    pairs: FloatArray
    """Of the constraints, and of their multipliers, in two rows."""


def choose_move(
    pairs: FloatArray,
    mass: FloatArray,
    newton: Callable[[FloatArray], Move],
    *,
    least: float = 0.0,
) -> tuple[Move, float]:
    """Return Mehrotra's corrected Newton step, and the share of it that stays inside.

    Parameters
    ----------
    pairs : ndarray of shape (2, n_constraints)
        Constraints and their multipliers, all above zero.
    mass : ndarray of shape (n_constraints,)
        What each pair counts: on the central path, products are proportional to it.
    newton : callable
        From a change of the products of all pairs to the Newton step that makes it, to first
        order, and goes all the way to the other conditions of a minimum.
    least : float, default=0.0
        The sum of products to aim at, at least.
    """
    slack, multiplier = pairs
    products = slack * multiplier
    before, count = float(products.sum()), float(mass.sum())
    ahead = newton(-products)
    trial = pairs + min(1.0, _reach(pairs, ahead.pairs)) * ahead.pairs
    sigma = min(1.0, (max(float(trial[0] @ trial[1]), 0.0) / before) ** 3)
    second = ahead.pairs[0] * ahead.pairs[1]
    target = max(sigma * before, least) / count
    chosen = newton(target * mass - products - second)
    length = min(1.0, _STEP_TO_BOUNDARY * _reach(pairs, chosen.pairs))
    if length < _MIN_STEP:  # the correction failed: go towards the centre instead
        chosen = newton(0.5 * before / count * mass - products)
        length = min(1.0, _STEP_TO_BOUNDARY * _reach(pairs, chosen.pairs))
    return chosen, length


def _reach(pairs: FloatArray, change: FloatArray) -> float:
    """Return the length of a step that ends at the boundary."""
    steepest = -float((change / pairs).min())
    return 1 / steepest if steepest > 0 else np.inf


class EliminatedRows:
    r"""The pieces of all rows after their slack is eliminated from a Newton step.

    With :math:`e_{il} = V_{il} / a_{il}` and the second derivative :math:`h_i` in the slack, a step
    of the raw predictions :math:`f_i` meets the matrix of `blocks`: the pieces of a row around
    their mean slope, and the mean slope itself, softened by the slack.

    Parameters
    ----------
    e : ndarray of shape (n_samples, n_pieces)
    slopes : ndarray of shape (n_samples, n_pieces, n_outputs)
    h : ndarray of shape (n_samples,)
    """

    def __init__(self, e: FloatArray, slopes: FloatArray, h: FloatArray) -> None:
        self.e, self.slopes, self.h = e, slopes, h
        self.total = e.sum(axis=1)
        self.den = self.total + h
        self.q = self.total * h / self.den
        self.mean = np.einsum("il,ilj->ij", e, slopes) / self.total[:, None]
        self.spread = slopes - self.mean[:, None, :]

    def blocks(self) -> FloatArray:
        """Return the matrix of each row, of shape (n_samples, n_outputs, n_outputs)."""
        block = np.einsum("il,ilj,ilk->ijk", self.e, self.spread, self.spread)
        block += self.q[:, None, None] * self.mean[:, :, None] * self.mean[:, None, :]
        return np.asarray(block)

    def push(self, t: FloatArray, ratio: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what each row and each raw prediction is pushed by if nothing else moves.

        `t` are the changes of multipliers if no constraint moves, `ratio` that of the slack.
        """
        flat = (t.sum(axis=1) * self.h - self.total * ratio) / self.den
        return flat, np.einsum("il,ilj->ij", t, self.spread) + self.mean * flat[:, None]

    def slack_moves(
        self, push: FloatArray, raw: FloatArray, level: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return how the slack and the constraints move with raw predictions and thresholds."""
        xi = (push - self.total * (level - (self.mean * raw).sum(axis=1))) / self.den
        return xi, (xi + level)[:, None] - np.einsum("ilj,ij->il", self.slopes, raw)


# -- The method for a band -------------------------------------------------------------------------


class InteriorMethod:
    """The variables of the method. A run can be continued to a smaller tolerance."""

    def __init__(self, band: Band, theta: FloatArray) -> None:
        self.band, self.loss = band, band.loss
        self.theta: FloatArray = np.array(theta, dtype=np.float64).ravel()
        self.n_rows = len(band.omega)
        self.is_floored = float(self.loss.floor) == 0
        # Thresholds of groups that may count in full are fixed at zero: rows of theirs come last.
        self.ranked = np.flatnonzero(np.isfinite(band.remaining))
        self.n_thresholds = len(self.ranked)
        self.remaining = band.remaining[self.ranked]
        self.group = None
        if len(band.remaining) > 1:
            places = np.full(len(band.remaining), self.n_thresholds)
            places[self.ranked] = np.arange(self.n_thresholds)
            self.group = places[band.group]
        self.design: Design | DesignColumns = band.design
        if len(band.shape) == 1 and not band.design.is_sparse:
            self.design = band.design.as_columns()
        self.decrement = np.inf  # of the quadratic model, after the last step
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if len(band.shape) == 1 and not self.theta.any():
                self.theta = self._least_squares()
            self._evaluate(self.design.predict(self.theta.reshape(band.shape)))
            self.is_simple = self.s.shape[1] == 1 and len(band.shape) == 1
            self._center()

    def _least_squares(self) -> FloatArray:
        """Return a start that is better than zero, where all losses of a class tie.

        It is the least squares fit to the target of the rows. For classes it is doubled, which is
        Newton's first step for the average logistic loss.
        """
        band, omega = self.band, self.band.omega
        M = self.design.gram(omega)
        M[np.diag_indices_from(M)] += band.hessian.diagonal()
        theta = solve_symmetric(M)(self.design.pull(omega * band.y.astype(np.float64)))
        if not np.isfinite(theta).all():
            return self.theta
        return (tuned.CLASS_FACTOR if self.loss.monotone else 1.0) * theta

    def run(self, *, tol: float, max_iter: int = 100) -> Interior:
        """Take steps until the conditions of a minimum hold; return the last point."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            last, lowest, stalled = self._point(), np.inf, 0
            for _ in range(max_iter):
                error = self._error()
                if np.isnan(error) or not np.isfinite(self.theta).all():
                    break
                last = self._point()
                stalled = 0 if error < 0.9 * lowest else stalled + 1
                lowest = min(lowest, error)
                if error <= tol or stalled >= _PATIENCE:
                    break
                self._step()
        return last

    def _point(self) -> Interior:
        return Interior(self.theta.reshape(self.band.shape), self.weights)

    # The parts of `pairs`, as views.

    @property
    def a(self) -> FloatArray:
        """The room below the threshold and the slack, of each piece."""
        return self.pairs[0, : self.s.size].reshape(self.s.shape)

    @property
    def weights(self) -> FloatArray:
        """The weights of the pieces."""
        return self.pairs[1, : self.s.size].reshape(self.s.shape)

    @property
    def xi(self) -> FloatArray:
        """The slack of each row."""
        return self.pairs[0, self.s.size : self.s.size + self.n_rows]

    @property
    def u(self) -> FloatArray:
        """The multiplier of the slack."""
        return self.pairs[1, self.s.size : self.s.size + self.n_rows]

    def _evaluate(self, raw: FloatArray) -> None:
        self.raw = raw
        s, slopes = self.loss.pieces(self.band.y, raw)
        self.s = np.asarray(s, dtype=np.float64)
        self.slopes = slopes[:, :, None] if slopes.ndim == 2 else slopes

    def _center(self) -> None:
        """Start on the central path, far enough from the boundary."""
        band, top = self.band, self.s.max(axis=1)
        lam, members = (
            np.zeros(self.n_thresholds),
            [
                slice(None) if self.group is None else self.group == g
                for g in range(self.n_thresholds)
            ],
        )
        for g, rows in enumerate(members):
            lam[g] = _value_at_rank(top[rows], band.omega[rows], self.remaining[g])
        distance = np.abs(top - self._at_rows(lam))
        largest = float(np.abs(lam).max(initial=0.0))
        mu = 0.5 * max(float(distance.mean()), 1e-2 * float(np.abs(top).mean()), largest)
        mu = mu if mu > 0 else 0.5
        for g, rows in enumerate(members):
            lam[g] = _central_threshold(
                top[rows], band.omega[rows], self.remaining[g], lam[g], mu, self.is_floored
            )
        offset, omega = self._at_rows(lam), band.omega[:, None]
        if self.s.shape[1] == 1:
            share = _central_share(top - offset, mu)
            xi = mu / (1 - share)
            a = np.maximum(xi + offset - top, _TINY)[:, None]
            V = omega * share[:, None]
        else:
            xi = _central_slack(self.s - np.reshape(offset, (-1, 1)), mu)
            a = (xi + offset)[:, None] - self.s
            V = omega * mu / a
        u = np.maximum(band.omega - V.sum(axis=1), _TINY)
        slack, multiplier = [a.ravel(), xi], [V.ravel(), u]
        mass = [np.repeat(band.omega, self.s.shape[1]), band.omega]
        if self.is_floored:
            average = np.full(self.n_thresholds, band.omega.mean())
            slack, mass = [*slack, lam], [*mass, average]
            multiplier = [*multiplier, average * mu / np.maximum(lam, _TINY)]
        self.pairs = np.array([np.concatenate(slack), np.concatenate(multiplier)])
        self.mass = np.concatenate(mass)
        self.lam = lam
        self.nu = self.pairs[1, self.s.size + self.n_rows :]

    def _at_rows(self, lam: FloatArray) -> FloatArray:
        """Return the threshold of each row, or the one of all of them."""
        if self.group is None:
            return lam if self.n_thresholds else np.zeros(1)
        return np.asarray(np.append(lam, 0.0)[self.group])

    def _by_threshold(self, weights: FloatArray) -> FloatArray:
        """Return the sum of the weights of the rows of each threshold."""
        if self.group is None:
            return np.full(self.n_thresholds, weights.sum())
        return np.asarray(np.bincount(self.group, weights, self.n_thresholds + 1)[:-1], np.float64)

    def _error(self) -> float:
        """Return by how much the optimality conditions are violated, relative to the value."""
        V, s = self.weights, np.abs(self.s).ravel()
        size = float(np.abs(self.lam).max(initial=0.0) + s.sum() / s.size)
        unmet = self.remaining - self._by_threshold(V[:, 0] if V.shape[1] == 1 else V.sum(axis=1))
        unmet = unmet - self.nu if self.is_floored else unmet
        rest = float(np.abs(unmet).sum()) * size + self.decrement
        return (float(self.pairs[0] @ self.pairs[1]) + rest) / (float(V.ravel() @ s) + _TINY)

    def _step(self) -> None:
        slope = self.band.gradient + self.band.hessian @ (self.theta - self.band.center)
        newton = self._eliminate_simple(slope) if self.is_simple else self._eliminate(slope)
        chosen, length = choose_move(self.pairs, self.mass, newton)
        dtheta = chosen.free[: self.theta.size]
        if self.is_simple:
            ds = (self.slopes[:, 0, 0] * chosen.raw)[:, None]
        else:
            raw = chosen.raw[:, None] if chosen.raw.ndim == 1 else chosen.raw
            ds = np.einsum("ilj,ij->il", self.slopes, raw)
        descent = float(self.weights.ravel() @ ds.ravel()) + float(slope @ dtheta)
        self.decrement = abs(descent) * (1 - min(length, 0.999)) ** 2
        self._move(chosen, length, ds)

    def _eliminate_simple(self, slope: FloatArray) -> Callable[[FloatArray], Move]:
        """Return Newton steps for losses of one output and one piece.

        They are those of `_eliminate`, with all that is then one or zero left out.
        """
        n, size, design = self.n_rows, self.theta.size, self.design
        slopes, V = self.slopes[:, 0, 0], self.pairs[1, :n]
        ratios = self.pairs[1] / self.pairs[0]
        e, h = ratios[:n], ratios[n : 2 * n]
        den = e + h
        ed, hd = e / den, h / den
        q = ed * h
        pulled = q * slopes
        weight = pulled * slopes
        if self.loss.has_curvature:
            weight += V * self.loss.curvature(self.band.y, self.raw)
        M = self._bordered(design.gram(weight), pulled, q)
        solve = solve_symmetric(M)

        def newton(change: FloatArray) -> Move:
            t = change / self.pairs[0]
            own, slack = t[:n], t[n : 2 * n]
            flat = own * hd - slack * ed  # as a difference of weights, it would cancel
            weights = V + flat
            rhs = np.empty(len(M))
            rhs[:size] = -design.pull(slopes * weights) - slope
            rhs[size:] = self._threshold_side(weights, t)
            free = solve(rhs)
            raw = design.predict(free[:size])
            lag = slopes * raw - self._at_rows(free[size:])
            pairs = np.empty_like(self.pairs)
            pairs[0, n : 2 * n] = xi = (own + slack + e * lag) / den
            pairs[0, :n] = xi - lag
            pairs[1, :n] = dV = flat + q * lag
            pairs[1, n : 2 * n] = -dV
            self._fill_thresholds(pairs, free, t)
            return Move(free, raw, pairs)

        return newton

    def _eliminate(self, slope: FloatArray) -> Callable[[FloatArray], Move]:
        """Return Newton steps for any number of pieces and outputs."""
        n, count, size, shape = self.n_rows, self.s.size, self.theta.size, self.band.shape
        several, V = len(shape) == 2, self.weights
        rows = EliminatedRows(V / self.a, self.slopes, self.u / self.xi)
        block = rows.blocks()
        if self.loss.has_curvature:
            bend = self.loss.curvature(self.band.y, self.raw)
            block += V[:, :1, None] * (bend[:, None, None] if bend.ndim == 1 else bend)
        gram = self.design.gram(block if several else block[:, 0, 0])
        edge = rows.q[:, None] * rows.mean
        M = self._bordered(gram, edge if several else edge[:, 0], rows.q)
        solve = solve_symmetric(M)
        residual = np.einsum("il,ilj->ij", V, self.slopes)
        summed = V.sum(axis=1)

        def newton(change: FloatArray) -> Move:
            t = change / self.pairs[0]
            own, slack = t[:count].reshape(V.shape), t[count : count + n]
            flat, lifted = rows.push(own, slack)
            lifted = lifted + residual
            rhs = np.empty(len(M))
            rhs[:size] = -self.design.pull(lifted if several else lifted[:, 0]).ravel() - slope
            rhs[size:] = self._threshold_side(summed + flat, t)
            free = solve(rhs)
            raw = self.design.predict(free[:size].reshape(shape))
            level = np.broadcast_to(self._at_rows(free[size:]), (n,))
            flat_raw = raw if several else raw[:, None]
            xi, a = rows.slack_moves(slack + own.sum(axis=1), flat_raw, level)
            dV = own - rows.e * a
            pairs = np.empty_like(self.pairs)
            pairs[0, :count], pairs[0, count : count + n] = a.ravel(), xi
            pairs[1, :count], pairs[1, count : count + n] = dV.ravel(), -dV.sum(axis=1)
            self._fill_thresholds(pairs, free, t)
            return Move(free, raw, pairs)

        return newton

    def _bordered(self, gram: FloatArray, edge: FloatArray, q: FloatArray) -> FloatArray:
        """Return the matrix of a step in parameters and thresholds."""
        size = self.theta.size
        M = np.zeros((size + self.n_thresholds, size + self.n_thresholds))
        M[:size, :size] = self.band.hessian + gram
        for g in range(self.n_thresholds):
            own, part = edge, q
            if self.group is not None:
                inside = self.group == g
                part = np.where(inside, q, 0.0)
                own = np.where(inside if edge.ndim == 1 else inside[:, None], edge, 0.0)
            M[:size, size + g] = M[size + g, :size] = -self.design.pull(own).ravel()
            M[size + g, size + g] = part.sum()
            if self.is_floored:
                M[size + g, size + g] += self.nu[g] / self.lam[g]
        return M

    def _threshold_side(self, weights: FloatArray, t: FloatArray) -> FloatArray:
        """Return the right side of the thresholds, given the weights that rows are pushed to."""
        unmet = self._by_threshold(weights) - self.remaining
        return unmet + self.nu + t[self.s.size + self.n_rows :] if self.is_floored else unmet

    def _fill_thresholds(self, pairs: FloatArray, free: FloatArray, t: FloatArray) -> None:
        """Write the change of thresholds above zero, and of their multipliers."""
        if self.is_floored:
            start, change = self.s.size + self.n_rows, free[self.theta.size :]
            pairs[0, start:] = change
            pairs[1, start:] = t[start:] - self.nu / self.lam * change

    def _move(self, move: Move, length: float, ds: FloatArray) -> None:
        size = self.theta.size
        self.theta = self.theta + length * move.free[:size]
        self.lam = self.lam + length * move.free[size:]
        self.pairs = np.maximum(self.pairs + length * move.pairs, _TINY)
        self.nu = self.pairs[1, self.s.size + self.n_rows :]
        if not self.loss.has_curvature:
            self.s = self.s + length * ds
            return
        self._evaluate(self.design.predict(self.theta.reshape(self.band.shape)))
        # Losses with curvature have a single piece. They have risen above their tangents, and the
        # larger of the two slacks absorbs that.
        excess = self.s[:, 0] - self._at_rows(self.lam)
        n = self.n_rows
        a, xi = self.pairs[0, :n], self.pairs[0, n : 2 * n]
        room = xi - excess
        takes = (xi >= a) | (room <= 0)
        self.pairs[0, n : 2 * n] = np.where(takes, np.maximum(a + excess, _TINY), xi)
        self.pairs[0, :n] = np.where(takes, a, room)


# -- The start, on the central path ----------------------------------------------------------------


def _value_at_rank(values: FloatArray, omega: FloatArray, rank: float) -> float:
    """Return the value at which the weights of all larger ones reach a rank."""
    order = np.argsort(-values)
    place = int(np.searchsorted(np.cumsum(omega[order]), rank))
    return float(values[order[min(place, len(order) - 1)]])


def _central_threshold(
    values: FloatArray, omega: FloatArray, total: float, lam: float, mu: float, is_floored: bool
) -> float:
    """Return the threshold at which the central shares of all rows add up to a total, roughly."""
    low, high = lam - 50 * mu, lam + 50 * mu
    if is_floored:
        low = min(1e-2 * mu, 0.5 * high)
    least = low
    lam = max(lam, low)
    for _ in range(_CENTRE_STEPS):
        ratio = (values - lam) / mu
        root = np.sqrt(ratio * ratio + 4)
        excess = float(omega @ (0.5 + ratio / (2 * (root + 2)))) - total
        if abs(excess) <= _CENTRE_TOL * total or (lam == least and excess < 0):
            break
        low, high = (lam, high) if excess > 0 else (low, lam)
        lam += mu * excess / float(omega @ (1 / (root * (root + 2))))
        if not low < lam < high:
            lam = least if lam <= least == low else (low + high) / 2
    return lam


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
