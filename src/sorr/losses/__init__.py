"""Individual losses: one number per sample, with derivatives in the raw prediction.

Losses return arrays, never means, and carry no factor one half. They rank labels at most, never
samples.
"""

from sorr.losses.base import Loss
from sorr.losses.binary import Hinge, Logistic, ModifiedHuber, SmoothHinge, SquaredHinge
from sorr.losses.kinds import BinaryLoss, MulticlassLoss, MultilabelLoss, RegressionLoss
from sorr.losses.lookup import LOSSES, get_loss
from sorr.losses.multiclass import MulticlassHinge, Softmax
from sorr.losses.multilabel import MultilabelHinge, TopKMultilabel, TopKSubset, TopKSVM
from sorr.losses.pairwise import LogSumExpPairwise, SigmoidPairwise
from sorr.losses.regression import Absolute, Huber, SmoothAbsolute, Squared

__all__ = [
    "LOSSES",
    "Absolute",
    "BinaryLoss",
    "Hinge",
    "Huber",
    "LogSumExpPairwise",
    "Logistic",
    "Loss",
    "ModifiedHuber",
    "MulticlassHinge",
    "MulticlassLoss",
    "MultilabelHinge",
    "MultilabelLoss",
    "RegressionLoss",
    "SigmoidPairwise",
    "SmoothAbsolute",
    "SmoothHinge",
    "Softmax",
    "Squared",
    "SquaredHinge",
    "TopKMultilabel",
    "TopKSVM",
    "TopKSubset",
    "get_loss",
]
