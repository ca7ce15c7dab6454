"""Errors of each digit: the same rows as Table 3, drawn without fitting anything."""

import csv

import numpy as np
import pytest

from sorr.experiments import Cell, draw, get_experiment, row_file
from sorr.experiments.paper.digits import MEASURES, PEER, RANKED, TRIMMED
from sorr.experiments.paper.fig_classwise import EXPERIMENT, _claim, _means, _records


def row(model, noise=0.3, split=0, protocol="ours", error=None):
    cell = Cell(protocol, "mnist", model, f"noise={noise:g}", split)
    values = {name: float(i) if error is None else error for i, name in enumerate(MEASURES)}
    return {**cell._asdict(), **values}


def test_it_looks_at_the_rows_of_table_3(tmp_path):
    table, plan = get_experiment("table3"), EXPERIMENT.plan()
    assert [task.cells for task in EXPERIMENT.tasks(plan)] == [
        task.cells for task in table.tasks(table.plan())
    ]
    for quick in (False, True):
        plan = EXPERIMENT.plan(quick=quick)
        assert row_file(EXPERIMENT, plan, tmp_path).path == row_file(table, plan, tmp_path).path


def test_a_record_is_the_mean_over_draws_of_one_digit():
    rows = [row(TRIMMED, split=0, error=2.0), row(TRIMMED, split=1, error=5.0)]
    records = _records(rows)
    assert [record["digit"] for record in records] == list(range(10))
    assert {record["error"] for record in records} == {3.5}
    assert {record["draws"] for record in records} == {2}
    assert [r["digit"] for r in records if r["labelled_as"] is not None] == [2, 3, 5, 6, 7]


def test_each_digit_has_its_own_measure():
    records = _records([row(PEER)])
    assert [record["error"] for record in records] == [5.0 + digit for digit in range(10)]


def test_models_that_are_not_drawn_and_right_labels_are_left_out():
    assert _records([row("top-2 SVM"), row(PEER, noise=0)]) == []


def test_digits_with_wrong_labels_are_averaged_apart():
    records = _records([row(PEER)])
    flipped, others = _means(records, 30)
    assert flipped == pytest.approx(5 + np.mean([2, 3, 5, 6, 7]))
    assert others == pytest.approx(5 + np.mean([0, 1, 4, 8, 9]))


def test_it_draws_whatever_rows_there_are_and_the_same_bytes_again(tmp_path):
    pytest.importorskip("matplotlib")
    plan = EXPERIMENT.plan()
    rows = [row(PEER, noise=0.2), row(TRIMMED, noise=0.2), row("tkml", protocol="paper")]
    paths = EXPERIMENT.view(rows, plan, tmp_path)
    assert [path.suffix for path in paths] == [".md", ".csv", ".png"]
    with paths[1].open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 30
    before = [path.read_bytes() for path in paths]
    assert [path.read_bytes() for path in EXPERIMENT.view(rows, plan, tmp_path)] == before
    assert EXPERIMENT.view([], plan, tmp_path) == []
    assert draw(EXPERIMENT, plan, tmp_path / "nothing") == []


def test_the_claim_of_the_paper_is_checked_where_both_models_are_there():
    rows = [row(RANKED, protocol="paper", error=30.0), row("tkml", protocol="paper", error=20.5)]
    (found,) = _claim(_records(rows))
    assert "+9.5, +9.5, +9.5 with 30 % wrong" in found
    assert list(_claim(_records(rows[:1]))) == []


def test_the_caption_says_what_was_measured(tmp_path):
    pytest.importorskip("matplotlib")
    text = EXPERIMENT.view([row(PEER, error=4.0)], EXPERIMENT.plan(), tmp_path)[0].read_text()
    text = " ".join(text.split())
    assert "mean over 1 draw of wrong labels" in text
    assert "softmax, ours: mean error of shaded and of other digits 4.0 and 4.0" in text
