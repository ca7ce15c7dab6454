"""How long ``sorr audit`` takes, beside a pandas read and a fit of LogisticRegression.

Each audit is a process of its own, from a file to the three files of a report, with two jobs (the
example has one); its time and its largest memory are measured. The peers read the same file and fit
the same rows. Memory is measured on Linux. `python -m benchmarks workbench --help` lists what can
be left out.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sorr.auditing.entry import example

__all__ = ["report"]


class Goal(NamedTuple):
    """A table, its target, and what an audit of it may take."""

    make: Callable[[Path], str]
    seconds: float
    megabytes: float
    jobs: int = 2


def robots(path: Path) -> str:
    """Write the example of ``sorr audit``."""
    example(0).table.frame.to_csv(path, index=False)
    return "friendly"


def million(path: Path, n: int = 1_000_000) -> str:
    """Write a million rows of 19 columns, of which 3 % have a wrong label."""
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, 16)).round(4), columns=[f"x{i}" for i in range(16)])
    frame["code"] = rng.choice(list("abcdefgh"), n)
    frame["region"] = rng.choice(["north", "south", "east", "west"], n)
    frame["age"] = rng.integers(0, 50, n)
    score = 2 * frame["x0"] - frame["x1"] + frame["x2"] * frame["x3"] + 2.0 * (frame["code"] == "a")
    score += (frame["region"] == "north") - 0.02 * frame["age"] + 0.5 * rng.normal(size=n)
    is_wrong = rng.random(n) < 0.03
    frame["label"] = np.where((score > 0) ^ is_wrong, "yes", "no")
    frame.to_csv(path, index=False)
    return "label"


def wide(path: Path, n: int = 1458) -> str:
    """Write 74 columns of numbers and 50 of wide categories, with ten classes, 5 % wrong."""
    import pandas as pd

    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(n, 8))
    columns: dict[str, Any] = {
        f"number {i}": (hidden @ rng.normal(size=8) + rng.normal(size=n)).round(3)
        for i in range(74)
    }
    for i in range(50):
        values = int(rng.integers(20, 180))
        place = (hidden @ rng.normal(size=8) * values / 6).astype(int) + rng.integers(0, 5, n)
        columns[f"category {i}"] = [f"value {it}" for it in place % values]
    truth = (hidden @ rng.normal(size=(8, 10)) + 0.3 * rng.normal(size=(n, 10))).argmax(axis=1)
    is_wrong = rng.random(n) < 0.05
    label = np.where(is_wrong, (truth + rng.integers(1, 10, n)) % 10, truth)
    columns["grade"] = [f"class {it}" for it in label]
    pd.DataFrame(columns).to_csv(path, index=False)
    return "grade"


GOALS = {
    "the example": Goal(robots, 5, 2000, jobs=1),  # so small that threads only wait for each other
    "1,000,000 x 20": Goal(million, 60, 2000),
    "1,458 x 124": Goal(wide, 30, 2000),
}


def audit(path: Path, target: str, out: Path, jobs: int) -> tuple[float, float]:
    """Return the seconds and megabytes of an audit from the command line."""
    command: list[Any] = [sys.executable, "-m", "sorr", "audit", path, "--target", target]
    command += ["--jobs", jobs, "--out", out]
    begin = time.perf_counter()
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    if status:
        raise RuntimeError(f"the audit of {path.name} failed")
    return seconds, usage.ru_maxrss / 1024


def peers(path: Path, target: str) -> tuple[float, float]:
    """Return the seconds of a pandas read, and of a fit of LogisticRegression to the rows."""
    import pandas as pd

    begin = time.perf_counter()
    frame = pd.read_csv(path)
    read = time.perf_counter() - begin
    y, X = frame.pop(target), frame
    is_number = make_column_selector(dtype_include="number")
    is_other = make_column_selector(dtype_exclude="number")
    columns = make_column_transformer(
        (StandardScaler(), is_number), (OneHotEncoder(handle_unknown="ignore"), is_other)
    )
    begin = time.perf_counter()
    make_pipeline(columns, LogisticRegression(max_iter=200)).fit(X, y)
    return read, time.perf_counter() - begin


def report(arguments: Sequence[str] = ()) -> Iterator[str]:
    """Yield the lines of a table."""
    parser = argparse.ArgumentParser("python -m benchmarks workbench", description=__doc__)
    parser.add_argument("--tables", nargs="+", choices=list(GOALS), default=list(GOALS))
    chosen = parser.parse_args(arguments)
    yield "| Table | Audit | To reach | Memory | pandas read | LogisticRegression fit |"
    yield "|---|---|---|---|---|---|"
    with TemporaryDirectory() as folder:
        for name in chosen.tables:
            goal, path = GOALS[name], Path(folder) / "table.csv"
            target = goal.make(path)
            out = Path(folder) / name.replace(" ", "-")
            seconds, memory = audit(path, target, out, goal.jobs)
            read, fit = peers(path, target)
            is_met = seconds <= goal.seconds and memory <= goal.megabytes
            yield (
                f"| {name} | {seconds:.1f} s | {goal.seconds:g} s{'' if is_met else ', missed'} | "
                f"{memory:,.0f} MB | {read:.2f} s | {fit:.1f} s |"
            )
