"""The share of a label against the score of a model: where wrong labels show, and where not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.plots.canvas import EASY, INK, KEPT, place_legend, take_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.figure import Figure, SubFigure

_LARGEST_DOT = 90.0  # area in square points of the bin with most rows
_SMALLEST_DOT = 6.0


class LabelCurveDisplay:
    """The share of a label in bins of the score, and the curves that explain it.

    Where the model is certain, the curve of right labels reaches 0 and 1. Labels that are wrong at
    random keep it away from there: it ends in a plateau. Overlap of the classes makes it less
    steep, and does not make a plateau.

    Parameters
    ----------
    score : ndarray of shape (n_bins,)
        The log odds of the second class against the first, by the model.
    share : ndarray of shape (n_bins,)
        The share of rows in each bin that have the label of the second class.
    mass : ndarray of shape (n_bins,)
        The number of rows in each bin.
    without : ndarray of shape (n_bins,)
        The best curve if no label is wrong.
    average : ndarray of shape (n_bins,)
        The curve on average over all explanations.
    labels : (str, str)
        Names of the first and the second class.
    verdict : str, default=""
        What the title says about the evidence.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        The axes and the figure of the drawing.
    dots_ : PathCollection
        The bins.

    Examples
    --------
    >>> import numpy as np
    >>> score = np.linspace(-6, 6, 13)
    >>> right = 1 / (1 + np.exp(-score))
    >>> display = LabelCurveDisplay(
    ...     score, 0.1 + 0.8 * right, np.full(13, 50), right, 0.1 + 0.8 * right, ("no", "yes")
    ... ).plot()
    >>> display.ax_.get_ylabel()
    'share labelled yes'
    """

    ax_: Axes
    figure_: Figure | SubFigure
    dots_: PathCollection

    def __init__(
        self,
        score: npt.ArrayLike,
        share: npt.ArrayLike,
        mass: npt.ArrayLike,
        without: npt.ArrayLike,
        average: npt.ArrayLike,
        labels: tuple[str, str],
        verdict: str = "",
    ) -> None:
        arrays: list[FloatArray] = [
            np.asarray(array, dtype=np.float64) for array in (score, share, mass, without, average)
        ]
        if len({array.shape for array in arrays}) > 1 or arrays[0].ndim != 1 or not arrays[0].size:
            raise ValueError(
                f"arrays have shapes {[array.shape for array in arrays]}; needed one entry for "
                "each bin in all of them"
            )
        self.score, self.share, self.mass, self.without, self.average = arrays
        self.labels = labels
        self.verdict = verdict

    @classmethod
    def from_judgement(cls, judgement: Any, *, ax: Axes | None = None) -> Self:
        """Draw the pair of classes with the most wrong labels.

        Parameters
        ----------
        judgement : Judgement
            As `sorr.judge_labels` returns it, or ``judgement_`` of a fitted estimator.
        ax : Axes, optional

        Returns
        -------
        LabelCurveDisplay
        """
        curve = judgement.curve_
        if curve is None:
            raise ValueError(
                "the judgement has no curve: there are too few rows of two classes to judge; "
                "needed 50 rows or more"
            )
        names = [str(judgement.classes_[i]) for i in (curve.first, curve.second)]
        evidence = judgement.verdict_
        verdict = (
            "no evidence of wrong labels"
            if evidence == "none"
            else (f"{evidence} evidence of wrong labels")
        )
        return cls(
            curve.score,
            curve.share,
            curve.mass,
            curve.without,
            curve.average,
            (names[0], names[1]),
            verdict,
        ).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the bins as dots, and both curves.

        Parameters
        ----------
        ax : Axes, optional
            By default new ones.

        Returns
        -------
        LabelCurveDisplay
        """
        self.ax_ = ax = take_axes(ax, "LabelCurveDisplay.plot", (6.4, 4.0))
        self.figure_ = ax.figure
        area = np.maximum(_LARGEST_DOT * self.mass / self.mass.max(), _SMALLEST_DOT)
        ax.plot(
            self.score, self.without, color=EASY, linestyle=(0, (4, 2)), label="if none is wrong"
        )
        ax.plot(self.score, self.average, color=KEPT, linewidth=2, label="as explained best")
        self.dots_ = ax.scatter(
            self.score,
            self.share,
            s=area,
            color=INK,
            alpha=0.75,
            linewidths=0,
            zorder=3,
            label="rows, in bins",
        )
        first, second = self.labels
        ax.set_ylim(-0.04, 1.04)
        ax.set_xlabel(f"score of the model: {first} to the left, {second} to the right")
        ax.set_ylabel(f"share labelled {second}")
        ax.set_title(self.verdict[:1].upper() + self.verdict[1:])
        place_legend(ax, free_corner="upper left")
        return self
