"""A table as it was read, the names of its columns, and which of its rows are taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sorr._typing import IntArray
from sorr.auditing.table.problems import TableError, close_names, listed, shown

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Table", "chosen_rows", "column_names", "known_columns"]


@dataclass(frozen=True, eq=False)
class Table:
    """A table that was read from a file.

    Attributes
    ----------
    frame : DataFrame
        The columns in the order of the file: of numbers, of dates, or of text; rows from 0 on.
    rows : ndarray of shape (n,)
        Which data row of the file each row of the frame is, from 0 on.
    lines : ndarray of shape (n,) or None
        The line of the file in which it begins, from 1 on; None where there are no lines.
    n_rows : int
        The data rows of the file, of which the frame may hold a sample.
    notes : tuple of str
        What a reader of the results should know of the way the file was read.
    name : str
        The file's name.
    """

    frame: DataFrame = field(repr=False)
    rows: IntArray = field(repr=False)
    lines: IntArray | None = field(repr=False)
    n_rows: int
    notes: tuple[str, ...]
    name: str


def column_names(written: Sequence[str], file: str) -> tuple[list[str], list[str]]:
    """Return the names of columns without white space around them, and notes on them.

    A column without a name is called after its place: pandas writes such a one for its index.
    """
    names = [str(name).strip() for name in written]
    unnamed = [f"column {i}" for i, name in enumerate(names, start=1) if not name]
    names = [name or f"column {i}" for i, name in enumerate(names, start=1)]
    looks_like_data = sum(map(_is_number, names)) > len(names) / 2
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        hint = "are those of a row? Then put a line of names above it" if looks_like_data else ""
        raise TableError(
            f"{shown(file)} has more than one column called {listed(twice)}; "
            f"{hint or 'give each a name of its own'}"
        )
    notes = []
    if unnamed:
        notes.append(f"Columns without a name are called after their place: {listed(unnamed)}.")
    if looks_like_data:
        notes.append(
            f"The first line was read as names, and most are numbers ({listed(names[:3])}): if it "
            "is a row, put a line of names above it."
        )
    return names, notes


def known_columns(asked: Iterable[str], names: Sequence[str], file: str) -> list[str]:
    """Return the columns asked for, or say which are not there."""
    found = [str(name).strip() for name in asked]
    there = set(names)
    absent = [name for name in found if name not in there]
    if absent:
        close = close_names(absent[0], names)
        hint = f"did you mean {listed(close)}?" if close else f"there are {listed(names)}"
        raise TableError(f"{shown(file)} has no column {listed(absent)}; {hint}")
    return found


def chosen_rows(n_rows: int, asked: int | None, random_state: Any) -> tuple[IntArray, list[str]]:
    """Return the numbers of the rows to take, in order: all, or a random sample; and a note."""
    from sklearn.utils.random import sample_without_replacement

    if asked is not None and asked < 1:
        raise TableError(f"--rows {asked} leaves nothing to learn from; needed 1 or more")
    if asked is None or asked >= n_rows:
        return np.arange(n_rows, dtype=np.int64), []
    drawn = sample_without_replacement(n_rows, asked, random_state=random_state)
    return np.sort(drawn).astype(np.int64), [
        f"This is a random sample of {asked:,} of the {n_rows:,} rows."
    ]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
