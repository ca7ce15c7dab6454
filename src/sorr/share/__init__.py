"""Which labels and numbers are wrong, judged from held-out outputs of any model."""

from sorr.share.constants import FEWEST_ROWS
from sorr.share.held_out import (
    LabelledRows,
    NumberedRows,
    held_out_predictions,
    held_out_probabilities,
)
from sorr.share.judging import judge_labels
from sorr.share.linear import judge_linear
from sorr.share.models import MODELS, GivenProbabilities, is_named, name_of, probabilities_of
from sorr.share.robust_line import judge_line
from sorr.share.targets import TargetJudgement, judge_numbers, judge_targets
from sorr.share.two_models import judge_rows, make_model
from sorr.share.verdict import Judgement, Tier, droppable

__all__ = [
    "FEWEST_ROWS",
    "MODELS",
    "GivenProbabilities",
    "Judgement",
    "LabelledRows",
    "NumberedRows",
    "TargetJudgement",
    "Tier",
    "droppable",
    "held_out_predictions",
    "held_out_probabilities",
    "is_named",
    "judge_labels",
    "judge_line",
    "judge_linear",
    "judge_numbers",
    "judge_rows",
    "judge_targets",
    "make_model",
    "name_of",
    "probabilities_of",
]
