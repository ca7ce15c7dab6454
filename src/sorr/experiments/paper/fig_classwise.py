"""The error of each digit on MNIST with wrong labels, from the rows of Table 3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from sorr._files import write_atomically
from sorr.datasets import MNIST_FLIPS
from sorr.experiments.experiment import Plan
from sorr.experiments.paper import table3
from sorr.experiments.paper.digits import PEER, RANKED, TRIMMED, noise_of
from sorr.experiments.rows import Row, group_rows, select_rows
from sorr.experiments.tables import (
    QUICK,
    fill_page,
    format_count,
    format_notes,
    write_csv,
    write_figure,
)
from sorr.plots import CLASS_COLOURS, DROPPED, INK, KEPT, need_matplotlib, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Record = dict[str, Any]
_DIGITS = tuple(range(10))
_CLAIMED = (2, 3, 5)  # the digits of which the paper says that they gain most


class _Look(NamedTuple):
    """How a model is drawn: hollow marks for the paper's protocol, full ones for ours."""

    label: str
    colour: str
    marker: str
    style: Any


_LOOKS = {
    ("paper", RANKED): _Look("SVM_alpha, paper's protocol", CLASS_COLOURS[1], "v", ":"),
    ("paper", "tkml"): _Look("tkml, paper's protocol", CLASS_COLOURS[3], "s", ":"),
    ("ours", PEER): _Look("softmax, ours", INK, "D", (0, (5, 2))),
    ("ours", "tkml"): _Look("tkml, ours", CLASS_COLOURS[2], "s", (0, (3, 1, 1, 1))),
    ("ours", TRIMMED): _Look("trimmed softmax, ours", KEPT, "o", "-"),
}


def _view(rows: list[Row], plan: Plan, folder: Path) -> list[Path]:
    """Draw a panel for each share of wrong labels, and write the means that are drawn."""
    records = _records(rows)
    if not records:
        return []
    return [
        write_atomically(folder / "fig-classwise.md", _caption(records, plan)),
        write_csv(folder / "fig-classwise.csv", records),
        write_figure(folder / "fig-classwise.png", _figure(records)),
    ]


def _figure(records: Sequence[Record]) -> Figure:
    """Return a panel for each share of wrong labels."""
    plt = need_matplotlib("fig-classwise")
    noises = sorted({record["noise"] for record in records})
    figure, axes = plt.subplots(
        1, len(noises), figsize=(10, 4.4), layout="constrained", sharey=True, squeeze=False
    )
    for ax, noise in zip(axes[0], noises, strict=True):
        _panel(ax, select_rows(records, noise=noise))
        ax.set_title(f"{noise} % of the shaded digits\nare labelled as others", fontsize=10)
    axes[0, 0].set_ylabel("test error of a digit in %")
    axes[0, 0].set_ylim(bottom=0)
    figure.supxlabel("digit, and below it what some of its images are labelled as", fontsize=10)
    handles = {line.get_label(): line for ax in axes[0] for line in ax.get_lines()}
    figure.legend(
        handles=list(handles.values()), loc="outside upper center", ncols=3, frameon=False
    )
    return cast("Figure", figure)


def _records(rows: Sequence[Row]) -> list[Record]:
    """Return the mean error of each digit over the draws, for the models in the figure."""
    groups = group_rows(rows, "protocol", "model", "setting")
    return [
        {
            "protocol": protocol,
            "model": model,
            "noise": noise_of(setting),
            "digit": digit,
            "labelled_as": MNIST_FLIPS.get(digit),
            "error": float(np.mean([row[f"class{digit}"] for row in draws])),
            "draws": len(draws),
        }
        for (protocol, model, setting), draws in groups.items()
        if (protocol, model) in _LOOKS and noise_of(setting)
        for digit in _DIGITS
    ]


def _panel(ax: Axes, records: Sequence[Record]) -> None:
    """Draw a line for each model, and shade the digits with wrong labels."""
    tidy(ax)
    for digit in MNIST_FLIPS:
        ax.axvspan(digit - 0.5, digit + 0.5, color=DROPPED, alpha=0.07, linewidth=0)
    for (protocol, model), look in _LOOKS.items():
        own = select_rows(records, protocol=protocol, model=model)
        if own:
            ax.plot(
                [record["digit"] for record in own],
                [record["error"] for record in own],
                color=look.colour,
                marker=look.marker,
                linestyle=look.style,
                linewidth=1.4,
                markersize=6,
                markerfacecolor="white" if protocol == "paper" else look.colour,
                label=look.label,
                clip_on=False,
            )
    ax.set_xticks(_DIGITS, [_tick(digit) for digit in _DIGITS])
    ax.set_xlim(-0.6, 9.6)


def _tick(digit: int) -> str:
    return f"{digit}\n→{MNIST_FLIPS[digit]}" if digit in MNIST_FLIPS else str(digit)


def _caption(records: Sequence[Record], plan: Plan) -> str:
    """Return the page: what is drawn, and the main numbers."""
    return fill_page(
        "fig-classwise",
        draws=format_count((record["draws"] for record in records), "draw"),
        quick=QUICK * plan.quick,
        svm=RANKED,
        notes=format_notes([*_notes(records), *_claim(records)]),
    )


def _notes(records: Sequence[Record]) -> Iterator[str]:
    """Yield for each model its mean error over digits with wrong labels, and over the others."""
    for (protocol, model), look in _LOOKS.items():
        own = select_rows(records, protocol=protocol, model=model)
        means = [
            "{:.1f} and {:.1f} with {} % wrong".format(*_means(own, noise), noise)
            for noise in sorted({record["noise"] for record in own})
        ]
        if means:
            yield f"{look.label}: mean error of shaded and of other digits {', '.join(means)}."


def _claim(records: Sequence[Record]) -> Iterator[str]:
    """Check what the paper says about the digits that gain most."""
    error = {(r["protocol"], r["model"], r["noise"], r["digit"]): r["error"] for r in records}
    claims = []
    for noise in sorted({record["noise"] for record in records}):
        pairs = [[("paper", model, noise, d) for model in (RANKED, "tkml")] for d in _CLAIMED]
        if all(key in error for pair in pairs for key in pair):
            gaps = (f"{error[svm] - error[tkml]:+.1f}" for svm, tkml in pairs)
            claims.append(f"{', '.join(gaps)} with {noise} % wrong")
    if claims:
        yield (
            "The paper says that tkml is better than SVM_alpha on 2, 3 and above all 5, and that "
            "the lead grows with the share of wrong labels. In its protocol, the error of "
            f"SVM_alpha minus that of tkml on these digits is {'; '.join(claims)}."
        )


def _means(records: Sequence[Record], noise: int) -> tuple[float, float]:
    """Return the mean error of the digits with wrong labels, and of the others."""
    own = select_rows(records, noise=noise)
    flipped, others = (
        float(np.mean([r["error"] for r in own if (r["digit"] in MNIST_FLIPS) is is_flipped]))
        for is_flipped in (True, False)
    )
    return flipped, others


EXPERIMENT = replace(
    table3.EXPERIMENT,
    name="fig-classwise",
    title="the error of each digit on MNIST with wrong labels, from the fits of table3",
    view=_view,
    rows="table3",
)
