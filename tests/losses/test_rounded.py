import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from sorr.losses import MulticlassHinge, MultilabelHinge, TopKSVM
from sorr.losses.rounded import RoundedMultilabelHinge, RoundedTopKSVM, capped_parts
from tests.losses.problems import GRID, N_LABELS, difference, scores, targets

WIDTHS = (1e-3, 0.3, 2.0)
PAIRS = [(TopKSVM(k), RoundedTopKSVM(k, width)) for k in (1, 2, 3, 4) for width in WIDTHS]
PAIRS += [(MultilabelHinge(), RoundedMultilabelHinge(width)) for width in WIDTHS]
pairs = pytest.mark.parametrize(("sharp", "rounded"), PAIRS, ids=[repr(b) for _, b in PAIRS])
generic_and_ties = pytest.mark.parametrize("choices", [None, GRID], ids=["generic", "ties"])
Y = targets(MultilabelHinge(), n=800)


@pairs
@generic_and_ties
def test_it_lies_at_most_half_its_width_below_and_never_above(sharp, rounded, choices):
    f = scores(sharp, n=800, choices=choices)
    below = sharp.value(Y, f) - rounded.value(Y, f)
    assert below.min() >= -1e-12
    assert 0.8 * rounded.width / 2 <= below.max() <= rounded.width / 2 + 1e-12


@pairs
def test_its_gradient_and_curvature_match_differences(sharp, rounded):
    f = scores(sharp, n=800)
    slope = difference(lambda point: rounded.value(Y, point), f, step=1e-7)
    assert_allclose(rounded.gradient(Y, f), slope, rtol=1e-5, atol=1e-5)
    bend = difference(lambda point: rounded.gradient(Y, point), f, step=1e-7)
    is_near = np.abs(bend - rounded.curvature(Y, f)).max(axis=(1, 2)) < 1e-4 / rounded.width
    assert is_near.mean() > 0.99  # but for those at the end of a corner


@pairs
def test_its_curvature_is_symmetric_and_positive(sharp, rounded):
    bend = rounded.curvature(Y, scores(sharp, n=800))
    assert_allclose(bend, bend.transpose(0, 2, 1))
    assert np.linalg.eigvalsh(bend).min() > -1e-9 / rounded.width
    assert np.abs(bend).max() > 0.1 or rounded.width < 0.1  # few scores are near a sharp corner


@pairs
@generic_and_ties
def test_its_gradient_is_continuous(sharp, rounded, choices):
    f = scores(sharp, n=800, choices=choices)
    step = 1e-7 * np.random.default_rng(0).standard_normal(f.shape)
    jump = np.abs(rounded.gradient(Y, f + step) - rounded.gradient(Y, f - step)).max()
    assert jump < 1e-5 / rounded.width


@pairs
@generic_and_ties
def test_tangents_lie_below_it(sharp, rounded, choices):
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
    found = (*rounded.value_and_gradient(Y, short), rounded.curvature(Y, short))
    assert {a.dtype for a in found} == {np.dtype(np.float32)}
    assert_allclose(found[0], value, atol=1e-5)  # of scores of size ten
    # A slope goes from zero to one within a third of the width.
    assert_allclose(found[1], gradient, atol=1e-4 + 3e-6 / rounded.width)


@pairs
def test_samples_without_a_label_cost_nothing(sharp, rounded):
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
    parts = capped_parts(values, k, width)
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
    for v, p in zip(values, capped_parts(values, 3, 1e-9), strict=True):
        best = linprog(-v, A_eq=np.ones((1, N_LABELS)), b_eq=[1], bounds=(0, 1 / 3))
        assert_allclose(v @ p, -best.fun, atol=1e-8)


def test_entries_that_cannot_have_a_part_have_none():
    values = np.array([[-np.inf, 1.0, -np.inf, 1.0], [-np.inf, 1e300, -np.inf, -1e300]])
    assert_array_equal(capped_parts(values, 1, 0.5), [[0, 0.5, 0, 0.5], [0, 1, 0, 0]])


def test_no_rows_have_no_parts():
    assert capped_parts(np.empty((0, 4)), 2, 0.5).shape == (0, 4)
