"""Draw a network that learns wrong labels by heart, and one that drops them.

`python docs/figures/networks.py` writes `docs/_static/networks.svg` from `networks.json`. With
``--measure`` it trains both networks first, and writes that file: MNIST, 10,000 rows, two in five
labels of five digits wrong, as in `python -m benchmarks networks`. That needs PyTorch and the data.
"""

import json
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

from sorr.plots import DroppedLossDisplay

OUT = Path(__file__).parents[1] / "_static" / "networks.svg"
NUMBERS = Path(__file__).with_suffix(".json")
COLOURS = {"cross-entropy": "#8c959e", "sorr, m = auto": "#2a6fa8"}


def measure() -> None:
    """Train both networks and write what happened."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from benchmarks.networks import EPOCHS, SEEDS, CrossEntropy, Tracked, cell_of, train

    cell = cell_of("MNIST", "asym 40", 10_000, SEEDS[0])
    methods = [kind(cell, EPOCHS["mlp"]) for kind in (CrossEntropy, Tracked)]
    curves = [train("mlp", method, cell, SEEDS[0]) for method in methods]
    tracker = methods[1].tracker
    tracker.step()
    history = [
        {name: float(f"{value:.4g}") for name, value in row.items()} for row in tracker.history
    ]
    found = {
        "accuracy": {
            name: [round(value, 2) for value in curve]
            for name, curve in zip(COLOURS, curves, strict=True)
        },
        "history": history,
        "n_rows": tracker.n_rows,
    }
    NUMBERS.write_text(json.dumps(found, indent=1) + "\n")


def draw() -> None:
    """Draw accuracies, and the losses of dropped and of kept rows."""
    import matplotlib.pyplot as plt

    mpl.use("Agg")
    mpl.rcParams.update({"svg.hashsalt": "sorr", "svg.fonttype": "path"})
    found = json.loads(NUMBERS.read_text())
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.6))
    best = max(map(max, found["accuracy"].values()))
    for name, curve in found["accuracy"].items():
        epochs = np.arange(1, len(curve) + 1)
        axes[0].plot(epochs, curve, color=COLOURS[name], marker="o", markersize=3.5)
        axes[0].annotate(
            f"{name}: {curve[-1]:.1f} %",
            (0.98, 0.93 if max(curve) == best else 0.04),
            xycoords="axes fraction",
            ha="right",
            color=COLOURS[name],
        )
    axes[0].set_xlabel("epoch")
    axes[0].set_ylabel("% right of clean test rows")
    axes[0].set_title("20 % of the training labels are wrong", loc="left")
    axes[0].spines[["top", "right"]].set_visible(False)
    axes[0].margins(y=0.15)
    DroppedLossDisplay(found["history"], found["n_rows"]).plot(axes[1])
    figure.tight_layout()
    figure.savefig(OUT, metadata={"Date": None})


if __name__ == "__main__":
    if "--measure" in sys.argv:
        measure()
    draw()
