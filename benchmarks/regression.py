"""Outliers and wrong targets in regression: errors, false alarms, breakdown and time.

`RankedRangeRegressor` is compared with robust lines of R and of scikit-learn, `TrimmedRegressor`
with cleanlab. `python -m benchmarks regression --help` lists what can be left out. With
``--rows FILE`` every piece is kept as lines of JSON; pieces that are in the file already are not
made again. Peers that are not installed (cleanlab; R with its package robustbase) are not run. Some
tables are in the folder that the environment variable SORR_DATA names.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import HuberRegressor, LinearRegression, RANSACRegressor
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits

from benchmarks.labels import Piece, piece_of
from benchmarks.regression_board import board
from benchmarks.rows import Row, append_row, print_progress, read_rows
from benchmarks.tables import load_rows
from sorr import RankedRangeRegressor, TrimmedRegressor
from sorr.experiments import seed_of

__all__ = ["report"]

Array = npt.NDArray[np.floating[Any]]
Mask = npt.NDArray[np.bool_]
Numbers = np.random.Generator
LMROB_ROWS = 5000  # at most; lmrob takes 13 s for 20,000 rows
ROUNDS, REPEATS = 5, 3
BIG = "1,000,000 x 20"


# -- Lines with outliers -------------------------------------------------------------------------


def format_share(share: float) -> str:
    return f"{100 * share:.0f} %" if share else "none"


class Shape(NamedTuple):
    """The size of a table and its share of outliers."""

    rows: int
    columns: int
    share: float = 0.0

    def __str__(self) -> str:
        return f"{self.rows:,} x {self.columns}, {format_share(self.share)}"


class Line(NamedTuple):
    """Rows of a linear model, some of them replaced by outliers."""

    X: Array
    y: Array
    is_outlier: Mask
    coef: Array

    def distance(self, coef: Array) -> float:
        """Return the error of coefficients."""
        return float(np.linalg.norm(coef - self.coef))

    @property
    def limit(self) -> float:
        """The error of least squares on the rows that are no outliers."""
        kept = ~self.is_outlier
        return self.distance(LinearRegression().fit(self.X[kept], self.y[kept]).coef_)


def move_far(X: Array, _y: Array, coef: Array, rng: Numbers) -> tuple[Array, Array]:
    """Move rows by 12 standard deviations; their line has the opposite coefficients."""
    n, d = X.shape
    X = X + 12 / np.sqrt(d)
    return X, -X @ coef + 10 * rng.normal(size=n)


def shift_target(X: Array, y: Array, _coef: Array, rng: Numbers) -> tuple[Array, Array]:
    """Shift targets up or down by 5 to 20 standard deviations of the error."""
    return X, y + draw_signs(len(y), rng) * rng.uniform(5, 20, len(y))


def put_on_own_line(X: Array, _y: Array, _coef: Array, rng: Numbers) -> tuple[Array, Array]:
    """Put rows in a cluster, on a line of their own."""
    n, d = X.shape
    own = rng.normal(size=d)
    X = 3 + 0.5 * rng.normal(size=(n, d))
    return X, X @ own + 5 + rng.normal(size=n)


def shift_single_columns(X: Array, y: Array, _coef: Array, rng: Numbers) -> tuple[Array, Array]:
    """Shift each row in one random column."""
    n, d = X.shape
    X = X.copy()
    X[np.arange(n), rng.integers(d, size=n)] += draw_signs(n, rng) * rng.uniform(5, 15, n)
    return X, y


def draw_signs(n: int, rng: Numbers) -> Array:
    return rng.choice([-1.0, 1.0], n)


Replace = Callable[[Array, Array, Array, Numbers], tuple[Array, Array]]
LEVERAGE, OWN_LINE, CORRELATED = "leverage", "own line", "correlated columns"
OUTLIERS: dict[str, Replace] = {
    LEVERAGE: move_far,
    "vertical": shift_target,
    OWN_LINE: put_on_own_line,
    "single columns": shift_single_columns,
    CORRELATED: move_far,
}
ERRORS: dict[str, Callable[[Array, Numbers], Array]] = {
    "normal": lambda X, rng: rng.normal(size=len(X)),
    "Laplace": lambda X, rng: rng.laplace(size=len(X)),
    "t5": lambda X, rng: rng.standard_t(5, size=len(X)),
    "t3": lambda X, rng: rng.standard_t(3, size=len(X)),
    "skewed": lambda X, rng: rng.gamma(2, size=len(X)) - 2,
    "spread grows with a column": lambda X, rng: rng.normal(size=len(X)) * np.exp(0.7 * X[:, 0]),
    "spread grows with its size": lambda X, rng: rng.normal(size=len(X)) * (0.3 + np.abs(X[:, 0])),
    "spread grows with the distance": lambda X, rng: rng.normal(size=len(X)) * (X**2).mean(axis=1),
}


def draw_line(kind: str, shape: Shape, seed: int, errors: str = "normal") -> Line:
    """Draw normal columns (with correlations of 0.9, if it is that kind), then outliers."""
    rng = np.random.default_rng(seed)
    n, d = shape.rows, shape.columns
    X = rng.normal(size=(n, d))
    if kind == CORRELATED:
        X = X @ np.linalg.cholesky(0.1 * np.eye(d) + 0.9).T
    coef = rng.normal(size=d)
    y = X @ coef + 1 + ERRORS[errors](X, rng)
    is_outlier = np.zeros(n, dtype=bool)
    is_outlier[rng.permutation(n)[: round(shape.share * n)]] = True
    X[is_outlier], y[is_outlier] = OUTLIERS[kind](X[is_outlier], y[is_outlier], coef, rng)
    return Line(X, y, is_outlier, coef)


# -- Robust lines of R ---------------------------------------------------------------------------


R_SOURCE = """
suppressMessages(library(robustbase))
arguments <- commandArgs(TRUE)
file <- file(arguments[1], "rb")
size <- readBin(file, "double", 2)
X <- matrix(readBin(file, "double", prod(size)), size[1], size[2], byrow = TRUE)
y <- readBin(file, "double", size[1])
close(file)
fits <- list(
    ltsReg = function() coef(ltsReg(X, y)),
    lmrob = function() coef(suppressWarnings(lmrob(y ~ X, setting = "KS2014")))
)
for (name in arguments[-(1:2)]) {
    seconds <- c()
    for (turn in seq_len(as.integer(arguments[2]))) {
        set.seed(turn)
        used <- system.time(
            found <- tryCatch(fits[[name]](), error = function(e) rep(NA, size[2] + 1))
        )
        seconds <- c(seconds, used[1] + used[2])
    }
    cat(name, min(seconds), sprintf("%.17g", found), "\\n")
}
"""


class Fitted(NamedTuple):
    """The coefficients of a peer, NaN if it failed, and its processor time."""

    coef: Array
    seconds: float


@cache
def has_r() -> bool:
    """Return whether R is here, with the package robustbase."""
    test = 'quit(status = !requireNamespace("robustbase", quietly = TRUE))'
    found = shutil.which("Rscript") and not run_r("-e", test).returncode
    if not found:
        print_progress("ltsReg and lmrob are not run: needed are Rscript and robustbase")
    return bool(found)


def run_r(*arguments: str) -> subprocess.CompletedProcess[str]:
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = ["Rscript", "--vanilla", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, env=os.environ | one_thread, check=False
    )


def fit_in_r(X: Array, y: Array, *names: str, repeats: int = 1) -> dict[str, Fitted]:
    """Return what functions of R find; of several runs the best time counts."""
    if not has_r():
        return {}
    with TemporaryDirectory() as folder:
        source, data = Path(folder, "peers.R"), Path(folder, "data")
        source.write_text(R_SOURCE)
        np.concatenate([X.shape, X.ravel(), y]).tofile(data)
        done = run_r(str(source), str(data), str(repeats), *names)
    if done.returncode:
        raise RuntimeError(f"R failed: {done.stderr.strip()}")
    found = {}
    for line in done.stdout.splitlines():
        name, seconds, _, *coef = line.split()  # the intercept comes before the coefficients
        values = np.array([float("nan" if value == "NA" else value) for value in coef])
        found[name] = Fitted(values, float(seconds))
    return found


# -- The parts: lines ----------------------------------------------------------------------------


def fit_ours(X: Array, y: Array) -> RankedRangeRegressor:
    return RankedRangeRegressor(random_state=0).fit(X, y)


def measure_seconds(run: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a function and its processor time."""
    begin = time.process_time()
    result = run()
    return result, time.process_time() - begin


def describe_error(line: Line, coef: Array) -> float | None:
    """Return the error over that of least squares on the clean rows, None for a failed fit."""
    ratio = line.distance(coef) / line.limit
    return ratio if np.isfinite(ratio) else None


def measure_outliers(piece: Piece) -> Iterator[Row]:
    """Fit lines to rows with outliers."""
    shape = SHAPES[piece.noise]
    line = draw_line(piece.data, shape, piece.number)
    model, seconds = measure_seconds(lambda: fit_ours(line.X, line.y))
    flagged = model.judgement_.flagged_
    yield {
        "method": "ours",
        "error": describe_error(line, model.coef_),
        "seconds": seconds,
        "flagged": int(flagged.sum()),
        "hits": int((flagged & line.is_outlier).sum()),
        "outliers": int(line.is_outlier.sum()),
    }
    names = ("ltsReg", "lmrob") if shape.rows <= LMROB_ROWS else ("ltsReg",)
    for name, found in fit_in_r(line.X, line.y, *names).items():
        error = describe_error(line, found.coef)
        yield {"method": name, "error": error, "seconds": found.seconds}
    for name, make in PEERS.items():
        coef, seconds = measure_seconds(partial(find_coef, make(piece.number), line))
        yield {"method": name, "error": describe_error(line, coef), "seconds": seconds}


def find_coef(model: Any, line: Line) -> Array:
    """Return the coefficients of a model, NaN if it finds none."""
    try:
        model.fit(line.X, line.y)
    except ValueError:
        return np.full(len(line.coef), np.nan)
    return np.asarray(getattr(model, "estimator_", model).coef_)


PEERS: dict[str, Callable[[int], Any]] = {
    "Huber": lambda _: HuberRegressor(max_iter=1000, alpha=0),
    "RANSAC": lambda seed: RANSACRegressor(random_state=seed),
    "least squares": lambda _: LinearRegression(),
}


def measure_honest(piece: Piece) -> Iterator[Row]:
    """Fit lines to rows without outliers; the errors are not always normal."""
    line = draw_line(LEVERAGE, SIZES[piece.noise], piece.number, piece.data)
    model = fit_ours(line.X, line.y)
    evidence = model.judgement_.evidence_
    yield {
        "method": "ours",
        "error": describe_error(line, model.coef_),
        "flagged": int(model.judgement_.flagged_.sum()),
        "rows": len(line.y),
        "evidence": evidence if np.isfinite(evidence) else None,
    }
    coef = find_coef(PEERS["Huber"](piece.number), line)
    yield {"method": "Huber", "error": describe_error(line, coef)}


def measure_breakdown(piece: Piece) -> Iterator[Row]:
    """Fit lines to few rows with more and more leverage points."""
    columns = int(piece.data.split()[0])
    share = int(piece.noise.split()[0]) / 100
    line = draw_line(LEVERAGE, Shape(10 * (columns + 1), columns, share), piece.number)
    yield {"method": "ours", "error": describe_error(line, fit_ours(line.X, line.y).coef_)}
    for name, found in fit_in_r(line.X, line.y, "ltsReg").items():
        yield {"method": name, "error": describe_error(line, found.coef)}


def measure_speed(piece: Piece) -> Iterator[Row]:
    """Time ours and its peer in turns, in seconds of one processor; the best of a turn counts."""
    shape = SPEEDS[piece.data]
    line = draw_line(LEVERAGE, shape, piece.number)
    ours = partial(fit_ours, line.X, line.y)
    if piece.data == BIG:
        runs = [("ours", ours), ("peer", partial(LinearRegression().fit, line.X, line.y))]
        times: dict[str, list[float]] = {name: [] for name, _ in runs}
        for turn in range(3):
            for name, run in runs[:: 1 if turn % 2 else -1]:
                times[name].append(measure_seconds(run)[1])
        yield {"method": "time", "name": "LinearRegression", **times}
        return
    times = {"ours": []}
    for _ in range(ROUNDS):
        times["ours"].append(min(measure_seconds(ours)[1] for _ in range(REPEATS)))
        for found in fit_in_r(line.X, line.y, "ltsReg", repeats=REPEATS).values():
            times.setdefault("peer", []).append(found.seconds)
    yield {"method": "time", "name": "ltsReg", **times}


# -- Tables with wrong targets -------------------------------------------------------------------


Table = tuple[Array, Array]
SAMPLE, TRAINING = 1100, 700  # rows


def draw_column(name: str, column: int, seed: int) -> Table:
    """Return rows of a table for classifiers; one of its columns is the target."""
    X, _ = load_rows(name)
    rows = np.random.default_rng(seed).permutation(len(X))[:SAMPLE]
    return np.delete(X[rows], column, axis=1), X[rows, column]


def draw_heteroscedastic(seed: int) -> Table:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(SAMPLE, 5))
    spread = 0.4 * np.exp(0.6 * X[:, 3])
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + spread * rng.normal(size=SAMPLE)


def draw_other_heteroscedastic(seed: int) -> Table:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(SAMPLE, 6))
    spread = 0.1 + 0.4 * np.abs(X[:, 4])
    mean = X[:, 0] ** 2 + X[:, 1] - X[:, 2] * (X[:, 3] > 0)
    return X, mean + spread * rng.normal(size=SAMPLE)


def draw_heavy_tailed(seed: int) -> Table:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(SAMPLE, 8))
    mean = X @ rng.normal(size=8) + 2 * np.tanh(2 * X[:, 0])
    return X, mean + 0.7 * rng.standard_t(3, size=SAMPLE)


def draw_linear(seed: int) -> Table:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(SAMPLE, 10))
    return X, X @ rng.normal(size=10) + rng.laplace(size=SAMPLE)


TABLES: dict[str, dict[str, Callable[[int], Table]]] = {
    "report": {
        "diabetes": lambda _: load_diabetes(return_X_y=True),
        "friedman1": lambda seed: make_friedman1(SAMPLE, noise=1, random_state=seed),
        "friedman2": lambda seed: make_friedman2(SAMPLE, noise=50, random_state=seed),
        "heteroscedastic": draw_heteroscedastic,
        "magic": partial(draw_column, "magic", 0),
        "phoneme": partial(draw_column, "phoneme", 0),
        "vehicle": partial(draw_column, "vehicle", 0),
        "pima": partial(draw_column, "pima", 1),
    },
    "design": {
        "friedman3": lambda seed: make_friedman3(SAMPLE, noise=0.1, random_state=seed),
        "heteroscedastic 2": draw_other_heteroscedastic,
        "heavy tails": draw_heavy_tailed,
        "linear": draw_linear,
        "satimage": partial(draw_column, "satimage", 3),
        "spambase": partial(draw_column, "spambase", 54),
        "banana": partial(draw_column, "banana", 0),
        "mammographic": partial(draw_column, "mammographic", 1),
    },
}
WRONG = ("none", "swapped 5 %", "swapped 10 %", "swapped 15 %", "shifted 10 %")


def spoil_targets(y: Array, noise: str, rng: Numbers) -> tuple[Array, Mask]:
    """Give some rows the target of another row, or shift it by 1 to 3 standard deviations."""
    wrong = np.zeros(len(y), dtype=bool)
    if noise == "none":
        return y, wrong
    kind, percent, _ = noise.split()
    chosen = rng.permutation(len(y))[: round(int(percent) / 100 * len(y))]
    spoilt = y.copy()
    if kind == "swapped":
        spoilt[chosen] = y[rng.permutation(len(y))[: len(chosen)]]
    else:
        size = rng.uniform(1, 3, len(chosen)) * y.std()
        spoilt[chosen] += draw_signs(len(chosen), rng) * size
    return spoilt, spoilt != y


def make_boosting(seed: int) -> HistGradientBoostingRegressor:
    return HistGradientBoostingRegressor(
        max_iter=60, max_leaf_nodes=15, early_stopping=False, random_state=seed
    )


def measure_any(piece: Piece) -> Iterator[Row]:
    """Let any model judge targets, some of them wrong; its test error is on right ones."""
    half = next(name for name, tables in TABLES.items() if piece.data in tables)
    seed = seed_of(piece.part, piece.data, piece.seed) % 2**31  # the split is that of all noises
    X, y = TABLES[half][piece.data](seed)
    order = np.random.default_rng(seed).permutation(len(y))
    training, test = np.split(order, [min(TRAINING, int(0.65 * len(y)))])
    X, X_test, y_test = X[training], X[test], y[test]
    y, wrong = spoil_targets(y[training], piece.noise, np.random.default_rng(piece.number))
    for name, make in JUDGES.items():
        if name == "cleanlab" and not has_cleanlab():
            continue
        model, seconds = measure_seconds(partial(make(piece.number).fit, X, y))
        error = np.abs(model.predict(X_test) - y_test).mean() / y_test.std()
        row = {"method": name, "set": half, "test": 100 * float(error), "seconds": seconds}
        if name != "plain":
            score, flagged, dropped = read_verdict(model)
            row |= {"rows": len(y), "wrong": int(wrong.sum()), "flagged": int(flagged.sum())}
            row |= {"hits": int((flagged & wrong).sum()), "dropped": int(dropped.sum())}
            if wrong.any():
                row["precision"] = 100 * float(average_precision_score(wrong, score))
        yield row


@cache
def has_cleanlab() -> bool:
    if find_spec("cleanlab") is None:
        print_progress("cleanlab is not run: it is not installed")
        return False
    import cleanlab.regression.learn  # noqa: F401  (its import is no part of its time)

    return True


def make_cleanlab(seed: int) -> Any:
    from cleanlab.regression.learn import CleanLearning

    return CleanLearning(make_boosting(seed), cv_n_folds=5, n_boot=5, seed=seed)


def read_verdict(model: Any) -> tuple[Array, Mask, Mask]:
    """Return how suspect rows are, which are flagged, and which the model was trained without."""
    if isinstance(model, TrimmedRegressor):
        judgement = model.judgement_
        return judgement.score_, judgement.flagged_, model.outlier_mask_
    issues = model.get_label_issues()
    flagged = np.asarray(issues["is_label_issue"])
    return -np.asarray(issues["label_quality"]), flagged, flagged


JUDGES: dict[str, Callable[[int], Any]] = {
    "plain": make_boosting,
    "boosting": lambda seed: TrimmedRegressor(make_boosting(seed), random_state=seed),
    "auto": lambda seed: TrimmedRegressor("auto", random_state=seed),
    "cleanlab": make_cleanlab,
}


# -- Running them --------------------------------------------------------------------------------


class Part(NamedTuple):
    """What is measured, on which data, with which noise or shape, and how often."""

    measure: Callable[[Piece], Iterator[Row]]
    cells: Sequence[tuple[str, str]]
    trials: int


SHAPES = {
    str(shape): shape
    for shape in (
        Shape(500, 5, 0.3),
        Shape(2000, 20, 0.2),
        Shape(2000, 20, 0.4),
        Shape(20_000, 20, 0.2),
        Shape(1000, 10),
        Shape(2000, 20, 0.3),
        Shape(20_000, 20, 0.3),
    )
}
SIZES = {
    f"{rows:,} x {columns}": Shape(rows, columns)
    for rows, columns in ((300, 5), (1000, 8), (5000, 20))
}
SPEEDS = {
    "500 x 5": Shape(500, 5, 0.3),
    "2,000 x 20": Shape(2000, 20, 0.2),
    "20,000 x 20": Shape(20_000, 20, 0.2),
    BIG: Shape(1_000_000, 20, 0.05),
}
SHARES = (5, 10, 20, 30, 40, 45, 49)


def list_outliers() -> Iterator[tuple[str, str]]:
    """Yield all kinds with their shapes; a line of its own has 30 % of the rows."""
    for kind in OUTLIERS:
        for name, shape in SHAPES.items():
            if kind == OWN_LINE:
                is_used = shape.share == 0.3
            elif shape.share == 0.3:
                is_used = shape.rows == 500
            else:
                is_used = shape.share > 0 or kind == LEVERAGE
            if is_used:
                yield kind, name


PARTS = {
    "outliers": Part(measure_outliers, list(list_outliers()), 5),
    "honest": Part(measure_honest, list(product(ERRORS, SIZES)), 10),
    "breakdown": Part(
        measure_breakdown,
        list(product(("5 columns", "20 columns"), (f"{share} %" for share in SHARES))),
        10,
    ),
    "speed": Part(measure_speed, [(name, str(shape)) for name, shape in SPEEDS.items()], 1),
    "any": Part(measure_any, list(product({**TABLES["report"], **TABLES["design"]}, WRONG)), 2),
}


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks regression", description=__doc__)
    data = list(dict.fromkeys(name for part in PARTS.values() for name, _ in part.cells))
    usual = ", ".join(f"{part.trials} of {name}" for name, part in PARTS.items())
    tables = "tables of the part any; rules were chosen on the design tables (default: report)"
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--data", nargs="+", choices=data, default=data, metavar="NAME")
    parser.add_argument(
        "--tables", nargs="+", choices=list(TABLES), default=["report"], help=tables
    )
    parser.add_argument("--trials", type=int, help=f"(default: {usual}; speed has always 1)")
    parser.add_argument("--rows", type=Path, help="file of all rows; a new run continues it")
    parser.add_argument("--draw", action="store_true", help="fit nothing; draw what is in --rows")
    return parser.parse_args(arguments)


def report(arguments: Sequence[str] = ()) -> Iterator[str]:
    chosen = options(arguments)
    rows = read_rows(chosen.rows)
    if not chosen.draw:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for row in sweep(find_pieces(chosen), {piece_of(row) for row in rows}):
                rows.append(row)
                append_row(chosen.rows, row)
    wanted = set(find_pieces(chosen))
    yield from board([row for row in rows if piece_of(row) in wanted])


def find_pieces(chosen: argparse.Namespace) -> Iterator[Piece]:
    left_out = {name for half in TABLES if half not in chosen.tables for name in TABLES[half]}
    for name in chosen.parts:
        part = PARTS[name]
        trials = 1 if name == "speed" else chosen.trials or part.trials
        for (data, noise), seed in product(part.cells, range(trials)):
            if data in chosen.data and not (name == "any" and data in left_out):
                yield Piece(name, data, noise, seed)


def sweep(pieces: Iterable[Piece], done: set[Piece]) -> Iterator[Row]:
    """Measure what is missing; say what is left out, and why."""
    skipped: set[tuple[str, str]] = set()
    for piece in pieces:
        if piece in done or piece[:2] in skipped:
            continue
        begin = time.perf_counter()
        try:
            rows = list(PARTS[piece.part].measure(piece))
        except FileNotFoundError as error:
            skipped.add(piece[:2])
            print_progress(f"{piece.part} {piece.data} is left out: {error}")
            continue
        yield from ({**piece._asdict(), **row} for row in rows)
        print_progress(f"{' '.join(map(str, piece))}: {time.perf_counter() - begin:.1f} s")
