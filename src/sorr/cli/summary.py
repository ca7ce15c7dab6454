"""What an audit found, on one screen."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.columns import Columns
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sorr.cli.words import plain, shortened

if TYPE_CHECKING:
    from sorr.auditing.report import AuditReport

__all__ = ["print_summary"]

_MOST_ROWS = 10  # of the suspects: the file has them all
_MOST_STRATA = 4  # classes, or groups, of a table: the report has them all
_MOST_NOTES = 3
_WIDEST = 18  # letters of a cell
_LONGEST_CHOICE = 240  # letters on how many rows were left out: three lines
_NARROWEST = 20  # letters of a line of a reason
_END = re.compile(r"(?<=[.!?]) (?=[A-Z])")


def print_summary(report: AuditReport, console: Console) -> None:
    """Print what was read, how many rows are suspect, how sure that is, and the first of them."""
    found = report.summary()
    for line in _sentences(found):
        _print(console, line)
    console.print(Columns([_strata(*it) for it in found["dropped"].items()], padding=(0, 3)))
    if found["suspects"]:
        console.print(_suspects(report, console.width))
    for text in found["warnings"]:
        _print(console, f"Warning: {text}", "bold yellow")
    notes = found["notes"]
    for text in notes[:_MOST_NOTES]:
        _print(console, f"Note: {text}", "dim")
    if len(notes) > _MOST_NOTES:
        _print(console, f"{len(notes) - _MOST_NOTES} more notes are in the report.", "dim")


def _print(console: Console, line: str, style: str = "") -> None:
    console.print(Text(plain(line), style=style), soft_wrap=not console.is_terminal)


def _sentences(found: dict[str, Any]) -> list[str]:
    low, high = found["share_over_resamples"]
    plainly, robustly = (_error(found, kind) for kind in ("plain", "robust"))
    lines = [
        f"{found['table']}: {found['rows']:,} rows, {_columns(found['columns'])} to learn "
        f"{found['target']} from ({found['task']}).",
        f"{_suspect(found['suspects'])} left out: {found['share']:.1%} of all, and {low:.1%} to "
        f"{high:.1%} in fits to halves of them.",
        _first_sentences(found["choice"], _LONGEST_CHOICE),
        f"Error on held-out rows that were kept: {robustly}; of a plain fit: {plainly}. On all "
        f"held-out rows, as labelled: {_error(found, 'robust_on_all')} and "
        f"{_error(found, 'plain_on_all')}.",
    ]
    if planted := found.get("planted"):
        lines.append(
            f"{planted['wrong']} labels were made wrong on purpose: {planted['found']} of them are "
            "among the suspects."
        )
    return lines


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count:,} columns"


def _suspect(count: int) -> str:
    return "1 row is suspect and was" if count == 1 else f"{count:,} rows are suspect and were"


def _first_sentences(text: str, length: int) -> str:
    """Return as many of the first sentences as fit, and one at least: the report has them all."""
    sentences = _END.split(plain(text))
    kept = sentences[:1]
    for sentence in sentences[1:]:
        if len(" ".join([*kept, sentence])) > length:
            break
        kept.append(sentence)
    return " ".join(kept)


def _error(found: dict[str, Any], kind: str) -> str:
    error = found["held_out_error"][kind]
    return f"{error:.4g}" if found["task"] == "regression" else f"{error:.1%}"


def _strata(name: str, strata: list[dict[str, Any]]) -> Table:
    """Return how many rows were left out of each class or group, those with the most first."""
    table = _table()
    table.add_column(Text(shortened(name, _WIDEST)))
    for title in ("rows", "left out", "share"):
        table.add_column(title, justify="right")
    ordered = sorted(strata, key=lambda it: -it["dropped"] / it["rows"])
    for it in ordered[:_MOST_STRATA]:
        numbers = (f"{it['rows']:,}", f"{it['dropped']:,}", f"{it['dropped'] / it['rows']:.1%}")
        table.add_row(Text(shortened(it["name"], _WIDEST)), *numbers)
    if len(strata) > _MOST_STRATA:
        table.add_row(Text(f"and {len(strata) - _MOST_STRATA} more", style="dim"))
    return table


def _suspects(report: AuditReport, width: int) -> Table:
    """Return the most suspect rows: how likely each is wrong, how often it is left out again.

    Reasons take two lines of what the other columns leave of the width.
    """
    suspects = report.suspects.head(_MOST_ROWS)
    records = [dict(zip(suspects.columns, row, strict=True)) for row in _tuples(suspects)]
    columns = {"row": [str(it["row"]) for it in records]}
    if report.rows.ids is not None:
        columns["id"] = [shortened(it["id"], _WIDEST) for it in records]
    for name in ("given", "suggested"):
        columns[name] = [_label(it[name]) for it in records]
    for title, name, say in (
        ("wrong", "flip_posterior", _chance),
        ("again", "dropped_share", _percent),
    ):
        shares = [say(it[name]) for it in records]
        if any(shares):
            columns[title] = shares
    taken = sum(max(map(len, (title, *cells))) + 2 for title, cells in columns.items())
    room = max(width - taken - 2, _NARROWEST)
    columns["reason"] = [_two_lines(it["reason"], room) for it in records]
    table = _table()
    for title in columns:
        is_number = title in ("row", "wrong", "again")
        table.add_column(title, justify="right" if is_number else "left")
    for cells in zip(*columns.values(), strict=True):
        table.add_row(*map(Text, cells))
    return table


def _two_lines(text: str, width: int) -> str:
    first, *rest = textwrap.wrap(plain(text), width) or [""]
    return "\n".join([first, shortened(" ".join(rest), width)]) if rest else first


def _tuples(frame: Any) -> list[tuple[Any, ...]]:
    return list(frame.itertuples(index=False, name=None))


def _label(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else shortened(value, _WIDEST)


def _percent(share: float) -> str:
    return "" if share != share else f"{share:.0%}"


def _chance(probability: float) -> str:
    """Return a probability without more digits than anyone should trust."""
    return ">99%" if probability > 0.99 else _percent(probability)


def _table() -> Table:
    return Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
