import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sorr.experiments.toy.data import toy_rows

plt = pytest.importorskip("matplotlib.pyplot", reason="figures are drawn with matplotlib")

from sorr.experiments.toy.panels import draw_boundaries, legend_handles  # noqa: E402


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
    draw_boundaries(ax, toy_rows("balanced"), {"AoRR": line(*theta)})
    (drawn,) = ax.get_lines()
    ends = np.column_stack(drawn.get_data())
    assert_allclose(ends @ theta[:2] + theta[2], 0, atol=1e-12)
    edges = np.array([ax.get_xlim(), ax.get_ylim()])
    for end in ends:
        assert np.isclose(end[:, np.newaxis], edges).any()
    assert np.abs(ends[1] - ends[0]).max() > 1


def test_models_without_a_line_in_the_panel_are_named(ax):
    lines = {"maximum": line(0.0, 0.0, 0.0), "average": line(0.1, 0.1, 5.0), "AT_k": line(1, 1, -3)}
    draw_boundaries(ax, toy_rows("balanced"), lines)
    assert len(ax.get_lines()) == 1
    assert ax.texts[0].get_text() == "line far off: average\nno line: maximum"


def test_a_line_that_was_not_measured_is_not_said_to_be_missing(ax):
    draw_boundaries(ax, toy_rows("balanced"), {"AoRR": line(np.nan, np.nan, np.nan)})
    assert not ax.texts


def test_outliers_are_crosses_and_no_row_is_drawn_twice(ax):
    toy = toy_rows("balanced", n_outliers=5)
    draw_boundaries(ax, toy, {})
    drawn = [points.get_offsets() for points in ax.collections]
    assert_array_equal(drawn[-1], toy.X[toy.outliers])
    assert sum(map(len, drawn)) == 200


def test_the_legend_tells_labels_outliers_and_models_apart():
    looks = {(h.get_marker(), h.get_linestyle(), h.get_color()) for h in legend_handles()}
    assert len(looks) == 7
