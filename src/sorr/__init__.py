"""Train models on data with wrong labels: rank losses, drop the largest, learn from the rest."""

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
    "share",
    "solvers",
)
_EXTRAS = ("nn",)  # rooms that need another package, so `from sorr import *` leaves them out
_ROOM_OF = {
    "AuditReport": "auditing",
    "ConstantModelWarning": "estimators",
    "Judgement": "share",
    "LabelSetClassifier": "estimators",
    "NotConvergedWarning": "estimators",
    "RankedRangeClassifier": "estimators",
    "RankedRangeClassifierCV": "estimators",
    "RankedRangeRegressor": "estimators",
    "RankedRangeRegressorCV": "estimators",
    "SeparableWarning": "estimators",
    "TargetJudgement": "share",
    "Tier": "share",
    "TopKMultilabelClassifier": "estimators",
    "TrimmedClassifier": "estimators",
    "TrimmedRegressor": "estimators",
    "apply_decisions": "auditing",
    "audit": "auditing",
    "held_out_predictions": "share",
    "held_out_probabilities": "share",
    "judge_labels": "share",
    "judge_targets": "share",
}
__all__ = [*_ROOM_OF, *_ROOMS]


def __getattr__(name: str) -> Any:
    if name in _ROOMS + _EXTRAS:
        return import_module(f"sorr.{name}")  # a room loads on first use
    if name in _ROOM_OF:
        return getattr(import_module(f"sorr.{_ROOM_OF[name]}"), name)
    raise AttributeError(f"module 'sorr' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__, *_EXTRAS]
