"""Where things go: scales, round numbers for axes, and lines without points that nobody sees.

Positions are shares of the frame: of its width from the left, of its height from the top. Text
keeps its size that way, however wide the page is. Lines are in thousandths, and stretch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray

__all__ = ["FRAME", "Tick", "placed", "round_steps", "ticks", "traced"]


FRAME = 1000  # units of a line on either axis
_BEYOND = 12  # units: what leaves the frame goes on this far, so that its end is not seen
_TOLERANCE = 0.7  # units by which a line may miss a point: less than a pixel


class Tick(NamedTuple):
    """A mark on an axis."""

    at: str
    """Where, in percent of the frame."""
    text: str


def placed(share: float) -> str:
    """Return a share of the frame as SVG writes it."""
    return f"{100 * share:.1f}".removesuffix(".0") + "%"


def round_steps(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers in between, evenly apart: two at least, if there is anything between.

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
    """Return marks at some places, leaving out those outside of the frame."""
    pairs = zip(places, texts, strict=True)
    return [Tick(placed(place), text) for place, text in pairs if -1e-9 <= place <= 1 + 1e-9]


def traced(x: FloatArray, y: FloatArray, *, filled: bool = False) -> str:
    """Return the line through points of the unit square as an SVG path.

    Parameters
    ----------
    x, y : ndarray of shape (n_points,)
        Shares of the frame: from the left, and from the top.
    filled : bool, default=False
        Whether it closes around what is below it; the edges then lie outside of the frame.
    """
    points = np.column_stack([x, np.clip(y, -_BEYOND / FRAME, 1.0)]) * FRAME
    points = points[_needed(points)]
    pairs = [(int(px), int(py)) for px, py in np.rint(points).tolist()]
    if filled:
        left, right, floor = -_BEYOND, FRAME + _BEYOND, FRAME + _BEYOND
        pairs = [(left, floor), (left, pairs[0][1]), *pairs, (right, pairs[-1][1]), (right, floor)]
    return "M" + "L".join(f"{px} {py}" for px, py in dict.fromkeys(pairs)) + "Z" * filled


def _needed(points: FloatArray) -> npt.NDArray[np.intp]:
    """Return the points without which a line would look different (Douglas and Peucker, 1973)."""
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
