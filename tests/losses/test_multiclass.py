import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp, softmax

from sorr.losses import (
    LogSumExpPairwise,
    MulticlassHinge,
    MultilabelHinge,
    SmoothHinge,
    Softmax,
    TopKSubset,
    TopKSVM,
)
from sorr.losses.multiclass import RoundedMulticlassHinge
from tests.losses.problems import GRID, MULTICLASS, N_LABELS, difference, scores, targets

Y = targets(Softmax())
F = scores(Softmax())
ROWS = np.arange(len(Y))


def test_softmax_is_the_log_sum_exp_minus_the_true_score():
    assert_allclose(Softmax().value(Y, F), logsumexp(F, axis=1) - F[ROWS, Y], rtol=1e-12)


def test_the_derivatives_of_softmax_are_those_of_the_textbook():
    p = softmax(F, axis=1)
    assert_allclose(Softmax().gradient(Y, F), p - np.eye(N_LABELS)[Y], atol=1e-15)
    hessian = p[:, :, None] * np.eye(N_LABELS) - p[:, :, None] * p[:, None, :]
    assert_allclose(Softmax().curvature(Y, F), hessian, atol=1e-15)


def test_small_softmax_losses_keep_their_digits_far_from_zero():
    f = np.array([[1e6 + 60.0, 1e6, 1e6]])
    assert_allclose(Softmax().value(np.array([0]), f), 2 * np.exp(-60.0), rtol=1e-13)
    expected = [[-2 * np.exp(-60.0), np.exp(-60.0), np.exp(-60.0)]]
    assert_allclose(Softmax().gradient(np.array([0]), f), expected, rtol=1e-13)


def test_the_hinge_is_one_plus_the_best_other_score_minus_the_true_one():
    f = np.array([[2.0, 0.5, -1.0], [0.0, 0.5, -1.0], [1.0, 0.0, 0.0]])
    y = np.array([0, 0, 0])
    assert_array_equal(MulticlassHinge().value(y, f), [0.0, 1.5, 0.0])
    assert_array_equal(MulticlassHinge().gradient(y, f), [[0, 0, 0], [-1, 1, 0], [0, 0, 0]])


@pytest.mark.parametrize("choices", [None, GRID], ids=["generic", "ties"])
@pytest.mark.parametrize(
    ("loss", "over_sets"),
    [
        (Softmax(), LogSumExpPairwise()),
        (MulticlassHinge(), MultilabelHinge()),
        (MulticlassHinge(), TopKSubset(1)),
        (MulticlassHinge(), TopKSVM(1)),
    ],
    ids=repr,
)
def test_one_true_label_makes_a_loss_over_sets_one_over_classes(loss, over_sets, choices):
    f = scores(loss, choices=choices)
    indicator = over_sets.check_target(Y, N_LABELS)
    assert_allclose(loss.value(Y, f), over_sets.value(indicator, f), rtol=1e-12, atol=1e-15)
    if choices is None:
        assert_allclose(loss.gradient(Y, f), over_sets.gradient(indicator, f), atol=1e-15)


@pytest.mark.parametrize("loss", MULTICLASS, ids=repr)
def test_renaming_the_classes_permutes_the_gradient(loss):
    order = np.random.default_rng(0).permutation(N_LABELS)
    renamed = np.argsort(order)[Y]
    assert_allclose(loss.value(renamed, F[:, order]), loss.value(Y, F), rtol=1e-13)
    assert_allclose(loss.gradient(renamed, F[:, order]), loss.gradient(Y, F)[:, order], atol=1e-15)


@pytest.mark.parametrize(
    ("y", "n_outputs", "message"),
    [
        ([0, 3], 3, "softmax has classes from 0 to 3; needed integers from 0 to 2"),
        ([-1, 1], 2, "from -1 to 1; needed integers from 0 to 1"),
        ([-1, 1], None, "needed integers from 0 to n_outputs - 1"),
        ([0.0, 1.0], 2, "dtype float64; needed the index of a class.*np.unique"),
        ([[1, 0], [0, 1]], 2, r"shape \(2, 2\); needed one entry"),
        ([0, 0], 1, "softmax is given 1 outputs; needed two or more"),
    ],
)
def test_other_targets_are_refused_with_a_way_out(y, n_outputs, message):
    with pytest.raises(ValueError, match=message):
        Softmax().check_target(y, n_outputs)


def test_class_indices_pass_with_and_without_the_number_of_outputs():
    assert_array_equal(Softmax().check_target(np.array([2, 0], np.uint8)), [2, 0])
    assert_array_equal(Softmax().check_target([2, 0], n_outputs=3), [2, 0])


def test_the_curvature_of_the_softmax_keeps_its_digits_where_one_class_dominates():
    f = np.array([[0.0, 50.0, 0.0]])
    p = np.exp(f[0] - 50) / (1 + 2 * np.exp(-50))
    bend = Softmax().curvature(np.array([0]), f)[0]
    expected = np.diag(p) - np.outer(p, p)
    expected[1, 1] = p[1] * (p[0] + p[2])
    assert_allclose(bend, expected, rtol=1e-12)


# -- the rounded hinge --------------------------------------------------------------------------


def test_with_two_classes_the_rounded_hinge_is_the_smooth_hinge():
    random = np.random.default_rng(0)
    y, f = random.integers(2, size=300), random.normal(size=(300, 2))
    rounded, smooth = RoundedMulticlassHinge(0.7), SmoothHinge(0.7)
    signs, margin = 2.0 * y - 1, f[:, 1] - f[:, 0]
    assert_allclose(rounded.value(y, f), smooth.value(signs, margin), atol=1e-14)
    slope = smooth.gradient(signs, margin)
    assert_allclose(rounded.gradient(y, f), np.stack([-slope, slope], axis=1), atol=1e-14)
    bend = smooth.curvature(signs, margin)[:, None, None] * [[1, -1], [-1, 1]]
    assert_allclose(rounded.curvature(y, f), bend, atol=1e-14)


@pytest.mark.parametrize("width", [0.1, 1.0, 10.0])
def test_the_derivatives_of_the_rounded_hinge_match_central_differences(width):
    loss = RoundedMulticlassHinge(width)
    slope, bend = loss.gradient(Y, F), loss.curvature(Y, F)
    assert_allclose(slope, difference(lambda f: loss.value(Y, f), F), atol=1e-7)
    second = difference(lambda f: loss.gradient(Y, f), F)
    assert_allclose(bend, second, atol=1e-7 / width)
    assert_allclose(bend.sum(axis=2), 0, atol=1e-12 / width)


def test_the_rounded_hinge_is_the_maximum_over_all_parts():
    """A grid of all parts of two other classes is the referee."""
    y, f = np.zeros(50, dtype=int), np.random.default_rng(1).normal(size=(50, 3))
    first, second = np.meshgrid(*[np.linspace(0, 1, 501)] * 2)
    inside = first + second <= 1 + 1e-12
    p = np.stack([first[inside], second[inside]])
    violations = 1 + f[:, 1:] - f[:, :1]
    best = (violations @ p - 0.8 / 2 * (p**2).sum(axis=0)).max(axis=1)
    assert_allclose(RoundedMulticlassHinge(0.8).value(y, f), best, atol=1e-5)


def test_the_rounded_hinge_takes_float32_ties_and_huge_scores():
    loss, single = RoundedMulticlassHinge(0.5), F.astype(np.float32)
    for method in (loss.value, loss.gradient, loss.curvature):
        assert method(Y, single).dtype == np.float32
    assert_allclose(loss.value(Y, single), loss.value(Y, F), rtol=1e-5, atol=1e-6)
    tied = np.zeros((3, 4))
    assert_allclose(loss.gradient(np.arange(3), tied)[0], [-1, 1 / 3, 1 / 3, 1 / 3])
    huge = scores(loss, choices=np.array([-1e308, -1.0, 0.0, 1.0, 1e308]))
    for method in (loss.value, loss.gradient, loss.curvature):
        assert not np.isnan(method(Y, huge)).any()
    with pytest.raises(ValueError, match="width=0 is not a distance"):
        RoundedMulticlassHinge(0)
