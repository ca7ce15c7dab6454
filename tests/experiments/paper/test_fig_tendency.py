"""Tendency curves: the ranks they are measured at, and what is drawn of them."""

import csv

import pytest

from sorr.experiments import draw, row_file, run
from sorr.experiments.paper.fig_tendency import (
    _TRAIN_ROWS,
    EXPERIMENT,
    _cells,
    _limits,
    _measure_ours,
    _share_of,
)
from sorr.experiments.paper.released import draw_split
from sorr.experiments.published import AGGREGATE_SETTINGS


def test_m_stays_below_k():
    for task in EXPERIMENT.tasks(EXPERIMENT.plan()):
        for cell in task.cells:
            assert 0 <= _share_of(cell.setting) < 1
            assert (cell.model == "AoRR") == (_share_of(cell.setting) > 0)


def test_k_is_a_count_of_the_rows_that_the_paper_trains_on():
    from sorr.datasets import load_dataset

    for data in ("monk", "titanic"):  # which need no file
        train = draw_split(load_dataset(data).target, 0)[0]
        assert len(train) == _TRAIN_ROWS[data]
        assert all(setting.k < _TRAIN_ROWS[data] for setting in AGGREGATE_SETTINGS[data].values())


def test_a_quick_run_draws_both_protocols(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    plan = EXPERIMENT.plan(quick=True)
    page, table, figure = run(EXPERIMENT, plan, tmp_path)
    assert "A quick run" in page.read_text()
    assert figure.read_bytes().startswith(b"\x89PNG")
    with table.open(newline="") as file:
        records = list(csv.DictReader(file))
    points = [r for r in records if r["model"] == "AoRR"]
    assert {r["protocol"] for r in points} == {"paper", "ours"}
    assert {r["m_over_k"] for r in points} == {"0.1", "0.3", "0.6"}
    rows = row_file(EXPERIMENT, plan, tmp_path).read()
    first = next(row for row in rows if row["model"] == "AoRR" and row["protocol"] == "ours")
    assert first["chosen"] == {"m": 10, "k": 105}
    before = page.read_bytes(), figure.read_bytes()
    again = draw(EXPERIMENT, plan, tmp_path)
    assert (again[0].read_bytes(), again[2].read_bytes()) == before


def test_a_resumed_task_gives_the_numbers_of_a_whole_one_and_constant_models_are_constant():
    plan = EXPERIMENT.plan(("ours",), quick=True)
    cells = _cells("ours", "monk", "logistic", 0, plan)
    whole = dict(_measure_ours(cells, quick=True))
    rest = dict(_measure_ours(cells[-2:], quick=True))
    assert all(rest[cell][:3] == whole[cell][:3] for cell in cells[-2:])
    maximum = next(found for cell, found in whole.items() if cell.model == "maximum")
    assert maximum.status == "CONSTANT_MODEL"
    assert maximum.values["error"] == pytest.approx(100 * 51 / 108)  # the smaller class


def test_constant_models_far_above_the_rest_do_not_set_the_scale():
    def record(error, constant=0, model="AoRR"):
        return {"model": model, "error": error, "standard_error": 0.5, "constant": constant}

    plain = [record(12.0), record(20.0), record(23.0, model="average")]
    bottom, top = _limits([*plain, record(47.0, 5), record(47.0, model="maximum")])
    assert 10 < bottom < 11.5
    assert 23 < top < 25
    assert _limits([*plain, record(29.0, 5)])[1] > 29  # near enough
    assert _limits([record(47.0, 5)])[1] > 47
