"""The true labels among the k best, against peers and beside the paper: accuracy and time.

`python -m benchmarks topk --help` lists what can be left out. Half of the rows of a random split
train, a quarter chooses C, a quarter tests. With ``--out FILE`` every finished cell is kept as a
line of JSON, and those that are there already are not run again.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks import scorers
from benchmarks.noise import seed_of
from benchmarks.rows import Row, keep, read, tell
from benchmarks.scorers import CANDIDATES, SCORERS, Part, best, fit_both, fit_margins, fit_path
from benchmarks.tables import read_table
from benchmarks.topk_board import board
from sorr.metrics import average_precision, topk_multilabel_accuracy

__all__ = ["report"]

DATA = ("emotions", "scene", "yeast")
KS = (1, 2, 3, 4, 5)
PEER = "LR"  # fitted in every run, since times are shares of its time
Key = tuple[str, int, str, int]


class Split(NamedTuple):
    """The three parts of a table, standardised by the first."""

    train: Part
    validation: Part
    test: Part


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks topk", description=__doc__)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--methods", nargs="+", choices=SCORERS, default=list(SCORERS))
    parser.add_argument("--k", nargs="+", type=int, choices=KS, default=list(KS))
    parser.add_argument("--splits", type=int, default=10, help="how many (default: 10)")
    parser.add_argument("--first", type=int, default=0, help="the first of them: 10 for fresh ones")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes, one thread each")
    parser.add_argument("--out", type=Path, help="file that keeps every cell, and is resumed from")
    parser.add_argument("--draw", action="store_true", help="fit nothing: draw what is in --out")
    return parser.parse_args(arguments)


def report(arguments: Sequence[str] = ()) -> Iterator[str]:
    chosen = options(arguments)
    rows = {key(row): row for row in read(chosen.out)}
    if not chosen.draw:
        pieces = [(data, split) for split in splits(chosen) for data in chosen.data]
        run = Parallel(n_jobs=chosen.jobs)
        for found in run(delayed(piece)(chosen, *names, set(rows)) for names in pieces):
            rows |= {key(row): row for row in found}
    yield from board(
        [
            rows[data, split, method, k]
            for data in chosen.data
            for split in splits(chosen)
            for method in chosen.methods
            for k in chosen.k
            if (data, split, method, k) in rows
        ]
    )


def splits(chosen: argparse.Namespace) -> range:
    return range(chosen.first, chosen.first + chosen.splits)


def key(row: Row) -> Key:
    return row["data"], row["split"], row["method"], row["k"]


def piece(chosen: argparse.Namespace, data: str, split: int, done: set[Key]) -> list[Row]:
    """Fit what one split of one table still needs; keep each cell as soon as it is there."""
    cells = [
        (method, k)
        for k in chosen.k
        for method in SCORERS
        if method in chosen.methods and (data, split, method, k) not in done
    ]
    if not cells:
        return []
    found = []
    begin = time.perf_counter()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in Contest(draw(data, split)).rows(cells):
            found.append({"data": data, "split": split, **row})
            keep(chosen.out, found[-1])
    tell(f"{data} {split}: {len(cells)} cells, {time.perf_counter() - begin:.1f} s")
    return found


def draw(data: str, split: int) -> Split:
    X, Y, _ = read_table(data)
    order = np.random.default_rng(seed_of(data, split)).permutation(len(X))
    train, validation, test = np.split(order, [len(X) // 2, len(X) * 3 // 4])
    scaler = StandardScaler().fit(X[train])
    return Split(*(Part(scaler.transform(X[some]), Y[some]) for some in (train, validation, test)))


class Contest:
    """All methods on one split, each fitted once however often it is asked for."""

    def __init__(self, split: Split) -> None:
        self.split = split
        self.paths: dict[tuple[str, int | None], scorers.Path] = {}

    def path(self, method: str, k: int) -> scorers.Path:
        scorer = SCORERS[method]
        name = method, k if scorer.follows_k else None
        if name not in self.paths:
            self.paths[name] = fit_path(scorer, k, self.split.train)
        return self.paths[name]

    def rows(self, cells: Sequence[tuple[str, int]]) -> Iterator[Row]:
        for method, k in cells:
            row = self.sum_of_two(k) if method == "subset+logistic" else self.single(method, k)
            yield {"method": method, "k": k, "peer": self.path(PEER, k).seconds, **row}

    def on_validation(self, method: str, k: int) -> tuple[list[float], list[float]]:
        """Return accuracy and average precision of every candidate."""
        scorer, models, rows = SCORERS[method], self.path(method, k).models, self.split.validation
        return (
            [scorer.accuracy(model, rows, k) for model in models],
            [scorer.precision(model, rows) for model in models],
        )

    def single(self, method: str, k: int) -> Row:
        scorer, path = SCORERS[method], self.path(method, k)
        accuracies, precisions = self.on_validation(method, k)
        by_accuracy, by_precision = best(accuracies), best(precisions)
        return {
            "seconds": path.seconds,
            "C": scorer.factor * CANDIDATES[by_accuracy],
            "accuracy": scorer.accuracy(path.models[by_accuracy], self.split.test, k),
            "precision": scorer.precision(path.models[by_precision], self.split.test),
            "validation": accuracies,
            "validation_precision": precisions,
        }

    def sum_of_two(self, k: int) -> Row:
        """Choose C for each of the two scores by itself, then fit their sum."""
        scorer, (train, validation, test) = SCORERS["subset+logistic"], self.split
        begin = time.process_time()
        raws = [validation.X @ fit.coef + fit.intercept for fit in fit_margins(k, train)]
        measures = partial(topk_multilabel_accuracy, k=k), average_precision
        ours = [best([measure(validation.Y, raw) for raw in raws]) for measure in measures]
        peers = [best(found) for found in self.on_validation(PEER, k)]
        pairs = [(CANDIDATES[i], CANDIDATES[j]) for i, j in zip(ours, peers, strict=True)]
        models = [fit_both(k, *pair, train) for pair in pairs]
        return {
            "seconds": self.path(PEER, k).seconds + time.process_time() - begin,
            "C": pairs[0],
            "accuracy": scorer.accuracy(models[0], test, k),
            "precision": scorer.precision(models[1], test),
            "validation": [scorer.accuracy(models[0], validation, k)],
            "validation_precision": [scorer.precision(models[1], validation)],
        }
