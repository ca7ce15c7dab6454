"""Margins between two sides of labels, and the losses that choose their sides by the scores."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from sorr.losses import (
    Logistic,
    LogSumExpPairwise,
    MulticlassHinge,
    MultilabelHinge,
    RoundedMultilabelHinge,
    RoundedTopKSVM,
    Softmax,
    TopKMultilabel,
    TopKSubset,
    TopKSVM,
    one_hot,
)
from sorr.losses.margins import (
    HIGH,
    LOW,
    Margin,
    SmoothMargin,
    TopViolations,
    _capped_parts,
    sides_of,
)
from tests.losses.problems import GRID, N_LABELS, difference, scores, targets
from tests.losses.test_multilabel import tied
from tests.slow import examples

CHOOSING = [cls(k) for cls in (TopKMultilabel, TopKSubset) for k in (1, 2, 3, 4)]
SIDED = [*CHOOSING, MultilabelHinge()]
choosing = pytest.mark.parametrize("loss", CHOOSING, ids=repr)
sided = pytest.mark.parametrize("loss", SIDED, ids=repr)
generic_and_ties = pytest.mark.parametrize("choices", [None, GRID], ids=["generic", "ties"])


def data(loss, n=300, choices=None):
    return targets(loss, n), scores(loss, n, choices=choices)


def margin(f, low, high):
    """Return the margin of one sample between two lists of labels."""
    if not (len(low) and len(high)):
        return 0.0
    return max(0.0, 1 + max(f[j] for j in low) - min(f[j] for j in high))


def every_choice(loss, y, f):
    """Yield the margin for every choice of sides that the loss could make for one sample."""
    labels = range(len(y))
    true, false = [j for j in labels if y[j]], [j for j in labels if not y[j]]
    if isinstance(loss, MultilabelHinge):
        yield margin(f, false, true)
    elif isinstance(loss, TopKMultilabel):
        for left_out in combinations(labels, loss.k):
            yield margin(f, [j for j in labels if j not in left_out], true)
    else:
        r = min(loss.k, len(true))
        for left_out in combinations(false, min(loss.k - r, len(false))):
            for kept in combinations(true, r):
                yield margin(f, [j for j in false if j not in left_out], kept)


@sided
@given(row=tied())
@settings(max_examples=examples(40))
def test_the_loss_is_the_smallest_margin_over_all_choices_of_label_subsets(loss, row):
    y, f = row
    if len(y) <= getattr(loss, "k", 0):
        return
    assert_allclose(loss.value(y[None], f[None])[0], min(every_choice(loss, y, f)), atol=1e-12)


@sided
@generic_and_ties
def test_the_margin_of_the_chosen_sides_is_the_loss(loss, choices):
    y, f = data(loss, choices=choices)
    assert_allclose(Margin().value(loss.sides(y, f), f), loss.value(y, f), atol=1e-12)


@choosing
@generic_and_ties
def test_elsewhere_it_majorises_the_loss(loss, choices):
    y, f = data(loss, choices=choices)
    margin, sides = loss.majorised(y, f)
    assert margin.convex
    other = scores(loss, seed=7, n=300, choices=choices)
    above = margin.value(sides, other) - loss.value(y, other)
    assert above.min() >= -1e-12
    assert above.max() > 0.5


@choosing
def test_the_majoriser_has_the_slope_of_the_loss(loss):
    y, f = data(loss)
    margin, sides = loss.majorised(y, f)
    assert_allclose(margin.gradient(sides, f), loss.gradient(y, f), atol=1e-12)


@choosing
def test_a_smooth_majoriser_majorises_the_smooth_loss(loss):
    y, f = data(loss)
    smooth = loss.smoothed(0.8)
    margin, sides = smooth.majorised(y, f)
    assert_allclose(margin.value(sides, f), smooth.value(y, f), rtol=1e-14)
    other = scores(loss, seed=7, n=300)
    assert np.all(margin.value(sides, other) >= smooth.value(y, other) - 1e-12)


def test_convex_losses_majorise_themselves():
    y, f = data(Softmax())
    loss, target = Softmax().majorised(y, f)
    assert loss == Softmax()
    assert target is y
    y, f = data(MultilabelHinge())
    loss, target = MultilabelHinge().majorised(y, f)
    other = scores(MultilabelHinge(), n=300, seed=7)
    assert_allclose(loss.value(target, other), MultilabelHinge().value(y, other))


@sided
def test_pieces_are_as_many_as_the_largest_sides_have_pairs(loss):
    y, f = data(loss)
    margin, sides = loss.majorised(y, f)
    low, high = (np.count_nonzero(sides & side, axis=1) for side in (LOW, HIGH))
    assert margin.largest == (low.max(), high.max())
    values = margin.pieces(sides, f)[0]
    assert values.shape == (300, low.max() * high.max())
    first_rows = margin.pieces(sides[:20], f[:20])[0]
    assert_array_equal(first_rows, values[:20])


def test_a_loss_that_nothing_convex_is_known_above_says_so():
    class Odd(TopKSVM):
        convex = False
        name = "odd"

    y, f = data(TopKSVM(1))
    assert not Odd(1).has_bound
    with pytest.raises(TypeError, match=r"^odd is not convex, and nothing convex is known"):
        Odd(1).majorised(y, f)
    with pytest.raises(TypeError, match=r"^odd is not known as a difference"):
        Odd(1).convex_parts()
    with pytest.raises(TypeError, match=r"^odd has no convex relative"):
        Odd(1).relaxed()


# -- with one true label each -------------------------------------------------------------------


def test_with_one_true_label_and_k_one_the_subset_margin_is_the_multiclass_hinge():
    y, f = data(MulticlassHinge(), choices=GRID)
    both = [
        loss.value_and_gradient(target, f)
        for loss, target in (
            (TopKSubset(1), one_hot(y, N_LABELS)),
            (MulticlassHinge(), y),
        )
    ]
    assert_allclose(both[0][0], both[1][0])
    assert_allclose(both[0][1], both[1][1])


@pytest.mark.parametrize("k", [1, 2, 3])
def test_with_one_true_label_tkml_is_that_of_the_second_class_behind(k):
    """The label is left in when it ranks within k, and asked to gain on rank k + 1."""
    y, f = data(MulticlassHinge())
    ranked = -np.sort(-f, axis=1)
    expected = np.maximum(1 + ranked[:, k] - f[np.arange(len(f)), y], 0)
    assert_allclose(TopKMultilabel(k).value(one_hot(y, N_LABELS), f), expected)


@choosing
def test_the_relaxed_loss_is_convex_and_of_one_label_the_softmax(loss):
    assert loss.relaxed() == LogSumExpPairwise()
    y, f = data(Softmax())
    assert_allclose(loss.relaxed().value(one_hot(y, N_LABELS), f), Softmax().value(y, f))
    assert Logistic().relaxed() == Logistic()


# -- pieces -------------------------------------------------------------------------------------


@sided
@generic_and_ties
def test_the_margin_is_the_maximum_of_its_pieces_or_zero(loss, choices):
    y, f = data(loss, choices=choices)
    sides = loss.sides(y, f)
    values, slopes = Margin().pieces(sides, f)
    assert_allclose(np.maximum(values.max(axis=1), 0), loss.value(y, f), atol=1e-12)
    other = scores(loss, n=300, seed=5)
    moved = values + np.einsum("ilj,ij->il", slopes, other - f)
    assert_allclose(moved, Margin().pieces(sides, other)[0], atol=1e-12)


def test_a_sample_of_which_nothing_is_asked_has_pieces_below_the_floor():
    sides = np.array([[HIGH, HIGH, HIGH], [LOW, LOW, LOW], [0, 0, 0], [HIGH, LOW, 0]])
    f = np.full((4, 3), 1e3)
    values, slopes = Margin().pieces(Margin().check_target(sides), f)
    assert np.all(values[:3] < 0)
    assert not slopes[:3].any()
    assert_array_equal(slopes[3], [[-1, 1, 0]] * values.shape[1])


def test_sides_that_are_none_are_refused():
    for wrong in (np.full((2, 3), 4), np.full((2, 3), -1), np.full((2, 3), 0.5)):
        with pytest.raises(ValueError, match="needed for each label 1 if it should score high"):
            Margin().check_target(wrong)
    with pytest.raises(ValueError, match="one column for each output"):
        Margin().check_target(np.ones((2, 3), dtype=int), 4)


# -- smooth neighbours --------------------------------------------------------------------------


@sided
@pytest.mark.parametrize("width", [1e-3, 0.3, 2.0])
def test_the_smooth_neighbour_lies_above_by_no_more_than_the_number_of_pairs_allows(loss, width):
    y, f = data(loss, n=2000)
    sides = loss.sides(y, f)
    pairs = np.count_nonzero(sides & LOW, axis=1) * np.count_nonzero(sides & HIGH, axis=1)
    smooth = loss.smoothed(width)
    above = smooth.value(y, f) - loss.value(y, f)
    assert smooth.has_curvature
    assert smooth.convex == loss.convex
    assert above.min() >= -1e-12
    assert np.all(above <= width / 4 * np.log1p(pairs) + 1e-12)
    if width >= 0.3:  # so that some sample is at a corner
        assert above.max() > 0.9 * width / 4 * np.log(2)


@sided
def test_derivatives_of_the_smooth_neighbour_are_those_of_finite_differences(loss):
    y, f = data(loss, n=100)
    smooth = loss.smoothed(1.0)
    value, gradient = smooth.value_and_gradient(y, f)
    assert_allclose(value, smooth.value(y, f), rtol=1e-14)
    assert_allclose(gradient, smooth.gradient(y, f), atol=1e-14)
    assert_allclose(gradient, difference(lambda g: smooth.value(y, g), f), atol=1e-7)
    bend = difference(lambda g: smooth.gradient(y, g), f)
    assert_allclose(smooth.curvature(y, f), bend, atol=1e-6)


def test_derivatives_hold_where_a_label_is_on_both_sides():
    rng = np.random.default_rng(0)
    sides, f = rng.integers(0, 4, (50, 4)), rng.standard_normal((50, 4))
    sides, smooth = Margin().check_target(sides), SmoothMargin(width=0.7)
    gradient = difference(lambda g: smooth.value(sides, g), f)
    assert_allclose(smooth.gradient(sides, f), gradient, atol=1e-7)
    bend = difference(lambda g: smooth.gradient(sides, g), f)
    assert_allclose(smooth.curvature(sides, f), bend, atol=1e-6)


def test_the_smooth_neighbour_of_the_hinge_is_the_pairwise_loss_of_true_scores_one_lower():
    loss = MultilabelHinge()
    y, f = data(loss)
    expected = LogSumExpPairwise().value(y, f - y)
    assert_allclose(loss.smoothed(4.0).value(y, f), expected, rtol=1e-12)


@sided
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_huge_scores_leave_no_nan_in_the_smooth_neighbour(loss, dtype):
    huge = np.array([-1e30, -1.0, 0.0, 1.0, 1e30])
    y, f = data(loss, choices=huge)
    value, gradient = loss.smoothed(0.1).value_and_gradient(y, f.astype(dtype))
    assert value.dtype == gradient.dtype == dtype
    assert np.isfinite(value).all()
    assert np.isfinite(gradient).all()


def test_sides_are_bits():
    high, low = np.array([[True, True, False]]), np.array([[False, True, False]])
    assert_array_equal(sides_of(high, low), [[HIGH, HIGH + LOW, 0]])


# -- rounded hinges -----------------------------------------------------------------------------

WIDTHS = (1e-3, 0.3, 2.0)
PAIRS = [(TopKSVM(k), RoundedTopKSVM(k, width)) for k in (1, 2, 3, 4) for width in WIDTHS]
PAIRS += [(MultilabelHinge(), RoundedMultilabelHinge(width)) for width in WIDTHS]
pairs = pytest.mark.parametrize(("sharp", "rounded"), PAIRS, ids=[repr(b) for _, b in PAIRS])
Y = targets(MultilabelHinge(), n=800)


@pairs
@generic_and_ties
def test_a_rounded_loss_lies_at_most_half_its_width_below_and_never_above(sharp, rounded, choices):
    f = scores(sharp, n=800, choices=choices)
    below = sharp.value(Y, f) - rounded.value(Y, f)
    assert below.min() >= -1e-12
    assert 0.8 * rounded.width / 2 <= below.max() <= rounded.width / 2 + 1e-12


@pairs
def test_gradient_and_curvature_of_a_rounded_loss_match_differences(sharp, rounded):
    f = scores(sharp, n=800)
    slope = difference(lambda point: rounded.value(Y, point), f, step=1e-7)
    assert_allclose(rounded.gradient(Y, f), slope, rtol=1e-5, atol=1e-5)
    bend = difference(lambda point: rounded.gradient(Y, point), f, step=1e-7)
    is_near = np.abs(bend - rounded.curvature(Y, f)).max(axis=(1, 2)) < 1e-4 / rounded.width
    assert is_near.mean() > 0.99  # but for those at the end of a corner


@pairs
def test_the_curvature_of_a_rounded_loss_is_symmetric_and_positive(sharp, rounded):
    bend = rounded.curvature(Y, scores(sharp, n=800))
    assert_allclose(bend, bend.transpose(0, 2, 1))
    assert np.linalg.eigvalsh(bend).min() > -1e-9 / rounded.width
    assert np.abs(bend).max() > 0.1 or rounded.width < 0.1  # few scores are near a sharp corner


@pairs
@generic_and_ties
def test_the_gradient_of_a_rounded_loss_is_continuous(sharp, rounded, choices):
    f = scores(sharp, n=800, choices=choices)
    step = 1e-7 * np.random.default_rng(0).standard_normal(f.shape)
    jump = np.abs(rounded.gradient(Y, f + step) - rounded.gradient(Y, f - step)).max()
    assert jump < 1e-5 / rounded.width


@pairs
@generic_and_ties
def test_tangents_lie_below_a_rounded_loss(sharp, rounded, choices):
    at, other = scores(sharp, n=800, choices=choices), scores(sharp, n=800, seed=9)
    value, gradient = rounded.value_and_gradient(Y, at)
    tangent = value + (gradient * (other - at)).sum(axis=1)
    assert np.all(rounded.value(Y, other) >= tangent - 1e-10)


@pairs
def test_one_call_is_as_good_as_two_and_float32_stays_that(sharp, rounded):
    f = scores(sharp, n=800)
    value, gradient = rounded.value_and_gradient(Y, f)
    assert_array_equal(value, rounded.value(Y, f))
    assert_array_equal(gradient, rounded.gradient(Y, f))
    short = f.astype(np.float32)
    single = (*rounded.value_and_gradient(Y, short), rounded.curvature(Y, short))
    assert {a.dtype for a in single} == {np.dtype(np.float32)}
    assert_allclose(single[0], value, atol=1e-5)  # of scores of size ten
    # A slope goes from zero to one within a third of the width.
    assert_allclose(single[1], gradient, atol=1e-4 + 3e-6 / rounded.width)


@pairs
def test_samples_without_a_label_have_no_rounded_loss(sharp, rounded):
    nothing = np.zeros_like(Y)
    f = scores(sharp, n=800)
    assert_array_equal(rounded.value(nothing, f), 0)
    assert_array_equal(rounded.gradient(nothing, f), 0)
    assert_array_equal(rounded.curvature(nothing, f), 0)


def test_with_one_label_each_both_are_the_rounded_multiclass_hinge():
    y = np.random.default_rng(0).integers(N_LABELS, size=300)
    f = scores(MultilabelHinge(), n=300)
    truth = np.eye(N_LABELS, dtype=bool)[y]
    a, b = RoundedTopKSVM(1, 1e-6).value(truth, f), RoundedMultilabelHinge(1e-6).value(truth, f)
    sharp = MulticlassHinge().value(y, f)
    assert_allclose(a, sharp, atol=1e-6)
    assert_allclose(b, sharp, atol=1e-6)


def test_a_smooth_loss_is_its_own_neighbour():
    loss = RoundedTopKSVM(2, 0.3)
    assert loss.smoothed(0.1) is loss
    assert RoundedTopKSVM(2, np.float32(0.5)).width == 0.5


@pytest.mark.parametrize("cls", [RoundedTopKSVM, RoundedMultilabelHinge])
def test_a_width_is_a_positive_number(cls):
    with pytest.raises(ValueError, match=r"width=0 is not a distance.*limit of small width"):
        cls(width=0)
    with pytest.raises(TypeError, match="width='1' is of type str"):
        cls(width="1")


# -- parts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 4, 5])
@pytest.mark.parametrize("width", [1e-6, 0.1, 10.0])
@generic_and_ties
def test_the_parts_add_to_one_and_follow_from_one_level(k, width, choices):
    values = scores(MultilabelHinge(), n=300, choices=choices)
    parts = _capped_parts(values, k, width)
    assert_allclose(parts.sum(axis=1), 1, atol=1e-12)
    assert parts.min() >= 0
    assert parts.max() <= 1 / k
    for v, p in zip(values, parts, strict=True):
        # v - w p is the level inside, above it where the part is full, below where there is none
        level = v - width * p
        free = (p > 1e-9) & (p < 1 / k - 1e-9)
        top = level[p >= 1 / k - 1e-9].min(initial=np.inf)
        bottom = level[p <= 1e-9].max(initial=-np.inf)
        assert bottom <= level[free].min(initial=top) + 1e-8
        assert level[free].max(initial=bottom) <= top + 1e-8
        assert np.ptp(level[free]) <= 1e-8 if free.any() else True


def test_sharp_parts_are_a_best_mean_of_the_k_largest():
    values = scores(MultilabelHinge(), n=5)
    for v, p in zip(values, _capped_parts(values, 3, 1e-9), strict=True):
        best = linprog(-v, A_eq=np.ones((1, N_LABELS)), b_eq=[1], bounds=(0, 1 / 3))
        assert_allclose(v @ p, -best.fun, atol=1e-8)


def test_entries_that_cannot_have_a_part_have_none():
    values = np.array([[-np.inf, 1.0, -np.inf, 1.0], [-np.inf, 1e300, -np.inf, -1e300]])
    assert_array_equal(_capped_parts(values, 1, 0.5), [[0, 0.5, 0, 0.5], [0, 1, 0, 0]])


def test_no_rows_have_no_parts():
    assert _capped_parts(np.empty((0, 4)), 2, 0.5).shape == (0, 4)


# -- The convex parts of the top-k losses ----------------------------------------------------------


@choosing
@generic_and_ties
def test_the_difference_of_the_convex_parts_is_the_loss(loss, choices):
    y, f = targets(loss), scores(loss, choices=choices)
    first, second = loss.convex_parts()
    assert_allclose(first.value(y, f) - second.value(y, f), loss.value(y, f), atol=1e-12)


@choosing
@generic_and_ties
def test_convex_parts_lie_above_their_tangents(loss, choices):
    y, f = targets(loss), scores(loss, choices=choices)
    other = scores(loss, seed=3)
    for part in loss.convex_parts():
        assert part.convex
        value, slope = part.value_and_gradient(y, f)
        tangent = value + np.einsum("ij,ij->i", slope, other - f)
        assert np.all(part.value(y, other) >= tangent - 1e-9)


@choosing
def test_slopes_of_convex_parts_are_those_of_finite_differences(loss):
    y, f = targets(loss), scores(loss)
    for part in loss.convex_parts():
        slope = difference(lambda g, part=part: part.value(y, g), f)
        assert_allclose(part.gradient(y, f), slope, atol=1e-7)


def test_the_violations_are_added_up_from_the_largest():
    y, f = np.array([[True, False, False]]), np.array([[0.0, 2.0, -0.5]])
    values = [TopViolations(j).value(y, f)[0] for j in (1, 2, 3)]
    assert_allclose(values, [3.0, 4.0, 4.5])


def test_convex_parts_of_a_sample_without_true_labels_are_zero():
    y, f = np.zeros((3, 5), dtype=bool), scores(TopKMultilabel(1), 3)
    for loss in CHOOSING:
        for part in loss.convex_parts():
            value, slope = part.value_and_gradient(y, f)
            assert not value.any()
            assert not slope.any()
