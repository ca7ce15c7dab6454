"""Solvers: from an objective to parameters, with a status that says what they are worth.

`trim` is the default, `topsum` solves convex problems, `dca` is the paper's algorithm, and
`exhaustive` is the referee for tiny problems. `solve_path` solves a whole grid at once.
"""

from sorr.objectives import KSchedule
from sorr.solvers.candidates import average_start, find_starts, is_small
from sorr.solvers.convex import topsum
from sorr.solvers.dc_algorithm import dca
from sorr.solvers.descent import Memory, descend, search_line, take_newton_steps
from sorr.solvers.enumeration import exhaustive
from sorr.solvers.interior import EliminatedRows, Move, choose_move
from sorr.solvers.path import Path, grid, solve_path
from sorr.solvers.solution import Minimum, Progress, Solution, Status, Step
from sorr.solvers.trimming import trim

__all__ = [
    "EliminatedRows",
    "KSchedule",
    "Memory",
    "Minimum",
    "Move",
    "Path",
    "Progress",
    "Solution",
    "Status",
    "Step",
    "average_start",
    "choose_move",
    "dca",
    "descend",
    "exhaustive",
    "find_starts",
    "grid",
    "is_small",
    "search_line",
    "solve_path",
    "take_newton_steps",
    "topsum",
    "trim",
]
