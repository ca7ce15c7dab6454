"""A page of Markdown on a terminal, its tables as narrow as they can be."""

from __future__ import annotations

from itertools import groupby

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["print_page"]


def print_page(text: str, console: Console) -> None:
    """Print titles in bold, tables with aligned columns, and everything else as it is."""
    for is_table, lines in groupby(text.splitlines(), key=lambda line: line.startswith("|")):
        if is_table:
            console.print(_table(list(lines)))
        else:
            for line in lines:
                console.print(_words(line), highlight=False)


def _table(lines: list[str]) -> Table:
    header, _, *body = ([field.strip() for field in line.strip("|").split("|")] for line in lines)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name in header:
        table.add_column(Text(name))
    for fields in body:
        table.add_row(*map(Text, fields))
    return table


def _words(line: str) -> Text:
    title = line.lstrip("#")
    return Text(line) if title == line else Text(title.strip(), style="bold")
