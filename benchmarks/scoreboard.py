"""Rows of the benchmark of quality, as tables in Markdown and as targets met or missed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from benchmarks.rows import Row

__all__ = ["scoreboard"]

METHODS = ("LR", "SGD", "cleanlab", "auto", "oracle", "ceiling")
RANKERS = ("LR", "cleanlab", "auto", "oracle")
RIVALS = ("auto", "cleanlab")
MARGIN = 0.3  # points


class Cell:
    """All fits to one table under one kind of noise, by method and in the order of seeds."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.data, self.noise = str(rows[0]["data"]), str(rows[0]["noise"])
        self.rows: dict[str, list[Row]] = defaultdict(list)
        for row in sorted(rows, key=lambda row: int(row["seed"])):
            self.rows[row["method"]].append(row)

    @property
    def name(self) -> str:
        return f"{self.data} {self.noise}"

    def values(self, method: str, number: Callable[[Row], float | None]) -> list[float]:
        values = (number(row) for row in self.rows.get(method, ()))
        return [value for value in values if value is not None]

    def mean(self, method: str, number: Callable[[Row], float | None]) -> float | None:
        values = self.values(method, number)
        return float(np.mean(values)) if values else None

    def lead(
        self, number: Callable[[Row], float | None], peer: str, method: str = "auto"
    ) -> list[float]:
        """Return how far a method is above a peer, seed by seed."""
        ours, theirs = ({row["seed"]: number(row) for row in self.rows[m]} for m in (method, peer))
        pairs = [(ours[seed], theirs[seed]) for seed in ours if seed in theirs]
        return [a - b for a, b in pairs if a is not None and b is not None]

    def time_ratio(self) -> float | None:
        """Return the time of `auto` as a share of cleanlab's: the median of the seeds."""
        ours, theirs = ({row["seed"]: row["seconds"] for row in self.rows[m]} for m in RIVALS)
        both = [ours[seed] / theirs[seed] for seed in ours if seed in theirs]
        return float(np.median(both)) if both else None


def accuracy(row: Row) -> float:
    return 100 * float(row["accuracy"])


def precision(row: Row) -> float | None:
    return 100 * row["precision"] if "precision" in row else None


def seconds(row: Row) -> float:
    return float(row["seconds"])


def error_of_count(row: Row) -> float | None:
    """Return the error of the counts of wrong rows, summed over classes, in per cent of all."""
    if "count" not in row:
        return None
    return float(100 * np.abs(np.subtract(row["count"], row["wrong"])).sum() / sum(row["rows"]))


def scoreboard(rows: Iterable[Row]) -> Iterator[str]:
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["data"], row["noise"]].append(row)
    cells = [Cell(group) for group in groups.values()]
    for data in dict.fromkeys(cell.data for cell in cells):
        yield from table(data, [cell for cell in cells if cell.data == data])
    yield from targets(cells)


def table(data: str, cells: Sequence[Cell]) -> Iterator[str]:
    sizes = cells[0].rows[next(iter(cells[0].rows))]
    yield f"### {data}: {sum(sizes[0]['rows']):,} training rows, splits: {len(sizes)}"
    yield ""
    yield (
        f"| noise | {' | '.join(METHODS)} | suspects: {' / '.join(RANKERS)} "
        f"| count off: cleanlab / auto | seconds: {' / '.join(RANKERS)} | time | evidence |"
    )
    yield "|---" * (len(METHODS) + 6) + "|"
    for cell in cells:
        scores = " | ".join(format_number(cell.mean(method, accuracy), 2) for method in METHODS)
        suspects = [cell.mean(method, precision) for method in RANKERS]
        off = [cell.mean(method, error_of_count) for method in ("cleanlab", "auto")]
        times = [cell.mean(method, seconds) for method in RANKERS]
        verdicts = Counter(row["verdict"] for row in cell.rows["auto"] if "verdict" in row)
        yield (
            f"| {cell.noise} | {scores} | {format_numbers(suspects, 1)} "
            f"| {format_numbers(off, 1)} | {format_numbers(times, 3)} "
            f"| {format_number(cell.time_ratio(), 2)} "
            f"| {', '.join(f'{verdict} {count}' for verdict, count in verdicts.most_common())} |"
        )
    yield ""


def format_numbers(values: Iterable[float | None], digits: int) -> str:
    return " / ".join(format_number(value, digits) for value in values)


def format_number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def targets(cells: Sequence[Cell]) -> Iterator[str]:
    """Yield the targets, what was reached, and where they were missed."""
    contests = [cell for cell in cells if all(cell.rows[method] for method in RIVALS)]
    if not contests:
        return
    yield "### Targets: auto against cleanlab, over cells (data x noise)"
    yield ""
    yield from contest("accuracy", find_leads(contests, accuracy, "cleanlab"), 85)
    yield from contest("suspects", find_leads(contests, precision, "cleanlab"), 95)
    ratios = [ratio for cell in contests if (ratio := cell.time_ratio()) is not None]
    half = sum(ratio <= 0.5 for ratio in ratios)
    middle, high = np.quantile(ratios, [0.5, 0.9])
    yield (
        f"- time at most half of cleanlab's in {format_share(half, len(ratios))} (target 90 %): "
        f"median {middle:.2f}, nine in ten below {high:.2f}"
    )
    clean = [cell for cell in contests if cell.noise == "none"]
    yield from contest("accuracy without noise, against LR", find_leads(clean, accuracy, "LR"), 100)
    yield ""
    yield from overview(contests)


Leads = list[tuple[Cell, list[float]]]


def find_leads(cells: Iterable[Cell], number: Callable[[Row], float | None], peer: str) -> Leads:
    return [(cell, lead) for cell in cells if (lead := cell.lead(number, peer))]


def contest(what: str, leads: Leads, target: int) -> Iterator[str]:
    """Yield in how many cells `auto` is ahead, near or behind, and the cells where it is behind."""
    if not leads:
        return
    means = [float(np.mean(lead)) for _, lead in leads]
    ahead = sum(mean > MARGIN for mean in means)
    behind = sorted(
        (mean, cell.name, lead)
        for mean, (cell, lead) in zip(means, leads, strict=True)
        if mean < -MARGIN
    )
    yield (
        f"- {what}: better or within {MARGIN} points in "
        f"{format_share(len(means) - len(behind), len(means))} (target {target} %): "
        f"{ahead} better, {len(means) - ahead - len(behind)} within, {len(behind)} worse; mean "
        f"{np.mean(means):+.2f}"
    )
    for mean, name, lead in behind:
        error = np.std(lead, ddof=1) / np.sqrt(len(lead)) if len(lead) > 1 else np.nan
        yield f"  - {name}: {mean:+.2f} (standard error {error:.2f})"


def overview(cells: Sequence[Cell]) -> Iterator[str]:
    """Yield a line for each table: leads over cleanlab, time, counts, coverage of intervals."""
    yield (
        "| data | accuracy | suspects | time | count off: cleanlab / auto "
        "| in the interval, with evidence |"
    )
    yield "|---" * 6 + "|"
    for data in ["all", *dict.fromkeys(cell.data for cell in cells)]:
        chosen = [cell for cell in cells if data in ("all", cell.data)]
        gains = [
            [float(np.mean(lead)) for _, lead in find_leads(chosen, number, "cleanlab")]
            for number in (accuracy, precision)
        ]
        ratios = [ratio for cell in chosen if (ratio := cell.time_ratio()) is not None]
        off = [
            [value for cell in chosen for value in cell.values(method, error_of_count)]
            for method in ("cleanlab", "auto")
        ]
        yield (
            f"| {data} | {' | '.join(f'{np.mean(g):+.2f}' if g else '-' for g in gains)} "
            f"| {np.median(ratios):.2f} "
            f"| {' / '.join(f'{np.mean(errors):.1f}' if errors else '-' for errors in off)} "
            f"| {coverage(chosen)} |"
        )


def coverage(cells: Sequence[Cell]) -> str:
    """Return how often the true shares of classes are inside their intervals."""
    inside: list[bool] = []
    for row in (row for cell in cells for row in cell.rows["auto"]):
        if row["verdict"] != "none":
            true = np.divide(row["wrong"], row["rows"])
            low, high = np.transpose(row["interval"])
            inside += ((low <= true) & (true <= high)).tolist()
    return format_share(sum(inside), len(inside))


def format_share(part: int, total: int) -> str:
    return f"{100 * part / total:.0f} % ({part}/{total})" if total else "-"
