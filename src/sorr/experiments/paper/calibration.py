"""Theorem 2 in numbers: where minimisers have the sign of Bayes' rule, and where they do not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from sorr._files import write_atomically
from sorr.datasets import load_dataset
from sorr.experiments.experiment import Cell, Experiment, Measured, Plan, Task, seed_of
from sorr.experiments.paper.population import Population, point_minimum, population_minimum
from sorr.experiments.published import AGGREGATE_SETTINGS, LOSSES
from sorr.experiments.rows import Row, group_rows
from sorr.experiments.tables import QUICK, fill_page, format_table, write_csv, write_figure
from sorr.objectives import RankedRangeObjective
from sorr.plots import CLASS_COLOURS, DROPPED, INK, KEPT, MARKERS, need_matplotlib, tidy
from sorr.ranked import Thresholds, thresholds
from sorr.solvers import trim

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAIRS = (
    Thresholds(upper=math.inf, lower=0.0),
    Thresholds(upper=math.inf, lower=0.4),
    Thresholds(upper=3.0, lower=0.0),
    Thresholds(upper=1.3, lower=0.4),
    Thresholds(upper=0.8, lower=0.2),
    Thresholds(upper=1.5, lower=0.9),
    Thresholds(upper=1.5, lower=1.0),
    Thresholds(upper=2.0, lower=1.2),
    Thresholds(upper=0.5, lower=0.5),
)
"""Thresholds for losses scaled to one at zero. The last three are at the edge of the theorem."""

POPULATION = Population(positive=(475, 210, 80), negative=(25, 90, 120))
"""Three points with probabilities 0.95, 0.7 and 0.4 of the positive class. Bayes error: 19.5 %."""

_ETAS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.45, 0.55, 0.6, 0.7, 0.8, 0.9, 0.95)
_TOP_RANKS = (30, 80, 130, 180, 230, 280, 380)
_LAST_RANKS = (100, 200, 300, 400, 600, 800, 1000)
_SAME_MINIMUM = 1e-6  # relative distance below which a minimum is that of the constant model

_AXIS_END, _INFINITY = 3.9, 3.5  # where the axis of predictions ends, and where infinity is drawn
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1)), "-", (0, (6, 2, 1, 2)), (0, (3, 1)))


def _tasks(plan: Plan) -> list[Task]:
    step = 3 if plan.quick else 1
    point = tuple(
        Cell("ours", "point", loss, f"lambda={cuts.lower} lambda_hat={cuts.upper} eta={eta}", 0)
        for loss in LOSSES
        for cuts in PAIRS
        for eta in _ETAS[::step]
    )
    points = tuple(
        Cell(
            "ours", "three points", loss, f"mu={m / POPULATION.total} nu={k / POPULATION.total}", 0
        )
        for loss in LOSSES
        for m in _TOP_RANKS[::step]
        for k in _LAST_RANKS[::step]
        if m < k
    )
    names = ("monk", "titanic") if plan.quick else tuple(AGGREGATE_SETTINGS)
    printed = [
        tuple(
            Cell("ours", name, loss, f"m={at.m} k={at.k}", split)
            for loss, at in AGGREGATE_SETTINGS[name].items()
        )
        for name in names
        for split in range(plan.splits)
    ]
    return [
        Task(_measure_point, point),
        Task(_measure_points, points),
        *(Task(_measure_printed, cells, cost=3) for cells in printed),
    ]


def _measure_point(cells: tuple[Cell, ...]) -> Iterator[tuple[Cell, Measured]]:
    """Minimise the expected loss at one point, for given thresholds."""
    for cell in cells:
        given = parse_setting(cell.setting)
        cuts = Thresholds(upper=given["lambda_hat"], lower=given["lambda"])
        minimum = point_minimum(cell.model, cuts, given["eta"])
        yield cell, Measured({**cuts._asdict(), **minimum._asdict()})


def _measure_points(cells: tuple[Cell, ...]) -> Iterator[tuple[Cell, Measured]]:
    """Minimise the ranked range of the population, for given ranks."""
    for cell in cells:
        m, k = (round(POPULATION.total * part) for part in parse_setting(cell.setting).values())
        minimum = population_minimum(cell.model, POPULATION, m, k)
        sides = zip(POPULATION.bayes, minimum.predictions, strict=True)
        lean = [side * t for side, t in sides]  # how far to the side of Bayes' rule
        values = {
            "upper": float(minimum.cuts.upper),
            "lower": float(minimum.cuts.lower),
            "low": min(lean),
            "high": max(lean),
            "infimum": minimum.infimum,
            "excess": min(minimum.excess),
            "error": 100 * POPULATION.bayes_error,
        }
        predictions = " ".join(f"{t:.4g}" for t in minimum.predictions)
        yield cell, Measured(values, {"predictions": predictions})


def _measure_printed(cells: tuple[Cell, ...]) -> Iterator[tuple[Cell, Measured]]:
    """Minimise at the printed ranks on half of the rows, and compare with a prediction of zero."""
    bunch = load_dataset(cells[0].dataset)
    n = len(bunch.target)
    rng = np.random.default_rng(seed_of("calibration", cells[0].dataset, cells[0].split))
    rows = rng.permutation(n)[: n // 2]
    X = StandardScaler().fit_transform(bunch.data[rows])
    y = np.where(bunch.target[rows] == np.max(bunch.target), 1.0, -1.0)
    for cell in cells:
        printed = AGGREGATE_SETTINGS[cell.dataset][cell.model]
        average = RankedRangeObjective(X, y, cell.model, C=printed.C)
        wrong = y * average.raw_prediction(trim(average, random_state=cell.seed).theta) <= 0
        m, k, C = printed.m, printed.k, printed.C
        objective = RankedRangeObjective(X, y, cell.model, m=m, k=k, C=C)
        solution = trim(objective, random_state=cell.seed)
        scale = objective.value(np.zeros(objective.shape))
        losses = objective.losses(objective.raw_prediction(solution.theta)) / scale
        cuts = thresholds(losses, m, k)
        values = {
            "upper": float(cuts.upper),
            "lower": float(cuts.lower),
            "infimum": solution.objective / scale,
            "error": 100 * float(np.mean(wrong)),
        }
        chosen = {"m": m, "k": k, "C": C, "rows": len(rows)}
        yield (
            cell,
            Measured(values, chosen, solution.objective, solution.gap, solution.status.name),
        )


def _view(rows: list[Row], plan: Plan, folder: Path) -> list[Path]:
    point, points = (
        [row for row in rows if row["dataset"] == name] for name in ("point", "three points")
    )
    printed = [row for row in rows if row["dataset"] in AGGREGATE_SETTINGS]
    records = [
        {name: row[name] for name in ("dataset", "model", "setting", "split")}
        | {name: row[name] for name in EXPERIMENT.measures}
        | {"predictions": row["chosen"].get("predictions", ""), "verdict": verdict(row)}
        for row in rows
    ]
    solved = [(parse_setting(row["setting"]), verdict(row)) for row in points]
    return [
        write_atomically(folder / "calibration.md", _page(point, points, printed, plan)),
        write_csv(folder / "calibration.csv", records),
        write_figure(folder / "calibration.png", _figure(solved)),
    ]


EXPERIMENT = Experiment(
    name="calibration",
    title="Theorem 2 in numbers: do minimisers have the sign of Bayes' rule?",
    measures=("lower", "upper", "low", "high", "infimum", "excess", "error"),
    tasks=_tasks,
    view=_view,
    splits=3,
    protocols=("ours",),
)


# -- The figure ------------------------------------------------------------------------------------


def _figure(solved: Sequence[tuple[Mapping[str, float], str]]) -> Figure:
    """Draw minimisers by probability, and which ranks of the population are calibrated.

    `solved` holds the fractions "mu" and "nu" of each problem, and its verdict.
    """
    plt = need_matplotlib("calibration")
    figure: Figure
    figure, axes = plt.subplots(2, 2, figsize=(10, 8.4), layout="constrained")
    proper = [cuts for cuts in PAIRS if cuts.lower < min(cuts.upper, 1)]
    for ax, loss in zip(axes[0], LOSSES, strict=True):
        _draw_minimisers(ax, loss, proper)
        title = rf"{loss.capitalize()} loss, $\lambda < s(0)$"
        ax.set_title(title, loc="left", fontsize="medium")
    _draw_edges(axes[1, 0])
    _draw_ranks(axes[1, 1], solved)
    for ax in axes.flat:
        tidy(ax)
    return figure


def _draw_minimisers(ax: Axes, loss: str, pairs: Sequence[Thresholds]) -> None:
    """Draw the minimiser nearest to zero as a function of the probability."""
    _shade_signs(ax)
    etas = np.linspace(0.5001, 0.98, 150)
    for number, cuts in enumerate(pairs):
        upper = "\\infty" if math.isinf(cuts.upper) else f"{cuts.upper:g}"
        nearest = np.array([point_minimum(loss, cuts, eta).low for eta in etas])
        shown = np.where(np.isinf(nearest), _INFINITY, np.minimum(nearest, _AXIS_END))
        for side, height in ((etas, shown), (1 - etas, -shown)):
            ax.plot(
                side,
                height,
                color=CLASS_COLOURS[number],
                linestyle=_DASHES[number],
                linewidth=5 - 0.7 * number,  # so that curves that coincide stay visible
                label=rf"$\lambda = {cuts.lower:g},\ \hat\lambda = {upper}$",
            )
    handles, labels = ax.get_legend_handles_labels()
    ax.legend(handles[::2], labels[::2], loc="lower right", fontsize="small", framealpha=0.95)
    ax.set_ylabel("minimiser t nearest to zero")


def _shade_signs(ax: Axes) -> None:
    """Shade where a prediction has the sign of Bayes' rule, and hatch where it has not."""
    for left, sign in ((0.0, -1), (0.5, 1)):
        ax.fill_between([left, left + 0.5], 0, sign * _AXIS_END, color=KEPT, alpha=0.1, linewidth=0)
        ax.fill_between(
            [left, left + 0.5],
            0,
            -sign * _AXIS_END,
            facecolor="none",
            edgecolor=DROPPED,
            alpha=0.18,
            hatch="///",
            linewidth=0,
        )
    ax.axhline(0, color=INK, linewidth=0.8)
    ax.set(
        xlim=(0, 1),
        ylim=(-_AXIS_END, _AXIS_END),
        xlabel=r"probability $\eta$ of the positive class",
    )
    ticks = range(-3, 4)
    ax.set_yticks(
        [-_INFINITY, *ticks, _INFINITY], [r"$-\infty$", *(f"{tick}" for tick in ticks), r"$\infty$"]
    )


def _draw_edges(ax: Axes) -> None:
    """Draw the minimisers at the edges of the theorem, which do not depend on the probability."""
    _shade_signs(ax)
    reach = point_minimum("logistic", Thresholds(2.0, 1.2), 0.75).high
    ax.fill_between([0, 1], -reach, reach, color=CLASS_COLOURS[1], alpha=0.55, linewidth=0)
    ax.axhline(0, color=INK, linewidth=3)
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 2}
    line = {"arrowstyle": "-", "color": INK, "linewidth": 0.8}
    band = rf"$\lambda = 1.2$, above $s(0)$: all $|t| \leq {reach:.2f}$"
    ax.annotate(band, (0.12, reach), (0.05, 1.1), arrowprops=line, bbox=box)
    zero = r"$\lambda = s(0)$: zero alone"
    ax.annotate(zero, (0.88, 0), (0.58, -1.3), arrowprops=line, bbox=box)
    ax.text(0.05, 2.6, r"$\lambda = \hat\lambda$: all t, whatever $\eta$", bbox=box)
    ax.set_ylabel("all minimisers t")
    ax.set_title("Logistic loss, where the theorem ends", loc="left", fontsize="medium")


def _draw_ranks(ax: Axes, solved: Sequence[tuple[Mapping[str, float], str]]) -> None:
    """Draw which ranks lead to the signs of Bayes' rule: areas by the rule, marks as solved."""
    error, right = POPULATION.bayes_error, 0.5
    margins = map(abs, map(int.__sub__, POPULATION.positive, POPULATION.negative))
    spare = error + min(margins) / POPULATION.total  # what can be dropped before a sign is lost
    mu = np.array([0.0, error])
    ax.fill_between(mu, mu, 2 * error - mu, color=DROPPED, alpha=0.16, linewidth=0)
    ax.fill_between(mu, 2 * error - mu, 1, color=KEPT, alpha=0.16, linewidth=0)
    for low, high, colour in ((error, spare, KEPT), (spare, right, CLASS_COLOURS[1])):
        ax.fill_between([low, high], [low, high], 1, color=colour, alpha=0.16, linewidth=0)
    looks = {
        "right": ("all signs right", KEPT, "full"),
        "at infinity": ("the same, at infinity", KEPT, "none"),
        "zero": ("constant model", DROPPED, "full"),
        "any": ("a wrong sign costs nothing", CLASS_COLOURS[1], "full"),
    }
    for mark, (word, (label, colour, fill)) in zip(MARKERS, looks.items(), strict=False):
        points = [fractions for fractions, outcome in solved if outcome == word]
        if points:
            ax.plot(
                [point["mu"] for point in points],
                [point["nu"] for point in points],
                linestyle="none",
                marker=mark,
                markersize=8,
                color=colour,
                fillstyle=fill,
                label=label,
            )
    ax.axvline(error, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    ax.text(error - 0.006, 0.9, f"R = {100 * error:.1f} %", ha="right", va="center", color=INK)
    middle = (0.16, 2 * error - 0.16)
    line = {"arrowstyle": "-", "color": INK, "linewidth": 0.8}
    ax.annotate(r"$\mu + \nu = 2R$", middle, (0.06, 0.03), arrowprops=line, color=INK)
    ax.set(xlim=(0, right), ylim=(0, 1.04))
    ax.set_xlabel(r"$\mu$: fraction dropped, m / n")
    ax.set_ylabel(r"$\nu$: fraction down to which losses count, k / n")
    ax.set_title("Three points, ranks given, minimised", loc="left", fontsize="medium")
    ax.legend(loc="lower right", fontsize="small", framealpha=0.95)


# -- The page --------------------------------------------------------------------------------------


def parse_setting(setting: str) -> dict[str, float]:
    """Return the numbers of a setting, by name.

    Examples
    --------
    >>> parse_setting("mu=0.1 nu=0.5")
    {'mu': 0.1, 'nu': 0.5}
    """
    pairs = (part.partition("=") for part in setting.split())
    return {name: float(number) for name, _, number in pairs}


def verdict(row: Row) -> str:
    """Return what a row says about the sign of the minimisers.

    "right": all have the sign of Bayes' rule. "at infinity": the same, but the infimum is only
    approached. "zero": zero is a minimiser, and at one point the only one. "any": one minimiser has
    the sign and another does not. Empty if no excess was measured.
    """
    if math.isnan(row["excess"]):
        return ""
    if row["excess"] > 0:
        is_approached = math.isinf(row["low"]) and row["low"] == row["high"]
        return "at infinity" if is_approached else "right"
    if row["dataset"] == "point":
        return "zero" if row["low"] == row["high"] == 0 else "any"
    return "zero" if row["infimum"] >= 1 - _SAME_MINIMUM else "any"


def _page(point: Sequence[Row], points: Sequence[Row], printed: Sequence[Row], plan: Plan) -> str:
    return fill_page(
        "calibration",
        quick=QUICK * plan.quick,
        point=_point_table(point),
        points=_points_table(points),
        printed=_printed_table(printed),
    )


def _point_table(rows: Sequence[Row]) -> str:
    """Count verdicts over the probabilities, for each loss and pair of thresholds."""
    lines = []
    for (loss, lower, upper), group in group_rows(rows, "model", "lower", "upper").items():
        verdicts = [verdict(row) for row in group]
        counts = [str(verdicts.count(word)) for word in ("right", "at infinity", "zero", "any")]
        least = min(row["excess"] for row in group)
        lines.append([loss, f"{lower:g}", f"{upper:g}", *counts, f"{least:.4f}"])
    header = ["loss", "lambda", "lambda-hat", "right", "at infinity", "zero", "any", "least excess"]
    return format_table(header, lines)


def _points_table(rows: Sequence[Row]) -> str:
    """Return verdicts in a grid: mu to the right, nu downwards."""
    verdicts: dict[tuple[float, float], dict[str, None]] = {}
    for row in rows:
        given = parse_setting(row["setting"])
        verdicts.setdefault((given["nu"], given["mu"]), {})[verdict(row)] = None
    heads = sorted({mu for _, mu in verdicts})
    lines = [
        [f"{nu:g}", *(" / ".join(verdicts.get((nu, mu), {})) for mu in heads)]
        for nu in sorted({nu for nu, _ in verdicts})
    ]
    return format_table(["nu \\ mu", *(f"{mu:g}" for mu in heads)], lines)


def _printed_table(rows: Sequence[Row]) -> str:
    """Return the middle rank, and the error and the minimum of each split."""
    lines = []
    for (name, loss, setting), group in group_rows(rows, "dataset", "model", "setting").items():
        given, n = parse_setting(setting), group[0]["chosen"]["rows"]
        middle = 50 * (given["m"] + given["k"]) / n
        errors = ", ".join(f"{row['error']:.1f}" for row in group)
        minima = ", ".join(f"{row['infimum']:.3f}" for row in group)
        ranks = [f"{given['k']:g}", f"{given['m']:g}", f"{n}", f"{middle:.1f}"]
        lines.append([name, loss, *ranks, errors, minima])
    header = ["data set", "loss", "k", "m", "rows", "(m + k) / 2, %", "error, %", "minimum"]
    return format_table(header, lines)
