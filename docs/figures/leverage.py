"""Draw a line that outliers far out pull, one that they do not, and errors of a heavy tail.

`python docs/figures/leverage.py` writes `docs/_static/leverage.svg`. Numbers are rounded before
they are drawn, so that every machine writes the same bytes.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.linear_model import HuberRegressor, LinearRegression

from sorr import RankedRangeRegressor

OUT = Path(__file__).parents[1] / "_static" / "leverage.svg"
ROWS = 200
COLOURS = {"least squares": "#8c959e", "Huber": "#d1932f", "RankedRangeRegressor": "#1f77b4"}


def tables() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return a table with 20 % outliers far out, and one with heavy tails where none is wrong."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=ROWS)
    y = 2 * x + rng.normal(size=ROWS)
    far = np.arange(ROWS) < 0.2 * ROWS
    moved = np.where(far, 7 + 0.6 * rng.normal(size=ROWS), x)
    wrong = np.where(far, -4 + 2.5 * rng.normal(size=ROWS), y)
    heavy = 2 * x + rng.standard_t(3, size=ROWS)
    return {
        "one target in five is wrong, and far out": (moved, wrong),
        "heavy tails, no target is wrong": (x, heavy),
    }


def draw(fitted: dict[str, tuple[np.ndarray, np.ndarray, dict[str, RankedRangeRegressor]]]) -> None:
    """Draw rows and lines of each table."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8))
    for ax, (title, (x, y, models)) in zip(axes, fitted.items(), strict=True):
        ours = models["RankedRangeRegressor"]
        out = ours.outlier_mask_
        ax.scatter(*np.round([x[~out], y[~out]], 3), s=9, color="#5b6570", linewidths=0)
        ax.scatter(
            *np.round([x[out], y[out]], 3),
            s=22,
            facecolors="none",
            edgecolors="#c8412b",
            label="called wrong",
        )
        ends = np.array([x.min() - 0.3, x.max() + 0.3])
        for name, model in models.items():
            slope, shift = np.round([model.coef_[0], model.intercept_], 2)
            style = "-" if name == "RankedRangeRegressor" else "--"
            line = np.round(slope * ends + shift, 3)
            ax.plot(np.round(ends, 3), line, style, color=COLOURS[name], label=name)
        ax.set_ylim(*np.round([y.min() - 1, y.max() + 1], 1))
        ax.set_title(f"{title}: {int(out.sum())} called wrong", fontsize=11)
        ax.set_xlabel("x")
    axes[0].set_ylabel("y")
    axes[0].legend(loc="lower left", fontsize="small", frameon=False)
    figure.tight_layout()
    figure.savefig(OUT, metadata={"Date": None})


def main() -> None:
    """Fit three models to both tables, and draw them."""
    mpl.use("Agg")
    mpl.rcParams.update({"svg.hashsalt": "sorr", "svg.fonttype": "path"})
    fitted = {}
    for title, (x, y) in tables().items():
        models = {
            "least squares": LinearRegression(),
            "Huber": HuberRegressor(max_iter=1000),
            "RankedRangeRegressor": RankedRangeRegressor(random_state=0),
        }
        fitted[title] = (x, y, {name: it.fit(x[:, None], y) for name, it in models.items()})
    draw(fitted)


if __name__ == "__main__":
    main()
