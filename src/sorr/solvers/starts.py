"""Starting points: many cheap candidates are tried on a sample of the rows; the best are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sorr._checks import as_count, as_generator
from sorr._typing import FloatArray, IntArray
from sorr.objectives import Point, RankedRangeObjective, subsample
from sorr.solvers.batch import Batch, Stage
from sorr.solvers.descent import anneal, descend
from sorr.solvers.solution import Progress, Step, clip_targets

_MAX_PARAMETERS = 64  # up to which Newton steps of many candidates are cheap
_MIN_SAMPLE, _MAX_SAMPLE = 1000, 8000  # rows of a sample
_MAX_ALL_ROWS = 5000  # rows up to which no sample is drawn if Newton steps are cheap
_MAX_RAW = 20_000  # raw predictions of all candidates that survive the first steps
_SAME_VALUE, _SAME_POINT = 0.1, 0.05  # relative distances of solutions that lead to one minimum
_MIN_SURVIVORS, _MAX_SURVIVORS = 16, 96  # candidates after the first steps
_FINALISTS = 16  # candidates after the second and after the third steps
_SCALES = (1.0, 0.5, 0.2, 0.1)  # multiples of a fit by another loss that are tried


class _Effort(NamedTuple):
    """How many candidates are tried, on how many rows at first, and how many of them go on.

    Without a number of rows, the first steps use all rows, all further steps are taken, and
    the number of survivors depends on the number of rows.
    """

    n_starts: int
    first_rows: int | None = None
    survivors: int | None = None


_THOROUGH = _Effort(512)
_BRISK = _Effort(512, 700, 32)
_ROUGH = _Effort(96, 350, 8)

_FIRST = tuple(map(Stage, np.geomspace(0.5, 0.2, 3), np.geomspace(0.5, 0.02, 3)))
_SECOND = tuple(map(Stage, np.geomspace(0.5, 0.05, 22), np.geomspace(0.5, 0.002, 22)))
_THIRD = tuple(map(Stage, np.geomspace(0.1, 0.05, 10), np.geomspace(0.005, 5e-5, 10)))
_ANNEALED = tuple(
    Stage(0.5, 0.5, temperature) for temperature in (3.0, 1.0, 0.3, 0.1) for _ in range(2)
)


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
    steps. The best go on, together with annealed ones. Otherwise the candidates are an annealed
    fit and a descent from the average-loss fit. The points are not polished.

    Parameters
    ----------
    objective : RankedRangeObjective
    n_starts : int, optional
        How many candidates to try. The default is 512 if all rows are used, and 96 otherwise. If
        the first steps use only some of the rows, half as many are tried.
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
    default_size = min(
        max(_MIN_SAMPLE, 20 * (objective.n_features + objective.has_intercept)), _MAX_SAMPLE
    )
    if sample_size is None and small and default_size < objective.n_samples <= _MAX_ALL_ROWS:
        sample, effort = clipped, _BRISK
    else:
        sample = subsample(clipped, sample_size or default_size, rng)
        effort = _THOROUGH if sample is clipped else _ROUGH
    if small:
        if n_starts is not None:
            effort = effort._replace(n_starts=n_starts)
        starts = _newton_starts(sample, effort, keep, rng)
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
    kept: list[int] = []
    for i in np.argsort(values, kind="stable").tolist():
        for j in kept:
            apart = np.linalg.norm(points[i] - points[j]) > distance * np.linalg.norm(points[j])
            if not apart and values[i] - values[j] <= rtol * abs(values[j]):
                break
        else:
            kept.append(i)
    return kept


def average_fit(batch: Batch) -> FloatArray:
    """Return a fit to all rows, none of them dropped, as a matrix of one candidate."""
    problem = batch.repeat_problem(1)
    mass = np.array([[group.mass for group in batch.objective.groups]])
    share = problem.scale * (problem.k - problem.m)
    average = problem._replace(m=np.zeros_like(mass), k=mass, scale=share / mass)
    return batch.descend(batch.frame.constant(1), _SECOND[::3], average)[0]


def draw_candidates(batch: Batch, size: int, rng: np.random.Generator) -> FloatArray:
    """Return random candidates: half are directions, half are fits to a few rows."""
    frame = batch.frame
    D = frame.rows.shape[1]
    T = rng.standard_normal((size, D))
    T *= frame.reach / np.linalg.norm(T, axis=1, keepdims=True)
    T += frame.constant(1)
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
    target = batch.y[picked] - batch.frame.level
    part = np.linalg.solve(gram, target[:, :, None])
    return (A.transpose(0, 2, 1) @ part)[:, :, 0] + batch.frame.constant(1)


def _newton_starts(
    sample: RankedRangeObjective, effort: _Effort, keep: int, rng: np.random.Generator
) -> list[FloatArray]:
    """Return the best of many candidates after Newton steps."""
    batch = first = Batch(sample)
    if sample.is_convex:
        return list(batch.frame.original(batch.descend(average_fit(batch), _SECOND)[0]))
    n_starts = effort.n_starts
    limits = _MIN_SURVIVORS, _MAX_SURVIVORS
    survivors = effort.survivors or min(limits[1], max(limits[0], _MAX_RAW // len(batch.y)))
    if effort.first_rows is not None:
        first = Batch(subsample(sample, max(effort.first_rows, 8 * sample.n_parameters), rng))
        n_starts = (n_starts + 1) // 2
    average = average_fit(first)
    T = first.descend(np.vstack([average, draw_candidates(first, n_starts, rng)]), _FIRST)[0]
    hot = np.vstack([average, first.frame.constant(1), T[1:3]])
    T = np.vstack([T, first.descend(hot, _ANNEALED)[0]])
    if first is not batch:
        T = batch.frame.standardised(first.frame.original(T))
    values = batch.values(T)
    best = np.argsort(values[: -len(hot)], kind="stable")[:survivors]
    T = np.vstack([T[best], T[-len(hot) :]])
    smooth = sample.loss.has_curvature  # with rounded corners the comparison is less certain
    for stages in (_SECOND[:12], _SECOND[12:]) if smooth else (_SECOND, _THIRD):
        T, values = batch.descend(T, stages if first is batch else stages[1::4])
        raw = T @ batch.frame.rows.T
        T = T[distinct(values, raw, rtol=_SAME_VALUE, distance=_SAME_POINT)[:_FINALISTS]]
    return list(batch.frame.original(T[:keep]))


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
