"""Draw the picture of the README: `python docs/figures/ranked_range.py`."""

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from sorr.losses import Logistic
from sorr.ranked import RankedRange, ranked_range_weights

COLOURS = {"dropped": "#c8442f", "kept": "#2a6fa8", "left": "#b8bfc6"}


def draw(path: Path) -> None:
    # the same bytes on every run
    mpl.rcParams |= {"svg.hashsalt": "sorr", "svg.fonttype": "path", "font.size": 11}
    rng = np.random.default_rng(3)
    margins = np.concatenate([rng.normal(0.6, 0.9, size=34), np.linspace(-4.8, -3.0, 6)])
    losses = Logistic().value(np.ones(40), margins)
    ranks = RankedRange(m=0.15, k=0.7).resolve(len(losses))
    weights = ranked_range_weights(losses, ranks.m, ranks.k)

    order = np.argsort(-losses)
    position = np.arange(1, len(losses) + 1)
    kind = np.where(weights[order] > 0, "kept", np.where(position <= ranks.m, "dropped", "left"))
    figure, axes = plt.subplots(figsize=(8, 3.1), layout="constrained")
    axes.bar(position, losses[order], width=0.8, color=[COLOURS[name] for name in kind])
    top = losses.max()
    for rank in (ranks.m, ranks.k):
        axes.axvline(rank + 0.5, color="#3c434a", linewidth=1, linestyle=(0, (4, 3)))
    m, k, n = ranks.m, ranks.k, len(losses)
    learns = "kept, ranks m + 1 to k:\nthe model learns from these"
    notes = [
        (m / 2 + 0.5, top * 1.17, "dropped", "dropped:\nwrong labels"),
        ((m + k) / 2 + 0.5, top * 0.62, "kept", learns),
        ((k + n) / 2 + 0.5, top * 0.42, "left", "left aside:\neasy rows"),
    ]
    for x, y, name, text in notes:
        colour = "#5d666e" if name == "left" else COLOURS[name]
        axes.text(x, y, text, color=colour, ha="center", va="center", linespacing=1.3)
    axes.set_xticks([1, m, k, n], ["1", "m", "k", "n"])
    axes.set_xlim(-0.6, n + 1)
    axes.set_ylim(0, top * 1.32)
    axes.set_xlabel("rows, ranked by their loss")
    axes.set_ylabel("loss")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    draw(Path(__file__).parents[1] / "_static" / "ranked_range.svg")
