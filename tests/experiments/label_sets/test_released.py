import numpy as np
import pytest

from sorr.experiments.label_sets.released import _Loop, released_tkml
from sorr.experiments.label_sets.splits import Part
from sorr.experiments.published import LoopSetting


def rows_with_labels(n, seed, n_features=3, n_labels=5):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, n_features))
    Y = X @ rng.normal(size=(n_features, n_labels)) + rng.normal(size=(n, n_labels)) > 0.3
    Y[np.arange(n), rng.integers(n_labels, size=n)] = True
    return Part(X, Y)


def literal_slope(W, X, Y, rank):
    """Add up the slopes of the most costly labels, one row and one label at a time."""
    total = np.zeros_like(W)
    for x, y in zip(X, Y, strict=True):
        scores = [float(w @ x) for w in W]
        lowest = min(np.flatnonzero(y), key=lambda j: scores[j])
        costs = [max(0.0, 1 + score - scores[lowest]) for score in scores]
        bound = sorted(costs, reverse=True)[rank - 1]
        counted = [j for j, cost in enumerate(costs) if cost >= bound and cost > 0]
        for j in counted:
            if j != lowest:
                total[j] += x
        total[lowest] -= len(counted) * x
    return total


def literal_accuracy(W, X, Y, k):
    right = 0
    for x, y in zip(X, Y, strict=True):
        best = set(np.argsort(W @ x)[-k:].tolist())
        true = set(np.flatnonzero(y).tolist())
        right += best <= true or true <= best
    return right / len(X)


def literal_loop(train, validation, k, setting):
    X, V = (np.hstack([part.X, np.ones((len(part.X), 1))]) for part in (train, validation))
    shape = train.Y.shape[1], X.shape[1]
    W = np.random.RandomState(1234).rand(*shape)
    for _ in range(setting.outer):
        tangent = literal_slope(W, X, train.Y, k)
        W = np.random.RandomState(1234).rand(*shape)
        highest, kept = 0.0, None
        for _ in range(setting.inner):
            slope = literal_slope(W, X, train.Y, k + 1) - tangent
            W = W - setting.step * (slope / len(X) + W / setting.C)
            accuracy = literal_accuracy(W, V, validation.Y, k)
            if accuracy >= highest:
                highest, kept = accuracy, W
        W = kept
    return W, highest


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize(("outer", "inner", "C"), [(1, 40, 1e4), (6, 15, 1e4), (3, 20, 5.0)])
def test_the_loop_is_that_of_the_released_script(k, outer, inner, C):
    train, validation = rows_with_labels(20, seed=k), rows_with_labels(14, seed=10 + k)
    setting = LoopSetting(C, outer, inner, 0.1)
    found = released_tkml(train, validation, k, setting)
    coef, accuracy = literal_loop(train, validation, k, setting)
    np.testing.assert_allclose(found.coef, coef.T, rtol=1e-9)
    assert found.accuracy == accuracy


def test_outer_steps_that_would_repeat_an_earlier_one_are_left_out_without_a_change():
    train, validation = rows_with_labels(12, seed=1), rows_with_labels(8, seed=2)
    setting = LoopSetting(1e4, 12, 4, 0.1)
    found = released_tkml(train, validation, 2, setting)
    assert found.repeated > 0
    coef, _ = literal_loop(train, validation, 2, setting)
    np.testing.assert_allclose(found.coef, coef.T, rtol=1e-9)


@pytest.mark.parametrize("rank", [1, 2, 3, 5])
def test_labels_that_tie_count_in_full(rank):
    part = rows_with_labels(60, seed=0)
    loop = _Loop(part, part, 2, LoopSetting(1e4, 1, 1, 0.1), 1e-4)
    W = np.zeros((5, 4))
    W[:, 3] = [1.0, 0.0, 1.0, 0.0, -2.0]  # scores are intercepts alone, so that many tie
    X = np.hstack([part.X, np.ones((60, 1))])
    expected = literal_slope(W, X, part.Y, rank)
    np.testing.assert_allclose(loop.slope(X @ W.T, rank), expected.T, atol=1e-12)


def test_scores_are_those_of_the_coefficients_with_the_intercepts_last():
    train, validation = rows_with_labels(12, seed=3), rows_with_labels(8, seed=4)
    found = released_tkml(train, validation, 1, LoopSetting(1e4, 2, 5, 0.1))
    expected = [[x @ w[:-1] + w[-1] for w in found.coef.T] for x in validation.X]
    np.testing.assert_allclose(found.scores(validation.X), expected)


def test_a_setting_without_c_is_refused():
    part = rows_with_labels(8, seed=0)
    with pytest.raises(ValueError, match="no C; needed a number"):
        released_tkml(part, part, 1, LoopSetting(None, 1, 1, 0.1))
