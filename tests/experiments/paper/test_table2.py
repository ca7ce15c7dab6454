import csv

import pytest

from sorr.experiments import Plan, draw, get_experiment, row_file, run
from sorr.experiments.paper.label_sets import SCORERS
from sorr.experiments.published import MULTILABEL

TABLE = get_experiment("table2")
FULL = TABLE.plan()


def row(protocol, dataset, model, setting, split, accuracy):
    names = {"protocol": protocol, "dataset": dataset, "model": model, "setting": setting}
    return {**names, "split": split, "accuracy": accuracy, "precision": 50.0}


def records(path):
    with path.open() as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quick")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SORR_DATA", str(folder / "nothing is here"))
        return folder, run(TABLE, TABLE.plan(quick=True), folder)


def test_a_full_plan_has_every_cell_once():
    cells = [cell for task in TABLE.tasks(FULL) for cell in task.cells]
    assert len(cells) == len(set(cells)) == 10 * 3 * 5 * (len(SCORERS) + 3)
    assert {cell.dataset for cell in cells} == set(MULTILABEL)
    assert {cell.setting for cell in cells} == {f"k={k}" for k in range(1, 6)}
    assert {cell.model for cell in cells if cell.protocol == "paper"} == {"LR", "LSEP", "tkml"}


def test_a_plan_for_one_protocol_has_no_cells_of_the_other():
    tasks = TABLE.tasks(Plan(("ours",), 2))
    assert {cell.protocol for task in tasks for cell in task.cells} == {"ours"}
    assert len(tasks) == 6


@pytest.mark.slow
def test_a_quick_run_measures_every_cell_without_any_file(quick):
    folder, paths = quick
    assert [path.name for path in paths] == ["table2.md", "table2.csv"]
    found = records(paths[1])
    assert len(found) == 2 * len(SCORERS)
    for record in found:
        assert 0 <= float(record["ours"]) <= 100
        has_paper = record["model"] in {"LR", "LSEP", "tkml"}
        assert (record["paper"] != "nan") == has_paper
    assert "A quick run" in paths[0].read_text()
    assert (folder / "rows" / "table2-quick.csv").exists()


def test_running_again_measures_nothing_and_gives_the_same_bytes(quick):
    folder, paths = quick
    before = [path.read_bytes() for path in paths]
    rows = (folder / "rows" / "table2-quick.csv").read_bytes()
    for path in paths:
        path.unlink()
    assert run(TABLE, TABLE.plan(quick=True), folder) == paths
    assert [path.read_bytes() for path in paths] == before
    assert (folder / "rows" / "table2-quick.csv").read_bytes() == rows


def test_printed_numbers_stand_beside_ours_and_misses_are_marked(tmp_path):
    rows = [
        row("ours", "emotions", "LR", "k=1", 0, 74.0),
        row("ours", "emotions", "tkml", "k=1", 0, 66.0),
        row("ours", "scene", "LR", "k=2", 0, 90.0),
        row("paper", "emotions", "tkml", "k=1", 0, 65.99),
    ]
    page, table = TABLE.view(rows, FULL, tmp_path)
    by_cell = {(r["dataset"], r["setting"], r["model"]): r for r in records(table)}
    assert len(by_cell) == 3
    tkml = by_cell["emotions", "k=1", "tkml"]
    assert (tkml["printed"], tkml["reached"]) == ("76.8", "False")
    assert float(tkml["paper_minus_printed"]) == pytest.approx(-10.81)
    assert float(tkml["ours_minus_LR"]) == pytest.approx(-8.0)
    assert by_cell["scene", "k=2", "LR"]["reached"] == "True"
    text = page.read_text()
    assert "-10.80†" in text
    assert text.count("†") == 2  # once where it is missed, once where the mark is explained


def test_the_notes_name_what_nothing_reaches_and_keep_to_what_is_there(tmp_path):
    rows = [
        row("ours", "emotions", "LR", "k=1", 0, 74.0),
        row("ours", "emotions", "subset", "k=1", 0, 75.25),
        row("ours", "yeast", "LR", "k=1", 0, 77.57),
        row("ours", "yeast", "label sets", "k=5", 0, 47.5),
        row("paper", "emotions", "tkml", "k=1", 0, 70.0),
        row("paper", "yeast", "tkml", "k=4", 0, 43.97),
    ]
    page, _ = TABLE.view(rows, FULL, tmp_path)
    text = " ".join(page.read_text().split())
    assert "picked afterwards: emotions k=1 (tkml 76.80, at most 75.25 by subset). " in f"{text} "
    assert "-3.15 points on average over 2 cells, from -6.80 to +0.50" in text
    assert "Emotions, k=1" not in text  # on one split it need not be so
    whole = [row("ours", "scene", "LR", "k=1", split, 76.0) for split in range(10)]
    page, _ = TABLE.view([*rows, *whole], FULL, tmp_path)
    assert "Scene: plain LR" in page.read_text()
    assert "Emotions, k=1" not in page.read_text()


def test_with_no_rows_nothing_is_written(tmp_path):
    assert draw(TABLE, FULL, tmp_path) == []
    assert list(tmp_path.iterdir()) == []


PRECISION = get_experiment("table-ap")
PLAN = PRECISION.plan(quick=True)


def precision_row(model, setting, precision, validation, split=0, protocol="ours"):
    names = {"protocol": protocol, "dataset": "synthetic", "model": model, "setting": setting}
    chosen = {"validation_precision": validation}
    return {**names, "split": split, "accuracy": 1.0, "precision": precision, "chosen": chosen}


def precision_records(path):
    with path.open() as file:
        return {(r["setting"], r["model"]): r for r in csv.DictReader(file)}


def test_it_looks_at_the_rows_of_table_2(tmp_path):
    assert PRECISION.tasks(PLAN) == TABLE.tasks(PLAN)
    assert PRECISION.measures == TABLE.measures
    assert row_file(PRECISION, PLAN, tmp_path).path == row_file(TABLE, PLAN, tmp_path).path


def test_after_table_2_nothing_is_measured_again(tmp_path):
    file = row_file(TABLE, PLAN, tmp_path)
    for task in TABLE.tasks(PLAN):
        for cell in task.cells:
            chosen = {"validation_precision": 60.0}
            file.add({**cell._asdict(), "accuracy": 50.0, "precision": 70.0, "chosen": chosen})
    before = file.path.read_bytes()
    page, table = run(PRECISION, PLAN, tmp_path)
    assert (page.name, table.name) == ("table-ap.md", "table-ap.csv")
    assert file.path.read_bytes() == before
    assert {record["ours"] for record in precision_records(table).values()} == {"70.0"}


def test_k_is_chosen_by_validation_in_each_split_whatever_the_test_rows_say(tmp_path):
    rows = [
        precision_row("tkml", "k=1", precision=80.0, validation=70.0),
        precision_row("tkml", "k=2", precision=60.0, validation=75.0),
        precision_row("tkml", "k=1", precision=50.0, validation=71.0, split=1),
        precision_row(
            "tkml", "k=2", precision=90.0, validation=71.0, split=1
        ),  # a tie: the smallest k
        precision_row("LR", "k=1", precision=65.0, validation=72.0),
        precision_row("LR", "k=2", precision=65.0, validation=72.0),
    ]
    _, table = PRECISION.view(rows, PLAN, tmp_path)
    found = precision_records(table)
    assert list(found) == [("any", "LR"), ("chosen", "tkml"), ("k=1", "tkml"), ("k=2", "tkml")]
    assert float(found["chosen", "tkml"]["ours"]) == pytest.approx((60.0 + 50.0) / 2)
    assert float(found["k=2", "tkml"]["ours"]) == pytest.approx((60.0 + 90.0) / 2)
    assert float(found["any", "LR"]["ours"]) == 65.0
    assert float(found["chosen", "tkml"]["ours_minus_LR"]) == pytest.approx(-5.0)


def test_a_split_counts_for_the_chosen_k_only_once_all_are_measured(tmp_path):
    rows = [
        precision_row("tkml", "k=1", precision=80.0, validation=70.0),
        precision_row("tkml", "k=2", precision=60.0, validation=60.0),
        precision_row("tkml", "k=1", precision=10.0, validation=70.0, split=1),
    ]
    _, table = PRECISION.view(rows, PLAN, tmp_path)
    found = precision_records(table)
    assert float(found["chosen", "tkml"]["ours"]) == 80.0
    assert float(found["k=1", "tkml"]["ours"]) == 45.0


def test_the_printed_precision_stands_beside_the_chosen_k_alone(tmp_path):
    rows = [
        {**precision_row(model, f"k={k}", 80.0, 70.0), "dataset": "emotions"}
        for model in ("LR", "tkml")
        for k in range(1, 6)
    ]
    page, table = PRECISION.view(rows, PRECISION.plan(), tmp_path)
    found = precision_records(table)
    assert found["chosen", "tkml"]["printed"] == "84.82"
    assert found["chosen", "tkml"]["reached"] == "False"
    assert found["k=1", "tkml"]["printed"] == ""
    assert found["any", "LR"]["reached"] == "True"
    assert "+5.15 on emotions" in page.read_text()
