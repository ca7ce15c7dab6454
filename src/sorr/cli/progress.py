"""How far a run is and how long it will take: a bar on a terminal, else a line now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Timer

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn
from rich.text import Text

__all__ = ["Pace", "watched"]

_SECONDS_BETWEEN_LINES = 5.0


@dataclass
class Pace:
    """How long the rest will take, if it goes on as it went.

    What was done before the start, by an earlier run, says nothing about the pace.
    """

    clock: Callable[[], float]
    begin: float = field(init=False)
    first: float | None = field(default=None, init=False)
    done: float = field(default=0.0, init=False)
    whole: float = field(default=0.0, init=False)
    when: float = field(init=False)

    def __post_init__(self) -> None:
        self.begin = self.when = self.clock()

    def reach(self, done: float, whole: float) -> None:
        """Take note of how much is done by now."""
        self.first = done if self.first is None else self.first
        self.done, self.whole, self.when = done, whole, self.clock()

    @property
    def share(self) -> float:
        """How much of the whole is done, between 0 and 1."""
        return self.done / self.whole if self.whole else 1.0

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self.clock() - self.begin

    @property
    def left(self) -> float | None:
        """Seconds that are left, or None if nothing is known of that."""
        gained = self.done - (self.first or 0.0)
        if gained <= 0.0:
            return None
        rest = (self.when - self.begin) * (self.whole - self.done) / gained
        return max(rest - (self.clock() - self.when), 0.0)

    def __str__(self) -> str:
        left = f", {_time(self.left)} left" if self.left else ""
        return f"{_time(self.elapsed)}{left}"


@contextmanager
def watched(
    name: str,
    console: Console,
    clock: Callable[[], float] = time.monotonic,
    *,
    after: float = 0.0,
    passing: bool = False,
) -> Iterator[Callable[[float, float, str], None]]:
    """Give a function that takes the cost done, the whole cost and a label, and shows them.

    The first line comes `after` so many seconds, if the work is not done by then. A bar that is
    `passing` goes away when it is.
    """
    pace = Pace(clock)
    if console.is_terminal:
        with _bar(name, pace, console, passing) as update:
            yield update
    else:
        with _lines(name, pace, console, after) as update:
            yield update


@contextmanager
def _bar(
    name: str, pace: Pace, console: Console, passing: bool
) -> Iterator[Callable[[float, float, str], None]]:
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        _PaceColumn(pace),
        TextColumn("{task.fields[label]}", style="dim", markup=False),
    )
    with Progress(*columns, console=console, refresh_per_second=2, transient=passing) as progress:
        task = progress.add_task(name, total=None, label="")

        def update(done: float, whole: float, label: str) -> None:
            pace.reach(done, whole)
            last = "" if pace.share >= 1.0 else label
            progress.update(task, completed=pace.share, total=1.0, label=last)

        yield update


class _PaceColumn(ProgressColumn):
    def __init__(self, pace: Pace) -> None:
        super().__init__()
        self.pace = pace

    def render(self, task: Task) -> Text:  # noqa: ARG002 - rich asks so
        return Text(str(self.pace))


@contextmanager
def _lines(
    name: str, pace: Pace, console: Console, after: float
) -> Iterator[Callable[[float, float, str], None]]:
    last, latest = after - _SECONDS_BETWEEN_LINES, ""

    def show() -> None:
        nonlocal last
        last = pace.elapsed
        share = "" if pace.first is None else f"{pace.share:4.0%}, "
        words = f"{name}: {share}{pace}  {latest}"
        console.print(words.rstrip(), markup=False, highlight=False, soft_wrap=True)

    def show_first() -> None:
        if last < 0.0:
            show()

    def update(done: float, whole: float, label: str) -> None:
        nonlocal latest
        latest, before = label, pace.share if pace.whole else 0.0
        pace.reach(done, whole)
        is_end = before < 1.0 <= pace.share and pace.elapsed >= after
        if is_end or pace.elapsed - last >= _SECONDS_BETWEEN_LINES:
            show()

    timer = Timer(after, show_first)  # for a step that takes long and tells nothing
    timer.daemon = True
    if after:
        timer.start()
    try:
        yield update
    finally:
        timer.cancel()


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
