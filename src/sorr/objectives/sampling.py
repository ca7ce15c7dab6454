"""Few rows that stand for all: a sample, merged copies, one row for each class, batches.

A sample is the same for any partitions. One row for each class is enough for models without
coefficients, which tell whether the best model is a constant, or would ignore a class.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import numpy as np
import numpy.typing as npt
from scipy import optimize

from sorr._typing import FloatArray, IntArray
from sorr.objectives.design import Design
from sorr.objectives.groups import Group, Groups, Stratum
from sorr.objectives.kernels import Gathered, distinct_rows, join
from sorr.ranked import Mass, kth_largest

if TYPE_CHECKING:
    from sorr.objectives.objective import Point, RankedRangeObjective
    from sorr.objectives.partitions import PartitionedObjective

_PRECAUTION = 3.0  # standard deviations of the number of outliers in a sample
_BLOCK = 1 << 18  # entries of X that are gathered at a time: they stay in the cache
_COMPARED_ROWS = 5000  # rows that are looked at to find out whether there are copies
_MIN_CLASS_ROWS = 10  # rows of each class in a sample, if the class has as many
_CONSTANT_SPREAD = 1e-2  # of raw predictions, up to which a model may be a constant


def subsample(
    objective: RankedRangeObjective | PartitionedObjective,
    size: int,
    rng: np.random.Generator,
    *,
    precaution: float = _PRECAUTION,
) -> RankedRangeObjective:
    """Return the objective of about `size` rows, drawn from each group and class in proportion.

    Rows are drawn by their number among all rows of their group and class, so partitions do not
    matter. The ranks shrink with the mass. As a precaution more is dropped from the top:
    `precaution` standard deviations of the number of outliers in such a sample, yet never a whole
    class. The objective itself is returned if it has no more than `size` rows.
    """
    return Sample.draw(objective, size, rng).rank(precaution)


class Sample(NamedTuple):
    """Rows that were drawn from those of an objective, and how many of each group and class."""

    objective: RankedRangeObjective | PartitionedObjective
    drawn: dict[tuple[int, Any], IntArray] | None
    taken: Gathered | None

    @classmethod
    def draw(
        cls,
        objective: RankedRangeObjective | PartitionedObjective,
        size: int,
        rng: np.random.Generator,
    ) -> Self:
        """Draw about `size` rows, or take all if there are no more."""
        if objective.n_samples <= size:
            return cls(objective, None, None)
        share = size / objective.n_samples
        strata = objective.count_strata()
        drawn = {key: _draw(stratum.size, share, rng) for key, stratum in strata.items()}
        return cls(objective, drawn, objective.pick(drawn))

    def rank(self, precaution: float = _PRECAUTION) -> RankedRangeObjective:
        """Return the objective of the rows, with ranks in proportion and a precaution."""
        objective, drawn, taken = self
        if drawn is None or taken is None:
            return objective.in_memory()
        groups = []
        for g, group in enumerate(objective.groups):
            rows = np.flatnonzero(taken.group == g)
            ends = np.cumsum([len(which) for (label, _), which in drawn.items() if label == g])
            masses = [float(mass.sum()) for mass in np.split(taken.mass[rows], ends[:-1])]
            groups.append(
                _shrink(
                    group._replace(rows=rows),
                    sum(masses),
                    smallest_class=min(masses) if len(masses) > 1 else math.inf,
                    n_parameters=objective.n_features + 1,
                    is_count=not objective.is_weighted,
                    precaution=precaution,
                )
            )
        weight = taken.mass.astype(np.float64, copy=False) if objective.is_weighted else None
        return objective.with_rows(taken, Groups(tuple(groups), len(taken.y), weight))


def _draw(count: int, share: float, rng: np.random.Generator) -> IntArray:
    size = min(count, max(_MIN_CLASS_ROWS, round(share * count)))
    return np.sort(rng.choice(count, size, replace=False, shuffle=False))


def _shrink(
    group: Group,
    mass: float,
    *,
    smallest_class: float,
    n_parameters: int,
    is_count: bool,
    precaution: float,
) -> Group:
    """Return a group with its ranks in proportion to the mass of its sample, and a precaution."""
    ratio = mass / group.mass
    unit = mass / len(cast("IntArray", group.rows))
    expected = group.m * ratio
    m = expected + precaution * unit * math.sqrt(expected / unit)
    for limit in (mass, smallest_class):
        if limit > expected:
            m = min(m, (expected + limit) / 2)
    k = min(mass, max(group.k * ratio + m - expected, m + n_parameters * unit))
    if is_count:
        m, k = float(math.floor(m)), float(math.ceil(k))
    scale = group.scale * group.width / (k - m)
    return group._replace(m=m, k=k, mass=mass, scale=scale)


def without_copies(
    objective: RankedRangeObjective | PartitionedObjective, some: RankedRangeObjective
) -> RankedRangeObjective | None:
    """Return the objective without copies, if some of its rows suggest it and half are left."""
    merged = objective.merge_copies() if _seems_to_have_copies(some) else None
    return merged if merged and 2 * merged.n_samples <= objective.n_samples else None


def _seems_to_have_copies(objective: RankedRangeObjective) -> bool:
    """Guess whether at most half of the rows of an objective in memory are different.

    Equal rows have equal sums of their columns. Of many rows, some are looked at.
    """
    design, y = objective.design, objective.y
    if design.is_sparse or not design.n_features:
        return False
    some = slice(None, None, -(-objective.n_samples // _COMPARED_ROWS))
    with np.errstate(over="ignore", invalid="ignore"):
        sketch = design.X[some] @ np.cos(np.arange(1.0, design.n_features + 1))
        sketch = sketch + np.pi * (y[some] if y.ndim == 1 else y[some] @ np.arange(y.shape[1]))
    return 2 * len(np.unique(sketch)) <= len(sketch)


def merge_copies(
    objective: RankedRangeObjective | PartitionedObjective, taken: list[Gathered]
) -> RankedRangeObjective:
    """Return the objective of different rows, gathered from partitions, with merged masses."""
    rows = distinct_rows(join(taken))
    groups = tuple(
        group._replace(rows=np.flatnonzero(rows.group == g))
        for g, group in enumerate(objective.groups)
    )
    return objective.with_rows(rows, Groups(groups, len(rows.y), rows.mass.astype(np.float64)))


# -- Models without coefficients ------------------------------------------------------------------


def constant_rows(
    objective: RankedRangeObjective,
    groups: Groups,
    strata: Mapping[tuple[int, Any], Stratum],
) -> RankedRangeObjective:
    """Return an objective without features: one row for each group and class, of their mass."""
    keys = list(strata)
    label = np.array([g for g, _ in keys])
    y = np.array([name for _, name in keys], dtype=objective.y.dtype)
    own = tuple(group._replace(rows=np.flatnonzero(label == g)) for g, group in enumerate(groups))
    return objective.replace(
        design=Design(np.zeros((len(keys), 0)), intercept=objective.design.intercept),
        y=y,
        groups=Groups(own, len(keys), np.array([strata[key].mass for key in keys])),
        shape=(int(objective.design.intercept), *objective.shape[1:]),
    )


def refuse_lost_class(objective: RankedRangeObjective | PartitionedObjective) -> None:
    """Refuse a single class, and an m that is large enough to drop a whole class.

    If every row of a class fits above rank m, a model that always predicts the other classes
    costs nothing: the intercept goes to infinity, and the infimum of the objective is that of a
    problem without the class.
    """
    if objective.class_of_row is None:
        return
    masses: dict[Any, float] = {}
    kept = set()
    for (g, name), stratum in objective.count_strata().items():
        masses[name] = masses.get(name, 0.0) + stratum.mass
        if stratum.mass > objective.groups.groups[g].m * (1 + 1e-12):
            kept.add(name)
    if len(masses) < 2 and objective.has_intercept:
        raise ValueError(
            f"all rows that count are of class {next(iter(masses)):g}; needed two classes or more: "
            "with one, the intercept goes to infinity"
        )
    if objective.is_convex or len(kept) == len(masses):
        return
    lost = min(masses.keys() - kept)
    raise ValueError(
        f"class {lost:g} has a mass of {masses[lost]:g}, and m is large enough to drop all of it: "
        "the best model would then ignore that class; lower m below it, rank within classes "
        "(groups=y), or give the class more weight"
    )


def is_constant(objective: RankedRangeObjective | PartitionedObjective, point: Point) -> bool:
    """Tell whether a model of classes is no better than one that predicts the same for every row.

    A strong ridge makes coefficients small too, but these still lower the objective.
    """
    if objective.class_of_row is None or objective.spread(point) > _CONSTANT_SPREAD:
        return False
    alike, limit = objective.constant_rows(), point.value / (1 - 1e-8)
    near = objective.sketch(point).mean(axis=0, keepdims=True)  # often as good as the best one
    if len(objective.shape) > 1 or (objective.has_intercept and alike.value(near) <= limit):
        return alike.value(near) <= limit
    return alike.value(constant_model(objective)[objective.n_features :]) <= limit


def constant_model(objective: RankedRangeObjective | PartitionedObjective) -> FloatArray:
    """Return the best parameters without coefficients, of an objective of classes, one output."""
    theta, alike = np.zeros(objective.shape), objective.constant_rows()
    if len(theta) > objective.n_features:

        def value(intercept: float) -> float:
            return alike.value(np.array([intercept]))

        theta[-1] = optimize.minimize_scalar(value, bracket=(-1.0, 1.0), tol=1e-12).x
        if value(0.0) <= value(float(theta[-1])) * (1 + 1e-12):
            theta[-1] = 0.0
    return theta


# -- Batches of rows -------------------------------------------------------------------------------


class RowBatch(NamedTuple):
    """Some rows, and how much each adds to the slope of the convex problem.

    A row with a loss above the threshold of its group adds `full` times the slope of its loss in
    theta, and ``due - full`` in the threshold. Any other row adds nothing and `due`. On average
    over draws, `full` is the mass of the row times the scale of its group, and `due` is the same
    times k over the mass of the group.
    """

    X: Any
    y: npt.NDArray[Any]
    group: IntArray
    full: FloatArray
    due: FloatArray


class SampledRows:
    """The convex problem of one outer step, estimated on batches of rows.

    Rows are drawn with replacement, with probabilities proportional to their mass. So each row of
    a batch stands for the same part of the total. A batch as large as the data is all rows,
    without a draw.
    """

    def __init__(self, objective: RankedRangeObjective) -> None:
        groups = objective.groups
        self.objective = objective
        self.group = np.zeros(groups.n_samples, dtype=np.intp)
        self.mass = np.zeros(groups.n_samples)  # zero for rows in no group
        for number, group in enumerate(groups):
            self.group[group.rows] = number
            self.mass[group.rows] = groups.masses[group.rows]
        self.total = float(self.mass.sum())
        self._cumulative_mass = np.cumsum(self.mass)
        self._scale = np.array([group.scale for group in groups])
        self._quota = np.array([group.k / group.mass for group in groups])
        self._ridge = objective.ridge_diagonal.reshape(objective.shape)

    def thresholds(self, raw: FloatArray) -> FloatArray:
        """Return the best thresholds at raw predictions: the losses ranked k."""
        losses, levels = self.objective.losses(raw), []
        for group in self.objective.groups:
            k = None if group.k >= group.mass else Mass(group.k)
            levels.append(kth_largest(losses[group.rows], k, sample_weight=self.mass[group.rows]))
        return np.array(levels, dtype=np.float64)

    def batches(
        self, n_steps: int, batch_size: int, rng: np.random.Generator
    ) -> Iterator[RowBatch]:
        """Yield a batch for each step."""
        design, n = self.objective.design, len(self.mass)
        if batch_size >= n:
            X = design.X if design.is_sparse else design.X.astype(np.float64, copy=False)
            all_rows = self._batch(X, self.objective.y, self.group, self.mass)
            for _ in range(n_steps):
                design.count(2 * n)
                yield all_rows
            return
        at_once = max(1, _BLOCK // (batch_size * max(1, design.n_features)))
        for done in range(0, n_steps, at_once):
            size = batch_size * min(at_once, n_steps - done)
            drawn = rng.random(size) * self._cumulative_mass[-1]
            rows = np.searchsorted(self._cumulative_mass, drawn, side="right")
            design.count(2 * size)
            X = design.X[rows]
            if design.is_sparse and size * design.n_features <= _BLOCK:
                X = X.toarray()  # steps are dense anyway, and slicing is slow
            elif not design.is_sparse:
                X = X.astype(np.float64, copy=False)
            each = np.full(size, self.total / batch_size)
            block = self._batch(X, self.objective.y[rows], self.group[rows], each)
            y, group, full, due = block[1:]
            for start in range(0, size, batch_size):
                part = slice(start, start + batch_size)
                yield RowBatch(X[part], y[part], group[part], full[part], due[part])

    def _batch(self, X: Any, y: npt.NDArray[Any], group: IntArray, mass: FloatArray) -> RowBatch:
        full = mass * self._scale[group]
        return RowBatch(X, y, group, full, full * self._quota[group])

    def gradient(
        self, batch: RowBatch, theta: FloatArray, level: FloatArray, theta_hat: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return an estimate of the subgradient in theta and in the thresholds from a batch.

        Its mean over all draws is a subgradient of the convex problem.
        """
        d = self.objective.design.n_features
        raw = batch.X @ theta[:d]
        if self.objective.design.intercept:
            raw += theta[d]
        losses, slopes = self.objective.loss.value_and_gradient(batch.y, raw)
        count = batch.full * (losses > level[batch.group])
        slopes = slopes * (count if slopes.ndim == 1 else count[:, None])
        gradient = self._ridge * theta
        gradient -= theta_hat
        gradient[:d] += batch.X.T @ slopes
        if self.objective.design.intercept:
            gradient[d] += np.add.reduce(slopes)
        surplus = batch.due - count
        if len(level) == 1:
            return gradient, np.add.reduce(surplus, keepdims=True)
        return gradient, np.asarray(np.bincount(batch.group, surplus, len(level)), dtype=np.float64)
