"""The error of a search as a function of one parameter: the paper's tendency curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from sorr._checks import check_choice
from sorr._typing import FloatArray
from sorr.plots.canvas import DROPPED, INK, KEPT, place_legend, take_axes
from sorr.plots.fitted import missing_attribute

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

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
        The parameter on the x axis.
    average : float, optional
        The error of the average loss (m = 0, all ranks), drawn as a line.
    chosen : (value, error), optional
        The value that the search chose, and its error.
    n_samples : int, optional
        The number of rows. Needed if some `values` are counts and others fractions.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        The axes and the figure of the drawing.
    line_ : Line2D
        The error.
    band_ : collection or None
        The spread.
    average_line_, chosen_ : Line2D or None
        The average loss, and the marker of the chosen value.

    See Also
    --------
    TendencyDisplay.from_estimator : The curve of a fitted search.

    Notes
    -----
    The folds hold the labels as they are given. A search on wrong labels finds the model that
    predicts wrong labels best, so the curve says little about how many labels are wrong.

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
        check_choice("parameter", parameter, tuple(_LABELS))
        if parameter == "C":
            self.positions, self.tick_labels = np.asarray(values, dtype=np.float64), None
        else:
            self.positions, self.tick_labels = _place_ranks(values, n_samples)
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
            Fitted: with ``cv_results_``, and with ``best_params_`` to mark the chosen value.
        parameter : {"m", "k", "C"}, default="m"
            The parameter to draw.
        fixed : mapping of str to value, optional
            Values of the other parameters, as in ``{"k": None, "C": 1e4}``. For parameters that
            are not fixed, the lowest error at each value of `parameter` is drawn.
        ax : Axes, optional
        **options
            Passed to `plot`.

        Returns
        -------
        TendencyDisplay
        """
        if not hasattr(search, "cv_results_"):
            raise missing_attribute(
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
        """Return the display of a table of results, without drawing it.

        Parameters
        ----------
        results : mapping of str to array
            Columns ``mean_test_error``, one or more of ``param_m``, ``param_k`` and ``param_C``,
            and optionally ``std_test_error``, with one entry for each point of the grid.
        parameter : {"m", "k", "C"}, default="m"
            The parameter to draw.
        fixed : mapping of str to value, optional
            Values of the other parameters.
        best : mapping of str to value, optional
            The chosen point of the grid. It is marked if it is drawn.
        n_samples : int, optional
            The number of rows. Needed if some ranks are counts and others fractions.

        Returns
        -------
        TendencyDisplay
        """
        check_choice("parameter", parameter, tuple(_LABELS))
        curve = _read_results(results, parameter, dict(fixed or {}), best)
        return cls(**curve._asdict(), parameter=parameter, n_samples=n_samples)

    def plot(self, ax: Axes | None = None, *, band: bool = True) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : Axes, optional
            By default new ones.
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
            at = [_as_key(value) for value in self.values].index(_as_key(self.chosen[0]))
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


# -- Reading a table of results --------------------------------------------------------------------


class _Curve(NamedTuple):
    """The lowest error at each value of a parameter, the average loss, and the chosen value."""

    values: list[Any]
    error: FloatArray
    spread: FloatArray | None
    average: float | None
    chosen: tuple[Any, float] | None


def _read_results(
    results: Mapping[str, Any],
    parameter: str,
    fixed: Mapping[str, Any],
    best: Mapping[str, Any] | None,
) -> _Curve:
    """Return the curve of a parameter; of the others, those not fixed are free."""
    grid = {name[6:]: list(column) for name, column in results.items() if name[:6] == "param_"}
    if parameter not in grid or "mean_test_error" not in results:
        raise ValueError(
            f"the results hold {', '.join(map(repr, results))}; needed 'param_{parameter}' and "
            "'mean_test_error', as in cv_results_ of a RankedRangeClassifierCV"
        )
    if parameter in fixed:
        raise ValueError(
            f"{parameter!r} is to be drawn and is in fixed={fixed!r}; needed one or the other"
        )
    error = np.asarray(results["mean_test_error"], dtype=np.float64)
    points = _select(grid, fixed, len(error))
    lowest: dict[Any, int] = {}
    for i in points:
        key = _as_key(grid[parameter][i])
        if not np.isnan(error[i]) and (key not in lowest or error[i] < error[lowest[key]]):
            lowest[key] = i
    if len(lowest) < 2:
        where = f" at {fixed}" if fixed else ""
        raise ValueError(
            f"there is no grid over {parameter}: {len(lowest)} values have an error{where}; needed "
            f"two or more: search over several values of {parameter}"
        )
    drawn = list(lowest.values())
    spread = results.get("std_test_error")
    return _Curve(
        [grid[parameter][i] for i in drawn],
        error[drawn],
        None if spread is None else np.asarray(spread, dtype=np.float64)[drawn],
        _find_average(grid, error, fixed),
        _find_chosen(grid, error, points, parameter, best),
    )


def _as_key(value: Any) -> Any:
    """Return a hashable value that is the same for equal numbers."""
    if _is_number(value):
        return float(value)
    return value if value is None else str(value)


def _select(grid: Mapping[str, list[Any]], fixed: Mapping[str, Any], n_points: int) -> list[int]:
    """Return which points of the grid have the fixed values."""
    points = list(range(n_points))
    for name, value in fixed.items():
        if name not in grid:
            raise ValueError(f"fixed has {name!r}; the grid is over {', '.join(grid)}")
        points = [i for i in points if _as_key(grid[name][i]) == _as_key(value)]
        if not points:
            known = ", ".join(dict.fromkeys(map(str, grid[name])))
            raise ValueError(f"fixed {name}={value!r} is not in the grid; needed one of {known}")
    return points


def _find_average(
    grid: Mapping[str, list[Any]], error: FloatArray, fixed: Mapping[str, Any]
) -> float | None:
    """Return the error of the average loss, the lowest over C unless that is fixed."""
    if "m" not in grid or "k" not in grid:
        return None
    others = {name: value for name, value in fixed.items() if name not in ("m", "k")}
    points = _select(grid, others, len(error))
    errors = error[[i for i in points if grid["k"][i] is None and _as_key(grid["m"][i]) == 0.0]]
    return None if np.isnan(errors).all() else float(np.nanmin(errors))


def _find_chosen(
    grid: Mapping[str, list[Any]],
    error: FloatArray,
    points: list[int],
    parameter: str,
    best: Mapping[str, Any] | None,
) -> tuple[Any, float] | None:
    """Return the chosen value and its error, if it is one of these points."""
    if best is None or parameter not in best:
        return None
    wanted = {name: _as_key(best[name]) for name in grid if name in best}
    for i in points:
        is_best = all(_as_key(grid[name][i]) == value for name, value in wanted.items())
        if is_best and not np.isnan(error[i]):
            return best[parameter], float(error[i])
    return None


def _place_ranks(
    values: Sequence[Any], n_samples: int | None = None
) -> tuple[FloatArray, list[str] | None]:
    """Return the positions of ranks on an axis, and names if they have no common unit.

    Fractions are shares of the rows, and None is all of them. Counts among fractions become
    shares if the number of rows is known. Among counts, None is drawn past the largest.
    """
    numbers = [float(value) for value in values if _is_number(value)]
    n_all = sum(value is None for value in values)
    fractions = [0 < number < 1 for number in numbers if number > 0]
    is_mixed = any(fractions) and not all(fractions)
    if len(numbers) + n_all < len(values) or (is_mixed and n_samples is None):
        names = ["all" if value is None else str(value) for value in values]
        return np.arange(len(values), dtype=np.float64), names
    if any(fractions) or not numbers:
        last, unit = 1.0, float(n_samples or 1)
    else:  # past the largest count by the mean distance of counts
        step = np.ptp(numbers) / max(len(numbers) - 1, 1)
        last, unit = max(numbers) + (float(step) or 1.0), 1.0
    return np.array([last if v is None else v if v < 1 else v / unit for v in values]), None


def _is_number(value: object) -> bool:
    """Tell whether a value is a number; a bool is not."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
