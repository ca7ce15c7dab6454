"""All rows on a plane: the two directions in which the kept ones differ most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.decomposition import PCA, TruncatedSVD

from sorr._typing import FloatArray, IntArray
from sorr.auditing.page.axes import placed
from sorr.auditing.page.words import count, label, number, percent, short
from sorr.auditing.report import AuditReport

__all__ = ["Dot", "Kind", "Plane", "plane", "positions_of"]


_MOST_DOTS = 1500
_FEWEST_OUT = 100  # of them: suspects, if there are so many
_FITTED = 20_000  # rows that the directions are found from
_MOST_DENSE = 500  # columns up to which a sparse table is unfolded, so that its mean is taken off
_FURTHEST = 8.0  # spreads of a column: what lies beyond does not turn the directions
_MOST = (0.05, 0.95)  # quantiles of kept rows: what lies once more as far out leaves the frame
_EDGE = 0.03  # of the frame, left free around these
_LEAST = 0.1  # of the weight of the most important column, which any other has
_CELL = 0.03  # of the frame, within which rows are nearly alike
_FEW = 0.2  # places for each row
_SEED, _HEIGHT = 0.008, 1.9  # of the frame, between rows that are alike; its width over its height
_NAMED = 2  # columns that explain a direction
_KINDS = 10  # classes with a mark of their own


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
    """At which positions it is left out, a letter for each; None if at none."""
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
    """How much of the spread of the kept rows is to be seen."""
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
        f"A cloud of {count(len(dots))} rows, one mark each; {count(len(out))} of them are ringed "
        f"because they are left out. {count(int(is_far.sum()))} lie outside of the frame and are "
        "shown at its edge. The table of suspects lists the ringed rows."
    )
    return Plane(dots, kinds, len(report.rows), int(is_far.sum()), right, upward, spread, alt)


def _ends(values: FloatArray) -> tuple[float, float]:
    """Return between which values most rows lie, without those that are far from all others."""
    low, high = np.quantile(values, _MOST, method="nearest")
    near = values[(values >= 2 * low - high) & (values <= 2 * high - low)] if high > low else values
    return float(near.min()), float(near.max())


def _apart(where: FloatArray) -> FloatArray:
    """Return places at which rows that are alike lie around each other, like seeds in a flower.

    If there are few places for many rows, those that are nearly alike do so as well.
    """
    cells = np.floor(where / _CELL)
    if len(np.unique(cells, axis=0)) > _FEW * len(where):
        cells = where.round(4)
    _, group, sizes = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    group = group.ravel()
    order = np.argsort(group, kind="stable")
    nth = np.empty(len(where))
    nth[order] = np.arange(len(where)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    middle = [np.bincount(group, axis)[group] / sizes[group] for axis in where.T]
    radius, angle = _SEED * np.sqrt(nth), nth * np.pi * (3 - np.sqrt(5))
    across, up = radius * np.cos(angle), _HEIGHT * radius * np.sin(angle)
    return np.column_stack([middle[0] + across, middle[1] + up])


def positions_of(report: AuditReport, rows: IntArray) -> list[str | None]:
    """Return at which positions some rows are left out: 1 or 0 for each; None if at none."""
    dropped = np.array([it.dropped[rows] for it in report.walk.positions]).T
    return ["".join("01"[out] for out in row) if any(row) else None for row in dropped.tolist()]


def _chosen(report: AuditReport) -> IntArray:
    """Return which rows are drawn: those left out last, so that nothing hides them.

    Of many rows each kind has its share, so that rings are as frequent as they are; but of
    suspects some more, if there are few.
    """
    ever, n = np.any([it.dropped for it in report.walk.positions], axis=0), len(report.rows)
    out, never = report.order, np.flatnonzero(~ever)
    others = np.flatnonzero(ever & ~report.fitted.dropped)
    if n > _MOST_DOTS:
        out = _evenly(out, max(_MOST_DOTS * len(out) // n, _FEWEST_OUT))
        others = _evenly(others, _MOST_DOTS * len(others) // n)
        never = _evenly(never, _MOST_DOTS - len(out) - len(others))
    return np.concatenate([never, others, out[::-1]])


def _evenly(rows: IntArray, most: int) -> IntArray:
    """Return at most so many rows, evenly spread: no chance, so that the page is the same again."""
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).astype(np.intp)]


def _directions(report: AuditReport, rows: IntArray) -> tuple[FloatArray, str, str, str | None]:
    """Return where some rows are, what the two directions mean, and how much they tell."""
    X, kept = report.fitted.X, np.flatnonzero(~report.fitted.dropped)
    kept = _evenly(kept, _FITTED)
    labels = [short(source.label, 30) for source in report.fitted.sources]
    is_dense = not hasattr(X, "toarray") or X.shape[1] <= _MOST_DENSE
    known, drawn = (_dense(X[it]) if is_dense else X[it] for it in (kept, rows))
    if is_dense:
        weight = _importance(report.fitted.model)
        known, drawn = np.clip(known, -_FURTHEST, _FURTHEST) * weight, drawn * weight
    wanted = min(2, *known.shape)
    model = PCA(wanted) if is_dense else TruncatedSVD(wanted, random_state=0)
    with np.errstate(invalid="ignore", divide="ignore"):  # all rows are alike: no spread to share
        model.fit(known)
    where = np.zeros((len(rows), 2))
    where[:, :wanted] = model.transform(drawn)
    texts = [_meaning(direction, labels) for direction in model.components_]
    if wanted < 2:
        where[:, 1] = np.arange(len(rows)) * 0.618 % 1.0  # one above the other, none upon it
        return where, texts[0], "nothing: there is one column only", None
    told = float(np.nansum(model.explained_variance_ratio_))
    return where, texts[0], texts[1], percent(min(told, 1.0))


def _dense(rows: Any) -> FloatArray:
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)


def _importance(model: Any) -> FloatArray:
    """Return how much each column counts: as much as the model makes of it, and a little."""
    size = np.sqrt((np.atleast_2d(model.coef_) ** 2).sum(axis=0))
    return np.asarray(_LEAST + np.sqrt(size / (size.max() or 1.0)))


def _meaning(direction: FloatArray, labels: list[str]) -> str:
    strongest = np.argsort(-np.abs(direction), kind="stable")[:_NAMED].tolist()
    return ", ".join(f"{'more' if direction[j] > 0 else 'less'} {labels[j]}" for j in strongest)


def _kinds(report: AuditReport) -> tuple[list[Kind], npt.NDArray[np.intp]]:
    """Return the marks and the one of each row: by class, or by the thirds of a number."""
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
    sizes = np.bincount(fitted.strata)
    common = np.sort(np.argsort(-sizes, kind="stable")[:_KINDS])
    marks = np.full(len(sizes), _KINDS)
    marks[common] = np.arange(len(common))
    kinds = [Kind(short(fitted.classes[i], 30), int(marks[i])) for i in common.tolist()]
    if len(sizes) > _KINDS:
        kinds.append(Kind(f"{len(sizes) - _KINDS} other classes", _KINDS))
    return kinds, marks[fitted.strata]


def _titles(report: AuditReport, rows: IntArray) -> list[str]:
    numbers, y = report.rows.numbers[rows].tolist(), report.rows.y[rows].tolist()
    says = report.fitted.model.predict(report.fitted.X[rows]).tolist()
    return [
        f"Row {row}: {label(given, 30)}"
        if given == said
        else f"Row {row}: given {label(given, 30)}, the model says {label(said, 30)}"
        for row, given, said in zip(numbers, y, says, strict=True)
    ]
