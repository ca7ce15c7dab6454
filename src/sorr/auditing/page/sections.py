"""The sections of the page: suspects, what was learned, main figures, stability, and groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray, IntArray
from sorr.auditing.page.figures import (
    dropped_at,
    placed,
    positions_of,
    round_steps,
)
from sorr.auditing.page.words import (
    aligned,
    count,
    label,
    number,
    percent,
    short,
)
from sorr.auditing.report import AuditReport
from sorr.auditing.suspects import Stratum
from sorr.auditing.table import format_probability
from sorr.auditing.variations import Variations
from sorr.share import Tier, name_of

# Of the table of suspects.
_MAX_ROWS, _MIN_ROWS = 1000, 300
_MAX_VALUES = 12_000  # of all rows together, so that the page stays near a megabyte
_RESERVED = 4  # one row in this many is for rows that only other points of the sweep drop
_MAX_COLUMNS = 40  # of a row that are shown
_MAX_CELL, _MAX_REASON = 120, 600  # characters
# Of the coefficients and errors.
_FIRST, _MAX_COEFFICIENTS = 12, 60  # shown at first, and in all, for one class
_MAX_ALL_COEFFICIENTS = 480  # of all classes together
_MAX_CLASSES = 10  # in a matrix; of more classes, the pairs that are confused most are listed
_MAX_PAIRS = 15
_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
# Of the main figures and the groups.
_CHANCE = 2.0  # standard errors within which a difference may be chance
_MAX_VALIDATED_ROWS = 12_500  # rows that errors are measured on
_OFTEN = 0.5  # of the fits to halves of the rows
_MAX_GROUPS = 24  # lines of a table


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
    tier: str
    loss: str
    exact: dict[str, str]
    """Numbers to sort by, where the text is rounded."""
    probability: str | None
    often: str
    reason: str
    values: list[tuple[str, str]]
    at: str
    is_out: bool
    is_listed: bool
    """Whether the row is a suspect: others are only dropped at other points of the sweep."""


@dataclass(frozen=True)
class Listing:
    """The table of suspects."""

    columns: list[Column]
    rows: list[Suspect]
    is_short: str | None
    """What the table does not show, in words."""
    more_columns: int
    probability: str
    """The meaning of the tiers and probabilities, or why there are none."""


def listing(report: AuditReport) -> Listing:
    """Return the table: suspects first, then rows that other points of the sweep drop."""
    out, others = report.order, _others(report)
    most = _MAX_VALUES // min(len(report.rows.frame.columns), _MAX_COLUMNS)
    most = min(max(most, _MIN_ROWS), _MAX_ROWS)
    first = out[: most - min(len(others), most // _RESERVED)]
    then = others[: most - len(first)]
    return Listing(
        _columns(report),
        _suspects(report, np.concatenate([first, then])),
        _shortage(len(first), len(out), len(then), len(others)),
        max(len(report.rows.frame.columns) - _MAX_COLUMNS, 0),
        _origin(report),
    )


def _others(report: AuditReport) -> IntArray:
    """Return the rows that only other points of the sweep drop, in the order of the sweep."""
    dropped = np.array(dropped_at(report))
    rows = np.setdiff1d(np.flatnonzero(dropped.any(axis=0)), report.order)
    return rows[np.lexsort([report.ranking.rank[rows], dropped[:, rows].argmax(axis=0)])]


def _shortage(first: int, out: int, then: int, others: int) -> str | None:
    """Return what the table does not show, in words; None if it shows everything."""
    parts = []
    if first < out:
        parts.append(f"the {count(first)} most suspect of {count(out)} rows (suspects.csv has all)")
    if then < others:
        parts.append(
            f"{count(then)} of the {count(others)} rows that only other positions of the slider "
            "drop"
        )
    return f"The table shows {' and '.join(parts)}." if parts else None


def _origin(report: AuditReport) -> str:
    """Return the meaning of tiers and probabilities."""
    tiers = ", ".join(f"{int(tier)} {tier.label}" for tier in sorted(Tier)[:0:-1])
    if report.fitted.classes:
        return (
            f"Tiers: {tiers}. The probability that a label is wrong assumes that labels go wrong "
            "at a rate that depends only on the class."
        )
    return (
        f"Tiers: {tiers}. The probability that a target is wrong compares its error with those of "
        "other rows, whose tails may be heavy."
    )


def _columns(report: AuditReport) -> list[Column]:
    is_regression, is_linear = not report.fitted.classes, report.linear is not None
    found = [Column("rank", "Rank", True)]
    found += [Column("tier", "Tier", True)]
    found += [Column("state", "Here", True)] if is_linear else []
    found += [Column("row", "Row", True)]
    if report.rows.lines is not None:
        found.append(Column("line", "Line", True))
    if report.rows.ids is not None:
        found.append(Column("id", "Id", False))
    return [
        *found,
        Column("given", "Given", is_regression),
        Column("suggested", "Expected" if is_regression else "Suggested", is_regression),
        *([Column("loss", "Loss", True)] if is_linear else []),
        Column("probability", "Wrong?", True),
        *([Column("often", "How often", True)] if is_linear else []),
        Column("reason", "Why", False),
    ]


def _suspects(report: AuditReport, listed: IntArray) -> list[Suspect]:
    frame = report.describe(listed)
    names = list(report.rows.frame.columns)[:_MAX_COLUMNS]
    heads = [short(name, _MAX_CELL) for name in names]
    raw = report.rows.frame[names].iloc[listed]
    values = [raw[name].to_numpy(dtype=object) for name in names]
    is_linear = report.linear is not None
    at, ranks = positions_of(report, listed), report.ranking.rank[listed].tolist()
    losses = aligned(frame["loss"].tolist()) if is_linear else [""] * len(frame)
    found = []
    for i, it in enumerate(frame.itertuples(index=False)):
        probability = float(it.probability)
        exact = {"probability": probability}
        if is_linear:
            exact |= {"loss": it.loss, "often": it.dropped_share}
        if not report.fitted.classes:
            exact |= {"given": it.given, "suggested": it.suggested}
        found.append(
            Suspect(
                ranks[i],
                int(it.row),
                "" if it.line is None else str(it.line),
                "" if report.rows.ids is None else short(it.id, _MAX_CELL),
                label(it.given, _MAX_CELL),
                label(it.suggested, _MAX_CELL),
                str(it.tier),
                losses[i],
                {key: f"{value:.6g}" for key, value in exact.items() if value == value},
                format_probability(probability) or None,
                f"{it.dropped_share:.0%}" if is_linear else "",
                short(it.reason, _MAX_REASON),
                [
                    (head, short(column[i], _MAX_CELL))
                    for head, column in zip(heads, values, strict=True)
                ],
                at[i] or "",
                bool(it.dropped),
                bool(it.dropped) or bool(it.tier),
            )
        )
    return found


# -- The plain fit and the robust fit, side by side ------------------------------------------------


class Bar(NamedTuple):
    """A bar from zero, on an axis from -100 to 100."""

    start: float
    length: float


class Pair(NamedTuple):
    """A number of both fits."""

    name: str
    plain: str
    robust: str
    bars: tuple[Bar, Bar]
    is_first: bool


@dataclass(frozen=True)
class Slopes:
    """The coefficients of a class, or of the only output."""

    name: str
    pairs: list[Pair]
    left_out: int


class MatrixEntry(NamedTuple):
    """A number of a matrix, and the strength of its colour from 0 to 5."""

    text: str
    heat: int
    is_right: bool


@dataclass(frozen=True)
class Matrix:
    """A confusion matrix."""

    title: str
    rows: list[tuple[str, list[MatrixEntry]]]
    wrong: str


@dataclass(frozen=True)
class Learned:
    """The coefficients of both fits, and their errors on the kept rows.

    One of `matrices`, `confused` and `sizes` holds the errors. Without a linear model there are no
    coefficients, and the errors are those of one model, on rows that it has not seen.
    """

    slopes: list[Slopes]
    worst: int
    """The index of the slopes that differ most."""
    towards: str | None
    classes: list[str]
    matrices: list[Matrix]
    confused: list[tuple[str, str, list[str]]]
    sizes: list[Pair]


def learned(report: AuditReport) -> Learned:
    """Return what the plain fit and the robust fit learned, or how one model errs."""
    fitted, linear = report.fitted, report.linear
    classes = [short(name, 40) for name in fitted.classes]
    is_small = len(classes) <= _MAX_CLASSES
    slopes: list[Slopes] = []
    worst, titles, counts, sizes = 0, ["Held-out rows"], [], []
    if linear is None and classes:
        counts = [report.confusion()]
    elif linear is None:
        sizes = _sizes(report, [fitted.prediction])
    else:
        slopes, worst = _slopes(report, linear, classes)
        titles = ["Plain fit", "Robust fit"]
        if classes:
            counts = [report.confusion(it) for it in (linear.plain, fitted.model)]
        else:
            sizes = _sizes(report, [it.predict(fitted.X) for it in (linear.plain, fitted.model)])
    return Learned(
        slopes,
        worst,
        classes[1] if len(classes) == 2 else None,
        classes,
        [_matrix(*it, classes) for it in zip(titles, counts, strict=False)] if is_small else [],
        _confused(counts, classes) if counts and not is_small else [],
        sizes,
    )


def _weights(model: Any) -> FloatArray:
    """Return the coefficients of each class, the intercept last."""
    coef = np.atleast_2d(model.coef_)
    return np.column_stack([coef, np.broadcast_to(np.ravel(model.intercept_), len(coef))])


def _slopes(
    report: AuditReport, linear: Variations, classes: list[str]
) -> tuple[list[Slopes], int]:
    plain, robust = _weights(linear.plain), _weights(report.fitted.model)
    names = [*(short(it.label, 48) for it in report.fitted.sources), "(intercept)"]
    apart = np.abs(robust - plain)
    apart[:, -1] = 0.0  # the intercept comes last, because it belongs to no column
    shown = np.sort(
        np.argsort(-apart.max(axis=1), kind="stable")[: _MAX_ALL_COEFFICIENTS // _FIRST]
    )
    most = int(np.clip(_MAX_ALL_COEFFICIENTS // len(shown), _FIRST, _MAX_COEFFICIENTS))
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
    counts: list[npt.NDArray[np.int64]], classes: list[str]
) -> list[tuple[str, str, list[str]]]:
    most = np.max(counts, axis=0)
    np.fill_diagonal(most, 0)
    order = np.argsort(-most.ravel(), kind="stable")[:_MAX_PAIRS]
    pairs = [divmod(it, len(classes)) for it in order.tolist() if most.ravel()[it] > 0]
    return [(classes[i], classes[j], [count(it[i, j]) for it in counts]) for i, j in pairs]


def _sizes(report: AuditReport, predictions: list[npt.NDArray[Any]]) -> list[Pair]:
    """Return quantiles of the absolute errors of one fit or of two on the kept rows."""
    kept = ~report.fitted.dropped
    found = [np.quantile(np.abs(it - report.rows.y)[kept], _QUANTILES) for it in predictions]
    names = [f"{q:.0%} of the rows" if q < 1 else "all rows" for q in _QUANTILES]
    return _pairs(names, found[0], found[-1])


# -- Main figures, stability and groups ------------------------------------------------------------


class Tile(NamedTuple):
    """A figure, what it is, and a remark."""

    value: str
    name: str
    remark: str


def subtitle(report: AuditReport) -> str:
    """Return what was audited and the error of the model, in two sentences."""
    rows, (plain, robust) = report.rows, report.errors
    target, columns = short(rows.roles.target, 60), len(rows.frame.columns)
    learned = f"learned from {columns:,} column{'s' * (columns > 1)}"
    classes = len(report.fitted.classes)
    if robust is None and not classes:
        name = name_of(report.fitted.name)
        return (
            f"The target is the number “{target}”, {learned}. The model is {name}; on rows that it "
            f"has not seen, it is off by {number(plain)} on average, of those that are kept."
        )
    if robust is None:
        name = name_of(report.fitted.name)
        return (
            f"The target is “{target}” with {classes} classes, {learned}. The model is {name}; on "
            f"rows that it has not seen, it is wrong about {percent(plain)} of those that are kept."
        )
    if classes:
        opening = f"The target is “{target}” with {classes} classes, {learned}."
        errs, other = f"is wrong about {percent(robust)}", f"about {percent(plain)}"
    else:
        opening = f"The target is the number “{target}”, {learned}."
        errs, other = f"is off by {number(robust)} on average", f"by {number(plain)}"
    if not report.n_dropped:
        return f"{opening} The model {errs} {'of' if classes else 'on'} held-out rows."
    return (
        f"{opening} A model without the dropped rows {errs} {'of' if classes else 'on'} held-out "
        f"rows that the audit keeps; a model that learns from all rows, {other}."
    )


def tiles(report: AuditReport) -> list[Tile]:
    """Return the main figures."""
    out, whole = report.n_dropped, len(report.rows)
    columns, judgement = len(report.rows.frame.columns), report.fitted.judgement
    found = [
        Tile(count(whole), "rows audited", f"with {columns:,} column{'s' * (columns > 1)}"),
        Tile(count(out), "dropped row" + "s" * (out != 1), f"{percent(out / whole)} of all rows"),
    ]
    look = int((judgement.tier_ == Tier.WORTH_A_LOOK).sum())
    more = "more " * bool(judgement.flagged_.any())
    why = "the model would bet 9 to 1 against the label"
    if not report.fitted.classes:
        why = "the error is larger than any that is expected"
    evidence = f"evidence of wrong {judgement.noun}s"
    found += [
        Tile(count(look), f"{more}worth a look", why),
        Tile(judgement.verdict_, evidence, "none, weak, clear or strong"),
        _harm(report),
    ]
    if report.linear is not None and out:
        found.append(_steadiness(report, report.linear))
    if (planted := report.planted) is not None:
        right = planted.dropped - planted.found
        found.append(
            Tile(
                f"{planted.found} of {planted.wrong}",
                "labels made wrong on purpose were found",
                f"{right} of the dropped rows have a right label"
                if right
                else "no right label was dropped",
            )
        )
    return found


def _steadiness(report: AuditReport, linear: Variations) -> Tile:
    shares = linear.resamples.shares
    steady, out = _often(report, linear), report.n_dropped
    name = f"dropped rows that at least half of {len(shares)} other fits drop"
    return Tile(f"{count(steady)} of {count(out)}", name, "each to a random half of the rows")


def _often(report: AuditReport, linear: Variations) -> int:
    """Return how many dropped rows at least half of the other fits drop too."""
    return int((linear.resamples.dropped[report.fitted.dropped] >= _OFTEN).sum())


def _harm(report: AuditReport) -> Tile:
    plain, robust = report.errors
    is_share = bool(report.fitted.classes)
    write = percent if is_share else number
    name = "held-out error, plain \N{RIGHTWARDS ARROW} robust fit"
    if robust is None:
        return Tile(write(plain), "held-out error", "on rows that the audit keeps")
    if not report.n_dropped:
        return Tile(write(robust), "held-out error", "both fits are the same")
    rows = min(int((~report.fitted.dropped).sum()), _MAX_VALIDATED_ROWS)
    chance = _CHANCE * np.sqrt((plain + robust) / rows)
    remark = "on rows that the audit keeps"
    if is_share and abs(plain - robust) <= chance:
        remark += "; the difference may be chance"
    return Tile(f"{write(plain)} \N{RIGHTWARDS ARROW} {write(robust)}", name, remark)


class Estimate(NamedTuple):
    """How many rows of a class, or of all rows, look wrong."""

    name: str
    rows: str
    rate: str
    interval: str
    left_out: str
    bar: tuple[str, str, str, str]
    """The start and width of the interval, the estimate, and the dropped share, in percent."""


@dataclass(frozen=True)
class Estimates:
    """How many rows look wrong, by class if there are classes."""

    parts: list[Estimate]
    axis: str
    """The range of the bars."""


def estimates(report: AuditReport) -> Estimates | None:
    """Return how many rows look wrong, if there is evidence of it."""
    fitted, judgement = report.fitted, report.fitted.judgement
    if not judgement.has_evidence:
        return None
    rates, ends = np.atleast_1d(judgement.share_), np.reshape(judgement.share_interval_, (-1, 2))
    names = [short(name, 40) for name in fitted.classes] or ["all rows"]
    sizes = np.bincount(fitted.class_of_row)
    gone = np.bincount(fitted.class_of_row, fitted.dropped)
    scale = _rounded(max(ends.max(), rates.max(), (gone / sizes).max()))
    parts = [
        Estimate(
            name,
            count(size),
            percent(rate),
            f"{percent(low)} to {percent(high)}",
            f"{count(out)} ({percent(out / size)})",
            (
                placed(low / scale),
                placed(max(high - low, 0.0) / scale),
                placed(rate / scale),
                placed(out / size / scale),
            ),
        )
        for name, size, rate, (low, high), out in zip(
            names, sizes.tolist(), rates.tolist(), ends.tolist(), gone.tolist(), strict=True
        )
    ]
    return Estimates(parts, f"0 to {100 * scale:g}%")


def _rounded(share: float) -> float:
    """Return a round end of an axis that has room for a share."""
    steps = round_steps(0.0, float(share) or 0.1, 4)
    return min(steps[-1] + (steps[1] - steps[0]) * (steps[-1] < share), 1.0)


def repeats(report: AuditReport, linear: Variations) -> str:
    """Return how many dropped rows fits to halves of the rows drop too, in words."""
    shares, out = linear.resamples.shares, report.n_dropped
    if not out:
        return ""  # nothing else could be dropped
    return (
        f"The model was fitted {len(shares)} more times, each time to a random half of the rows. "
        f"At least half of these fits drop {count(_often(report, linear))} of the {count(out)} "
        "rows that the audit drops."
    )


class Group(NamedTuple):
    """How many rows of each class, or of each value of a group column, are dropped."""

    name: str
    parts: list[tuple[str, str, str, str, str]]
    """Name, rows, dropped rows, their share, and the length of its bar."""
    average: str
    """The place of the share of all rows on the axis of the bars."""
    axis: str
    more: int


def groups(report: AuditReport) -> list[Group]:
    """Return how many rows are dropped, by class and by group."""
    whole = report.n_dropped / len(report.rows)
    return [_group(name, strata, whole) for name, strata in report.strata.items()]


def _group(name: str, strata: list[Stratum], whole: float) -> Group:
    scale = _rounded(max([whole, *(it.share for it in strata)]))
    shown = strata
    if len(strata) > _MAX_GROUPS:
        shown = sorted(strata, key=lambda it: -it.share)[:_MAX_GROUPS]
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
