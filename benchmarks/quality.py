"""How well wrong labels are seen through: accuracy, share, suspects and time, against peers.

`python -m benchmarks quality --help` lists what can be left out. With ``--rows FILE`` every fit is
kept as a line of JSON, and those that are there already are not run again.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits

from benchmarks.contenders import CONTENDERS, Contender, Problem
from benchmarks.noise import NOISES, spoil
from benchmarks.rows import Row, keep, read, tell
from benchmarks.scoreboard import scoreboard
from benchmarks.tables import TABLES, Table
from sorr.experiments import seed_of

__all__ = ["report"]

ROUNDS = 3
QUICK = 0.3  # seconds: where nobody takes longer, all are repeated, since single runs say little


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks quality", description=__doc__)
    parser.add_argument("--data", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--noise", nargs="+", choices=NOISES, default=list(NOISES))
    parser.add_argument("--methods", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    parser.add_argument("--seeds", type=int, default=5, help="how many splits (default: 5)")
    parser.add_argument("--first", type=int, default=1, help="the first of them: 6 for fresh ones")
    parser.add_argument("--rows", type=Path, help="file that keeps every fit, and is resumed from")
    parser.add_argument("--draw", action="store_true", help="fit nothing: draw what is in --rows")
    return parser.parse_args(arguments)


def report(arguments: Sequence[str] = ()) -> Iterator[str]:
    chosen = options(arguments)
    rows = {key(row): row for row in read(chosen.rows)}
    if not chosen.draw:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for row in sweep(chosen, set(rows)):
                rows[key(row)] = row
                keep(chosen.rows, row)
    yield from scoreboard(
        rows[data, noise, seed, method]
        for data in chosen.data
        for noise in chosen.noise
        for seed in seeds(chosen)
        for method in chosen.methods
        if (data, noise, seed, method) in rows
    )


def seeds(chosen: argparse.Namespace) -> range:
    return range(chosen.first, chosen.first + chosen.seeds)


def key(row: Row) -> tuple[str, str, int, str]:
    return row["data"], row["noise"], row["seed"], row["method"]


def sweep(chosen: argparse.Namespace, done: set[tuple[str, str, int, str]]) -> Iterator[Row]:
    """Fit what is not there yet; say what is being done."""
    methods = [method for method in CONTENDERS if method in chosen.methods]
    if "cleanlab" in methods:
        try:
            import cleanlab.classification  # noqa: F401  (here, so that no fit pays for it)
        except ImportError as error:
            tell(f"cleanlab is left out: {error}")
            methods.remove("cleanlab")
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
                table = TABLES[data](seed)
            except FileNotFoundError as error:
                tell(f"{data} is left out: {error}")
                break
            for noise in missing:  # all methods once more, so that times are of the same minute
                begin = time.perf_counter()
                yield from compare(data, noise, seed, table, methods)
                tell(f"{data} {noise} {seed}: {time.perf_counter() - begin:.1f} s")


def compare(data: str, noise: str, seed: int, table: Table, names: Iterable[str]) -> Iterator[Row]:
    """Fit everybody to the same rows, in turns."""
    number = seed_of(data, noise, seed)
    spoiled = spoil(table.X, table.y, NOISES[noise], table.pair, np.random.default_rng(number))
    problem = Problem(*spoiled, X_clean=table.X, y_clean=table.y, seed=number)
    models: dict[str, Any] = {}
    times: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(ROUNDS):
        if turn and max(max(taken) for taken in times.values()) > QUICK:
            break
        for name in list(times)[:: 1 if (turn + seed) % 2 else -1]:
            begin = time.process_time()  # one thread: what others do meanwhile does not count
            models[name] = CONTENDERS[name].fit(problem)
            times[name].append(time.process_time() - begin)
    for name, model in models.items():
        yield {
            "data": data,
            "noise": noise,
            "seed": seed,
            "method": name,
            "seconds": min(times[name]),
            "accuracy": float(np.mean(model.predict(table.X_test) == table.y_test)),
            "rows": problem.per_class(np.ones_like(problem.wrong)),
            "wrong": problem.per_class(problem.wrong),
            **what_it_found(CONTENDERS[name], model, problem),
        }


def what_it_found(contender: Contender, model: Any, problem: Problem) -> dict[str, Any]:
    found = contender.details(model, problem) if contender.details else {}
    if contender.suspicion and problem.wrong.any():
        suspicion = contender.suspicion(model, problem)
        found["precision"] = float(average_precision_score(problem.wrong, suspicion))
    return found
