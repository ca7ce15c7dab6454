"""Sentences below the toy figures, with numbers from their records."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sorr.experiments.toy.models import MEASURES
from sorr.experiments.toy.summary import Record, find

__all__ = ["case_notes", "gap_notes", "line_notes", "rank_notes"]

_CONSTANT = {"logistic": math.log(2), "hinge": 1.0}
_SAME = 1e-3  # relative difference of coefficients
_WHY_NO_LINE = (
    "Where no line parts all rows, outliers included, every line has a row on its wrong side, "
    "whose loss is at least log 2 (logistic) or 1 (hinge): that of the constant model. So the "
    "constant model is the exact minimum of the maximum, and of AT_k for small k"
)


def line_notes(records: Sequence[Record]) -> list[str]:
    """Return what is to be said of the lines of one k."""
    notes = [_no_line(records)]
    if all(find(records, protocol=protocol) for protocol in ("ours", "paper")):
        notes += [_not_minimised(records), _by_accuracy(records), _average(records)]
    return [note for note in notes if note]


def rank_notes(records: Sequence[Record]) -> list[str]:
    """Return what is to be said of the error as a function of k."""
    notes = []
    for protocol, name in (("ours", "Ours"), ("paper", "By the paper's protocol")):
        some = find(records, protocol=protocol)
        pairs = _pairs(some)
        if pairs:
            lower = sum(aorr < atk for aorr, atk in pairs)
            equal = sum(aorr == atk for aorr, atk in pairs)
            excess = max(0.0, *(aorr - atk for aorr, atk in pairs))
            highest = [
                max(record["error_population"] for record in find(some, model=model))
                for model in ("AoRR", "AT_k")
            ]
            notes.append(
                f"{name}, AoRR has a lower mean error on unseen rows than AT_k at {lower} of "
                f"{len(pairs)} points of (e) to (h), the same at {equal}, and one that is higher "
                f"by up to {excess:.2f} at the others. Over all k it is at most "
                f"{highest[0]:.2f} %, that of AT_k at most {highest[1]:.2f} %."
            )
    return notes


def case_notes(records: Sequence[Record]) -> list[str]:
    """Return what is to be said of one model with more and more outliers."""
    notes = []
    for loss in _CONSTANT:
        some = find(records, protocol="ours", loss=loss, model="AoRR")
        lines = np.array([[record[name] for name in MEASURES[:3]] for record in some])
        if len(some) > 1 and np.allclose(lines, lines[0], rtol=_SAME, atol=0):
            notes.append(
                f"With the {loss} loss, our AoRR has the same line on the first draw in all "
                f"{len(some)} cases: m = n leaves out the outliers and nothing else."
            )
    return notes


def gap_notes(records: Sequence[Record]) -> list[str]:
    """Return what is known about how near our fits are to their minima."""
    gaps = [record["gap"] for record in find(records, protocol="ours")]
    if not gaps:
        return []
    return [
        "Of all our fits, the convex problem of the rows that are kept is solved to a certified "
        f"gap of at most {max(gaps):.0e} of the objective. That no other choice of rows is better "
        "is not certified for AoRR: it is the best of many starts."
    ]


def _no_line(records: Sequence[Record]) -> str:
    """Say how often the minimum is the constant model."""
    counts = []
    for model in ("maximum", "AT_k", "AoRR"):
        some = find(records, protocol="ours", model=model)
        draws = sum(record["draws"] for record in some)
        if draws:
            counts.append(f"{model} on {sum(record['constant'] for record in some)} of {draws}")
    if not counts:
        return ""
    return f"{_WHY_NO_LINE}. Without a line are, of our fits in the table: {', '.join(counts)}."


def _not_minimised(records: Sequence[Record]) -> str:
    """Compare the objectives of both protocols."""
    ends = []
    for protocol in ("ours", "paper"):
        some = find(records, protocol=protocol, model="AoRR")
        ends.append(" and ".join(_by_loss(some, "objective")))
    if not all(ends):
        return ""
    return (
        f"The objective of AoRR is {ends[0]} at its minimum, and {ends[1]} where the released loop "
        "ends; that of the constant model is 0.6931 (logistic) and 1 (hinge). The loop stays near "
        "zero, where it starts. Its lines can be good all the same: a line has no scale."
    )


def _by_accuracy(records: Sequence[Record]) -> str:
    """Say that the loop draws lines which no objective asked for."""
    some = [
        record
        for record in find(records, protocol="paper")
        if record["model"] in ("maximum", "AT_k")
        and record["objective"] >= _CONSTANT[record["loss"]]
    ]
    if not some:
        return ""
    errors = _range([record["error_rows"] for record in some], 1)
    return (
        f"The released loop has lines for the maximum and AT_k which are wrong on {errors} % of "
        "rows that are no outliers, at objectives above that of the constant model: these are "
        "steps on the way, of which that with the highest accuracy is kept, and no minima."
    )


def _by_loss(records: Sequence[Record], name: str) -> list[str]:
    """Return the range of a number for each loss."""
    found = {loss: [record[name] for record in find(records, loss=loss)] for loss in _CONSTANT}
    return [f"{_range(values, 4)} ({loss})" for loss, values in found.items() if values]


def _average(records: Sequence[Record]) -> str:
    """Compare the errors of the average by both protocols."""
    ours, paper = (
        [record["error_rows"] for record in find(records, protocol=protocol, model="average")]
        for protocol in ("ours", "paper")
    )
    if not (ours and paper):
        return ""
    return (
        f"The average loss is wrong on {_range(ours, 1)} % of rows that are no outliers at its "
        f"minimum, and on {_range(paper, 1)} % after the steps of the released loop. It is "
        "convex, so the difference is a descent that was stopped early, not the loss."
    )


def _pairs(records: Sequence[Record]) -> list[tuple[float, float]]:
    """Return the errors of AoRR and AT_k on unseen rows, wherever both are known."""
    pairs = []
    for record in find(records, model="AoRR"):
        same = {name: record[name] for name in ("protocol", "dataset", "loss", "k")}
        other = find(records, model="AT_k", **same)
        pairs += [(record["error_population"], found["error_population"]) for found in other]
    return pairs


def _range(values: Sequence[float], digits: int) -> str:
    low, high = (f"{end:.{digits}f}" for end in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"
