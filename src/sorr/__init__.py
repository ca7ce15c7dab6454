"""Learning on data with outliers and wrong labels, by minimising a ranked range of losses."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
_ROOMS = (
    "auditing",
    "baselines",
    "datasets",
    "estimators",
    "experiments",
    "losses",
    "metrics",
    "objectives",
    "plots",
    "ranked",
    "solvers",
)
_ESTIMATORS = (
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
)
_AUDITING = ("AuditReport", "audit")
__all__ = [*_AUDITING, *_ESTIMATORS, *_ROOMS]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"sorr.{name}")  # a room loads on first use
    if name in _ESTIMATORS:
        return getattr(import_module("sorr.estimators"), name)
    if name in _AUDITING:
        return getattr(import_module("sorr.auditing"), name)
    raise AttributeError(f"module 'sorr' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
