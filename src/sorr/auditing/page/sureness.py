"""The main figures, how sure they are, and whom they concern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sorr.auditing.judgement import Stratum
from sorr.auditing.page.axes import Tick, placed, round_steps, ticks
from sorr.auditing.page.words import count, number, of_rows, percent, short
from sorr.auditing.report import AuditReport

__all__ = [
    "Estimate",
    "Estimates",
    "Group",
    "Repeats",
    "Tile",
    "deck",
    "estimates",
    "groups",
    "headline",
    "repeats",
    "tiles",
]

_LIKELY = 2.0  # standard errors within which a difference may be chance
_VALIDATED = 12_500  # rows that errors are measured on, at most
_OFTEN = 0.5  # of the fits to halves of the rows
_COLUMN = 0.024  # of the width: a dot of a dot plot
_MOST_GROUPS = 24  # lines of a table


class Tile(NamedTuple):
    """A figure, what it is, and a remark."""

    value: str
    name: str
    remark: str


def headline(report: AuditReport) -> str:
    """Return what was found, in a line."""
    out, whole = len(report.order), len(report.rows)
    if not out:
        return f"None of the {of_rows(whole)} is left out"
    verb = "does" if out == 1 else "do"
    return f"{count(out)} of {of_rows(whole)} {verb} not go with the others"


def deck(report: AuditReport) -> str:
    """Return what was audited and what the suspects do to a model, in two sentences."""
    rows, (plain, robust) = report.rows, report.errors
    target, columns = short(rows.roles.target, 60), len(rows.frame.columns)
    learned = f"learned from {columns:,} column{'s' * (columns > 1)}"
    classes = len(report.fitted.classes)
    if classes:
        opening = f"The target is “{target}” with {classes} classes, {learned}."
        errs, other = f"is wrong about {percent(robust)}", f"about {percent(plain)}"
    else:
        opening = f"The target is the number “{target}”, {learned}."
        errs, other = f"is off by {number(robust)} on average", f"by {number(plain)}"
    if not len(report.order):
        return (
            f"{opening} The model {errs}{' of the rows' if classes else ','} that it has not seen."
        )
    tested = "of the rows" if classes else "on rows"
    return (
        f"{opening} A model that leaves the suspects out {errs} {tested} that the audit keeps and "
        f"the model has not seen; one that learns from all rows, {other}."
    )


def tiles(report: AuditReport) -> list[Tile]:
    """Return the main figures."""
    out, whole = len(report.order), len(report.rows)
    columns = len(report.rows.frame.columns)
    found = [
        Tile(count(whole), "rows audited", f"with {columns:,} column{'s' * (columns > 1)}"),
        Tile(count(out), "suspect" + "s" * (out != 1), f"{percent(out / whole)} of all rows"),
        _harm(report),
        _steadiness(report),
    ]
    if (planted := report.planted) is not None:
        right = planted.suspects - planted.found
        found.append(
            Tile(
                f"{planted.found} of {planted.wrong}",
                "labels that were made wrong on purpose were found",
                f"{right} of the suspects carry a right label"
                if right
                else "and no right one was suspected",
            )
        )
    return found


def _steadiness(report: AuditReport) -> Tile:
    shares = report.resamples.shares
    steady, out = _often(report), len(report.order)
    if out and _is_given(report):
        name = f"suspects that at least half of {len(shares)} other fits leave out"
        return Tile(f"{count(steady)} of {count(out)}", name, "each to a random half of the rows")
    low, high = percent(float(shares.min())), percent(float(shares.max()))
    return Tile(
        low if low == high else f"{low} to {high}",
        f"left out by {len(shares)} fits to random halves",
        f"{count(steady)} of {count(out)} suspects by at least half of these fits"
        if out
        else "the audit leaves out none",
    )


def _often(report: AuditReport) -> int:
    """Return how many suspects most other fits leave out too."""
    return int((report.resamples.dropped[report.order] >= _OFTEN).sum())


def _is_given(report: AuditReport) -> bool:
    """Tell whether it was given how many rows to leave out."""
    return bool(report.fitted.m != "auto")


def _harm(report: AuditReport) -> Tile:
    plain, robust = report.errors
    is_share = bool(report.fitted.classes)
    write = percent if is_share else number
    name = "held-out error, plain \N{RIGHTWARDS ARROW} robust fit"
    if not len(report.order):
        return Tile(write(robust), "held-out error", "both fits are the same")
    rows = min(int((~report.fitted.dropped).sum()), _VALIDATED)
    chance = _LIKELY * np.sqrt((plain + robust) / rows)
    remark = "on rows that the audit keeps"
    if is_share and abs(plain - robust) <= chance:
        remark += "; so small a difference may be chance"
    return Tile(f"{write(plain)} \N{RIGHTWARDS ARROW} {write(robust)}", name, remark)


class Estimate(NamedTuple):
    """How many rows of a class, or of all, seem wrong."""

    name: str
    rows: str
    rate: str
    interval: str
    bound: str | None
    """What no model denies, where that is known."""
    left_out: str
    bar: tuple[str, str, str, str]
    """Where the interval begins, its width, the estimate, and the share left out, in percent."""


@dataclass(frozen=True)
class Estimates:
    """How many rows seem wrong, by class if there are any."""

    parts: list[Estimate]
    axis: str
    """From where to where the bars reach."""
    regime: str


def estimates(report: AuditReport) -> Estimates | None:
    """Return how many rows seem wrong, where that is estimated."""
    share, fitted = report.judgement.share, report.fitted
    if share is None:
        return None
    names = [short(name, 40) for name in fitted.classes] or ["all rows"]
    sizes = np.bincount(fitted.strata)
    gone = np.bincount(fitted.strata, fitted.dropped)
    rates = np.nan_to_num(np.atleast_1d(share.rate_))
    ends = np.nan_to_num(np.reshape(share.interval_, (-1, 2)))
    bounds = getattr(share, "upper_bound_", [None] * len(names))
    scale = _rounded(max(ends.max(), rates.max(), (gone / sizes).max()))
    parts = [
        Estimate(
            name,
            count(size),
            percent(rate),
            f"{percent(low)} to {percent(high)}",
            None if bound is None else percent(float(bound)),
            f"{count(out)} ({percent(out / size)})",
            (
                placed(low / scale),
                placed(max(high - low, 0.0) / scale),
                placed(rate / scale),
                placed(out / size / scale),
            ),
        )
        for name, size, rate, (low, high), bound, out in zip(
            names, sizes.tolist(), rates.tolist(), ends.tolist(), bounds, gone.tolist(), strict=True
        )
    ]
    return Estimates(parts, f"0 to {100 * scale:g}%", f"{_capital(share.regime_.sentence)}.")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _rounded(share: float) -> float:
    """Return the end of an axis that has room for a share."""
    steps = round_steps(0.0, float(share) or 0.1, 4)
    return min(steps[-1] + (steps[1] - steps[0]) * (steps[-1] < share), 1.0)


@dataclass(frozen=True)
class Repeats:
    """What fits to halves of the rows leave out: how much, as a dot plot, where they decide it."""

    fits: int
    text: str
    dots: list[tuple[str, int]]
    """How far to the right, and how many dots are below it."""
    highest: int
    chosen: str
    is_right: bool
    """Whether there is no room for words to the right of the audit's share."""
    across: list[Tick]


def repeats(report: AuditReport) -> Repeats:
    """Return the shares that fits to halves of the rows leave out."""
    shares = np.sort(report.resamples.shares)
    chosen, out = len(report.order) / len(report.rows), len(report.order)
    opening = (
        f"{len(shares)} times the model was fitted again, each time to a random half of the rows."
    )
    closing = (
        f" {count(_often(report))} of {count(out)} suspects are left out by half of them or more."
    )
    closing = closing if out else ""
    if _is_given(report):
        told = opening + closing if out else ""  # nothing else could be left out
        return Repeats(len(shares), told, [], 0, "", False, [])
    width = max(float(shares.max()), chosen) * 1.08 or 0.1
    columns = np.rint(shares / width / _COLUMN).astype(int).tolist()
    dots = [(placed(it * _COLUMN), columns[:i].count(it)) for i, it in enumerate(columns)]
    low, middle, high = (percent(float(it)) for it in np.quantile(shares, [0.1, 0.5, 0.9]))
    right = round_steps(0.0, width)
    return Repeats(
        len(shares),
        f"{opening} Half of these fits leave out {middle} of all rows or less, eight in ten "
        f"between {low} and {high}; the audit leaves out {percent(chosen)}.{closing}",
        dots,
        max(below for _, below in dots),
        placed(chosen / width),
        chosen / width > 0.6,
        ticks([it / width for it in right], [f"{100 * it:g}%" for it in right]),
    )


class Group(NamedTuple):
    """How many rows are left out of the parts of the table that a column makes."""

    name: str
    parts: list[tuple[str, str, str, str, str]]
    """Name, rows, rows left out, their share, and the bar of that share."""
    average: str
    """Where the share of all rows is on the axis of the bars."""
    axis: str
    more: int


def groups(report: AuditReport) -> list[Group]:
    """Return how many rows are left out, by class and by group."""
    whole = len(report.order) / len(report.rows)
    return [_group(name, strata, whole) for name, strata in report.strata.items()]


def _group(name: str, strata: list[Stratum], whole: float) -> Group:
    scale = _rounded(max([whole, *(it.share for it in strata)]))
    shown = strata
    if len(strata) > _MOST_GROUPS:
        shown = sorted(strata, key=lambda it: -it.share)[:_MOST_GROUPS]
    parts = [
        (
            short(it.name, 48),
            count(it.rows),
            count(it.dropped),
            percent(it.share),
            placed(it.share / scale),
        )
        for it in shown
    ]
    axis = f"0 to {100 * scale:g}%"
    return Group(short(name, 60), parts, placed(whole / scale), axis, len(strata) - len(shown))
