"""Tables beside the printed ones: printed, by the paper's protocol, ours, and the differences."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sorr.experiments.experiment import Plan
from sorr.experiments.rows import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Line", "Table", "markdown", "paired", "write_csv", "write_figure", "write_text"]

_MISSED = "†"


class Line(NamedTuple):
    """A line of a table: a model under a setting on a data set, and what the paper prints.

    Attributes
    ----------
    dataset, setting, model : str
        As in the cells.
    printed, printed_spread : float or None
        The mean and the standard deviation in the paper; None if it prints none.
    measure : str or None
        The value to read in the rows; None for the one of the table.
    label : str
        What stands in the table for `setting`, if something else.
    """

    dataset: str
    setting: str
    model: str
    printed: float | None = None
    printed_spread: float | None = None
    measure: str | None = None
    label: str = ""


class Difference(NamedTuple):
    """A mean difference over splits, its standard error, and over how many."""

    mean: float
    error: float
    splits: int


def paired(first: dict[int, float], second: dict[int, float]) -> Difference:
    """Return the mean difference over the splits that both have, with its standard error.

    Examples
    --------
    >>> paired({0: 3.0, 1: 5.0, 2: 9.0}, {0: 1.0, 1: 2.0})
    Difference(mean=2.5, error=0.5, splits=2)
    """
    gaps = np.array([first[split] - second[split] for split in sorted(first.keys() & second)])
    if not gaps.size:
        return Difference(math.nan, math.nan, 0)
    error = float(gaps.std(ddof=1)) / math.sqrt(gaps.size) if gaps.size > 1 else math.nan
    return Difference(float(gaps.mean()), error, int(gaps.size))


@dataclass(frozen=True)
class Table:
    """A table of the paper, and what was measured beside it.

    Attributes
    ----------
    name, title : str
    lines : callable
        Of a `Plan`, the lines.
    measure : str
        Which value of the rows, in per cent.
    baseline : str
        The model that others are compared with, split by split.
    lower_is_better : bool
    setting : str
        The head of the column of settings.
    notes : callable
        Of the records: sentences that go below the table.
    """

    name: str
    title: str
    lines: Callable[[Plan], Iterable[Line]]
    measure: str
    baseline: str
    lower_is_better: bool
    setting: str
    notes: Callable[[Sequence[dict[str, Any]]], Sequence[str]] = lambda _: ()

    def records(self, rows: Sequence[Row], plan: Plan) -> list[dict[str, Any]]:
        """Return a record of numbers for each line that something was measured for."""
        held = _by_line(rows)
        found = [self._record(line, held) for line in self.lines(plan)]
        return [record for record in found if record["paper_splits"] or record["ours_splits"]]

    def write(self, rows: list[Row], plan: Plan, folder: Path) -> list[Path]:
        """Write the table as Markdown and as CSV, and return both paths; none if it is empty."""
        records = self.records(rows, plan)
        if not records:
            return []
        words = [f"# {self.title}", "", *self._preface(records, plan), "", self._table(records)]
        words += [f"- {note}" for note in self.notes(records)]
        return [
            write_text(folder / f"{self.name}.md", "\n".join(words).rstrip() + "\n"),
            write_csv(folder / f"{self.name}.csv", records),
        ]

    def _record(self, line: Line, held: dict[tuple[str, ...], dict[int, Row]]) -> dict[str, Any]:
        measure, printed = line.measure or self.measure, line.printed
        record: dict[str, Any] = {
            "dataset": line.dataset,
            "setting": line.label or line.setting,
            "model": line.model,
            "printed": printed,
            "printed_spread": line.printed_spread,
        }
        for protocol in ("paper", "ours"):
            own, base = (
                {
                    split: row[measure]
                    for split, row in held.get(
                        (protocol, line.dataset, model, line.setting), {}
                    ).items()
                }
                for model in (line.model, self.baseline)
            )
            values = np.array(list(own.values()))
            mean = float(values.mean()) if len(values) else math.nan
            gain = paired(own, base)
            record |= {
                protocol: mean,
                f"{protocol}_spread": float(values.std(ddof=1)) if len(values) > 1 else math.nan,
                f"{protocol}_splits": len(values),
                f"{protocol}_minus_printed": mean - (math.nan if printed is None else printed),
                f"{protocol}_minus_{self.baseline}": gain.mean,
                f"{protocol}_minus_{self.baseline}_error": gain.error,
            }
        return record | {"reached": self._is_reached(record)}

    def _is_reached(self, record: dict[str, Any]) -> bool | None:
        """Tell whether ours is at least as good as printed, to the digits that are printed."""
        gap = record["ours_minus_printed"]
        if math.isnan(gap):
            return None
        return bool(round(gap if self.lower_is_better else -gap, 2) <= 0)

    def _preface(self, records: Sequence[dict[str, Any]], plan: Plan) -> list[str]:
        counts = _counts(records)
        quick = " A quick run: too little of everything to say anything." if plan.quick else ""
        return [
            f"Per cent, mean (standard deviation) over {counts}.{quick} Differences to "
            f"{self.baseline} are split by split within the same protocol, with their standard "
            "error in brackets: splits share rows, so the true one is larger. "
            f"{_MISSED} marks what is printed and ours does not reach."
        ]

    def _table(self, records: Sequence[dict[str, Any]]) -> str:
        base = self.baseline
        header = ["data set", self.setting, "model", "printed", "paper's protocol"]
        header += ["- printed", f"- {base}", "ours", "- printed", f"- {base}"]
        lines = []
        for record in records:
            line = [record["dataset"], record["setting"], record["model"]]
            line.append(_spread(record["printed"], record["printed_spread"]))
            for protocol in ("paper", "ours"):
                missed = protocol == "ours" and record["reached"] is False
                line += [
                    _spread(record[protocol], record[f"{protocol}_spread"]),
                    _signed(record[f"{protocol}_minus_printed"]) + (_MISSED if missed else ""),
                    ""
                    if record["model"] == base
                    else _signed(
                        record[f"{protocol}_minus_{base}"],
                        record[f"{protocol}_minus_{base}_error"],
                    ),
                ]
            lines.append(line)
        return markdown(header, lines)


def _counts(records: Sequence[dict[str, Any]]) -> str:
    """Return over how many splits there are means, for each protocol.

    Examples
    --------
    >>> _counts([{"paper_splits": 10, "ours_splits": 1}, {"paper_splits": 9, "ours_splits": 0}])
    "9 to 10 splits (paper's protocol) and 1 split (ours)"
    """
    words = []
    for protocol, name in (("paper", "paper's protocol"), ("ours", "ours")):
        counts = {record[f"{protocol}_splits"] for record in records} - {0}
        if counts:
            of = " to ".join(str(count) for count in sorted({min(counts), max(counts)}))
            words.append(f"{of} {'split' if of == '1' else 'splits'} ({name})")
    return " and ".join(words)


def _by_line(rows: Iterable[Row]) -> dict[tuple[str, ...], dict[int, Row]]:
    held: dict[tuple[str, ...], dict[int, Row]] = {}
    for row in rows:
        key = row["protocol"], row["dataset"], row["model"], row["setting"]
        held.setdefault(key, {})[row["split"]] = row
    return held


def _spread(mean: float | None, spread: float | None) -> str:
    if mean is None or math.isnan(mean):
        return ""
    return f"{mean:.2f}" + ("" if spread is None or math.isnan(spread) else f" ({spread:.2f})")


def _signed(mean: float, error: float = math.nan) -> str:
    if math.isnan(mean):
        return ""
    rounded = round(mean, 2) + 0.0  # never minus zero
    return f"{rounded:+.2f}" + ("" if math.isnan(error) else f" ({error:.2f})")


# -- Tables and figures on disk: written whole or not at all, and equal rows give equal bytes ------


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown, its columns as wide as what is in them.

    Examples
    --------
    >>> print(markdown(["model", "error"], [["average", "19.72"]]), end="")
    | model   | error |
    |---------|-------|
    | average | 19.72 |
    """
    table = [list(header), *(list(line) for line in lines)]
    widths = [max(len(line[i]) for line in table) for i in range(len(header))]
    texts = [
        "| " + " | ".join(f.ljust(w) for f, w in zip(line, widths, strict=True)) + " |"
        for line in table
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([texts[0], rule, *texts[1:]]) + "\n"


def write_csv(path: Path, records: Sequence[Mapping[str, Any]]) -> Path:
    """Write records with the same names, one in a line; numbers as they are."""
    text = io.StringIO()
    if records:
        writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
    return write_text(path, text.getvalue())


def write_text(path: Path, text: str) -> Path:
    """Write a file whole: an interruption leaves the old one, or none."""
    return _replace(path, text.encode())


def write_figure(path: Path, figure: Figure) -> Path:
    """Write a figure as PNG, without a date in it, and close it."""
    from matplotlib import pyplot as plt

    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=150, metadata={"Software": None})
    plt.close(figure)
    return _replace(path, image.getvalue())


def _replace(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    return part.replace(path)
