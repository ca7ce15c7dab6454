"""Figure 2: the loss of one row under a ranked range, and where the rows of a fit lie."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sorr._files import write_atomically
from sorr._typing import BoolArray, FloatArray
from sorr.datasets import flip_symmetric
from sorr.estimators import RankedRangeClassifier
from sorr.experiments.experiment import Cell, Experiment, Measured, Plan, Task, seed_of
from sorr.experiments.paper.population import scaled_loss
from sorr.experiments.rows import Row
from sorr.experiments.tables import fill_page, format_table, write_csv, write_figure
from sorr.plots import CLASS_COLOURS, DROPPED, EASY, INK, KEPT, need_matplotlib, tidy
from sorr.ranked import Thresholds, truncate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_N, _WRONG, _K = 80, 8, 52  # rows, wrong labels, and the rank down to which losses count
_DATASET, _RANKED = "two clouds", "ranked range"
_RANKS: dict[str, tuple[int, int | None]] = {
    "average": (0, None),
    "average top-k": (0, _K),
    _RANKED: (_WRONG, _K),
}
_C = 10.0
_CHOSEN = Thresholds(upper=1.3, lower=0.4)
_COLUMNS = ("margin", "loss", "counted", "kind", "flipped")
_LEFT, _RIGHT = -4.6, 5.0


class Rows(NamedTuple):
    """Points in the plane, their labels, and which labels are wrong."""

    X: FloatArray
    y: npt.NDArray[Any]
    wrong: BoolArray


def two_clouds() -> Rows:
    """Return two normal clouds of the same size, with some labels flipped."""
    rng = np.random.default_rng(seed_of("fig-interpretation", _DATASET))
    clean = np.repeat([-1, 1], _N // 2)
    X = rng.standard_normal((_N, 2)) + clean[:, None] * np.array([1.5, 0.9])
    return Rows(X, *flip_symmetric(clean, _WRONG / _N, rng))


def bits(margin: npt.ArrayLike) -> FloatArray:
    """Return the logistic loss of margins in bits, which is one at zero."""
    return scaled_loss("logistic", margin)


def _tasks(_plan: Plan) -> list[Task]:
    return [Task(_measure, tuple(Cell("ours", _DATASET, name, "", 0) for name in _RANKS))]


def _measure(cells: tuple[Cell, ...]) -> Iterator[tuple[Cell, Measured]]:
    X, y, wrong = two_clouds()
    clean = np.where(wrong, -y, y)
    for cell in cells:
        m, k = _RANKS[cell.model]
        model = RankedRangeClassifier(m, k, ranking="pooled", C=_C, random_state=cell.seed)
        model.fit(X, y)
        upper, lower = model.thresholds_[0] / math.log(2)
        values = {
            "upper": float(upper),
            "lower": float(lower),
            "error": 100 * float(np.mean(model.predict(X) != clean)),
            "found": float(model.outlier_mask_[wrong].sum()),
            "coef_1": float(model.coef_[0, 0]),
            "coef_2": float(model.coef_[0, 1]),
            "intercept": float(model.intercept_[0]),
        }
        margin = y * model.decision_function(X)
        cuts = Thresholds(values["upper"], values["lower"])
        chosen = {"m": m, "k": k, "C": _C, "rows": _rows(margin, wrong, cuts, cell.model)}
        yield cell, Measured(values, chosen, model.objective_, model.gap_, model.status_.name)


def _rows(
    margin: FloatArray, wrong: BoolArray, cuts: Thresholds, model: str
) -> dict[str, list[Any]]:
    """Return what is drawn of the rows of a fit: columns by name, sorted by the margin.

    Their last digits depend on the processor. So they are stored with the fit, and drawing does not
    compute them again.
    """
    loss = bits(margin)
    rank = np.empty(_N, dtype=int)
    rank[np.argsort(-loss, kind="stable")] = np.arange(1, _N + 1)
    m, k = _RANKS[model]
    kind = np.where(rank <= m, "dropped", np.where(rank <= (k or _N), "kept", "easy"))
    columns = {
        "margin": margin,
        "loss": loss,
        "counted": truncate(loss, *cuts),
        "kind": kind,
        "flipped": wrong,
    }
    order = np.argsort(margin)
    return {name: column[order].tolist() for name, column in columns.items()}


def _view(rows: list[Row], _plan: Plan, folder: Path) -> list[Path]:
    fits = {row["model"]: row for row in rows}
    fit = _Fit(fits[_RANKED]) if _RANKED in fits else None
    page = fill_page(
        "fig-interpretation",
        **_CHOSEN._asdict(),
        n=_N,
        wrong=_WRONG,
        k=_K,
        C=_C,
        table=_table(list(fits.values())),
    )
    paths = [write_atomically(folder / "fig-interpretation.md", page)]
    if fit is not None:
        paths.append(write_csv(folder / "fig-interpretation.csv", fit.records()))
    return [*paths, write_figure(folder / "fig-interpretation.png", _figure(fit))]


def _table(rows: list[Row]) -> str:
    header = ["model", "m", "k", "lambda", "lambda-hat", "error", "flipped labels dropped"]
    lines = []
    for row in rows:
        m, k = _RANKS[row["model"]]
        levels = [f"{row[name]:.3f}" for name in ("lower", "upper")]
        error = f"{row['error']:.2f}"
        dropped = f"{row['found']:.0f} of {_WRONG}" if m else ""
        lines.append([row["model"], f"{m}", f"{k or _N}", *levels, error, dropped])
    return format_table(header, lines)


class _Fit:
    """Where the rows of a fit lie, as stored with it."""

    def __init__(self, row: Row) -> None:
        self.cuts = Thresholds(row["upper"], row["lower"])
        self.columns = {name: row["chosen"]["rows"][name] for name in _COLUMNS}

    def records(self) -> list[dict[str, Any]]:
        """Return what is drawn of each row."""
        lines = zip(*self.columns.values(), strict=True)
        return [dict(zip(self.columns, line, strict=True)) for line in lines]


def _figure(fit: _Fit | None) -> Figure:
    plt = need_matplotlib("fig-interpretation")
    figure: Figure
    figure, (panels,) = plt.subplots(
        1,
        1 if fit is None else 2,
        figsize=(10, 4.6),
        layout="constrained",
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    _draw_losses(panels[0], _CHOSEN)
    panels[0].set_ylabel("loss of a row, bits")
    panels[0].set_title("Thresholds chosen by hand", loc="left", fontsize="medium")
    if fit is not None:
        _draw_losses(panels[1], fit.cuts, is_fit=True)
        _draw_rows(panels[1], fit)
        panels[1].set_title("Thresholds of a fit, and its rows", loc="left", fontsize="medium")
    for ax in panels:
        tidy(ax).set_xlabel("margin, y f(x)")
        ax.legend(loc="upper right", framealpha=0.95, fontsize="small")
    panels[0].set(xlim=(_LEFT, _RIGHT), ylim=(-0.12, 4.0))
    return figure


def _draw_losses(ax: Axes, cuts: Thresholds, *, is_fit: bool = False) -> None:
    """Draw the losses of a row by its margin, and mark the thresholds on them."""
    z = np.linspace(_LEFT, _RIGHT, 1001)
    loss, capped = bits(z), truncate(bits(z), *cuts)
    ax.axvspan(0, _RIGHT, color=CLASS_COLOURS[4], alpha=0.12, linewidth=0)
    ax.text(_RIGHT - 0.1, 1.62, "classified correctly", ha="right", color=INK, fontsize="small")
    if not is_fit:
        ax.step([_LEFT, 0, _RIGHT], [1, 1, 0], color=INK, linewidth=1.2, label="0-1 loss")
    ax.plot(z, loss, color=CLASS_COLOURS[1], linestyle=(0, (1, 1)), linewidth=2, label="logistic")
    if not is_fit:
        reduced = truncate(loss, np.inf, cuts.lower)
        ax.plot(
            z, reduced, color=CLASS_COLOURS[2], linestyle=(0, (5, 2)), label="average top-k", lw=2
        )
    ax.plot(z, capped, color=KEPT, linewidth=2.8, alpha=0.9, label="ranked range")
    lower, upper = float(cuts.lower), float(cuts.upper)
    for level, text in ((lower, "\\lambda"), (upper, "\\hat\\lambda")):
        at = -math.log(2**level - 1)  # the margin of that loss
        ax.plot([_LEFT, at, at], [level, level, 0], color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
        ax.annotate(
            f"${text}$ = {level:.2f}", (_LEFT, level), (4, 2), textcoords="offset points", color=INK
        )


def _draw_rows(ax: Axes, fit: _Fit) -> None:
    """Draw the rows of the fit on its curve. A cross is a flipped label."""
    margin, height, kinds, wrong = (
        np.array(fit.columns[name]) for name in ("margin", "counted", "kind", "flipped")
    )
    for kind, colour in (("dropped", DROPPED), ("kept", KEPT), ("easy", EASY)):
        for is_wrong, marker in ((False, "o"), (True, "X")):
            shown = (kinds == kind) & (wrong == is_wrong)
            if not shown.any():
                continue
            ax.scatter(
                margin[shown],
                height[shown],
                s=70 if is_wrong else 34,
                color=colour,
                marker=marker,
                edgecolor="white",
                linewidth=0.8,
                zorder=3,
                label=f"{kind}, {'flipped' if is_wrong else 'right'} label: {shown.sum()}",
            )


EXPERIMENT = Experiment(
    name="fig-interpretation",
    title="Figure 2: the loss of one row under a ranked range",
    measures=("upper", "lower", "error", "found", "coef_1", "coef_2", "intercept"),
    tasks=_tasks,
    view=_view,
    splits=1,
    protocols=("ours",),
)
