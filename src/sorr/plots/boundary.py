"""The decision boundary of a classifier of two features, and the rows that it left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from sorr._checks import as_count
from sorr._typing import BoolArray, FloatArray, IntArray
from sorr.plots.canvas import CLASS_COLOURS, INK, MARKERS, place_legend, take_axes
from sorr.plots.fitted import find_left_out, label_index, missing_attribute, take_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.contour import QuadContourSet
    from matplotlib.figure import Figure, SubFigure


class DecisionBoundaryDisplay:
    """The regions of a classifier of two features, and the rows; those left out are marked.

    Parameters
    ----------
    grid : pair of ndarray of shape (n_y, n_x)
        The points at which the classifier was evaluated, as from `numpy.meshgrid`.
    scores : ndarray of shape (n_y, n_x, n_classes)
        The score of each class there; the class with the largest one is predicted.
    classes : sequence
        The names of the classes.
    X : ndarray of shape (n_samples, 2), optional
        Rows to draw.
    index : ndarray of int of shape (n_samples,), optional
        The label of each row, by its position among the classes.
    left_out : ndarray of bool of shape (n_samples,), optional
        Rows to mark.
    feature_names : pair of str, default=("feature 0", "feature 1")
        The labels of the axes.
    name : str, optional
        The name of the model, for the title.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        The axes and the figure of the drawing.
    surface_ : QuadContourSet
        The regions.
    boundaries_ : list of QuadContourSet
        The lines between them.
    points_ : list of PathCollection
        The rows, class by class.
    left_out_ : PathCollection or None
        The marks of the rows that were left out.

    See Also
    --------
    sklearn.inspection.DecisionBoundaryDisplay : Regions alone, of any response.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = np.array([[0, 0], [1, 0], [3, 1], [4, 1]]), ["low", "low", "high", "high"]
    >>> display = DecisionBoundaryDisplay.from_estimator(LogisticRegression().fit(X, y), X, y)
    >>> [len(points.get_offsets()) for points in display.points_]
    [2, 2]
    """

    ax_: Axes
    figure_: Figure | SubFigure
    surface_: QuadContourSet
    boundaries_: list[QuadContourSet]
    points_: list[PathCollection]
    left_out_: PathCollection | None

    def __init__(
        self,
        grid: tuple[FloatArray, FloatArray],
        scores: FloatArray,
        classes: Sequence[Any],
        *,
        X: FloatArray | None = None,
        index: IntArray | None = None,
        left_out: BoolArray | None = None,
        feature_names: Sequence[str] = ("feature 0", "feature 1"),
        name: str | None = None,
    ) -> None:
        self.grid, self.scores, self.classes = grid, scores, list(classes)
        self.X, self.index, self.left_out = X, index, left_out
        self.feature_names, self.name = feature_names, name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: npt.ArrayLike | None = None,
        *,
        resolution: int = 200,
        margin: float = 0.08,
        name: str | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw the boundary of a fitted classifier.

        Parameters
        ----------
        estimator : fitted classifier
            From any library, or a pipeline. If it has `outlier_score`, the rows that the fit left
            out, or would have left out, are marked.
        X : array-like of shape (n_samples, 2)
            Rows of the fit, or others. They set the range of the axes.
        y : array-like of shape (n_samples,), optional
            Their labels. Without labels no rows are drawn.
        resolution : int, default=200
            The number of points along each axis at which to evaluate: at least two.
        margin : float, default=0.08
            How far the axes go beyond the rows, as a share of their range.
        name : str, optional
            The name of the model. By default its class.
        ax : Axes, optional
        **options
            Passed to `plot`.

        Returns
        -------
        DecisionBoundaryDisplay
        """
        model = take_apart(estimator).model
        if not hasattr(estimator, "classes_"):
            raise missing_attribute(model, "classes_", "RankedRangeClassifier")
        names = [str(column) for column in getattr(X, "columns", ())]
        points = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != 2:
            raise ValueError(
                f"X has shape {points.shape}; needed two features: choose two columns, and fit "
                "the model on these"
            )
        as_count("resolution", resolution, lowest=2, what="a number of points along each axis")
        low, high = points.min(axis=0), points.max(axis=0)
        reach = margin * np.where(high > low, high - low, 1.0)
        sides = [np.linspace(low[i] - reach[i], high[i] + reach[i], resolution) for i in (0, 1)]
        across, up = np.meshgrid(*sides)
        queries: Any = np.column_stack([across.ravel(), up.ravel()])
        if names:  # a frame of the same kind, since the model may look for its columns
            queries = type(X)(dict(zip(X.columns, queries.T, strict=True)))
        classes = np.asarray(estimator.classes_)
        scores = _score_classes(estimator, queries, classes)
        return cls(
            (across, up),
            scores.reshape(*across.shape, len(classes)),
            classes.tolist(),
            X=points,
            index=None if y is None else label_index(y, classes),
            left_out=None if y is None else find_left_out(estimator, X, y),
            feature_names=names or ("feature 0", "feature 1"),
            name=type(model).__name__ if name is None else name,
        ).plot(ax=ax, **options)

    def plot(self, ax: Axes | None = None, *, size: float | None = None) -> Self:
        """Draw regions, boundaries and rows.

        Parameters
        ----------
        ax : Axes, optional
            By default new ones.
        size : float, optional
            The area of a marker, in square points. By default smaller if there are many rows.

        Returns
        -------
        DecisionBoundaryDisplay
        """
        self.ax_ = ax = take_axes(ax, "DecisionBoundaryDisplay.plot", (7.2, 4.8))
        self.figure_ = ax.figure
        n = len(self.classes)
        colours = [CLASS_COLOURS[i % len(CLASS_COLOURS)] for i in range(n)]
        winner = self.scores.argmax(axis=-1)
        levels = np.arange(n + 1) - 0.5
        self.surface_ = ax.contourf(*self.grid, winner, levels, colors=colours, alpha=0.15)
        self.boundaries_ = [
            ax.contour(*self.grid, lead, [0.0], colors=INK, linewidths=1.8, linestyles="-")
            for lead in self._leads()
        ]
        self.points_, self.left_out_ = [], None
        if self.X is not None and self.index is not None:
            self._draw_rows(ax, self.X, self.index, colours, size)
            place_legend(ax)
        ax.set_xlabel(self.feature_names[0])
        ax.set_ylabel(self.feature_names[1])
        ax.set_title("Decision boundary" + (f" of {self.name}" if self.name else ""))
        return self

    def _draw_rows(
        self,
        ax: Axes,
        X: FloatArray,
        index: IntArray,
        colours: Sequence[str],
        size: float | None,
    ) -> None:
        area = float(np.clip(9000 / len(X), 8, 36)) if size is None else size
        for i, label in enumerate(self.classes):
            rows = X[index == i]
            self.points_.append(
                ax.scatter(
                    rows[:, 0],
                    rows[:, 1],
                    s=area,
                    color=colours[i],
                    marker=MARKERS[i % len(MARKERS)],
                    edgecolor="white",
                    linewidth=0.5,
                    zorder=3,
                    label=f"label {label!r}",
                ),
            )
        if self.left_out is not None:
            rows = X[self.left_out]
            self.left_out_ = ax.scatter(
                rows[:, 0],
                rows[:, 1],
                s=3.2 * area,
                facecolor="none",
                edgecolor="black",
                linewidth=1.1,
                zorder=4,
                label=f"left out ({len(rows)})",
            )

    def _leads(self) -> list[FloatArray]:
        """Return how far each class leads over the others; its boundary is where that is zero."""
        leads = []
        for i in range(1 if len(self.classes) == 2 else 0, len(self.classes)):
            others = np.delete(self.scores, i, axis=-1).max(axis=-1)
            lead = self.scores[..., i] - others
            if lead.min() < 0 < lead.max():
                leads.append(lead)
        return leads


def _score_classes(estimator: Any, rows: Any, classes: npt.NDArray[Any]) -> FloatArray:
    """Return a score for each class; the predicted class has the largest one."""
    if hasattr(estimator, "decision_function"):
        raw = np.asarray(estimator.decision_function(rows), dtype=np.float64)
        return np.column_stack([-raw, raw]) if raw.ndim == 1 else raw
    index = label_index(estimator.predict(rows), classes)
    return np.asarray(np.eye(len(classes))[index])
