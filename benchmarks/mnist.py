"""MNIST with labels taken for others: top-1 to top-5 accuracy and time, beside the paper.

`python -m benchmarks mnist --help` lists what can be left out. All fits see 60,000 images of 784
pixels in [0, 1] and have the same ridge; times are processor times of one thread. With
``--out FILE`` every fit is kept as a line of JSON, and those that are there already are not run
again.
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
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks.mnist_board import board
from benchmarks.noise import seed_of
from benchmarks.rows import Row, keep, read, tell
from benchmarks.tables import read_images
from sorr.baselines import MulticlassSVM, TopKSVMClassifier
from sorr.datasets.noise import MNIST_FLIPS, flip_pairs
from sorr.estimators.classifier import RankedRangeClassifier
from sorr.estimators.topk_classifier import TopKMultilabelClassifier
from sorr.metrics import topk_accuracy

__all__ = ["report"]

C = 1e3
PEER = "softmax"  # fitted in every run, since times are shares of its time
Key = tuple[int, int, str]


class Digits(NamedTuple):
    """Training images, their labels as given, which of these are wrong, and the right ones."""

    X: npt.NDArray[np.float32]
    y: npt.NDArray[np.intp]
    wrong: npt.NDArray[np.bool_]
    y_clean: npt.NDArray[np.intp]
    seed: int

    def per_class(self, chosen: npt.NDArray[np.bool_]) -> list[int]:
        """Count chosen rows by the label that they were given."""
        return [int(count) for count in np.bincount(self.y[chosen], minlength=10)]


def softmax(n_samples: int) -> LogisticRegression:
    return LogisticRegression(C=C / n_samples, max_iter=2000)


def fit_softmax(digits: Digits) -> Any:
    return softmax(len(digits.y)).fit(digits.X, digits.y)


def fit_clean(digits: Digits) -> Any:
    return softmax(len(digits.y)).fit(digits.X, digits.y_clean)


def fit_hinge(digits: Digits) -> Any:
    return MulticlassSVM(C=C).fit(digits.X, digits.y)


def fit_top_2(digits: Digits) -> Any:
    return TopKSVMClassifier(2, C=C).fit(digits.X, digits.y)


def fit_tkml(digits: Digits) -> Any:
    model = TopKMultilabelClassifier(1, loss="tkml", C=C, random_state=digits.seed)
    return model.fit(digits.X, digits.y)


def fit_estimated(digits: Digits) -> Any:
    model = RankedRangeClassifier("auto", C=C, certify=False, random_state=digits.seed)
    return model.fit(digits.X, digits.y)


def fit_known(digits: Digits) -> Any:
    true = dict(enumerate(digits.per_class(digits.wrong)))
    model = RankedRangeClassifier(true, C=C, certify=False, random_state=digits.seed)
    return model.fit(digits.X, digits.y)


METHODS: dict[str, Callable[[Digits], Any]] = {
    PEER: fit_softmax,
    "hinge": fit_hinge,
    "top-2 SVM": fit_top_2,
    "tkml": fit_tkml,
    "trimmed, share estimated": fit_estimated,
    "trimmed, share known": fit_known,
    "softmax, clean labels": fit_clean,
}


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks mnist", description=__doc__)
    parser.add_argument("--noise", nargs="+", type=int, default=[20, 30, 40], help="per cent")
    parser.add_argument("--seeds", type=int, default=3, help="how many draws of flips (default: 3)")
    parser.add_argument("--first", type=int, default=0, help="the first of them: 3 for fresh ones")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--out", type=Path, help="file that keeps every fit, and is resumed from")
    parser.add_argument("--draw", action="store_true", help="fit nothing: draw what is in --out")
    return parser.parse_args(arguments)


def report(arguments: Sequence[str] = ()) -> Iterator[str]:
    chosen = options(arguments)
    rows = {key(row): row for row in read(chosen.out)}
    if not chosen.draw:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for row in sweep(chosen, set(rows)):
                rows[key(row)] = row
                keep(chosen.out, row)
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


def key(row: Row) -> Key:
    return row["noise"], row["seed"], row["method"]


def sweep(chosen: argparse.Namespace, done: set[Key]) -> Iterator[Row]:
    """Fit what is not there yet; say what is being done."""
    (X, y), (X_test, y_test) = (images(part) for part in ("train", "t10k"))
    for noise in chosen.noise:
        for seed in seeds(chosen):
            missing = [m for m in chosen.methods if (noise, seed, m) not in done]
            if not missing:
                continue
            number = seed_of("mnist", noise, seed) % 2**31
            digits = Digits(X, *flip_pairs(y, MNIST_FLIPS, noise / 100, number), y, number)
            peer = None
            for method in [PEER, *(m for m in METHODS if m in missing and m != PEER)]:
                begin = time.process_time()  # one thread: what others do meanwhile does not count
                model = METHODS[method](digits)
                seconds = time.process_time() - begin
                peer = seconds if peer is None else peer
                tell(f"{noise} % {seed} {method}: {seconds:.1f} s")
                if method in missing:
                    yield {
                        "noise": noise,
                        "seed": seed,
                        "method": method,
                        "seconds": seconds,
                        "peer": peer,
                        "accuracy": accuracies(model, X_test, y_test),
                        "wrong": digits.per_class(digits.wrong),
                        "dropped": dropped(model, digits),
                    }


def images(part: str) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.intp]]:
    pixels, labels = read_images("mnist", part)
    return pixels.astype(np.float32) / np.float32(255), labels


def accuracies(model: Any, X: npt.NDArray[np.float32], y: npt.NDArray[np.intp]) -> list[float]:
    found = topk_accuracy(y, model.decision_function(X), classes=model.classes_)
    return [float(accuracy) for accuracy in found]


def dropped(model: Any, digits: Digits) -> dict[str, Any] | None:
    """Return how many rows of each class were left out, and how many of them rightly."""
    if not isinstance(model, RankedRangeClassifier):
        return None
    mask = model.outlier_mask_
    return {"by_class": digits.per_class(mask), "rightly": int((mask & digits.wrong).sum())}
