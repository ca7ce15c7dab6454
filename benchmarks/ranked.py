"""Time and memory of the ranked-range functions, against `np.sort` of the same array."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.timing import ratios
from sorr.ranked import average_ranked_range, kth_largest, ranked_range_weights

__all__ = ["report"]

TARGETS = {"average_ranked_range": 0.2, "ranked_range_weights": 0.5}


def rows(n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    exponential = rng.exponential(size=n)
    return {
        "distinct losses": exponential,
        "hinge losses, half zero": np.maximum(0.0, 1.0 - rng.normal(1.0, 1.0, size=n)),
        "distinct losses, float32": exponential.astype(np.float32),
    }


def two_partitions(values: np.ndarray, m: int, k: int) -> float:
    """Average a ranked range the plain way, in NumPy."""
    top = np.partition(values, len(values) - k)[len(values) - k :]
    top.partition(k - m - 1)
    return float(top[: k - m].mean())


def contenders(values: np.ndarray, m: int, k: int) -> dict[str, Callable[[], object]]:
    weight = np.random.default_rng(1).uniform(size=len(values))
    return {
        "average_ranked_range": partial(average_ranked_range, values, m, k),
        "ranked_range_weights": partial(ranked_range_weights, values, m, k),
        "kth_largest": partial(kth_largest, values, k),
        "average_ranked_range, weighted": partial(
            average_ranked_range, values, 0.1, 0.9, sample_weight=weight
        ),
        "ranked_range_weights, weighted": partial(
            ranked_range_weights, values, 0.1, 0.9, sample_weight=weight
        ),
        "NumPy: partition twice, mean": partial(two_partitions, values, m, k),
        "NumPy: argsort": partial(np.argsort, values),
    }


def speed(n: int = 1_000_000) -> list[str]:
    m, k = n // 10, 9 * n // 10
    protocols = {
        "ten runs in a row, the best counts; 15 rounds": {"rounds": 15, "repeats": 10},
        "one run at a time, in turns, so that caches are cold; 60 rounds": {
            "rounds": 60,
            "repeats": 1,
        },
    }
    lines = [f"n = {n:,}, m = 0.1 n, k = 0.9 n; time as a share of np.sort's"]
    for protocol, settings in protocols.items():
        lines += ["", f"{protocol}: best (lowest - median - highest round)"]
        for name, values in rows(n).items():
            seconds, shares = ratios(partial(np.sort, values), contenders(values, m, k), **settings)
            lines += ["", f"{name} (np.sort {1e3 * seconds:.1f} ms)"]
            for contender, share in shares.items():
                target = TARGETS.get(contender) if name == "distinct losses" else None
                note = "" if target is None else f"   target: at most {target}"
                lines.append(f"  {contender:32s} {share}{note}")
    return [*lines, ""]


def memory(n: int = 10_000_000) -> list[str]:
    lines = [f"n = {n:,}; peak extra memory, in arrays of that size (target: at most 3)", ""]
    weight = np.random.default_rng(1).uniform(size=n)
    for name, values in rows(n).items():
        for function in (average_ranked_range, ranked_range_weights):
            for label, mass in (("", None), (", weighted", weight)):
                tracemalloc.start()
                function(values, 0.1, 0.9, sample_weight=mass)
                peak = tracemalloc.get_traced_memory()[1] / values.nbytes
                tracemalloc.stop()
                lines.append(f"  {name:26s} {function.__name__ + label:32s} {peak:5.2f}")
    return lines


def report() -> list[str]:
    return [*speed(), *memory()]
