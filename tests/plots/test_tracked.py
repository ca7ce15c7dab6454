from types import SimpleNamespace

import numpy as np
import pytest

from sorr.plots import DroppedLossDisplay


def line(epoch, dropped, kept):
    row = {"epoch": epoch, "n_dropped": 0 if dropped is None else 30}
    for part, middle in (("dropped", dropped), ("kept", kept)):
        if middle is not None:
            row |= {f"{part}_10": middle / 2, f"{part}_50": middle, f"{part}_90": 2 * middle}
    return row


HISTORY = [line(1, None, 1.0), line(2, 3.0, 0.5), line(3, 4.0, 0.0)]


def test_medians_and_bands_of_both_parts_are_drawn():
    display = DroppedLossDisplay.from_tracker(SimpleNamespace(history=HISTORY, n_rows=300))
    lines = {drawn.get_label(): drawn for drawn in display.ax_.get_lines()}
    np.testing.assert_allclose(lines["dropped"].get_ydata(), [np.nan, 3, 4])
    np.testing.assert_allclose(lines["kept"].get_ydata(), [1, 0.5, 1e-4])  # zero has no logarithm
    assert len(display.ax_.collections) == 2
    assert display.ax_.get_title(loc="left") == "10.0 % of 300 rows are dropped"
    np.testing.assert_allclose(display.quantiles("kept")[0], [0.5, 1, 2])


def test_without_dropped_rows_there_is_one_part():
    display = DroppedLossDisplay(HISTORY[:1], 300).plot()
    assert [drawn.get_label() for drawn in display.ax_.get_lines()] == ["kept"]


def test_it_draws_on_the_axes_given():
    plt = pytest.importorskip("matplotlib.pyplot")
    _, ax = plt.subplots()
    assert DroppedLossDisplay(HISTORY, 300).plot(ax).ax_ is ax


@pytest.mark.parametrize("history", [[], [{"epoch": 1, "n_dropped": 0}]])
def test_a_history_without_losses_is_refused(history):
    with pytest.raises(ValueError, match=r"history has no losses; needed one finished epoch"):
        DroppedLossDisplay(history, 300)
