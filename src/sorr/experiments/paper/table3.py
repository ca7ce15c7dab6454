"""Table 3: top-1 to top-5 accuracy on MNIST with wrong labels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sorr._files import write_atomically
from sorr.experiments.experiment import Cell, Experiment, Plan, Task
from sorr.experiments.paper.digits import (
    EFFORTS,
    MEASURES,
    ORACLE,
    OUR_MODELS,
    PAPER_MODELS,
    PEER,
    RANKED,
    SMALL,
    TOPS,
    TRIMMED,
    C,
    measure_ours,
    measure_paper,
    setting_of,
)
from sorr.experiments.published import MNIST
from sorr.experiments.rows import Row
from sorr.experiments.tables import (
    MISSED,
    QUICK,
    Line,
    Table,
    fill_page,
    format_count,
    format_gain,
    format_mean,
    format_notes,
    format_table,
    read_notes,
    write_csv,
)

NOISES = tuple(MNIST)
"""Per cent of the labels of five digits that are wrong."""
CLEAN = 0

Record = Mapping[str, Any]
_Held = dict[tuple[str, str], Record]
# Lines of a table in their order: the text in front, a model, and which of its numbers.
_TABLE_LINES = (
    ("SVM_alpha", "top-1 SVM", "printed"),
    (RANKED, RANKED, "paper"),
    ("top-1 SVM", "top-1 SVM", "paper"),
    ("tkml", "tkml", "printed"),
    ("tkml", "tkml", "paper"),
    *((model, model, "ours") for model in (PEER, "top-1 SVM", "top-2 SVM", "tkml", TRIMMED)),
    (f"{ORACLE} (oracle)", ORACLE, "ours"),
)
_PROTOCOLS = {"printed": "printed", "paper": "paper's protocol", "ours": "ours"}
_HEADER = ("model", "by", *(f"top-{k}" for k in TOPS), f"top-1 - {PEER}")
_LINES = tuple(dict.fromkeys((*PAPER_MODELS, *OUR_MODELS)))
_PRINTED = {"top-1 SVM": "top-k SVM", RANKED: "top-k SVM", "tkml": "tkml"}
# About how many seconds a run takes: our models, the loop without and with outer steps.
_COSTS = {"mnist": (75, 20, 220), SMALL: (4, 0.3, 0.5)}


def _data_set(plan: Plan) -> str:
    """Return the name of the data. A quick run takes digits that need no file."""
    return SMALL if plan.quick else "mnist"


def _tasks(plan: Plan) -> list[Task]:
    data = _data_set(plan)
    each = [
        task
        for run in range(plan.splits)
        for noise in NOISES
        for task in _tasks_of(plan, data, setting_of(noise), run)
    ]
    return [*each, *_ceiling(plan, data)]


def _tasks_of(plan: Plan, data: str, setting: str, run: int) -> Iterator[Task]:
    """Yield the tasks of one draw of wrong labels. The long loop has a task of its own."""
    ours, svm, loop = _COSTS[data]
    if "paper" in plan.protocols:
        short = tuple(model for model in PAPER_MODELS if model != "tkml")
        yield Task(measure_paper, _cells("paper", data, short, setting, run), svm)
        yield Task(measure_paper, _cells("paper", data, ("tkml",), setting, run), loop)
    if "ours" in plan.protocols:
        yield Task(measure_ours, _cells("ours", data, tuple(OUR_MODELS), setting, run), ours)


def _ceiling(plan: Plan, data: str) -> Iterator[Task]:
    """Yield the fit to the right labels. One is enough, since nothing is drawn."""
    if "ours" in plan.protocols:
        cost = _COSTS[data][0] / len(OUR_MODELS)
        yield Task(measure_ours, _cells("ours", data, (PEER,), setting_of(CLEAN), 0), cost)


def _cells(
    protocol: str, data: str, models: Sequence[str], setting: str, run: int
) -> tuple[Cell, ...]:
    return tuple(Cell(protocol, data, model, setting, run) for model in models)


def _lines(plan: Plan) -> Iterator[Line]:
    data = _data_set(plan)
    for noise in NOISES:
        setting = setting_of(noise)
        for k in TOPS:
            for model in _LINES:
                printed, label = _printed(data, noise, model, k), label_of(noise, k)
                yield Line(data, setting, model, *printed, measure=f"top{k}", label=label)
    for k in TOPS:
        yield Line(data, setting_of(CLEAN), PEER, measure=f"top{k}", label=label_of(CLEAN, k))


def _printed(data: str, noise: int, model: str, k: int) -> tuple[float | None, float | None]:
    """Return a printed mean and its standard deviation, or None for both."""
    if data == SMALL or model not in _PRINTED:
        return None, None
    return MNIST[noise][_PRINTED[model]][k - 1]


_TABLE = Table(
    name="table3",
    title="Table 3: accuracy on MNIST with wrong labels",
    lines=_lines,
    measure="top1",
    baseline=PEER,
    lower_is_better=False,
    setting="noise",
)


def _view(rows: list[Row], plan: Plan, folder: Path) -> list[Path]:
    """Write a table for each share of wrong labels, and one CSV file."""
    records = _TABLE.records(rows, plan)
    if not records:
        return []
    return [
        write_atomically(folder / "table3.md", page(records, plan)),
        write_csv(folder / "table3.csv", records),
    ]


EXPERIMENT = Experiment(
    name="table3",
    title="top-1 to top-5 accuracy on MNIST with asymmetric noise 0.2, 0.3 and 0.4",
    measures=MEASURES,
    tasks=_tasks,
    view=_view,
    splits=5,
)


# -- The page: a table for each share of wrong labels, and notes -----------------------------------


def label_of(noise: int, k: int) -> str:
    """Return the setting of the records for a share of wrong labels and a number of guesses."""
    return f"{setting_of(noise)} top-{k}"


def page(records: Sequence[Record], plan: Plan) -> str:
    """Return the page of the records."""
    held: _Held = {(record["setting"], record["model"]): record for record in records}
    tables = []
    for noise in NOISES:
        lines = _table_lines(held, noise)
        if lines:
            tables += [f"## {noise} % of the labels of 2, 3, 5, 6 and 7 are wrong\n"]
            tables += [format_table(_HEADER, lines)]
    counts = [
        max(record["paper_splits"], record["ours_splits"])
        for record in records
        if not record["setting"].startswith(f"{setting_of(CLEAN)} ")
    ]
    return fill_page(
        "table3",
        draws=format_count(counts or [1], "draw"),
        quick=QUICK * plan.quick,
        missed=MISSED,
        tables="\n".join(tables),
        notes=format_notes(_notes(held)),
    )


def _table_lines(held: _Held, noise: int) -> list[list[str]]:
    """Return the lines that have numbers, and the ceiling below them."""
    lines = []
    for name, model, column in _TABLE_LINES:
        by_top = [held.get((label_of(noise, k), model), {}) for k in TOPS]
        cells = [_cell(record, column) for record in by_top]
        if any(cells):
            lines.append([name, _PROTOCOLS[column], *cells, _gain(by_top[0], column, model)])
    clean = [_cell(held.get((label_of(CLEAN, k), PEER), {}), "ours") for k in TOPS]
    if lines and any(clean):
        lines.append([f"{PEER} on right labels (ceiling)", _PROTOCOLS["ours"], *clean, ""])
    return lines


def _cell(record: Record, column: str) -> str:
    mean = format_mean(record.get(column), record.get(f"{column}_spread"))
    gap = format_gain(record.get(f"{column}_minus_printed", math.nan)) if mean else ""
    missed = MISSED * (column == "ours" and record.get("reached") is False)
    return f"{mean} {gap}".rstrip() + missed


def _gain(record: Record, column: str, model: str) -> str:
    if model == PEER:
        return ""
    name = f"{column}_minus_{PEER}"
    return format_gain(record.get(name, math.nan), record.get(f"{name}_error", math.nan))


def _notes(held: _Held) -> list[str]:
    is_printed = any(record["printed"] is not None for record in held.values())
    fixed = read_notes("table3-notes")
    notes = fixed["protocols"] + (fixed["known"] if is_printed else [])
    return [
        *_gains(held),
        *_above_printed(held),
        *_peer_above_printed(held),
        *_released(held),
        *(note.format(C=C, model=RANKED, **EFFORTS["mnist"]._asdict()) for note in notes),
    ]


def _gains(held: _Held) -> Iterator[str]:
    """Say how far the trimmed model is above the plain one."""
    gains = [
        f"{_gain(record, 'ours', TRIMMED)} with {noise} % wrong"
        for noise in NOISES
        if (record := held.get((label_of(noise, 1), TRIMMED)))
    ]
    if gains:
        yield (
            f"Top-1 accuracy of *{TRIMMED}* minus that of {PEER}: {', '.join(gains)}. The aim was "
            "at least +2."
        )


def _above_printed(held: _Held) -> Iterator[str]:
    """Compare the trimmed model with the printed tkml."""
    gaps = [gap for noise in NOISES for gap in _gaps_to_tkml(held, TRIMMED, noise, TOPS)]
    if gaps:
        reached = sum(round(gap, 2) >= 0 for gap in gaps)
        yield (
            f"*{TRIMMED[0].upper()}{TRIMMED[1:]}* reaches the printed tkml in {reached} of "
            f"{len(gaps)} cells of top-1 to top-5. The aim was all of them. The smallest "
            f"difference is {min(gaps):+.2f}."
        )


def _peer_above_printed(held: _Held) -> Iterator[str]:
    gaps = [
        f"{gap:+.2f} with {noise} % wrong"
        for noise in NOISES
        for gap in _gaps_to_tkml(held, PEER, noise, (1,))
    ]
    if gaps:
        yield f"Top-1 accuracy of plain {PEER} minus the printed tkml: {', '.join(gaps)}."


def _gaps_to_tkml(held: _Held, model: str, noise: int, tops: Sequence[int]) -> Iterator[float]:
    """Yield how far ours is above the printed tkml."""
    for k in tops:
        own, tkml = (held.get((label_of(noise, k), name), {}) for name in (model, "tkml"))
        if tkml.get("printed") is not None and not math.isnan(own.get("ours", math.nan)):
            yield own["ours"] - tkml["printed"]


def _released(held: _Held) -> Iterator[str]:
    """Say how far the released loop is from the printed numbers."""
    for name, model in (("tkml", "tkml"), ("SVM_alpha", RANKED)):
        records = (held.get((label_of(noise, k), model), {}) for noise in NOISES for k in TOPS)
        gaps = (record.get("paper_minus_printed", math.nan) for record in records)
        known = [gap for gap in gaps if not math.isnan(gap)]
        if known:
            yield (
                f"In the paper's protocol, *{model}* minus the printed {name} is {min(known):+.2f} "
                f"to {max(known):+.2f} points over {len(known)} cells."
            )
