"""The appendix on time: the cost of outer and inner steps, and how it grows with the rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import process_time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sorr._files import write_atomically
from sorr.experiments.experiment import Cell, Experiment, Measured, Plan, Task, seed_of
from sorr.experiments.rows import Row
from sorr.experiments.tables import QUICK, fill_page, format_table, write_csv, write_figure
from sorr.objectives import RankedRangeObjective
from sorr.plots import CLASS_COLOURS, INK, KEPT, need_matplotlib, tidy
from sorr.solvers import Solution, dca, trim

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZES, _QUICK_SIZES = (1_000, 10_000, 100_000, 1_000_000), (1_000, 10_000)
_FEATURES, _ROUNDS = 20, 3
_OUTER, _INNER, _FULL_INNER = 10, 1000, 5
_MODELS = ("dca stochastic", "dca deterministic", "trim")
_COSTS = {
    ("dca stochastic", "outer"): "outer step, apart from inner ones",
    ("dca stochastic", "inner"): "inner step, on one row",
    ("dca deterministic", "outer"): "outer step, inner ones included",
    ("dca deterministic", "reading"): "reading of all rows",
    ("trim", "reading"): "reading of all rows",
    ("dca stochastic", "whole"): "whole run",
    ("dca deterministic", "whole"): "whole run",
    ("trim", "whole"): "whole run, certified",
}

Record = dict[str, Any]
Curve = tuple[list[int], list[float]]


class StepCost(NamedTuple):
    """The cost in seconds of an outer step without its inner steps, and of an inner step."""

    outer: float
    inner: float


def problem(n: int) -> RankedRangeObjective:
    """Return a ranked range of generated rows: a tenth is dropped, the easiest fifth left out."""
    rng = np.random.default_rng(seed_of("time", n))
    X = rng.standard_normal((n, _FEATURES))
    raw = X @ rng.standard_normal(_FEATURES) + rng.standard_normal(n)
    y = np.where(raw > 0, 1.0, -1.0)
    y[rng.random(n) < 0.05] *= -1
    return RankedRangeObjective(X, y, "logistic", m=n // 10, k=8 * n // 10, C=1e4)


def split_steps(one: Sequence[float], many: Sequence[float], inner_steps: int) -> StepCost:
    """Return the lowest cost of an outer step without inner steps, and that of an inner step.

    Parameters
    ----------
    one, many : sequence of float
        The times at which outer steps began and ended, with one inner step each and with many.
    inner_steps : int
        The number of inner steps in `many`.

    Examples
    --------
    >>> split_steps([0.0, 6.0, 13.0], [0.0, 10.0, 18.0], inner_steps=3)
    StepCost(outer=5.0, inner=1.0)
    """
    least, most = (min(end - begin for begin, end in pairwise(times)) for times in (one, many))
    inner = (most - least) / (inner_steps - 1)
    return StepCost(least - inner, inner)


def growth(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Return the exponent of the power of the size that fits the costs best, in logarithms.

    Examples
    --------
    >>> round(growth([10, 100, 1000], [3.0, 300.0, 30000.0]), 6)
    2.0
    """
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def _tasks(plan: Plan) -> list[Task]:
    return [
        Task(
            _measure,
            tuple(Cell("ours", f"n={n}", name, "", 0) for name in _MODELS),
            cost=200_000 + n,
        )
        for n in (_QUICK_SIZES if plan.quick else _SIZES)
    ]


def _measure(cells: tuple[Cell, ...]) -> Iterator[tuple[Cell, Measured]]:
    objective = problem(_rows(cells[0].dataset))
    for cell in cells:
        runs = [_run(objective, cell) for _ in range(_ROUNDS)]
        solution = runs[0][1]
        lowest = {name: min(costs[name] for costs, _ in runs) for name in EXPERIMENT.measures}
        yield cell, Measured(lowest, {}, solution.objective, solution.gap, solution.status.name)


def _run(objective: RankedRangeObjective, cell: Cell) -> tuple[dict[str, float], Solution]:
    """Run a solver once. Return its costs in milliseconds, and its solution."""
    cost = StepCost(math.nan, math.nan)
    begin = process_time()
    if cell.model == "trim":
        solution = trim(objective, random_state=cell.seed)
    elif cell.model == "dca stochastic":
        solution, times = _run_dca(objective, cell, inner_steps=_INNER)
    else:
        solution, times = _run_dca(objective, cell, inner="deterministic", inner_steps=_FULL_INNER)
        cost = StepCost(median(b - a for a, b in pairwise(times)), math.nan)
    whole = process_time() - begin
    reading = whole / solution.passes
    if cell.model == "dca stochastic":
        cost = split_steps(_run_dca(objective, cell, inner_steps=1)[1], times, _INNER)
        reading = math.nan  # its inner steps read single rows
    seconds = {"outer": cost.outer, "inner": cost.inner, "reading": reading}
    milliseconds = {name: 1000 * value for name, value in (seconds | {"whole": whole}).items()}
    return milliseconds | {"readings": solution.passes}, solution


def _run_dca(
    objective: RankedRangeObjective, cell: Cell, **options: Any
) -> tuple[Solution, list[float]]:
    """Run `dca`. Return its solution, and the times at which outer steps began and ended."""
    times: list[float] = []
    solution = dca(
        objective,
        outer_steps=_OUTER,
        tol=0,
        random_state=cell.seed,
        progress=lambda _: times.append(process_time()),
        **options,
    )
    return solution, times


def _rows(dataset: str) -> int:
    return int(dataset.partition("=")[2])


def _view(rows: list[Row], plan: Plan, folder: Path) -> list[Path]:
    records = [
        {"n": _rows(row["dataset"]), "solver": row["model"], "objective": row["objective"]}
        | {name: row[name] for name in EXPERIMENT.measures}
        for row in rows
    ]
    curves = _curves(records)
    page = fill_page(
        "time",
        d=_FEATURES,
        outer=_OUTER,
        inner=_INNER,
        full=_FULL_INNER,
        rounds=_ROUNDS,
        costs=_cost_table(records),
        growth=_growth_table(curves),
        quick=QUICK * plan.quick,
    )
    return [
        write_atomically(folder / "time.md", page),
        write_csv(folder / "time.csv", records),
        write_figure(folder / "time.png", _figure(curves)),
    ]


def _curves(records: Sequence[Record]) -> dict[tuple[str, str], Curve]:
    """Return the sizes and the costs in milliseconds, by solver and measure."""
    curves: dict[tuple[str, str], Curve] = {}
    for model, measure in _COSTS:
        own = [record for record in records if record["solver"] == model]
        if own:
            sizes = [record["n"] for record in own]
            curves[model, measure] = sizes, [record[measure] for record in own]
    return curves


def _cost_table(records: Sequence[Record]) -> str:
    lines = []
    for record in records:
        costs = [record["outer"], 1000 * record["inner"], record["reading"]]
        texts = ["" if math.isnan(cost) else f"{cost:.3g}" for cost in costs]
        whole = [f"{record['whole'] / 1000:.3g}", f"{record['readings']:.0f}"]
        objective = f"{record['objective']:.5f}"
        lines.append([f"{record['n']}", record["solver"], *texts, *whole, objective])
    header = ["rows", "solver", "outer step, ms", "inner step, us", "reading, ms"]
    return format_table([*header, "whole run, s", "readings", "objective"], lines)


def _growth_table(curves: dict[tuple[str, str], Curve]) -> str:
    lines = []
    for (model, measure), (sizes, costs) in curves.items():
        known = len(sizes) > 1
        ends = [growth(sizes, costs), growth(sizes[-2:], costs[-2:])] if known else []
        texts = [f"{end:.2f}" for end in ends] or ["", ""]
        lines.append([model, _COSTS[model, measure], *texts])
    return format_table(["solver", "cost of", "exponent, all", "between the largest two"], lines)


def _figure(curves: dict[tuple[str, str], Curve]) -> Figure:
    plt = need_matplotlib("time")
    figure: Figure
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 6.4), layout="constrained")
    looks = {
        "dca stochastic": (CLASS_COLOURS[1], "s"),
        "dca deterministic": (CLASS_COLOURS[2], "^"),
        "trim": (KEPT, "o"),
    }
    dashes = {"outer": "-", "inner": (0, (1, 1)), "reading": (0, (5, 2)), "whole": "-"}
    for (model, measure), (sizes, costs) in curves.items():
        is_whole = measure == "whole"
        colour, mark = looks[model]
        (right if is_whole else left).plot(
            sizes,
            np.array(costs) / (1000 if is_whole else 1),
            color=colour,
            marker=mark,
            linestyle=dashes[measure],
            linewidth=2,
            label=f"{model}: {_COSTS[model, measure]}",
        )
    _finish(left, "processor time, ms", "A step, or a reading of the data")
    _finish(right, "processor time, s", "A whole run")
    return figure


def _finish(ax: Axes, label: str, title: str) -> None:
    """Make both axes logarithmic, and draw n and n log n below the first curve."""
    tidy(ax).set(xscale="log", yscale="log", xlabel="rows n", ylabel=label)
    ax.set_title(title, loc="left", fontsize="medium")
    limits = ax.get_xlim(), ax.get_ylim()
    sizes, costs = (np.asarray(data, dtype=np.float64) for data in ax.lines[0].get_data())
    for shape, dashes, text in (
        (sizes, (0, (4, 3)), "grows as n"),
        (sizes * np.log(sizes), (0, (1, 2)), "grows as n log n"),
    ):
        guide = costs[-1] / 2 * shape / shape[-1]
        ax.plot(sizes, guide, color=INK, linewidth=1, linestyle=dashes, label=text)
    ax.set(xlim=limits[0], ylim=limits[1])
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), fontsize="small", frameon=False)


EXPERIMENT = Experiment(
    name="time",
    title="Appendix: the cost of outer and inner steps, and how it grows with the rows",
    measures=("outer", "inner", "reading", "whole", "readings"),
    tasks=_tasks,
    view=_view,
    splits=1,
    protocols=("ours",),
)
