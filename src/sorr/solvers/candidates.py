"""Many candidates at once: batched concentration steps, and the search for starting points.

For losses with one output and few parameters, a candidate is a row of a matrix, with its own ranks
and its own ridge. A step of all of them is a few products of matrices, so that a search from many
starts and a grid of problems are the same thing. Other problems have starts by gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sorr._checks import as_count, as_generator
from sorr._typing import FloatArray, IntArray
from sorr.objectives import Frame, Point, RankedRangeObjective, subsample
from sorr.ranked import Ranking
from sorr.solvers.descent import anneal, descend
from sorr.solvers.solution import Progress, Step, clip_targets

_CHUNK = 120_000  # raw predictions that are held at a time: they stay in the cache
_DAMPING = 1e-6  # of Newton steps, relative to the diagonal of the Hessian
_TINY = np.float32(1e-20)  # least width of a corner, where the objective is zero
_SOLVED = 1e-5  # relative change of all objectives at which steps stop; float32 has 7 digits
_RETREAT = 0.25  # factor of a step that has raised the objective
_SMALLEST_BLUR = 1e-3  # least width of a blurred end, in typical losses
_HESSIAN_ROWS = 1000  # rows that Hessians are summed over, at least: they only set directions
_HESSIAN_ROWS_PER_PARAMETER = 20
_ROUNDING = 1e-9  # relative differences of masses below this are rounding errors
_SINGLE_REACH = 1e4  # largest number, in typical ones, for which steps are in float32

_MAX_PARAMETERS = 64  # up to which Newton steps of many candidates are cheap
_MIN_SAMPLE, _MAX_SAMPLE = 1000, 8000  # rows of a sample
_MAX_ALL_ROWS = 5000  # rows up to which no sample is drawn if Newton steps are cheap
_SAME_VALUE, _SAME_POINT = 0.1, 0.05  # relative distances of solutions that lead to one minimum
_SCALES = (1.0, 0.5, 0.2, 0.1)  # multiples of a fit by another loss that are tried

# The numbers of the search were chosen among about 45 variants, on `fresh_problems(11)` and
# `fresh_problems(14)` of the benchmarks and on Monk halves, from one or two solver seeds each. Mean
# excess over the best known objective: noise of 0.3 for all children 5e-3, of 0.15 3e-3 (logistic);
# 96 candidates and 16 survivors 2.5e-2, 256 and 32 1.5e-2 (hinge). How far these differences are
# chance was not measured. Wide corners in the first steps matter on Monk halves with m = 45.
_FIRST_ROWS, _FIRST_ROWS_PER_PARAMETER = 600, 8  # rows of the first steps, at least
_N_STARTS = 96  # random candidates
_N_SAMPLED_STARTS = 64  # random candidates on a sample of the rows, which have no children
_SURVIVORS = 28  # of them after the first steps
_ROUNDS = 3  # of children, and of new random candidates where all rows are used from the beginning
_PARENTS = 8  # distinct candidates that have children
_CHILDREN, _MIN_CHILDREN, _CHILD_RAW = 64, 16, 64_000  # in a round; raw predictions of all
_NOISE = (0.2, 0.05)  # of children, relative to their size: the largest and the smallest
_HITS = 10  # candidates with the lowest objective after which the search ends
_SAME_LOWEST = {True: 2e-3, False: 1e-2}  # relative distance of those; without corners, and with
MAX_TINY_ROWS = 30  # rows up to which all that drop different rows are polished
_FINALISTS = 6  # candidates that take the last steps
_COMPARED = 100  # candidates among which distinct ones are looked for


# -- Batched steps ---------------------------------------------------------------------------------


class Stage(NamedTuple):
    """How much one step smooths."""

    band: float  # blurred lower end, as a share of the ranks on its narrower side
    corner: float  # least distance from a corner, in typical losses
    temperature: float = 0.0  # blurred upper end, in typical losses; sharp at zero


class Problems(NamedTuple):
    """The problem of each candidate: its ranks in every group, and its ridge.

    All but the ridge have shape (n_candidates, n_groups).
    """

    m: FloatArray  # ranks in mass
    k: FloatArray
    scale: FloatArray  # factor of the losses between the ranks
    ridge: FloatArray

    def take(self, which: Any) -> Problems:
        """Return the problems of some of the candidates."""
        return Problems(*(array[which] for array in self))


class Batch:
    """The rows of an objective for many candidates at a time.

    The loss needs one output. Candidates are the rows of a matrix `T`, in the coordinates of
    `frame`. The frame holds the rows ordered by group, without those of no mass; `columns` are
    the positions of each group, `y` and `mass` the targets and masses.
    """

    def __init__(self, objective: RankedRangeObjective) -> None:
        groups = objective.groups
        all_rows = np.arange(objective.n_samples)
        rows = [all_rows[group.rows] for group in groups]
        if groups.weight is not None:
            rows = [index[groups.weight[index] > 0] for index in rows]
        ends = np.cumsum([0, *map(len, rows)]).tolist()
        self.index = np.concatenate(rows)
        weight: FloatArray | None = groups.weight
        self.mass = None if weight is None else weight[self.index]
        self.objective = objective
        y = objective.y[self.index]
        self.frame = Frame.of(objective.design.take(self.index), y, objective.loss)
        self.y = y - self.frame.level
        self.columns = [slice(*pair) for pair in pairwise(ends)]
        self._ends = np.array([(group.m, group.k, group.scale) for group in groups]).T
        self._totals = np.array([group.mass for group in groups])
        self._chunk = max(1, _CHUNK // len(self.y))
        self._tiled: dict[Any, FloatArray] = {}

    def is_plain(self, problems: Problems) -> bool:
        """Return whether there are no corners and no cuts at rank k that stages would smooth."""
        keeps_last = (problems.k >= self._totals * (1 - _ROUNDING)).all()
        return self.objective.loss.has_curvature and bool(keeps_last)

    def repeat_problem(self, n_candidates: int) -> Problems:
        """Return the problem of the objective once for each candidate."""
        m, k, scale = np.repeat(self._ends[:, None, :], n_candidates, axis=1)
        return Problems(m, k, scale, np.full(n_candidates, 1 / self.objective.C))

    def values(self, T: FloatArray, problems: Problems | None = None) -> FloatArray:
        """Return the objective of each candidate, by default all for the same problem."""
        problems = self.repeat_problem(len(T)) if problems is None else problems
        values = np.empty(len(T))
        for chunk in self.chunks(len(T)):
            losses, part = self.losses(T[chunk] @ self.frame.rows.T), problems.take(chunk)
            values[chunk] = self._value(T[chunk], part, self._rank(losses, part))
        return values

    def dropped(self, T: FloatArray) -> FloatArray:
        """Return the mass of each row that ranks above m, for each of a few candidates."""
        problems = self.repeat_problem(len(T))
        losses = self.losses(T @ self.frame.rows.T)
        return np.hstack([ranking.dropped for ranking in self._rank(losses, problems)])

    def descend(
        self,
        T: FloatArray,
        stages: Sequence[Stage],
        problems: Problems | None = None,
        *,
        n_annealed: int = 0,
    ) -> tuple[FloatArray, FloatArray]:
        """Take a step for each stage; return the best point of each candidate and its objective.

        No candidate gets worse, up to the precision of the steps. By default all have the same
        problem. Temperatures apply to the first `n_annealed` candidates.
        """
        problems = self.repeat_problem(len(T)) if problems is None else problems
        best, values = np.array(T, dtype=np.float64), np.empty(len(T))
        for chunk in self.chunks(len(T)):
            n_hot = min(max(n_annealed - chunk.start, 0), self._chunk)
            start, part = best[chunk], problems.take(chunk)
            best[chunk], values[chunk] = self._run(start, part, stages, n_hot)
        return best, values

    def losses(self, raw: FloatArray) -> FloatArray:
        """Return the losses at the raw predictions of a chunk of candidates."""
        return self.objective.loss.value(self._targets(raw), raw.ravel()).reshape(raw.shape)

    def _targets(self, raw: FloatArray) -> FloatArray:
        """Return the target of each raw prediction of a chunk."""
        tiled = self._tiled.get(raw.dtype)
        if tiled is None or tiled.size < raw.size:
            tiled = self._tiled[raw.dtype] = np.tile(self.y.astype(raw.dtype), len(raw))
        return tiled[: raw.size]

    def chunks(self, n_candidates: int) -> list[slice]:
        """Return slices of candidates that are computed together."""
        return [slice(i, i + self._chunk) for i in range(0, n_candidates, self._chunk)]

    def _run(
        self, T: FloatArray, problems: Problems, stages: Sequence[Stage], n_hot: int
    ) -> tuple[FloatArray, FloatArray]:
        """Take the steps of `descend` for one chunk.

        After a step that has raised the objective, a shorter one is tried instead of a new one.
        """
        rows, loss = self._rows, self.objective.loss
        best, lowest = T, np.full(len(T), np.inf)
        base, reached = T, lowest
        step, length = np.zeros_like(T), np.ones(len(T))
        n_warm = sum(stage.temperature > 0 for stage in stages) if n_hot else 0
        is_plain = self.is_plain(problems)
        for number, stage in enumerate((*stages, None)):
            raw = T.astype(rows.dtype) @ rows.T
            rankings = self._rank(self.losses(raw), problems)
            value = self._value(T, problems, rankings)
            better = value < lowest
            best, lowest = np.where(better[:, None], T, best), np.where(better, value, lowest)
            is_cold = is_plain and number > n_warm  # from here on, stages are the same
            if stage is None or (is_cold and np.all(np.abs(value - reached) <= _SOLVED * reached)):
                break
            moves = value < reached
            hot = slice(0, n_hot if stage.temperature else 0)
            moves[hot] = True
            base, reached = np.where(moves[:, None], T, base), np.where(moves, value, reached)
            reached[hot] = np.inf  # an annealed candidate may rise
            unit = np.minimum(value, self.frame.unit)
            width = np.maximum((stage.corner * unit).astype(raw.dtype), _TINY)
            if not loss.has_curvature:
                width = np.repeat(width, raw.shape[1])
            model = loss.step_model(self._targets(raw), raw.ravel(), width)
            slope, bend = (part.reshape(raw.shape) for part in model)
            new = self._newton_step(T, problems, stage, rankings, slope, bend, unit, hot)
            step = np.where(moves[:, None], new, step)
            length = np.where(moves, 1.0, _RETREAT * length)
            T = base + length[:, None] * step
        return best, lowest

    def _rank(self, losses: FloatArray, problems: Problems) -> list[Ranking]:
        """Return the rankings of the rows of each group."""
        return [
            Ranking(
                losses[:, columns],
                None if self.mass is None else self.mass[columns],
                self._totals[g],
                problems.m[:, g],
                problems.k[:, g],
            )
            for g, columns in enumerate(self.columns)
        ]

    def _value(self, T: FloatArray, problems: Problems, rankings: Sequence[Ranking]) -> FloatArray:
        """Return the objective of each candidate; infinity where it is beyond all numbers."""
        value = problems.ridge / 2 * (np.square(T) @ self.frame.penalty)
        for scale, ranking in zip(problems.scale.T, rankings, strict=True):
            value += scale * np.einsum("sn,sn->s", ranking.kept, ranking.losses)
        value[np.isnan(value)] = np.inf
        return value

    def _newton_step(
        self,
        T: FloatArray,
        problems: Problems,
        stage: Stage,
        rankings: Sequence[Ranking],
        slope: FloatArray,
        bend: FloatArray,
        unit: FloatArray,
        hot: slice,
    ) -> FloatArray:
        r"""Return a Newton step of each candidate, for the rows it keeps now.

        If the end at rank k is blurred, the weights of the rows near it change with their losses.
        This adds the scatter of their gradients, divided by the width, to the Hessian.
        """
        rows = self._rows
        pull, curve = np.empty_like(slope), np.empty_like(slope)
        scatter: list[FloatArray] = []
        for scale, ranking, at in zip(problems.scale.T, rankings, self.columns, strict=True):
            scale = scale.astype(rows.dtype)[:, None]
            own = slope[:, at]
            if ranking.keeps_last and not hot.stop:
                weight = scale * ranking.kept
                pull[:, at], curve[:, at] = weight * own, weight * bend[:, at]
                continue
            blur = ranking.blur(
                stage.band, _SMALLEST_BLUR * unit, hot, stage.temperature * self.frame.unit
            )
            weight = scale * blur.weight
            pull[:, at], curve[:, at] = weight * own, weight * bend[:, at]
            if ranking.keeps_last:
                continue
            drift = blur.edge * own
            stiff = scale / blur.width
            curve[:, at] += stiff * drift * own
            moving = np.maximum(blur.edge.sum(axis=1, keepdims=True), 1)
            scatter.append(np.sqrt(stiff / moving) * (drift @ rows[at]))
        ridge = problems.ridge[:, None] * self.frame.penalty
        hessian = self._hessian(curve)
        for part in scatter:
            hessian -= part[:, :, None] * part[:, None, :]
        diagonal = np.einsum("sii->si", hessian)
        diagonal += ridge
        diagonal += _DAMPING * (diagonal + diagonal.mean(axis=1, keepdims=True)) + 1e-12
        gradient = pull @ rows + ridge * T
        step = np.linalg.solve(hessian, -gradient[:, :, None])[:, :, 0]
        return np.where(np.isfinite(step), step, 0.0)

    def _hessian(self, curve: FloatArray) -> FloatArray:
        """Return the sums of the squares of the rows, times their curvature, of each candidate."""
        which, table, square = self._squares
        return (curve[:, which] @ table)[:, square].astype(np.float64)

    @cached_property
    def _squares(self) -> tuple[Any, FloatArray, IntArray]:
        """The rows of Hessians, the products of their columns, and how these make a matrix."""
        n, D = self._rows.shape
        size = max(_HESSIAN_ROWS, _HESSIAN_ROWS_PER_PARAMETER * D)
        which: Any = slice(None)
        if n > 1.5 * size:
            which = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
        A = self._rows[which]
        left, right = np.triu_indices(D)
        square = np.zeros((D, D), dtype=np.intp)
        square[left, right] = square[right, left] = np.arange(len(left))
        factor = A.dtype.type(n / len(A))
        return which, (factor * A[:, left]) * A[:, right], square

    @cached_property
    def _rows(self) -> FloatArray:
        """The rows in the precision of the steps."""
        largest = max(np.abs(self.y).max() / self.frame.reach, np.abs(self.frame.rows).max())
        return self.frame.rows.astype(np.float32 if largest < _SINGLE_REACH else np.float64)


# -- Starting points -------------------------------------------------------------------------------


def _stages(
    number: int,
    band: tuple[float, float],
    corner: tuple[float, float],
    temperatures: Sequence[float] = (),
) -> tuple[Stage, ...]:
    """Return stages from the first to the second of the widths; temperatures end at zero."""
    widths = zip(np.geomspace(*band, number), np.geomspace(*corner, number), strict=True)
    heat = [*temperatures, *[0.0] * (number - len(temperatures))]
    return tuple(Stage(*width, t) for width, t in zip(widths, heat, strict=True))


_AVERAGE = _stages(8, (0.5, 0.1), (0.5, 0.02))
_FIRST = _stages(3, (0.5, 0.2), (4.0, 1.0))
_SECOND = {  # of candidates without corners and a cut at k, and of others
    True: _stages(6, (0.5, 0.05), (2.0, 0.2), (3.0, 1.0, 0.3, 0.1)),
    False: _stages(10, (0.5, 0.05), (2.0, 0.2), (3.0, 3.0, 1.0, 1.0, 0.3, 0.3, 0.1)),
}
_CHILD = _stages(5, (0.3, 0.1), (1.0, 0.2))
_LAST = _stages(16, (0.2, 0.02), (0.2, 0.001))


def find_starts(
    objective: RankedRangeObjective,
    *,
    n_starts: int | None = None,
    keep: int = 3,
    sample_size: int | None = None,
    random_state: int | np.random.Generator | None = None,
    progress: Progress | None = None,
) -> list[FloatArray]:
    """Return distinct starting points near low local minima, the best first.

    All candidates are compared on the same sample of the rows. With one output and few parameters
    they are `n_starts` random directions and fits to a few rows, which take three concentration
    steps. The best go on, together with annealed ones, and have children: mixtures of two, plus
    noise. The search ends early if many candidates have reached the lowest objective; with up to
    30 rows it does not. Otherwise the candidates are an annealed fit and a descent from the
    average-loss fit. The points are not polished.

    Parameters
    ----------
    objective : RankedRangeObjective
    n_starts : int, optional
        How many random candidates to try, by default 96, or 64 on a sample. On up to 900 rows, as
        many are tried again in each of up to three rounds.
    keep : int, default=3
        How many points to return at most; one if the objective is convex.
    sample_size : int, optional
        Number of rows to use. The default is 1000, or 20 times the number of parameters if that
        is more. If there are no more rows than that, all are used. With one output and few
        parameters, all rows are also used up to 5000 rows.
    random_state : int, Generator or None
        Seed for everything random. The same seed gives the same starts.
    progress : callable, optional
        Called with a `Step` for each point that is returned.

    Returns
    -------
    list of ndarray
        Parameters, sorted by the objective over all rows.
    """
    rng = as_generator(random_state)
    keep = 3 if keep is None else as_count("keep", keep)
    number = None if n_starts is None else as_count("n_starts", n_starts)
    size = None if sample_size is None else as_count("sample_size", sample_size)
    points = start_points(objective, number, keep, size, rng)
    if progress is not None:
        for i, point in enumerate(points):
            progress(Step(i, "starts", point.value, objective.passes))
    return [point.theta for point in points]


def start_points(
    objective: RankedRangeObjective,
    n_starts: int | None,
    keep: int,
    sample_size: int | None,
    rng: np.random.Generator,
) -> list[Point]:
    """Return the points of `find_starts`, with their objectives over all rows."""
    clipped, small = clip_targets(objective), is_small(objective)
    size = sample_size
    if size is None:
        size = min(max(_MIN_SAMPLE, 20 * objective.n_parameters), _MAX_SAMPLE)
        if small and objective.n_samples <= _MAX_ALL_ROWS:
            size = _MAX_ALL_ROWS
    sample = subsample(clipped, size, rng)
    if small:
        is_sample = sample is not clipped
        number, rounds = (_N_STARTS, _ROUNDS) if not is_sample else (_N_SAMPLED_STARTS, 0)
        starts = _newton_starts(sample, n_starts or number, rounds, keep, rng)
    else:
        starts = _gradient_starts(sample, rng)[:keep]
    return sorted((objective.at(theta) for theta in starts), key=lambda point: point.value)


def is_small(objective: RankedRangeObjective) -> bool:
    """Return whether Newton steps of many candidates at once are possible and cheap."""
    return len(objective.shape) == 1 and objective.n_parameters <= _MAX_PARAMETERS


def distinct(
    values: Sequence[float] | FloatArray,
    points: Sequence[FloatArray] | FloatArray,
    *,
    rtol: float = 1e-6,
    distance: float = 1e-3,
) -> list[int]:
    """Return the indices of different solutions, lowest value first.

    Two are the same if their values differ by at most `rtol` and their points by at most
    `distance`, both relative to the better one. Use raw predictions as points: parameters depend
    on the scales of the columns.
    """
    order = np.argsort(values, kind="stable")
    value = np.asarray(values)[order]
    flat = np.asarray(points, dtype=np.float64).reshape(len(order), -1)[order]
    products = flat @ flat.T
    squares = np.diag(products)
    near = squares[:, None] + squares - 2 * products <= distance**2 * squares
    near &= value[:, None] - value <= rtol * np.abs(value)
    kept: list[int] = []
    for i in range(len(order)):
        if not near[i, kept].any():
            kept.append(i)
    return [int(order[i]) for i in kept]


def average_fit(batch: Batch) -> FloatArray:
    """Return a fit to all rows, none of them dropped, as a matrix of one candidate."""
    problem = batch.repeat_problem(1)
    mass = np.array([[group.mass for group in batch.objective.groups]])
    share = problem.scale * (problem.k - problem.m)
    average = problem._replace(m=np.zeros_like(mass), k=mass, scale=share / mass)
    zero = np.zeros((1, batch.frame.rows.shape[1]))
    return batch.descend(zero, _AVERAGE, average)[0]


def draw_candidates(batch: Batch, size: int, rng: np.random.Generator) -> FloatArray:
    """Return random candidates: half are directions, half are fits to a few rows."""
    frame = batch.frame
    D = frame.rows.shape[1]
    T = rng.standard_normal((size, D))
    T *= frame.reach / np.linalg.norm(T, axis=1, keepdims=True)
    classes = batch.objective.class_of_row
    if classes is None:
        pools, numbers = [np.arange(len(batch.y))], [D + 1]
    else:
        classes = classes[batch.index]
        pools, numbers = [np.flatnonzero(classes == label) for label in np.unique(classes)], [2, 3]
    for i, number in enumerate(numbers):
        which = np.arange(i, size // 2, len(numbers))
        picked = np.hstack([rng.choice(pool, (len(which), number)) for pool in pools])
        T[which] = _exact_fits(batch, picked)
    return T


def _exact_fits(batch: Batch, picked: IntArray) -> FloatArray:
    """Return the smallest candidates that predict the targets of some rows, one set each.

    A target of -1 or +1 is predicted as a number.
    """
    A = batch.frame.rows[picked]
    gram = A @ A.transpose(0, 2, 1) + 1e-3 * np.eye(A.shape[1])
    target = batch.y[picked]
    part = np.linalg.solve(gram, target[:, :, None])
    return (A.transpose(0, 2, 1) @ part)[:, :, 0]


def _newton_starts(
    sample: RankedRangeObjective, n_starts: int, rounds: int, keep: int, rng: np.random.Generator
) -> list[FloatArray]:
    """Return the best of many candidates after Newton steps, and of some rounds of children."""
    batch = first = Batch(sample)
    if sample.is_convex:
        stages = _second_stages(batch) + _LAST
        return list(batch.frame.original(batch.descend(average_fit(batch), stages)[0]))
    size = max(_FIRST_ROWS, _FIRST_ROWS_PER_PARAMETER * sample.n_parameters)
    if len(batch.y) > 1.5 * size:
        first = Batch(subsample(sample, size, rng))
    average = average_fit(first)
    hot = np.vstack([average, np.zeros_like(average), draw_candidates(first, 2, rng)])
    T, values = _descend_randomly(first, hot, n_starts, rng)
    if first is not batch:
        T = T[_distinct(first, T, values)[: 2 * _PARENTS]]
        T = batch.frame.standardised(first.frame.original(T))
        T, values = batch.descend(T, _CHILD)
    n_children = max(_MIN_CHILDREN, min(_CHILDREN, _CHILD_RAW // len(batch.y)))
    same = _SAME_LOWEST[sample.loss.has_curvature]
    for _ in range(rounds):
        hits = np.count_nonzero(values <= (1 + same) * values.min())
        if hits >= _HITS and len(batch.y) > MAX_TINY_ROWS:
            break  # many ways have led to the lowest value
        best = _distinct(batch, T, values)[:_PARENTS]
        T, values = T[best], values[best]
        others = [batch.descend(_breed(T, n_children, rng), _CHILD)]
        if first is batch:
            others.append(_descend_randomly(batch, T[:0], n_starts, rng))
        for candidates, reached in others:
            T, values = np.vstack([T, candidates]), np.append(values, reached)
    T, values = batch.descend(T[_finalists(batch, T, values)[: max(keep, _FINALISTS)]], _LAST)
    return list(batch.frame.original(T[_finalists(batch, T, values)[:keep]]))


def _descend_randomly(
    batch: Batch, hot: FloatArray, n_starts: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return the best of random candidates after some steps, with candidates to anneal first."""
    T, values = batch.descend(draw_candidates(batch, n_starts, rng), _FIRST)
    best = np.argsort(values, kind="stable")[:_SURVIVORS]
    stages = _second_stages(batch)
    return batch.descend(np.vstack([hot, T[best]]), stages, n_annealed=len(hot))


def _second_stages(batch: Batch) -> tuple[Stage, ...]:
    return _SECOND[batch.is_plain(batch.repeat_problem(1))]


def _distinct(batch: Batch, T: FloatArray, values: FloatArray) -> list[int]:
    """Return the indices of candidates that lead to different minima, the best first."""
    order = np.argsort(values, kind="stable")[:_COMPARED]
    raw = T[order] @ batch.frame.rows.T
    kept = distinct(values[order], raw, rtol=_SAME_VALUE, distance=_SAME_POINT)
    return [int(order[i]) for i in kept]


def _finalists(batch: Batch, T: FloatArray, values: FloatArray) -> list[int]:
    """Return the indices of candidates that lead to different minima, the best first.

    On few rows all that drop different rows are different: trimming solves another problem.
    """
    if len(batch.y) > MAX_TINY_ROWS:
        return _distinct(batch, T, values)
    order = np.argsort(values, kind="stable")[:_COMPARED]
    kept = distinct(values[order], batch.dropped(T[order]), rtol=np.inf, distance=1e-6)
    return [int(order[i]) for i in kept]


def _breed(parents: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
    """Return mixtures of two parents each, plus noise."""
    first, second = parents[rng.integers(len(parents), size=(2, size))]
    part = rng.random((size, 1))
    mixed = part * first + (1 - part) * second
    noise = rng.standard_normal(mixed.shape)
    noise *= np.linalg.norm(mixed, axis=1, keepdims=True) / np.linalg.norm(
        noise, axis=1, keepdims=True
    )
    return np.asarray(mixed + np.geomspace(*_NOISE, size)[:, None] * noise)


def _gradient_starts(sample: RankedRangeObjective, rng: np.random.Generator) -> list[FloatArray]:
    """Return starting points by gradients only: for several outputs or many parameters."""
    points = [descend(sample, sample.at(average_start(sample, rng)), rng=rng)]
    if not sample.is_convex:
        zero = sample.at(np.zeros(sample.shape))
        points.append(descend(sample, anneal(sample, zero, rng), rng=rng))
    return [point.theta for point in sorted(points, key=lambda point: point.value)]


def average_start(
    objective: RankedRangeObjective, rng: np.random.Generator, max_iter: int = 100
) -> FloatArray:
    """Return a fit to all rows, none of them dropped, by a convex loss.

    If that is another loss, it has another scale: the best of a few multiples is taken.
    """
    relaxed = objective.relaxed()
    start = relaxed.at(np.zeros(objective.shape))
    theta = descend(relaxed, start, rng=rng, max_iter=max_iter).theta
    if objective.loss.convex:
        return theta
    ray = objective.ray(objective.at(np.zeros(objective.shape)), theta)
    values = [ray.at(scale).value for scale in _SCALES]
    return theta * _SCALES[int(np.argmin(values))]
