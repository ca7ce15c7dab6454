"""The figures of the page: axes, ranked losses, validated errors, and all rows on a plane.

Positions are shares of the frame: of its width from the left, of its height from the top. So text
keeps its size on a page of any width. Lines are in thousandths, and stretch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.decomposition import PCA, TruncatedSVD

from sorr._typing import BoolArray, FloatArray, IntArray
from sorr.auditing.page.words import count, count_rows, label, number, percent, short
from sorr.auditing.report import AuditReport
from sorr.auditing.variations import Sweep, SweepPoint

FRAME = 1000  # units of a line on either axis
_BEYOND = 12  # units by which a line goes on outside of the frame, so that its end is hidden
_TOLERANCE = 0.7  # units by which a line may miss a point: less than a pixel


class Tick(NamedTuple):
    """A mark on an axis."""

    at: str
    """Its position in percent of the frame."""
    text: str


def placed(share: float) -> str:
    """Return a share of the frame in percent, as in SVG."""
    return f"{100 * share:.1f}".removesuffix(".0") + "%"


def round_steps(low: float, high: float, most: int = 6) -> list[float]:
    """Return evenly spaced round numbers between two ends, at least two if the ends differ.

    Examples
    --------
    >>> round_steps(0.0, 9.3)
    [0.0, 2.0, 4.0, 6.0, 8.0]
    """
    if not high > low:
        return [low]
    rough = (high - low) / most
    size = 10.0 ** np.floor(np.log10(rough))
    step = size * next(it for it in (1, 2, 2.5, 5, 10) if it * size >= rough * (1 - 1e-9))
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    return [float(f"{i * step:.10g}") + 0.0 for i in np.arange(first, last + 1)]


def ticks(places: Sequence[float], texts: Sequence[str]) -> list[Tick]:
    """Return the marks that are inside the frame."""
    pairs = zip(places, texts, strict=True)
    return [Tick(placed(place), text) for place, text in pairs if -1e-9 <= place <= 1 + 1e-9]


def svg_path(x: FloatArray, y: FloatArray, *, filled: bool = False) -> str:
    """Return the line through points of the frame as an SVG path.

    A filled path closes around the area below; its edges are outside of the frame.
    """
    points = np.column_stack([x, np.clip(y, -_BEYOND / FRAME, 1.0)]) * FRAME
    points = points[_needed(points)]
    pairs = [(int(px), int(py)) for px, py in np.rint(points).tolist()]
    if filled:
        left, right, floor = -_BEYOND, FRAME + _BEYOND, FRAME + _BEYOND
        pairs = [(left, floor), (left, pairs[0][1]), *pairs, (right, pairs[-1][1]), (right, floor)]
    return "M" + "L".join(f"{px} {py}" for px, py in dict.fromkeys(pairs)) + "Z" * filled


def _needed(points: FloatArray) -> npt.NDArray[np.intp]:
    """Return the points that a line needs to look the same (Douglas and Peucker, 1973)."""
    keep = np.zeros(len(points), dtype=bool)
    keep[[0, -1]] = True
    pending = [(0, len(points) - 1)]
    while pending:
        first, last = pending.pop()
        if last - first < 2:
            continue
        start, way = points[first], points[last] - points[first]
        off = points[first + 1 : last] - start
        length = float(np.hypot(*way))
        gap = (
            np.abs(way[0] * off[:, 1] - way[1] * off[:, 0]) / length
            if length
            else np.hypot(off[:, 0], off[:, 1])
        )
        worst = int(gap.argmax())
        if gap[worst] > _TOLERANCE:
            middle = first + 1 + worst
            keep[middle] = True
            pending += [(first, middle), (middle, last)]
    return np.flatnonzero(keep)


# -- Ranked losses and validated errors, at each point of the sweep --------------------------------


_MAX_PANELS = 12
_TICKS = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0)  # shares of a class
_NARROW_TICKS = (0.0, 0.01, 0.1, 0.25, 0.5, 1.0)  # the same, in a narrow panel
_MAX_HEIGHT = 8.0  # times the loss at the cut, where the frame ends


class Cut(NamedTuple):
    """The curve of a class and its cut, at a point of the sweep."""

    path: str
    at: str
    """The position of the cut, in percent of the frame."""
    width: int
    """The same in units of the path."""
    text: str
    beyond: str
    """The largest loss, if it is above the frame."""


@dataclass(frozen=True)
class Panel:
    """The losses of the rows that are ranked together: of dropped rows, then of kept ones."""

    name: str
    across: list[Tick]
    up: list[Tick]
    cuts: list[Cut]


def panels(report: AuditReport, sweep: Sweep) -> tuple[list[Panel], int]:
    """Return a panel for each class, or one for all rows, and the number of classes without one.

    Of many classes, those with the most dropped rows have a panel.
    """
    fitted = report.fitted
    sizes = np.bincount(fitted.groups)
    names = [short(name, 40) for name in fitted.classes] if len(sizes) > 1 else ["all rows"]
    chosen = np.sort(np.argsort(-sweep.points[sweep.chosen].counts, kind="stable")[:_MAX_PANELS])
    top = _top(sweep.points[sweep.chosen])
    up, marked = round_steps(0.0, top, 4), _TICKS if len(sizes) < 3 else _NARROW_TICKS
    found = [
        Panel(
            names[group],
            ticks([it**0.5 for it in marked], [f"{100 * it:g}%" for it in marked]),
            ticks([1 - it / top for it in up], [number(it) for it in up]),
            [_cut(it, group, int(sizes[group]), sweep.shares, top) for it in sweep.points],
        )
        for group in chosen.tolist()
    ]
    return found, len(sizes) - len(found)


def _top(position: SweepPoint) -> float:
    """Return the loss at the upper edge: the largest, unless a few rows exceed all others."""
    largest = float(position.curves.max())
    cuts = position.cuts[np.isfinite(position.cuts)]
    typical = (
        float(cuts.max()) if len(cuts) else float(np.sort(position.curves.ravel())[-12:].min())
    )
    return min(largest, _MAX_HEIGHT * typical) * 1.05 or 1.0


def _cut(position: SweepPoint, group: int, size: int, shares: FloatArray, top: float) -> Cut:
    ranks, first = np.unique(np.rint(shares * (size - 1)).astype(int), return_index=True)
    losses = position.curves[group][first]
    gone = int(position.counts[group])
    edge, largest = float(np.sqrt(gone / size)), float(losses.max())
    return Cut(
        svg_path(np.sqrt((ranks + 0.5) / size), 1 - losses / top, filled=True),
        placed(edge),
        round(1000 * edge),
        f"{count(gone)} of {count_rows(size)} dropped ({percent(gone / size)})",
        f"up to {number(largest)} \N{UPWARDS ARROW}" if largest > top else "",
    )


@dataclass(frozen=True)
class Tendency:
    """The error on held-out rows, by the share of dropped rows."""

    all_rows: str
    kept_rows: str
    across: list[Tick]
    up: list[Tick]
    marks: list[tuple[str, str, str]]
    """For each point: its place from the left, and the heights of the two lines there."""
    is_right: bool
    """Whether a label has to stand to the left of the audit's choice."""


def tendency(sweep: Sweep, is_share: bool) -> Tendency:
    """Return the two lines, and the place of each point on them."""
    positions = sweep.points
    x = np.array([it.share for it in positions])
    errors = np.array([[it.error, it.kept_error] for it in positions])
    high = float(errors.max()) * 1.08 or 1.0
    low = float(errors.min())
    low = 0.0 if low < 0.6 * high else low - 0.5 * (high - low)
    width = float(x.max()) or 1.0
    across, height = x / width, 1 - (errors - low) / (high - low)
    right, up = round_steps(0.0, width), round_steps(low, high, 4)
    return Tendency(
        svg_path(across, height[:, 0]),
        svg_path(across, height[:, 1]),
        ticks([it / width for it in right], [f"{100 * it:g}%" for it in right]),
        ticks(
            [1 - (it - low) / (high - low) for it in up],
            [f"{100 * it:.10g}%" if is_share else number(it) for it in up],
        ),
        [
            (placed(a), placed(b), placed(c))
            for a, (b, c) in zip(across.tolist(), height.tolist(), strict=True)
        ],
        bool(across[sweep.chosen] > 0.6),
    )


class Stage(NamedTuple):
    """What the page says at a point of the sweep."""

    share: str
    dropped: int
    rows: str
    error: str
    kept_error: str


def stages(sweep: Sweep, is_share: bool) -> list[Stage]:
    """Return what the page says at each point."""
    write = percent if is_share else number
    return [
        Stage(
            percent(it.share),
            int(it.counts.sum()),
            count_rows(int(it.counts.sum())),
            write(it.error),
            write(it.kept_error),
        )
        for it in sweep.points
    ]


# -- All rows on a plane: the two directions in which the kept rows differ most --------------------


_MAX_DOTS = 1500
_MIN_SUSPECTS = 100  # dots that are suspects, if there are as many
_MAX_FIT_ROWS = 20_000  # rows that determine the directions
_MAX_DENSE_COLUMNS = 500  # of a sparse table that is made dense, so that it can be centred
_MAX_SPREADS = 8.0  # of a column: values beyond do not change the directions
_INNER = (
    0.05,
    0.95,
)  # quantiles of the kept rows; what is twice as far out is outside of the frame
_EDGE = 0.03  # of the frame, left free around the dots
_MIN_WEIGHT = 0.1  # of a column, relative to the most important one
_CELL = 0.03  # of the frame, within which rows are nearly alike
_MIN_PLACES = 0.2  # per row; with fewer places, rows that are nearly alike are spread too
_SPACING = 0.008  # of the frame, between rows that are alike
_ASPECT = 1.9  # width of the frame over its height
_COLUMNS_NAMED = 2  # to explain a direction
_MAX_KINDS = 10  # classes with a mark of their own


class Kind(NamedTuple):
    """Rows with a mark of their own."""

    name: str
    mark: int


class Dot(NamedTuple):
    """A row on the plane."""

    x: str
    y: str
    mark: int
    title: str
    at: str | None
    """1 or 0 for each point of the sweep: whether the row is dropped. None if it never is."""
    is_out: bool
    is_far: bool


@dataclass(frozen=True)
class Plane:
    """Rows on a plane, and how to read it."""

    dots: list[Dot]
    kinds: list[Kind]
    rows: int
    far: int
    right: str
    upward: str
    spread: str | None
    """The share of the variance of the kept rows that the plane shows."""
    alt: str


def plane(report: AuditReport) -> Plane:
    """Return the rows on the plane of the two directions in which the kept ones differ most."""
    dropped = report.fitted.dropped
    rows = _chosen(report)
    where, right, upward, spread = _directions(report, rows)
    kept = where[~dropped[rows]] if (~dropped[rows]).any() else where
    ends = np.array([_ends(axis) for axis in kept.T])
    low, width = ends[:, 0], ends[:, 1] - ends[:, 0]
    share = np.where(width > 0, (where - low) / np.where(width > 0, width, 1.0), 0.5)
    is_far = np.asarray(((share < 0) | (share > 1)).any(axis=1))
    share = _apart(np.clip(share, 0.0, 1.0))
    low, high = np.minimum(share.min(axis=0), 0.0), np.maximum(share.max(axis=0), 1.0)
    share = _EDGE + (1 - 2 * _EDGE) * (share - low) / (high - low)
    kinds, marks = _kinds(report)
    at = positions_of(report, rows)
    titles = _titles(report, rows)
    dots = [
        Dot(placed(x), placed(1 - y), int(mark), title, code, bool(out), bool(far))
        for (x, y), mark, title, code, out, far in zip(
            share.tolist(), marks[rows], titles, at, dropped[rows], is_far, strict=True
        )
    ]
    out = [dot for dot in dots if dot.is_out]
    alt = (
        f"{count(len(dots))} rows, one mark each. The {count(len(out))} dropped rows have a ring. "
        f"{count(int(is_far.sum()))} rows are outside of the frame and shown at its edge. "
        "The table of suspects lists the dropped rows."
    )
    return Plane(dots, kinds, len(report.rows), int(is_far.sum()), right, upward, spread, alt)


def _ends(values: FloatArray) -> tuple[float, float]:
    """Return the range of most rows, without those far from all others."""
    low, high = np.quantile(values, _INNER, method="nearest")
    near = values[(values >= 2 * low - high) & (values <= 2 * high - low)] if high > low else values
    return float(near.min()), float(near.max())


def _apart(where: FloatArray) -> FloatArray:
    """Spread rows that are alike around their common place, like seeds in a flower.

    If there are few places for many rows, rows that are nearly alike are spread too.
    """
    cells = np.floor(where / _CELL)
    if len(np.unique(cells, axis=0)) > _MIN_PLACES * len(where):
        cells = where.round(4)
    _, group, sizes = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    group = group.ravel()
    order = np.argsort(group, kind="stable")
    nth = np.empty(len(where))
    nth[order] = np.arange(len(where)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    middle = [np.bincount(group, axis)[group] / sizes[group] for axis in where.T]
    radius, angle = _SPACING * np.sqrt(nth), nth * np.pi * (3 - np.sqrt(5))
    across, up = radius * np.cos(angle), _ASPECT * radius * np.sin(angle)
    return np.column_stack([middle[0] + across, middle[1] + up])


def positions_of(report: AuditReport, rows: IntArray) -> list[str | None]:
    """Return 1 or 0 for each point, whether a row is dropped there; None if it never is."""
    dropped = np.array([it[rows] for it in dropped_at(report)]).T
    return ["".join("01"[out] for out in row) if any(row) else None for row in dropped.tolist()]


def dropped_at(report: AuditReport) -> list[BoolArray]:
    """Return which rows are dropped at each point of the sweep, or by the audit without one."""
    if report.linear is None:
        return [report.fitted.dropped]
    return [it.dropped for it in report.linear.sweep.points]


def _chosen(report: AuditReport) -> IntArray:
    """Return which rows are drawn. Suspects come last, so that nothing hides them.

    Of many rows, each kind gets its share, so that rings are as frequent as in the table. Suspects
    get more if they are few.
    """
    ever, n = np.any(dropped_at(report), axis=0), len(report.rows)
    out, never = report.order[report.fitted.dropped[report.order]], np.flatnonzero(~ever)
    others = np.flatnonzero(ever & ~report.fitted.dropped)
    if n > _MAX_DOTS:
        out = _evenly(out, max(_MAX_DOTS * len(out) // n, _MIN_SUSPECTS))
        others = _evenly(others, _MAX_DOTS * len(others) // n)
        never = _evenly(never, _MAX_DOTS - len(out) - len(others))
    return np.concatenate([never, others, out[::-1]])


def _evenly(rows: IntArray, most: int) -> IntArray:
    """Return at most `most` rows, evenly spaced: not random, so that the page is the same again."""
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).astype(np.intp)]


def _directions(report: AuditReport, rows: IntArray) -> tuple[FloatArray, str, str, str | None]:
    """Return the places of some rows, the meaning of both directions, and the variance shown."""
    X, kept = report.fitted.X, np.flatnonzero(~report.fitted.dropped)
    kept = _evenly(kept, _MAX_FIT_ROWS)
    labels = [short(source.label, 30) for source in report.fitted.sources]
    is_dense = not hasattr(X, "toarray") or X.shape[1] <= _MAX_DENSE_COLUMNS
    known, drawn = (_dense(X[it]) if is_dense else X[it] for it in (kept, rows))
    if is_dense:
        weight = _importance(report.fitted.line)
        known, drawn = np.clip(known, -_MAX_SPREADS, _MAX_SPREADS) * weight, drawn * weight
    wanted = min(2, *known.shape)
    model = PCA(wanted) if is_dense else TruncatedSVD(wanted, random_state=0)
    with np.errstate(invalid="ignore", divide="ignore"):  # all rows may be alike, with no variance
        model.fit(known)
    where = np.zeros((len(rows), 2))
    where[:, :wanted] = model.transform(drawn)
    texts = [_meaning(direction, labels) for direction in model.components_]
    if wanted < 2:
        where[:, 1] = np.arange(len(rows)) * 0.618 % 1.0  # spread vertically, to avoid overlap
        return where, texts[0], "no meaning, because there is only one column", None
    explained = float(np.nansum(model.explained_variance_ratio_))
    return where, texts[0], texts[1], percent(min(explained, 1.0))


def _dense(rows: Any) -> FloatArray:
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)


def _importance(model: Any) -> FloatArray:
    """Return the weight of each column: its importance in a linear model, and a little."""
    size = np.sqrt((np.atleast_2d(model.coef_) ** 2).sum(axis=0))
    return np.asarray(_MIN_WEIGHT + np.sqrt(size / (size.max() or 1.0)))


def _meaning(direction: FloatArray, labels: list[str]) -> str:
    strongest = np.argsort(-np.abs(direction), kind="stable")[:_COLUMNS_NAMED].tolist()
    return ", ".join(f"{'more' if direction[j] > 0 else 'less'} {labels[j]}" for j in strongest)


def _kinds(report: AuditReport) -> tuple[list[Kind], npt.NDArray[np.intp]]:
    """Return the kinds of marks, and that of each row: its class, or the third of its number."""
    fitted, y = report.fitted, report.rows.y
    if not fitted.classes:
        low, high = np.quantile(y, [1 / 3, 2 / 3])
        name = short(report.rows.roles.target, 30)
        names = [
            f"{name} below {number(float(low))}",
            f"{number(float(low))} to {number(float(high))}",
            f"above {number(float(high))}",
        ]
        return [Kind(it, i) for i, it in enumerate(names)], np.digitize(y, [low, high])
    sizes = np.bincount(fitted.class_of_row)
    common = np.sort(np.argsort(-sizes, kind="stable")[:_MAX_KINDS])
    marks = np.full(len(sizes), _MAX_KINDS)
    marks[common] = np.arange(len(common))
    kinds = [Kind(short(fitted.classes[i], 30), int(marks[i])) for i in common.tolist()]
    if len(sizes) > _MAX_KINDS:
        kinds.append(Kind(f"{len(sizes) - _MAX_KINDS} other classes", _MAX_KINDS))
    return kinds, marks[fitted.class_of_row]


def _titles(report: AuditReport, rows: IntArray) -> list[str]:
    numbers, y = report.rows.numbers[rows].tolist(), report.rows.y[rows].tolist()
    predictions = report.fitted.prediction[rows].tolist()
    return [
        f"Row {row}: {label(given, 30)}"
        if given == predicted
        else f"Row {row}: given {label(given, 30)}, predicted {label(predicted, 30)}"
        for row, given, predicted in zip(numbers, y, predictions, strict=True)
    ]
