"""Rows with label sets, and their parts by either protocol: half train, a quarter each the rest."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, Final, NamedTuple

import numpy as np
from sklearn.datasets import make_multilabel_classification
from sklearn.preprocessing import StandardScaler

from sorr.baselines import BinaryRelevance, PairwiseRanking
from sorr.datasets import load_dataset
from sorr.estimators import LabelSetClassifier, TopKMultilabelClassifier
from sorr.experiments.experiment import Cell, Measured, seed_of
from sorr.experiments.paper.released import Part, released_tkml
from sorr.experiments.published import MULTILABEL_SETTINGS, LoopSetting
from sorr.losses import TopKSubset
from sorr.metrics import average_precision, topk_multilabel_accuracy
from sorr.objectives import RankedRangeObjective
from sorr.solvers import trim

__all__ = [
    "CANDIDATES",
    "PEER",
    "SCORERS",
    "SUM",
    "SYNTHETIC",
    "Contest",
    "Outcome",
    "Path",
    "Scorer",
    "Split",
    "best",
    "fit_both",
    "fit_margins",
    "fit_path",
    "measure_ours",
    "measure_paper",
    "number_of",
    "our_split",
    "paper_split",
    "seed_of_split",
]

SYNTHETIC = "synthetic"
"""The name of a small set that is generated, for quick runs."""


class Split(NamedTuple):
    """What is learned from, what is chosen on, and what is only tested on."""

    train: Part
    validation: Part
    test: Part


def our_split(dataset: str, split: int) -> Split:
    """Return a random split, standardised by its training part.

    Examples
    --------
    >>> [len(part.X) for part in our_split("synthetic", 0)]
    [50, 25, 25]
    """
    X, Y = _rows_of(dataset)
    order = np.random.default_rng(seed_of(dataset, split)).permutation(len(X))
    parts = np.split(order, [len(X) // 2, len(X) * 3 // 4])
    scaler = StandardScaler().fit(X[parts[0]])
    return Split(*(Part(scaler.transform(X[part]), Y[part]) for part in parts))


def paper_split(dataset: str, split: int) -> Split:
    """Return a random split as the released script draws it; its own is the first, of seed 1.

    All columns go from -1 to 1 over all rows, before they are split.
    """
    X, Y = _rows_of(dataset)
    low, high = X.min(axis=0), X.max(axis=0)
    X = 2 * (X - low) / (high - low + 1e-8) - 1
    order = np.random.RandomState(seed_of_split(split)).permutation(len(X))
    half, quarter = (int(np.ceil(share * len(X))) for share in (0.5, 0.25))
    parts = np.split(order, [half, half + quarter])
    return Split(*(Part(X[part], Y[part]) for part in parts))


def seed_of_split(split: int) -> int:
    """Return what the released script would draw a split from."""
    return split + 1


@cache
def _rows_of(dataset: str) -> Part:
    if dataset == SYNTHETIC:
        X, Y = make_multilabel_classification(
            100, 8, n_classes=6, allow_unlabeled=False, random_state=0
        )
        return Part(X, Y > 0)
    found = load_dataset(dataset)
    return Part(found.data, found.target > 0)


# -- Who is compared on label sets: all linear, each with the same number of candidates for C ------


PEER = "LR"
"""What others are compared with."""
SUM: Final = "subset+logistic"
"""The sum of two scores, each with its own C."""
CANDIDATES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""What C is chosen from, for standardised columns."""
_ROUND = 2.0  # width of the corners of that margin, as in TopKMultilabelClassifier


class Path(NamedTuple):
    """A fitted model for every candidate of C, and the processor time of all of them."""

    models: list[Any]
    seconds: float


class Scorer(NamedTuple):
    """How to make a model for k labels, whether the fit depends on k, and a factor for C.

    A sigmoid is a quarter as steep as the scores inside it: for the same ridge C is 16 times.
    """

    make: Callable[[int], Any]
    follows_k: bool = False
    factor: float = 1.0

    def accuracy(self, model: Any, part: Part, k: int) -> float:
        """Return the share of rows whose k labels are all true, or contain all that are."""
        scores = model.set_params(k=k).decision_function(part.X)  # of label sets it depends on k
        return topk_multilabel_accuracy(part.Y, scores, k=k)

    def precision(self, model: Any, part: Part) -> float:
        """Return the average precision."""
        if isinstance(model, LabelSetClassifier):  # by the probability of each label
            scores = model.predict_set_proba(part.X) @ model.sets_
        else:
            scores = model.decision_function(part.X)
        return average_precision(part.Y, scores)


def fit_path(scorer: Scorer, k: int, train: Part, candidates: Sequence[float]) -> Path:
    """Fit every candidate.

    Convex ones start where the last one ended. The others do not: going up, they stay in the poor
    minima of a strong ridge; going down, tkml follows the scores to where they all tie.
    """
    begin = time.process_time()  # one thread: what others do meanwhile does not count
    model = scorer.make(k)
    models = [copy.deepcopy(model.set_params(C=scorer.factor * C).fit(*train)) for C in candidates]
    return Path(models, time.process_time() - begin)


def fit_margins(k: int, train: Part, candidates: Sequence[float]) -> list[Any]:
    """Fit every candidate of the margin that logistic scores are added to, without them."""
    loss = TopKSubset(k).smoothed(_ROUND)
    objectives = [RankedRangeObjective(train.X, train.Y, loss, C=C) for C in candidates]
    return [trim(objective, certify=False, random_state=0) for objective in objectives]


def fit_both(k: int, C: float, C_logistic: float, train: Part) -> Any:
    """Fit the sum of both scores where each has its own C."""
    return SCORERS[SUM].make(k).set_params(C=C, C_logistic=C_logistic).fit(*train)


def best(found: Sequence[float]) -> int:
    """Return the first of the largest: ties, which are common, go to the smallest C.

    Examples
    --------
    >>> best([0.5, 0.7, 0.7])
    1
    """
    return int(np.argmax(found))


SCORERS: Mapping[str, Scorer] = {
    PEER: Scorer(lambda k: BinaryRelevance(k)),
    "LSEP": Scorer(lambda k: PairwiseRanking(k, outputs="sigmoid"), factor=16.0),
    "LSEP linear": Scorer(lambda k: PairwiseRanking(k, outputs="linear", warm_start=True)),
    "tkml": Scorer(
        lambda k: TopKMultilabelClassifier(k, loss="tkml", random_state=0), follows_k=True
    ),
    "subset": Scorer(
        lambda k: TopKMultilabelClassifier(k, loss="subset", random_state=0), follows_k=True
    ),
    SUM: Scorer(lambda k: TopKMultilabelClassifier(k, loss=SUM, random_state=0), follows_k=True),
    "label sets": Scorer(lambda k: LabelSetClassifier(k, warm_start=True)),
}
"""The models by name."""


# -- Label sets by our protocol: exact fits, with C chosen on validation rows ----------------------


class Outcome(NamedTuple):
    """A model chosen for accuracy and one for average precision, both as shares of one.

    Attributes
    ----------
    accuracy, precision : float
        On the test rows.
    C, C_precision : float, or pair of float
        What was chosen, on validation rows, for each; a pair for the sum of two scores.
    validation_accuracy, validation_precision : float
        What it was chosen for.
    seconds : float
        The processor time of all candidates.
    model : estimator
        The one that was chosen for accuracy.
    """

    accuracy: float
    precision: float
    C: Any
    C_precision: Any
    validation_accuracy: float
    validation_precision: float
    seconds: float
    model: Any

    def measured(self) -> Measured:
        """Return it as what goes into a row, in per cent."""
        status = getattr(self.model, "status_", None)
        return Measured(
            {"accuracy": 100 * self.accuracy, "precision": 100 * self.precision},
            {
                "C": self.C,
                "C_precision": self.C_precision,
                "validation_accuracy": 100 * self.validation_accuracy,
                "validation_precision": 100 * self.validation_precision,
            },
            objective=getattr(self.model, "objective_", math.nan),
            gap=getattr(self.model, "gap_", math.nan),
            status="" if status is None else status.name,
        )


class Contest:
    """Models on one split, each fitted once however often it is asked for.

    Parameters
    ----------
    split : Split
    scorers : mapping of str to Scorer
    candidates : sequence of float
        For C, from small to large.
    """

    def __init__(
        self,
        split: Split,
        scorers: Mapping[str, Scorer] = SCORERS,
        candidates: Sequence[float] = CANDIDATES,
    ) -> None:
        self.split, self.scorers, self.candidates = split, scorers, candidates
        self._paths: dict[tuple[str, int | None], Path] = {}

    def outcome(self, name: str, k: int) -> Outcome:
        """Return what a model reaches with k labels."""
        return self._sum_of_two(k) if name == SUM else self._single(name, k)

    def path(self, name: str, k: int) -> Path:
        """Return all candidates of a model."""
        scorer = self.scorers[name]
        key = name, k if scorer.follows_k else None
        if key not in self._paths:
            self._paths[key] = fit_path(scorer, k, self.split.train, self.candidates)
        return self._paths[key]

    def _on_validation(self, name: str, k: int) -> tuple[list[float], list[float]]:
        """Return accuracy and average precision of every candidate."""
        scorer, models, part = self.scorers[name], self.path(name, k).models, self.split.validation
        return (
            [scorer.accuracy(model, part, k) for model in models],
            [scorer.precision(model, part) for model in models],
        )

    def _single(self, name: str, k: int) -> Outcome:
        scorer, path, test = self.scorers[name], self.path(name, k), self.split.test
        accuracies, precisions = self._on_validation(name, k)
        first, second = best(accuracies), best(precisions)
        return Outcome(
            scorer.accuracy(path.models[first], test, k),
            scorer.precision(path.models[second], test),
            scorer.factor * self.candidates[first],
            scorer.factor * self.candidates[second],
            accuracies[first],
            precisions[second],
            path.seconds,
            path.models[first],
        )

    def _sum_of_two(self, k: int) -> Outcome:
        """Choose C for each of the two scores by itself, then fit their sum."""
        scorer, (train, validation, test) = self.scorers[SUM], self.split
        begin = time.process_time()
        margins = fit_margins(k, train, self.candidates)
        raws = [validation.X @ fit.coef + fit.intercept for fit in margins]
        measures = partial(topk_multilabel_accuracy, k=k), average_precision
        ours = [best([measure(validation.Y, raw) for raw in raws]) for measure in measures]
        peers = [best(found) for found in self._on_validation(PEER, k)]
        first, second = (
            (self.candidates[i], self.candidates[j]) for i, j in zip(ours, peers, strict=True)
        )
        models = [fit_both(k, *pair, train) for pair in (first, second)]
        return Outcome(
            scorer.accuracy(models[0], test, k),
            scorer.precision(models[1], test),
            first,
            second,
            scorer.accuracy(models[0], validation, k),
            scorer.precision(models[1], validation),
            self.path(PEER, k).seconds + time.process_time() - begin,
            models[0],
        )


def measure_ours(cells: tuple[Cell, ...]) -> Iterator[tuple[Cell, Measured]]:
    """Yield accuracy and average precision of models on one split, whose setting is a k."""
    contest = Contest(our_split(cells[0].dataset, cells[0].split))
    for cell in cells:
        yield cell, contest.outcome(cell.model, number_of(cell.setting)).measured()


def number_of(setting: str) -> int:
    """Return the k of a setting.

    Examples
    --------
    >>> number_of("k=3")
    3
    """
    return int(setting.removeprefix("k="))


# -- Label sets by the paper's protocol: the released loop with the printed settings ---------------


_SCORERS = {PEER: SCORERS[PEER], "LSEP": SCORERS["LSEP"]._replace(factor=1.0)}
_CANDIDATES = (1.0, 10.0, 1e2, 1e3, 1e4, 1e5)
_SETTINGS = {**MULTILABEL_SETTINGS, SYNTHETIC: LoopSetting(1e4, 4, 50, 0.1)}


def measure_paper(cells: tuple[Cell, ...]) -> Iterator[tuple[Cell, Measured]]:
    """Yield accuracy and average precision of models on one split, whose setting is a k."""
    split = paper_split(cells[0].dataset, cells[0].split)
    contest = Contest(split, _SCORERS, _CANDIDATES)
    for cell in cells:
        k = number_of(cell.setting)
        if cell.model == "tkml":
            found = _tkml(split, k, _SETTINGS[cell.dataset])
        else:
            found = contest.outcome(cell.model, k).measured()
        yield cell, found._replace(seed=seed_of_split(cell.split))


def _tkml(split: Split, k: int, setting: LoopSetting) -> Measured:
    found = released_tkml(split.train, split.validation, k, setting)
    validation, test = split.validation, split.test
    scores = found.scores(test.X)
    precision = average_precision(validation.Y, found.scores(validation.X))
    return Measured(
        {
            "accuracy": 100 * topk_multilabel_accuracy(test.Y, scores, k=k),
            "precision": 100 * average_precision(test.Y, scores),
        },
        {
            "C": setting.C,
            "validation_accuracy": 100 * found.accuracy,
            "validation_precision": 100 * precision,
            "outer_steps_repeated": found.repeated,
        },
    )
