"""Every number of the solvers that was chosen by measurement, with its meaning.

Chapters keep only numbers that follow from rounding errors or from a method, such as the least
decrease of a line search. The numbers of the search for starts were chosen among about 45 variants,
on `fresh_problems(11)` and `fresh_problems(14)` of the benchmarks and on Monk halves; those of
many rows on data of `draw_flipped` with 200,000 to a million rows, and 20,000 rows of 200 columns.
What they move, where it was measured, is the mean excess over the best known objective.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sorr.objectives import Stage

FEW_ROWS = 5000
"""Rows up to which work that is done in full is cheap: no sample is drawn for candidates, all
starts are polished until the dropped rows stay, subgradients bring the last percent where there is
no Newton step, and Hessians are in float64."""

MAX_BATCH_PARAMETERS = 64
"""Parameters up to which Newton steps of many candidates are cheap."""

FEW_ENTRIES, WIDE_ROWS_PER_PARAMETER = {False: 1 << 21, True: 1 << 24}, 200
"""Entries of X up to which all rows are in memory: above, rounds over partitions are faster. There
may be more with few rows for each parameter, where a sample would be a large part of them."""

MAX_METRIC_PARAMETERS = 65
"""Parameters up to which a Hessian from a sample is worth its price, and rounds are few."""


# -- Where to start --------------------------------------------------------------------------------


def stages(
    number: int,
    band: tuple[float, float],
    corner: tuple[float, float],
    temperatures: Sequence[float] = (),
) -> tuple[Stage, ...]:
    """Return stages from the first to the second of the widths; temperatures end at zero."""
    widths = zip(np.geomspace(*band, number), np.geomspace(*corner, number), strict=True)
    heat = [*temperatures, *[0.0] * (number - len(temperatures))]
    return tuple(Stage(*width, t) for width, t in zip(widths, heat, strict=True))


SAMPLE, SAMPLE_PER_PARAMETER, MAX_SAMPLE = 1000, 20, 8000
"""Rows of a sample on which candidates are compared: at least, for each parameter, at most."""

N_STARTS, N_SAMPLED_STARTS = 96, 64
"""Random candidates on all rows, and on a sample, where they have no children. With 96 and 16
survivors the excess is 2.5e-2, with 256 and 32 it is 1.5e-2 (hinge)."""

FIRST_ROWS, FIRST_ROWS_PER_PARAMETER = 600, 8
"""Rows of the first steps, at least."""

SURVIVORS, FINALISTS, COMPARED = 28, 6, 100
"""Candidates left after the first steps, candidates that take the last steps, and candidates among
which distinct ones are looked for."""

SAME_VALUE, SAME_POINT = 0.1, 0.05
"""Relative distances of candidates that lead to one minimum."""

ROUNDS, PARENTS, CHILDREN, MIN_CHILDREN, CHILD_RAW = 3, 8, 64, 16, 64_000
"""Rounds of children; distinct candidates that have some; children in a round, at most and at
least; raw predictions of all of them."""

NOISE = (0.2, 0.05)
"""Noise of children relative to their size, largest and smallest. With 0.3 for all the excess is
5e-3, with 0.15 it is 3e-3 (logistic)."""

HITS = 10
SAME_LOWEST = {True: 2e-3, False: 1e-2}
"""Candidates near the lowest objective after which the search ends, and how near: without corners,
and with."""

SOLVED, RETREAT, GROWTH = 1e-5, 0.25, 1.5
"""Relative change of all objectives at which batched steps stop, in float32; factors of a step that
has raised the objective, and of one with a majorising curvature that has lowered it."""

AVERAGE = stages(8, (0.5, 0.1), (0.5, 0.02))
FIRST = stages(3, (0.5, 0.2), (4.0, 1.0))
SECOND = {
    True: stages(6, (0.5, 0.05), (2.0, 0.2), (3.0, 1.0, 0.3, 0.1)),
    False: stages(10, (0.5, 0.05), (2.0, 0.2), (3.0, 3.0, 1.0, 1.0, 0.3, 0.3, 0.1)),
}
CHILD = stages(5, (0.3, 0.1), (1.0, 0.2))
LAST = stages(16, (0.2, 0.02), (0.2, 0.001))
"""Widths of blurred ends and of corners, from step to step; temperatures of annealed candidates.
The short form of `SECOND` is for candidates without corners and a cut at k; for others it costs
2e-3. Wide corners in the first steps matter on Monk halves with m = 45."""

TINY_ROWS, MAX_POLISHED = 30, {True: 10, False: 3}
"""Rows up to which all starts that drop different rows are polished; how many, there and else."""

MAX_POLISHED_RATIO, MAX_START_RATIO, SAME_START = 1.1, 1.5, 0.7
"""Objective of a start that is polished, relative to the lowest; the same of one that is tried on
many rows; relative distance of raw predictions of starts that count as one there."""

FIT_SCALES, SHORT_FIT_STEPS = (1.0, 0.5, 0.2, 0.1), 25
"""Multiples of a fit by another loss that are tried as a start, and its steps where it is short."""

PATH_SAMPLE, WORTH = 800, 1e-3
PATH_ROUNDS, NEW_CANDIDATES, RIVALS = (
    {True: 10, False: 5},
    {True: 600, False: 300},
    {True: 5, False: 3},
)
"""A grid: rows of a sample; relative decrease for which a cell is computed again. Rounds, random
candidates in each, and candidates that are tried in a cell: with all rows, and with a sample."""

PATH_FIRST = stages(11, (0.5, 0.05), (0.5, 0.002))
PATH_EARLY = stages(6, (0.4, 0.1), (0.3, 0.01))
PATH_LATE = stages(6, (0.1, 0.05), (0.01, 0.0005))


# -- The fast phase --------------------------------------------------------------------------------

FAST_TOL, TOL_BEFORE_TRIMMING, TOL_BEFORE_PATH = 5e-5, 2e-6, 1e-5
"""Promised decrease, relative to the objective, at which the fast phase ends: on its own, before
trimming steps, of which one costs as much as several fast ones, and before a path of corners."""

NEAR_TOL, NEAR_WIDTHS = 0.4, (0.03, 0.01, 0.003)
"""From the minimum of a sample on: factor of that tolerance, and widths of corners."""

SAMPLE_FIT_TOL, MAX_RISE = 5.0, 1.2
"""Tolerance on a sample, times parameters for each row: its noise is larger than what would be
gained. Factor by which its objective may rise if it drops no more rows than its share."""

FAST_WIDTHS, SHARP_WIDTHS, EARLY_TOL = (0.5, 0.1), (0.01, 0.001), 2.5e-5
"""Widths of corners relative to the typical loss, for all losses and for those of several outputs;
tolerance of Newton steps on corners that are wider than the last ones."""

MEMORY = 8
"""Steps that quasi-Newton steps remember."""

METRIC_TOL, METRIC_STEPS, NEAR_MINIMUM = 1e-3, 8, 1e-2
"""Newton steps on the rows of a sampled Hessian; promised decrease at which these are no help."""

TEMPERATURES, STEPS_PER_TEMPERATURE = (0.5, 0.1), 30
"""Of annealing, relative to the typical loss at the start; steps at each, at most."""

NEWTON_WIDTHS, STEPS_PER_WIDTH = (0.1, 0.03, 0.01, 0.003), 4
"""Widths of corners of Newton steps relative to the mean loss of the rows that count; steps."""

CORNER_PATH = tuple(np.geomspace(1.5, 0.02, 12).tolist())
"""The same with many rows and parameters, one step each."""

MAX_NEWTON_PARAMETERS = 512
"""Parameters up to which these Hessians are worth their price."""


# -- The convex problem ----------------------------------------------------------------------------

MAX_DENSE_PARAMETERS, MAX_POLISH_PARAMETERS = 2000, 128
"""Parameters up to which matrices of them are made, and up to which a Newton step for the last
digits is cheap."""

FAST_PHASE_ROWS, NEWTON_CORNER_ROWS = 1000, 50_000
"""Rows above which a fast phase comes first, and Newton steps past corners beat wide bands."""

MAX_ROWS_AT_ONCE = 1000
"""Rows up to which the interior point method takes all of them."""

MAX_ROWS_FROM_ZERO, MAX_PARAMETERS_FROM_ZERO = 10_000, {True: 64, False: 128}
MAX_ENTRIES_FROM_ZERO = 300_000
"""The same from a start at zero, if steps are cheap: one output, one piece, few parameters (for
losses with curvature, and for others), and few entries of X."""

MIN_BAND, BAND_PER_PARAMETER = {True: 0, False: 400}, {True: 8, False: 4}
"""Rows of a band, for losses with curvature and for others: at least, and for each parameter."""

BAND_TOL, MAX_BAND_TOL, TIGHTER, MIN_BAND_TOL = 0.1, 1e-7, 1e-2, 1e-12
"""Of the interior point method: share of the gap to reach, and its largest value; factor if the gap
is not reached; the value below which the method starts anew instead."""

SLOW, NEAR_CONSTANT, BOUND_SLACK = 0.1, 1e-3, 0.5
"""Share of the gap that a step leaves when larger ones should follow; relative distance at which
the constant model is tried; share of the tolerance up to which a bound need not be improved."""

BLUR_WIDTHS = (1e-2, 1e-3, 1e-4)
"""Of corners and cuts relative to the typical loss, with more parameters than matrices take."""

CLASS_FACTOR = 2.0
"""Factor of least squares fits to classes at which the interior point method starts; 1 is worse."""
