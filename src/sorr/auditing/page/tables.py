"""The sections on the table itself: what else was found, how columns were read, missing labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sorr._typing import IntArray
from sorr.auditing.page.words import count, label, short
from sorr.auditing.report import AuditReport
from sorr.auditing.table import format_probability

_MAX_PLACES = 12  # rows of a finding that are named
_MAX_COLUMNS = 1000  # columns that are listed
_MAX_ROWS = 200  # rows without a label that are listed
_MAX_CELL = 120  # characters
_MAX_SENTENCE = 600


class FoundView(NamedTuple):
    """A finding: what was found, where, and what to do about it."""

    name: str
    severity: str
    sentence: str
    action: str
    places: str


def findings(report: AuditReport) -> list[FoundView]:
    """Return what was found besides wrong labels."""
    found = [
        FoundView(
            finding.name,
            finding.severity,
            short(finding.sentence, _MAX_SENTENCE),
            short(finding.action, _MAX_SENTENCE),
            _places(report, finding.rows),
        )
        for finding in report.findings
    ]
    if aside := report.rows.set_aside:
        lines = ", ".join(count(it.line) for it in aside[:_MAX_PLACES])
        more = f" and {count(len(aside) - _MAX_PLACES)} more" if len(aside) > _MAX_PLACES else ""
        first = aside[0]
        found.append(
            FoundView(
                "Lines that could not be read",
                "warning",
                f"{count(len(aside))} line{'s have' if len(aside) > 1 else ' has'} another number "
                f"of fields than the header. The first has {first.n_fields}: "
                f"{short(first.text, _MAX_CELL)}",
                "They are not in this report. Repair them in the file, often a missing quote or "
                "separator.",
                f"lines {lines}{more}",
            )
        )
    return found


def _places(report: AuditReport, rows: IntArray) -> str:
    """Return where rows are: the lines of the file, or their numbers, and their names."""
    if not len(rows):
        return ""
    ids, lines = report.rows.ids, report.rows.lines
    shown = rows[:_MAX_PLACES]
    numbers = report.rows.numbers[shown] if lines is None else lines[shown]
    noun = "rows" if lines is None else "lines"
    texts = [count(int(it)) for it in numbers]
    if ids is not None:
        texts = [f"{at} ({short(ids[i], 30)})" for at, i in zip(texts, shown, strict=True)]
    more = f" and {count(len(rows) - len(shown))} more" if len(rows) > len(shown) else ""
    return f"{noun if len(rows) > 1 else noun[:-1]} {', '.join(texts)}{more}"


class ReadView(NamedTuple):
    """How a column was read."""

    name: str
    kind: str
    reading: str
    treatment: str
    missing: str
    example: str


class ColumnsView(NamedTuple):
    """How all columns were read, and how many are not listed."""

    rows: list[ReadView]
    more: int


def columns(report: AuditReport) -> ColumnsView:
    """Return how each column was read."""
    whole = report.rows.columns
    rows = [
        ReadView(
            short(it.name, _MAX_CELL),
            it.kind,
            short(it.reading, _MAX_CELL),
            it.treatment,
            count(it.missing) if it.missing else "",
            short(it.example, _MAX_CELL),
        )
        for it in whole[:_MAX_COLUMNS]
    ]
    return ColumnsView(rows, len(whole) - len(rows))


class UnlabelledView(NamedTuple):
    """The rows without a label."""

    rows: list[tuple[str, str, str, str]]
    """Its place, its name, the suggestion, and its probability."""
    whole: int


def unlabelled(report: AuditReport) -> UnlabelledView:
    """Return the rows without a label, with what the model suggests."""
    frame = report.unlabelled.head(_MAX_ROWS)
    has_lines, has_ids = report.rows.lines is not None, report.rows.ids is not None
    rows = [
        (
            f"line {count(it.line)}" if has_lines else f"row {count(it.row)}",
            short(it.id, 40) if has_ids else "",
            label(it.suggested),
            "" if np.isnan(it.probability) else format_probability(float(it.probability)),
        )
        for it in frame.itertuples(index=False)
    ]
    return UnlabelledView(rows, len(report.unlabelled))
