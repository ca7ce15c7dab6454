"""What the toy figures say in words: tables of their numbers, and what follows from these."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from sorr.experiments.experiment import Plan
from sorr.experiments.paper.toy import KINDS, LOSSES, MEASURES, Record, find
from sorr.experiments.tables import markdown

__all__ = ["case_notes", "gap_notes", "line_notes", "outliers_page", "rank_notes", "toy_page"]

_FIGURES = {"ours": "Lines that minimise", "paper": "Lines of the released loop"}
_RANKED = ("AT_k", "AoRR")
_PROTOCOLS = """\
*Ours* minimises each objective, with a ridge of C = 10^4: the average, the maximum and AT_k are \
convex; of AoRR it keeps the lowest of the minima that it finds from many starts. *The paper's \
protocol* is the released loop with the printed settings (steps of 0.01 from zero, 1000 inner \
ones, 100 outer ones with the logistic and 5 with the hinge loss), which keeps the step of the \
highest accuracy on the very rows of the fit, outliers included, as the released script does. The \
scripts of the other three models were not released: they are run through the same loop. \
Objectives are compared with the ridge, which the loop does not have.
"""
_COIN = """\
Errors are in per cent. *On its rows* leaves outliers out; *unseen* is the share of the \
distribution without outliers that is on the wrong side, which needs no sample. A model that has \
no line predicts the same everywhere, and if it has no intercept either, it counts as a coin.
"""


def toy_page(records: Sequence[Record], plan: Plan, bayes: dict[str, float], k: int) -> str:
    """Return the page of Figure 3."""
    drawn = [record for record in records if record["dataset"] in KINDS]
    lines = [record for record in records if record["model"] not in _RANKED or record["k"] == k]
    parts = [
        "# Figure 3: lines through toy data with an outlier, and the error as a function of k",
        "![Lines of four models, and their errors](fig-toy.png)",
        f"Above, lines at k = {k} and m = 1, through the authors' rows where their files are at "
        "hand; below, the error as a function of k, over draws of 200 rows like theirs (see "
        "`make_multimodal` and `make_imbalanced`). The paper does not say on which rows it "
        "measures the error: here it is shown both on those of the fit and on unseen ones."
        + _quick(plan),
        _PROTOCOLS,
        _COIN,
        f"## The lines: k = {k}, m = 1",
        _comparison(lines),
        "## The error on unseen rows as a function of k",
        _by_rank(drawn, bayes),
        "## What holds, and what does not",
        _listed([*line_notes(lines), *rank_notes(drawn), *gap_notes(records)]),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def outliers_page(records: Sequence[Record], plan: Plan) -> str:
    """Return the page of the figures with more outliers."""
    parts = [
        "# Appendix: lines through toy data with 2 to 20 outliers",
        *(
            f"![{title}](fig-toy-outliers-{protocol}.png)"
            for protocol, title in _FIGURES.items()
            if find(records, protocol=protocol)
        ),
        "Rows are drawn by `make_multimodal`, since the authors' files of these cases were not "
        "released. With n outliers k = n + 1 and m = n, as in the paper: AoRR is the loss ranked "
        "n + 1, and AT_k the average of the n + 1 largest. The figures show the first draw."
        + _quick(plan),
        _PROTOCOLS,
        _COIN,
        _comparison(records),
        "## What holds, and what does not",
        _listed([*line_notes(records), *case_notes(records), *gap_notes(records)]),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _quick(plan: Plan) -> str:
    return " A quick run: too little of everything to say anything." if plan.quick else ""


def _listed(notes: Iterable[str]) -> str:
    return "\n".join(f"- {note}" for note in notes)


def _comparison(records: Iterable[Record]) -> str:
    """Return a table of both protocols, a line for each model."""
    lines: dict[tuple[str, str, str], dict[str, Record]] = {}
    for record in records:
        key = record["dataset"], record["loss"], record["model"]
        lines.setdefault(key, {})[record["protocol"]] = record
    header = ["data set", "loss", "model", "draws"]
    for name in ("ours", "paper's protocol"):
        header += [f"{name}: without a line", "objective", "on its rows", "unseen"]
    table = []
    for key, found in lines.items():
        draws = max(record["draws"] for record in found.values())
        line = [*key, str(draws)]
        for protocol in ("ours", "paper"):
            line += _cells(found.get(protocol))
        table.append(line)
    return markdown(header, table)


def _cells(record: Record | None) -> list[str]:
    if record is None:
        return [""] * 4
    errors = [
        _spread(record[name], record[f"{name}_spread"])
        for name in ("error_rows", "error_population")
    ]
    return [str(record["constant"]), f"{record['objective']:.4f}", *errors]


def _by_rank(records: Sequence[Record], bayes: dict[str, float]) -> str:
    """Return a table of the error on unseen rows, a line for each k."""
    header = [
        "data set",
        "loss",
        "k",
        "ours: AoRR",
        "AT_k",
        "paper's protocol: AoRR",
        "AT_k",
        "Bayes",
    ]
    table = []
    for kind in KINDS:
        for loss in LOSSES:
            some = find(records, dataset=kind, loss=loss)
            for k in sorted({record["k"] for record in some if record["model"] == "AoRR"}):
                line = [kind, loss, str(k)]
                for protocol in ("ours", "paper"):
                    for model in ("AoRR", "AT_k"):
                        found = find(some, protocol=protocol, model=model, k=k)
                        line.append(_mean(found))
                table.append([*line, f"{bayes[kind]:.3f}"])
    return markdown(header, table)


def _mean(found: Sequence[Record]) -> str:
    if not found:
        return ""
    return _spread(found[0]["error_population"], found[0]["error_population_spread"])


def _spread(mean: float, spread: float) -> str:
    if math.isnan(mean):
        return ""
    return f"{mean:.2f}" + ("" if math.isnan(spread) else f" ({spread:.2f})")


# -- Sentences below the toy figures, with numbers from their records ------------------------------


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
