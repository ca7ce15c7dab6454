"""Evidence that two kinds of models share, where the rows are at hand and not only their scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy.typing as npt

from sorr._typing import FloatArray
from sorr.share.constants import LARGEST_SAMPLE, STRONG
from sorr.share.held_out import LabelledRows, is_named
from sorr.share.verdict import Judgement, as_log, judge

_WORDS = {
    "auto": "a forest with a linear model",
    "forest": "a forest",
    "linear": "a linear model",
    "boosting": "boosting",
}


class Judged(NamedTuple):
    """A judgement, and the held-out probabilities that it comes from."""

    judgement: Judgement
    probabilities: FloatArray


def judge_rows(
    rows: LabelledRows,
    estimator: Any,
    *,
    cv: Any = None,
    groups: npt.ArrayLike | None = None,
    known: Any = None,
    limit: int = LARGEST_SAMPLE,
) -> Judged:
    """Judge labels by a model, and if it sees evidence, by a model of another kind too.

    Strong evidence of a forest stands by itself; less has to be shared by boosting. Every other
    model has to share its evidence with a forest. In rare classes boosting sees wrong labels
    where there are none, so that it confirms nothing: there a forest needs clear evidence. Clean
    labels pay nothing: the second model is fitted only if the first one sees evidence.
    """

    def judged_by(model: Any) -> Judged:
        probabilities = rows.hold_out(model, cv=cv, groups=groups, limit=limit)
        L, name = as_log(probabilities), name_of(model)
        found = judge(L, rows.index, rows.classes, rows.weight, known=known, model=name)
        return Judged(found, probabilities)

    judgement, probabilities = judged_by(estimator)
    if not judgement.has_evidence:
        return Judged(judgement, probabilities)
    if is_named(estimator) and estimator in ("auto", "forest"):
        judgement = judgement.need_more_if_rare()
        if 0 < judgement.evidence_ <= STRONG and judgement.rare_class is None:
            judgement = judgement.confirm(judged_by("boosting").judgement)
    else:
        judgement = judgement.confirm(judged_by("auto").judgement.need_more_if_rare())
    return Judged(judgement, probabilities)


def name_of(model: Any) -> str:
    """Return what a model is called in a sentence."""
    return _WORDS[model] if is_named(model) else type(model).__name__
