"""MNIST with wrong labels: top-1 to top-5 accuracy and time, beside the paper.

`python -m benchmarks mnist --help` lists what can be left out. All fits see 60,000 images of 784
pixels in [0, 1] and have the same ridge. Times are processor times of one thread. With
``--out FILE`` every fit is kept as a line of JSON; fits that are in the file already are not run
again.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.mnist_board import board
from benchmarks.rows import Row, append_row, print_progress, read_rows
from sorr.estimators import RankedRangeClassifier
from sorr.experiments.paper.digits import (
    ORACLE,
    OUR_MODELS,
    PEER,
    TRIMMED,
    Digits,
    Images,
    noisy_digits,
)
from sorr.metrics import topk_accuracy

__all__ = ["report"]

Key = tuple[int, int, str]


def fit_clean(digits: Digits) -> Any:
    return OUR_MODELS[PEER](digits._replace(y=digits.y_clean))


METHODS: dict[str, Callable[[Digits], Any]] = {
    PEER: OUR_MODELS[PEER],  # fitted in every run, since times are shares of its time
    "hinge": OUR_MODELS["top-1 SVM"],
    **{name: OUR_MODELS[name] for name in ("top-2 SVM", "tkml", TRIMMED, ORACLE)},
    "softmax, clean labels": fit_clean,
}


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks mnist", description=__doc__)
    parser.add_argument("--noise", nargs="+", type=int, default=[20, 30, 40], help="per cent")
    parser.add_argument("--seeds", type=int, default=3, help="number of draws (default: 3)")
    parser.add_argument("--first", type=int, default=0, help="first draw; 3 for fresh ones")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--out", type=Path, help="file of all fits; a new run continues it")
    parser.add_argument("--draw", action="store_true", help="fit nothing; draw what is in --out")
    return parser.parse_args(arguments)


def report(arguments: Sequence[str] = ()) -> Iterator[str]:
    chosen = options(arguments)
    rows = {row_key(row): row for row in read_rows(chosen.out)}
    if not chosen.draw:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for row in sweep(chosen, set(rows)):
                rows[row_key(row)] = row
                append_row(chosen.out, row)
    yield from board(
        [
            rows[noise, seed, method]
            for noise in chosen.noise
            for seed in seeds(chosen)
            for method in METHODS
            if (noise, seed, method) in rows and method in chosen.methods
        ]
    )


def seeds(chosen: argparse.Namespace) -> range:
    return range(chosen.first, chosen.first + chosen.seeds)


def row_key(row: Row) -> Key:
    return row["noise"], row["seed"], row["method"]


def sweep(chosen: argparse.Namespace, done: set[Key]) -> Iterator[Row]:
    """Fit what is missing, and print progress."""
    for noise in chosen.noise:
        for seed in seeds(chosen):
            missing = [m for m in chosen.methods if (noise, seed, m) not in done]
            if not missing:
                continue
            digits, images = noisy_digits("mnist", noise, seed)
            peer = None
            for method in [PEER, *(m for m in METHODS if m in missing and m != PEER)]:
                begin = time.process_time()  # one thread, so other processes do not count
                model = METHODS[method](digits)
                seconds = time.process_time() - begin
                peer = seconds if peer is None else peer
                print_progress(f"{noise} % {seed} {method}: {seconds:.1f} s")
                if method in missing:
                    yield {
                        "noise": noise,
                        "seed": seed,
                        "method": method,
                        "seconds": seconds,
                        "peer": peer,
                        "accuracy": accuracies(model, images),
                        "wrong": digits.per_class(digits.wrong),
                        "dropped": dropped(model, digits),
                    }


def accuracies(model: Any, images: Images) -> list[float]:
    scores = model.decision_function(images.X_test)
    accuracy = topk_accuracy(images.y_test, scores, classes=model.classes_)
    return [float(value) for value in accuracy]


def dropped(model: Any, digits: Digits) -> dict[str, Any] | None:
    """Return how many rows of each class were left out, and how many of them are wrong."""
    if not isinstance(model, RankedRangeClassifier):
        return None
    mask = model.outlier_mask_
    return {"by_class": digits.per_class(mask), "rightly": int((mask & digits.wrong).sum())}
