"""The classifier against `LogisticRegression` on large data: time and memory, one thread.

Every fit has a process of its own, which reads the data from files. Its peak of resident memory
is shown with the data, and minus the memory that the process had before the fit.
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

from benchmarks.problems import draw_flipped, draw_sparse_flipped
from benchmarks.timing import Ratio

__all__ = ["report"]

M, C = 0.1, 1e4
ROUNDS = 3
CSR = ("data", "indices", "indptr")
CASES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "1,000,000 x 50, dense": lambda: draw_flipped(1_000_000, 50),
    "200,000 x 100,000, CSR, 50 entries a row": lambda: draw_sparse_flipped(200_000, 100_000, 50),
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
                for who, measured in runs.items():
                    measured.append(fit_in_own_process(who, folder))
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
    """Read the arrays one by one, so that the peak of memory is that of the arrays."""
    arrays = {path.stem: np.load(path) for path in folder.iterdir()}
    if "X" in arrays:
        return arrays["X"], arrays["y"]
    parts = tuple(arrays[name] for name in CSR)
    return sparse.csr_matrix(parts, shape=tuple(arrays["shape"])), arrays["y"]


def fit_in_own_process(who: str, folder: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.estimators", who, folder]
    run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    measured: dict[str, float] = json.loads(run.stdout)
    return measured


def fit_once(who: str, folder: Path) -> dict[str, float]:
    """Fit to the data in a folder, and return time, memory and accuracy."""
    from sorr.estimators import RankedRangeClassifier

    X, y = load(folder)
    model: Any = RankedRangeClassifier(m=M, C=C, random_state=0)
    if who == "peer":
        model = LogisticRegression(C=C / ((1 - M) * len(y)))
    before = peak_memory()
    begin = time.process_time()  # one thread, so other processes do not count
    model.fit(X, y)
    seconds = time.process_time() - begin
    after = peak_memory()
    accuracy = float(model.score(X, y))
    return {"seconds": seconds, "extra": after - before, "peak": after, "accuracy": accuracy}


def peak_memory() -> float:
    """Return the largest resident memory of this process so far, in bytes; NaN if not on Linux.

    `getrusage` cannot be used: it passes the peak of a parent on to its children.
    """
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    kilobytes = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return 1024 * float(next(kilobytes, np.nan))


if __name__ == "__main__":
    with threadpool_limits(1):
        print(json.dumps(fit_once(sys.argv[1], Path(sys.argv[2]))))
