"""Figure 3: lines through toy data with an outlier, and the error as a function of k."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sorr.experiments.cells import Cell, Experiment, Measured, Plan, Task
from sorr.experiments.pages import write_csv, write_figure, write_text
from sorr.experiments.rows import Row
from sorr.experiments.toy.curves import draw_figure
from sorr.experiments.toy.data import AUTHORS, KINDS, bayes_error, has_file, toy_rows
from sorr.experiments.toy.models import LOSSES, MEASURES, MODELS, measure, ranks
from sorr.experiments.toy.pages import toy_page
from sorr.experiments.toy.summary import summarise

__all__ = ["EXPERIMENT"]

_M, _K = 1, 2
_RANKS = {
    "ours": (2, 3, 4, 5, 6, 8, 10, 20, 50, 100, 200),
    "paper": (2, 3, 5, 10, 20, 50, 100, 200),
}
_QUICK_RANKS = (2, 10)
_COST = {  # seconds of a fit without a tangent, and of one with it
    ("ours", "logistic"): (0.05, 0.3),
    ("ours", "hinge"): (0.1, 0.6),
    ("paper", "logistic"): (0.1, 1.2),
    ("paper", "hinge"): (0.1, 0.2),
}


def tasks(plan: Plan) -> list[Task]:
    """Return all lines of a data set and a loss together, the authors' files first."""
    drawn = [(kind, split) for kind in KINDS for split in range(plan.splits)]
    files = [(kind + AUTHORS, 0) for kind in KINDS if not plan.quick]
    return [
        _task(plan, protocol, dataset, split, loss)
        for protocol in plan.protocols
        for dataset, split in files + drawn
        for loss in LOSSES
    ]


def _task(plan: Plan, protocol: str, dataset: str, split: int, loss: str) -> Task:
    some = _QUICK_RANKS if plan.quick else _RANKS[protocol]
    settings = {model: [loss] for model in ("average", "maximum")}
    settings |= {model: [f"{loss} k={k}" for k in some] for model in ("AT_k", "AoRR")}
    plain, tangent = _COST[protocol, loss]
    return Task(
        _measure,
        tuple(
            Cell(protocol, dataset, model, setting, split)
            for model in MODELS
            for setting in settings[model]
        ),
        cost=(2 + len(some)) * plain + len(some) * tangent,
        has_data=not dataset.endswith(AUTHORS) or has_file(dataset.removesuffix(AUTHORS)),
    )


def _measure(cells: tuple[Cell, ...]) -> Iterator[tuple[Cell, Measured]]:
    for cell in cells:
        toy = toy_rows(cell.dataset, cell.split)
        loss, _, k = cell.setting.partition(" k=")
        kept = ranks(cell.model, len(toy.y), m=_M, k=int(k or 1))
        yield cell, measure(cell.protocol, toy, loss, kept, cell.seed)


def view(rows: list[Row], plan: Plan, folder: Path) -> list[Path]:
    """Write the figure, the numbers it shows, and a page that says what they mean."""
    records = summarise(rows)
    bayes = {kind: bayes_error(kind) for kind in KINDS}
    return [
        write_text(folder / "fig-toy.md", toy_page(records, plan, bayes, _K)),
        write_csv(folder / "fig-toy.csv", records),
        write_figure(folder / "fig-toy.png", draw_figure(records, _K, bayes)),
    ]


EXPERIMENT = Experiment(
    "fig-toy",
    "Figure 3: lines through toy data with an outlier, and the error as a function of k",
    MEASURES,
    tasks,
    view,
)
