"""Who finds planted label errors: suspects, their ranking and the time it takes, against cleanlab.

`python -m benchmarks audit --help` lists what can be left out. With ``--rows FILE`` every list of
suspects is kept as a line of JSON, and those that are there already are not made again.
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
from benchmarks.quality import in_turns, measured, parser_of, spoiled
from benchmarks.rows import Row
from benchmarks.tables import SMALL, TABLES, Table
from sorr.auditing.fit import fit_model, largest
from sorr.share import estimate_outlier_share

__all__ = ["report"]

MADE_UP = "synthetic"  # run if it is named: the others are tables that somebody collected
ALL = {**TABLES, **SMALL}


class Suspects(NamedTuple):
    """Which rows are said to be wrong, and how suspect every row is."""

    mask: npt.NDArray[np.bool_]
    score: Array


def left_out(model: Any, _: Problem) -> Suspects:
    """Return the rows that an audit leaves out, and its ranking of all: those come first."""
    order = np.lexsort([model.share_.score_, model.outlier_mask_])
    score = np.empty(len(order))
    score[order] = np.arange(len(order))
    return Suspects(model.outlier_mask_, score)


def most_suspect(share: Any, problem: Problem) -> Suspects:
    """Return as many rows of each class as are estimated to be wrong: those that score highest."""
    return Suspects(largest(share.score_, problem.y, share.drop_), share.score_)


def issues_of(model: Any, _: Problem) -> Suspects:
    """Return what cleanlab found."""
    found = model.get_label_issues()
    return Suspects(np.asarray(found["is_label_issue"]), -np.asarray(found["label_quality"]))


def find_issues(problem: Problem, **ranking: Any) -> Any:
    """Let cleanlab look for label issues, without the fit that it would make after that."""
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
    """Let it rank as suits it best if labels of one class go wrong, in our measurements."""
    return find_issues(problem, method="normalized_margin", adjust_pred_probs=True)


def estimate(problem: Problem) -> Any:
    n, seed = len(problem.y), problem.seed % 2**31
    return estimate_outlier_share(problem.X, problem.y, C=n, drop="estimate", random_state=seed)


def fit_audited(problem: Problem) -> Any:
    seed = problem.seed % 2**31
    return fit_model(problem.X, problem.y, "classification", "auto", seed, 1)


class Auditor(NamedTuple):
    """How to look for wrong labels, and how to read the answer."""

    look: Callable[[Problem], Any]
    read: Callable[[Any, Problem], Suspects]


AUDITORS = {
    PEER: Auditor(find_issues, issues_of),
    ADJUSTED: Auditor(find_adjusted, issues_of),
    PEER_FIT: Auditor(fit_cleanlab, issues_of),
    LIST: Auditor(estimate, most_suspect),
    AUDIT: Auditor(fit_audited, left_out),
}


def report(arguments: Sequence[str] = ()) -> Iterator[str]:
    usual = [name for name in ALL if name != MADE_UP]
    chosen = parser_of("audit", __doc__, ALL, usual, FLIPS).parse_args(arguments)
    yield from board(measured(chosen, list(AUDITORS), ALL, compare))


def compare(data: str, noise: str, seed: int, table: Table, names: list[str]) -> Iterator[Row]:
    """Show everybody the same rows, in turns."""
    problem = spoiled(data, noise, seed, table, FLIPS[noise])
    answers, times = in_turns(names, seed, lambda name: AUDITORS[name].look(problem))
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
