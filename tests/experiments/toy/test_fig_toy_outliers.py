import pytest
from numpy.testing import assert_array_equal

from sorr.experiments import Plan, get_experiment
from sorr.experiments.toy.data import toy_rows
from sorr.experiments.toy.fig_toy_outliers import CASES
from tests.experiments.toy.fakes import rows_of

EXPERIMENT = get_experiment("fig-toy-outliers")


def test_all_six_cases_are_fitted_with_both_losses_by_four_models():
    cells = [cell for task in EXPERIMENT.tasks(EXPERIMENT.plan()) for cell in task.cells]
    assert len(set(cells)) == len(cells) == 2 * 6 * 2 * 4 * 10
    assert {cell.dataset for cell in cells} == {f"{case} outliers" for case in CASES}


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_as_many_losses_are_left_out_as_there_are_outliers(loss):
    plan = EXPERIMENT.plan(("ours",), splits=1)
    (task,) = [
        task
        for task in EXPERIMENT.tasks(plan)
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
    rows = rows_of(EXPERIMENT.tasks(plan))
    paths = EXPERIMENT.view(rows, plan, tmp_path)
    assert [path.name for path in paths] == [
        "fig-toy-outliers.md",
        "fig-toy-outliers.csv",
        "fig-toy-outliers-ours.png",
        "fig-toy-outliers-paper.png",
    ]
    page = paths[0].read_text()
    for row in rows:
        assert f"{row['error_population']:.2f}" in page


def test_equal_rows_give_equal_bytes_even_if_most_are_missing(tmp_path):
    pytest.importorskip("matplotlib", reason="figures are drawn with matplotlib")
    plan = Plan(("paper",), splits=2)
    rows = rows_of(EXPERIMENT.tasks(plan))[3:20]
    first, second = (
        [path.read_bytes() for path in EXPERIMENT.view(rows, plan, tmp_path / name)]
        for name in ("first", "second")
    )
    assert first == second
    assert b"outliers-paper.png" in first[0]
    assert b"outliers-ours.png" not in first[0]
