"""The losses of dropped and of kept rows over the epochs of a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sorr._typing import FloatArray
from sorr.plots.canvas import DROPPED, INK, KEPT, place_legend, scale_by_powers, take_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

_SMALLEST = 1e-4  # of a loss that is drawn on the logarithmic axis
_PARTS = (("dropped", DROPPED), ("kept", KEPT))


class DroppedLossDisplay:
    """The losses of dropped and of kept rows after each epoch: medians, and 10 to 90 % of the rows.

    Wrong labels are found if the two parts move away from each other. Losses below 0.0001 are drawn
    at 0.0001.

    Parameters
    ----------
    history : sequence of mapping
        A line for each epoch, as in ``tracker.history``.
    n_rows : int
        Number of training rows.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        The axes and the figure of the drawing.

    Examples
    --------
    >>> history = [
    ...     {"epoch": 1, "n_dropped": 0, "kept_10": 0.2, "kept_50": 0.5, "kept_90": 2.0},
    ...     {
    ...         "epoch": 2, "n_dropped": 30, "kept_10": 0.1, "kept_50": 0.2, "kept_90": 0.6,
    ...         "dropped_10": 2.0, "dropped_50": 3.0, "dropped_90": 5.0,
    ...     },
    ... ]
    >>> display = DroppedLossDisplay(history, n_rows=300).plot()
    >>> display.ax_.get_xlabel()
    'epoch'
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(self, history: Sequence[Mapping[str, float]], n_rows: int) -> None:
        if not any(f"{part}_50" in line for line in history for part, _ in _PARTS):
            raise ValueError(
                "history has no losses; needed one finished epoch or more in which rows were "
                "visited: call RankTracker.step() after each. A window has no history"
            )
        self.history, self.n_rows = history, n_rows

    @classmethod
    def from_tracker(cls, tracker: Any, *, ax: Axes | None = None) -> Self:
        """Draw the history of a `RankTracker`.

        Parameters
        ----------
        tracker : RankTracker
            After one epoch or more.
        ax : Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        DroppedLossDisplay
        """
        return cls(tracker.history, tracker.n_rows).plot(ax)

    def quantiles(self, part: str) -> FloatArray:
        """Return the 10, 50 and 90 % quantiles of the losses of a part, a row for each epoch.

        NaN stands for epochs without such rows.

        Parameters
        ----------
        part : {"dropped", "kept"}
            Which rows.

        Returns
        -------
        ndarray of shape (n_epochs, 3)
        """
        return np.array(
            [[line.get(f"{part}_{q}", np.nan) for q in (10, 50, 90)] for line in self.history]
        )

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the losses.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        DroppedLossDisplay
        """
        ax = take_axes(ax, "DroppedLossDisplay.plot", (6.4, 3.6))
        epochs = [line["epoch"] for line in self.history]
        for part, colour in _PARTS:
            low, middle, high = np.maximum(self.quantiles(part), _SMALLEST).T
            if np.isnan(middle).all():
                continue
            ax.fill_between(epochs, low, high, color=colour, alpha=0.18, linewidth=0)
            ax.plot(epochs, middle, color=colour, marker="o", markersize=3.5, label=part)
        scale_by_powers(ax)
        ax.margins(y=0.12)  # for the legend
        share = 100 * self.history[-1]["n_dropped"] / self.n_rows
        ax.set_title(f"{share:.1f} % of {self.n_rows:,} rows are dropped", color=INK, loc="left")
        ax.set_xlabel("epoch")
        ax.set_ylabel("loss at the last visit")
        ax.locator_params(axis="x", integer=True)
        place_legend(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
