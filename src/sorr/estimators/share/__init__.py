"""How many labels are wrong, or numbers outliers, without one that is known to be right."""

from sorr.estimators.share.estimate import OutlierShare, estimate_outlier_share
from sorr.estimators.share.residuals import ResidualRegime, ResidualShare
from sorr.estimators.share.verdict import Regime

__all__ = [
    "OutlierShare",
    "Regime",
    "ResidualRegime",
    "ResidualShare",
    "estimate_outlier_share",
]
