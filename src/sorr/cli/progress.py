"""How much of a run is done and how long it will take: a bar on a terminal, else lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Timer
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn
from rich.text import Text

if TYPE_CHECKING:
    from sorr._typing import Report

_SECONDS_BETWEEN_LINES = 5.0


@dataclass
class Pace:
    """How long the rest will take at the speed so far.

    What an earlier run had done before the start does not count for the speed.
    """

    clock: Callable[[], float]
    begin: float = field(init=False)
    first: float | None = field(default=None, init=False)
    done: float = field(default=0.0, init=False)
    total: float = field(default=0.0, init=False)
    when: float = field(init=False)

    def __post_init__(self) -> None:
        self.begin = self.when = self.clock()

    def reach(self, done: float, total: float) -> None:
        """Record how much is done by now."""
        self.first = done if self.first is None else self.first
        self.done, self.total, self.when = done, total, self.clock()

    @property
    def share(self) -> float:
        """How much is done, between 0 and 1."""
        return self.done / self.total if self.total else 1.0

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self.clock() - self.begin

    @property
    def left(self) -> float | None:
        """Seconds that are left, or None if that is not known yet."""
        gained = self.done - (self.first or 0.0)
        if gained <= 0.0:
            return None
        rest = (self.when - self.begin) * (self.total - self.done) / gained
        return max(rest - (self.clock() - self.when), 0.0)

    def __str__(self) -> str:
        left = f", {_time(self.left)} left" if self.left else ""
        return f"{_time(self.elapsed)}{left}"


@contextmanager
def track(
    name: str,
    console: Console,
    clock: Callable[[], float] = time.monotonic,
    *,
    after: float = 0.0,
    transient: bool = False,
) -> Iterator[Report]:
    """Give a function that shows progress: it takes the work done, all of it, and a label.

    Lines begin when the work takes longer than `after` seconds. A `transient` bar disappears at
    the end.
    """
    pace = Pace(clock)
    if console.is_terminal:
        with _show_bar(name, pace, console, transient) as update:
            yield update
    else:
        with _print_lines(name, pace, console, after) as update:
            yield update


@contextmanager
def _show_bar(name: str, pace: Pace, console: Console, transient: bool) -> Iterator[Report]:
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        _PaceColumn(pace),
        TextColumn("{task.fields[label]}", style="dim", markup=False),
    )
    with Progress(*columns, console=console, refresh_per_second=2, transient=transient) as bar:
        task = bar.add_task(name, total=None, label="")

        def update(done: float, total: float, label: str) -> None:
            pace.reach(done, total)
            last = "" if pace.share >= 1.0 else label
            bar.update(task, completed=pace.share, total=1.0, label=last)

        yield update


class _PaceColumn(ProgressColumn):
    def __init__(self, pace: Pace) -> None:
        super().__init__()
        self.pace = pace

    def render(self, task: Task) -> Text:  # noqa: ARG002 - the signature of rich
        return Text(str(self.pace))


@contextmanager
def _print_lines(name: str, pace: Pace, console: Console, after: float) -> Iterator[Report]:
    last, latest = after - _SECONDS_BETWEEN_LINES, ""

    def show() -> None:
        nonlocal last
        last = pace.elapsed
        share = "" if pace.first is None else f"{pace.share:4.0%}, "
        line = f"{name}: {share}{pace}  {latest}"
        console.print(line.rstrip(), markup=False, highlight=False, soft_wrap=True)

    def show_first() -> None:
        if last < 0.0:
            show()

    def update(done: float, total: float, label: str) -> None:
        nonlocal latest
        latest, before = label, pace.share if pace.total else 0.0
        pace.reach(done, total)
        is_end = before < 1.0 <= pace.share and pace.elapsed >= after
        if is_end or pace.elapsed - last >= _SECONDS_BETWEEN_LINES:
            show()

    timer = Timer(after, show_first)  # for a long step that reports nothing
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
