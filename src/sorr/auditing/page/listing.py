"""The table of suspects: rows that are left out, by the audit or at another position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sorr._typing import IntArray
from sorr.auditing.page.projection import positions_of
from sorr.auditing.page.words import aligned, count, label, probability, short
from sorr.auditing.report import AuditReport

__all__ = ["Column", "Listing", "Suspect", "listing"]


_MOST_ROWS, _FEWEST_ROWS = 1000, 300
_VALUES = 12_000  # of all rows together: a page should not outgrow a megabyte by much
_RESERVED = 4  # a part in so many is for rows that only other positions leave out
_MOST_COLUMNS = 40  # of a row that are shown
_LONGEST, _REASON = 120, 600  # characters


class Column(NamedTuple):
    """A column of the table."""

    key: str
    title: str
    is_number: bool


class Suspect(NamedTuple):
    """A row of the table, as texts."""

    rank: int
    row: int
    line: str
    id: str
    given: str
    suggested: str
    loss: str
    exact: dict[str, str]
    """What to sort by, where the text is not enough."""
    posterior: str | None
    often: str
    reason: str
    values: list[tuple[str, str]]
    at: str
    is_out: bool


@dataclass(frozen=True)
class Listing:
    """The table of suspects, and what it leaves out."""

    columns: list[Column]
    rows: list[Suspect]
    is_short: str | None
    """What is missing from the table, in words."""
    more_columns: int
    posterior: str
    """Where the probability of a wrong label comes from, or why there is none."""


def listing(report: AuditReport) -> Listing:
    """Return the table: suspects first, then rows that other positions leave out too."""
    out, others = report.order, _others(report)
    most = _VALUES // min(len(report.rows.frame.columns), _MOST_COLUMNS)
    most = min(max(most, _FEWEST_ROWS), _MOST_ROWS)
    first = out[: most - min(len(others), most // _RESERVED)]
    then = others[: most - len(first)]
    return Listing(
        _columns(report),
        _suspects(report, np.concatenate([first, then])),
        _shortage(len(first), len(out), len(then), len(others)),
        max(len(report.rows.frame.columns) - _MOST_COLUMNS, 0),
        _origin(report),
    )


def _others(report: AuditReport) -> IntArray:
    """Return the rows that only other positions leave out, those first that leave first."""
    dropped = np.array([it.dropped for it in report.walk.positions])
    rows = np.flatnonzero(dropped.any(axis=0) & ~report.fitted.dropped)
    return rows[np.lexsort([report.judgement.rank[rows], dropped[:, rows].argmax(axis=0)])]


def _shortage(first: int, out: int, then: int, others: int) -> str | None:
    """Return what is missing from the table, in words; None if nothing is."""
    said = []
    if first < out:
        said.append(f"the {count(first)} most suspect of {count(out)} rows; suspects.csv has all")
    if then < others:
        said.append(
            f"{count(then)} of the {count(others)} rows that only other positions of the slider "
            "leave out, those first that leave first"
        )
    return f"The table holds {', and '.join(said)}." if said else None


def _origin(report: AuditReport) -> str:
    """Return where the probability that a row is wrong comes from, or why there is none."""
    share, what = report.judgement.share, "label" if report.fitted.classes else "number"
    if not np.isfinite(report.judgement.posterior).any():
        why = "" if share is None else f": {share.regime_.sentence}"
        return f"There is no probability that a {what} is wrong, for want of a model of that{why}."
    story = (
        "of how labels go wrong: at a rate that depends on the class, and on nothing else"
        if report.fitted.classes
        else "of how far numbers scatter: those of most rows around a plane, others anywhere"
    )
    return f"The probability that a {what} is wrong comes from a model {story}."


def _columns(report: AuditReport) -> list[Column]:
    is_regression = not report.fitted.classes
    found = [Column("rank", "Rank", True), Column("state", "Here", True)]
    found += [Column("row", "Row", True)]
    if report.rows.lines is not None:
        found.append(Column("line", "Line", True))
    if report.rows.ids is not None:
        found.append(Column("id", "Id", False))
    return [
        *found,
        Column("given", "Given", is_regression),
        Column("suggested", "Expected" if is_regression else "Suggested", is_regression),
        Column("loss", "Loss", True),
        Column("posterior", "Wrong?", True),
        Column("often", "How often", True),
        Column("reason", "Why", False),
    ]


def _suspects(report: AuditReport, listed: IntArray) -> list[Suspect]:
    frame = report.describe(listed)
    names = list(report.rows.frame.columns)[:_MOST_COLUMNS]
    heads = [short(name, _LONGEST) for name in names]
    raw = report.rows.frame[names].iloc[listed]
    values = [raw[name].to_numpy(dtype=object) for name in names]
    at, losses = positions_of(report, listed), aligned(frame["loss"].tolist())
    found = []
    for i, it in enumerate(frame.itertuples(index=False)):
        posterior = float(it.flip_posterior)
        exact = {"loss": it.loss, "posterior": posterior, "often": it.dropped_share}
        if not report.fitted.classes:
            exact |= {"given": it.given, "suggested": it.suggested}
        found.append(
            Suspect(
                int(it.rank),
                int(it.row),
                "" if it.line is None else str(it.line),
                "" if report.rows.ids is None else short(it.id, _LONGEST),
                label(it.given, _LONGEST),
                label(it.suggested, _LONGEST),
                losses[i],
                {key: f"{value:.6g}" for key, value in exact.items() if value == value},
                probability(posterior),
                f"{it.dropped_share:.0%}",
                short(it.reason, _REASON),
                [
                    (head, short(column[i], _LONGEST))
                    for head, column in zip(heads, values, strict=True)
                ],
                at[i] or "",
                bool(report.fitted.dropped[listed[i]]),
            )
        )
    return found
