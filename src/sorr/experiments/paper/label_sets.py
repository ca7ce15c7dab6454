"""Label sets on three data sets, by our protocol and by the paper's.

Half of the rows are for training, a quarter for choosing C, and a quarter for testing. Ours: each
model is minimised for every candidate of C, and C is chosen on the validation rows. The paper's:
the released loop with the printed settings.
"""

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
from sorr.experiments.paper.released import Part, run_label_set_loop
from sorr.experiments.published import MULTILABEL_SETTINGS, LoopSetting
from sorr.losses import TopKSubset
from sorr.metrics import average_precision, topk_multilabel_accuracy
from sorr.objectives import RankedRangeObjective
from sorr.solvers import trim

SYNTHETIC = "synthetic"
"""The name of a small generated set, for quick runs."""


class Split(NamedTuple):
    """Rows for training, for choosing C, and for testing."""

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
    """Return a random split as the released script draws it. The first one is that of the script.

    All columns are scaled to -1 to 1 over all rows, before they are split.
    """
    X, Y = _rows_of(dataset)
    low, high = X.min(axis=0), X.max(axis=0)
    X = 2 * (X - low) / (high - low + 1e-8) - 1
    order = np.random.RandomState(seed_of_split(split)).permutation(len(X))
    half, quarter = (int(np.ceil(share * len(X))) for share in (0.5, 0.25))
    parts = np.split(order, [half, half + quarter])
    return Split(*(Part(X[part], Y[part]) for part in parts))


def seed_of_split(split: int) -> int:
    """Return the seed of a split in the released script."""
    return split + 1


@cache
def _rows_of(dataset: str) -> Part:
    if dataset == SYNTHETIC:
        X, Y = make_multilabel_classification(
            100, 8, n_classes=6, allow_unlabeled=False, random_state=0
        )
        return Part(X, Y > 0)
    bunch = load_dataset(dataset)
    return Part(bunch.data, bunch.target > 0)


# -- The models: all linear, each with the same number of candidates for C -------------------------


PEER = "LR"
"""The model that others are compared with."""
SUM: Final = "subset+logistic"
"""The sum of two scores, each with its own C."""
CANDIDATES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""The candidates for C, for standardised columns."""
_CORNER_WIDTH = 2.0  # of the smoothed margin, as in TopKMultilabelClassifier


class FittedPath(NamedTuple):
    """A fitted model for every candidate of C, and their processor time."""

    models: list[Any]
    seconds: float


class Scorer(NamedTuple):
    """How to make a model for k labels, whether the fit depends on k, and a factor for C.

    A sigmoid is a quarter as steep as the scores inside it, so its C is 16 times as large.
    """

    make: Callable[[int], Any]
    follows_k: bool = False
    factor: float = 1.0

    def accuracy(self, model: Any, part: Part, k: int) -> float:
        """Return the share of rows whose k labels are all true, or contain all true ones."""
        scores = model.set_params(k=k).decision_function(part.X)  # scores of label sets depend on k
        return topk_multilabel_accuracy(part.y, scores, k=k)

    def precision(self, model: Any, part: Part) -> float:
        """Return the average precision."""
        if isinstance(model, LabelSetClassifier):  # by the probability of each label
            scores = model.predict_set_proba(part.X) @ model.sets_
        else:
            scores = model.decision_function(part.X)
        return average_precision(part.y, scores)


def fit_path(scorer: Scorer, k: int, train: Part, candidates: Sequence[float]) -> FittedPath:
    """Fit every candidate.

    Convex models start where the last one ended. The others do not. From small to large C they
    would stay in the poor minima of a strong ridge; from large to small C, tkml would follow the
    scores to where they all tie.
    """
    begin = time.process_time()  # one thread, so other processes do not count
    model = scorer.make(k)
    models = [copy.deepcopy(model.set_params(C=scorer.factor * C).fit(*train)) for C in candidates]
    return FittedPath(models, time.process_time() - begin)


def fit_margins(k: int, train: Part, candidates: Sequence[float]) -> list[Any]:
    """Fit every candidate of the margin alone, without the logistic scores."""
    loss = TopKSubset(k).smoothed(_CORNER_WIDTH)
    objectives = [RankedRangeObjective(train.X, train.y, loss, C=C) for C in candidates]
    return [trim(objective, certify=False, random_state=0) for objective in objectives]


def fit_both(k: int, C: float, C_logistic: float, train: Part) -> Any:
    """Fit the sum of both scores, each with its own C."""
    return SCORERS[SUM].make(k).set_params(C=C, C_logistic=C_logistic).fit(*train)


def best(scores: Sequence[float]) -> int:
    """Return the first of the largest scores. Ties, which are common, go to the smallest C.

    Examples
    --------
    >>> best([0.5, 0.7, 0.7])
    1
    """
    return int(np.argmax(scores))


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


# -- Our protocol ----------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """The results of a model: C chosen once for accuracy, once for average precision.

    Accuracies and precisions are between 0 and 1.

    Attributes
    ----------
    accuracy, precision : float
        On the test rows.
    C, C_precision : float, or pair of float
        The choices, made on validation rows. A pair for the sum of two scores.
    validation_accuracy, validation_precision : float
        The best values on validation rows.
    seconds : float
        The processor time of all candidates.
    model : estimator
        The model that was chosen for accuracy.
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
        """Return the values of a row, in per cent."""
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
    """The models on one split. Each is fitted once, however often it is needed.

    Parameters
    ----------
    split : Split
    scorers : mapping of str to Scorer
    candidates : sequence of float
        Candidates for C, from small to large.
    """

    def __init__(
        self,
        split: Split,
        scorers: Mapping[str, Scorer] = SCORERS,
        candidates: Sequence[float] = CANDIDATES,
    ) -> None:
        self.split, self.scorers, self.candidates = split, scorers, candidates
        self._paths: dict[tuple[str, int | None], FittedPath] = {}

    def outcome(self, name: str, k: int) -> Outcome:
        """Return the results of a model with k labels."""
        return self._sum_of_two(k) if name == SUM else self._single(name, k)

    def path(self, name: str, k: int) -> FittedPath:
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
            accuracy=scorer.accuracy(path.models[first], test, k),
            precision=scorer.precision(path.models[second], test),
            C=scorer.factor * self.candidates[first],
            C_precision=scorer.factor * self.candidates[second],
            validation_accuracy=accuracies[first],
            validation_precision=precisions[second],
            seconds=path.seconds,
            model=path.models[first],
        )

    def _sum_of_two(self, k: int) -> Outcome:
        """Choose C for each of the two scores alone, then fit their sum."""
        scorer, (train, validation, test) = self.scorers[SUM], self.split
        begin = time.process_time()
        margins = fit_margins(k, train, self.candidates)
        raws = [validation.X @ fit.coef + fit.intercept for fit in margins]
        measures = partial(topk_multilabel_accuracy, k=k), average_precision
        ours = [best([measure(validation.y, raw) for raw in raws]) for measure in measures]
        peers = [best(scores) for scores in self._on_validation(PEER, k)]
        first, second = (
            (self.candidates[i], self.candidates[j]) for i, j in zip(ours, peers, strict=True)
        )
        models = [fit_both(k, *pair, train) for pair in (first, second)]
        return Outcome(
            accuracy=scorer.accuracy(models[0], test, k),
            precision=scorer.precision(models[1], test),
            C=first,
            C_precision=second,
            validation_accuracy=scorer.accuracy(models[0], validation, k),
            validation_precision=scorer.precision(models[1], validation),
            seconds=self.path(PEER, k).seconds + time.process_time() - begin,
            model=models[0],
        )


def measure_ours(cells: tuple[Cell, ...]) -> Iterator[tuple[Cell, Measured]]:
    """Yield accuracy and average precision of models on one split, whose setting is a k."""
    contest = Contest(our_split(cells[0].dataset, cells[0].split))
    for cell in cells:
        yield cell, contest.outcome(cell.model, parse_k(cell.setting)).measured()


def parse_k(setting: str) -> int:
    """Return the k of a setting.

    Examples
    --------
    >>> parse_k("k=3")
    3
    """
    return int(setting.removeprefix("k="))


# -- The paper's protocol --------------------------------------------------------------------------


_SCORERS = {PEER: SCORERS[PEER], "LSEP": SCORERS["LSEP"]._replace(factor=1.0)}
_CANDIDATES = (1.0, 10.0, 1e2, 1e3, 1e4, 1e5)
_SETTINGS = {**MULTILABEL_SETTINGS, SYNTHETIC: LoopSetting(1e4, 4, 50, 0.1)}


def measure_paper(cells: tuple[Cell, ...]) -> Iterator[tuple[Cell, Measured]]:
    """Yield accuracy and average precision of models on one split, whose setting is a k."""
    split = paper_split(cells[0].dataset, cells[0].split)
    contest = Contest(split, _SCORERS, _CANDIDATES)
    for cell in cells:
        k = parse_k(cell.setting)
        if cell.model == "tkml":
            result = _tkml(split, k, _SETTINGS[cell.dataset])
        else:
            result = contest.outcome(cell.model, k).measured()
        yield cell, result._replace(seed=seed_of_split(cell.split))


def _tkml(split: Split, k: int, setting: LoopSetting) -> Measured:
    train, validation, test = split
    result = run_label_set_loop(train, validation, k, setting)
    scores = result.scores(test.X)
    precision = average_precision(validation.y, result.scores(validation.X))
    return Measured(
        {
            "accuracy": 100 * topk_multilabel_accuracy(test.y, scores, k=k),
            "precision": 100 * average_precision(test.y, scores),
        },
        {
            "C": setting.C,
            "validation_accuracy": 100 * result.accuracy,
            "validation_precision": 100 * precision,
            "outer_steps_repeated": result.repeated,
        },
    )
