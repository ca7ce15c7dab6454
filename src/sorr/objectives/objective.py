"""The objective: a ranked range of the losses of a linear predictor, plus a ridge.

An objective never changes. What is made from it is an objective too: its two convex parts, its
trimming majoriser, the same objective on a sample of the rows. All of these come from `replace`.

Solvers see parameters, sums and single numbers. What belongs to all rows, such as raw predictions
and shares, is a handle to them: they pass it on and never look into it. Here it is an array.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from sorr._checks import as_inverse_ridge, as_masses, check_flag
from sorr._typing import FloatArray, IntArray
from sorr.losses import Loss, get_loss, weighted_sum
from sorr.objectives import kernels
from sorr.objectives.band import Band, Weigh, make_band
from sorr.objectives.bound import lower_bound
from sorr.objectives.design import Design, as_features
from sorr.objectives.groups import Group, Groups, Rank, Stratum
from sorr.objectives.kernels import ConstantSums, ConstantWeights, Part
from sorr.objectives.sampling import constant_rows, merge_copies, subsample

_LEAST_CURVATURE = 0.2  # share of the curvature of the kept rows that a cut at rank m leaves
_OUTLIER_LOSS_RATIO = 100.0  # times the loss of the kept rows: outliers make up a mean above this
_METRIC_ROWS = 2000  # rows of a sample for a Hessian, at least
_METRIC_ROWS_PER_PARAMETER = 50  # the same for each parameter
LARGEST_TARGET = 1e150  # beyond it, a target marks something missing: its square is hardly finite
_SORTED_ROWS = 5000  # losses up to which sorting them costs nothing
_FLOAT32_ROWS = 5000  # rows from which predictions are in float32: exponentials take a fifth
FLOAT32_TARGET = 1e15  # largest target for float32: its square fits, with some room
_FLOAT32_COPY = (500_000, 10_000_000)  # entries of X between which a copy in float32 pays
_MAX_CURVATURES = 2**20  # second derivatives that are held at a time


class Point(NamedTuple):
    """Parameters, the objective there, and handles to what belongs to the rows."""

    theta: FloatArray
    raw: Any
    """Handle to the raw predictions."""
    value: float
    shares: Any
    """Handle to the shares of the rows."""
    slopes: Any = None
    """Handle to the gradients of the losses, if they are known."""


@dataclass(frozen=True)
class Ray:
    """The points of an objective from a start in a direction: no pass over the rows for each."""

    objective: RankedRangeObjective
    start: Point
    direction: FloatArray
    raw_step: FloatArray

    def at(self, t: float) -> Point:
        """Return the point at a multiple of the direction."""
        theta = self.start.theta + t * self.direction
        raw = self.start.raw + self.raw_step.dtype.type(t) * self.raw_step
        return Point(theta, raw, *self.objective.evaluate(raw, theta))

    @property
    def is_finite(self) -> bool:
        """Whether all predictions stay finite."""
        return bool(np.isfinite(self.raw_step).all())

    @property
    def largest_move(self) -> float:
        """The largest change of a prediction along the direction."""
        return float(np.abs(self.raw_step).max())


@dataclass(frozen=True, eq=False, init=False, repr=False)
class RankedRangeObjective:
    r"""The average of a ranked range of losses, plus a ridge on the coefficients.

    .. math:: F(w, b) = \sum_g \frac{n_g}{n} \frac{1}{k_g - m_g}
        \sum_{i=m_g+1}^{k_g} s^g_{[i]}(w, b) + \frac{\|w\|^2}{2 C}

    :math:`s^g_{[1]} \ge s^g_{[2]} \ge \dots` are the losses of the rows of a group, sorted, and
    :math:`n_g` is the mass of the group: its number of rows, or their total weight. Without groups
    there is a single one, of all rows. The intercept b is not penalised. `C` is that of the
    paper; scikit-learn's is ``C / (k - m)``, since it adds losses up instead of averaging them.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Finite numbers. float32 is kept; everything else becomes float64.
    y : array-like
        The target in the encoding of the loss.
    loss : str or Loss, default="logistic"
        The individual loss, by name or as an object.
    m, k : int, float, Mass, mapping or None
        The ranks to keep, ``m + 1`` to ``k``; see `sorr.ranked.RankedRange`. With groups: a
        fraction, which holds in each group, or a mapping from group to rank.
    C : float, default=1.0
        The inverse strength of the ridge. Infinity means no ridge.
    groups : array-like of shape (n_samples,), optional
        A label for each row, such as its class. Rows are ranked among those with the same label.
    sample_weight : array-like of shape (n_samples,), optional
        The mass of each row: a row of weight two is two copies of it.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    n_outputs : int, optional
        The number of raw outputs: one for each class or label. By default as many as the target
        has columns, or classes.

    Attributes
    ----------
    design : Design
        The rows, as a linear map.
    groups : Groups
        How the rows are ranked, and their masses.
    shape : tuple of int
        The shape of the parameters `theta`: (n_features + 1,) or (n_features + 1, n_outputs). The
        intercept is last.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[1.0], [2.0], [-3.0]]), np.array([1, 1, 1])
    >>> objective = RankedRangeObjective(X, y, "hinge", m=1, C=np.inf)
    >>> objective.value(np.array([0.5, 0.0]))  # losses 0.5, 0 and 2.5: the largest is dropped
    0.25
    """

    design: Design
    y: npt.NDArray[Any]
    loss: Loss
    groups: Groups
    C: float
    shape: tuple[int, ...]

    def __init__(
        self,
        X: Any,
        y: npt.ArrayLike,
        loss: str | Loss = "logistic",
        *,
        m: Rank = 0,
        k: Rank = None,
        C: float = 1.0,
        groups: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        fit_intercept: bool = True,
        n_outputs: int | None = None,
    ) -> None:
        loss = get_loss(loss)
        check_flag("fit_intercept", fit_intercept)
        if not (n_outputs is None or isinstance(n_outputs, int | np.integer)):
            raise TypeError(f"n_outputs={n_outputs!r} is not an int; needed a number of outputs")
        design = Design(as_features(X), intercept=bool(fit_intercept))
        C = as_inverse_ridge(C)
        target = np.asarray(loss.check_target(y, n_outputs), order="F")  # as raw predictions
        n = design.n_samples
        if len(target) != n:
            raise ValueError(f"X has {n} rows, y {len(target)}; needed one target for each row")
        parts = {
            "design": design,
            "y": target,
            "loss": loss,
            "groups": Groups.of(n, m, k, groups, as_masses(sample_weight, n)),
            "C": C,
            "shape": _parameter_shape(design, target, n_outputs),
        }
        for name, part in parts.items():
            object.__setattr__(self, name, part)  # the class is frozen from here on

    @property
    def is_rounded(self) -> bool:
        """Whether a Hessian comes with each point, because only a few rows curve."""
        return False

    def replace(self, **parts: Any) -> RankedRangeObjective:
        """Return the objective with some of its attributes replaced; they are not checked."""
        return DerivedObjective(**{**self.parts(), **parts})

    def parts(self) -> dict[str, Any]:
        """Return the attributes that make up the objective, by name."""
        fields = dataclasses.fields(RankedRangeObjective)
        return {field.name: getattr(self, field.name) for field in fields}

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return self.design.n_samples

    @property
    def is_weighted(self) -> bool:
        """Whether rows have masses of their own."""
        return self.groups.weight is not None

    @property
    def has_intercept(self) -> bool:
        """Whether the parameters have an intercept."""
        return self.design.intercept

    @property
    def n_features(self) -> int:
        """The number of columns of X."""
        return self.design.n_features

    @property
    def n_rows(self) -> int:
        """The number of rows that have a mass."""
        weight = self.groups.weight
        return self.n_samples if weight is None else int(np.count_nonzero(weight))

    @property
    def n_parameters(self) -> int:
        """The number of parameters, over all outputs."""
        return int(np.prod(self.shape))

    @property
    def class_of_row(self) -> npt.NDArray[Any] | None:
        """The class of each row, or None where the target has none."""
        return self.loss.class_of_row(self.y)

    @cached_property
    def classes(self) -> tuple[npt.NDArray[Any], IntArray] | None:
        """The classes, and for each row the index of its own; None where the target has none."""
        labels = self.class_of_row
        if labels is None:
            return None
        low, high = labels.min(), labels.max()
        is_high = labels == high
        if np.all(is_high | (labels == low)):  # two classes need no sorting
            names = np.array([low, high]) if low < high else np.array([low])
            return names, is_high.astype(np.intp) if low < high else np.zeros(len(labels), np.intp)
        names, index = np.unique(labels, return_inverse=True)
        return names, index

    @property
    def is_convex(self) -> bool:
        """Whether the loss is convex and no row is dropped: then a local minimum is global."""
        return self.loss.convex and all(group.m == 0 for group in self.groups)

    # -- Values and derivatives ------------------------------------------------------------------

    def raw_prediction(self, theta: FloatArray) -> FloatArray:
        """Return ``X @ coef + intercept``."""
        return self.design.predict(theta)

    def losses(self, raw: FloatArray) -> FloatArray:
        """Return the individual losses at raw predictions."""
        return self.loss.value(self.y, raw)

    def shares(self, raw: FloatArray) -> FloatArray:
        """Return how much each loss counts at raw predictions: F is their product plus the ridge.

        Tied losses share equally, so this is a subgradient of F in the losses.
        """
        return self.groups.shares(self.loss.order(self.y, raw))

    def dropped(self, raw: FloatArray) -> FloatArray:
        """Return how much of the mass of each row ranks above m; ties share equally."""
        return self.groups.dropped(self.loss.order(self.y, raw))

    def ridge(self, theta: FloatArray) -> float:
        """Return the ridge at parameters."""
        coef = theta[: self.design.n_features].ravel()
        with np.errstate(over="ignore"):  # a step to an infinite ridge is never taken
            return float(coef @ coef) / (2 * self.C)

    def ridge_gradient(self, theta: FloatArray) -> FloatArray:
        """Return the gradient of the ridge: zero in the intercept."""
        gradient = theta / theta.dtype.type(self.C)
        gradient[self.design.n_features :] = 0
        return gradient

    @cached_property
    def ridge_diagonal(self) -> npt.NDArray[np.float64]:
        """The second derivative of the ridge in each of the flattened parameters."""
        diagonal = np.full(self.shape, 1 / self.C)
        diagonal[self.design.n_features :] = 0
        return diagonal.ravel()

    def value(self, theta: FloatArray) -> float:
        """Return F."""
        return self.value_at(self.raw_prediction(theta), theta)

    def value_at(self, raw: FloatArray, theta: FloatArray) -> float:
        """Return F, given the raw predictions of the parameters."""
        return self.value_and_shares_at(raw, theta)[0]

    def value_and_shares_at(self, raw: FloatArray, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return F and the shares of the rows, given the raw predictions."""
        if self.loss.orders_by_value:
            total, shares = self.weigh(self.losses(raw))
        else:
            shares = self.shares(raw)
            total = self.loss.total(self.y, raw, shares)
        return total + self.ridge(theta), shares

    def weigh(self, losses: FloatArray) -> tuple[float, FloatArray]:
        """Return F without the ridge, and the shares of the rows, given the losses."""
        shares = self.groups.shares(losses)
        return weighted_sum(losses, shares), shares

    def evaluate(
        self, raw: FloatArray, theta: FloatArray
    ) -> tuple[float, FloatArray, FloatArray | None]:
        """Return F and the shares, and the gradients of the losses if they come nearly for free."""
        if not (raw.ndim > 1 and self.loss.orders_by_value and self.loss.has_curvature):
            return *self.value_and_shares_at(raw, theta), None
        losses, slopes = self.loss.value_and_gradient(self.y, raw)
        total, shares = self.weigh(losses)
        return total + self.ridge(theta), shares, slopes

    def value_and_subgradient(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return F and one of its subgradients (Clarke's, where F is not convex)."""
        raw = self.raw_prediction(theta)
        value, shares = self.value_and_shares_at(raw, theta)
        return value, self.subgradient_at(raw, theta, shares)

    def subgradient_at(
        self,
        raw: FloatArray,
        theta: FloatArray,
        shares: FloatArray | None = None,
        slopes: FloatArray | None = None,
    ) -> FloatArray:
        """Return the subgradient, given the raw predictions, and shares and slopes if known."""
        shares = self.shares(raw) if shares is None else shares
        if slopes is None:
            residual = self.weighted_gradient(raw, shares)
        else:
            residual = slopes * shares[:, None]
        return np.asarray(self.design.pull(residual) + self.ridge_gradient(theta))

    def weighted_gradient(self, raw: FloatArray, shares: FloatArray) -> FloatArray:
        """Return the gradient of each loss in its raw prediction, times its share."""
        gradient = self.loss.gradient(self.y, raw)
        return gradient * (shares if gradient.ndim == 1 else shares[:, None])

    def curvature_at(self, raw: FloatArray, shares: FloatArray | None = None) -> FloatArray:
        """Return the second derivative of F for fixed shares, as a matrix over flat parameters."""
        shares = self.shares(raw) if shares is None else shares
        bend = self.loss.curvature(self.y, raw)
        bend = bend * (shares if bend.ndim == 1 else shares[:, None, None])
        hessian = self.design.gram(bend)
        hessian[np.diag_indices_from(hessian)] += self.ridge_diagonal
        return hessian

    # -- What solvers ask for, at points and on the way to them ------------------------------------

    def at(self, theta: FloatArray, raw: Any = None) -> Point:
        """Return the point of parameters; a handle to their raw predictions may be given."""
        raw = self.raw_prediction(theta) if raw is None else raw
        return Point(theta, raw, *self.value_and_shares_at(raw, theta))

    def near(self, point: Point, theta: FloatArray) -> Point:
        """Return the point of parameters, with raw predictions in the precision of a point."""
        return self.at(theta, self.raw_prediction(theta).astype(point.raw.dtype, copy=False))

    def ray(self, point: Point, direction: FloatArray) -> Ray:
        """Return the points from a point in a direction, after one pass over the rows."""
        # With predictions in float32 the step can be in the precision of the rows.
        coarse = np.result_type(point.raw.dtype, self.design.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            raw_step = self.raw_prediction(direction.astype(coarse, copy=False))
            raw_step = raw_step.astype(point.raw.dtype, copy=False)
        return Ray(self, point, direction, raw_step)

    def between(self, start: Point, end: Point) -> Ray:
        """Return the points from one point to another one, and beyond."""
        return Ray(self, start, end.theta - start.theta, end.raw - start.raw)

    def gradient(self, point: Point) -> FloatArray:
        """Return the subgradient at a point."""
        return self.subgradient_at(point.raw, point.theta, point.shares, point.slopes)

    def hessian(self, point: Point) -> FloatArray:
        """Return the second derivative for fixed shares, as a matrix over flat parameters."""
        return self.curvature_at(point.raw, point.shares)

    def curvature_above(self, point: Point, cuts: FloatArray) -> FloatArray:
        """Return the second derivative of the rows that are not dropped, above a cut in each group.

        Their order is above the number of their group.
        """
        order = self.loss.order(self.y, point.raw)
        full = np.zeros(self.n_samples)
        for group, cut in zip(self.groups, cuts, strict=True):
            is_above = (order[group.rows] > cut) & (point.shares[group.rows] > 0)
            full[group.rows] = group.scale * self.groups.masses[group.rows] * is_above
        return self.curvature_at(point.raw, full)

    def hessian_with_cuts(self, point: Point, known: FloatArray | None = None) -> FloatArray:
        """Return a second derivative that includes the cuts at both ends of the range.

        The gradient jumps as rows pass a cut. On average this is a curvature: the density of
        losses at the cut times the covariance of their gradients. At rank k it adds to the
        curvature of the rows that count. At rank m it takes away from it, but so that a share of
        it stays and the matrix is positive definite. What the rows add may be `known`.
        """
        gain: Any = 0.0
        hessian = self.hessian(point) if known is None else known + np.diag(self.ridge_diagonal)
        losses, slopes = self.losses(point.raw), self.loss.gradient(self.y, point.raw)
        for group in self.groups:
            if group.k < group.mass * (1 - 1e-9):
                hessian += self._cut_curvature(group, group.k, losses, slopes)
            if group.m > 0:
                gain = gain + self._cut_curvature(group, group.m, losses, slopes)
        if isinstance(gain, float):
            return hessian
        for part in (1.0, 0.5):
            try:
                np.linalg.cholesky((1 - _LEAST_CURVATURE) * hessian - part * gain)
            except np.linalg.LinAlgError:
                continue
            return np.asarray(hessian - part * gain)
        return hessian

    def _cut_curvature(
        self, group: Group, rank: float, losses: FloatArray, slopes: FloatArray
    ) -> FloatArray:
        """Return the density of the losses of a group at a rank, times their covariance there."""
        masses = self.groups.masses
        rows = np.arange(self.n_samples)[group.rows]
        reach = max(5 * self.n_parameters, len(rows) // 40, 2)
        if self.is_weighted or len(rows) <= _SORTED_ROWS:
            order = rows[np.argsort(-losses[rows])]
            cut = int(np.searchsorted(np.cumsum(masses[order]), rank))
            near = order[max(cut - reach, 0) : cut + reach]
        else:
            ends = max(int(rank) - 1 - reach, 0), min(int(rank) - 1 + reach, len(rows) - 1)
            near = rows[np.argpartition(-losses[rows], ends)[slice(*ends)]]
        width = float(np.ptp(losses[near]))
        width = max(width, 1e-3 * float(np.abs(losses[near]).mean()), 1e-12)
        weight, slope = group.scale * masses[near] / width, slopes[near]
        design = self.design.take(near)
        if slope.ndim == 1:
            block, mean = weight * slope**2, design.pull(weight * slope)
        else:
            block = weight[:, None, None] * slope[:, :, None] * slope[:, None, :]
            mean = design.pull(weight[:, None] * slope).ravel()
        return np.asarray(design.gram(block) - np.outer(mean, mean) / weight.sum())

    def diagonal_size(self, point: Point, squares: FloatArray | None = None) -> FloatArray:
        """Return the root of the diagonal of a rough Hessian: mean squares of columns, the ridge.

        The mean squares of the columns may be given.
        """
        bend = self._mean_curvature(point) if self.loss.has_curvature else 0.25
        repeats = self.n_parameters // self.design.n_parameters
        squares = self.design.sizes**2 if squares is None else squares
        squares = np.repeat(np.where(squares > 0, squares, 1.0), repeats)
        return np.sqrt(max(bend, 1e-3) * squares + self.ridge_diagonal)

    def _mean_curvature(self, point: Point) -> float:
        """Return the mean diagonal of the second derivatives in the scores, some rows at a time.

        Each row has as many of them as there are pairs of labels.
        """
        n_outputs = 1 if point.raw.ndim == 1 else point.raw.shape[1]
        size, total = max(1, _MAX_CURVATURES // n_outputs**2), 0.0
        for begin in range(0, len(point.raw), size):
            rows = slice(begin, begin + size)
            curvature = self.loss.curvature(self.y[rows], point.raw[rows])
            if curvature.ndim > 1:
                curvature = np.einsum("ijj->i", curvature) / n_outputs
            total += float(point.shares[rows] @ curvature)
        return total

    def coarse(self, point: Point) -> Point:
        """Return the point with its raw predictions in float32, if there are many rows."""
        if self.n_samples < _FLOAT32_ROWS or np.abs(self.y).max() >= FLOAT32_TARGET:
            return point
        return self.at(point.theta, point.raw.astype(np.float32))

    def fine(self, point: Point) -> Point:
        """Return the point with its raw predictions in the precision of the parameters."""
        return point if point.raw.dtype == point.theta.dtype else self.at(point.theta)

    def typical_loss(self, point: Point) -> float:
        """Return the mean loss of all rows, unless a few dropped rows make up nearly all of it."""
        mean = float(self.losses(point.raw).mean())
        kept = self.kept_loss(point._replace(shares=np.maximum(point.shares, 0.0)))
        return min(mean, _OUTLIER_LOSS_RATIO * kept) if kept > 0 else mean

    def is_higher(self, point: Point, other: Point) -> bool:
        """Tell whether a point is above another one by more than the chance of a sample."""
        apart = point.shares * self.losses(point.raw) - other.shares * self.losses(other.raw)
        error = float(apart.std()) * math.sqrt(self.n_samples)
        return point.value - other.value > 2 * error

    def kept_loss(self, point: Point) -> float:
        """Return the objective at a point without its ridge."""
        return self.loss.total(self.y, point.raw, point.shares)

    def spread(self, point: Point) -> float:
        """Return by how much raw predictions differ between rows, at most."""
        return float(np.ptp(point.raw, axis=0).max())

    def sketch(self, point: Point) -> FloatArray:
        """Return raw predictions that tell points apart: of all rows, or of a sample."""
        return np.asarray(point.raw)

    def row_weights(self, point: Point) -> FloatArray:
        """Return the shares of all rows as an array."""
        return np.asarray(point.shares)

    @property
    def part(self) -> Part:
        """All rows as one partition."""
        return Part(
            self.design.X,
            self.y,
            *self.groups.of_rows(),
            self.design.intercept,
            classes=self.class_of_row,
        )

    def count_strata(self) -> dict[tuple[int, Any], Stratum]:
        """Return the number and the mass of the rows of each group and class."""
        return self.groups.strata(self.class_of_row)

    def pick(self, drawn: Mapping[tuple[int, Any], IntArray]) -> kernels.Gathered:
        """Return rows by their numbers among those of their group and class."""
        return kernels.pick(self.part, [drawn])

    @property
    def passes(self) -> float:
        """How often the rows were read."""
        return self.design.passes

    def metric_sample(self, rng: np.random.Generator) -> RankedRangeObjective:
        """Return the objective of rows that are enough for a Hessian: some of many, or all."""
        size = max(_METRIC_ROWS, _METRIC_ROWS_PER_PARAMETER * self.n_parameters)
        return subsample(self, size, rng, precaution=0.0) if 2 * size < self.n_samples else self

    def in_memory(self) -> RankedRangeObjective:
        """Return the objective with all rows in memory."""
        return self

    def merge_copies(self) -> RankedRangeObjective:
        """Return the objective with equal rows merged into one row of their mass."""
        return merge_copies(self, [kernels.merge_copies(self.part)])

    def clip_targets(self) -> RankedRangeObjective:
        """Return the objective with huge targets moved to where their losses are finite.

        Wherever such rows are dropped, the objective is the same.
        """
        y = self.y
        if y.ndim > 1 or y.dtype.kind != "f" or np.abs(y).max() <= LARGEST_TARGET:
            return self
        return self.replace(y=np.clip(y, -LARGEST_TARGET, LARGEST_TARGET))

    def rough(self) -> RankedRangeObjective:
        """Return an objective that is good enough to start on: of rows in float32."""
        low, high = _FLOAT32_COPY
        if self.design.is_sparse or not low <= self.n_samples * self.n_features <= high:
            return self
        return self.replace(design=self.design.astype(np.float32))

    def renewed(self, point: Point) -> Point:
        """Return a point with fresh raw predictions: those that were moved lose digits."""
        return self.at(point.theta)

    def constant_rows(self) -> RankedRangeObjective:
        """Return the objective of models without coefficients: one row for each group and class."""
        return constant_rows(self, self.groups, self.count_strata())

    def constant_sums(self, theta: FloatArray, weights: ConstantWeights) -> ConstantSums:
        """Return the sums of weights at a constant model over all rows."""
        return kernels.constant_sums(self.part, self._question(theta), weights)

    def _question(self, theta: FloatArray) -> kernels.Question:
        scale = np.array([group.scale for group in self.groups])
        return kernels.Question(theta, self.loss, scale)

    def share_weights(self, point: Point) -> FloatArray:
        """Return the shares of the rows as weights of the pieces of their losses."""
        return self.shares(point.raw)[:, None]

    def lower_bound(self, point: Point, weights: Any, enough: float = np.inf) -> float:
        """Return a lower bound of a convex objective, from any weights of its rows at a point."""
        del enough  # more of it costs nothing
        if isinstance(weights, ConstantWeights):
            part, ask = self.part, self._question(point.theta)
            found = [weights.of_block(part, ask, b) for b in kernels.blocks(part, point.theta)]
            weights = np.concatenate(found)
        elif callable(weights):
            weights = weights(point.raw)
        return lower_bound(self, point.raw, weights)

    def band(self, point: Point, size: int) -> tuple[Band, Callable[[FloatArray], Weigh]]:
        """Return the problem of about `size` rows near the cut, and the way to weights of all."""
        return make_band(self, point, size)

    def dropped_by_class(self, point: Point) -> dict[Any, float]:
        """Return the mass above rank m, by class where the target has classes, else by group."""
        dropped = self.dropped(point.raw)
        lost: dict[Any, float] = {}
        for group in self.groups:
            share = dropped[group.rows]
            if self.classes is None:
                lost[group.label] = float(share.sum())
                continue
            names, index = self.classes
            masses = np.bincount(index[group.rows], share, len(names))
            for name, mass in zip(names.tolist(), masses.tolist(), strict=True):
                lost[name] = lost.get(name, 0.0) + mass
        return lost

    def majorise(self, point: Point) -> tuple[RankedRangeObjective, Point]:
        """Return the trimming majoriser at a point, and the same point on it."""
        if self.is_convex and not self.loss.has_majoriser:
            return self, point
        majoriser = self.trimmed(point.raw)
        # It touches the objective at the point: only the shares differ.
        return majoriser, point._replace(shares=majoriser.shares(point.raw), slopes=None)

    # -- Parts and majorisers --------------------------------------------------------------------

    def convex_parts(self) -> tuple[RankedRangeObjective, RankedRangeObjective]:
        r"""Return the two convex functions whose difference is F, as in the paper's DCA.

        The first is :math:`\phi_k` with the ridge, the second :math:`\phi_m` without. If the loss
        is not convex, they are the sums of its own two parts.

        Raises
        ------
        ValueError
            If the loss is not convex and samples are ranked as well.
        """
        if self.loss.convex:
            first = self.replace(groups=self.groups.with_ends("k"))
            return first, self.replace(groups=self.groups.with_ends("m"), C=np.inf)
        if not self.groups.is_full:
            raise ValueError(
                f"{self.loss.name} is not convex, and samples are ranked (m > 0 or k < n): no two "
                "convex functions with this difference are known; keep all samples, or use trim"
            )
        convex, tangent = self.loss.convex_parts()
        return self.replace(loss=convex), self.replace(loss=tangent, C=np.inf)

    def trimmed(self, raw: FloatArray) -> RankedRangeObjective:
        r"""Return the trimming majoriser at raw predictions: convex, at least F, equal to it there.

        The rows with the largest losses lose their mass, up to m in each group. The average of
        the top k - m of the others is taken:

        .. math:: \psi_{m,k}(s) = \min_{|U| = m} \phi_{k-m}(s_{-U}) \le \phi_{k-m}(s_{-U_t}).

        A loss that is not convex is replaced by its convex majoriser.
        """
        groups = self.groups.trimmed(self.loss.order(self.y, raw))
        loss, y = self.loss.majorised(self.y, raw)
        return self.replace(groups=groups, loss=loss, y=y)

    def relaxed(self) -> RankedRangeObjective:
        """Return the average of a convex relative of the loss over all rows: a place to start."""
        return self.replace(groups=self.groups.whole(), loss=self.loss.relaxed())

    def smoothed(self, width: float) -> RankedRangeObjective:
        """Return the objective with the corners of its loss rounded over that width."""
        return self.replace(loss=self.loss.smoothed(width))

    def with_groups(self, groups: Groups) -> RankedRangeObjective:
        """Return the objective with its rows ranked and weighted in another way."""
        return self.replace(groups=groups)

    def with_ridge(self, C: float) -> RankedRangeObjective:
        """Return the objective with another ridge."""
        return self.replace(C=as_inverse_ridge(C))

    def with_rows(self, rows: kernels.Gathered, groups: Groups) -> RankedRangeObjective:
        """Return the objective of other rows, ranked as `groups` says."""
        return self.replace(design=self.design.of(rows.X), y=rows.y, groups=groups)


@dataclass(frozen=True, eq=False, repr=False)
class DerivedObjective(RankedRangeObjective):
    """An objective made from another one, given by its attributes, which were checked before."""

    def replace(self, **parts: Any) -> Self:
        """Return the objective with some of its attributes replaced; they are not checked."""
        return dataclasses.replace(self, **parts)


def _parameter_shape(design: Design, y: npt.NDArray[Any], n_outputs: int | None) -> tuple[int, ...]:
    if y.ndim == 2:
        return (design.n_parameters, y.shape[1])
    if y.dtype.kind == "f":
        return (design.n_parameters,)
    return (design.n_parameters, int(y.max()) + 1 if n_outputs is None else n_outputs)
