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
from pathlib import Path

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.rows import Row, keep, read, tell
from benchmarks.topk_board import board
from sorr.experiments.paper.label_sets import PEER, SCORERS, Contest, Split, our_split

__all__ = ["report"]

DATA = ("emotions", "scene", "yeast")
KS = (1, 2, 3, 4, 5)
Key = tuple[str, int, str, int]


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
        for row in measure(our_split(data, split), cells):
            found.append({"data": data, "split": split, **row})
            keep(chosen.out, found[-1])
    tell(f"{data} {split}: {len(cells)} cells, {time.perf_counter() - begin:.1f} s")
    return found


def measure(split: Split, cells: Sequence[tuple[str, int]]) -> Iterator[Row]:
    contest = Contest(split)
    for method, k in cells:
        found = contest.outcome(method, k)._asdict()
        del found["model"]
        yield {"method": method, "k": k, "peer": contest.path(PEER, k).seconds, **found}
