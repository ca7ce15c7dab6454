"""The table of suspects: rows that are left out, by the audit or at another position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray, IntArray
from sorr.auditing.findings import Stratum
from sorr.auditing.page.figures import Tick, placed, positions_of, round_steps, ticks
from sorr.auditing.page.words import (
    aligned,
    count,
    count_rows,
    label,
    number,
    percent,
    probability,
    short,
)
from sorr.auditing.report import AuditReport

__all__ = [
    "Bar",
    "Column",
    "Estimate",
    "Estimates",
    "Group",
    "Learned",
    "Listing",
    "Matrix",
    "Pair",
    "Repeats",
    "Slopes",
    "Suspect",
    "Tile",
    "estimates",
    "groups",
    "headline",
    "learned",
    "listing",
    "repeats",
    "subtitle",
    "tiles",
]

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
    dropped = np.array([it.dropped for it in report.sweep.points])
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


# -- What the plain fit learned and what the robust fit learned, side by side ----------------------


_FIRST, _MOST = 12, 60  # coefficients that are shown at once, and at all
_ALTOGETHER = 480  # coefficients of all classes together
_MOST_CLASSES = 10  # in a matrix: more are listed as the pairs that are confused most
_MOST_PAIRS = 15
_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)


class Bar(NamedTuple):
    """A bar from zero, on an axis from -100 to 100."""

    start: float
    length: float


class Pair(NamedTuple):
    """A number of either fit."""

    name: str
    plain: str
    robust: str
    bars: tuple[Bar, Bar]
    is_first: bool


@dataclass(frozen=True)
class Slopes:
    """The coefficients of a class, or of all there is."""

    name: str
    pairs: list[Pair]
    left_out: int


class MatrixEntry(NamedTuple):
    """A number of a matrix, and how strongly it is coloured: from 0 to 5."""

    text: str
    heat: int
    is_right: bool


@dataclass(frozen=True)
class Matrix:
    """How many rows of each class are taken for which."""

    title: str
    rows: list[tuple[str, list[MatrixEntry]]]
    wrong: str


@dataclass(frozen=True)
class Learned:
    """What two fits learned.

    One of `matrices`, `confused` and `sizes` says how wrong they are on the rows that are kept.
    """

    slopes: list[Slopes]
    worst: int
    """Which slopes differ most."""
    towards: str | None
    classes: list[str]
    matrices: list[Matrix]
    confused: list[tuple[str, str, str, str]]
    sizes: list[Pair]


def learned(report: AuditReport) -> Learned:
    """Return what the plain and the robust fit learned."""
    fitted = report.fitted
    classes = [short(name, 40) for name in fitted.classes]
    slopes, worst = _slopes(report, classes)
    counts = [report.confusion(it) for it in (report.plain, fitted.model)] if classes else []
    is_small = len(classes) <= _MOST_CLASSES
    return Learned(
        slopes,
        worst,
        classes[1] if len(classes) == 2 else None,
        classes,
        [_matrix(*it, classes) for it in zip(("Plain fit", "Robust fit"), counts, strict=False)]
        if is_small
        else [],
        _confused(counts[0], counts[1], classes) if classes and not is_small else [],
        [] if classes else _sizes(report),
    )


def _weights(model: Any) -> FloatArray:
    """Return the coefficients of each class, the intercept last."""
    coef = np.atleast_2d(model.coef_)
    return np.column_stack([coef, np.broadcast_to(np.ravel(model.intercept_), len(coef))])


def _slopes(report: AuditReport, classes: list[str]) -> tuple[list[Slopes], int]:
    plain, robust = _weights(report.plain), _weights(report.fitted.model)
    names = [*(short(it.label, 48) for it in report.fitted.sources), "(intercept)"]
    apart = np.abs(robust - plain)
    apart[:, -1] = 0.0  # the intercept comes last: it belongs to no column
    shown = np.sort(np.argsort(-apart.max(axis=1), kind="stable")[: _ALTOGETHER // _FIRST])
    most = int(np.clip(_ALTOGETHER // len(shown), _FIRST, _MOST))
    found = []
    for i in shown.tolist():
        order = np.argsort(-apart[i], kind="stable")[:most]
        name = classes[i] if len(plain) > 1 else ""
        texts = [names[j] for j in order.tolist()]
        pairs = _pairs(texts, plain[i][order], robust[i][order])
        found.append(Slopes(name, pairs, len(names) - len(pairs)))
    return found, int(apart[shown].max(axis=1).argmax())


def _pairs(names: list[str], plain: FloatArray, robust: FloatArray) -> list[Pair]:
    scale = max(float(np.abs(plain).max()), float(np.abs(robust).max())) or 1.0
    texts = aligned([*plain.tolist(), *robust.tolist()])
    return [
        Pair(name, *pair, (_bar(a / scale), _bar(b / scale)), i < _FIRST)
        for i, (name, pair, a, b) in enumerate(
            zip(names, zip(texts, texts[len(names) :], strict=False), plain, robust, strict=True)
        )
    ]


def _bar(size: float) -> Bar:
    length = round(100 * float(size), 1)
    return Bar(min(length, 0.0), abs(length))


def _matrix(title: str, counts: npt.NDArray[np.int64], classes: list[str]) -> Matrix:
    of_row = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    rows = []
    for i, name in enumerate(classes):
        cells = [
            MatrixEntry(count(int(counts[i, j])), int(np.ceil(5 * of_row[i, j] ** 0.5)), i == j)
            for j in range(len(classes))
        ]
        rows.append((name, cells))
    wrong, whole = int(counts.sum() - np.trace(counts)), int(counts.sum())
    return Matrix(title, rows, f"{count(wrong)} wrong ({percent(wrong / max(whole, 1))})")


def _confused(
    plain: npt.NDArray[np.int64], robust: npt.NDArray[np.int64], classes: list[str]
) -> list[tuple[str, str, str, str]]:
    most = np.maximum(plain, robust)
    np.fill_diagonal(most, 0)
    order = np.argsort(-most.ravel(), kind="stable")[:_MOST_PAIRS]
    pairs = [divmod(it, len(classes)) for it in order.tolist() if most.ravel()[it] > 0]
    return [(classes[i], classes[j], count(plain[i, j]), count(robust[i, j])) for i, j in pairs]


def _sizes(report: AuditReport) -> list[Pair]:
    """Return quantiles of what the fits are wrong by, on the rows that are kept."""
    kept = ~report.fitted.dropped
    X, y = report.fitted.X[kept], report.rows.y[kept]
    plain, robust = (
        np.quantile(np.abs(it.predict(X) - y), _QUANTILES)
        for it in (report.plain, report.fitted.model)
    )
    names = [f"{q:.0%} of the rows" if q < 1 else "all rows" for q in _QUANTILES]
    return _pairs(names, plain, robust)


# -- The main figures, how sure they are, and whom they concern ------------------------------------


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
        return f"None of the {count_rows(whole)} is left out"
    verb = "does" if out == 1 else "do"
    return f"{count(out)} of {count_rows(whole)} {verb} not go with the others"


def subtitle(report: AuditReport) -> str:
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
    sizes = np.bincount(fitted.class_of_row)
    gone = np.bincount(fitted.class_of_row, fitted.dropped)
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
