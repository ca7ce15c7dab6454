"""Theorem 2 in numbers: whether what minimises has the sign of Bayes' rule, and where it fails."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler

from sorr.datasets import load_dataset
from sorr.experiments.cells import Cell, Experiment, Measured, Plan, Task, seed_of
from sorr.experiments.pages import write_csv, write_figure, write_text
from sorr.experiments.published import AGGREGATE_SETTINGS
from sorr.experiments.rows import Row
from sorr.experiments.theory.calibration_figure import draw_calibration
from sorr.experiments.theory.calibration_page import calibration_page, numbers, verdict
from sorr.experiments.theory.population import LOSSES, Population, point_minimum, population_minimum
from sorr.objectives import RankedRangeObjective
from sorr.ranked import Thresholds, thresholds
from sorr.solvers import trim

__all__ = ["EXPERIMENT", "PAIRS", "POPULATION"]

PAIRS = (
    Thresholds(upper=math.inf, lower=0.0),
    Thresholds(upper=math.inf, lower=0.4),
    Thresholds(upper=3.0, lower=0.0),
    Thresholds(upper=1.3, lower=0.4),
    Thresholds(upper=0.8, lower=0.2),
    Thresholds(upper=1.5, lower=0.9),
    Thresholds(upper=1.5, lower=1.0),
    Thresholds(upper=2.0, lower=1.2),
    Thresholds(upper=0.5, lower=0.5),
)
"""Thresholds, the loss being one at zero: the last three are edges of the theorem, or beyond."""

POPULATION = Population(positive=(475, 210, 80), negative=(25, 90, 120))
"""Three points with probabilities 0.95, 0.7 and 0.4 of the positive class: Bayes errs in 19.5 %."""

_ETAS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.45, 0.55, 0.6, 0.7, 0.8, 0.9, 0.95)
_TOP_RANKS = (30, 80, 130, 180, 230, 280, 380)
_LAST_RANKS = (100, 200, 300, 400, 600, 800, 1000)


def _tasks(plan: Plan) -> list[Task]:
    step = 3 if plan.quick else 1
    point = tuple(
        Cell("ours", "point", loss, f"lambda={cuts.lower} lambda_hat={cuts.upper} eta={eta}", 0)
        for loss in LOSSES
        for cuts in PAIRS
        for eta in _ETAS[::step]
    )
    points = tuple(
        Cell(
            "ours", "three points", loss, f"mu={m / POPULATION.total} nu={k / POPULATION.total}", 0
        )
        for loss in LOSSES
        for m in _TOP_RANKS[::step]
        for k in _LAST_RANKS[::step]
        if m < k
    )
    names = ("monk", "titanic") if plan.quick else tuple(AGGREGATE_SETTINGS)
    printed = [
        tuple(
            Cell("ours", name, loss, f"m={at.m} k={at.k}", split)
            for loss, at in AGGREGATE_SETTINGS[name].items()
        )
        for name in names
        for split in range(plan.splits)
    ]
    return [
        Task(_measure_point, point),
        Task(_measure_points, points),
        *(Task(_measure_printed, cells, cost=3) for cells in printed),
    ]


def _measure_point(cells: tuple[Cell, ...]) -> Iterator[tuple[Cell, Measured]]:
    """Minimise the expected loss at one point, thresholds being given."""
    for cell in cells:
        at = numbers(cell.setting)
        cuts = Thresholds(upper=at["lambda_hat"], lower=at["lambda"])
        found = point_minimum(cell.model, cuts, at["eta"])
        yield cell, Measured({**cuts._asdict(), **found._asdict()})


def _measure_points(cells: tuple[Cell, ...]) -> Iterator[tuple[Cell, Measured]]:
    """Minimise the ranked range of the population, ranks being given."""
    for cell in cells:
        m, k = (round(POPULATION.total * part) for part in numbers(cell.setting).values())
        found = population_minimum(cell.model, POPULATION, m, k)
        sides = zip(POPULATION.bayes, found.predictions, strict=True)
        lean = [side * t for side, t in sides]  # how far to the side of Bayes' rule
        values = {
            "upper": float(found.cuts.upper),
            "lower": float(found.cuts.lower),
            "low": min(lean),
            "high": max(lean),
            "infimum": found.infimum,
            "excess": min(found.excess),
            "error": 100 * POPULATION.bayes_error,
        }
        predictions = " ".join(f"{t:.4g}" for t in found.predictions)
        yield cell, Measured(values, {"predictions": predictions})


def _measure_printed(cells: tuple[Cell, ...]) -> Iterator[tuple[Cell, Measured]]:
    """Minimise at printed ranks on half of the rows, and compare with a prediction of zero."""
    bunch = load_dataset(cells[0].dataset)
    n = len(bunch.target)
    rng = np.random.default_rng(seed_of("calibration", cells[0].dataset, cells[0].split))
    rows = rng.permutation(n)[: n // 2]
    X = StandardScaler().fit_transform(bunch.data[rows])
    y = np.where(bunch.target[rows] == np.max(bunch.target), 1.0, -1.0)
    for cell in cells:
        at = AGGREGATE_SETTINGS[cell.dataset][cell.model]
        average = RankedRangeObjective(X, y, cell.model, C=at.C)
        wrong = y * average.raw_prediction(trim(average, random_state=cell.seed).theta) <= 0
        objective = RankedRangeObjective(X, y, cell.model, m=at.m, k=at.k, C=at.C)
        found = trim(objective, random_state=cell.seed)
        scale = objective.value(np.zeros(objective.shape))
        losses = objective.losses(objective.raw_prediction(found.theta)) / scale
        cuts = thresholds(losses, at.m, at.k)
        values = {
            "upper": float(cuts.upper),
            "lower": float(cuts.lower),
            "infimum": found.objective / scale,
            "error": 100 * float(np.mean(wrong)),
        }
        ranks = {"m": at.m, "k": at.k, "C": at.C, "rows": len(rows)}
        yield cell, Measured(values, ranks, found.objective, found.gap, found.status.name)


def _view(rows: list[Row], plan: Plan, folder: Path) -> list[Path]:
    point, points = (
        [row for row in rows if row["dataset"] == name] for name in ("point", "three points")
    )
    printed = [row for row in rows if row["dataset"] in AGGREGATE_SETTINGS]
    records = [
        {name: row[name] for name in ("dataset", "model", "setting", "split")}
        | {name: row[name] for name in EXPERIMENT.measures}
        | {"predictions": row["chosen"].get("predictions", ""), "verdict": verdict(row)}
        for row in rows
    ]
    solved = [(numbers(row["setting"]), verdict(row)) for row in points]
    return [
        write_text(folder / "calibration.md", calibration_page(point, points, printed, plan)),
        write_csv(folder / "calibration.csv", records),
        write_figure(folder / "calibration.png", draw_calibration(PAIRS, POPULATION, solved)),
    ]


EXPERIMENT = Experiment(
    name="calibration",
    title="Theorem 2 in numbers: whether what minimises has the sign of Bayes' rule",
    measures=("lower", "upper", "low", "high", "infimum", "excess", "error"),
    tasks=_tasks,
    view=_view,
    splits=3,
    protocols=("ours",),
)
