"""Label sets by the paper's protocol: the released loop with the printed settings.

There is no script for LR and LSEP. Here they are fitted exactly, on the same splits and columns as
tkml, the second on sigmoid outputs, with C from 10^0 to 10^5 chosen on validation rows: what the
text says, but for how they were minimised.
"""

from __future__ import annotations

from collections.abc import Iterator

from sorr.experiments.cells import Cell, Measured
from sorr.experiments.label_sets.ours import Contest, number_of
from sorr.experiments.label_sets.released import released_tkml
from sorr.experiments.label_sets.scorers import PEER, SCORERS
from sorr.experiments.label_sets.splits import SYNTHETIC, Split, paper_split, seed_of_split
from sorr.experiments.published import MULTILABEL_SETTINGS, LoopSetting
from sorr.metrics import average_precision, topk_multilabel_accuracy

__all__ = ["measure_paper"]

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
