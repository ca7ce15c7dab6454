"""Displays in the manner of scikit-learn: numbers in the constructor, drawing in `plot`.

Each has a `from_estimator` and reads fitted estimators by their attributes. Drawing needs
matplotlib, which is imported on first use: ``pip install "sorr[plot]"``.
"""

from sorr.plots.boundary import DecisionBoundaryDisplay
from sorr.plots.calibration import CalibrationDisplay, ReliabilityCurve
from sorr.plots.ranked_curve import RankedCurve
from sorr.plots.ranked_loss import RankedLossDisplay
from sorr.plots.tendency import TendencyDisplay
from sorr.plots.trace import TraceDisplay

__all__ = [
    "CalibrationDisplay",
    "DecisionBoundaryDisplay",
    "RankedCurve",
    "RankedLossDisplay",
    "ReliabilityCurve",
    "TendencyDisplay",
    "TraceDisplay",
]
