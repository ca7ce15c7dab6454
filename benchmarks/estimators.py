"""The classifier against `LogisticRegression` on large data: time and memory, one thread.

Every fit has a process of its own, which reads the data from files. Its peak of resident memory
is shown as it is, with the data, and less what the process had before the fit.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks.problems import flipped, sparse_flipped
from benchmarks.timing import Ratio

__all__ = ["report"]

M, C = 0.1, 1e4
ROUNDS = 3
CSR = ("data", "indices", "indptr")
CASES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "1,000,000 x 50, dense": lambda: flipped(1_000_000, 50),
    "200,000 x 100,000, CSR, 50 entries a row": lambda: sparse_flipped(200_000, 100_000, 50),
}


def report() -> Iterator[str]:
    yield "RankedRangeClassifier(m=0.1) against LogisticRegression, one thread, each fit in a"
    yield "process of its own; processor time. Ratios are of the best runs, and in brackets the"
    yield "lowest, median and highest of the rounds"
    yield ""
    for case, draw in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            save(Path(folder), *draw())
            runs: dict[str, list[dict[str, float]]] = {"peer": [], "ours": []}
            for _ in range(ROUNDS):
                for who, found in runs.items():
                    found.append(in_own_process(who, folder))
        for what, name, target in (
            ("seconds", "time", "3"),
            ("peak", "peak memory", "2"),
            ("extra", "memory beyond the data", "2"),
        ):
            ours, peer = ([run[what] for run in runs[who]] for who in ("ours", "peer"))
            unit = f"{min(peer):.2f} s" if what == "seconds" else f"{min(peer) / 1e6:.0f} MB"
            yield f"{case:42s} {name:22s} {Ratio(ours, peer)} of {unit}   target: {target}"
        right = (f"{100 * runs[who][0]['accuracy']:.1f} %" for who in ("ours", "peer"))
        yield f"{case:42s} labels given that are predicted: {' and '.join(right)}"


def save(folder: Path, X: Any, y: Any) -> None:
    parts = {"X": X} if isinstance(X, np.ndarray) else {name: getattr(X, name) for name in CSR}
    for name, array in {"y": y, "shape": X.shape, **parts}.items():
        np.save(folder / name, array)


def load(folder: Path) -> tuple[Any, Any]:
    """Read the arrays one by one, which takes no more memory than they do in the end."""
    found = {path.stem: np.load(path) for path in folder.iterdir()}
    if "X" in found:
        return found["X"], found["y"]
    arrays = tuple(found[name] for name in CSR)
    return sparse.csr_matrix(arrays, shape=tuple(found["shape"])), found["y"]


def in_own_process(who: str, folder: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.estimators", who, folder]
    run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(run.stdout)
    return found


def fit_once(who: str, folder: Path) -> dict[str, float]:
    """Fit to the data in a folder and return what it took."""
    from sorr.estimators import RankedRangeClassifier

    X, y = load(folder)
    model: Any = RankedRangeClassifier(m=M, C=C, random_state=0)
    if who == "peer":
        model = LogisticRegression(C=C / ((1 - M) * len(y)))
    before = peak()
    begin = time.process_time()  # one thread: what others do meanwhile does not count
    model.fit(X, y)
    seconds = time.process_time() - begin
    after = peak()
    accuracy = float(model.score(X, y))
    return {"seconds": seconds, "extra": after - before, "peak": after, "accuracy": accuracy}


def peak() -> float:
    """Return the largest resident memory of this process so far, in bytes; NaN if not on Linux.

    The usual `getrusage` will not do: it passes the peak of a parent on to its children.
    """
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    kilobytes = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return 1024 * float(next(kilobytes, np.nan))


if __name__ == "__main__":
    with threadpool_limits(1):
        print(json.dumps(fit_once(sys.argv[1], Path(sys.argv[2]))))
