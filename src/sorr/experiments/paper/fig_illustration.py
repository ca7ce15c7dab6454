"""Figure 1: six aggregates of the same values, one of which is an outlier."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sorr._files import write_atomically
from sorr._typing import FloatArray
from sorr.experiments.experiment import Cell, Experiment, Measured, Plan, Task
from sorr.experiments.rows import Row
from sorr.experiments.tables import fill_page, format_table, write_csv, write_figure
from sorr.plots import CLASS_COLOURS, DROPPED, EASY, INK, KEPT, MARKERS, need_matplotlib, tidy
from sorr.ranked import RankedRange, average_ranked_range, ranked_range_weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REGULAR = (3.0, 2.6, 2.2, 1.2, 0.6, 0.5, 0.4, 0.3, 0.2)
"""The regular values. The outlier is one more."""

SHOWN, GROWN = 4.0, 8.0
_SIZES = tuple(sorted({0.0, *REGULAR, 2.0, SHOWN, 6.0, GROWN}))  # curves are straight in between
_N = len(REGULAR) + 1


class Aggregate(NamedTuple):
    """An aggregate of all values: the ranks that it averages, and how it is drawn."""

    ranks: RankedRange
    title: str
    dashes: Any


AGGREGATES = {
    "average": Aggregate(RankedRange.average(), "Average", "-"),
    "maximum": Aggregate(RankedRange.maximum(), "Maximum", (0, (5, 2))),
    "average top-k": Aggregate(RankedRange.average_top(5), "Average top-k, k = 5", (0, (1, 1))),
    "median": Aggregate(RankedRange.median(_N), "Median: m = 4, k = 6", (0, (6, 2, 1, 2))),
    "trimmed": Aggregate(RankedRange.trimmed(1), "Average bottom-(n - m), m = 1", (0, (3, 1))),
    "ranked range": Aggregate(RankedRange(1, 5), "Ranked range, m = 1, k = 5", "-"),
}
"""The aggregates of the paper's figure. Each is a ranked range."""


def values_with(outlier: float) -> FloatArray:
    """Return all values. The outlier is the first."""
    return np.array([outlier, *REGULAR])


def _tasks(_plan: Plan) -> list[Task]:
    cells = tuple(
        Cell("ours", "values", name, f"outlier={size:g}", 0)
        for name in AGGREGATES
        for size in _SIZES
    )
    return [Task(_measure, cells)]


def _measure(cells: tuple[Cell, ...]) -> Iterator[tuple[Cell, Measured]]:
    for cell in cells:
        values = values_with(_size(cell.setting))
        ranks = AGGREGATES[cell.model].ranks.resolve(_N)
        weights = ranked_range_weights(values, *ranks)
        yield (
            cell,
            Measured(
                {
                    "value": float(average_ranked_range(values, *ranks)),
                    "share": float(weights[0] / weights.sum()),
                }
            ),
        )


def _size(setting: str) -> float:
    return float(setting.partition("=")[2])


def _view(rows: list[Row], _plan: Plan, folder: Path) -> list[Path]:
    curves = _curves(rows)
    records = [
        {"aggregate": row["model"], "outlier": _size(row["setting"])}
        | {name: row[name] for name in EXPERIMENT.measures}
        for row in rows
    ]
    return [
        write_atomically(folder / "fig-illustration.md", _page(curves)),
        write_csv(folder / "fig-illustration.csv", records),
        write_figure(folder / "fig-illustration.png", _figure(curves)),
    ]


Curve = dict[float, Row]


def _curves(rows: list[Row]) -> dict[str, Curve]:
    """Return the rows of each aggregate, by the size of the outlier."""
    curves: dict[str, Curve] = {}
    for row in rows:
        curves.setdefault(row["model"], {})[_size(row["setting"])] = row
    return {name: dict(sorted(curve.items())) for name, curve in curves.items()}


def _page(curves: dict[str, Curve]) -> str:
    lines = []
    for name, curve in curves.items():
        ranks = AGGREGATES[name].ranks.resolve(_N)
        small, large = (curve[size]["value"] if size in curve else None for size in (SHOWN, GROWN))
        moved = None if small is None or large is None else large - small
        texts = ["" if number is None else f"{number:.3f}" for number in (small, large, moved)]
        share = f"{curve[SHOWN]['share']:.3f}" if SHOWN in curve else ""
        lines.append([name, f"{ranks.m}", f"{ranks.k}", *texts, share])
    header = ["aggregate", "m", "k", f"outlier {SHOWN:g}", f"outlier {GROWN:g}", "moved", "share"]
    return fill_page(
        "fig-illustration", n=_N, shown=SHOWN, grown=GROWN, table=format_table(header, lines)
    )


def _figure(curves: dict[str, Curve]) -> Figure:
    plt = need_matplotlib("fig-illustration")
    figure: Figure = plt.figure(figsize=(10, 5.6), layout="constrained")
    halves: Any = figure.subfigures(1, 2, width_ratios=[1.75, 1])
    left, right = halves
    panels = left.subplots(3, 2, sharex=True, sharey=True)
    for ax, name in zip(panels.T.flat, AGGREGATES, strict=True):
        _draw_bars(tidy(ax), name)
    for ax in panels[-1]:
        ax.set_xlabel("rank")
    left.supylabel("value", fontsize="medium")
    left.legend(handles=_key(), loc="outside lower center", ncols=4, frameon=False)
    _draw_curves(tidy(right.subplots()), curves)
    return figure


def _key() -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    return [
        Patch(facecolor=KEPT, label="counts"),
        Patch(facecolor="none", edgecolor=EASY, linestyle=(0, (2, 1)), label="does not"),
        Patch(facecolor="none", edgecolor=DROPPED, hatch="///", label="outlier (filled: counts)"),
        Line2D([], [], color=INK, linewidth=1.6, label="aggregate"),
    ]


def _draw_bars(ax: Axes, name: str) -> None:
    """Draw the values, in colour if they count, and the aggregate as a line over them."""
    ranks, title, _ = AGGREGATES[name]
    values = np.sort(values_with(SHOWN))[::-1]
    weights = ranked_range_weights(values, *ranks)
    value = float(average_ranked_range(values, *ranks))
    position = np.arange(1, _N + 1)
    for i, height in zip(position, values, strict=True):
        counts, is_outlier = weights[i - 1] > 0, i == 1
        colour = DROPPED if is_outlier else KEPT if counts else EASY
        ax.bar(
            i,
            height,
            width=0.78,
            facecolor=colour if counts else "none",
            edgecolor="white" if counts and is_outlier else colour,
            hatch="///" if is_outlier else None,
            linewidth=0 if counts else 1.2,
            linestyle="-" if counts else (0, (2, 1)),
        )
    counted = position[weights > 0]
    ax.plot([counted[0] - 0.5, _N + 0.5], [value, value], color=INK, linewidth=1.6)
    ax.text(_N + 0.5, value + 0.08, f"{value:.2f}", ha="right", va="bottom", color=INK)
    ax.set_title(title, fontsize="medium", loc="left")
    ax.set_xticks([1, 5, _N])
    ax.set(xlim=(0.3, _N + 0.7), ylim=(0, SHOWN * 1.22))


def _styles() -> dict[str, dict[str, Any]]:
    """Return how the curve of each aggregate is drawn. The ranked range stands out."""
    colours = (*(CLASS_COLOURS[i] for i in (5, 3, 1, 4, 2)), KEPT)
    return {
        name: {"color": colour, "linestyle": AGGREGATES[name].dashes, "marker": mark}
        for name, colour, mark in zip(AGGREGATES, colours, MARKERS, strict=False)
    }


def _draw_curves(ax: Axes, curves: dict[str, Curve]) -> None:
    """Draw each aggregate as a function of the size of the outlier."""
    styles = _styles()
    for name, curve in curves.items():
        sizes = np.array(list(curve))
        heights = np.array([row["value"] for row in curve.values()])
        marked = np.flatnonzero(sizes % 2 == 0).tolist()
        ax.plot(sizes, heights, **styles[name], lw=2, ms=6, markevery=marked, clip_on=False)
        ax.annotate(
            name,
            (sizes[-1], heights[-1]),
            (8, 0),
            textcoords="offset points",
            va="center",
            color=INK,
            weight="bold" if name == "ranked range" else None,
        )
    ax.axvline(SHOWN, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    ax.annotate(
        "as on the left", (SHOWN, GROWN), (-4, -2), textcoords="offset points", ha="right", va="top"
    )
    ax.set_xlabel("size of the outlier")
    ax.set_ylabel("aggregate")
    ax.set_title("As the outlier grows", fontsize="medium", loc="left")
    ax.set(xlim=(0, GROWN), ylim=(0, GROWN))


EXPERIMENT = Experiment(
    name="fig-illustration",
    title="Figure 1: six aggregates of the same values, and how an outlier changes them",
    measures=("value", "share"),
    tasks=_tasks,
    view=_view,
    splits=1,
    protocols=("ours",),
)
