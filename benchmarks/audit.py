"""Planted label errors: suspects, their ranking and the time, against cleanlab.

`python -m benchmarks audit --help` lists what can be left out. With ``--rows FILE`` every list of
suspects is kept as a line of JSON; lists that are in the file already are not made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics import average_precision_score

from benchmarks.audit_board import ADJUSTED, AUDIT, LIST, PEER, PEER_FIT, board
from benchmarks.contenders import Array, Problem, fit_cleanlab, regression
from benchmarks.noise import FLIPS
from benchmarks.quality import collect_rows, make_parser, run_in_turns, spoil_table
from benchmarks.rows import Row
from benchmarks.tables import SMALL, TABLES, Table
from sorr import TrimmedClassifier
from sorr.share import Judgement, LabelledRows, judge_rows

__all__ = ["report"]

SYNTHETIC = "synthetic"  # run only if it is named; the others are real tables
ALL = {**TABLES, **SMALL}


class Suspects(NamedTuple):
    """The rows that are called wrong, and how suspect each row is."""

    mask: npt.NDArray[np.bool_]
    score: Array


def read_flags(model: Any, _: Problem) -> Suspects:
    """Return the rows that are flagged, and the ranking of all rows."""
    judgement: Judgement = getattr(model, "judgement_", model)
    score = np.empty(len(judgement.order_))
    score[judgement.order_[::-1]] = np.arange(len(score))  # tiers first
    return Suspects(judgement.flagged_, score)


def read_issues(model: Any, _: Problem) -> Suspects:
    """Return the label issues of cleanlab."""
    issues = model.get_label_issues()
    return Suspects(np.asarray(issues["is_label_issue"]), -np.asarray(issues["label_quality"]))


def find_issues(problem: Problem, **ranking: Any) -> Any:
    """Let cleanlab look for label issues, without its fit after that."""
    from cleanlab.classification import CleanLearning

    model = CleanLearning(
        regression(),
        seed=problem.seed,
        find_label_issues_kwargs={"n_jobs": 1},
        label_quality_scores_kwargs=ranking,
    )
    model.find_label_issues(problem.X, problem.y)
    return model


def find_adjusted(problem: Problem) -> Any:
    """Let cleanlab rank in the way that was best for wrong labels of one class."""
    return find_issues(problem, method="normalized_margin", adjust_pred_probs=True)


def judge(problem: Problem) -> Judgement:
    classes, index = np.unique(problem.y, return_inverse=True)
    seed = problem.seed % 2**31
    rows = LabelledRows(problem.X, problem.y, index, classes, None, seed=seed)
    return judge_rows(rows, "auto").judgement


def fit_audited(problem: Problem) -> TrimmedClassifier:
    model = TrimmedClassifier("auto", random_state=problem.seed % 2**31)
    return model.fit(problem.X, problem.y)


class Auditor(NamedTuple):
    """How to look for wrong labels, and how to read the answer."""

    look: Callable[[Problem], Any]
    read: Callable[[Any, Problem], Suspects]


AUDITORS = {
    PEER: Auditor(find_issues, read_issues),
    ADJUSTED: Auditor(find_adjusted, read_issues),
    PEER_FIT: Auditor(fit_cleanlab, read_issues),
    LIST: Auditor(judge, read_flags),
    AUDIT: Auditor(fit_audited, read_flags),
}


def report(arguments: Sequence[str] = ()) -> Iterator[str]:
    usual = [name for name in ALL if name != SYNTHETIC]
    chosen = make_parser("audit", __doc__, ALL, usual, FLIPS).parse_args(arguments)
    yield from board(collect_rows(chosen, list(AUDITORS), ALL, compare))


def compare(data: str, noise: str, seed: int, table: Table, names: list[str]) -> Iterator[Row]:
    """Show all auditors the same rows, in turns."""
    problem = spoil_table(data, noise, seed, table, FLIPS[noise])
    answers, times = run_in_turns(names, seed, lambda name: AUDITORS[name].look(problem))
    for name, answer in answers.items():
        suspects = AUDITORS[name].read(answer, problem)
        yield {
            "data": data,
            "noise": noise,
            "seed": seed,
            "method": name,
            "seconds": times[name],
            "precision": float(average_precision_score(problem.wrong, suspects.score)),
            "rows": problem.per_class(np.ones_like(problem.wrong)),
            "columns": int(problem.X.shape[1]),
            "wrong": int(problem.wrong.sum()),
            "flagged": int(suspects.mask.sum()),
            "hits": int((suspects.mask & problem.wrong).sum()),
        }
