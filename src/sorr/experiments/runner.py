"""Running experiments: what is missing is measured, each row kept at once, and then it is drawn."""

from __future__ import annotations

import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TypeAlias

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from sorr import __version__
from sorr.experiments.experiment import Cell, Experiment, Plan, Task
from sorr.experiments.rows import KEY, RefusedError, Row, RowFile, exclusive

__all__ = ["Progress", "draw", "row_file", "run"]

Progress: TypeAlias = Callable[[float, float, str], None]
_PACKAGES = ("numpy", "scipy", "scikit-learn")


def run(
    experiment: Experiment,
    plan: Plan,
    folder: Path,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[Path]:
    """Measure what is missing, then write tables and figures.

    Tasks whose data is not on this machine are skipped.
    It can be stopped at any moment and started again: cells that have a row are not measured
    again. The numbers do not depend on `jobs`.

    Parameters
    ----------
    experiment : Experiment
    plan : Plan
        How much of it, as from `Experiment.plan`.
    folder : Path
        Where tables and figures go, and rows, in a folder "rows".
    jobs : int, default=1
        How many processes, with one thread each.
    progress : callable, optional
        Called with the cost done so far, the whole cost and the last cell, after each task.

    Returns
    -------
    list of Path
        The tables and figures.

    Raises
    ------
    RefusedError
        If another run writes there, or a quick run would write over the pages of a full one.
    """
    _refuse_to_mix(experiment, plan, folder)
    file = row_file(experiment, plan, folder)
    with exclusive(file.path.parent):
        done = {_key(row) for row in file.read()}
        tasks = [task for task in experiment.tasks(plan) if task.has_data]
        open_ = [replace(task, cells=_left(task, done)) for task in tasks if _left(task, done)]
        whole = sum(task.cost for task in tasks)
        reached = whole - sum(task.cost for task in open_)
        if progress is not None:
            progress(reached, whole, "")
        versions = {"sorr": __version__, **{name: version(name) for name in _PACKAGES}}
        calls = (delayed(_measure)(task, file, versions) for task in open_)
        with _started(calls, jobs) as finished:
            for task in finished:
                reached += task.cost
                if progress is not None:
                    progress(reached, whole, str(task.cells[-1]))
    return draw(experiment, plan, folder)


def draw(experiment: Experiment, plan: Plan, folder: Path) -> list[Path]:
    """Write the tables and figures of the rows that are there, and return their paths."""
    _refuse_to_mix(experiment, plan, folder)
    held = {_key(row): row for row in row_file(experiment, plan, folder).read()}
    cells = (cell for task in experiment.tasks(plan) for cell in task.cells)
    rows = [held[tuple(cell)] for cell in cells if tuple(cell) in held]
    return experiment.view(rows, plan, folder) if rows else []


def row_file(experiment: Experiment, plan: Plan, folder: Path) -> RowFile:
    """Return where the rows are kept; quick ones are kept by themselves."""
    name = (experiment.rows or experiment.name) + ("-quick" if plan.quick else "")
    return RowFile(folder / "rows" / f"{name}.csv", experiment.measures)


def _refuse_to_mix(experiment: Experiment, plan: Plan, folder: Path) -> None:
    full = row_file(experiment, plan._replace(quick=False), folder).path
    if plan.quick and full.exists():
        raise RefusedError(
            f"{folder} holds a full run of {experiment.name}, whose pages a quick one would write "
            "over; pass another folder"
        )


def _key(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in KEY)


def _left(task: Task, done: Iterable[object]) -> tuple[Cell, ...]:
    return tuple(cell for cell in task.cells if tuple(cell) not in done)


@contextmanager
def _started(calls: Iterable[object], jobs: int) -> Iterator[Iterator[Task]]:
    """Give the tasks as they are finished; whoever leaves ends the processes without a word."""
    with _deaf_to_interrupts():
        finished = Parallel(n_jobs=jobs, return_as="generator_unordered")(calls)
    with warnings.catch_warnings(), closing(finished):
        warnings.filterwarnings("ignore", r"\d+ tasks")  # that they were stopped is known
        yield finished


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Start processes that do not hear Ctrl-C: the one that started them does, and ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may say what signals do
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # which new processes inherit
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _measure(task: Task, file: RowFile, versions: dict[str, str]) -> Task:
    """Measure the cells of a task on one thread, and keep each row as soon as it is there."""
    begin = time.process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a model is constant or unconverged is in its row
        try:
            for cell, found in task.measure(task.cells):
                now = time.process_time()
                seed = cell.seed if found.seed is None else found.seed
                kept = {**cell._asdict(), "seed": seed, **found.values, "versions": versions}
                rest = {name: getattr(found, name) for name in ("chosen", "objective", "gap")}
                file.add({**kept, **rest, "status": found.status, "seconds": now - begin})
                begin = now
        except Exception as error:
            error.add_note(f"while measuring: {task.cells[0]} and what goes with it")
            raise
    return task
