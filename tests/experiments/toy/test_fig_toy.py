import csv

import pytest
from numpy.testing import assert_allclose

from sorr.experiments import Plan, get_experiment
from sorr.experiments.toy.data import AUTHORS, KINDS, has_file
from sorr.experiments.toy.models import MEASURES
from tests.experiments.toy.fakes import rows_of

EXPERIMENT = get_experiment("fig-toy")


def cells_of(plan):
    return [cell for task in EXPERIMENT.tasks(plan) for cell in task.cells]


@pytest.fixture
def no_files(monkeypatch, tmp_path):
    monkeypatch.setenv("SORR_DATA", str(tmp_path))
    monkeypatch.setenv("SORR_CACHE", str(tmp_path))


def test_no_cell_is_measured_twice():
    cells = cells_of(EXPERIMENT.plan())
    assert len(set(cells)) == len(cells)


@pytest.mark.usefixtures("no_files")
def test_without_files_all_rows_are_drawn():
    assert {cell.dataset for cell in cells_of(EXPERIMENT.plan())} == set(KINDS)


def test_the_authors_rows_are_measured_once_if_they_are_there():
    present = {kind + AUTHORS for kind in KINDS if has_file(kind)}
    splits = {(cell.dataset, cell.split) for cell in cells_of(EXPERIMENT.plan(splits=3))}
    assert {pair for pair in splits if pair[0] not in KINDS} == {(name, 0) for name in present}
    assert {pair for pair in splits if pair[0] in KINDS} == {
        (k, i) for k in KINDS for i in range(3)
    }


def test_a_quick_run_needs_no_files_and_takes_few_fits():
    cells = cells_of(EXPERIMENT.plan(quick=True))
    assert {cell.dataset for cell in cells} == set(KINDS)
    assert len(cells) < 60


def test_the_rank_in_the_name_of_a_cell_is_the_one_that_is_fitted():
    plan = EXPERIMENT.plan(("ours",), quick=True)
    task = EXPERIMENT.tasks(plan)[0]
    wanted = [cell for cell in task.cells if cell.setting == "logistic k=10"]
    found = dict(task.measure(tuple(wanted)))
    assert {cell.model: dict(one.chosen) for cell, one in found.items()} == {
        "AT_k": {"m": 0, "k": 10},
        "AoRR": {"m": 1, "k": 10},
    }
    for one in found.values():
        assert tuple(one.values) == MEASURES


@pytest.mark.usefixtures("no_files")
def test_the_numbers_drawn_are_means_over_the_draws(tmp_path):
    pytest.importorskip("matplotlib", reason="figures are drawn with matplotlib")
    plan = Plan(splits=2)
    rows = rows_of(EXPERIMENT.tasks(plan))
    paths = EXPERIMENT.view(rows, plan, tmp_path)
    assert [path.name for path in paths] == ["fig-toy.md", "fig-toy.csv", "fig-toy.png"]
    with paths[1].open() as file:
        records = list(csv.DictReader(file))
    some = [
        row["error_population"]
        for row in rows
        if (row["protocol"], row["dataset"], row["model"], row["setting"])
        == ("paper", "imbalanced", "AoRR", "hinge k=50")
    ]
    (record,) = [
        record
        for record in records
        if (record["protocol"], record["dataset"], record["model"], record["loss"], record["k"])
        == ("paper", "imbalanced", "AoRR", "hinge", "50")
    ]
    assert len(some) == 2
    assert_allclose(float(record["error_population"]), sum(some) / 2)


@pytest.mark.usefixtures("no_files")
def test_equal_rows_give_equal_bytes_even_if_most_are_missing(tmp_path):
    pytest.importorskip("matplotlib", reason="figures are drawn with matplotlib")
    plan = Plan(("ours",), splits=2, quick=True)
    rows = rows_of(EXPERIMENT.tasks(plan))[5:13]
    first, second = (
        [path.read_bytes() for path in EXPERIMENT.view(rows, plan, tmp_path / name)]
        for name in ("first", "second")
    )
    assert first == second
    assert b"A quick run" in first[0]
