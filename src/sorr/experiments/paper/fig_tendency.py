"""The paper's tendency curves: error against m on four data sets, with logistic and hinge loss.

k is the printed count (the paper's protocol) or the same share of the rows (ours), C is the printed
1e4, and m grows from 1 to k - 1. Other aggregate losses are horizontal lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sorr._files import write_atomically
from sorr._typing import FloatArray, IntArray
from sorr.baselines import RobustMaxClassifier
from sorr.experiments.experiment import Cell, Experiment, Measured, Plan, Task
from sorr.experiments.paper.aggregates import Parts, parts_of, released_error
from sorr.experiments.published import AGGREGATE_SETTINGS, LOSSES
from sorr.experiments.rows import Row, group_rows, select_rows
from sorr.experiments.tables import (
    QUICK,
    fill_page,
    format_count,
    format_table,
    write_csv,
    write_figure,
)
from sorr.objectives import RankedRangeObjective
from sorr.plots import CLASS_COLOURS, INK, KEPT, need_matplotlib, tidy
from sorr.solvers import Status, solve_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DATA = ("monk", "australian", "phoneme", "splice")
_SHARES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # of k
_QUICK = (0.1, 0.3, 0.6)
_LINES = {
    "paper": ("average", "AT_k", "maximum"),
    "ours": ("average", "AT_k", "robust maximum", "maximum"),
}
_SAME_MINIMUM = 1e-5  # relative distance from the value at zero below which a fit is constant
_BUDGET = 0.3  # of the slack of the robust maximum, over the root of the number of rows
_TRAIN_ROWS = {"monk": 216, "australian": 344, "phoneme": 2702, "titanic": 1100, "splice": 1587}
"""The number of rows that the paper trains on. The printed k is a count of them."""

Record = dict[str, Any]


def _tasks(plan: Plan) -> list[Task]:
    return [
        Task(
            partial(_measure_ours if protocol == "ours" else _measure_paper, quick=plan.quick),
            _cells(protocol, data, loss, split, plan),
            cost={"monk": 1.0, "australian": 1.5, "phoneme": 4.0, "splice": 4.0}[data],
        )
        for split in range(plan.splits)
        for data in (("monk",) if plan.quick else _DATA)
        for loss in LOSSES
        for protocol in plan.protocols
    ]


def _cells(protocol: str, data: str, loss: str, split: int, plan: Plan) -> tuple[Cell, ...]:
    shares = _QUICK if plan.quick else _SHARES
    lines = [Cell(protocol, data, model, loss, split) for model in _LINES[protocol]]
    points = [Cell(protocol, data, "AoRR", f"{loss} m={share}k", split) for share in shares]
    return *lines, *points


def _share_of(setting: str) -> float:
    """Return m as a share of k, or 0 for horizontal lines."""
    return float(setting.partition("m=")[2].removesuffix("k") or 0)


def _measure_ours(
    cells: tuple[Cell, ...], *, quick: bool = False
) -> Iterator[tuple[Cell, Measured]]:
    """Yield the errors of all m, fitted together, and of the horizontal lines.

    All cells of a task are fitted, even if some are not needed, since results depend on all of
    them.
    """
    data, split, loss = cells[0].dataset, cells[0].split, cells[0].setting.split()[0]
    parts, printed = parts_of(data, split), AGGREGATE_SETTINGS[data][loss]
    n = len(parts.y)
    k = round(n * printed.k / _TRAIN_ROWS[data])
    ranks: dict[Cell, tuple[int, int | None]] = {
        cell: {
            "average": (0, None),
            "maximum": (0, 1),
            "AT_k": (0, k),
            "AoRR": (max(1, round(_share_of(cell.setting) * k)), k),
        }[cell.model]
        for cell in _cells("ours", data, loss, split, Plan(quick=quick))
        if cell.model != "robust maximum"
    }
    objective = RankedRangeObjective(parts.X, parts.y, loss)
    path = solve_path(
        objective,
        [(m, end, printed.C) for m, end in ranks.values()],
        rounds=1 if quick else None,
        random_state=cells[0].seed,
    )
    at_zero = objective.value(np.zeros(objective.n_parameters))
    solved = dict(zip(ranks, zip(path.theta, path.objective, strict=True), strict=True))
    for cell in cells:
        if cell.model == "robust maximum":
            yield cell, _robust_maximum(parts, loss, printed.C)
            continue
        theta, value = solved[cell]
        is_constant = value > (1 - _SAME_MINIMUM) * at_zero
        error = parts.error(parts.majority() if is_constant else _predict(parts, theta))
        status = Status.CONSTANT_MODEL.name if is_constant else ""
        m, end = ranks[cell]
        yield cell, Measured({"error": error}, {"m": m, "k": end}, float(value), status=status)


def _predict(parts: Parts, theta: FloatArray) -> IntArray:
    return np.where(parts.X_test @ theta[:-1] + theta[-1] > 0, 1, -1)


def _robust_maximum(parts: Parts, loss: str, C: float) -> Measured:
    budget = _BUDGET * float(np.sqrt(len(parts.y)))
    model = RobustMaxClassifier(budget, loss=loss, C=C).fit(parts.X, parts.y)
    error = parts.error(model.predict(parts.X_test))
    return Measured(
        {"error": error}, {"K": budget}, model.objective_, model.gap_, model.status_.name
    )


def _measure_paper(
    cells: tuple[Cell, ...], *, quick: bool = False
) -> Iterator[tuple[Cell, Measured]]:
    for cell in cells:
        loss = cell.setting.split()[0]
        k = AGGREGATE_SETTINGS[cell.dataset][loss].k
        m = max(1, round(_share_of(cell.setting) * k)) if cell.model == "AoRR" else 0
        plain = cell._replace(setting=loss)
        yield cell, released_error(plain, m=m or None, quick=quick)


def _view(rows: list[Row], plan: Plan, folder: Path) -> list[Path]:
    """Draw a panel for each data set and loss, and write the means that are drawn."""
    records = _records(rows)
    return [
        write_atomically(folder / "fig-tendency.md", _page(records, plan)),
        write_csv(folder / "fig-tendency.csv", records),
        write_figure(folder / "fig-tendency.png", _figure(records)),
    ]


def _page(records: list[Record], plan: Plan) -> str:
    """Return the page: what is drawn, and where each curve is lowest."""
    header = ["data set", "loss", "protocol", "lowest error", "at m / k", "AT_k", "average"]
    return fill_page(
        "fig-tendency",
        splits=format_count([max(record["splits"] for record in records)], "split"),
        quick=QUICK * plan.quick,
        budget=_BUDGET,
        table=format_table(header, _lowest(records)),
    )


def _lowest(records: list[Record]) -> Iterator[list[str]]:
    kinds = dict.fromkeys((r["dataset"], r["loss"], r["protocol"]) for r in records)
    for kind in kinds:
        own = [r for r in records if (r["dataset"], r["loss"], r["protocol"]) == kind]
        points = [r for r in own if r["model"] == "AoRR"]
        lines = {r["model"]: f"{r['error']:.2f}" for r in own if r["model"] != "AoRR"}
        if points:
            best = min(points, key=lambda r: float(r["error"]))
            numbers = f"{best['error']:.2f}", f"{best['m_over_k']:g}"
            yield [*kind, *numbers, lines.get("AT_k", ""), lines.get("average", "")]


def _figure(records: list[Record]) -> Figure:
    plt = need_matplotlib("fig-tendency")
    data = [name for name in _DATA if any(r["dataset"] == name for r in records)]
    figure, axes = plt.subplots(
        2, len(data), figsize=(2.6 * len(data) + 0.6, 5.8), layout="constrained", squeeze=False
    )
    for line, loss in enumerate(LOSSES):
        for column, name in enumerate(data):
            ax = axes[line, column]
            _panel(ax, select_rows(records, dataset=name, loss=loss))
            ax.set_title(
                f"{name}, {loss}, k = {AGGREGATE_SETTINGS[name][loss].k}", fontsize=10, pad=14
            )
        axes[line, 0].set_ylabel("test error in %")
    for ax in axes[-1]:
        ax.set_xlabel("m, as a share of k")
    drawn = [line for ax in axes.flat for line in ax.get_lines()]
    handles = {line.get_label(): line for line in drawn}
    figure.legend(
        handles=list(handles.values()), loc="outside lower center", ncols=3, frameon=False
    )
    return cast("Figure", figure)


def _records(rows: list[Row]) -> list[Record]:
    """Return the mean and its standard error over the splits of each point and line."""
    groups = group_rows(rows, "protocol", "dataset", "model", "setting")
    return [
        {
            "protocol": protocol,
            "dataset": data,
            "loss": setting.split()[0],
            "model": model,
            "m_over_k": _share_of(setting),
            "error": float(np.mean([row["error"] for row in own])),
            "standard_error": _standard_error([row["error"] for row in own]),
            "splits": len(own),
            "constant": sum(row["status"] == Status.CONSTANT_MODEL.name for row in own),
        }
        for (protocol, data, model, setting), own in groups.items()
    ]


def _standard_error(errors: list[float]) -> float:
    return float(np.std(errors, ddof=1) / np.sqrt(len(errors))) if len(errors) > 1 else np.nan


def _panel(ax: Axes, records: list[Record]) -> None:
    """Draw the curves of both protocols, and the other losses as lines where they fit."""
    if not records:
        ax.set_axis_off()
        return
    tidy(ax)
    curves = select_rows(records, model="AoRR")
    shown = "ours" if any(r["protocol"] == "ours" for r in records) else "paper"
    lines = [r for r in records if r["model"] != "AoRR" and r["protocol"] == shown]
    bottom, top = _limits([*curves, *lines])
    for protocol in ("paper", "ours"):
        _draw_curve(ax, protocol, select_rows(curves, protocol=protocol), top)
    _draw_lines(ax, [r for r in lines if r["error"] <= top])
    above = ", ".join(f"{r['model']} {r['error']:.1f}" for r in lines if r["error"] > top)
    if above:
        place: dict[str, Any] = {"transform": ax.transAxes, "ha": "right", "va": "bottom"}
        ax.text(1, 1, f"higher: {above}", fontsize=7.5, **place)
    ax.set_ylim(bottom, top + 0.04 * (top - bottom))


def _limits(records: list[Record]) -> tuple[float, float]:
    """Return the range of errors to show. Constant models far from the rest are outside."""
    ends = [(r["error"], np.nan_to_num(r["standard_error"])) for r in records]
    low = min(error - spread for error, spread in ends)
    plain = [r["error"] for r in records if not r["constant"] and r["model"] != "maximum"]
    high = max(plain, default=max(error for error, _ in ends))
    near = [error for error, _ in ends if error <= low + 2 * (high - low)]
    margin = 0.08 * (max(near) - low) + 0.2
    return low - margin, max(near) + margin


def _draw_curve(ax: Axes, protocol: str, points: list[Record], top: float) -> None:
    """Draw the error against m with a band of one standard error, and arrows where it is higher."""
    if not points:
        return
    colour, marker, style, name = {
        "ours": (KEPT, "o", "-", "AoRR, ours"),
        "paper": (CLASS_COLOURS[4], "s", ":", "AoRR, paper's protocol"),
    }[protocol]
    points = sorted(points, key=lambda r: float(r["m_over_k"]))
    x, y, error = (
        np.array([r[column] for r in points]) for column in ("m_over_k", "error", "standard_error")
    )
    ax.fill_between(x, y - error, y + error, color=colour, alpha=0.15, linewidth=0)
    ax.plot(x, y, color=colour, marker=marker, markersize=4, linestyle=style, label=name)
    if (high := x[y > top]).size:
        ax.plot(high, np.full(len(high), top), "^", color=colour, markersize=5, label="higher")


def _draw_lines(ax: Axes, records: list[Record]) -> None:
    styles: dict[str, tuple[str, Any]] = {
        "average": (INK, (0, (5, 2))),
        "AT_k": (CLASS_COLOURS[1], (0, (1, 1))),
        "robust maximum": (CLASS_COLOURS[2], (0, (3, 1, 1, 1))),
        "maximum": (CLASS_COLOURS[3], "-."),
    }
    for record in records:
        colour, style = styles[record["model"]]
        label = record["model"]
        ax.axhline(record["error"], color=colour, linestyle=style, linewidth=1.4, label=label)


EXPERIMENT = Experiment(
    name="fig-tendency",
    title="error against m on four data sets, beside other aggregate losses",
    measures=("error",),
    tasks=_tasks,
    view=_view,
    splits=5,
)
