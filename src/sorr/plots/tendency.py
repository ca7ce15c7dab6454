"""The error as a function of one parameter of a search: the paper's tendency curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.plots.canvas import DROPPED, INK, KEPT, place_legend, take_axes
from sorr.plots.fitted import missing
from sorr.plots.grid import place, read_results, same

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

__all__ = ["TendencyDisplay"]

_LABELS = {
    "m": "m: {} dropped from the top",
    "k": "k: {} down to which losses count",
    "C": "C: the larger, the weaker the ridge",
}


class TendencyDisplay:
    """The cross-validated error as a function of m, k or C.

    Parameters
    ----------
    values : sequence
        The values of the parameter, each once. None stands for "down to the last rank".
    error : array-like of shape (n_values,)
        The error at each value.
    spread : array-like of shape (n_values,), optional
        Its standard deviation over the folds, drawn as a band.
    parameter : {"m", "k", "C"}, default="m"
        Which one it is.
    average : float, optional
        The error of the average loss (m = 0, every rank below counted), drawn as a line.
    chosen : (value, error), optional
        What the search settled on.
    n_samples : int, optional
        How many rows there are, for `values` of which some are counts and others fractions.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        What was drawn on.
    line_ : Line2D
        The error.
    band_ : collection or None
        The spread.
    average_line_, chosen_ : Line2D or None
        The average loss, and the mark of what was chosen.

    See Also
    --------
    TendencyDisplay.from_estimator : The curve of a fitted search.

    Notes
    -----
    Folds hold the labels as they are given. A search on wrong labels finds what predicts wrong
    labels best: the curve tells little about how many of them there are.

    Examples
    --------
    >>> display = TendencyDisplay([0, 0.1, 0.2], [0.21, 0.15, 0.18], average=0.21).plot()
    >>> display.line_.get_ydata()
    array([0.21, 0.15, 0.18])
    """

    ax_: Axes
    figure_: Figure | SubFigure
    line_: Line2D
    band_: PolyCollection | None
    average_line_: Line2D | None
    chosen_: Line2D | None

    def __init__(
        self,
        values: Sequence[Any],
        error: npt.ArrayLike,
        *,
        spread: npt.ArrayLike | None = None,
        parameter: str = "m",
        average: float | None = None,
        chosen: tuple[Any, float] | None = None,
        n_samples: int | None = None,
    ) -> None:
        if _check(parameter) == "C":
            self.positions, self.tick_labels = np.asarray(values, dtype=np.float64), None
        else:
            self.positions, self.tick_labels = place(values, n_samples)
        order = np.argsort(self.positions, kind="stable")
        self.positions = self.positions[order]
        self.values = [values[i] for i in order]
        self.error: FloatArray = np.asarray(error, dtype=np.float64)[order]
        self.spread = None if spread is None else np.asarray(spread, dtype=np.float64)[order]
        self.parameter, self.average, self.chosen = parameter, average, chosen

    @classmethod
    def from_estimator(
        cls,
        search: Any,
        parameter: str = "m",
        *,
        fixed: Mapping[str, Any] | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw the error of a fitted search.

        Parameters
        ----------
        search : RankedRangeClassifierCV or RankedRangeRegressorCV
            Fitted: with ``cv_results_``, and with ``best_params_`` to mark what was chosen.
        parameter : {"m", "k", "C"}, default="m"
            Which parameter to draw.
        fixed : mapping of str to value, optional
            Values of the other parameters, as in ``{"k": None, "C": 1e4}``. Over those it does
            not name the lowest error is taken, at each value of `parameter` anew.
        ax : Axes, optional
        **options
            Passed on to `plot`.

        Returns
        -------
        TendencyDisplay
        """
        if not hasattr(search, "cv_results_"):
            raise missing(
                search, "cv_results_", "RankedRangeClassifierCV", "RankedRangeRegressorCV"
            )
        best = getattr(search, "best_params_", None)
        losses = getattr(getattr(search, "best_estimator_", None), "losses_", None)
        display = cls.from_results(
            search.cv_results_,
            parameter,
            fixed=fixed,
            best=best,
            n_samples=None if losses is None else len(losses),
        )
        return display.plot(ax=ax, **options)

    @classmethod
    def from_results(
        cls,
        results: Mapping[str, Any],
        parameter: str = "m",
        *,
        fixed: Mapping[str, Any] | None = None,
        best: Mapping[str, Any] | None = None,
        n_samples: int | None = None,
    ) -> Self:
        """Return the display of a table of results, not yet drawn.

        Parameters
        ----------
        results : mapping of str to array
            One entry per cell of the grid in each of ``param_m``, ``param_k``, ``param_C`` (those
            there are), ``mean_test_error`` and, if there is one, ``std_test_error``.
        parameter : {"m", "k", "C"}, default="m"
            Which parameter to draw.
        fixed : mapping of str to value, optional
            Values of the other parameters.
        best : mapping of str to value, optional
            The cell that was chosen; marked if it is among those that are drawn.
        n_samples : int, optional
            How many rows there are, for grids in which some ranks are counts and others fractions.

        Returns
        -------
        TendencyDisplay
        """
        curve = read_results(results, _check(parameter), dict(fixed or {}), best)
        return cls(
            curve.values,
            curve.error,
            spread=curve.spread,
            parameter=parameter,
            average=curve.average,
            chosen=curve.chosen,
            n_samples=n_samples,
        )

    def plot(self, ax: Axes | None = None, *, band: bool = True) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : Axes, optional
            New ones by default.
        band : bool, default=True
            Whether to shade one standard deviation over the folds.

        Returns
        -------
        TendencyDisplay
        """
        self.ax_ = ax = take_axes(ax, "TendencyDisplay.plot", (7.2, 3.8))
        self.figure_ = ax.figure
        self.band_ = self.average_line_ = self.chosen_ = None
        if self.parameter == "C":
            ax.set_xscale("log")
        if band and self.spread is not None and (self.spread > 0).any():
            low, high = self.error - self.spread, self.error + self.spread
            self.band_ = ax.fill_between(
                self.positions,
                low,
                high,
                color=KEPT,
                alpha=0.15,
                linewidth=0,
                label="one standard deviation\nover the folds",
            )
        if self.average is not None:
            self.average_line_ = ax.axhline(
                self.average,
                color=INK,
                linestyle=(0, (5, 3)),
                linewidth=1.3,
                label=f"average loss: {self.average:.3g}",
            )
        label = f"error, lowest {np.nanmin(self.error):.3g}"
        (self.line_,) = ax.plot(
            self.positions,
            self.error,
            color=KEPT,
            linewidth=2,
            marker="o",
            markersize=5,
            label=label,
        )
        if self.chosen is not None:
            at = [same(value) for value in self.values].index(same(self.chosen[0]))
            name = "all" if self.chosen[0] is None else f"{self.chosen[0]}"
            (self.chosen_,) = ax.plot(
                self.positions[at],
                self.chosen[1],
                color=DROPPED,
                marker="D",
                markersize=9,
                markerfacecolor="none",
                markeredgewidth=2,
                linestyle="none",
                label=f"chosen: {self.parameter} = {name}",
            )
        self._label(ax)
        shown = (self.line_, self.chosen_, self.average_line_, self.band_)
        place_legend(ax, [artist for artist in shown if artist is not None])
        return self

    def _label(self, ax: Axes) -> None:
        fractions = self.parameter != "C" and self.positions.max() <= 1
        if self.tick_labels is not None:
            ax.set_xticks(range(len(self.tick_labels)), self.tick_labels)
        elif fractions:
            ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.4g}%")
        elif None in self.values:
            ends = ax.get_xlim()
            last = self.positions[self.values.index(None)]
            ticks = [tick for tick in ax.get_xticks() if ends[0] <= tick < last]
            ax.set_xticks([*ticks, last], [*(f"{tick:g}" for tick in ticks), "all"])
        ax.set_xlabel(_LABELS[self.parameter].format("share of the rows" if fractions else "rank"))
        ax.set_ylabel("cross-validated error")
        ax.set_title(f"How the error depends on {self.parameter}")


def _check(parameter: str) -> str:
    if parameter not in _LABELS:
        raise ValueError(f"parameter={parameter!r} is unknown; needed 'm', 'k' or 'C'")
    return parameter
