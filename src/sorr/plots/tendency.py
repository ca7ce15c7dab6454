"""The error as a function of one parameter of a search: the paper's tendency curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.plots.canvas import DROPPED, INK, KEPT, place_legend, take_axes
from sorr.plots.fitted import missing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

__all__ = ["Curve", "TendencyDisplay", "is_number", "place", "read_results", "same"]

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
        self.positions: FloatArray
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


# -- A table of results read by one parameter: which cells belong together, the lowest of each -----


class Curve(NamedTuple):
    """The lowest error at each value of a parameter, and what to compare it with."""

    values: list[Any]
    error: FloatArray
    spread: FloatArray | None
    average: float | None
    chosen: tuple[Any, float] | None


def read_results(
    results: Mapping[str, Any],
    parameter: str,
    fixed: Mapping[str, Any],
    best: Mapping[str, Any] | None,
) -> Curve:
    """Return the lowest error at each value of a parameter, the others fixed or free."""
    grid = {name[6:]: list(column) for name, column in results.items() if name[:6] == "param_"}
    if parameter not in grid or "mean_test_error" not in results:
        raise ValueError(
            f"the results hold {', '.join(map(repr, results))}; needed 'param_{parameter}' and "
            "'mean_test_error', as in cv_results_ of a RankedRangeClassifierCV"
        )
    if parameter in fixed:
        raise ValueError(
            f"{parameter!r} is to be drawn, and is in fixed={fixed!r}; needed one or the other"
        )
    error = np.asarray(results["mean_test_error"], dtype=np.float64)
    rows = _matching(grid, fixed, len(error))
    lowest: dict[Any, int] = {}
    for i in rows:
        key = same(grid[parameter][i])
        if not np.isnan(error[i]) and (key not in lowest or error[i] < error[lowest[key]]):
            lowest[key] = i
    if len(lowest) < 2:
        where = f" at {fixed}" if fixed else ""
        raise ValueError(
            f"there is no grid over {parameter}: values of it with an error{where}: "
            f"{len(lowest)}; a curve needs two or more: search over several values of {parameter}"
        )
    cells = list(lowest.values())
    spread = results.get("std_test_error")
    return Curve(
        [grid[parameter][i] for i in cells],
        error[cells],
        None if spread is None else np.asarray(spread, dtype=np.float64)[cells],
        _average(grid, error, fixed),
        _chosen(grid, error, rows, parameter, best),
    )


def same(value: Any) -> Any:
    """Return the value in a form that is equal for equal numbers, and hashable."""
    if is_number(value):
        return float(value)
    return value if value is None else str(value)


def _matching(grid: Mapping[str, list[Any]], fixed: Mapping[str, Any], n_cells: int) -> list[int]:
    """Return which cells have the fixed values."""
    rows = list(range(n_cells))
    for name, value in fixed.items():
        if name not in grid:
            raise ValueError(f"fixed names {name!r}; the grid is over {', '.join(grid)}")
        rows = [i for i in rows if same(grid[name][i]) == same(value)]
        if not rows:
            there = ", ".join(dict.fromkeys(map(str, grid[name])))
            raise ValueError(f"fixed {name}={value!r} is not in the grid; there are {there}")
    return rows


def _average(
    grid: Mapping[str, list[Any]], error: FloatArray, fixed: Mapping[str, Any]
) -> float | None:
    """Return the error of the average loss, the lowest over C unless that is fixed."""
    others = {name: value for name, value in fixed.items() if name not in ("m", "k")}
    if "m" not in grid or "k" not in grid:
        return None
    rows = _matching(grid, others, len(error))
    errors = error[[i for i in rows if _is_average(grid["m"][i], grid["k"][i])]]
    return None if np.isnan(errors).all() else float(np.nanmin(errors))


def _is_average(m: Any, k: Any) -> bool:
    return k is None and same(m) == 0.0


def _chosen(
    grid: Mapping[str, list[Any]],
    error: FloatArray,
    rows: list[int],
    parameter: str,
    best: Mapping[str, Any] | None,
) -> tuple[Any, float] | None:
    """Return the value that was chosen and its error, if that cell is one of these."""
    if best is None or parameter not in best:
        return None
    wanted = {name: same(best[name]) for name in grid if name in best}
    for i in rows:
        is_it = all(same(grid[name][i]) == value for name, value in wanted.items())
        if is_it and not np.isnan(error[i]):
            return best[parameter], float(error[i])
    return None


def place(
    values: Sequence[Any], n_samples: int | None = None
) -> tuple[FloatArray, list[str] | None]:
    """Return where ranks lie on an axis, and names for them where they have no common unit.

    Fractions are shares of the rows, and None is all of them. Counts among fractions become
    shares where the number of rows is known. Among counts, None is drawn past the largest.
    """
    numbers = [float(value) for value in values if is_number(value)]
    n_all = sum(value is None for value in values)
    fractions = [0 < number < 1 for number in numbers if number > 0]
    is_mixed = any(fractions) and not all(fractions)
    if len(numbers) + n_all < len(values) or (is_mixed and n_samples is None):
        names = ["all" if value is None else str(value) for value in values]
        return np.arange(len(values), dtype=np.float64), names
    if any(fractions) or not numbers:
        last, unit = 1.0, float(n_samples or 1)
    else:  # past the largest count by as much as the counts are apart
        step = np.ptp(numbers) / max(len(numbers) - 1, 1)
        last, unit = max(numbers) + (float(step) or 1.0), 1.0
    return np.array([last if v is None else v if v < 1 else v / unit for v in values]), None


def is_number(value: object) -> bool:
    """Return whether a value is a number; a bool is none."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
