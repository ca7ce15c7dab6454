"""An experiment as data: the cells it measures, the tasks that measure them, and their seeds."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from sorr._checks import suggest
from sorr.experiments.rows import Row

__all__ = [
    "EXPERIMENTS",
    "PROTOCOLS",
    "Cell",
    "Experiment",
    "Measured",
    "Plan",
    "Task",
    "get_experiment",
    "seed_of",
]

PROTOCOLS = ("paper", "ours")


class Cell(NamedTuple):
    """One model on one split of one data set, by one protocol: what makes a row.

    Attributes
    ----------
    protocol : {"paper", "ours"}
        How the model is fitted and chosen.
    dataset, model : str
    setting : str
        What else there is to vary, as in "logistic", "k=3" or "logistic m=0.1"; or nothing.
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
        """A seed made of the names of the data set and the split.

        All models of a split share it, and adding one never changes another's numbers.
        """
        return seed_of(self.dataset, self.split)


class Measured(NamedTuple):
    """What came out of a cell.

    Attributes
    ----------
    values : mapping of str to float
        The measures of the experiment, in its units.
    chosen : mapping
        What was chosen: (C, k, m), a threshold; and what else a table or a figure shows, as numbers
        and lists.
    objective, gap : float
        Of the last fit: its value, and the certified distance from the minimum of its last convex
        problem; NaN where there is none.
    status : str
        How the solver ended.
    seed : int or None
        What was drawn from, if that is not the seed of the cell.
    """

    values: Mapping[str, float]
    chosen: Mapping[str, Any] = {}
    objective: float = float("nan")
    gap: float = float("nan")
    status: str = ""
    seed: int | None = None


@dataclass(frozen=True)
class Task:
    """Some cells that share work, and the function that measures them.

    Attributes
    ----------
    measure : callable
        Takes the cells that are wanted and yields each with what was `Measured`, as soon as it is
        there. A function of a module, or a `functools.partial` of one: it may run elsewhere.
    cells : tuple of Cell
    cost : float
        About how long it takes, in any unit: for the time that is left.
    has_data : bool
        Whether the data it needs is on this machine. `run` skips a task without data; rows of it
        that were measured elsewhere are drawn all the same.
    """

    measure: Callable[[tuple[Cell, ...]], Iterable[tuple[Cell, Measured]]]
    cells: tuple[Cell, ...]
    cost: float = 1.0
    has_data: bool = True


class Plan(NamedTuple):
    """How much of an experiment is wanted.

    Attributes
    ----------
    protocols : tuple of str
    splits : int
        How many splits, or runs.
    quick : bool
        Whether to take less of everything: less than a minute.
    """

    protocols: tuple[str, ...] = PROTOCOLS
    splits: int = 10
    quick: bool = False


@dataclass(frozen=True)
class Experiment:
    """What to measure, and how to look at it.

    Attributes
    ----------
    name : str
        As it is typed: "table1".
    title : str
        What it shows, in a line.
    measures : tuple of str
        The names of the values in a row.
    tasks : callable
        Of a `Plan`: all that can be measured. The cells depend on the plan alone, not on the data
        that is on this machine: what was measured elsewhere can be drawn here.
    view : callable
        Of the rows in the order of the tasks, the plan and a folder: writes tables and figures
        there and returns their paths. It fits nothing.
    splits, quick_splits : int
        How many splits by default.
    protocols : tuple of str
        Those it can follow.
    rows : str
        The experiment whose rows it looks at, with the same tasks and measures; by default itself.
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
        """Return what is wanted of this experiment, with its own defaults."""
        known = tuple(protocol for protocol in protocols if protocol in self.protocols)
        default = self.quick_splits if quick else self.splits
        return Plan(known or self.protocols, default if splits is None else splits, quick)


def seed_of(*names: object) -> int:
    """Return a seed made of names: the same on every machine, whatever else is run.

    Examples
    --------
    >>> seed_of("monk", 3)
    2883960062
    """
    return zlib.crc32(" ".join(map(str, names)).encode())


# -- Experiments by name; the file of each is loaded on first use ----------------------------------


_PLACES = {
    "table1": ("table1", "EXPERIMENT"),
    "table2": ("table2", "EXPERIMENT"),
    "table3": ("table3", "EXPERIMENT"),
    "table-ap": ("table2", "AP_EXPERIMENT"),
    "fig-illustration": ("fig_illustration", "EXPERIMENT"),
    "fig-interpretation": ("fig_interpretation", "EXPERIMENT"),
    "fig-toy": ("fig_toy", "EXPERIMENT"),
    "fig-toy-outliers": ("fig_toy", "OUTLIERS"),
    "fig-tendency": ("fig_tendency", "EXPERIMENT"),
    "fig-classwise": ("fig_classwise", "EXPERIMENT"),
    "calibration": ("calibration", "EXPERIMENT"),
    "time": ("timing", "EXPERIMENT"),
}
EXPERIMENTS = tuple(_PLACES)
"""The names of all experiments, in the order of the paper."""


def get_experiment(name: str) -> Experiment:
    """Return an experiment by its name.

    Examples
    --------
    >>> get_experiment("table1").measures
    ('error',)
    """
    if name not in _PLACES:
        raise ValueError(
            f"there is no experiment {name!r}; {suggest(name, EXPERIMENTS, most=1, cutoff=0.5)}"
        )
    chapter, constant = _PLACES[name]
    experiment: Experiment = getattr(import_module(f"sorr.experiments.paper.{chapter}"), constant)
    return experiment
