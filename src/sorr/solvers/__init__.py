"""Solvers: from an objective to parameters, with a status that says what they are worth."""

from sorr.solvers.base import Minimum, Solution, Status, Step

__all__ = ["Minimum", "Solution", "Status", "Step"]
