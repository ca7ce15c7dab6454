"""How often labels are ranked or predicted right: top-k accuracies, average precision, errors.

Scores are ranked from the largest. Of tied scores the one that comes first ranks first, as in the
predictions of our estimators; infinite scores have their rank, NaN has none. Weights are mass.
"""

from sorr.metrics.classes import class_wise_error, topk_accuracy
from sorr.metrics.label_sets import average_precision, topk_multilabel_accuracy

__all__ = [
    "average_precision",
    "class_wise_error",
    "topk_accuracy",
    "topk_multilabel_accuracy",
]
