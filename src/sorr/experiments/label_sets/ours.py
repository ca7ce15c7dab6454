"""Label sets by our protocol: exact fits, with C chosen on validation rows.

Accuracy and average precision come from the same fits, each with the C that is best for it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from sorr.experiments.cells import Cell, Measured
from sorr.experiments.label_sets.scorers import (
    CANDIDATES,
    PEER,
    SCORERS,
    SUM,
    Path,
    Scorer,
    best,
    fit_both,
    fit_margins,
    fit_path,
)
from sorr.experiments.label_sets.splits import Split, our_split
from sorr.metrics import average_precision, topk_multilabel_accuracy

__all__ = ["Contest", "Outcome", "measure_ours", "number_of"]


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
