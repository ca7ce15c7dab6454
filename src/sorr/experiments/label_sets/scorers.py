"""Who is compared on label sets: all linear, each with the same number of candidates for C."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from sorr.baselines import BinaryRelevance, PairwiseRanking
from sorr.estimators.set_softmax import LabelSetClassifier
from sorr.estimators.topk_classifier import TopKMultilabelClassifier
from sorr.experiments.label_sets.splits import Part
from sorr.losses import TopKSubset
from sorr.metrics import average_precision, topk_multilabel_accuracy
from sorr.objectives import RankedRangeObjective
from sorr.solvers import trim

__all__ = [
    "CANDIDATES",
    "PEER",
    "SCORERS",
    "SUM",
    "Path",
    "Scorer",
    "best",
    "fit_both",
    "fit_margins",
    "fit_path",
]

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
