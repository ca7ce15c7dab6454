"""Table 3: its cells and lines, and a quick run from nothing to the page."""

import csv

import pytest

from sorr.experiments import Cell, get_experiment, run, seed_of
from sorr.experiments.digits import paper as mnist_paper
from sorr.experiments.digits.ours import MEASURES, MODELS, PEER
from sorr.experiments.digits.table3 import EXPERIMENT, _lines
from sorr.experiments.published import MNIST, LoopSetting
from sorr.experiments.run import draw


def all_cells(plan):
    return [cell for task in EXPERIMENT.tasks(plan) for cell in task.cells]


def fake_row(cell):
    """Return a row with numbers of its own, as the runner reads it back."""
    values = {name: seed_of(*cell, name) % 10_000 / 100 for name in MEASURES}
    return {**cell._asdict(), **values}


def records_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_no_cell_is_measured_twice():
    cells = all_cells(EXPERIMENT.plan())
    assert len(cells) == len(set(cells)) == 5 * 3 * (3 + 6) + 1
    assert {cell.dataset for cell in cells} == {"mnist"}


def test_the_ceiling_is_measured_once():
    clean = [cell for cell in all_cells(EXPERIMENT.plan()) if cell.setting == "noise=0"]
    assert clean == [Cell("ours", "mnist", PEER, "noise=0", 0)]


def test_one_protocol_alone_measures_its_own_cells_only():
    for protocol in ("paper", "ours"):
        cells = all_cells(EXPERIMENT.plan((protocol,)))
        assert {cell.protocol for cell in cells} == {protocol}


def test_it_has_every_printed_cell():
    lines = [line for line in _lines(EXPERIMENT.plan()) if line.printed]
    printed = {(line.label, line.model): (line.printed, line.printed_spread) for line in lines}
    names = {"tkml": "tkml", "top-k SVM": "top-1 SVM"}
    for noise, models in MNIST.items():
        for model, pairs in models.items():
            for k, pair in enumerate(pairs, start=1):
                assert printed[f"noise={noise / 100:g} top-{k}", names[model]] == pair
    assert len(lines) == 3 * 5 * 3  # the SVM stands beside both readings of it


def test_nothing_is_printed_of_small_digits():
    assert not any(line.printed for line in _lines(EXPERIMENT.plan(quick=True)))


def test_each_line_reads_its_own_measure(tmp_path):
    plan = EXPERIMENT.plan(splits=1)
    rows = [fake_row(cell) for cell in all_cells(plan)]
    page, table = EXPERIMENT.view(rows, plan, tmp_path)
    held = {tuple(row[n] for n in ("protocol", "model", "setting")): row for row in rows}
    for record in records_of(table):
        setting, top = record["setting"].split()
        for protocol in ("paper", "ours"):
            row = held.get((protocol, record["model"], setting))
            if row:
                assert float(record[protocol]) == row[top.replace("-", "")]
    assert page.name == "table3.md"


def test_a_page_is_written_of_whatever_rows_there_are(tmp_path):
    plan = EXPERIMENT.plan()
    cell = Cell("ours", "mnist", "tkml", "noise=0.3", 2)
    paths = EXPERIMENT.view([fake_row(cell)], plan, tmp_path)
    text = paths[0].read_text()
    assert "30 % of the labels" in text
    assert "20 % of the labels" not in text
    assert len(records_of(paths[1])) == 5
    assert EXPERIMENT.view([], plan, tmp_path) == []


def test_a_quick_run_ends_in_a_page_and_is_not_measured_again(tmp_path, monkeypatch):
    monkeypatch.setattr(mnist_paper, "_QUICK", LoopSetting(None, 2, 20, 0.1))
    experiment = get_experiment("table3")
    plan = experiment.plan(("paper",), quick=True)
    paths = run(experiment, plan, tmp_path)
    assert [path.name for path in paths] == ["table3.md", "table3.csv"]
    before = [path.read_bytes() for path in paths]
    assert "A quick run" in before[0].decode()
    monkeypatch.setattr(mnist_paper, "_fit", lambda *_: pytest.fail("it was fitted again"))
    assert [path.read_bytes() for path in run(experiment, plan, tmp_path)] == before
    for path in paths:
        path.unlink()
    assert [path.read_bytes() for path in draw(experiment, plan, tmp_path)] == before


def test_every_model_of_ours_has_its_lines():
    models = {line.model for line in _lines(EXPERIMENT.plan())}
    assert set(MODELS) | set(mnist_paper.MODELS) == models
