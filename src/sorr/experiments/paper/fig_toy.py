"""Figure 3 and its appendix: lines through toy data with outliers, and errors by k."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sorr._files import write_atomically
from sorr._typing import FloatArray
from sorr.experiments.experiment import Cell, Experiment, Measured, Plan, Task
from sorr.experiments.paper.toy import (
    AUTHORS,
    ERRORS,
    KINDS,
    LINE,
    MEASURES,
    MODELS,
    Record,
    Toy,
    bayes_error,
    has_file,
    is_constant,
    measure,
    ranks,
    summarise,
    toy_rows,
)
from sorr.experiments.published import LOSSES
from sorr.experiments.rows import Row, select_rows
from sorr.experiments.tables import (
    QUICK,
    fill_page,
    format_mean,
    format_notes,
    format_table,
    read_notes,
    read_text,
    write_csv,
    write_figure,
)
from sorr.plots import CLASS_COLOURS, EASY, INK, need_matplotlib, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

CASES = (2, 3, 4, 5, 10, 20)
"""The numbers of outliers in the appendix. As many losses are left out."""

_M, _K = 1, 2  # the ranks of the lines in Figure 3
_RANKS = {
    "ours": (2, 3, 4, 5, 6, 8, 10, 20, 50, 100, 200),
    "paper": (2, 3, 5, 10, 20, 50, 100, 200),
}
_QUICK_RANKS = (2, 10)
_QUICK_CASES = (2, 3)
_COSTS = {  # seconds of a fit without a tangent, and of one with it
    ("ours", "logistic"): (0.05, 0.3),
    ("ours", "hinge"): (0.1, 0.6),
    ("paper", "logistic"): (0.1, 1.2),
    ("paper", "hinge"): (0.1, 0.2),
}
_OUTLIER_COSTS = {"ours": 1.0, "paper": 5.0}  # seconds of all models of a case

_PROTOCOLS = {"ours": "ours", "paper": "paper's protocol"}
_TITLES = {
    "ours": "Ours: what minimises each objective",
    "paper": "The paper's protocol: what the released loop ends with",
}
_CAPTIONS = {"ours": "Lines at the minimum", "paper": "Lines of the released loop"}
_COLUMNS = [(kind, loss) for kind in KINDS for loss in LOSSES]
_CURVE_MODELS = ("AT_k", "AoRR")
_MODEL_NAMES = {"average": "average", "maximum": "maximum", "AT_k": "AT$_k$", "AoRR": "AoRR"}
_MODEL_STYLES: dict[str, dict[str, Any]] = {
    "average": {"color": CLASS_COLOURS[2], "linestyle": (0, (1, 1)), "linewidth": 2.2},
    "maximum": {"color": CLASS_COLOURS[3], "linestyle": (0, (5, 2)), "linewidth": 1.6},
    "AT_k": {"color": CLASS_COLOURS[0], "linestyle": (0, (6, 2, 1, 2)), "linewidth": 1.6},
    "AoRR": {"color": INK, "linestyle": "-", "linewidth": 1.8},
}
_CURVE_STYLES: dict[str, dict[str, Any]] = {
    "ours": {"markersize": 4},
    "paper": {"markersize": 4, "markerfacecolor": "white", "linewidth": 1.0},
}
_CURVE_MARKERS = {"AT_k": "s", "AoRR": "o"}
_ERROR_LABELS = {
    "error_rows": "error on its rows,\noutlier aside (%)",
    "error_population": "error on unseen\nrows (%)",
}
_ROW_STYLES = {-1: ("o", CLASS_COLOURS[4], "label -1"), 1: ("^", CLASS_COLOURS[1], "label +1")}
_OUTLIER_STYLE: dict[str, Any] = {"marker": "x", "color": "black"}
_K_TICKS = [1, 2, 5, 10, 20, 50, 200]
_LINEAR_BELOW = 0.1  # per cent, where the logarithmic axis of errors becomes linear
_MARGIN = 0.25  # of the axes around the rows
_FOOT = 0.12  # share of a panel for the names of models that have no line there


# -- Figure 3 --------------------------------------------------------------------------------------


def _tasks(plan: Plan) -> list[Task]:
    """Return a task for each data set and loss, the authors' files first."""
    drawn = [(kind, split) for kind in KINDS for split in range(plan.splits)]
    files = [(kind + AUTHORS, 0) for kind in KINDS if not plan.quick]
    return [
        _task(plan, protocol, dataset, split, loss)
        for protocol in plan.protocols
        for dataset, split in files + drawn
        for loss in LOSSES
    ]


def _task(plan: Plan, protocol: str, dataset: str, split: int, loss: str) -> Task:
    last_ranks = _QUICK_RANKS if plan.quick else _RANKS[protocol]
    settings = {model: [loss] for model in ("average", "maximum")}
    settings |= {model: [f"{loss} k={k}" for k in last_ranks] for model in _CURVE_MODELS}
    plain, tangent = _COSTS[protocol, loss]
    return Task(
        _measure,
        tuple(
            Cell(protocol, dataset, model, setting, split)
            for model in MODELS
            for setting in settings[model]
        ),
        cost=(2 + len(last_ranks)) * plain + len(last_ranks) * tangent,
        has_data=not dataset.endswith(AUTHORS) or has_file(dataset.removesuffix(AUTHORS)),
    )


def _measure(cells: tuple[Cell, ...]) -> Iterator[tuple[Cell, Measured]]:
    for cell in cells:
        toy = toy_rows(cell.dataset, cell.split)
        loss, _, k = cell.setting.partition(" k=")
        kept = ranks(cell.model, len(toy.y), m=_M, k=int(k or 1))
        yield cell, measure(cell.protocol, toy, loss, kept, cell.seed)


def _view(rows: list[Row], plan: Plan, folder: Path) -> list[Path]:
    records = summarise(rows)
    bayes = {kind: bayes_error(kind) for kind in KINDS}
    drawn = [record for record in records if record["dataset"] in KINDS]
    lines = [r for r in records if r["model"] not in _CURVE_MODELS or r["k"] == _K]
    page = fill_page(
        "fig-toy",
        k=_K,
        quick=QUICK * plan.quick,
        protocols=read_text("toy-protocols"),
        lines=_line_table(lines),
        ranks=_rank_table(drawn, bayes),
        notes=format_notes([*line_notes(), *rank_notes(drawn), *gap_notes(records)]),
    )
    return [
        write_atomically(folder / "fig-toy.md", page),
        write_csv(folder / "fig-toy.csv", records),
        write_figure(folder / "fig-toy.png", _figure(records, bayes)),
    ]


EXPERIMENT = Experiment(
    name="fig-toy",
    title="Figure 3: lines through toy data with an outlier, and the error as a function of k",
    measures=MEASURES,
    tasks=_tasks,
    view=_view,
)


# -- Appendix: more outliers -----------------------------------------------------------------------


def _outlier_tasks(plan: Plan) -> list[Task]:
    """Return a task for each draw, case and loss."""
    return [
        Task(
            _measure_outliers,
            tuple(Cell(protocol, f"{case} outliers", model, loss, split) for model in MODELS),
            cost=_OUTLIER_COSTS[protocol],
        )
        for protocol in plan.protocols
        for case in (_QUICK_CASES if plan.quick else CASES)
        for loss in LOSSES
        for split in range(plan.splits)
    ]


def _case_of(dataset: str) -> int:
    return int(dataset.split()[0])


def _measure_outliers(cells: tuple[Cell, ...]) -> Iterator[tuple[Cell, Measured]]:
    for cell in cells:
        case = _case_of(cell.dataset)
        toy = toy_rows("balanced", cell.split, case)
        kept = ranks(cell.model, len(toy.y), m=case, k=case + 1)
        yield cell, measure(cell.protocol, toy, cell.setting, kept, cell.seed)


def _view_outliers(rows: list[Row], plan: Plan, folder: Path) -> list[Path]:
    records = summarise(rows)
    protocols = [protocol for protocol in _TITLES if select_rows(records, protocol=protocol)]
    page = fill_page(
        "fig-toy-outliers",
        figures="\n\n".join(f"![{_CAPTIONS[p]}](fig-toy-outliers-{p}.png)" for p in protocols),
        quick=QUICK * plan.quick,
        protocols=read_text("toy-protocols"),
        lines=_line_table(records),
        notes=format_notes(
            [*line_notes(), *read_notes("toy-notes")["outliers"], *gap_notes(records)]
        ),
    )
    return [
        write_atomically(folder / "fig-toy-outliers.md", page),
        write_csv(folder / "fig-toy-outliers.csv", records),
        *(
            write_figure(
                folder / f"fig-toy-outliers-{protocol}.png",
                _outlier_figure(select_rows(records, protocol=protocol), _TITLES[protocol]),
            )
            for protocol in protocols
        ),
    ]


OUTLIERS = Experiment(
    name="fig-toy-outliers",
    title="Appendix: lines through toy data with 2 to 20 outliers",
    measures=MEASURES,
    tasks=_outlier_tasks,
    view=_view_outliers,
)


# -- A panel: the rows with their outliers, and the line of each model -----------------------------


def draw_panel(ax: Axes, toy: Toy, lines: Mapping[str, Record]) -> None:
    """Draw rows, outliers as crosses, and the line of each model.

    Models without a line in the panel are named at its foot.
    """
    for label, (marker, colour, _) in _ROW_STYLES.items():
        rows = toy.X[(toy.y == label) & ~toy.outliers]
        ax.scatter(rows[:, 0], rows[:, 1], s=11, marker=marker, color=colour, linewidth=0, zorder=2)
    outliers = toy.X[toy.outliers]
    ax.scatter(outliers[:, 0], outliers[:, 1], s=24, **_OUTLIER_STYLE, zorder=4)
    low, high = toy.X.min(axis=0) - _MARGIN, toy.X.max(axis=0) + _MARGIN
    low[1] -= _FOOT * (high[1] - low[1])
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    ax.set_xlabel("$x_1$", labelpad=1)
    ax.set_ylabel("$x_2$", labelpad=1)
    ax.tick_params(labelsize=8)
    missing: dict[str, list[str]] = {}
    for model in (model for model in MODELS if model in lines):
        theta = np.array([lines[model][name] for name in LINE])
        ends = _clip_line(theta, ax.get_xlim(), ax.get_ylim())
        if ends is not None:
            ax.plot(*ends.T, **_MODEL_STYLES[model], zorder=3)
        elif np.isfinite(theta).all():
            reason = "no line" if is_constant(lines[model]) else "line far off"
            missing.setdefault(reason, []).append(_MODEL_NAMES[model])
    foot = "\n".join(f"{reason}: {', '.join(names)}" for reason, names in missing.items())
    if foot:
        ground = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.0}
        text = ax.text(0.03, 0.02, foot, fontsize=7.5, color=INK, transform=ax.transAxes, zorder=5)
        text.set(va="bottom", bbox=ground)


def _clip_line(
    theta: FloatArray, across: tuple[float, float], up: tuple[float, float]
) -> FloatArray | None:
    """Return both ends of the part of a line that is inside a rectangle, or None."""
    ends = []
    for axis, sides, others in ((0, across, up), (1, up, across)):
        slope = theta[1 - axis]
        for side in sides if slope != 0 else ():
            other = -(theta[2] + theta[axis] * side) / slope
            if others[0] <= other <= others[1]:
                ends.append((side, other) if axis == 0 else (other, side))
    if len(ends) < 2:
        return None
    points = np.array(ends)
    furthest = np.abs(points - points[0]).sum(axis=1).argmax()  # a corner is found twice
    return points[[0, furthest]]


def legend_handles() -> list[Any]:
    """Return the legend of a panel: the rows of both labels, the outliers, and the models."""
    from matplotlib.lines import Line2D

    none: dict[str, Any] = {"linestyle": "none", "markersize": 5}
    rows = [
        Line2D([], [], marker=marker, color=colour, label=name, **none)
        for marker, colour, name in _ROW_STYLES.values()
    ]
    outlier = Line2D([], [], label="outlier, label +1", **_OUTLIER_STYLE, **none)
    lines = [Line2D([], [], label=_MODEL_NAMES[model], **_MODEL_STYLES[model]) for model in MODELS]
    return [*rows, outlier, *lines]


def _place_legend(figure: Figure | SubFigure, handles: list[Any], columns: int) -> None:
    figure.legend(
        handles=handles, loc="outside lower center", ncols=columns, frameon=False, fontsize=9
    )


# -- The figures -----------------------------------------------------------------------------------


def _figure(records: Sequence[Record], bayes: dict[str, float]) -> Figure:
    """Return Figure 3: lines in the upper panels, errors as functions of k in the lower ones."""
    plt = need_matplotlib("the experiment fig-toy")
    protocols = [name for name in ("ours", "paper") if select_rows(records, protocol=name)]
    heights = [2.75 * len(protocols) + 0.6, 6.1]
    figure: Figure = plt.figure(figsize=(10, sum(heights)), layout="constrained")
    halves: Any = figure.subfigures(2, 1, height_ratios=heights)
    _draw_line_panels(halves[0], records, protocols)
    _draw_error_panels(halves[1], records, protocols, bayes)
    return figure


def _draw_line_panels(
    figure: SubFigure, records: Sequence[Record], protocols: Sequence[str]
) -> None:
    """Draw panels (a) to (d), a row of them for each protocol."""
    axes = figure.subplots(len(protocols), len(_COLUMNS), squeeze=False)
    for axes_row, protocol in zip(axes, protocols, strict=True):
        for ax, (kind, loss) in zip(axes_row, _COLUMNS, strict=True):
            fits = select_rows(records, protocol=protocol, loss=loss)
            dataset = _shown_dataset(fits, kind)
            lines = {
                record["model"]: record
                for record in select_rows(fits, dataset=dataset)
                if record["model"] not in _CURVE_MODELS or record["k"] == _K
            }
            draw_panel(ax, toy_rows(dataset), lines)
            ax.set_ylabel("")
        axes_row[0].set_ylabel(f"{_PROTOCOLS[protocol]}\n$x_2$", fontsize=10)
    for ax, letter, column in zip(axes[0], "abcd", _COLUMNS, strict=True):
        ax.set_title(f"({letter}) {', '.join(column)}", fontsize=10)
    sets = {_shown_dataset(records, kind) for kind in KINDS}
    whose = "the authors' rows" if sets == {kind + AUTHORS for kind in KINDS} else "rows drawn"
    figure.suptitle(f"Lines through {whose}, k = {_K}, m = 1", fontsize=11)
    _place_legend(figure, legend_handles(), 7)


def _shown_dataset(records: Sequence[Record], kind: str) -> str:
    """Return the data set that is drawn: the authors' if it was measured and their file is here."""
    is_measured = bool(select_rows(records, dataset=kind + AUTHORS))
    return kind + AUTHORS if is_measured and has_file(kind) else kind


def _draw_error_panels(
    figure: SubFigure, records: Sequence[Record], protocols: Sequence[str], bayes: dict[str, float]
) -> None:
    """Draw panels (e) to (h): errors on the rows of the fit and, below, on unseen rows."""
    axes = figure.subplots(len(ERRORS), len(_COLUMNS), sharex=True, sharey=True)
    for axes_row, error in zip(axes, ERRORS, strict=True):
        for ax, (kind, loss) in zip(axes_row, _COLUMNS, strict=True):
            for protocol in protocols[::-1]:
                curves = select_rows(records, dataset=kind, loss=loss, protocol=protocol)
                _draw_curves(ax, curves, error, protocol)
            if error == "error_population":
                ax.axhline(bayes[kind], color=EASY, linewidth=1.5, zorder=1)
        axes_row[0].set_ylabel(_ERROR_LABELS[error], fontsize=10)
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


def _draw_curves(ax: Axes, records: Sequence[Record], error: str, protocol: str) -> None:
    """Draw the mean error of AT_k and AoRR as a function of k, ours with a band."""
    for model in _CURVE_MODELS:
        curve = select_rows(records, model=model)
        if model == "AT_k":  # which is the maximum at k = 1
            curve = select_rows(records, model="maximum") + curve
        k = [record["k"] for record in curve]
        mean = np.array([record[error] for record in curve])
        style = _curve_style(model, protocol)
        ax.plot(k, mean, **style)
        if protocol == "ours":
            spread = np.nan_to_num([record[f"{error}_spread"] for record in curve])
            low, high = np.maximum(mean - spread, 0), mean + spread
            ax.fill_between(k, low, high, color=style["color"], alpha=0.15, linewidth=0)
    ax.set_xscale("log")
    ax.set_xticks(_K_TICKS, [str(tick) for tick in _K_TICKS])
    ax.set_yscale("symlog", linthresh=_LINEAR_BELOW, linscale=0.6)
    ax.set_yticks([0, 0.1, 1, 10, 50], ["0", "0.1", "1", "10", "50"])
    ax.set_ylim(-0.01, 90)
    ax.minorticks_off()
    ax.tick_params(labelsize=8)
    tidy(ax)


def _curve_style(model: str, protocol: str) -> dict[str, Any]:
    marker = {"marker": _CURVE_MARKERS[model]}
    return _MODEL_STYLES[model] | _CURVE_STYLES[protocol] | marker


def _curve_handles(protocols: Sequence[str]) -> list[Any]:
    from matplotlib.lines import Line2D

    curves = [
        Line2D(
            [],
            [],
            label=f"{_MODEL_NAMES[model]}, {_PROTOCOLS[protocol]}",
            **_curve_style(model, protocol),
        )
        for protocol in protocols
        for model in _CURVE_MODELS
    ]
    return [*curves, Line2D([], [], color=EASY, linewidth=1.5, label="Bayes classifier")]


def _outlier_figure(records: Sequence[Record], title: str) -> Figure:
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
        fits = select_rows(records, dataset=dataset, loss=loss)
        lines = {record["model"]: record for record in fits}
        draw_panel(ax, toy_rows("balanced", 0, _case_of(dataset)), lines)
        ax.set_title(f"({letter}) {dataset}, {loss}", fontsize=10)
        ax.label_outer()
    figure.suptitle(title, fontsize=11)
    _place_legend(figure, legend_handles(), 7)
    return figure


# -- The pages: tables and notes -------------------------------------------------------------------


def _line_table(records: Iterable[Record]) -> str:
    """Return a table of both protocols, a line for each model."""
    groups: dict[tuple[str, str, str], dict[str, Record]] = {}
    for record in records:
        key = record["dataset"], record["loss"], record["model"]
        groups.setdefault(key, {})[record["protocol"]] = record
    header = ["data set", "loss", "model", "draws"]
    for name in _PROTOCOLS.values():
        header += [f"{name}: without a line", "objective", "on its rows", "unseen"]
    lines = []
    for key, by_protocol in groups.items():
        line = [*key, str(max(record["draws"] for record in by_protocol.values()))]
        for protocol in _PROTOCOLS:
            line += _cells(by_protocol.get(protocol))
        lines.append(line)
    return format_table(header, lines)


def _cells(record: Record | None) -> list[str]:
    if record is None:
        return [""] * 4
    errors = [format_mean(record[name], record[f"{name}_spread"]) for name in ERRORS]
    return [str(record["constant"]), f"{record['objective']:.4f}", *errors]


def _rank_table(records: Sequence[Record], bayes: dict[str, float]) -> str:
    """Return a table of the error on unseen rows, a line for each k."""
    header = ["data set", "loss", "k", "ours: AoRR", "AT_k"]
    header += ["paper's protocol: AoRR", "AT_k", "Bayes"]
    lines = []
    for kind, loss in _COLUMNS:
        curves = select_rows(records, dataset=kind, loss=loss)
        for k in sorted({record["k"] for record in curves if record["model"] == "AoRR"}):
            fits = select_rows(curves, k=k)
            errors = [
                _cells(next(iter(select_rows(fits, protocol=protocol, model=model)), None))[-1]
                for protocol in _PROTOCOLS
                for model in ("AoRR", "AT_k")
            ]
            lines.append([kind, loss, str(k), *errors, f"{bayes[kind]:.3f}"])
    return format_table(header, lines)


def line_notes() -> list[str]:
    """Return what holds of the lines of both figures."""
    return read_notes("toy-notes")["lines"]


def rank_notes(records: Sequence[Record]) -> list[str]:
    """Compare the errors of AoRR and AT_k on unseen rows, where both are known."""
    notes = []
    for protocol, name in (("ours", "Ours"), ("paper", "The paper's protocol")):
        errors = {
            model: {
                (record["dataset"], record["loss"], record["k"]): record["error_population"]
                for record in select_rows(records, protocol=protocol, model=model)
            }
            for model in _CURVE_MODELS
        }
        gaps = [
            error - errors["AT_k"][key]
            for key, error in errors["AoRR"].items()
            if key in errors["AT_k"]
        ]
        if gaps:
            highest = {model: max(by_key.values()) for model, by_key in errors.items()}
            notes.append(
                f"{name}: on unseen rows, AoRR has a lower mean error than AT_k at "
                f"{sum(gap < 0 for gap in gaps)} of {len(gaps)} points of (e) to (h), the same at "
                f"{gaps.count(0)}, and at the others a higher one, by at most "
                f"{max(0.0, *gaps):.2f}. Over all k, the error of AoRR is at most "
                f"{highest['AoRR']:.2f} %, and that of AT_k at most {highest['AT_k']:.2f} %."
            )
    return notes


def gap_notes(records: Sequence[Record]) -> list[str]:
    """Return how near our fits are to their minima."""
    gaps = [record["gap"] for record in select_rows(records, protocol="ours")]
    if not gaps:
        return []
    per_cent = 100 * max(gaps)
    gap = f"at most {per_cent:.3f} %" if per_cent >= 0.001 else "less than 0.001 %"
    return [note.format(gap=gap) for note in read_notes("toy-notes")["gap"]]
