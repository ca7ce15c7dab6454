import csv

import pytest

from sorr.experiments import get_experiment, row_file, run

TABLE = get_experiment("table-ap")
FITS = get_experiment("table2")
PLAN = TABLE.plan(quick=True)


def row(model, setting, precision, validation, split=0, protocol="ours"):
    names = {"protocol": protocol, "dataset": "synthetic", "model": model, "setting": setting}
    chosen = {"validation_precision": validation}
    return {**names, "split": split, "accuracy": 1.0, "precision": precision, "chosen": chosen}


def records(path):
    with path.open() as file:
        return {(r["setting"], r["model"]): r for r in csv.DictReader(file)}


def test_it_looks_at_the_rows_of_table_2(tmp_path):
    assert TABLE.tasks(PLAN) == FITS.tasks(PLAN)
    assert TABLE.measures == FITS.measures
    assert row_file(TABLE, PLAN, tmp_path).path == row_file(FITS, PLAN, tmp_path).path


def test_after_table_2_nothing_is_measured_again(tmp_path):
    file = row_file(FITS, PLAN, tmp_path)
    for task in FITS.tasks(PLAN):
        for cell in task.cells:
            chosen = {"validation_precision": 60.0}
            file.add({**cell._asdict(), "accuracy": 50.0, "precision": 70.0, "chosen": chosen})
    before = file.path.read_bytes()
    page, table = run(TABLE, PLAN, tmp_path)
    assert (page.name, table.name) == ("table-ap.md", "table-ap.csv")
    assert file.path.read_bytes() == before
    assert {record["ours"] for record in records(table).values()} == {"70.0"}


def test_k_is_chosen_by_validation_in_each_split_whatever_the_test_rows_say(tmp_path):
    rows = [
        row("tkml", "k=1", precision=80.0, validation=70.0),
        row("tkml", "k=2", precision=60.0, validation=75.0),
        row("tkml", "k=1", precision=50.0, validation=71.0, split=1),
        row("tkml", "k=2", precision=90.0, validation=71.0, split=1),  # a tie: the smallest k
        row("LR", "k=1", precision=65.0, validation=72.0),
        row("LR", "k=2", precision=65.0, validation=72.0),
    ]
    _, table = TABLE.view(rows, PLAN, tmp_path)
    found = records(table)
    assert list(found) == [("any", "LR"), ("chosen", "tkml"), ("k=1", "tkml"), ("k=2", "tkml")]
    assert float(found["chosen", "tkml"]["ours"]) == pytest.approx((60.0 + 50.0) / 2)
    assert float(found["k=2", "tkml"]["ours"]) == pytest.approx((60.0 + 90.0) / 2)
    assert float(found["any", "LR"]["ours"]) == 65.0
    assert float(found["chosen", "tkml"]["ours_minus_LR"]) == pytest.approx(-5.0)


def test_a_split_counts_for_the_chosen_k_only_once_all_are_measured(tmp_path):
    rows = [
        row("tkml", "k=1", precision=80.0, validation=70.0),
        row("tkml", "k=2", precision=60.0, validation=60.0),
        row("tkml", "k=1", precision=10.0, validation=70.0, split=1),
    ]
    _, table = TABLE.view(rows, PLAN, tmp_path)
    found = records(table)
    assert float(found["chosen", "tkml"]["ours"]) == 80.0
    assert float(found["k=1", "tkml"]["ours"]) == 45.0


def test_the_printed_precision_stands_beside_the_chosen_k_alone(tmp_path):
    rows = [
        {**row(model, f"k={k}", 80.0, 70.0), "dataset": "emotions"}
        for model in ("LR", "tkml")
        for k in range(1, 6)
    ]
    page, table = TABLE.view(rows, TABLE.plan(), tmp_path)
    found = records(table)
    assert found["chosen", "tkml"]["printed"] == "84.82"
    assert found["chosen", "tkml"]["reached"] == "False"
    assert found["k=1", "tkml"]["printed"] == ""
    assert found["any", "LR"]["reached"] == "True"
    assert "+5.15 on emotions" in page.read_text()
