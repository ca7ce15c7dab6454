"""Predicted probabilities against frequencies: for all rows, and for the rows that were kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from sorr._checks import check_choice
from sorr._typing import FloatArray
from sorr.plots.canvas import DROPPED, INK, KEPT, place_legend, take_axes
from sorr.plots.fitted import find_left_out, label_index, take_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

Strategy = Literal["uniform", "quantile"]

_STANDARD_ERRORS = 1.959964  # on either side, for 95 % of a normal distribution


class ReliabilityCurve(NamedTuple):
    """The mean prediction and the frequency of the label in each bin of probabilities."""

    predicted: FloatArray
    """The mean probability of the rows of each bin."""

    observed: FloatArray
    """The share of these rows that have the label."""

    n_rows: npt.NDArray[np.int64]
    """The number of these rows; empty bins are left out."""

    def interval(self) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the 95 % interval of each share (Wilson, 1927)."""
        n, share, z = self.n_rows, self.observed, _STANDARD_ERRORS
        centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
        return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)


class CalibrationDisplay:
    """How often rows have a label when it is predicted with a given probability.

    The curve over all rows takes the labels as they are. Wrong labels bend it: if one label in ten
    is flipped and a perfect model predicts 0.99, only 90 % of the rows have the label. The curve
    over the rows that were kept is wrong in the other direction, because the rows left out are
    those that disagree with the model. If only wrong labels were left out, read the second curve.
    In general the truth is between the two; rows with checked labels are better than either.

    Parameters
    ----------
    all_rows : ReliabilityCurve
        The curve over all rows.
    kept_rows : ReliabilityCurve, optional
        The curve over the rows that were kept.
    pos_label : label, optional
        The label whose probability is predicted.
    name : str, optional
        The name of the model, for the title.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        The axes and the figure of the drawing.
    line_ : Line2D
        The curve over all rows.
    kept_line_ : Line2D or None
        The curve over the rows that were kept.

    See Also
    --------
    sklearn.calibration.CalibrationDisplay : The curve over all rows alone.

    Examples
    --------
    >>> y_true, y_prob = [0, 0, 1, 1, 0], [0.1, 0.2, 0.8, 0.9, 0.9]
    >>> left_out = [False, False, False, False, True]
    >>> display = CalibrationDisplay.from_predictions(
    ...     y_true, y_prob, left_out=left_out, n_bins=2, strategy="uniform"
    ... )
    >>> display.line_.get_ydata().round(2), display.kept_line_.get_ydata().round(2)
    (array([0.  , 0.67]), array([0., 1.]))
    """

    ax_: Axes
    figure_: Figure | SubFigure
    line_: Line2D
    kept_line_: Line2D | None

    def __init__(
        self,
        all_rows: ReliabilityCurve,
        kept_rows: ReliabilityCurve | None = None,
        *,
        pos_label: Any = None,
        name: str | None = None,
    ) -> None:
        self.all_rows, self.kept_rows = all_rows, kept_rows
        self.pos_label, self.name = pos_label, name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: npt.ArrayLike,
        *,
        pos_label: Any = None,
        n_bins: int = 10,
        strategy: Strategy = "quantile",
        name: str | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw the curves of a fitted classifier.

        Parameters
        ----------
        estimator : fitted classifier
            With `predict_proba`, or a pipeline that ends with one. If it has `outlier_score`, a
            second curve leaves out the rows that the fit left out, or would have left out.
        X : array-like of shape (n_samples, n_features)
            The rows of the fit, or better new ones: a model fits its own rows too well.
        y : array-like of shape (n_samples,)
            Their labels.
        pos_label : label, optional
            The label to look at, against all others. By default the second of two; with more than
            two it is required.
        n_bins : int, default=10
            The number of bins of the probabilities.
        strategy : {"quantile", "uniform"}, default="quantile"
            Bins with equal numbers of rows, or of equal width.
        name : str, optional
            The name of the model. By default its class.
        ax : Axes, optional
        **options
            Passed to `plot`.

        Returns
        -------
        CalibrationDisplay
        """
        model = take_apart(estimator).model
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"this {type(model).__name__} has no predict_proba; needed a classifier with a "
                "smooth loss, such as loss='logistic'"
            )
        probability = np.asarray(estimator.predict_proba(X), dtype=np.float64)
        classes = np.asarray(estimator.classes_).tolist()
        if pos_label is None:
            if len(classes) != 2:
                raise ValueError(
                    f"there are {len(classes)} classes; needed pos_label, the label to look at: "
                    f"one of {', '.join(map(repr, classes))}"
                )
            pos_label = classes[1]
        column = int(label_index([pos_label], classes, "pos_label")[0])
        return cls.from_predictions(
            label_index(y, classes) == column,
            probability[:, column],
            left_out=find_left_out(estimator, X, y),
            pos_label=pos_label,
            n_bins=n_bins,
            strategy=strategy,
            name=type(model).__name__ if name is None else name,
            ax=ax,
            **options,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: npt.ArrayLike,
        y_prob: npt.ArrayLike,
        *,
        left_out: npt.ArrayLike | None = None,
        pos_label: Any = None,
        n_bins: int = 10,
        strategy: Strategy = "quantile",
        name: str | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw the curves of given predictions.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Whether each row has the label: bools, or zeros and ones.
        y_prob : array-like of shape (n_samples,)
            The predicted probability of the label.
        left_out : array-like of bool of shape (n_samples,), optional
            Rows to leave out of the second curve. By default there is no second curve.
        pos_label, n_bins, strategy, name, ax, **options
            As in `from_estimator`.

        Returns
        -------
        CalibrationDisplay
        """
        has_label, probability = np.asarray(y_true), np.asarray(y_prob, dtype=np.float64)
        if not np.isin(has_label, (0, 1)).all():
            raise ValueError("y_true holds other values than 0 and 1; pass y == label")
        _check_probability(probability, has_label.shape)
        all_rows = _count_bins(has_label, probability, n_bins, strategy)
        kept_rows = None
        if left_out is not None:
            is_kept = ~np.asarray(left_out, dtype=bool)
            if is_kept.shape != probability.shape:
                raise ValueError(
                    f"left_out has shape {is_kept.shape}; needed True or False for each of the "
                    f"{len(probability)} rows"
                )
            if is_kept.any():
                kept_rows = _count_bins(has_label[is_kept], probability[is_kept], n_bins, strategy)
        return cls(all_rows, kept_rows, pos_label=pos_label, name=name).plot(ax=ax, **options)

    def plot(self, ax: Axes | None = None, *, interval: bool = True) -> Self:
        """Draw the curves, and the diagonal of a calibrated model.

        Parameters
        ----------
        ax : Axes, optional
            By default new ones.
        interval : bool, default=True
            Whether to draw the 95 % interval of each share.

        Returns
        -------
        CalibrationDisplay
        """
        self.ax_ = ax = take_axes(ax, "CalibrationDisplay.plot", (7.2, 4.6))
        self.figure_ = ax.figure
        ax.plot([0, 1], [0, 1], color=INK, linestyle=(0, (1, 2)), label="calibrated")
        look: dict[str, Any] = {"color": DROPPED, "marker": "s", "linestyle": "--"}
        self.line_ = _draw(ax, self.all_rows, "all rows, as labelled", interval, look)
        self.kept_line_ = None
        if self.kept_rows is not None:
            look = {"color": KEPT, "marker": "o", "linestyle": "-"}
            self.kept_line_ = _draw(ax, self.kept_rows, "rows kept", interval, look)
        label = "the label" if self.pos_label is None else f"label {self.pos_label!r}"
        ax.set_xlabel(f"probability predicted for {label}")
        ax.set_ylabel(f"share of rows with {label}")
        ax.set_title("Calibration" + (f" of {self.name}" if self.name else ""))
        ax.set_aspect("equal")
        ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
        place_legend(ax, free_corner="lower right")
        return self


def _draw(
    ax: Axes, curve: ReliabilityCurve, label: str, interval: bool, look: dict[str, Any]
) -> Line2D:
    label = f"{label} ({curve.n_rows.sum()})"
    (line,) = ax.plot(curve.predicted, curve.observed, markersize=5, label=label, **look)
    if interval:
        low, high = curve.interval()
        ax.vlines(curve.predicted, low, high, color=look["color"], alpha=0.5, linewidth=1.5)
    return line


def _check_probability(probability: FloatArray, shape: tuple[int, ...]) -> None:
    if probability.ndim != 1 or probability.shape != shape:
        raise ValueError(
            f"y_true has shape {shape}, y_prob {probability.shape}; needed one entry of both for "
            "each row: of predict_proba, take the column of the label"
        )
    if np.isnan(probability).any():
        raise ValueError(
            f"{np.isnan(probability).sum()} of the probabilities are NaN; needed numbers from 0 to "
            "1: remove these rows"
        )
    outside = probability[(probability < 0) | (probability > 1)]
    if len(outside):
        raise ValueError(
            f"y_prob holds {outside[0]:g}, which is not a probability; needed numbers from 0 to 1, "
            "from predict_proba and not from decision_function"
        )


def _count_bins(
    has_label: npt.NDArray[Any], probability: FloatArray, n_bins: int, strategy: str
) -> ReliabilityCurve:
    if not len(probability) or n_bins < 1:
        raise ValueError(
            f"{len(probability)} rows are given, and n_bins={n_bins}; needed one or more of both"
        )
    check_choice("strategy", strategy, ("quantile", "uniform"))
    edges = np.linspace(0, 1, n_bins + 1)
    if strategy == "quantile":
        edges = np.quantile(probability, edges)
    bins = np.searchsorted(edges[1:-1], probability)
    count = np.bincount(bins, minlength=n_bins)
    filled = count > 0
    predicted, observed = (
        np.bincount(bins, values, n_bins)[filled] / count[filled]
        for values in (probability, has_label)
    )
    return ReliabilityCurve(predicted, observed, count[filled])
