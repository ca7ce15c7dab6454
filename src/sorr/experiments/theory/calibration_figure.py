"""The figure of the calibration: minimisers by probability, and which ranks are calibrated."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sorr.experiments.theory.population import LOSSES, Population, point_minimum
from sorr.plots.canvas import CLASS_COLOURS, DROPPED, INK, KEPT, MARKERS, need_matplotlib, tidy
from sorr.ranked import Thresholds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_calibration"]

_TOP, _ENDLESS = 3.9, 3.5  # where the axis ends, and where infinity is drawn
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1)), "-", (0, (6, 2, 1, 2)), (0, (3, 1)))


def draw_calibration(
    pairs: Sequence[Thresholds],
    population: Population,
    solved: Sequence[tuple[Mapping[str, float], str]],
) -> Figure:
    """Return the figure.

    Parameters
    ----------
    pairs : sequence of Thresholds
        Of which those with a lower one below one are drawn as curves, the others as edges.
    population : Population
    solved : sequence of (mapping, str)
        The fractions "mu" and "nu" of each solved problem, and what was found.
    """
    plt = need_matplotlib("calibration")
    figure: Figure
    figure, axes = plt.subplots(2, 2, figsize=(10, 8.4), layout="constrained")
    proper = [cuts for cuts in pairs if cuts.lower < min(cuts.upper, 1)]
    for ax, loss in zip(axes[0], LOSSES, strict=True):
        _draw_minimisers(ax, loss, proper)
        title = rf"{loss.capitalize()} loss, $\lambda < s(0)$"
        ax.set_title(title, loc="left", fontsize="medium")
    _draw_edges(axes[1, 0])
    _draw_ranks(axes[1, 1], population, solved)
    for ax in axes.flat:
        tidy(ax)
    return figure


def _draw_minimisers(ax: Axes, loss: str, pairs: Sequence[Thresholds]) -> None:
    """Draw the minimiser nearest to zero as a function of the probability."""
    _shade_signs(ax)
    etas = np.linspace(0.5001, 0.98, 150)
    for number, cuts in enumerate(pairs):
        upper = "\\infty" if math.isinf(cuts.upper) else f"{cuts.upper:g}"
        nearest = np.array([point_minimum(loss, cuts, eta).low for eta in etas])
        shown = np.where(np.isinf(nearest), _ENDLESS, np.minimum(nearest, _TOP))
        for side, height in ((etas, shown), (1 - etas, -shown)):
            ax.plot(
                side,
                height,
                color=CLASS_COLOURS[number],
                linestyle=_DASHES[number],
                linewidth=5 - 0.7 * number,  # those that coincide are seen beside each other
                label=rf"$\lambda = {cuts.lower:g},\ \hat\lambda = {upper}$",
            )
    handles, labels = ax.get_legend_handles_labels()
    ax.legend(handles[::2], labels[::2], loc="lower right", fontsize="small", framealpha=0.95)
    ax.set_ylabel("minimiser t nearest to zero")


def _shade_signs(ax: Axes) -> None:
    """Shade where a prediction has the sign of Bayes' rule, and hatch where it has not."""
    for left, sign in ((0.0, -1), (0.5, 1)):
        ax.fill_between([left, left + 0.5], 0, sign * _TOP, color=KEPT, alpha=0.1, linewidth=0)
        ax.fill_between(
            [left, left + 0.5],
            0,
            -sign * _TOP,
            facecolor="none",
            edgecolor=DROPPED,
            alpha=0.18,
            hatch="///",
            linewidth=0,
        )
    ax.axhline(0, color=INK, linewidth=0.8)
    ax.set(xlim=(0, 1), ylim=(-_TOP, _TOP), xlabel=r"probability $\eta$ of the positive class")
    ticks = range(-3, 4)
    ax.set_yticks(
        [-_ENDLESS, *ticks, _ENDLESS], [r"$-\infty$", *(f"{tick}" for tick in ticks), r"$\infty$"]
    )


def _draw_edges(ax: Axes) -> None:
    """Draw the minimisers at the edges of the theorem, which do not depend on the probability."""
    _shade_signs(ax)
    reach = point_minimum("logistic", Thresholds(2.0, 1.2), 0.75).high
    ax.fill_between([0, 1], -reach, reach, color=CLASS_COLOURS[1], alpha=0.55, linewidth=0)
    ax.axhline(0, color=INK, linewidth=3)
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 2}
    line = {"arrowstyle": "-", "color": INK, "linewidth": 0.8}
    band = rf"$\lambda = 1.2$, above $s(0)$: all $|t| \leq {reach:.2f}$"
    ax.annotate(band, (0.12, reach), (0.05, 1.1), arrowprops=line, bbox=box)
    zero = r"$\lambda = s(0)$: zero alone"
    ax.annotate(zero, (0.88, 0), (0.58, -1.3), arrowprops=line, bbox=box)
    ax.text(0.05, 2.6, r"$\lambda = \hat\lambda$: all t, whatever $\eta$", bbox=box)
    ax.set_ylabel("all minimisers t")
    ax.set_title("Logistic loss, where the theorem ends", loc="left", fontsize="medium")


def _draw_ranks(
    ax: Axes, population: Population, solved: Sequence[tuple[Mapping[str, float], str]]
) -> None:
    """Draw which ranks lead to the signs of Bayes' rule: the rule as areas, marks as solved."""
    error, right = population.bayes_error, 0.5
    margins = map(abs, map(int.__sub__, population.positive, population.negative))
    spare = error + min(margins) / population.total  # what can be dropped before a sign is lost
    mu = np.array([0.0, error])
    ax.fill_between(mu, mu, 2 * error - mu, color=DROPPED, alpha=0.16, linewidth=0)
    ax.fill_between(mu, 2 * error - mu, 1, color=KEPT, alpha=0.16, linewidth=0)
    for low, high, colour in ((error, spare, KEPT), (spare, right, CLASS_COLOURS[1])):
        ax.fill_between([low, high], [low, high], 1, color=colour, alpha=0.16, linewidth=0)
    looks = {
        "right": ("all signs right", KEPT, "full"),
        "at infinity": ("the same, at infinity", KEPT, "none"),
        "zero": ("constant model", DROPPED, "full"),
        "any": ("a wrong sign costs nothing", CLASS_COLOURS[1], "full"),
    }
    for mark, (word, (label, colour, fill)) in zip(MARKERS, looks.items(), strict=False):
        here = [at for at, said in solved if said == word]
        if here:
            ax.plot(
                [at["mu"] for at in here],
                [at["nu"] for at in here],
                linestyle="none",
                marker=mark,
                markersize=8,
                color=colour,
                fillstyle=fill,
                label=label,
            )
    ax.axvline(error, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    ax.text(error - 0.006, 0.9, f"R = {100 * error:.1f} %", ha="right", va="center", color=INK)
    middle = (0.16, 2 * error - 0.16)
    line = {"arrowstyle": "-", "color": INK, "linewidth": 0.8}
    ax.annotate(r"$\mu + \nu = 2R$", middle, (0.06, 0.03), arrowprops=line, color=INK)
    ax.set(xlim=(0, right), ylim=(0, 1.04))
    ax.set_xlabel(r"$\mu$: fraction dropped, m / n")
    ax.set_ylabel(r"$\nu$: fraction down to which losses count, k / n")
    ax.set_title("Three points, ranks given, minimised", loc="left", fontsize="medium")
    ax.legend(loc="lower right", fontsize="small", framealpha=0.95)
