import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sorr.plots import RankedLossDisplay
from sorr.ranked import sum_ranked_range
from tests.plots.fakes import pooled, two_classes

plt = pytest.importorskip("matplotlib.pyplot", reason="plots are drawn with matplotlib")


LOSSES = np.array([0.3, 9.0, 0.1, 0.7, 0.2, 0.7, 4.0])


def extent(patch):
    """Return between which ranks a span lies."""
    path = patch.get_patch_transform().transform_path(patch.get_path())
    box = path.get_extents()
    return box.x0, box.x1


def heights(display, panel=0):
    """Return the losses that are drawn; the last one ends the last step."""
    return display.lines_[panel].get_ydata()[:-1]


def test_the_curve_is_the_losses_from_the_largest_down():
    display = RankedLossDisplay.from_estimator(pooled(LOSSES, 1, 5))
    assert_array_equal(heights(display), np.sort(LOSSES)[::-1])
    assert_array_equal(display.lines_[0].get_xdata(), np.arange(8))


def test_the_shaded_spans_tile_the_ranks_and_meet_at_m_and_k():
    spans = RankedLossDisplay.from_estimator(pooled(LOSSES, 2, 5)).spans_[0]
    assert extent(spans["dropped"]) == (0, 2)
    assert extent(spans["kept"]) == (2, 5)
    assert extent(spans["left aside"]) == (5, 7)


def test_a_part_that_is_empty_is_not_shaded():
    assert set(RankedLossDisplay.from_losses(LOSSES).spans_[0]) == {"kept"}
    assert set(RankedLossDisplay.from_losses(LOSSES, m=2).spans_[0]) == {"dropped", "kept"}


def test_the_legend_counts_the_rows_of_each_part():
    display = RankedLossDisplay.from_losses(LOSSES, m=2, k=6, reach=None)
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["dropped: 2", "kept: 4", "easy, left aside: 1"]


def area(polygon):
    """Return the area of a polygon by the shoelace formula."""
    x, y = polygon.vertices.T
    return abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))) / 2


def test_the_area_between_the_cuts_is_the_sum_of_the_ranked_range():
    weight = np.array([0.5, 1.0, 2.0, 1.5, 1.0, 1.0, 0.25])
    display = RankedLossDisplay.from_losses(LOSSES, m=0.2, k=0.7, sample_weight=weight)
    curve = display.curves[0]
    inside = np.diff(np.clip(curve.edges, *curve.spans()["kept"]))
    wanted = sum_ranked_range(LOSSES, 0.2, 0.7, sample_weight=weight)
    assert_allclose(inside @ curve.losses, wanted)
    parts = [area(part.get_paths()[0]) for part in display.ax_.collections]
    assert_allclose(parts[1], wanted)
    assert_allclose(sum(parts), weight @ LOSSES)
    assert_allclose(extent(display.spans_[0]["kept"]), (0.2 * 7.25, 0.7 * 7.25))


def test_each_class_that_is_ranked_by_itself_has_a_panel_with_its_own_cuts():
    model, X, y = two_classes(m=(3, 5))
    display = RankedLossDisplay.from_estimator(model, X, y)
    assert [panel.get_title() for panel in display.axes_] == ["label 'no'", "label 'yes'"]
    for i, label in enumerate(("no", "yes")):
        losses = model.losses_[y == label]
        assert_array_equal(heights(display, i), np.sort(losses)[::-1])
        assert extent(display.spans_[i]["dropped"]) == (0, model.m_[i])
        dropped = np.sort(model.losses_[(y == label) & model.outlier_mask_])[::-1]
        assert_array_equal(heights(display, i)[: int(model.m_[i])], dropped)


def test_the_labels_of_the_fit_alone_are_enough_for_its_rows():
    model, X, y = two_classes()
    alone, both = (RankedLossDisplay.from_estimator(model, rows, y).curves for rows in (None, X))
    for one, other in zip(alone, both, strict=True):
        assert_array_equal(one.losses, other.losses)
        assert (one.label, one.m, one.k) == (other.label, other.m, other.k)


def test_of_new_rows_those_above_the_largest_kept_loss_would_be_dropped():
    model, _, _ = two_classes()
    _, X, y = two_classes(n=200, seed=1)
    display = RankedLossDisplay.from_estimator(model, X, y)
    assert not display.is_fit
    for i, label in enumerate(("no", "yes")):
        losses = model.loss(X, y)[y == label]
        n_out = np.sum(losses > model.largest_kept[i])
        assert_allclose(heights(display, i), np.sort(losses)[::-1] - model.largest_kept[i])
        assert extent(display.spans_[i]["dropped"]) == (0, n_out)
        assert extent(display.spans_[i]["kept"]) == (n_out, np.sum(y == label))


def test_new_rows_of_one_class_have_one_panel():
    model, X, y = two_classes()
    display = RankedLossDisplay.from_estimator(model, X[y == "yes"], y[y == "yes"])
    assert [curve.label for curve in display.curves] == ["yes"]


def test_rows_without_weight_are_not_drawn():
    losses = np.append(LOSSES, np.nan)  # as an estimator reports them
    weight = np.append(np.ones(7), 0.0)
    model = pooled(LOSSES, 1, 7)
    model.losses_ = losses
    display = RankedLossDisplay.from_estimator(model, sample_weight=weight)
    assert_array_equal(heights(display), np.sort(LOSSES)[::-1])
    plain = RankedLossDisplay.from_losses([5.0, 1.0, 2.0], m=1, sample_weight=[0, 1, 1])
    assert_array_equal(heights(plain), [2.0, 1.0])


def test_a_row_of_weight_two_is_as_wide_as_two_rows():
    display = RankedLossDisplay.from_losses([1.0, 3.0, 2.0], sample_weight=[1, 1, 2])
    assert_array_equal(display.curves[0].edges, [0, 1, 3, 4])
    assert "mass" in display.ax_.get_xlabel()


def test_huge_losses_do_not_flatten_the_others_unless_asked_for():
    losses = np.append(LOSSES, 1e6)
    near = RankedLossDisplay.from_losses(losses, m=1)
    assert near.ax_.get_ylim()[1] < 50
    assert "up to 1e+06" in near.ax_.get_legend().get_texts()[0].get_text()
    assert RankedLossDisplay.from_losses(losses, m=1, reach=None).ax_.get_ylim()[1] > 1e6


def test_losses_that_are_all_alike_stay_below_the_legend():
    display = RankedLossDisplay.from_losses(np.full(10, np.log(2)), m=2, k=8)
    display.figure_.canvas.draw()
    legend = display.ax_.get_legend().get_window_extent()
    assert legend.y0 > display.ax_.transData.transform((5, np.log(2)))[1]


def test_losses_of_zero_can_be_drawn():
    assert RankedLossDisplay.from_losses(np.zeros(5), m=1).ax_.get_ylim() == (0, 1)


def test_a_logarithmic_axis_shows_all_positive_losses():
    display = RankedLossDisplay.from_losses(np.append(LOSSES, 0.0), m=1, yscale="log")
    display.figure_.canvas.draw()
    assert display.ax_.get_yscale() == "log"


def test_axes_can_be_given_one_for_each_class():
    model, X, y = two_classes()
    figure, axes = plt.subplots(1, 2)
    display = RankedLossDisplay.from_estimator(model, X, y, ax=axes)
    assert list(display.axes_) == list(axes)
    assert display.figure_ is figure
    assert "label 'no'" in axes[0].get_title()
    with pytest.raises(ValueError, match=r"1 axes are given; needed 2.*plt.subplots\(1, 2\)"):
        RankedLossDisplay.from_estimator(model, X, y, ax=axes[0])


def test_many_classes_are_drawn_in_rows_of_three():
    display = RankedLossDisplay.from_losses(np.arange(40.0), m=0.1, labels=np.arange(40) % 4)
    assert len(display.axes_) == 4
    assert len(display.figure_.axes) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"X": None, "y": None}, "each class is ranked by itself.*pass X and y"),
        ({"y": None}, "X is given without y"),
        ({"X": None, "y": ["no", "yes"]}, "y has 2 labels, the fit had 60 rows"),
        ({"y": ["maybe"] * 60}, "'maybe', which is not a class of the fit"),
        ({"sample_weight": [1.0, 2.0]}, "sample_weight has 2 entries; needed one for each"),
        (
            {"sample_weight": np.full(60, 0.5)},
            "exceeds the .* if the fit had sample_weight, .* class_weight",
        ),
        ({"yscale": "cubic"}, "yscale='cubic' is not possible"),
    ],
)
def test_what_cannot_be_drawn_is_refused(options, message):
    model, X, y = two_classes()
    with pytest.raises(ValueError, match=message):
        RankedLossDisplay.from_estimator(model, **{"X": X, "y": y, **options})


def test_scores_of_new_rows_have_no_logarithm():
    model, X, y = two_classes()
    with pytest.raises(ValueError, match="or 'log' for rows of the fit"):
        RankedLossDisplay.from_estimator(model, X[:20], y[:20], yscale="log")


def test_losses_that_are_nan_are_refused_unless_they_have_no_weight():
    losses = [1.0, np.nan, 2.0, np.nan]
    for weight in (None, [1, 1, 1, 0]):
        n = 2 if weight is None else 1
        with pytest.raises(ValueError, match=f"^{n} of the losses are NaN.*remove these rows"):
            RankedLossDisplay.from_losses(losses, m=1, sample_weight=weight)
    display = RankedLossDisplay.from_losses(losses, m=1, sample_weight=[1, 0, 1, 0])
    assert_array_equal(heights(display), [2.0, 1.0])


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match="no row has a loss and a weight"):
        RankedLossDisplay([np.nan], [0], [1])
