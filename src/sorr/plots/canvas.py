"""What all displays share: matplotlib on first use, axes, legends, colours and markers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DROPPED, KEPT, EASY, INK = "#c8442f", "#2a6fa8", "#8c959e", "#3c434a"

# Okabe and Ito (2008), distinct for colour-blind readers, dark ones first. Vermilion is left out:
# it is too similar to the colour of dropped rows.
CLASS_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#5d5d5d", "#b8a800")
MARKERS = "os^DvP*<>X"


def need_matplotlib(caller: str) -> Any:
    """Return ``matplotlib.pyplot``, or say how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f'{caller} needs matplotlib, which is not installed: pip install "sorr[plot]"'
        ) from error
    return plt


def take_axes(ax: Axes | None, caller: str, size: tuple[float, float]) -> Axes:
    """Return the axes given, or new ones in a figure of that size in inches."""
    plt = need_matplotlib(caller)
    if ax is None:
        _, ax = plt.subplots(figsize=size, layout="constrained")
    return tidy(ax)


def tidy(ax: Axes) -> Axes:
    """Remove the frame at the top and at the right."""
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def scale_by_powers(ax: Axes) -> None:
    """Make the y axis logarithmic, with plain numbers on it."""
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter("")


def place_legend(
    ax: Axes, handles: list[Any] | None = None, *, free_corner: str | None = None
) -> None:
    """Put the legend beside the axes if the figure has a layout that makes room for it.

    Otherwise it goes into a corner that is known to be free, or into a strip added at the top.
    """
    options: dict[str, Any] = {} if handles is None else {"handles": handles}
    if ax.figure.get_layout_engine() is not None:
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, **options)
    elif free_corner is not None:
        ax.legend(**{"loc": free_corner, "fontsize": "small", **options})
    else:
        low, high = ax.get_ylim()
        ax.set_ylim(low, high + 0.35 * (high - low))
        ax.legend(loc="upper center", ncols=2, fontsize="small", **options)
