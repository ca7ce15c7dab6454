"""Who finds planted label errors: suspects, their ranking and the time it takes, against cleanlab.

`python -m benchmarks audit --help` lists what can be left out. With ``--rows FILE`` every list of
suspects is kept as a line of JSON, and those that are there already are not made again.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits

from benchmarks.audit_board import ADJUSTED, AUDIT, LIST, PEER, PEER_FIT, board
from benchmarks.contenders import Array, Problem, fit_cleanlab, regression
from benchmarks.noise import FLIPS, spoil
from benchmarks.quality import QUICK, ROUNDS, key, seeds
from benchmarks.rows import Row, keep, read, tell
from benchmarks.tables import SMALL, TABLES, Table
from sorr.auditing.fit import fit_model
from sorr.auditing.variations import largest
from sorr.estimators.share import estimate_outlier_share
from sorr.experiments import seed_of

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


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks audit", description=__doc__)
    real = [name for name in ALL if name != MADE_UP]
    parser.add_argument("--data", nargs="+", choices=ALL, default=real)
    parser.add_argument("--noise", nargs="+", choices=FLIPS, default=list(FLIPS))
    parser.add_argument("--seeds", type=int, default=5, help="how many splits (default: 5)")
    parser.add_argument("--first", type=int, default=1, help="the first of them: 6 for fresh ones")
    parser.add_argument("--rows", type=Path, help="file that keeps every list, and is resumed from")
    parser.add_argument("--draw", action="store_true", help="look at nothing: draw what is there")
    return parser.parse_args(arguments)


def report(arguments: Sequence[str] = ()) -> Iterator[str]:
    chosen = options(arguments)
    rows = {key(row): row for row in read(chosen.rows)}
    if not chosen.draw:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for row in sweep(chosen, set(rows)):
                rows[key(row)] = row
                keep(chosen.rows, row)
    yield from board(
        rows[data, noise, seed, name]
        for data in chosen.data
        for noise in chosen.noise
        for seed in seeds(chosen)
        for name in AUDITORS
        if (data, noise, seed, name) in rows
    )


def sweep(chosen: argparse.Namespace, done: set[tuple[str, str, int, str]]) -> Iterator[Row]:
    """Look at what nobody has looked at yet; say what is being done."""
    names = list(AUDITORS)
    try:
        import cleanlab.classification  # noqa: F401  (here, so that no run pays for it)
    except ImportError as error:
        tell(f"cleanlab is left out: {error}")
        names = [LIST, AUDIT]
    for data in chosen.data:
        for seed in seeds(chosen):
            missing = [
                noise
                for noise in chosen.noise
                if any((data, noise, seed, name) not in done for name in names)
            ]
            if not missing:
                continue
            try:
                table = ALL[data](seed)
            except FileNotFoundError as error:
                tell(f"{data} is left out: {error}")
                break
            for noise in missing:  # everybody once more, so that times are of the same minute
                begin = time.perf_counter()
                yield from compare(data, noise, seed, table, names)
                tell(f"{data} {noise} {seed}: {time.perf_counter() - begin:.1f} s")


def compare(data: str, noise: str, seed: int, table: Table, names: Sequence[str]) -> Iterator[Row]:
    """Show everybody the same rows, in turns."""
    number = seed_of(data, noise, seed)
    spoiled = spoil(table.X, table.y, FLIPS[noise], table.pair, np.random.default_rng(number))
    problem = Problem(*spoiled, X_clean=table.X, y_clean=table.y, seed=number)
    answers: dict[str, Any] = {}
    times: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(ROUNDS):
        if turn and max(max(taken) for taken in times.values()) > QUICK:
            break
        for name in names[:: 1 if (turn + seed) % 2 else -1]:
            begin = time.process_time()  # one thread: what others do meanwhile does not count
            answers[name] = AUDITORS[name].look(problem)
            times[name].append(time.process_time() - begin)
    for name, answer in answers.items():
        suspects = AUDITORS[name].read(answer, problem)
        yield {
            "data": data,
            "noise": noise,
            "seed": seed,
            "method": name,
            "seconds": min(times[name]),
            "precision": float(average_precision_score(problem.wrong, suspects.score)),
            "rows": problem.per_class(np.ones_like(problem.wrong)),
            "columns": int(problem.X.shape[1]),
            "wrong": int(problem.wrong.sum()),
            "flagged": int(suspects.mask.sum()),
            "hits": int((suspects.mask & problem.wrong).sum()),
        }
