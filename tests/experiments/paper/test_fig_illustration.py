import csv
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sorr.experiments import Cell, run
from sorr.experiments.paper.fig_illustration import AGGREGATES, EXPERIMENT, REGULAR, values_with

PLAN = EXPERIMENT.plan()


def measured(name, outlier):
    cell = Cell("ours", "values", name, f"outlier={outlier!r}", 0)
    ((_, found),) = EXPERIMENT.tasks(PLAN)[0].measure((cell,))
    return found.values


def by_sorting(name, outlier):
    """Return an aggregate as it is defined, from all values sorted."""
    ranked = sorted([outlier, *REGULAR], reverse=True)
    return {
        "average": sum(ranked) / 10,
        "maximum": ranked[0],
        "average top-k": sum(ranked[:5]) / 5,
        "median": float(np.median(ranked)),
        "trimmed": sum(ranked[1:]) / 9,
        "ranked range": sum(ranked[1:5]) / 4,
    }[name]


@pytest.mark.parametrize("name", AGGREGATES)
@settings(max_examples=50)
@given(outlier=st.floats(0, 100))
def test_aggregates_are_what_they_are_defined_to_be(name, outlier):
    assert measured(name, outlier)["value"] == pytest.approx(by_sorting(name, outlier), rel=1e-12)


@pytest.mark.parametrize("name", AGGREGATES)
@pytest.mark.parametrize("outlier", [0.1, 0.9, 1.7, 2.4, 5.0])
def test_the_share_of_the_outlier_is_how_much_the_aggregate_follows_it(name, outlier):
    step = 1e-3
    ahead, behind = (by_sorting(name, outlier + move) for move in (step, -step))
    slope = (ahead - behind) / (2 * step)
    assert measured(name, outlier)["share"] == pytest.approx(slope, abs=1e-9)


def test_the_outlier_is_one_of_the_values_and_no_other_changes():
    assert values_with(7.0).tolist() == [7.0, *REGULAR]


def test_between_the_sizes_that_are_drawn_aggregates_are_straight_lines():
    cells = EXPERIMENT.tasks(PLAN)[0].cells
    sizes = sorted({float(cell.setting.partition("=")[2]) for cell in cells})
    for low, high in pairwise(sizes):
        for name in AGGREGATES:
            ends = by_sorting(name, low) + by_sorting(name, high)
            assert by_sorting(name, (low + high) / 2) == pytest.approx(ends / 2)


def test_the_page_says_how_far_each_aggregate_moved(tmp_path):
    pytest.importorskip("matplotlib", reason="figures are drawn with matplotlib")
    page, table, figure = run(EXPERIMENT, PLAN, tmp_path)
    lines = page.read_text().splitlines()
    cells = {line.split("|")[1].strip(): line.split("|") for line in lines if line.startswith("|")}
    for name in AGGREGATES:
        moved = by_sorting(name, 8.0) - by_sorting(name, 4.0)
        assert float(cells[name][6]) == pytest.approx(moved, abs=5e-4)
    with table.open() as file:
        assert len(list(csv.DictReader(file))) == len(EXPERIMENT.tasks(PLAN)[0].cells)
    assert figure.stat().st_size > 0


def test_a_part_of_the_rows_is_enough_to_draw(tmp_path):
    pytest.importorskip("matplotlib", reason="figures are drawn with matplotlib")
    row = {"model": "maximum", "setting": "outlier=4", "value": 4.0, "share": 1.0}
    page, _, figure = EXPERIMENT.view([row], PLAN, tmp_path)
    assert "| maximum" in page.read_text()
    assert figure.stat().st_size > 0
