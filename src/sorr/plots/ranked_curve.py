"""One group of rows, ranked by loss: what its curve is, and how it is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sorr._typing import FloatArray
from sorr.plots.canvas import DROPPED, EASY, INK, KEPT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

__all__ = ["RankedCurve", "draw_curve", "rank"]

_PARTS = (("dropped", DROPPED, "///"), ("kept", KEPT, None), ("left aside", EASY, "..."))
_WORDS = {"dropped": "dropped", "kept": "kept", "left aside": "easy, left aside"}
_NEW_WORDS = {"dropped": "would be dropped", "kept": "would be kept"}


class RankedCurve(NamedTuple):
    """The losses of one group of rows, ranked."""

    label: Any
    """The class of the rows, or None if all are ranked together."""

    edges: FloatArray
    """Where each loss begins and ends: ranks from 0, or mass where rows have weights."""

    losses: FloatArray
    """The losses, the largest first."""

    m: float
    k: float

    def spans(self) -> dict[str, tuple[float, float]]:
        """Return the ranks between which rows are dropped, kept, and left aside."""
        ends = (0.0, self.m, self.k, float(self.edges[-1]))
        return {name: (ends[i], ends[i + 1]) for i, (name, *_) in enumerate(_PARTS)}

    def at(self, position: float) -> float:
        """Return the loss at a position between the ranks."""
        row = int(np.searchsorted(self.edges, position, side="right")) - 1
        return float(self.losses[min(row, len(self.losses) - 1)])


def rank(label: Any, losses: FloatArray, mass: FloatArray, m: float, k: float) -> RankedCurve:
    """Return the curve of a group of rows."""
    what = "rows" if label is None else f"rows of label {label!r}"
    order = np.argsort(-losses, kind="stable")
    edges = np.concatenate([[0.0], np.cumsum(mass[order])])
    total = float(edges[-1])
    if k > total * (1 + 1e-9):
        raise ValueError(
            f"k={k:g} exceeds the {total:g} {what}; if the fit had sample_weight, pass it here "
            "too: with ranking='pooled' and class_weight, each weight times that of its class"
        )
    return RankedCurve(label, edges, losses[order], m, min(k, total))


def draw_curve(
    ax: Axes, curve: RankedCurve, is_fit: bool, reach: float | None
) -> tuple[Line2D, dict[str, Patch]]:
    """Draw a curve, the parts under it, and the two cuts."""
    edges, losses = curve.edges, curve.losses
    heights = np.append(losses, losses[-1:])  # the last one ends the last step
    words = _WORDS if is_fit else _NEW_WORDS
    floor = 0.0 if is_fit else min(float(losses[-1]), 0.0)
    is_cut = ax.get_yscale() == "linear" and _limit(ax, curve, floor, reach)
    spans: dict[str, Patch] = {}
    for (name, (low, high)), (_, colour, hatch) in zip(curve.spans().items(), _PARTS, strict=True):
        if high <= low:
            continue
        spans[name] = ax.axvspan(low, high, facecolor=colour, alpha=0.1, linewidth=0)
        if name == "left aside":  # losses near zero: there is no area to be hatched
            spans[name].set(hatch=hatch, edgecolor=colour, alpha=0.25)
        text = f"{words[name]}: {high - low:g}"
        if name == "dropped" and is_cut:
            text += f", losses up to {losses[0]:.3g}"
        first, last = np.searchsorted(edges, [low, high], side="right") - 1
        inside = slice(int(first), int(last) + 2)  # the rows that begin or end in this part
        ax.fill_between(
            np.clip(edges[inside], low, high),
            floor,
            heights[inside],
            step="post",
            facecolor=colour,
            alpha=0.75,
            edgecolor="white",
            hatch=hatch,
            linewidth=0,
            label=text,
        )
    (line,) = ax.plot(edges, heights, drawstyle="steps-post", color=INK, linewidth=1.2)
    ax.set_xlim(0, float(edges[-1]))
    if not is_fit:
        ax.axhline(0, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    _mark_cuts(ax, curve)
    ax.legend(loc="upper right", framealpha=0.9)
    return line, spans


def _mark_cuts(ax: Axes, curve: RankedCurve) -> None:
    total = float(curve.edges[-1])
    has_room = curve.m < 0.15 * total and curve.k - curve.m > 0.25 * total
    for name, cut, side in (
        ("m", curve.m, "left" if has_room else "right"),
        ("k", curve.k, "left" if curve.k < 0.85 * total else "right"),
    ):
        if 0 < cut < total:
            ax.axvline(cut, color=INK, linewidth=1, linestyle=(0, (4, 3)))
            ax.annotate(
                f"{name} = {cut:g}",
                (cut, 1),
                (0, 3),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                ha=side,
                va="bottom",
                fontsize="small",
                color=INK,
            )


def _limit(ax: Axes, curve: RankedCurve, floor: float, reach: float | None) -> bool:
    """Let the axis end above the curve, or cut tall losses off; return whether it does."""
    total, largest = float(curve.edges[-1]), float(curve.losses[0])
    top, kept = largest, curve.at(curve.m)
    if reach is not None and curve.m > 0 and kept > floor:
        top = min(top, floor + reach * (kept - floor))
    # the legend is at the upper right: there the curve is below the loss at a third of the ranks
    room = floor + (curve.at(0.35 * total) - floor) / 0.6
    height = 1.05 * (max(top, room) - floor)
    ax.set_ylim(floor, floor + (height if height > 0 else 1.0))
    return largest > floor + height
