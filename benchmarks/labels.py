"""Wrong labels, judged by any model: ranking, false alarms, refits and time, against cleanlab.

`python -m benchmarks labels --help` lists what can be left out. With ``--rows FILE`` every piece is
kept as lines of JSON; pieces that are in the file already are not made again. Most parts need the
tables in the folder that the environment variable SORR_DATA names.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_softmax
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from threadpoolctl import threadpool_limits

from benchmarks.labels_board import board
from benchmarks.noise import JUDGED, spoil
from benchmarks.rows import Row, append_row, print_progress, read_rows
from benchmarks.tables import (
    DESIGN,
    REPORT,
    REVIEWED,
    Table,
    draw_sample,
    load_reviewed,
    load_survivors,
    pair_of,
    split_sample,
)
from sorr.estimators import RankedRangeClassifier, TrimmedClassifier
from sorr.experiments import seed_of
from sorr.share import (
    MODELS,
    Judgement,
    LabelledRows,
    droppable,
    judge_labels,
    judge_rows,
    make_model,
)

__all__ = ["report"]

Array = npt.NDArray[np.floating[Any]]
Labels = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]
SURVIVORS, RARE = "TitanicSurvival", "rare class"
TRIALS = 5
REVIEWS, DRAWS = 20, 30
ROUNDS = 5
EDGES = {"0.9 to 1": (0.9, 1.0), "0.5 to 0.9": (0.5, 0.9)}
SHAPES: dict[str, Callable[[Array], Array]] = {
    "as given": lambda P: P,
    "squared": lambda P: rescale(P**2),
    "rooted": lambda P: rescale(P**0.5),
    "3 decimals": lambda P: rescale(P.round(3)),
    "2 decimals": lambda P: rescale(P.round(2)),
}


def rescale(P: Array) -> Array:
    return np.asarray(P / P.sum(axis=1, keepdims=True))


class Piece(NamedTuple):
    """What is measured at once: its rows are in the file together, or not at all."""

    part: str
    data: str
    noise: str
    seed: int

    @property
    def number(self) -> int:
        """The seed of everything random."""
        return seed_of(*self[:3], self.seed) % 2**31


# -- What is read from a judgement ---------------------------------------------------------------


def labelled(X: Array, y: Labels, seed: int, weight: Array | None = None) -> LabelledRows:
    classes, index = np.unique(y, return_inverse=True)
    return LabelledRows(X, y, index, classes, weight, seed=seed)


def describe(judgement: Judgement, wrong: Mask) -> Row:
    """Return the verdict, what is flagged, and how many of it is right."""
    w = judgement.wrong_
    parts = {name: (w >= low) & (w <= min(high, 1)) for name, (low, high) in EDGES.items()}
    parts["0.5 to 0.9"] &= ~parts["0.9 to 1"]
    return {
        "rows": len(wrong),
        "wrong": int(wrong.sum()),
        "evidence": judgement.evidence_ if judgement.can_judge else None,
        "models": [[name, max(value, -1e3)] for name, value in judgement.models_],
        "count": float(judgement.count_.sum()),
        "flagged": int(judgement.flagged_.sum()),
        "hits": int((judgement.flagged_ & wrong).sum()),
        "stated": {
            name: [int(part.sum()), float(w[part].sum()), int((part & wrong).sum())]
            for name, part in parts.items()
        },
    }


def rank_by_cleanlab(y: Labels, P: Array) -> dict[str, Array]:
    """Return how suspect rows are to cleanlab, by each of its rankings."""
    from cleanlab.rank import get_label_quality_scores as quality

    return {
        "self": -quality(y, P, method="self_confidence"),
        "margin": -quality(y, P, method="normalized_margin"),
        "adjusted": -quality(y, P, method="normalized_margin", adjust_pred_probs=True),
    }


def describe_cleanlab(y: Labels, P: Array, wrong: Mask) -> Row:
    from cleanlab.filter import find_label_issues

    issues = np.asarray(find_label_issues(y, P, n_jobs=1))
    row: Row = {"cleanlab flagged": int(issues.sum()), "cleanlab hits": int((issues & wrong).sum())}
    if wrong.any():
        for name, score in rank_by_cleanlab(y, P).items():
            row[f"cleanlab {name}"] = float(average_precision_score(wrong, score))
    return row


def judge_shapes(y: Labels, P: Array) -> Row:
    """Return what becomes of evidence and flags if probabilities are of another shape."""
    found = {name: judge_labels(shape(P), y) for name, shape in SHAPES.items()}
    given = found["as given"].flagged_
    return {
        name: [
            judgement.evidence_ if judgement.can_judge else None,
            int(judgement.flagged_.sum()),
            int((judgement.flagged_ & given).sum()),
        ]
        for name, judgement in found.items()
    }


def cleanlab_with_boosting(seed: int, *, by_default: bool = False) -> Any:
    """Return the peer with our boosting, or with that of scikit-learn's defaults."""
    from cleanlab.classification import CleanLearning

    usual = HistGradientBoostingClassifier(random_state=seed)
    model = usual if by_default else make_model("boosting", seed)
    return CleanLearning(model, seed=seed, find_label_issues_kwargs={"n_jobs": 1})


# -- The parts -----------------------------------------------------------------------------------


def measure_planted(piece: Piece) -> Iterator[Row]:
    """Judge labels, some of them made wrong, by each model; cleanlab has the same probabilities."""
    seed = piece.number
    if piece.data == SURVIVORS:
        X, y = load_survivors()
        wrong = np.zeros(len(y), dtype=bool)
    else:
        clean = draw_sample(piece.data, seed)
        pair, rng = pair_of(piece.data), np.random.default_rng(seed)
        X, y, wrong = spoil(*clean, JUDGED[piece.noise], pair, rng)
    rows = labelled(X, y, seed)
    for name in MODELS:
        judgement, P, _ = judge_rows(rows, name)
        row = {"method": name, **describe(judgement, wrong), **describe_cleanlab(y, P, wrong)}
        if wrong.any():
            row["precision"] = float(average_precision_score(wrong, judgement.score_))
            alone = judge_labels(P, y)
            row["alone"] = float(average_precision_score(wrong, alone.score_))
            row["shapes"] = judge_shapes(y, P)
        yield row


def measure_refit(piece: Piece) -> Iterator[Row]:
    """Train each model again by three rules; accuracy is on clean test labels."""
    table, seed = split_sample(piece.data, piece.number), piece.number
    X, y, _ = spoil_training(table, piece)
    rows, everything = labelled(X, y, seed), np.arange(len(y))

    def score(model: Any) -> float:
        return float(np.mean(model.predict(table.X_test) == table.y_test))

    def fit_score(name: str, rows: LabelledRows, kept: Labels) -> float:
        return score(rows.fit_model(make_model(name, seed), kept))

    for name in MODELS:
        judgement = judge_rows(rows, name).judgement
        plain = fit_score(name, rows, everything)

        def fit_without(dropped: Mask, name: str = name, plain: float = plain) -> float:
            return fit_score(name, rows, np.flatnonzero(~dropped)) if dropped.any() else plain

        weighted = labelled(X, y, seed, np.maximum(1 - judgement.wrong_, 1e-9))
        counted = choose_by_count(judgement)
        yield {
            "method": name,
            "evidence": judgement.evidence_ if judgement.can_judge else None,
            "flagged": int(judgement.flagged_.sum()),
            "counted": int(counted.sum()),
            "plain": plain,
            "drop": fit_without(droppable(judgement.flagged_, judgement.index_)),
            "count": fit_without(droppable(counted, judgement.index_)),
            "weight": fit_score(name, weighted, everything),
        }
    yield {"method": "CleanLearning", "drop": score(cleanlab_with_boosting(seed).fit(X, y))}


def spoil_training(table: Table, piece: Piece) -> tuple[Array, Labels, Mask]:
    rng = np.random.default_rng(piece.number)
    return spoil(table.X, table.y, JUDGED[piece.noise], table.pair, rng)


def choose_by_count(judgement: Judgement) -> Mask:
    """Return as many rows of each class as are wrong by the count, with the highest scores."""
    chosen = np.zeros(len(judgement.index_), dtype=bool)
    for label, count in enumerate(judgement.count_):
        rows = np.flatnonzero(judgement.index_ == label)
        chosen[rows[np.argsort(-judgement.score_[rows], kind="stable")][: round(count)]] = True
    return chosen


def measure_line(piece: Piece) -> Iterator[Row]:
    """Train linear models: what each drops, and its accuracy on clean test labels."""
    table, seed = split_sample(piece.data, piece.number), piece.number
    X, y, wrong = spoil_training(table, piece)
    models = {
        "LogisticRegression": LogisticRegression(max_iter=1000),
        "default": RankedRangeClassifier(random_state=seed),
        "weak ridge": RankedRangeClassifier(C=1e4, random_state=seed),
    }
    for name, model in models.items():
        model.fit(X, y)
        accuracy = float(np.mean(model.predict(table.X_test) == table.y_test))
        row: Row = {"method": name, "accuracy": accuracy}
        if name != "LogisticRegression":
            dropped = model.outlier_mask_
            row |= {"dropped": int(dropped.sum()), "hits": int((dropped & wrong).sum())}
            row |= {"rows": len(y), "wrong": int(wrong.sum())}
        yield row


def measure_rare(piece: Piece) -> Iterator[Row]:
    """Judge a rare class, its labels right or some of them false."""
    X, y, wrong = make_rare(piece.number, 0.15 if piece.noise == "false15" else 0.0)
    rows = labelled(X, y, piece.number)
    for name in MODELS:
        judgement, P, _ = judge_rows(rows, name)
        row = {"method": name, **describe(judgement, wrong), "sentence": judgement.sentence}
        yield {**row, **describe_cleanlab(y, P, wrong), "positives": int(y.sum())}


def make_rare(seed: int, false: float) -> tuple[Array, Labels, Mask]:
    """Return 20,000 rows with one to two per cent positives, and more by that share, falsely."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20_000, 12))
    s = 2.5 * X[:, 0] + 2 * X[:, 1] * X[:, 2] + 1.5 * np.sin(2 * X[:, 3]) + 0.8 * X[:, 4]
    y = (rng.random(len(X)) < expit(2.5 * (s - 8))).astype(np.intp)
    wrong = np.zeros(len(y), dtype=bool)
    wrong[rng.choice(np.flatnonzero(y == 0), round(false * y.sum()), replace=False)] = True
    return X, np.where(wrong, 1, y), wrong


def measure_verified(piece: Piece) -> Iterator[Row]:
    """Compare with what people found: ranking, tiers, and what reviews tell about other rows."""
    P, y, reviewed, is_wrong = load_reviewed(piece.data)
    judgement = judge_labels(P, y)
    scores = {"ours": judgement.score_, **rank_by_cleanlab(y, P)}
    yield {
        "method": "ranking",
        "reviewed": len(reviewed),
        "confirmed": int(is_wrong.sum()),
        "evidence": judgement.evidence_,
        "auc": {name: float(roc_auc_score(is_wrong, s[reviewed])) for name, s in scores.items()},
        "leads": bootstrap_leads(is_wrong, {name: s[reviewed] for name, s in scores.items()}),
    }
    from cleanlab.filter import find_label_issues

    issues = np.asarray(find_label_issues(y, P, n_jobs=1))
    sets = {f"tier {tier}": judgement.tier_ == tier for tier in (3, 2, 1)}
    for name, chosen in {**sets, "cleanlab": issues}.items():
        found = chosen[reviewed]
        yield {
            "method": name,
            "rows": int(chosen.sum()),
            "of": len(y),
            "reviewed": int(found.sum()),
            "confirmed": int((found & is_wrong).sum()),
        }
    yield from simulate_reviews(piece, judgement)


def bootstrap_leads(wrong: Mask, scores: Mapping[str, Array]) -> Row:
    """Return the standard error of our lead in AUC over each ranking of cleanlab."""
    rng = np.random.default_rng(0)
    leads: list[list[float]] = []
    while len(leads) < 1000:
        rows = rng.integers(len(wrong), size=len(wrong))
        if 0 < wrong[rows].sum() < len(rows):
            leads.append([roc_auc_score(wrong[rows], s[rows]) for s in scores.values()])
    aucs = np.array(leads)
    errors = (aucs[:, :1] - aucs).std(axis=0, ddof=1).tolist()
    return {name: error for name, error in zip(scores, errors, strict=True) if name != "ours"}


def simulate_reviews(piece: Piece, before: Judgement) -> Iterator[Row]:
    """Tell the judge what people found on some rows, and look at the others.

    Only rows with a posterior of at most one half are drawn: those of them that are worth a look,
    as the sentence of the judge asks for, or any that were reviewed.
    """
    P, y, reviewed, is_wrong = load_reviewed(piece.data)
    is_low, is_look = before.wrong_[reviewed] <= 0.5, before.tier_[reviewed] == 1
    rng = np.random.default_rng(piece.number)
    for kind, pool in (("worth a look", is_low & is_look), ("any", is_low)):
        errors: dict[str, list[float]] = {}
        for _ in range(DRAWS):
            drawn = rng.choice(np.flatnonzero(pool), REVIEWS, replace=False)
            known = {int(reviewed[i]): right_label(before, reviewed[i], is_wrong[i]) for i in drawn}
            after = judge_labels(P, y, known=known)
            rest = np.setdiff1d(np.arange(len(reviewed)), drawn)
            look, low = rest[is_look[rest]], rest[is_low[rest]]
            for when, judgement in (("without", before), ("with", after)):
                share = judgement.look_share_ - is_wrong[look].mean()
                gap = judgement.wrong_[reviewed[low]] - is_wrong[low]
                whole = judgement.look_share_ - is_wrong[is_low & is_look].mean()
                for what, error in (("whole", whole), ("share", share), ("mean", gap.mean())):
                    errors.setdefault(f"{what} {when}", []).append(float(error))
                errors.setdefault(f"row {when}", []).append(float(np.sqrt(np.mean(gap**2))))
        yield {
            "method": f"reviews, {kind}",
            "pool": int(pool.sum()),
            "share": float(is_wrong[is_low & is_look].mean()),
            **{name: float(np.sqrt(np.mean(np.square(each)))) for name, each in errors.items()},
        }


def right_label(judgement: Judgement, row: int, is_wrong: bool) -> Any:
    return (judgement.suggested_ if is_wrong else judgement.labels_)[row].item()


def measure_flips(piece: Piece) -> Iterator[Row]:
    """Flip labels of MNIST at random; the probabilities stay."""
    P, y, _, _ = load_reviewed("mnist")
    y, wrong = flip(y, int(piece.noise.removeprefix("flip")), piece.number)
    yield {"method": "judge_labels", **describe(judge_labels(P, y), wrong)}


def flip(y: Labels, count: int, seed: int) -> tuple[Labels, Mask]:
    rng = np.random.default_rng(seed)
    wrong = np.zeros(len(y), dtype=bool)
    wrong[rng.choice(len(y), count, replace=False)] = True
    shift = rng.integers(1, int(y.max()) + 1, len(y))
    return np.where(wrong, (y + shift) % (int(y.max()) + 1), y), wrong


def measure_shapes(piece: Piece) -> Iterator[Row]:
    """Judge a verified set from probabilities of other shapes, with some labels flipped or none."""
    P, y, _, _ = load_reviewed(piece.data)
    if piece.noise != "none":
        y, _ = flip(y, int(piece.noise.removeprefix("flip")), piece.number)
    yield {"method": "judge_labels", "shapes": judge_shapes(y, P)}


# -- Time ----------------------------------------------------------------------------------------


def measure_time(piece: Piece) -> Iterator[Row]:
    """Time ours and its peer in turns, in seconds of one processor."""
    ours, peer = CASES[piece.data](piece)
    times: dict[str, list[float]] = {"ours": [], "peer": []}
    for turn in range(ROUNDS):
        for name, run in (("ours", ours), ("peer", peer))[:: 1 if turn % 2 else -1]:
            begin = time.process_time()
            run()
            times[name].append(time.process_time() - begin)
    yield {"method": "time", **times}


Runs = tuple[Callable[[], object], Callable[[], object]]


def time_wrapper(table: str, piece: Piece, *, by_default: bool = False) -> Runs:
    """Compare the wrapper and its peer with boosting, on 3,000 rows."""
    seed = piece.number
    clean, rng = draw_sample(table, seed, 3000), np.random.default_rng(seed)
    X, y, _ = spoil(*clean, JUDGED[piece.noise], pair_of(table), rng)
    return (
        lambda: TrimmedClassifier("auto", random_state=seed).fit(X, y),
        lambda: cleanlab_with_boosting(seed, by_default=by_default).fit(X, y),
    )


def time_judge(n_classes: int, piece: Piece) -> Runs:
    """Compare the judge and logistic regression on the log probabilities of 50,000 rows."""
    rng = np.random.default_rng(piece.number)
    L = log_softmax(4 * rng.normal(size=(50_000, n_classes)), axis=1)
    P = np.exp(L)
    y = (P.cumsum(axis=1) < rng.random((len(P), 1))).sum(axis=1).clip(max=n_classes - 1)
    if piece.noise != "none":
        y, _ = flip(y, round(JUDGED[piece.noise].rate * len(y)), piece.number)
    return (lambda: judge_labels(P, y), lambda: LogisticRegression().fit(L, y))


def time_line(piece: Piece) -> Runs:
    """Compare the linear classifier and a forest, on 1,000 rows of 20 columns."""
    seed = piece.number
    X, y = make_classification(1000, 20, n_informative=10, flip_y=0, random_state=seed)
    X, y, _ = spoil(X, y, JUDGED[piece.noise], (1, 0), np.random.default_rng(seed))
    return (
        lambda: RankedRangeClassifier(random_state=seed).fit(X, y),
        lambda: ExtraTreesClassifier(200, random_state=seed).fit(X, y),
    )


CASES: dict[str, Callable[[Piece], Runs]] = {
    **{f"wrapper, {name}": partial(time_wrapper, name) for name in ("magic", "satimage")},
    **{
        f"wrapper, {name}, defaults": partial(time_wrapper, name, by_default=True)
        for name in ("magic", "satimage")
    },
    **{f"judge, {number} classes": partial(time_judge, number) for number in (2, 10)},
    "line": time_line,
}


# -- Running them --------------------------------------------------------------------------------


class Part(NamedTuple):
    """What is measured on which data, with which noise."""

    measure: Callable[[Piece], Iterator[Row]]
    data: Sequence[str]
    noise: Sequence[str]
    trials: int | None = None
    """Number of repetitions, if it is not that of the option --seeds."""


PARTS = {
    "planted": Part(measure_planted, (*DESIGN, *REPORT, SURVIVORS), ("none", "sym15", "one30")),
    "refit": Part(measure_refit, DESIGN + REPORT, ("none", "sym20", "one25")),
    "line": Part(measure_line, DESIGN + REPORT, ("none", "one20", "sym20")),
    "rare": Part(measure_rare, (RARE,), ("none", "false15"), TRIALS),
    "verified": Part(measure_verified, REVIEWED, ("none",), 1),
    "flips": Part(measure_flips, ("mnist",), ("flip10", "flip100"), TRIALS),
    "shapes": Part(measure_shapes, REVIEWED, ("none", "flip100"), 1),
    "time": Part(measure_time, tuple(CASES), ("none", "sym15"), 1),
}


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks labels", description=__doc__)
    data = dict.fromkeys(name for part in PARTS.values() for name in part.data)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--data", nargs="+", choices=list(data), default=list(data))
    parser.add_argument("--seeds", type=int, default=3, help="samples of a table (default: 3)")
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


def piece_of(row: Row) -> Piece:
    return Piece(row["part"], row["data"], row["noise"], row["seed"])


def find_pieces(chosen: argparse.Namespace) -> Iterator[Piece]:
    for name in chosen.part:
        part = PARTS[name]
        for data in (data for data in part.data if data in chosen.data):
            noises = part.noise[:1] if data == SURVIVORS else part.noise
            for seed, noise in product(range(1, 1 + (part.trials or chosen.seeds)), noises):
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
        except (FileNotFoundError, ImportError) as error:
            skipped.add(piece[:2])
            print_progress(f"{piece.part} {piece.data} is left out: {error}")
            continue
        yield from ({**piece._asdict(), **row} for row in rows)
        print_progress(f"{' '.join(map(str, piece))}: {time.perf_counter() - begin:.1f} s")
