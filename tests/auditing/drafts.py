"""Tables in the making: columns in costume, with what they mean and what the labels follow."""

import csv
import gzip
import io
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

_FIRST = (
    "Anna Ben Carla David Elif Farid Greta Hugo Ines Jonas Karin Liam Maya Nils Olga Paul Rosa "
    "Samir Tess Uwe Vera Will Yara Zoe Amir Berta Chen Dora Emil Fleur"
)
_LAST = (
    "Abbott Becker Castro Dunn Eriksen Fischer Grant Haddad Ito Jansen Keller Lopez Moreau Novak "
    "Okafor Petrov Quist Rossi Schmidt Tanaka Ulrich Vogel Weber Xu Young Zeman Baker Cole Diaz"
)
FIRST, LAST = _FIRST.split(), _LAST.split()
_STARTS = "Ash Black Clear Dun East Fair Green High King Long Mill New Oak Red Stone"
_ENDS = "bury field ford ham mouth port ton view ville wood"
TOWNS = [a + b for a in _STARTS.split() for b in _ENDS.split()]
_CRAFTS = "sales data office nursing warehouse school project kitchen tax design"
JOBS = [
    f"{level} {craft} {role}"
    for level in ("Junior", "Senior", "Lead", "Assistant", "Deputy", "Chief")
    for craft in _CRAFTS.split()
    for role in ("manager", "engineer", "clerk", "consultant", "coordinator")
]
THINGS = ["service", "food", "room", "delivery", "staff", "website", "parcel", "breakfast"]


@dataclass(frozen=True)
class Case:
    """A file, and what a person would say about it.

    Attributes
    ----------
    kinds : dict of str to frozenset of str
        What each column is, the target aside, in the order of the file. Where a person might say
        one thing or another, both are there. A name that is repeated or missing in the file is
        another one here.
    values : dict of str to dict of int to float or datetime
        What a column says in each row, counted from 0. NaN is a value that is not there.
    percent : frozenset of str
        Columns of percentages: 12 % is 12 or 0.12, the same in all rows.
    wrong : frozenset of int
        Rows whose label was changed on purpose.
    spellings : frozenset of int
        Rows whose label is written in another way than the others of its class.
    ragged : frozenset of int
        Rows with a field too many.
    n_classes : int
        The number of classes, however they are spelled; 0 if the target is a number.
    """

    path: Path
    target: str
    kinds: dict[str, frozenset[str]]
    values: dict[str, dict[int, Any]]
    percent: frozenset[str]
    wrong: frozenset[int]
    spellings: frozenset[int]
    ragged: frozenset[int]
    n_classes: int


class Draft:
    """Columns that grow one by one, and a score that the labels will follow."""

    def __init__(self, name: str, n: int) -> None:
        self.rng, self.n = np.random.default_rng(zlib.crc32(name.encode())), n
        self.columns: dict[str, Any] = {}
        self.written: dict[str, str] = {}
        self.kinds: dict[str, frozenset[str]] = {}
        self.values: dict[str, dict[int, Any]] = {}
        self.percent: set[str] = set()
        self.wrong: set[int] = set()
        self.spellings: set[int] = set()
        self.score = np.zeros(n)

    # -- Columns

    def add(self, name: str, cells: Any, kinds: str, values: Any = None) -> None:
        """Add a column as it is written, with what a person says, and with what it means."""
        self.columns[name], self.kinds[name] = list(cells), frozenset(kinds.split())
        if values is not None:
            self.values[name] = dict(enumerate(values))

    def follow(self, signal: Any, weight: float = 1.0) -> None:
        """Let the labels depend on numbers."""
        signal = np.asarray(signal, dtype=float)
        self.score += weight * (signal - signal.mean()) / (signal.std() + 1e-12)

    def numbers(
        self,
        name: str,
        drawn: Any,
        form: str | Callable[[float], str] = "{:.2f}",
        weight: float = 1.0,
        digits: int = 2,
        holes: Sequence[str] = (),
    ) -> None:
        """Add numbers in a costume. A twelfth of the cells hold one of the words instead."""
        meant = np.round(np.asarray(drawn, dtype=float), digits) + 0.0  # no negative zero
        self.follow(meant, weight)
        write = form.format if isinstance(form, str) else form
        self.add(name, map(write, meant), "number", meant.tolist())
        if isinstance(form, str) and "%" in form:
            self.percent.add(name)
        for word in holes:
            self.put(name, word, 1 / 12 / len(holes))

    def dates(
        self,
        name: str,
        form: str | Callable[[datetime], str],
        step: timedelta = timedelta(days=1),
        known: str = "%Y-%m-%d",
        weight: float = 1.0,
    ) -> None:
        """Add moments of a few years; `known` says how much of them the cells tell."""
        steps = self.rng.integers(0, 900, self.n)
        self.follow(steps, weight)
        moments = [datetime(2018, 2, 3) + int(k) * step for k in steps]
        write = form if callable(form) else lambda m: m.strftime(form)
        told = [datetime.strptime(m.strftime(known), known) for m in moments]
        self.add(name, map(write, moments), "date", told)

    def choice(
        self, name: str, among: Sequence[Any], kinds: str = "category", weight: float = 0.5
    ) -> None:
        """Add values drawn from a few, the first ones more often."""
        common = 1 / (np.arange(len(among)) + 3.0)
        drawn = self.rng.choice(len(among), self.n, p=common / common.sum())
        self.follow(self.rng.permutation(len(among))[drawn], weight)
        self.add(name, [among[i] for i in drawn], kinds)

    def basics(self) -> None:
        """Add columns without any trouble, from which labels can be learned."""
        self.numbers("age", self.rng.normal(44, 12, self.n).clip(18, 90), "{:.0f}", digits=0)
        self.numbers("height", self.rng.normal(171, 9, self.n), "{:.1f}", digits=1)
        self.choice("colour", ["red", "green", "blue"])

    def people(self) -> list[str]:
        """Return as many different names as there are rows."""
        pairs = self.rng.permutation(len(FIRST) * len(LAST))[: self.n]
        return [f"{FIRST[i % len(FIRST)]} {LAST[i // len(FIRST)]}" for i in pairs]

    def words(self, pattern: str, *lists: Sequence[Any]) -> list[str]:
        """Return a text for each row, whose gaps are filled from the lists."""
        return [pattern.format(*map(self.rng.choice, lists)) for _ in range(self.n)]

    # -- Trouble

    def some(self, share: float) -> list[int]:
        """Return a few rows at random, but not the first ten."""
        drawn = self.rng.choice(self.n - 10, max(1, round(share * self.n)), replace=False)
        return [int(i) + 10 for i in drawn]

    def put(self, name: str, word: Any, share: float) -> None:
        """Write a word in place of some cells; it means that nothing is known."""
        for i in self.some(share):
            self.columns[name][i] = word
            self.values.get(name, {})[i] = np.nan

    def native(self, *names: str) -> None:
        """Write columns as what they mean, for files whose cells have types."""
        for name in names:
            self.columns[name] = list(self.values[name].values())

    # -- Labels

    def labels(self, classes: Sequence[Any] = ("no", "yes"), noise: float = 0.2) -> list[Any]:
        """Return classes of equal size that follow the score."""
        score = self.score + noise * self.score.std() * self.rng.normal(size=self.n)
        ranks = np.argsort(np.argsort(score))
        return [classes[i] for i in ranks * len(classes) // self.n]

    def flip(self, labels: list[Any], rows: Sequence[int]) -> None:
        """Change the labels of rows to another one of two."""
        first, second = sorted(set(labels))
        for i in rows:
            labels[i] = second if labels[i] == first else first
        self.wrong.update(map(int, rows))

    def respell(self, labels: list[Any], rows: Sequence[int], *spell: Callable[[str], str]) -> None:
        """Write the labels of rows in other ways."""
        for k, i in enumerate(rows):
            labels[i] = spell[k % len(spell)](labels[i])
        self.spellings.update(map(int, rows))

    # -- Files

    def save(self, path: Path, target: str, labels: Sequence[Any], **how: Any) -> Case:
        """Write the file that the name asks for."""
        self.columns[target] = list(labels)
        names = [self.written.get(name, name) for name in self.columns]
        cells = list(zip(*self.columns.values(), strict=True))
        kind = path.suffixes[0]
        if kind == ".xlsx":
            _save_excel(path, names, cells, **how)
        elif kind == ".jsonl":
            _save_json(path, names, cells)
        elif kind in (".ods", ".parquet", ".feather"):
            _save_frame(path, self.columns)
        else:
            _save_text(path, names, cells, **how)
        seen = {str(label).strip().lower() for label in labels} - {"", "na"}
        n_classes = 0 if len(seen) > 50 else len(seen)
        sets = map(frozenset, (self.percent, self.wrong, self.spellings, how.get("ragged", ())))
        return Case(path, target, self.kinds, self.values, *sets, n_classes)


def _save_text(
    path: Path,
    names: list[str],
    rows: list[tuple[Any, ...]],
    sep: str = ",",
    encoding: str = "utf-8",
    above: str = "",
    ragged: Sequence[int] = (),
) -> None:
    """Write delimited text, packed if the name says so. Ragged rows have a field too many."""
    text = io.StringIO()
    table = [[*row, "?"] if i in ragged else row for i, row in enumerate(rows)]
    csv.writer(text, delimiter=sep).writerows([names, *table])
    data = (above + text.getvalue()).encode(encoding)
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def _save_json(path: Path, names: list[str], rows: list[tuple[Any, ...]]) -> None:
    """Write lines of JSON, which leave out what is missing."""
    lines = (
        {name: cell for name, cell in zip(names, row, strict=True) if cell != ""} for row in rows
    )
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def _save_excel(
    path: Path, names: list[str], rows: list[tuple[Any, ...]], above: Sequence[list[str]] = ()
) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="Excel is an extra")
    book = openpyxl.Workbook()
    for row in (*above, names, *rows):
        book.active.append(row)
    book.save(path)


def _save_frame(path: Path, columns: dict[str, Any]) -> None:
    import pandas as pd

    pytest.importorskip("odf" if path.suffix == ".ods" else "pyarrow", reason="an extra")
    frame = pd.DataFrame(columns)
    if path.suffix == ".ods":
        frame.to_excel(path, engine="odf", index=False)
    else:
        getattr(frame, f"to_{path.suffix[1:]}")(path)
