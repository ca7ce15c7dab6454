"""Fits to tables with wrong labels: accuracy, share, suspects and time, against peers.

`python -m benchmarks quality --help` lists what can be left out. With ``--rows FILE`` every fit is
kept as a line of JSON; fits that are in the file already are not run again.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits

from benchmarks.contenders import CONTENDERS, Contender, Problem
from benchmarks.noise import NOISES, Noise, spoil
from benchmarks.rows import Row, append_row, print_progress, read_rows
from benchmarks.scoreboard import scoreboard
from benchmarks.tables import TABLES, Table
from sorr.experiments import seed_of

__all__ = ["report"]

ROUNDS = 3
QUICK = 0.3  # seconds: if nobody takes longer, all runs are repeated, since one says little


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = make_parser("quality", __doc__, TABLES, list(TABLES), NOISES)
    parser.add_argument("--methods", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    return parser.parse_args(arguments)


def make_parser(
    name: str, text: str | None, tables: Iterable[str], usual: list[str], noises: Iterable[str]
) -> argparse.ArgumentParser:
    """Return the options that all benchmarks on spoilt tables share."""
    parser = argparse.ArgumentParser(f"python -m benchmarks {name}", description=text)
    parser.add_argument("--data", nargs="+", choices=list(tables), default=usual)
    parser.add_argument("--noise", nargs="+", choices=list(noises), default=list(noises))
    parser.add_argument("--seeds", type=int, default=5, help="number of splits (default: 5)")
    parser.add_argument("--first", type=int, default=1, help="first split; 6 for fresh ones")
    parser.add_argument("--rows", type=Path, help="file of all rows; a new run continues it")
    parser.add_argument("--draw", action="store_true", help="fit nothing; draw what is in --rows")
    return parser


def report(arguments: Sequence[str] = ()) -> Iterator[str]:
    chosen = options(arguments)
    methods = [method for method in CONTENDERS if method in chosen.methods]
    yield from scoreboard(collect_rows(chosen, methods, TABLES, compare))


def collect_rows(
    chosen: argparse.Namespace,
    methods: list[str],
    tables: Mapping[str, Callable[[int], Table]],
    compare: Callable[[str, str, int, Table, list[str]], Iterator[Row]],
) -> Iterator[Row]:
    """Yield the chosen rows: measured now, or read from the file."""
    rows = {row_key(row): row for row in read_rows(chosen.rows)}
    if not chosen.draw:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for row in sweep(chosen, set(rows), select_runnable(methods), tables, compare):
                rows[row_key(row)] = row
                append_row(chosen.rows, row)
    for wanted in product(chosen.data, chosen.noise, seeds(chosen), methods):
        if wanted in rows:
            yield rows[wanted]


def select_runnable(methods: list[str]) -> list[str]:
    """Return the methods that can be run here."""
    if any(name.startswith("cleanlab") for name in methods):
        try:
            import cleanlab.classification  # noqa: F401  (now, so that no timed fit has to import it)
        except ImportError as error:
            print_progress(f"cleanlab is left out: {error}")
            return [name for name in methods if not name.startswith("cleanlab")]
    return methods


def seeds(chosen: argparse.Namespace) -> range:
    return range(chosen.first, chosen.first + chosen.seeds)


def row_key(row: Row) -> tuple[str, str, int, str]:
    return row["data"], row["noise"], row["seed"], row["method"]


def sweep(
    chosen: argparse.Namespace,
    done: set[tuple[str, str, int, str]],
    methods: list[str],
    tables: Mapping[str, Callable[[int], Table]],
    compare: Callable[[str, str, int, Table, list[str]], Iterator[Row]],
) -> Iterator[Row]:
    """Fit what is missing, and print progress."""
    for data in chosen.data:
        for seed in seeds(chosen):
            missing = [
                noise
                for noise in chosen.noise
                if any((data, noise, seed, method) not in done for method in methods)
            ]
            if not missing:
                continue
            try:
                table = tables[data](seed)
            except FileNotFoundError as error:
                print_progress(f"{data} is left out: {error}")
                break
            for noise in missing:  # all methods once more, so that times are of the same minute
                begin = time.perf_counter()
                yield from compare(data, noise, seed, table, methods)
                print_progress(f"{data} {noise} {seed}: {time.perf_counter() - begin:.1f} s")


def compare(data: str, noise: str, seed: int, table: Table, names: list[str]) -> Iterator[Row]:
    """Fit all contenders to the same rows, in turns."""
    problem = spoil_table(data, noise, seed, table, NOISES[noise])
    models, times = run_in_turns(names, seed, lambda name: CONTENDERS[name].fit(problem))
    for name, model in models.items():
        yield {
            "data": data,
            "noise": noise,
            "seed": seed,
            "method": name,
            "seconds": times[name],
            "accuracy": float(np.mean(model.predict(table.X_test) == table.y_test)),
            "rows": problem.per_class(np.ones_like(problem.wrong)),
            "wrong": problem.per_class(problem.wrong),
            **describe_suspects(CONTENDERS[name], model, problem),
        }


def spoil_table(data: str, noise: str, seed: int, table: Table, how: Noise) -> Problem:
    """Return the rows of a table, some of them spoilt."""
    number = seed_of(data, noise, seed)
    rows = spoil(table.X, table.y, how, table.pair, np.random.default_rng(number))
    return Problem(*rows, X_clean=table.X, y_clean=table.y, seed=number)


def run_in_turns(
    names: list[str], seed: int, work: Callable[[str], Any]
) -> tuple[dict[str, Any], dict[str, float]]:
    """Return the answer of each contender, and its shortest time."""
    answers: dict[str, Any] = {}
    times: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(ROUNDS):
        if turn and max(max(taken) for taken in times.values()) > QUICK:
            break
        for name in names[:: 1 if (turn + seed) % 2 else -1]:
            begin = time.process_time()  # one thread, so other processes do not count
            answers[name] = work(name)
            times[name].append(time.process_time() - begin)
    return answers, {name: min(taken) for name, taken in times.items()}


def describe_suspects(contender: Contender, model: Any, problem: Problem) -> dict[str, Any]:
    details = contender.details(model, problem) if contender.details else {}
    if contender.suspicion and problem.wrong.any():
        suspicion = contender.suspicion(model, problem)
        details["precision"] = float(average_precision_score(problem.wrong, suspicion))
    return details
