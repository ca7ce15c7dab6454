"""How a solver came down: the objective after each step of each start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.plots.canvas import EASY, INK, KEPT, place_legend, scale_by_powers, take_axes
from sorr.plots.fitted import fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

__all__ = ["TraceDisplay"]

# what the solvers call their phases, in words, and the mark of each
_PHASES = {
    "start": ("starting point", "o"),
    "anneal": ("annealed", "D"),
    "fast": ("fast step", "."),
    "trim": ("trimming step", "s"),
    "topsum": ("convex step", "s"),
    "dca": ("DCA step", "^"),
    "exhaustive": ("set of rows tried", "."),
}
_FLAT = 1e-3  # a decrease below that, relative to the objective, is drawn as none


class TraceDisplay:
    """The objective after each outer step, one line per start.

    Parameters
    ----------
    trace : sequence of (start, phase, objective, passes)
        The steps in the order in which they were taken, as in ``trace_`` of a fitted estimator:
        the number of the start, the name of the phase, the objective reached, and how often the
        data had been read by then.

    Attributes
    ----------
    best_start : int
        The start that reached the lowest objective.
    ax_, figure_ : Axes, Figure
        What was drawn on.
    lines_ : dict of int to Line2D
        The line of each start.

    Examples
    --------
    >>> trace = [(0, "start", 0.69, 0.0), (0, "fast", 0.4, 6.0), (0, "trim", 0.3, 10.0)]
    >>> display = TraceDisplay(trace).plot()
    >>> display.lines_[0].get_ydata()
    array([0.69, 0.4 , 0.3 ])
    """

    ax_: Axes
    figure_: Figure | SubFigure
    lines_: dict[int, Line2D]

    def __init__(self, trace: Sequence[tuple[int, str, float, float]]) -> None:
        if not len(trace):
            raise ValueError("the trace holds no step; needed one or more, as in trace_ after fit")
        start, phase, objective, passes = zip(*trace, strict=True)
        self.start: npt.NDArray[np.int64] = np.array(start, dtype=np.int64)
        self.phase: npt.NDArray[np.str_] = np.array(phase, dtype=np.str_)
        self.objective: FloatArray = np.array(objective, dtype=np.float64)
        self.passes: FloatArray = np.array(passes, dtype=np.float64)
        self.best_start = int(self.start[np.nanargmin(self.objective)])

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None, **options: Any) -> Self:
        """Draw the trace of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
            With ``trace_``. Of a pipeline the last step is taken, of a search the best model.
        ax : Axes, optional
        **options
            Passed on to `plot`.

        Returns
        -------
        TraceDisplay
        """
        return cls(fitted(estimator, "trace_").trace_).plot(ax=ax, **options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        against: Literal["step", "passes"] = "step",
        above_lowest: bool = False,
    ) -> Self:
        """Draw a line for each start, the lowest one on top.

        Parameters
        ----------
        ax : Axes, optional
            New ones by default.
        against : {"step", "passes"}, default="step"
            What to count to the right: steps of each start, or how often the data was read, by
            all starts together.
        above_lowest : bool, default=False
            Whether to draw how far the objective is above the lowest one found, on a logarithmic
            axis: for the end of long runs. Where that is zero, nothing is drawn.

        Returns
        -------
        TraceDisplay
        """
        if against not in ("step", "passes"):
            raise ValueError(f"against={against!r} is unknown; needed 'step' or 'passes'")
        self.ax_ = ax = take_axes(ax, "TraceDisplay.plot", (7.2, 3.8))
        self.figure_ = ax.figure
        lowest = self.objective.min()
        excess = self.objective - lowest
        height = np.where(excess > 0, excess, np.nan) if above_lowest else self.objective
        starts = [int(s) for s in np.unique(self.start) if s != self.best_start]
        self.lines_ = {}
        for start in [*starts, self.best_start]:
            self.lines_[start] = self._draw(ax, start, height, against)
        self._explain(ax, starts)
        ax.set_title("Objective after each step")
        ax.set_xlabel("step" if against == "step" else "passes over the data")
        ax.set_ylabel("objective above the lowest found" if above_lowest else "objective")
        if not above_lowest:
            ax.ticklabel_format(axis="y", useOffset=False)
            if excess.max() < _FLAT * abs(lowest):  # else the axis would magnify rounding
                ax.set_ylim(lowest - 5 * _FLAT * abs(lowest), lowest + 5 * _FLAT * abs(lowest))
        elif (excess > 0).any():
            scale_by_powers(ax)
        if against == "step":
            ax.locator_params(axis="x", integer=True)
        return self

    def _draw(self, ax: Axes, start: int, height: FloatArray, against: str) -> Line2D:
        rows = np.flatnonzero(self.start == start)
        across = np.arange(len(rows)) if against == "step" else self.passes[rows]
        is_best = start == self.best_start
        look: dict[str, Any] = {"color": KEPT if is_best else EASY, "zorder": 3 if is_best else 2}
        dashes = "-" if is_best else (0, (4, 2))
        (line,) = ax.plot(
            across, height[rows], linewidth=2 if is_best else 1.2, linestyle=dashes, **look
        )
        for name in np.unique(self.phase[rows]):
            here = self.phase[rows] == name
            look["markerfacecolor"] = "white" if name == "start" else look["color"]
            mark = _PHASES.get(str(name), ("", "P"))[1]
            ax.plot(across[here], height[rows][here], linestyle="none", marker=mark, **look)
        return line

    def _explain(self, ax: Axes, others: list[int]) -> None:
        from matplotlib.lines import Line2D

        lowest = f"lowest: {self.objective.min():.4g}"
        if others:
            lowest = f"start {self.best_start}, the {lowest}"
        handles = [Line2D([], [], color=KEPT, linewidth=2, label=lowest)]
        if others:
            name = "the other start" if len(others) == 1 else f"the {len(others)} other starts"
            handles.append(Line2D([], [], color=EASY, linestyle=(0, (4, 2)), label=name))
        seen = {str(name) for name in self.phase}
        for name in [*_PHASES, *sorted(seen - set(_PHASES))]:
            if name in seen:
                words, mark = _PHASES.get(name, (name, "P"))
                face = "white" if name == "start" else INK
                look: dict[str, Any] = {"color": INK, "markerfacecolor": face, "marker": mark}
                handles.append(Line2D([], [], linestyle="none", label=words, **look))
        place_legend(ax, handles, free_corner="upper right")
