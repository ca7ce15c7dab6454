import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from textwrap import dedent

import numpy as np
import pytest

import sorr
from sorr.experiments import Plan, RefusedError, draw, row_file, run
from tests.experiments.fakes import ROOT, error_of, failing, logged, measured, wait_for

PLAN = Plan(splits=3)


def cells_of(experiment, plan=PLAN):
    return [cell for task in experiment.tasks(plan) for cell in task.cells]


def key(row):
    return tuple(row[name] for name in ("protocol", "dataset", "model", "setting", "split"))


def contents(paths):
    return [(path.name, path.read_bytes()) for path in paths]


def run_elsewhere(folder, log, pause, jobs):
    """Start a run in a process group of its own, as a terminal does."""
    script = f"""
        from pathlib import Path
        from sorr.experiments import Plan, run
        from tests.experiments.fakes import logged
        run(logged({str(log)!r}, pause={pause}), Plan(splits=3), Path({str(folder)!r}), jobs={jobs})
    """
    command = [sys.executable, "-c", dedent(script)]
    return subprocess.Popen(command, cwd=ROOT, start_new_session=True)


def test_a_run_measures_every_cell_once_and_writes_the_table(tmp_path):
    experiment = logged(tmp_path / "log")
    paths = run(experiment, PLAN, tmp_path)
    assert [path.name for path in paths] == ["fake.md", "fake.csv"]
    assert measured(tmp_path / "log") == [str(cell) for cell in cells_of(experiment)]


def test_a_task_without_data_is_skipped_and_rows_of_it_are_drawn_all_the_same(tmp_path):
    whole = logged(tmp_path / "whole.log")
    pages = contents(run(whole, PLAN, tmp_path))
    lost = replace(
        whole, tasks=lambda plan: [replace(task, has_data=False) for task in whole.tasks(plan)]
    )
    assert contents(draw(lost, PLAN, tmp_path)) == pages
    assert run(lost, PLAN, tmp_path / "elsewhere") == []
    assert measured(tmp_path / "whole.log") == [str(cell) for cell in cells_of(whole)]


@pytest.fixture
def hears_interrupts():
    """Set what a shell takes away from processes in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("hears_interrupts")
def test_a_row_carries_what_was_measured_and_by_what(tmp_path):
    experiment = logged(tmp_path / "log")
    run(experiment, PLAN, tmp_path)
    (cell, row), *_ = zip(
        cells_of(experiment), row_file(experiment, PLAN, tmp_path).read(), strict=True
    )
    assert key(row) == tuple(cell)
    assert (row["error"], row["seed"]) == (error_of(cell), cell.seed)
    assert (row["chosen"], row["status"]) == ({"C": 10.0}, "hears Ctrl-C")
    assert row["versions"]["sorr"] == sorr.__version__
    assert set(row["versions"]) == {"sorr", "numpy", "scipy", "scikit-learn"}
    assert 0.0 <= row["seconds"] < 5.0


def test_the_seconds_of_a_row_are_processor_time_since_the_one_before(tmp_path, monkeypatch):
    monkeypatch.setattr(time, "process_time", iter(2.0 ** np.arange(10)).__next__)
    experiment = failing(RuntimeError(), after=4)
    with pytest.raises(RuntimeError):
        run(experiment, PLAN, tmp_path)
    rows = row_file(experiment, PLAN, tmp_path).read()
    assert [row["seconds"] for row in rows] == [1.0, 2.0, 4.0, 8.0]


def test_a_second_run_measures_nothing_and_a_larger_one_what_is_missing(tmp_path):
    run(logged(tmp_path / "first"), PLAN, tmp_path)
    run(logged(tmp_path / "again"), PLAN, tmp_path)
    assert measured(tmp_path / "again") == []
    larger = logged(tmp_path / "larger")
    run(larger, Plan(splits=4), tmp_path)
    assert measured(tmp_path / "larger") == [
        str(cell) for cell in cells_of(larger, Plan(splits=4)) if cell.split == 3
    ]


def test_quick_rows_are_kept_by_themselves(tmp_path):
    run(logged(tmp_path / "quick"), Plan(splits=1, quick=True), tmp_path)
    run(logged(tmp_path / "full"), Plan(splits=1), tmp_path)
    assert len(measured(tmp_path / "full")) == len(measured(tmp_path / "quick")) == 8
    names = {path.name for path in (tmp_path / "rows").glob("*.csv")}
    assert names == {"fake.csv", "fake-quick.csv"}


def test_a_quick_run_does_not_write_over_the_pages_of_a_full_one(tmp_path):
    paths = run(logged(tmp_path / "full"), Plan(splits=1), tmp_path)
    before = contents(paths)
    for work in (run, draw):
        with pytest.raises(RefusedError, match="holds a full run of fake"):
            work(logged(tmp_path / "quick"), Plan(splits=1, quick=True), tmp_path)
    assert contents(paths) == before
    assert not (tmp_path / "quick").exists()


def test_an_experiment_may_look_at_the_rows_of_another(tmp_path):
    run(logged(tmp_path / "log", name="table2"), PLAN, tmp_path)
    other = logged(tmp_path / "again", name="table-ap", rows="table2")
    assert [path.name for path in run(other, PLAN, tmp_path)] == ["table-ap.md", "table-ap.csv"]
    assert measured(tmp_path / "again") == []


def test_a_torn_row_is_measured_again(tmp_path):
    experiment = logged(tmp_path / "log")
    before = contents(run(experiment, PLAN, tmp_path))
    path = row_file(experiment, PLAN, tmp_path).path
    path.write_bytes(path.read_bytes()[:-20])
    assert contents(run(logged(tmp_path / "again"), PLAN, tmp_path)) == before
    assert measured(tmp_path / "again") == [str(cells_of(experiment)[-1])]


@pytest.mark.digits
def test_bytes_are_the_same_and_progress_rises_whatever_the_number_of_jobs(tmp_path):
    calls = []
    alone = run(logged(tmp_path / "log1"), PLAN, tmp_path / "one")
    together = run(
        logged(tmp_path / "log2"),
        PLAN,
        tmp_path / "two",
        jobs=2,
        progress=lambda *c: calls.append(c),
    )
    assert contents(alone) == contents(together)
    assert sorted(measured(tmp_path / "log1")) == sorted(measured(tmp_path / "log2"))
    assert [(done, whole) for done, whole, _ in calls] == [(i, 6.0) for i in range(7)]


def test_adding_a_model_changes_no_other_row(tmp_path):
    few, many = (
        logged(tmp_path / "log"),
        logged(tmp_path / "log", models=("new", "average", "AoRR")),
    )
    run(few, PLAN, tmp_path / "few")
    run(many, PLAN, tmp_path / "many")

    def numbers(experiment, folder):
        rows = row_file(experiment, PLAN, tmp_path / folder).read()
        return {key(row): (row["error"], row["seed"]) for row in rows}

    before, after = numbers(few, "few"), numbers(many, "many")
    assert len(after) == 36
    assert {cell: after[cell] for cell in before} == before


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="there are no process groups here")
def test_a_run_that_is_killed_goes_on_and_ends_with_the_same_bytes(tmp_path):
    folder, log, again = tmp_path / "killed", tmp_path / "log", tmp_path / "again"
    process = run_elsewhere(folder, log, pause=0.1, jobs=2)
    wait_for(lambda: len(measured(log)) >= 7)
    with pytest.raises(RefusedError, match="another run writes to"):
        run(logged(again), PLAN, folder)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL

    resumed = logged(again)
    kept = {key(row) for row in row_file(resumed, PLAN, folder).read()}
    assert 0 < len(kept) < len(cells_of(resumed))
    paths = run(resumed, PLAN, folder)
    missing = [str(cell) for cell in cells_of(resumed) if tuple(cell) not in kept]
    assert measured(again) == missing
    assert contents(paths) == contents(
        run(logged(tmp_path / "whole"), PLAN, tmp_path / "whole_run")
    )


def test_an_interruption_stops_the_processes_and_keeps_the_rows(tmp_path):
    log, folder = tmp_path / "log", tmp_path / "out"
    experiment = logged(log, pause=0.05)

    def interrupt(done, whole, label):  # noqa: ARG001
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(experiment, PLAN, folder, jobs=2, progress=interrupt)
    kept = len(row_file(experiment, PLAN, folder).read())
    assert 4 <= kept < 24


def test_drawing_measures_nothing(tmp_path):
    paths = run(logged(tmp_path / "log"), PLAN, tmp_path)
    before = contents(paths)
    for path in paths:
        path.unlink()
    assert contents(draw(failing(AssertionError("it fits")), PLAN, tmp_path)) == before


def test_drawing_takes_the_cells_of_the_plan_in_its_order(tmp_path):
    experiment = logged(tmp_path / "log")
    run(logged(tmp_path / "log", models=("AoRR", "average")), PLAN, tmp_path)
    drawn = []

    def view(rows, plan, folder):
        drawn.extend(rows)
        return [folder / f"{plan.splits}"]

    ours = Plan(("ours",), splits=2)
    assert draw(replace(experiment, view=view), ours, tmp_path) == [tmp_path / "2"]
    assert [key(row) for row in drawn] == [tuple(cell) for cell in cells_of(experiment, ours)]


def test_without_rows_nothing_is_drawn(tmp_path):
    assert draw(failing(AssertionError("it fits")), PLAN, tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failure_names_the_cell_and_keeps_what_was_measured(tmp_path, jobs):
    experiment = failing(FileNotFoundError("there is no australian.csv"), after=3)
    with pytest.raises(FileNotFoundError, match=r"there is no australian\.csv") as caught:
        run(experiment, PLAN, tmp_path, jobs=jobs)
    (note,) = caught.value.__notes__
    assert note.startswith("while measuring: paper")
    assert 3 <= len(row_file(experiment, PLAN, tmp_path).read()) < 24
    run(logged(tmp_path / "log"), PLAN, tmp_path)


def test_progress_goes_from_what_is_there_to_the_whole(tmp_path):
    run(logged(tmp_path / "log"), Plan(splits=1), tmp_path)
    calls = []
    run(logged(tmp_path / "log"), PLAN, tmp_path, progress=lambda *call: calls.append(call))
    assert calls[0] == (2.0, 6.0, "")
    assert [done for done, _, _ in calls] == [2.0, 3.0, 4.0, 5.0, 6.0]
    assert calls[-1] == (6.0, 6.0, "ours titanic AoRR 2")
