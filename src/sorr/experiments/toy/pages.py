"""What the toy figures say in words: tables of their numbers, and what follows from these."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from sorr.experiments.cells import Plan
from sorr.experiments.pages import markdown
from sorr.experiments.toy.data import KINDS
from sorr.experiments.toy.models import LOSSES
from sorr.experiments.toy.notes import case_notes, gap_notes, line_notes, rank_notes
from sorr.experiments.toy.summary import Record, find

__all__ = ["outliers_page", "toy_page"]

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
