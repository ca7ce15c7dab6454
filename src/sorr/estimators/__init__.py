"""Estimators in scikit-learn's form, which leave out outliers and wrong labels."""

from sorr.estimators.any_model import TrimmedClassifier, TrimmedRegressor
from sorr.estimators.base import (
    ConstantModelWarning,
    LinearClassifier,
    NotConvergedWarning,
    Rows,
    SeparableWarning,
    encode,
    loss_of_classes,
    print_steps,
    rollback_on_error,
    validate_rows,
    warn,
)
from sorr.estimators.classifier import RankedRangeClassifier
from sorr.estimators.label_sets import Labels
from sorr.estimators.regressor import RankedRangeRegressor
from sorr.estimators.search import RankedRangeClassifierCV, RankedRangeRegressorCV
from sorr.estimators.search.cv import fit_first
from sorr.estimators.search.grid import GridPoint, ranking_of
from sorr.estimators.set_softmax import LabelSetClassifier
from sorr.estimators.topk import TopKLinear, TopKMultilabelClassifier, logistic_scores

__all__ = [
    "ConstantModelWarning",
    "GridPoint",
    "LabelSetClassifier",
    "Labels",
    "LinearClassifier",
    "NotConvergedWarning",
    "RankedRangeClassifier",
    "RankedRangeClassifierCV",
    "RankedRangeRegressor",
    "RankedRangeRegressorCV",
    "Rows",
    "SeparableWarning",
    "TopKLinear",
    "TopKMultilabelClassifier",
    "TrimmedClassifier",
    "TrimmedRegressor",
    "encode",
    "fit_first",
    "logistic_scores",
    "loss_of_classes",
    "print_steps",
    "ranking_of",
    "rollback_on_error",
    "validate_rows",
    "warn",
]
