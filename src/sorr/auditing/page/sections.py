"""The sections of the page: chips, what was learned, how sure it is, and who is affected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.auditing.page.figures import placed, round_steps
from sorr.auditing.page.words import aligned, count, number, percent, short
from sorr.auditing.report import AuditReport
from sorr.auditing.suspects import Stratum
from sorr.auditing.variations import Variations
from sorr.share import Tier

# Of the coefficients and errors.
_FIRST, _MAX_COEFFICIENTS = 12, 60  # shown at first, and in all, for one class
_MAX_ALL_COEFFICIENTS = 480  # of all classes together
_MAX_CLASSES = 10  # in a matrix; of more classes, the pairs that are confused most are listed
_MAX_PAIRS = 15
_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
# Of the first screen, the groups and the repetitions.
_MAX_CHIPS = 2  # findings that have a chip of their own
_OFTEN = 0.5  # of the fits to halves of the rows
_MAX_GROUPS = 24  # lines of a table


# -- The first screen ------------------------------------------------------------------------------


class Chip(NamedTuple):
    """A number, what it counts, and where it leads: to cards of a tier, or to a section."""

    number: str
    text: str
    tier: int
    link: str


def chips(report: AuditReport) -> list[Chip]:
    """Return what was found in a few words: tiers, findings, and columns that were skipped."""
    found = [
        Chip(count(rows), Tier(tier).label, tier, "")
        for tier, rows in sorted(report.tiers.items(), reverse=True)
        if rows
    ]
    for finding in report.findings[:_MAX_CHIPS]:
        name = short(finding.name, 40)
        is_counted = len(finding.rows) > 1 and name.startswith(
            ("Rows ", "Exact ", "Near ", "Copies ")
        )
        rows = count(len(finding.rows)) if is_counted else ""
        found.append(Chip(rows, f"{name[0].lower()}{name[1:]}" if rows else name, 0, "findings"))
    if (more := len(report.findings) - _MAX_CHIPS) > 0:
        found.append(Chip(count(more), f"more finding{'s' * (more > 1)}", 0, "findings"))
    if report.warnings:
        n = len(report.warnings)
        found.append(Chip(count(n), f"warning{'s' * (n > 1)}", 0, "whom"))
    skipped = [it.name for it in report.rows.columns if not it.is_learned_from]
    if skipped:
        n = len(skipped)
        text = f"column{'s' * (n > 1)} skipped"
        named = f"{text}: {short(skipped[0], 24)}" if n == 1 else text
        found.append(Chip(count(n), named, 0, "columns"))
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


# -- How sure it is, and who is affected -----------------------------------------------------------


def held_out(report: AuditReport) -> str:
    """Return how often predictions err on rows that the model has not seen, in words."""
    plain, robust = report.errors
    kept = "On held-out rows that are kept" if report.n_dropped else "On held-out rows"
    if report.fitted.classes:
        error = percent(plain if robust is None else robust)
        text = f"{kept}, {error} of the predictions are wrong"
    else:
        error = number(plain if robust is None else robust)
        text = f"{kept}, predictions are off by {error} on average"
    if robust is None or not report.n_dropped:
        return f"{text}."
    other = percent(plain) if report.fitted.classes else f"by {number(plain)}"
    return f"{text}; with a model that learns from all rows, {other}."


def planted(report: AuditReport) -> str:
    """Return how many labels that were made wrong on purpose were found, in words."""
    if (known := report.planted) is None:
        return ""
    right = known.dropped - known.found
    ending = (
        f"{right} of the dropped rows have a right label" if right else "no right label was dropped"
    )
    return (
        f"This is an example: {known.wrong} of its labels were made wrong on purpose. "
        f"{known.found} of them were found, and {ending}."
    )


def _often(report: AuditReport, linear: Variations) -> int:
    """Return how many dropped rows at least half of the other fits drop too."""
    return int((linear.resamples.dropped[report.fitted.dropped] >= _OFTEN).sum())


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
    return Estimates(parts, f"0 to {100 * scale:g}\N{NO-BREAK SPACE}%")


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
    axis = f"0 to {100 * scale:g}\N{NO-BREAK SPACE}%"
    return Group(short(name, 60), parts, placed(whole / scale), axis, len(strata) - len(shown))
