"""The released loop for digits against its description, written out row by row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sorr.experiments.digits.released import (
    Part,
    costliest_other,
    costly,
    released_svm,
    released_tkml,
)
from sorr.experiments.published import LoopSetting

SETTING = LoopSetting(None, 3, 14, 0.1)


def parts(dtype=np.float64):
    rng = np.random.default_rng(3)
    X, y = rng.random((60, 5)), rng.integers(0, 4, 60)
    X[np.arange(60), y] += 0.6  # something to learn
    return Part(X[:40].astype(dtype), y[:40]), Part(X[40:].astype(dtype), y[40:])


def slow_slope(W, part, n_ranked, ranks_own=True):
    """Add up slopes row by row, labels sorted by what they cost."""
    slope = np.zeros(W.shape)
    for x, own in zip(part.X, part.y, strict=True):
        x = np.append(x, 1.0)
        scores = [w @ x for w in W]
        costs = {j: max(0.0, 1 + score - scores[own]) for j, score in enumerate(scores)}
        if not ranks_own:
            del costs[own]
        for j in sorted(costs, key=costs.get, reverse=True)[:n_ranked]:
            if j != own and costs[j] > 0:
                slope[j] += x
                slope[own] -= x
    return slope


def slow_descent(part, held, setting, slope_of, tangent, look_every):
    """Return the last of the iterates that predict best, its accuracy and its number."""
    W = np.random.RandomState(1234).rand(4, part.X.shape[1] + 1)
    best = (W, 0.0, 0)
    for step in range(1, setting.inner + 1):
        W = W - setting.step * (slope_of(W) - tangent) / len(part.y)
        if step % look_every == 0 or step == setting.inner:
            guesses = [np.argmax(W @ np.append(x, 1.0)) for x in held.X]
            accuracy = float(np.mean(guesses == held.y))
            if accuracy >= best[1]:
                best = (W, accuracy, step)
    return best


def slow_tkml(part, held, k, setting, look_every):
    W = np.random.RandomState(1234).rand(4, part.X.shape[1] + 1)
    for _ in range(setting.outer):
        tangent = slow_slope(W, part, k)
        best = slow_descent(
            part, held, setting, lambda W: slow_slope(W, part, k + 1), tangent, look_every
        )
        W = best[0]
    return best


def assert_same(kept, slow):
    assert_allclose(kept.coef, slow[0], rtol=1e-10)
    assert (kept.accuracy, kept.step) == slow[1:]


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("look_every", [1, 5])
def test_the_loop_ends_where_its_description_row_by_row_does(k, look_every):
    train, held = parts()
    kept = released_tkml(train, held, k, SETTING, look_every=look_every)
    assert_same(kept, slow_tkml(train, held, k, SETTING, look_every))


@pytest.mark.parametrize("ranks_own", [True, False])
def test_the_sum_of_the_top_1_needs_one_outer_step(ranks_own):
    train, held = parts()
    kept = released_svm(train, held, SETTING, ranks_own=ranks_own, look_every=1)
    slow = slow_descent(
        train, held, SETTING, lambda W: slow_slope(W, train, 1, ranks_own), 0.0, look_every=1
    )
    assert_same(kept, slow)


def test_single_precision_ends_at_the_same_point():
    train, held = parts(np.float32)
    kept = released_tkml(train, held, 2, SETTING, look_every=1)
    assert kept.coef.dtype == np.float32
    # rounding in 14 steps of numbers of about one
    assert_allclose(kept.coef, slow_tkml(*parts(), 2, SETTING, 1)[0], atol=1e-5)


def test_all_directions_are_the_same_as_none_chosen():
    train, held = parts()
    chosen = released_tkml(train, held, 2, SETTING, n_directions=6, look_every=1)
    assert_same(chosen, slow_tkml(train, held, 2, SETTING, 1))


def test_few_directions_are_those_in_which_rows_vary_most():
    train, held = parts()
    rows = np.column_stack([train.X, np.ones(40)])
    spread = np.linalg.svd(rows)[2][:3]  # rows of V, the largest singular values first
    kept = released_svm(train, held, SETTING, ranks_own=True, n_directions=3, look_every=1)
    slow = slow_descent(
        train, held, SETTING, lambda W: slow_slope(W, train, 1) @ spread.T @ spread, 0.0, 1
    )
    assert_same(kept, slow)


def test_scores_are_those_of_the_coefficients_and_the_intercept():
    train, held = parts()
    kept = released_svm(train, held, SETTING, ranks_own=False)
    expected = [[w[:-1] @ x + w[-1] for w in kept.coef] for x in held.X]
    assert_allclose(kept.scores(held.X), expected)


# one column for each row: right with a wide margin, right with a narrow one, wrong
SCORES = np.array([[5.0, 2.0, 1.0], [1.0, 1.5, 3.0], [0.0, 0.0, 1.5]])
OWN = np.array([0, 0, 0])


def test_a_row_that_is_right_takes_the_first_rank_itself():
    found = costly(SCORES, OWN, n_ranked=1)
    assert_array_equal(found, [[0, 0, 0], [0, 0, 1], [0, 0, 0]])


def test_the_second_rank_counts_labels_within_the_margin():
    found = costly(SCORES, OWN, n_ranked=2)
    assert_array_equal(found, [[0, 0, 0], [0, 1, 1], [0, 0, 1]])


def test_the_top_1_svm_looks_at_the_best_other_label():
    found = costliest_other(SCORES, OWN)
    assert_array_equal(found, [[0, 0, 0], [0, 1, 1], [0, 0, 0]])
