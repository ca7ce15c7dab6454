"""Solvers: from an objective to parameters, with a status that says what they are worth."""

from sorr.solvers.base import Minimum, Solution, Status, Step
from sorr.solvers.topsum import topsum
from sorr.solvers.trim import trim

__all__ = ["Minimum", "Solution", "Status", "Step", "topsum", "trim"]
