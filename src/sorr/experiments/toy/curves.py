"""Figure 3, drawn: lines in the first rows of panels, errors as functions of k below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sorr.experiments.toy.data import AUTHORS, KINDS, has_file, toy_rows
from sorr.experiments.toy.models import LOSSES
from sorr.experiments.toy.panels import (
    MODEL_NAMES,
    MODEL_STYLES,
    PROTOCOL_NAMES,
    draw_boundaries,
    legend_handles,
)
from sorr.experiments.toy.summary import Record, find
from sorr.plots.canvas import EASY, need_matplotlib, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["boundary_dataset", "draw_figure"]

_COLUMNS = [(kind, loss) for kind in KINDS for loss in LOSSES]
_ERRORS = {
    "error_rows": "error on its rows,\noutlier aside (%)",
    "error_population": "error on unseen\nrows (%)",
}
_CURVES: dict[str, dict[str, Any]] = {
    "ours": {"markersize": 4},
    "paper": {"markersize": 4, "markerfacecolor": "white", "linewidth": 1.0},
}
_MARKERS = {"AT_k": "s", "AoRR": "o"}
_TICKS = [1, 2, 5, 10, 20, 50, 200]
_SMALL = 0.1  # per cent, below which the axis of errors is linear


def boundary_dataset(records: Sequence[Record], kind: str) -> str:
    """Return the data set whose rows and lines are drawn.

    It is the authors' if it was measured and their file is here, for a figure shows its rows.
    """
    is_measured = bool(find(records, dataset=kind + AUTHORS))
    return kind + AUTHORS if is_measured and has_file(kind) else kind


def draw_figure(records: Sequence[Record], k: int, bayes: dict[str, float]) -> Figure:
    """Return the figure.

    Parameters
    ----------
    records : sequence of Record
    k : int
        At which the lines of AT_k and AoRR are drawn.
    bayes : dict of str to float
        The least error on unseen rows of each kind, in per cent.
    """
    plt = need_matplotlib("the experiment fig-toy")
    protocols = [name for name in ("ours", "paper") if find(records, protocol=name)]
    heights = [2.75 * len(protocols) + 0.6, 6.1]
    figure: Figure = plt.figure(figsize=(10, sum(heights)), layout="constrained")
    halves: Any = figure.subfigures(2, 1, height_ratios=heights)
    _draw_boundaries(halves[0], records, protocols, k)
    _draw_errors(halves[1], records, protocols, bayes)
    return figure


def _draw_boundaries(
    figure: SubFigure, records: Sequence[Record], protocols: Sequence[str], k: int
) -> None:
    """Draw panels (a) to (d), a row of them for each protocol."""
    axes = figure.subplots(len(protocols), len(_COLUMNS), squeeze=False)
    for line, protocol in zip(axes, protocols, strict=True):
        for ax, (kind, loss) in zip(line, _COLUMNS, strict=True):
            some = find(records, protocol=protocol, loss=loss)
            dataset = boundary_dataset(some, kind)
            shown = {
                record["model"]: record
                for record in find(some, dataset=dataset)
                if record["model"] in ("average", "maximum") or record["k"] == k
            }
            draw_boundaries(ax, toy_rows(dataset), shown)
            ax.set_ylabel("")
        line[0].set_ylabel(f"{PROTOCOL_NAMES[protocol]}\n$x_2$", fontsize=10)
    for ax, letter, column in zip(axes[0], "abcd", _COLUMNS, strict=True):
        ax.set_title(f"({letter}) {', '.join(column)}", fontsize=10)
    sets = {boundary_dataset(records, kind) for kind in KINDS}
    whose = "the authors' rows" if sets == {kind + AUTHORS for kind in KINDS} else "rows drawn"
    figure.suptitle(f"Lines through {whose}, k = {k}, m = 1", fontsize=11)
    _place_legend(figure, legend_handles(), 7)


def _draw_errors(
    figure: SubFigure, records: Sequence[Record], protocols: Sequence[str], bayes: dict[str, float]
) -> None:
    """Draw panels (e) to (h): on the rows of the fit and, below, on unseen rows."""
    axes = figure.subplots(len(_ERRORS), len(_COLUMNS), sharex=True, sharey=True)
    for line, measure in zip(axes, _ERRORS, strict=True):
        for ax, (kind, loss) in zip(line, _COLUMNS, strict=True):
            some = find(records, dataset=kind, loss=loss)
            for protocol in protocols[::-1]:
                _draw_curves(ax, find(some, protocol=protocol), measure, protocol)
            if measure == "error_population":
                ax.axhline(bayes[kind], color=EASY, linewidth=1.5, zorder=1)
        line[0].set_ylabel(_ERRORS[measure], fontsize=10)
    for ax, letter, column in zip(axes[0], "efgh", _COLUMNS, strict=True):
        ax.set_title(f"({letter}) {', '.join(column)}", fontsize=10)
    for ax in axes[-1]:
        ax.set_xlabel("k", labelpad=1)
    draws = max(record["draws"] for record in records)
    over = (
        f"mean and standard deviation over {draws} draws of 200 rows" if draws > 1 else "one draw"
    )
    figure.suptitle(f"Error as a function of k, m = 1 for AoRR: {over}", fontsize=11)
    _place_legend(figure, _curve_handles(protocols), 5)


def _draw_curves(ax: Axes, records: Sequence[Record], measure: str, protocol: str) -> None:
    """Draw the mean error of AT_k and AoRR as a function of k; a band where it is ours."""
    for model in ("AT_k", "AoRR"):
        curve = find(records, model=model)
        if model == "AT_k":  # which is the maximum at k = 1
            curve = find(records, model="maximum") + curve
        k = [record["k"] for record in curve]
        mean = np.array([record[measure] for record in curve])
        style = _curve_style(model, protocol)
        ax.plot(k, mean, **style)
        if protocol == "ours":
            spread = np.nan_to_num([record[f"{measure}_spread"] for record in curve])
            low, high = np.maximum(mean - spread, 0), mean + spread
            ax.fill_between(k, low, high, color=style["color"], alpha=0.15, linewidth=0)
    ax.set_xscale("log")
    ax.set_xticks(_TICKS, [str(tick) for tick in _TICKS])
    ax.set_yscale("symlog", linthresh=_SMALL, linscale=0.6)
    ax.set_yticks([0, 0.1, 1, 10, 50], ["0", "0.1", "1", "10", "50"])
    ax.set_ylim(-0.01, 90)
    ax.minorticks_off()
    ax.tick_params(labelsize=8)
    tidy(ax)


def _curve_style(model: str, protocol: str) -> dict[str, Any]:
    return MODEL_STYLES[model] | _CURVES[protocol] | {"marker": _MARKERS[model]}


def _curve_handles(protocols: Sequence[str]) -> list[Any]:
    from matplotlib.lines import Line2D

    curves = [
        Line2D(
            [],
            [],
            label=f"{MODEL_NAMES[model]}, {PROTOCOL_NAMES[protocol]}",
            **_curve_style(model, protocol),
        )
        for protocol in protocols
        for model in ("AT_k", "AoRR")
    ]
    return [*curves, Line2D([], [], color=EASY, linewidth=1.5, label="Bayes classifier")]


def _place_legend(figure: SubFigure, handles: list[Any], columns: int) -> None:
    figure.legend(
        handles=handles, loc="outside lower center", ncols=columns, frameon=False, fontsize=9
    )
