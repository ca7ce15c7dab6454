"""Which ranks and which ridge: a grid of them, solved and scored on splits of the rows."""

from sorr.estimators.search.cv import RankedRangeClassifierCV, RankedRangeRegressorCV

__all__ = ["RankedRangeClassifierCV", "RankedRangeRegressorCV"]
