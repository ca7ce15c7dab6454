"""Baselines in the form of the estimators: what a ranked range is compared with."""

from sorr.baselines.aggregates import average, average_top_k, maximum, median, trimmed
from sorr.baselines.label_models import BinaryRelevance, PairwiseRanking
from sorr.baselines.robust_max import RobustMaxClassifier
from sorr.baselines.robust_max_solver import Slack, robust_maximum
from sorr.baselines.svm import MulticlassSVM, TopKSVMClassifier

__all__ = [
    "BinaryRelevance",
    "MulticlassSVM",
    "PairwiseRanking",
    "RobustMaxClassifier",
    "Slack",
    "TopKSVMClassifier",
    "average",
    "average_top_k",
    "maximum",
    "median",
    "robust_maximum",
    "trimmed",
]
