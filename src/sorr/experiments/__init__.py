"""The paper's tables and figures: what to measure, rows on disk, and pages drawn from them.

``sorr reproduce`` runs the experiments. `get_experiment` and `run` do the same from Python.
"""

from sorr.experiments.experiment import (
    EXPERIMENTS,
    PROTOCOLS,
    Cell,
    Experiment,
    Measured,
    Plan,
    Task,
    get_experiment,
    seed_of,
)
from sorr.experiments.rows import RefusedError, RowFile
from sorr.experiments.runner import draw, row_file, run

__all__ = [
    "EXPERIMENTS",
    "PROTOCOLS",
    "Cell",
    "Experiment",
    "Measured",
    "Plan",
    "RefusedError",
    "RowFile",
    "Task",
    "draw",
    "get_experiment",
    "row_file",
    "run",
    "seed_of",
]
