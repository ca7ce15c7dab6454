"""Which labels are wrong, judged from held-out scores of any model; outliers of a regression."""

from sorr.share.constants import FEWEST_ROWS
from sorr.share.held_out import LabelledRows, held_out_probabilities
from sorr.share.judging import judge_labels
from sorr.share.linear import centre_and_spread, judge_linear
from sorr.share.models import MODELS, is_named, name_of, probabilities_of
from sorr.share.residuals import ResidualRegime, ResidualShare, residual_share_of
from sorr.share.two_models import judge_rows, make_model
from sorr.share.verdict import Judgement, Tier, droppable

__all__ = [
    "FEWEST_ROWS",
    "MODELS",
    "Judgement",
    "LabelledRows",
    "ResidualRegime",
    "ResidualShare",
    "Tier",
    "centre_and_spread",
    "droppable",
    "held_out_probabilities",
    "is_named",
    "judge_labels",
    "judge_linear",
    "judge_rows",
    "make_model",
    "name_of",
    "probabilities_of",
    "residual_share_of",
]
