"""Objectives: a ranked range of the losses of a linear predictor, plus a ridge.

An objective gives its value, a subgradient, a curvature, the two convex functions whose
difference it is, and its trimming majoriser. Solvers see this, and no loss by name.
"""

from sorr.objectives.band import Band
from sorr.objectives.batch import Batch, Problems, Stage
from sorr.objectives.bound import lower_bound
from sorr.objectives.design import (
    Design,
    DesignColumns,
    Frame,
    centre_and_spread,
    solve_symmetric,
)
from sorr.objectives.groups import Group, Groups, KSchedule
from sorr.objectives.kernels import ConstantWeights
from sorr.objectives.objective import Point, RankedRangeObjective, Ray
from sorr.objectives.partitions import Objective, PartitionedObjective, PartRay
from sorr.objectives.sampling import (
    SampledRows,
    constant_model,
    is_constant,
    refuse_lost_class,
    subsample,
    without_copies,
)
from sorr.objectives.soft import annealed, blurred

__all__ = [
    "Band",
    "Batch",
    "ConstantWeights",
    "Design",
    "DesignColumns",
    "Frame",
    "Group",
    "Groups",
    "KSchedule",
    "Objective",
    "PartRay",
    "PartitionedObjective",
    "Point",
    "Problems",
    "RankedRangeObjective",
    "Ray",
    "SampledRows",
    "Stage",
    "annealed",
    "blurred",
    "centre_and_spread",
    "constant_model",
    "is_constant",
    "lower_bound",
    "refuse_lost_class",
    "solve_symmetric",
    "subsample",
    "without_copies",
]
