"""Table 2: how often the k best labels are right, on three data sets of label sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sorr.experiments import published
from sorr.experiments.experiment import Cell, Experiment, Plan, Task
from sorr.experiments.paper.label_sets import PEER, SCORERS, SYNTHETIC, measure_ours, measure_paper
from sorr.experiments.rows import Row
from sorr.experiments.tables import Line, Table

__all__ = [
    "AP_EXPERIMENT",
    "EXPERIMENT",
    "TABLE",
    "data_sets",
    "out_of_reach",
    "released_gap",
    "settings",
]

_KS = (1, 2, 3, 4, 5)
# About how many seconds a split takes: ours, LR and LSEP of the paper's, and its loop for one k.
_COSTS = {
    "emotions": (15, 4, 4),
    "scene": (40, 25, 30),
    "yeast": (65, 12, 20),
    SYNTHETIC: (2, 1, 0.1),
}


def data_sets(plan: Plan) -> tuple[str, ...]:
    """Return the paper's data sets; quickly, one that needs no file."""
    return (SYNTHETIC,) if plan.quick else tuple(published.MULTILABEL)


def settings(plan: Plan) -> list[str]:
    """Return the numbers of labels that are predicted, as they stand in cells."""
    return [f"k={k}" for k in (_KS[:2] if plan.quick else _KS)]


def _tasks(plan: Plan) -> list[Task]:
    return [
        task
        for split in range(plan.splits)
        for data in data_sets(plan)
        for task in _tasks_of(plan, data, split)
    ]


def _tasks_of(plan: Plan, data: str, split: int) -> Iterator[Task]:
    """Yield what is measured on a split: the loop by itself for each k, since it takes longest."""
    ours, peers, loop = _COSTS[data]
    if "paper" in plan.protocols:
        yield Task(measure_paper, _cells(plan, "paper", data, (PEER, "LSEP"), split), peers)
        for cell in _cells(plan, "paper", data, ("tkml",), split):
            yield Task(measure_paper, (cell,), loop)
    if "ours" in plan.protocols:
        yield Task(measure_ours, _cells(plan, "ours", data, tuple(SCORERS), split), ours)


def _cells(
    plan: Plan, protocol: str, data: str, models: Sequence[str], split: int
) -> tuple[Cell, ...]:
    pairs = [(model, setting) for model in models for setting in settings(plan)]
    return tuple(Cell(protocol, data, *pair, split) for pair in pairs)


def _lines(plan: Plan) -> Iterator[Line]:
    for data in data_sets(plan):
        for i, setting in enumerate(settings(plan)):
            for model in SCORERS:
                printed = published.MULTILABEL.get(data, {}).get(model)
                yield Line(data, setting, model, *(printed[i] if printed else ()))


def _notes(records: Sequence[dict[str, Any]]) -> list[str]:
    return [*_PROTOCOLS, *released_gap(records), *out_of_reach(records), *_known(records)]


_PROTOCOLS = (
    "Paper's protocol: tkml is the loop of the released script, with the printed settings; it "
    "keeps, in every outer step, the iterate that is best on validation rows. LR and LSEP have no "
    "script: they are minimised exactly, LSEP on sigmoid outputs, with C from 10^0 to 10^5 chosen "
    "on validation rows. Columns are scaled over all rows.",
    "Ours: each model is minimised for six C, and the one with the best validation accuracy at "
    "that k is tested. Columns are standardised by training rows; splits are other ones. What "
    "label sets predicts is not the top k of any linear scores; all others are linear scores.",
)


def released_gap(records: Sequence[dict[str, Any]]) -> list[str]:
    """Say how far the released loop is from what was printed."""
    gaps = [
        r["paper_minus_printed"]
        for r in records
        if r["model"] == "tkml" and not np.isnan(r["paper_minus_printed"])
    ]
    if not gaps:
        return []
    return [
        f"The released loop does not give the printed tkml: {np.mean(gaps):+.2f} points on average "
        f"over {len(gaps)} cells, from {min(gaps):+.2f} to {max(gaps):+.2f}."
    ]


def out_of_reach(
    records: Sequence[dict[str, Any]], alike: Sequence[str] = ("dataset", "setting")
) -> list[str]:
    """List the printed cells that are above all of ours that can be compared to them."""
    found = []
    for place in dict.fromkeys(tuple(r[name] for name in alike) for r in records):
        here = [r for r in records if tuple(r[name] for name in alike) == place]
        ours = [r for r in here if not np.isnan(r["ours"])]
        printed = [r for r in here if r["printed"] is not None]
        if ours and printed:
            top = max(printed, key=lambda r: float(r["printed"]))
            best = max(ours, key=lambda r: float(r["ours"]))
            if round(best["ours"], 2) < top["printed"]:
                found.append(
                    f"{' '.join(place)} ({top['model']} {top['printed']:.2f}, at most "
                    f"{best['ours']:.2f} by {best['model']})"
                )
    if not found:
        return []
    return [
        f"Printed, and reached by no model of ours, even if the best is picked after the fact: "
        f"{'; '.join(found)}."
    ]


def _known(records: Sequence[dict[str, Any]]) -> list[str]:
    """Return what is known about data sets, if as many splits of ours are there as in the paper."""
    present = {record["dataset"] for record in records if record["ours_splits"] >= _ENOUGH}
    return [note for data, notes in _KNOWN.items() if data in present for note in notes]


_ENOUGH = 10
_KNOWN = {
    "emotions": (
        "Emotions, k=1: nothing linear that we tried reaches the printed 76.80 of tkml, nor do "
        "random forests. Choosing on test rows, which nothing here does, would not explain it: on "
        "ten other splits it gave 73.4 for the C of LR, and 68.1 for the iterate of the loop.",
        "Minimised accurately, tkml is mostly below LR: where a row has more than k true labels "
        "its loss is at least one whatever the scores. The models named subset follow the accuracy "
        "that is measured, and repair most of it.",
    ),
    "scene": ("Scene: plain LR is above every printed cell of tkml.",),
    "yeast": (
        "Yeast, k=2: the constant pair of the two most frequent labels is right about as often as "
        "any model, and most of them predict just that; all printed figures are below it. At k=3 "
        "the minimum of tkml is close to scores that all tie.",
    ),
}

TABLE = Table(
    name="table2",
    title="Table 2: top-k multi-label accuracy",
    lines=_lines,
    measure="accuracy",
    baseline=PEER,
    lower_is_better=False,
    setting="k",
    notes=_notes,
)

EXPERIMENT = Experiment(
    name="table2",
    title="top-k multi-label accuracy on Emotions, Scene and Yeast",
    measures=("accuracy", "precision"),
    tasks=_tasks,
    view=TABLE.write,
)


# -- Average precision on the data sets of Table 2, from the same fits: it shares the rows ---------


_CHOSEN = "chosen"


def _view(rows: list[Row], plan: Plan, folder: Path) -> list[Path]:
    return AP_TABLE.write([*rows, *_choose_k(rows, plan)], plan, folder)


def _choose_k(rows: Sequence[Row], plan: Plan) -> list[Row]:
    """Return for each model and split the row of the k whose validation precision is highest.

    It takes all k that are wanted; ties go to the smallest. Models that do not depend on k have
    the same precision in each row.
    """
    groups: dict[tuple[Any, ...], dict[str, Row]] = {}
    for row in rows:
        key = row["protocol"], row["dataset"], row["model"], row["split"]
        groups.setdefault(key, {})[row["setting"]] = row
    wanted = settings(plan)
    found = []
    for group in groups.values():
        if all(setting in group for setting in wanted):
            ranked = [group[setting] for setting in wanted]
            best = max(ranked, key=lambda row: float(row["chosen"]["validation_precision"]))
            found.append({**best, "setting": _CHOSEN})
    return found


def _precision_lines(plan: Plan) -> Iterator[Line]:
    for data in data_sets(plan):
        printed = published.AVERAGE_PRECISION.get(data, {})
        for model, scorer in SCORERS.items():
            label = "" if scorer.follows_k else "any"
            yield Line(data, _CHOSEN, model, printed.get(model), label=label)
            if model == "tkml":
                yield from (Line(data, setting, model) for setting in settings(plan))


def _precision_notes(records: Sequence[dict[str, Any]]) -> list[str]:
    found = [*released_gap(records), *_stronger_peer(records), *out_of_reach(records, ["dataset"])]
    return [*_PRECISION_PROTOCOLS, *found, *_PRECISION_KNOWN]


def _stronger_peer(records: Sequence[dict[str, Any]]) -> list[str]:
    """Say how far LR is above what was printed of it."""
    gaps = [
        f"{r['ours_minus_printed']:+.2f} on {r['dataset']}"
        for r in records
        if r["model"] == PEER and not np.isnan(r["ours_minus_printed"])
    ]
    if not gaps:
        return []
    return [
        f"LR with its C chosen on validation rows is not what was printed: {', '.join(gaps)}. How "
        "the printed one was fitted is not known; much of the printed lead of tkml is over that."
    ]


_PRECISION_PROTOCOLS = (
    "From the fits of Table 2; C is the one with the best average precision on validation rows. "
    "In the paper's protocol that is so for LR and LSEP; tkml is the loop as it is, which looks at "
    "accuracy.",
    "The paper does not say of which k its tkml is. Here k is chosen by the average precision on "
    "validation rows, in each split; tkml is there for each k, too.",
)

_PRECISION_KNOWN = (
    "The loss of tkml compares one pair of labels of a row. How the others are ordered, which "
    "average precision depends on, is left to the other rows and the ridge.",
    "The formula in the paper has < where <= is usual. Taken at its word a row with one label "
    "scores 0 however it is ranked, and LR would have about 16, 2 and 35 on Emotions, Scene and "
    "Yeast; the usual formula must have been meant, and is used here.",
)

AP_TABLE = replace(
    TABLE,
    name="table-ap",
    title="Average precision",
    lines=_precision_lines,
    measure="precision",
    notes=_precision_notes,
)

AP_EXPERIMENT = replace(
    EXPERIMENT,
    name="table-ap",
    title="average precision on Emotions, Scene and Yeast, from the fits of table2",
    view=_view,
    rows="table2",
)
