"""Baselines in the form of the estimators: what a ranked range is compared with."""

from sorr.baselines.aggregates import average, average_top_k, maximum, median, trimmed
from sorr.baselines.logistic import BinaryRelevance
from sorr.baselines.pairwise_ranking import PairwiseRanking
from sorr.baselines.robust_max import RobustMaxClassifier
from sorr.baselines.slack import Slack, robust_maximum
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
