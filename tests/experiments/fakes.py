"""Experiments that measure next to nothing, in a module that other processes can import."""

import os
import signal
import sys
import time
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import sorr.experiments
from sorr.experiments import Cell, Experiment, Measured, Task, experiment, seed_of
from sorr.experiments.tables import Line, Table

ROOT = Path(__file__).parents[2]
DATASETS = ("monk", "titanic")


def error_of(cell):
    """Return a number between 0 and 100 that is the cell's own."""
    return seed_of(*cell) % 10_000 / 100


def measure(cells, log, pause):
    """Note each cell in a log, in one write since several processes may, and wait a little."""
    for cell in cells:
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(handle, f"{cell}\n".encode())
        os.close(handle)
        time.sleep(pause)
        ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        status = "deaf to Ctrl-C" if ignored else "hears Ctrl-C"
        yield cell, Measured({"error": error_of(cell)}, {"C": 10.0}, status=status)


def measured(log):
    """Return the cells in a log, in the order of their measurement."""
    return log.read_text().splitlines() if log.exists() else []


def fail(cells, error, after=0):
    """Measure that many cells, and fail."""
    for cell in cells[:after]:
        yield cell, Measured({"error": error_of(cell)})
    raise error


def tasks(plan, measure, models):
    return [
        Task(measure, tuple(Cell(p, data, m, "", i) for p in plan.protocols for m in models))
        for i in range(plan.splits)
        for data in DATASETS
    ]


def fake(measure, name="fake", models=("average", "AoRR"), **options):
    """Return an experiment with a table, measured by a function that can be pickled."""
    lines = [Line(dataset, "", model, printed=50.0) for dataset in DATASETS for model in models]
    table = Table(name, f"Table {name}", lambda _: lines, "error", "average", True, "setting")
    return Experiment(
        name=name,
        title=f"what {name} shows",
        measures=("error",),
        tasks=partial(tasks, measure=measure, models=models),
        view=table.write,
        **{"splits": 3, **options},
    )


def logged(log, pause=0.0, **options):
    """Return an experiment that notes what it measures in a log."""
    return fake(partial(measure, log=log, pause=pause), **options)


def failing(error, after=0, **options):
    """Return an experiment that fails after so many cells of each task."""
    return fake(partial(fail, error=error, after=after), **options)


@contextmanager
def published(*experiments):
    """Let these be all the experiments there are, found by their names."""
    names = tuple(each.name for each in experiments)
    modules = {
        f"sorr.experiments.paper.{each.name}": SimpleNamespace(EXPERIMENT=each)
        for each in experiments
    }
    chapters = {name: f"{name}:EXPERIMENT" for name in names}
    with ExitStack() as stack:
        stack.enter_context(patch.dict(sys.modules, modules))
        stack.enter_context(patch.object(experiment, "_CHAPTERS", chapters))
        for module in (experiment, sorr.experiments):
            stack.enter_context(patch.object(module, "EXPERIMENTS", names))
        yield


def wait_for(condition, seconds=60.0):
    """Wait until something is true, or fail."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.02)
