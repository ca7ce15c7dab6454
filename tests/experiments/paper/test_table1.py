"""Table 1: its cells, its lines, and a quick run from nothing to the page."""

import csv

import pytest

from sorr.experiments import draw, get_experiment, run
from sorr.experiments.paper.table1 import EXPERIMENT, _lines
from sorr.experiments.published import AGGREGATES


def test_it_has_every_printed_cell_and_two_lines_more_for_each_problem():
    lines = list(_lines(EXPERIMENT.plan()))
    printed = {(line.dataset, line.setting, line.model) for line in lines if line.printed}
    assert printed == {
        (data, loss, model)
        for data, losses in AGGREGATES.items()
        for loss, models in losses.items()
        for model in models
    }
    assert len(printed) == 50
    assert sum(line.printed is None for line in lines) == 2 * 10


def test_no_cell_is_measured_twice():
    cells = [cell for task in EXPERIMENT.tasks(EXPERIMENT.plan()) for cell in task.cells]
    assert len(cells) == len(set(cells)) == 10 * 10 * (4 + 7)


def test_a_quick_run_ends_in_a_table_beside_the_printed_one(tmp_path):
    experiment = get_experiment("table1")
    plan = experiment.plan(("paper",), quick=True)
    paths = run(experiment, plan, tmp_path)
    assert [path.name for path in paths] == ["table1.md", "table1.csv"]
    with paths[1].open(newline="") as file:
        records = list(csv.DictReader(file))
    first = next(r for r in records if r["model"] == "AoRR")
    assert float(first["printed"]) == pytest.approx(12.69)
    gap = float(first["paper"]) - float(first["printed"])
    assert float(first["paper_minus_printed"]) == pytest.approx(gap)
    before = paths[0].read_bytes()
    assert "A quick run" in before.decode()
    assert draw(experiment, plan, tmp_path)[0].read_bytes() == before
