"""What the toy figures show of their rows: a line, and mean errors over the draws."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from sorr.experiments.rows import Row
from sorr.experiments.toy.models import MEASURES

__all__ = ["Record", "find", "is_constant", "summarise"]

Record = dict[str, Any]
_LINE = MEASURES[:3]
_ERRORS = MEASURES[3:]


def summarise(rows: Iterable[Row]) -> list[Record]:
    """Return a record for each model: its line on the first draw, and means over all draws.

    Spreads are standard deviations over the draws. `constant` counts the draws on which the model
    has no line, and `gap` is the largest.
    """
    together: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        loss = row["setting"].partition(" ")[0]
        key = row["protocol"], row["dataset"], loss, row["model"], row["chosen"]["k"]
        together.setdefault(key, []).append(row)
    return [_record(key, some) for key, some in together.items()]


def _record(key: tuple[Any, ...], rows: list[Row]) -> Record:
    names = ("protocol", "dataset", "loss", "model", "k")
    record: Record = dict(zip(names, key, strict=True)) | {"draws": len(rows)}
    first = next((row for row in rows if row["split"] == 0), None)
    for name in _LINE:
        record[name] = math.nan if first is None else first[name]
    record["constant"] = sum(is_constant(row) for row in rows)
    record["objective"] = _mean(rows, "objective")
    record["gap"] = max(row["gap"] for row in rows)
    for name in _ERRORS:
        record[name] = _mean(rows, name)
        values = [row[name] for row in rows]
        record[f"{name}_spread"] = float(np.std(values, ddof=1)) if len(rows) > 1 else math.nan
    return record


def is_constant(line: Row | Record) -> bool:
    """Return whether a model has no line: it predicts the same everywhere."""
    return bool(line["coef1"] == 0 and line["coef2"] == 0)


def find(records: Iterable[Record], **wanted: Any) -> list[Record]:
    """Return the records that have these values."""
    return [
        record for record in records if all(record[name] == value for name, value in wanted.items())
    ]


def _mean(rows: list[Row], name: str) -> float:
    return float(np.mean([row[name] for row in rows]))
