"""The paper's tables and figures, measured: experiments as data, rows on disk, views of them.

``sorr reproduce`` runs them; `get_experiment` and `run` do the same from Python.
"""

from sorr.experiments.cells import PROTOCOLS, Cell, Experiment, Measured, Plan, Task, seed_of
from sorr.experiments.lookup import EXPERIMENTS, get_experiment
from sorr.experiments.rows import RowFile
from sorr.experiments.run import draw, row_file, run

__all__ = [
    "EXPERIMENTS",
    "PROTOCOLS",
    "Cell",
    "Experiment",
    "Measured",
    "Plan",
    "RowFile",
    "Task",
    "draw",
    "get_experiment",
    "row_file",
    "run",
    "seed_of",
]
