import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sorr.baselines import robust_maximum
from tests.baselines.problems import conic_robust_maximum

POWERS = {"l1": 1, "l2": 2}
norms = st.sampled_from(list(POWERS))
budgets = st.floats(1e-3, 1e3)
masses = st.lists(st.integers(0, 3), min_size=12, max_size=12).filter(any)


def draw(seed, n=12):
    """Draw values with ties."""
    return np.random.default_rng(seed).integers(-6, 30, n) / 4.0


@pytest.mark.parametrize("norm", POWERS)
@pytest.mark.parametrize("K", [0.1, 1.0, 5.0, 40.0])
def test_the_value_is_that_of_a_conic_solver(norm, K):
    values = np.random.default_rng(0).exponential(2.0, 15)
    found = robust_maximum(values, K, norm)
    assert found.threshold == pytest.approx(
        conic_robust_maximum(values, K, POWERS[norm]), abs=1e-6 * K
    )


@given(seed=st.integers(0, 10**6), norm=norms, K=budgets)
def test_the_slack_uses_up_the_budget_and_leaves_the_threshold(seed, norm, K):
    values = draw(seed)
    threshold, slack, weights = robust_maximum(values, K, norm)
    power = POWERS[norm]
    assert (slack >= 0).all()
    assert (slack**power).sum() ** (1 / power) == pytest.approx(K, rel=1e-9)
    assert (values - slack).max() == pytest.approx(threshold, abs=1e-9 * K)
    # Any weights that add up to one prove a lower bound; these prove the value.
    size = weights.max() if power == 1 else np.sqrt((weights**2).sum())
    assert weights.sum() == pytest.approx(1.0)
    assert weights @ values - K * size == pytest.approx(threshold, rel=1e-9, abs=1e-8)


@given(seed=st.integers(0, 10**6), norm=norms, K=budgets, other=st.integers(0, 10**6))
def test_it_is_convex_and_the_weights_are_a_subgradient(seed, norm, K, other):
    values, elsewhere = draw(seed), draw(other)
    found = robust_maximum(values, K, norm)
    tangent = found.threshold + found.weights @ (elsewhere - values)
    assert robust_maximum(elsewhere, K, norm).threshold >= tangent - 1e-8 * max(K, 1)


@pytest.mark.parametrize("norm", POWERS)
@pytest.mark.parametrize("K", [0.3, 2.0, 30.0])
def test_the_weights_are_the_gradient_by_central_differences(norm, K):
    values = np.random.default_rng(1).exponential(1.0, 8)
    step = 1e-6
    numeric = [
        (
            robust_maximum(values + step * unit, K, norm).threshold
            - robust_maximum(values - step * unit, K, norm).threshold
        )
        / (2 * step)
        for unit in np.eye(8)
    ]
    np.testing.assert_allclose(robust_maximum(values, K, norm).weights, numeric, atol=1e-7)


@given(seed=st.integers(0, 10**6), norm=norms, K=budgets, mass=masses)
def test_a_value_of_weight_two_is_two_copies(seed, norm, K, mass):
    values, mass = draw(seed), np.array(mass)
    weighted = robust_maximum(values, K, norm, sample_weight=mass)
    copies = robust_maximum(np.repeat(values, mass), K, norm)
    assert weighted.threshold == pytest.approx(copies.threshold, abs=1e-9 * K)
    summed = np.bincount(np.repeat(np.arange(12), mass), copies.weights, 12)
    np.testing.assert_allclose(weighted.weights, summed, atol=1e-7)


@given(seed=st.integers(0, 10**6), norm=norms, K=budgets, shift=st.floats(-50, 50))
def test_adding_a_constant_adds_it_and_order_does_not_matter(seed, norm, K, shift):
    values = draw(seed)
    there = robust_maximum(np.random.default_rng(seed).permutation(values) + shift, K, norm)
    here = robust_maximum(values, K, norm)
    assert there.threshold == pytest.approx(here.threshold + shift, abs=1e-9 * (K + 50))


@pytest.mark.parametrize("norm", POWERS)
def test_no_budget_is_the_maximum_and_ties_share_it(norm):
    found = robust_maximum([3.0, 1.0, 3.0], 0, norm)
    assert found.threshold == 3.0
    np.testing.assert_array_equal(found.slack, 0.0)
    np.testing.assert_array_equal(found.weights, [0.5, 0.0, 0.5])


@pytest.mark.parametrize("norm", POWERS)
def test_equal_values_share_a_budget_that_rounding_swallows(norm):
    # The average of equal values may be above them in the last digit: no slack, and no weights.
    for n in range(2, 30):
        for value in (0.1, 0.3, 0.7, 1e5 / 3):
            found = robust_maximum(np.full(n, value), 1e-30, norm)
            assert found.threshold == pytest.approx(value, rel=1e-15)
            assert found.threshold <= value
            np.testing.assert_allclose(found.weights, 1 / n, rtol=1e-12)


def test_a_large_budget_gives_the_average():
    values = np.random.default_rng(0).exponential(1.0, 20)
    even = np.full(20, 0.05)
    found = robust_maximum(values, 1e3, "l1")
    assert found.threshold == pytest.approx(values.mean() - 1e3 / 20)
    np.testing.assert_allclose(found.weights, even)
    np.testing.assert_allclose(robust_maximum(values, 1e7, "l2").weights, even, atol=1e-6)


def test_values_far_apart_keep_all_their_digits():
    values = np.append(2.0 ** np.arange(0, 60, 2), 1e-3)
    for K in (1e-12, 1e-3, 1e3, 1e15):
        threshold = robust_maximum(values, K, "l1").threshold
        ranks = np.arange(1, 32)
        best = ((np.cumsum(np.sort(values)[::-1]) - K) / ranks).max()
        assert threshold == pytest.approx(best, rel=1e-15)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"K": -1.0}, ValueError, "K=-1.0 is not a budget.*K=0 is the maximum"),
        ({"K": np.nan}, ValueError, "K=nan is not a budget"),
        ({"K": np.inf}, ValueError, "K=inf is not a budget"),
        ({"K": True}, TypeError, "K=True is of type bool; needed a number"),
        ({"K": "1"}, TypeError, "K='1' is of type str"),
        ({"norm": "L2"}, ValueError, "norm='L2' is not the name of a norm; did you mean 'l2'"),
        ({"norm": 2}, ValueError, "norm=2 is not the name of a norm"),
        ({"norm": "max"}, ValueError, "needed one of l1, l2"),
        ({"values": []}, ValueError, "needed one finite number for each sample"),
        ({"values": [1.0, np.nan]}, ValueError, "needed one finite number for each sample"),
        ({"values": [[1.0]]}, ValueError, r"shape \(1, 1\)"),
        ({"sample_weight": [1.0]}, ValueError, "another shape"),
        ({"sample_weight": [0.0, 0.0]}, ValueError, "adds up to zero"),
        ({"sample_weight": [-1.0, 2.0]}, ValueError, "negative weights"),
    ],
)
def test_wrong_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        robust_maximum(**({"values": [1.0, 2.0], "K": 1.0} | arguments))
