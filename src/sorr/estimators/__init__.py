"""Estimators in scikit-learn's form, which leave out outliers and wrong labels."""

from sorr.estimators.classifier import RankedRangeClassifier
from sorr.estimators.notices import ConstantModelWarning, NotConvergedWarning, SeparableWarning
from sorr.estimators.regressor import RankedRangeRegressor
from sorr.estimators.search import RankedRangeClassifierCV, RankedRangeRegressorCV
from sorr.estimators.share import OutlierShare, estimate_outlier_share

__all__ = [
    "ConstantModelWarning",
    "NotConvergedWarning",
    "OutlierShare",
    "RankedRangeClassifier",
    "RankedRangeClassifierCV",
    "RankedRangeRegressor",
    "RankedRangeRegressorCV",
    "SeparableWarning",
    "estimate_outlier_share",
]
