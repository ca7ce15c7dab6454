"""Times of functions as ratios, measured in turns because machines are never quiet."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np

__all__ = ["Ratio", "ratios"]


class Ratio:
    """The time of a contender over that of its peer: for the best runs, and for each round."""

    def __init__(self, own: list[float], peer: list[float]) -> None:
        self.best = min(own) / min(peer)
        self.rounds = np.array(own) / np.array(peer)

    def __str__(self) -> str:
        low, middle, high = np.quantile(self.rounds, [0, 0.5, 1])
        return f"{self.best:5.2f}   ({low:.2f} - {middle:.2f} - {high:.2f})"


def ratios(
    peer: Callable[[], object],
    contenders: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 15,
    repeats: int = 10,
) -> tuple[float, dict[str, Ratio]]:
    """Return the best time of the peer, and how each contender compares.

    All take turns, so a noisy minute affects all of them. In each turn the best of several runs
    counts.
    """
    best = _turns(peer, contenders, rounds, repeats)
    return min(best[""]), {name: Ratio(best[name], best[""]) for name in contenders}


def _turns(
    peer: Callable[[], object],
    contenders: Mapping[str, Callable[[], object]],
    rounds: int,
    repeats: int,
) -> dict[str, list[float]]:
    everybody = {"": peer, **contenders}
    best: dict[str, list[float]] = {name: [] for name in everybody}
    for _ in range(rounds):
        for name, run in everybody.items():
            best[name].append(min(_seconds(run) for _ in range(repeats)))
    return best


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
