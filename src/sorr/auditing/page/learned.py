"""What the plain fit learned and what the robust fit learned, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.auditing.page.words import aligned, count, percent, short
from sorr.auditing.report import AuditReport

__all__ = ["Bar", "Learned", "Matrix", "Pair", "Slopes", "learned"]


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


class Cell(NamedTuple):
    """A number of a matrix, and how strongly it is coloured: from 0 to 5."""

    text: str
    heat: int
    is_right: bool


@dataclass(frozen=True)
class Matrix:
    """How many rows of each class are taken for which."""

    title: str
    rows: list[tuple[str, list[Cell]]]
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
            Cell(count(int(counts[i, j])), int(np.ceil(5 * of_row[i, j] ** 0.5)), i == j)
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
