"""The true labels among the k best, against peers and beside the paper: accuracy and time.

`python -m benchmarks topk --help` lists what can be left out. Half of the rows of a random split
train, a quarter chooses C, a quarter tests. With ``--out FILE`` every finished cell is kept as a
line of JSON; cells that are in the file already are not run again.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.rows import Row, append_row, print_progress, read_rows
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
    parser.add_argument("--splits", type=int, default=10, help="number of splits (default: 10)")
    parser.add_argument("--first", type=int, default=0, help="first split; 10 for fresh ones")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes of one thread")
    parser.add_argument("--out", type=Path, help="file of all cells; a new run continues it")
    parser.add_argument("--draw", action="store_true", help="fit nothing; draw what is in --out")
    return parser.parse_args(arguments)


def report(arguments: Sequence[str] = ()) -> Iterator[str]:
    chosen = options(arguments)
    rows = {row_key(row): row for row in read_rows(chosen.out)}
    if not chosen.draw:
        pieces = [(data, split) for split in splits(chosen) for data in chosen.data]
        run = Parallel(n_jobs=chosen.jobs)
        for new_rows in run(delayed(run_piece)(chosen, *names, set(rows)) for names in pieces):
            rows |= {row_key(row): row for row in new_rows}
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


def row_key(row: Row) -> Key:
    return row["data"], row["split"], row["method"], row["k"]


def run_piece(chosen: argparse.Namespace, data: str, split: int, done: set[Key]) -> list[Row]:
    """Fit the missing cells of one split of one table, and keep each at once."""
    cells = [
        (method, k)
        for k in chosen.k
        for method in SCORERS
        if method in chosen.methods and (data, split, method, k) not in done
    ]
    if not cells:
        return []
    rows: list[Row] = []
    begin = time.perf_counter()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in measure(our_split(data, split), cells):
            rows.append({"data": data, "split": split, **row})
            append_row(chosen.out, rows[-1])
    print_progress(f"{data} {split}: {len(cells)} cells, {time.perf_counter() - begin:.1f} s")
    return rows


def measure(split: Split, cells: Sequence[tuple[str, int]]) -> Iterator[Row]:
    contest = Contest(split)
    for method, k in cells:
        outcome = contest.outcome(method, k)._asdict()
        del outcome["model"]
        yield {"method": method, "k": k, "peer": contest.path(PEER, k).seconds, **outcome}
