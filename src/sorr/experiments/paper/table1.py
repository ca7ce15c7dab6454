"""Table 1: the error of aggregate losses on five data sets, with logistic and hinge loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from sorr.experiments.experiment import Cell, Experiment, Plan, Task
from sorr.experiments.paper.aggregates import CONFIRMED, TUNED, measure_ours, measure_paper
from sorr.experiments.published import AGGREGATES
from sorr.experiments.tables import Line, Table

__all__ = ["EXPERIMENT"]

_LINES = ("maximum", "robust maximum", "average", TUNED, "AT_k", "AoRR", CONFIRMED)
_MODELS = {"paper": ("maximum", "average", "AT_k", "AoRR"), "ours": _LINES}
# About how many seconds a split takes: ours, by the paper's protocol.
_COST = {
    "monk": (20, 2),
    "australian": (25, 2),
    "phoneme": (45, 8),
    "titanic": (12, 3),
    "splice": (70, 9),
}
_CONFIRMED = (
    f"{CONFIRMED}: the lowest of a thousand cross-validated errors is low by luck, too. Here the "
    "chosen cell and the average loss are compared once more, by five folds of the same rows that "
    "were not used to choose, and the cell is taken only if it is better by more than the standard "
    "error of the five differences; else the average loss is. This line was added after seven "
    "splits had been seen."
)
# What is known of printed numbers that are not reached, by model and data set.
_KNOWN = {
    ("maximum", ""): (
        "Maximum: where no line parts the classes, as on all five sets, the constant model is its "
        "minimum, and its error is the share of the smaller class. The printed numbers are not of "
        "minimisers, and the released loop, stopped where validation is best, is mostly below them."
    ),
    ("robust maximum", ""): (
        "Robust maximum: the paper prints no formula and the released scripts hold none. This is "
        "our reading of it (`RobustMaxClassifier`), at its minimum."
    ),
    ("average", ""): (
        "Average: nothing is chosen but C, so a difference to the printed number is one of splits, "
        "of training on three quarters instead of a half, or of stopping early."
    ),
    (
        "AT_k",
        "",
    ): "AT_k: convex, and solved to its minimum; what stops early can be better, or lucky.",
    ("AoRR", "australian"): (
        "AoRR on Australian, logistic: the printed 11.42 is below the 12.3 that an earlier run, "
        "which learned from half of the rows, had for the best fixed (C, k, m) when that was "
        "picked on the test parts. The printed 12.50 with the hinge loss is within the noise of "
        "ten splits."
    ),
    ("AoRR", "phoneme"): (
        "AoRR on Phoneme: the printed 21.95 is below the 22.4 that an earlier run, which learned "
        "from half of the rows, had for the best (C, k, m) when that was picked on the test part "
        "of every split."
    ),
    ("AoRR", "titanic"): (
        "AoRR on Titanic: the printed numbers are below the 22.0 that an earlier run, which "
        "learned from half of the rows, had for the best (C, k, m) when that was picked on the "
        "test part of every split; no classifier at all has less than 20.95 on the whole table."
    ),
    ("AoRR", "splice"): (
        "AoRR on Splice: no rule of choosing (C, k, m) beats the average loss beyond noise there."
    ),
}


def _tasks(plan: Plan) -> list[Task]:
    return [
        Task(
            partial(measure_ours if protocol == "ours" else measure_paper, quick=plan.quick),
            tuple(Cell(protocol, data, model, loss, split) for model in _MODELS[protocol]),
            cost=_COST[data][protocol == "paper"],
        )
        for split in range(plan.splits)
        for data, loss in _problems(plan)
        for protocol in plan.protocols
    ]


def _problems(plan: Plan) -> list[tuple[str, str]]:
    """Return the data sets and losses; quickly, those that need no file."""
    data = ("monk", "titanic") if plan.quick else tuple(AGGREGATES)
    return [(name, loss) for name in data for loss in AGGREGATES[name]]


def _lines(plan: Plan) -> Iterator[Line]:
    for data, loss in _problems(plan):
        for model in _LINES:
            printed = AGGREGATES[data][loss].get(model, (None, None))
            yield Line(data, loss, model, *printed)


def _notes(records: Sequence[dict[str, Any]]) -> list[str]:
    """Return how much is gained over the average loss, and what is known of what is not reached."""
    notes = []
    for model in ("AoRR", CONFIRMED):
        gains = [r["ours_minus_average"] for r in records if r["model"] == model]
        gains = [gain for gain in gains if not np.isnan(gain)]
        if gains:
            notes.append(
                f"{model}, minus average, ours: {np.mean(gains):+.2f} on average over "
                f"{len(gains)} cells, {max(gains):+.2f} at worst."
            )
    if any(record["model"] == CONFIRMED for record in records):
        notes.append(_CONFIRMED)
    missed = {(r["model"], r["dataset"]) for r in records if r["reached"] is False}
    for (model, data), sentence in _KNOWN.items():
        if any(model == m and data in ("", d) for m, d in missed):
            notes.append(sentence)
    return notes


_TABLE = Table(
    name="table1",
    title="Table 1: error of aggregate losses",
    lines=_lines,
    measure="error",
    baseline="average",
    lower_is_better=True,
    setting="loss",
    notes=_notes,
)

EXPERIMENT = Experiment(
    name="table1",
    title="error of aggregate losses on five data sets, logistic and hinge",
    measures=("error",),
    tasks=_tasks,
    view=_TABLE.write,
)
