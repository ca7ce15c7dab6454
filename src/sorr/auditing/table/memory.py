"""How much memory there is, and how much an audit of a table takes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from sorr.auditing.table.problems import TableError, shown

__all__ = ["available_memory", "bytes_per_row", "check_memory"]

_NUMBER = 60  # bytes that a number takes in an audit: itself and six copies, as measured
_TEXT = 220  # and a text, beside its letters: objects, codes, the columns of its categories
_ROW = 200  # and a row: its losses, ranks, and what became of it in each resample
_SHARE = 0.8  # of the free memory: other programs want some of it
_SYSTEM = Path("/")


def bytes_per_row(n_numbers: int, text_widths: list[float]) -> float:
    """Return what an audit takes for each row, from its numbers and the letters in its texts."""
    return _ROW + _NUMBER * n_numbers + sum(_TEXT + 2 * width for width in text_widths)


def check_memory(name: str, n_rows: int, row_bytes: float) -> None:
    """Refuse rows that an audit has no memory for, and say how many there is memory for."""
    free = available_memory()
    if free is None or n_rows * row_bytes <= _SHARE * free:
        return
    fitting = int(_SHARE * free / row_bytes)
    fitting -= fitting % 10 ** max(len(str(fitting)) - 2, 0)  # a number that one can type
    raise TableError(
        f"{shown(name)}: {n_rows:,} rows take about {_gigabytes(n_rows * row_bytes)} of memory, "
        f"and {_gigabytes(free)} are free; split the file, or audit a random sample of it with "
        f"--rows {max(fitting, 1)}"
    )


def available_memory() -> int | None:
    """Return the bytes of memory that can be had, or None where no one says."""
    found = [*_meminfo(), *_limits()]
    return min(found) if found else _physical()


def _meminfo() -> Iterator[int]:
    """Yield what the kernel of Linux takes for free."""
    for line in _lines("proc/meminfo"):
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) * 1024


def _limits() -> Iterator[int]:
    """Yield what the control groups of this process leave it: containers set such limits."""
    for line in _lines("proc/self/cgroup"):
        _, controllers, place = line.split(":", 2)
        if controllers == "":
            files = "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            files = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
        else:
            continue
        root = Path("sys/fs/cgroup") / ("memory" if controllers else "")
        group = root / place.lstrip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(root):
                yield from _left(folder, *files)


def _left(folder: Path, limit: str, usage: str, cache: str) -> Iterator[int]:
    """Yield what a group leaves: its limit without what is used, cached files aside."""
    amounts = [*_lines(folder / limit), *_lines(folder / usage)]
    if len(amounts) == 2 and all(amount.isdecimal() for amount in amounts):
        most, used = map(int, amounts)
        named = dict(line.split() for line in _lines(folder / "memory.stat"))
        yield max(most - used + int(named.get(cache, 0)), 0)


def _physical() -> int | None:
    """Return the memory that is built in, on systems which say no more than that."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _lines(path: Path | str) -> list[str]:
    try:
        return (_SYSTEM / path).read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeError):
        return []


def _gigabytes(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:,.1f} GB"
