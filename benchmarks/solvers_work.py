"""The work of `benchmarks.solvers`: a process that does tasks, one line of JSON for each.

``python -m benchmarks.solvers_work`` reads lines ``[task, arguments]`` and answers with what it
measured. It uses the `sorr` that comes first on PYTHONPATH, so that two versions can work in
turns. Only names that both versions have are imported.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import sorr
from benchmarks.problems import (
    draw_clouds,
    draw_flipped,
    draw_sparse_flipped,
    draw_tiny,
    fresh_problems,
    make_leverage,
    make_monk_half,
)
from sorr.estimators import RankedRangeClassifier, RankedRangeRegressor
from sorr.objectives import RankedRangeObjective
from sorr.solvers import exhaustive, find_starts, solve_path, trim

__all__ = ["read_memory", "work"]

Answer = dict[str, Any]
Data = dict[str, Any]
TURN, REPEATS = 0.2, 20  # a turn repeats a task until so many seconds have passed, or so often

DRAWS: dict[str, Callable[..., Any]] = {
    "clouds": draw_clouds,
    "flipped": draw_flipped,
    "leverage": make_leverage,
    "monk": make_monk_half,
    "sparse": draw_sparse_flipped,
}


def load(data: Data) -> Any:
    return _load(json.dumps(data))


@lru_cache(maxsize=1)
def _load(data: str) -> Any:
    arguments = json.loads(data)
    kind = arguments.pop("kind")
    if kind == "line":  # the chapter on regression takes long to import
        from benchmarks.regression import LEVERAGE, SPEEDS, draw_line

        return draw_line(LEVERAGE, SPEEDS[arguments["size"]], arguments["seed"])
    return DRAWS[kind](**arguments)


def measure(run: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a function and its processor time, the best of one turn."""
    best, begin = np.inf, time.perf_counter()
    for _ in range(REPEATS):
        start = time.process_time()
        result = run()
        best = min(best, time.process_time() - start)
        if time.perf_counter() - begin > TURN:
            break
    return result, best


def answer(solution: Any, seconds: float) -> Answer:
    return {
        "seconds": seconds,
        "objective": float(solution.objective),
        "gap": float(solution.gap),
        "status": solution.status.name,
    }


def answer_of_model(model: Any, seconds: float) -> Answer:
    return {
        "seconds": seconds,
        "objective": float(model.objective_),
        "gap": float(model.gap_),
        "status": model.status_.name,
    }


# -- Single fits ---------------------------------------------------------------------------------


def run_trim(
    data: Data, loss: str, m: int, k: int, C: float, random_state: int = 0, **options: Any
) -> Answer:
    """Build an objective and minimise it."""
    X, y = load(data)[:2]
    run = partial(fit_once, X, y, loss, m, k, C, random_state=random_state, **options)
    return answer(*measure(run))


def fit_once(X: Any, y: Any, loss: str, m: int, k: int, C: float, **options: Any) -> Any:
    return trim(RankedRangeObjective(X, y, loss, m=m, k=k, C=C), **options)


def run_classifier(data: Data, **options: Any) -> Answer:
    X, y = load(data)[:2]
    model = RankedRangeClassifier(random_state=0, **options)
    return answer_of_model(*measure(lambda: model.fit(X, y)))


def run_regression(data: Data, C: float = 1.0) -> Answer:
    """Fit the peer, scikit-learn's `LogisticRegression`."""
    X, y = load(data)[:2]
    _, seconds = measure(lambda: LogisticRegression(C=C).fit(X, y))
    return {"seconds": seconds}


def run_cvxpy(data: Data, loss: str, k: int, C: float) -> Answer:
    """Solve a convex problem that is built already."""
    problem = build_problem(json.dumps(data), loss, k, C)
    _, seconds = measure(lambda: problem.solve(solver="CLARABEL"))
    return {"seconds": seconds, "objective": float(problem.value), "gap": np.inf}


@lru_cache(maxsize=1)
def build_problem(data: str, loss: str, k: int, C: float) -> Any:
    """Build a problem and solve it once: later solutions need not translate it again."""
    import cvxpy as cp

    X, y = _load(data)
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    margin = cp.multiply(y, X @ w + b)
    losses = cp.logistic(-margin) if loss == "logistic" else cp.pos(1 - margin)
    problem = cp.Problem(cp.Minimize(cp.sum_largest(losses, k) / k + cp.sum_squares(w) / (2 * C)))
    problem.solve(solver="CLARABEL")
    return problem


def run_robust_line(data: Data) -> Answer:
    """Fit a robust line; its error is relative to least squares on the clean rows."""
    line = load(data)
    model, seconds = measure(lambda: RankedRangeRegressor(random_state=0).fit(line.X, line.y))
    return {**answer_of_model(model, seconds), "error": line.distance(model.coef_) / line.limit}


def run_leverage(data: Data, C: float) -> Answer:
    """Fit to rows with leverage points: accuracy, and the share of these points that is dropped."""
    X, y, X_test, y_test, moved = load(data)
    run = partial(fit_once, X, y, "logistic", len(moved), len(y), C, random_state=0)
    solution, seconds = measure(run)
    correct = np.sign(X_test @ solution.coef + solution.intercept) == y_test
    return {
        **answer(solution, seconds),
        "accuracy": float(correct.mean()),
        "recall": float((solution.row_weights[moved] == 0).mean()),
    }


def score_regression(data: Data, C: float) -> Answer:
    """Return the accuracy of the peer on all rows, and on those that were not moved."""
    X, y, X_test, y_test, moved = load(data)
    scores = {}
    for name, rows in (("all", slice(None)), ("clean", np.delete(np.arange(len(y)), moved))):
        peer = LogisticRegression(C=C, max_iter=1000).fit(X[rows], y[rows])
        scores[name] = float(peer.score(X_test, y_test))
    return scores


# -- Minima --------------------------------------------------------------------------------------


def run_fresh(seed: int, number: int) -> Answer:
    """Solve one of the fresh problems by default options."""
    name, arguments = list_fresh(seed)[number]
    solution, seconds = measure(lambda: trim(RankedRangeObjective(**arguments), random_state=0))
    return {**answer(solution, seconds), "name": name, "loss": arguments["loss"]}


@cache
def list_fresh(seed: int) -> list[tuple[str, dict[str, Any]]]:
    return list(fresh_problems(seed))


def run_tiny(seed: int) -> Answer:
    """Compare the default with enumeration, both with a gap of their own."""
    objective = RankedRangeObjective(**draw_tiny(seed))
    referee = exhaustive(objective, tol=1e-5)
    solution, seconds = measure(lambda: trim(objective, random_state=seed))
    lowest = float(referee.objective)
    return {
        **answer(solution, seconds),
        "reached": bool(solution.objective <= lowest * (1 + 1e-4) + 1e-9),
        "below": bool(solution.objective < lowest * (1 - referee.gap) - 1e-9),
    }


def run_starts(data: Data, loss: str, m: int, k: int, C: float, starts: int) -> Answer:
    """Return the lowest of the minima that many starts lead to."""
    X, y = load(data)
    objective = RankedRangeObjective(X, y, loss, m=m, k=k, C=C)
    minima: list[float] = []
    for search in range(1000, 1000 + starts):  # one search keeps only starts that differ
        found = find_starts(objective, n_starts=500, keep=starts, random_state=search)
        minima += [trim(objective, start=start).objective for start in found]
        if len(minima) >= starts:
            break
    return {"objective": float(min(minima)), "starts": len(minima)}


def run_grid(data: Data, checked: int) -> Answer:
    """Solve a grid, and compare some of its cells with a search of their own."""
    X, y = load(data)
    n = len(y)
    max_m = min(np.sum(y > 0), np.sum(y < 0)) - 1  # so that no class fits inside m
    problems = [
        (int(m), int(k), float(C))
        for C in 10.0 ** np.arange(6)
        for k in [25, *np.round(n * np.arange(1, 11) / 10)]
        for m in np.linspace(0, min(k - 1, max_m), 20)
    ]
    begin = time.process_time()
    path = solve_path(RankedRangeObjective(X, y), problems, random_state=0)
    seconds = time.process_time() - begin
    near = 0
    for i in np.random.default_rng(0).choice(len(path.objective), checked, replace=False):
        single = RankedRangeObjective(X, y, m=int(path.m[i]), k=int(path.k[i]), C=path.C[i])
        own = trim(single, certify=False, random_state=int(i)).objective
        near += bool(path.objective[i] <= 1.01 * own)
    return {"seconds": seconds, "cells": len(path.objective), "near": near / checked}


# -- Memory and files ----------------------------------------------------------------------------


def run_memory(data: Data, who: str, **options: Any) -> Answer:
    """Return the growth of resident memory during a fit, and the size of X, in bytes.

    Ask a new process: memory that another task has freed may be used again unseen.
    """
    X, y = load(data)[:2]
    estimators = {"ours": RankedRangeClassifier, "peer": LogisticRegression}
    model = estimators[who](random_state=0, **options)
    model.fit(X[:3000], y[:3000])  # imports whatever is imported late
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    before = read_memory("VmRSS")
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    model.fit(X, y)
    parts = [X] if isinstance(X, np.ndarray) else [X.data, X.indices, X.indptr]
    return {
        "growth": read_memory("VmHWM") - before,
        "size": sum(part.nbytes for part in parts),
    }


def read_memory(name: str) -> float:
    """Return a line of the status of this process in bytes; NaN if not on Linux."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    kilobytes = (line.split()[1] for line in lines if line.startswith(f"{name}:"))
    return 1024 * float(next(kilobytes, np.nan))


def list_files(data: Data, **options: Any) -> Answer:
    """Return the files of the library whose functions run during a fit."""
    X, y = load(data)
    model = RankedRangeClassifier(random_state=0, **options)
    model.fit(X, y)  # imports whatever is imported late, so that only functions count
    folder = Path(sorr.__file__).parent
    with collect_files() as seen:
        model.fit(X, y)
    paths = (Path(name) for name in seen)
    return {"files": sorted(str(p.relative_to(folder)) for p in paths if folder in p.parents)}


@contextmanager
def collect_files() -> Iterator[set[str]]:
    """Collect the files of all functions that are called, in all threads."""
    seen: set[str] = set()

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            seen.add(frame.f_code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield seen
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


# -- The process ---------------------------------------------------------------------------------


def find_source() -> Answer:
    """Say which library works here, and warm it up."""
    X, y = draw_flipped(200, 3)
    for loss in ("logistic", "hinge"):
        RankedRangeClassifier(m=0.1, loss=loss, random_state=0).fit(X, y)
    LogisticRegression().fit(X, y)
    return {"source": str(Path(sorr.__file__).parents[1])}


TASKS: dict[str, Callable[..., Answer]] = {
    "classifier": run_classifier,
    "cvxpy": run_cvxpy,
    "files": list_files,
    "fresh": run_fresh,
    "grid": run_grid,
    "leverage": run_leverage,
    "memory": run_memory,
    "regression": run_regression,
    "robust line": run_robust_line,
    "score": score_regression,
    "source": find_source,
    "starts": run_starts,
    "tiny": run_tiny,
    "trim": run_trim,
}


def work() -> None:
    """Do tasks until there are no more lines."""
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        for line in sys.stdin:
            task, arguments = json.loads(line)
            try:
                result = TASKS[task](**arguments)
            except Exception as error:  # whoever asked is told
                result = {"failed": f"{type(error).__name__}: {error}"}
            print(json.dumps(result), flush=True)


if __name__ == "__main__":
    work()
