"""The intake of an audit: what is learned from messy columns, what is found, how files are read.

`python -m benchmarks intake --help` lists what can be left out. With ``--rows FILE`` every piece is
kept as lines of JSON; pieces that are in the file already are not made again. Peers that are not
installed (skrub, cleanlab, and pyarrow for Parquet) are not run. Tables are in the folder that the
environment variable SORR_DATA names. Findings are searched for in rows that are read and prepared
as in an audit, but no model is fitted to them: no finder looks at one. Memory is measured on Linux.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, timedelta
from functools import cache
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from threadpoolctl import threadpool_limits

from benchmarks.intake_board import FORMATS, JUDGES, LEARNERS, SETTINGS, board
from benchmarks.rows import Row, append_row, print_progress, read_rows
from benchmarks.tables import load_rows
from sorr.auditing import Fitted, Roles, Table, audit_table, read_table
from sorr.auditing.columns import read_columns
from sorr.auditing.findings import Copies, Drift, FarRows, Finder, GivenAway, NearCopies, find_all
from sorr.auditing.preparation import RawColumns, prepared_by
from sorr.auditing.rows import labelled_rows
from sorr.experiments import seed_of

__all__ = ["report"]

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[Any]
Places = npt.NDArray[np.intp]
Frame = Any
Numbers = np.random.Generator
FOLDS = 5
ROUNDS = 3  # of a time; the best counts


class Piece(NamedTuple):
    """What is measured at once: its rows are in the file together, or not at all."""

    part: str
    data: str
    case: str
    trial: int

    @property
    def number(self) -> int:
        """The seed of everything random, the same for all cases: they share folds and draws."""
        return seed_of(self.part, self.data, self.trial) % 2**31


def piece_of(row: Row) -> Piece:
    return Piece(*(row[name] for name in Piece._fields))


@cache
def has(package: str) -> bool:
    """Return whether a peer is installed."""
    found = find_spec(package) is not None
    if not found:
        print_progress(f"{package} is not run: it is not installed")
    return found


# -- Messy tables --------------------------------------------------------------------------------


class Messy(NamedTuple):
    """A table of the folder messy, and what gives its target away."""

    target: str
    trials: int = 3
    left_out: tuple[str, ...] = ()


MESSY = {
    "loans_full_schema": Messy("grade", 1, ("sub_grade", "interest_rate")),
    "email": Messy("spam"),
    "TitanicSurvival": Messy("survived"),
    "starwars": Messy("gender", 10),
}
MAKE: dict[str, Callable[[], Any]] = {
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "slow boosting": lambda: HistGradientBoostingClassifier(learning_rate=0.03, random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(200, random_state=0),
    "logistic regression": lambda: LogisticRegression(max_iter=1000),
}


@cache
def load_messy(name: str) -> tuple[Frame, Labels]:
    """Return the columns of a table as they are in the file, and the labels of rows with one."""
    path = Path(os.environ.get("SORR_DATA", ""), "messy", f"{name}.csv.gz").expanduser()
    if "SORR_DATA" not in os.environ or not path.is_file():
        raise FileNotFoundError(f"there is no {path.name}; set SORR_DATA to the folder of messy/")
    frame = read_table(path).frame
    target, _, left_out = MESSY[name]
    frame = frame[frame[target].notna()].reset_index(drop=True)
    return frame.drop(columns=[target, *left_out]), frame[target].to_numpy().astype(str)


def without_ids(frame: Frame) -> Frame:
    """Return the columns that are no identifiers to us."""
    return frame[[column.name for column in read_columns(frame) if column.kind != "id"]]


def predict_ours(learner: Any, frame: Frame, y: Labels, test: Frame) -> Array:
    columns = RawColumns().fit(frame)
    model = make_pipeline(prepared_by(columns, is_dense=True), learner)
    model.fit(columns.transform(frame), y)
    return np.asarray(model.predict_proba(columns.transform(test)))


def make_skrub(learner: Any) -> Any:
    """Return the pipeline of skrub; its encoder of texts is random unless it has a seed."""
    from skrub import tabular_pipeline

    model = tabular_pipeline(learner)
    return model.set_params(tablevectorizer__high_cardinality__random_state=0)


def predict_skrub(learner: Any, frame: Frame, y: Labels, test: Frame) -> Array:
    return np.asarray(make_skrub(learner).fit(frame, y).predict_proba(test))


def measure_accuracy(piece: Piece) -> Iterator[Row]:
    """Predict each row by a model that has not seen it, behind our preparation and behind skrub."""
    frame, y = load_messy(piece.data)
    learner, setting = piece.case.split(", ")
    if setting == SETTINGS[0]:
        frame = without_ids(frame)
    predict = {"ours": predict_ours} | ({"skrub": predict_skrub} if has("skrub") else {})
    classes, index = np.unique(y, return_inverse=True)
    chances = {name: np.empty((len(y), len(classes))) for name in predict}
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=piece.number)
    for training, test in folds.split(frame, y):
        for name, run in predict.items():
            rows = frame.iloc[training], y[training], frame.iloc[test]
            chances[name][test] = run(MAKE[learner](), *rows)
    row: Row = {"rows": len(y), "columns": len(frame.columns)}
    is_right = {name: each.argmax(axis=1) == index for name, each in chances.items()}
    for name, right in is_right.items():
        row[name] = float(right.mean())
        row[f"{name} loss"] = float(log_loss(y, chances[name], labels=classes))
    if "skrub" in is_right:
        row["only ours"] = int((is_right["ours"] & ~is_right["skrub"]).sum())
        row["only skrub"] = int((is_right["skrub"] & ~is_right["ours"]).sum())
    yield row


def prepare_ours(frame: Frame) -> Any:
    columns = RawColumns().fit(frame)
    return prepared_by(columns, is_dense=True).fit_transform(columns.transform(frame))


def prepare_skrub(frame: Frame) -> Any:
    from skrub import TableVectorizer

    return TableVectorizer().fit_transform(frame)


def measure_preparation(piece: Piece) -> Iterator[Row]:
    """Time what turns all rows into numbers, in turns, in seconds of one processor."""
    frame, _ = load_messy(piece.data)
    runs = {"ours": prepare_ours} | ({"skrub": prepare_skrub} if has("skrub") else {})
    times: dict[str, list[float]] = {name: [] for name in runs}
    shapes = {f"{name} columns": int(run(frame).shape[1]) for name, run in runs.items()}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            begin = time.process_time()
            run(frame)
            times[name].append(time.process_time() - begin)
    yield {"rows": len(frame), **shapes, **times}


# -- Trouble that is planted ---------------------------------------------------------------------


class Plain(NamedTuple):
    """A table of numbers, with texts as labels or with numbers as targets."""

    X: Array
    y: Labels

    @property
    def is_numeric(self) -> bool:
        return self.y.dtype.kind == "f"

    @property
    def spread(self) -> Array:
        return np.asarray(self.X.std(axis=0))

    def take(self, order: Places) -> Plain:
        return Plain(self.X[order], self.y[order])


PLAIN = (
    *("iris", "wine", "breast", "digits", "diabetes"),
    *("magic", "pima", "vehicle", "spambase", "australian"),
)
PLANTED = 0.01  # of the rows, and at least 5
LEAK = "leak"  # the name of a column


@cache
def load_plain(name: str) -> Plain:
    if name == "diabetes":
        return Plain(*load_diabetes(return_X_y=True))
    X, y = load_iris(return_X_y=True) if name == "iris" else load_rows(name)
    return Plain(np.asarray(X, dtype=np.float64), np.array([f"class {label}" for label in y]))


def as_frame(X: Array) -> Frame:
    import pandas as pd

    return pd.DataFrame(X, columns=[f"x{place + 1}" for place in range(X.shape[1])])


def prepare(frame: Frame, y: Labels) -> Fitted:
    """Return rows as an audit has them when it looks for findings, without a model."""
    n = len(frame)
    table = Table(frame.assign(target=y), np.arange(n), None, n, (), "planted")
    rows = labelled_rows(table, Roles("target"))
    columns = RawColumns().use(rows.columns)
    prepared = prepared_by(columns)
    X = prepared.fit_transform(columns.transform(rows.frame))
    steps = Pipeline([("columns", columns), ("prepare", prepared)])
    nothing: Any = None
    return Fitted(rows, steps, X, "linear", 0, nothing, nothing, nothing, ())


def rows_found(finder: Finder, fitted: Fitted, name: str) -> Places:
    """Return the rows of the finding whose name begins so."""
    found = [it.rows for it in finder.find(fitted) if it.name.startswith(name)]
    return np.concatenate([np.empty(0, dtype=np.intp), *found])


def relabel(table: Plain, rows: Places, rng: Numbers) -> Labels:
    """Return another label for each row, or a target one standard deviation away."""
    if table.is_numeric:
        return np.asarray(table.y[rows] + rng.choice([-1, 1], len(rows)) * table.y.std())
    classes = np.unique(table.y)
    return np.array([rng.choice(classes[classes != label]) for label in table.y[rows]])


def repeat(table: Plain, rows: Places, _: Numbers) -> Plain:
    return table.take(rows)


def contradict(table: Plain, rows: Places, rng: Numbers) -> Plain:
    return Plain(table.X[rows], relabel(table, rows, rng))


def move_a_little(table: Plain, rows: Places, rng: Numbers) -> Plain:
    """Move each number by a thousandth of the spread of its column."""
    moved = table.X[rows] + 0.001 * table.spread * rng.normal(size=(len(rows), table.X.shape[1]))
    return Plain(moved, table.y[rows])


def edit_one_column(table: Plain, rows: Places, rng: Numbers) -> Plain:
    """Change one number of a row by 2 to 20 % of a spread."""
    X, spread = table.X[rows], table.spread
    for values in X:
        column = rng.choice(np.flatnonzero(spread > 0))
        values[column] += rng.choice([-1, 1]) * rng.uniform(0.02, 0.2) * spread[column]
    return Plain(X, table.y[rows])


def move_far(table: Plain, rows: Places, rng: Numbers) -> Plain:
    """Move a fifth of the columns that vary, at least 3, by 8 to 20 spreads."""
    X, spread = table.X[rows], table.spread
    commonest = [np.unique(column, return_counts=True)[1].max() for column in table.X.T]
    vary = np.flatnonzero(np.array(commonest) < 0.9 * len(table.X))
    for values in X:
        some = rng.choice(vary, min(len(vary), max(3, len(spread) // 5)), replace=False)
        values[some] += (
            rng.choice([-1, 1], len(some)) * rng.uniform(8, 20, len(some)) * spread[some]
        )
    return Plain(X, table.y[rows])


def move_out(table: Plain, rows: Places, rng: Numbers) -> Plain:
    """Put rows above the range of every column, by half of it to two and a half times as much."""
    high, width = table.X.max(axis=0), np.ptp(table.X, axis=0)
    X = high + width * rng.uniform(0.5, 2.5, (len(rows), len(width)))
    return Plain(X, table.y[rows])


class Plant(NamedTuple):
    """How to make rows from some rows of a table, and which finding should name them."""

    make: Callable[[Plain, Places, Numbers], Plain]
    finder: Finder
    finding: str


ROWS = {
    "exact copies": Plant(repeat, Copies(), "Exact copies"),
    "copies, another label": Plant(contradict, Copies(), "Copies with different"),
    "near copies: all numbers moved a little": Plant(move_a_little, NearCopies(), "Near copies"),
    "near copies: one number edited": Plant(edit_one_column, NearCopies(), "Near copies"),
    "far rows: some columns by 8 to 20 spreads": Plant(move_far, FarRows(), "Rows far"),
    "far rows: beyond every range": Plant(move_out, FarRows(), "Rows far"),
}


def plant_rows(table: Plain, seed: int) -> Iterator[Row]:
    """Add rows to a table, and count those that are found and other rows that are named too."""
    n, base = len(table.y), prepare(as_frame(table.X), table.y)
    count = max(5, round(PLANTED * n))
    equal = np.unique(table.X, axis=0, return_inverse=True)[1].ravel()
    for kind, plant in ROWS.items():
        rng = np.random.default_rng([seed, seed_of(kind)])
        origins = rng.choice(n, count, replace=False)
        more = plant.make(table, origins, rng)
        order = rng.permutation(n + count)  # planted rows are the last ones before it
        both = Plain(np.vstack([table.X, more.X]), np.concatenate([table.y, more.y])).take(order)
        fitted = prepare(as_frame(both.X), both.y)
        named = order[rows_found(plant.finder, fitted, plant.finding)]
        is_known = np.isin(equal, equal[origins])
        is_known[rows_found(plant.finder, base, plant.finding)] = True
        found = int((named >= n).sum())
        others = int((~is_known[named[named < n]]).sum())
        yield {"kind": kind, "planted": count, "found": found, "others": others, "rows": n}


def plant_leaks(table: Plain, seed: int) -> Iterator[Row]:
    """Add a column that gives the target away, and look whether it is named."""
    base = {leak.column for leak in prepare(as_frame(table.X), table.y).rows.leaks}
    rng = np.random.default_rng([seed, seed_of(LEAK)])
    n, y = len(table.y), table.y
    classes, index = np.unique(y, return_inverse=True)
    wrong = y.copy()
    rows = rng.choice(n, round(0.05 * n), replace=False)
    wrong[rows] = relabel(table, rows, rng)
    if table.is_numeric:
        recoded = [100 - 3 * y, np.log(y)][seed % 2]
        noisy = y + 0.02 * y.std() * rng.normal(size=n)
    else:
        codes = rng.permutation(len(classes))[index]
        recoded = [np.array([f"code {code}" for code in codes]), codes.astype(float)][seed % 2]
        noisy = index + 0.1 * rng.normal(size=n)
    columns = {
        "leaks: the target recoded": (recoded, y),
        "leaks: the target with a little noise": (noisy, y),
        "leaks: the target recoded, then 5 % of it wrong": (recoded, wrong),
    }
    for kind, (column, target) in columns.items():
        frame = as_frame(table.X)
        frame.insert(int(rng.integers(table.X.shape[1] + 1)), LEAK, column)
        findings = list(GivenAway().find(prepare(frame, target)))
        named = {name for finding in findings for name in finding.columns}
        others = named - base - {LEAK}
        yield {"kind": kind, "planted": 1, "found": int(LEAK in named), "others": len(others)}


def plant_orders(table: Plain, seed: int) -> Iterator[Row]:
    """Put the rows in an order that matters, and look whether the finding says so.

    The share of one class rises fourfold along the file. Its rows are spread as evenly as that
    allows, so that the change which is planted is the one in the file.
    """
    rng, n = np.random.default_rng([seed, seed_of("order")]), len(table.y)
    if table.is_numeric:
        is_one = table.y > np.median(table.y)
    else:
        is_one = table.y == rng.choice(np.unique(table.y))
    count = int(is_one.sum())
    share = 4.0 ** np.linspace(0, 1, n)
    for _ in range(50):  # until the shares add up, though none is above 98 %
        share = np.minimum(0.98, share * count / share.sum())
    places = np.searchsorted(np.cumsum(share), np.arange(count) + rng.random())
    order = np.empty(n, dtype=np.intp)
    order[places] = rng.permutation(np.flatnonzero(is_one))
    order[np.setdiff1d(np.arange(n), places)] = rng.permutation(np.flatnonzero(~is_one))
    orders = {
        "drift: the share of a class rises fourfold": (order, "Changes along"),
        "drift: sorted by the target": (np.argsort(table.y, kind="stable"), "Sorted by"),
    }
    for kind, (places, finding) in orders.items():
        moved = table.take(places)
        names = [it.name for it in Drift().find(prepare(as_frame(moved.X), moved.y))]
        found = any(name.startswith(finding) for name in names)
        yield {"kind": kind, "planted": 1, "found": int(found), "others": len(names) - found}
    names = [it.name for it in Drift().find(prepare(as_frame(table.X), table.y))]
    yield {"kind": "drift: none, shuffled", "planted": 0, "found": 0, "others": len(names)}


def measure_planted(piece: Piece) -> Iterator[Row]:
    """Plant each trouble alone in a shuffled table."""
    table = load_plain(piece.data)
    table = table.take(np.random.default_rng(piece.number).permutation(len(table.y)))
    yield from plant_rows(table, piece.number)
    yield from plant_leaks(table, piece.number)
    yield from plant_orders(table, piece.number)


def measure_untouched(piece: Piece) -> Iterator[Row]:
    """List what is found in a table as it is."""
    table = load_plain(piece.data)
    findings = find_all(prepare(as_frame(table.X), table.y))
    yield {"findings": [[it.severity, it.name, it.sentence] for it in findings]}


# -- Orders --------------------------------------------------------------------------------------


ORDERS, WRONG, SPACED = 500, 30, 15  # rows, wrong labels, labels with a trailing space
KINDS = {"order": "id", "amount": "number", "discount": "number", "weight": "number"}
KINDS |= {"ordered": "date", "remarks": "unused"}


class Orders(NamedTuple):
    """A table as it is written, what its cells mean, and what is wrong with its labels."""

    frame: Frame
    meant: dict[str, npt.NDArray[Any]]
    is_wrong: npt.NDArray[np.bool_]
    spaced: Places
    kept: Array
    """The probability that an order is kept, by the columns as they were drawn."""

    @property
    def labels(self) -> Labels:
        return np.asarray(self.frame["outcome"].str.strip())


def draw_orders(seed: int) -> Orders:
    """Draw two classes that differ by 2 or 2.2 deviations in four columns, and spoil labels."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    is_kept = rng.random(ORDERS) < 0.5
    apart = np.array([2.2, 2.0, 2.2, 2.0])
    drawn = rng.normal(size=(ORDERS, 4)) + apart * (is_kept[:, None] - 0.5)
    days = np.clip(np.round(182 + 50 * drawn[:, 3]), 0, 364).astype(int)
    meant = {
        "amount": np.round(np.exp(6 + 0.8 * drawn[:, 0]), 2),
        "discount": np.round(np.clip(20 + 5 * drawn[:, 1], 0, 60), 1),
        "weight": np.round(np.clip(30 + 6 * drawn[:, 2], 1, None), 1),
        "ordered": np.datetime64("2023-01-01") + days,
    }
    outcome = np.where(is_kept, "kept", "returned").astype(object)
    wrong, spaced = np.split(rng.permutation(ORDERS)[: WRONG + SPACED], [WRONG])
    outcome[wrong] = np.where(is_kept[wrong], "returned", "kept")
    outcome[spaced] = outcome[spaced] + " "
    written = {
        "order": [f"A{20417 + row}" for row in range(ORDERS)],
        "amount": [f"${value:,.2f}" for value in meant["amount"]],
        "discount": [f"{value:.1f} %" for value in meant["discount"]],
        "weight": [f"{value:.1f} kg" for value in meant["weight"]],
        "ordered": [f"{date(2023, 1, 1) + timedelta(days=int(day)):%d/%m/%Y}" for day in days],
        "remarks": [""] * ORDERS,
        "outcome": outcome,
    }
    is_wrong = np.isin(np.arange(ORDERS), wrong)
    return Orders(pd.DataFrame(written), meant, is_wrong, np.sort(spaced), expit(drawn @ apart))


def read_right(orders: Orders, rows: Any) -> int:
    """Return how many columns have the right kind, and mean what they should."""
    right = 0
    for column in rows.columns:
        is_right = column.kind == KINDS[column.name]
        if is_right and column.name in orders.meant:
            values, meant = rows.frame[column.name].to_numpy(), orders.meant[column.name]
            if column.kind == "date":
                is_right = bool((values == meant).all())
            else:
                is_right = any(np.allclose(values, meant / unit) for unit in (1, 100))
        right += is_right
    return right


def measure_orders(piece: Piece) -> Iterator[Row]:
    """Audit a drawn table, and let cleanlab and somebody who knows how it was drawn judge it."""
    orders = draw_orders(piece.number)
    with TemporaryDirectory() as folder:
        path = Path(folder, "orders.csv")
        orders.frame.to_csv(path, index=False)
        begin = time.process_time()
        found = audit_table(read_table(path), "outcome", model="auto")
        seconds = time.process_time() - begin
    spelling = [it.rows for it in found.findings if it.name.startswith("Spellings")]
    flagged = {"ours": found.fitted.judgement.flagged_, "who knows all": judge_by_truth(orders)}
    if has("cleanlab") and has("skrub"):
        flagged |= {f"cleanlab, {name}": judge_by_cleanlab(orders, name) for name in JUDGES}
    for name, rows in flagged.items():
        hits = int((rows & orders.is_wrong).sum())
        yield {"method": name, "hits": hits, "others": int(rows.sum()) - hits} | (
            {
                "spelling": len(spelling) == 1
                and np.array_equal(np.sort(spelling[0]), orders.spaced),
                "columns": read_right(orders, found.rows),
                "seconds": seconds,
            }
            if name == "ours"
            else {}
        )


def judge_by_truth(orders: Orders) -> npt.NDArray[np.bool_]:
    """Return the labels that are more probably wrong than right: nobody can know more."""
    right = np.where(orders.labels == "kept", orders.kept, 1 - orders.kept)
    share = WRONG / ORDERS
    return np.asarray(share * (1 - right) > (1 - share) * right)


def judge_by_cleanlab(orders: Orders, learner: str) -> npt.NDArray[np.bool_]:
    """Return the issues of cleanlab with skrub's pipeline; the labels are without their spaces."""
    from cleanlab.filter import find_label_issues

    frame, labels = orders.frame.drop(columns="outcome"), orders.labels
    model = make_skrub(MAKE[learner]())
    chances = cross_val_predict(model, frame, labels, cv=FOLDS, method="predict_proba")
    index = np.unique(labels, return_inverse=True)[1]
    return np.asarray(find_label_issues(index, chances, n_jobs=1))


# -- Files ---------------------------------------------------------------------------------------


ROWS_OF_FILE = 1_000_000
READS = {"csv": 3, "parquet": 15}  # quick reads need more runs, until one is not disturbed
WRITE = """
import sys
import numpy as np
import pandas as pd

rng, n = np.random.default_rng(0), int(sys.argv[1])
words = np.array(["red", "green", "blue", "white", "Rome", "Oslo, NO", "x y"])
columns = {f"f{i}": np.round(rng.normal(size=n), 6) for i in range(12)}
columns |= {f"i{i}": rng.integers(0, 100_000, n) for i in range(4)}
columns |= {f"t{i}": words[rng.integers(0, len(words), n)] for i in range(4)}
frame = pd.DataFrame(columns)
for path in sys.argv[2:]:
    frame.to_csv(path, index=False) if path.endswith("csv") else frame.to_parquet(path)
"""
READ = """
import sys, time
import pandas

if sys.argv[1] == "ours":
    from sorr.auditing import read_table as read
else:
    read = getattr(pandas, sys.argv[1])
read(sys.argv[2])  # a small file: what is imported late is no part of the time
begin = time.perf_counter()
table = read(sys.argv[3])
seconds = time.perf_counter() - begin
with open("/proc/self/status") as status:
    (peak,) = (line.split()[1] for line in status if line.startswith("VmHWM"))
print(seconds, int(peak) / 1024)
"""


def run_python(source: str, *arguments: str) -> list[float]:
    """Run a program in a process of its own, and return the numbers that it prints."""
    command = [sys.executable, "-c", source, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"a reader failed: {done.stderr.strip()}")
    return list(map(float, done.stdout.split()))


def measure_reading(piece: Piece) -> Iterator[Row]:
    """Read a large file in fresh processes, in turns: seconds, and the peak of memory in MB."""
    ending, reader = piece.data, FORMATS[piece.data]
    if ending == "parquet" and not has("pyarrow"):
        return
    with TemporaryDirectory() as folder:
        small, large = (str(Path(folder, f"{size}.{ending}")) for size in ("small", "large"))
        run_python(WRITE, "100", small)
        run_python(WRITE, str(ROWS_OF_FILE), large)
        runs: dict[str, list[list[float]]] = {"ours": [], reader: []}
        for _ in range(READS[ending]):
            for name, each in runs.items():
                each.append(run_python(READ, name, small, large))
    for name, each in runs.items():
        seconds, peaks = zip(*each, strict=True)
        yield {"method": name, "seconds": seconds, "megabytes": peaks}


# -- Running them --------------------------------------------------------------------------------


class Part(NamedTuple):
    """What is measured, on which data, in which cases, and how often."""

    measure: Callable[[Piece], Iterator[Row]]
    data: Sequence[str]
    cases: Sequence[str] = ("",)
    trials: int = 1
    is_repeated: bool = True


PARTS = {
    "accuracy": Part(
        measure_accuracy, tuple(MESSY), [f"{a}, {b}" for a, b in product(LEARNERS, SETTINGS)]
    ),
    "preparation": Part(measure_preparation, tuple(MESSY), is_repeated=False),
    "planted": Part(measure_planted, PLAIN, trials=5),
    "untouched": Part(measure_untouched, PLAIN, is_repeated=False),
    "orders": Part(measure_orders, (f"{ORDERS} orders",), trials=20),
    "reading": Part(measure_reading, tuple(FORMATS), is_repeated=False),
}


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks intake", description=__doc__)
    data = list(dict.fromkeys(name for part in PARTS.values() for name in part.data))
    usual = "1 to 10 of accuracy, 5 of planted, 20 of orders; others have always 1"
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--data", nargs="+", choices=data, default=data, metavar="NAME")
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=list(LEARNERS))
    parser.add_argument("--trials", type=int, help=f"(default: {usual})")
    parser.add_argument("--rows", type=Path, help="file of all rows; a new run continues it")
    parser.add_argument("--draw", action="store_true", help="run nothing; draw what is in --rows")
    return parser.parse_args(arguments)


def report(arguments: Sequence[str] = ()) -> Iterator[str]:
    chosen = options(arguments)
    rows = read_rows(chosen.rows)
    pieces = list(find_pieces(chosen))
    if not chosen.draw:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for row in sweep(pieces, {piece_of(row) for row in rows}):
                rows.append(row)
                append_row(chosen.rows, row)
    wanted = set(pieces)
    yield from board([row for row in rows if piece_of(row) in wanted])


def find_pieces(chosen: argparse.Namespace) -> Iterator[Piece]:
    for name in chosen.parts:
        part = PARTS[name]
        for data, case in product(part.data, part.cases):
            is_left_out = case and case.split(", ")[0] not in chosen.learners
            if data not in chosen.data or is_left_out:
                continue
            trials = MESSY[data].trials if name == "accuracy" else part.trials
            if chosen.trials and part.is_repeated:
                trials = chosen.trials
            for trial in range(trials):
                yield Piece(name, data, case, trial)


def sweep(pieces: Iterable[Piece], done: set[Piece]) -> Iterator[Row]:
    """Measure what is missing; say what is left out, and why."""
    skipped: set[str] = set()
    for piece in pieces:
        if piece in done or piece.data in skipped:
            continue
        begin = time.perf_counter()
        try:
            rows = list(PARTS[piece.part].measure(piece))
        except FileNotFoundError as error:
            skipped.add(piece.data)
            print_progress(f"{piece.data} is left out: {error}")
            continue
        yield from ({**piece._asdict(), **row} for row in rows)
        print_progress(f"{' '.join(map(str, piece))}: {time.perf_counter() - begin:.1f} s")
