"""Average precision on the data sets of Table 2, from the same fits: it shares the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sorr.experiments.cells import Plan
from sorr.experiments.comparison import Line
from sorr.experiments.label_sets import table2
from sorr.experiments.label_sets.scorers import PEER, SCORERS
from sorr.experiments.label_sets.table2 import data_sets, out_of_reach, released_gap, settings
from sorr.experiments.published import AVERAGE_PRECISION
from sorr.experiments.rows import Row

__all__ = ["EXPERIMENT"]

_CHOSEN = "chosen"


def _view(rows: list[Row], plan: Plan, folder: Path) -> list[Path]:
    return _TABLE.write([*rows, *_choose_k(rows, plan)], plan, folder)


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


def _lines(plan: Plan) -> Iterator[Line]:
    for data in data_sets(plan):
        printed = AVERAGE_PRECISION.get(data, {})
        for model, scorer in SCORERS.items():
            label = "" if scorer.follows_k else "any"
            yield Line(data, _CHOSEN, model, printed.get(model), label=label)
            if model == "tkml":
                yield from (Line(data, setting, model) for setting in settings(plan))


def _notes(records: Sequence[dict[str, Any]]) -> list[str]:
    found = [*released_gap(records), *_stronger_peer(records), *out_of_reach(records, ["dataset"])]
    return [*_PROTOCOLS, *found, *_KNOWN]


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


_PROTOCOLS = (
    "From the fits of Table 2; C is the one with the best average precision on validation rows. "
    "In the paper's protocol that is so for LR and LSEP; tkml is the loop as it is, which looks at "
    "accuracy.",
    "The paper does not say of which k its tkml is. Here k is chosen by the average precision on "
    "validation rows, in each split; tkml is there for each k, too.",
)

_KNOWN = (
    "The loss of tkml compares one pair of labels of a row. How the others are ordered, which "
    "average precision depends on, is left to the other rows and the ridge.",
    "The formula in the paper has < where <= is usual. Taken at its word a row with one label "
    "scores 0 however it is ranked, and LR would have about 16, 2 and 35 on Emotions, Scene and "
    "Yeast; the usual formula must have been meant, and is used here.",
)

_TABLE = replace(
    table2.TABLE,
    name="table-ap",
    title="Average precision",
    lines=_lines,
    measure="precision",
    notes=_notes,
)

EXPERIMENT = replace(
    table2.EXPERIMENT,
    name="table-ap",
    title="average precision on Emotions, Scene and Yeast, from the fits of table2",
    view=_view,
    rows="table2",
)
