"""Tables and figures on disk: written whole or not at all, and equal rows give equal bytes."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["markdown", "write_csv", "write_figure", "write_text"]


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown, its columns as wide as what is in them.

    Examples
    --------
    >>> print(markdown(["model", "error"], [["average", "19.72"]]), end="")
    | model   | error |
    |---------|-------|
    | average | 19.72 |
    """
    table = [list(header), *(list(line) for line in lines)]
    widths = [max(len(line[i]) for line in table) for i in range(len(header))]
    texts = [
        "| " + " | ".join(f.ljust(w) for f, w in zip(line, widths, strict=True)) + " |"
        for line in table
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([texts[0], rule, *texts[1:]]) + "\n"


def write_csv(path: Path, records: Sequence[Mapping[str, Any]]) -> Path:
    """Write records with the same names, one in a line; numbers as they are."""
    text = io.StringIO()
    if records:
        writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
    return write_text(path, text.getvalue())


def write_text(path: Path, text: str) -> Path:
    """Write a file whole: an interruption leaves the old one, or none."""
    return _replace(path, text.encode())


def write_figure(path: Path, figure: Figure) -> Path:
    """Write a figure as PNG, without a date in it, and close it."""
    from matplotlib import pyplot as plt

    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=150, metadata={"Software": None})
    plt.close(figure)
    return _replace(path, image.getvalue())


def _replace(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    return part.replace(path)
