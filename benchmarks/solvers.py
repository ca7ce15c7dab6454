"""The solvers against scikit-learn, cvxpy and the paper's algorithm, in one run on one thread."""

from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks.problems import (
    draw_clouds,
    draw_flipped,
    draw_sparse_flipped,
    make_leverage,
    make_monk_half,
)
from benchmarks.timing import Ratio, turns
from sorr.objectives import RankedRangeObjective
from sorr.solvers import Solution, dca, find_starts, solve_path, topsum, trim

__all__ = ["report"]

C = 1e4


class Row(NamedTuple):
    """A line of the table."""

    what: str
    measured: str
    quality: str
    target: str

    def __str__(self) -> str:
        return f"{self.what:58s} {self.measured:32s} {self.quality:40s} {self.target}"


def fit(X: Any, y: Any, loss: str, m: int, k: int, **options: Any) -> Solution:
    return trim(RankedRangeObjective(X, y, loss, m=m, k=k, C=C), random_state=0, **options)


def compare_with_regression(
    X: Any, y: Any, loss: str, m: int, k: int, contenders: dict[str, dict[str, Any]], rounds: int
) -> tuple[dict[str, Ratio], dict[str, Solution]]:
    """Time solvers and `LogisticRegression` in turns."""
    solutions: dict[str, Solution] = {}

    def run(name: str) -> None:
        solutions[name] = fit(X, y, loss, m, k, **contenders[name])

    peer = partial(LogisticRegression(C=C / (k - m)).fit, X, y)
    ratios = turns(peer, {name: partial(run, name) for name in contenders}, rounds)
    return ratios, solutions


def tall() -> Iterator[Row]:
    fast = {"n_starts": 1, "certify": False}
    contenders = {"fast": fast, "certified": {"n_starts": 1}, "default": {}}
    targets = {"fast": "<= 0.8", "certified": "<= 2.5", "default": "<= 3.5"}
    names = {
        "fast": "one start, not certified",
        "certified": "one start, certified",
        "default": "default: many starts, certified",
    }
    for n in (200_000, 1_000_000):
        X, y = draw_flipped(n, 20)
        for k in (n, n // 2):
            ratios, solutions = compare_with_regression(X, y, "logistic", n // 10, k, contenders, 5)
            best = min(solution.objective for solution in solutions.values())
            for key, ratio in ratios.items():
                yield Row(
                    f"logistic {n:,} x 20, k = n/{n // k}, {names[key]}",
                    str(ratio),
                    quality(solutions[key], best),
                    f"{targets[key]} x LR",
                )


def quality(solution: Solution, best: float) -> str:
    gap = "" if np.isinf(solution.gap) else f", gap {solution.gap:.0e}"
    return f"{solution.objective / best - 1:.0e} above the best{gap}"


def wide() -> Iterator[Row]:
    X, y = draw_flipped(20_000, 200)
    n = len(y)
    for k, target in ((n, "<= 2.5"), (n // 2, "<= 4")):
        options = {"default": {"certify": False}}
        ratios, solutions = compare_with_regression(X, y, "logistic", n // 10, k, options, 7)
        others = [
            trim(
                RankedRangeObjective(X, y, m=n // 10, k=k, C=C),
                start=0.1 * np.random.default_rng(seed).standard_normal(201),
            ).objective
            for seed in range(10)
        ]
        best = min(
            *others, solutions["default"].objective, fit(X, y, "logistic", n // 10, k).objective
        )
        yield Row(
            f"logistic 20,000 x 200, k = n/{n // k}, default, not certified",
            str(ratios["default"]),
            quality(solutions["default"], best),
            f"{target} x LR, 1e-3 above",
        )


def correlated() -> Iterator[Row]:
    X, y = draw_flipped(200_000, 20, condition=100)
    n = len(y)
    for k in (n, n // 2):
        options = {"certified": {"n_starts": 1}}
        ratios, solutions = compare_with_regression(X, y, "logistic", n // 10, k, options, 5)
        yield Row(
            f"condition 100: 200,000 x 20, k = n/{n // k}, certified",
            str(ratios["certified"]),
            f"gap {solutions['certified'].gap:.0e}",
            "<= 0.3 x LR",
        )


def hinge() -> Iterator[Row]:
    for n, d, target in ((200_000, 20, "<= 5"), (20_000, 200, "<= 15")):
        X, y = draw_flipped(n, d)
        for k in (n, n // 2):
            options: dict[str, dict[str, Any]] = {"one start": {"n_starts": 1}, "default": {}}
            ratios, solutions = compare_with_regression(X, y, "hinge", n // 10, k, options, 3)
            best = min(solution.objective for solution in solutions.values())
            for name, solution in solutions.items():
                yield Row(
                    f"hinge {n:,} x {d}, k = n/{n // k}, {name}, certified",
                    str(ratios[name]),
                    quality(solution, best),
                    f"{target} x LR",
                )


def convex() -> Iterator[Row]:
    try:
        import cvxpy as cp
    except ImportError:
        yield Row("convex problems against cvxpy", "cvxpy is not installed", "", "")
        return
    X, y = draw_flipped(5000, 50)
    for loss in ("logistic", "hinge"):
        for share in (0.2, 0.5, 0.8):
            k = int(share * len(y))
            w, b = cp.Variable(50), cp.Variable()
            margin = cp.multiply(y, X @ w + b)
            losses = cp.logistic(-margin) if loss == "logistic" else cp.pos(1 - margin)
            problem = cp.Problem(
                cp.Minimize(cp.sum_largest(losses, k) / k + cp.sum_squares(w) / (2 * C))
            )
            begin = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                problem.solve(solver="CLARABEL")
            peer = time.perf_counter() - begin
            objective = RankedRangeObjective(X, y, loss, k=k, C=C)
            times = []
            for _ in range(5):
                begin = time.perf_counter()
                solution = topsum(objective)
                times.append(time.perf_counter() - begin)
            yield Row(
                f"convex {loss} 5,000 x 50, m = 0, k = {share} n",
                f"{peer / min(times):.0f} times as fast as CLARABEL",
                f"gap {solution.gap:.0e}, difference {solution.objective / problem.value - 1:.0e}",
                ">= 100 times",
            )


def monk(splits: int = 3, repeats: int = 4) -> Iterator[Row]:
    cases = [("logistic", 20), ("logistic", 30), ("hinge", 20), ("hinge", 45)]
    for loss, m in cases:
        near, lower, single = 0, 0, 0
        times: dict[str, list[float]] = {"default": [], "one": [], "dca": []}
        for split in range(splits):
            X, y = make_monk_half(split)
            objective = RankedRangeObjective(X, y, loss, m=m, k=70, C=C)
            starts = find_starts(objective, n_starts=500, keep=40, random_state=1000 + split)
            best = min(trim(objective, start=start).objective for start in starts)
            for seed in range(repeats):
                steps = 2000 if loss == "logistic" else 1000
                paper: dict[str, Any] = {
                    "outer_steps": 5,
                    "inner_steps": steps,
                    "step_size": 0.01,
                    "tol": 0,
                }
                begin = time.perf_counter()
                ours = trim(objective, random_state=seed).objective
                times["default"].append(time.perf_counter() - begin)
                begin = time.perf_counter()
                one = trim(objective, n_starts=1, random_state=seed).objective
                times["one"].append(time.perf_counter() - begin)
                begin = time.perf_counter()
                theirs = dca(objective, random_state=seed, **paper).objective
                times["dca"].append(time.perf_counter() - begin)
                near += ours <= 1.01 * best
                lower += ours <= theirs * (1 + 1e-9)
                single += one <= theirs * (1 + 1e-9)
        runs = splits * repeats
        default, once, peer = (float(np.median(times[name])) for name in ("default", "one", "dca"))
        yield Row(
            f"Monk halves, {loss}, k = 70, m = {m}: default",
            f"{default:.2f} s, dca {peer / default:.1f} times that",
            f"{near}/{runs} within 1 % of 500 starts, {lower}/{runs} <= dca",
            "100 %, 20 times, all",
        )
        yield Row(
            f"Monk halves, {loss}, k = 70, m = {m}: one start",
            f"{once:.3f} s, dca {peer / once:.1f} times that",
            f"{single}/{runs} <= dca",
            "",
        )


def grid(checked: int = 40) -> Iterator[Row]:
    for name, data, target in (
        ("216 x 6", make_monk_half(3), 5),
        ("2700 x 5", draw_clouds(2700, 5), 15),
    ):
        X, y = data
        n = len(y)
        objective = RankedRangeObjective(X, y)
        max_m = min(np.sum(y > 0), np.sum(y < 0)) - 1  # so that no class fits inside m
        problems = [
            (int(m), int(k), float(ridge))
            for ridge in 10.0 ** np.arange(6)
            for k in [25, *np.round(n * np.arange(1, 11) / 10)]
            for m in np.linspace(0, min(k - 1, max_m), 20)
        ]
        begin = time.perf_counter()
        path = solve_path(objective, problems, random_state=0)
        took = time.perf_counter() - begin
        rng = np.random.default_rng(0)
        near, cells = 0, rng.choice(len(path.objective), checked, replace=False)
        for i in cells:
            single = RankedRangeObjective(X, y, m=int(path.m[i]), k=int(path.k[i]), C=path.C[i])
            independent = trim(single, certify=False, random_state=int(i)).objective
            near += path.objective[i] <= 1.01 * independent
        yield Row(
            f"grid of {len(path.objective)} cells, {name}",
            f"{took:.1f} s",
            f"{100 * near / checked:.0f} % within 1 % of a search of their own",
            f"<= {target} s, >= 95 %",
        )


def growth() -> Iterator[Row]:
    sizes, times = [10_000, 100_000, 1_000_000], []
    for n in sizes:
        X, y = draw_flipped(n, 20)
        best = np.inf
        for _ in range(3):
            begin = time.perf_counter()
            fit(X, y, "logistic", n // 10, n)
            best = min(best, time.perf_counter() - begin)
        times.append(best)
    exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    took = ", ".join(f"{t:.2f}" for t in times)
    yield Row(
        "growth, n = 1e4, 1e5, 1e6, d = 20, default",
        f"{took} s",
        f"exponent {exponent:.2f}",
        "<= 1.1",
    )


def far_out() -> Iterator[Row]:
    X, y, X_test, y_test, moved = make_leverage()
    m, n = len(moved), len(y)
    ratios, solutions = compare_with_regression(X, y, "logistic", m, n, {"default": {}}, 5)
    solution = solutions["default"]
    accuracy = np.mean(np.sign(X_test @ solution.coef + solution.intercept) == y_test)
    recall = np.mean(solution.row_weights[moved] == 0)
    plain = LogisticRegression(C=C / n).fit(X, y).score(X_test, y_test)
    yield Row(
        "leverage outliers, 15,000 x 50, default",
        str(ratios["default"]),
        f"accuracy {100 * accuracy:.1f} % (LR {100 * plain:.1f} %), recall {recall:.2f}",
        "88.2 %, 1, 1 to 5 x LR",
    )


def sparse() -> Iterator[Row]:
    X, y = draw_sparse_flipped(200_000, 100_000, 50)
    n = len(y)
    ratios, solutions = compare_with_regression(X, y, "logistic", n // 10, n, {"default": {}}, 2)
    peaks = [
        peak_memory(lambda: LogisticRegression(C=C / (0.9 * n)).fit(X, y)),
        peak_memory(lambda: fit(X, y, "logistic", n // 10, n)),
    ]
    yield Row(
        "CSR 200,000 x 100,000, 50 entries a row, default",
        str(ratios["default"]),
        f"gap {solutions['default'].gap:.0e}, {peaks[1] / peaks[0]:.1f} times its memory",
        "<= 3 x LR, <= 2 times",
    )


def peak_memory(run: Callable[[], object]) -> float:
    tracemalloc.start()
    run()
    reached = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return float(reached)


def report() -> Iterator[str]:
    yield "solvers, one thread; times as a share of LogisticRegression's (LR), by the best runs,"
    yield "and in brackets the lowest, median and highest round"
    yield ""
    with threadpool_limits(1):
        for part in (
            tall,
            wide,
            correlated,
            hinge,
            convex,
            monk,
            grid,
            growth,
            far_out,
            sparse,
        ):
            for row in part():
                yield str(row)
