"""Processes that do the tasks of `benchmarks.solvers` in turns, and what their answers say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "Answer",
    "Arguments",
    "Bench",
    "Entry",
    "Lap",
    "Peer",
    "Row",
    "Worker",
    "compare",
    "describe",
    "format_spread",
    "ratios",
    "take_turns",
]

ROOT = Path(__file__).parents[1]
SEED = 1001  # of the first data; no rule of the library was chosen on these seeds
SLOW = 20.0  # seconds: what takes longer has one turn on each data
USUAL = ("CERTIFIED", "OPTIMAL", "CONVERGED")

Answer = dict[str, Any]
Arguments = dict[str, Any]
Lap = dict[str, Answer]


class Worker:
    """A process that does tasks with the library in a folder; each is answered by a dictionary."""

    def __init__(self, source: Path) -> None:
        one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "RAYON")}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.solvers_work"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=os.environ | one_thread | {"PYTHONPATH": str(source)},
        )
        found = Path(self.ask("source")["source"])
        if found != source:
            self.close()
            raise RuntimeError(f"the library came from {found}; needed is {source}")

    def ask(self, task: str, **arguments: Any) -> Answer:
        """Let the process do a task, and wait for its answer."""
        send, receive = self._process.stdin, self._process.stdout
        assert send is not None
        assert receive is not None
        send.write(json.dumps([task, arguments]) + "\n")
        send.flush()
        line = receive.readline()
        answer: Answer = json.loads(line) if line else {"failed": "the process ended"}
        if "failed" in answer:
            raise RuntimeError(f"{task} with {arguments} failed: {answer['failed']}")
        return answer

    def close(self) -> None:
        """End the process: it works until its input ends."""
        self._process.communicate()


class Bench(NamedTuple):
    """Who works, and how much."""

    workers: Mapping[str, Worker]  # "ours" and perhaps "today"
    sources: Mapping[str, Path]
    quick: bool

    def seeds(self, number: int) -> range:
        """Return seeds of data; a quick run has at most two."""
        return range(SEED, SEED + (min(number, 2) if self.quick else number))

    def rounds(self, number: int) -> int:
        """Return how often all take turns; in a quick run at most twice."""
        return min(number, 2) if self.quick else number

    def ask(self, task: str, **arguments: Any) -> Lap:
        """Return what everybody answers, one after the other."""
        return {who: worker.ask(task, **arguments) for who, worker in self.workers.items()}

    def ask_anew(self, source: str, task: str, **arguments: Any) -> Answer:
        """Let a new process do a task."""
        worker = Worker(self.sources[source])
        try:
            return worker.ask(task, **arguments)
        finally:
            worker.close()


class Row(NamedTuple):
    """A line of the table; without a library to compare with, the column `today` is left out."""

    what: str
    measured: str = ""
    quality: str = ""
    today: str = ""
    target: str = ""

    def draw(self, with_today: bool) -> str:
        """Return the line, in columns."""
        today = f" {self.today:54s}" if with_today else ""
        line = f"{self.what:62s} {self.measured:38s} {self.quality:48s}{today} {self.target}"
        return line.rstrip()


class Entry(NamedTuple):
    """A task for all libraries, and what to reach."""

    what: str
    task: str
    arguments: Arguments
    target: str = ""


class Peer(NamedTuple):
    """A task to compare with; `faster` turns ratios round."""

    task: str
    arguments: Arguments
    name: str = "LR"
    faster: bool = False


def take_turns(
    bench: Bench, entries: Sequence[Entry], peer: Peer | None, data: Arguments, rounds: int
) -> list[Lap]:
    """Return what everybody measured in each round; every other round is in reverse order."""
    tasks = {
        f"{who} {i}": (worker, entry.task, entry.arguments)
        for i, entry in enumerate(entries)
        for who, worker in bench.workers.items()
    }
    if peer:
        tasks["peer"] = (bench.workers["ours"], peer.task, peer.arguments)
    laps: list[Lap] = []
    slow: set[str] = set()
    for turn in range(rounds):
        lap: Lap = {}
        for key in list(tasks)[:: -1 if turn % 2 else 1]:
            if key not in slow:
                worker, task, arguments = tasks[key]
                lap[key] = worker.ask(task, data=data, **arguments)
                if lap[key]["seconds"] > SLOW:
                    slow.add(key)
        laps.append(lap)
    return laps


def compare(
    bench: Bench,
    entries: Sequence[Entry],
    peer: Peer | None,
    data: Iterable[Arguments],
    rounds: int,
    say: Callable[[Sequence[Answer]], str] | None = None,
) -> Iterator[Row]:
    """Let all take turns on each data, and yield a row for each entry."""
    heats = [take_turns(bench, entries, peer, each, bench.rounds(rounds)) for each in data]
    return describe(heats, entries, peer, say)


def describe(
    heats: Sequence[Sequence[Lap]],
    entries: Sequence[Entry],
    peer: Peer | None,
    say: Callable[[Sequence[Answer]], str] | None = None,
) -> Iterator[Row]:
    """Yield a row for each entry: ratios of pairs of one round, and objectives on each data."""
    laps = [lap for heat in heats for lap in heat]
    for i, entry in enumerate(entries):
        ours, today = f"ours {i}", f"today {i}"
        answers = [lap[ours] for lap in laps if ours in lap]
        if peer and peer.faster:
            measured = format_spread(ratios(laps, "peer", ours), f"times {peer.name}")
        elif peer:
            measured = format_spread(ratios(laps, ours, "peer"), f"x {peer.name}")
        else:
            measured = format_spread([answer["seconds"] for answer in answers], "s")
        quality = say(answers) if say else describe_quality(heats, ours)
        compared = describe_change(heats, ours, today) if today in laps[0] else ""
        yield Row(entry.what, measured, quality, compared, entry.target)


def ratios(laps: Iterable[Lap], one: str, other: str) -> list[float]:
    return [
        lap[one]["seconds"] / lap[other]["seconds"] for lap in laps if one in lap and other in lap
    ]


def describe_quality(heats: Sequence[Sequence[Lap]], ours: str) -> str:
    """Return the largest distance from the best objective on the same data, and the largest gap."""
    excess = []
    for heat in heats:
        values = [a["objective"] for lap in heat for a in lap.values() if "objective" in a]
        excess.append(max(lap[ours]["objective"] for lap in heat if ours in lap) / min(values) - 1)
    answers = [lap[ours] for heat in heats for lap in heat if ours in lap]
    parts = [f"{format_change(max(excess))} above the best"]
    if np.isfinite(gap := max(answer["gap"] for answer in answers)):
        parts.append(f"gap {gap:.0e}")
    parts += sorted({a["status"].lower() for a in answers if a["status"] not in USUAL})
    return ", ".join(parts)


def describe_change(heats: Sequence[Sequence[Lap]], ours: str, today: str) -> str:
    """Return how much faster than today, and the objective relative to today's."""
    speed = format_spread(ratios([lap for heat in heats for lap in heat], today, ours), "times")
    change = [heat[0][ours]["objective"] / heat[0][today]["objective"] - 1 for heat in heats]
    low, high = format_change(min(change)), format_change(max(change))
    return f"{speed}, objective {low}" + (f" to {high}" if low != high else "")


def format_change(change: float) -> str:
    """Return a relative difference of objectives, without rounding errors."""
    return "0" if abs(change) < 1e-12 else f"{change:.0e}"


def format_spread(values: Sequence[float], unit: str) -> str:
    """Return the median, and in brackets the lowest and the highest of several values."""
    low, middle, high = (format_number(value) for value in np.quantile(values, [0, 0.5, 1]))
    return f"{middle} {unit}" + (f" ({low} - {high})" if len(values) > 1 else "")


def format_number(value: float) -> str:
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{digits}f}"
