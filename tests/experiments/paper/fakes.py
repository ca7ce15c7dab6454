"""Rows of the toy experiments that were not measured."""

from sorr.experiments import seed_of
from sorr.experiments.paper.toy import MEASURES, ranks


def rows_of(tasks):
    """Return a row for each cell, with numbers that are its own."""
    return [row_of(cell) for task in tasks for cell in task.cells]


def row_of(cell):
    n_outliers = int(cell.dataset.split()[0]) if cell.dataset.endswith("outliers") else 1
    number = seed_of(*cell) % 997 / 100
    line = [0.0, 0.0, 0.0] if cell.model == "maximum" else [-1.0, -1.0, 2.5 + number / 10]
    k = int(cell.setting.partition(" k=")[2] or n_outliers + 1)
    kept = ranks(cell.model, 200, m=n_outliers, k=k)
    values = [*line, number, number + 1]
    return {
        **cell._asdict(),
        **dict(zip(MEASURES, values, strict=True)),
        "chosen": {"m": kept.m, "k": kept.k},
        "objective": number / 20,
        "gap": number / 1e9,
    }
