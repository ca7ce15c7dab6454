import math

import numpy as np
import pytest

from sorr.experiments import Cell
from sorr.experiments.paper.timing import EXPERIMENT, growth, problem, split_steps

QUICK = EXPERIMENT.plan(quick=True)
INNER = 100
MODELS = ("dca stochastic", "dca deterministic", "trim")


@pytest.fixture(scope="module")
def rows():
    """Return what is measured with few rows."""
    cells = tuple(Cell("ours", "n=100", model, "", 0) for model in MODELS)
    measure = EXPERIMENT.tasks(QUICK)[0].measure
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sorr.experiments.paper.timing._ROUNDS", 1)
        patch.setattr("sorr.experiments.paper.timing._INNER", INNER)
        return [
            {**cell._asdict(), **found.values, "objective": found.objective}
            for cell, found in measure(cells)
        ]


def test_steps_are_told_apart_whatever_they_cost():
    def times(inner_steps):
        delays = np.array([0.5, 0.0, 2.0])  # by something else: the lowest cost is what counts
        return np.cumsum([7.0, *(2.0 + 0.25 * inner_steps + delays)])

    assert split_steps(times(1), times(4), 4) == (pytest.approx(2.0), pytest.approx(0.25))


@pytest.mark.parametrize("power", [0.0, 1.0, 1.5])
def test_growth_is_the_exponent(power):
    sizes = np.array([1e3, 1e4, 1e6])
    assert growth(sizes, 7 * sizes**power) == pytest.approx(power, abs=1e-12)


def test_growth_of_n_log_n_is_the_power_that_the_page_names():
    sizes = np.geomspace(1e3, 1e6, 4)
    assert growth(sizes, sizes * np.log(sizes)) == pytest.approx(1.1, abs=0.005)


def test_the_problem_drops_a_tenth_and_is_the_same_each_time():
    first, second = problem(50), problem(50)
    (group,) = first.groups
    assert (group.m, group.k) == (5, 40)
    theta = np.ones(first.shape)
    assert first.value(theta) == second.value(theta)


def test_a_whole_run_takes_no_less_than_its_steps(rows):
    found = {row["model"]: row for row in rows}
    steps = found["dca stochastic"]
    assert 0 < steps["inner"] < steps["whole"]
    assert steps["whole"] >= 10 * (steps["outer"] + INNER * steps["inner"])
    full = found["dca deterministic"]
    assert full["whole"] >= 5 * full["outer"] > 0  # half of the steps take no less
    assert found["trim"]["reading"] == pytest.approx(
        found["trim"]["whole"] / found["trim"]["readings"], rel=1e-9
    )


def test_what_a_solver_has_no_steps_of_is_left_open(rows):
    found = {row["model"]: row for row in rows}
    assert math.isnan(found["dca stochastic"]["reading"])
    assert math.isnan(found["dca deterministic"]["inner"])
    assert math.isnan(found["trim"]["outer"])


def test_objectives_are_those_reached_and_trim_is_lowest(rows):
    reached = {row["model"]: row["objective"] for row in rows}
    start = math.log(2)
    assert reached["trim"] <= reached["dca deterministic"] < reached["dca stochastic"] < start


def test_the_page_tells_how_costs_grow(rows, tmp_path):
    pytest.importorskip("matplotlib", reason="figures are drawn with matplotlib")
    more = [
        row | {"dataset": "n=10000"} | {name: 100 * row[name] for name in EXPERIMENT.measures}
        for row in rows
    ]
    page, table, figure = EXPERIMENT.view(rows + more, QUICK, tmp_path)
    grown = [
        line
        for line in page.read_text().splitlines()
        if line.endswith(" 1.00                    |")
    ]
    assert len(grown) == 8
    assert len(table.read_text().splitlines()) == 1 + 6
    assert figure.stat().st_size > 0


def test_one_size_is_enough_to_draw(rows, tmp_path):
    pytest.importorskip("matplotlib", reason="figures are drawn with matplotlib")
    page, *_ = EXPERIMENT.view(rows[:1], QUICK, tmp_path)
    assert "| 100  | dca stochastic |" in page.read_text()
