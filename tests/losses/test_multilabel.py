from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from sorr.losses import (
    LogSumExpPairwise,
    MultilabelHinge,
    SigmoidPairwise,
    TopKMultilabel,
    TopKSubset,
    TopKSVM,
)
from tests.losses.problems import GRID, MULTILABEL, N_LABELS, TOP_K, difference, scores, targets
from tests.slow import examples

HINGED = [*TOP_K, MultilabelHinge()]
each = pytest.mark.parametrize("loss", MULTILABEL, ids=repr)
each_hinged = pytest.mark.parametrize("loss", HINGED, ids=repr)
Y = targets(MultilabelHinge(), n=500)
F = scores(MultilabelHinge(), n=500)


def referee(loss, labels, f):
    """Return the violation before the hinge, or the loss if it has none, by loops and sorting."""
    inside = sorted((f[j] for j in range(len(f)) if labels[j]), reverse=True)
    outside = sorted((f[j] for j in range(len(f)) if not labels[j]), reverse=True)
    if not inside:
        return -np.inf
    if isinstance(loss, TopKMultilabel):
        return sorted((1 + (s - inside[-1]) for s in f), reverse=True)[loss.k]
    if isinstance(loss, TopKSVM):
        s = [f[j] - inside[-1] + (not labels[j]) for j in range(len(f))]
        return sum(sorted(s, reverse=True)[: loss.k]) / loss.k
    if isinstance(loss, TopKSubset):
        r = min(loss.k, len(inside))
        if len(outside) < loss.k - r + 1:
            return -np.inf
        return 1 + (outside[loss.k - r] - inside[r - 1])
    if isinstance(loss, MultilabelHinge):
        return 1 + (outside[0] - inside[-1]) if outside else -np.inf
    return np.log(1 + sum(np.exp(u - v) for u in outside for v in inside))


@st.composite
def tied(draw):
    n = draw(st.integers(4, N_LABELS))
    f = draw(st.lists(st.sampled_from(GRID.tolist()), min_size=n, max_size=n))
    labels = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    return np.array(labels), np.array(f)


@each
def test_the_values_agree_with_an_explicit_loop(loss):
    expected = [max(referee(loss, y, f), 0) for y, f in zip(Y, F, strict=True)]
    assert_allclose(loss.value(Y, F), expected, rtol=1e-12, atol=1e-15)


@each
@given(row=tied())
@settings(max_examples=examples(60))
def test_the_values_agree_with_an_explicit_loop_when_scores_are_tied(loss, row):
    y, f = row
    value = loss.value(y[None], f[None])
    assert_allclose(value, max(referee(loss, y, f), 0), rtol=1e-12, atol=1e-15)


@each_hinged
@given(row=tied())
@settings(max_examples=examples(60))
def test_at_ties_the_gradient_is_the_mean_over_all_tie_breaks(loss, row):
    y, f = row
    if referee(loss, y, f) <= 0:  # at the corner of the hinge, or beyond it
        expected = np.zeros(len(f))
    else:
        orders = np.array(list(permutations(range(len(f)))))
        expected = loss.gradient(np.tile(y, (len(orders), 1)), f + 1e-9 * orders).mean(axis=0)
    assert_allclose(loss.gradient(y[None], f[None])[0], expected, atol=1e-12)


@each
def test_samples_without_a_true_label_cost_nothing(loss):
    y = np.zeros((len(F), N_LABELS), dtype=bool)
    assert_array_equal(loss.value(y, F), 0)
    assert_array_equal(loss.gradient(y, F), 0)


@pytest.mark.parametrize(
    "loss", [MultilabelHinge(), LogSumExpPairwise(), TopKSubset(1), TopKSubset(3)], ids=repr
)
def test_samples_with_all_labels_true_cost_nothing_where_there_is_nothing_to_separate(loss):
    y = np.ones((len(F), N_LABELS), dtype=bool)
    assert_array_equal(loss.value(y, F), 0)
    assert_array_equal(loss.gradient(y, F), 0)


def test_tkml_and_topk_svm_follow_their_formula_when_all_labels_are_true():
    y, f = np.ones((1, 4), dtype=bool), np.array([[3.0, 1.0, 0.0, 2.0]])
    assert_array_equal(TopKMultilabel(1).value(y, f), [3.0])
    assert_array_equal(TopKSVM(2).value(y, f), [2.5])
    assert_array_equal(TopKSVM(2).gradient(y, f), [[0.5, 0, -1, 0.5]])


def test_closed_form_values_of_a_small_example():
    y, f = np.array([[True, True, False, False]]), np.array([[3.0, 0.5, 1.0, 0.0]])
    assert_array_equal(TopKMultilabel(1).value(y, f), [1.5])
    assert_array_equal(TopKMultilabel(2).value(y, f), [1.0])
    assert_array_equal(TopKMultilabel(3).value(y, f), [0.5])
    assert_array_equal(TopKSubset(1).value(y, f), [0.0])
    assert_array_equal(TopKSubset(2).value(y, f), [1.5])
    assert_array_equal(TopKSubset(3).value(y, f), [0.5])
    assert_array_equal(MultilabelHinge().value(y, f), [1.5])
    assert_array_equal(TopKSVM(2).value(y, f), [2.0])
    pairs = np.exp([-2.0, -3.0, 0.5, -0.5]).sum()
    assert_allclose(LogSumExpPairwise().value(y, f), np.log1p(pairs), rtol=1e-15)


@pytest.mark.parametrize("choices", [None, GRID], ids=["generic", "ties"])
def test_tkml_lies_below_the_multilabel_hinge_when_k_counts_the_true_labels(choices):
    f = scores(MultilabelHinge(), n=500, choices=choices)
    strict = 0
    for k in range(1, N_LABELS):
        rows = Y.sum(axis=1) == k
        below = TopKMultilabel(k).value(Y[rows], f[rows])
        above = MultilabelHinge().value(Y[rows], f[rows])
        assert np.all(below <= above + 1e-12)
        strict += int(np.count_nonzero(below < above - 0.1))
    assert strict > 0


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_topk_subset_vanishes_exactly_where_the_top_k_are_true_or_contain_the_truth(k):
    rng = np.random.default_rng(k)
    f = 2.0 * rng.permuted(np.tile(np.arange(N_LABELS), (500, 1)), axis=1)  # gaps beyond one
    y = rng.random(f.shape) < 0.5
    y = y[y.any(axis=1)]
    f = f[: len(y)]
    solved = []
    for labels, row in zip(y, f, strict=True):
        top, truth = set(np.argsort(-row)[:k]), set(np.flatnonzero(labels))
        solved.append(top <= truth or truth <= top)
    assert_array_equal(TopKSubset(k).value(y, f) == 0, solved)
    assert 0 < np.mean(solved) < 1


def test_lsep_bounds_the_multilabel_hinge_without_its_margin():
    asked = Y.any(axis=1) & ~Y.all(axis=1)
    y, f = Y[asked], F[asked]
    gap = np.where(y, -np.inf, f).max(axis=1) - np.where(y, f, np.inf).min(axis=1)
    value = LogSumExpPairwise().value(y, f)
    assert np.all(value >= np.maximum(gap, 0))
    assert np.all(value <= np.maximum(gap, 0) + np.log(1 + N_LABELS**2 / 4))


@each
@pytest.mark.parametrize("choices", [None, GRID], ids=["generic", "ties"])
def test_permuting_the_labels_permutes_the_gradient(loss, choices):
    f = scores(loss, n=500, choices=choices)
    order = np.random.default_rng(0).permutation(N_LABELS)
    value, gradient = loss.value_and_gradient(Y, f)
    moved, moved_gradient = loss.value_and_gradient(Y[:, order], f[:, order])
    assert_allclose(moved, value, rtol=1e-12, atol=1e-15)
    assert_allclose(moved_gradient, gradient[:, order], rtol=1e-12, atol=1e-15)


@each
def test_adding_a_constant_to_all_scores_changes_nothing(loss):
    assert_allclose(loss.value(Y, F + 4.0), loss.value(Y, F), rtol=1e-12, atol=1e-14)
    assert_allclose(loss.gradient(Y, F).sum(axis=1), 0, atol=1e-14)


@each
@pytest.mark.parametrize("dtype", [bool, int, float])
def test_indicators_of_any_type_become_boolean(loss, dtype):
    target = loss.check_target(Y.astype(dtype), N_LABELS)
    assert target.dtype == bool
    assert_array_equal(target, Y)


def test_class_indices_become_one_label_each():
    target = MultilabelHinge().check_target([2, 0], n_outputs=3)
    assert_array_equal(target, [[False, False, True], [True, False, False]])


@pytest.mark.parametrize(
    ("y", "n_outputs", "message"),
    [
        ([2, 0], None, r"shape \(2,\); needed an indicator .* or n_outputs together"),
        ([2, 0], 2, "classes from 0 to 2; needed integers from 0 to 1"),
        ([0.5, 0], 2, "dtype float64; needed 0 or 1 for each sample and label"),
        ([[0, 1]], 3, "lsep has 2 labels, the raw prediction 3 outputs; needed one output"),
        ([[-1, 1]], 2, "holds -1, 1; needed 0 and 1, or booleans: y > 0"),
        ([["a", "b"]], 2, "holds a, b; needed 0 and 1"),
        ([[1], [0]], None, "lsep is given 1 outputs; needed two or more"),
        (np.zeros((0, 3)), None, r"shape \(0, 3\); needed an indicator"),
    ],
)
def test_other_targets_are_refused_with_a_way_out(y, n_outputs, message):
    with pytest.raises(ValueError, match=message):
        LogSumExpPairwise().check_target(y, n_outputs)


@pytest.mark.parametrize("cls", [TopKMultilabel, TopKSubset, TopKSVM])
def test_k_must_leave_a_label_to_rank(cls):
    assert cls(2).check_target([[1, 0, 1]]).shape == (1, 3)
    message = f"k=3 leaves nothing to rank among the 3 labels .* {cls.name}; needed k < 3"
    with pytest.raises(ValueError, match=message):
        cls(3).check_target([[1, 0, 1]])
    with pytest.raises(ValueError, match="needed k < 3"):
        cls(3).check_target([0, 2], n_outputs=3)


@pytest.mark.parametrize("cls", [TopKMultilabel, TopKSubset, TopKSVM])
def test_k_must_be_a_positive_integer(cls):
    assert type(cls(np.int64(2)).k) is int
    for k in (True, 1.0, "1", None):
        with pytest.raises(TypeError, match="not a number of labels; needed an int"):
            cls(k)
    for k in (0, -1):
        with pytest.raises(ValueError, match=f"k={k} is not a number of labels"):
            cls(k)


def test_the_mean_of_the_top_k_survives_where_their_sum_overflows():
    y, f = np.array([[True, False, False]]), np.array([[-8e307, 8e307, 8e307]])
    assert_allclose(TopKSVM(2).value(y, f), 1.6e308, rtol=1e-15)


def test_topk_subset_is_the_multilabel_hinge_where_k_counts_the_true_labels():
    for k in range(1, N_LABELS):
        rows = Y.sum(axis=1) == k
        assert_allclose(
            TopKSubset(k).value(Y[rows], F[rows]), MultilabelHinge().value(Y[rows], F[rows])
        )


# -- LSEP of sigmoids ------------------------------------------------------------------------------

SIGMOID = SigmoidPairwise()


def test_the_sigmoid_loss_is_lsep_at_the_sigmoids():
    expected = []
    for y, f in zip(Y, F, strict=True):
        outputs = 1 / (1 + np.exp(-f))
        pairs = [np.exp(u - v) for u in outputs[~y] for v in outputs[y]]
        expected.append(np.log(1 + sum(pairs)))
    assert_allclose(SIGMOID.value(Y, F), expected, rtol=1e-12)
    assert_array_equal(SIGMOID.value(Y, F), LogSumExpPairwise().value(Y, expit(F)))


@pytest.mark.parametrize("choices", [None, GRID], ids=["generic", "ties"])
def test_the_gradient_of_the_sigmoid_loss_matches_differences_at_ties_too(choices):
    f = scores(SIGMOID, n=500, choices=choices)
    slope = difference(lambda point: SIGMOID.value(Y, point), f, step=1e-5)
    assert_allclose(SIGMOID.gradient(Y, f), slope, rtol=1e-6, atol=1e-9)


def test_the_sigmoid_loss_is_bounded_and_reaches_its_bounds_where_all_outputs_are_zero_or_one():
    pairs = Y.sum(axis=1) * (~Y).sum(axis=1)
    value = SIGMOID.value(Y, F)
    assert np.all(value >= np.log1p(pairs * np.exp(-1)) - 1e-12)
    assert np.all(value <= np.log1p(pairs * np.e) + 1e-12)
    assert_allclose(SIGMOID.value(Y, np.where(Y, 1e3, -1e3)), np.log1p(pairs * np.exp(-1)))
    assert_allclose(SIGMOID.value(Y, np.where(Y, -1e3, 1e3)), np.log1p(pairs * np.e))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_huge_scores_have_finite_losses_and_no_gradient(dtype):
    huge = np.finfo(dtype).max / 2
    f = np.where(np.random.default_rng(0).random(F.shape) < 0.5, -huge, huge).astype(dtype)
    value, gradient = SIGMOID.value_and_gradient(Y, f)
    assert np.isfinite(value).all()
    assert_array_equal(gradient, 0)


@pytest.mark.parametrize("fill", [False, True])
def test_samples_with_no_label_or_all_labels_have_no_sigmoid_loss(fill):
    y = np.full((len(F), N_LABELS), fill)
    assert_array_equal(SIGMOID.value(y, F), 0)
    assert_array_equal(SIGMOID.gradient(y, F), 0)


def test_permuting_the_labels_permutes_the_gradient_of_the_sigmoid_loss():
    order = np.random.default_rng(0).permutation(N_LABELS)
    value, gradient = SIGMOID.value_and_gradient(Y, F)
    moved, moved_gradient = SIGMOID.value_and_gradient(Y[:, order], F[:, order])
    assert_allclose(moved, value, rtol=1e-12)
    assert_allclose(moved_gradient, gradient[:, order], rtol=1e-12, atol=1e-15)


def test_a_shift_of_all_scores_changes_the_loss_only_with_the_sigmoid():
    assert_allclose(
        LogSumExpPairwise().value(Y, F + 4),
        LogSumExpPairwise().value(Y, F),
    )
    assert np.abs(SIGMOID.value(Y, F + 4) - SIGMOID.value(Y, F)).max() > 0.1


def test_small_scores_cost_what_a_quarter_of_them_costs_without_the_sigmoid():
    f = 1e-4 * F
    expected = LogSumExpPairwise().value(Y, f / 4)
    assert_allclose(SIGMOID.value(Y, f), expected, rtol=1e-9)
