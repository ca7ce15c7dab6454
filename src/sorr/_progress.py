"""Progress of long work, printed to standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic

from sorr._typing import Report

_SECONDS_BETWEEN_LINES = 2.0


def print_reports(name: str, verbose: int) -> Report | None:
    """Return a callback that prints how much of the work is done; None if `verbose` is 0.

    It prints at most one line every two seconds, or every line if `verbose` is above 1.
    """
    print_line = line_printer(name, verbose)

    def print_report(done: float, total: float, text: str) -> None:
        print_line(f"{text} ({done:.3g} of {total:g})")

    return print_report if verbose else None


def line_printer(name: str, verbose: int) -> Callable[[str], None]:
    """Return a function that prints a line, unless the last one is less than two seconds old."""
    begin = last = monotonic()

    def print_line(text: str) -> None:
        nonlocal last
        now = monotonic()
        if verbose > 1 or now - last >= _SECONDS_BETWEEN_LINES:
            last = now
            print(f"[{name}] {now - begin:.0f} s: {text}", file=sys.stderr, flush=True)

    return print_line
