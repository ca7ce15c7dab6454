"""An experiment as data: the cells it measures, the tasks that measure them, and their seeds."""

from __future__ import annotations

import pkgutil
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from sorr._checks import suggest
from sorr.experiments.rows import Row

PROTOCOLS = ("paper", "ours")


class Cell(NamedTuple):
    """One model on one split of one data set, by one protocol. Measured, it makes a row.

    Attributes
    ----------
    protocol : {"paper", "ours"}
        How the model is fitted and chosen.
    dataset, model : str
    setting : str
        What else varies, as in "logistic", "k=3" or "logistic m=0.1". May be empty.
    split : int
        The number of the split, or of the run.
    """

    protocol: str
    dataset: str
    model: str
    setting: str
    split: int

    def __str__(self) -> str:
        return " ".join(str(part) for part in self if part != "")

    @property
    def seed(self) -> int:
        """A seed made from the names of the data set and the split.

        All models of a split share it. Adding a model does not change the numbers of another.
        """
        return seed_of(self.dataset, self.split)


class Measured(NamedTuple):
    """The result of a cell.

    Attributes
    ----------
    values : mapping of str to float
        The measures of the experiment, in its units.
    chosen : mapping
        The parameters that were chosen, such as C, k and m, and other numbers and lists that a
        table or a figure shows.
    objective, gap : float
        The objective of the last fit, and its certified distance from the minimum of its last
        convex problem. NaN if unknown.
    status : str
        How the solver ended.
    seed : int or None
        The seed that was used. None stands for the seed of the cell.
    """

    values: Mapping[str, float]
    chosen: Mapping[str, Any] = {}
    objective: float = float("nan")
    gap: float = float("nan")
    status: str = ""
    seed: int | None = None


@dataclass(frozen=True)
class Task:
    """Cells that share work, and the function that measures them.

    Attributes
    ----------
    measure : callable
        Takes the cells to measure, and yields each of them with its result as soon as it is
        known. A function of a module, or a `functools.partial` of one, since it may run in another
        process.
    cells : tuple of Cell
    cost : float
        About how long it takes, in any unit. Used to estimate the time that is left.
    has_data : bool
        Whether the data it needs is on this machine. `run` skips a task without data. Rows of such
        a task that were measured elsewhere are drawn.
    """

    measure: Callable[[tuple[Cell, ...]], Iterable[tuple[Cell, Measured]]]
    cells: tuple[Cell, ...]
    cost: float = 1.0
    has_data: bool = True


class Plan(NamedTuple):
    """How much of an experiment to measure.

    Attributes
    ----------
    protocols : tuple of str
    splits : int
        The number of splits, or of runs.
    quick : bool
        Whether to make a small run that takes less than a minute.
    """

    protocols: tuple[str, ...] = PROTOCOLS
    splits: int = 10
    quick: bool = False


@dataclass(frozen=True)
class Experiment:
    """What to measure, and how to show it.

    Attributes
    ----------
    name : str
        The name on the command line, such as "table1".
    title : str
        What it shows, in one line.
    measures : tuple of str
        The names of the values in a row.
    tasks : callable
        Takes a `Plan` and returns all tasks. The cells depend on the plan only, not on the data on
        this machine, so that rows that were measured elsewhere can be drawn here.
    view : callable
        Takes the rows in the order of the tasks, the plan and a folder. Writes tables and figures
        to the folder and returns their paths. It does not fit anything.
    splits, quick_splits : int
        The default number of splits of a full run and of a quick run.
    protocols : tuple of str
        The protocols that it can follow.
    rows : str
        The experiment whose rows it shows, with the same tasks and measures. By default its own.
    """

    name: str
    title: str
    measures: tuple[str, ...]
    tasks: Callable[[Plan], list[Task]]
    view: Callable[[list[Row], Plan, Path], list[Path]]
    splits: int = 10
    quick_splits: int = 1
    protocols: tuple[str, ...] = field(default=PROTOCOLS)
    rows: str = ""

    def plan(
        self, protocols: tuple[str, ...] = PROTOCOLS, splits: int | None = None, quick: bool = False
    ) -> Plan:
        """Return how much to measure, with the defaults of this experiment."""
        known = tuple(protocol for protocol in protocols if protocol in self.protocols)
        default = self.quick_splits if quick else self.splits
        return Plan(known or self.protocols, default if splits is None else splits, quick)


def seed_of(*names: object) -> int:
    """Return a seed made from names. It is the same on every machine and in every run.

    Examples
    --------
    >>> seed_of("monk", 3)
    2883960062
    """
    return zlib.crc32(" ".join(map(str, names)).encode())


# -- Experiments by name ---------------------------------------------------------------------------


_CHAPTERS = {
    "table1": "table1:EXPERIMENT",
    "table2": "table2:EXPERIMENT",
    "table3": "table3:EXPERIMENT",
    "table-ap": "table2:PRECISION",
    "fig-illustration": "fig_illustration:EXPERIMENT",
    "fig-interpretation": "fig_interpretation:EXPERIMENT",
    "fig-toy": "fig_toy:EXPERIMENT",
    "fig-toy-outliers": "fig_toy:OUTLIERS",
    "fig-tendency": "fig_tendency:EXPERIMENT",
    "fig-classwise": "fig_classwise:EXPERIMENT",
    "calibration": "calibration:EXPERIMENT",
    "time": "timing:EXPERIMENT",
}
EXPERIMENTS = tuple(_CHAPTERS)
"""The names of all experiments, in the order of the paper."""


def get_experiment(name: str) -> Experiment:
    """Return an experiment by its name. Its chapter is imported on first use.

    Examples
    --------
    >>> get_experiment("table1").measures
    ('error',)
    """
    if name not in _CHAPTERS:
        raise ValueError(
            f"there is no experiment {name!r}; {suggest(name, EXPERIMENTS, most=1, cutoff=0.5)}"
        )
    experiment: Experiment = pkgutil.resolve_name(f"sorr.experiments.paper.{_CHAPTERS[name]}")
    return experiment
