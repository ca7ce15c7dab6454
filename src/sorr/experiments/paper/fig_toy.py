"""Figure 3: lines through toy data with an outlier, and the error as a function of k."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sorr._files import write_atomically
from sorr._typing import FloatArray
from sorr.experiments.experiment import Cell, Experiment, Measured, Plan, Task
from sorr.experiments.paper.toy import (
    AUTHORS,
    KINDS,
    LOSSES,
    MEASURES,
    MODELS,
    Record,
    Toy,
    bayes_error,
    find,
    has_file,
    is_constant,
    measure,
    ranks,
    summarise,
    toy_rows,
)
from sorr.experiments.rows import Row
from sorr.experiments.tables import (
    QUICK,
    bullets,
    fill_page,
    format_mean,
    markdown,
    read_text,
    write_csv,
    write_figure,
)
from sorr.plots import CLASS_COLOURS, EASY, INK, need_matplotlib, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = [
    "CASES",
    "EXPERIMENT",
    "MODEL_NAMES",
    "MODEL_STYLES",
    "OUTLIERS",
    "PROTOCOL_NAMES",
    "boundary_dataset",
    "case_notes",
    "draw_boundaries",
    "draw_figure",
    "gap_notes",
    "legend_handles",
    "line_notes",
    "rank_notes",
]

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
        write_atomically(folder / "fig-toy.md", _toy_page(records, plan, bayes)),
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


# -- Appendix: lines through toy data with 2 to 20 outliers ----------------------------------------


CASES = (2, 3, 4, 5, 10, 20)
"""How many outliers there are; as many losses are left out."""

_QUICK_CASES = (2, 3)
_SECONDS = {"ours": 1.0, "paper": 5.0}
_TITLES = {
    "ours": "Ours: what minimises each objective",
    "paper": "The paper's protocol: what the released loop ends with",
}


def outlier_tasks(plan: Plan) -> list[Task]:
    """Return all lines of a draw, a case and a loss together."""
    return [
        Task(
            _measure_outliers,
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


def _measure_outliers(cells: tuple[Cell, ...]) -> Iterator[tuple[Cell, Measured]]:
    for cell in cells:
        case = _case(cell.dataset)
        toy = toy_rows("balanced", cell.split, case)
        kept = ranks(cell.model, len(toy.y), m=case, k=case + 1)
        yield cell, measure(cell.protocol, toy, cell.setting, kept, cell.seed)


def view_outliers(rows: list[Row], plan: Plan, folder: Path) -> list[Path]:
    """Write a figure for each protocol, the numbers, and a page that says what they mean."""
    records = summarise(rows)
    return [
        write_atomically(folder / "fig-toy-outliers.md", _outliers_page(records, plan)),
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


OUTLIERS = Experiment(
    "fig-toy-outliers",
    "Appendix: lines through toy data with 2 to 20 outliers",
    MEASURES,
    outlier_tasks,
    view_outliers,
)


# -- Figure 3, drawn: lines in the first rows of panels, errors as functions of k below ------------


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
    for line, error in zip(axes, _ERRORS, strict=True):
        for ax, (kind, loss) in zip(line, _COLUMNS, strict=True):
            some = find(records, dataset=kind, loss=loss)
            for protocol in protocols[::-1]:
                _draw_curves(ax, find(some, protocol=protocol), error, protocol)
            if error == "error_population":
                ax.axhline(bayes[kind], color=EASY, linewidth=1.5, zorder=1)
        line[0].set_ylabel(_ERRORS[error], fontsize=10)
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


# -- Panels of the toy figures: the rows with their outliers, and the line of each model -----------


PROTOCOL_NAMES = {"ours": "ours", "paper": "paper's protocol"}
MODEL_NAMES = {"average": "average", "maximum": "maximum", "AT_k": "AT$_k$", "AoRR": "AoRR"}
MODEL_STYLES: dict[str, dict[str, Any]] = {
    "average": {"color": CLASS_COLOURS[2], "linestyle": (0, (1, 1)), "linewidth": 2.2},
    "maximum": {"color": CLASS_COLOURS[3], "linestyle": (0, (5, 2)), "linewidth": 1.6},
    "AT_k": {"color": CLASS_COLOURS[0], "linestyle": (0, (6, 2, 1, 2)), "linewidth": 1.6},
    "AoRR": {"color": INK, "linestyle": "-", "linewidth": 1.8},
}
_ROWS = {-1: ("o", CLASS_COLOURS[4], "label -1"), 1: ("^", CLASS_COLOURS[1], "label +1")}
_CROSS: dict[str, Any] = {"marker": "x", "color": "black"}
_MARGIN = 0.25  # of the axes around the rows
_FOOT = 0.12  # of the panel, for names of models that have no line there


def draw_boundaries(ax: Axes, toy: Toy, lines: Mapping[str, Record]) -> None:
    """Draw rows, outliers as crosses, and where each model changes its mind.

    Models that do so nowhere in the panel are named at its foot.
    """
    for label, (marker, colour, _) in _ROWS.items():
        rows = toy.X[(toy.y == label) & ~toy.outliers]
        ax.scatter(rows[:, 0], rows[:, 1], s=11, marker=marker, color=colour, linewidth=0, zorder=2)
    outliers = toy.X[toy.outliers]
    ax.scatter(outliers[:, 0], outliers[:, 1], s=24, **_CROSS, zorder=4)
    low, high = toy.X.min(axis=0) - _MARGIN, toy.X.max(axis=0) + _MARGIN
    low[1] -= _FOOT * (high[1] - low[1])
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    ax.set_xlabel("$x_1$", labelpad=1)
    ax.set_ylabel("$x_2$", labelpad=1)
    ax.tick_params(labelsize=8)
    unseen: dict[str, list[str]] = {}
    for model in (model for model in MODELS if model in lines):
        theta = np.array([lines[model][name] for name in MEASURES[:3]])
        ends = _crossing(theta, ax.get_xlim(), ax.get_ylim())
        if ends is not None:
            ax.plot(*ends.T, **MODEL_STYLES[model], zorder=3)
        elif np.isfinite(theta).all():
            why = "no line" if is_constant(lines[model]) else "line far off"
            unseen.setdefault(why, []).append(MODEL_NAMES[model])
    words = "\n".join(f"{why}: {', '.join(names)}" for why, names in unseen.items())
    if words:
        _write_at_foot(ax, words)


def _write_at_foot(ax: Axes, words: str) -> None:
    ground = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.0}
    text = ax.text(0.03, 0.02, words, fontsize=7.5, color=INK, transform=ax.transAxes, zorder=5)
    text.set(va="bottom", bbox=ground)


def legend_handles(models: Iterable[str] = MODELS) -> list[Any]:
    """Return what the legend shows: the rows of both labels, the outliers, and the models."""
    from matplotlib.lines import Line2D

    none: dict[str, Any] = {"linestyle": "none", "markersize": 5}
    marks = [
        Line2D([], [], marker=marker, color=colour, label=name, **none)
        for marker, colour, name in _ROWS.values()
    ]
    outlier = Line2D([], [], label="outlier, label +1", **_CROSS, **none)
    lines = [Line2D([], [], label=MODEL_NAMES[model], **MODEL_STYLES[model]) for model in models]
    return [*marks, outlier, *lines]


def _crossing(
    theta: FloatArray, across: tuple[float, float], up: tuple[float, float]
) -> FloatArray | None:
    """Return both ends of the part of a line that is within a rectangle, or None."""
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


# -- The pages of both figures ---------------------------------------------------------------------


_FIGURES = {"ours": "Lines that minimise", "paper": "Lines of the released loop"}
_RANKED = ("AT_k", "AoRR")


def _toy_page(records: Sequence[Record], plan: Plan, bayes: dict[str, float]) -> str:
    """Return the page of Figure 3."""
    drawn = [record for record in records if record["dataset"] in KINDS]
    lines = [record for record in records if record["model"] not in _RANKED or record["k"] == _K]
    return fill_page(
        "fig-toy",
        k=_K,
        quick=QUICK * plan.quick,
        protocols=read_text("toy-protocols"),
        lines=_comparison(lines),
        ranks=_by_rank(drawn, bayes),
        notes=bullets([*line_notes(lines), *rank_notes(drawn), *gap_notes(records)]),
    )


def _outliers_page(records: Sequence[Record], plan: Plan) -> str:
    """Return the page of the figures with more outliers."""
    figures = [
        f"![{title}](fig-toy-outliers-{protocol}.png)\n"
        for protocol, title in _FIGURES.items()
        if find(records, protocol=protocol)
    ]
    return fill_page(
        "fig-toy-outliers",
        figures="\n".join(figures),
        quick=QUICK * plan.quick,
        protocols=read_text("toy-protocols"),
        lines=_comparison(records),
        notes=bullets([*line_notes(records), *case_notes(records), *gap_notes(records)]),
    )


def _comparison(records: Iterable[Record]) -> str:
    """Return a table of both protocols, a line for each model."""
    lines: dict[tuple[str, str, str], dict[str, Record]] = {}
    for record in records:
        key = record["dataset"], record["loss"], record["model"]
        lines.setdefault(key, {})[record["protocol"]] = record
    header = ["data set", "loss", "model", "draws"]
    for name in ("ours", "paper's protocol"):
        header += [f"{name}: without a line", "objective", "on its rows", "unseen"]
    table = []
    for key, found in lines.items():
        draws = max(record["draws"] for record in found.values())
        line = [*key, str(draws)]
        for protocol in ("ours", "paper"):
            line += _cells(found.get(protocol))
        table.append(line)
    return markdown(header, table)


def _cells(record: Record | None) -> list[str]:
    if record is None:
        return [""] * 4
    errors = [
        format_mean(record[name], record[f"{name}_spread"])
        for name in ("error_rows", "error_population")
    ]
    return [str(record["constant"]), f"{record['objective']:.4f}", *errors]


def _by_rank(records: Sequence[Record], bayes: dict[str, float]) -> str:
    """Return a table of the error on unseen rows, a line for each k."""
    header = [
        "data set",
        "loss",
        "k",
        "ours: AoRR",
        "AT_k",
        "paper's protocol: AoRR",
        "AT_k",
        "Bayes",
    ]
    table = []
    for kind in KINDS:
        for loss in LOSSES:
            some = find(records, dataset=kind, loss=loss)
            for k in sorted({record["k"] for record in some if record["model"] == "AoRR"}):
                line = [kind, loss, str(k)]
                for protocol in ("ours", "paper"):
                    for model in ("AoRR", "AT_k"):
                        found = find(some, protocol=protocol, model=model, k=k)
                        line.append(_mean(found))
                table.append([*line, f"{bayes[kind]:.3f}"])
    return markdown(header, table)


def _mean(found: Sequence[Record]) -> str:
    if not found:
        return ""
    return format_mean(found[0]["error_population"], found[0]["error_population_spread"])


# -- Sentences below the toy figures, with numbers from their records ------------------------------


_CONSTANT = {"logistic": math.log(2), "hinge": 1.0}
_SAME = 1e-3  # relative difference of coefficients
_WHY_NO_LINE = (
    "Where no line parts all rows, outliers included, every line has a row on its wrong side, "
    "whose loss is at least log 2 (logistic) or 1 (hinge): that of the constant model. So the "
    "constant model is the exact minimum of the maximum, and of AT_k for small k"
)


def line_notes(records: Sequence[Record]) -> list[str]:
    """Return what is to be said of the lines of one k."""
    notes = [_no_line(records)]
    if all(find(records, protocol=protocol) for protocol in ("ours", "paper")):
        notes += [_not_minimised(records), _by_accuracy(records), _average(records)]
    return [note for note in notes if note]


def rank_notes(records: Sequence[Record]) -> list[str]:
    """Return what is to be said of the error as a function of k."""
    notes = []
    for protocol, name in (("ours", "Ours"), ("paper", "By the paper's protocol")):
        some = find(records, protocol=protocol)
        pairs = _pairs(some)
        if pairs:
            lower = sum(aorr < atk for aorr, atk in pairs)
            equal = sum(aorr == atk for aorr, atk in pairs)
            excess = max(0.0, *(aorr - atk for aorr, atk in pairs))
            highest = [
                max(record["error_population"] for record in find(some, model=model))
                for model in ("AoRR", "AT_k")
            ]
            notes.append(
                f"{name}, AoRR has a lower mean error on unseen rows than AT_k at {lower} of "
                f"{len(pairs)} points of (e) to (h), the same at {equal}, and one that is higher "
                f"by up to {excess:.2f} at the others. Over all k it is at most "
                f"{highest[0]:.2f} %, that of AT_k at most {highest[1]:.2f} %."
            )
    return notes


def case_notes(records: Sequence[Record]) -> list[str]:
    """Return what is to be said of one model with more and more outliers."""
    notes = []
    for loss in _CONSTANT:
        some = find(records, protocol="ours", loss=loss, model="AoRR")
        lines = np.array([[record[name] for name in MEASURES[:3]] for record in some])
        if len(some) > 1 and np.allclose(lines, lines[0], rtol=_SAME, atol=0):
            notes.append(
                f"With the {loss} loss, our AoRR has the same line on the first draw in all "
                f"{len(some)} cases: m = n leaves out the outliers and nothing else."
            )
    return notes


def gap_notes(records: Sequence[Record]) -> list[str]:
    """Return what is known about how near our fits are to their minima."""
    gaps = [record["gap"] for record in find(records, protocol="ours")]
    if not gaps:
        return []
    return [
        "Of all our fits, the convex problem of the rows that are kept is solved to a certified "
        f"gap of at most {max(gaps):.0e} of the objective. That no other choice of rows is better "
        "is not certified for AoRR: it is the best of many starts."
    ]


def _no_line(records: Sequence[Record]) -> str:
    """Say how often the minimum is the constant model."""
    counts = []
    for model in ("maximum", "AT_k", "AoRR"):
        some = find(records, protocol="ours", model=model)
        draws = sum(record["draws"] for record in some)
        if draws:
            counts.append(f"{model} on {sum(record['constant'] for record in some)} of {draws}")
    if not counts:
        return ""
    return f"{_WHY_NO_LINE}. Without a line are, of our fits in the table: {', '.join(counts)}."


def _not_minimised(records: Sequence[Record]) -> str:
    """Compare the objectives of both protocols."""
    ends = []
    for protocol in ("ours", "paper"):
        some = find(records, protocol=protocol, model="AoRR")
        ends.append(" and ".join(_by_loss(some, "objective")))
    if not all(ends):
        return ""
    return (
        f"The objective of AoRR is {ends[0]} at its minimum, and {ends[1]} where the released loop "
        "ends; that of the constant model is 0.6931 (logistic) and 1 (hinge). The loop stays near "
        "zero, where it starts. Its lines can be good all the same: a line has no scale."
    )


def _by_accuracy(records: Sequence[Record]) -> str:
    """Say that the loop draws lines which no objective asked for."""
    some = [
        record
        for record in find(records, protocol="paper")
        if record["model"] in ("maximum", "AT_k")
        and record["objective"] >= _CONSTANT[record["loss"]]
    ]
    if not some:
        return ""
    errors = _range([record["error_rows"] for record in some], 1)
    return (
        f"The released loop has lines for the maximum and AT_k which are wrong on {errors} % of "
        "rows that are no outliers, at objectives above that of the constant model: these are "
        "steps on the way, of which that with the highest accuracy is kept, and no minima."
    )


def _by_loss(records: Sequence[Record], name: str) -> list[str]:
    """Return the range of a number for each loss."""
    found = {loss: [record[name] for record in find(records, loss=loss)] for loss in _CONSTANT}
    return [f"{_range(values, 4)} ({loss})" for loss, values in found.items() if values]


def _average(records: Sequence[Record]) -> str:
    """Compare the errors of the average by both protocols."""
    ours, paper = (
        [record["error_rows"] for record in find(records, protocol=protocol, model="average")]
        for protocol in ("ours", "paper")
    )
    if not (ours and paper):
        return ""
    return (
        f"The average loss is wrong on {_range(ours, 1)} % of rows that are no outliers at its "
        f"minimum, and on {_range(paper, 1)} % after the steps of the released loop. It is "
        "convex, so the difference is a descent that was stopped early, not the loss."
    )


def _pairs(records: Sequence[Record]) -> list[tuple[float, float]]:
    """Return the errors of AoRR and AT_k on unseen rows, wherever both are known."""
    pairs = []
    for record in find(records, model="AoRR"):
        same = {name: record[name] for name in ("protocol", "dataset", "loss", "k")}
        other = find(records, model="AT_k", **same)
        pairs += [(record["error_population"], found["error_population"]) for found in other]
    return pairs


def _range(values: Sequence[float], digits: int) -> str:
    low, high = (f"{end:.{digits}f}" for end in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"
