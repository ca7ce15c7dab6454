"""The file of a benchmark run: one line of JSON for each finished piece, written at once."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Row", "append_row", "format_spread", "print_progress", "read_rows"]

Row = dict[str, Any]


def read_rows(path: Path | None) -> list[Row]:
    if path is None or not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def append_row(path: Path | None, row: Row) -> None:
    if path is not None:
        with path.open("a") as file:
            file.write(json.dumps(row) + "\n")


def print_progress(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def format_spread(values: Sequence[float]) -> str:
    """Return the mean and, in brackets, the standard deviation of measured values."""
    if len(values) < 2:
        return f"{values[0]:.2f}" if len(values) else "-"
    return f"{np.mean(values):.2f} ({np.std(values, ddof=1):.2f})"
