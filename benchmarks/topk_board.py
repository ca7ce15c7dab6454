"""Rows of the benchmark of label sets, as tables in Markdown and as targets met or missed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.rows import Row, format_spread
from sorr.experiments.paper.label_sets import PEER, SUM
from sorr.experiments.published import AVERAGE_PRECISION, MULTILABEL, Printed

__all__ = ["board"]

SETS = "label sets"
ENOUGH, BELOW = 12 / 15, 0.3  # share of cells that should be at least the peer's; points below it
AHEAD, CELLS_AHEAD = 2.0, (("yeast", 4), ("yeast", 5))


class Results:
    """Measured rows, in per cent, by table, method, k and split."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows: dict[tuple[str, str, int], dict[int, Row]] = defaultdict(dict)
        for row in rows:
            self.rows[row["data"], row["method"], row["k"]][row["split"]] = row
        self.data = list(dict.fromkeys(row["data"] for row in rows))
        self.methods = list(dict.fromkeys(row["method"] for row in rows))
        self.ks = sorted({row["k"] for row in rows})

    def values(self, data: str, method: str, k: int, what: str) -> list[float]:
        return [100 * row[what] for row in self.rows.get((data, method, k), {}).values()]

    def lead(self, data: str, method: str, k: int, what: str) -> list[float]:
        """Return how far a method is above the peer, split by split."""
        ours, peer = (self.rows.get((data, name, k), {}) for name in (method, PEER))
        return [100 * (ours[i][what] - peer[i][what]) for i in sorted(ours.keys() & peer.keys())]

    def leads(self, method: str) -> list[tuple[float, str, list[float]]]:
        """Return the mean lead, the name of the cell and the leads of every cell, worst first."""
        cells = [(data, k, self.lead(data, method, k, "accuracy")) for data, k in self.cells()]
        return sorted((mean(lead), f"{data} k={k}", lead) for data, k, lead in cells if lead)

    def cells(self) -> list[tuple[str, int]]:
        return [(data, k) for data in self.data for k in self.ks]

    def time_ratios(self, data: str, method: str) -> list[float]:
        """Return the time of the path over the peer's in the same run: all splits together."""
        groups = (self.rows.get((data, method, k), {}).values() for k in self.ks)
        pairs = [[(row["seconds"], row["peer"]) for row in rows] for rows in groups if rows]
        return [float(np.divide(*np.sum(pair, axis=0))) for pair in pairs]


def board(rows: Sequence[Row]) -> Iterator[str]:
    results = Results(rows)
    for data in results.data:
        yield from accuracies(results, data)
        yield from leads(results, data)
        yield from precisions(results, data)
    if results.data:
        yield from times(results)
        yield from summary(results)
        yield from targets(results)


def accuracies(results: Results, data: str) -> Iterator[str]:
    n_splits = max(len(rows) for name, rows in results.rows.items() if name[0] == data)
    yield f"### {data}: top-k accuracy, mean and standard deviation of {n_splits} splits"
    yield ""
    yield f"| | {' | '.join(f'k={k}' for k in results.ks)} |"
    yield "|---" * (1 + len(results.ks)) + "|"
    for method, printed in MULTILABEL[data].items():
        yield f"| {method}, printed | {' | '.join(format_printed(printed, results.ks))} |"
    for method in results.methods:
        cells = (format_spread(results.values(data, method, k, "accuracy")) for k in results.ks)
        yield f"| {method} | {' | '.join(cells)} |"
    yield ""


def format_printed(printed: Printed, ks: Sequence[int]) -> list[str]:
    return ["{:.2f} ({:.2f})".format(*printed[k - 1]) for k in ks]


def leads(results: Results, data: str) -> Iterator[str]:
    others = [method for method in results.methods if method != PEER]
    if PEER not in results.methods or not others:
        return
    yield f"{data}: difference to {PEER} and its standard error"
    yield ""
    yield f"| | {' | '.join(f'k={k}' for k in results.ks)} |"
    yield "|---" * (1 + len(results.ks)) + "|"
    for method in others:
        cells = (format_difference(results.lead(data, method, k, "accuracy")) for k in results.ks)
        yield f"| {method} | {' | '.join(cells)} |"
    yield ""


def precisions(results: Results, data: str) -> Iterator[str]:
    """Yield average precision, its own C chosen on validation; a fit may depend on k."""
    yield f"{data}: average precision, mean and standard deviation, C chosen for it"
    yield ""
    yield f"| | printed | {' | '.join(f'k={k}' for k in results.ks)} |"
    yield "|---" * (2 + len(results.ks)) + "|"
    for method in results.methods:
        printed = AVERAGE_PRECISION[data].get(method)
        cells = [format_spread(results.values(data, method, k, "precision")) for k in results.ks]
        if len(set(cells)) == 1:
            cells = [cells[0]] + ["as k=1"] * (len(cells) - 1)
        shown = "-" if printed is None else f"{printed:.2f}"
        yield f"| {method} | {shown} | {' | '.join(cells)} |"
    yield ""


def times(results: Results) -> Iterator[str]:
    yield f"### Processor time of the whole path of C over that of {PEER} in the same run"
    yield ""
    yield f"| | {' | '.join(results.data)} |"
    yield "|---" * (1 + len(results.data)) + "|"
    for method in results.methods:
        ratios = [results.time_ratios(data, method) for data in results.data]
        cells = (f"{min(column):.1f} to {max(column):.1f}" if column else "-" for column in ratios)
        yield f"| {method} | {' | '.join(cells)} |"
    yield ""


def summary(results: Results) -> Iterator[str]:
    """Yield a line for each method: in how many cells it is at least the peer, and the worst."""
    for method in results.methods:
        cells = results.leads(method)
        if method == PEER or not cells:
            continue
        level = sum(lead >= 0 for lead, _, _ in cells)
        _, name, worst = cells[0]
        yield (
            f"- {method}: at least {PEER} in {level} of {len(cells)} cells, on average "
            f"{mean([lead for lead, _, _ in cells]):+.2f}; worst: {name}, "
            f"{format_difference(worst)}"
        )
    yield ""


def targets(results: Results) -> Iterator[str]:
    cells = results.leads(SUM)
    if cells:
        level = sum(lead >= 0 for lead, _, _ in cells)
        needed = int(np.ceil(ENOUGH * len(cells)))
        yield (
            f"- target: {SUM} at least {PEER} in {needed} of {len(cells)} cells: "
            f"{format_verdict(level >= needed)}, {level}"
        )
        yield (
            f"- target: {SUM} never more than {BELOW} below {PEER}: "
            f"{format_verdict(cells[0][0] >= -BELOW)}, {cells[0][0]:+.2f} at worst"
        )
    for data, k in CELLS_AHEAD:
        lead = results.lead(data, SETS, k, "accuracy")
        if lead:
            yield (
                f"- target: {SETS} at least {AHEAD:.0f} points above {PEER} on {data} k={k}: "
                f"{format_verdict(mean(lead) >= AHEAD)}, {format_difference(lead)}"
            )


def format_verdict(is_met: bool) -> str:
    return "met" if is_met else "MISSED"


def mean(values: Sequence[float]) -> float:
    return round(float(np.mean(values)), 9) + 0.0  # a mean of zero has no sign


def format_difference(lead: Sequence[float]) -> str:
    if not lead:
        return "-"
    if len(lead) == 1:
        return f"{mean(lead):+.2f}"
    return f"{mean(lead):+.2f} ({np.std(lead, ddof=1) / np.sqrt(len(lead)):.2f})"
