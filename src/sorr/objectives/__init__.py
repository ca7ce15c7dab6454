"""Objectives: a ranked range of the losses of a linear predictor, plus a ridge.

An objective offers its value, a subgradient, a curvature, the two convex functions whose
difference it is, and its trimming majoriser. Solvers see this and no named loss.
"""

from sorr.objectives.design import Design
from sorr.objectives.groups import Group, Groups
from sorr.objectives.objective import RankedRangeObjective, subsample

__all__ = ["Design", "Group", "Groups", "RankedRangeObjective", "subsample"]
