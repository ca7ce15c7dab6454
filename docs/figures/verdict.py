"""Draw two tables side by side, one with wrong labels and one whose classes overlap.

`python docs/figures/verdict.py` writes `docs/_static/verdict.svg`. Numbers are rounded before they
are drawn, so that every machine writes the same bytes.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.datasets import make_moons

from sorr import Judgement, held_out_probabilities, judge_labels
from sorr.plots import LabelCurveDisplay

OUT = Path(__file__).parents[1] / "_static" / "verdict.svg"
ROWS = 2000


def tables() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return a table with 8 % wrong labels, and one without any whose classes overlap."""
    rng = np.random.default_rng(0)
    X, y = make_moons(ROWS, noise=0.15, random_state=0)
    wrong = rng.choice(ROWS, size=round(0.08 * ROWS), replace=False)
    y[wrong] = 1 - y[wrong]
    overlap = rng.normal(size=(ROWS, 2))
    label = (rng.random(ROWS) < 1 / (1 + np.exp(-2 * overlap[:, 0]))).astype(int)
    return {
        "8 % of the labels are wrong": (X, y),
        "classes overlap, no wrong label": (overlap, label),
    }


def draw(judgements: dict[str, Judgement]) -> None:
    """Draw the curve of each table."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True)
    for ax, (title, judgement) in zip(axes, judgements.items(), strict=True):
        curve = judgement.curve_
        rounded = [np.round(part, 3) for part in (curve.score, curve.share, curve.mass)]
        lines = [np.round(part, 3) for part in (curve.without, curve.average)]
        LabelCurveDisplay(*rounded, *lines, ("no", "yes")).plot(ax=ax)
        evidence = judgement.verdict_ if judgement.has_evidence else "no"
        ax.set_title(f"{title}: {evidence} evidence", fontsize=11)
        ax.set_xlabel("score of the model")
    axes[0].legend(loc="upper left", fontsize="small", frameon=False)
    axes[1].get_legend().remove()
    axes[1].set_ylabel("")
    figure.tight_layout()
    figure.savefig(OUT, metadata={"Date": None})


def main() -> None:
    """Judge both tables, and draw them."""
    mpl.use("Agg")
    mpl.rcParams.update({"svg.hashsalt": "sorr", "svg.fonttype": "path"})
    judgements = {}
    for title, (X, y) in tables().items():
        P = held_out_probabilities(
            "linear" if "overlap" in title else "forest", X, y, random_state=0
        )
        judgements[title] = judge_labels(P, y)
        print(title, judgements[title].sentence)
    draw(judgements)


if __name__ == "__main__":
    main()
