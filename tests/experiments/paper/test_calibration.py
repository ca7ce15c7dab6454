import csv
import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from sorr.datasets import load_dataset
from sorr.experiments import Cell, seed_of
from sorr.experiments.paper.calibration import EXPERIMENT, PAIRS, POPULATION, verdict

QUICK = EXPERIMENT.plan(quick=True)
FULL = EXPERIMENT.plan()
POINT, POINTS, MONK = EXPERIMENT.tasks(QUICK)[:3]


def rows_of(task, cells=None):
    """Return what a task measures of some of its cells, as rows."""
    names = dict.fromkeys(EXPERIMENT.measures, math.nan)
    return [
        {**cell._asdict(), **names, **found.values, "chosen": dict(found.chosen)}
        for cell, found in task.measure(task.cells if cells is None else cells)
    ]


@pytest.fixture(scope="module")
def theory():
    return rows_of(POINT) + rows_of(POINTS)


def test_full_runs_hold_all_cells_of_quick_ones():
    cells = [{cell for task in EXPERIMENT.tasks(p) for cell in task.cells} for p in (QUICK, FULL)]
    assert cells[0] < cells[1]
    assert {cell.dataset for cell in cells[0]} == {"point", "three points", "monk", "titanic"}


def test_below_the_loss_at_zero_all_signs_are_right_and_nowhere_else(theory):
    for row in theory:
        if row["dataset"] == "point":
            expected = row["lower"] < min(row["upper"], 1)
            assert (verdict(row) in ("right", "at infinity")) == expected
            assert (verdict(row) == "zero") == (row["lower"] == 1 < row["upper"])


def test_the_rule_tells_what_becomes_of_the_population(theory):
    error, least = 195, 40  # rows in a thousand: Bayes' errors, and the smallest |2 eta - 1| mass
    for row in theory:
        if row["dataset"] == "three points":
            m, k = (round(1000 * float(part.split("=")[1])) for part in row["setting"].split())
            if m + k <= 2 * error:
                assert verdict(row) == "zero"
            else:
                assert (verdict(row) == "any") == (m - error >= least)
            assert row["error"] == 100 * error / POPULATION.total


def test_predictions_in_a_row_are_those_of_its_ends(theory):
    for row in theory:
        if row["dataset"] == "three points":
            found = np.array(row["chosen"]["predictions"].split(), dtype=float) * POPULATION.bayes
            assert row["low"] == pytest.approx(found.min(), rel=1e-3)
            assert row["high"] == pytest.approx(found.max(), rel=1e-3)


def test_both_sides_of_the_theorem_are_among_the_pairs():
    edges = [cuts for cuts in PAIRS if cuts.lower >= min(cuts.upper, 1)]
    assert 0 < len(edges) < len(PAIRS)


def test_an_error_of_printed_ranks_is_that_of_logistic_regression_on_half_of_the_rows():
    (row,) = rows_of(MONK, MONK.cells[:1])
    monk = load_dataset("monk")
    half = np.random.default_rng(seed_of("calibration", "monk", 0)).permutation(432)[:216]
    X, y = StandardScaler().fit_transform(monk.data[half]), monk.target[half]
    referee = LogisticRegression(C=1e4 / 216, max_iter=1000).fit(X, y)
    assert row["error"] == pytest.approx(100 * np.mean(referee.predict(X) != y))
    assert 0 < row["infimum"] < 1
    assert row["lower"] < row["upper"]
    assert row["chosen"] == {"m": 20, "k": 70, "C": 1e4, "rows": 216}


def test_the_page_counts_verdicts_and_shows_each_split(theory, tmp_path):
    pytest.importorskip("matplotlib", reason="figures are drawn with matplotlib")
    cell = Cell("ours", "monk", "logistic", "m=20 k=70", 0)
    values = dict.fromkeys(EXPERIMENT.measures, math.nan) | {"error": 25.0, "infimum": 0.5}
    splits = [{**cell._asdict(), **values, "split": i, "chosen": {"rows": 216}} for i in range(2)]
    page, table, figure = EXPERIMENT.view(theory + splits, QUICK, tmp_path)
    lines = page.read_text().splitlines()
    (edge,) = [line for line in lines if line.startswith("| hinge    | 1      | 1.5")]
    assert [part.strip() for part in edge.split("|")[4:8]] == ["0", "0", "4", "0"]
    (monk,) = [line for line in lines if line.startswith("| monk")]
    assert [part.strip() for part in monk.split("|")[6:9]] == ["20.8", "25.0, 25.0", "0.500, 0.500"]
    assert "A quick run" in page.read_text()
    with table.open() as file:
        assert [row["verdict"] for row in csv.DictReader(file)] == list(map(verdict, theory)) + [
            ""
        ] * 2
    assert figure.stat().st_size > 0
