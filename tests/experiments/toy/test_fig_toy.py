import csv

import pytest
from numpy.testing import assert_allclose

from sorr.experiments import Measured, Plan, get_experiment, run
from sorr.experiments.toy import curves, fig_toy
from sorr.experiments.toy.data import AUTHORS, KINDS, toy_rows
from sorr.experiments.toy.models import MEASURES
from tests.experiments.toy.fakes import row_of, rows_of

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


@pytest.mark.parametrize("kinds", [(), KINDS[:1], KINDS], ids=["none", "one", "both"])
def test_only_what_has_a_file_is_measured_of_the_authors_rows(kinds, monkeypatch):
    monkeypatch.setattr(fig_toy, "has_file", kinds.__contains__)
    tasks = EXPERIMENT.tasks(EXPERIMENT.plan(splits=3))
    splits = {(cell.dataset, cell.split) for task in tasks if task.has_data for cell in task.cells}
    drawn = {(kind, i) for kind in KINDS for i in range(3)}
    assert splits == drawn | {(kind + AUTHORS, 0) for kind in kinds}


def test_the_cells_do_not_depend_on_the_files(monkeypatch):
    found = []
    for has_file in (False, True):
        monkeypatch.setattr(fig_toy, "has_file", lambda _, has_file=has_file: has_file)
        found.append(cells_of(EXPERIMENT.plan()))
    assert found[0] == found[1]
    assert {cell.dataset for cell in found[0]} == {*KINDS, *(kind + AUTHORS for kind in KINDS)}


@pytest.mark.usefixtures("no_files")
def test_a_run_without_files_measures_the_rows_that_are_drawn_by_us(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="figures are drawn with matplotlib")
    asked = []

    def measured(cells):
        asked.extend(cells)
        for cell in cells:
            row = row_of(cell)
            yield cell, Measured({name: row[name] for name in MEASURES}, row["chosen"])

    monkeypatch.setattr(fig_toy, "_measure", measured)
    plan = EXPERIMENT.plan(splits=1)
    page, *_ = run(EXPERIMENT, plan, tmp_path)
    assert {cell.dataset for cell in asked} == set(KINDS)
    assert "| balanced " in page.read_text()
    assert AUTHORS not in page.read_text()


@pytest.mark.usefixtures("no_files")
def test_the_authors_numbers_are_shown_without_their_files_and_the_figure_shows_our_draw(
    tmp_path, monkeypatch
):
    pytest.importorskip("matplotlib", reason="figures are drawn with matplotlib")
    shown = []
    monkeypatch.setattr(curves, "toy_rows", lambda name: shown.append(name) or toy_rows(name))
    plan = Plan(("ours",), splits=1)
    page, table, _ = EXPERIMENT.view(rows_of(EXPERIMENT.tasks(plan)), plan, tmp_path)
    for text in (page.read_text(), table.read_text()):
        assert all(kind + AUTHORS in text for kind in KINDS)
    assert set(shown) == set(KINDS)


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
