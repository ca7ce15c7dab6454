"""The losses of all rows from the largest down, and which ranks are dropped and kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.plots.canvas import DROPPED, EASY, INK, KEPT, need_matplotlib, scale_by_powers, tidy
from sorr.plots.fitted import read_losses
from sorr.ranked import RankedRange

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

_MAX_COLUMNS = 3  # panels side by side
_PARTS = (("dropped", DROPPED, "///"), ("kept", KEPT, None), ("left aside", EASY, "..."))
_WORDS = {"dropped": "dropped", "kept": "kept", "left aside": "easy, left aside"}
_NEW_WORDS = {"dropped": "would be dropped", "kept": "would be kept"}  # for new rows


class RankedLossDisplay:
    """The ranked losses of the rows, and the ranks that are dropped, kept and left aside.

    The model minimises the area under the curve between ranks m and k. If each class is ranked by
    itself, it has its own panel.

    Parameters
    ----------
    losses : array-like of shape (n_samples,)
        The loss of each row.
    m, k : array-like of shape (n_groups,)
        The two ranks of each group, in rows, or in mass if rows have weights.
    group : array-like of int of shape (n_samples,), optional
        The group of each row, from 0. By default all rows are ranked together.
    labels : sequence, optional
        The names of the groups.
    sample_weight : array-like of shape (n_samples,), optional
        The mass of each row.
    is_fit : bool, default=True
        Whether these are the rows of the fit. For new rows, `losses` are outlier scores.

    Attributes
    ----------
    curves : tuple of RankedCurve
        The curve of each group.
    axes_ : ndarray of Axes
        The panels.
    ax_, figure_ : Axes, Figure
        The first panel, and its figure.
    lines_ : list of Line2D
        The curve in each panel.
    spans_ : list of dict of str to Patch
        The shaded parts of each panel: ``"dropped"``, ``"kept"`` and ``"left aside"``, unless they
        are empty.

    Examples
    --------
    >>> display = RankedLossDisplay.from_losses([0.3, 9.0, 0.1, 0.7, 0.2], m=1, k=3)
    >>> display.lines_[0].get_ydata()[:-1]
    array([9. , 0.7, 0.3, 0.2, 0.1])
    >>> display.curves[0].spans()
    {'dropped': (0.0, 1.0), 'kept': (1.0, 3.0), 'left aside': (3.0, 5.0)}
    """

    axes_: npt.NDArray[np.object_]
    ax_: Axes
    figure_: Figure | SubFigure
    lines_: list[Line2D]
    spans_: list[dict[str, Patch]]

    def __init__(
        self,
        losses: npt.ArrayLike,
        m: npt.ArrayLike,
        k: npt.ArrayLike,
        *,
        group: npt.ArrayLike | None = None,
        labels: Sequence[Any] | None = None,
        sample_weight: npt.ArrayLike | None = None,
        is_fit: bool = True,
    ) -> None:
        values = np.asarray(losses, dtype=np.float64)
        group = np.zeros(len(values), int) if group is None else np.asarray(group)
        mass = np.ones(len(values)) if sample_weight is None else np.asarray(sample_weight, float)
        ends = list(zip(np.atleast_1d(m), np.atleast_1d(k), strict=True))
        names = [None] * len(ends) if labels is None else list(labels)
        self.is_fit, self.has_weights = is_fit, sample_weight is not None
        is_ranked = (mass > 0) & ~np.isnan(values)  # rows without weight have no rank
        self.curves = tuple(
            _rank(names[i], values[rows], mass[rows], float(low), float(high))
            for i, (low, high) in enumerate(ends)
            if (rows := is_ranked & (group == i)).any()
        )
        if not self.curves:
            raise ValueError("no row has a loss and a weight; needed at least one")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: npt.ArrayLike | None = None,
        *,
        sample_weight: npt.ArrayLike | None = None,
        ax: Axes | Iterable[Axes] | None = None,
        **options: Any,
    ) -> Self:
        """Draw the losses of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
            A classifier or regressor of `sorr`. For a pipeline it is the last step, for a search
            the best model.
        X : array-like of shape (n_samples, n_features), optional
            Rows to draw. Rows of the fit are recognised by their losses. For new rows the outlier
            score is drawn: the loss minus the largest one that was kept in the fit. By default the
            rows of the fit are drawn.
        y : array-like of shape (n_samples,), optional
            Their targets. Needed with `X`, and if each class is ranked by itself.
        sample_weight : array-like of shape (n_samples,), optional
            The weights of these rows, if the fit had any. If classes with weights are ranked
            together, multiply each weight by that of its class.
        ax : Axes or iterable of Axes, optional
            One for each panel. By default new ones.
        **options
            Passed to `plot`.

        Returns
        -------
        RankedLossDisplay
        """
        rows = read_losses(estimator, X, y)
        mass = np.ones(len(rows.values)) if sample_weight is None else np.asarray(sample_weight)
        if len(mass) != len(rows.values):
            raise ValueError(
                f"sample_weight has {len(mass)} entries; needed one for each of the "
                f"{len(rows.values)} rows"
            )
        m, k = rows.ends(mass)
        display = cls(
            rows.values,
            m,
            k,
            group=rows.group,
            labels=rows.labels,
            sample_weight=sample_weight,
            is_fit=rows.is_fit,
        )
        return display.plot(ax=ax, **options)

    @classmethod
    def from_losses(
        cls,
        losses: npt.ArrayLike,
        m: float = 0,
        k: float | None = None,
        *,
        labels: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        ax: Axes | Iterable[Axes] | None = None,
        **options: Any,
    ) -> Self:
        """Draw given losses.

        Parameters
        ----------
        losses : array-like of shape (n_samples,)
        m, k : int, float or None
            The ranks, as counts or fractions of all rows, or of each label.
        labels : array-like of shape (n_samples,), optional
            The class of each row, to rank each class by itself.
        sample_weight : array-like of shape (n_samples,), optional
        ax : Axes or iterable of Axes, optional
        **options
            Passed to `plot`.

        Returns
        -------
        RankedLossDisplay
        """
        values = np.asarray(losses, dtype=np.float64)
        group, names = np.zeros(len(values), np.intp), None
        if labels is not None:
            names, group = np.unique(np.asarray(labels), return_inverse=True)
        totals: list[Any] = np.bincount(group).tolist()
        unknown = np.isnan(values)
        if sample_weight is not None:
            mass = np.asarray(sample_weight, float)
            totals = np.bincount(group, mass).tolist()
            unknown &= mass > 0
        if unknown.any():
            raise ValueError(
                f"{unknown.sum()} of the losses are NaN, which has no rank; needed numbers: remove "
                "these rows, or give them weight 0"
            )
        ends = [RankedRange(m, k).resolve(total) for total in totals]
        display = cls(
            values,
            [float(end.m) for end in ends],
            [
                float(total if end.k is None else end.k)
                for end, total in zip(ends, totals, strict=True)
            ],
            group=group,
            labels=None if names is None else names.tolist(),
            sample_weight=sample_weight,
        )
        return display.plot(ax=ax, **options)

    def plot(
        self,
        ax: Axes | Iterable[Axes] | None = None,
        *,
        yscale: Literal["linear", "log"] = "linear",
        reach: float | None = 4.0,
    ) -> Self:
        """Draw the curves, a panel for each group.

        Parameters
        ----------
        ax : Axes or iterable of Axes, optional
            One for each panel. By default new ones.
        yscale : {"linear", "log"}, default="linear"
            The scale of the losses of the fit. A logarithmic scale does not show losses of zero,
            and is not possible for outlier scores, which can be negative.
        reach : float or None, default=4.0
            The height of a linear axis, as a multiple of the largest loss that is kept, so that
            huge losses do not flatten the others. The legend then has the largest loss. None shows
            all of them.

        Returns
        -------
        RankedLossDisplay
        """
        if yscale not in ("linear", "log") or (yscale == "log" and not self.is_fit):
            raise ValueError(
                f"yscale={yscale!r} is not possible; needed 'linear', or 'log' for rows of the fit"
            )
        self.axes_ = self._take_panels(ax)
        self.ax_ = self.axes_[0]
        self.figure_ = self.ax_.figure
        self.lines_, self.spans_ = [], []
        title = "Losses from the largest down" if self.is_fit else "Losses of new rows"
        if ax is None and len(self.curves) > 1:
            self.figure_.suptitle(title)
            title = ""
        for panel, curve in zip(self.axes_, self.curves, strict=True):
            if yscale == "log":
                scale_by_powers(panel)
            line, spans = _draw_curve(panel, curve, self.is_fit, reach)
            self.lines_.append(line)
            self.spans_.append(spans)
            panel.set_xlabel(f"{'mass' if self.has_weights else 'rows'}, ranked by loss")
            panel.set_ylabel("loss" if self.is_fit else "loss above the largest kept")
            named = "" if curve.label is None else f"label {curve.label!r}"
            panel.set_title(": ".join(filter(None, (title, named))), pad=18)
        return self

    def _take_panels(self, ax: Axes | Iterable[Axes] | None) -> npt.NDArray[np.object_]:
        plt = need_matplotlib("RankedLossDisplay.plot")
        n = len(self.curves)
        if ax is None:
            n_columns = min(n, _MAX_COLUMNS)
            n_rows = -(-n // n_columns)
            size = (max(7.2, 4.8 * n_columns), 3.9 * n_rows)
            figure, grid = plt.subplots(
                n_rows, n_columns, figsize=size, layout="constrained", squeeze=False
            )
            for spare in grid.flat[n:]:
                figure.delaxes(spare)
            panels = grid.flat[:n]
        else:
            panels = np.array(list(ax) if isinstance(ax, Iterable) else [ax], dtype=object).ravel()
            if len(panels) != n:
                raise ValueError(
                    f"{len(panels)} axes are given; needed {n}, one for each class that is ranked "
                    f"by itself: pass the axes of plt.subplots(1, {n}), or leave ax out"
                )
        for panel in panels:
            tidy(panel)
        return np.asarray(panels)


# -- The curve of one group of rows ----------------------------------------------------------------


class RankedCurve(NamedTuple):
    """The losses of one group of rows, ranked."""

    label: Any
    """The class of the rows, or None if all are ranked together."""

    edges: FloatArray
    """Where each loss begins and ends: ranks from 0, or mass if rows have weights."""

    losses: FloatArray
    """The losses, the largest first."""

    m: float
    k: float

    def spans(self) -> dict[str, tuple[float, float]]:
        """Return the first and last ranks of the rows dropped, kept, and left aside."""
        ends = (0.0, self.m, self.k, float(self.edges[-1]))
        return {name: (ends[i], ends[i + 1]) for i, (name, *_) in enumerate(_PARTS)}

    def at(self, position: float) -> float:
        """Return the loss at a position between the ranks."""
        row = int(np.searchsorted(self.edges, position, side="right")) - 1
        return float(self.losses[min(row, len(self.losses) - 1)])


def _rank(label: Any, losses: FloatArray, mass: FloatArray, m: float, k: float) -> RankedCurve:
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


def _draw_curve(
    ax: Axes, curve: RankedCurve, is_fit: bool, reach: float | None
) -> tuple[Line2D, dict[str, Patch]]:
    """Draw a curve, the parts under it, and the two cuts."""
    edges, losses = curve.edges, curve.losses
    heights = np.append(losses, losses[-1:])  # one more, to end the last step
    words = _WORDS if is_fit else _NEW_WORDS
    floor = 0.0 if is_fit else min(float(losses[-1]), 0.0)
    is_cut = ax.get_yscale() == "linear" and _set_height(ax, curve, floor, reach)
    spans: dict[str, Patch] = {}
    for (name, (low, high)), (_, colour, hatch) in zip(curve.spans().items(), _PARTS, strict=True):
        if high <= low:
            continue
        spans[name] = ax.axvspan(low, high, facecolor=colour, alpha=0.1, linewidth=0)
        if name == "left aside":  # losses near zero have no area to hatch
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


def _set_height(ax: Axes, curve: RankedCurve, floor: float, reach: float | None) -> bool:
    """Set the height of the axis, and return whether it cuts off the largest losses."""
    total, largest = float(curve.edges[-1]), float(curve.losses[0])
    top, kept = largest, curve.at(curve.m)
    if reach is not None and curve.m > 0 and kept > floor:
        top = min(top, floor + reach * (kept - floor))
    # the legend is at the upper right, where the curve is below the loss at a third of the ranks
    room = floor + (curve.at(0.35 * total) - floor) / 0.6
    height = 1.05 * (max(top, room) - floor)
    ax.set_ylim(floor, floor + (height if height > 0 else 1.0))
    return largest > floor + height
