"""Panels of the toy figures: the rows with their outliers, and the line of each model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sorr._typing import FloatArray
from sorr.experiments.toy.data import Toy
from sorr.experiments.toy.models import MEASURES, MODELS
from sorr.experiments.toy.summary import Record, is_constant
from sorr.plots.canvas import CLASS_COLOURS, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "MODEL_NAMES",
    "MODEL_STYLES",
    "PROTOCOL_NAMES",
    "draw_boundaries",
    "legend_handles",
]

PROTOCOL_NAMES = {"ours": "ours", "paper": "paper's protocol"}
MODEL_NAMES = {"average": "average", "maximum": "maximum", "AT_k": "AT$_k$", "AoRR": "AoRR"}
MODEL_STYLES: dict[str, dict[str, Any]] = {
    "average": {"color": CLASS_COLOURS[2], "linestyle": (0, (1, 1)), "linewidth": 2.2},
    "maximum": {"color": CLASS_COLOURS[3], "linestyle": (0, (5, 2)), "linewidth": 1.6},
    "AT_k": {"color": CLASS_COLOURS[0], "linestyle": (0, (6, 2, 1, 2)), "linewidth": 1.6},
    "AoRR": {"color": INK, "linestyle": "-", "linewidth": 1.8},
}
_ROWS = {-1: ("o", CLASS_COLOURS[4], "label -1"), 1: ("^", CLASS_COLOURS[1], "label +1")}
_CROSS: dict[str, Any] = {"marker": "x", "color": "black"}
_MARGIN = 0.25  # of the axes around the rows
_FOOT = 0.12  # of the panel, for names of models that have no line there


def draw_boundaries(ax: Axes, toy: Toy, lines: Mapping[str, Record]) -> None:
    """Draw rows, outliers as crosses, and where each model changes its mind.

    Models that do so nowhere in the panel are named at its foot.
    """
    for label, (marker, colour, _) in _ROWS.items():
        rows = toy.X[(toy.y == label) & ~toy.outliers]
        ax.scatter(rows[:, 0], rows[:, 1], s=11, marker=marker, color=colour, linewidth=0, zorder=2)
    outliers = toy.X[toy.outliers]
    ax.scatter(outliers[:, 0], outliers[:, 1], s=24, **_CROSS, zorder=4)
    low, high = toy.X.min(axis=0) - _MARGIN, toy.X.max(axis=0) + _MARGIN
    low[1] -= _FOOT * (high[1] - low[1])
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    ax.set_xlabel("$x_1$", labelpad=1)
    ax.set_ylabel("$x_2$", labelpad=1)
    ax.tick_params(labelsize=8)
    unseen: dict[str, list[str]] = {}
    for model in (model for model in MODELS if model in lines):
        theta = np.array([lines[model][name] for name in MEASURES[:3]])
        ends = _crossing(theta, ax.get_xlim(), ax.get_ylim())
        if ends is not None:
            ax.plot(*ends.T, **MODEL_STYLES[model], zorder=3)
        elif np.isfinite(theta).all():
            why = "no line" if is_constant(lines[model]) else "line far off"
            unseen.setdefault(why, []).append(MODEL_NAMES[model])
    words = "\n".join(f"{why}: {', '.join(names)}" for why, names in unseen.items())
    if words:
        _write_at_foot(ax, words)


def _write_at_foot(ax: Axes, words: str) -> None:
    ground = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.0}
    text = ax.text(0.03, 0.02, words, fontsize=7.5, color=INK, transform=ax.transAxes, zorder=5)
    text.set(va="bottom", bbox=ground)


def legend_handles(models: Iterable[str] = MODELS) -> list[Any]:
    """Return what the legend shows: the rows of both labels, the outliers, and the models."""
    from matplotlib.lines import Line2D

    none: dict[str, Any] = {"linestyle": "none", "markersize": 5}
    marks = [
        Line2D([], [], marker=marker, color=colour, label=name, **none)
        for marker, colour, name in _ROWS.values()
    ]
    outlier = Line2D([], [], label="outlier, label +1", **_CROSS, **none)
    lines = [Line2D([], [], label=MODEL_NAMES[model], **MODEL_STYLES[model]) for model in models]
    return [*marks, outlier, *lines]


def _crossing(
    theta: FloatArray, across: tuple[float, float], up: tuple[float, float]
) -> FloatArray | None:
    """Return both ends of the part of a line that is within a rectangle, or None."""
    ends = []
    for axis, sides, others in ((0, across, up), (1, up, across)):
        slope = theta[1 - axis]
        for side in sides if slope != 0 else ():
            other = -(theta[2] + theta[axis] * side) / slope
            if others[0] <= other <= others[1]:
                ends.append((side, other) if axis == 0 else (other, side))
    if len(ends) < 2:
        return None
    points = np.array(ends)
    furthest = np.abs(points - points[0]).sum(axis=1).argmax()  # a corner is found twice
    return points[[0, furthest]]
