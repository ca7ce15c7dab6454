"""Estimates of how many labels are wrong, or numbers outliers, without any checked label."""

from sorr.share.estimate import DROPS, OutlierShare, estimate_outlier_share, share_of
from sorr.share.leverage import centre_and_spread
from sorr.share.residuals import ResidualRegime, ResidualShare, residual_share_of
from sorr.share.verdict import Regime

__all__ = [
    "DROPS",
    "OutlierShare",
    "Regime",
    "ResidualRegime",
    "ResidualShare",
    "centre_and_spread",
    "estimate_outlier_share",
    "residual_share_of",
    "share_of",
]
