"""Solvers: from an objective to parameters, with a status that says what they are worth."""

from sorr.solvers.base import Minimum, Solution, Status, Step
from sorr.solvers.dca import dca
from sorr.solvers.exhaustive import exhaustive
from sorr.solvers.path import Path, grid, solve_path
from sorr.solvers.schedule import KSchedule
from sorr.solvers.starts import find_starts
from sorr.solvers.topsum import topsum
from sorr.solvers.trim import trim

__all__ = [
    "KSchedule",
    "Minimum",
    "Path",
    "Solution",
    "Status",
    "Step",
    "dca",
    "exhaustive",
    "find_starts",
    "grid",
    "solve_path",
    "topsum",
    "trim",
]
