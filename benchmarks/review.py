"""A reviewer who knows the truth: wrong labels found per decision, in our order and cleanlab's.

`python -m benchmarks review --help` lists what can be left out. With ``--rows FILE`` every order is
kept as a line of JSON; orders that are in the file already are not made again. Most tables are in
the folder that the environment variable SORR_DATA names.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.contenders import Problem
from benchmarks.labels import Array, Labels, Mask, labelled
from benchmarks.noise import Noise
from benchmarks.quality import collect_rows, make_parser, spoil_table
from benchmarks.review_board import (
    DESIGNED,
    MODELS,
    ONE_ROUND,
    OTHERS,
    RANKINGS,
    REPORTED,
    TWICE,
    TWO_ROUNDS,
    board,
    in_two_rounds,
    name_order,
)
from benchmarks.rows import Row
from benchmarks.tables import LARGEST, TABLES, Table, draw_sample, pair_of
from sorr.share import LabelledRows, judge_rows

__all__ = ["report"]

PLANTED = {
    **{f"sym{rate}": Noise("symmetric", rate / 100) for rate in (10, 20)},
    **{f"one{rate}": Noise("one class", rate / 100) for rate in (15, 30)},
}
SAMPLES = 2
DECISIONS = (50, 100, 200)
Order = npt.NDArray[np.intp]


def draw_table(name: str, seed: int) -> Table:
    """Return at most 1,500 rows of a table; nothing is tested on others."""
    if name in OTHERS:
        table = TABLES[name](seed)
        X, y = table.X[:LARGEST], table.y[:LARGEST]
    else:
        X, y = draw_sample(name, seed)
    return Table(X, y, X[:0], y[:0], pair_of(name))


def report(arguments: Sequence[str] = ()) -> Iterator[str]:
    tables = {name: partial(draw_table, name) for name in DESIGNED + REPORTED}
    parser = make_parser("review", __doc__, tables, list(tables), PLANTED)
    parser.set_defaults(seeds=SAMPLES)
    orders = [ONE_ROUND, TWO_ROUNDS]
    orders += [name_order(model, ranking) for model in MODELS for ranking in RANKINGS]
    orders += [in_two_rounds(name) for name in TWICE]
    yield from board(collect_rows(parser.parse_args(arguments), orders, tables, compare))


def compare(data: str, noise: str, seed: int, table: Table, names: list[str]) -> Iterator[Row]:
    """Let the reviewer decide on the same rows in every order."""
    problem = spoil_table(data, noise, seed, table, PLANTED[noise])
    desk = Desk(problem)
    for name in names:
        begin = time.process_time()
        found = desk.count_found(name)
        yield {
            "data": data,
            "noise": noise,
            "seed": seed,
            "method": name,
            "seconds": time.process_time() - begin,
            "rows": len(problem.y),
            "wrong": int(problem.wrong.sum()),
            "found": {str(decisions): count for decisions, count in found.items()},
        }


class Desk:
    """Rows with planted errors, and what a reviewer finds who takes them in some order."""

    def __init__(self, problem: Problem) -> None:
        self.truth: Labels = problem.y_clean
        self.wrong: Mask = problem.wrong
        self.rows: LabelledRows = labelled(problem.X, problem.y, problem.seed % 2**31)
        self.scored: dict[str, Array] = {}
        """Held-out probabilities by model, of the labels as given."""

    def count_found(self, name: str) -> dict[int, int]:
        """Return how many wrong labels are found after so many decisions, in an order by name."""
        if name == ONE_ROUND:
            return self._decide_once(self._judge({}))
        if name == TWO_ROUNDS:
            return self._decide_twice(self._judge({}), self._judge)
        for model in MODELS:
            for ranking in RANKINGS:
                order = partial(self._rank, model, ranking)
                if name == name_order(model, ranking):
                    return self._decide_once(order({}))
                if name == in_two_rounds(name_order(model, ranking)):
                    return self._decide_twice(order({}), order)
        raise ValueError(f"there is no order {name!r}")

    def _decide_once(self, order: Order) -> dict[int, int]:
        return {each: int(self.wrong[order[:each]].sum()) for each in DECISIONS}

    def _decide_twice(
        self, first: Order, again: Callable[[dict[int, int]], Order]
    ) -> dict[int, int]:
        """Half of the decisions are made in the first order, the others in one that knows them."""
        found = {}
        for each in DECISIONS[1:]:
            decided = first[: each // 2]
            known = {int(row): int(self.truth[row]) for row in decided}
            rest = again(known)
            rest = rest[~np.isin(rest, decided)]
            found[each] = int(self.wrong[np.append(decided, rest[: each - each // 2])].sum())
        return found

    def _judge(self, known: dict[int, int]) -> Order:
        judgement, P, _ = judge_rows(self.rows, "auto", known=known)
        if not known:
            self.scored["auto"] = P
        return judgement.order_

    def _rank(self, model: str, ranking: str, known: dict[int, int]) -> Order:
        """Return cleanlab's order: its models learn what is known too."""
        rows = self.rows
        if known:
            right = np.full(len(rows), -1, dtype=np.intp)
            right[list(known)] = list(known.values())
            rows = rows.correct(right)
            return rank_by_cleanlab(rows.index, score_rows(rows, model), ranking)
        if model not in self.scored:
            self.scored[model] = score_rows(rows, model)
        return rank_by_cleanlab(rows.index, self.scored[model], ranking)


def score_rows(rows: LabelledRows, model: str) -> Array:
    """Return the held-out probabilities of a model: those that our judge has of it too."""
    if model == "auto":
        return judge_rows(rows, "auto").probabilities
    return rows.hold_out(model)


def rank_by_cleanlab(y: Labels, P: Array, ranking: str) -> Order:
    """Return the rows by cleanlab's quality of their labels, perhaps its label issues first."""
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    how: dict[str, Any] = dict(RANKINGS[ranking])
    is_first = how.pop("issues first", False)
    quality = get_label_quality_scores(y, P, **how)
    issues = find_label_issues(y, P, n_jobs=1) if is_first else np.zeros(len(y), dtype=bool)
    return np.lexsort([quality, ~issues])
