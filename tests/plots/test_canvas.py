import builtins

import pytest

from sorr.plots import (
    CLASS_COLOURS,
    MARKERS,
    CalibrationDisplay,
    DecisionBoundaryDisplay,
    RankedLossDisplay,
    TendencyDisplay,
    TraceDisplay,
)
from sorr.plots.canvas import place_legend, take_axes
from tests.plots.fakes import pooled, two_classes

plt = pytest.importorskip("matplotlib.pyplot", reason="plots are drawn with matplotlib")


@pytest.fixture
def no_matplotlib(monkeypatch):
    real = builtins.__import__

    def refuse(name, *rest, **options):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(f"No module named {name!r}")
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)


def draw(display):
    model, X, y = two_classes()
    if display is RankedLossDisplay:
        return display.from_estimator(pooled([3.0, 1.0, 2.0], 1, 3))
    if display is TraceDisplay:
        return display([(0, "start", 1.0, 0.0)]).plot()
    if display is TendencyDisplay:
        return display([0, 0.1], [0.2, 0.1]).plot()
    return display.from_estimator(model, X, y)


ALL = [
    CalibrationDisplay,
    DecisionBoundaryDisplay,
    RankedLossDisplay,
    TendencyDisplay,
    TraceDisplay,
]


@pytest.mark.usefixtures("no_matplotlib")
@pytest.mark.parametrize("display", ALL)
def test_without_matplotlib_the_message_says_how_to_install_it(display):
    message = rf'{display.__name__}.plot needs matplotlib.*: pip install "sorr\[plot\]"'
    with pytest.raises(ImportError, match=message):
        draw(display)


@pytest.mark.parametrize("display", ALL)
def test_every_display_has_axes_with_labels_and_a_title_in_a_figure(display):
    drawn = draw(display)
    assert isinstance(drawn, display)
    assert drawn.ax_.figure is drawn.figure_
    assert drawn.ax_.get_xlabel() != ""
    assert drawn.ax_.get_ylabel() != ""
    assert drawn.ax_.get_title() != ""
    assert drawn.ax_.get_legend() is not None


@pytest.mark.parametrize("display", ALL)
def test_no_display_changes_the_settings_of_matplotlib(display):
    before = dict(plt.rcParams)
    draw(display).figure_.canvas.draw()
    assert dict(plt.rcParams) == before


@pytest.mark.parametrize("display", ALL)
def test_the_legend_of_a_new_figure_covers_no_data(display):
    drawn = draw(display)
    drawn.figure_.canvas.draw()
    legend = drawn.ax_.get_legend().get_window_extent()
    if display is RankedLossDisplay:  # inside, where the curve is lower
        points = drawn.ax_.transData.transform(drawn.lines_[0].get_xydata())
        assert not any(legend.contains(*point) for point in points)
    else:
        assert legend.x0 > drawn.ax_.get_window_extent().x1


def test_axes_that_are_given_are_drawn_on():
    _, ax = plt.subplots()
    assert take_axes(ax, "test", (4, 3)) is ax
    assert len(plt.get_fignums()) == 1


def test_a_legend_in_axes_without_layout_has_a_strip_of_its_own():
    _, ax = plt.subplots()
    ax.plot([0, 1, 2], [0.0, 5.0, 0.0], label="as high as it gets")
    place_legend(ax)
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().y0 > ax.transData.transform((1, 5.0))[1]


def test_classes_differ_in_colour_and_in_mark():
    assert len(set(CLASS_COLOURS)) == len(CLASS_COLOURS)
    assert len(set(MARKERS)) == len(MARKERS)
