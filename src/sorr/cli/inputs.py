"""Steps that take time, with a report of how far they are; the first is to read a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sorr.auditing.table import Table

__all__ = ["read", "shown"]

_PATIENCE = 2.0  # seconds that nobody wonders about


def read(
    path: Path, text_columns: Iterable[str | None], rows: int | None = None, seed: int = 0
) -> Table:
    """Return the table in a file, or some of its rows; names that are None are no columns."""
    names = tuple(name for name in text_columns if name is not None)
    with shown("reading") as progress:
        from sorr.auditing.table import read_table

        return read_table(
            path, text_columns=names, n_rows=rows, random_state=seed, progress=progress
        )


@contextmanager
def shown(name: str) -> Iterator[Callable[[float, float, str], None]]:
    """Give what shows the progress of a step on standard error, if it takes a while."""
    from rich.console import Console

    from sorr.cli.progress import watched

    with watched(name, Console(stderr=True), after=_PATIENCE, passing=True) as progress:
        yield progress
