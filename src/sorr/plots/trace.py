"""The objective after each step of a solver, for each start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from sorr._checks import check_choice
from sorr._typing import FloatArray
from sorr.plots.canvas import EASY, INK, KEPT, place_legend, scale_by_powers, take_axes
from sorr.plots.fitted import require_fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

# the phases of the solvers: in words, and their markers
_PHASES = {
    "start": ("starting point", "o"),
    "anneal": ("annealed", "D"),
    "fast": ("fast step", "."),
    "trim": ("trimming step", "s"),
    "topsum": ("convex step", "s"),
    "dca": ("DCA step", "^"),
    "exhaustive": ("set of rows tried", "."),
}
_MIN_RANGE = 1e-3  # of objectives, relative to the lowest; a smaller one is drawn flat


class TraceDisplay:
    """The objective after each outer step, one line per start.

    Parameters
    ----------
    trace : sequence of (start, phase, objective, passes)
        The steps in order, as in ``trace_`` of a fitted estimator: the number of the start, the
        name of the phase, the objective reached, and the number of passes over the data so far.

    Attributes
    ----------
    best_start : int
        The start that reached the lowest objective.
    ax_, figure_ : Axes, Figure
        The axes and the figure of the drawing.
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
            raise ValueError("the trace holds no step; needed at least one, as in trace_ after fit")
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
            With ``trace_``. For a pipeline it is the last step, for a search the best model.
        ax : Axes, optional
        **options
            Passed to `plot`.

        Returns
        -------
        TraceDisplay
        """
        return cls(require_fitted(estimator, "trace_").trace_).plot(ax=ax, **options)

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
            By default new ones.
        against : {"step", "passes"}, default="step"
            The x axis: the steps of each start, or the passes over the data of all starts together.
        above_lowest : bool, default=False
            Whether to draw how far the objective is above the lowest one, on a logarithmic axis.
            This shows the end of long runs. Zeros are not drawn.

        Returns
        -------
        TraceDisplay
        """
        check_choice("against", against, ("step", "passes"))
        self.ax_ = ax = take_axes(ax, "TraceDisplay.plot", (7.2, 3.8))
        self.figure_ = ax.figure
        lowest = self.objective.min()
        excess = self.objective - lowest
        height = np.where(excess > 0, excess, np.nan) if above_lowest else self.objective
        starts = [int(s) for s in np.unique(self.start) if s != self.best_start]
        self.lines_ = {}
        for start in [*starts, self.best_start]:
            self.lines_[start] = self._draw(ax, start, height, against)
        self._add_legend(ax, starts)
        ax.set_title("Objective after each step")
        ax.set_xlabel("step" if against == "step" else "passes over the data")
        ax.set_ylabel("objective above the lowest found" if above_lowest else "objective")
        if not above_lowest:
            ax.ticklabel_format(axis="y", useOffset=False)
            smallest = _MIN_RANGE * abs(lowest)
            if excess.max() < smallest:  # a narrower axis would magnify rounding
                ax.set_ylim(lowest - 5 * smallest, lowest + 5 * smallest)
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
            steps = self.phase[rows] == name
            look["markerfacecolor"] = "white" if name == "start" else look["color"]
            marker = _PHASES.get(str(name), ("", "P"))[1]
            ax.plot(across[steps], height[rows][steps], linestyle="none", marker=marker, **look)
        return line

    def _add_legend(self, ax: Axes, others: list[int]) -> None:
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
