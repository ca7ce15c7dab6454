"""The figures of the page: axes, ranked losses, validated errors, and a map of all rows.

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

from sorr._typing import FloatArray, IntArray
from sorr.auditing.page.words import count, count_rows, number, percent, short
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


def _percent(share: float) -> str:
    """Return a round share in percent, for an axis."""
    return f"{100 * share:.10g}\N{NO-BREAK SPACE}%"


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
            ticks([it**0.5 for it in marked], [_percent(it) for it in marked]),
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
        ticks([it / width for it in right], [_percent(it) for it in right]),
        ticks(
            [1 - (it - low) / (high - low) for it in up],
            [_percent(it) if is_share else number(it) for it in up],
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


# -- The map of all rows: the two directions in which the kept rows differ most --------------------


_MAX_DOTS = 1500
_MAX_SUSPECTS = 500  # dots that are suspects, the most suspect ones
_MAX_FIT_ROWS = 20_000  # rows that determine the directions
_MAX_DENSE_COLUMNS = 500  # of a sparse table that is made dense, so that it can be centred
_MAX_SPREADS = 8.0  # of a column: values beyond do not change the directions
_INNER = (0.05, 0.95)  # quantiles of the kept rows; what is twice as far out is not in the frame
_EDGE = 0.03  # of the frame, left free around the dots
_MIN_WEIGHT = 0.1  # of a column, relative to the most important one
_CELL = 0.03  # of the frame, within which rows are nearly alike
_MIN_PLACES = 0.2  # per row; with fewer places, rows that are nearly alike are spread too
_SPACING = 0.008  # of the frame, between rows that are alike
HEIGHT = 625  # of the map, whose width is FRAME
_ASPECT = FRAME / HEIGHT
_COLUMNS_NAMED = 2  # to explain a direction
_MAX_KINDS = 7  # classes with a mark of their own, as many as there are colours
_SMALL, _LARGE = 9, 5  # half of the width of a mark, in units of a small map and of a large one


class Kind(NamedTuple):
    """Rows with a mark of their own, and how they are drawn on a small map and on a large one."""

    name: str
    mark: int
    small: str
    large: str


class Dot(NamedTuple):
    """A row on the map: its position among the rows, and its place in units of the frame."""

    position: int
    x: int
    y: int
    mark: int
    is_suspect: bool


@dataclass(frozen=True)
class Plane:
    """Rows on a map, and how to read it."""

    dots: list[Dot]
    kinds: list[Kind]
    rings: tuple[str, str]
    """Around the suspects, on a small map and on a large one."""
    rows: int
    far: int
    right: str
    upward: str
    spread: str | None
    """The share of the variance of the kept rows that the map shows."""
    alt: str


def plane(report: AuditReport) -> Plane:
    """Return the rows on the plane of the two directions in which the kept ones differ most."""
    dropped, rows = report.fitted.dropped, _chosen(report)
    where, right, upward, spread = _directions(report, rows)
    kept = where[~dropped[rows]] if (~dropped[rows]).any() else where
    ends = np.array([_ends(axis) for axis in kept.T])
    low, width = ends[:, 0], ends[:, 1] - ends[:, 0]
    share = np.where(width > 0, (where - low) / np.where(width > 0, width, 1.0), 0.5)
    is_far = np.asarray(((share < 0) | (share > 1)).any(axis=1))
    share = _apart(np.clip(share, 0.0, 1.0))
    low, high = np.minimum(share.min(axis=0), 0.0), np.maximum(share.max(axis=0), 1.0)
    share = _EDGE + (1 - 2 * _EDGE) * (share - low) / (high - low)
    places = np.rint(np.column_stack([FRAME * share[:, 0], HEIGHT * (1 - share[:, 1])]))
    names, marks = _kinds(report)
    is_suspect = np.isin(rows, report.order)
    dots = [
        Dot(int(row), int(x), int(y), int(mark), bool(suspect))
        for row, (x, y), mark, suspect in zip(
            rows, places.tolist(), marks[rows], is_suspect, strict=True
        )
    ]
    kinds = [
        Kind(
            name, i, *(_drawn([it for it in dots if it.mark == i], i, r) for r in (_SMALL, _LARGE))
        )
        for i, name in enumerate(names)
    ]
    ringed = [it for it in dots if it.is_suspect]
    alt = (
        f"A map of {count(len(dots))} rows, one mark each, similar rows close together. Rings mark "
        f"{count(len(ringed))} suspects, which the cards describe."
    )
    return Plane(
        dots,
        kinds,
        (ring_path(ringed, 2 * _SMALL), ring_path(ringed, 2 * _LARGE)),
        len(report.rows),
        int(is_far.sum()),
        right,
        upward,
        spread,
        alt,
    )


def _drawn(dots: Sequence[Dot], mark: int, r: int) -> str:
    """Return marks of one kind as a path: points with round ends, or shapes to fill."""
    shapes = {
        1: (-r, -r, f"h{2 * r}v{2 * r}h{-2 * r}z"),
        2: (0, -r - 1, f"l{r + 1} {2 * r}h{-2 * r - 2}z"),
        3: (0, -r - 2, f"l{r + 2} {r + 2}l{-r - 2} {r + 2}l{-r - 2} {-r - 2}z"),
        4: (0, r + 1, f"l{r + 1} {-2 * r}h{-2 * r - 2}z"),
        5: (-r - 1, -r // 2, f"h{2 * r + 2}v{r}h{-2 * r - 2}z"),
        6: (-r // 2, -r - 1, f"h{r}v{2 * r + 2}h{-r}z"),
    }
    x, y, shape = shapes.get(mark, (0, 0, "h0"))
    return "".join(f"M{it.x + x} {it.y + y}{shape}" for it in dots)


def ring_path(dots: Sequence[Dot], r: int) -> str:
    """Return circles around dots as a path."""
    return "".join(
        f"M{it.x - r} {it.y}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0" for it in dots
    )


def _chosen(report: AuditReport) -> IntArray:
    """Return which rows are drawn. Suspects come last, so that nothing hides them."""
    suspects = np.asarray(report.order[:_MAX_SUSPECTS], dtype=np.intp)
    others = np.setdiff1d(np.arange(len(report.rows)), report.order)
    return np.concatenate([_evenly(others, _MAX_DOTS - len(suspects)), suspects[::-1]])


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


def _kinds(report: AuditReport) -> tuple[list[str], npt.NDArray[np.intp]]:
    """Return the names of the marks, and the mark of each row: its class, or a third of numbers."""
    fitted, y = report.fitted, report.rows.y
    if not fitted.classes:
        low, high = np.quantile(y, [1 / 3, 2 / 3])
        name = short(report.rows.roles.target, 30)
        names = [
            f"{name} below {number(float(low))}",
            f"{number(float(low))} to {number(float(high))}",
            f"above {number(float(high))}",
        ]
        return names, np.digitize(y, [low, high])
    sizes = np.bincount(fitted.class_of_row)
    common = np.sort(np.argsort(-sizes, kind="stable")[:_MAX_KINDS])
    marks = np.full(len(sizes), _MAX_KINDS)
    marks[common] = np.arange(len(common))
    names = [short(fitted.classes[i], 30) for i in common.tolist()]
    if len(sizes) > _MAX_KINDS:
        names.append(f"{len(sizes) - _MAX_KINDS} other classes")
    return names, marks[fitted.class_of_row]
