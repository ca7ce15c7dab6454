"""Estimators in scikit-learn's form, which leave out outliers and wrong labels."""

from sorr.estimators.classifier import RankedRangeClassifier
from sorr.estimators.notices import ConstantModelWarning, NotConvergedWarning, SeparableWarning
from sorr.estimators.regressor import RankedRangeRegressor
from sorr.estimators.search import RankedRangeClassifierCV, RankedRangeRegressorCV
from sorr.estimators.set_softmax import LabelSetClassifier
from sorr.estimators.share import OutlierShare, ResidualShare, estimate_outlier_share
from sorr.estimators.topk_classifier import TopKMultilabelClassifier

__all__ = [
    "ConstantModelWarning",
    "LabelSetClassifier",
    "NotConvergedWarning",
    "OutlierShare",
    "RankedRangeClassifier",
    "RankedRangeClassifierCV",
    "RankedRangeRegressor",
    "RankedRangeRegressorCV",
    "ResidualShare",
    "SeparableWarning",
    "TopKMultilabelClassifier",
    "estimate_outlier_share",
]
