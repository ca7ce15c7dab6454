import csv
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sorr.experiments import Measured, Plan, get_experiment, run
from sorr.experiments.paper import fig_toy
from sorr.experiments.paper.fig_toy import (
    CASES,
    draw_panel,
    gap_notes,
    legend_handles,
    rank_notes,
)
from sorr.experiments.paper.toy import AUTHORS, KINDS, LINE, MEASURES, toy_rows
from tests.experiments.paper.fakes import row_of, rows_of

EXPERIMENT = get_experiment("fig-toy")
OUTLIERS = get_experiment("fig-toy-outliers")
RUN = Path(__file__).parents[3] / "docs" / "reproduction"


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


@pytest.mark.slow
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


@pytest.fixture
def shown(monkeypatch):
    """Return the names of the sets whose rows a figure shows, once it is drawn."""
    pytest.importorskip("matplotlib", reason="figures are drawn with matplotlib")
    names = []
    monkeypatch.setattr(fig_toy, "toy_rows", lambda name: names.append(name) or toy_rows(name))
    return names


@pytest.mark.usefixtures("data_folder")
def test_the_figure_shows_the_authors_rows_where_their_files_are(tmp_path, shown):
    plan = Plan(("ours",), splits=1)
    EXPERIMENT.view(rows_of(EXPERIMENT.tasks(plan)), plan, tmp_path)
    assert set(shown) == {kind + AUTHORS for kind in KINDS}


@pytest.mark.usefixtures("no_files")
def test_the_authors_numbers_are_shown_without_their_files_and_the_figure_shows_our_draw(
    tmp_path, shown
):
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
    plan = Plan(("paper",), splits=2)
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


@pytest.mark.slow
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


def test_all_six_cases_are_fitted_with_both_losses_by_four_models():
    cells = [cell for task in OUTLIERS.tasks(OUTLIERS.plan()) for cell in task.cells]
    assert len(set(cells)) == len(cells) == 2 * 6 * 2 * 4 * 10
    assert {cell.dataset for cell in cells} == {f"{case} outliers" for case in CASES}


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_as_many_losses_are_left_out_as_there_are_outliers(loss):
    plan = OUTLIERS.plan(("ours",), splits=1)
    (task,) = [
        task
        for task in OUTLIERS.tasks(plan)
        if (task.cells[0].dataset, task.cells[0].setting) == ("10 outliers", loss)
    ]
    found = {cell.model: one for cell, one in task.measure(task.cells)}
    assert {model: tuple(one.chosen.values()) for model, one in found.items()} == {
        "average": (0, 200),
        "maximum": (0, 1),
        "AT_k": (0, 11),
        "AoRR": (10, 11),
    }
    assert found["AoRR"].values["error_rows"] == 0
    assert found["maximum"].status == found["AT_k"].status == "CONSTANT_MODEL"
    theta = [found["AoRR"].values[name] for name in ("coef1", "coef2", "intercept")]
    toy = toy_rows("balanced", 0, 10)
    wrong = toy.y * (toy.X @ theta[:2] + theta[2]) < 0
    assert_array_equal(wrong, toy.outliers)


def test_there_is_a_figure_for_each_protocol_and_a_page_with_every_model(tmp_path):
    pytest.importorskip("matplotlib", reason="figures are drawn with matplotlib")
    plan = Plan(splits=1, quick=True)
    rows = rows_of(OUTLIERS.tasks(plan))
    paths = OUTLIERS.view(rows, plan, tmp_path)
    assert [path.name for path in paths] == [
        "fig-toy-outliers.md",
        "fig-toy-outliers.csv",
        "fig-toy-outliers-ours.png",
        "fig-toy-outliers-paper.png",
    ]
    page = paths[0].read_text()
    for row in rows:
        assert f"{row['error_population']:.2f}" in page


@pytest.mark.slow
def test_equal_rows_of_cases_give_equal_bytes_even_if_most_are_missing(tmp_path):
    pytest.importorskip("matplotlib", reason="figures are drawn with matplotlib")
    plan = Plan(("paper",), splits=2)
    rows = rows_of(OUTLIERS.tasks(plan))[3:20]
    first, second = (
        [path.read_bytes() for path in OUTLIERS.view(rows, plan, tmp_path / name)]
        for name in ("first", "second")
    )
    assert first == second
    assert b"outliers-paper.png" in first[0]
    assert b"outliers-ours.png" not in first[0]


plt = pytest.importorskip("matplotlib.pyplot", reason="figures are drawn with matplotlib")


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def line(*theta):
    return dict(zip(("coef1", "coef2", "intercept"), theta, strict=True))


@pytest.mark.parametrize(
    "theta", [(-1.0, -1.0, 3.0), (2.0, 0.0, -2.0), (0.0, 3.0, -3.0), (1.0, -1.0, 0.0)]
)
def test_a_line_runs_from_edge_to_edge_where_the_prediction_is_zero(ax, theta):
    draw_panel(ax, toy_rows("balanced"), {"AoRR": line(*theta)})
    (drawn,) = ax.get_lines()
    ends = np.column_stack(drawn.get_data())
    assert_allclose(ends @ theta[:2] + theta[2], 0, atol=1e-12)
    edges = np.array([ax.get_xlim(), ax.get_ylim()])
    for end in ends:
        assert np.isclose(end[:, np.newaxis], edges).any()
    assert np.abs(ends[1] - ends[0]).max() > 1


def test_models_without_a_line_in_the_panel_are_named(ax):
    lines = {"maximum": line(0.0, 0.0, 0.0), "average": line(0.1, 0.1, 5.0), "AT_k": line(1, 1, -3)}
    draw_panel(ax, toy_rows("balanced"), lines)
    assert len(ax.get_lines()) == 1
    assert ax.texts[0].get_text() == "line far off: average\nno line: maximum"


def test_a_line_that_was_not_measured_is_not_said_to_be_missing(ax):
    draw_panel(ax, toy_rows("balanced"), {"AoRR": line(np.nan, np.nan, np.nan)})
    assert not ax.texts


def test_outliers_are_crosses_and_no_row_is_drawn_twice(ax):
    toy = toy_rows("balanced", n_outliers=5)
    draw_panel(ax, toy, {})
    drawn = [points.get_offsets() for points in ax.collections]
    assert_array_equal(drawn[-1], toy.X[toy.outliers])
    assert sum(map(len, drawn)) == 200


def test_the_legend_tells_labels_outliers_and_models_apart():
    looks = {(h.get_marker(), h.get_linestyle(), h.get_color()) for h in legend_handles()}
    assert len(looks) == 7


def record(protocol, model, k, population=1.0, **values):
    return {
        "protocol": protocol,
        "dataset": "balanced",
        "loss": "logistic",
        "model": model,
        "k": k,
        "draws": 10,
        "constant": 0,
        "objective": 0.5,
        "gap": 1e-9,
        "error_rows": 1.0,
        "error_population": population,
        "coef1": -1.0,
        "coef2": -2.0,
        "intercept": 3.0,
        **values,
    }


def test_errors_of_equal_ranks_are_compared():
    records = [
        record("ours", "AoRR", 2, 0.1),
        record("ours", "AoRR", 3, 0.2),
        record("ours", "AoRR", 4, 0.3),
        record("ours", "AT_k", 2, 50.0),
        record("ours", "AT_k", 3, 0.2),
        record("ours", "AT_k", 4, 0.25),
    ]
    (note,) = rank_notes(records)
    assert "lower mean error than AT_k at 1 of 3 points of (e) to (h), the same at 1, and" in note
    assert "a higher one, by at most 0.05" in note
    assert note.endswith("AoRR is at most 0.30 %, and that of AT_k at most 50.00 %.")


def test_the_largest_gap_of_our_fits_is_told():
    records = [
        record("ours", "AT_k", 2, gap=2.1e-5),
        record("ours", "AT_k", 3),
        record("paper", "AT_k", 2, gap=float("nan")),
    ]
    (note,) = gap_notes(records)
    assert "of at most 0.002 % of the objective" in note
    assert "of less than 0.001 % of the objective" in gap_notes(records[1:])[0]
    assert gap_notes(records[2:]) == []


# -- What the fixed notes of both pages say, checked on the committed run --------------------------

CONSTANT = {"logistic": np.log(2), "hinge": 1.0}
MINIMUM = {"logistic": 0.04, "hinge": 0.002}


def committed(name, **wanted):
    """Return the committed records of the lines of a figure that have these values."""
    with (RUN / f"{name}.csv").open(newline="") as file:
        records = [
            record
            for record in csv.DictReader(file)
            if name == "fig-toy-outliers" or record["k"] in ("1", "2", "200")
        ]
    found = [r for r in records if all(r[key] == value for key, value in wanted.items())]
    assert found
    return found


FIGURES = pytest.mark.parametrize("name", ["fig-toy", "fig-toy-outliers"])


@FIGURES
@pytest.mark.parametrize("model", ["maximum", "AT_k"])
def test_our_fits_without_a_line_have_the_objective_of_the_constant_model(name, model):
    for found in committed(name, protocol="ours", model=model):
        if found["constant"] == found["draws"]:
            assert float(found["objective"]) == pytest.approx(CONSTANT[found["loss"]], rel=1e-6)


@FIGURES
@pytest.mark.parametrize("loss", CONSTANT)
def test_the_loop_stays_near_the_constant_model_and_ours_reaches_the_minimum(name, loss):
    first_rank = {"k": "2"} if name == "fig-toy" else {}
    of_model = {"model": "AoRR", "loss": loss, **first_rank}
    for found in committed(name, protocol="paper", **of_model):
        assert 0.99 * CONSTANT[loss] < float(found["objective"]) < CONSTANT[loss]
    for found in committed(name, protocol="ours", **of_model):
        assert found["constant"] == "0"
        assert float(found["objective"]) < MINIMUM[loss]


@FIGURES
@pytest.mark.parametrize("model", ["maximum", "AT_k"])
def test_lines_of_the_loop_for_convex_losses_are_worse_than_the_constant_model(name, model):
    first_rank = {"k": "2"} if name == "fig-toy" and model == "AT_k" else {}
    for found in committed(name, protocol="paper", model=model, **first_rank):
        assert float(found["objective"]) > CONSTANT[found["loss"]]


@FIGURES
@pytest.mark.parametrize("loss", CONSTANT)
def test_the_loop_stops_before_the_minimum_of_the_average_loss(name, loss):
    reached = [
        [float(found["objective"]) for found in committed(name, model="average", **which)]
        for which in ({"protocol": "ours", "loss": loss}, {"protocol": "paper", "loss": loss})
    ]
    assert all(ours < paper for ours, paper in zip(*reached, strict=True))


@pytest.mark.parametrize("loss", CONSTANT)
def test_the_line_does_not_change_with_the_number_of_outliers(loss):
    cases = committed("fig-toy-outliers", protocol="ours", model="AoRR", loss=loss)
    lines = np.array([[float(case[name]) for name in LINE] for case in cases])
    assert len(lines) == len(CASES)
    assert_allclose(lines, np.broadcast_to(lines[0], lines.shape), rtol=1e-3)
