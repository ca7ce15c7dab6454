"""The ranked losses and the validated errors, at every number of rows left out.

All of it is drawn here, once; in the page a script only exchanges what belongs to one position
for what belongs to another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sorr._typing import FloatArray
from sorr.auditing.page.axes import Tick, placed, round_steps, ticks, traced
from sorr.auditing.page.words import count, number, of_rows, percent, short
from sorr.auditing.report import AuditReport
from sorr.auditing.variations import Position

__all__ = ["Panel", "Stage", "Tendency", "panels", "stages", "tendency"]


_MOST_PANELS = 12
_MARKED = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0)  # shares of a class that have a tick
_FEW_MARKED = (0.0, 0.01, 0.1, 0.25, 0.5, 1.0)  # the same, in a narrow panel
_HIGHEST = 8.0  # times the loss at the cut: a curve that goes higher leaves the frame


class Cut(NamedTuple):
    """How the curve of a class is cut at a position."""

    path: str
    at: str
    """Where the cut is, in percent of the frame."""
    width: int
    """The same in the units of the path."""
    text: str
    beyond: str
    """The largest loss, if it lies above the frame."""


@dataclass(frozen=True)
class Panel:
    """The losses of the rows that are ranked together, in descending order."""

    name: str
    end: str | None
    """Where the second cut is, if it is not the last row."""
    across: list[Tick]
    up: list[Tick]
    cuts: list[Cut]


def panels(report: AuditReport) -> tuple[list[Panel], int]:
    """Return a panel for each class, or one for all rows; and how many classes have none.

    Those with the most rows left out have one, if there are many.
    """
    fitted, walk = report.fitted, report.walk
    sizes = np.bincount(fitted.groups)
    names = [short(name, 40) for name in fitted.classes] if len(sizes) > 1 else ["all rows"]
    chosen = np.sort(np.argsort(-walk.positions[walk.chosen].counts, kind="stable")[:_MOST_PANELS])
    top = _top(walk.positions[walk.chosen])
    up, marked = round_steps(0.0, top, 4), _MARKED if len(sizes) < 3 else _FEW_MARKED
    found = []
    for group in chosen.tolist():
        last = float(fitted.model.k_[group] / sizes[group])
        found.append(
            Panel(
                names[group],
                placed(np.sqrt(last)) if last < 1 - 1e-9 else None,
                ticks([it**0.5 for it in marked], [f"{100 * it:g}%" for it in marked]),
                ticks([1 - it / top for it in up], [number(it) for it in up]),
                [_cut(it, group, int(sizes[group]), walk.shares, top) for it in walk.positions],
            )
        )
    return found, len(sizes) - len(found)


def _top(position: Position) -> float:
    """Return the loss at the upper edge: the largest, unless a few rows dwarf all others."""
    largest = float(position.curves[:, 0].max())
    cuts = position.cuts[np.isfinite(position.cuts)]
    typical = (
        float(cuts.max()) if len(cuts) else float(np.sort(position.curves.ravel())[-12:].min())
    )
    return min(largest, _HIGHEST * typical) * 1.05 or 1.0


def _cut(position: Position, group: int, size: int, shares: FloatArray, top: float) -> Cut:
    ranks, first = np.unique(np.rint(shares * (size - 1)).astype(int), return_index=True)
    losses = position.curves[group][first]
    gone = int(position.counts[group])
    edge, largest = float(np.sqrt(gone / size)), float(losses[0])
    return Cut(
        traced(np.sqrt((ranks + 0.5) / size), 1 - losses / top, filled=True),
        placed(edge),
        round(1000 * edge),
        f"{count(gone)} of {of_rows(size)} left out ({percent(gone / size)})",
        f"up to {number(largest)} \N{UPWARDS ARROW}" if largest > top else "",
    )


@dataclass(frozen=True)
class Tendency:
    """How wrong fits are on rows that they have not seen, by the share of rows left out."""

    all_rows: str
    kept_rows: str
    across: list[Tick]
    up: list[Tick]
    marks: list[tuple[str, str, str]]
    """By position: how far to the right, and the heights of the two lines there."""
    is_right: bool
    """Whether there is no room for words to the right of the audit's choice."""


def tendency(report: AuditReport) -> Tendency:
    """Return the two lines, and where each position is on them."""
    positions, is_share = report.walk.positions, bool(report.fitted.classes)
    x = np.array([it.share for it in positions])
    errors = np.array([[it.error, it.kept_error] for it in positions])
    high = float(errors.max()) * 1.08 or 1.0
    low = float(errors.min())
    low = 0.0 if low < 0.6 * high else low - 0.5 * (high - low)
    width = float(x.max()) or 1.0
    across, height = x / width, 1 - (errors - low) / (high - low)
    right, up = round_steps(0.0, width), round_steps(low, high, 4)
    return Tendency(
        traced(across, height[:, 0]),
        traced(across, height[:, 1]),
        ticks([it / width for it in right], [f"{100 * it:g}%" for it in right]),
        ticks(
            [1 - (it - low) / (high - low) for it in up],
            [f"{100 * it:.10g}%" if is_share else number(it) for it in up],
        ),
        [
            (placed(a), placed(b), placed(c))
            for a, (b, c) in zip(across.tolist(), height.tolist(), strict=True)
        ],
        bool(across[report.walk.chosen] > 0.6),
    )


class Stage(NamedTuple):
    """What the page says at a position."""

    share: str
    dropped: int
    rows: str
    error: str
    kept_error: str


def stages(report: AuditReport) -> list[Stage]:
    """Return what the page says at each position."""
    write = percent if report.fitted.classes else number
    return [
        Stage(
            percent(it.share),
            int(it.counts.sum()),
            of_rows(int(it.counts.sum())),
            write(it.error),
            write(it.kept_error),
        )
        for it in report.walk.positions
    ]
