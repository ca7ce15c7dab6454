"""How long things take next to each other, on a machine that is never quiet."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np

__all__ = ["seconds"]


def seconds(
    contenders: Mapping[str, Callable[[], object]], *, rounds: int = 8, repeats: int = 12
) -> dict[str, float]:
    """Return the median over rounds of the best of several runs of each contender.

    The contenders take turns, so that a noisy minute hits all of them.
    """
    best: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            times = []
            for _ in range(repeats):
                start = time.perf_counter()
                run()
                times.append(time.perf_counter() - start)
            best[name].append(min(times))
    return {name: float(np.median(times)) for name, times in best.items()}
