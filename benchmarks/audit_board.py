"""Rows of the benchmark of suspects, as tables in Markdown and as targets met or missed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from benchmarks.rows import Row
from benchmarks.scoreboard import Cell, format_number, format_share, precision

__all__ = ["ADJUSTED", "AUDIT", "LIST", "PEER", "PEER_FIT", "board"]

PEER, ADJUSTED, PEER_FIT = "cleanlab", "cleanlab adjusted", "cleanlab fit"
LIST, AUDIT = "list", "audit"
KINDS = {"sym": "Symmetric: labels of all classes", "one": "One class: labels of one class"}
LISTS = (PEER, AUDIT)
HALF = 0.5
TIMES = ((LIST, PEER), (AUDIT, PEER_FIT))
CONTESTS = ("a list against a list", "list and model against list and model")
HEAD = (
    "average precision: cleanlab / adjusted / sorr",
    "cleanlab: precision, recall",
    "sorr: precision, recall",
    "F1: cleanlab / sorr",
    "time: list / list and model",
)
LEGEND = """\
Features are standardised, and linear fits have the ridge of C = 1 in scikit-learn. *cleanlab*:
`CleanLearning(LogisticRegression()).find_label_issues`; *adjusted*: the same, ranked by
`normalized_margin` with `adjust_pred_probs=True`; *sorr*: the model of `sorr audit`, a forest with
a linear model; its suspects are the rows it flags, which come first in its ranking. Precision and
recall of the suspects are in per cent, over all splits; an empty list has precision 0. Time is
processor time on one thread, as the median of ratios: *list*, the judgement over
`find_label_issues`; *list and model*, `TrimmedClassifier.fit` over `CleanLearning.fit`.
""".splitlines()

Counts = tuple[int, int, int]  # wrong rows that were flagged, flagged rows, wrong rows


def board(rows: Iterable[Row]) -> Iterator[str]:
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["data"], row["noise"]].append(row)
    cells = [Cell(group) for group in groups.values()]
    if not cells:
        return
    yield from (*LEGEND, "")
    by_kind = {kind: [cell for cell in cells if cell.noise.startswith(kind)] for kind in KINDS}
    for kind, chosen in by_kind.items():
        if chosen:
            yield from table(KINDS[kind], chosen)
    yield from by_noise(cells)
    yield from targets({kind: chosen for kind, chosen in by_kind.items() if chosen})


def table(title: str, cells: Sequence[Cell]) -> Iterator[str]:
    rates = ", ".join(dict.fromkeys(cell.noise[3:] for cell in cells))
    yield f"### {title} were changed ({rates} %)"
    yield ""
    yield f"| data | rows x columns | {' | '.join(HEAD)} |"
    yield "|---" * (2 + len(HEAD)) + "|"
    for data in dict.fromkeys(cell.data for cell in cells):
        chosen = [cell for cell in cells if cell.data == data]
        row = next(row for rows in chosen[0].rows.values() for row in rows)
        yield line(f"{data} | {sum(row['rows']):,} x {row['columns']}", chosen)
    yield line("**mean** | ", cells)
    yield ""


def by_noise(cells: Sequence[Cell]) -> Iterator[str]:
    yield "### By share of changed labels, all tables"
    yield ""
    yield f"| noise | tables | {' | '.join(HEAD)} |"
    yield "|---" * (2 + len(HEAD)) + "|"
    for noise in dict.fromkeys(cell.noise for cell in cells):
        chosen = [cell for cell in cells if cell.noise == noise]
        yield line(f"{noise} | {len(chosen)}", chosen)
    yield ""


def line(name: str, cells: Sequence[Cell]) -> str:
    ranking = (format_number(average(cells, m, precision), 1) for m in (PEER, ADJUSTED, AUDIT))
    f1 = (format_number(mean_share(cells, m, list_f1), 1) for m in LISTS)
    lists = (
        ", ".join(format_number(mean_share(cells, m, f), 0) for f in (list_precision, list_recall))
        for m in LISTS
    )
    times = (format_number(median(ratios(cells, *pair)), 2) for pair in TIMES)
    return (
        f"| {name} | {' / '.join(ranking)} | {' | '.join(lists)} | {' / '.join(f1)} "
        f"| {' / '.join(times)} |"
    )


def ratios(cells: Sequence[Cell], ours: str, theirs: str) -> list[float]:
    """Return one time over the other, the median of the seeds of each cell."""
    quotients = []
    for cell in cells:
        mine, peer = ({row["seed"]: row["seconds"] for row in cell.rows[m]} for m in (ours, theirs))
        both = [mine[seed] / peer[seed] for seed in mine if seed in peer]
        if both:
            quotients.append(float(np.median(both)))
    return quotients


def median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None


def average(
    cells: Iterable[Cell], method: str, number: Callable[[Row], float | None]
) -> float | None:
    """Return the mean over cells of the mean over seeds."""
    means = [mean for cell in cells if (mean := cell.mean(method, number)) is not None]
    return float(np.mean(means)) if means else None


def mean_share(
    cells: Iterable[Cell], method: str, number: Callable[[Counts], float]
) -> float | None:
    """Return the mean over cells of a share of rows, all seeds of a cell together."""
    shares = []
    for cell in cells:
        if rows := cell.rows.get(method):
            hits, flagged, wrong = (
                sum(row[name] for row in rows) for name in ("hits", "flagged", "wrong")
            )
            shares.append(number((hits, flagged, wrong)))
    return float(np.mean(shares)) if shares else None


def list_precision(counts: Counts) -> float:
    hits, flagged, _ = counts
    return 100 * hits / flagged if flagged else 0.0  # otherwise the means would be over other cells


def list_recall(counts: Counts) -> float:
    hits, _, wrong = counts
    return 100 * hits / wrong


def list_f1(counts: Counts) -> float:
    hits, flagged, wrong = counts
    return 200 * hits / (flagged + wrong)


def targets(kinds: dict[str, list[Cell]]) -> Iterator[str]:
    """Yield the targets, what was reached, and where they were missed."""
    everything = [cell for cells in kinds.values() for cell in cells]
    if not any(ratios(everything, *pair) for pair in TIMES):
        return
    yield "### Targets: sorr against cleanlab"
    yield ""
    for kind, cells in kinds.items():
        for peer in (PEER, ADJUSTED):
            yield from contest(f"{kind}, against {peer}", cells, peer)
    for name, pair in zip(CONTESTS, TIMES, strict=True):
        if values := ratios(everything, *pair):
            half = sum(value <= HALF for value in values)
            middle, high = np.quantile(values, [0.5, 0.9])
            yield (
                f"- time, {name}: median {middle:.2f}, nine in ten below {high:.2f}; at "
                f"most half in {format_share(half, len(values))}"
            )
    yield ""


def contest(name: str, cells: Sequence[Cell], peer: str) -> Iterator[str]:
    """Yield whether the mean average precision is higher, its error, and in how many cells."""
    ours, theirs = (average(cells, method, precision) for method in (AUDIT, peer))
    leads = [
        (float(np.mean(lead)), cell)
        for cell in cells
        if (lead := cell.lead(precision, peer, AUDIT))
    ]
    if ours is None or theirs is None or not leads:
        return
    ahead = sum(lead > 0 for lead, _ in leads)
    least = sorted(leads, key=lambda pair: pair[0])[:3]
    yield (
        f"- {name}: {'met' if ours > theirs else 'MISSED'}, {ours:.1f} to {theirs:.1f} (standard "
        f"error of the lead {format_number(error_of_lead(cells, peer), 1)}); ahead in "
        f"{format_share(ahead, len(leads))}; least: "
        + ", ".join(f"{cell.name} {lead:+.1f}" for lead, cell in least)
    )


def error_of_lead(cells: Sequence[Cell], peer: str) -> float | None:
    """Return the standard error of the mean lead, over splits that all cells have."""
    by_seed: dict[int, list[float]] = defaultdict(list)
    for cell in cells:
        theirs = {row["seed"]: row["precision"] for row in cell.rows[peer]}
        for row in cell.rows[AUDIT]:
            if row["seed"] in theirs:
                by_seed[row["seed"]].append(100 * (row["precision"] - theirs[row["seed"]]))
    means = [np.mean(leads) for leads in by_seed.values() if len(leads) == len(cells)]
    return float(np.std(means, ddof=1) / np.sqrt(len(means))) if len(means) > 1 else None
