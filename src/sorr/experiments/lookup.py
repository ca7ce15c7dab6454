"""Experiments by name; the file of each is loaded on first use."""

from __future__ import annotations

import difflib
from importlib import import_module

from sorr.experiments.cells import Experiment

__all__ = ["EXPERIMENTS", "get_experiment"]

_FILES = {
    "table1": "aggregates.table1",
    "table2": "label_sets.table2",
    "table3": "digits.table3",
    "table-ap": "label_sets.table_ap",
    "fig-illustration": "theory.fig_illustration",
    "fig-interpretation": "theory.fig_interpretation",
    "fig-toy": "toy.fig_toy",
    "fig-toy-outliers": "toy.fig_toy_outliers",
    "fig-tendency": "aggregates.fig_tendency",
    "fig-classwise": "digits.fig_classwise",
    "calibration": "theory.calibration",
    "time": "theory.time",
}
EXPERIMENTS = tuple(_FILES)
"""The names of all experiments, in the order of the paper."""


def get_experiment(name: str) -> Experiment:
    """Return an experiment by its name.

    Examples
    --------
    >>> get_experiment("table1").measures
    ('error',)
    """
    if name not in _FILES:
        close = difflib.get_close_matches(name, EXPERIMENTS, cutoff=0.5)
        hint = f"did you mean {close[0]!r}?" if close else f"needed one of {', '.join(_FILES)}"
        raise ValueError(f"there is no experiment {name!r}; {hint}")
    found: Experiment = import_module(f"sorr.experiments.{_FILES[name]}").EXPERIMENT
    return found
