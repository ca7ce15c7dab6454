"""Baselines in the form of the estimators: what a ranked range is compared with."""

from sorr.baselines.aggregates import average, average_top_k, maximum, median, trimmed
from sorr.baselines.robust_max import RobustMaxClassifier
from sorr.baselines.slack import Slack, robust_maximum

__all__ = [
    "RobustMaxClassifier",
    "Slack",
    "average",
    "average_top_k",
    "maximum",
    "median",
    "robust_maximum",
    "trimmed",
]
