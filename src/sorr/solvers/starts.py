"""Where to start: many cheap candidates, on a sample of many rows; the best few are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._checks import as_count, as_generator
from sorr._typing import FloatArray
from sorr.objectives import RankedRangeObjective, subsample
from sorr.solvers.batch import Batch, Stage
from sorr.solvers.descent import Point, anneal, descend, evaluate
from sorr.solvers.solution import Progress, Step, clip_targets

__all__ = [
    "average_fit",
    "average_start",
    "candidates",
    "distinct",
    "find_starts",
    "is_small",
    "start_points",
]

_LARGEST = 64  # parameters up to which Newton steps of many candidates are cheap
_SMALLEST_SAMPLE, _LARGEST_SAMPLE = 1000, 8000
_MIDDLE = 5000  # rows up to which all of them are used where Newton steps are cheap
_HELD = 20_000  # raw predictions of all candidates that survive the first steps
_ALIKE, _NEAR = 0.1, 0.05  # solutions on a sample that lead to the same minimum
_FEWEST, _MOST, _LAST = 16, 96, 16  # candidates that go on


class _Effort(NamedTuple):
    """How many candidates are tried, on how many rows at first, and how many of them go on.

    With no number of rows, the first steps are on all of them, all further steps are taken, and
    as many candidates go on as their raw predictions allow.
    """

    n_starts: int
    scouted: int | None = None
    survivors: int | None = None


_THOROUGH = _Effort(512)
_BRISK = _Effort(512, 700, 32)
_ROUGH = _Effort(96, 350, 8)

_SCALES = (1.0, 0.5, 0.2, 0.1)  # of a relative of the loss

_FIRST = tuple(map(Stage, np.geomspace(0.5, 0.2, 3), np.geomspace(0.5, 0.02, 3)))
_SECOND = tuple(map(Stage, np.geomspace(0.5, 0.05, 22), np.geomspace(0.5, 0.002, 22)))
_THIRD = tuple(map(Stage, np.geomspace(0.1, 0.05, 10), np.geomspace(0.005, 5e-5, 10)))
_ANNEALED = tuple(Stage(0.5, 0.5, heat) for heat in (3.0, 1.0, 0.3, 0.1) for _ in range(2))


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

    All candidates are compared on one sample of the rows. With one output and few parameters
    they are `n_starts` random directions and fits to a few rows, which take three concentration
    steps; the best go on, together with annealed ones. Otherwise they are an annealed fit and
    what the average-loss fit leads to. The points are not polished.

    Parameters
    ----------
    objective : RankedRangeObjective
    n_starts : int, optional
        How many candidates to try: by default 512 where all rows are used, else 96. Half as many
        where the first steps are on some of the rows.
    keep : int, default=3
        How many to return, at most: one if the objective is convex.
    sample_size : int, optional
        On how many rows; by default 1000, or 20 times the number of parameters if that is more.
        With no more rows than that, all are used, with the ranks of the objective; with one
        output and few parameters also by default up to 5000.
    random_state : int, Generator or None
        What the candidates are drawn from: the same seed gives the same starts.
    progress : callable, optional
        Called with a `Step` for each point that is returned.

    Returns
    -------
    list of ndarray
        Parameters of the objective, by ascending objective over all rows.
    """
    rng = as_generator(random_state)
    keep = 3 if keep is None else as_count("keep", keep)
    number = None if n_starts is None else as_count("n_starts", n_starts)
    size = None if sample_size is None else as_count("sample_size", sample_size)
    points = start_points(objective, number, keep, size, rng)
    if progress is not None:
        for i, point in enumerate(points):
            progress(Step(i, "starts", point.value, objective.design.passes))
    return [point.theta for point in points]


def start_points(
    objective: RankedRangeObjective,
    n_starts: int | None,
    keep: int,
    sample_size: int | None,
    rng: np.random.Generator,
) -> list[Point]:
    """Return the points of `find_starts`, with their objectives over all rows."""
    tame, small = clip_targets(objective), is_small(objective)
    least = min(max(_SMALLEST_SAMPLE, 20 * objective.design.n_parameters), _LARGEST_SAMPLE)
    if sample_size is None and small and least < objective.n_samples <= _MIDDLE:
        sample, effort = tame, _BRISK
    else:
        sample = subsample(tame, sample_size or least, rng)
        effort = _THOROUGH if sample is tame else _ROUGH
    if small:
        if n_starts is not None:
            effort = effort._replace(n_starts=n_starts)
        found = _batched(sample, effort, keep, rng)
    else:
        found = _first_order(sample, rng)[:keep]
    return sorted((evaluate(objective, theta) for theta in found), key=lambda point: point.value)


def is_small(objective: RankedRangeObjective) -> bool:
    """Tell whether Newton steps of many candidates at once are possible and cheap."""
    return len(objective.shape) == 1 and objective.n_parameters <= _LARGEST


def distinct(
    values: Sequence[float] | FloatArray,
    points: Sequence[FloatArray] | FloatArray,
    *,
    rtol: float = 1e-6,
    distance: float = 1e-3,
) -> list[int]:
    """Return the indices of different solutions, the one with the lowest value first.

    Two are the same if their values differ by no more than `rtol`, and their points by no more
    than `distance`, both relative to the better of the two. Raw predictions make better points
    than parameters, which depend on how columns are scaled.
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
    """Return the candidate that fits all rows, none of them dropped: a matrix of one row."""
    cells = batch.cells(1)
    mass = np.array([[group.mass for group in batch.objective.groups]])
    share = cells.scale * (cells.k - cells.m)
    whole = cells._replace(m=np.zeros_like(mass), k=mass, scale=share / mass)
    return batch.descend(batch.frame.constant(1), _SECOND[::3], whole)[0]


def candidates(batch: Batch, size: int, rng: np.random.Generator) -> FloatArray:
    """Return random candidates: half of them directions, half fits to a few rows."""
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


def _exact_fits(batch: Batch, picked: npt.NDArray[np.intp]) -> FloatArray:
    """Return the smallest candidates that predict the targets of some rows: one set in a row.

    A target that is a class has the sign of the raw prediction it asks for.
    """
    A = batch.frame.rows[picked]
    gram = A @ A.transpose(0, 2, 1) + 1e-3 * np.eye(A.shape[1])
    wanted = batch.y[picked] - batch.frame.level
    part = np.linalg.solve(gram, wanted[:, :, None])
    return (A.transpose(0, 2, 1) @ part)[:, :, 0] + batch.frame.constant(1)


def _batched(
    sample: RankedRangeObjective, effort: _Effort, keep: int, rng: np.random.Generator
) -> list[FloatArray]:
    """Return the best of many candidates."""
    batch = scout = Batch(sample)
    if sample.is_convex:
        return list(batch.frame.original(batch.descend(average_fit(batch), _SECOND)[0]))
    n_starts = effort.n_starts
    survivors = effort.survivors or min(_MOST, max(_FEWEST, _HELD // len(batch.y)))
    if effort.scouted is not None:
        scout = Batch(subsample(sample, max(effort.scouted, 8 * sample.n_parameters), rng))
        n_starts = (n_starts + 1) // 2
    average = average_fit(scout)
    T = scout.descend(np.vstack([average, candidates(scout, n_starts, rng)]), _FIRST)[0]
    hot = np.vstack([average, scout.frame.constant(1), T[1:3]])
    T = np.vstack([T, scout.descend(hot, _ANNEALED)[0]])
    if scout is not batch:
        T = batch.frame.standardised(scout.frame.original(T))
    values = batch.values(T)
    best = np.argsort(values[: -len(hot)], kind="stable")[:survivors]
    T = np.vstack([T[best], T[-len(hot) :]])
    smooth = sample.loss.has_curvature  # rounded corners blur which candidates are the best
    for stages in (_SECOND[:12], _SECOND[12:]) if smooth else (_SECOND, _THIRD):
        T, values = batch.descend(T, stages if scout is batch else stages[1::4])
        T = T[distinct(values, T @ batch.frame.rows.T, rtol=_ALIKE, distance=_NEAR)[:_LAST]]
    return list(batch.frame.original(T[:keep]))


def _first_order(sample: RankedRangeObjective, rng: np.random.Generator) -> list[FloatArray]:
    """Return starting points by gradients alone: for several outputs, or for many parameters."""
    points = [descend(sample, evaluate(sample, average_start(sample, rng)), rng=rng)]
    if not sample.is_convex:
        zero = evaluate(sample, np.zeros(sample.shape))
        points.append(descend(sample, anneal(sample, zero, rng), rng=rng))
    return [point.theta for point in sorted(points, key=lambda point: point.value)]


def average_start(
    objective: RankedRangeObjective, rng: np.random.Generator, max_iter: int = 100
) -> FloatArray:
    """Return a fit to all rows, none of them dropped, by a convex loss.

    Where that is a relative of the loss, its scale is another: the best multiple is taken.
    """
    relaxed = objective.relaxed()
    start = evaluate(relaxed, np.zeros(objective.shape))
    theta = descend(relaxed, start, rng=rng, max_iter=max_iter).theta
    if objective.loss.convex:
        return theta
    raw = objective.raw_prediction(theta)
    values = [objective.value_at(scale * raw, scale * theta) for scale in _SCALES]
    return theta * _SCALES[int(np.argmin(values))]
