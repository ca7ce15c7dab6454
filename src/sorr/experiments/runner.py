"""Running experiments: measure the missing cells, write each row at once, then draw."""

from __future__ import annotations

import signal
import threading
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from sorr import __version__
from sorr._typing import Report
from sorr.experiments.experiment import Cell, Experiment, Plan, Task
from sorr.experiments.rows import KEY, RefusedError, Row, RowFile, exclusive

_PACKAGES = ("numpy", "scipy", "scikit-learn")


def run(
    experiment: Experiment,
    plan: Plan,
    folder: Path,
    *,
    jobs: int = 1,
    progress: Report | None = None,
) -> list[Path]:
    """Measure the cells that have no row yet, then write tables and figures.

    A run can be stopped at any time and started again: cells that have a row are not measured
    again. Tasks whose data is not on this machine are skipped.

    Parameters
    ----------
    experiment : Experiment
    plan : Plan
        How much of it to measure, as from `Experiment.plan`.
    folder : Path
        The folder for tables and figures. Rows go to its folder "rows".
    jobs : int, default=1
        Number of processes, with one thread each. Results do not depend on it.
    progress : callable, optional
        Called after each task with the cost done so far, the total cost and the last cell.

    Returns
    -------
    list of Path
        The tables and figures.

    Raises
    ------
    RefusedError
        If another run writes to the folder, or a quick run would overwrite the pages of a full
        one.
    """
    _refuse_to_mix(experiment, plan, folder)
    file = row_file(experiment, plan, folder)
    with exclusive(file.path.parent):
        done = {_key(row) for row in file.read()}
        tasks = [task for task in experiment.tasks(plan) if task.has_data]
        missing = [replace(task, cells=_missing_cells(task, done)) for task in tasks]
        missing = [task for task in missing if task.cells]
        total = sum(task.cost for task in tasks)
        reached = total - sum(task.cost for task in missing)
        if progress is not None:
            progress(reached, total, "")
        versions = {"sorr": __version__, **{name: version(name) for name in _PACKAGES}}
        calls = (delayed(_measure)(task, file, versions) for task in missing)
        with _started(calls, jobs) as finished:
            for task in finished:
                reached += task.cost
                if progress is not None:
                    progress(reached, total, str(task.cells[-1]))
    return draw(experiment, plan, folder)


def draw(experiment: Experiment, plan: Plan, folder: Path) -> list[Path]:
    """Write the tables and figures of the rows on disk, and return their paths."""
    _refuse_to_mix(experiment, plan, folder)
    measured = {_key(row): row for row in row_file(experiment, plan, folder).read()}
    cells = (cell for task in experiment.tasks(plan) for cell in task.cells)
    rows = [measured[tuple(cell)] for cell in cells if tuple(cell) in measured]
    return experiment.view(rows, plan, folder) if rows else []


def row_file(experiment: Experiment, plan: Plan, folder: Path) -> RowFile:
    """Return the file of the rows. Quick runs have a file of their own."""
    name = (experiment.rows or experiment.name) + ("-quick" if plan.quick else "")
    return RowFile(folder / "rows" / f"{name}.csv", experiment.measures)


def _refuse_to_mix(experiment: Experiment, plan: Plan, folder: Path) -> None:
    full = row_file(experiment, plan._replace(quick=False), folder).path
    if plan.quick and full.exists():
        raise RefusedError(
            f"{folder} holds a full run of {experiment.name}, and a quick run would overwrite its "
            "pages; pass another folder"
        )


def _key(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in KEY)


def _missing_cells(task: Task, done: Iterable[object]) -> tuple[Cell, ...]:
    return tuple(cell for cell in task.cells if tuple(cell) not in done)


@contextmanager
def _started(calls: Iterable[object], jobs: int) -> Iterator[Iterator[Task]]:
    """Give the tasks as they finish. Leaving the context ends the processes silently."""
    with _ignoring_interrupts():
        finished = Parallel(n_jobs=jobs, return_as="generator_unordered")(calls)
    with warnings.catch_warnings(), closing(finished):
        warnings.filterwarnings("ignore", r"\d+ tasks")  # joblib warns that tasks were stopped
        yield finished


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Start processes that ignore Ctrl-C. This process receives it and ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can set signal handlers
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # which new processes inherit
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _measure(task: Task, file: RowFile, versions: dict[str, str]) -> Task:
    """Measure the cells of a task on one thread, and write each row as soon as it is known."""
    begin = time.process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the status in the row says as much
        try:
            for cell, result in task.measure(task.cells):
                now = time.process_time()
                row = {**cell._asdict(), **result._asdict(), **result.values}
                seed = cell.seed if result.seed is None else result.seed
                file.add({**row, "seed": seed, "seconds": now - begin, "versions": versions})
                begin = now
        except Exception as error:
            error.add_note(f"while measuring: {task.cells[0]} and the cells of its task")
            raise
    return task
