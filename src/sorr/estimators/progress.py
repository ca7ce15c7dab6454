"""Progress of what takes long, for people who asked for it."""

from __future__ import annotations

import sys
from time import monotonic

from sorr.solvers import Step

__all__ = ["Reporter", "reporter"]

_PATIENCE = 2.0  # seconds between two lines


class Reporter:
    """Writes a line to standard error every two seconds, and none if all is done by then."""

    def __init__(self, name: str, patience: float = _PATIENCE) -> None:
        self.name, self.patience = name, patience
        self.begin = self.last = monotonic()

    def __call__(self, step: Step) -> None:
        """Report a step of a solver."""
        self.say(
            f"start {step.start}, {step.phase}: objective {step.objective:.6g} "
            f"after {step.passes:.0f} passes over the data"
        )

    def say(self, message: str) -> None:
        """Write a message, unless another one was written within the last two seconds."""
        now = monotonic()
        if now - self.last >= self.patience:
            self.last = now
            print(f"[{self.name}] {now - self.begin:.0f} s: {message}", file=sys.stderr, flush=True)


def reporter(name: str, verbose: int) -> Reporter | None:
    """Return something to report to if that is wanted: with `verbose` above 1, at every step."""
    if not verbose:
        return None
    return Reporter(name, patience=_PATIENCE if verbose == 1 else 0.0)
