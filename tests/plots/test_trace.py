from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from sorr.plots import TraceDisplay

TRACE = (
    (0, "start", 0.9, 1.0),
    (0, "fast", 0.5, 6.0),
    (1, "start", 0.8, 7.0),
    (1, "fast", 0.4, 9.0),
    (0, "trim", 0.45, 20.0),
    (1, "trim", 0.3, 30.0),
)


def fitted(trace=TRACE):
    return SimpleNamespace(trace_=trace)


def test_each_start_has_a_line_of_its_steps_in_their_order():
    lines = TraceDisplay.from_estimator(fitted()).lines_
    assert_array_equal(lines[0].get_ydata(), [0.9, 0.5, 0.45])
    assert_array_equal(lines[1].get_ydata(), [0.8, 0.4, 0.3])
    assert_array_equal(lines[1].get_xdata(), [0, 1, 2])


def test_the_lowest_start_is_on_top_and_named():
    display = TraceDisplay.from_estimator(fitted())
    assert display.best_start == 1
    assert display.lines_[1].get_zorder() > display.lines_[0].get_zorder()
    assert display.lines_[1].get_linestyle() != display.lines_[0].get_linestyle()
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts[:2] == ["start 1, the lowest: 0.3", "the other start"]
    assert texts[2:] == ["starting point", "fast step", "trimming step"]


def test_steps_can_be_drawn_against_passes_over_the_data():
    display = TraceDisplay.from_estimator(fitted(), against="passes")
    assert_array_equal(display.lines_[0].get_xdata(), [1, 6, 20])
    assert display.ax_.get_xlabel() == "passes over the data"


def test_the_height_above_the_lowest_is_drawn_on_a_logarithmic_axis():
    display = TraceDisplay.from_estimator(fitted(), above_lowest=True)
    assert_allclose(display.lines_[0].get_ydata(), [0.6, 0.2, 0.15])
    assert np.isnan(display.lines_[1].get_ydata()[-1])
    display.figure_.canvas.draw()
    assert display.ax_.get_yscale() == "log"


def test_a_fit_that_starts_at_its_end_is_drawn_flat():
    trace = [(0, "start", 0.3 + 1e-10, 1.0), (0, "trim", 0.3, 9.0)]
    display = TraceDisplay(trace).plot()
    display.figure_.canvas.draw()
    low, high = display.ax_.get_ylim()
    assert high - low > 1e-3
    assert display.ax_.yaxis.get_offset_text().get_text() == ""
    assert TraceDisplay(trace[1:]).plot(above_lowest=True).ax_.get_yscale() == "linear"


def test_a_phase_without_words_is_called_by_its_name():
    display = TraceDisplay([(0, "start", 2.0, 0.0), (0, "leap", 1.0, 1.0)]).plot()
    assert display.ax_.get_legend().get_texts()[-1].get_text() == "leap"


def test_many_starts_have_one_entry_in_the_legend():
    display = TraceDisplay([(i, "exhaustive", 5.0 - i, i) for i in range(5)]).plot()
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["start 4, the lowest: 1", "the 4 other starts", "set of rows tried"]


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(NotFittedError, match="has no trace_"):
        TraceDisplay.from_estimator(SimpleNamespace())
    with pytest.raises(ValueError, match="the trace holds no step"):
        TraceDisplay.from_estimator(fitted(()))
    with pytest.raises(ValueError, match="against='time' is not known; needed one of 'step', 'p"):
        TraceDisplay.from_estimator(fitted(), against="time")
