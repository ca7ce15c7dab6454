"""Many candidates at once: batched concentration steps, and the search for starting points.

With one output and few parameters, candidates take steps together, as rows of a matrix. Other
problems have starts by gradients.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sorr._checks import as_count, as_generator
from sorr._typing import FloatArray
from sorr.objectives import Batch, Point, Problems, RankedRangeObjective, Stage, subsample
from sorr.solvers import constants as tuned
from sorr.solvers.descent import anneal, descend
from sorr.solvers.solution import Progress, Step

# -- Batched steps ---------------------------------------------------------------------------------


def descend_together(
    batch: Batch,
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
    problems = batch.repeat_problem(len(T)) if problems is None else problems
    best, values = np.array(T, dtype=np.float64), np.empty(len(T))
    for chunk in batch.chunks(len(T)):
        n_hot = min(max(n_annealed - chunk.start, 0), batch.chunk_size)
        start, part = best[chunk], problems.take(chunk)
        best[chunk], values[chunk] = _descend_chunk(batch, start, part, stages, n_hot)
    return best, values


def _descend_chunk(
    batch: Batch, T: FloatArray, problems: Problems, stages: Sequence[Stage], n_hot: int
) -> tuple[FloatArray, FloatArray]:
    """Take the steps of one chunk.

    After a step that has raised the objective, a shorter one is tried instead of a new one. Where
    a majoriser stands for the curvature, steps are too short: they grow as long as they succeed.
    """
    best, lowest = T, np.full(len(T), np.inf)
    base, reached = T, lowest
    growth = 1.0 if batch.objective.loss.has_curvature else tuned.GROWTH
    step, length = np.zeros_like(T), np.full(len(T), 1 / growth)
    n_warm = sum(stage.temperature > 0 for stage in stages) if n_hot else 0
    is_plain = batch.is_plain(problems)
    for number, stage in enumerate((*stages, None)):
        at = batch.evaluate(T, problems)
        value = at.value
        better = value < lowest
        best, lowest = np.where(better[:, None], T, best), np.where(better, value, lowest)
        is_cold = is_plain and number > n_warm  # from here on, stages are the same
        if stage is None or (is_cold and np.all(np.abs(value - reached) <= tuned.SOLVED * reached)):
            break
        hot = n_hot if stage.temperature else 0
        moves = value < reached
        moves[:hot] = True
        base, reached = np.where(moves[:, None], T, base), np.where(moves, value, reached)
        reached[:hot] = np.inf  # an annealed candidate may rise
        new = batch.newton_step(T, problems, at, stage, hot)
        step = np.where(moves[:, None], new, step)
        longer = growth * length if growth > 1 else 1.0
        length = np.where(moves, longer, tuned.RETREAT * length)
        length[:hot] = 1.0
        T = base + length[:, None] * step
    return best, lowest


# -- Starting points -------------------------------------------------------------------------------


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
    clipped, small = objective.clip_targets(), is_small(objective)
    size = sample_size
    if size is None:
        size = min(
            max(tuned.SAMPLE, tuned.SAMPLE_PER_PARAMETER * objective.n_parameters), tuned.MAX_SAMPLE
        )
        if small and objective.n_samples <= tuned.FEW_ROWS:
            size = tuned.FEW_ROWS
    sample = subsample(clipped, size, rng)
    if small:
        is_sample = sample is not clipped
        number, rounds = (
            (tuned.N_STARTS, tuned.ROUNDS) if not is_sample else (tuned.N_SAMPLED_STARTS, 0)
        )
        starts = _newton_starts(sample, n_starts or number, rounds, keep, rng)
    else:
        starts = _gradient_starts(sample, rng)[:keep]
    return sorted((objective.at(theta) for theta in starts), key=lambda point: point.value)


def is_small(objective: RankedRangeObjective) -> bool:
    """Return whether Newton steps of many candidates at once are possible and cheap."""
    return len(objective.shape) == 1 and objective.n_parameters <= tuned.MAX_BATCH_PARAMETERS


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
    return descend_together(batch, zero, tuned.AVERAGE, average)[0]


def _newton_starts(
    sample: RankedRangeObjective, n_starts: int, rounds: int, keep: int, rng: np.random.Generator
) -> list[FloatArray]:
    """Return the best of many candidates after Newton steps, and of some rounds of children."""
    batch = first = Batch(sample)
    if sample.is_convex:
        stages = _second_stages(batch) + tuned.LAST
        return list(batch.frame.original(descend_together(batch, average_fit(batch), stages)[0]))
    size = max(tuned.FIRST_ROWS, tuned.FIRST_ROWS_PER_PARAMETER * sample.n_parameters)
    if len(batch.y) > 1.5 * size:
        first = Batch(subsample(sample, size, rng))
    average = average_fit(first)
    hot = np.vstack([average, np.zeros_like(average), first.draw(2, rng)])
    T, values = _descend_randomly(first, hot, n_starts, rng)
    if first is not batch:
        T = T[_distinct(first, T, values)[: 2 * tuned.PARENTS]]
        T = batch.frame.standardised(first.frame.original(T))
        T, values = descend_together(batch, T, tuned.CHILD)
    n_children = max(tuned.MIN_CHILDREN, min(tuned.CHILDREN, tuned.CHILD_RAW // len(batch.y)))
    same = tuned.SAME_LOWEST[sample.loss.has_curvature]
    for _ in range(rounds):
        hits = np.count_nonzero(values <= (1 + same) * values.min())
        if hits >= tuned.HITS and len(batch.y) > tuned.TINY_ROWS:
            break  # many ways have led to the lowest value
        best = _distinct(batch, T, values)[: tuned.PARENTS]
        T, values = T[best], values[best]
        others = [descend_together(batch, _breed(T, n_children, rng), tuned.CHILD)]
        if first is batch:
            others.append(_descend_randomly(batch, T[:0], n_starts, rng))
        for candidates, reached in others:
            T, values = np.vstack([T, candidates]), np.append(values, reached)
    T, values = descend_together(
        batch, T[_finalists(batch, T, values)[: max(keep, tuned.FINALISTS)]], tuned.LAST
    )
    return list(batch.frame.original(T[_finalists(batch, T, values)[:keep]]))


def _descend_randomly(
    batch: Batch, hot: FloatArray, n_starts: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return the best of random candidates after some steps, with candidates to anneal first."""
    T, values = descend_together(batch, batch.draw(n_starts, rng), tuned.FIRST)
    best = np.argsort(values, kind="stable")[: tuned.SURVIVORS]
    stages = _second_stages(batch)
    return descend_together(batch, np.vstack([hot, T[best]]), stages, n_annealed=len(hot))


def _second_stages(batch: Batch) -> tuple[Stage, ...]:
    return tuned.SECOND[batch.is_plain(batch.repeat_problem(1))]


def _distinct(batch: Batch, T: FloatArray, values: FloatArray) -> list[int]:
    """Return the indices of candidates that lead to different minima, the best first."""
    order = np.argsort(values, kind="stable")[: tuned.COMPARED]
    raw = T[order] @ batch.frame.rows.T
    kept = distinct(values[order], raw, rtol=tuned.SAME_VALUE, distance=tuned.SAME_POINT)
    return [int(order[i]) for i in kept]


def _finalists(batch: Batch, T: FloatArray, values: FloatArray) -> list[int]:
    """Return the indices of candidates that lead to different minima, the best first.

    On few rows all that drop different rows are different: trimming solves another problem.
    """
    if len(batch.y) > tuned.TINY_ROWS:
        return _distinct(batch, T, values)
    order = np.argsort(values, kind="stable")[: tuned.COMPARED]
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
    return np.asarray(mixed + np.geomspace(*tuned.NOISE, size)[:, None] * noise)


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
    values = [ray.at(scale).value for scale in tuned.FIT_SCALES]
    return theta * tuned.FIT_SCALES[int(np.argmin(values))]
