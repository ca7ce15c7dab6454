import csv
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from sorr.experiments import draw, row_file, run
from sorr.experiments.paper import fig_interpretation
from sorr.experiments.paper.fig_interpretation import EXPERIMENT, bits, two_clouds

PLAN = EXPERIMENT.plan()


@pytest.fixture(scope="module")
def fits():
    """Return what was measured of each model."""
    (task,) = EXPERIMENT.tasks(PLAN)
    return {cell.model: found for cell, found in task.measure(task.cells)}


def margins(found):
    X, y, _ = two_clouds()
    coef = [found.values["coef_1"], found.values["coef_2"]]
    return y * (X @ coef + found.values["intercept"])


def test_the_loss_in_bits_is_that_of_the_paper():
    z = np.linspace(-30, 30, 61)
    assert_allclose(bits(z), np.log2(1 + np.exp(-z)), rtol=1e-12, atol=1e-15)
    assert bits(0.0) == 1


def test_eight_of_eighty_labels_are_flipped_and_the_same_ones_each_time():
    X, y, wrong = two_clouds()
    assert (len(y), wrong.sum()) == (80, 8)
    assert np.array_equal(np.where(wrong, -y, y), np.repeat([-1, 1], 40))
    assert np.array_equal(X, two_clouds().X)


@pytest.mark.parametrize(
    ("name", "m", "k"), [("average", 0, 80), ("average top-k", 0, 52), ("ranked range", 8, 52)]
)
def test_thresholds_are_the_losses_at_both_ranks(fits, name, m, k):
    ranked = np.sort(np.log2(1 + np.exp(-margins(fits[name]))))[::-1]
    values = fits[name].values
    assert values["lower"] == pytest.approx(ranked[k - 1], rel=1e-9)
    assert values["upper"] == (pytest.approx(ranked[m - 1], rel=1e-9) if m else math.inf)


def test_the_average_fit_is_logistic_regression(fits):
    X, y, _ = two_clouds()
    referee = LogisticRegression(C=10 / len(y), tol=1e-10).fit(X, y)
    found = fits["average"].values
    assert_allclose([found["coef_1"], found["coef_2"]], referee.coef_[0], rtol=1e-4)


def test_every_row_is_drawn_where_the_formula_of_the_paper_puts_it(fits, tmp_path):
    pytest.importorskip("matplotlib", reason="figures are drawn with matplotlib")
    page, table, figure = run(EXPERIMENT, PLAN, tmp_path)
    lower, upper = (fits["ranked range"].values[name] for name in ("lower", "upper"))
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert_allclose([float(row["margin"]) for row in rows], np.sort(margins(fits["ranked range"])))
    kinds = [row["kind"] for row in rows]
    assert [kinds.count(kind) for kind in ("dropped", "kept", "easy")] == [8, 44, 28]
    for row in rows:
        loss = math.log2(1 + math.exp(-float(row["margin"])))
        expected = {"dropped": upper - lower, "kept": loss - lower, "easy": 0.0}[row["kind"]]
        assert float(row["counted"]) == pytest.approx(expected, abs=1e-9)
    found = sum(row["flipped"] == "True" and row["kind"] == "dropped" for row in rows)
    assert f"{found} of 8" in page.read_text()
    assert figure.stat().st_size > 0


def test_drawing_computes_no_margin_and_no_loss_of_a_row(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="figures are drawn with matplotlib")
    first = run(EXPERIMENT, PLAN, tmp_path)
    before = [path.read_bytes() for path in first]

    def fail(*_):
        raise AssertionError("drawing has computed what was measured")

    for name in ("two_clouds", "_rows", "RankedRangeClassifier"):
        monkeypatch.setattr(fig_interpretation, name, fail)
    page, table, figure = draw(EXPERIMENT, PLAN, tmp_path)
    assert [path.read_bytes() for path in (page, table, figure)] == before
    (row,) = (row for row in row_file(EXPERIMENT, PLAN, tmp_path).read() if row["chosen"]["m"])
    with table.open() as file:
        drawn = list(csv.DictReader(file))
    for name in ("margin", "loss", "counted"):
        assert [float(line[name]) for line in drawn] == row["chosen"]["rows"][name]


def test_without_the_ranked_range_the_other_fits_are_shown(fits, tmp_path):
    pytest.importorskip("matplotlib", reason="figures are drawn with matplotlib")
    page, figure = EXPERIMENT.view([{"model": "average", **fits["average"].values}], PLAN, tmp_path)
    assert "| average" in page.read_text()
    assert "| ranked range" not in page.read_text()
    assert figure.suffix == ".png"
