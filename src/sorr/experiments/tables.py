"""Pages of tables and figures: tables beside the printed ones, their words, and files on disk."""

from __future__ import annotations

import csv
import io
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sorr._files import write_atomically
from sorr.experiments.experiment import PROTOCOLS, Plan
from sorr.experiments.rows import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MISSED = "†"
"""Marks a printed number that ours does not reach."""
QUICK = "A quick run: too small to draw conclusions."
_LINE_LENGTH = 100  # of prose in pages


class Line(NamedTuple):
    """A line of a table: a model with a setting on a data set, and the printed numbers.

    Attributes
    ----------
    dataset, setting, model : str
        As in the cells.
    printed, printed_spread : float or None
        The mean and the standard deviation in the paper. None if it prints none.
    measure : str or None
        The measure to show. None stands for that of the table.
    label : str
        The text that replaces `setting` in the table. If empty, `setting` is shown.
    """

    dataset: str
    setting: str
    model: str
    printed: float | None = None
    printed_spread: float | None = None
    measure: str | None = None
    label: str = ""


class Difference(NamedTuple):
    """A mean difference over splits, its standard error, and the number of splits."""

    mean: float
    error: float
    splits: int


def compare_splits(first: dict[int, float], second: dict[int, float]) -> Difference:
    """Return the mean difference over the splits that both have, with its standard error.

    Examples
    --------
    >>> compare_splits({0: 3.0, 1: 5.0, 2: 9.0}, {0: 1.0, 1: 2.0})
    Difference(mean=2.5, error=0.5, splits=2)
    """
    gaps = np.array([first[split] - second[split] for split in sorted(first.keys() & second)])
    if not gaps.size:
        return Difference(math.nan, math.nan, 0)
    error = float(gaps.std(ddof=1)) / math.sqrt(gaps.size) if gaps.size > 1 else math.nan
    return Difference(float(gaps.mean()), error, int(gaps.size))


@dataclass(frozen=True)
class Table:
    """A table of the paper, and our numbers beside it.

    Attributes
    ----------
    name, title : str
    lines : callable
        Takes a `Plan` and returns the lines.
    measure : str
        The measure to show, in per cent.
    baseline : str
        The model that others are compared with, split by split.
    lower_is_better : bool
    setting : str
        The header of the column of settings.
    notes : callable
        Takes the records and returns sentences for below the table.
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
        """Return a record of numbers for each line that has a row."""
        measured = _by_line(rows)
        records = [self._record(line, measured) for line in self.lines(plan)]
        return [record for record in records if record["paper_splits"] or record["ours_splits"]]

    def write(self, rows: list[Row], plan: Plan, folder: Path) -> list[Path]:
        """Write the table as Markdown and as CSV, unless it is empty, and return the paths."""
        records = self.records(rows, plan)
        if not records:
            return []
        page = fill_page(
            "table",
            title=self.title,
            counts=_splits_of(records),
            quick=QUICK * plan.quick,
            baseline=self.baseline,
            missed=MISSED,
            table=self._table(records),
            notes=format_notes(self.notes(records)),
        )
        return [
            write_atomically(folder / f"{self.name}.md", page),
            write_csv(folder / f"{self.name}.csv", records),
        ]

    def _record(
        self, line: Line, measured: dict[tuple[str, ...], dict[int, Row]]
    ) -> dict[str, Any]:
        measure, printed = line.measure or self.measure, line.printed
        record: dict[str, Any] = {
            "dataset": line.dataset,
            "setting": line.label or line.setting,
            "model": line.model,
            "printed": printed,
            "printed_spread": line.printed_spread,
        }
        for protocol in PROTOCOLS:
            key = protocol, line.dataset, line.setting
            own, base = (
                {split: row[measure] for split, row in measured.get((*key, model), {}).items()}
                for model in (line.model, self.baseline)
            )
            values = np.array(list(own.values()))
            mean = float(values.mean()) if len(values) else math.nan
            gain = compare_splits(own, base)
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
        """Return whether ours is at least as good as printed, to the printed digits."""
        gap = record["ours_minus_printed"]
        if math.isnan(gap):
            return None
        return bool(round(gap if self.lower_is_better else -gap, 2) <= 0)

    def _table(self, records: Sequence[dict[str, Any]]) -> str:
        base = self.baseline
        header = ["data set", self.setting, "model", "printed", "paper's protocol"]
        header += ["- printed", f"- {base}", "ours", "- printed", f"- {base}"]
        lines = []
        for record in records:
            line = [record["dataset"], record["setting"], record["model"]]
            line.append(format_mean(record["printed"], record["printed_spread"]))
            for protocol in PROTOCOLS:
                missed = protocol == "ours" and record["reached"] is False
                line += [
                    format_mean(record[protocol], record[f"{protocol}_spread"]),
                    format_gain(record[f"{protocol}_minus_printed"]) + (MISSED if missed else ""),
                    ""
                    if record["model"] == base
                    else format_gain(
                        record[f"{protocol}_minus_{base}"],
                        record[f"{protocol}_minus_{base}_error"],
                    ),
                ]
            lines.append(line)
        return format_table(header, lines)


def _splits_of(records: Sequence[Mapping[str, Any]]) -> str:
    """Return the number of splits of each protocol."""
    words = []
    for protocol, name in (("paper", "paper's protocol"), ("ours", "ours")):
        counts = {record[f"{protocol}_splits"] for record in records} - {0}
        if counts:
            words.append(f"{format_count(counts, 'split')} ({name})")
    return " and ".join(words)


def _by_line(rows: Iterable[Row]) -> dict[tuple[str, ...], dict[int, Row]]:
    """Return the rows by protocol, data set, setting and model, and below that by split."""
    lines: dict[tuple[str, ...], dict[int, Row]] = {}
    for row in rows:
        key = row["protocol"], row["dataset"], row["setting"], row["model"]
        lines.setdefault(key, {})[row["split"]] = row
    return lines


def format_mean(mean: float | None, spread: float | None) -> str:
    """Return a mean and its standard deviation in brackets, as far as they are known.

    Examples
    --------
    >>> format_mean(19.716, 0.5), format_mean(19.716, None), format_mean(math.nan, 0.5)
    ('19.72 (0.50)', '19.72', '')
    """
    if mean is None or math.isnan(mean):
        return ""
    return f"{mean:.2f}" + ("" if spread is None or math.isnan(spread) else f" ({spread:.2f})")


def format_gain(mean: float, error: float = math.nan) -> str:
    """Return a difference with its sign, and its standard error in brackets if it is known."""
    if math.isnan(mean):
        return ""
    rounded = round(mean, 2) + 0.0  # never minus zero
    return f"{rounded:+.2f}" + ("" if math.isnan(error) else f" ({error:.2f})")


def format_count(counts: Iterable[int], noun: str) -> str:
    """Return the range of some counts, with the noun that is counted.

    Examples
    --------
    >>> format_count([5, 3, 4], "draw"), format_count([1, 1], "split")
    ('3 to 5 draws', '1 split')
    """
    ends = sorted(counts)
    span = " to ".join(str(count) for count in dict.fromkeys([ends[0], ends[-1]]))
    return f"{span} {noun}" + "s" * (ends[-1] > 1)


# -- Pages and files: equal rows give equal bytes --------------------------------------------------


def format_table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown with aligned columns.

    Examples
    --------
    >>> print(format_table(["model", "error"], [["average", "19.72"]]), end="")
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


def format_notes(notes: Iterable[str]) -> str:
    """Return notes as a list in Markdown."""
    return "\n".join(f"- {note}" for note in notes)


def fill_page(name: str, **parts: object) -> str:
    """Return a page: a text file of the paper's experiments with its numbers and tables filled in.

    Prose is wrapped. Headings, tables and images stay as they are.
    """
    text = read_text(name).format(
        **{key: part.strip("\n") if isinstance(part, str) else part for key, part in parts.items()}
    )
    return _wrap(re.sub(r"\n{3,}", "\n\n", text).strip()) + "\n"


def _wrap(text: str) -> str:
    """Wrap paragraphs and items of lists."""
    lines: list[str] = []
    for line in text.splitlines():
        is_prose = line != "" and not line.startswith(("#", "|", "!["))
        is_item = re.match(r"- |\d+\. ", line)
        if is_prose and not is_item and lines and lines[-1].startswith("\0"):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(f"\0{line}" if is_prose else line)
    return "\n".join(_fill(line[1:]) if line.startswith("\0") else line for line in lines)


def _fill(paragraph: str) -> str:
    """Wrap a paragraph. No line begins with an operator, which Markdown would take for a list."""
    item = re.match(r"- |\d+\. ", paragraph)
    joined = re.sub(r" (?=(?:[-+*=<>|/]+|\d+\.) )", "\0", paragraph)
    wrapped = textwrap.fill(
        joined,
        _LINE_LENGTH,
        subsequent_indent=" " * (item.end() if item else 0),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return wrapped.replace("\0", " ")


def read_notes(name: str) -> dict[str, list[str]]:
    """Return the notes of a text file: the items of its lists, by the heading above them."""
    notes = {}
    for section in f"\n{read_text(name)}".split("\n## ")[1:]:
        heading, *items = section.split("\n- ")
        notes[heading.strip()] = [" ".join(item.split()) for item in items]
    return notes


def read_text(name: str) -> str:
    """Return a text file of the paper's experiments."""
    folder = resources.files("sorr.experiments.paper").joinpath("text")
    return folder.joinpath(f"{name}.md").read_text(encoding="utf-8")


def write_csv(path: Path, records: Sequence[Mapping[str, Any]]) -> Path:
    """Write records with the same names, one per line. Numbers are not rounded."""
    text = io.StringIO()
    if records:
        writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
    return write_atomically(path, text.getvalue())


def write_figure(path: Path, figure: Figure) -> Path:
    """Write a figure as PNG, without a date in it, and close it."""
    from matplotlib import pyplot as plt

    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=150, metadata={"Software": None})
    plt.close(figure)
    return write_atomically(path, image.getvalue())
