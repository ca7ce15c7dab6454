"""Appendix: lines through toy data with 2 to 20 outliers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sorr.experiments.cells import Cell, Experiment, Measured, Plan, Task
from sorr.experiments.pages import write_csv, write_figure, write_text
from sorr.experiments.rows import Row
from sorr.experiments.toy.data import toy_rows
from sorr.experiments.toy.models import LOSSES, MEASURES, MODELS, measure, ranks
from sorr.experiments.toy.pages import outliers_page
from sorr.experiments.toy.panels import draw_boundaries, legend_handles
from sorr.experiments.toy.summary import Record, find, summarise
from sorr.plots.canvas import need_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CASES", "EXPERIMENT"]

CASES = (2, 3, 4, 5, 10, 20)
"""How many outliers there are; as many losses are left out."""

_QUICK_CASES = (2, 3)
_SECONDS = {"ours": 1.0, "paper": 5.0}
_TITLES = {
    "ours": "Ours: what minimises each objective",
    "paper": "The paper's protocol: what the released loop ends with",
}


def tasks(plan: Plan) -> list[Task]:
    """Return all lines of a draw, a case and a loss together."""
    return [
        Task(
            _measure,
            tuple(Cell(protocol, _name(case), model, loss, split) for model in MODELS),
            cost=_SECONDS[protocol],
        )
        for protocol in plan.protocols
        for case in (_QUICK_CASES if plan.quick else CASES)
        for loss in LOSSES
        for split in range(plan.splits)
    ]


def _name(case: int) -> str:
    return f"{case} outliers"


def _case(dataset: str) -> int:
    return int(dataset.split()[0])


def _measure(cells: tuple[Cell, ...]) -> Iterator[tuple[Cell, Measured]]:
    for cell in cells:
        case = _case(cell.dataset)
        toy = toy_rows("balanced", cell.split, case)
        kept = ranks(cell.model, len(toy.y), m=case, k=case + 1)
        yield cell, measure(cell.protocol, toy, cell.setting, kept, cell.seed)


def view(rows: list[Row], plan: Plan, folder: Path) -> list[Path]:
    """Write a figure for each protocol, the numbers, and a page that says what they mean."""
    records = summarise(rows)
    return [
        write_text(folder / "fig-toy-outliers.md", outliers_page(records, plan)),
        write_csv(folder / "fig-toy-outliers.csv", records),
        *(
            write_figure(folder / f"fig-toy-outliers-{protocol}.png", _draw(some, title))
            for protocol, title in _TITLES.items()
            if (some := find(records, protocol=protocol))
        ),
    ]


def _draw(records: Sequence[Record], title: str) -> Figure:
    """Return the panels of a protocol, both losses of a case side by side."""
    plt = need_matplotlib("the experiment fig-toy-outliers")
    panels = list(dict.fromkeys((record["dataset"], record["loss"]) for record in records))
    n_rows = -(-len(panels) // 4)
    figure: Figure
    figure, axes = plt.subplots(
        n_rows, 4, figsize=(10, 2.6 * n_rows + 0.9), squeeze=False, layout="constrained"
    )
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    for ax, letter, (dataset, loss) in zip(axes.flat, "abcdefghijkl", panels, strict=False):
        lines = {record["model"]: record for record in find(records, dataset=dataset, loss=loss)}
        draw_boundaries(ax, toy_rows("balanced", 0, _case(dataset)), lines)
        ax.set_title(f"({letter}) {dataset}, {loss}", fontsize=10)
        ax.label_outer()
    figure.suptitle(title, fontsize=11)
    figure.legend(
        handles=legend_handles(), loc="outside lower center", ncols=7, frameon=False, fontsize=9
    )
    return figure


EXPERIMENT = Experiment(
    "fig-toy-outliers",
    "Appendix: lines through toy data with 2 to 20 outliers",
    MEASURES,
    tasks,
    view,
)
