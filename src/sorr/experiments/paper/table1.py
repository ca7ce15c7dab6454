"""Table 1: the error of aggregate losses on five data sets, with logistic and hinge loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from sorr.experiments.experiment import Cell, Experiment, Plan, Task
from sorr.experiments.paper.aggregates import CONFIRMED, TUNED, measure_ours, measure_paper
from sorr.experiments.published import AGGREGATES
from sorr.experiments.tables import Line, Table, read_notes

_LINES = ("maximum", "robust maximum", "average", TUNED, "AT_k", "AoRR", CONFIRMED)
_MODELS = {"paper": ("maximum", "average", "AT_k", "AoRR"), "ours": _LINES}
# About how many seconds a split takes: ours, and by the paper's protocol.
_COST = {
    "monk": (20, 2),
    "australian": (25, 2),
    "phoneme": (45, 8),
    "titanic": (12, 3),
    "splice": (70, 9),
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
    """Return the data sets and losses. A quick run takes data sets that need no file."""
    data = ("monk", "titanic") if plan.quick else tuple(AGGREGATES)
    return [(name, loss) for name in data for loss in AGGREGATES[name]]


def _lines(plan: Plan) -> Iterator[Line]:
    for data, loss in _problems(plan):
        for model in _LINES:
            printed = AGGREGATES[data][loss].get(model, (None, None))
            yield Line(data, loss, model, *printed)


def _notes(records: Sequence[dict[str, Any]]) -> list[str]:
    """Return the gains over the average loss, and what is known about numbers not reached."""
    known = read_notes("table1-notes")
    notes = known.pop("models")
    for model in ("AoRR", CONFIRMED):
        gains = [r["ours_minus_average"] for r in records if r["model"] == model]
        gains = [gain for gain in gains if not np.isnan(gain)]
        if gains:
            notes.append(
                f"Ours, the error of *{model}* minus that of the average loss is "
                f"{np.mean(gains):+.2f} points on average over {len(gains)} cells, and "
                f"{max(gains):+.2f} at worst."
            )
    missed = {(r["model"], r["dataset"]) for r in records if r["reached"] is False}
    subjects = {*(model for model, _ in missed), *(f"{model} on {data}" for model, data in missed)}
    subjects |= {CONFIRMED} & {record["model"] for record in records}
    return notes + [note for subject in known if subject in subjects for note in known[subject]]


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
