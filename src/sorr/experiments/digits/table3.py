"""Table 3: top-1 to top-5 accuracy on MNIST, where a share of five digits is labelled as others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sorr.experiments.cells import Cell, Experiment, Plan, Task
from sorr.experiments.comparison import Line, Table
from sorr.experiments.digits.digits import SMALL, setting_of
from sorr.experiments.digits.ours import MEASURES, MODELS, PEER, TOPS, measure_ours
from sorr.experiments.digits.page import CLEAN, NOISES, label_of, page
from sorr.experiments.digits.paper import MODELS as RELEASED
from sorr.experiments.digits.paper import RANKED, measure_paper
from sorr.experiments.pages import write_csv, write_text
from sorr.experiments.published import MNIST
from sorr.experiments.rows import Row

__all__ = ["EXPERIMENT"]

_LINES = tuple(dict.fromkeys((*RELEASED, *MODELS)))
_PRINTED = {"top-1 SVM": "top-k SVM", RANKED: "top-k SVM", "tkml": "tkml"}
# About how many seconds a run takes: models of ours, the loop without and with outer steps.
_COSTS = {"mnist": (75, 20, 220), SMALL: (4, 0.3, 0.5)}


def _data_set(plan: Plan) -> str:
    """Return the name of the data: MNIST, or quickly, digits that need no file."""
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
    """Yield what is measured on one draw of flips: the long loop by itself."""
    ours, svm, loop = _COSTS[data]
    if "paper" in plan.protocols:
        short = tuple(model for model in RELEASED if model != "tkml")
        yield Task(measure_paper, _cells("paper", data, short, setting, run), svm)
        yield Task(measure_paper, _cells("paper", data, ("tkml",), setting, run), loop)
    if "ours" in plan.protocols:
        yield Task(measure_ours, _cells("ours", data, tuple(MODELS), setting, run), ours)


def _ceiling(plan: Plan, data: str) -> Iterator[Task]:
    """Yield a fit to the right labels: once, since there is nothing to draw."""
    if "ours" in plan.protocols:
        cost = _COSTS[data][0] / len(MODELS)
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
                printed = _printed(data, noise, model, k)
                yield Line(data, setting, model, *printed, f"top{k}", label_of(noise, k))
    for k in TOPS:
        yield Line(data, setting_of(CLEAN), PEER, measure=f"top{k}", label=label_of(CLEAN, k))


def _printed(data: str, noise: int, model: str, k: int) -> tuple[float | None, float | None]:
    """Return a printed mean and its standard deviation, if there are."""
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
    """Write a table for each share of wrong labels; the records of all are as in other tables."""
    records = _TABLE.records(rows, plan)
    if not records:
        return []
    return [
        write_text(folder / "table3.md", page(records, plan)),
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
