import numpy as np
import pytest

from sorr import judge_labels
from sorr.plots import LabelCurveDisplay


def judged(n=2000, wrong=0, seed=0):
    rng = np.random.default_rng(seed)
    score = 5 * rng.normal(size=n)
    p = 1 / (1 + np.exp(-score))
    y = (rng.random(n) < p).astype(int)
    y[:wrong] = 1 - y[:wrong]
    return judge_labels(np.column_stack([1 - p, p]), np.array(["no", "yes"])[y])


def test_wrong_labels_end_in_a_plateau_and_overlap_does_not():
    noisy = LabelCurveDisplay.from_judgement(judged(wrong=200))
    clean = LabelCurveDisplay.from_judgement(judged())
    for display, plateau in ((noisy, 0.1), (clean, 0.0)):
        assert abs(display.average[0] - plateau) < 0.04
        assert abs(1 - display.average[-1] - plateau) < 0.04
    assert noisy.ax_.get_title() == "Strong evidence of wrong labels"
    assert clean.ax_.get_title() == "No evidence of wrong labels"


def test_the_bins_hold_all_rows_and_their_labels():
    judgement = judged(wrong=100)
    display = LabelCurveDisplay.from_judgement(judgement)
    assert display.mass.sum() == 2000
    assert np.isclose(display.mass @ display.share, (judgement.labels_ == "yes").sum())
    assert len(display.dots_.get_offsets()) == len(display.score)
    assert display.ax_.get_ylabel() == "share labelled yes"


def test_it_draws_on_the_axes_given():
    plt = pytest.importorskip("matplotlib.pyplot")
    _, ax = plt.subplots()
    assert LabelCurveDisplay.from_judgement(judged(), ax=ax).ax_ is ax
    plt.close("all")


def test_a_judgement_of_too_few_rows_has_no_curve():
    P = np.tile([0.5, 0.5], (10, 1)) + np.linspace(0, 0.123, 10)[:, None] * [1, -1]
    with pytest.raises(ValueError, match="too few rows"):
        LabelCurveDisplay.from_judgement(judge_labels(P, [0, 1] * 5))


def test_arrays_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="one entry for each bin"):
        LabelCurveDisplay([0, 1], [0, 1], [1], [0, 1], [0, 1], ("no", "yes"))
