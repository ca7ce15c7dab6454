import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sorr import ranked as numpy_ranked
from sorr.ranked import Mass
from tests.ranked.strategies import rows, spread, weighted

torch = pytest.importorskip("torch", reason="sorr.nn needs PyTorch")

from sorr.nn import (  # noqa: E402
    average_ranked_range,
    average_top_k,
    top_k_multilabel_loss,
    top_k_subset_loss,
    trimmed_mean,
)

fractions = st.floats(0.01, 0.99)


def value_and_gradient(values, *ranks, **options):
    losses = torch.tensor(values, requires_grad=True)
    value = average_ranked_range(losses, *ranks, **options)
    value.backward()
    return value.item(), losses.grad.numpy()


def reference(values, m, k, weight=None):
    """The value and the weights by NumPy; m and k are amounts of mass."""
    options = {} if weight is None else {"sample_weight": weight}
    value = numpy_ranked.average_ranked_range(values, Mass(m), Mass(k), **options)
    return value, numpy_ranked.ranked_range_weights(values, Mass(m), Mass(k), **options) / (k - m)


# -- The functions against NumPy -------------------------------------------------------------------


@given(values=st.one_of(rows(), rows(spread)), ends=st.lists(fractions, min_size=2, max_size=2))
def test_fractions_are_shares_of_the_mass_without_rounding(values, ends):
    m, k = sorted(ends)
    if k - m < 1e-6:
        return
    n = len(values)
    value, gradient = value_and_gradient(values, m, k)
    expected, weights = reference(values, m * n, k * n)
    assert_allclose(value, expected, rtol=1e-12, atol=1e-12 * np.abs(values).max())
    assert_allclose(gradient, weights, rtol=1e-12, atol=1e-12)


@given(values=rows(), data=st.data())
def test_ints_are_counts(values, data):
    k = data.draw(st.integers(1, len(values)))
    m = data.draw(st.integers(0, k - 1))
    value, gradient = value_and_gradient(values, m, k)
    assert_allclose(value, np.sort(values)[::-1][m:k].mean(), rtol=1e-12, atol=1e-15)
    assert_allclose(gradient, reference(values, m, k)[1], rtol=1e-12, atol=1e-15)


@given(row=weighted())
def test_a_loss_of_weight_two_is_two_losses(row):
    values, weight, m, k = row
    mass = torch.tensor(weight)
    value, gradient = value_and_gradient(values, Mass(m), Mass(k), weight=mass)
    expected, weights = reference(values, m, k, weight)
    assert_allclose(value, expected, rtol=1e-12, atol=1e-12)
    assert_allclose(gradient, weights, rtol=1e-12, atol=1e-12)


def test_fractions_are_shares_of_the_whole_weight():
    values, weight = np.array([5.0, 4.0, 3.0, 2.0]), np.array([1.0, 2.0, 0.5, 4.0])
    value, _ = value_and_gradient(values, 0.3, 0.7, weight=torch.tensor(weight))
    assert value == pytest.approx(reference(values, 0.3 * 7.5, 0.7 * 7.5, weight)[0], rel=1e-12)


def test_the_example_of_ten_losses_and_a_quarter():
    values = np.arange(10.0)
    _, gradient = value_and_gradient(values, 0.25)
    assert_allclose(gradient, [*[1 / 7.5] * 7, 0.5 / 7.5, 0, 0])


def test_the_named_functions_are_ranges():
    losses = torch.rand(20, dtype=torch.float64)
    assert average_top_k(losses, 0.3) == average_ranked_range(losses, 0, 0.3)
    assert trimmed_mean(losses, 3) == average_ranked_range(losses, 3, None)
    assert average_ranked_range(losses).item() == pytest.approx(losses.mean().item(), rel=1e-14)
    assert average_top_k(losses, 1) == losses.max()


def test_weights_of_one_are_no_weights():
    losses = torch.rand(20)
    assert average_ranked_range(losses, 0.3, weight=torch.ones(1)) == trimmed_mean(losses, 0.3)
    assert average_ranked_range(losses, 3, weight=torch.ones(20).bool()) == trimmed_mean(losses, 3)


def test_without_sets_there_are_no_results():
    assert average_ranked_range(torch.empty(0, 4), 0.25, dim=1).shape == (0,)


@pytest.mark.parametrize("shape", [(4, 6), (2, 3, 4)])
def test_losses_of_any_shape_are_ranked_together(shape):
    losses = torch.rand(shape, dtype=torch.float64)
    assert average_ranked_range(losses, 0.2, 0.9) == average_ranked_range(
        losses.flatten(), 0.2, 0.9
    )


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_along_a_dimension_each_set_is_ranked_by_itself(dim, is_weighted):
    losses = torch.rand((5, 7), dtype=torch.float64, requires_grad=True)
    weight = torch.rand((5, 7), dtype=torch.float64) + 0.1 if is_weighted else None
    found = average_ranked_range(losses, 0.2, 0.8, weight=weight, dim=dim)
    parts = losses.unbind(1 if dim == 0 else 0)
    masses = [None] * len(parts) if weight is None else weight.unbind(1 if dim == 0 else 0)
    expected = [
        average_ranked_range(part, 0.2, 0.8, weight=mass)
        for part, mass in zip(parts, masses, strict=True)
    ]
    torch.testing.assert_close(found, torch.stack(expected), rtol=1e-13, atol=0)


def test_many_losses_agree_with_numpy():
    values = np.random.default_rng(0).integers(0, 500, 50_000) / 7
    value, gradient = value_and_gradient(values, 0.123, 0.877)
    expected, weights = reference(values, 0.123 * 50_000, 0.877 * 50_000)
    assert value == pytest.approx(expected, rel=1e-12)
    assert_allclose(gradient, weights, rtol=1e-12, atol=0)


@pytest.mark.parametrize(("m", "k"), [(0.25, 0.8), (0, 0.5), (2, None), (1, 5)])
def test_gradients_are_those_of_finite_differences(m, k):
    losses = torch.tensor([0.1, 3.0, 0.7, 1.9, 2.4, 0.2], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: average_ranked_range(x**2, m, k), losses)
    assert torch.autograd.gradgradcheck(lambda x: average_ranked_range(x**3, m, k), losses)


# -- Infinity, NaN, precision ----------------------------------------------------------------------


def test_infinite_losses_above_the_range_leave_value_and_gradient_finite():
    value, gradient = value_and_gradient([math.inf, 1.0, math.inf, 3.0], 2)
    assert value == 2.0
    assert gradient.tolist() == [0.0, 0.5, 0.0, 0.5]


def test_infinite_losses_inside_the_range_make_it_infinite():
    assert value_and_gradient([math.inf, 1.0, 3.0], 0.1)[0] == math.inf


@pytest.mark.parametrize("weight", [None, torch.ones(2, 3)])
def test_nan_is_refused_with_its_position(weight):
    losses = torch.tensor([[1.0, 2.0, 3.0], [4.0, math.nan, math.nan]])
    with pytest.raises(ValueError, match=r"NaN: 2 of 6, the first at position \(1, 1\)"):
        average_ranked_range(losses, 1, weight=weight, dim=1)
    with pytest.raises(ValueError, match="the first at position 4"):
        average_ranked_range(losses, 1, weight=weight)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_ranked_and_added_up_in_single(dtype):
    # 4,000 losses of 0.25 add up to 1,000; in half precision the sum would stop growing.
    losses = torch.full((4000,), 0.25, dtype=dtype, requires_grad=True)
    value = average_ranked_range(losses, 0.1)
    assert value.dtype == dtype
    assert value.item() == 0.25
    value.backward()
    assert losses.grad.dtype == dtype
    assert losses.grad.double().sum().item() == pytest.approx(1, rel=1e-2)


@pytest.mark.parametrize("weight", [None, torch.full((4,), 2.0)])
@pytest.mark.parametrize(("dtype", "gap"), [(torch.float32, 2**-20), (torch.float64, 2**-40)])
def test_losses_are_ranked_in_their_own_precision(dtype, gap, weight):
    losses = (1 + gap * torch.tensor([2, 3, 0, 1], dtype=dtype)).requires_grad_()
    trimmed_mean(losses, 0.5, weight=weight).backward()
    assert losses.grad.tolist() == [0, 0, 0.5, 0.5]


def test_gradients_do_not_flow_into_weights():
    weight = torch.rand(6, requires_grad=True)
    assert not trimmed_mean(torch.rand(6), 0.2, weight=weight).requires_grad


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_other_precisions_stay_what_they_are(dtype):
    assert average_ranked_range(torch.rand(9, dtype=dtype), 0.2).dtype == dtype
    weighted_range = average_ranked_range(torch.rand(9, dtype=dtype), 0.2, weight=torch.ones(9))
    assert weighted_range.dtype == dtype


# -- The compiler ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "k"), [(0.2, 0.9), (1, None)])
def test_compiled_functions_return_what_others_do(m, k):
    def reduce(x):
        return average_ranked_range(x**2, m, k)

    torch.compiler.reset()
    compiled = torch.compile(reduce, backend="aot_eager", fullgraph=True)
    values = torch.tensor([0.3, 1.0, 1.0, 4.0, 2.0, math.inf])
    pair = [values.clone().requires_grad_() for _ in range(2)]
    found = [function(x) for function, x in zip((reduce, compiled), pair, strict=True)]
    assert found[0] == found[1]
    for value in found:
        value.backward()
    torch.testing.assert_close(pair[0].grad[:5], pair[1].grad[:5], rtol=0, atol=0)
    with pytest.raises(ValueError, match="the first at position 0"):
        compiled(torch.full((6,), math.nan))


def test_what_the_compiler_is_told_of_the_weights_is_true():
    check = torch.library.opcheck
    values, mass = torch.rand(3, 7), torch.rand(3, 7)
    units = (False, False)
    for losses in (values, values.T, values.half(), values.double()):
        check(torch.ops.sorr.range_weights.default, (losses, None, 0.2, None, *units))
    check(torch.ops.sorr.range_weights.default, (values, mass, 1, 1.5, False, True))


@pytest.mark.parametrize(("m", "k"), [(Mass(0.5), None), (Mass(2.5), Mass(4)), (1, Mass(4.5))])
def test_the_compiler_keeps_the_units_of_ranks(m, k):
    torch.compiler.reset()
    compiled = torch.compile(average_ranked_range, backend="aot_eager")
    values = torch.arange(1.0, 11)
    torch.testing.assert_close(compiled(values, m, k), average_ranked_range(values, m, k))


def test_weights_and_the_compiler_go_together():
    torch.compiler.reset()
    values, weight = torch.rand(8), torch.rand(8)
    compiled = torch.compile(average_ranked_range, backend="aot_eager")
    expected = average_ranked_range(values, 0.2, weight=weight)
    torch.testing.assert_close(compiled(values, 0.2, weight=weight), expected)


# -- What is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1.0, 2.0], 1), TypeError, "losses is of type list; needed a tensor"),
        ((torch.tensor([1, 2]), 1), TypeError, "dtype torch.int64; needed floats"),
        ((torch.tensor(1.0), 1), ValueError, 'reduction="none"'),
        ((torch.empty(0), 0), ValueError, "at least one loss"),
        ((torch.ones(3), 3), ValueError, "3"),
        ((torch.ones(3), 1.0), ValueError, "1.0"),
        ((torch.ones(3), 0, 4), ValueError, "4"),
        ((torch.ones(3), [1]), TypeError, "of type list"),
    ],
)
def test_what_cannot_be_reduced_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        average_ranked_range(*arguments)


@pytest.mark.parametrize(
    ("weight", "error", "message"),
    [
        ([1.0, 2.0], TypeError, "weight is of type list"),
        (torch.ones(3), ValueError, r"weight has shape \(3,\); needed one that broadcasts"),
        (torch.tensor([1.0, -1.0]), ValueError, "NaN, infinite or negative, the first at index 1"),
        (
            torch.tensor([1.0, math.nan]),
            ValueError,
            "NaN, infinite or negative, the first at index 1",
        ),
        (torch.zeros(2), ValueError, "zero"),
    ],
)
def test_weights_that_cannot_be_are_refused(weight, error, message):
    with pytest.raises(error, match=message):
        average_ranked_range(torch.ones(2), 0.5, weight=weight)


# -- Losses of label sets --------------------------------------------------------------------------


def tkml(scores, true, k):
    """The loss of the paper for one row, from its definition."""
    if not true.any():
        return 0.0
    return max(0.0, 1 + np.sort(scores)[::-1][k] - scores[true].min())


def subset(scores, true, k):
    """The margin that follows the metric for one row, from its definition."""
    r = min(k, int(true.sum()))
    if r == 0 or k - r + 1 > (~true).sum():
        return 0.0
    others, own = np.sort(scores[~true])[::-1], np.sort(scores[true])[::-1]
    return max(0.0, 1 + others[k - r] - own[r - 1])


@pytest.mark.parametrize(
    ("function", "one"), [(top_k_multilabel_loss, tkml), (top_k_subset_loss, subset)]
)
@given(data=st.data())
def test_losses_of_label_sets_are_their_definition(function, one, data):
    seed, K = data.draw(st.integers(0, 10_000)), data.draw(st.integers(2, 7))
    k, rng = data.draw(st.integers(1, K - 1)), np.random.default_rng(seed)
    scores, true = rng.integers(-2, 3, (6, K)).astype(float), rng.random((6, K)) < 0.5
    found = function(torch.tensor(scores), torch.tensor(true), k)
    assert found.tolist() == [one(*row, k) for row in zip(scores, true, strict=True)]


@pytest.mark.parametrize("function", [top_k_multilabel_loss, top_k_subset_loss])
def test_gradients_of_label_sets_are_those_of_finite_differences(function):
    scores = torch.tensor([[0.3, -1.0, 0.9, 2.0], [1.0, 0.2, -0.4, 0.1]], dtype=torch.float64)
    true = torch.tensor([[True, True, False, False], [False, False, True, False]])
    for k in (1, 2):
        assert torch.autograd.gradcheck(
            lambda x, k=k: function(x, true, k), scores.requires_grad_()
        )


@pytest.mark.parametrize("function", [top_k_multilabel_loss, top_k_subset_loss])
def test_one_label_may_be_given_by_its_number(function):
    scores, labels = torch.randn(5, 4), torch.tensor([0, 3, 1, 1, 2], dtype=torch.int32)
    sets = torch.nn.functional.one_hot(labels.long(), 4).bool()
    assert function(scores, labels, 2).tolist() == function(scores, sets, 2).tolist()


@pytest.mark.parametrize("loss", [top_k_multilabel_loss, top_k_subset_loss])
def test_scores_that_are_no_numbers_are_not_hidden(loss):
    scores, targets = torch.tensor([[1.0, math.nan, 0, 0], [3, 1, 0, 0]]), torch.tensor([0, 0])
    losses = loss(scores, targets, 1)
    assert losses.isnan().tolist() == [True, False]
    with pytest.raises(ValueError, match="the first at position 0"):
        trimmed_mean(losses, 1)


@pytest.mark.parametrize("loss", [top_k_multilabel_loss, top_k_subset_loss])
def test_masked_labels_miss_nothing(loss):
    scores = torch.tensor([[3.0, 1.0, -math.inf, -math.inf]], requires_grad=True)
    value = loss(scores, torch.tensor([[True, True, False, False]]), 2)
    value.sum().backward()
    assert value.tolist() == [0]
    assert scores.grad.tolist() == [[0, 0, 0, 0]]


def test_equal_scores_share_the_gradient():
    scores = torch.tensor([[1.0, 1.0, 1.0]], requires_grad=True)
    top_k_multilabel_loss(scores, torch.tensor([[True, False, False]]), 1).sum().backward()
    assert_allclose(scores.grad[0], [1 / 3 - 1, 1 / 3, 1 / 3], atol=1e-7)


@pytest.mark.parametrize(
    ("scores", "targets", "k", "message"),
    [
        (torch.ones(3), torch.tensor([1]), 1, r"shape \(3,\)"),
        (torch.ones(2, 3), torch.ones(2, 4), 1, r"targets has shape \(2, 4\)"),
        (torch.ones(2, 3), torch.tensor([0, 1]), 3, "needed 1 <= k < 3"),
    ],
)
def test_label_sets_that_do_not_fit_are_refused(scores, targets, k, message):
    with pytest.raises(ValueError, match=message):
        top_k_multilabel_loss(scores, targets, k)
    with pytest.raises(TypeError, match="targets is of type list; needed a tensor"):
        top_k_subset_loss(scores, [0, 1], k)
