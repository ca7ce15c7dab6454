"""How many labels are wrong in each class, estimated without a label known to be right."""

from sorr.estimators.share.estimate import OutlierShare, estimate_outlier_share
from sorr.estimators.share.verdict import Regime

__all__ = ["OutlierShare", "Regime", "estimate_outlier_share"]
