"""Rows of the benchmark on MNIST, as tables in Markdown and as targets met or missed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.rows import Row, format_spread
from sorr.experiments.published import MNIST

__all__ = ["board"]

TOPS = (1, 2, 3, 4, 5)
# Top-1 accuracy of the prototype by method and by the per cent of labels that are flipped.
PROTOTYPE = {
    "tkml": {20: 90.8, 30: 90.3, 40: 89.1},
    "trimmed, share estimated": {20: 91.7, 30: 91.1, 40: 89.6},
}
BELOW, SLOWER = 0.3, 1.5  # points below the prototype, times as long as softmax


def board(rows: Sequence[Row]) -> Iterator[str]:
    cells: dict[tuple[int, str], list[Row]] = defaultdict(list)
    for row in rows:
        cells[row["noise"], row["method"]].append(row)
    for noise in dict.fromkeys(row["noise"] for row in rows):
        yield from table(noise, {name: cells[noise, name] for n, name in cells if n == noise})
    for (noise, method), group in cells.items():
        if noise in PROTOTYPE.get(method, {}):
            yield from target(noise, method, group)


def table(noise: int, methods: dict[str, list[Row]]) -> Iterator[str]:
    n_seeds = max(map(len, methods.values()))
    yield f"### {noise} % flipped: accuracy, mean and standard deviation of {n_seeds} draws"
    yield ""
    yield (
        f"| | {' | '.join(f'top-{k}' for k in TOPS)} | time / softmax | seconds "
        "| dropped, of these wrong labels, of all wrong labels |"
    )
    yield "|---" * (len(TOPS) + 4) + "|"
    for method, printed in MNIST.get(noise, {}).items():
        cells = ("{:.2f} ({:.2f})".format(*pair) for pair in printed)
        yield f"| {method}, printed | {' | '.join(cells)} | | | |"
    for method, rows in methods.items():
        accuracy = 100 * np.array([row["accuracy"] for row in rows])
        cells = (format_spread(column) for column in accuracy.T)
        seconds = np.mean([row["seconds"] for row in rows])
        yield (
            f"| {method} | {' | '.join(cells)} | {time_ratio(rows):.2f} | {seconds:.1f} "
            f"| {format_drops(rows)} |"
        )
    yield ""


def time_ratio(rows: Sequence[Row]) -> float:
    """Return the time over that of softmax in the same run: all draws together."""
    return float(sum(row["seconds"] for row in rows) / sum(row["peer"] for row in rows))


def format_drops(rows: Sequence[Row]) -> str:
    fits = [row for row in rows if row["dropped"]]
    number = sum(sum(row["dropped"]["by_class"]) for row in fits)
    if not number:
        return "-"
    rightly = sum(row["dropped"]["rightly"] for row in fits)
    wrong = sum(sum(row["wrong"]) for row in fits)
    return (
        f"{number / len(fits):.0f}, {100 * rightly / number:.0f} %, {100 * rightly / wrong:.0f} %"
    )


def target(noise: int, method: str, rows: Sequence[Row]) -> Iterator[str]:
    reached = 100 * float(np.mean([row["accuracy"][0] for row in rows]))
    goal, ratio = PROTOTYPE[method][noise] - BELOW, time_ratio(rows)
    yield (
        f"- target: {method}, {noise} %: top-1 at least {goal:.1f}: "
        f"{'met' if reached >= goal else 'MISSED'}, {reached:.2f}; at most {SLOWER} times as long "
        f"as softmax: {'met' if ratio <= SLOWER else 'MISSED'}, {ratio:.2f}"
    )
