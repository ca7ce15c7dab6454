"""Displays as in scikit-learn: numbers in the constructor, drawing in `plot`.

Displays of models have a `from_estimator` that reads the attributes of a fitted estimator. Drawing
needs matplotlib, which is imported on first use: ``pip install "sorr[plot]"``.
"""

from sorr.plots.boundary import DecisionBoundaryDisplay
from sorr.plots.calibration import CalibrationDisplay, ReliabilityCurve
from sorr.plots.canvas import (
    CLASS_COLOURS,
    DROPPED,
    EASY,
    INK,
    KEPT,
    MARKERS,
    need_matplotlib,
    tidy,
)
from sorr.plots.judgement import LabelCurveDisplay
from sorr.plots.ranked_loss import RankedCurve, RankedLossDisplay
from sorr.plots.tendency import TendencyDisplay
from sorr.plots.trace import TraceDisplay
from sorr.plots.tracked import DroppedLossDisplay

__all__ = [
    "CLASS_COLOURS",
    "DROPPED",
    "EASY",
    "INK",
    "KEPT",
    "MARKERS",
    "CalibrationDisplay",
    "DecisionBoundaryDisplay",
    "DroppedLossDisplay",
    "LabelCurveDisplay",
    "RankedCurve",
    "RankedLossDisplay",
    "ReliabilityCurve",
    "TendencyDisplay",
    "TraceDisplay",
    "need_matplotlib",
    "tidy",
]
